//! The questions that people ask a run, one file each: the rows that answer it, its sentences, its charts and its advice.
//!
//! All questions ask the one [`contest`](super::contest) which row is the cheapest, so that sentence, chart and advice name
//! the same rows. They say only what intervals make certain, and say so where intervals leave a question open.
//!
//! - [`advice`] is what `advise` answers, [`chart`](crate::chart) is what the page draws, and `rows` selects the rows of a
//!   chart.
//! - `prelude` has what nearly every question imports.
//! - A question is a line of [`QUESTIONS`], and a file that has its `SENTENCES` and its `picture`.

pub(crate) mod advice;
mod atomics;
mod barrier;
mod block;
mod break_even;
mod condition;
mod core_kinds;
mod counters;
mod false_sharing;
mod families;
mod fences;
mod handoff;
mod levels;
mod lock;
mod own;
mod placement;
mod prelude;
mod reduce;
mod relaunch;
mod roles;
mod rows;
pub(crate) mod sides;
mod smt;
mod wait;

pub(crate) use barrier::winners;

use serde::Serialize;
use serde_json::{Value, json};
use syncscope_core::sets::unique;
use syncscope_core::{Row, Verdict};

use self::advice::{Inquiry, Need, Situation};
use crate::analysis::claim::{Outcome, Truth};
use crate::analysis::phrases::joined;
use crate::chart::Spec;
use crate::{RunData, figure, naming, run_data};

/// A question and its answers.
struct Question {
    /// The id of the question on the page.
    id: &'static str,
    title: &'static str,
    /// What the rows establish, the most important first; a sentence is `None` if the run lacks the rows.
    sentences: Sentences,
    /// The charts of the question.
    picture: fn(&RunData) -> Option<Picture>,
}

type Sentences = &'static [condition::Sentence];

/// A question whose module has `SENTENCES` and a `picture`.
macro_rules! question {
    ($id:literal, $title:literal, $($module:ident)::+) => {
        Question { id: $id, title: $title, sentences: $($module)::+::SENTENCES, picture: $($module)::+::picture }
    };
}

/// The questions, those that most programs need first.
const QUESTIONS: [Question; 23] = [
    question!("decide-own", "How does my code compare?", own),
    question!("decide-relaunch", "Synchronize or relaunch?", relaunch),
    question!("decide-lock", "Which lock?", lock),
    Question {
        id: "decide-lock-work",
        title: "Which lock for how much work?",
        sentences: &[],
        picture: lock::map_of_work,
    },
    question!("decide-false-sharing", "How far apart must variables be?", false_sharing),
    question!("decide-atomics", "How do atomics scale?", atomics),
    question!("decide-barrier", "Which barrier?", barrier),
    question!("decide-fences", "Which fence?", fences),
    question!("decide-orders", "What does a memory order cost on the GPU?", atomics::orders),
    question!("decide-shared", "Shared memory, registers or global memory?", atomics::shared),
    question!("decide-handoff", "Spin or sleep?", handoff),
    question!("decide-wait", "How to wait?", wait),
    question!("decide-gpu-handoff", "How should GPU blocks hand over data?", handoff::blocks),
    question!("decide-host-wait", "How should the host wait for the GPU?", wait::host),
    question!("decide-budget", "How long should a waiter spin before it sleeps?", wait::budget),
    question!("decide-readers", "Readers or writers: who waits?", roles),
    question!("decide-placement", "Where to place threads?", placement),
    question!("decide-smt", "Hyperthreads: what does a busy sibling cost?", smt),
    question!("decide-kinds", "Performance or efficiency cores?", core_kinds),
    question!("decide-levels", "NUMA, sockets, caches: what does crossing cost?", levels),
    question!("decide-sides", "CPU and GPU", sides),
    Question { id: "gpu.warp", title: "What does divergence cost?", sentences: block::OF_WARPS, picture: |_| None },
    Question { id: "gpu.block", title: "Which block barrier?", sentences: block::OF_BLOCKS, picture: |_| None },
];

/// The function that answers a need, with one piece of advice for each side and situation that the run has rows for, and the
/// candidates on the CPU and on the GPU.
fn adviser(need: Need) -> (Adviser, [Candidates; 2]) {
    match need {
        Need::CountEvents => (counters::count_events, [Ok("--only 'cpu.atomic.add'"), Ok("--only 'gpu.atomic.add'")]),
        Need::Protect => (lock::protect, [Ok("--only 'cpu.lock.*'"), Ok("--only 'gpu.lock.*'")]),
        Need::Phases => {
            (barrier::phases, [Ok("--only 'cpu.barrier.*'"), Ok("--only 'gpu.block.*' --only 'gpu.grid.*'")])
        }
        Need::HandOver => {
            (handoff::hand_over, [Ok("--only 'cpu.handoff.*'"), Ok("--preset standard --only 'gpu.handoff.*'")])
        }
        Need::Wait => (
            wait::wait,
            [
                Ok("--only 'cpu.wait.*' --only 'cpu.wake.*'"),
                Ok("--preset standard --only 'gpu.launch.sync_*' --only gpu.launch.event_block"),
            ],
        ),
        Need::Reduce => (reduce::reduce, [Ok("--only 'cpu.reduction.*'"), Ok("--only 'gpu.reduction.*'")]),
        Need::EndGpuPhase => {
            (relaunch::end_gpu_phase, [Err(NO_CPU_GRID), Ok("--only 'gpu.grid.*' --only 'gpu.launch.*'")])
        }
    }
}

type Adviser = fn(Inquiry<'_>) -> Vec<Situation>;
/// The options of `run` that select the candidates for a need on a side, or why there are none.
type Candidates = Result<&'static str, &'static str>;
const NO_CPU_GRID: &str = "a CPU has no grid and launches no kernels";

/// A statement that the rows of a run establish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    /// The id of the part of the page that shows its rows.
    pub(crate) figure: &'static str,
}

impl Answer {
    /// The answer for the page: the sentence under its heading, and the indices of its rows.
    pub(crate) fn as_json(&self) -> Value {
        let Self { outcome, figure } = self;
        json!({ "headline": outcome.headline, "text": outcome.text(), "rows": outcome.rows, "figure": figure })
    }
}

/// The charts of a question.
struct Picture {
    charts: Vec<Spec>,
    /// What the charts show beyond the sentences.
    said: Option<Outcome>,
    /// The text in place of sentences, if the run has no rows for one.
    otherwise: &'static str,
    /// What the charts do not show, and why.
    note: Option<String>,
}

impl Picture {
    /// These charts and the sentences of their note; `None` if there is no chart.
    fn of(
        charts: impl IntoIterator<Item = Option<Spec>>,
        otherwise: &'static str,
        sentences: impl IntoIterator<Item = Option<String>>,
    ) -> Option<Self> {
        let charts: Vec<Spec> = charts.into_iter().flatten().collect();
        (!charts.is_empty()).then(|| Self { charts, said: None, otherwise, note: joined(sentences, " ") })
    }

    fn saying(self, said: Option<Outcome>) -> Self {
        Self { said, ..self }
    }

    /// Adds what the charts say if any of these outcomes is certain; otherwise the note says what they leave open.
    fn finding(self, found: impl IntoIterator<Item = Option<Outcome>>) -> Self {
        let found: Vec<Outcome> = found.into_iter().flatten().collect();
        let is_decided = found.iter().any(|one| one.verdict == Truth::Holds);
        let all = found.into_iter().reduce(|all, one| all.followed_by([one.sentence]));
        if is_decided {
            self.saying(all)
        } else {
            Self { note: joined([all.map(|all| all.sentence), self.note], " "), ..self }
        }
    }
}

/// The most sentences at the top of the page, one for each question; the others appear with their charts. Sentences about
/// places in the machine always appear at the top, because every other figure depends on them.
const MOST: usize = 5;
const ABOUT_PLACES: [&str; 3] = ["decide-smt", "decide-kinds", "decide-levels"];

/// The answers of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answers {
    pub(crate) certain: Vec<Answer>,
    /// The questions that the run has rows for and cannot decide, in one sentence.
    pub(crate) open: Option<String>,
    /// The sentences for which the top has no room.
    rest: Vec<Answer>,
}

/// The answers that the rows of a run give.
pub(crate) fn answers(data: &RunData) -> Answers {
    let (mut certain, mut rest, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for question in &QUESTIONS {
        let mut first = Some(&mut certain);
        for said in question.sentences.iter().filter_map(|sentence| sentence.outcome(data)) {
            if said.verdict == Truth::Open {
                open.push(said.sentence);
            } else {
                first.take().unwrap_or(&mut rest).push(Answer { outcome: said, figure: question.id });
            }
        }
    }
    let (places, mut certain): (Vec<Answer>, Vec<Answer>) =
        certain.into_iter().partition(|answer| ABOUT_PLACES.contains(&answer.figure));
    let beyond = certain.split_off(certain.len().min(MOST - places.len()));
    certain.extend(places);
    let rest = beyond.into_iter().chain(rest).collect();
    let undecided = || (!open.is_empty()).then(|| format!("Undecided in this run: {}.", open.join("; ")));
    let open = if lacks_intervals(data) { Some(without_intervals(data)) } else { undecided() };
    Answers { certain, open, rest }
}

/// Every certain sentence, with the conditions that it depends on.
#[cfg(test)]
pub(crate) fn sentences(data: &RunData) -> Vec<(Outcome, Vec<String>)> {
    let words = |conditions: Vec<(condition::On, String)>| conditions.into_iter().map(|(_, words)| words).collect();
    let all = QUESTIONS.iter().flat_map(|question| question.sentences);
    let certain = all.filter_map(|sentence| Some((sentence, sentence.outcome(data)?)));
    let certain = certain.filter(|(_, outcome)| outcome.verdict != Truth::Open);
    certain
        .map(|(sentence, outcome)| (words(sentence.conditions(data, &outcome.rows)), outcome))
        .map(|(a, b)| (b, a))
        .collect()
}

/// A question with its charts, as the rows of a run support it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Decision {
    /// The id of the question on the page.
    pub(crate) id: &'static str,
    pub(crate) question: &'static str,
    /// What the intervals establish, or why they decide nothing: the first sentence, and the others.
    pub(crate) claim: [String; 2],
    /// Whether the rows decide something.
    pub(crate) is_decided: bool,
    /// The rows behind the claim.
    pub(crate) rows: Vec<usize>,
    /// The charts, side by side.
    pub(crate) charts: Vec<Spec>,
    pub(crate) note: Option<String>,
}

/// The decisions for which a run has rows.
pub(crate) fn decisions(data: &RunData, answers: &Answers) -> Vec<Decision> {
    let is_certain = !lacks_intervals(data);
    let of = |question: &Question| {
        let Picture { charts, said, otherwise, note } = (question.picture)(data)?;
        let own = |all: &[Answer]| -> Vec<Outcome> {
            all.iter().filter(|answer| answer.figure == question.id).map(|answer| answer.outcome.clone()).collect()
        };
        let (top, rest) = (own(&answers.certain), own(&answers.rest));
        let mut rows: Vec<usize> = unique(charts.iter().flat_map(Spec::rows));
        if rows.is_empty() {
            rows = top.iter().flat_map(|one| one.rows.clone()).collect();
        }
        let certain: Vec<Outcome> = top.into_iter().chain(said).chain(rest).collect();
        let is_decided = !certain.is_empty();
        let open = || {
            let mut found = question.sentences.iter().filter_map(|sentence| sentence.outcome(data));
            found.find(|one| one.verdict == Truth::Open)
        };
        let undecided = || match open() {
            _ if !is_certain => [WITHOUT_INTERVALS.to_owned(), String::new()],
            Some(open) => {
                let open = open.within("Undecided: ", ".");
                open.first_apart(&open.sentence)
            }
            None => [otherwise.to_owned(), String::new()],
        };
        let claim = certain.first().map_or_else(undecided, |first| first.first_apart(&said_once(&certain)));
        Some(Decision { id: question.id, question: question.title, claim, is_decided, rows, charts, note })
    };
    QUESTIONS.iter().filter_map(of).collect()
}

/// Joins these sentences. Of those that were measured in the same way, only the last says how.
fn said_once(certain: &[Outcome]) -> String {
    let is_said_later =
        |at: usize| certain[at + 1..].iter().any(|later| later.measured_with == certain[at].measured_with);
    let of = |(at, one): (usize, &Outcome)| if is_said_later(at) { one.sentence.clone() } else { one.text() };
    certain.iter().enumerate().map(of).collect::<Vec<_>>().join(" ")
}

/// The text in place of sentences for figures without intervals, such as those of other tools.
pub(crate) const WITHOUT_INTERVALS: &str =
    "These figures have no intervals; figures that differ by less than a factor of two may be equal.";

/// Says what a run without intervals holds.
fn without_intervals(data: &RunData) -> String {
    let count = data.rows.iter().filter(|row| row.has_figure()).count();
    let families = run_data::families(std::slice::from_ref(data));
    let of_domain = |of: &[(&str, &str)]| {
        let titles: Vec<String> = of.iter().map(|(_, family)| naming::family(family).to_lowercase()).collect();
        format!("{}: {}", of[0].0.to_uppercase(), titles.join(", "))
    };
    let domains: Vec<String> = families.chunk_by(|one, next| one.0 == next.0).map(of_domain).collect();
    let costs = if count == 1 { "cost" } else { "costs" };
    format!("This run contains {} {costs} ({}). {WITHOUT_INTERVALS}", figure::grouped(count), domains.join("; "))
}

/// Whether the figures were imported without intervals. A row of ours whose pairs were excluded has none either, but says
/// why itself.
pub(crate) fn lacks_intervals(data: &RunData) -> bool {
    let mut figures = data.rows.iter().filter(|row| row.ns.is_some());
    let is_imported = |row: &Row| matches!(row.verdict, Verdict::Imported(_));
    data.rows.iter().any(is_imported) && figures.all(|row| row.ns_within.or(row.ns_interval).is_none())
}

/// Helpers for the tests of several questions.
#[cfg(test)]
pub(crate) mod testing {
    use syncscope_core::machine::{CpuMachine, GpuMachine};
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Dtype, Layout, Nanoseconds, Row, Verdict};

    use super::{Decision, Outcome, Truth, answers, decisions};
    use crate::RunData;
    use crate::chart::{Series, Spec};

    /// A machine with 16 CPUs and a device of 132 multiprocessors.
    pub(crate) fn data(rows: Vec<Row>) -> RunData {
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

    /// A resolved row, whose cost is certain to 1 % within the run and to this share in another run.
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

    /// The sentence of a question: `Err` holds the question that stays open.
    pub(super) fn said(sentence: fn(&RunData) -> Option<Outcome>, rows: Vec<Row>) -> Option<Result<String, String>> {
        said_of(sentence, &data(rows))
    }

    pub(super) fn said_of(sentence: fn(&RunData) -> Option<Outcome>, data: &RunData) -> Option<Result<String, String>> {
        sentence(data).map(|Outcome { verdict, sentence, rows, .. }| {
            if verdict == Truth::Open {
                return Err(sentence);
            }
            assert!(!rows.is_empty() && rows.iter().all(|row| *row < data.rows.len()), "{sentence}: {rows:?}");
            Ok(sentence)
        })
    }

    pub(super) fn decision(id: &str, data: &RunData) -> Option<Decision> {
        decisions(data, &answers(data)).into_iter().find(|decision| decision.id == id)
    }

    pub(super) fn sentence(id: &str, rows: Vec<Row>) -> String {
        text(&decision(id, &data(rows)).unwrap())
    }

    /// Everything that a card claims.
    pub(super) fn text(decision: &Decision) -> String {
        decision.claim.join(" ").trim_end().to_owned()
    }

    /// The series of a chart; a table has none.
    pub(super) fn series(chart: &Spec) -> Vec<&Series> {
        match chart {
            Spec::Lines { series, .. } => series.iter().collect(),
            Spec::Dots { rows, .. } => rows.iter().collect(),
            Spec::Panels { panels, .. } => panels.iter().flat_map(series).collect(),
            Spec::Rectangles { .. } | Spec::Table { .. } => Vec::new(),
        }
    }

    /// The labels of the series of a chart.
    pub(super) fn labels(chart: &Spec) -> Vec<&str> {
        series(chart).iter().map(|one| one.label.as_str()).collect()
    }

    /// A lock by its name.
    pub(super) fn lock(name: &str, threads: u32, ns: f64) -> Row {
        row(case(&format!("cpu.lock.{name}"), threads), ns, 0.3)
    }

    /// The row with this interval and the verdict for a wide one.
    pub(super) fn noisy(row: Row, low: f64, high: f64) -> Row {
        Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) }
    }

    /// Additions of CPU threads to 32-bit integers, with the rate of all threads.
    pub(crate) fn add(layout: Layout, threads: u32, ns: f64, rate: f64) -> Row {
        let case = Case { layout: Some(layout), dtype: Some(Dtype::I32), ..case("cpu.atomic.add", threads) };
        Row { ops_per_s_total: Some(rate), ..row(case, ns, 0.2) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use syncscope_core::{Nanoseconds, Row, Verdict};

    use super::testing::{case, data, on_blocks, row};
    use super::testing::{decision, lock, series};
    use super::*;
    use crate::reading::State;

    /// A run that the repository holds.
    fn stored(name: &str) -> RunData {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
        RunData::load(&path, crate::testing::catalogue()).unwrap()
    }

    #[test]
    fn stored_runs_answer_every_question_that_their_machine_has() {
        let all = [
            "relaunch",
            "lock",
            "false-sharing",
            "atomics",
            "barrier",
            "fences",
            "handoff",
            "wait",
            "host-wait",
            "placement",
            "sides",
        ];
        let of_gpus = ["sides", "relaunch", "host-wait"];
        let without_gpu: Vec<&str> = all.into_iter().filter(|id| !of_gpus.contains(id)).collect();
        let mut cpus_alone = stored("h200");
        cpus_alone.run.machine.gpus.clear();
        cpus_alone.rows.retain(|row| row.case.is_on_cpus());
        for (data, expected) in [(stored("h200"), all.as_slice()), (cpus_alone, &without_gpu)] {
            let found = decisions(&data, &answers(&data));
            let ids: Vec<&str> = found.iter().filter_map(|one| one.id.strip_prefix("decide-")).collect();
            assert_eq!(ids, expected, "{} devices", data.run.machine.gpus.len());
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
        assert_eq!(decisions(&data(vec![]), &Answers::default()), []);
        let hostile = vec![lock("<script>", 16, 1.0), row(case("cpu.barrier.'\"><b>", 16), 1.0, 0.1)];
        assert_eq!(decisions(&data(hostile), &Answers::default()), []);
        let skipped = Row { verdict: Verdict::Skipped("none".into()), ..lock("ticket", 16, 1.0) };
        assert_eq!(decisions(&data(vec![skipped]), &Answers::default()), []);
    }

    /// Points within a sentence, and sentences that end with another sign, decide nothing.
    #[test]
    fn the_first_sentence_is_what_was_said_first() {
        let certain = Outcome::holds("It takes 5 ns vs. 9 ns, less by 44 %.".to_owned(), []);
        let both = certain.clone().followed_by(["Waking takes longer.".to_owned()]);
        assert_eq!(both.first_apart(&both.text()), [certain.text(), "Waking takes longer.".to_owned()]);
        assert_eq!(certain.first_apart(&certain.text()), [certain.text(), String::new()]);
        let open =
            Outcome::open("which is best".to_owned()).followed_by(["Two are".to_owned()]).within("Undecided: ", ".");
        assert_eq!(open.first_apart(&open.sentence), ["Undecided: which is best", "Two are."]);
    }

    #[test]
    fn a_run_without_rows_answers_nothing() {
        assert_eq!(answers(&data(vec![])), Answers::default());
    }

    #[test]
    fn certain_sentences_and_open_questions_are_told_apart() {
        let lock = |name: &str, ns| row(case(&format!("cpu.lock.{name}"), 16), ns, 0.1);
        let barrier = |name: &str, ns| row(case(&format!("cpu.barrier.{name}"), 16), ns, 0.1);
        let rows = vec![lock("ticket", 100.0), lock("mcs", 101.0), barrier("std", 900.0), barrier("tree", 300.0)];
        let found = answers(&data(rows));
        assert_eq!(found.certain.len(), 1, "{found:?}");
        assert_eq!(found.certain[0].figure, "decide-barrier");
        let open = found.open.unwrap();
        assert!(open.starts_with("Undecided in this run: which lock is the cheapest at 16 threads"), "{open}");
    }

    #[test]
    fn figures_without_intervals_make_nothing_certain_but_what_differs_by_a_factor_of_two() {
        let barrier = |name: &str, ns| row(case(&format!("cpu.barrier.{name}"), 16), ns, 0.1);
        let mut data = data(vec![barrier("std", 30_000.0), barrier("dissemination", 1_000.0)]);
        assert!(answers(&data).certain.iter().any(|answer| answer.outcome.sentence.contains("dissemination")));
        for row in &mut data.rows {
            (row.ns_interval, row.ns_within) = (None, None);
        }
        let said = |data: &RunData| {
            let Answers { certain, open, .. } = answers(data);
            assert!(certain.is_empty(), "{certain:?}");
            open.unwrap_or_default()
        };
        // Rows of ours whose pairs were excluded say why themselves.
        data.rows.iter_mut().for_each(|row| row.verdict = Verdict::Interfered(String::new()));
        assert!(!said(&data).contains(WITHOUT_INTERVALS));
        data.rows.iter_mut().for_each(|row| row.verdict = Verdict::Imported(String::new()));
        let far = answers(&data).certain;
        assert!(far.iter().any(|answer| answer.outcome.sentence.contains("30 times as much")), "{far:?}");
        data.rows[0].ns = Some(Nanoseconds(1_900.0));
        assert_eq!(said(&data), format!("This run contains 2 costs (CPU: barriers). {WITHOUT_INTERVALS}"));
        data.rows.truncate(1);
        assert!(said(&data).starts_with("This run contains 1 cost (CPU: barriers). "));
    }
}
