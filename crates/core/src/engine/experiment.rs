//! What the engine measures: something that runs one of its two loops and says how long each actor took.

use std::time::{Duration, Instant};

use crate::{Actor, Check, Detail, Evidence, Hertz, Population, Sample, Shot, Side, Ticks};

/// The clock that an experiment reads, itself measured first.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruler {
    /// Its name: `tsc`, `sm clock`.
    pub name: &'static str,
    /// Its frequency as measured.
    pub frequency: Hertz,
    /// The smallest step seen between two different readings.
    pub resolution: Ticks,
    /// The cost of a reading.
    pub read_cost: Ticks,
}

/// Why a sample could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum ExperimentError {
    /// The loop did not end within this bound.
    #[error("not done after {}", humantime::format_duration(*.0))]
    TimedOut(Duration),
    /// The loop did not end within its bound because other programs held the processors, which says nothing about the
    /// primitive.
    Interfered(String),
    /// The system ended a measuring process; another attempt may succeed.
    Prevented(String),
    /// This case cannot run here, which only showed when it was tried.
    Unsupported(String),
    /// The time of the loop does not grow with its iterations: there is nothing in it.
    Elided(String),
    /// Anything else, with what a user needs to act.
    Failed(String),
}

/// How to sample an experiment and what its figure covers: the constants of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub struct Protocol {
    /// The operations in the machine code of one iteration.
    pub unroll: u32,
    /// The fewest iterations one sample may have, for experiments whose loop needs some to reach a steady state.
    pub min_iterations: u64,
    /// The most iterations one sample may have, for experiments with a bound of their own.
    pub max_iterations: u64,
    /// How long a sample should be, for experiments whose clock needs less than the engine's settings say.
    pub sample_length: Option<Duration>,
    /// How long a sample may be at most, for experiments that are interrupted when they take long. A test can take hundreds
    /// of times as long as its baseline.
    pub longest_sample: Option<Duration>,
    /// How far the clock of a pair may differ from the usual one, relative to it, before the pair is excluded. `None` where
    /// samples do not measure their clock, or not well enough for that.
    pub clock_tolerance: Option<f64>,
    /// Whose cost the figure is.
    pub actor: Actor,
    /// Whether all actors run at the same time, which their combined operations per second require.
    pub actors_run_together: bool,
    /// Whether the actors are timed in a window in which all of them run: what the slowest of them does not get, others do.
    pub in_window: bool,
    /// How long that window is, where the operations in it are counted instead of timed: the ticks of a sample are then what
    /// its iterations take at each actor's rate in the window.
    pub counted_for: Option<Duration>,
    /// Whether each sample runs in before it is timed. Otherwise a block first takes a pair that does not count, which pays for
    /// its cold caches.
    pub runs_in: bool,
    /// The samples that the figure covers, the same for all cases of a sweep. Where samples do not say which actors
    /// had SMT interference, the figure covers all samples, whatever this field says.
    pub population: Population,
    /// Whether there is a loop with two more copies of the primitive, [`Side::Double`].
    pub has_double: bool,
    /// Whether a baseline with operations executes the primitive itself: a second copy then has the same neighbours
    /// as the first. In another context, such as the updates around a fence, a second copy right after the first is a
    /// different question.
    pub is_own_context: bool,
    /// The share of the time for one case that this one should get: more where every sample is long whatever its
    /// iterations, less where more pairs add no information.
    pub share_of_time: f64,
}

impl Protocol {
    /// The usual protocol of a loop with this many operations per iteration.
    pub const fn of(unroll: u32) -> Self {
        Self {
            unroll,
            min_iterations: 1,
            max_iterations: u64::MAX,
            sample_length: None,
            longest_sample: None,
            clock_tolerance: None,
            actor: Actor::Slowest,
            actors_run_together: true,
            in_window: false,
            counted_for: None,
            runs_in: false,
            population: Population::All,
            has_double: false,
            is_own_context: true,
            share_of_time: 1.0,
        }
    }
}

/// The least possible cost of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The least cost, as an actor sees it.
    pub least_cycles: f64,
    /// The name of the limit: "4 instructions issued per clock per multiprocessor".
    pub name: String,
}

/// A case made ready to run: two or three loops over the same state.
///
/// An experiment says how many operations each side executes and runs a side when asked. Everything else (how
/// often, in which order, when to stop, what it means) is the [`crate::Engine`]'s.
pub trait Experiment {
    /// The clock that the samples are read from.
    fn ruler(&self) -> Ruler;

    /// How many operations an actor executes in `iterations` of `side`.
    fn operations(&self, side: Side, iterations: u64) -> u64;

    /// Runs one side once. An experiment implements this or [`Self::samples`].
    ///
    /// # Errors
    /// When the loop does not end within its bound, or cannot run at all.
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.samples(&[shot])?.pop().ok_or_else(|| ExperimentError::Failed("a loop ran but left no result".to_owned()))
    }

    /// Runs several shots in their order. Implemented where queueing them saves time between samples.
    ///
    /// # Errors
    /// As [`Self::sample`]; the samples of the shots before the failing one are lost.
    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        shots.iter().map(|shot| self.sample(*shot)).collect()
    }

    /// Runs several shots in which every actor does equal work. The ticks of a sample are again those of the shot's
    /// iterations. Returns nothing where the actors of the last sample were served alike, or do equal work in every sample.
    ///
    /// # Errors
    /// As [`Self::samples`].
    fn equal_work(&mut self, _shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        Ok(Vec::new())
    }

    /// How many iterations a sample has, if the experiment can tell without growing them step by step.
    ///
    /// # Errors
    /// As [`Self::sample`].
    fn known_iterations(&mut self) -> Result<Option<u64>, ExperimentError> {
        Ok(None)
    }

    /// How to sample the experiment and what its figure covers; equal at every call.
    fn protocol(&self) -> Protocol;

    /// Whether the primitive did its work in all shots so far.
    fn check(&mut self) -> Check;

    /// Checks the primitive again and again, for about this time or until it fails. Returns how often it was used, and what was
    /// found.
    ///
    /// # Errors
    /// As [`Self::sample`].
    fn stress(&mut self, time: Duration) -> Result<(u64, Check), ExperimentError> {
        let (started, mut uses, mut check) = (Instant::now(), 0, Check::Ok);
        while check == Check::Ok && (uses == 0 || started.elapsed() < time) {
            check = self.check();
            uses += 1;
        }
        Ok((uses, check))
    }

    /// The machine instructions found in the timed region.
    fn evidence(&mut self) -> Evidence;

    /// The limit of the hardware on the cost, if all actors run together.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// A remark that a reader of the figure must know: "4 threads on 2 CPUs".
    fn remark(&self) -> Option<String> {
        None
    }

    /// Proves in a loop of its own that the primitive does its work. Called after the first block, before there is a row: a
    /// cost without this proof is none.
    ///
    /// # Errors
    /// When the primitive did not do its work; [`ExperimentError::Interfered`] when other programs did not let it.
    fn prove(&mut self) -> Result<(), ExperimentError> {
        Ok(())
    }

    /// What else can be measured of the case: percentiles, fairness. Called once, after the last sample and its check; may take
    /// some milliseconds.
    ///
    /// # Errors
    /// When the primitive did not do its work meanwhile; [`ExperimentError::Interfered`] when other programs did not let it.
    fn details(&mut self) -> Result<Vec<Detail>, ExperimentError> {
        Ok(Vec::new())
    }
}
