//! When a case has been measured enough: how its pairs are divided, the rule that ends a block, and the request to stop. A
//! stopping rule is an object of its own, tested with made-up progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Interval;

/// What a stopping rule sees. Costs are in nanoseconds per operation.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The point and its 99 % interval so far, if there are enough pairs for them. Not 95 %: every look is another
    /// chance to stop by luck, and with noise of two values a 95 % interval stops wrongly in one look of thirty.
    pub estimate: Option<(f64, Interval)>,
    /// The cost that one step of the clock amounts to.
    pub resolution_ns: f64,
    /// Pairs taken, the excluded ones too.
    pub pairs: u64,
    /// Time spent on this case.
    pub elapsed: Duration,
}

/// Why no more pairs are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The interval is as narrow as was asked for.
    Precise,
    /// The cost is certainly smaller than the clock resolves.
    InsideResolution,
    /// The pairs or the time allowed for one case are spent.
    BudgetSpent,
}

/// Stops at a relative precision or when a budget is spent: decides, between batches of pairs, whether to go on. It does not
/// look at the sign or size of single observations.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionRule {
    /// Half-width of the 99 % interval, relative to the point, that is narrow enough.
    pub precision: f64,
    /// Pairs before the first look. Fewer than 8 give no 99 % interval; 12 are the fewest whose 95 % interval is not
    /// all but the extremes.
    pub min_pairs: u64,
    /// Most pairs.
    pub max_pairs: u64,
    /// Most time.
    pub max_time: Duration,
}

impl PrecisionRule {
    /// This rule with a share of the time. A share that is not a positive number changes nothing.
    pub fn with_share_of_time(&self, share: f64) -> Self {
        let seconds = self.max_time.as_secs_f64() * if share > 0.0 { share } else { 1.0 };
        Self { max_time: Duration::try_from_secs_f64(seconds).unwrap_or(self.max_time), ..self.clone() }
    }

    /// This rule for one of `blocks` blocks that divide the pairs and the time.
    pub fn divided_by(&self, blocks: u32) -> Self {
        let blocks = blocks.max(1);
        let max_pairs = self.max_pairs.div_ceil(u64::from(blocks)).max(self.min_pairs);
        Self { max_pairs, max_time: self.max_time / blocks, ..self.clone() }
    }

    /// How many pairs must have been taken before [`Self::judge`] is asked for the `look`th time (from 0).
    ///
    /// Each look gives chance another opportunity to stop early on a lucky interval, so there are few: each half as
    /// far again as the one before.
    pub fn next_look(&self, look: u32) -> u64 {
        let pairs = self.min_pairs as f64 * 1.5_f64.powi(look.min(1000).cast_signed());
        pairs.min(self.max_pairs as f64) as u64
    }

    /// Why to stop; `None` to go on.
    pub fn judge(&self, progress: &Progress) -> Option<Stop> {
        if let Some((point, interval)) = progress.estimate
            && progress.pairs >= self.min_pairs
        {
            if interval.half_width() <= self.precision * point.abs() && !interval.contains(0.0) {
                return Some(Stop::Precise);
            }
            if interval.low.abs().max(interval.high.abs()) <= progress.resolution_ns {
                return Some(Stop::InsideResolution);
            }
        }
        let spent = progress.pairs >= self.max_pairs || progress.elapsed >= self.max_time;
        spent.then_some(Stop::BudgetSpent)
    }
}

// The request to stop, passed from a signal handler to whoever measures.

/// A flag that is raised once and seen by every clone.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everyone who holds a clone to stop at the next chance.
    pub fn cancel(&self) {
        // Release/acquire is more than a lone flag needs; it costs nothing between samples.
        self.0.store(true, Ordering::Release);
    }

    /// Whether someone asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// How samples are sized, figures judged and the pairs of a case divided.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long a sample should be: long against the clock's resolution, short against a scheduler tick (1 to
    /// 4 ms).
    pub sample: Duration,
    /// Wider intervals (half-width relative to the point) are `Noisy`.
    pub noisy_above: f64,
    /// When to stop.
    pub rule: PrecisionRule,
    /// How many measurement blocks the pairs are divided into.
    pub blocks: BlockCount,
    /// Whether each block may have a level of its own, beyond noise.
    pub has_levels: bool,
}

impl Settings {
    /// [`Settings::noisy_above`] of every preset.
    pub const NOISY_ABOVE: f64 = 0.05;

    /// The settings of every preset, with this rule and one block. Samples of 100 us are a thousand times longer than reading the clock and ten
    /// times shorter than a scheduler tick; experiments may ask for others.
    pub const fn with_rule(rule: PrecisionRule) -> Self {
        Self {
            sample: Duration::from_micros(100),
            noisy_above: Self::NOISY_ABOVE,
            rule,
            blocks: BlockCount::ONE,
            has_levels: false,
        }
    }
}

/// How many measurement blocks the pairs of a case are divided into.
///
/// The state of a machine (clock, host, SMT interference) changes within tenths of a second. It is the same for all pairs
/// of one block, so no number of pairs averages it out. Blocks that are spread over a run sample different states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockCount {
    /// A case is measured in at least this many blocks, however narrow its interval is: one block looks steadier than the
    /// machine is.
    pub min: u32,
    /// The pairs and the time for a case are divided by this.
    pub max: u32,
}

impl BlockCount {
    /// All pairs are taken in one block.
    pub const ONE: Self = Self { min: 1, max: 1 };
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: PrecisionRule =
        PrecisionRule { precision: 0.01, min_pairs: 8, max_pairs: 100, max_time: Duration::from_secs(1) };

    fn progress(point: f64, half_width: f64, pairs: u64) -> Progress {
        Progress {
            estimate: Some((point, Interval { low: point - half_width, high: point + half_width })),
            resolution_ns: 0.01,
            pairs,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn a_narrow_interval_stops() {
        assert_eq!(RULE.judge(&progress(5.0, 0.04, 8)), Some(Stop::Precise));
        assert_eq!(RULE.judge(&progress(-5.0, 0.04, 8)), Some(Stop::Precise), "the sign does not matter");
        assert_eq!(RULE.judge(&progress(5.0, 0.06, 8)), None);
        assert_eq!(RULE.judge(&progress(5.0, 0.04, 7)), None);
    }

    #[test]
    fn a_cost_inside_the_resolution_stops() {
        assert_eq!(RULE.judge(&progress(0.0, 0.01, 8)), Some(Stop::InsideResolution));
        assert_eq!(RULE.judge(&progress(0.0, 0.0, 8)), Some(Stop::InsideResolution));
        assert_eq!(RULE.judge(&progress(0.0, 0.02, 8)), None);
    }

    #[test]
    fn budgets_stop() {
        assert_eq!(RULE.judge(&progress(1.0, 5.0, 100)), Some(Stop::BudgetSpent));
        let slow = Progress { elapsed: Duration::from_secs(1), estimate: None, ..progress(0.0, 0.0, 2) };
        assert_eq!(RULE.judge(&slow), Some(Stop::BudgetSpent));
    }

    #[test]
    fn a_share_of_the_time() {
        let time = |share| RULE.with_share_of_time(share).max_time;
        assert_eq!((time(0.5), time(4.0)), (Duration::from_millis(500), Duration::from_secs(4)));
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].into_iter().all(|share| time(share) == RULE.max_time));
        assert_eq!(RULE.with_share_of_time(0.5).max_pairs, RULE.max_pairs);
    }

    #[test]
    fn blocks_divide_the_budget_but_not_the_fewest_pairs() {
        let block = RULE.divided_by(4);
        assert_eq!((block.max_pairs, block.max_time, block.min_pairs), (25, Duration::from_millis(250), 8));
        assert_eq!(RULE.divided_by(50).max_pairs, 8);
        assert_eq!((RULE.divided_by(1), RULE.divided_by(0)), (RULE, RULE));
    }

    #[test]
    fn looks_are_few_and_never_pass_the_budget() {
        let looks: Vec<u64> = (0..8).map(|look| RULE.next_look(look)).collect();
        assert_eq!(looks, [8, 12, 18, 27, 40, 60, 91, 100]);
        assert_eq!(RULE.next_look(u32::MAX), 100);
    }
}
