//! In which order cases get their blocks, and how many.

use std::collections::HashSet;
use std::time::Duration;

use syncscope_core::fake::FakeLaboratory;
use syncscope_core::run::Status;
use syncscope_core::run::provenance::SessionRecord;
use syncscope_core::session::Limits;
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Apart, Share};
use syncscope_core::{
    Cancel, Case, Detail, Experiment, Facts, Laboratory, Listing, Preset, Primitive, Refusal, Role, RunEffect, Verdict,
};

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
    assert_eq!(
        (recorder.measured_blocks, recorder.measured_fewest),
        (recorder.work[0].blocks, recorder.work[0].fewest)
    );
}

#[test]
fn the_same_seed_gives_the_same_plan_and_another_seed_another_order() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let plan = |fixture: &mut Fixture, seed| crate::common::plan(&fixture.all(), Preset::Quick, seed);
    let (one, again, other) = (plan(&mut fixture, 1), plan(&mut fixture, 1), plan(&mut fixture, 2));
    assert_eq!(one.parts, again.parts);
    assert_ne!(one.parts, other.parts);
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
    // A pass takes longer than the 30 seconds that all passes together may take.
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(finished.status, Status::Done);
    for (case, blocks) in recorder.blocks() {
        let is_refused = case.primitive == "cpu.fence.flush";
        assert_eq!(blocks, if is_refused { 1 } else { MIN_BLOCKS }, "{case}");
    }
    assert!(finished.directory.read_rows().unwrap().iter().all(|row| !row.provisional));
}

/// Contexts of a device differ where runs are assumed to: the fewest blocks of such cases are taken even after the time is
/// over.
#[test]
fn cases_of_a_device_whose_runs_differ_get_more_blocks_than_the_others() {
    let primitive = |id, effect| Primitive {
        id,
        summary: "summary",
        operation: "operation",
        source: "source",
        facts: Facts { run_effect: effect, ..Facts::of(Role::Launch) },
    };
    let varies = primitive("gpu.launch.stream", |_| RunEffect::of_both(0.05));
    let agrees = primitive("gpu.launch.graph", |_| RunEffect::of_both(0.01));
    let mut fixture = Fixture::new(Duration::from_secs(10));
    let parts = vec![vec![Case::new(varies.id), Case::new(agrees.id)]];
    let session =
        fixture.start_with(Plan { parts, catalogue: [varies, agrees].into_iter().collect(), ..Plan::default() });
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(recorder.blocks().into_values().collect::<Vec<_>>(), [3, 12]);
    assert!(finished.directory.read_rows().unwrap().iter().all(|row| !row.provisional));
}

#[test]
fn no_case_is_called_precise_before_its_blocks_span_half_of_the_time() {
    let mut fixture = Fixture::new(Duration::from_millis(4));
    let cases = |id: &str, threads: std::ops::Range<u32>| -> Vec<Case> {
        threads.map(|threads| Case { threads: Some(threads), ..Case::new(id) }).collect()
    };
    let parts = vec![[cases("cpu.atomic.add", 1..51), cases("cpu.barrier.std", 1..11)].concat()];
    let plan = Plan { parts, ..Plan::default() };
    let session = fixture.start_with(plan);
    let mut recorder = Recorder::default();
    fixture.measure(session, &Limits::default(), &mut recorder);
    for (case, blocks) in recorder.blocks() {
        // A pass takes 240 ms, and half of the 30 seconds are 62 of them. After that the precise cases make room.
        match case.primitive.as_str() {
            "cpu.atomic.add" => assert!((59..69).contains(&blocks), "{case}: {blocks}"),
            _ => assert!(blocks > 340, "{case}: {blocks}"),
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
    // Eight blocks of 250 ms are more than four times the 400 ms of a case, and all passes fit into 30 seconds.
    let mut recorder = Recorder::default();
    fixture.measure(session, &Limits::default(), &mut recorder);
    for (case, blocks) in recorder.blocks().into_iter().filter(|(case, _)| case.primitive == "cpu.barrier.std") {
        assert_eq!(blocks, MIN_BLOCKS, "{case}");
    }
}

/// A laboratory whose fresh processes are further laboratories; after `most` of them, no more can be started.
struct WithProcesses {
    fake: FakeLaboratory,
    asked: usize,
    most: usize,
    /// Raised while the first fresh process measures.
    cancel: Option<Cancel>,
}

impl Laboratory for WithProcesses {
    fn listing(&self) -> Vec<Listing> {
        self.fake.listing()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        self.fake.plan(preset)
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        self.fake.experiment(case)
    }

    fn can_measure_apart(&self) -> bool {
        true
    }

    fn measure_apart(
        &mut self,
        share: &Share,
        goes_on: &mut dyn FnMut(&Case) -> bool,
    ) -> Option<Result<Vec<Apart>, String>> {
        self.asked += 1;
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
            assert!(!goes_on(&Case::new("cpu.barrier.std")));
            return Some(Err("it was ended".to_owned()));
        }
        assert!(goes_on(&Case::new("cpu.barrier.std")));
        let found = share.measure(&mut FakeLaboratory::default(), &mut ());
        Some(if self.asked > self.most { Err("no more processes".to_owned()) } else { Ok(found) })
    }
}

#[test]
fn fresh_processes_make_most_passes_and_two_that_fail_leave_the_rest_to_this_one_and_the_run_incomplete() {
    for (most, asked, status) in [(9, 6, Status::Done), (2, 4, Status::Interrupted)] {
        let mut fixture = Fixture::new(Duration::ZERO);
        let mut laboratory = WithProcesses { fake: FakeLaboratory::default(), asked: 0, most, cancel: None };
        let mut session = fixture.start();
        let mut recorder = Recorder::default();
        let measured = session.measure(&mut [&mut laboratory], &Limits::default(), &mut recorder);
        session.add_record(SessionRecord::default());
        let finished = session.finish(measured, &[&mut laboratory]).unwrap();
        assert_eq!((finished.status, laboratory.asked), (status, asked));
        let is_short = most < 6;
        assert_eq!((recorder.warnings.len(), recorder.measuring_apart), (2 * usize::from(is_short), asked));
        let run = finished.directory.read_run().unwrap();
        assert_eq!(run.all_warnings().any(|text| text.ends_with("provisional: no more processes")), is_short);
        let rows = finished.directory.read_rows().unwrap();
        let of_cpus = rows.iter().filter(|row| row.has_figure());
        assert!(of_cpus.clone().count() > 0 && of_cpus.clone().all(|row| row.provisional == is_short), "{rows:?}");
        let resolved = rows.iter().filter(|row| row.verdict == Verdict::Resolved).count();
        assert_eq!(resolved == 0, is_short, "the interval of one process is that of no run");
        let processes = run.sessions[0].processes.clone();
        assert_eq!(processes.len(), most.min(6));
        let follow = processes.iter().zip(&processes[1..]).all(|(one, next)| one[1] + 1 == next[0]);
        assert!(processes[0][0] == 2 && follow, "the first pass is that of this process: {processes:?}");
        assert_eq!(
            (recorder.measured_blocks, recorder.measured_fewest),
            (recorder.work[0].blocks, recorder.work[0].fewest)
        );
        for (case, pairs) in finished.directory.read_samples().unwrap() {
            assert!((0..).zip(&pairs).all(|(number, pair)| pair.pair == number), "{case}");
            let blocks: HashSet<u32> = pairs.iter().map(|pair| pair.block).collect();
            assert_eq!(blocks.len(), 400, "{case}: {processes:?}");
        }
    }
}

#[test]
fn an_interrupted_run_waits_for_no_fresh_process() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let cancel = Cancel::new();
    let mut laboratory =
        WithProcesses { fake: FakeLaboratory::default(), asked: 0, most: 9, cancel: Some(cancel.clone()) };
    let (mut session, mut recorder) = (fixture.start(), Recorder::default());
    let limits = Limits { cancel, ..Limits::default() };
    let measured = session.measure(&mut [&mut laboratory], &limits, &mut recorder);
    session.add_record(SessionRecord::default());
    let finished = session.finish(measured, &[&mut laboratory]).unwrap();
    assert_eq!((finished.status, laboratory.asked), (Status::Interrupted, 1));
    assert!(recorder.warnings.is_empty(), "{:?}", recorder.warnings);
}

/// Cases that own code is compared with are measured as it is: from one process both have intervals for another run.
#[test]
fn what_is_measured_beside_own_code_differs_between_groups_of_blocks() {
    let is_grouped = |ids: &[&str]| -> bool {
        let mut fixture = Fixture::new(Duration::from_millis(4));
        let parts = vec![ids.iter().map(|id| Case::new(id)).collect()];
        let session = fixture.start_with(Plan { parts, ..Plan::default() });
        let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
        let details = finished.directory.read_details().unwrap();
        let of_case = &details[&Case::new("cpu.atomic.add").id()];
        of_case.iter().any(|detail| detail.name == Detail::PROCESS_NS)
    };
    assert!(is_grouped(&["cpu.own.mine", "cpu.atomic.add"]) && !is_grouped(&["cpu.atomic.add"]));
}
