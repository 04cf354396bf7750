//! Actors that are counted in a window that all of them share: the baseline is empty, and ticks are what the iterations take
//! at each actor's rate.

use std::time::Duration;

use syncscope_core::fake::FakeExperiment;
use syncscope_core::{
    Actor, Case, Check, Disturbance, Engine, Evidence, Experiment, ExperimentError, Protocol, Row, Ruler, Sample, Shot,
    Side, Ticks, Verdict,
};
use syncscope_core::{Cancel, Measurement, Nanoseconds};

use super::{measure, settings};

/// What an operation costs each of three actors.
const COSTS_NS: [f64; 3] = [40.0, 60.0, 120.0];

/// Actors whose costs wander a little from window to window.
struct Counted {
    /// Whose cost counts.
    actor: Actor,
    /// The last actor gets nothing in one of this many windows.
    starves: u64,
    /// What an operation costs in the loop with two copies, relative to that with one.
    of_two: f64,
    disturbance: Option<Disturbance>,
    sides: Vec<Side>,
}

const QUIET: Counted =
    Counted { actor: Actor::Slowest, starves: u64::MAX, of_two: 1.0, disturbance: None, sides: Vec::new() };

/// One tick is a tenth of a nanosecond.
fn ticks(ns: f64) -> Ticks {
    Ticks((ns * 10.0) as u64)
}

impl Experiment for &mut Counted {
    fn ruler(&self) -> Ruler {
        FakeExperiment::new(1.0, 1).ruler()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        side.copies() * iterations
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.sides.push(shot.side);
        if shot.side == Side::Baseline {
            return Ok(Sample::of_one(Ticks(0), 0.1));
        }
        let is_starved = (shot.pair + 1).is_multiple_of(self.starves);
        let wandering = 1.0 + 0.01 * ((shot.pair % 7) as f64 - 3.0);
        let of_copies = if shot.side == Side::Double { 2.0 * self.of_two } else { 1.0 };
        let mut all = COSTS_NS.map(|cost| ticks(cost * wandering * of_copies * shot.iterations as f64));
        if is_starved {
            all[2] = ticks(300_000.0 * shot.iterations as f64);
        }
        let disturbance = self.disturbance;
        Ok(Sample { is_starved, disturbance, ..Sample::of_actors(&mut all, 0.1).unwrap() })
    }

    fn protocol(&self) -> Protocol {
        let counted_for = Some(Duration::from_micros(200));
        Protocol { actor: self.actor, in_window: true, counted_for, has_double: true, ..Protocol::of(2) }
    }

    fn check(&mut self) -> Check {
        Check::Ok
    }

    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("numbers have no machine code".into())
    }
}

fn detail(measurement: &Measurement, name: &str) -> f64 {
    measurement.details.iter().find(|detail| detail.name == name).unwrap().value
}

#[test]
fn the_cost_is_that_of_the_slowest_and_the_rate_that_of_all() {
    let mut quiet = QUIET;
    let measurement = measure(&mut quiet);
    assert_eq!(measurement.verdict, Verdict::Resolved);
    let estimate = measurement.estimate.as_ref().unwrap();
    let found = [estimate.fastest_ns, estimate.median_ns, estimate.slowest_ns].map(Nanoseconds::value);
    assert!(found.iter().zip(COSTS_NS).all(|(found, cost)| (found / cost - 1.0).abs() < 0.01), "{found:?}");
    assert_eq!(estimate.ns, estimate.slowest_ns);
    // 3 actors at 1/40, 1/60 and 1/120.
    assert!((estimate.rate_ns.unwrap().value() - 60.0).abs() < 0.6, "{estimate:?}");
    // The median actor: 200 us of 60 ns, at the fastest of three windows.
    assert!((3333..3500).contains(&measurement.iterations), "{}", measurement.iterations);
}

#[test]
fn every_case_in_windows_shows_whether_it_is_additive() {
    let measurement = measure(&mut Counted { of_two: 1.0, ..QUIET });
    assert!((detail(&measurement, "first_copy_ns") / detail(&measurement, "second_copy_ns") - 1.0).abs() < 0.02);
    let mut other = Counted { of_two: 0.8, ..QUIET };
    let measurement = measure(&mut other);
    assert_eq!(measurement.verdict.name(), "NonAdditive", "{}", measurement.verdict);
    assert!(other.sides.contains(&Side::Double));
}

#[test]
fn a_thread_that_gets_nothing_is_named() {
    let seldom = measure(&mut Counted { starves: 5, ..QUIET });
    assert!(
        seldom.remark.as_ref().unwrap().contains("% of the windows, some thread completed no operation"),
        "{seldom:?}"
    );
    assert!((seldom.estimate.unwrap().ns.value() / 120.0 - 1.0).abs() < 0.03, "the median window");
    let usual = measure(&mut Counted { starves: 1, ..QUIET });
    assert_eq!(usual.verdict.name(), "Noisy");
    assert!(usual.verdict.reason().contains("completes no operation"), "{}", usual.verdict);
}

/// How long the slowest thread waits for its turn depends on the window; how many turns all threads have together does not.
#[test]
fn the_mean_of_a_window_is_ranked_and_the_slowest_is_named_with_the_window() {
    let mean = measure(&mut Counted { actor: Actor::Mean, ..QUIET });
    let estimate = mean.estimate.as_ref().unwrap();
    assert!((estimate.ns.value() / 60.0 - 1.0).abs() < 0.01, "{estimate:?}");
    assert_eq!((mean.actor, estimate.rate_ns.map(Nanoseconds::value)), (Some(Actor::Mean), Some(estimate.ns.value())));
    let remark = mean.remark.unwrap();
    assert!(remark.contains("served unequally: 120 ns for the slowest thread in windows of 200us"), "{remark}");
    assert_eq!(measure(&mut { QUIET }).remark, None, "the slowest thread's cost is the figure");
    let starved = measure(&mut Counted { actor: Actor::Mean, starves: 1, ..QUIET });
    assert_eq!(starved.verdict, Verdict::Resolved, "what one does not get, others do");
    assert!(starved.remark.unwrap().contains("some thread completed no operation"));
}

#[test]
fn disturbed_windows_do_not_count() {
    let mut disturbed = Counted { disturbance: Some(Disturbance::NotTogether), ..QUIET };
    assert_eq!(measure(&mut disturbed).verdict.name(), "NotTogether");
    let mut switched = Counted { disturbance: Some(Disturbance::InvoluntarySwitch), ..QUIET };
    let engine = Engine::new(settings(), Cancel::new());
    assert_eq!(engine.measure(&mut &mut switched, 1).unwrap().verdict.name(), "Interfered");
}

/// Four actors of a window for which equal work costs something else than their mean, and differs by address.
struct Unequal {
    /// The cost of equal work over the mean; `None` where all are served alike.
    equal_work: Option<f64>,
    shots_of_equal_work: u64,
}

const MEAN_NS: f64 = 50.0;

impl Experiment for &mut Unequal {
    fn ruler(&self) -> Ruler {
        FakeExperiment::new(1.0, 1).ruler()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        iterations * (1 + side.copies())
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let wandering = 1.0 + 0.001 * (shot.pair % 3) as f64;
        let of = self.operations(shot.side, shot.iterations) as f64;
        let mut all = [0.8, 1.0, 1.0, 1.4].map(|part| ticks(MEAN_NS * part * wandering * of));
        Ok(Sample { mean_rate: MEAN_NS * 10.0 * wandering * of, ..Sample::of_actors(&mut all, 0.1).unwrap() })
    }

    fn equal_work(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let Some(ratio) = self.equal_work else { return Ok(Vec::new()) };
        self.shots_of_equal_work += shots.len() as u64;
        let of = |shot: &Shot| {
            let by_address = 1.0 + 0.02 * ((shot.pair % 5) as f64 - 2.0);
            let loops = self.operations(shot.side, shot.iterations) as f64;
            Sample::of_one(ticks(MEAN_NS * ratio * by_address * loops), 0.1)
        };
        Ok(shots.iter().map(of).collect())
    }

    fn protocol(&self) -> Protocol {
        Protocol { in_window: true, actor: Actor::Mean, min_iterations: 100, ..Protocol::of(1) }
    }

    fn check(&mut self) -> Check {
        Check::Ok
    }

    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("numbers have no machine code".into())
    }
}

#[test]
fn equal_work_is_a_figure_of_its_own_with_an_interval_from_every_block() {
    let of = |equal_work| {
        let mut experiment = Unequal { equal_work, shots_of_equal_work: 0 };
        let found = measure(&mut experiment);
        (found, experiment.shots_of_equal_work)
    };
    let (unequal, shots) = of(Some(1.5));
    let estimate = unequal.estimate.clone().unwrap();
    assert!((estimate.ns.value() / MEAN_NS - 1.0).abs() < 0.01, "{estimate:?}");
    let equal = estimate.equal_work.unwrap();
    assert!(equal.within.contains(1.5 * MEAN_NS) && equal.within.half_width() < 0.1 * MEAN_NS, "{equal:?}");
    assert!(equal.within.half_width() > 0.0, "addresses differ by 2 %: {equal:?}");
    assert_eq!(shots, 10 + 2 * u64::from(unequal.blocks), "six pairs, then one a block");
    let remark = unequal.remark.clone().unwrap();
    assert!(remark.contains("served unequally (mean 50") && remark.contains("equal work "), "{remark}");
    let row = Row::measured(Case::new("gpu.atomic.add"), None, &unequal);
    assert_eq!((row.equal_work_ns, row.equal_work_within), (Some(equal.ns), Some(equal.within)));
    assert_eq!(row.of_equal_work().map(|row| (row.ns, row.ns_within)), Some((Some(equal.ns), Some(equal.within))));
    // A figure close to the mean is not repeated.
    let (same, _) = of(Some(1.005));
    assert_eq!((same.remark, same.estimate.unwrap().equal_work.is_some()), (None, true));
    let (alike, shots) = of(None);
    assert_eq!((alike.remark, alike.estimate.unwrap().equal_work, shots), (None, None, 0));
}
