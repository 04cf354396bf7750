//! Where experiments are made: one laboratory per domain, all behind one trait.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::calibration::Calibration;
use crate::run::machine::{AwakeDecision, MeasuredTopology};
use crate::session::preset::Effort;
use crate::{Case, CaseId, Experiment, Observation, Preset, Primitive, Row};

/// Why a case is not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum Refusal {
    /// It does not exist on this machine.
    Skipped(String),
    /// It should exist, but could not be set up.
    Failed(String),
    /// The system did not let it be set up, but may another time.
    Prevented(String),
    /// The laboratory can no longer measure in this process. This case and later ones need another process.
    Lost(String),
}

/// A plain reason is a failure.
impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.to_string()
    }
}

/// One line of `syncscope list`.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The primitive.
    pub primitive: &'static Primitive,
    /// Why it cannot be measured here, if so.
    pub unavailable: Option<String>,
}

/// Makes the experiments of one domain on this machine.
pub trait Laboratory {
    /// The primitives of this domain, each with whether it can be measured here.
    fn listing(&self) -> Vec<Listing>;

    /// The cases of `preset` on this machine, in the catalogue's order.
    fn plan(&self, preset: Preset) -> Vec<Case>;

    /// The part of `cases` that ends within the time that the preset promises.
    fn within_time(&self, _preset: Preset, cases: Vec<Case>) -> Vec<Case> {
        cases
    }

    /// The cases of the largest preset on a machine with room for all of them. They show which values an axis can have
    /// besides a plan's.
    fn variants(&self) -> Vec<Case> {
        self.plan(Preset::Paper)
    }

    /// The cases that were asked for, under the names that a plan of `preset` gives them, or why they cannot exist here.
    fn fitting(&self, _preset: Preset, cases: Vec<Case>) -> Vec<Result<Case, String>> {
        cases.into_iter().map(Ok).collect()
    }

    /// What a reader of the figures of `cases` must know, such as that they are a sample. It is written among the run's
    /// warnings.
    fn notes(&self, _preset: Preset, _cases: &[Case]) -> Vec<String> {
        Vec::new()
    }

    /// Does once what all cases need, such as compiling kernels. `progress` is called with the number of pieces done and
    /// of all pieces. What fails here fails again, with its reason, in [`Self::experiment`].
    fn prepare(&mut self, _cases: &[Case], _progress: &mut dyn FnMut(usize, usize)) {}

    /// Whether idle CPUs are kept from halting, and why, once [`Self::prepare`] has decided. It is written to `run.json`.
    fn keep_awake(&self) -> Option<AwakeDecision> {
        None
    }

    /// Begins a pass over the cases, counted from 0. A laboratory may give up what it keeps from one case to the next (a
    /// context, memory), so that the measurement blocks of a case are taken in several of them.
    fn begin_pass(&mut self, _pass: u32) {}

    /// Makes one case ready to run.
    ///
    /// # Errors
    /// [`Refusal::Skipped`] when the case does not exist here, [`Refusal::Failed`] or [`Refusal::Prevented`] when it could
    /// not be set up,
    /// [`Refusal::Lost`] when nothing can be set up any more.
    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal>;

    /// Measures a share of the passes in a process of its own. About once a second, `goes_on` gets the case that the process
    /// has come to and returns whether to go on. `None` where there are no such processes.
    fn measure_apart(
        &mut self,
        _share: &Share,
        _goes_on: &mut dyn FnMut(&Case) -> bool,
    ) -> Option<Result<Vec<Apart>, String>> {
        None
    }

    /// Whether [`Self::measure_apart`] can be asked.
    fn can_measure_apart(&self) -> bool {
        false
    }

    /// What the finished rows of a run say about the topology of the machine; `None` where none of it was measured.
    fn measured_topology(&self, _rows: &[Row]) -> Option<MeasuredTopology> {
        None
    }
}

// What `Laboratory::measure_apart` is asked for and returns. `share.rs` measures it.

/// The share of the passes that a fresh process is to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    pub(super) effort: Effort,
    pub(super) seed: u64,
    pub(super) first_pass: u32,
    pub(super) most_passes: u32,
    /// A pass after the first begins only if one as long as the longest so far would end within this time.
    pub(super) time: Duration,
    /// Cases that another process has begun to measure.
    pub(super) cases: Vec<(Case, Calibration)>,
}

/// The findings of a fresh process about a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    pub(super) id: CaseId,
    pub(super) observations: Vec<Observation>,
    pub(super) spent: Duration,
    /// Why the primitive did not do its work, if so.
    pub(super) failure: Option<String>,
}
