//! A run under a launcher (Slurm's `srun`, Open MPI's and MPICH's `mpirun`): one process on each node, one run directory for
//! each node under `--out`. If nothing but primitives between processes is asked for, all processes make one run together.

use std::path::{Path, PathBuf};
use std::process::Command;

use syncscope_core::run::directory::RunDirectory;
use syncscope_core::{Cancel, Domain};
use syncscope_cpu::mpi::{Family, MpiLaboratory, MpiProcess, Started};

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::terminal::{self, cancel_on_signal};

/// The number of a process among those that a launcher started together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    rank: u32,
    size: u32,
    /// Its number among the processes of its node.
    local: u32,
    launcher: &'static str,
}

/// The launchers: their name, and the variables with the rank, the number of processes and the rank on the node. Open MPI
/// and MPICH stand before Slurm, because their processes may themselves be tasks of Slurm.
const LAUNCHERS: [(&str, [&str; 3]); 3] = [
    ("Open MPI", ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"]),
    // Hydra, the launcher of MPICH and of Intel MPI.
    ("MPICH", ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"]),
    // A batch script without `srun` has the other variables, but no step.
    ("Slurm", ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"]),
];

impl Process {
    /// `None` for a process that was started alone. `variable` reads the environment.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let (launcher, rank, size, local) = LAUNCHERS.into_iter().find_map(|(name, [rank, size, local])| {
            Some((name, number(rank)?, number(size)?, number(local).unwrap_or(0)))
        })?;
        (size > 1).then_some(Self { rank, size, local, launcher })
    }

    /// Joins the other processes of a common run. `None` for a process that only took part, and is done.
    pub(crate) fn join(self, arguments: &RunArguments) -> Result<Option<Together>, Failure> {
        Failure::refuse([
            (arguments.repeat.is_some(), "--repeat starts processes of its own; start the launcher several times"),
            (arguments.experiments, "--experiments measures GPUs, and this run none; use it without the launcher"),
            (arguments.device.is_some(), "--device: primitives between processes (mpi.*) use no GPU; leave it out"),
            (arguments.cpus.is_some(), "--cpus: the launcher places its processes; use its options, such as --bind-to"),
        ])?;
        let family = match self.launcher {
            "Open MPI" => Family::OpenMpi,
            "MPICH" => Family::Mpich,
            _ => Family::Any,
        };
        let cancel = cancel_on_signal();
        let lost = |reason: &str| terminal::error(&format!("{reason}; `syncscope run --resume` measures what is left"));
        let joined = MpiProcess::start(family, self.size, cancel.clone(), lost).map_err(Failure::CouldNot)?;
        match Started::of(joined) {
            Started::First(laboratory) => Ok(Some(Together { laboratory: *laboratory, cancel })),
            Started::Other(process) => process.follow().map(|()| None).map_err(Failure::CouldNot),
        }
    }

    /// The name of the directory of this node.
    fn directory(self, node: Option<&str>) -> String {
        let digits = self.size.saturating_sub(1).to_string().len();
        let by_rank = || format!("node-{:0digits$}", self.rank);
        // A name is one component of a path.
        node.map(|node| node.replace(['/', '\\', '\0'], "_"))
            .filter(|node| !node.is_empty() && !node.starts_with('.'))
            .unwrap_or_else(by_rank)
    }
}

/// The processes of a common run, for the one that measures.
pub(crate) struct Together {
    pub(crate) laboratory: MpiLaboratory,
    /// What Ctrl-C and SIGTERM set.
    pub(crate) cancel: Cancel,
}

/// The environment variable of a child whose directory is already that of its node.
const HAS_DIRECTORY: &str = "SYNCSCOPE_NODE_DIRECTORY";

/// The child of a process measures into the directory that it is given.
pub(crate) fn keep_directory(child: &mut Command) {
    child.env(HAS_DIRECTORY, "1");
}

/// Whether this process is such a child, which its parent ends.
pub(crate) fn has_directory() -> bool {
    std::env::var_os(HAS_DIRECTORY).is_some()
}

/// What a process does of a run that a launcher started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It was started alone and measures.
    Alone,
    /// It measures its node, into this directory.
    Node(PathBuf),
    /// Another process measures the node.
    Nothing,
    /// It measures together with all other processes.
    Together(Process),
}

/// The part of this process. The common directory is that of `--out` or `--resume`. Without `--anonymous` the directories
/// have the names of the nodes. All processes but the first are silent from here on.
///
/// # Errors
/// When a launcher started several processes and there is no common directory, or when some of what is asked for is measured
/// by all processes together and the rest by nodes.
pub(crate) fn part(arguments: &RunArguments) -> Result<Part, Failure> {
    let Some(process) = Process::of(|name| std::env::var(name).ok()) else { return Ok(Part::Alone) };
    let node = node_name().filter(|_| !arguments.anonymous);
    if process.rank > 0 {
        terminal::silence(&process.directory(node.as_deref()));
    }
    if has_directory() {
        return Ok(Part::Alone);
    }
    let folder = arguments.out.as_deref().or(arguments.resume.as_deref());
    // The directory of a common run is that of `--out` itself.
    let resumed = arguments.resume.as_deref().and_then(|path| RunDirectory::open(path).ok()?.read_run().ok());
    let only = resumed.map_or_else(|| arguments.only.clone(), |run| run.only);
    match between_processes(&only) {
        0 => part_of(process, folder, node.as_deref()),
        count if count == only.len() => Ok(Part::Together(process)),
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

fn part_of(process: Process, folder: Option<&Path>, node: Option<&str>) -> Result<Part, Failure> {
    let Some(folder) = folder else {
        return Err(Failure::Usage(format!(
            "{} started {} processes; name the common directory of their runs with --out",
            process.launcher, process.size
        )));
    };
    Ok(if process.local == 0 { Part::Node(folder.join(process.directory(node))) } else { Part::Nothing })
}

/// The name of this node: that by which the scheduler knows it, or else the host's name.
fn node_name() -> Option<String> {
    let of_host = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("SLURMD_NODENAME").ok().or_else(of_host)?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)]) -> Option<Process> {
        let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Process::of(of)
    }

    #[test]
    fn each_launcher_numbers_its_processes() {
        let of_mpi = [
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_NUM_TASKS", "2"),
        ];
        assert_eq!(rank(&of_mpi), Some(Process { rank: 3, size: 8, local: 1, launcher: "Open MPI" }));
        assert_eq!(rank(&of_mpi[3..]), Some(Process { rank: 0, size: 2, local: 0, launcher: "Slurm" }));
        let of_hydra = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("MPI_LOCALRANKID", "0")];
        assert_eq!(rank(&of_hydra).unwrap().launcher, "MPICH");
    }

    #[test]
    fn a_process_alone_and_a_batch_script_have_no_rank() {
        assert_eq!(rank(&[]), None);
        assert_eq!(rank(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(rank(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(rank(&[("PMI_RANK", "first"), ("PMI_SIZE", "2")]), None);
    }

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
        assert_eq!(part(of(7, 0), Some("cn042")), Part::Node(PathBuf::from("runs/cn042")));
        assert_eq!(part(of(7, 0), None), Part::Node(PathBuf::from("runs/node-007")));
        assert_eq!(part(of(7, 1), Some("cn042")), Part::Nothing);
        for hostile in ["..", ".", "", "/"] {
            let Part::Node(path) = part(of(7, 0), Some(hostile)) else { panic!("{hostile}") };
            assert_eq!((path.parent(), path.components().count()), (Some(Path::new("runs")), 2), "{hostile}");
        }
        let error = part_of(of(0, 0), None, None).unwrap_err();
        assert!(error.to_string().contains("128 processes") && error.to_string().contains("--out"), "{error}");
    }
}
