//! The arguments of the commands that read finished runs as text: `compare`, `fleet`, `show` and `findings`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use syncscope_report::{Paper, USUAL_THRESHOLD};

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
    /// End with exit code 3 if a case is slower, otherwise with 4 if the machine was in another state, so that costs do not compare
    #[arg(long, value_enum, value_name = "CHANGE")]
    pub(crate) fail_on: Option<FailOn>,
    /// Compare only primitives whose id matches, such as 'gpu.cluster.*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Output format; csv and json have every case of both runs
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub(crate) format: TextFormat,
}

/// The changes that a comparison can fail on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A case is slower by more than the threshold
    Slower,
}

#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// Directories of runs, one for each node, or directories that contain such directories. At least three runs; use
    /// `compare` for two
    #[arg(value_name = "DIR", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Also write an HTML page of all nodes
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Smallest difference from the median node that counts. With 5%, a primitive differs if the whole interval of its ratio is
    /// above 1.05 or below 1/1.05. The intervals are corrected for the number of nodes and primitives
    #[arg(long, value_name = "PERCENT", default_value_t = Percentage(USUAL_THRESHOLD))]
    pub(crate) threshold: Percentage,
    /// End with exit code 3 if a node differs
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOnOutlier>,
    /// Compare only primitives whose id matches, such as 'gpu.*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Output format; csv and json have every primitive of every node
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub(crate) format: TextFormat,
}

/// What the comparison of a fleet can fail on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnOutlier {
    /// A node differs from the median node by more than the threshold
    Outlier,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Directory of the run [default: the latest in ./syncscope-runs]
    #[arg(value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
    /// Output format; csv and json have the columns of measurements.csv; bmf, github and reframe have the resolved rows only
    #[arg(long, value_enum, default_value_t = ShowFormat::Table)]
    pub(crate) format: ShowFormat,
    /// Show only primitives whose id matches, such as 'cpu.lock.*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Order of the rows
    #[arg(long, value_enum, default_value_t = ShowOrder::Catalogue)]
    pub(crate) sort: ShowOrder,
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
    /// Comma-separated values
    Csv,
    /// Machine-readable JSON
    Json,
    /// Bencher Metric Format, for `bencher run --adapter json`
    Bmf,
    /// JSON for github-action-benchmark with the tool customSmallerIsBetter
    Github,
    /// Lines of `name: value unit` for a performance function of ReFrame
    Reframe,
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
    one_of(Paper::ALL.map(|paper| (paper, paper.as_str(), paper.title())))
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

/// A share that the command line has in percent: `5%` is 0.05.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percentage(pub(crate) f64);

impl FromStr for Percentage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
        match number {
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
    fn a_percentage_is_read_and_written() {
        assert_eq!("5%".parse(), Ok(Percentage(0.05)));
        assert_eq!(" 12.5 % ".parse(), Ok(Percentage(0.125)));
        assert_eq!("5".parse(), Ok(Percentage(0.05)), "a number alone is in percent, too");
        for wrong in ["five", "-1%", "1001%", "NaN%", "%"] {
            assert!(wrong.parse::<Percentage>().is_err(), "{wrong}");
        }
        assert_eq!(Percentage(USUAL_THRESHOLD).to_string(), "5%", "the help explains its default by this figure");
    }
}
