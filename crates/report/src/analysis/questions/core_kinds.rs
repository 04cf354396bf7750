//! Performance and efficiency cores: what an operation costs on each kind, and between threads on both.

use super::families::{Contrast, by_group, line_of, name, take_instead, take_longer};
use super::prelude::*;

pub(super) const SENTENCES: Sentences = &[one_thread, two_threads, between];

/// The groups of cases on cores of one kind and of both.
const KINDS: [&str; 3] = ["performance_cores", "efficiency_cores", "mixed_cores"];

/// Each operation of so many threads on cores of the two kinds.
fn kinds(data: &RunData, threads: u32) -> Vec<Contrast<'_>> {
    let is_asked = |index: &usize| data.case(*index).threads == Some(threads);
    let both = |[fast, slow, _]: [Option<usize>; 3]| Some(Contrast::of(data, fast.filter(is_asked)?, slow?));
    by_group(data, KINDS).into_iter().filter_map(both).collect()
}

fn one_thread(data: &RunData) -> Option<Said> {
    let all = kinds(data, 1);
    let words = "On an efficiency core instead of a performance core, operations of one thread";
    let open = "what efficiency cores cost beside performance cores (intervals overlap)";
    take_longer(words, &all, |_| None).or_else(|| Said::open_of(&all, open))
}

/// That both threads of a pair are on slower cores.
fn two_threads(data: &RunData) -> Option<Said> {
    let text = |words| format!("Two threads on efficiency cores instead of performance cores: {words}.");
    take_instead(&kinds(data, 2), text)
}

/// Two threads of which one is on a slower core.
fn between(data: &RunData) -> Option<Said> {
    let mixed = |[fast, _, mixed]: [Option<usize>; 3]| Some(Contrast::of(data, fast?, mixed?));
    let all: Vec<Contrast<'_>> = by_group(data, KINDS).into_iter().filter_map(mixed).collect();
    let text = |words| format!("With one thread on a core of each kind instead of both on performance cores, {words}.");
    take_instead(&all, text)
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let label = |case: &Case| format!("{}{}", name(case), if case.threads == Some(1) { ", one thread" } else { "" });
    let lines = by_group(data, KINDS).iter().filter_map(|rows| line_of(data, rows, label)).collect();
    let title = "One thread on a core of each kind, and two on two cores";
    let table = Spec::table(title, &["performance", "efficiency", "one of each"], lines)?;
    let note = "The pairs of cores share the same cache where the machine has such pairs.".to_owned();
    Picture::of([Some(table)], "What the kinds of cores cost is undecided in this run.", [Some(note)])
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Group, Placement, Row};

    use super::super::testing::{case, data, decision, row, said, within};
    use super::*;

    fn on(id: &str, kind: usize, cpus: &[u32], ns: f64) -> Row {
        let placement = Some(Placement::List(cpus.to_vec()));
        row(Case { group: Some(Group::named(KINDS[kind])), placement, ..case(id, cpus.len() as u32) }, ns, 0.2)
    }

    #[test]
    fn each_kind_and_both() {
        let (fence, handoff) = ("cpu.fence.seq_cst", "cpu.handoff.cas_pingpong");
        let rows = vec![
            on(fence, 0, &[0], 5.0),
            on(fence, 1, &[16], 8.0),
            on(handoff, 0, &[0, 2], 40.0),
            on(handoff, 1, &[16, 20], 60.0),
            on(handoff, 2, &[0, 16], 70.0),
        ];
        let sentence = "On an efficiency core instead of a performance core, operations of one thread take longer: a fence 1.6 times \
                        (8.00 ns instead of 5.00 ns).";
        assert_eq!(said(one_thread, rows.clone()), Some(Ok(sentence.into())));
        let sentence = "Two threads on efficiency cores instead of performance cores: a hand-off takes 60.0 ns instead of 40.0 ns.";
        assert_eq!(said(two_threads, rows.clone()), Some(Ok(sentence.into())));
        let sentence = "With one thread on a core of each kind instead of both on performance cores, a hand-off takes 70.0 ns \
                        instead of 40.0 ns.";
        assert_eq!(said(between, rows.clone()), Some(Ok(sentence.into())));
        let Spec::Table { lines, .. } = &decision("decide-kinds", &data(rows.clone())).unwrap().charts[0] else {
            panic!("a table")
        };
        assert_eq!(lines.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(), ["fence, one thread", "hand-off"]);
        let blurred = vec![rows[0].clone(), within(rows[1].clone(), 4.0, 9.0)];
        assert!(said(one_thread, blurred).unwrap().is_err());
        assert_eq!(said(one_thread, rows[4..].to_vec()), None);
    }
}
