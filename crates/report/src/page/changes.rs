//! The section on what changed from the first to the second run, for a page of two runs.

use serde_json::{Value, json};
use syncscope_core::Row;

use crate::analysis::changes;
use crate::analysis::compare::{Change, ComparedCase, Comparison, USUAL_THRESHOLD, compare, is_one_definition};
use crate::analysis::questions::advice::states;
use crate::grid::Grid;
use crate::html::escape;
use crate::naming::capitalized;
use crate::reading;
use crate::section::{self, Part};
use crate::{RunData, figure};

/// The most changes in each direction that the page shows; `syncscope compare` has all of them.
const MOST_CHANGES: usize = 20;

/// The comparison of a page; `None` unless there are exactly two runs with a case in common.
pub(super) fn compared(runs: &[RunData]) -> Option<Comparison<'_>> {
    let [a, b] = runs else { return None };
    Some(compare(a, b, USUAL_THRESHOLD)).filter(|found| !found.cases.is_empty())
}

/// The section; empty if there is no comparison.
pub(super) fn section(found: Option<&Comparison<'_>>, labels: &[String]) -> String {
    let (Some(found), [label_a, label_b]) = (found, labels) else { return String::new() };
    let lead = format!("From A ({label_a}) to B ({label_b}): {}.", changes::summary(found));
    section::of_runs("changes", "What changed", &escape(&lead), &[("", section::html(&content(found)))], false)
}

/// The first screen: what to know before any figure, and the numbers of cases by outcome.
pub(super) fn on_first_screen(found: &Comparison<'_>) -> Value {
    let first = found.changes.iter().cloned().chain(changes::clocks(found)).chain(states(found));
    let said: Vec<String> = first.map(|text| sentence(&text)).collect();
    json!({ "said": said, "summary": sentence(&changes::summary(found)) })
}

/// The cost in B over the cost in A; `~` where the difference is undecided, and a dash where the rows are not of one case.
pub(super) fn ratio(found: &Comparison<'_>, a: &Row, b: &Row) -> String {
    let own = found.cases.iter().find(|case| std::ptr::eq(case.a, a) && std::ptr::eq(case.b, b));
    let have_figures = [a, b].into_iter().all(reading::has_figure);
    let is_one = |case: &&ComparedCase<'_>| case.change != Change::NotComparable && is_one_definition(a, b);
    let known = own.filter(|case| have_figures && is_one(case));
    known.and_then(|case| Some((case.ratio?, case.change))).map_or("–".to_owned(), |(ratio, change)| {
        let written = if change == Change::Undecided { figure::rough_ratio } else { figure::ratio };
        format!("{}×", written(ratio))
    })
}

fn content(found: &Comparison<'_>) -> Vec<Part> {
    // The last `turned` columns come first.
    let table = |grid: &Grid, turned: usize| {
        let mut table = grid.table();
        table.headings.rotate_right(turned);
        table.rows.iter_mut().for_each(|row| row.rotate_right(turned));
        Part::Table(table)
    };
    let mut parts: Vec<Part> = found.remarks.iter().map(|remark| Part::paragraph(sentence(remark))).collect();
    let directions = changes::directions(found, MOST_CHANGES);
    for changes in &directions {
        let more = match changes.left_out {
            0 => String::new(),
            count => format!("; syncscope compare A B --format csv lists {count} more"),
        };
        let note = format!("{}{more}", changes.order);
        // The case names its line.
        parts.push(Part::card(&changes.title, &note, vec![table(&changes.grid, 1)]));
    }
    parts.extend(changes::about_intervals(found).map(Part::paragraph));
    for changes in changes::unchanged(found, MOST_CHANGES) {
        let more = if changes.left_out > 0 { "; syncscope compare A B --format csv lists them all" } else { "" };
        let note = Part::paragraph(capitalized(&format!("{}{more}.", changes.order)));
        parts.push(Part::Folded(changes.title, vec![note, table(&changes.grid, 1)]));
    }
    parts.push(Part::Folded("By family".to_owned(), vec![table(&changes::families(found), 0)]));
    parts.extend(changes::differences(found).map(|differences| {
        let title = "Differences between machines and environments".to_owned();
        Part::Folded(title, vec![table(&differences, 0)])
    }));
    parts
}

/// Turns a remark of the terminal into a sentence of the page; commands keep their form.
fn sentence(remark: &str) -> String {
    format!("{}.", capitalized(&remark.replace('`', "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Nanoseconds, Row, Verdict};

    fn run(name: &str, costs: &[f64]) -> RunData {
        let row = |(at, ns): (usize, &f64)| Row {
            ns: Some(Nanoseconds(*ns)),
            ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            ns_within: Some(Interval { low: ns * 0.995, high: ns * 1.005 }),
            pairs: Some(100),
            ..Row::unmeasured(
                Case { threads: u32::try_from(at + 1).ok(), ..Case::new("cpu.lock.ticket") },
                Verdict::Resolved,
            )
        };
        RunData { name: name.to_owned(), ..crate::testing::data(costs.iter().enumerate().map(row).collect()) }
    }

    fn html(runs: &[RunData]) -> String {
        let labels: Vec<String> = runs.iter().map(|data| data.name.clone()).collect();
        section(compared(runs).as_ref(), &labels).replace('\u{a0}', " ")
    }

    #[test]
    fn two_runs_say_what_changed() {
        let html = html(&[run("<a>", &[100.0, 200.0, 300.0]), run("b", &[100.0, 400.0, 300.0])]);
        assert!(
            html.contains(
                "From A (&lt;a&gt;) to B (b): of the 3 common cases, 1 is slower and 2 are the same within 5 %"
            ),
            "{html}"
        );
        assert!(html.contains(">Slower in B: 1 case<") && html.contains(">2.00<"), "{html}");
    }

    #[test]
    fn a_faster_case_stands_beside_many_slower_ones() {
        let (mut before, mut after) = (vec![100.0; 41], vec![200.0; 41]);
        (before[40], after[40]) = (100.0, 80.0);
        let html = html(&[run("a", &before), run("b", &after)]);
        assert!(html.contains("Slower in B: 40 cases") && html.contains("--format csv lists 20 more<"), "{html}");
        assert!(html.contains("Faster in B: 1 case") && html.contains(">0.800<"), "{html}");
    }

    #[test]
    fn remarks_are_sentences() {
        assert_eq!(sentence("the runs differ: use `run --repeat 5`"), "The runs differ: use run --repeat 5.");
    }

    #[test]
    fn other_numbers_of_runs_and_runs_without_a_common_case_say_nothing() {
        let one = run("a", &[100.0]);
        assert_eq!(html(std::slice::from_ref(&one)), "");
        assert_eq!(html(&[one.clone(), one.clone(), one.clone()]), "");
        assert_eq!(html(&[one, run("b", &[])]), "");
    }
}
