//! Everything the engine found out about one case.

use crate::engine::experiment::Experiment;
use crate::engine::stopping::Stop;
use crate::model::check::Check;
use crate::model::detail::Detail;
use crate::model::estimate::Estimate;
use crate::model::evidence::Evidence;
use crate::model::observation::Observation;
use crate::units::Hertz;
use crate::model::verdict::Verdict;

/// Everything the engine found out about one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The cost; `None` if no pair could be used.
    pub estimate: Option<Estimate>,
    /// Relative median absolute deviation of the observations.
    pub noise: Option<f64>,
    /// Number of pairs the estimate stands on.
    pub pairs: u64,
    /// Number of pairs excluded.
    pub excluded: u64,
    /// Iterations of each sample.
    pub iterations: u64,
    /// Operations in one iteration of the baseline.
    pub unroll: u32,
    /// What the figure is worth.
    pub verdict: Verdict,
    /// What a reader of the figure must know.
    pub remark: Option<String>,
    /// Whether the primitive did its work.
    pub check: Check,
    /// What was executed.
    pub evidence: Evidence,
    /// Clock of the core or multiprocessor during the case.
    pub clock: Option<Hertz>,
    /// What else was measured.
    pub details: Vec<Detail>,
    /// Every pair, the excluded ones too.
    pub observations: Vec<Observation>,
    /// The medians of the measurement blocks relative to the cost, each with the number of its block.
    pub course: Vec<(u32, f64)>,
    /// How many measurement blocks the pairs were taken in.
    pub blocks: u32,
    /// Why the last block ended; `None` if the case gave no figure and would give none another time.
    pub stop: Option<Stop>,
}

impl Measurement {
    /// What is known of a case that gave no figure.
    pub(crate) fn without_figure(experiment: &dyn Experiment, verdict: Verdict, evidence: Evidence) -> Self {
        Self {
            estimate: None,
            noise: None,
            pairs: 0,
            excluded: 0,
            iterations: 0,
            unroll: experiment.unroll(),
            verdict,
            remark: experiment.remark(),
            check: Check::NotApplicable,
            evidence,
            clock: None,
            details: Vec::new(),
            observations: Vec::new(),
            course: Vec::new(),
            blocks: 1,
            stop: None,
        }
    }
}
