//! Puts the cycle counters of all multiprocessors on one clock.
//!
//! The warps of a multiprocessor share a cycle counter; counters of different multiprocessors start at different times
//! (see the source, "Methodology"). All multiprocessors see the global timer. Its steps (32 ns on an H200) are much
//! coarser than a cycle, so its value is of little use, but each step happens at the same moment everywhere. Each block
//! polls the timer before and after the snippet and notes at which cycle it first sees each of many steps. A block sees
//! no step too early and each up to one poll too late, so the earliest of many steps is only a little late. Between
//! these two anchors, the time of a cycle is interpolated.
//!
//! The resolution is the disagreement between two halves of the observations, even and odd steps. Whether the timer
//! reaches all multiprocessors at the same time cannot be seen.

use super::ClockOffset;

/// A step of the global timer, as one block saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The timer after the step.
    pub(super) ns: u64,
    /// The cycle counter when the step was seen.
    pub(super) cycles: u64,
}

/// What a block saw before and after the snippet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// Steps before the snippet.
    pub(super) before: Vec<Step>,
    /// Steps after the snippet.
    pub(super) after: Vec<Step>,
}

/// The relation of a cycle counter to the global timer: a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Relation {
    /// A moment near the snippet from which to count.
    pub(super) origin: Step,
    /// The clock of the multiprocessor.
    pub(super) cycles_per_ns: f64,
    /// The time according to even steps alone, minus the time according to odd steps alone, in ns.
    disagreement_ns: f64,
}

impl Relation {
    /// The relation from what a block saw; `None` if the block saw no steps, or the counter stood still.
    pub(super) fn of(steps: &Steps) -> Option<Self> {
        let whole = line(steps, |_| true)?;
        let halves = [0, 1].map(|half| line(steps, |at| at % 2 == half));
        let disagreement_ns = match halves {
            [Some(even), Some(odd)] => {
                // The snippet runs between the two sets.
                let (first, last) = (steps.before.last()?.cycles, steps.after.first()?.cycles);
                let middle = first + last.wrapping_sub(first) / 2;
                even.ns(middle, whole.origin) - odd.ns(middle, whole.origin)
            }
            _ => 0.0,
        };
        Some(Self { disagreement_ns, ..whole })
    }

    /// The time of a cycle in ns after a moment of the global timer.
    pub(super) fn ns_after(&self, cycles: u64, moment_ns: u64) -> f64 {
        let since = Step { ns: moment_ns, cycles: 0 };
        self.ns(cycles, since)
    }

    /// By how much two halves of the observations disagree.
    pub(super) fn disagreement_cycles(&self) -> f64 {
        (self.disagreement_ns * self.cycles_per_ns).abs()
    }

    fn ns(&self, cycles: u64, since: Step) -> f64 {
        difference(self.origin.ns, since.ns) + difference(cycles, self.origin.cycles) / self.cycles_per_ns
    }
}

/// Multiprocessors whose counters began together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockGroup {
    /// The number of multiprocessors.
    pub(super) multiprocessors: usize,
    /// Cycles from the counter that is least ahead to the one that is most ahead.
    pub(super) spread_cycles: f64,
}

/// Counters that are closer than this began together; counters of different groups are millions of cycles apart.
const TOGETHER_CYCLES: f64 = 1000.0;

/// Groups the counters that began together. Nothing in the measurement knows of these groups, so their small spread
/// shows that the measurement is right.
pub(super) fn groups(clocks: &[ClockOffset]) -> Vec<ClockGroup> {
    let mut ahead: Vec<f64> = clocks.iter().map(|clock| clock.ahead_cycles).collect();
    ahead.sort_by(f64::total_cmp);
    let of_group = |group: &[f64]| ClockGroup {
        multiprocessors: group.len(),
        spread_cycles: group.last().unwrap_or(&0.0) - group.first().unwrap_or(&0.0),
    };
    ahead.chunk_by(|one, next| next - one < TOGETHER_CYCLES).map(of_group).collect()
}

/// `a - b`, which may be negative.
fn difference(a: u64, b: u64) -> f64 {
    a.wrapping_sub(b).cast_signed() as f64
}

/// The line through the anchors of both sets of steps, from the steps at the places for which `uses` holds.
fn line(steps: &Steps, uses: impl Fn(usize) -> bool) -> Option<Relation> {
    let chosen = |steps: &[Step]| -> Vec<Step> {
        steps.iter().enumerate().filter(|(at, _)| uses(*at)).map(|(_, step)| *step).collect()
    };
    let (before, after) = (chosen(&steps.before), chosen(&steps.after));
    let (first, last) = (before.first()?, after.last()?);
    let mut rate = difference(last.cycles, first.cycles) / difference(last.ns, first.ns);
    let mut origin = *first;
    // The anchors depend a little on the rate, and the rate on the anchors.
    for _ in 0..3 {
        if !(rate.is_finite() && rate > 0.0) {
            return None;
        }
        origin = anchor(&before, rate)?;
        let end = anchor(&after, rate)?;
        rate = difference(end.cycles, origin.cycles) / difference(end.ns, origin.ns);
    }
    (rate.is_finite() && rate > 0.0).then_some(Relation { origin, cycles_per_ns: rate, disagreement_ns: 0.0 })
}

/// The step that was seen least late.
fn anchor(steps: &[Step], rate: f64) -> Option<Step> {
    let first = steps.first()?;
    let late = |step: &Step| difference(step.cycles, first.cycles) - rate * difference(step.ns, first.ns);
    steps.iter().copied().min_by(|a, b| late(a).total_cmp(&late(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of 32 ns seen by polls of `poll` cycles, on a counter of 2 cycles per ns that is `ahead` cycles ahead.
    fn seen(first_ns: u64, count: u64, ahead: u64, poll: u64) -> Vec<Step> {
        let step = |number: u64| {
            let ns = first_ns + 32 * number;
            let exact = 2 * ns + ahead;
            // Polls at multiples of `poll`.
            Step { ns, cycles: exact.next_multiple_of(poll) }
        };
        (0..count).map(step).collect()
    }

    fn steps(ahead: u64, poll: u64) -> Steps {
        Steps { before: seen(1_000, 64, ahead, poll), after: seen(21_000, 64, ahead, poll) }
    }

    #[test]
    fn counters_that_begin_at_different_times_are_put_on_one_clock() {
        let (one, other) = (steps(0, 43), steps(1_000_000, 37));
        let [one, other] = [&one, &other].map(|steps| Relation::of(steps).unwrap());
        // The same moment on both counters.
        let moments = [one.ns_after(2 * 10_000, 1_000), other.ns_after(2 * 10_000 + 1_000_000, 1_000)];
        assert!((moments[0] - 9_000.0).abs() < 2.0 && (moments[1] - 9_000.0).abs() < 2.0, "{moments:?}");
        for relation in [one, other] {
            assert!((relation.cycles_per_ns - 2.0).abs() < 1e-3, "{relation:?}");
            assert!(relation.disagreement_cycles() < 8.0, "{relation:?}");
        }
    }

    #[test]
    fn late_steps_do_not_matter_and_show_in_the_disagreement_if_there_are_no_others() {
        let mut disturbed = steps(0, 1);
        for step in disturbed.before.iter_mut().skip(1) {
            step.cycles += 500;
        }
        let relation = Relation::of(&disturbed).unwrap();
        assert!((relation.ns_after(20_000, 1_000) - 9_000.0).abs() < 1.0, "one good step is enough: {relation:?}");
        assert!(relation.disagreement_cycles() > 1.0, "{relation:?}");
    }

    #[test]
    fn counters_that_began_together_are_a_group() {
        let clock =
            |multiprocessor, ahead_cycles| ClockOffset { multiprocessor, ahead_cycles, disagreement_cycles: 1.0 };
        let clocks = [clock(0, 0.0), clock(1, 5e6 + 4.0), clock(2, -6.0), clock(3, 5e6)];
        let found: Vec<(usize, f64)> =
            groups(&clocks).iter().map(|group| (group.multiprocessors, group.spread_cycles)).collect();
        assert_eq!(found, [(2, 6.0), (2, 4.0)]);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn without_steps_there_is_no_relation() {
        assert_eq!(Relation::of(&Steps::default()), None);
        let still = Steps { before: vec![Step { ns: 5, cycles: 7 }], after: vec![Step { ns: 5, cycles: 7 }] };
        assert_eq!(Relation::of(&still), None);
    }
}
