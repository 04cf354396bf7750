//! `syncscope show DIR`: the rows of a finished run again.

use syncscope_report::{export, table};

use crate::args::{ShowArguments, ShowOrder, TextFormat};
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::runs;
use crate::selection::Selection;
use crate::terminal;

/// Shows the rows of a run.
pub(crate) fn show(arguments: &ShowArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let mut data = runs::load_rows(&arguments.run)?;
    selection.check_runs(&[&data])?;
    data.rows.retain(|row| selection.selects(&row.case));
    if arguments.sort == ShowOrder::Cost {
        export::rows::sort_by_cost(&mut data.rows);
    }
    let width = terminal::width();
    terminal::show(&match (arguments.format, arguments.sort) {
        // The summary puts sizes and variants side by side, which leaves no order by cost.
        (TextFormat::Table, ShowOrder::Catalogue) => table::summary(&data, &catalogue(), width, terminal::colour()),
        (TextFormat::Table, ShowOrder::Cost) => export::rows::for_terminal(&data, width),
        (TextFormat::Markdown, _) => export::rows::as_markdown(&data),
        (TextFormat::Csv, _) => export::rows::as_csv(&data),
        (TextFormat::Json, _) => export::rows::as_json(&data),
    })?;
    Ok(Outcome::Done)
}
