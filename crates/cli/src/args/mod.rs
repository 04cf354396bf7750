//! The arguments of the command line: `run` and `measure` in one file each, commands about the rows of runs (`compare`, `show`,
//! `findings`, `fleet`, `advise`) in a third; here the commands and the arguments of the others.

mod measure;
mod rows;
mod run;

use std::ffi::OsString;
use std::io::{Write as _, stdout};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ErrorKind};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use syncscope_gpu::verify::VERIFIED;
use syncscope_papers::{Asked, folder};

pub(crate) use self::measure::MeasureArguments;
pub(crate) use self::rows::{
    AdviseArguments, CompareArguments, Condition, DocumentFormat, FindingsArguments, FleetArguments, ShowArguments,
    ShowFormat, ShowOrder, TextFormat,
};
use self::rows::{Percentage, sides};
pub(crate) use self::run::{CpuList, MOST_REPEATS, RunArguments};
use crate::failure::Failure;

/// Measure the cost of synchronization primitives on CPUs and GPUs
#[derive(Debug, Parser)]
#[command(name = "syncscope", version = env!("SYNCSCOPE_VERSION"), max_term_width = 100, disable_help_subcommand = true, disable_help_flag = true)]
#[command(
    after_help = "Also: import (results of other tools), paper (experiments of papers), completions, man, help COMMAND"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine and write a report
    Run(Box<RunArguments>),
    /// Measure your own operation: a statement or a file
    Measure(Box<MeasureArguments>),
    /// List the primitives, and which of them this machine can measure
    List(ListArguments),
    /// Show the CPU topology, the GPUs, the clocks and the limits of this machine
    System {
        /// Output format
        #[arg(long, value_enum, default_value_t = SystemFormat::Text)]
        format: SystemFormat,
    },
    /// Check the machine instructions of every primitive, without timing and without a GPU
    Verify(VerifyArguments),
    /// Write an HTML page for one run, or one that compares several
    Report(ReportArguments),
    /// Write an index page over many runs: every machine, and what each operation costs on it
    Gallery(GalleryArguments),
    /// Make the anonymous bundle of a run for the gallery, or check one
    Submit(SubmitArguments),
    /// Compare two runs, case by case: slower, faster, the same or undecided
    Compare(CompareArguments),
    /// Compare the runs of three or more nodes: what is typical, and which nodes differ
    Fleet(FleetArguments),
    /// Show the rows of a finished run
    Show(ShowArguments),
    /// Check published claims against finished runs
    Findings(FindingsArguments),
    /// Recommend the cheapest lock, barrier, ... measured in a run
    Advise(AdviseArguments),
    /// Convert the results of another tool into a run
    #[command(hide = true, subcommand)]
    Import(ImportSource),
    /// Repeat an experiment of a paper, and test what the paper says
    #[command(hide = true, subcommand)]
    Paper(PaperCommand),
    /// Print a script that completes the arguments in a shell
    #[command(hide = true)]
    Completions {
        /// Shell that reads the script
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man {
        /// Directory for the manual pages of all commands, one file each [default: the page of syncscope, to stdout]
        #[arg(short, long, value_name = "DIR", value_parser = folder())]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// List only primitives with all of these words, or whose id matches, such as mutex, atomicAdd or 'gpu.vote.*'
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// List only primitives whose id matches one of these globs, as in `run` (repeatable, or with commas)
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SystemFormat {
    /// Human-readable text
    Text,
    /// Machine-readable JSON
    Json,
}

fn arch_help() -> String {
    format!("GPU architectures to compile for (repeatable, or with commas) [default: {}]", VERIFIED.join(" "))
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    #[arg(long, value_name = "ARCH", value_delimiter = ',', help = arch_help())]
    pub(crate) arch: Vec<String>,
    /// Check only primitives whose id matches, such as 'gpu.vote.*' (repeatable, or with commas)
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Directories of the runs [default: the latest in ./syncscope-runs]
    #[arg(value_name = "DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// HTML file to write, - for stdout [default: report.html in the directory of a single run]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct GalleryArguments {
    /// Directories of the runs; directories that are not runs are skipped, those in syncscope-runs are marked as yours
    #[arg(required = true, value_name = "DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// HTML file to write, - for stdout; it links to NAME/report.html where that exists in the same directory
    #[arg(short, long, alias = "output", value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Title of the page [default: the number of runs]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArguments {
    /// Directory of a run; with --check, a bundle
    #[arg(value_name = "RUN")]
    pub(crate) path: PathBuf,
    /// Check a bundle; with -o, write the run in it to a directory
    #[arg(long)]
    pub(crate) check: bool,
    /// File of the bundle, - for stdout [default: NAME.json.gz here]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportSource {
    /// Import the results of SyncPerformance (Burtchell and Burtscher, IISWC 2024)
    Syncperformance(SyncperformanceArguments),
    /// Import a matrix of core-to-core-latency (github.com/nviennot/core-to-core-latency, --csv)
    CoreToCoreLatency(CoreToCoreArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ImportTarget {
    /// Directory for the run; must be new or empty
    #[arg(short, long, alias = "output", value_name = "RUN", value_parser = folder())]
    pub(crate) out: PathBuf,
    /// JSON file with what is known of `machine` and `environment`, named as in run.json
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CoreToCoreArguments {
    /// CSV file named after the processor, or a folder of them with a machines.csv like results/core-to-core; RUN is then a
    /// folder of runs
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) target: ImportTarget,
}

#[derive(Debug, Args)]
pub(crate) struct SyncperformanceArguments {
    /// Directory with the results of one system: runtimes.csv files in directories named after their programs
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) target: ImportTarget,
    /// OMP_PLACES or OMP_PROC_BIND was set, so that programs named _close and _spread bound their threads
    #[arg(long)]
    pub(crate) bound: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PaperCommand {
    #[command(flatten)]
    Of(Asked),
    /// Predictions from primitive costs about the reductions in a finished run
    Reductions {
        /// Run with rows of `*.reduction.*` and of the primitives they are made of
        #[arg(value_name = "DIR")]
        run: PathBuf,
    },
}

/// Accepts the word of one of these, and shows them with what the help says of each.
fn one_of<T>(all: impl IntoIterator<Item = (T, &'static str, &'static str)>) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let all: Vec<_> = all.into_iter().collect();
    let values: Vec<_> = all.iter().map(|(_, word, about)| PossibleValue::new(*word).help(*about)).collect();
    PossibleValuesParser::new(values).try_map(move |word| {
        let known = all.iter().find(|(_, known, _)| *known == word);
        known.map(|(value, ..)| *value).ok_or("this word is not known")
    })
}

impl Arguments {
    /// The subcommand of a command line that stands in a `run.json`.
    pub(crate) fn of_command(words: &[String]) -> Result<Command, String> {
        Self::try_parse_from(words).map(|arguments| arguments.command).map_err(|error| one_line(&error))
    }

    /// Whether NCCL may choose NVLink's multicast.
    pub(crate) fn allows_multicast(&self) -> bool {
        matches!(&self.command, Command::Run(run) if run.nccl_multicast)
    }

    /// Parses the command line. Prints help and version, and then exits; help also where no command is given.
    pub(crate) fn read() -> Result<Self, Failure> {
        let mut words: Vec<OsString> = std::env::args_os().collect();
        // A subcommand of clap would print another help than `--help` and double the completions.
        if words.get(1).is_some_and(|word| word == "help") {
            words.remove(1);
            words.push("--help".into());
        }
        Self::try_parse_from(words).or_else(|error| match error.kind() {
            // Help that was asked for goes to stdout with exit code 0. Without a command it goes to stderr with exit code 2.
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                crate::terminal::written(error.print().and_then(|()| stdout().flush()))?;
                std::process::exit(error.exit_code())
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
    let message = message.collect::<Vec<_>>().join(" ").replace(" tip: ", "; ");
    let list = if message.contains(" <LIST>'") { ", and commas between several: 1,2,4" } else { "" };
    let message = message.replace("invalid digit found in string", &format!("a whole number is needed{list}"));
    let is_known = |word: &String| <Arguments as clap::CommandFactory>::command().find_subcommand(word).is_some();
    let command = crate::provenance::command_line().into_iter().nth(1).filter(is_known);
    let of_compiler = if command.as_deref() == Some("measure") { remedy_of_compiler_option(error) } else { "" };
    let help = command.map_or("syncscope --help".to_owned(), |command| format!("syncscope {command} --help"));
    format!("{}{of_compiler} (see `{help}`)", range_in_words(message.trim_start_matches("error: ")))
}

/// What to do with an unknown option of one letter, which may begin one of a compiler: `-march=native`, `-lnuma`.
fn remedy_of_compiler_option(error: &clap::Error) -> &'static str {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let is_short = error.kind() == ErrorKind::UnknownArgument && !argument.starts_with("--");
    if is_short { "; CC or CXX takes the compiler's options: CC='cc -march=native -lnuma'" } else { "" }
}

/// `0 is not in 1..=100` as `0 is not between 1 and 100`; the largest number of a type is no bound that a user set.
fn range_in_words(message: &str) -> String {
    let Some((value, range)) = message.split_once(" is not in ") else { return message.to_owned() };
    let Some((low, high)) = range.split_once("..=") else { return message.to_owned() };
    // Behind the option, the number that was given.
    let given = value.rsplit(' ').next().and_then(|number| number.parse::<i128>().ok());
    if high != u32::MAX.to_string() {
        format!("{value} is not between {low} and {high}")
    } else if given.is_some_and(|given| given > i128::from(u32::MAX)) {
        format!("{value} is above the largest number, {high}")
    } else {
        format!("{value} is not {low} or more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// `-h` and `--help` print the same: what the short help leaves out, nobody finds.
    #[test]
    fn the_help_hides_no_option() {
        for command in Arguments::command().get_subcommands() {
            let hidden = command.get_arguments().filter(|arg| arg.is_hide_short_help_set() || arg.is_hide_set());
            let mut hidden: Vec<String> = hidden.map(|arg| arg.get_id().to_string()).collect();
            // `--orderings` gives it to the processes that it starts.
            hidden.retain(|id| id != "trial_ms");
            assert!(hidden.is_empty(), "{}: {hidden:?}", command.get_name());
        }
    }

    #[test]
    fn errors_have_one_line_with_a_remedy() {
        let error = |words: &[&str]| one_line(&Arguments::try_parse_from(words).unwrap_err());
        let preset = error(&["syncscope", "run", "--preset", "fast"]);
        assert!(preset.contains("quick, standard, paper") && !preset.contains('\n'), "{preset}");
        let conflict = error(&["syncscope", "run", "--resume", "a", "--out", "b"]);
        assert!(conflict.contains("cannot be used with") && !conflict.contains("Usage"), "{conflict}");
        assert!(error(&["syncscope", "run", "--budget", "soon"]).contains("try 90s or 10m"));
        assert!(error(&["syncscope", "run", "--time", "500 years"]).contains("longer than a year"));
        let (threads, repeat) =
            (error(&["syncscope", "run", "--threads", "0"]), error(&["syncscope", "run", "--repeat", "200"]));
        assert!(threads.contains("0 is not between 1 and 65536 (see"), "{threads}");
        let many = error(&["syncscope", "run", "--threads", "4294967296"]);
        assert!(many.contains("4294967296 is not between 1 and 65536 (see"), "{many}");
        assert!(
            error(&["syncscope", "run", "--threads", "1,x"]).contains("'x' for '--threads <LIST>': a whole number is")
        );
        let range = error(&["syncscope", "run", "--threads", "1-2"]);
        assert!(range.contains("needed, and commas between several: 1,2,4 (see"), "{range}");
        let seed = error(&["syncscope", "run", "--seed", "x"]);
        assert!(seed.contains("a whole number is needed (see"), "{seed}");
        assert!(repeat.contains("200 is not between 1 and 100 (see"), "{repeat}");
        let unknown = error(&["syncscope", "run", "--bogus"]);
        assert!(unknown.contains("found; a similar argument exists"), "{unknown}");
    }
}
