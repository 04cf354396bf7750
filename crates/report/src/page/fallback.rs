//! The rows as a plain table, for browsers without scripts.

use std::fmt::Write;

use syncscope_core::Row;

use super::html::escape;
use crate::RunData;
use crate::figure::Cost;

/// The most lines of one table. The table of a large run would double the size of its page.
const MOST_LINES: usize = 1000;

/// One table per run.
pub(super) fn tables(runs: &[RunData], labels: &[String]) -> String {
    let mut html = String::new();
    for (data, label) in runs.iter().zip(labels) {
        // Writing to a String cannot fail.
        let _ = write!(html, "<h2>{}</h2>", escape(label));
        let _ = write!(
            html,
            "<p>Started {}, {}, {} of {} planned cases finished.</p>",
            escape(&data.run.started),
            escape(data.run.status.as_str()),
            data.rows.len(),
            data.run.planned
        );
        for warning in data.warnings() {
            let _ = write!(html, "<p>Warning: {}</p>", escape(&warning));
        }
        html.push_str("<div class=\"scroll\"><table><thead><tr><th>Case</th><th>Cost</th><th>95 % interval</th>");
        html.push_str("<th>Cycles</th><th>Verdict</th></tr></thead><tbody>");
        data.rows.iter().take(MOST_LINES).for_each(|row| html.push_str(&line(row)));
        html.push_str("</tbody></table></div>");
        if data.rows.len() > MOST_LINES {
            let _ = write!(html, "<p>{} more cases are in measurements.csv.</p>", data.rows.len() - MOST_LINES);
        }
    }
    html
}

fn line(row: &Row) -> String {
    let cost = Cost::of(row);
    let verdict = match row.explanation() {
        reason if reason.is_empty() => row.verdict.name().to_owned(),
        reason => format!("{}: {reason}", row.verdict.name()),
    };
    let cells = [
        row.case.to_string(),
        cost.figure,
        cost.interval.unwrap_or_default(),
        cost.cycles.unwrap_or_default(),
        verdict,
    ];
    format!("<tr><td>{}</td></tr>\n", cells.map(|cell| escape(&cell)).join("</td><td>"))
}
