//! Writes published claims and their outcomes on runs as text.

use std::cmp::Reverse;

use serde_json::{Value, json};
use syncscope_core::Nanoseconds;

use crate::RunData;
use crate::analysis::findings::{Finding, Truth, by_paper};
use crate::grid::{self, Grid};
use crate::harmless::{self, plain};
use crate::naming;
use crate::reading::interval_within_run;
use crate::wrap::{Tone, wrap_all};
use syncscope_core::sets::in_groups;

/// The findings of one run.
#[derive(Debug, Clone)]
pub struct RunFindings {
    /// The run.
    pub data: RunData,
    /// All or some of its findings.
    pub findings: Vec<Finding>,
}

impl RunFindings {
    fn heading(&self) -> String {
        let (machine, run) = (self.data.measured_parts().join(" + "), &self.data.run);
        format!("{} ({machine}, {})", self.data.name, naming::origin(run))
    }

    /// `holds: 4, does not hold: 2, undecided: 1; needs rows that this run lacks: 30`.
    fn counts(&self) -> String {
        let count = |verdict| {
            self.findings.iter().filter(|finding| finding.measured && finding.outcome.verdict == verdict).count()
        };
        let lacking = self.findings.iter().filter(|finding| !finding.measured).count();
        let [holds, fails, open] = Truth::ALL.map(count);
        let counts = format!("holds: {holds}, does not hold: {fails}, undecided: {open}");
        if lacking == 0 { counts } else { format!("{counts}; needs rows that this run lacks: {lacking}") }
    }
}

/// Each claim that some run decides, with its verdicts on all runs, the largest machine first: `holds on a, b; does not hold
/// on c`. A verdict may depend on the size of the machine.
fn over_runs<'a>(runs: &'a [RunFindings]) -> Vec<(&'a Finding, String)> {
    let mut sorted: Vec<&RunFindings> = runs.iter().collect();
    sorted.sort_by_key(|run| {
        let machine = &run.data.run.machine;
        Reverse((machine.cpu.hardware_threads, machine.gpus.len()))
    });
    // The claims are the same for every run; a published experiment adds its own to its run.
    let all =
        sorted.into_iter().flat_map(|run| run.findings.iter().map(move |found| (found.id.as_str(), (found, run))));
    let of_claim = |(_, found): (&str, Vec<(&'a Finding, &RunFindings)>)| {
        let on = |verdict: Truth| {
            let has = |(found, _): &&(&Finding, &RunFindings)| found.measured && found.outcome.verdict == verdict;
            let names: Vec<&str> = found.iter().filter(has).map(|(_, run)| run.data.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{} on {}", verdict.words(), names.join(", ")))
        };
        let verdicts = Truth::ALL.into_iter().filter_map(on).collect::<Vec<_>>().join("; ");
        (!verdicts.is_empty()).then_some((found[0].0, verdicts))
    };
    in_groups(all).into_iter().filter_map(of_claim).collect()
}

/// The least width of a text next to its verdict.
const LEAST_TEXT: usize = 32;
/// The width of the longest verdict.
const VERDICT: usize = 13;

/// The claims that the runs have figures for, in lines of at most `width` columns.
pub fn for_terminal(runs: &[RunFindings], width: usize, colour: bool) -> String {
    let mut lines = Vec::new();
    for run in runs {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(wrap_all(&plain(&run.heading()), width));
        lines.extend(wrap_all(&run.counts(), width));
        for (paper, findings) in by_paper(&run.findings) {
            lines.push(String::new());
            lines.extend(wrap_all(paper.title(), width).into_iter().map(|line| Tone::Strong.paint(&line, colour)));
            lines.extend(findings.into_iter().flat_map(|finding| lines_of(finding, width, colour)));
        }
    }
    if runs.len() > 1 {
        lines.push(String::new());
        lines.push(Tone::Strong.paint(OVER_RUNS, colour));
        for (finding, verdicts) in over_runs(runs) {
            let text = plain(&format!("{} [{}]: {verdicts}", finding.text, finding.place));
            lines.extend(indented(&text, width));
        }
    }
    lines.join("\n")
}

/// The title of the verdicts on several runs.
const OVER_RUNS: &str = "Verdicts on all runs, the largest machine first";

fn lines_of(finding: &Finding, width: usize, colour: bool) -> Vec<String> {
    let outcome = &finding.outcome;
    let tone = match outcome.verdict {
        Truth::Holds => Tone::Good,
        Truth::Fails => Tone::Bad,
        Truth::Open => Tone::Doubt,
    };
    let indent = VERDICT + 4;
    let room = width.saturating_sub(indent);
    let claim = plain(&format!("{} [{}]", finding.text, finding.place));
    let sentence = plain(&outcome.sentence);
    let verdict = tone.paint(&format!("{:VERDICT$}", outcome.verdict.words()), colour);
    if room < LEAST_TEXT {
        let verdict = std::iter::once(format!("  {verdict}").trim_end().to_owned());
        return verdict.chain(indented(&claim, width)).chain(indented(&sentence, width)).collect();
    }
    let mut lines = wrap_all(&claim, room);
    let quiet = |line: String| format!("  {}", Tone::Quiet.paint(&line, colour));
    lines.extend(wrap_all(&sentence, room.saturating_sub(2)).into_iter().map(quiet));
    let begins = |number: usize| if number == 0 { format!("  {verdict}  ") } else { " ".repeat(indent) };
    lines.iter().enumerate().map(|(number, line)| format!("{}{line}", begins(number))).collect()
}

/// Breaks text into lines indented by two spaces.
fn indented(text: &str, width: usize) -> impl Iterator<Item = String> {
    wrap_all(text, width.saturating_sub(2)).into_iter().map(|line| format!("  {line}"))
}

/// The claims that the runs have figures for, as Markdown tables, one for each run and paper.
pub fn as_markdown(runs: &[RunFindings]) -> String {
    let mut parts = Vec::new();
    for run in runs {
        parts.push(format!("**{}**: {}.", grid::markdown(&run.heading()), run.counts()));
        for (paper, findings) in by_paper(&run.findings) {
            let table = Grid::of(findings)
                .text("claim", |finding| finding.text.clone())
                .text("place", |finding| finding.place.clone())
                .text("verdict", |finding| finding.outcome.verdict.words().to_owned())
                .text("figures", |finding| finding.outcome.sentence.clone());
            parts.extend([format!("{}:", paper.title()), table.grid().as_markdown()]);
        }
    }
    if runs.len() > 1 {
        let table = Grid::of(over_runs(runs))
            .text("claim", |(claim, _)| claim.text.clone())
            .text("place", |(claim, _)| claim.place.clone())
            .text("verdicts", |(_, verdicts)| verdicts.clone());
        parts.extend([format!("{OVER_RUNS}:"), table.grid().as_markdown()]);
    }
    parts.join("\n\n")
}

/// All claims on each run: an array of runs, each with its findings.
pub fn as_json(runs: &[RunFindings]) -> String {
    let run = |run: &RunFindings| {
        let findings: Vec<Value> = run.findings.iter().map(|finding| json_of(finding, &run.data)).collect();
        json!({ "name": run.data.name, "started": run.data.run.started, "findings": findings })
    };
    harmless::json(&Value::Array(runs.iter().map(run).collect()))
}

fn json_of(finding: &Finding, data: &RunData) -> Value {
    let rows = finding.outcome.rows.iter().filter_map(|index| {
        let row = data.rows.get(*index)?;
        let within = interval_within_run(row);
        // The ends have the names of their columns: the interval for another run is wider.
        Some(json!({
            "case_id": row.case.id().0,
            "case": row.case.to_string(),
            "ns": row.ns.map(Nanoseconds::value),
            "within_low": within.map(|interval| interval.low),
            "within_high": within.map(|interval| interval.high),
        }))
    });
    let mut object = json!(finding);
    object["rows"] = rows.collect();
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::findings::{Outcome, Paper};
    use crate::testing;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Row, Verdict};

    fn found() -> Vec<RunFindings> {
        let row = Row {
            ns: Some(Nanoseconds(2.0)),
            ns_within: Some(Interval { low: 1.9, high: 2.1 }),
            ..Row::unmeasured(Case::new("<b>\u{1b}[31m|"), Verdict::Resolved)
        };
        let mut data = testing::data(vec![row]);
        data.name = "\u{1b}]0;x<script>".into();
        let finding = |verdict, measured| Finding {
            id: "a.b".into(),
            paper: Paper::Zhang,
            place: "table 1".into(),
            text: "a | b <i> is a long claim that needs more than one line of a terminal".into(),
            outcome: Outcome::of(verdict, "2.00 ns with \u{1b}[31m_x_".into()).on(vec![0, 9]),
            measured,
        };
        let findings = vec![finding(Truth::Holds, true), finding(Truth::Fails, true), finding(Truth::Open, false)];
        vec![RunFindings { data, findings }]
    }

    #[test]
    fn lines_fit_the_width_and_nothing_is_obeyed() {
        for width in [40, 60, 100] {
            let text = for_terminal(&found(), width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(!text.contains('\u{1b}') && text.contains("does not hold"), "{text}");
            assert!(
                text.replace('\n', " ")
                    .contains("holds: 1, does not hold: 1, undecided: 0; needs rows that this run lacks: 1"),
                "{text}"
            );
        }
        let coloured = for_terminal(&found(), 100, true);
        assert!(coloured.contains("\u{1b}[32mholds") && coloured.contains("\u{1b}[31mdoes not hold"), "{coloured}");
        assert!(!coloured.contains("\u{1b}[31m_x_") && !coloured.contains("\u{1b}]0"));
    }

    #[test]
    fn markdown_shows_text_as_it_is() {
        let text = as_markdown(&found());
        assert!(text.contains("| a \\| b &lt;i&gt; is"), "{text}");
        assert!(!text.contains("<script>") && !text.contains('\u{1b}') && text.matches("| table 1 |").count() == 2);
    }

    #[test]
    fn json_has_every_claim_with_its_rows() {
        let value: Value = serde_json::from_str(&as_json(&found())).unwrap();
        let findings = value[0]["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 3);
        assert_eq!((&findings[1]["verdict"], &findings[2]["measured"]), (&json!("does_not_hold"), &json!(false)));
        let rows = findings[0]["rows"].as_array().unwrap();
        assert_eq!(
            (rows.len(), &rows[0]["within_low"], &rows[0]["within_high"]),
            (1, &json!(1.9), &json!(2.1)),
            "an index beyond the rows is left out"
        );
    }
}
