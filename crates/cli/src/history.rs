//! The earlier runs of this machine, in the user's state folder: `--no-history` leaves them out.

use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::Run;
use syncscope_core::machine::CpuMachine;
use syncscope_core::run::history::History;
use syncscope_core::run_directory::replace_file;
use syncscope_core::session::Finished;

/// The file of this machine, its allowed CPUs and the preset of a run; `None` if the user has no home.
fn file(run: &Run) -> Option<PathBuf> {
    // Memory that a guest gives back is no other machine. Two that are built alike differ in their identity.
    let cpu = CpuMachine { memory_bytes: None, ..run.machine.cpu.clone() };
    let identity = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let known = serde_json::to_vec(&(cpu, identity, &run.environment.allowed_cpus, &run.version)).ok()?;
    let name = format!("runs-{}-{}.csv", syncscope_host::content_hash(&known), run.preset);
    Some(syncscope_host::state_folder()?.join(name))
}

/// What is known of earlier runs of the machine of a run: nothing where there is no file, and `None` where it is not to count.
pub(crate) fn read(run: &Run) -> Option<History> {
    // As the run was begun: a process that resumes it has another command.
    if run.command.iter().any(|word| word == "--no-history") {
        return None;
    }
    Some(fs::read(file(run)?).map(|bytes| History::parse(&bytes)).unwrap_or_default())
}

/// Keeps what a run added. Without a place for it, the next run knows less.
pub(crate) fn write(finished: &Finished) {
    let keep = |history: &History| {
        let path = file(&finished.directory.read_run().ok()?)?;
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).ok()?;
        replace_file(&path, &history.to_bytes().ok()?).ok()
    };
    let _ = finished.history.as_ref().and_then(keep);
}
