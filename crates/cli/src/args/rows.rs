//! The arguments of the commands that read finished runs as text: `compare`, `fleet`, `show`, `findings` and `advise`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use syncscope_core::run::columns::{COLUMNS, Column};
use syncscope_core::{Domain, Row};
use syncscope_report::{Need, Paper, USUAL_THRESHOLD};

use super::one_of;

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Directories of the two runs [default: the latest run for B, and the one before it for A]
    #[arg(value_name = "RUN", num_args = 0..=2, value_names = ["A", "B"])]
    pub(crate) runs: Vec<PathBuf>,
    /// Smallest change that counts. With 5%: slower if B/A > 1.05, faster if A/B > 1.05, the same if both are below, otherwise
    /// undecided. The verdicts have a false-discovery rate of 5 %; a printed interval is the 95 % interval of its case alone
    #[arg(long, value_name = "PERCENT", default_value_t = Percentage(USUAL_THRESHOLD))]
    pub(crate) threshold: Percentage,
    /// Exit with code 3 if a case is slower, otherwise with 4 if the machine was in another state and costs do not compare
    #[arg(long, value_parser = ["slower"], value_name = "CHANGE")]
    pub(crate) fail_on: Option<String>,
    /// Compare only primitives whose id matches, such as 'gpu.cluster.*' (repeatable, or with commas)
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Output format; csv and json have every case of both runs
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub(crate) format: TextFormat,
}

#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// Directories of runs, one for each node, or directories that contain such directories. At least three runs; use
    /// `compare` for two
    #[arg(value_name = "DIR", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Also write an HTML page of all nodes, - for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Smallest difference from the median node that counts. With 5%, a primitive differs if the whole interval of its ratio is
    /// above 1.05 or below 1/1.05. The intervals are corrected for the number of nodes and primitives
    #[arg(long, value_name = "PERCENT", default_value_t = Percentage(USUAL_THRESHOLD))]
    pub(crate) threshold: Percentage,
    /// Exit with code 3 if a node differs
    #[arg(long, value_parser = ["outlier"], value_name = "WHAT")]
    pub(crate) fail_on: Option<String>,
    /// Compare only primitives whose id matches, such as 'gpu.*' (repeatable, or with commas)
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Output format; csv and json have every primitive of every node
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub(crate) format: TextFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Directory of the run [default: the latest in ./syncscope-runs]
    #[arg(value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
    /// Output format; csv and json have the columns of measurements.csv; bmf, github, google-benchmark and reframe have the rows with a number only
    #[arg(long, value_enum, default_value_t = ShowFormat::Table)]
    pub(crate) format: ShowFormat,
    /// Show only primitives whose id matches, such as 'cpu.lock.*' (repeatable, or with commas)
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Show only rows with this value in a column of measurements.csv, such as threads=16 (repeatable, or with commas)
    #[arg(long = "where", value_name = "COLUMN=VALUE", conflicts_with = "sides")]
    conditions: Vec<Conditions>,
    /// Show the cost of each row relative to this primitive with the same parameters
    #[arg(long, value_name = "ID", conflicts_with_all = ["sides", "sort"])]
    pub(crate) against: Option<String>,
    /// Show which costs changed over the runs of one machine: DIR is a folder of runs [default: ./syncscope-runs]
    #[arg(long, conflicts_with_all = ["sides", "sort", "against"])]
    pub(crate) history: bool,
    /// Show CPU and GPU side by side: each operation on one thread and on all threads, and how often all do it in a second
    #[arg(long, conflicts_with_all = ["only", "sort"])]
    pub(crate) sides: bool,
    /// Order of the rows
    #[arg(long, value_enum, default_value_t = ShowOrder::Catalogue)]
    pub(crate) sort: ShowOrder,
}

impl ShowArguments {
    /// All of `--where`.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.conditions.iter().flat_map(|Conditions(all)| all).cloned().collect()
    }
}

/// One value of `--where`. A comma without a further `=` is part of a value, such as a list of CPUs.
#[derive(Debug, Clone)]
struct Conditions(Vec<Condition>);

impl FromStr for Conditions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all: Vec<Condition> = Vec::new();
        for part in text.split(',') {
            match all.last_mut() {
                Some(Condition { value, .. }) if !part.contains('=') => *value = format!("{value},{}", part.trim()),
                _ => all.push(part.parse()?),
            }
        }
        Ok(Self(all))
    }
}

/// A column and the value that a row must have there.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    pub(crate) column: &'static Column,
    pub(crate) value: String,
}

impl Condition {
    pub(crate) fn is_met(&self, row: &Row) -> bool {
        self.column.write(row) == self.value
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write COLUMN=VALUE, such as threads=16")?;
        let column = COLUMNS.iter().find(|column| column.name == name.trim());
        let column = column.ok_or_else(|| format!("there is no column {name}; docs/COLUMNS.md lists them"))?;
        Ok(Self { column, value: value.trim().to_owned() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowOrder {
    /// As `list` shows the primitives, the same for every run
    Catalogue,
    /// The most expensive first
    Cost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// Human-readable table
    Table,
    /// Markdown tables
    Markdown,
    /// Comma-separated values
    Csv,
    /// Machine-readable JSON
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// Human-readable table
    Table,
    /// Markdown tables
    Markdown,
    /// A table of LaTeX with the rules of booktabs
    Latex,
    /// Comma-separated values
    Csv,
    /// Machine-readable JSON
    Json,
    /// Bencher Metric Format, for `bencher run --adapter json`
    Bmf,
    /// JSON for github-action-benchmark with the tool customSmallerIsBetter
    Github,
    /// JSON as Google Benchmark writes it
    GoogleBenchmark,
    /// Lines of `name: value unit` for a performance function of ReFrame
    Reframe,
}

impl ShowFormat {
    /// Whether it has rows without a number, too.
    pub(crate) const fn is_of_all_rows(self) -> bool {
        !matches!(self, Self::Bmf | Self::Github | Self::GoogleBenchmark | Self::Reframe)
    }
}

#[derive(Debug, Args)]
pub(crate) struct FindingsArguments {
    /// Directories of the runs; each claim is tested on each of them [default: the latest in ./syncscope-runs]
    #[arg(value_name = "DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// Test only the claims of this paper (repeatable)
    #[arg(long, value_parser = papers(), value_name = "NAME")]
    pub(crate) paper: Vec<Paper>,
    /// Output format; json also has the claims that a run cannot decide
    #[arg(long, value_enum, default_value_t = DocumentFormat::Table)]
    pub(crate) format: DocumentFormat,
}

fn papers() -> impl TypedValueParser<Value = Paper> {
    one_of(Paper::ALL.iter().map(|paper| (*paper, paper.as_str(), paper.title())))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// Human-readable table
    Table,
    /// Markdown tables
    Markdown,
    /// Machine-readable JSON
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct AdviseArguments {
    /// Directory of the run [default: the latest in ./syncscope-runs]
    #[arg(value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
    /// What the program needs [default: one line for each need]
    #[arg(long, value_parser = needs())]
    pub(crate) need: Option<Need>,
    /// Threads of the team on the CPU, or of a block on the GPU [default: the largest team in the run that fits the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Restrict to the CPU or the GPU [default: both, as far as measured]
    #[arg(long, value_parser = sides())]
    pub(crate) on: Option<Domain>,
    /// How long a thread waits, such as 5us; with `--need wait`
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// Output format
    #[arg(long, value_enum, default_value_t = DocumentFormat::Table)]
    pub(crate) format: DocumentFormat,
}

fn needs() -> impl TypedValueParser<Value = Need> {
    one_of(Need::ALL.iter().map(|need| (*need, need.as_str(), about(*need))))
}

const fn about(need: Need) -> &'static str {
    match need {
        Need::CountEvents => "Count events: one atomic counter, or one for each thread, summed when read",
        Need::Protect => "Protect data that one thread at a time may use: which lock",
        Need::Phases => "Divide work into phases: which barrier",
        Need::HandOver => "Hand over from one thread to another: spin or sleep",
        Need::Wait => "Wait for another thread: spin, and with which hint, or sleep",
        Need::Reduce => "Reduce many values to one; DIR must have rows of `gpu.reduction.*` or `cpu.reduction.*`",
        Need::EndGpuPhase => {
            "End a phase of all GPU threads: a grid barrier, or the next kernel in a graph or a stream"
        }
    }
}

pub(super) fn sides() -> impl TypedValueParser<Value = Domain> {
    let of = |side: Domain, about| (side, side.as_str(), about);
    one_of([of(Domain::Cpu, "Threads of the operating system"), of(Domain::Gpu, "Threads of a CUDA device")])
}

/// A share that the command line has in percent: `5%` is 0.05.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percentage(pub(crate) f64);

impl FromStr for Percentage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
        match number {
            // It may be a share: 0.05 for 5 %.
            Some(share) if 0.0 < share && share < 1.0 && !text.ends_with('%') => {
                let percent = (1e8 * share).round() / 1e6;
                Err(format!("{text} may be {text} % or the share {percent} %: write {text}% or {percent}%"))
            }
            Some(percent) if (0.0..=1000.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err("a percentage from 0% to 1000% is needed, such as 5%".to_owned()),
        }
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", 100.0 * self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_be_a_list() {
        let Conditions(all) = "threads=2,placement=0, 6,dtype=".parse().unwrap();
        let found = all.iter().map(|Condition { column, value }| (column.name, value.as_str()));
        assert_eq!(found.collect::<Vec<_>>(), [("threads", "2"), ("placement", "0,6"), ("dtype", "")]);
        for wrong in ["threads", "5,threads=2", "threads=2,core=5"] {
            assert!(wrong.parse::<Conditions>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_percentage_is_read_and_written() {
        assert_eq!("5%".parse(), Ok(Percentage(0.05)));
        assert_eq!(" 12.5 % ".parse(), Ok(Percentage(0.125)));
        assert_eq!("5".parse(), Ok(Percentage(0.05)), "a number alone is in percent, too");
        assert_eq!("0.05%".parse(), Ok(Percentage(0.0005)));
        assert_eq!("0".parse(), Ok(Percentage(0.0)));
        assert!("0.07".parse::<Percentage>().unwrap_err().contains("write 0.07% or 7%"), "which of both?");
        for wrong in ["five", "-1%", "1001%", "NaN%", "%"] {
            assert!(wrong.parse::<Percentage>().is_err(), "{wrong}");
        }
        assert_eq!(Percentage(USUAL_THRESHOLD).to_string(), "5%", "the help explains its default by this figure");
    }
}
