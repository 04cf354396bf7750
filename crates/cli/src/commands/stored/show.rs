//! `syncscope show DIR`: the rows of a finished run again.

use syncscope_report::{export, table};

use crate::args::{ShowArguments, ShowFormat, ShowOrder};
use crate::failure::{Failure, Outcome};
use crate::runs;
use crate::selection::Selection;
use crate::terminal;

/// Shows the rows of a run.
pub(crate) fn show(arguments: &ShowArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let mut data = runs::load_rows(&runs::named_or_latest(arguments.run.as_slice())?[0])?;
    selection.check_runs(&[&data])?;
    data.rows.retain(|row| selection.selects(&row.case));
    if arguments.sort == ShowOrder::Cost {
        export::rows::sort_by_cost(&mut data.rows);
    }
    let width = terminal::width();
    terminal::show(&match (arguments.format, arguments.sort) {
        // The summary puts sizes and variants side by side, which leaves no order by cost.
        (ShowFormat::Table, ShowOrder::Catalogue) => table::summary(&data, width, terminal::colour()),
        (ShowFormat::Table, ShowOrder::Cost) => export::rows::for_terminal(&data, width),
        (ShowFormat::Markdown, _) => export::rows::as_markdown(&data),
        (ShowFormat::Csv, _) => export::rows::as_csv(&data),
        (ShowFormat::Json, _) => export::rows::as_json(&data),
        (ShowFormat::Bmf, _) => export::trackers::as_bmf(&data),
        (ShowFormat::Github, _) => export::trackers::as_github(&data),
        (ShowFormat::Reframe, _) => export::trackers::as_reframe(&data),
    })?;
    let is_for_tracker = matches!(arguments.format, ShowFormat::Bmf | ShowFormat::Github | ShowFormat::Reframe);
    match export::trackers::left_out(&data) {
        0 => {}
        count if is_for_tracker => terminal::note(&format!("{count} rows without a resolved cost are left out")),
        _ => {}
    }
    Ok(Outcome::Done)
}
