//! The table at the end of a run, for the terminal.
//!
//! `sections` turns rows into sections, lines and costs. `render` turns them into text that fits the terminal.

mod render;
mod sections;

use syncscope_core::Case;
use syncscope_core::run::{IMPORTED, Status};

use crate::analysis::{contest, questions, trust};
use crate::reading;
use crate::wrap::{Tone, wrap};
use crate::{RunData, figure, naming};
use syncscope_core::sets::in_groups;

/// The summary of a run: its findings in sentences and what disturbed it, then costs with their intervals in the order of
/// the catalogue, verdicts, failures and warnings.
///
/// No line is longer than `width` columns if `width` is at least 40. The text has escape codes only if `colour` is true.
/// It does not end in a line break.
pub fn summary(data: &RunData, width: usize, colour: bool) -> String {
    let data = &data.in_order();
    let text = Text { width, in_colour: colour };
    let mut lines = heading(data, text);
    lines.extend(sentences(data, text));
    let cheapest = contest::cheapest_rows(data);
    let sections = sections::sections(data, &cheapest);
    if !sections.is_empty() {
        lines.push(String::new());
        lines.extend(render::lines(&sections, text));
    }
    lines.push(String::new());
    lines.extend(wrap(&verdicts(data), width, ""));
    let marked = (!cheapest.is_empty())
        .then(|| format!("{}: the cheapest in its column of those that do the same", sections::CHEAPEST));
    let joins = sections.iter().flat_map(|section| &section.lines).any(|line| line.has_other_figures);
    let joined = joins.then(sections::joined_lines);
    let signs = marked.into_iter().chain(joined).chain(reading::signs_of(&data.rows));
    lines.extend(signs.flat_map(|sign| text.lines(&sign, Tone::Quiet)));
    lines.extend(trust::trust(data).iter().flat_map(|trust| text.lines(trust, Tone::Plain)));
    lines.extend(failures(data, text));
    let contradictions = data.run.measured_topology.iter().flat_map(|topology| &topology.contradictions);
    let warnings = contradictions.cloned().chain(data.run.all_warnings());
    lines.extend(warnings.flat_map(|warning| text.lines(&format!("warning: {warning}"), Tone::Doubt)));
    lines.join("\n")
}

/// The answers that the page gives, too.
fn sentences(data: &RunData, text: Text) -> Vec<String> {
    let answers = questions::answers(data);
    let certain =
        answers.certain.iter().flat_map(|answer| text.lines(&format!("- {}", answer.outcome.text()), Tone::Plain));
    let open = answers.open.iter().flat_map(|open| text.lines(open, Tone::Quiet));
    let mut lines: Vec<String> = certain.chain(open).collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

fn heading(data: &RunData, text: Text) -> Vec<String> {
    let provisional = match data.provisional() {
        0 => String::new(),
        count => format!(", {} provisional", figure::grouped(count)),
    };
    let noun = |count: u64| format!("{} {}", figure::grouped(count), if count == 1 { "case" } else { "cases" });
    let [rows, planned] = [data.rows.len() as u64, data.run.planned];
    let cases = format!("{} of {}{provisional}", figure::grouped(rows), noun(planned));
    let state = match data.run.status {
        Status::Done => data.damage.lost_rows.clone().unwrap_or_else(|| format!("complete, {}", noun(rows))),
        Status::Running => format!("not finished: {cases}"),
        Status::Interrupted => format!("interrupted: {cases}"),
        Status::BudgetSpent => format!("stopped by its budget: {cases}"),
    };
    let preset = match data.run.preset.as_str() {
        IMPORTED => "figures from another tool".to_owned(),
        preset => format!("{preset} preset"),
    };
    let mut parts = vec![preset, state];
    parts.extend(data.seconds().map(figure::duration));
    let machine = text.lines(&naming::machine(&data.run.machine), Tone::Strong);
    [machine, text.lines(&parts.join(" · "), Tone::Plain)].concat()
}

/// `776 resolved, 51 below resolution, 1 failed`.
fn verdicts(data: &RunData) -> String {
    let counts = data.verdicts();
    if counts.is_empty() {
        return "No case was finished.".to_owned();
    }
    let counted = counts.iter().map(|(name, count)| format!("{} {}", figure::grouped(count), reading::words(name)));
    counted.collect::<Vec<_>>().join(", ")
}

/// The most failures to list, with each reason of a primitive once; the page lists all of them.
const MOST_FAILURES: usize = 5;

fn failures(data: &RunData, text: Text) -> Vec<String> {
    let failed = data.rows.iter().filter(|row| row.verdict.is_failure());
    let failed =
        in_groups(failed.map(|row| ((&row.case.primitive, (row.verdict.name(), row.verdict.reason())), &row.case)));
    let of = |((primitive, (verdict, reason)), cases): &((&String, (&str, &str)), Vec<&Case>)| {
        let case = match cases.as_slice() {
            [one] => one.to_string(),
            several => format!("{primitive}, {} cases", several.len()),
        };
        format!("{}: {case}: {reason}", reading::words(verdict))
    };
    let more = failed.len().saturating_sub(MOST_FAILURES);
    let more = (more > 0).then(|| format!("and {more} more; see the page"));
    failed.iter().take(MOST_FAILURES).map(of).chain(more).flat_map(|line| text.lines(&line, Tone::Bad)).collect()
}

/// The width of lines, and whether they are coloured.
#[derive(Debug, Clone, Copy)]
struct Text {
    width: usize,
    in_colour: bool,
}

impl Text {
    /// Breaks text into lines; lines after the first are indented.
    fn lines(self, text: &str, tone: Tone) -> Vec<String> {
        wrap(text, self.width, "  ").iter().map(|line| tone.paint(line, self.in_colour)).collect()
    }
}
