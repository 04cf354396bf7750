//! Tests: the arithmetic of the engine on numbers that are known exactly, at the bounds where an answer changes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::additivity::Additivity;
use super::calibration::Calibration;
use super::cost_formula::{CostFormula, Costs};
use super::judge::{self, Basis};
use super::population::{StateCost, States};
use crate::fake::FakeExperiment;
use crate::model::estimate::EqualWork;
use crate::model::sample::ActorTime;
use crate::stats;
use crate::stopping::PrecisionRule;
use crate::{
    Actor, BlockCount, Cancel, Check, Cycles, Disturbance, Engine, Estimate, Evidence, Experiment, ExperimentError,
    Hertz, Interval, Measurement, Nanoseconds, Observation, Population, Protocol, Ruler, Sample, Settings, Shot, Side,
    Ticks, Verdict,
};

/// Loops with a given number of ticks a copy, on a clock of 2 GHz whose core has 3 cycles a tick.
struct Exact {
    protocol: Protocol,
    ticks_of_copies: [u64; 4],
    taken: usize,
    check: Check,
}

const NS_PER_TICK: f64 = 0.5;

impl Experiment for Exact {
    fn ruler(&self) -> Ruler {
        Ruler { frequency: Hertz(2e9), resolution: Ticks(10), ..FakeExperiment::new(1.0, 1).ruler() }
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        (1 + side.copies()) * iterations
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.taken += 1;
        let ticks = self.ticks_of_copies[shot.side.copies() as usize] * shot.iterations;
        Ok(Sample {
            cycles_per_tick: Some(3.0),
            ..Sample::of_actors(&mut [Ticks(ticks)], NS_PER_TICK).unwrap_or_default()
        })
    }

    fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn check(&mut self) -> Check {
        self.check.clone()
    }

    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("none".to_owned())
    }
}

fn exact() -> Exact {
    Exact { protocol: Protocol::of(1), ticks_of_copies: [20, 40, 60, 80], taken: 0, check: Check::NotApplicable }
}

fn basis(fewest_blocks: u32) -> Basis {
    Basis {
        formula: CostFormula::new(&exact(), 100),
        noisy_above: 0.05,
        fewest_blocks,
        clock_tolerance: None,
        limit: None,
        remark: None,
        states: States::default(),
    }
}

fn close(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-9
}

#[test]
fn a_pair_is_the_difference_by_the_operations_in_ns_cycles_and_clock() {
    let mut experiment = exact();
    let shots = [Side::Baseline, Side::Test].map(|side| Shot { side, iterations: 100, pair: 7 });
    let samples = shots.map(|shot| experiment.sample(shot).unwrap());
    let formula = CostFormula::new(&experiment, 100);
    for (shots, samples) in [(shots, samples.clone()), ([shots[1], shots[0]], [samples[1].clone(), samples[0].clone()])]
    {
        let pair = formula.observe(&shots, &samples, 3);
        // 20 ticks more an operation, of half a nanosecond and three cycles.
        assert!(close(pair.ns, 10.0) && close(pair.cycles.unwrap(), 60.0) && close(pair.clock.unwrap().value(), 6e9));
        assert_eq!((pair.pair, pair.block, pair.baseline_first), (7, 3, shots[0].side == Side::Baseline));
    }
    assert!(close(formula.resolution_ns, 10.0 * NS_PER_TICK / 100.0));
}

/// An actor with a neighbour on its core in either sample is beside it; the share counts actors, or pairs where all actors
/// wait.
#[test]
fn strata_are_of_actors_or_of_whole_pairs() {
    let actor = |ticks: u64, smt_interference: bool| ActorTime { elapsed: Ticks(ticks), smt_interference };
    let sample = |base: u64, beside: [bool; 3]| {
        let actors = beside.iter().zip(1..).map(|(beside, at)| actor(base * at, *beside)).collect();
        Sample {
            actors,
            ..Sample::of_actors(&mut [Ticks(base), Ticks(2 * base), Ticks(3 * base)], NS_PER_TICK).unwrap()
        }
    };
    let strata = |actor: Actor, beside: [[bool; 3]; 2]| {
        let experiment = Exact { protocol: Protocol { actor, ..Protocol::of(3) }, ..exact() };
        let shots = [Side::Baseline, Side::Test].map(|side| Shot { side, iterations: 100, pair: 0 });
        let samples = [sample(1000, beside[0]), sample(3000, beside[1])];
        CostFormula::new(&experiment, 100).observe(&shots, &samples, 1).strata.unwrap()
    };
    let one = strata(Actor::Median, [[false; 3], [true, false, false]]);
    // Differences of 2,000, 4,000 and 6,000 ticks over 100 operations.
    assert!(
        close(one.beside_ns.unwrap(), 10.0) && close(one.alone_ns.unwrap(), 25.0) && close(one.beside_share, 1.0 / 3.0)
    );
    assert!(close(strata(Actor::Slowest, [[false, true, false], [false; 3]]).beside_share, 1.0));
    assert!(strata(Actor::Slowest, [[false; 3]; 2]).beside_share.abs() < 1e-12);
}

/// A cost has a figure in cycles if more than half of the pairs have cycles.
#[test]
fn most_pairs_must_have_cycles() {
    let cycles = |with: usize| {
        let pair =
            |at: usize| Observation { block: at as u32, cycles: (at < with).then_some(9.0), ..Observation::example() };
        Costs::of(&(0..40).map(pair).collect::<Vec<_>>(), &States::default()).cycles.is_some()
    };
    assert_eq!([20, 21].map(cycles), [false, true]);
}

#[test]
fn the_rate_is_that_of_the_slowest_unless_a_window_counts() {
    let pair = |at: u32| Observation { block: at, mean_rate_ns: 0.25, ..Observation::example() };
    let pairs: Vec<Observation> = (0..40).map(pair).collect();
    let rate = |actor: Actor, in_window: bool| {
        let protocol = Protocol { actor, in_window, actors_run_together: true, ..Protocol::of(2) };
        let formula = CostFormula::new(&Exact { protocol, ..exact() }, 100);
        formula.estimate(&pairs, &Costs::of(&pairs, &States::default())).unwrap().rate_ns.unwrap().value()
    };
    assert!(close(rate(Actor::Slowest, false), 0.5));
    assert!(close(rate(Actor::Slowest, true), 0.25) && close(rate(Actor::Median, false), 0.25));
}

#[test]
fn iterations_fill_a_sample_or_a_window() {
    let cancel = Cancel::new();
    let of = |protocol: Protocol, sample_us: u64| {
        let mut experiment = Exact { protocol, ..exact() };
        Calibration::of(&mut experiment, Duration::from_micros(sample_us), &cancel).unwrap().unwrap()
    };
    // A baseline of 10 ns an iteration; a test takes twice that.
    let found = of(Protocol::of(1), 20);
    assert!((1600..=2400).contains(&found.iterations), "{}", found.iterations);
    assert!(close(found.pair_ns, 30.0 * found.iterations as f64), "{}", found.pair_ns);
    // 40 ticks of a test's iteration are 20 ns, and two windows a pair.
    let window = of(Protocol { counted_for: Some(Duration::from_micros(50)), ..Protocol::of(1) }, 20);
    assert_eq!(window.iterations, 2500);
    assert!(close(window.pair_ns, 100_000.0));
    // Four fifths of a sample are enough.
    for (fewest, expected) in [(1700, 1700), (1500, 2000)] {
        let found = of(Protocol { min_iterations: fewest, ..Protocol::of(1) }, 20);
        assert_eq!(found.iterations, expected);
    }
    // A thousand steps of the clock, of 5 ns each, are longer than that.
    let coarse = of(Protocol::of(1), 1);
    assert!((400..=600).contains(&coarse.iterations), "{}", coarse.iterations);
    // No sample may be longer than this, whichever side is longer.
    let short = of(Protocol { longest_sample: Some(Duration::from_micros(5)), ..Protocol::of(1) }, 20);
    assert!(short.iterations <= 250 && short.iterations >= 150, "{}", short.iterations);
}

/// Later blocks know how long a pair takes: in windows, as long as the windows, however little a starved actor was served.
#[test]
fn a_starved_actor_makes_no_window_longer() {
    let known = |counted_for: Option<Duration>| {
        let experiment = Exact { protocol: Protocol { counted_for, ..Protocol::of(1) }, ..exact() };
        let basis = Basis { formula: CostFormula::new(&experiment, 100), ..basis(1) };
        let starved = Observation { baseline: Ticks(0), test: Ticks(2_000_000_000), ..Observation::example() };
        let evidence = Evidence::NotAvailable("none".to_owned());
        let judged = Verdict::Noisy(String::new());
        let found = Measurement::without_figure(&experiment, judged, evidence);
        Calibration::known(&Measurement { observations: vec![starved], basis: Some(basis), ..found }).unwrap().pair_ns
    };
    assert!(close(known(Some(Duration::from_millis(2))), 4e6));
    assert!(close(known(None), 1e9), "a loop of known iterations took so long");
}

#[test]
fn stress_goes_on_for_its_time_or_until_the_check_fails() {
    let uses = |check: Check| Exact { check, ..exact() }.stress(Duration::from_millis(5)).unwrap().0;
    assert!(uses(Check::Ok) > 1);
    assert_eq!([Check::NotApplicable, Check::Failed("no".to_owned())].map(uses), [1, 1]);
}

#[test]
fn a_case_without_a_figure_keeps_what_was_executed() {
    let evidence = Evidence::NotAvailable("none".to_owned());
    let found = Measurement::without_figure(&exact(), Verdict::Noisy(String::new()), evidence.clone());
    assert_eq!((found.evidence, found.blocks, found.unroll), (evidence, 1, 1));
    assert_eq!(found.remark, None);
}

#[test]
fn a_case_is_proved_once_in_its_first_process_and_at_the_end_of_others() {
    let rule = PrecisionRule { precision: 0.01, min_pairs: 6, max_pairs: 6, max_time: Duration::from_secs(60) };
    let mut engine = Engine::new(Settings::with_rule(rule), Cancel::new());
    let proves =
        |engine: &Engine| [(1, true), (1, false), (2, true), (2, false)].map(|(at, more)| engine.proves(at, more));
    assert_eq!(proves(&engine), [true, true, false, false]);
    engine.calibration = Some(Calibration { iterations: 1, pair_ns: 1.0 });
    assert_eq!(proves(&engine), [false, true, false, true]);
}

/// A resolved cost has the clock of its cycles and nanoseconds, 2 GHz. Otherwise the pairs say what the clock was.
#[test]
fn the_clock_of_a_case_is_that_of_its_cost_if_that_is_known() {
    let clock = |count: u32| {
        let pair = |number: u32| Observation {
            block: 1 + number / 5,
            cycles: Some(20.0),
            clock: Some(Hertz(3e9)),
            ..of_ten_ns()
        };
        let mut found = Measurement {
            observations: (0..count).map(pair).collect(),
            basis: Some(basis(1)),
            ..Measurement::default()
        };
        found.settle();
        (found.verdict.name(), found.clock.unwrap().value())
    };
    assert_eq!((clock(40), clock(4)), (("Resolved", 2e9), ("Noisy", 3e9)));
}

/// The cost for the slowest thread covers all samples, whatever the population of the row.
#[test]
fn equal_work_is_that_of_the_slowest_whatever_its_core_does() {
    let protocol = Protocol { population: Population::Alone, ..Protocol::of(1) };
    let mut experiment = Exact { protocol, ..exact() };
    let shots = [Side::Baseline, Side::Test].map(|side| Shot { side, iterations: 100, pair: 0 });
    let samples = shots.map(|shot| {
        let beside = ActorTime { elapsed: Ticks(1000), smt_interference: true };
        Sample { actors: vec![beside], ..experiment.sample(shot).unwrap() }
    });
    let formula = CostFormula::new(&experiment, 100);
    let excluded = |formula: CostFormula| formula.observe(&shots, &samples, 1).excluded;
    assert_eq!(excluded(formula), Some(Disturbance::SmtInterference));
    assert_eq!(excluded(formula.of_slowest()), None);
}

/// An interruption may look like work: near the goal the shortest of three samples counts, far from it one is enough.
#[test]
fn samples_near_the_goal_are_taken_three_times() {
    let taken = |sample_us: u64| {
        // A baseline of 10 us, and one test at the end.
        let protocol = Protocol { min_iterations: 1000, max_iterations: 1000, ..Protocol::of(1) };
        let mut experiment = Exact { protocol, ..exact() };
        Calibration::of(&mut experiment, Duration::from_micros(sample_us), &Cancel::new()).unwrap();
        experiment.taken
    };
    assert_eq!([20, 39, 41, 80].map(taken), [4, 4, 2, 2]);
}

/// A third loop costs what its third copy does, whatever the order of the loops.
#[test]
fn a_second_copy_is_compared_with_the_first() {
    let compared = |third: u64| {
        let mut experiment = Exact { ticks_of_copies: [20, 40, third, third], ..exact() };
        let copies = Side::Double.copies() as usize;
        experiment.ticks_of_copies[copies] = third;
        Additivity::of(&mut experiment, 100, 5, &Cancel::new()).unwrap().unwrap()
    };
    let [same, dearer] = [60 + 20 * (Side::Double.copies() - 2), 200].map(compared);
    assert_eq!(same.verdict(), Verdict::Resolved);
    assert!(matches!(dearer.verdict(), Verdict::NonAdditive(_)));
    assert!(same.details().iter().all(|detail| close(detail.value, 10.0)), "{:?}", same.details());
}

fn of_ten_ns() -> Observation {
    Observation { ns: 10.0, ..Observation::example() }
}

fn pairs(of: impl Fn(u32) -> Observation) -> Vec<Observation> {
    (0..40).map(|at| Observation { block: 1 + at / 5, ..of(at) }).collect()
}

fn judged(observations: &[Observation], fewest_blocks: u32) -> &'static str {
    judge::verdict(&Check::Ok, observations, &Costs::of(observations, &States::default()), &basis(fewest_blocks)).name()
}

#[test]
fn verdicts_change_where_they_are_to() {
    let starved = |count: u32| judged(&pairs(|at| Observation { is_starved: at < count, ..of_ten_ns() }), 1);
    assert_eq!([0, 19, 20].map(starved), ["Resolved", "Resolved", "Noisy"], "half of the windows");
    let spread = |by: f64| {
        let ns = |at: u32| 10.0 + by * (f64::from(at * 7 % 40) / 20.0 - 1.0);
        judged(&pairs(|at| Observation { ns: ns(at), ..of_ten_ns() }), 1)
    };
    assert_eq!([0.5, 4.0].map(spread), ["Resolved", "Noisy"], "relative to the cost");
    let all = pairs(|_| of_ten_ns());
    assert_eq!([8, 9].map(|fewest| judged(&all, fewest)), ["Resolved", "Noisy"], "eight blocks");
    // A block is lost if none of its pairs counts and at least one lost its CPU; a block on another clock is not lost.
    let without = |blocks: u32, cause: Disturbance| {
        let mixed = |at: u32| if at.is_multiple_of(5) { cause } else { Disturbance::ClockChange };
        let excluded = |at: u32| (at / 5 < blocks).then_some(mixed(at));
        let all: Vec<Observation> =
            (0..80).map(|at| Observation { block: 1 + at / 5, excluded: excluded(at), ..of_ten_ns() }).collect();
        judged(&all, 1)
    };
    assert_eq!([12, 13].map(|lost| without(lost, Disturbance::Migration)), ["Resolved", "Interfered"]);
    assert_eq!(without(13, Disturbance::ClockChange), "Resolved");
    let kept = |at: u32| (!at.is_multiple_of(5)).then_some(Disturbance::Migration);
    let some_of_each = pairs(|at| Observation { excluded: kept(at), ..of_ten_ns() });
    assert_eq!(judged(&some_of_each, 1), "Resolved", "each block has a pair that counts");
}

#[test]
fn what_is_said_of_windows_has_its_numbers() {
    let some = pairs(|at| Observation { is_starved: at < 10, ..Observation::example() });
    assert_eq!(judge::starved(&some).unwrap(), "in 25.0 % of the windows, some thread completed no operation");
    assert_eq!(judge::starved(&pairs(|_| Observation::example())), None);
    let of = |mean: f64, median: f64, slowest: f64, equal: f64| Estimate {
        ns: Nanoseconds(mean),
        ns_within: Some(Interval { low: 0.99 * mean, high: 1.01 * mean }),
        cycles: None,
        cycles_within: None,
        ns_spread: None,
        fastest_ns: Nanoseconds(mean),
        median_ns: Nanoseconds(median),
        slowest_ns: Nanoseconds(slowest),
        rate_ns: None,
        population: Population::All,
        strata: None,
        equal_work: Some(EqualWork {
            ns: Nanoseconds(equal),
            within: Interval { low: 0.99 * equal, high: 1.01 * equal },
            cycles: None::<Cycles>,
        }),
    };
    let slowest = |slowest: f64| judge::unequal_service(&of(10.0, 10.0, slowest, 10.0), Duration::from_micros(40));
    assert_eq!(slowest(15.0), None);
    assert_eq!(slowest(40.0).unwrap(), "served unequally: 40.0 ns for the slowest thread in windows of 40us");
    let median = |median: f64| judge::unequal(&of(10.0, median, 10.0, 10.0)).is_some();
    assert_eq!([6.0, 7.0, 10.0, 14.0, 16.0].map(median), [true, false, false, false, true]);
}

/// A case that does not follow its class is judged by what its row shows, and one that does by what is left without the
/// class.
#[test]
fn the_narrower_interval_of_a_case_decides() {
    let shared = [(1, 1.3), (2, 0.75), (3, 1.2), (4, 0.85), (5, 1.1), (6, 0.95), (7, 1.25), (8, 0.8)];
    let verdict = |follows: bool| {
        let pairs = (0..64_u64).map(|pair| {
            let (block, factor) = shared[pair as usize % 8];
            Observation { pair, block, ns: if follows { 10.0 * factor } else { 10.0 }, ..Observation::example() }
        });
        let formula = CostFormula::new(&FakeExperiment::new(5.0, 1), 100);
        let states = States { shared: shared.into(), ..States::default() };
        let (clock_tolerance, limit, remark) = (None, None, None);
        let basis = Basis { formula, noisy_above: 0.05, fewest_blocks: 1, clock_tolerance, limit, remark, states };
        let mut measurement =
            Measurement { observations: pairs.collect(), basis: Some(basis), ..Measurement::default() };
        measurement.settle();
        measurement.verdict
    };
    assert_eq!([true, false].map(verdict), [Verdict::Resolved, Verdict::Resolved]);
}

#[test]
fn states_are_named_that_cost_something_else() {
    let state = |share: f64, ns: f64| StateCost { share, ns, cycles: None };
    let within = Some(Interval { low: 9.0, high: 13.0 });
    let of = |ns: f64| judge::states(&[state(0.75, 10.0), state(0.25, ns)], within);
    assert_eq!(of(10.5), None, "less than a state makes of a class");
    assert_eq!(of(12.5).unwrap(), "two states: 10.0 ns for 75 % of the run, 12.5 ns for 25 %");
    assert!(of(13.5).is_some() && of(8.0).is_some());
    let elsewhere = Some(Interval { low: 10.5, high: 11.0 });
    let others = |ns: f64| judge::states(&[state(0.75, 10.0), state(0.25, ns)], elsewhere);
    assert_eq!(others(10.001), None, "what is written alike is one state");
    assert!(others(10.1).is_some());
    let taken = States { others: BTreeMap::from([(2, 1)]), ..States::default() };
    let mut all: Vec<Observation> = (0..40)
        .map(|at| Observation {
            block: 1 + u32::from(at >= 30),
            ns: if at >= 30 { 2.0 } else { 1.0 },
            ..Observation::example()
        })
        .collect();
    let costs = taken.exclude_others(&mut all);
    assert_eq!(costs, [state(0.75, 1.0), state(0.25, 2.0)]);
    assert_eq!(all.iter().filter(|o| o.excluded == Some(Disturbance::AnotherState)).count(), 10);
}

#[test]
fn another_clock_is_one_beyond_the_tolerance() {
    let clock = |at: u32| {
        Some(Hertz(if at < 4 {
            1.02e9
        } else if at < 8 {
            0.97e9
        } else {
            1e9
        }))
    };
    let excluded = |tolerance: Option<f64>| {
        let mut all = pairs(|at| Observation { clock: clock(at), ..Observation::example() });
        judge::exclude_other_clocks(&mut all, tolerance);
        all.iter().filter(|o| o.excluded == Some(Disturbance::ClockChange)).count()
    };
    assert_eq!([None, Some(0.01), Some(0.025), Some(0.05)].map(excluded), [0, 8, 4, 0]);
}

/// The third loop belongs to cases whose cost is resolved: all in windows, some of the others.
#[test]
fn the_third_loop_runs_where_the_cost_is_resolved() {
    let has_third = |tests_additivity: bool, has_double: bool, pairs: u64, blocks: u32| {
        let rule =
            PrecisionRule { precision: 0.01, min_pairs: pairs, max_pairs: pairs, max_time: Duration::from_secs(60) };
        let settings = Settings { blocks: BlockCount { min: blocks, max: blocks }, ..Settings::with_rule(rule) };
        let engine = Engine { tests_additivity, ..Engine::new(settings, Cancel::new()) };
        let mut experiment = Exact { protocol: Protocol { has_double, ..Protocol::of(1) }, ..exact() };
        let found = engine.measure_block(&mut experiment, None, 3).unwrap();
        found.details.iter().any(|detail| detail.name == "second_copy_ns")
    };
    assert!(has_third(true, true, 20, 1));
    assert!(!has_third(false, true, 20, 1) && !has_third(true, false, 20, 1));
    assert!(!has_third(true, true, 2, 1), "too few pairs for an interval");
    assert!(!has_third(true, true, 20, 2), "another block follows");
}

/// For a variant, either the check runs or the loops do, and a failing check cannot take the cost away.
#[test]
fn of_a_trial_either_the_check_or_the_loops_run() {
    let found = |trial: Option<u64>, check: Check| {
        let rule = PrecisionRule { precision: 0.01, min_pairs: 20, max_pairs: 20, max_time: Duration::from_secs(60) };
        let engine = Engine {
            trial: trial.map(Duration::from_millis),
            ..Engine::new(
                Settings { blocks: BlockCount { min: 1, max: 1 }, ..Settings::with_rule(rule) },
                Cancel::new(),
            )
        };
        let mut experiment = Exact { check, ..exact() };
        let found = engine.measure_block(&mut experiment, None, 3).unwrap();
        (experiment.taken > 0, found)
    };
    let fails = || Check::Failed("a value is old".to_owned());
    let (ran, tried) = found(Some(1), fails());
    assert!(!ran && tried.estimate.is_none() && tried.check == fails() && tried.pairs == 1, "{tried:?}");
    assert_eq!(tried.verdict, Verdict::Failed("a value is old".to_owned()));
    let (ran, passed) = found(Some(1), Check::Ok);
    assert!(!ran && passed.check == Check::Ok && !passed.verdict.is_failure() && passed.pairs > 0, "{passed:?}");
    let (ran, priced) = found(Some(0), fails());
    assert!(ran && priced.estimate.is_some() && priced.check == Check::NotApplicable, "{priced:?}");
    assert!(found(None, fails()).1.verdict.is_failure());
}

#[test]
fn noise_is_relative_to_the_median() {
    assert!(
        close(stats::noise(&[8.0, 10.0, 12.0]).unwrap(), 0.2)
            && close(stats::noise(&[-4.0, -3.0, -2.0]).unwrap(), 1.0 / 3.0)
    );
    assert_eq!(stats::noise(&[0.0, 0.0]), None);
}
