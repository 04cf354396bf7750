//! Is a change of the machine's state named, from half-time on or in the middle of a run? Twenty runs of fakes of each kind, through
//! the session.

use std::ops::Range;

use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::session::{Apart, Share};
use syncscope_core::{Actor, ActorRule, Detail, ExperimentError, Facts, Layout, Primitive, Role, Sample, Shot, Waits};

use super::*;
use crate::altered::Altered;

/// What happens to the machine.
#[derive(Debug, Clone, Copy)]
enum Event {
    Nothing,
    /// Threads are bound to CPUs that are farther from each other.
    OtherPlaces,
    /// Another hardware thread of the cores is busy.
    Neighbour,
    /// The clock of the cores rises.
    Clock,
}

const fn primitive(id: &'static str, role: Role, waits: Waits, actor: ActorRule) -> Primitive {
    Primitive { id, summary: "", operation: "", source: "", facts: Facts { waits, actor, ..Facts::of(role) } }
}

static CATALOGUE: [Primitive; 3] = [
    primitive("cpu.atomic.add", Role::Update, Waits::NoWait, ActorRule::Median),
    primitive("cpu.handoff.cas_pingpong", Role::SpinHandoff, Waits::Spins, ActorRule::Slowest),
    primitive("cpu.lock.ttas", Role::ThreadLock, Waits::Spins, ActorRule::Slowest),
];

/// The time of a block on the clock of the test, as in a run of many cases.
const BLOCK: Duration = Duration::from_millis(100);
/// The time of a block as in a run of few cases, which have all their blocks before half of the time.
const SHORT_BLOCK: Duration = Duration::from_millis(2);

/// Seconds of a run of the quick preset, whose passes take 30 s.
const FROM_HALF_TIME: Range<u64> = 20..60;
const FROM_A_THIRD_TO_HALF: Range<u64> = 13..20;

struct Machine {
    event: Event,
    /// The seconds in which the event lasts.
    during: Range<u64>,
    block: Duration,
    clock: Rc<Cell<Duration>>,
    random: fastrand::Rng,
}

impl Machine {
    fn of(event: Event, during: &Range<u64>, block: Duration, seed: u64) -> Self {
        let (during, random) = (during.clone(), fastrand::Rng::with_seed(seed));
        Self { event, during, block, clock: Rc::default(), random }
    }

    /// What a case costs in nanoseconds, and cycles in a tick of a tenth of a nanosecond.
    fn cost(&self, case: &Case) -> (f64, f64) {
        let number = f64::from(case.threads.unwrap_or(1));
        let (usual, is_alone) = match case.primitive.as_str() {
            "cpu.atomic.add" => (2.0, true),
            "cpu.lock.ttas" => (20.0 * number, false),
            _ => (27.0, false),
        };
        let (factor, ticks) = match (self.event, is_alone) {
            _ if !self.during.contains(&self.clock.get().as_secs()) => (1.0, 1.0),
            (Event::Nothing, _) | (Event::OtherPlaces, true) => (1.0, 1.0),
            (Event::OtherPlaces, false) if case.primitive == "cpu.lock.ttas" => (1.0 + number / 4.0, 1.0),
            (Event::OtherPlaces, false) => (4.0, 1.0),
            (Event::Neighbour, true) => (1.2, 1.0),
            (Event::Neighbour, false) => (1.12, 1.0),
            (Event::Clock, _) => (3.0 / 3.5, 3.5 / 3.0),
        };
        (usual * factor, 0.3 * ticks)
    }
}

impl Laboratory for Machine {
    fn listing(&self) -> Vec<Listing> {
        CATALOGUE.iter().map(|primitive| Listing { primitive, unavailable: None }).collect()
    }

    fn plan(&self, _: Preset) -> Vec<Case> {
        let alone =
            |stride| Case { threads: Some(1), layout: Some(Layout::Private { stride }), ..Case::new("cpu.atomic.add") };
        let of = |id: &str, threads| Case { threads: Some(threads), ..Case::new(id) };
        let locks = (2..10).map(|threads| of("cpu.lock.ttas", threads));
        let handoffs = [2, 3, 4].map(|threads| of("cpu.handoff.cas_pingpong", threads));
        (1..9).map(alone).chain(locks).chain(handoffs).collect()
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        self.clock.set(self.clock.get() + self.block);
        let (cost, cycles_per_tick) = self.cost(case);
        // Blocks differ, so that no case is precise before the end.
        let block = ((0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0) * 0.03;
        let fake = FakeExperiment::new(cost * block.exp(), self.random.u64(..)).with_noise(Noise::Proportional(0.005));
        let sample = move |fake: &mut FakeExperiment, shot: Shot| -> Result<Sample, ExperimentError> {
            Ok(Sample { cycles_per_tick: Some(cycles_per_tick), ..fake.sample(shot)? })
        };
        let actor = if case.primitive == "cpu.atomic.add" { Actor::Median } else { Actor::Slowest };
        Ok(Box::new(Altered { actor, ..Altered::of(fake, sample) }))
    }

    fn can_measure_apart(&self) -> bool {
        true
    }

    fn measure_apart(&mut self, share: &Share, _: &mut dyn FnMut(&Case) -> bool) -> Option<Result<Vec<Apart>, String>> {
        // A share has a real clock: the number of its passes ends it.
        let mut known = serde_json::to_value(share).unwrap();
        known["most_passes"] = 2.into();
        let share: Share = serde_json::from_value(known).unwrap();
        let other = Self::of(self.event, &self.during, self.block, self.random.u64(..));
        let mut other = Self { clock: Rc::clone(&self.clock), ..other };
        Some(Ok(share.measure(&mut other, &mut ())))
    }
}

/// What `run.json` says of the states, and how many rows name two states.
fn states(event: Event, during: &Range<u64>, block: Duration, seed: u64) -> (Option<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::of(event, during, block, seed);
    let plan = common::plan(&[&mut machine as &mut dyn Laboratory], Preset::Quick, seed);
    let directory = RunDirectory::create(&folder.path().join("run")).unwrap();
    let (start, turned) = (Instant::now(), Rc::clone(&machine.clock));
    let run = Run { seed, ..common::run(Preset::Quick, plan.len() as u64) };
    let mut session =
        Session::start(directory, run, Preset::Quick, plan).unwrap().with_clock(move || start + turned.get());
    let measured = session.measure(&mut [&mut machine], &Limits::default(), &mut Recorder::default());
    let finished = session.finish(measured, &[&mut machine]).unwrap();
    let found = finished.directory.read_run().unwrap().fingerprint.unwrap();
    assert_eq!(found.handoffs.len(), 3);
    let details = finished.directory.read_details().unwrap();
    let rows = finished.directory.read_rows().unwrap();
    let has_states = |row: &&syncscope_core::Row| {
        let says = format!("{:?} {:?}", row.verdict, row.remark).contains("two states: ");
        let has = |name: &str| details[&row.case.id()].iter().filter(|one| one.name == name).count() == 2;
        says && has(Detail::STATE_NS) && has(Detail::STATE_SHARE)
    };
    (found.sentence(), rows.iter().filter(has_states).count())
}

#[test]
fn a_change_of_state_is_named() {
    const FAR: [&str; 2] = ["two nearby CPUs", "two distant CPUs"];
    let named: [(_, _, &[&str], _); 4] = [
        (Event::OtherPlaces, FROM_HALF_TIME, &FAR, 11),
        (Event::OtherPlaces, FROM_A_THIRD_TO_HALF, &FAR, 11),
        (Event::Neighbour, FROM_HALF_TIME, &["no busy SMT sibling", "a busy SMT sibling"], 8),
        (Event::Clock, FROM_HALF_TIME, &["core clock"], 8),
    ];
    for (event, during, words, fewest_rows) in named {
        let is_named = |seed: &u64| {
            let (text, rows) = states(event, &during, BLOCK, *seed);
            let has_words = text.as_ref().is_some_and(|text| words.iter().all(|word| text.contains(word)));
            let is_right = has_words && rows >= fewest_rows;
            if !is_right {
                eprintln!("{event:?}: {rows} rows, {text:?}");
            }
            is_right
        };
        let right = (0..20).filter(is_named).count();
        assert!(right >= 19, "{event:?} {during:?}: {right} of 20");
    }
    let wrong = (0..20).filter(|seed| states(Event::Nothing, &FROM_HALF_TIME, BLOCK, *seed) != (None, 0)).count();
    assert!(wrong <= 1, "{wrong} of 20 steady runs have two states");
}

#[test]
fn a_change_of_state_is_named_in_a_run_of_few_cases_too() {
    let (text, rows) = states(Event::OtherPlaces, &(5..8), SHORT_BLOCK, 1);
    assert!(text.is_some_and(|text| text.contains("two distant CPUs")) && rows >= 11, "{rows}");
}
