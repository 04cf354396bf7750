//! The axes of a plan: values the user asks for replace the preset's. What the catalogue measures of a variant, and the
//! limits of a laboratory, tell which combinations cannot exist.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Display;

use crate::units::plural;
use crate::{Case, Dtype, Layout, Placement, Work};

/// The values to measure; an empty list means the preset's values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axes {
    /// Threads of a team or of a block.
    pub threads: Vec<u32>,
    /// Placements of threads on CPUs.
    pub placements: Vec<Placement>,
    /// Types of the variables.
    pub dtypes: Vec<Dtype>,
    /// Distances of private elements.
    pub strides: Vec<u32>,
    /// Blocks of a grid.
    pub blocks: Vec<u32>,
    /// Work in each critical section; `None` for none.
    pub inside: Vec<Option<Work>>,
    /// Work between critical sections.
    pub outside: Vec<Option<Work>>,
    /// Blocks of a cluster, for the user's own code.
    pub clusters: Vec<u32>,
}

/// An axis: its option, its values as written on the command line, and the value of a case (`None` if the case has no such
/// parameter).
type Axis = (&'static str, fn(&Axes) -> Vec<String>, fn(&Case) -> Option<String>);

const AXES: [Axis; 7] = [
    ("--threads", |axes| texts(&axes.threads), |case| text(case.threads)),
    // A set of CPUs may have the name of another placement.
    ("--placement", |axes| texts(&axes.placements), |_| None),
    ("--dtype", |axes| texts(&axes.dtypes), |case| text(case.dtype)),
    ("--stride", |axes| texts(&axes.strides), |case| text(case.layout.and_then(Layout::stride))),
    ("--blocks", |axes| texts(&axes.blocks), |case| text(case.blocks)),
    ("--inside", |axes| works(&axes.inside), |case| Some(work_text(case.inside))),
    ("--outside", |axes| works(&axes.outside), |case| Some(work_text(case.outside))),
];

fn text<T: Display>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn texts<T: Display>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn works(values: &[Option<Work>]) -> Vec<String> {
    values.iter().copied().map(work_text).collect()
}

fn work_text(work: Option<Work>) -> String {
    work.map_or_else(|| "0".to_owned(), |work| work.to_string())
}

/// Whether the placement is a rule rather than a list of CPUs chosen for the case.
const fn is_a_rule(case: &Case) -> bool {
    matches!(case.placement, Some(Placement::Cores | Placement::Close | Placement::Spread))
}

/// Whether each thread of the case has a CPU of its own in a list.
fn is_listed(case: &Case) -> bool {
    matches!(&case.placement, Some(Placement::List(cpus)) if case.threads == Some(cpus.len() as u32))
}

impl Axes {
    /// The options of all axes.
    pub fn options() -> impl Iterator<Item = &'static str> {
        AXES.iter().map(|(option, ..)| *option)
    }

    /// Whether nothing is asked for.
    pub fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The options that were asked for, each with its values, as on a command line.
    pub fn asked(&self) -> Vec<(&'static str, Vec<String>)> {
        let asked = AXES.iter().map(|(option, values, _)| (*option, values(self)));
        asked.filter(|(_, values)| !values.is_empty()).collect()
    }

    /// The values asked for that no case has, each with its option and with a case of `refused` that has the value.
    pub fn missing<'r>(
        &self,
        cases: &[&Case],
        refused: &'r [(Case, String)],
    ) -> Vec<(String, Option<&'r (Case, String)>)> {
        let mut missing = Vec::new();
        for (option, values, of) in AXES.iter().filter(|(option, ..)| *option != "--placement") {
            for value in values(self) {
                let has = |case: &Case| of(case).as_ref() == Some(&value);
                if !cases.iter().any(|case| has(case)) {
                    missing.push((format!("{option} {value}"), refused.iter().find(|(case, _)| has(case))));
                }
            }
        }
        missing
    }

    /// Returns the cases with every value asked for, without duplicates. Cases without the parameter are left out: a user
    /// who asks for a type does not mean barriers. A list of CPUs keeps its number of threads.
    pub fn replace(&self, mut cases: Vec<Case>, can_have_work: impl Fn(&Case) -> bool) -> Vec<Case> {
        fn vary<T>(
            cases: &mut Vec<Case>,
            values: &[T],
            has: impl Fn(&Case) -> bool,
            set: impl Fn(&T, Case) -> Option<Case>,
        ) {
            if !values.is_empty() {
                let of = |case: &Case| values.iter().filter_map(|value| set(value, case.clone())).collect::<Vec<_>>();
                *cases = cases.iter().filter(|case| has(case)).flat_map(of).collect();
            }
        }
        let threads = |threads: &u32, case: Case| {
            let is_kept = !is_listed(&case) || case.threads == Some(*threads);
            is_kept.then_some(Case { threads: Some(*threads), ..case })
        };
        vary(&mut cases, &self.threads, |case| case.threads.is_some(), threads);
        let placed = |placement: &Placement, case| Some(Case { placement: Some(placement.clone()), ..case });
        vary(&mut cases, &self.placements, is_a_rule, placed);
        let typed = |dtype: &Dtype, case| Some(Case { dtype: Some(*dtype), ..case });
        vary(&mut cases, &self.dtypes, |case| case.dtype.is_some(), typed);
        let apart = |stride: &u32, case| Some(Case { layout: Some(Layout::Private { stride: *stride }), ..case });
        vary(&mut cases, &self.strides, |case| case.layout.and_then(Layout::stride).is_some(), apart);
        let blocks = |blocks: &u32, case| Some(Case { blocks: Some(*blocks), ..case });
        vary(&mut cases, &self.blocks, |case| case.blocks.is_some(), blocks);
        if !(self.inside.is_empty() && self.outside.is_empty()) {
            cases.retain(|case| can_have_work(case));
        }
        vary(&mut cases, &self.inside, |_| true, |inside, case| Some(Case { inside: *inside, ..case }));
        vary(&mut cases, &self.outside, |_| true, |outside, case| Some(Case { outside: *outside, ..case }));
        let mut seen = HashSet::new();
        cases.retain(|case| seen.insert(case.clone()));
        cases
    }
}

/// The values that a catalogue measures for each variant of its primitives, on a machine with room for all of them. They
/// tell which other values can exist.
#[derive(Debug, Clone, Default)]
pub struct Variants(HashMap<Case, Counts>);

/// Threads, blocks and strides.
type Counts = [BTreeSet<u32>; 3];

const UNITS: [&str; 3] = ["threads", "blocks", "stride"];

fn counts(case: &Case) -> [Option<u32>; 3] {
    [case.threads, case.blocks, case.layout.and_then(Layout::stride)]
}

/// The case without the parameters that can take any number.
fn variant(case: &Case) -> Case {
    let layout = case.layout.map(|layout| layout.stride().map_or(layout, |_| Layout::Private { stride: 1 }));
    Case { threads: None, blocks: None, placement: None, inside: None, outside: None, layout, ..case.clone() }
}

/// Threads of a warp. Where the least number of threads is a warp or more, all others are multiples of it.
const WARP: u32 = 32;

impl Variants {
    /// The variants of these cases.
    pub fn of(cases: &[Case]) -> Self {
        let mut variants: HashMap<Case, Counts> = HashMap::new();
        for case in cases {
            let known = variants.entry(variant(case)).or_default();
            known.iter_mut().zip(counts(case)).for_each(|(known, count)| known.extend(count));
        }
        Self(variants)
    }

    /// Returns why `case`, which was made from `template`, cannot exist.
    pub fn limit(&self, template: &Case, case: &Case) -> Option<String> {
        self.0.get(&variant(template))?;
        let Some(known) = self.0.get(&variant(case)) else { return Some(self.other_types(template, case)) };
        let (asked, usual) = (counts(case), counts(template));
        let of = |at: usize| {
            let (known, unit) = (&known[at], UNITS[at]);
            let (asked, usual, least) = (asked[at]?, usual[at]?, *known.first()?);
            if known.contains(&asked) || asked == usual {
                return None;
            }
            let are_threads = at == 0;
            match known.len() {
                1 => Some(format!("it has only {unit} {usual}, not {asked}")),
                _ if are_threads && asked < least => {
                    Some(format!("{}, but it has at least {least}", plural(asked, "thread")))
                }
                _ if are_threads && least >= WARP && !asked.is_multiple_of(least) => {
                    Some(format!("{asked} {unit} are not a multiple of {least}"))
                }
                _ => None,
            }
        };
        (0..UNITS.len()).find_map(of)
    }

    fn other_types(&self, template: &Case, case: &Case) -> String {
        let is_there =
            |dtype: &&Dtype| self.0.contains_key(&variant(&Case { dtype: Some(**dtype), ..template.clone() }));
        let types: Vec<&str> = Dtype::ALL.iter().filter(is_there).map(|dtype| dtype.as_str()).collect();
        let asked = case.dtype.map_or("", Dtype::as_str);
        format!("it has the types {}, not {asked}", types.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(threads: u32, dtype: Option<Dtype>) -> Case {
        Case { threads: Some(threads), dtype, ..Case::new("cpu.atomic.add") }
    }

    #[test]
    fn values_replace_those_of_the_cases_that_have_the_parameter() {
        let usual = vec![case(1, None), case(2, Some(Dtype::I32)), case(4, Some(Dtype::I32))];
        let replaced = |axes: Axes| axes.replace(usual.clone(), |_| false);
        assert_eq!(replaced(Axes::default()), usual);
        assert_eq!(
            replaced(Axes { threads: vec![17], ..Axes::default() }),
            [case(17, None), case(17, Some(Dtype::I32))]
        );
        let both = Axes { threads: vec![3, 3, 5], dtypes: vec![Dtype::F64], ..Axes::default() };
        assert_eq!(replaced(both.clone()), [case(3, Some(Dtype::F64)), case(5, Some(Dtype::F64))]);
        assert_eq!(both.asked()[1], ("--dtype", vec!["f64".to_owned()]));
        assert!(replaced(Axes { blocks: vec![5], ..Axes::default() }).is_empty());
        let work = Axes { inside: vec![None, Some(Work::Time(100))], ..Axes::default() };
        assert!(replaced(work.clone()).is_empty(), "none of them can have work");
        assert_eq!(work.replace(usual.clone(), |_| true).len(), 6);
    }

    #[test]
    fn cpus_that_were_chosen_keep_their_threads() {
        let pair = Case { placement: Some(Placement::List(vec![0, 4])), ..case(2, None) };
        let with = |axes: Axes| axes.replace(vec![pair.clone()], |_| false);
        assert!(with(Axes { threads: vec![3], ..Axes::default() }).is_empty());
        assert!(with(Axes { threads: vec![3, 2], ..Axes::default() }) == std::slice::from_ref(&pair));
        assert!(with(Axes { placements: vec![Placement::Close], ..Axes::default() }).is_empty());
    }

    #[test]
    fn what_cannot_exist_has_a_reason() {
        let on = |threads: u32, blocks: u32| Case { blocks: Some(blocks), ..case(threads, Some(Dtype::I32)) };
        let wide = |threads| Case { dtype: Some(Dtype::U64), ..on(threads, 1) };
        let known = Variants::of(&[on(32, 1), on(64, 1), on(32, 132), wide(1), wide(2)]);
        let limit = |template: &Case, case: &Case| known.limit(template, case).unwrap_or_default();
        assert_eq!(limit(&on(32, 1), &on(96, 5)), "");
        assert_eq!(limit(&on(32, 1), &on(48, 5)), "48 threads are not a multiple of 32");
        assert_eq!(limit(&on(32, 1), &on(7, 5)), "7 threads, but it has at least 32");
        assert_eq!((limit(&wide(2), &wide(17)), limit(&wide(2), &wide(3))), (String::new(), String::new()));
        let on_more = Case { blocks: Some(5), ..wide(2) };
        assert_eq!(limit(&wide(2), &on_more), "it has only blocks 1, not 5");
        let float = Case { dtype: Some(Dtype::F64), ..on(32, 1) };
        assert_eq!(limit(&on(32, 1), &float), "it has the types i32, u64, not f64");
        assert_eq!(limit(&Case::new("cpu.own.a"), &case(17, None)), "", "nothing is known of it");
    }

    #[test]
    fn a_value_that_is_missing_is_named_with_its_reason() {
        let refused = [(case(17, None), "17 threads on 16 CPUs".to_owned())];
        let axes = Axes { threads: vec![2, 17, 18], placements: vec![Placement::Close], ..Axes::default() };
        let planned = case(2, None);
        let missing = axes.missing(&[&planned], &refused);
        let named: Vec<_> = missing.iter().map(|(value, why)| (value.as_str(), why.is_some())).collect();
        assert_eq!(named, [("--threads 17", true), ("--threads 18", false)]);
    }
}
