//! The table at the end of a run, for the terminal.
//!
//! `sections` turns rows into sections, lines and costs. `render` turns them into text that fits the terminal.

mod render;
mod sections;

use syncscope_core::run::Status;
use syncscope_core::{Case, Verdict};

use crate::analysis::{contest, questions, trust};
use crate::run_data::grouped;
use crate::{RunData, figure, naming};

/// The summary of a run: what it found in sentences and what disturbed it, then costs with their intervals in the order of
/// the catalogue, verdicts, failures and warnings.
///
/// No line is longer than `width` columns if `width` is at least 40. The text has escape codes only if `colour` is true.
/// It does not end in a line break.
pub fn summary(data: &RunData, width: usize, colour: bool) -> String {
    let data = &data.in_order();
    let painter = Painter { colour };
    let mut lines = heading(data, width, painter);
    lines.extend(sentences(data, width, painter));
    let cheapest = contest::cheapest_rows(data);
    let sections = sections::sections(data, &cheapest);
    if !sections.is_empty() {
        lines.push(String::new());
        lines.extend(render::lines(&sections, width, painter));
    }
    lines.push(String::new());
    lines.extend(wrap(&verdicts(data), width, ""));
    let marked = (!cheapest.is_empty()).then(|| format!("{}: the cheapest of its column", sections::CHEAPEST));
    let signs = marked.into_iter().chain(figure::signs_of(&data.rows)).flat_map(|text| wrap(&text, width, "  "));
    lines.extend(signs.map(|line| painter.text(&line, Tone::Quiet)));
    lines.extend(trust::trust(data).iter().flat_map(|text| wrap(text, width, "  ")));
    lines.extend(failures(data, width, painter));
    let contradictions = data.run.measured_topology.iter().flat_map(|topology| &topology.contradictions);
    for warning in contradictions.chain(&data.run.warnings) {
        lines.extend(
            wrap(&format!("warning: {warning}"), width, "  ").iter().map(|line| painter.text(line, Tone::Doubt)),
        );
    }
    lines.join("\n")
}

/// The answers of the page.
fn sentences(data: &RunData, width: usize, painter: Painter) -> Vec<String> {
    let answers = questions::answers(data);
    let mut lines: Vec<String> =
        answers.certain.iter().flat_map(|answer| wrap(&format!("- {}", answer.text), width, "  ")).collect();
    let open: Vec<String> = answers.open.iter().flat_map(|text| wrap(text, width, "  ")).collect();
    lines.extend(open.iter().map(|line| painter.text(line, Tone::Quiet)));
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

fn heading(data: &RunData, width: usize, painter: Painter) -> Vec<String> {
    let machine = wrap(&naming::machine(&data.run.machine), width, "  ");
    let mut lines: Vec<String> = machine.iter().map(|line| painter.text(line, Tone::Strong)).collect();
    let provisional = match data.provisional() {
        0 => String::new(),
        count => format!(", {} provisional", figure::grouped(count)),
    };
    let [rows, planned] = [data.rows.len() as u64, data.run.planned].map(figure::grouped);
    let cases = format!("{rows} of {planned} cases{provisional}");
    let state = match data.run.status {
        Status::Done => data.damage.lost_rows.clone().unwrap_or_else(|| format!("complete, {rows} cases")),
        Status::Running => format!("not finished: {cases}"),
        Status::Interrupted => format!("interrupted: {cases}"),
        Status::BudgetSpent => format!("stopped by its budget: {cases}"),
    };
    let mut parts = vec![format!("{} preset", data.run.preset), state];
    parts.extend(data.seconds().map(figure::duration));
    lines.extend(wrap(&parts.join(" · "), width, "  "));
    lines
}

/// `776 resolved, 51 below resolution, 1 failed`.
fn verdicts(data: &RunData) -> String {
    let counts = data.verdicts();
    if counts.is_empty() {
        return "No case was finished.".to_owned();
    }
    counts
        .iter()
        .map(|(name, count)| format!("{} {}", figure::grouped(count), naming::verdict(name)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The most failures that are listed, each reason of a primitive once; the page has all of them.
const MOST_FAILURES: usize = 5;

fn failures(data: &RunData, width: usize, painter: Painter) -> Vec<String> {
    let failed = data.rows.iter().filter(|row| row.verdict.is_failure());
    let failed = grouped(failed.map(|row| ((&row.case.primitive, &row.verdict), &row.case)));
    let of = |((primitive, verdict), cases): &((&String, &Verdict), Vec<&Case>)| {
        let case = match cases.as_slice() {
            [one] => one.to_string(),
            several => format!("{primitive}, {} cases", several.len()),
        };
        wrap(&format!("{}: {case}: {}", naming::verdict(verdict.name()), verdict.reason()), width, "  ")
    };
    let mut lines: Vec<String> = failed.iter().take(MOST_FAILURES).flat_map(of).collect();
    if failed.len() > MOST_FAILURES {
        lines.push(format!("and {} more; see the page", failed.len() - MOST_FAILURES));
    }
    lines.iter().map(|line| painter.text(line, Tone::Bad)).collect()
}

/// The text in lines of at most `width` columns, broken between words. Lines after the first begin with `indent`.
fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let line = lines.last().map_or(0, |line| line.chars().count());
        let fresh = line == 0 || (lines.len() > 1 && line == indent.len());
        if !fresh && line + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
        } else if let Some(last) = lines.last_mut() {
            if !fresh {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.iter().map(|line| render::clip(line, width)).collect()
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Strong,
    Quiet,
    Good,
    Doubt,
    Bad,
}

/// Colours text, or leaves it unchanged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    pub(crate) colour: bool,
}

impl Painter {
    /// The text in the colour of its tone (ECMA-48, select graphic rendition).
    pub(crate) fn text(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Strong => 1,
            Tone::Quiet => 2,
            Tone::Good => 32,
            Tone::Doubt => 33,
            Tone::Bad => 31,
        };
        if self.colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three four", 9, "  "), ["one two", "  three", "  four"]);
        assert_eq!(wrap("incomprehensible", 8, ""), ["incompr…"]);
        assert_eq!(wrap("", 8, ""), [""]);
    }
}
