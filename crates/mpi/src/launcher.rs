//! Recognizes the launcher (Slurm's `srun`, Open MPI's or MPICH's `mpirun`) and this process's rank from the
//! environment.

use syncscope_core::Cancel;

use crate::{Family, MpiProcess, Started};

/// A process among those that a launcher started together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its rank.
    pub rank: u32,
    /// The number of processes.
    pub size: u32,
    /// Its rank among the processes on its node.
    pub local: u32,
    /// The name of the launcher.
    pub launcher: &'static str,
}

/// The launchers: their name, and the variables with the rank, the number of processes and the rank on the node. Open MPI
/// and MPICH come before Slurm, because their processes may themselves be tasks of Slurm.
const LAUNCHERS: [(&str, [&str; 3]); 3] = [
    ("Open MPI", ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"]),
    // Hydra, the launcher of MPICH and of Intel MPI.
    ("MPICH", ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"]),
    // A batch script without `srun` has the other two variables, but not the step's.
    ("Slurm", ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"]),
];

impl Process {
    /// This process as its launcher describes it; `None` if it was started alone.
    pub fn of_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    /// The same, with `variable` to read the environment.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let (launcher, rank, size, local) = LAUNCHERS.into_iter().find_map(|(name, [rank, size, local])| {
            Some((name, number(rank)?, number(size)?, number(local).unwrap_or(0)))
        })?;
        (size > 1).then_some(Self { rank, size, local, launcher })
    }

    /// Joins the other processes in a common run. `lost` is called with the reason when one no longer answers.
    ///
    /// # Errors
    /// If no library of this launcher can be used, or the others do not answer.
    pub fn join(self, cancel: Cancel, lost: impl Fn(&str) + Send + 'static) -> Result<Started, String> {
        let family = match self.launcher {
            "Open MPI" => Family::OpenMpi,
            "MPICH" => Family::Mpich,
            _ => Family::Any,
        };
        MpiProcess::start(family, self.size, cancel, lost).map(Started::of)
    }

    /// The name of this node's directory.
    pub fn directory(self, node: Option<&str>) -> String {
        let digits = self.size.saturating_sub(1).to_string().len();
        let by_rank = || format!("node-{:0digits$}", self.rank);
        // The name must be one component of a path.
        node.map(|node| node.replace(['/', '\\', '\0'], "_"))
            .filter(|node| !node.is_empty() && !node.starts_with('.'))
            .unwrap_or_else(by_rank)
    }
}

/// The name of this node: the scheduler's name for it, or else the host's name.
pub fn node_name() -> Option<String> {
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
}
