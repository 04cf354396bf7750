//! The rows as a plain table, for browsers without scripts.

use syncscope_core::Row;

use super::counted;
use super::run_words::is_imported;
use crate::RunData;
use crate::figure::{self, grouped};
use crate::html::escape;
use crate::naming;
use crate::reading::Reading;

/// The most lines of one table. All rows of a large run would double the size of its page.
const MOST_LINES: usize = 1000;

pub(super) fn tables(runs: &[RunData], labels: &[String]) -> String {
    runs.iter().zip(labels).map(table).collect()
}

fn table((data, label): (&RunData, &String)) -> String {
    let [label, origin, status] = [label, &naming::origin(&data.run), data.run.status.as_str()].map(escape);
    let (count, planned) = (data.rows.len(), data.run.planned);
    let warning = |text: String| format!("<p>Warning: {}</p>", escape(&text));
    let warnings: String = data.warnings().map(warning).collect();
    let lines: String = data.rows.iter().take(MOST_LINES).map(line).collect();
    let more = match count.saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!("<p>{} more cases are in measurements.csv.</p>", grouped(more)),
    };
    let finished = if is_imported(data) {
        counted(count, "case")
    } else {
        format!("{} finished", figure::share(count, planned as usize, "planned case").0)
    };
    format!(
        "<h2>{label}</h2><p>{origin}: {status}; {finished}.</p>{warnings}\
         <div class=\"scroll\"><table><thead><tr><th>Case</th><th>Cost</th><th>95 % interval</th><th>Cycles</th>\
         <th>Verdict</th></tr></thead><tbody>{lines}</tbody></table></div>{more}"
    )
}

fn line(row: &Row) -> String {
    let verdict = match row.explanation() {
        reason if reason.is_empty() => row.verdict.name().to_owned(),
        reason => format!("{}: {}", row.verdict.name(), reason.trim_start_matches("imported; ")),
    };
    let [figure, interval, cycles] = Reading::of(row).cells();
    let cells = [row.case.to_string(), figure, interval, cycles, verdict];
    format!("<tr><td>{}</td></tr>\n", cells.map(|cell| escape(&cell)).join("</td><td>"))
}
