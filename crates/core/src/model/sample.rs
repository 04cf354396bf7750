//! A sample: one timed execution of one of the two loops of a case.

use std::fmt;

use crate::model::units::Ticks;

/// Which of the two loops of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The context alone.
    Baseline,
    /// The context and the primitive once more.
    Test,
}

impl Side {
    /// The other loop.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Test,
            Self::Test => Self::Baseline,
        }
    }
}

/// The request to run one side once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shot {
    /// Which loop.
    pub side: Side,
    /// How often the loop repeats; the experiment says how many operations that are.
    pub iterations: u64,
    /// Number of the pair this shot belongs to. Both shots of a pair work on the same memory; experiments
    /// take fresh memory from pair to pair where its address matters (which cache line, which slice).
    pub pair: u64,
}

/// A cause, seen outside the measured value, that makes a sample unfit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disturbance {
    /// The operating system took the CPU away from an actor.
    InvoluntarySwitch,
    /// An actor changed its CPU.
    Migration,
    /// The clock of the device changed while it measured.
    ClockChange,
    /// Another hardware thread of an actor's core was active.
    SmtInterference,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InvoluntarySwitch => "involuntary context switch",
            Self::Migration => "migration",
            Self::ClockChange => "clock change",
            Self::SmtInterference => "SMT interference",
        })
    }
}

/// One timed execution of one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The actor that was done first.
    pub fastest: Ticks,
    /// The actor in the middle.
    pub median: Ticks,
    /// The actor that took longest: the one that counts.
    pub slowest: Ticks,
    /// Nanoseconds per tick, measured once or in this very sample.
    pub ns_per_tick: f64,
    /// Core or SM cycles per tick while this sample ran, where that could be measured.
    pub cycles_per_tick: Option<f64>,
    /// Why this sample must be excluded, if so.
    pub disturbance: Option<Disturbance>,
    /// Whether another hardware thread of an actor's core was active. The pair is excluded for it if enough others are left.
    pub smt_interference: bool,
}

impl Sample {
    /// Summarizes the elapsed ticks of all actors. `None` if there is no actor.
    #[must_use]
    pub fn of_actors(elapsed: &mut [Ticks], ns_per_tick: f64) -> Option<Self> {
        elapsed.sort_unstable();
        Some(Self {
            fastest: *elapsed.first()?,
            median: *elapsed.get(elapsed.len() / 2)?,
            slowest: *elapsed.last()?,
            ns_per_tick,
            cycles_per_tick: None,
            disturbance: None,
            smt_interference: false,
        })
    }

    /// How long the slowest actor took, in nanoseconds.
    #[must_use]
    pub fn slowest_ns(&self) -> f64 {
        self.slowest.0 as f64 * self.ns_per_tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_keeps_fastest_median_and_slowest() {
        let mut elapsed = [Ticks(30), Ticks(10), Ticks(20)];
        let sample = Sample::of_actors(&mut elapsed, 0.5).unwrap();
        assert_eq!((sample.fastest, sample.median, sample.slowest), (Ticks(10), Ticks(20), Ticks(30)));
        assert!((sample.slowest_ns() - 15.0).abs() < 1e-12);
        assert_eq!(Sample::of_actors(&mut [], 1.0), None);
    }
}
