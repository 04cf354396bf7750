//! Which pairs are excluded from an estimate, and why. The causes are seen outside the measured value; the value itself
//! never decides.

use crate::model::observation::Observation;
use crate::model::sample::Disturbance;
use crate::model::units::Hertz;
use crate::stats;

/// The median clock of the pairs.
pub(crate) fn usual_clock(observations: &[Observation]) -> Option<Hertz> {
    let clocks: Vec<f64> = observations.iter().filter_map(|o| o.clock).map(Hertz::value).collect();
    stats::median(&clocks).map(Hertz)
}

/// Excludes the pairs whose clock differs from the usual one by more than `tolerance` (relative). A clock that changed
/// between two pairs shows in neither of their differences, so the pair cannot show it itself.
pub(crate) fn exclude_other_clocks(observations: &mut [Observation], usual: Hertz, tolerance: f64) {
    for observation in observations {
        if observation.clock.is_some_and(|clock| (clock.value() / usual.value() - 1.0).abs() > tolerance) {
            observation.excluded.get_or_insert(Disturbance::ClockChange);
        }
    }
}

/// Excludes the pairs with SMT interference if enough others are left: at least a dozen, and a twentieth of all for one
/// actor or half of all for several.
///
/// For one actor the remaining pairs alone give its undisturbed cost. What several actors cost each other depends more on
/// where they run than on the other hardware threads of their cores, and few pairs sample few placements. Where too few
/// pairs would be left, all count, and the verdict says so.
pub(crate) fn exclude_smt_interference(observations: &mut [Observation], has_one_actor: bool) {
    const ENOUGH: usize = 12;
    let share = if has_one_actor { 20 } else { 2 };
    for observation in observations.iter_mut().filter(|o| o.excluded == Some(Disturbance::SmtInterference)) {
        observation.excluded = None;
    }
    let undisturbed = observations.iter().filter(|o| o.excluded.is_none()).count();
    let alone = observations.iter().filter(|o| o.excluded.is_none() && !o.smt_interference).count();
    if alone >= ENOUGH && alone * share >= undisturbed {
        for observation in observations.iter_mut().filter(|o| o.smt_interference) {
            observation.excluded.get_or_insert(Disturbance::SmtInterference);
        }
    }
}

/// The share of the counted pairs that had SMT interference; `None` up to a tenth.
pub(crate) fn smt_interference_share(observations: &[Observation]) -> Option<f64> {
    let counted = observations.iter().filter(|o| o.excluded.is_none());
    let (count, disturbed) =
        counted.fold((0_u64, 0_u64), |(count, disturbed), o| (count + 1, disturbed + u64::from(o.smt_interference)));
    Some(disturbed as f64 / count as f64).filter(|share| *share > 0.1)
}

/// How many pairs were excluded, and why.
pub(crate) fn summary(observations: &[Observation]) -> String {
    let mut causes: Vec<String> =
        observations.iter().filter_map(|o| o.excluded.as_ref()).map(ToString::to_string).collect();
    let count = causes.len();
    causes.sort();
    causes.dedup();
    format!("{count} of {} pairs excluded: {}", observations.len(), causes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::units::Ticks;

    fn observation(smt_interference: bool) -> Observation {
        Observation {
            pair: 0,
            baseline_first: true,
            baseline: Ticks(100),
            test: Ticks(200),
            ns: 1.0,
            cycles: None,
            fastest_ns: 1.0,
            median_ns: 1.0,
            clock: None,
            smt_interference,
            excluded: None,
        }
    }

    fn excluded(observations: &[Observation]) -> usize {
        observations.iter().filter(|o| o.excluded == Some(Disturbance::SmtInterference)).count()
    }

    #[test]
    fn interference_is_excluded_where_enough_other_pairs_are_left() {
        let of = |alone: usize, disturbed: usize| -> Vec<Observation> {
            (0..alone + disturbed).map(|index| observation(index >= alone)).collect()
        };
        let mut few = of(11, 99);
        exclude_smt_interference(&mut few, true);
        assert_eq!((excluded(&few), smt_interference_share(&few)), (0, Some(0.9)), "too few without");
        few.push(observation(false));
        exclude_smt_interference(&mut few, true);
        assert_eq!((excluded(&few), smt_interference_share(&few)), (99, None));
        // What is enough at one time may be a small part later on: then all count again.
        few.extend(of(0, 150));
        exclude_smt_interference(&mut few, true);
        assert_eq!(excluded(&few), 0);
        // Of several actors, half of the pairs must be left.
        let (mut half, mut less) = (of(50, 50), of(49, 51));
        exclude_smt_interference(&mut half, false);
        exclude_smt_interference(&mut less, false);
        assert_eq!((excluded(&half), excluded(&less)), (50, 0));
        assert_eq!(smt_interference_share(&of(9, 1)), None, "a tenth is not mentioned");
    }

    #[test]
    fn another_cause_stays() {
        let mut observations: Vec<Observation> = (0..60).map(|index| observation(index < 20)).collect();
        observations[0].excluded = Some(Disturbance::Migration);
        observations[59].excluded = Some(Disturbance::InvoluntarySwitch);
        exclude_smt_interference(&mut observations, true);
        assert_eq!(excluded(&observations), 19);
        assert_eq!(observations[0].excluded, Some(Disturbance::Migration));
        assert!(observations[20..59].iter().all(|o| o.excluded.is_none()));
    }
}
