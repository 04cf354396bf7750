//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use syncscope_core::Preset;

use crate::failure::Failure;

/// One command tells what synchronization costs on this machine.
#[derive(Debug, Parser)]
#[command(name = "syncscope", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine
    Run(RunArguments),
    /// Show what can be measured here, what cannot, and why
    List(ListArguments),
    /// Show this machine: CPU topology, caches, NUMA, GPUs, limits, clocks
    System(SystemArguments),
    /// Show the machine instructions of every primitive, without timing; needs no GPU
    Verify(VerifyArguments),
    /// Draw one page for one run or several
    Report(ReportArguments),
    /// Make a run of what another tool measured, to draw and compare it
    Import(ImportArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// How much to measure
    #[arg(long, value_parser = preset_parser(), default_value = "quick")]
    pub(crate) preset: Preset,
    /// Measure only primitives whose id matches, such as 'cpu.atomic.*' (repeatable); @syncperformance: only what the
    /// CUDA programs of SyncPerformance measure
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Leave out primitives whose id matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) skip: Vec<String>,
    /// Folder for the results; it must be new or empty [default: syncscope-runs/TIME-PRESET]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with a run that was interrupted, with its preset, globs and seed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "preset", "only", "skip", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    /// Stop after this time, such as 90s or 10m; `--resume` goes on
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) budget: Option<Duration>,
    /// GPUs to measure, by the driver's numbers, such as 0,1
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) device: Option<Vec<u32>>,
    /// Seed of every random order [default: random, recorded in run.json]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Show the plan and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// How to show it
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    pub(crate) format: ListFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct SystemArguments {
    /// How to show it
    #[arg(long, value_enum, default_value_t = SystemFormat::Text)]
    pub(crate) format: SystemFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SystemFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// GPU architectures to compile for (repeatable) [default: sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120]
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Vec<String>,
    /// Verify only primitives whose id matches, such as 'gpu.vote.*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Folders that `syncscope run` made
    #[arg(required = true, value_name = "DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// The page to write [default: report.html in the folder of a single run]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    #[command(subcommand)]
    pub(crate) source: ImportSource,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportSource {
    /// The results of SyncPerformance (Burtchell and Burtscher, IISWC 2024)
    Syncperformance(SyncperformanceArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SyncperformanceArguments {
    /// Folder with the results of one system: `runtimes.csv` files, in folders named after their programs
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// Folder for the run; it must be new or empty
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: PathBuf,
}

fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    clap::builder::PossibleValuesParser::new(Preset::ALL.iter().map(|preset| preset.as_str()))
        .try_map(|word| word.parse::<Preset>())
}

fn budget(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("nothing can be measured in no time; try 10m".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; try 90s or 10m")),
    }
}

impl Arguments {
    /// Reads the command line. Help and version are printed here.
    pub(crate) fn read() -> Result<Self, Failure> {
        Self::try_parse().or_else(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Err(Failure::Usage("no command given; see `syncscope --help`".to_owned()))
            }
            _ => Err(Failure::Usage(one_line(&error))),
        })
    }
}

/// What is wrong and what would be right, without the usage that clap prints after it.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let told = told.collect::<Vec<_>>().join(" ");
    let command = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    let help = if command.is_empty() { "syncscope --help".to_owned() } else { format!("syncscope {command} --help") };
    format!("{} (see `{help}`)", told.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_error_is_one_line_with_its_remedy() {
        let told = |words: &[&str]| one_line(&Arguments::try_parse_from(words).unwrap_err());
        let preset = told(&["syncscope", "run", "--preset", "fast"]);
        assert!(preset.contains("quick, standard, paper") && !preset.contains('\n'), "{preset}");
        let conflict = told(&["syncscope", "run", "--resume", "a", "--out", "b"]);
        assert!(conflict.contains("cannot be used with") && !conflict.contains("Usage"), "{conflict}");
        assert!(told(&["syncscope", "run", "--budget", "soon"]).contains("try 90s or 10m"));
    }
}
