//! The earlier runs of this machine, in the user's state folder. `--no-history` leaves them out.

use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::Run;
use syncscope_core::data_file;
use syncscope_core::machine::CpuMachine;
use syncscope_core::run::directory::{WriteLock, replace_own_file};
use syncscope_core::run::history::History;
use syncscope_core::session::Finished;
use syncscope_host::guard::temporary_folder_in;

/// The most files. Other builds and other machines with the same home add files; the oldest are removed.
const MOST_FILES: usize = 16;

/// How often the lock is awaited, for a second each, before a run is left out of the history.
const TURNS: u32 = 20;

/// The beginning of the files' names.
const PREFIX: &str = "runs-";

/// The file for runs like this one: of the same machine, allowed CPUs, settings that decide the cost of library calls, build
/// and preset. `None` if the user has no home.
fn file(run: &Run) -> Option<PathBuf> {
    // A guest that gives back memory is the same machine. Equal machines differ in their identity.
    let cpu = CpuMachine { memory_bytes: None, ..run.machine.cpu.clone() };
    let identity = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let of = &run.environment;
    let process = of.settings.as_ref().map(|settings| &settings.process);
    let known = (cpu, identity, &of.allowed_cpus, &of.variables, &of.preloaded, process, &run.tool);
    let known = serde_json::to_vec(&known).ok()?;
    let name = format!("{PREFIX}{}-{}.csv", syncscope_host::content_hash(&known), run.preset);
    Some(syncscope_host::state_folder()?.join(name))
}

/// The earlier runs of the machine of a run: empty where there is no file, `None` where they are not to count.
pub(crate) fn read(run: &Run) -> Option<History> {
    // By the command that began the run: a process that resumes it has another command.
    if run.command.iter().any(|word| word == "--no-history") {
        return None;
    }
    Some(known(&file(run)?))
}

/// Keeps what a run adds. If it cannot be kept, the next run knows less.
pub(crate) fn write(finished: &Finished) {
    let keep = |added: &History| extend(&file(&finished.directory.read_run().ok()?)?, added);
    let _ = finished.history.as_ref().and_then(keep);
}

/// The reason why runs of this user cannot be kept; `None` where they can.
pub(crate) fn obstacle() -> Option<String> {
    syncscope_host::state_folder()
        .map_or_else(|| Some("HOME names no folder".to_owned()), |folder| obstacle_in(&folder))
}

fn obstacle_in(folder: &Path) -> Option<String> {
    // A missing folder will be made in the first folder above it that exists.
    let there = folder.ancestors().find(|folder| folder.exists())?;
    temporary_folder_in(there).err().map(|error| error.to_string())
}

/// Adds runs to a file. Runs that end at the same time take turns, and each adds to what the one before has written.
fn extend(path: &Path, added: &History) -> Option<()> {
    let folder = path.parent()?;
    fs::create_dir_all(folder).ok()?;
    let _lock = (0..TURNS).find_map(|_| WriteLock::of(folder).ok())?;
    let mut known = known(path);
    known.extend(added.clone());
    replace_own_file(path, &known.to_bytes().ok()?).ok()?;
    remove_oldest(folder, PREFIX, MOST_FILES)
}

fn known(path: &Path) -> History {
    data_file::read(path).map(|bytes| History::parse(&bytes)).unwrap_or_default()
}

/// Removes the oldest files whose names begin with `prefix`, beyond `most` files.
pub(crate) fn remove_oldest(folder: &Path, prefix: &str, most: usize) -> Option<()> {
    let begins =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(prefix));
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).filter(begins);
    let mut by_age: Vec<_> =
        files.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
    by_age.sort();
    let extra = by_age.len().saturating_sub(most);
    by_age.iter().take(extra).for_each(|(_, path)| drop(fs::remove_file(path)));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_end_together_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/runs-1-quick.csv");
        let end = |number: usize| {
            let line = format!("ended,case_id,ns,ns_own,cycles,cycles_own\n2026-01-01T00:00:00.{number}Z,ab,1,0.1,,\n");
            extend(&path, &History::parse(line.as_bytes())).unwrap();
        };
        std::thread::scope(|scope| (0..9).for_each(|number| drop(scope.spawn(move || end(number)))));
        let kept = fs::read_to_string(&path).unwrap();
        assert_eq!(kept.lines().count(), 1 + 9, "{kept}");
    }

    #[test]
    fn what_cannot_be_kept_is_known_before() {
        for home in ["/proc", "/dev/null"] {
            let obstacle = obstacle_in(&Path::new(home).join(".local/state/syncscope"));
            assert!(obstacle.as_ref().is_some_and(|text| text.contains(home)), "{obstacle:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(obstacle_in(&folder.path().join("state/syncscope")), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn old_files_go_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MOST_FILES + 3 {
            let path = folder.path().join(format!("runs-{number:02}-quick.csv"));
            fs::write(&path, "").unwrap();
            let age = std::time::Duration::from_secs(100 - number as u64);
            fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(std::time::SystemTime::now() - age)
                .unwrap();
        }
        fs::write(folder.path().join("notes.csv"), "").unwrap();
        remove_oldest(folder.path(), PREFIX, MOST_FILES).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MOST_FILES + 1);
        assert!(!folder.path().join("runs-02-quick.csv").exists() && folder.path().join("runs-03-quick.csv").exists());
        assert!(folder.path().join("notes.csv").exists());
    }
}
