//! The actors that a cost stands for.

use syncscope_core::fake::FakeExperiment;
use syncscope_core::sample::ActorTime;
use syncscope_core::{Actor, Experiment, Measurement, Population, Sample, Ticks, Verdict};

use super::altered::Altered;
use super::measure;

/// Four actors. An operation costs 5 ns on a core alone and 7 ns next to another busy hardware thread, which the actors
/// below `beside(pair)` have.
fn with_smt_interference(actor: Actor, population: Population, beside: fn(u64) -> usize) -> Measurement {
    let experiment = Altered::of(FakeExperiment::new(5.0, 1), move |fake, shot| {
        let operations = fake.operations(shot.side, shot.iterations) as f64;
        let actors: Vec<ActorTime> = (0..4)
            .map(|actor| {
                let smt_interference = actor < beside(shot.pair);
                let ns = operations * if smt_interference { 7.0 } else { 5.0 };
                ActorTime { elapsed: Ticks((ns * 10.0) as u64), smt_interference }
            })
            .collect();
        let mut elapsed: Vec<Ticks> = actors.iter().map(|actor| actor.elapsed).collect();
        Ok(Sample { actors, cycles_per_tick: Some(0.25), ..Sample::of_actors(&mut elapsed, 0.1).unwrap() })
    });
    measure(Altered { actor, population, ..experiment })
}

#[test]
fn the_cost_of_actors_that_were_alone_does_not_depend_on_how_many_were() {
    for (beside, share) in
        [(|_| 0, 0.0), (|pair| usize::from(pair % 2 == 0), 0.125), (|_| 3, 0.75)] as [(fn(u64) -> usize, f64); 3]
    {
        let alone = with_smt_interference(Actor::Median, Population::Alone, beside);
        assert_eq!((&alone.verdict, alone.excluded), (&Verdict::Resolved, 0));
        let estimate = alone.estimate.unwrap();
        assert!((estimate.ns.value() - 5.0).abs() < 0.01, "{estimate:?}");
        assert_eq!(estimate.population, Population::Alone);
        let strata = estimate.strata.unwrap();
        assert!((strata.beside_share - share).abs() < 0.01, "{strata:?}");
        assert_eq!(strata.beside.is_some_and(|stratum| (stratum.ns.value() - 7.0).abs() < 0.01), share > 0.0);
    }
    let never = with_smt_interference(Actor::Median, Population::Alone, |_| 4);
    assert_eq!(never.verdict, Verdict::Interfered("60 of 60 pairs excluded (SMT interference)".into()));
}

#[test]
fn all_moments_count_by_their_share_where_the_slowest_actor_does() {
    // The median of all pairs would be 5 or 7 ns, and jump from the one to the other at a share of a half.
    for (beside, cost) in
        [(|_| 0, 5.0), (|pair| usize::from(pair % 4 == 0), 5.5), (|pair| usize::from(pair % 2 == 0), 6.0), (|_| 1, 7.0)]
            as [(fn(u64) -> usize, f64); 4]
    {
        let all = with_smt_interference(Actor::Slowest, Population::All, beside);
        assert_eq!(all.excluded, 0);
        let estimate = all.estimate.unwrap();
        assert!((estimate.ns.value() - cost).abs() < 0.1, "{cost}: {estimate:?}");
        assert!(estimate.ns_within.unwrap().contains(cost));
        assert_eq!(estimate.population, Population::All);
    }
}

#[test]
fn the_cost_is_that_of_the_actors_it_is_asked_for() {
    let of = |actor| with_smt_interference(actor, Population::All, |_| 2).estimate.unwrap();
    assert!((of(Actor::Slowest).ns.value() - 7.0).abs() < 0.01);
    assert!((of(Actor::Median).ns.value() - 6.0).abs() < 0.01, "the mean of the two in the middle");
    let estimate = of(Actor::Median);
    assert!((estimate.slowest_ns.value() - 7.0).abs() < 0.01 && (estimate.fastest_ns.value() - 5.0).abs() < 0.01);
    // Two actors do an operation in 5 ns, two in 7: 0.2 * 2 + 0.1429 * 2 operations in a nanosecond.
    assert!((4.0 / estimate.rate_ns.unwrap().value() - (2.0 / 5.0 + 2.0 / 7.0)).abs() < 1e-3);
    // Where they contend, two were fast while the others waited.
    assert_eq!(of(Actor::Slowest).rate_ns, Some(of(Actor::Slowest).ns));
}
