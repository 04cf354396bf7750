//! The arguments of the published experiments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use syncscope_core::published::asynchrony::{PAPER_EXECUTIONS, Plan};

/// What every published experiment is given.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArguments {
    /// GPU to measure, by CUDA device number [default: the first]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    /// Directory for the results; must be new or empty [default: syncscope-runs/TIME-NAME]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

impl ExperimentArguments {
    /// The device as a list, for those who open devices.
    pub(crate) fn devices(&self) -> Option<Vec<u32>> {
        self.device.map(|device| vec![device])
    }
}

#[derive(Debug, Args)]
pub(crate) struct TimelineArguments {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArguments,
    /// Show only the corrected version of each snippet (both are measured and written)
    #[arg(long)]
    pub(crate) corrected: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CrosscheckArguments {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArguments,
    /// Chains of operations to time
    #[arg(long, value_enum, default_value_t = CrosscheckOn::All)]
    pub(crate) on: CrosscheckOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CrosscheckOn {
    /// Those of GPU and CPU
    All,
    /// Those of the CPU, which need no GPU
    Cpu,
}

#[derive(Debug, Args)]
pub(crate) struct AsynchronyArguments {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArguments,
    /// Executions of each kernel with each block size
    #[arg(long, value_name = "N", default_value_t = PAPER_EXECUTIONS, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) executions: u64,
    /// Components of the vector: a multiple of 1024
    #[arg(long, value_name = "N", default_value_t = Plan::COMPONENTS)]
    pub(crate) components: u32,
    /// Block orders to draw
    #[arg(long, value_name = "N", default_value_t = Plan::DRAWS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) draws: u32,
}
