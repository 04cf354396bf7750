//! The section of a page of two runs that says what changed from the first to the second.

use super::html::escape;
use crate::RunData;
use crate::analysis::compare::{Comparison, USUAL_THRESHOLD, compare};
use crate::export::{comparison, grid::Grid};
use crate::naming::capitalized;
use crate::section::{self, card, folded, paragraph, table};

/// The most changes of each direction that the page shows; `syncscope compare` has all.
const MOST_CHANGES: usize = 20;

/// The section; empty unless there are two runs that have a case in common.
pub(super) fn section(runs: &[RunData], labels: &[String]) -> String {
    let ([a, b], [label_a, label_b]) = (runs, labels) else { return String::new() };
    let found = compare(a, b, USUAL_THRESHOLD);
    if found.cases.is_empty() {
        return String::new();
    }
    let lead = format!("From A, {label_a}, to B, {label_b}: {}.", comparison::summary(&found));
    section::of_runs("changes", "What changed", &escape(&lead), &[("", content(&found))], false)
}

fn content(found: &Comparison<'_>) -> String {
    let as_table = |grid: &Grid| {
        let (headings, lines) = grid.parts();
        table(&headings, lines)
    };
    // The case names its line, so it stands first.
    let by_case = |grid: &Grid| {
        let (mut headings, lines) = grid.parts();
        let mut lines = lines.to_vec();
        headings.rotate_right(1);
        for line in &mut lines {
            line.rotate_right(1);
        }
        table(&headings, &lines)
    };
    let said = comparison::states(found);
    let mut html: String = said.iter().chain(&found.remarks).map(|remark| paragraph(&sentence(remark))).collect();
    let directions = comparison::directions(found, MOST_CHANGES);
    for changes in &directions {
        let more = match changes.left_out() {
            0 => String::new(),
            count => format!("; {count} more: syncscope compare A B --format csv"),
        };
        html.push_str(&card(&changes.title, &format!("{}{more}", changes.order), &by_case(&changes.grid)));
    }
    if !directions.is_empty() {
        html.push_str(&paragraph(&comparison::about_intervals(found)));
    }
    html.push_str(&folded("By family", &as_table(&comparison::families(found))));
    if let Some(differences) = comparison::differences(found) {
        html.push_str(&folded("What differs between machines and environments", &as_table(&differences)));
    }
    html
}

/// A remark of the terminal as a sentence of the page: what is typed stands there as it is typed.
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
        section(runs, &labels)
    }

    #[test]
    fn two_runs_say_what_changed() {
        let html = html(&[run("<a>", &[100.0, 200.0, 300.0]), run("b", &[100.0, 400.0, 300.0])]);
        assert!(
            html.contains("From A, &lt;a&gt;, to B, b: 3 in common: 1 slower, 0 faster, 2 same within 5 %"),
            "{html}"
        );
        assert!(html.contains(">Certainly slower in B: 1 case<") && html.contains(">2.00<"), "{html}");
    }

    #[test]
    fn a_faster_case_stands_beside_many_slower_ones() {
        let (mut before, mut after) = (vec![100.0; 41], vec![200.0; 41]);
        (before[40], after[40]) = (100.0, 80.0);
        let html = html(&[run("a", &before), run("b", &after)]);
        assert!(
            html.contains("Certainly slower in B: 40 cases") && html.contains("; 20 more: syncscope compare"),
            "{html}"
        );
        assert!(html.contains("Certainly faster in B: 1 case") && html.contains(">0.800<"), "{html}");
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
