//! Which values of the axes a run measures: `--threads 1,2,4`, `--placement close`, `--dtype i32`, `--stride 1,16`,
//! `--blocks 132`. `--inside` and `--outside` add cases of locks with this work.
//!
//! An option keeps the cases with one of its values. Cases without such a parameter are left out: who asks for `f64` does
//! not mean barriers.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use syncscope_core::words::UnknownWord;
use syncscope_core::{Case, Dtype, Layout, Placement, Work};
use syncscope_cpu::Topology;
use syncscope_cpu::machine::placement::are_alike;

/// What part of each axis is measured. Values that the preset leaves out are taken from a larger preset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Filters by parameter (cases without the parameter are skipped)")]
pub(crate) struct AxisArguments {
    /// Measure only these numbers of threads, such as 1,2,4; on a GPU threads of a block
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Vec<u32>,
    /// Measure only these placements, of cores (one thread on each), close, spread
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = placement_parser(), hide_possible_values = true)]
    pub(crate) placement: Vec<Placement>,
    /// Measure only these types, of i32,u32,u64,f32,f64
    #[arg(long, visible_alias = "type", value_name = "LIST", value_delimiter = ',', value_parser = dtype_parser(), hide_possible_values = true)]
    pub(crate) dtype: Vec<Dtype>,
    /// Measure only private elements at these distances, such as 1,16
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) stride: Vec<u32>,
    /// Measure only grids of these numbers of thread blocks, such as 1,132
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
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

fn work(text: &str) -> Result<Option<Work>, UnknownWord> {
    if text == "0" { Ok(None) } else { text.parse().map(Some) }
}

/// The placements that can be asked for.
const PLACEMENTS: [&str; 3] = ["cores", "close", "spread"];

fn placement_parser() -> impl TypedValueParser<Value = Placement> {
    PossibleValuesParser::new(PLACEMENTS).try_map(|word| word.parse::<Placement>())
}

fn dtype_parser() -> impl TypedValueParser<Value = Dtype> {
    PossibleValuesParser::new(Dtype::ALL.iter().map(|dtype| dtype.as_str())).try_map(|word| word.parse::<Dtype>())
}

/// The option of an axis that can be restricted, and the value of a case, as it is written on the command line.
pub(crate) type Axis = (&'static str, fn(&Case) -> Option<String>);

const PLACEMENT: &str = "--placement";

const AXES: [Axis; 7] = [
    ("--threads", |case| text(case.threads)),
    (PLACEMENT, |case| text(case.placement.as_ref())),
    ("--dtype", |case| text(case.dtype)),
    ("--stride", |case| text(case.layout.and_then(Layout::stride))),
    ("--blocks", |case| text(case.blocks)),
    ("--inside", |case| Some(work_text(case.inside))),
    ("--outside", |case| Some(work_text(case.outside))),
];

/// The options of all axes.
pub(crate) fn options() -> impl Iterator<Item = &'static str> {
    AXES.iter().map(|(option, _)| *option)
}

fn work_text(work: Option<Work>) -> String {
    work.map_or_else(|| "0".to_owned(), |work| work.to_string())
}

fn text<T: Display>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn texts<T: Display>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// The values asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct AxisFilter {
    /// The axes of which not all values are measured.
    asked: Vec<(Axis, Vec<String>)>,
    /// Work inside and outside.
    work: [Vec<Option<Work>>; 2],
    /// The machine, where it is known: each set of CPUs is measured under one name of a placement, and may have others.
    places: Option<Places>,
}

/// The CPUs of a machine, and which placements were found to take the same ones.
#[derive(Debug, Clone)]
struct Places {
    topology: Topology,
    alike: RefCell<HashMap<(String, String, u32), bool>>,
}

impl Places {
    /// Whether a team has the same CPUs under both names.
    fn are_alike(&self, asked: &str, measured: &str, threads: u32) -> bool {
        let known = |word: &str| PLACEMENTS.contains(&word).then(|| word.parse().ok()).flatten();
        let (Some(one), Some(other)) = (known(asked), known(measured)) else { return false };
        let mut alike = self.alike.borrow_mut();
        let key = (asked.to_owned(), measured.to_owned(), threads);
        *alike.entry(key).or_insert_with(|| are_alike(&self.topology, &one, &other, threads))
    }
}

impl AxisFilter {
    pub(crate) fn new(arguments: &AxisArguments) -> Self {
        let AxisArguments { threads, placement, dtype, stride, blocks, inside, outside } = arguments;
        let [of_inside, of_outside] = [inside, outside].map(|work| work.iter().copied().map(work_text).collect());
        let [threads, stride, blocks] = [threads, stride, blocks].map(|counts| texts(counts));
        let asked = [threads, texts(placement), texts(dtype), stride, blocks, of_inside, of_outside];
        let asked = AXES.into_iter().zip(asked).filter(|(_, values)| !values.is_empty()).collect();
        Self { asked, work: [inside.clone(), outside.clone()], places: None }
    }

    /// The same on a machine: where a placement takes the CPUs of another, its cases have that one's name.
    pub(crate) fn on(&self, topology: Option<&Topology>) -> Self {
        let asks = self.asked.iter().any(|((option, _), _)| *option == PLACEMENT);
        let places = topology.filter(|_| asks).cloned();
        Self { places: places.map(|topology| Places { topology, alike: RefCell::default() }), ..self.clone() }
    }

    /// Whether a case has one of the values on each axis that was asked for.
    pub(crate) fn selects(&self, case: &Case) -> bool {
        self.asked.iter().all(|(axis, asked)| asked.iter().any(|value| self.has(case, &(*axis, value))))
    }

    /// A case with every work that was asked for. No preset has any; where some is asked for, only cases that can have it are
    /// left.
    pub(crate) fn with_work(&self, case: Case, can_have_work: impl FnOnce(&Case) -> bool) -> Vec<Case> {
        if self.work.iter().all(Vec::is_empty) {
            return vec![case];
        }
        if !can_have_work(&case) {
            return Vec::new();
        }
        let values = |at: usize| if self.work[at].is_empty() { &[None][..] } else { &self.work[at] };
        let with = |(inside, outside)| Case { inside, outside, ..case.clone() };
        values(0).iter().flat_map(|inside| values(1).iter().map(|outside| (*inside, *outside))).map(with).collect()
    }

    /// The values asked for that none of the cases has: `--threads 3`.
    pub(crate) fn missing<'a>(&self, cases: &(impl Iterator<Item = &'a Case> + Clone)) -> Vec<(Axis, &str)> {
        let asked = self.asked.iter().flat_map(|(axis, asked)| asked.iter().map(|value| (*axis, value.as_str())));
        asked.filter(|value| !cases.clone().any(|case| self.has(case, value))).collect()
    }

    /// Whether a case has a value of an axis.
    pub(crate) fn has(&self, case: &Case, ((option, of), value): &(Axis, &str)) -> bool {
        let Some(own) = of(case) else { return false };
        let are_alike = |places: &Places| case.threads.is_some_and(|threads| places.are_alike(value, &own, threads));
        own == *value || (*option == PLACEMENT && self.places.as_ref().is_some_and(are_alike))
    }

    /// The options on the command line of a process that measures the same.
    pub(crate) fn options(&self) -> Vec<String> {
        self.asked.iter().flat_map(|((option, _), asked)| [(*option).to_owned(), asked.join(",")]).collect()
    }

    /// Why nothing is left: what was asked for, and what the cases have on those axes.
    pub(crate) fn nothing_left<'a>(&self, cases: &(impl Iterator<Item = &'a Case> + Clone)) -> String {
        let asked = self.options().chunks(2).map(|option| option.join(" ")).collect::<Vec<_>>().join(" ");
        let there = self.asked.iter().map(|((option, value), _)| {
            // Pairs of CPUs are placements, too, but none that the option takes.
            let is_taken = |value: &String| *option != PLACEMENT || PLACEMENTS.contains(&value.as_str());
            let values: BTreeSet<(usize, String)> =
                cases.clone().filter_map(value).filter(is_taken).map(|value| (value.len(), value)).collect();
            let values: Vec<String> = values.into_iter().map(|(_, value)| value).collect();
            let known = if values.is_empty() { "no value".to_owned() } else { shortened(&values) };
            format!("{option} has {known}")
        });
        let together = if self.asked.len() > 1 { " together" } else { "" };
        format!("no case has {asked}{together}; of the selected primitives {}", there.collect::<Vec<_>>().join(", "))
    }
}

/// At most so many values are listed.
const MOST_VALUES: usize = 20;

pub(crate) fn shortened(values: &[String]) -> String {
    let more = if values.len() > MOST_VALUES { ", ..." } else { "" };
    format!("{}{more}", values[..values.len().min(MOST_VALUES)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;

    fn case(threads: u32, dtype: Option<Dtype>) -> Case {
        Case { threads: Some(threads), dtype, ..Case::new("cpu.atomic.add") }
    }

    fn filter(arguments: &AxisArguments) -> AxisFilter {
        AxisFilter::new(arguments)
    }

    #[test]
    fn every_option_of_an_axis_is_one_of_the_axes_and_no_option_of_a_resumed_run() {
        let command = AxisArguments::augment_args(clap::Command::new("run"));
        let parsed: Vec<String> =
            command.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
        assert_eq!(parsed, options().collect::<Vec<_>>());
        for option in options() {
            let value = ["1", "close", "i32", "100ns"]
                .into_iter()
                .find(|value| Arguments::of_command(&["syncscope", "run", option, value].map(str::to_owned)).is_ok());
            let words = ["syncscope", "run", "--resume", "run", option, value.unwrap()].map(str::to_owned);
            let refused = Arguments::of_command(&words).unwrap_err();
            assert!(refused.contains(&format!("'--resume <DIR>' cannot be used with '{option} ")), "{refused}");
        }
    }

    #[test]
    fn every_axis_that_was_asked_for_must_fit() {
        let none = filter(&AxisArguments::default());
        assert!(none.selects(&case(1, None)) && none.options().is_empty());
        let both = filter(&AxisArguments { threads: vec![1, 4], dtype: vec![Dtype::I32], ..AxisArguments::default() });
        assert!(both.selects(&case(4, Some(Dtype::I32))));
        assert!(!both.selects(&case(2, Some(Dtype::I32))) && !both.selects(&case(4, Some(Dtype::F64))));
        assert!(!both.selects(&case(4, None)), "a case without a type");
        assert_eq!(both.options(), ["--threads", "1,4", "--dtype", "i32"]);
        let placed = filter(&AxisArguments { placement: vec![Placement::Spread], ..AxisArguments::default() });
        assert!(!placed.selects(&case(1, None)));
        assert!(placed.selects(&Case { placement: Some(Placement::Spread), ..case(1, None) }));
        let stride = filter(&AxisArguments { stride: vec![16], ..AxisArguments::default() });
        let of = |layout| stride.selects(&Case { layout: Some(layout), ..case(1, None) });
        assert!(of(Layout::Private { stride: 16 }) && !of(Layout::Shared) && !of(Layout::Private { stride: 1 }));
        assert!(!filter(&AxisArguments { blocks: vec![132], ..AxisArguments::default() }).selects(&case(1, None)));
    }

    #[test]
    fn work_multiplies_the_cases_that_can_have_it() {
        let with = |inside: &[&str], outside: &[&str]| {
            let [inside, outside] =
                [inside, outside].map(|words| words.iter().map(|word| work(word).unwrap()).collect());
            filter(&AxisArguments { inside, outside, ..AxisArguments::default() })
        };
        assert_eq!(with(&[], &[]).with_work(case(1, None), |_| false), [case(1, None)]);
        let asked = with(&["0", "100ns"], &["4KiB"]);
        let cases = asked.with_work(case(2, None), |_| true);
        let words: Vec<_> = cases.iter().filter_map(Case::work_in_words).collect();
        assert_eq!(words, ["4KiB outside", "100ns inside 4KiB outside"]);
        assert!(cases.iter().all(|case| asked.selects(case)) && !asked.selects(&case(2, None)));
        assert!(asked.with_work(case(1, None), |_| false).is_empty());
        assert_eq!(asked.options(), ["--inside", "0,100ns", "--outside", "4KiB"]);
        assert_eq!(with(&["0"], &[]).with_work(case(1, None), |_| true), [case(1, None)], "the usual case");
    }

    #[test]
    fn what_is_missing_is_named_with_what_is_there() {
        let cases = [case(1, Some(Dtype::I32)), case(16, None), case(2, Some(Dtype::F64))];
        let asked = filter(&AxisArguments { threads: vec![1, 3], dtype: vec![Dtype::U64], ..AxisArguments::default() });
        let missing = asked.missing(&cases.iter());
        let named: Vec<_> = missing.iter().map(|((axis, _), value)| (*axis, *value)).collect();
        assert_eq!(named, [("--threads", "3"), ("--dtype", "u64")]);
        assert!(asked.has(&case(3, None), &missing[0]) && !asked.has(&case(1, None), &missing[0]));
        assert_eq!(
            asked.nothing_left(&cases.iter()),
            "no case has --threads 1,3 --dtype u64 together; of the selected primitives --threads has 1, 2, 16, --dtype has f64, i32"
        );
    }
}
