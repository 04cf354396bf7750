//! The cost ladder.

use syncscope_core::{Case, Detail, Group};
use syncscope_report::RunData;

use super::{DESKTOP, case, exact, grid, noisy, row, run, text};
use crate::chromium::{number, open_and, plain};

#[test]
fn the_ladder_names_the_best_and_marks_rough_figures() {
    let barrier = |name: &str| case(&format!("cpu.barrier.{name}"), 2);
    let rows = vec![
        noisy(row(barrier("std"), 30_000.0, 37_600.0, 45_000.0)),
        noisy(row(barrier("dissemination"), 40.0, 48.0, 56.0)),
        // Too wide for a figure.
        noisy(row(case("cpu.atomic.add", 1), 5_000.0, 16_800.0, 28_000.0)),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
    ];
    let Some(dom) = text(&[run(rows)]) else { return };
    assert!(dom.contains(">Barrier, best: dissemination<"), "the cheapest is named");
    assert!(dom.contains(">~48 ns ±17 %<"), "a rough figure has its mark and its interval");
    assert!(!dom.contains(">37.6 µs") && !dom.contains(">16.8 µs"), "an expensive row, or a wide one, as a figure");
    assert!(dom.contains(">no figure<"), "a wide interval on the ladder");
    assert!(dom.contains("hollow: rough (~) or a range, or no figure<"), "the ladder has hollow marks of both kinds");
    assert!(dom.contains("<dt><b>~</b></dt><dd>a rough figure: "), "the sign is explained");
}

/// A label with five locks was once cut after the fourth.
#[test]
fn many_that_may_be_the_cheapest_are_counted_and_named_when_pointed_at() {
    let locks = |names: &[&str]| {
        let lock = |name: &&str| row(case(&format!("cpu.lock.{name}"), 8), 90.0, 100.0, 110.0);
        let others = [exact(case("cpu.atomic.add", 1), 2.0), exact(case("cpu.fence.seq_cst", 1), 6.0)];
        run(names.iter().map(lock).chain(others).collect())
    };
    let titles = "root.dataset.titles = [...page.querySelectorAll('.ladder .label')].map((one) => one.firstChild.textContent + '|' + one.querySelector('title').textContent).join(';');";
    let lock_title = |names: &[&str]| {
        let (counts, _) = open_and(&[locks(names)], DESKTOP, titles)?;
        Some(counts["titles"].split(';').find(|one| one.starts_with("Lock, contended")).unwrap_or_default().to_owned())
    };
    let Some(five) = lock_title(&["parking_lot_mutex", "std_mutex", "pthread_mutex", "pthread_spin", "ttas"]) else {
        return;
    };
    let (label, all) = five.split_once('|').unwrap();
    assert_eq!(label, "Lock, contended, best: one of 5");
    assert!(all.ends_with(" or ttas") && all.contains("pthread_spin"), "{all}");
    let three = lock_title(&["std_mutex", "pthread_spin", "ttas"]).unwrap();
    assert!(three.starts_with("Lock, contended, best: std_mutex, pthread_spin or ttas|"), "{three}");
}

#[test]
fn a_barrier_and_a_launch_stand_with_their_grids() {
    let kernel = |way: &str, blocks| {
        let group = Some(Group::of_word("5 us"));
        exact(Case { group, ..grid(&format!("gpu.launch.{way}"), blocks, 32) }, 515.0)
    };
    let rows = vec![exact(grid("gpu.grid.counter", 132, 32), 719.0), kernel("graph", 1), kernel("stream", 132)];
    let Some(dom) = text(&[run(rows)]) else { return };
    for label in
        ["Grid barrier, best, 132×32: counter", "Kernel boundary, graph, 1×32", "Kernel boundary, stream, 132×32"]
    {
        assert!(dom.contains(&format!(">{label}<")), "no {label}");
    }
}

#[test]
fn a_wake_up_is_the_median_of_hand_offs_that_slept() {
    let rows = vec![
        noisy(row(case("cpu.handoff.park", 2), 125.0, 133.0, 142.0)),
        exact(case("cpu.atomic.add", 1), 2.0),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
    ];
    let mut data = run(rows);
    data.details.insert(data.rows[0].case.id(), vec![Detail::of_case("p50_ns", 4540.0)]);
    let Some(dom) = text(&[data]) else { return };
    assert!(dom.contains(">Wake a sleeping thread: park<") && dom.contains(">4.54 µs<"));
}

#[test]
fn the_numbers_of_the_ladder_stand_in_the_columns_of_their_runs() {
    let first = run(vec![
        exact(case("cpu.atomic.add", 1), 2.0),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
        exact(case("cpu.lock.ticket", 1), 8.0),
    ]);
    let second = RunData { name: "second".into(), rows: first.rows[1..].to_vec(), ..first.clone() };
    let ladder = "root.dataset.numbers = [...page.querySelectorAll('.ladder .value')].map((one) => one.textContent + '@' + one.getAttribute('x')).join('|');";
    let Some((counts, _)) = open_and(&[first.clone(), second.clone()], DESKTOP, ladder) else { return };
    let numbers: Vec<(String, String)> = counts["numbers"]
        .split('|')
        .map(|one| one.split_once('@').unwrap())
        .map(|(text, at)| (plain(text), at.to_owned()))
        .collect();
    assert_eq!(numbers[0].0, "2.00 ns");
    assert_eq!(numbers[1].0, "–", "a run without the row");
    assert_eq!((&numbers[0].1, &numbers[1].1), (&numbers[3].1, &numbers[4].1), "one column for each run");
    // Thirteen runs leave no room for numbers, but have an axis.
    let many: Vec<RunData> = (0..13).map(|at| RunData { name: format!("run {at}"), ..first.clone() }).collect();
    let ticks = "root.dataset.ticks = page.querySelectorAll('.ladder .axes text').length;";
    let Some((counts, _)) = open_and(&many, DESKTOP, &[ladder, ticks].concat()) else { return };
    assert_eq!(counts["numbers"], "");
    assert!(number(&counts, "ticks") >= 4, "{counts:?}");
}
