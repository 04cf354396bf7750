//! What the engine measures: something that runs one of its two loops and says how long each actor took.

use std::fmt;
use std::time::Duration;

use crate::model::detail::Detail;
use crate::model::evidence::Evidence;
use crate::model::units::{Hertz, Ticks};

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

/// The order to run one side once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shot {
    /// Which loop.
    pub side: Side,
    /// How often the loop repeats; the experiment says how many operations that are.
    pub iterations: u64,
    /// Number of the pair this shot belongs to. Both shots of a pair work on the same memory; experiments
    /// take fresh memory from pair to pair where its place matters (which cache line, which slice).
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
    /// Someone else used the core of an actor.
    BusyNeighbour,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InvoluntarySwitch => "involuntary context switch",
            Self::Migration => "migration",
            Self::ClockChange => "clock change",
            Self::BusyNeighbour => "busy neighbour",
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
    /// Nanoseconds per tick, as measured (once, or in this very sample).
    pub ns_per_tick: f64,
    /// Core or SM cycles per tick while this sample ran, where that could be measured.
    pub cycles_per_tick: Option<f64>,
    /// Why this sample must be set aside, if so.
    pub disturbance: Option<Disturbance>,
    /// Whether someone else was seen to use the core of an actor. It is set aside for that if there are others.
    pub busy_neighbour: bool,
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
            busy_neighbour: false,
        })
    }

    /// How long the slowest actor took, in nanoseconds.
    #[must_use]
    pub fn slowest_ns(&self) -> f64 {
        self.slowest.0 as f64 * self.ns_per_tick
    }
}

/// The clock that an experiment reads, itself measured first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruler {
    /// What it is: `tsc`, `sm clock`.
    pub name: &'static str,
    /// Its frequency as measured.
    pub frequency: Hertz,
    /// The smallest step seen between two different readings.
    pub resolution: Ticks,
    /// What a reading costs.
    pub read_cost: Ticks,
}

/// Why a sample could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// The loop did not end within its bound.
    #[error("not done after {}", humantime::format_duration(*.limit))]
    TimedOut {
        /// The bound.
        limit: Duration,
    },
    /// This case cannot run here, which only showed when it was tried.
    #[error("{0}")]
    Unsupported(String),
    /// The time of the loop does not grow with its iterations: there is nothing in it.
    #[error("{0}")]
    Elided(String),
    /// Anything else, with what a user needs to act.
    #[error("{0}")]
    Failed(String),
}

/// Whether the primitive did its work, as far as that can be seen after the samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// It did.
    Ok,
    /// It did not; expected and found.
    Failed(String),
    /// There is nothing to be seen.
    NotApplicable,
}

/// A case made ready to run: two loops over the same state.
///
/// An experiment says how many operations each side executes and runs a side when asked. Everything else (how
/// often, in which order, when to stop, what it means) is the [`crate::Engine`]'s.
pub trait Experiment {
    /// The clock that the samples are read from.
    fn ruler(&self) -> Ruler;

    /// How many operations an actor executes in `iterations` of `side`.
    fn operations(&self, side: Side, iterations: u64) -> u64;

    /// Runs one side once.
    ///
    /// # Errors
    /// When the loop does not end within its bound, or cannot run at all.
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError>;

    /// Runs several shots in their order. Overridden where queueing them saves time between samples.
    ///
    /// # Errors
    /// As [`Self::sample`]; the samples of the shots before the failing one are lost.
    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        shots.iter().map(|shot| self.sample(*shot)).collect()
    }

    /// The operations that stand once in the machine code of one iteration.
    fn unroll(&self) -> u32;

    /// The fewest iterations one sample may have, for experiments whose loop needs a while to come into its steady
    /// state.
    fn min_iterations(&self) -> u64 {
        1
    }

    /// The most iterations one sample may have, for experiments with a bound of their own.
    fn max_iterations(&self) -> u64 {
        u64::MAX
    }

    /// How long a sample should be, for experiments whose clock needs less than the engine's settings say.
    fn sample_length(&self) -> Option<Duration> {
        None
    }

    /// How long a sample may be at most, for experiments that are interrupted when they take long. A test may take hundreds of
    /// times as long as what it has in common with its baseline.
    fn longest_sample(&self) -> Option<Duration> {
        None
    }

    /// How far the clock of a pair may be from that of the others, relative to it, before the pair is set aside; `None`
    /// where each sample does not tell its clock, or does not tell it well enough for that.
    fn clock_tolerance(&self) -> Option<f64> {
        None
    }

    /// Whether there is one actor: nobody but someone else can be its neighbour.
    fn has_one_actor(&self) -> bool {
        false
    }

    /// Whether the primitive did its work in all shots so far.
    fn check(&mut self) -> Check;

    /// How much of the time that the settings allow for one case is worth spending on this one: more where every sample
    /// is long whatever its iterations, less where more pairs tell nothing more.
    fn share_of_time(&self) -> f64 {
        1.0
    }

    /// The machine instructions found in the timed region.
    fn evidence(&mut self) -> Evidence;

    /// What a reader of the figure must know: "4 threads on 2 CPUs".
    fn remark(&self) -> Option<String> {
        None
    }

    /// What else can be found out about the case: percentiles, fairness, a proof that takes a loop of its own. Asked once, after the last sample and its
    /// check; may take some milliseconds.
    ///
    /// # Errors
    /// What went amiss, if the primitive did not do its work meanwhile: expected and found.
    fn details(&mut self) -> Result<Vec<Detail>, String> {
        Ok(Vec::new())
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
