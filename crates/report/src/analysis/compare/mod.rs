//! Two runs, case by case: what is slower in the second, what is faster, what is the same, and what cannot be decided.
//!
//! - `ratio`: the ratio of two costs and how sure it is
//! - `discoveries`: the correction for many cases
//! - `differences`: what differs between the machines and their states
//! - `remarks`: what to know about the comparison as a whole
//! - `student`: Student's t distribution
//!
//! For each case two hypotheses are tested: that the cost changes by no more than the threshold, and that it changes by at
//! least as much. Rejecting the first makes a case slower or faster, rejecting the second makes it the same. Each set of
//! tests is corrected for the number of its cases.

pub(in crate::analysis) mod differences;
pub(in crate::analysis) mod discoveries;
pub(crate) mod ratio;
mod remarks;
pub(in crate::analysis) mod student;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use syncscope_core::machine::{CpuMachine, Machine};
use syncscope_core::stats::median;
use syncscope_core::{Actor, Case, CaseId, Detail, Domain, Row, Verdict};

use self::ratio::UncertainCost;
use crate::{RunData, naming};

pub use self::differences::Difference;

/// What became of the cost of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Certainly more expensive in B, by more than the threshold.
    Slower,
    /// Certainly cheaper in B, by more than the threshold.
    Faster,
    /// Certainly within the threshold.
    Same,
    /// Neither is certain.
    Undecided,
    /// One of the runs has no figure, or the two stand for something else.
    NotComparable,
}

impl Change {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Slower, Self::Faster, Self::Same, Self::Undecided, Self::NotComparable];

    /// The word for it in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Undecided => "undecided",
            Self::NotComparable => "not_comparable",
        }
    }
}

/// One case of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCase<'a> {
    /// Its row in the first run.
    pub a: &'a Row,
    /// Its row in the second run.
    pub b: &'a Row,
    /// What became of it.
    pub change: Change,
    /// The cost in B over the cost in A.
    pub ratio: Option<f64>,
    /// Lower end of the 95 % interval of the ratio; `None`: no lower bound above zero.
    pub low: Option<f64>,
    /// Upper end; `None`: no upper bound.
    pub high: Option<f64>,
    /// The p-value, before the correction, of "changes by no more than the threshold".
    pub p_value: Option<f64>,
    /// Why it is not comparable, or what to know about the comparison; empty if nothing.
    pub remark: String,
}

impl ComparedCase<'_> {
    /// Whether the evidence of both rows is known and names different instructions. Their numbers do not count.
    #[must_use]
    pub fn has_other_instructions(&self) -> bool {
        match (&self.a.evidence, &self.b.evidence) {
            (Some(a), Some(b)) => instructions(a) != instructions(b),
            _ => false,
        }
    }

    /// The factor by which the cost certainly changes: the end of the interval next to 1, as a factor above 1.
    #[must_use]
    pub fn certain_factor(&self) -> f64 {
        let end = match self.change {
            Change::Slower => self.low,
            Change::Faster => self.high.map(f64::recip),
            _ => None,
        };
        end.unwrap_or(1.0)
    }
}

/// The cases of a family in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyChange {
    /// `cpu.atomic`.
    pub family: String,
    /// How many cases both runs have.
    pub cases: usize,
    /// The median of the ratios; `None` where no case has one.
    pub median_ratio: Option<f64>,
    /// How many cases became what, in the order of [`Change::ALL`].
    pub changes: [usize; 5],
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison<'a> {
    /// The first run.
    pub a: &'a RunData,
    /// The second run.
    pub b: &'a RunData,
    /// The relative change that counts, such as 0.05.
    pub threshold: f64,
    /// The cases of both runs: certain changes first, the largest at the top; then the others in the order of A. Cases
    /// that execute other instructions in B stand behind those that execute the same, in this order, too.
    pub cases: Vec<ComparedCase<'a>>,
    /// The number of cases that only A has.
    pub only_a: usize,
    /// The number of cases that only B has.
    pub only_b: usize,
    /// Whether the hardware is the same, as far as `run.json` says.
    pub same_machine: bool,
    /// What else differs.
    pub differences: Vec<Difference>,
    /// The families, in the order of reports.
    pub families: Vec<FamilyChange>,
    /// What to know about the comparison as a whole.
    pub remarks: Vec<String>,
}

/// Compares two runs.
///
/// `threshold` is relative: 0.05 makes a case slower whose ratio is certainly above 1.05, and faster whose ratio is
/// certainly below 1 / 1.05. `run_effect` is by how much two runs on one machine differ in a case (standard deviation,
/// relative to the cost). It is asked for rows of older versions only; newer rows say it themselves.
#[must_use]
pub fn compare<'a>(
    a: &'a RunData,
    b: &'a RunData,
    threshold: f64,
    run_effect: &dyn Fn(&Case) -> f64,
) -> Comparison<'a> {
    let of_b: HashMap<CaseId, &Row> = b.rows.iter().map(|row| (row.case.id(), row)).collect();
    let mut drafts: Vec<Draft<'a>> = a
        .rows
        .iter()
        .filter_map(|row| {
            let id = row.case.id();
            let other = *of_b.get(&id)?;
            let blocks = |data: &RunData, row: &Row| measurement_blocks(row, data.details.get(&id));
            Some(Draft::of((row, blocks(a, row)), (other, blocks(b, other)), threshold, run_effect))
        })
        .collect();
    judge(&mut drafts);
    let common = drafts.len();
    let needs_repeats = drafts.iter().filter(|draft| draft.needs_repeats()).count();
    let mut cases: Vec<ComparedCase<'a>> = drafts.into_iter().map(|draft| draft.case).collect();
    let same_machine = same_machine(&a.run.machine, &b.run.machine);
    let mut remarks = remarks::of_runs(a, b);
    remarks.extend(remarks::repeats(needs_repeats, threshold));
    if same_machine {
        remarks.extend(remarks::common_changes(&cases, threshold));
    }
    let families = families(&cases);
    // What executes other instructions has changed by itself, whatever the machine does.
    cases.sort_by(|one, other| {
        let factors = other.certain_factor().total_cmp(&one.certain_factor());
        one.has_other_instructions().cmp(&other.has_other_instructions()).then(factors)
    });
    Comparison {
        a,
        b,
        threshold,
        cases,
        only_a: a.rows.len() - common,
        only_b: of_b.len() - common,
        same_machine,
        differences: differences::of(&a.run, &b.run),
        families,
        remarks,
    }
}

impl Comparison<'_> {
    /// How many cases became `change`.
    #[must_use]
    pub fn count(&self, change: Change) -> usize {
        self.cases.iter().filter(|case| case.change == change).count()
    }
}

/// Whether the hardware is the same. Memory does not count: that of a guest grows and shrinks.
fn same_machine(a: &Machine, b: &Machine) -> bool {
    let without_memory = |machine: &Machine| {
        let cpu = CpuMachine { memory_bytes: None, ..machine.cpu.clone() };
        Machine { cpu, ..machine.clone() }
    };
    without_memory(a).may_be(&without_memory(b))
}

/// The instructions that evidence names: `REDG` and `REDUX.SUM` in `REDG 32/64, aggregated by the compiler: REDUX.SUM 1/1`.
pub(crate) fn instructions(evidence: &str) -> BTreeSet<Vec<&str>> {
    // What follows the name is a count: `lock add 16/32`, `NOP 32/64 for WARPSYNC`.
    let is_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
    let named = evidence.split(", ").map(|part| part.rsplit(": ").next().unwrap_or(part));
    named.map(|part| part.split_whitespace().take_while(is_name).collect()).collect()
}

/// A case before its verdict, which depends on all cases.
struct Draft<'a> {
    case: ComparedCase<'a>,
    /// `None` where the two rows cannot be compared.
    tests: Option<Tests>,
}

/// The p-values of a case.
#[derive(Debug, Clone, Copy)]
struct Tests {
    /// Of "changes by no more than the threshold".
    different: f64,
    is_slower: bool,
    /// Of "changes by at least the threshold".
    same: f64,
    /// Whether one run each cannot make the case the same, however long they take.
    runs_differ_more: bool,
}

impl<'a> Draft<'a> {
    fn of(
        (a, a_blocks): (&'a Row, f64),
        (b, b_blocks): (&'a Row, f64),
        threshold: f64,
        run_effect: &dyn Fn(&Case) -> f64,
    ) -> Self {
        let not = |remark: String| ComparedCase {
            a,
            b,
            change: Change::NotComparable,
            ratio: None,
            low: None,
            high: None,
            p_value: None,
            remark,
        };
        if let Some(reason) = not_comparable(a, b) {
            return Self { case: not(reason), tests: None };
        }
        let cost = |row: &Row, blocks| UncertainCost::of(row, blocks, run_effect(&row.case));
        let (Some(of_a), Some(of_b)) = (cost(a, a_blocks), cost(b, b_blocks)) else {
            return Self { case: not("a row has no interval".to_owned()), tests: None };
        };
        let limit = 1.0 + threshold;
        let (slower, faster) = (ratio::p_at_most(&of_b, limit, &of_a), ratio::p_at_most(&of_a, limit, &of_b));
        // "At least the threshold" consists of "at least so much above" and "at least so much below".
        let same = ratio::p_at_most(&of_a, 1.0 / limit, &of_b).max(ratio::p_at_most(&of_b, 1.0 / limit, &of_a));
        let different = (2.0 * slower.min(faster)).min(1.0);
        let of_runs = 1.96 * of_a.run_deviation().hypot(of_b.run_deviation());
        let tests = Tests { different, is_slower: slower < faster, same, runs_differ_more: of_runs > threshold };
        let both_above_zero = of_a.ns > 0.0 && of_b.ns > 0.0;
        let case = ComparedCase {
            ratio: both_above_zero.then(|| of_b.ns / of_a.ns),
            low: ratio::lower_end(&of_b, &of_a),
            high: ratio::lower_end(&of_a, &of_b).map(f64::recip),
            p_value: Some(different),
            change: Change::Undecided,
            ..not(remark(a, b))
        };
        Self { case, tests: Some(tests) }
    }
}

impl Draft<'_> {
    /// Whether the case is undecided, and one run each cannot decide that it is the same.
    fn needs_repeats(&self) -> bool {
        self.case.change == Change::Undecided && self.tests.is_some_and(|tests| tests.runs_differ_more)
    }
}

/// Gives each case that can be compared its verdict.
fn judge(drafts: &mut [Draft<'_>]) {
    let tested: Vec<(usize, Tests)> =
        drafts.iter().enumerate().filter_map(|(index, draft)| Some((index, draft.tests?))).collect();
    let of =
        |p: fn(&Tests) -> f64| discoveries::rejected(&tested.iter().map(|(_, tests)| p(tests)).collect::<Vec<_>>());
    let (different, same) = (of(|tests| tests.different), of(|tests| tests.same));
    for (at, (index, tests)) in tested.iter().enumerate() {
        drafts[*index].case.change = match (different[at], same[at]) {
            (true, _) if tests.is_slower => Change::Slower,
            (true, _) => Change::Faster,
            (false, true) => Change::Same,
            (false, false) => Change::Undecided,
        };
    }
}

/// Why two rows of a case cannot be compared, if so.
fn not_comparable(a: &Row, b: &Row) -> Option<String> {
    let has_figure = |row: &Row| matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_) | Verdict::NonAdditive(_));
    // A cost below the resolution has an upper bound, which a resolved cost can be above.
    let has_bound = |row: &Row| has_figure(row) || matches!(row.verdict, Verdict::BelowResolution(_));
    if !has_bound(a) || !has_bound(b) || !(has_figure(a) || has_figure(b)) {
        let [of_a, of_b] = [a, b].map(|row| naming::verdict(row.verdict.name()));
        return Some(if of_a == of_b { format!("{of_a} in both") } else { format!("{of_a} in A, {of_b} in B") });
    }
    // Rows of older versions are of the slowest thread, and do not say which population they stand for.
    let actor = |row: &Row| row.actor.unwrap_or(Actor::Slowest);
    if a.case.actors() > 1 && actor(a) != actor(b) {
        return Some(format!("the cost is that of the {} thread in A, of the {} thread in B", actor(a), actor(b)));
    }
    match (a.population, b.population) {
        (Some(of_a), Some(of_b)) if of_a != of_b => {
            Some(format!("the figure is of the population `{of_a}` in A, of `{of_b}` in B (SMT interference)"))
        }
        _ => None,
    }
}

/// What to know about the comparison of a case.
fn remark(a: &Row, b: &Row) -> String {
    let mut remarks = Vec::new();
    if let (Some(of_a), Some(of_b)) = (&a.evidence, &b.evidence)
        && of_a != of_b
    {
        remarks.push(format!("other instructions: {of_a} in A, {of_b} in B"));
    }
    for (row, name) in [(a, "A"), (b, "B")] {
        if row.verdict != Verdict::Resolved {
            remarks.push(format!("{} in {name}", naming::verdict(row.verdict.name())));
        }
        if row.provisional {
            remarks.push(format!("provisional in {name}"));
        }
    }
    remarks.join("; ")
}

/// The measurement blocks of a row. Where the run does not say: as many as its pairs make.
pub(crate) fn measurement_blocks(row: &Row, details: Option<&Vec<Detail>>) -> f64 {
    let is_count = |detail: &&Detail| matches!(detail.name.as_str(), Detail::MEASUREMENT_BLOCKS | "visits");
    let said = details.and_then(|details| details.iter().find(is_count)).map(|detail| detail.value);
    let pairs_of_a_block = if row.case.domain_and_family().0 == Domain::Cpu.as_str() { 6 } else { 4 };
    said.unwrap_or_else(|| row.pairs.unwrap_or(0).div_ceil(pairs_of_a_block) as f64)
}

/// The cases by their families, in the order of reports.
fn by_family<'c, 'a>(cases: &'c [ComparedCase<'a>]) -> Vec<(String, Vec<&'c ComparedCase<'a>>)> {
    let mut families: BTreeMap<_, Vec<&ComparedCase<'a>>> = BTreeMap::new();
    for case in cases {
        let (domain, family) = case.a.case.domain_and_family();
        families.entry((naming::family_order(domain, family), domain, family)).or_default().push(case);
    }
    families.into_iter().map(|((_, domain, family), cases)| (format!("{domain}.{family}"), cases)).collect()
}

fn families(cases: &[ComparedCase<'_>]) -> Vec<FamilyChange> {
    let summary = |(family, cases): (String, Vec<&ComparedCase<'_>>)| {
        let ratios: Vec<f64> = cases.iter().filter_map(|case| case.ratio).collect();
        FamilyChange {
            family,
            cases: cases.len(),
            median_ratio: median(&ratios),
            changes: Change::ALL.map(|change| cases.iter().filter(|case| case.change == change).count()),
        }
    };
    by_family(cases).into_iter().map(summary).collect()
}

/// `5 %`, `2.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let rounded = (share * 1e6).round() / 1e4;
    format!("{rounded} %")
}

#[cfg(test)]
mod tests;
