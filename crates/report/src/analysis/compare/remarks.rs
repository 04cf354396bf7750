//! What to know about a comparison as a whole.

use syncscope_core::sets::sets;
use syncscope_core::stats::median;
use syncscope_core::{Class, Population};

use super::case::{Change, ComparedCase, by_family};
use super::machine_state::{FEWEST as FEWEST_OF_A_CLASS, MachineStates};
use crate::figure::percent;
use crate::naming::plural;
use crate::{RunData, figure};

/// Remarks on what the two runs are.
pub(super) fn of_runs(a: &RunData, b: &RunData) -> Vec<String> {
    let are_copies = a.run.started == b.run.started && a.run.seed == b.run.seed && a.rows == b.rows;
    let populations = |data: &RunData| data.rows.iter().any(|row| row.population == Some(Population::Alone));
    let remarks = [
        are_copies.then_some("A and B are copies of one run: all figures are equal"),
        (populations(a) != populations(b)).then_some("only one of the runs checked for SMT interference"),
    ];
    remarks.into_iter().flatten().map(str::to_owned).collect()
}

/// Says where one placement has two names.
pub(super) fn usual_teams(cases: &[ComparedCase<'_>]) -> Option<String> {
    let of = |case: &ComparedCase<'_>| Some((case.a.case.placement.clone()?, case.b.case.placement.clone()?));
    let named: Vec<_> = cases.iter().filter_map(of).filter(|(a, b)| a != b).collect();
    let (a, b) = named.first()?;
    Some(format!("{} cases have one thread on each core in both runs: `{a}` in A, `{b}` in B", named.len()))
}

/// Says how many cases more runs would decide.
pub(super) fn repeats(count: usize, threshold: f64) -> Option<String> {
    let threshold = percent(threshold);
    let [cases, vary] = if count == 1 { ["case", "varies"] } else { ["cases", "vary"] };
    let text = format!(
        "{count} undecided {cases} {vary} by more than {threshold} from run to run on one machine: compare runs made \
         with `run --repeat 5`, or raise --threshold"
    );
    (count > 0).then_some(text)
}

/// The classes with too few common cases to show the state of the machine, although some cases are called slower or faster.
pub(super) fn few_of_a_class(cases: &[ComparedCase<'_>], states: &MachineStates) -> Vec<String> {
    let of_class = sets(cases.iter().filter_map(|case| Some((case.a.run_to_run?.class, case))));
    let remark = |(class, cases): (Class, Vec<&ComparedCase<'_>>)| {
        let is_certain = cases.iter().any(|case| matches!(case.change, Change::Slower | Change::Faster));
        let joins_runs = cases.iter().any(|case| case.a.runs > Some(1) || case.b.runs > Some(1));
        let is_open = is_certain && !joins_runs && !states.tell_of(class);
        (is_open && cases.len() < FEWEST_OF_A_CLASS).then(|| {
            format!(
                "with {} of {}, another state of the machine would look like a change: compare runs of more cases, or \
                 made with `run --repeat 5`",
                plural(cases.len(), "case"),
                class.in_words()
            )
        })
    };
    of_class.into_iter().filter_map(remark).collect()
}

/// The fewest cases that show what they have in common.
const FEWEST_IN_COMMON: usize = 5;

/// The families whose cases all changed by about the same factor. The cause is more often the state of the machine, such as
/// a clock outside the cores, than the primitives.
pub(super) fn common_changes(cases: &[ComparedCase<'_>], threshold: f64) -> Vec<String> {
    let remark = |(family, cases): (String, Vec<&ComparedCase<'_>>)| {
        let logarithms: Vec<f64> = cases.iter().filter_map(|case| Some(case.ratio?.ln())).collect();
        let middle = median(&logarithms)?;
        let distances: Vec<f64> = logarithms.iter().map(|one| (one - middle).abs()).collect();
        let is_common = middle.abs() > threshold.ln_1p() && median(&distances)? < middle.abs() / 3.0;
        let is_certain = cases.iter().any(|case| matches!(case.change, Change::Slower | Change::Faster));
        let (count, factor) = (logarithms.len(), figure::ratio(middle.exp()));
        let text = format!(
            "the {count} cases of {family} changed together, by a factor of about {factor}: suspect the machine's \
             state (clocks, other guests) before the primitives, and repeat both runs"
        );
        (is_common && is_certain && count >= FEWEST_IN_COMMON).then_some(text)
    };
    by_family(cases).into_iter().filter_map(remark).collect()
}
