//! The arguments of `run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::TypedValueParser;
use syncscope_core::run::LONGEST;
use syncscope_core::{Axes, Preset};
use syncscope_papers::folder;

use super::one_of;
use crate::axes::AxisArguments;

#[derive(Debug, Clone, Default, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
pub(crate) struct RunArguments {
    /// What to measure: quick (30 s on 2 CPUs, 1 min on 16 CPUs and a GPU), standard (4 min, 14 min), paper (10 min, 26 min); --dry-run shows the time
    #[arg(long, value_parser = preset_parser(), hide_possible_values = true, default_value_t = Preset::default())]
    pub(crate) preset: Preset,
    /// Measure only primitives whose id matches, such as 'cpu.atomic.*' (repeatable, or with commas); '@syncperformance' and
    /// '@syncperformance-omp' select SyncPerformance's cases
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Do not measure primitives whose id matches (repeatable, or with commas)
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
    /// Directory for the results; must be new or empty [default: syncscope-runs/TIME-PRESET]
    #[arg(short, long, value_name = "DIR", value_parser = folder())]
    pub(crate) out: Option<PathBuf>,
    /// Resume an interrupted run, with its preset, globs and seed
    #[arg(long, value_name = "DIR", conflicts_with_all = kept_by_a_resumed_run())]
    pub(crate) resume: Option<PathBuf>,
    /// Resume a run of `measure` that somebody else began, and execute its code
    #[arg(long, requires = "resume")]
    pub(crate) trust_code: bool,
    /// Measure the plan this many times, each in a new process, and join the runs
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPEATS)))]
    pub(crate) repeat: Option<u32>,
    /// Take about this long, such as 2h: every case gets more measurements
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) time: Option<Duration>,
    /// Stop after this time, such as 90s or 10m; --resume continues the run
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) budget: Option<Duration>,
    /// GPUs to measure, by CUDA device number, such as 0,1 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) device: Option<Vec<u32>>,
    /// Seed of all random orders [default: random, recorded in run.json]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Neither use nor keep differences between runs of this machine (~/.local/state/syncscope)
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Let NCCL use NVLink multicast, which may disturb others on shared machines
    #[arg(long)]
    pub(crate) nccl_multicast: bool,
    /// Also repeat the experiments of `syncscope paper`: two minutes, or what --budget leaves
    #[arg(long, conflicts_with_all = ["repeat", "dry_run"])]
    pub(crate) experiments: bool,
    /// Under a launcher such as srun: name the directories by rank, not by node
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Show the plan and its time, without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Use only these CPUs, such as 0-7, 0,2 or 0-31:2 [default: all allowed]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<CpuList>,
    #[command(flatten)]
    pub(crate) axes: AxisArguments,
}

/// Most runs that one command repeats.
pub(crate) const MOST_REPEATS: u32 = 100;

/// The CPUs of a list such as `0-7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<u32>);

/// The names of the options that a resumed run keeps as it was begun with.
fn kept_by_a_resumed_run() -> impl Iterator<Item = &'static str> {
    let axes = Axes::options().map(|option| option.trim_start_matches('-'));
    ["out", "preset", "only", "skip", "seed", "cpus", "no_history", "time"].into_iter().chain(axes)
}

fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    one_of(Preset::ALL.iter().map(|preset| (*preset, preset.as_str(), "")))
}

fn cpus(text: &str) -> Result<CpuList, String> {
    syncscope_host::cpu_list::parse(text)
        .map(CpuList)
        .ok_or_else(|| "a list of CPUs is needed, such as 0-7 or 0,2,4".to_owned())
}

/// How long a run takes, which its passes are divided into.
fn time(text: &str) -> Result<Duration, String> {
    match budget(text)? {
        time if time > LONGEST => Err("longer than a year; try 10m or 2h".to_owned()),
        time => Ok(time),
    }
}

pub(super) fn budget(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("no time at all; try 90s or 10m".to_owned()),
        Ok(duration) => Ok(duration),
        Err(_) => Err("a time with a unit is needed; try 90s or 10m".to_owned()),
    }
}
