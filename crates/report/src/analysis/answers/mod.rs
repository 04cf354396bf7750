//! The answers at the top of the page and below the table: what is expensive on this machine and what to choose, in
//! sentences. Each rule stands in a file of its subject and says its sentence only where intervals make it certain.
//!
//! Two intervals exist. A rule that ranks rows measured in the same way, such as the locks at one number of threads, uses
//! those within the run ([`Basis::Run`]): all rows met the same state of the machine. A rule that compares figures of
//! different instruments or sides, such as a kernel launch timed by the host and a barrier timed by the device, uses those
//! to quote ([`Basis::Machine`]): the sentence must hold in another run, too.

pub(super) mod atomics;
pub(super) mod barriers;
pub(super) mod cpus;
mod devices;
pub(super) mod field;
mod locks;
pub(super) mod relaunch;
mod trust;

pub(crate) use trust::trust;

use syncscope_core::Row;

use crate::RunData;
#[cfg(doc)]
use field::Basis;

/// A sentence that the rows of a run make certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The rows that it stands on, as indices among the rows of the run.
    pub(crate) rows: Vec<usize>,
    /// The part of the page that shows them.
    pub(crate) figure: &'static str,
}

/// What a rule finds in a run that has the rows it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    Certain(Answer),
    /// The question that these rows leave open, with the reason.
    Open(String),
}

impl Finding {
    fn certain(figure: &'static str, text: String, rows: impl IntoIterator<Item = usize>) -> Self {
        Self::Certain(Answer { text, rows: rows.into_iter().collect(), figure })
    }
}

/// A rule; `None` where the run lacks its rows.
type Rule = fn(&RunData) -> Option<Finding>;

/// The rules, the one that most programs need first.
const RULES: [Rule; 14] = [
    relaunch::kernel_or_grid_barrier,
    locks::cheapest_lock,
    atomics::false_sharing,
    atomics::contended_on_both_sides,
    atomics::lost_updates,
    barriers::cheapest_cpu_barrier,
    barriers::fence_scopes,
    barriers::cluster_or_grid,
    devices::barrier_of_devices,
    cpus::waking,
    cpus::placement,
    cpus::hyperthreads,
    barriers::divergent_warp,
    barriers::block_barriers,
];

/// The most sentences; the charts have the rest.
const MOST: usize = 8;

/// The answers of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answers {
    pub(crate) certain: Vec<Answer>,
    /// What the run has rows for and cannot decide, in one sentence.
    pub(crate) open: Option<String>,
}

/// The ids that rules name; the others are those of the cost ladder.
pub(crate) fn named_primitives() -> impl Iterator<Item = &'static str> {
    barriers::BLOCK_BARRIERS.into_iter().map(|(_, id)| id).chain([cpus::SMT_PRIMITIVE])
}

/// The answers that the rows of a run give.
pub(crate) fn answers(data: &RunData) -> Answers {
    if lacks_intervals(data) {
        return Answers { certain: Vec::new(), open: Some(WITHOUT_INTERVALS.to_owned()) };
    }
    let mut certain = Vec::new();
    let mut open = Vec::new();
    for finding in RULES.iter().filter_map(|rule| rule(data)) {
        match finding {
            Finding::Certain(answer) => certain.push(answer),
            Finding::Open(question) => open.push(question),
        }
    }
    certain.truncate(MOST);
    let open = (!open.is_empty()).then(|| format!("Not certain in this run: {}.", open.join("; ")));
    Answers { certain, open }
}

/// What stands in the place of sentences about figures without intervals, such as those of others.
pub(in crate::analysis) const WITHOUT_INTERVALS: &str = "These figures have no intervals, so nothing is certain.";

/// Whether there are figures and none has an interval.
pub(in crate::analysis) fn lacks_intervals(data: &RunData) -> bool {
    let has_interval = |row: &Row| row.ns_interval.is_some() || row.ns_within.is_some();
    data.rows.iter().any(|row| row.ns.is_some()) && !data.rows.iter().any(has_interval)
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use syncscope_core::machine::{CpuMachine, GpuMachine};
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Nanoseconds, Row, Verdict};

    /// A machine with 16 CPUs and a device of 132 multiprocessors.
    pub(in crate::analysis) fn data(rows: Vec<Row>) -> RunData {
        let mut data = crate::testing::data(rows);
        data.run.machine.cpu = CpuMachine { hardware_threads: 16, ..CpuMachine::default() };
        data.run.machine.gpus = vec![GpuMachine { multiprocessors: 132, ..GpuMachine::default() }];
        data
    }

    pub(in crate::analysis) fn case(primitive: &str, threads: u32) -> Case {
        Case { threads: Some(threads), ..Case::new(primitive) }
    }

    pub(in crate::analysis) fn on_blocks(primitive: &str, blocks: u32, threads: u32) -> Case {
        Case { blocks: Some(blocks), ..case(primitive, threads) }
    }

    /// A resolved row: within the run its cost is certain to a hundredth, in another run to this share.
    pub(in crate::analysis) fn row(case: Case, ns: f64, share: f64) -> Row {
        let around = |share: f64| Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: around(0.01),
            ns_interval: around(share),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    /// The same row with another interval within the run.
    pub(in crate::analysis) fn within(row: Row, low: f64, high: f64) -> Row {
        Row { ns_within: Some(Interval { low, high }), ..row }
    }

    /// The sentence of a rule: `Err` holds the question that stays open.
    pub(super) fn said(rule: Rule, rows: Vec<Row>) -> Option<Result<String, String>> {
        said_of(rule, &data(rows))
    }

    pub(super) fn said_of(rule: Rule, data: &RunData) -> Option<Result<String, String>> {
        rule(data).map(|finding| match finding {
            Finding::Certain(answer) => {
                assert!(!answer.rows.is_empty() && answer.rows.iter().all(|row| *row < data.rows.len()), "{answer:?}");
                Ok(answer.text)
            }
            Finding::Open(question) => Err(question),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{case, row};
    use super::*;

    #[test]
    fn a_run_without_rows_answers_nothing() {
        assert_eq!(answers(&testing::data(vec![])), Answers::default());
    }

    #[test]
    fn certain_sentences_and_open_questions_are_told_apart() {
        let lock = |name: &str, ns| row(case(&format!("cpu.lock.{name}"), 16), ns, 0.1);
        let barrier = |name: &str, ns| row(case(&format!("cpu.barrier.{name}"), 16), ns, 0.1);
        let rows = vec![lock("ticket", 100.0), lock("mcs", 101.0), barrier("std", 900.0), barrier("tree", 300.0)];
        let found = answers(&testing::data(rows));
        assert_eq!(found.certain.len(), 1, "{found:?}");
        assert_eq!(found.certain[0].figure, "decide-barrier");
        let open = found.open.unwrap();
        assert!(open.starts_with("Not certain in this run: which lock is the cheapest at 16 threads"), "{open}");
    }

    #[test]
    fn there_are_at_most_eight_sentences() {
        const ALWAYS: Rule = |_| Some(Finding::certain("ladder", "x".into(), [0]));
        assert!(RULES.len() > MOST && ALWAYS(&testing::data(vec![])).is_some());
        assert!(answers(&testing::data(vec![])).certain.len() <= MOST);
    }

    #[test]
    fn figures_without_intervals_make_nothing_certain() {
        let barrier = |name: &str, ns| testing::row(testing::case(&format!("cpu.barrier.{name}"), 16), ns, 0.1);
        let mut data = testing::data(vec![barrier("std", 30_000.0), barrier("dissemination", 1_000.0)]);
        assert!(answers(&data).certain.iter().any(|answer| answer.text.contains("dissemination")));
        for row in &mut data.rows {
            (row.ns_interval, row.ns_within) = (None, None);
        }
        let without = answers(&data);
        assert!(without.certain.is_empty() && without.open.as_deref() == Some(WITHOUT_INTERVALS));
    }
}
