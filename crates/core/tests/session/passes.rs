//! In which order cases get their blocks, and how many.

use std::collections::HashSet;
use std::time::Duration;

use syncscope_core::run::Status;
use syncscope_core::session::Limits;
use syncscope_core::session::plan::Plan;
use syncscope_core::{Case, Catalogue, Preset};

use crate::{Fixture, MIN_BLOCKS, Recorder};

#[test]
fn every_case_gets_its_first_block_before_any_gets_its_second() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let (session, plan) = (fixture.start(), fixture.plan());
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(finished.status, Status::Done);
    let planned: Vec<&Case> = plan.cases().collect();
    assert_eq!(recorder.measuring.iter().take(planned.len()).collect::<Vec<_>>(), planned);
    // Later passes take another order, of the cases that are left.
    let second: Vec<&Case> = recorder.measuring[planned.len()..][..planned.len() - 2].iter().collect();
    assert_eq!(second.iter().collect::<HashSet<_>>().len(), second.len(), "no case twice in a pass");
    let same_order: Vec<&Case> = planned.iter().copied().filter(|case| second.contains(case)).collect();
    assert_ne!(second, same_order);
    // A refused case takes no block, and what is finished early counts as done.
    assert_eq!(recorder.measured_blocks, recorder.work[0].blocks);
}

#[test]
fn the_same_seed_gives_the_same_plan_and_another_seed_another_order() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let plan = |fixture: &mut Fixture, seed| Plan::new(&fixture.all(), Preset::Quick, seed, |_| true);
    let (one, again, other) = (plan(&mut fixture, 1), plan(&mut fixture, 1), plan(&mut fixture, 2));
    assert_eq!(one, again);
    assert_ne!(one, other);
    let sorted = |plan: &Plan| {
        let mut cases: Vec<Case> = plan.cases().cloned().collect();
        cases.sort();
        cases
    };
    assert_eq!(sorted(&one), sorted(&other));
}

#[test]
fn passes_end_in_time_after_the_fewest_blocks() {
    let mut fixture = Fixture::new(Duration::from_secs(10));
    let session = fixture.start();
    // A pass takes longer than the 40 seconds that all passes together may take.
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(finished.status, Status::Done);
    for (case, blocks) in recorder.blocks() {
        let is_refused = case.primitive == "cpu.fence.flush";
        assert_eq!(blocks, if is_refused { 1 } else { MIN_BLOCKS }, "{case}");
    }
    assert!(finished.directory.read_rows().unwrap().iter().all(|row| !row.provisional));
}

#[test]
fn no_case_is_called_precise_before_its_blocks_span_half_of_the_time() {
    let mut fixture = Fixture::new(Duration::from_millis(4));
    let cases = |id: &str, threads: std::ops::Range<u32>| -> Vec<Case> {
        threads.map(|threads| Case { threads: Some(threads), ..Case::new(id) }).collect()
    };
    let parts = vec![[cases("cpu.atomic.add", 1..51), cases("cpu.barrier.std", 1..11)].concat()];
    let plan = Plan { parts, catalogue: Catalogue::default() };
    let session = fixture.start_with(plan);
    let mut recorder = Recorder::default();
    fixture.measure(session, &Limits::default(), &mut recorder);
    for (case, blocks) in recorder.blocks() {
        // A pass takes 240 ms, and half of the 40 seconds are 84 of them. After that the precise cases make room.
        match case.primitive.as_str() {
            "cpu.atomic.add" => assert!((80..90).contains(&blocks), "{case}: {blocks}"),
            _ => assert!(blocks > 380, "{case}: {blocks}"),
        }
    }
}

#[test]
fn the_cases_of_a_short_plan_get_all_their_blocks() {
    let mut fixture = Fixture::new(Duration::from_millis(1));
    let session = fixture.start();
    let mut recorder = Recorder::default();
    fixture.measure(session, &Limits::default(), &mut recorder);
    for (case, blocks) in recorder.blocks() {
        let is_measured =
            ["cpu.atomic.add", "cpu.lock.std_mutex", "cpu.barrier.std"].contains(&case.primitive.as_str());
        assert!(!is_measured || blocks == 400, "{case}: {blocks}");
    }
}

#[test]
fn a_case_that_takes_the_time_of_several_ends_early() {
    let mut fixture = Fixture::new(Duration::from_millis(250));
    let session = fixture.start();
    // Eight blocks of 250 ms are more than four times the 400 ms of a case, and all passes fit into 40 seconds.
    let mut recorder = Recorder::default();
    fixture.measure(session, &Limits::default(), &mut recorder);
    for (case, blocks) in recorder.blocks().into_iter().filter(|(case, _)| case.primitive == "cpu.barrier.std") {
        assert_eq!(blocks, MIN_BLOCKS, "{case}");
    }
}
