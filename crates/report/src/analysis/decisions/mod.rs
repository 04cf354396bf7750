//! The decisions that people take with a run, each as a question, a sentence and its charts.
//!
//! One file holds one decision. Its sentence follows from intervals, as those of [`super::answers`]: it states what they
//! make certain, and says where they leave the decision open. [`spec`] is what the page draws, [`sweep`] selects the rows of
//! a line, [`cheapest`] compares rows by number of threads, and [`break_even`] finds where the cheaper one changes.

mod atomics;
mod barrier;
mod break_even;
mod cheapest;
mod false_sharing;
mod fences;
mod handoff;
mod lock;
mod placement;
mod relaunch;
pub(crate) mod spec;
mod sweep;
#[cfg(test)]
mod testing;

use serde::Serialize;

use super::answers::{self, Finding};
use crate::RunData;
use spec::Spec;

/// A decision as the rows of a run support it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Decision {
    /// Its place on the page.
    pub(crate) id: &'static str,
    pub(crate) question: &'static str,
    /// What the intervals make certain, or what they leave open.
    pub(crate) sentence: String,
    /// Its charts, side by side.
    pub(crate) charts: Vec<Spec>,
    /// What the charts do not show, and why.
    pub(crate) note: Option<String>,
}

/// The decisions, the one that most programs need first.
const DECISIONS: [fn(&RunData) -> Option<Decision>; 8] = [
    lock::decision,
    atomics::decision,
    barrier::decision,
    relaunch::decision,
    fences::decision,
    handoff::decision,
    placement::decision,
    false_sharing::decision,
];

/// The decisions for which a run has rows.
pub(crate) fn decisions(data: &RunData) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = DECISIONS.iter().filter_map(|decision| decision(data)).collect();
    if answers::lacks_intervals(data) {
        for decision in &mut decisions {
            answers::WITHOUT_INTERVALS.clone_into(&mut decision.sentence);
        }
    }
    decisions
}

/// The ids that decisions name; the others are those of the cost ladder.
pub(crate) fn named_primitives() -> impl Iterator<Item = &'static str> {
    let groups: [&[&str]; 5] =
        [&atomics::PRIMITIVES, &barrier::PRIMITIVES, &relaunch::LAUNCHES, &handoff::PRIMITIVES, &placement::BOUND];
    groups.into_iter().flatten().copied().chain(fences::primitives()).collect::<Vec<_>>().into_iter()
}

/// The sentence of a rule.
fn said(finding: Finding) -> String {
    match finding {
        Finding::Certain(answer) => answer.text,
        Finding::Open(question) => format!("Not certain in this run: {question}."),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use syncscope_core::{Row, Verdict};

    use super::spec::State;
    use super::testing::{decision, lock, series};
    use super::*;
    use crate::analysis::answers::testing::{case, data, on_blocks, row};

    /// A run that the repository holds.
    fn stored(name: &str) -> RunData {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
        RunData::load(&path, crate::testing::catalogue()).unwrap()
    }

    #[test]
    fn stored_runs_answer_every_question_that_their_machine_has() {
        let all = ["lock", "atomics", "barrier", "relaunch", "fences", "handoff", "placement", "false-sharing"];
        let without_gpu: Vec<&str> = all.into_iter().filter(|id| *id != "relaunch").collect();
        for (name, expected) in [("h200", all.as_slice()), ("h200-x4", &all), ("xeon-16cpu-vm-paper", &without_gpu)] {
            let data = stored(name);
            let found = decisions(&data);
            let ids: Vec<&str> = found.iter().filter_map(|one| one.id.strip_prefix("decide-")).collect();
            assert_eq!(ids, expected, "{name}");
            for chart in found.iter().flat_map(|decision| &decision.charts) {
                for point in series(chart).iter().flat_map(|one| &one.points) {
                    assert!(point.row.is_some_and(|row| row < data.rows.len()));
                    assert!(
                        point.x.is_some() || matches!(point.state, State::Missing | State::Overlapped),
                        "{point:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_run_of_the_gpu_alone_says_nothing_of_cpu_threads() {
        let flag = row(case("hybrid.flag.round_trip", 1), 2500.0, 0.1);
        let fence = Row {
            evidence: Some("MEMBAR.SC.GPU 0/32".into()),
            ..row(on_blocks("gpu.fence.device", 1, 32), 500.0, 0.1)
        };
        let run = data(vec![flag, fence]);
        assert_eq!(decision("decide-handoff", &run), None);
        let fences = decision("decide-fences", &run).unwrap();
        let Spec::Table { columns, lines, .. } = &fences.charts[0] else { panic!("a table") };
        assert_eq!(columns, &["GPU: device"]);
        assert!(lines.iter().all(|line| line.cells.len() == 1));
        assert!(!fences.note.unwrap().contains("CPU"));
    }

    #[test]
    fn unknown_primitives_and_missing_rows_decide_nothing() {
        assert_eq!(decisions(&data(vec![])), []);
        let hostile = vec![lock("<script>", 16, 1.0), row(case("cpu.barrier.'\"><b>", 16), 1.0, 0.1)];
        assert_eq!(decisions(&data(hostile)), []);
        let skipped = Row { verdict: Verdict::Skipped("none".into()), ..lock("ticket", 16, 1.0) };
        assert_eq!(decisions(&data(vec![skipped])), []);
    }
}
