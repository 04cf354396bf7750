//! A share of the passes over the cases of a laboratory, measured by a process of its own.
//!
//! A process keeps its memory, its threads and what its caches and branch predictors have learned. So do all blocks that it
//! measures, and what they have in common looks like a property of the primitive. Fresh processes show how far it is not. The
//! process that writes the run makes the first pass and the last ones; in between, laboratories that can start fresh
//! processes (`Laboratory::measure_apart`) let each make some passes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::calibration::Calibration;
use crate::model::case::{Case, CaseId};
use crate::model::estimate::Observation;
use crate::session::preset::Preset;

/// The processes that measure the cases of a CPU, the one that writes the run among them.
pub(super) const PROCESSES: u32 = 7;

/// What a fresh process is to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    pub(super) preset: Preset,
    pub(super) seed: u64,
    pub(super) first_pass: u32,
    pub(super) most_passes: u32,
    /// A pass that is not the first begins within this time only.
    pub(super) time: Duration,
    pub(super) cases: Vec<KnownCase>,
}

/// A case that another process has begun to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownCase {
    pub(super) case: Case,
    pub(super) calibration: Calibration,
}

/// What a fresh process found out about a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    pub(super) id: CaseId,
    pub(super) observations: Vec<Observation>,
    pub(super) spent: Duration,
    /// Why the primitive did not do its work, if so.
    pub(super) failure: Option<String>,
}
