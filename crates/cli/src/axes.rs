//! Which values of the axes a run measures: `--threads 1,2,4`, `--placement close`, `--dtype i32`, `--stride 1,16`,
//! `--blocks 132`. `--inside` and `--outside` add cases of locks with this work.
//!
//! The values replace those of the preset. Cases without such a parameter are left out: a request for `f64` does not mean
//! barriers.

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use syncscope_core::limits::{MOST_BLOCKS, MOST_STRIDE, MOST_THREADS};
use syncscope_core::words::UnknownWord;
use syncscope_core::{Axes, Dtype, Placement, Work};

/// The values of each axis that are measured, instead of those of the preset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Filters by parameter (cases without the parameter are skipped)")]
pub(crate) struct AxisArguments {
    /// Measure only these numbers of threads (on a GPU, per block), such as 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = counts(MOST_THREADS))]
    pub(crate) threads: Vec<u32>,
    /// Measure only these placements: cores (one thread on each), close, spread
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = placement_parser(), hide_possible_values = true)]
    pub(crate) placement: Vec<Placement>,
    /// Measure only these types, of i32,u32,u64,f32,f64
    #[arg(long, visible_alias = "type", value_name = "LIST", value_delimiter = ',', value_parser = dtype_parser(), hide_possible_values = true)]
    pub(crate) dtype: Vec<Dtype>,
    /// Measure only private elements at these distances, such as 1,16
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = counts(MOST_STRIDE))]
    pub(crate) stride: Vec<u32>,
    /// Measure only grids of these numbers of thread blocks, such as 1,132
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = counts(MOST_BLOCKS))]
    pub(crate) blocks: Vec<u32>,
    /// Work in each critical section of a lock, such as 0,100ns,4KiB
    ///
    /// Of memory that the lock guards, every cache line is changed, one after the other (read under a lock for readers). The
    /// work is a part of the cost
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = work)]
    pub(crate) inside: Vec<Option<Work>>,
    /// Work between a release and the next acquisition, such as 0,1us,64KiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = work)]
    pub(crate) outside: Vec<Option<Work>>,
}

/// A parser of counts up to the limit that also holds when the rows of the run are read.
fn counts(most: u32) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(most))
}

fn work(text: &str) -> Result<Option<Work>, UnknownWord> {
    if text == "0" { Ok(None) } else { text.parse().map(Some) }
}

/// The placements that the command line accepts.
const PLACEMENTS: [&str; 3] = ["cores", "close", "spread"];

fn placement_parser() -> impl TypedValueParser<Value = Placement> {
    PossibleValuesParser::new(PLACEMENTS).try_map(|word| word.parse::<Placement>())
}

fn dtype_parser() -> impl TypedValueParser<Value = Dtype> {
    PossibleValuesParser::new(Dtype::ALL.iter().map(|dtype| dtype.as_str())).try_map(|word| word.parse::<Dtype>())
}

impl AxisArguments {
    /// The requested values.
    pub(crate) fn axes(&self) -> Axes {
        let Self { threads, placement, dtype, stride, blocks, inside, outside } = self.clone();
        let (placements, dtypes, strides) = (placement, dtype, stride);
        Axes { threads, placements, dtypes, strides, blocks, inside, outside, clusters: Vec::new() }
    }

    /// The options for the command line of a process that measures the same values.
    pub(crate) fn options(&self) -> Vec<String> {
        let asked = self.axes().asked().into_iter();
        asked.flat_map(|(option, values)| [option.to_owned(), values.join(",")]).collect()
    }
}

/// The most values that are listed.
const MOST_VALUES: usize = 20;

pub(crate) fn shortened(values: &[String]) -> String {
    let more = if values.len() > MOST_VALUES { ", ..." } else { "" };
    format!("{}{more}", values[..values.len().min(MOST_VALUES)].join(", "))
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Case, Layout};

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn every_option_of_an_axis_is_one_of_the_axes_and_no_option_of_a_resumed_run() {
        let command = AxisArguments::augment_args(clap::Command::new("run"));
        let parsed: Vec<String> =
            command.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
        assert_eq!(parsed, Axes::options().collect::<Vec<_>>());
        for option in Axes::options() {
            let value = ["1", "close", "i32", "100ns"]
                .into_iter()
                .find(|value| Arguments::of_command(&["syncscope", "run", option, value].map(str::to_owned)).is_ok());
            let words = ["syncscope", "run", "--resume", "run", option, value.unwrap()].map(str::to_owned);
            let refused = Arguments::of_command(&words).unwrap_err();
            assert!(refused.contains(&format!("'--resume <DIR>' cannot be used with '{option} ")), "{refused}");
        }
    }

    /// A count on the command line either comes back from the table of the run, or is refused before anything is measured.
    #[test]
    fn a_count_that_is_taken_is_read_in_a_row() {
        let is_taken = |option: &str, count: u32| {
            Arguments::of_command(&["syncscope", "run", option, &count.to_string()].map(str::to_owned)).is_ok()
        };
        let case = |option: &str, count: u32| match option {
            "--threads" => Case { threads: Some(count), ..Case::new("cpu.barrier.std") },
            "--blocks" => Case { blocks: Some(count), ..Case::new("gpu.grid.counter") },
            _ => Case { layout: Some(Layout::Private { stride: count }), ..Case::new("cpu.atomic.add") },
        };
        for option in ["--threads", "--blocks", "--stride"] {
            let is_read =
                |count: u32| serde_json::from_value::<Case>(serde_json::to_value(case(option, count)).unwrap()).is_ok();
            let counts: Vec<u32> = (0..32).flat_map(|bit| [1 << bit, (1 << bit) + 1]).chain([u32::MAX]).collect();
            assert!(counts.iter().any(|count| !is_read(*count)), "{option}");
            for count in counts {
                assert_eq!(is_taken(option, count), is_read(count), "{option} {count}");
            }
        }
    }

    #[test]
    fn a_process_that_measures_the_same_has_the_same_options() {
        assert!(AxisArguments::default().options().is_empty());
        let works = |words: &[&str]| words.iter().map(|word| work(word).unwrap()).collect();
        let asked = AxisArguments {
            threads: vec![1, 4],
            dtype: vec![Dtype::I32],
            inside: works(&["0", "100ns"]),
            outside: works(&["4KiB"]),
            ..AxisArguments::default()
        };
        let options = ["--threads", "1,4", "--dtype", "i32", "--inside", "0,100ns", "--outside", "4KiB"];
        assert_eq!(asked.options(), options);
    }
}
