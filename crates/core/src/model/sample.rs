//! A sample: one timed execution of one of the two loops of a case.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Actor, Ticks};

/// Which of the two loops of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The context alone.
    Baseline = 0,
    /// The context and the primitive once more.
    Test = 1,
    /// The context and the primitive twice more: shows whether a second copy costs what the first one does.
    Double = 2,
}

impl Side {
    /// The other loop of a pair.
    pub const fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Test,
            Self::Test | Self::Double => Self::Baseline,
        }
    }

    /// How many copies of the primitive follow the context.
    pub const fn copies(self) -> u64 {
        self as u64
    }
}

/// The request to run one side once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shot {
    /// Which loop.
    pub side: Side,
    /// How often the loop repeats; the experiment says how many operations that are.
    pub iterations: u64,
    /// Number of the pair this shot belongs to. Both shots of a pair work on the same memory; experiments
    /// take fresh memory from pair to pair where its address matters (which cache line, which slice).
    pub pair: u64,
}

/// The least part of a window in which all actors must be seen to run.
pub const LEAST_OVERLAP: f64 = 0.95;

words! {
    /// A cause, seen outside the measured value, that makes a sample unfit.
    pub enum Disturbance ("disturbance") {
        /// The operating system took the CPU away from an actor.
        InvoluntarySwitch = "involuntary context switch",
        /// An actor changed its CPU.
        Migration = "migration",
        /// The clock of the device changed while it measured.
        ClockChange = "clock change",
        /// Another hardware thread of an actor's core was active.
        SmtInterference = "SMT interference",
        /// The machine was not in the state that held most of the time: all cases of a class changed at once.
        AnotherState = "another machine state",
        /// The actors did not all run for at least [`LEAST_OVERLAP`] of the window that they were timed in.
        NotTogether = "not together",
    }
}

/// The time of one actor in a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActorTime {
    /// How long it took.
    pub elapsed: Ticks,
    /// Whether another hardware thread of its core was active.
    pub smt_interference: bool,
}

/// One timed execution of one loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// The actor that was done first.
    pub fastest: Ticks,
    /// The median actor; of an even number of actors, the mean of the two in the middle.
    pub median: Ticks,
    /// The actor that took longest.
    pub slowest: Ticks,
    /// The time that an actor of the mean rate takes: the harmonic mean over all actors, in ticks. The total rate of all
    /// actors is their number divided by this.
    pub mean_rate: f64,
    /// The time of each actor, in the actors' order; empty where SMT interference is not detected.
    pub actors: Vec<ActorTime>,
    /// Nanoseconds per tick, measured once or in this very sample.
    pub ns_per_tick: f64,
    /// Core or SM cycles per tick while this sample ran, where that could be measured.
    pub cycles_per_tick: Option<f64>,
    /// Whether an actor completed nothing in the window, so that its operation takes longer than the window.
    pub is_starved: bool,
    /// Why this sample must be excluded, if so.
    pub disturbance: Option<Disturbance>,
}

impl Sample {
    /// Summarizes the elapsed ticks of all actors. `None` if there is no actor.
    pub fn of_actors(elapsed: &mut [Ticks], ns_per_tick: f64) -> Option<Self> {
        elapsed.sort_unstable();
        let (fastest, slowest) = (*elapsed.first()?, *elapsed.last()?);
        let middle = elapsed.len() / 2;
        let lower = if elapsed.len() % 2 == 1 { middle } else { middle - 1 };
        let rates: f64 = elapsed.iter().map(|ticks| 1.0 / ticks.0.max(1) as f64).sum();
        Some(Self {
            fastest,
            median: Ticks(elapsed[lower].0.midpoint(elapsed[middle].0)),
            slowest,
            mean_rate: elapsed.len() as f64 / rates,
            ns_per_tick,
            ..Self::default()
        })
    }

    /// The sample of one actor.
    pub fn of_one(elapsed: Ticks, ns_per_tick: f64) -> Self {
        Self {
            fastest: elapsed,
            median: elapsed,
            slowest: elapsed,
            mean_rate: elapsed.0 as f64,
            ns_per_tick,
            ..Self::default()
        }
    }

    /// How long the actor that counts took, in ticks.
    pub fn ticks_of(&self, actor: Actor) -> f64 {
        match actor {
            Actor::Slowest => self.slowest.0 as f64,
            Actor::Median => self.median.0 as f64,
            Actor::Mean => self.mean_rate,
        }
    }

    /// The sample of a loop `factor` times as long.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let scaled = |ticks: Ticks| Ticks((ticks.0 as f64 * factor) as u64);
        Self {
            fastest: scaled(self.fastest),
            median: scaled(self.median),
            slowest: scaled(self.slowest),
            mean_rate: self.mean_rate * factor,
            ..self
        }
    }

    /// How long the slowest actor took, in nanoseconds.
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

    #[test]
    fn the_median_of_two_actors_is_neither_of_them() {
        let sample = Sample::of_actors(&mut [Ticks(30), Ticks(10)], 1.0).unwrap();
        assert_eq!((sample.fastest, sample.median, sample.slowest), (Ticks(10), Ticks(20), Ticks(30)));
        // Rates of 1/10 and 1/30 together are 2/15.
        assert!((2.0 / sample.mean_rate - (0.1 + 1.0 / 30.0)).abs() < 1e-12);
        assert_eq!(Sample::of_actors(&mut [Ticks(7)], 1.0), Some(Sample::of_one(Ticks(7), 1.0)));
    }
}
