//! Compares two runs case by case: what is slower in the second, what is faster, what is the same, and what cannot be
//! decided.
//!
//! - `case`: a case of both runs, how it may change, and the cases of a family together
//! - `hypotheses`: the two tests that decide on a change, corrected for the number of cases
//! - `machine_state`: the states of the machine, and what the rows of a class have in common
//! - `ratio`: the ratio of two costs and its uncertainty
//! - `differences`: what differs between the machines and their states
//! - `remarks`: what to know about the comparison as a whole
//! - `summary`: what changed, in a few sentences

mod case;
pub(crate) mod differences;
mod hypotheses;
mod machine_state;
pub(crate) mod ratio;
mod remarks;
mod summary;

use std::collections::{BTreeMap, HashMap};

use syncscope_core::{Case, CaseId, Row};

use self::hypotheses::{Draft, judge};
use self::ratio::UncertainCost;
use crate::RunData;
use crate::analysis::placements;

pub use self::case::{Change, ComparedCase, FamilyChange, IN_RUNS, instructions, is_one_definition};
pub(crate) use self::case::{bounds_alone, not_comparable};
pub use self::differences::Difference;
pub(crate) use self::hypotheses::measurement_blocks;
pub use self::hypotheses::{error_of_intervals, rejected};
pub use self::machine_state::{ClassChange, MachineStates};

/// The relative change of a cost that counts unless the user names another: the default of `syncscope compare` and
/// `syncscope fleet`, and the threshold of the page.
pub const USUAL_THRESHOLD: f64 = 0.05;

/// The comparison of two runs.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// The first run.
    pub a: &'a RunData,
    /// The second run.
    pub b: &'a RunData,
    /// The relative change that counts, such as 0.05.
    pub threshold: f64,
    /// The cases of both runs: certain changes first, by how much the cost certainly changes, then the others in the order
    /// of A. Cases that execute other instructions in B follow in the same order.
    pub cases: Vec<ComparedCase<'a>>,
    /// The number of cases that only A has.
    pub only_a: usize,
    /// The number of cases that only B has.
    pub only_b: usize,
    /// Whether the hardware is the same, as far as `run.json` says.
    pub same_machine: bool,
    /// The states of the machine in both runs.
    pub states: MachineStates,
    /// The properties in which the runs differ.
    pub differences: Vec<Difference>,
    /// The families, in the order of reports.
    pub families: Vec<FamilyChange>,
    /// What changed, and what could not have been seen.
    pub changes: Vec<String>,
    /// What to know about the comparison as a whole.
    pub remarks: Vec<String>,
}

/// Compares two runs.
///
/// `threshold` is relative: 0.05 makes a case slower whose ratio is certainly above 1.05, and faster whose ratio is
/// certainly below 1 / 1.05.
pub fn compare<'a>(a: &'a RunData, b: &'a RunData, threshold: f64) -> Comparison<'a> {
    compare_in_turn(a, b, threshold, &BTreeMap::new())
}

/// Compares the cases that `selects` names. The state of the machine is still judged from all cases of both runs.
pub fn compare_selected<'a>(
    (a, b): (&'a mut RunData, &'a mut RunData),
    threshold: f64,
    selects: impl Fn(&Case) -> bool,
) -> Comparison<'a> {
    let states = MachineStates::of(a, b);
    for data in [&mut *a, &mut *b] {
        data.rows.retain(|row| selects(&row.case));
    }
    compare_in_state(a, b, threshold, &BTreeMap::new(), states)
}

/// Compares like [`compare`], with rows of one run that were measured in turn: `ratios` holds, for a case of A, the ratio of
/// the cost in B to the cost in A in each pass.
pub fn compare_in_turn<'a>(
    a: &'a RunData,
    b: &'a RunData,
    threshold: f64,
    ratios: &BTreeMap<CaseId, Vec<f64>>,
) -> Comparison<'a> {
    compare_in_state(a, b, threshold, ratios, MachineStates::of(a, b))
}

fn compare_in_state<'a>(
    a: &'a RunData,
    b: &'a RunData,
    threshold: f64,
    ratios: &BTreeMap<CaseId, Vec<f64>>,
    states: MachineStates,
) -> Comparison<'a> {
    let both = in_both(a, b);
    let same_machine = a.run.machine.may_be(&b.run.machine);
    let states = states.of_cases(&both, &a.catalogue);
    let draft = |(row, other): (&'a Row, &'a Row)| {
        let blocks = |data: &RunData, row: &Row| measurement_blocks(row, data.details.get(&row.case.id()));
        let in_turn = ratios.get(&row.case.id()).and_then(|ratios| UncertainCost::in_turn(ratios));
        let class = a.catalogue.facts(&row.case.primitive).map(|facts| facts.class_of(&row.case));
        Draft::of((row, blocks(a, row)), (other, blocks(b, other)), threshold, (&states, class), in_turn)
    };
    let mut drafts: Vec<Draft<'a>> = both.into_iter().map(draft).collect();
    judge(&mut drafts, threshold);
    let common = drafts.len();
    let needs_repeats = drafts.iter().filter(|draft| draft.needs_repeats()).count();
    let mut cases: Vec<ComparedCase<'a>> = drafts.into_iter().map(|draft| draft.case).collect();
    let mut remarks = remarks::of_runs(a, b);
    remarks.extend(remarks::usual_teams(&cases));
    remarks.extend(remarks::repeats(needs_repeats, threshold));
    if same_machine {
        remarks.extend(remarks::common_changes(&cases, threshold));
        let are_two_runs = a.run.started != b.run.started;
        remarks.extend(remarks::few_of_a_class(&cases, &states).into_iter().filter(|_| are_two_runs));
    }
    let (families, changes) = (case::families(&cases), summary::sentences(&cases, threshold));
    // A case with other instructions has changed by itself, whatever the machine does.
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
        only_b: b.rows.len() - common,
        same_machine,
        states,
        differences: differences::differences(&a.run, &b.run),
        families,
        changes,
        remarks,
    }
}

impl Comparison<'_> {
    /// The number of cases with each change.
    pub(crate) fn counts(&self) -> BTreeMap<Change, usize> {
        case::counts(&self.cases.iter().collect::<Vec<_>>())
    }

    /// The number of cases with this change.
    pub fn count(&self, change: Change) -> usize {
        self.counts()[&change]
    }
}

/// The rows of the cases that both runs have, in the order of A.
fn in_both<'a>(a: &'a RunData, b: &'a RunData) -> Vec<(&'a Row, &'a Row)> {
    let of_b: HashMap<CaseId, &Row> = b.rows.iter().map(|row| (row.case.id(), row)).collect();
    let counterpart = |row: &'a Row| {
        let case = placements::counterpart(&row.case, a, b)?;
        Some((row, *of_b.get(&case.id())?))
    };
    a.rows.iter().filter_map(counterpart).collect()
}

#[cfg(test)]
mod tests;
