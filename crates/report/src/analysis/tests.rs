//! Checks every statement, whatever its form: it is called certain if and only if the intervals decide it, and exchanging A
//! and B reverses it.

use std::path::PathBuf;

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Nanoseconds, Role, Row, Settings, Verdict};

use super::contest::{Basis, Known, Peers, Size};
use super::findings::{Truth, findings, judge::Test};
use super::questions::advice::{Asked, Need, advise};
use super::questions::{answers, sentences};
use crate::{RunData, testing};

fn locks(costs: &[(f64, f64)]) -> RunData {
    let names = ["ticket", "mcs", "ttas", "clh"];
    let row = |(name, (low, high)): (&&str, &(f64, f64))| Row {
        ns: Some(Nanoseconds(f64::midpoint(*low, *high))),
        ns_interval: Some(Interval { low: *low, high: *high }),
        ns_within: Some(Interval { low: *low, high: *high }),
        ..Row::unmeasured(Case { threads: Some(4), ..Case::new(&format!("cpu.lock.{name}")) }, Verdict::Resolved)
    };
    testing::data(names.iter().zip(costs).map(row).collect())
}

fn random_costs(random: &mut fastrand::Rng, count: usize) -> Vec<(f64, f64)> {
    let cost = |random: &mut fastrand::Rng| {
        let (ns, half) = (10.0 + 10.0 * random.f64(), 0.5 + 2.0 * random.f64());
        (ns - half, ns + half)
    };
    (0..count).map(|_| cost(random)).collect()
}

#[test]
fn one_of_several_is_the_cheapest_if_and_only_if_its_interval_lies_below_all_others() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut decided = 0;
    for _ in 0..500 {
        let costs = random_costs(&mut random, 4);
        let run = locks(&costs);
        let peers = Peers::of(&run, Role::ThreadLock, |_| true, Size::Most).unwrap();
        let contest = peers.contest(Basis::Run);
        let winner = contest.outcome().unwrap().ok().map(|win| win.cost.index);
        let is_below_all = |at: &usize| (0..4).all(|other| other == *at || costs[*at].1 < costs[other].0);
        assert_eq!(winner, (0..4).find(is_below_all), "{costs:?}");
        decided += usize::from(winner.is_some());
    }
    assert!((50..450).contains(&decided), "{decided}");
}

#[test]
fn what_is_said_of_two_is_denied_of_them_exchanged() {
    let mut random = fastrand::Rng::with_seed(2);
    let mut said = [0; 3];
    for _ in 0..500 {
        let run = locks(&random_costs(&mut random, 2));
        let [a, b] = [0, 1].map(|at| Known::of(&run, at, Basis::Run).unwrap());
        let (one, other) = (Test::Below.of(&a, &b), Test::Below.of(&b, &a));
        let opposite = match one {
            Truth::Holds => Truth::Fails,
            Truth::Fails => Truth::Holds,
            Truth::Open => Truth::Open,
        };
        assert_eq!(other, opposite, "{a:?} {b:?}");
        let factor = 0.5 + random.f64();
        for (test, exchanged) in [
            (Test::AtMost(factor), Test::AtLeast(1.0 / factor)),
            (Test::AtLeast(factor), Test::AtMost(1.0 / factor)),
            (Test::Within(1.0 + factor), Test::Within(1.0 + factor)),
        ] {
            assert_eq!(test.of(&a, &b), exchanged.of(&b, &a), "{test:?} {a:?} {b:?}");
        }
        said[one as usize] += 1;
    }
    assert!(said.iter().all(|count| *count > 20), "{said:?}");
}

/// A stored run whose rows with a cost are resolved and lie within this factor of their figures, by both intervals.
fn within(name: &str, factor: f64) -> RunData {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
    let mut data = RunData::load(&path, testing::catalogue()).unwrap();
    for row in &mut data.rows {
        let Some(Nanoseconds(ns)) = row.ns.filter(|ns| ns.value() > 0.0) else { continue };
        let interval = Some(Interval { low: ns / factor, high: ns * factor });
        (row.ns_interval, row.ns_within) = (interval, interval);
        (row.allowance, row.cycles, row.cycles_interval, row.run_to_run) = (None, None, None, None);
        if matches!(row.verdict, Verdict::Noisy(_) | Verdict::BelowResolution(_)) {
            row.verdict = Verdict::Resolved;
        }
    }
    data
}

/// The numbers of sentences that compare costs as certain, of needs that are answered, and of claims that are decided.
fn said(data: &RunData) -> [usize; 3] {
    let compares = |text: &str| [" times", "cheaper", "cheapest", "slower"].iter().any(|word| text.contains(word));
    let sentences = answers(data).certain.into_iter().filter(|answer| compares(&answer.outcome.sentence)).count();
    let advice = Need::ALL.iter().flat_map(|need| advise(data, *need, Asked::default()));
    let taken = advice.filter(|one| one.decision.choice.is_some()).count();
    let claims = findings(data, []).into_iter().filter(|claim| claim.outcome.verdict != Truth::Open).count();
    [sentences, taken, claims]
}

/// Each sentence of every stored run names the conditions of its answer on which all of its rows agree, and launches are
/// never called cheap without the length of the kernels and what they do.
#[test]
fn every_sentence_of_a_stored_run_says_its_conditions() {
    let results: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results"].iter().collect();
    let stored = syncscope_core::stored_run::stored_runs(&results).unwrap();
    let mut said = 0;
    for directory in stored {
        let data = RunData::load(directory.path(), testing::catalogue()).unwrap();
        for (outcome, conditions) in sentences(&data) {
            let text = outcome.text().to_lowercase();
            let missing = conditions.iter().find(|words| !text.contains(&words.to_lowercase()));
            assert_eq!(missing, None, "{}: {}", data.name, outcome.sentence);
            said += conditions.len();
        }
        for text in answers(&data).certain.into_iter().map(|answer| answer.outcome.text()) {
            let is_launch = text.contains("programmatic") || text.contains("a graph (");
            assert!(
                !is_launch
                    || (text.contains("for kernels lasting ") || text.contains("f kernels last "))
                        && text.contains(" µs"),
                "{}: {text}",
                data.name
            );
            let is_lock = text.contains("cheapest") && text.contains("lock") && text.starts_with("At ");
            assert!(!is_lock || text.contains("under the lock") && text.contains("thread"), "{}: {text}", data.name);
        }
    }
    assert!(said > 50, "{said}");
}

/// The heading of an answer is a figure of its sentence, except that the heading for pairs of equal cost joins two.
#[test]
fn headlines_are_figures_of_their_sentences() {
    let results: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results"].iter().collect();
    let mut headed = 0;
    for directory in syncscope_core::stored_run::stored_runs(&results).unwrap() {
        let data = RunData::load(directory.path(), testing::catalogue()).unwrap();
        for answer in answers(&data).certain.into_iter().filter(|answer| !answer.outcome.headline.is_empty()) {
            let words = [("≥", "at least "), ("≤", "up to "), ("×", " times"), ("–", " to "), ("\u{a0}", " ")];
            let figure =
                words.into_iter().fold(answer.outcome.headline, |text, (sign, words)| text.replace(sign, words));
            let text = answer.outcome.sentence;
            assert!(text.contains(&figure) || text.starts_with("Placement does not matter"), "{figure}: {text}");
            headed += 1;
        }
    }
    assert!(headed > 50, "{headed}");
}

/// In every stored run and published table, no row is called resolved if its shown interval is wider than a resolved cost
/// may be, or narrower than the interval within the run.
#[test]
fn no_stored_row_is_resolved_whose_shown_interval_is_wide() {
    let results: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results"].iter().collect();
    let mut resolved = 0;
    for directory in syncscope_core::stored_run::stored_runs(&results).unwrap() {
        let data = RunData::load(directory.path(), testing::catalogue()).unwrap();
        for row in data.rows.iter().filter(|row| row.verdict == Verdict::Resolved) {
            let of = || format!("{}: {} {:?}", data.name, row.case, row.shown_interval());
            let width = row.shown_width().unwrap_or_else(|| panic!("no interval in {}", of()));
            assert!(width <= Settings::NOISY_ABOVE, "{}", of());
            let within = row.ns_within.unwrap();
            assert!(row.shown_interval().is_some_and(|shown| shown.low <= within.low && shown.high >= within.high));
            resolved += 1;
        }
    }
    assert!(resolved > 10_000, "{resolved}");
}

#[test]
fn questions_advice_and_claims_decide_nothing_where_all_intervals_overlap_and_much_where_none_do() {
    for name in ["h100", "epyc-zen4-2cpu-vm"] {
        let [sentences, taken, claims] = said(&within(name, 1.0001));
        assert!(sentences >= 3 && taken >= 3 && claims >= 3, "{name}: {sentences} {taken} {claims}");
        assert_eq!(said(&within(name, 1e6)), [0; 3], "{name}: nothing is known");
    }
}
