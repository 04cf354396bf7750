//! A run under a launcher (Slurm's `srun`, Open MPI's and MPICH's `mpirun`): one process on each node measures, into a
//! directory for each node under `--out`. If only primitives between processes are asked for, all processes make one run
//! together.

use std::path::{Path, PathBuf};
use std::process::Command;

use syncscope_core::run::directory::RunDirectory;
use syncscope_core::{Cancel, Domain};
use syncscope_mpi::launcher::{Process, node_name};
use syncscope_mpi::{MpiLaboratory, Started};

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::terminal::{self, cancel_on_signal};

/// Joins the other processes of a common run. Returns `None` in a process that only took part, and is done.
pub(crate) fn join(process: Process, arguments: &RunArguments) -> Result<Option<Together>, Failure> {
    Failure::refuse([
        (arguments.repeat.is_some(), "--repeat starts processes of its own; start the launcher several times"),
        (arguments.experiments, "--experiments measures GPUs, and this run none; use it without the launcher"),
        (arguments.device.is_some(), "--device: primitives between processes (mpi.*) use no GPU; leave it out"),
        (arguments.cpus.is_some(), "--cpus: the launcher places its processes; use its options, such as --bind-to"),
    ])?;
    let cancel = cancel_on_signal();
    let lost = |reason: &str| terminal::error(&format!("{reason}; `syncscope run --resume` measures what is left"));
    match process.join(cancel.clone(), lost).map_err(Failure::CouldNot)? {
        Started::First(laboratory) => Ok(Some(Together { laboratory: *laboratory, cancel })),
        Started::Other(process) => process.follow().map(|()| None).map_err(Failure::CouldNot),
    }
}

/// The processes of a common run, for the one that measures.
pub(crate) struct Together {
    pub(crate) laboratory: MpiLaboratory,
    /// The cancellation by Ctrl-C and SIGTERM.
    pub(crate) cancel: Cancel,
}

/// The environment variable that tells a child that its directory is already the node's own.
const HAS_DIRECTORY: &str = "SYNCSCOPE_NODE_DIRECTORY";

/// Makes a child measure into the directory that it is given.
pub(crate) fn keep_directory(child: &mut Command) {
    child.env(HAS_DIRECTORY, "1");
}

/// Whether this process is such a child, which its parent ends.
pub(crate) fn has_directory() -> bool {
    std::env::var_os(HAS_DIRECTORY).is_some()
}

/// The part of a process in a run that a launcher started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// It was started alone and measures.
    Alone,
    /// It measures its node, into this directory.
    Node(PathBuf),
    /// Another process measures the node.
    Nothing,
    /// It measures together with all other processes.
    Together(Process),
}

/// The part of this process. The common directory is the one of `--out` or `--resume`. Without `--anonymous` the directories
/// have the names of the nodes. All processes but the first are silent from now on.
///
/// # Errors
/// When a launcher started several processes without a common directory, or when one part of the selection is measured
/// by all processes together and the rest by nodes.
pub(crate) fn part(arguments: &RunArguments) -> Result<Duty, Failure> {
    let Some(process) = Process::of_environment() else { return Ok(Duty::Alone) };
    let node = node_name().filter(|_| !arguments.anonymous);
    if process.rank > 0 {
        terminal::silence(&process.directory(node.as_deref()));
    }
    if has_directory() {
        return Ok(Duty::Alone);
    }
    let folder = arguments.out.as_deref().or(arguments.resume.as_deref());
    // A common run uses the directory of `--out` itself.
    let resumed = arguments.resume.as_deref().and_then(|path| RunDirectory::open(path).ok()?.read_run().ok());
    let only = resumed.map_or_else(|| arguments.only.clone(), |run| run.only);
    match between_processes(&only) {
        0 => begun(part_of(process, folder, node.as_deref())?, arguments.resume.as_deref()),
        count if count == only.len() => Ok(Duty::Together(process)),
        _ => Err(Failure::Usage(
            "primitives between processes (mpi.*) are measured by all processes together, the others on each node; \
             name one of both with --only"
                .to_owned(),
        )),
    }
}

/// How many of the globs name primitives between processes.
fn between_processes(only: &[String]) -> usize {
    only.iter().filter(|glob| glob.split('.').next() == Some(Domain::Mpi.as_str())).count()
}

fn part_of(process: Process, folder: Option<&Path>, node: Option<&str>) -> Result<Duty, Failure> {
    let Some(folder) = folder else {
        // One process shows the error.
        if process.rank > 0 {
            return Ok(Duty::Nothing);
        }
        return Err(Failure::Usage(format!(
            "{} started {} processes; name the common directory of their runs with --out",
            process.launcher, process.size
        )));
    };
    Ok(if process.local == 0 { Duty::Node(folder.join(process.directory(node))) } else { Duty::Nothing })
}

/// Refuses to resume where the node has not begun its run: this process does not know what the other nodes were asked.
fn begun(duty: Duty, resumed: Option<&Path>) -> Result<Duty, Failure> {
    match (&duty, resumed) {
        (Duty::Node(own), Some(folder)) if !own.exists() => Err(Failure::Usage(format!(
            "{} does not exist: this node did not begin the run; start it here with --out {} and the options of the other nodes",
            own.display(),
            folder.display()
        ))),
        _ => Ok(duty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_measure_together_only_what_is_between_them() {
        let of = |only: &[&str]| between_processes(&only.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["mpi.barrier.*", "mpi.handoff.pingpong"]), 2);
        assert_eq!(of(&["mpi.*", "cpu.*"]), 1);
        for only in [&[][..], &["*.barrier.*"], &["cpu.*"], &["mpirun"]] {
            assert_eq!(of(only), 0, "{only:?}");
        }
    }

    #[test]
    fn the_first_process_of_a_node_measures_it_under_the_common_directory() {
        let of = |rank, local| Process { rank, size: 128, local, launcher: "Slurm" };
        let part = |rank, node| part_of(rank, Some(Path::new("runs")), node).unwrap();
        assert_eq!(part(of(7, 0), Some("cn042")), Duty::Node(PathBuf::from("runs/cn042")));
        assert_eq!(part(of(7, 0), None), Duty::Node(PathBuf::from("runs/node-007")));
        assert_eq!(part(of(7, 1), Some("cn042")), Duty::Nothing);
        for hostile in ["..", ".", "", "/"] {
            let Duty::Node(path) = part(of(7, 0), Some(hostile)) else { panic!("{hostile}") };
            assert_eq!((path.parent(), path.components().count()), (Some(Path::new("runs")), 2), "{hostile}");
        }
        let error = part_of(of(0, 0), None, None).unwrap_err();
        assert!(error.to_string().contains("128 processes") && error.to_string().contains("--out"), "{error}");
        assert_eq!(part_of(of(1, 1), None, None).unwrap(), Duty::Nothing, "one process says so");
    }

    #[test]
    fn a_node_that_did_not_begin_has_nothing_to_resume() {
        let folder = tempfile::tempdir().unwrap();
        let node = |name| Duty::Node(folder.path().join(name));
        std::fs::create_dir(folder.path().join("cn1")).unwrap();
        assert_eq!(begun(node("cn1"), Some(folder.path())).unwrap(), node("cn1"));
        assert_eq!(begun(node("cn2"), None).unwrap(), node("cn2"), "a new run makes its directory");
        let error = begun(node("cn2"), Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("cn2 does not exist") && error.contains("with --out"), "{error}");
    }
}
