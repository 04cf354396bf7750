//! `syncscope compare A B`: two runs, case by case.

use std::path::PathBuf;

use syncscope_core::run_directory::RunDirectory;
use syncscope_core::units::plural;
use syncscope_report::{Change, Comparison, IN_RUNS, compare_selected, export};

use crate::args::{CompareArguments, TextFormat};
use crate::commands::gate::Gate;
use crate::failure::{Failure, Outcome};
use crate::selection::Selection;
use crate::{runs, terminal};

/// Compares two runs.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let wanted = if arguments.runs.is_empty() { "two runs" } else { "the other run" };
    let missing = runs::latest(2_usize.saturating_sub(arguments.runs.len()), wanted, |_| true)?;
    let named = arguments.runs.iter().map(|path| runs::run_of(path)).collect::<Result<Vec<_>, _>>()?;
    let both = [named, missing].concat();
    let (a, b) = (&both[0], &both[1]);
    // A directory without a run has its own message.
    RunDirectory::open(a)?;
    let resolved = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    // Comparing a run with itself says nothing; it is probably a typing error.
    if resolved(a) == resolved(b) {
        return Err(Failure::Usage(format!("A and B are the same directory, {}; name two runs", a.display())));
    }
    let [mut a, mut b] = [runs::load_rows(a)?, runs::load_rows(b)?];
    selection.check_runs(&[&a, &b])?;
    let comparison = compare_selected((&mut a, &mut b), arguments.threshold.0, |case| selection.selects(case));
    if comparison.cases.is_empty() {
        let rows = |count: usize| plural(count as u32, "row");
        return Err(Failure::CouldNot(format!(
            "the runs have no case in common ({} in A, {} in B); compare runs of the same primitives and sizes",
            rows(comparison.only_a),
            rows(comparison.only_b)
        )));
    }
    terminal::show(&match arguments.format {
        TextFormat::Table => export::comparison::for_terminal(&comparison, terminal::width()),
        TextFormat::Markdown => export::comparison::as_markdown(&comparison),
        TextFormat::Csv => export::comparison::as_csv(&comparison),
        TextFormat::Json => syncscope_report::json(&export::comparison::as_json(&comparison)),
    })?;
    if arguments.fail_on.is_none() { Ok(Outcome::Done) } else { gate(&comparison) }
}

/// The outcome of a comparison that has to fail on slower cases. Rows without a figure are usual in a run, so only cases that
/// failed in B and files that lost rows count as open; but a comparison of no case is not a success.
fn gate(comparison: &Comparison<'_>) -> Result<Outcome, Failure> {
    let slower = comparison.count(Change::Slower);
    if slower > 0 {
        terminal::note(&format!("slower in B: {slower}"));
        return Ok(Outcome::SomeCasesSlower);
    }
    if comparison.states.differ() {
        terminal::note(&"the machine was in another state in B: measure again, or compare with a run in that state");
        return Ok(Outcome::AnotherState);
    }
    let without = comparison.count(Change::NotComparable);
    let mut gate = Gate::default();
    for (data, side) in [(comparison.a, "A"), (comparison.b, "B")] {
        if let Some(lost) = &data.damage.lost_rows {
            gate.leave_open(format!("{side} is {lost}"));
        }
    }
    for compared in &comparison.cases {
        match compared.change {
            Change::NotComparable if compared.b.verdict.is_failure() && !compared.a.verdict.is_failure() => {
                gate.leave_open(format!("{}: {}", compared.b.case, compared.remark(IN_RUNS)));
            }
            Change::NotComparable => {}
            _ => gate.add(compared, &compared.b.case.to_string(), &compared.remark(IN_RUNS)),
        }
    }
    let outcome = gate.outcome(Outcome::Done)?;
    if without > 0 {
        terminal::note(&format!("not compared: {without} of {}", plural(comparison.cases.len() as u32, "case")));
    }
    if comparison.only_a > 0 {
        terminal::note(&format!("not in B: {} of A", plural(comparison.only_a as u32, "case")));
    }
    Ok(outcome)
}
