//! The tables of operations, of machines and of runs.

use std::cmp::Reverse;

use syncscope_core::units::plural;
use syncscope_report::page::escape;
use syncscope_report::{RunData, Rung, figure};

use super::alike;
use super::machine::{Column, Machine};
use super::rung::{Figure, Ranking};

/// The table of runs, one a line.
pub(super) fn runs(machines: &[Machine<'_>]) -> String {
    let line = |machine: &Machine<'_>| {
        let cells = [machine.cpu(), machine.gpus(), machine.date(), machine.data.run.preset.clone()];
        let cells = cells.map(|cell| format!("<td>{}</td>", escape(&cell))).concat();
        let [resolved, trust] = [machine.resolved(), machine.trust()].map(|text| escape(&text));
        format!(
            "<tr><th scope=\"row\" class=\"stuck\">{}</th>{cells}<td class=\"number\">{resolved}</td><td class=\"trust-cell\">{trust}</td></tr>",
            machine.link()
        )
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of runs\"><table class=\"runs-table\"><thead><tr><th scope=\"col\" class=\"stuck\">run</th>\
         <th scope=\"col\">CPU</th><th scope=\"col\">GPU</th><th scope=\"col\">date</th><th scope=\"col\">preset</th>\
         <th scope=\"col\" class=\"number\">resolved rows</th><th scope=\"col\">data quality</th></tr></thead><tbody>{}</tbody></table></div>",
        machines.iter().map(line).collect::<String>()
    )
}

/// The table of operations, each with the machines that have a figure.
pub(super) fn operations(columns: &[Column<'_, '_>], lines: &[Ranking]) -> String {
    if lines.is_empty() {
        return "<p class=\"empty\">None of these runs has a row of the cost ladder.</p>".to_owned();
    }
    let operation = |line: &Ranking| {
        let (Rung { id, level, .. }, title) = (line.rung, line.rung.full_title());
        let ranked = ranked(line);
        // Published figures come first only where no machine was measured.
        let compared = || ranked.iter().filter(|(_, figure)| figure.is_compared());
        let first = compared().find(|(index, _)| !columns[*index].is_published).or_else(|| compared().next());
        let (unlike, first) = match first {
            Some(_) if line.differs_in_size() => (" unlike", "sizes differ".to_owned()),
            first => {
                ("", first.map_or_else(String::new, |(at, one)| format!("from {}, {}", one.text, columns[*at].name())))
            }
        };
        let own = ranked.iter().position(|(index, figure)| columns[*index].is_own() && figure.is_compared());
        let own = own.map_or_else(String::new, |at| {
            format!(
                "; yours {}, {} of {}",
                ranked[at].1.text,
                at + 1,
                ranked.iter().filter(|(_, one)| one.is_compared()).count()
            )
        });
        let axis = Axis::around(line);
        let dots = |axis: &Axis| {
            ranked.iter().rev().map(|(index, figure)| axis.dot(figure, &columns[*index])).collect::<String>()
        };
        let dots = axis.as_ref().map_or_else(String::new, dots);
        let rows: String =
            ranked.iter().map(|(index, figure)| row(line, &columns[*index], *index, figure, axis.as_ref())).collect();
        let scale = axis.map_or_else(|| "no figure".to_owned(), |axis| axis.label());
        let [level, title, first] = [*level, title.as_str(), (first + &own).as_str()].map(escape);
        format!(
            "<details class=\"operation{unlike}\" id=\"{id}\" data-words=\"{level}\"><summary><b>{title}</b> <span class=\"cost-note\">{first}</span><span class=\"strip\" aria-hidden=\"true\"><span>{dots}</span></span></summary>\
             <p class=\"links\"><a href=\"#{id}\">Link</a></p>\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{level}: {title}\"><table class=\"ranked\"><thead><tr><th scope=\"col\" class=\"rank\">#</th>\
             <th scope=\"col\">machine</th><th scope=\"col\" class=\"number\">cost</th><th scope=\"col\" class=\"strip\">{scale}</th></tr></thead>\
             <tbody>{rows}</tbody></table></div></details>"
        )
    };
    let of_level = |lines: &[Ranking]| {
        format!("<h3>{}</h3>", escape(lines[0].rung.level)) + &lines.iter().map(operation).collect::<String>()
    };
    lines.chunk_by(|one, next| one.rung.level == next.rung.level).map(of_level).collect()
}

/// The figures of an operation: the largest size first and the cheapest first within a size; incomparable figures last.
fn ranked(line: &Ranking) -> Vec<(usize, &Figure)> {
    let mut ranked: Vec<(usize, &Figure)> =
        line.figures.iter().enumerate().filter_map(|(index, figure)| Some((index, figure.as_ref()?))).collect();
    let place = |figure: &Figure| (!figure.is_compared(), Reverse(figure.threads));
    let cost = |figure: &Figure| figure.ns.unwrap_or_default();
    ranked.sort_by(|(_, a), (_, b)| place(a).cmp(&place(b)).then(cost(a).total_cmp(&cost(b))));
    ranked
}

/// A machine's line in the table of an operation.
fn row(line: &Ranking, column: &Column<'_, '_>, index: usize, figure: &Figure, axis: Option<&Axis>) -> String {
    let best = if line.cheapest.contains(&index) { " <span class=\"badge good\">cheapest</span>" } else { "" };
    let own = if column.is_own() { " <span class=\"badge bound\">yours</span>" } else { "" };
    let strip = axis.filter(|_| figure.is_drawn()).map_or_else(String::new, |axis| {
        let whisker = figure.interval.map_or_else(String::new, |interval| {
            let (low, high) = (axis.place(interval.low), axis.place(interval.high));
            format!("<i class=\"whisker\" style=\"left: {low:.2}%; width: {:.2}%\"></i>", high - low)
        });
        format!("<span>{whisker}{}</span>", axis.dot(figure, column))
    });
    let class = if column.is_published || figure.is_other { " class=\"published\"" } else { "" };
    let [id, case, name] = [&column.id, &figure.case, &column.name()].map(|text| escape(text));
    format!(
        "<tr data-machine=\"{id}\"{class} title=\"{case}\"><td class=\"rank\"></td><th scope=\"row\"><a href=\"#{id}\">{name}</a>{best}{own}{}</th>{}<td class=\"strip\">{strip}</td></tr>",
        note(figure),
        cost(figure),
    )
}

fn cost(figure: &Figure) -> String {
    let interval = figure.interval_text.as_deref().unwrap_or_default();
    format!(
        "<td class=\"number\"><span class=\"cost-figure\">{}</span> <span class=\"cost-interval\">{}</span></td>",
        escape(&figure.text),
        escape(interval)
    )
}

fn note(figure: &Figure) -> String {
    let other = if figure.is_other { "another loop" } else { "" };
    let parts: Vec<&str> = [figure.note.as_str(), other].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("<span class=\"cost-note\">{}</span>", escape(&parts.join(", ")))
}

/// The table of machines, each with its runs, the known problems with them, and its operations.
pub(super) fn machines(columns: &[Column<'_, '_>], lines: &[Ranking]) -> String {
    let machine = |(at, column): (usize, &Column<'_, '_>)| {
        let of_line = |line: &Ranking| {
            let figure = line.figures.get(at)?.as_ref()?;
            let is_rival = |other: &Figure| other.is_compared() && other.threads == figure.threads;
            let compared = ranked(line).into_iter().filter(|(_, other)| is_rival(other)).collect::<Vec<_>>();
            // A machine that nothing is compared with has no rank.
            let rank = compared.iter().position(|(index, _)| *index == at).filter(|_| compared.len() > 1);
            let rank = rank.map(|rank| format!("{} of {}", rank + 1, compared.len())).unwrap_or_default();
            let title = escape(&format!("{}: {}", line.rung.level, line.rung.full_title()));
            Some(format!(
                "<tr><th scope=\"row\"><a href=\"#{}\">{title}</a>{}</th>{}<td>{rank}</td></tr>",
                line.rung.id,
                note(figure),
                cost(figure)
            ))
        };
        let rows: Vec<String> = lines.iter().filter_map(of_line).collect();
        let warning = |text: String| format!("<li>{}</li>", escape(&text.replace('`', "")));
        let found = column.newest().into_iter().flat_map(RunData::warnings).chain(alike::sentence(column));
        let warnings: String = found.map(warning).collect();
        let vendors = column.vendors().into_iter().collect::<Vec<_>>().join(" ");
        let pages = column.runs.iter().map(|run| run.link()).collect::<Vec<_>>().join(" ");
        let source = if column.is_published { "published by others" } else { "measured" };
        let [id, name, generation, vendors] =
            [&column.id, &column.name(), &column.generation(), &vendors].map(|text| escape(text));
        format!(
            "<details class=\"machine\" id=\"{id}\" data-vendor=\"{vendors}\" data-generation=\"{generation}\" data-cores=\"{}\"><summary><b>{name}</b> \
             <span class=\"cost-note\">{}, {source}</span></summary><p class=\"links\"><a href=\"#{id}\">Link</a> {pages}</p>\
             <ul class=\"faults\">{warnings}</ul><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table><thead><tr>\
             <th scope=\"col\">one operation</th><th scope=\"col\" class=\"number\">cost</th><th scope=\"col\">place</th></tr></thead>\
             <tbody>{}</tbody></table></div></details>",
            column.cores(),
            plural(rows.len(), "operation"),
            rows.concat(),
        )
    };
    columns.iter().enumerate().map(machine).collect()
}

/// A logarithmic axis from the cheapest to the most expensive machine.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// The axis around all costs and intervals of an operation; `None` without any.
    fn around(line: &Ranking) -> Option<Self> {
        let ends = line.figures.iter().flatten().filter(|figure| figure.is_drawn()).flat_map(|figure| {
            let interval = figure.interval.map(|interval| [interval.low, interval.high]);
            figure.ns.into_iter().chain(interval.into_iter().flatten())
        });
        let (low, high) = figure::extremes(ends.filter(|end| end.is_finite() && *end > 0.0))?;
        // At least a factor of four, so that a single dot has an axis around it.
        let widen = (4.0 / (high / low)).max(1.0).sqrt();
        Some(Self { low: low / widen, high: high * widen })
    }

    /// The dot of a compared figure.
    fn dot(&self, figure: &Figure, column: &Column<'_, '_>) -> String {
        let Some(ns) = figure.ns.filter(|_| figure.is_compared()) else { return String::new() };
        let marks = [(figure.is_rough, " rough"), (column.is_published, " theirs"), (column.is_own(), " yours")];
        let class: String = marks.into_iter().filter(|(has, _)| *has).map(|(_, class)| class).collect();
        format!("<i class=\"dot{class}\" style=\"left: {:.2}%\"></i>", self.place(ns))
    }

    /// The place of a value, in percent of the axis's length.
    fn place(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        100.0 * share.clamp(0.0, 1.0)
    }

    /// `5.00 ns to 20.0 ns, logarithmic`.
    fn label(&self) -> String {
        format!("{} to {}, logarithmic", figure::time(self.low), figure::time(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_long() {
        let axis = Axis { low: 1.0, high: 100.0 };
        let places = [1.0, 10.0, 100.0, 1e9, 0.0].map(|value| format!("{:.0}", axis.place(value)));
        assert_eq!(places, ["0", "50", "100", "100", "0"]);
    }
}
