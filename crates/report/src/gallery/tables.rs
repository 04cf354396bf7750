//! The table of runs and the table of rungs.

use std::fmt::Write;

use super::machine::{Column, Machine};
use super::rung::{Figure, Line};
use crate::page::html::escape;

/// One line for each run.
pub(super) fn runs(machines: &[Machine<'_>]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of runs\"><table class=\"runs-table\"><thead><tr><th scope=\"col\" class=\"stuck\">run</th>\
         <th scope=\"col\">CPU</th><th scope=\"col\">GPU</th><th scope=\"col\">date</th><th scope=\"col\">preset</th>\
         <th scope=\"col\" class=\"number\">resolved rows</th><th scope=\"col\">data quality</th></tr></thead><tbody>",
    );
    for machine in machines {
        let name = escape(&machine.name);
        let link = machine.page.map_or_else(|| name.clone(), |page| format!("<a href=\"{}\">{name}</a>", escape(page)));
        let cells = [machine.cpu(), machine.gpus(), machine.date(), machine.data.run.preset.clone()];
        let cells = cells.map(|cell| format!("<td>{}</td>", escape(&cell))).concat();
        // Writing to a String cannot fail.
        let _ = write!(
            html,
            "<tr><th scope=\"row\" class=\"stuck\">{link}</th>{cells}<td class=\"number\">{}</td><td class=\"trust-cell\">{}</td></tr>",
            escape(&machine.resolved()),
            escape(&machine.trust())
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

/// Which dot is whose.
pub(super) fn keys(columns: &[Column<'_, '_>]) -> String {
    let key = |column: &Column<'_, '_>| {
        format!("<li class=\"key\">{}<span>{}</span></li>", column.swatch(), escape(&column.name()))
    };
    format!("<ul class=\"keys gallery-keys\">{}</ul>", columns.iter().map(key).collect::<String>())
}

/// One line for each rung, one column for each machine.
pub(super) fn rungs(columns: &[Column<'_, '_>], lines: &[Line]) -> String {
    if lines.is_empty() {
        return "<p class=\"empty\">None of these runs has a row of the cost ladder.</p>".to_owned();
    }
    let heading = |column: &Column<'_, '_>| {
        let class = if column.is_published { " class=\"published-column\"" } else { "" };
        let parts: Vec<String> = column.parts.iter().map(|part| escape(part)).collect();
        format!("<th scope=\"col\"{class}>{}{}</th>", column.swatch(), parts.join("<br>"))
    };
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of costs\"><table class=\"rungs-table\"><thead><tr><th scope=\"col\" class=\"stuck\">one operation</th>{}</tr></thead>",
        columns.iter().map(heading).collect::<String>()
    );
    let mut level = "";
    for line in lines {
        if line.level != level {
            level = line.level;
            let _ = write!(
                html,
                "<tbody><tr class=\"level-row\"><th scope=\"rowgroup\" class=\"stuck\">{}</th><td colspan=\"{}\"></td></tr></tbody>",
                escape(level),
                columns.len()
            );
        }
        let cells: String = (0..columns.len())
            .map(|index| {
                cell(line.figures.get(index).and_then(Option::as_ref), line.cheapest.contains(&index), &columns[index])
            })
            .collect();
        let title = escape(line.title);
        let _ = write!(html, "<tbody><tr><th scope=\"row\" class=\"stuck\">{title}</th>{cells}</tr></tbody>");
    }
    html.push_str("</table></div>");
    html
}

fn cell(figure: Option<&Figure>, is_cheapest: bool, column: &Column<'_, '_>) -> String {
    let Some(figure) = figure else { return "<td></td>".to_owned() };
    let part = |class: &str, text: &str| {
        if text.is_empty() { String::new() } else { format!("<span class=\"{class}\">{}</span>", escape(text)) }
    };
    let mark = match (is_cheapest, figure.is_other) {
        (true, _) => "<span class=\"badge good\">cheapest</span>",
        (false, true) => "<span class=\"cost-note\">another loop</span>",
        (false, false) => "",
    };
    let class = match (column.is_published || figure.is_other, figure.ns) {
        (true, _) => "cost published-column",
        (false, Some(_)) => "cost",
        (false, None) => "cost no-figure",
    };
    format!(
        "<td class=\"{class}\" title=\"{}\"><span class=\"cost-figure\">{}</span> {}{}{mark}</td>",
        escape(&figure.case),
        escape(&figure.text),
        part("cost-interval", figure.interval_text.as_deref().unwrap_or_default()),
        part("cost-note", &figure.note),
    )
}
