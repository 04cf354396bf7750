//! The course of a run, on fakes and with a clock that the tests turn. One file for each subject; what several need is here.
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

#[path = "../common/mod.rs"]
mod common;

#[path = "../altered/mod.rs"]
mod altered;

mod budgets;
mod passes;
mod records;
mod resuming;
mod states;

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use syncscope_core::fake::FakeLaboratory;
use syncscope_core::machine::AwakeDecision;
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::session::observer::{Done, Observer, Work};
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Finished, Here, Limits, Session, SessionError};
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

impl Timed {
    fn new(clock: Rc<Cell<Duration>>, block: Duration) -> Self {
        Self { fake: FakeLaboratory::default(), clock, block, first: 1, begun: HashSet::new(), decisions: 0 }
    }
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

    fn keep_awake(&self) -> Option<AwakeDecision> {
        (self.decisions > 0).then(|| AwakeDecision::Off(format!("decision {}", self.decisions)))
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let times = if self.begun.insert(case.clone()) { self.first } else { 1 };
        self.clock.set(self.clock.get() + times * self.block);
        // All fakes are CPU primitives.
        let is_on_cpus = case.primitive.starts_with("cpu.");
        let noisy = || Case { primitive: "cpu.barrier.std".into(), ..case.clone() };
        if is_on_cpus { self.fake.experiment(case) } else { self.fake.experiment(&noisy()) }
    }
}

/// Records everything that it observes. After `cancel_after` blocks it raises `cancel`.
#[derive(Default)]
struct Recorder {
    cancel: Cancel,
    cancel_after: Option<usize>,
    work: Vec<Work>,
    measuring: Vec<Case>,
    measuring_apart: usize,
    measured_blocks: u64,
    measured_fewest: u64,
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

    fn measuring_apart(&mut self, _case: &Case) {
        self.measuring_apart += 1;
    }

    fn measured(&mut self, _laboratory: usize, done: Done, _spent: Duration) {
        self.measured_blocks += done.blocks;
        self.measured_fewest += done.fewest;
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
        let laboratory = Timed::new(Rc::default(), block);
        Self { folder: tempfile::tempdir().unwrap(), laboratory, budget: None }
    }

    /// A fixture with a budget of this many blocks. The first block of each case takes `first` times as long.
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
        common::plan(&self.all(), Preset::Quick, SEED)
    }

    fn directory(&self) -> RunDirectory {
        RunDirectory::open(&self.folder.path().join("run")).unwrap()
    }

    fn start(&mut self) -> Session {
        let plan = self.plan();
        self.start_with(plan)
    }

    fn start_with(&self, plan: Plan) -> Session {
        let directory = RunDirectory::create(&self.folder.path().join("run")).unwrap();
        Session::start(directory, run(), Preset::Quick, plan).unwrap()
    }

    fn resume(&mut self) -> Result<Session, SessionError> {
        let (directory, plan) = (self.directory(), self.plan());
        Session::resume(directory, &Here::default(), Preset::Quick, plan)
    }

    /// Measures until a limit is reached, and ends the run.
    fn measure(&mut self, session: Session, limits: &Limits, recorder: &mut Recorder) -> Finished {
        self.measure_with(session, limits, recorder, None)
    }

    /// [`Self::measure`] with another laboratory that shares the clock.
    fn measure_with<'a>(
        &'a mut self,
        session: Session,
        limits: &Limits,
        recorder: &mut Recorder,
        another: Option<&'a mut dyn Laboratory>,
    ) -> Finished {
        let (origin, clock) = (Instant::now(), self.laboratory.clock.clone());
        clock.set(Duration::ZERO);
        let mut session = session.with_clock(move || origin + clock.get());
        let limits = Limits { deadline: self.budget.map(|budget| origin + budget), ..limits.clone() };
        let mut all = self.all();
        all.extend(another);
        let measured = session.measure(&mut all, &limits, recorder);
        session.finish(measured, &all).unwrap()
    }
}
