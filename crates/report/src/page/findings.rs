//! The section on published claims: what the runs say about each, with links to the deciding rows.

use crate::analysis::findings::by_paper;
use crate::analysis::findings::{Finding, Paper, Truth, findings};
use crate::analysis::paper_figures;
use crate::html::escape;
use crate::{RunData, naming, section};

/// The section; empty if no run has figures for any claim. The runs are in the order of the page's data.
pub(super) fn section(runs: &[RunData], labels: &[String]) -> String {
    let of_each = runs.iter().map(of_rows).enumerate().zip(labels);
    let measured = of_each.filter(|((_, findings), _)| findings.iter().any(|finding| finding.measured));
    let drawn: Vec<(&str, String)> =
        measured.map(|((run, findings), label)| (label.as_str(), of_run(run, &findings))).collect();
    let lead = "Each claim is tested against this run's intervals; where they are too wide, it is undecided.";
    section::of_runs("findings", "Findings: published claims, tested on this machine", lead, &drawn, runs.len() > 1)
}

/// The claims that rows decide. The section of an experiment shows that experiment's claims.
fn of_rows(data: &RunData) -> Vec<Finding> {
    findings(data, [])
}

fn of_run(run: usize, findings: &[Finding]) -> String {
    let card = |(paper, own): (Paper, Vec<&Finding>)| {
        let count = |verdict| own.iter().filter(|finding| finding.outcome.verdict == verdict).count();
        let counts = Truth::ALL.map(|verdict| (count(verdict), plural(verdict, count(verdict)))).into_iter();
        let counts = counts.filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
        section::card(paper.title(), &counts.collect::<Vec<_>>().join(", "), &lists(run, &own))
    };
    let lacking = match findings.iter().filter(|finding| !finding.measured).count() {
        0 => String::new(),
        count => format!("<p class=\"note\">{count} further claims need rows that this run lacks.</p>\n"),
    };
    by_paper(findings).map(card).collect::<String>() + &lacking
}

/// Claims that do not hold are news; the rest is folded.
fn lists(run: usize, findings: &[&Finding]) -> String {
    let list = |verdicts: &[Truth]| -> String {
        let of = |verdict| findings.iter().filter(move |finding| finding.outcome.verdict == verdict);
        let items: String = verdicts.iter().copied().flat_map(of).map(|finding| item(run, finding)).collect();
        if items.is_empty() { items } else { format!("<dl class=\"claims\">{items}</dl>") }
    };
    let (news, rest) = (list(&[Truth::Fails]), list(&[Truth::Holds, Truth::Open]));
    if rest.is_empty() {
        return news;
    }
    format!("{news}<details><summary>What holds or stays open</summary>{rest}</details>")
}

const fn plural(verdict: Truth, count: usize) -> &'static str {
    match (verdict, count) {
        (Truth::Holds, 1) => "holds",
        (Truth::Holds, _) => "hold",
        (Truth::Fails, 1) => "does not hold",
        (Truth::Fails, _) => "do not hold",
        (Truth::Open, 1) => "is undecided",
        (Truth::Open, _) => "are undecided",
    }
}

fn item(run: usize, finding: &Finding) -> String {
    let outcome = &finding.outcome;
    format!(
        "<dt>{} {} <span class=\"note\">{}</span></dt><dd>{}{}</dd>",
        section::badge(outcome.verdict),
        escape(&finding.text),
        place(finding),
        escape(&outcome.sentence),
        link(run, finding)
    )
}

/// Where the paper makes the claim. A figure or table that the explorer can draw is a link.
fn place(finding: &Finding) -> String {
    let mut words = finding.place.split(' ').map(escape).collect::<Vec<_>>();
    let plain: Vec<&str> = finding.place.split(' ').collect();
    for at in 1..plain.len() {
        let number = plain[at].trim_matches(|letter: char| !letter.is_ascii_digit());
        let number = match plain[at - 1] {
            "table" => format!("table {number}"),
            "figure" | "figures" | "and" => number.to_owned(),
            _ => continue,
        };
        if paper_figures::has(finding.paper, &number) {
            let id = paper_figures::id(finding.paper, &number);
            let (name, after) = words[at].split_at(words[at].trim_end_matches([',', ';']).len());
            words[at] = format!("<a href=\"#{id}\" data-figure=\"{id}\">{name}</a>{after}");
        }
    }
    words.join(" ")
}

/// The link to the rows, or without scripts to the table of all rows.
fn link(run: usize, finding: &Finding) -> String {
    let rows = &finding.outcome.rows;
    if rows.is_empty() {
        return String::new();
    }
    let indices: Vec<String> = rows.iter().map(usize::to_string).collect();
    format!(
        " <a href=\"#rows\" data-run=\"{run}\" data-rows=\"{}\" data-claim=\"{}\">{}</a>",
        indices.join(" "),
        escape(&finding.text),
        naming::plural(rows.len(), "row")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::findings::Outcome;
    use crate::testing;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Nanoseconds, Placement, Row, Verdict};

    fn barrier(threads: u32, ns: f64) -> Row {
        let case =
            Case { threads: Some(threads), placement: Some(Placement::Close), ..Case::new("cpu.barrier.openmp") };
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    #[test]
    fn a_run_without_figures_has_no_section() {
        assert_eq!(section(&[testing::data(vec![])], &["a".into()]), "");
    }

    #[test]
    fn claims_stand_with_verdict_figures_and_rows() {
        let data = testing::data(vec![barrier(2, 100.0), barrier(16, 300.0)]);
        let html = section(std::slice::from_ref(&data), &["a".into()]).replace('\u{a0}', " ");
        assert!(
            html.contains("bad\">does not hold</span><span class=\"offscreen\">:</span> Barriers are not much cheaper"),
            "{html}"
        );
        assert!(html.contains("300 ns with 16 threads against 100 ns with 2 threads, a factor of 3.00"), "{html}");
        assert!(html.contains("data-run=\"0\" data-rows=\"1 0\"") && html.contains(">2 rows</a>"), "{html}");
        assert!(html.contains("further claims need rows") && !html.contains("published-run"), "{html}");
        assert!(html.contains("<span class=\"note\">1 does not hold</span>"), "{html}");
        let two = section(&[testing::data(vec![]), data], &["a".into(), "<b>".into()]);
        assert!(two.contains("&lt;b&gt;</h3>") && two.contains("data-run=\"1\""), "{two}");
    }

    fn of_anzt() -> Finding {
        Finding {
            id: "x".into(),
            paper: Paper::Anzt,
            place: "<p>".into(),
            text: "\"><script>".into(),
            outcome: Outcome::of(Truth::Open, "<s>".into()).on(vec![3]),
            measured: true,
        }
    }

    #[test]
    fn texts_are_no_markup() {
        let html = item(0, &of_anzt());
        assert!(!html.contains("<script>") && !html.contains("<s>") && !html.contains("<p>"), "{html}");
        assert!(html.contains("&quot;&gt;&lt;script&gt;") && html.contains(">1 row</a>"), "{html}");
    }
}
