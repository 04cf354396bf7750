//! The arguments of the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use syncscope_core::Preset;

use crate::failure::Failure;

/// Measure the cost of synchronization primitives on CPUs and GPUs
#[derive(Debug, Parser)]
#[command(name = "syncscope", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine and write a report
    Run(RunArguments),
    /// List the primitives, and which of them this machine can measure
    List(ListArguments),
    /// Show the CPU topology, the GPUs, the clocks and the limits of this machine
    System(SystemArguments),
    /// Check the machine instructions of every primitive, without timing and without a GPU
    Verify(VerifyArguments),
    /// Write an HTML page for one run, or one that compares several
    Report(ReportArguments),
    /// Convert the results of another tool into a run
    Import(ImportArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Number of cases and time to measure
    #[arg(long, value_parser = preset_parser(), default_value = "quick")]
    pub(crate) preset: Preset,
    /// Measure only primitives whose id matches, such as 'cpu.atomic.*' (repeatable); '@syncperformance' selects the cases
    /// of SyncPerformance's CUDA programs
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Do not measure primitives whose id matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) skip: Vec<String>,
    /// Directory for the results; must be new or empty [default: syncscope-runs/TIME-PRESET]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Resume an interrupted run, with its preset, globs and seed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "preset", "only", "skip", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    /// Measure the plan this many times, each time in a new process, and join the runs: their intervals then hold what runs
    /// on this machine differ by
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: Option<u32>,
    /// Stop after this time, such as 90s or 10m; --resume continues the run
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) budget: Option<Duration>,
    /// GPUs to measure, by CUDA device number, such as 0,1 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) device: Option<Vec<u32>>,
    /// Seed of all random orders [default: random, recorded in run.json]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Show the plan without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    pub(crate) format: ListFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Human-readable table
    Table,
    /// Machine-readable JSON
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct SystemArguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = SystemFormat::Text)]
    pub(crate) format: SystemFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SystemFormat {
    /// Human-readable text
    Text,
    /// Machine-readable JSON
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// GPU architectures to compile for (repeatable) [default: sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120]
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Vec<String>,
    /// Check only primitives whose id matches, such as 'gpu.vote.*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Directories of the runs
    #[arg(required = true, value_name = "DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// HTML file to write [default: report.html in the directory of a single run]
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
    /// Import the results of SyncPerformance (Burtchell and Burtscher, IISWC 2024)
    Syncperformance(SyncperformanceArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SyncperformanceArguments {
    /// Directory with the results of one system: runtimes.csv files in directories named after their programs
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// Directory for the run; must be new or empty
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: PathBuf,
}

fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    clap::builder::PossibleValuesParser::new(Preset::ALL.iter().map(|preset| preset.as_str()))
        .try_map(|word| word.parse::<Preset>())
}

fn budget(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("the budget is zero; try 10m".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; try 90s or 10m")),
    }
}

impl Arguments {
    /// Parses the command line. Prints help and version, and then exits.
    pub(crate) fn read() -> Result<Self, Failure> {
        Self::try_parse().or_else(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Err(Failure::Usage("no command given (see `syncscope --help`)".to_owned()))
            }
            _ => Err(Failure::Usage(one_line(&error))),
        })
    }
}

/// The error and its remedy, without the usage that clap adds.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let message = message.collect::<Vec<_>>().join(" ");
    let command = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    let help = if command.is_empty() { "syncscope --help".to_owned() } else { format!("syncscope {command} --help") };
    format!("{} (see `{help}`)", message.trim_start_matches("error: "))
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
    fn errors_have_one_line_with_a_remedy() {
        let error = |words: &[&str]| one_line(&Arguments::try_parse_from(words).unwrap_err());
        let preset = error(&["syncscope", "run", "--preset", "fast"]);
        assert!(preset.contains("quick, standard, paper") && !preset.contains('\n'), "{preset}");
        let conflict = error(&["syncscope", "run", "--resume", "a", "--out", "b"]);
        assert!(conflict.contains("cannot be used with") && !conflict.contains("Usage"), "{conflict}");
        assert!(error(&["syncscope", "run", "--budget", "soon"]).contains("try 90s or 10m"));
    }
}
