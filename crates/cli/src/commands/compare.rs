//! `syncscope compare A B`: two runs, case by case.

use std::path::Path;

use syncscope_core::run_directory::RunDirectory;
use syncscope_report::{Change, RunData, compare as compare_runs, export};

use crate::args::{CompareArguments, TextFormat};
use crate::failure::{Failure, Outcome};
use crate::runs;
use crate::selection::Selection;
use crate::terminal;

/// Compares two runs.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let [a, b] = match arguments.runs.as_slice() {
        [a, b] => [a.clone(), b.clone()],
        named => {
            let missing = runs::latest(2 - named.len(), |_| true)?;
            let mut both = named.iter().cloned().chain(missing);
            [both.next().unwrap_or_default(), both.next().unwrap_or_default()]
        }
    };
    refuse_one_directory(&a, &b)?;
    let [mut a, mut b] = [runs::load_rows(&a)?, runs::load_rows(&b)?];
    selection.check_runs(&[&a, &b])?;
    for data in [&mut a, &mut b] {
        data.rows.retain(|row| selection.selects(&row.case));
    }
    let comparison = compare_runs(&a, &b, arguments.threshold.0);
    if comparison.cases.is_empty() {
        return Err(Failure::CouldNot(format!(
            "the runs have no case in common ({} in A, {} in B); compare runs of the same primitives and sizes",
            rows(&a),
            rows(&b)
        )));
    }
    terminal::show(&match arguments.format {
        TextFormat::Table => export::comparison::for_terminal(&comparison, terminal::width()),
        TextFormat::Markdown => export::comparison::as_markdown(&comparison),
        TextFormat::Csv => export::comparison::as_csv(&comparison),
        TextFormat::Json => export::comparison::as_json(&comparison),
    })?;
    let slower = comparison.count(Change::Slower);
    if arguments.fail_on.is_none() {
        return Ok(Outcome::Done);
    }
    Ok(if slower > 0 {
        terminal::note(&format!("slower in B: {slower}"));
        Outcome::SomeCasesSlower
    } else if comparison.states.differ() {
        terminal::note(&"the machine was in another state in B: measure again, or compare with a run in that state");
        Outcome::AnotherState
    } else {
        Outcome::Done
    })
}

fn rows(data: &RunData) -> String {
    format!("{} rows", data.rows.len())
}

/// A run compared with itself says nothing; it is probably a typing error.
fn refuse_one_directory(a: &Path, b: &Path) -> Result<(), Failure> {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A directory without a run has its own message.
    RunDirectory::open(a)?;
    if resolved(a) == resolved(b) {
        return Err(Failure::Usage(format!("A and B are the same directory, {}; name two runs", a.display())));
    }
    Ok(())
}
