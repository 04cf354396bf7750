//! The engine measures one case: an [`Experiment`] goes in, an estimate and its verdict come out. `docs/METHOD.md` explains each step.
//!
//! [`Engine::measure_block`] runs the steps: choose the iterations (`calibration.rs`), take pairs in random order
//! (`measurement_block.rs`, `equal_work.rs`), exclude disturbed pairs (`judge.rs`), compute the cost (`cost_formula.rs`)
//! and judge it (`judge.rs`, `population.rs`, `additivity.rs`). The rule that decides when to stop is an object of its own
//! ([`stopping`]).

mod additivity;
pub(crate) mod calibration;
mod cost_formula;
mod equal_work;
mod judge;
mod measurement_block;
pub(crate) mod population;
#[cfg(test)]
mod tests;

pub mod experiment;
pub mod measurement;
pub mod profile;
pub mod stopping;

use crate::engine::additivity::Additivity;
use crate::engine::calibration::Calibration;
use crate::engine::cost_formula::CostFormula;
use crate::engine::judge::Basis;
use crate::engine::measurement_block::MeasurementBlock;
pub use crate::engine::measurement_block::PairOrder;
use crate::engine::population::{States, levels_of};
use crate::engine::profile::Phase;
use crate::engine::stopping::Stop;
use crate::{
    Cancel, Check, Detail, Evidence, Experiment, ExperimentError, Measurement, Observation, Settings, Shot, Side,
    Verdict,
};
use std::time::Duration;

/// Why a block has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmeasured {
    /// Someone asked to stop before the case was finished.
    #[error("interrupted")]
    Cancelled,
    /// As [`ExperimentError::Prevented`].
    #[error("{0}")]
    Prevented(String),
}

/// Measures experiments.
#[derive(Debug)]
pub struct Engine {
    /// How a case is measured.
    pub settings: Settings,
    /// Whether the next block is the last, whatever it finds.
    pub is_final: bool,
    /// Whether a narrow interval ends a case. Otherwise the case needs another block however narrow its interval is, because
    /// the blocks so far cover a small part of the run.
    pub(crate) may_be_precise: bool,
    /// After the last block, experiments that have a third loop show whether a second copy costs what the first one does.
    pub tests_additivity: bool,
    /// The states of the machine: blocks of other states are excluded.
    pub(crate) states: States,
    /// The iterations that another process has chosen for a case without an earlier block.
    pub(crate) calibration: Option<Calibration>,
    /// Runs the check alone, under stress for this long; zero measures the cost alone, without the check.
    pub(crate) trial: Option<Duration>,
    /// Number of the next block; `None` counts the blocks of the case. Blocks of one number belong to the same pass
    /// over all cases.
    pub(crate) block: Option<u32>,
    cancel: Cancel,
}

impl Engine {
    /// An engine with these settings that takes all pairs of a case in one block, and stops when `cancel` is raised.
    pub fn new(settings: Settings, cancel: Cancel) -> Self {
        Self {
            settings,
            is_final: false,
            may_be_precise: true,
            tests_additivity: false,
            states: States::default(),
            calibration: None,
            trial: None,
            block: None,
            cancel,
        }
    }

    /// Measures one case, all blocks one after the other. `seed` decides the order within the pairs.
    ///
    /// # Errors
    /// When someone asked to stop, or the system ended the measuring process; what was measured so far is no result.
    pub fn measure(&self, experiment: &mut dyn Experiment, seed: u64) -> Result<Measurement, Unmeasured> {
        let mut measurement = self.measure_block(experiment, None, seed)?;
        while self.needs_another_block(&measurement) {
            measurement = self.measure_block(experiment, Some(measurement), seed)?;
        }
        Ok(measurement)
    }

    /// Measures one block of a case and joins it with the `earlier` blocks. The experiment need not be the one that measured
    /// them, only one of the same case.
    ///
    /// # Errors
    /// When someone asked to stop, or the system ended the measuring process; what was measured in this block is no result.
    pub fn measure_block(
        &self,
        experiment: &mut dyn Experiment,
        earlier: Option<Measurement>,
        seed: u64,
    ) -> Result<Measurement, Unmeasured> {
        if let Some(time) = self.trial.filter(|time| !time.is_zero()) {
            return Ok(tried(experiment, time));
        }
        // Every block executes the same code.
        let known = earlier.as_ref().map(|earlier| earlier.evidence.clone());
        let evidence = known.unwrap_or_else(|| experiment.evidence());
        // Elided primitives have no cost to measure.
        if let Evidence::Elided { summary, .. } = &evidence {
            let (verdict, check) = match self.trial {
                Some(_) => (Verdict::Elided(summary.clone()), Check::NotApplicable),
                None => of_elided(experiment, summary.clone()),
            };
            return Ok(Measurement { check, ..Measurement::without_figure(experiment, verdict, evidence) });
        }
        let blocks = earlier.as_ref().map_or(0, |earlier| earlier.blocks) + 1;
        let mut earlier = earlier;
        let equal_work = earlier.as_mut().map(|earlier| std::mem::take(&mut earlier.equal_work)).unwrap_or_default();
        let outcome = match self.take_pairs(experiment, earlier, seed) {
            Ok(None) => return Err(Unmeasured::Cancelled),
            Ok(Some((block, stop))) => equal_work::with_block(equal_work, experiment, &block, seed)
                .and_then(|equal_work| self.conclude(experiment, (block, stop), equal_work, blocks, seed, &evidence)),
            Err(error) => Err(error),
        };
        if let Err(ExperimentError::Prevented(reason)) = outcome {
            return Err(Unmeasured::Prevented(reason));
        }
        Ok(outcome.unwrap_or_else(|error| {
            let verdict = judge::of_error(error);
            Measurement { blocks, ..Measurement::without_figure(experiment, verdict, evidence) }
        }))
    }

    /// Whether the case needs another block.
    pub fn needs_another_block(&self, measurement: &Measurement) -> bool {
        measurement.stop.is_some_and(|stop| self.is_unfinished(measurement.blocks, stop))
    }

    const fn is_unfinished(&self, blocks: u32, stop: Stop) -> bool {
        let may_improve =
            blocks < self.settings.blocks.max && (matches!(stop, Stop::BudgetSpent) || !self.may_be_precise);
        !self.is_final && (blocks < self.settings.blocks.min || may_improve)
    }

    /// Whether the proof follows this block: the first block, or in a fresh process, whose code the first process proved,
    /// the last.
    const fn proves(&self, blocks: u32, is_unfinished: bool) -> bool {
        if self.calibration.is_none() { blocks == 1 } else { !is_unfinished }
    }

    /// Takes the pairs of one block. `None` if someone asked to stop.
    fn take_pairs(
        &self,
        experiment: &mut dyn Experiment,
        earlier: Option<Measurement>,
        seed: u64,
    ) -> Result<Option<(MeasurementBlock, Stop)>, ExperimentError> {
        let calibration = match earlier.as_ref().map_or(self.calibration, Calibration::known) {
            None => {
                let calibrate = || Calibration::of(experiment, self.settings.sample, &self.cancel);
                profile::time(Phase::Calibrate, calibrate)?
            }
            known => known,
        };
        let Some(calibration) = calibration else { return Ok(None) };
        let number = self.block.unwrap_or_else(|| earlier.as_ref().map_or(0, |earlier| earlier.blocks) + 1);
        let known = earlier.map_or_else(Vec::new, |earlier| earlier.observations);
        let protocol = experiment.protocol();
        let rule = self.settings.rule.with_share_of_time(protocol.share_of_time).divided_by(self.settings.blocks.max);
        let mut block = MeasurementBlock::new(experiment, rule, &calibration, known, seed);
        // Caches are cold where another process calibrated the case: nothing of it has run in this process.
        block.is_cold = !protocol.runs_in && (block.is_cold || self.calibration.is_some());
        (block.number, block.judges_all) = (number, self.may_be_precise);
        block.take(experiment, &self.cancel)
    }

    /// Turns the pairs of all blocks so far into a measurement. Its figure is computed after the first block and after the
    /// last.
    fn conclude(
        &self,
        experiment: &mut dyn Experiment,
        (MeasurementBlock { iterations, observations, .. }, stop): (MeasurementBlock, Stop),
        equal_work: Vec<Observation>,
        blocks: u32,
        seed: u64,
        evidence: &Evidence,
    ) -> Result<Measurement, ExperimentError> {
        let is_unfinished = self.is_unfinished(blocks, stop);
        let (check, details) = match self.trial {
            Some(_) => (Check::NotApplicable, Vec::new()),
            None => examine(experiment, self.proves(blocks, is_unfinished), is_unfinished)?,
        };
        let basis = Basis {
            formula: CostFormula::new(experiment, iterations),
            noisy_above: self.settings.noisy_above,
            fewest_blocks: self.settings.blocks.min,
            clock_tolerance: experiment.protocol().clock_tolerance,
            limit: experiment.limit(),
            remark: experiment.remark(),
            states: self.states_of(&observations),
        };
        let mut found = Measurement {
            check,
            details,
            observations,
            equal_work,
            iterations,
            blocks,
            basis: Some(basis),
            stop: Some(stop),
            ..Measurement::without_figure(experiment, Verdict::Noisy("not judged yet".to_owned()), evidence.clone())
        };
        if !is_unfinished || matches!(found.check, Check::Failed(_)) {
            found.settle();
        } else if blocks == 1 {
            found.settle_for_now();
        }
        if found.verdict == Verdict::Resolved
            && !is_unfinished
            && (self.tests_additivity || experiment.protocol().counted_for.is_some())
            && experiment.protocol().has_double
        {
            self.add_additivity(experiment, seed, &mut found);
        }
        Ok(found)
    }

    /// The states of the case's class, with the levels of its own blocks where blocks have levels.
    fn states_of(&self, observations: &[Observation]) -> States {
        let of_class = self.states.clone();
        if self.settings.has_levels { States { others: levels_of(observations), ..of_class } } else { of_class }
    }

    /// Runs the third loop of a resolved case. If the loop fails, the figure stays and a remark says so.
    fn add_additivity(&self, experiment: &mut dyn Experiment, seed: u64, found: &mut Measurement) {
        let test = || Additivity::of(experiment, found.iterations, seed, &self.cancel);
        match profile::time(Phase::Additivity, test) {
            Ok(Some(additivity)) => {
                found.details.extend(additivity.details());
                let protocol = experiment.protocol();
                let has_context = protocol.counted_for.is_some() || experiment.operations(Side::Baseline, 1) > 0;
                if protocol.is_own_context && has_context {
                    found.verdict = additivity.verdict();
                }
            }
            Ok(None) => {}
            Err(error) => {
                let failure = format!("the loop with a second copy failed: {error}");
                found.remark =
                    Some(found.remark.take().map_or(failure.clone(), |remark| format!("{remark}; {failure}")));
            }
        }
    }
}

/// Runs loops whose machine code is the same with and without the operation once, for their verdict and check. Loops that
/// never end are the same too, and an operation that should have counted has not.
fn of_elided(experiment: &mut dyn Experiment, summary: String) -> (Verdict, Check) {
    let iterations = experiment.protocol().min_iterations.max(1);
    match experiment.sample(Shot { side: Side::Test, iterations, pair: 0 }) {
        Err(ExperimentError::TimedOut(limit)) => {
            let reason = format!("{}: the loop does not end", ExperimentError::TimedOut(limit));
            (Verdict::TimedOut(reason), Check::NotApplicable)
        }
        Err(error) => (judge::of_error(error), Check::NotApplicable),
        Ok(_) => match experiment.check() {
            Check::Failed(reason) => (Verdict::Failed(format!("check failed: {reason}")), Check::Failed(reason)),
            check => (Verdict::Elided(summary), check),
        },
    }
}

/// Returns what the check finds under stress. The number of uses of the primitive takes the place of pairs.
fn tried(experiment: &mut dyn Experiment, time: Duration) -> Measurement {
    let (pairs, verdict, check) = match profile::time(Phase::Check, || experiment.stress(time)) {
        Ok((uses, Check::Failed(reason))) => (uses, Verdict::Failed(reason.clone()), Check::Failed(reason)),
        Ok((uses, check)) => (uses, Verdict::Skipped("its check alone".to_owned()), check),
        Err(error) => (0, judge::of_error(error), Check::NotApplicable),
    };
    let evidence = Evidence::NotAvailable("nothing was timed".to_owned());
    Measurement { pairs, check, ..Measurement::without_figure(experiment, verdict, evidence) }
}

/// Asks for the check and the proof. After the last block it asks for the details too, whose runs may fail the check.
fn examine(
    experiment: &mut dyn Experiment,
    proves: bool,
    is_unfinished: bool,
) -> Result<(Check, Vec<Detail>), ExperimentError> {
    let check = profile::time(Phase::Check, || experiment.check());
    if matches!(check, Check::Failed(_)) {
        return Ok((check, Vec::new()));
    }
    let proof = if proves { profile::time(Phase::Check, || experiment.prove()) } else { Ok(()) };
    let found = proof.and_then(|()| {
        if is_unfinished { Ok(Vec::new()) } else { profile::time(Phase::Details, || experiment.details()) }
    });
    match found {
        Ok(found) => Ok((check, found.into_iter().filter(|detail| detail.value.is_finite()).collect())),
        Err(error @ (ExperimentError::Interfered(_) | ExperimentError::Prevented(_))) => Err(error),
        Err(error) => Ok((Check::Failed(error.to_string()), Vec::new())),
    }
}
