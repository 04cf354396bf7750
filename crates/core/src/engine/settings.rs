//! How samples are sized, figures judged and the pairs of a case divided.

use std::time::Duration;

use crate::engine::stopping::PrecisionRule;

/// How samples are sized and figures judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long a sample should be: long against the clock's resolution, short against a scheduler tick (1 to
    /// 4 ms).
    pub sample: Duration,
    /// Wider intervals (half-width relative to the point) are `Noisy`.
    pub noisy_above: f64,
    /// When to stop.
    pub rule: PrecisionRule,
}

impl Settings {
    /// [`Settings::noisy_above`] of every preset.
    pub const NOISY_ABOVE: f64 = 0.05;

    /// The settings of every preset, with this rule. Samples of 100 us are a thousand times longer than reading the clock and ten
    /// times shorter than a scheduler tick; experiments may ask for others.
    pub const fn with_rule(rule: PrecisionRule) -> Self {
        Self { sample: Duration::from_micros(100), noisy_above: Self::NOISY_ABOVE, rule }
    }
}

/// Into how many measurement blocks the pairs of a case are divided.
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
