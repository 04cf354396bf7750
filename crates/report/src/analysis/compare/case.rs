//! A case that both runs have, and how its cost may change.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::Serialize;
use syncscope_core::stats::{Interval, median};
use syncscope_core::words::words;

use syncscope_core::sets::sets;
use syncscope_core::{Row, Verdict};

use crate::analysis::phrases::joined;
use crate::reading::has_cost_of_case;
use crate::{figure, naming, reading};

words! {
    /// How the cost of a case changed.
    pub enum Change ("change") {
        /// Certainly more expensive in B, by more than the threshold.
        Slower = "slower",
        /// Certainly cheaper in B, by more than the threshold.
        Faster = "faster",
        /// Certainly within the threshold.
        Same = "same",
        /// Certainly another cost, but in another state of the machine.
        AnotherState = "another_state",
        /// Neither a change nor sameness is certain.
        Undecided = "undecided",
        /// One of the runs has no figure, or the two figures are of different things.
        NotComparable = "not_comparable",
    }
}

/// One case of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCase<'a> {
    /// The row of the case in the first run.
    pub a: &'a Row,
    /// The row of the case in the second run.
    pub b: &'a Row,
    /// How the cost changed.
    pub change: Change,
    /// The cost in B over the cost in A, without the factor that its class has in common.
    pub ratio: Option<f64>,
    /// The factor that its class has in common; 1 if none is removed.
    pub common_factor: f64,
    /// Lower end of the 95 % interval of the ratio; `None`: no lower bound above zero.
    pub low: Option<f64>,
    /// Upper end; `None`: no upper bound.
    pub high: Option<f64>,
    /// The ratio of the costs of equal work and its ends, if a window serves the threads of either row unequally.
    pub equal_work: Option<(f64, [Option<f64>; 2])>,
    /// The p-value, before the correction, of "changes by no more than the threshold".
    pub p_value: Option<f64>,
    /// For a case that is the same or undecided: the ratio of B to A from which it would have been called slower, given how
    /// uncertain both costs are and how many cases are tested. `None` if no ratio would be.
    pub least_change: Option<f64>,
}

impl ComparedCase<'_> {
    /// Whether the evidence of both rows is known and names different instructions, whatever their counts.
    pub(crate) fn has_other_instructions(&self) -> bool {
        have_other_instructions(self.a, self.b)
    }

    /// Why the case is not comparable, or what to know about the comparison; empty if nothing. Words about one row end with
    /// its side, as in [`IN_RUNS`](super::IN_RUNS).
    pub fn remark(&self, sides: [&str; 2]) -> String {
        let rows = [self.a, self.b];
        if self.change == Change::NotComparable {
            return not_comparable(rows, sides).unwrap_or_else(|| "without intervals".to_owned());
        }
        let instructions = rows.map(|row| row.evidence.as_ref());
        let instructions = match instructions {
            [Some(of_a), Some(of_b)] if of_a != of_b => {
                Some(format!("different instructions: {of_a}{}, {of_b}{}", sides[0], sides[1]))
            }
            _ => None,
        };
        let doubts = |(row, side): (&Row, &str)| {
            let verdict = (row.verdict != Verdict::Resolved).then(|| reading::words(row.verdict.name()));
            [verdict, row.provisional.then_some("provisional")].map(|doubt| Some(format!("{}{side}", doubt?)))
        };
        let doubts = rows.into_iter().zip(sides).flat_map(doubts);
        let equal_work = self.equal_work.map(|(ratio, [low, high])| {
            format!("equal work: {} times ({})", figure::ratio(ratio), figure::ends(low, high))
        });
        joined(std::iter::once(instructions).chain(doubts).chain([equal_work]), "; ").unwrap_or_default()
    }

    /// The ratio of two figures, for tables and medians; `None` if either row has only bounds.
    pub(crate) fn ratio_of_figures(&self) -> Option<f64> {
        let has_bounds = |row| bounds_alone(row).is_some() || matches!(row.verdict, Verdict::BelowResolution(_));
        self.ratio.filter(|_| ![self.a, self.b].into_iter().any(has_bounds))
    }

    /// The factor by which the cost certainly changes: the end of the interval closest to 1, as a factor above 1.
    pub(crate) fn certain_factor(&self) -> f64 {
        let end = match self.change {
            Change::Slower => self.low,
            Change::Faster => self.high.map(f64::recip),
            _ => None,
        };
        end.unwrap_or(1.0)
    }
}

/// The interval of a noisy row that is too wide for a figure.
pub(crate) fn bounds_alone(row: &Row) -> Option<Interval> {
    row.ns_interval.filter(|_| matches!(row.verdict, Verdict::Noisy(_)) && !reading::has_figure(row))
}

fn have_other_instructions(a: &Row, b: &Row) -> bool {
    a.evidence.as_deref().zip(b.evidence.as_deref()).is_some_and(|(a, b)| instructions(a) != instructions(b))
}

/// Whether the loops of two rows are defined alike, as far as both rows say: the same instructions of one primitive, the
/// same mode, and the cost of the same actor. Versions of syncscope differ in these.
pub fn is_one_definition(a: &Row, b: &Row) -> bool {
    let have_same_actor = a.case.has_one_thread() || b.case.has_one_thread() || a.actor == b.actor;
    let is_one = a.case.mode == b.case.mode && have_same_actor && !have_other_instructions(a, b);
    a.case.primitive != b.case.primitive || is_one
}

/// The endings of what is said about the rows of two runs.
pub const IN_RUNS: [&str; 2] = [" in A", " in B"];

/// Why two rows of a case cannot be compared; `None` if they can.
pub(crate) fn not_comparable([a, b]: [&Row; 2], [in_a, in_b]: [&str; 2]) -> Option<String> {
    // A cost below the resolution has an upper bound, which a resolved cost can be above.
    let has_bound = |row: &Row| has_cost_of_case(row) || matches!(row.verdict, Verdict::BelowResolution(_));
    if !has_bound(a) || !has_bound(b) || !(has_cost_of_case(a) || has_cost_of_case(b)) {
        let [of_a, of_b] = [a, b].map(|row| reading::words(row.verdict.name()).to_owned());
        return Some(if of_a == of_b { format!("{of_a} in both") } else { format!("{of_a}{in_a}, {of_b}{in_b}") });
    }
    let actors = a.actor.zip(b.actor).filter(|(of_a, of_b)| a.case.actors() > 1 && of_a != of_b);
    if let Some((of_a, of_b)) = actors {
        return Some(format!("the cost of the {of_a} thread{in_a}, of the {of_b} thread{in_b}"));
    }
    let (of_a, of_b) = a.population.zip(b.population).filter(|(of_a, of_b)| of_a != of_b)?;
    Some(format!("the population is `{of_a}`{in_a}, `{of_b}`{in_b} (SMT interference)"))
}

/// The instructions that evidence names: `REDG` and `REDUX.SUM` in `REDG 32/64, aggregated by the compiler: REDUX.SUM 1/1`.
pub fn instructions(evidence: &str) -> BTreeSet<Vec<&str>> {
    // The words after the name are a count: `lock add 16/32`, `NOP 32/64 for WARPSYNC`.
    let is_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
    let named = evidence.split(", ").map(|part| part.rsplit(": ").next().unwrap_or(part));
    named.map(|part| part.split_whitespace().take_while(is_name).collect()).collect()
}

/// The cases of a family in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyChange {
    /// `cpu.atomic`.
    pub family: String,
    /// The number of cases in both runs.
    pub cases: usize,
    /// The number of cases with a figure in both runs: the median is of their ratios.
    pub ratios: usize,
    /// The median of the ratios of figures; `None` where no case has one.
    pub median_ratio: Option<f64>,
    /// The number of cases with each change.
    #[serde(flatten)]
    pub changes: BTreeMap<Change, usize>,
}

/// Groups the cases by family, in the order of reports.
pub(super) fn by_family<'c, 'a>(cases: &'c [ComparedCase<'a>]) -> Vec<(String, Vec<&'c ComparedCase<'a>>)> {
    let with_key = |case: &'c ComparedCase<'a>| {
        let (domain, family) = case.a.case.domain_and_family();
        ((naming::family_order(domain, family), domain, family), case)
    };
    let families = sets(cases.iter().map(with_key)).into_iter();
    families.map(|((_, domain, family), cases)| (format!("{domain}.{family}"), cases)).collect()
}

/// The changes of each family, in the order of reports.
pub(super) fn families(cases: &[ComparedCase<'_>]) -> Vec<FamilyChange> {
    let summary = |(family, cases): (String, Vec<&ComparedCase<'_>>)| {
        let ratios: Vec<f64> = cases.iter().filter_map(|case| case.ratio_of_figures()).collect();
        let changes = counts(&cases);
        FamilyChange { family, cases: cases.len(), ratios: ratios.len(), median_ratio: median(&ratios), changes }
    };
    by_family(cases).into_iter().map(summary).collect()
}

/// The number of these cases with each change.
pub(super) fn counts(cases: &[&ComparedCase<'_>]) -> BTreeMap<Change, usize> {
    let count = |change: Change| cases.iter().filter(|case| case.change == change).count();
    Change::ALL.iter().map(|change| (*change, count(*change))).collect()
}
