//! Budgets that are too short for the whole plan.

use std::collections::BTreeMap;
use std::time::Duration;

use syncscope_core::Case;
use syncscope_core::run::Status;
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Limits, SessionError};

use crate::{Fixture, MIN_BLOCKS, Recorder, Timed};

/// For each number of blocks, how many cases of a run with a budget end with it. Rows with fewer than the fewest are
/// provisional.
fn cases_by_blocks(fixture: &mut Fixture) -> BTreeMap<usize, usize> {
    let session = fixture.start();
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(finished.status, Status::BudgetSpent);
    assert_eq!(finished.directory.read_run().unwrap().status, Status::BudgetSpent);
    let rows = finished.directory.read_rows().unwrap();
    let rows: BTreeMap<Case, _> = rows.into_iter().map(|row| (row.case.clone(), row)).collect();
    let mut cases = BTreeMap::new();
    for (case, blocks) in recorder.blocks() {
        assert_eq!(rows[&case].provisional, blocks < MIN_BLOCKS && case.primitive != "cpu.fence.flush", "{case}");
        *cases.entry(blocks).or_default() += 1;
    }
    assert_eq!(rows.len(), recorder.blocks().len());
    cases
}

#[test]
fn a_budget_for_the_fewest_blocks_of_some_cases_gives_them_these() {
    // Two of the 12 cases need one block, the others 80. The first pass reaches five cases. For new ones there is not enough
    // time left, so the three that need more blocks get them.
    let cases = cases_by_blocks(&mut Fixture::with_budget(38, 1));
    assert_eq!(cases, BTreeMap::from([(1, 2), (12, 3)]));
}

/// First blocks take as long as fifty others, so that the first pass says that there is no time for all cases.
#[test]
fn new_cases_follow_where_there_is_time() {
    let cases = cases_by_blocks(&mut Fixture::with_budget(800, 50));
    assert_eq!(cases.values().sum::<usize>(), 11, "the last one would have two seconds: {cases:?}");
    assert!(cases.keys().all(|blocks| *blocks == 1 || *blocks >= MIN_BLOCKS), "{cases:?}");
}

#[test]
fn after_a_slow_first_pass_all_cases_get_what_the_preset_gives_them() {
    let blocks = |budget: Option<Duration>| {
        let mut fixture = Fixture { budget, ..Fixture::with_budget(0, 100) };
        let session = fixture.start();
        let mut recorder = Recorder::default();
        let finished = fixture.measure(session, &Limits::default(), &mut recorder);
        assert_eq!(finished.status, Status::Done, "{budget:?}");
        assert!(finished.directory.read_rows().unwrap().iter().all(|row| !row.provisional), "{budget:?}");
        recorder.blocks().values().sum::<usize>()
    };
    // The preset takes 30 seconds, and the first pass more than a third of them.
    let (unlimited, divided) = (blocks(None), blocks(Some(Duration::from_secs(60))));
    assert!(divided.abs_diff(unlimited) * 20 < unlimited, "{divided} and {unlimited} blocks");
}

/// Of the preset's 9 seconds, two are enough for the fewest blocks of all cases.
#[test]
fn a_budget_that_ends_in_the_middle_of_the_plan_gives_complete_rows_of_what_has_its_fewest_blocks() {
    let mut fixture = Fixture { budget: Some(Duration::from_secs(2)), ..Fixture::new(Duration::from_millis(2)) };
    let session = fixture.start();
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    let rows = finished.directory.read_rows().unwrap();
    assert!(recorder.blocks().values().all(|blocks| *blocks >= MIN_BLOCKS || *blocks == 1));
    assert_eq!((finished.status, rows.iter().filter(|row| row.provisional).count()), (Status::Done, 0));
}

#[test]
fn a_budget_for_no_case_gives_what_it_can() {
    assert_eq!(cases_by_blocks(&mut Fixture::with_budget(5, 1)).values().sum::<usize>(), 2);
}

#[test]
fn runs_that_are_resumed_with_short_budgets_get_further_and_lose_nothing() {
    let mut fixture = Fixture::with_budget(38, 1);
    let mut session = fixture.start();
    let (mut rows, mut resumed) = (BTreeMap::<Case, u64>::new(), 0);
    let mut complete = 0;
    loop {
        let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
        let now = finished.directory.read_rows().unwrap();
        let samples = finished.directory.read_samples().unwrap();
        for row in &now {
            let (pairs, excluded) = (row.pairs.unwrap_or(0), row.excluded.unwrap_or(0));
            let lines = samples.get(&row.case.id()).map_or(0, |samples| samples.len() as u64);
            assert_eq!(lines, pairs + excluded, "{}", row.case);
        }
        let complete_now = now.iter().filter(|row| !row.provisional).count();
        let now: BTreeMap<Case, u64> = now.into_iter().map(|row| (row.case, row.pairs.unwrap_or(0))).collect();
        assert!(rows.iter().all(|(case, pairs)| now[case] >= *pairs), "{rows:?} {now:?}");
        assert!(complete_now > complete, "{now:?}");
        (rows, complete) = (now, complete_now);
        if finished.status == Status::Done {
            break;
        }
        assert_eq!(finished.status, Status::BudgetSpent);
        resumed += 1;
        session = fixture.resume().unwrap();
    }
    assert_eq!((rows.len(), complete), (12, 12));
    assert!((1..=4).contains(&resumed), "{resumed}");
    assert!(matches!(fixture.resume(), Err(SessionError::Complete(_))));
}

#[test]
fn a_run_that_is_resumed_with_short_budgets_ends() {
    // The preset gives the 11 cases 8.8 seconds.
    let mut fixture = Fixture::new(Duration::from_millis(2));
    fixture.budget = Some(Duration::from_secs(2));
    let mut session = fixture.start();
    let mut finished = Vec::new();
    while finished.last() != Some(&12) {
        let ended = fixture.measure(session, &Limits::default(), &mut Recorder::default());
        let rows = ended.directory.read_rows().unwrap();
        finished.push(rows.iter().filter(|row| !row.provisional).count());
        assert!(rows.len() == 12 && finished.len() < 12, "{finished:?}");
        assert_eq!(ended.status == Status::Done, finished.last() == Some(&12), "{finished:?}");
        if ended.status == Status::Done {
            break;
        }
        session = fixture.resume().unwrap();
    }
    assert!(finished.is_sorted(), "{finished:?}");
}

/// The fewest blocks of a case take 80 ms on one laboratory, and 800 ms on the other, whose blocks take ten times as long.
#[test]
fn a_short_budget_is_shared_among_laboratories() {
    let (block, slow_block) = (Duration::from_millis(10), Duration::from_millis(100));
    let mut fixture = Fixture::new(block);
    fixture.budget = Some(Duration::from_secs(16));
    let mut slow = Timed::new(fixture.laboratory.clock.clone(), slow_block);
    let ids = ["cpu.atomic.add", "cpu.barrier.std"];
    let cases = |id: &str| (1..101).map(|threads| Case { threads: Some(threads), ..Case::new(id) }).collect::<Vec<_>>();
    let session = fixture.start_with(Plan { parts: ids.map(cases).into(), ..Plan::default() });
    let mut recorder = Recorder::default();
    let finished = fixture.measure_with(session, &Limits::default(), &mut recorder, Some(&mut slow));
    assert_eq!(finished.status, Status::BudgetSpent);
    let known_well = |id: &str| {
        let blocks = recorder.blocks().into_iter().filter(|(case, _)| case.primitive == id);
        blocks.filter(|(_, blocks)| *blocks >= MIN_BLOCKS).count()
    };
    let [fast, slow] = ids.map(known_well);
    assert!((80..=100).contains(&fast) && (8..=10).contains(&slow), "{fast} and {slow} cases in 8 s each");
}
