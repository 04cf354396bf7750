//! The states of the machine in the course of a run.
//!
//! All costs of a class of cases often rise and fall together: with the clock of the cores, or where the host puts the
//! virtual CPUs. In each pass, each case says how far its block was from the case's median. The mean over the cases of a
//! class is what they have in common; where the level of the mean changes, so did the state of the machine.

use std::collections::BTreeMap;

use crate::Class;
use crate::engine::population::{Stage, States};
use crate::session::pending_case::PendingCase;
use crate::stats::{self, mean};

/// The fewest cases of a class: a case must not be compared with itself.
const FEWEST_CASES: usize = 4;

/// The fewest cases whose mean counts as shared: with fewer, too much of the mean is each case's own.
const FEWEST_TO_SHARE: usize = 8;

/// The states of each class of cases, from what is known of all cases so far, the finished ones too.
pub(super) fn states_of_classes<'a>(cases: impl Iterator<Item = &'a PendingCase>) -> BTreeMap<Class, States> {
    let mut courses: BTreeMap<Class, Vec<Vec<Stage>>> = BTreeMap::new();
    for pending in cases {
        courses.entry(pending.class()).or_default().push(pending.course());
    }
    courses.into_iter().map(|(class, courses)| (class, states(class, &courses))).collect()
}

fn states(class: Class, courses: &[Vec<Stage>]) -> States {
    // No single case moves the mean by more than that.
    const MOST: f64 = 2.0;
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for stage in courses.iter().flatten().filter(|stage| stage.relative > 0.0) {
        blocks.entry(stage.block).or_default().push(stage.relative.ln().clamp(-MOST, MOST));
    }
    blocks.retain(|_, logs| logs.len() >= FEWEST_CASES);
    let means: Vec<f64> = blocks.values().map(|logs| mean(logs)).collect();
    let of_block = with_transitions(&stats::states(&means));
    let usual: Vec<f64> = means.iter().zip(&of_block).filter(|(_, state)| **state == 0).map(|(log, _)| *log).collect();
    let level = mean(&usual);
    let shared = blocks.iter().zip(&means).filter(|((_, logs), _)| logs.len() >= FEWEST_TO_SHARE);
    States {
        shared: shared.map(|((block, _), log)| (*block, (log - level).exp())).collect(),
        is_clock: class == Class::NothingShared,
        others: blocks.keys().copied().zip(of_block).filter(|(_, state)| *state > 0).collect(),
        drift: drift(&usual),
    }
}

/// A run is compared with itself in this many parts, of at least [`SHORTEST_PART`] passes.
const PARTS: usize = 6;
const SHORTEST_PART: usize = 3;

/// The least drift that is reported.
const LEAST_DRIFT: f64 = 0.05;

/// The least drift, in standard errors of the difference between two parts.
const LEAST_ERRORS: f64 = 4.0;

/// The change of the level of a series, relative to it; `None` where noise explains it, or it is small. The series has one
/// logarithm for each pass; the noise follows from the differences of neighbours.
fn drift(usual: &[f64]) -> Option<f64> {
    let length = usual.len() / PARTS;
    if length < SHORTEST_PART {
        return None;
    }
    let levels: Vec<f64> = usual.chunks_exact(length).take(PARTS).filter_map(stats::median).collect();
    let steps: Vec<f64> = usual.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    // Half of the differences of two normal values are below 0.6745 of their deviation.
    let error = stats::median(&steps)? / 0.6745 / (length as f64).sqrt();
    let [low, high] = [f64::min, f64::max].map(|of| levels.iter().copied().reduce(of).unwrap_or(0.0));
    let change = (high - low).exp() - 1.0;
    (change >= LEAST_DRIFT && high - low >= LEAST_ERRORS * error).then_some(change)
}

/// Excludes transitions: a pass next to another state takes that state, because the pass in which the state changes has
/// blocks of both.
fn with_transitions(states: &[usize]) -> Vec<usize> {
    let beside = |at: usize| [at.wrapping_sub(1), at + 1].map(|other| states.get(other).copied().unwrap_or_default());
    (0..states.len())
        .map(|at| if states[at] > 0 { states[at] } else { beside(at).into_iter().max().unwrap_or(0) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(courses: &[Vec<Stage>]) -> States {
        states(Class::Lines, courses)
    }

    fn course(of_pass: impl Fn(u32) -> f64) -> Vec<Stage> {
        (1..=40).map(|block| Stage { block, relative: of_pass(block) }).collect()
    }

    #[test]
    fn what_most_cases_have_in_common_is_a_state_and_what_one_does_is_none() {
        let alternating =
            |sign: i32| course(move |pass| 1.0 + if pass % 2 == 0 { 0.05 } else { -0.05 } * f64::from(sign));
        assert_eq!(of(&[1, -1, 1, -1].map(alternating)), States::default());
        let shared = of(&[1; 8].map(alternating)).shared;
        assert!((shared[&2] / shared[&3] - 1.05 / 0.95).abs() < 1e-9, "{shared:?}");
        let steps: Vec<_> = (0..5).map(|_| course(|pass| if pass > 33 { 1.4 } else { 1.0 })).collect();
        assert_eq!(of(&steps).others.into_keys().collect::<Vec<_>>(), (33..=40).collect::<Vec<_>>());
        assert_eq!(of(&steps[..3]), States::default(), "three cases are not a class");
        let mut one = vec![course(|_| 1.0); 8];
        one[0] = steps[0].clone();
        assert!(of(&one).others.is_empty(), "a case that changes by itself");
    }

    /// As seen on 16 CPUs: three of seven processes 9 % below the others, which is no change of state.
    #[test]
    fn a_drift_below_a_change_of_state_is_told() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut noise = |sigma: f64| sigma * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0);
        let mut found = |change: f64, sigma: f64| {
            let courses: Vec<_> = (0..9)
                .map(|_| {
                    let level = |pass: u32| if pass < 18 { 1.0 } else { 1.0 + change };
                    (1..=42).map(|block| Stage { block, relative: level(block) * (1.0 + noise(sigma)) }).collect()
                })
                .collect();
            let states = of(&courses);
            assert_eq!(states.others.len(), 0, "{change}");
            states.drift
        };
        for change in [0.07, 0.09] {
            let drift = found(change, 0.02).unwrap();
            assert!((drift / change - 1.0).abs() < 0.4, "{change}: {drift}");
        }
        assert_eq!(found(0.02, 0.02), None, "little");
        for _ in 0..100 {
            assert_eq!(found(0.0, 0.03), None, "noise alone");
        }
    }
}
