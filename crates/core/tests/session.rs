//! The course of a run, on fakes and with a clock that the tests turn.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

mod common;

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::rc::Rc;
use std::time::{Duration, Instant};

use syncscope_core::fake::{FakeLaboratory, Fault};
use syncscope_core::machine::{CpuMachine, Machine};
use syncscope_core::run::Status;
use syncscope_core::run::directory::{RunDirectory, RunDirectoryError};
use syncscope_core::run::provenance::{SessionRecord, StolenTime};
use syncscope_core::session::observer::{Observer, Work};
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Finished, Limits, Session, SessionError};
use syncscope_core::{Cancel, Case, Experiment, Laboratory, Listing, Preset, Refusal, Run};
use tempfile::TempDir;

const SEED: u64 = 7;

/// Blocks of the quick preset after which passes may end by time.
const MIN_BLOCKS: usize = 8;

/// A laboratory whose blocks take `block` on the clock of the test.
struct Timed {
    fake: FakeLaboratory,
    clock: Rc<Cell<Duration>>,
    block: Duration,
    /// How many times as long the first block of each case takes.
    first: u32,
    begun: HashSet<Case>,
    /// How often it prepared.
    decisions: u32,
}

impl Laboratory for Timed {
    fn listing(&self) -> Vec<Listing> {
        self.fake.listing()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        self.fake.plan(preset)
    }

    fn prepare(&mut self, _: &[Case], _: &mut dyn FnMut(usize, usize)) {
        self.decisions += 1;
    }

    fn keep_awake(&self) -> Option<String> {
        (self.decisions > 0).then(|| format!("decision {}", self.decisions))
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let times = if self.begun.insert(case.clone()) { self.first } else { 1 };
        self.clock.set(self.clock.get() + times * self.block);
        self.fake.experiment(case)
    }
}

/// Hears everything. After `cancel_after` blocks it raises `cancel`.
#[derive(Default)]
struct Recorder {
    cancel: Cancel,
    cancel_after: Option<usize>,
    work: Vec<Work>,
    measuring: Vec<Case>,
    measured_blocks: u64,
    warnings: Vec<String>,
}

impl Observer for Recorder {
    fn planned(&mut self, work: &[Work]) {
        self.work = work.to_vec();
    }

    fn measuring(&mut self, case: &Case) {
        self.measuring.push(case.clone());
        if self.cancel_after == Some(self.measuring.len()) {
            self.cancel.cancel();
        }
    }

    fn measured(&mut self, _laboratory: usize, blocks: u64, _spent: Duration) {
        self.measured_blocks += blocks;
    }

    fn warning(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }
}

impl Recorder {
    fn limits(&self) -> Limits {
        Limits { cancel: self.cancel.clone(), deadline: None }
    }

    /// How often each case was measured.
    fn blocks(&self) -> BTreeMap<Case, usize> {
        let mut blocks = BTreeMap::new();
        self.measuring.iter().for_each(|case| *blocks.entry(case.clone()).or_default() += 1);
        blocks
    }
}

fn run() -> Run {
    common::run(Preset::Quick, 12)
}

struct Fixture {
    folder: TempDir,
    laboratory: Timed,
    budget: Option<Duration>,
}

impl Fixture {
    /// A laboratory of fakes whose blocks take this long on the clock of the test.
    fn new(block: Duration) -> Self {
        let laboratory = Timed {
            fake: FakeLaboratory::default(),
            clock: Rc::default(),
            block,
            first: 1,
            begun: HashSet::new(),
            decisions: 0,
        };
        Self { folder: tempfile::tempdir().unwrap(), laboratory, budget: None }
    }

    /// A budget of so many blocks, of which the first one of each case takes `first` times as long.
    fn with_budget(blocks: u32, first: u32) -> Self {
        let block = Duration::from_millis(10);
        let mut fixture = Self::new(block);
        fixture.laboratory.first = first;
        Self { budget: Some(blocks * block), ..fixture }
    }

    fn all(&mut self) -> Vec<&mut dyn Laboratory> {
        vec![&mut self.laboratory]
    }

    fn plan(&mut self) -> Plan {
        Plan::new(&self.all(), Preset::Quick, SEED, |_| true)
    }

    fn directory(&self) -> RunDirectory {
        RunDirectory::open(&self.folder.path().join("run")).unwrap()
    }

    fn start(&mut self) -> Session {
        let directory = RunDirectory::create(&self.folder.path().join("run")).unwrap();
        Session::start(directory, run(), Preset::Quick, self.plan()).unwrap()
    }

    fn resume(&mut self) -> Result<Session, SessionError> {
        let (directory, plan) = (self.directory(), self.plan());
        let begun = directory.read_run().unwrap();
        Session::resume(directory, begun, &Machine::default(), Preset::Quick, plan, &self.all())
    }

    /// Measures until a limit is reached, and ends the run.
    fn measure(&mut self, session: Session, limits: &Limits, recorder: &mut Recorder) -> Finished {
        let (origin, clock) = (Instant::now(), self.laboratory.clock.clone());
        clock.set(Duration::ZERO);
        let mut session = session.with_clock(move || origin + clock.get());
        let limits = Limits { deadline: self.budget.map(|budget| origin + budget), ..limits.clone() };
        let measured = session.measure(&mut self.all(), &limits, recorder);
        session.finish(measured, &self.all()).unwrap()
    }
}

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
fn what_preparing_decided_is_recorded_for_each_process() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let in_file = |fixture: &Fixture| fixture.directory().read_run().unwrap().environment.keep_awake;
    assert_eq!(in_file(&fixture), None, "nothing is decided yet");
    let mut recorder = Recorder { cancel_after: Some(3), ..Recorder::default() };
    fixture.measure(session, &recorder.limits(), &mut recorder);
    assert_eq!(in_file(&fixture).as_deref(), Some("decision 1"));
    let session = fixture.resume().unwrap();
    fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!(in_file(&fixture).as_deref(), Some("decision 1; then decision 2"));
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
    let plan = Plan { parts: vec![[cases("cpu.atomic.add", 1..51), cases("cpu.barrier.std", 1..11)].concat()] };
    let directory = RunDirectory::create(&fixture.folder.path().join("run")).unwrap();
    let session = Session::start(directory, run(), Preset::Quick, plan).unwrap();
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

/// How many cases of a run with a budget have so many blocks in the end. All rows are provisional.
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
        assert_eq!(rows[&case].provisional, case.primitive != "cpu.fence.flush", "{case}");
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
    // The preset takes 40 seconds, and the first pass 11 of them.
    let (unlimited, divided) = (blocks(None), blocks(Some(Duration::from_secs(60))));
    assert!(divided.abs_diff(unlimited) * 20 < unlimited, "{divided} and {unlimited} blocks");
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
    while rows.len() < 12 {
        let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
        let now = finished.directory.read_rows().unwrap();
        let samples = finished.directory.read_samples().unwrap();
        for row in &now {
            let (pairs, excluded) = (row.pairs.unwrap_or(0), row.excluded.unwrap_or(0));
            let lines = samples.get(&row.case.id()).map_or(0, |samples| samples.len() as u64);
            assert_eq!(lines, pairs + excluded, "{}", row.case);
        }
        let now: BTreeMap<Case, u64> = now.into_iter().map(|row| (row.case, row.pairs.unwrap_or(0))).collect();
        assert!(rows.iter().all(|(case, pairs)| now[case] >= *pairs), "{rows:?} {now:?}");
        assert!(now.len() > rows.len(), "{now:?}");
        rows = now;
        resumed += 1;
        session = fixture.resume().unwrap();
    }
    assert!((2..=4).contains(&resumed), "{resumed}");
    fixture.budget = None;
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!(finished.status, Status::Done);
    assert!(finished.directory.read_rows().unwrap().iter().all(|row| !row.provisional));
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

#[test]
fn a_resumed_run_holds_what_an_uninterrupted_one_does() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    // In the ninth pass: the precise cases are finished, the others are not.
    let mut recorder = Recorder { cancel_after: Some(12 + 7 * 10 + 3), ..Recorder::default() };
    let limits = recorder.limits();
    let interrupted = fixture.measure(session, &limits, &mut recorder);
    assert_eq!(interrupted.status, Status::Interrupted);
    let before = interrupted.directory.read_rows().unwrap();
    let (provisional, finished): (Vec<_>, Vec<_>) = before.into_iter().partition(|row| row.provisional);
    assert!(!provisional.is_empty() && !finished.is_empty());

    let session = fixture.resume().unwrap();
    let mut recorder = Recorder::default();
    let resumed = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(resumed.status, Status::Done);
    let again: HashSet<Case> = recorder.measuring.into_iter().collect();
    assert_eq!(again, provisional.into_iter().map(|row| row.case).collect(), "what was finished is not measured again");
    let after = resumed.directory.read_rows().unwrap();
    assert!(finished.iter().all(|row| after.contains(row)), "finished rows stay as they are");
    let planned: HashSet<Case> = fixture.plan().cases().cloned().collect();
    assert_eq!(after.iter().map(|row| row.case.clone()).collect::<HashSet<_>>(), planned);
    assert_eq!(after.len(), planned.len());
    assert!(after.iter().all(|row| !row.provisional));
}

#[test]
fn a_lost_laboratory_leaves_its_cases_for_a_resumed_run() {
    let mut fixture = Fixture::new(Duration::ZERO);
    fixture.laboratory.fake.fault = Fault::LosesLaboratory;
    let session = fixture.start();
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(finished.status, Status::Interrupted);
    assert_eq!(recorder.warnings, ["the fake broke its laboratory"]);
    let rows = finished.directory.read_rows().unwrap();
    assert!(rows.len() < 12 && rows.iter().all(|row| row.case.primitive != "cpu.lock.std_mutex"));

    fixture.laboratory.fake.fault = Fault::None;
    let session = fixture.resume().unwrap();
    let resumed = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!((resumed.status, resumed.directory.read_rows().unwrap().len()), (Status::Done, 12));
}

#[test]
fn a_run_is_not_resumed_on_another_machine() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let mut recorder = Recorder { cancel_after: Some(3), ..Recorder::default() };
    let limits = recorder.limits();
    fixture.measure(session, &limits, &mut recorder);
    let (directory, plan) = (fixture.directory(), fixture.plan());
    let begun = directory.read_run().unwrap();
    let here =
        Machine { cpu: CpuMachine { model: "another".to_owned(), ..CpuMachine::default() }, ..Machine::default() };
    let rows = directory.read_rows().unwrap();
    let refused = Session::resume(directory.clone(), begun, &here, Preset::Quick, plan, &fixture.all());
    assert!(matches!(refused.err().unwrap(), SessionError::AnotherMachine { .. }));
    assert_eq!(directory.read_rows().unwrap(), rows, "nothing was touched");
}

#[test]
fn a_run_that_is_being_measured_is_not_resumed() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let begun = fs::read(fixture.directory().run_json()).unwrap();
    let refused = fixture.resume().err().unwrap();
    assert!(refused.to_string().contains("in use by another syncscope"), "{refused}");
    assert_eq!(fs::read(fixture.directory().run_json()).unwrap(), begun, "nothing was touched");
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!((finished.status, finished.directory.read_rows().unwrap().len()), (Status::Done, 12));
}

#[test]
fn each_process_that_measured_leaves_its_record() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let mut session = fixture.start();
    let stolen = |share| Some(StolenTime { share, ..StolenTime::default() });
    session.add_record(SessionRecord { load_start: Some(0.5), stolen: stolen(0.005), ..SessionRecord::default() });
    session.finish(Ok(Status::Interrupted), &fixture.all()).unwrap();
    assert!(fixture.directory().read_run().unwrap().warnings.is_empty());
    let mut session = fixture.resume().unwrap();
    session.add_record(SessionRecord { load_start: Some(0.7), stolen: stolen(0.03), ..SessionRecord::default() });
    session.finish(Ok(Status::Done), &fixture.all()).unwrap();
    let run = fixture.directory().read_run().unwrap();
    assert_eq!(run.sessions.iter().map(|session| session.load_start).collect::<Vec<_>>(), [Some(0.5), Some(0.7)]);
    assert!(matches!(&run.warnings[..], [warning] if warning.contains("3.0 %")), "{:?}", run.warnings);
}

#[test]
fn a_failure_while_measuring_is_recorded_and_returned() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let full = RunDirectoryError::NoRun(fixture.folder.path().to_owned());
    let failed = session.finish(Err(full.into()), &fixture.all());
    assert!(matches!(failed, Err(SessionError::Directory(RunDirectoryError::NoRun(_)))));
    let run = fixture.directory().read_run().unwrap();
    assert_eq!(run.status, Status::Interrupted);
    assert!(run.ended.is_some());
}
