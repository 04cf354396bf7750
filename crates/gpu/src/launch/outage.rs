//! Why a batch of launches gave no results, and whether the next one can run.

use std::time::Duration;

use syncscope_core::ExperimentError;

use crate::cuda::error::{CudaError, GpuError};

/// Whether the next launch can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// It can.
    Usable,
    /// The error of a kernel made the context unusable: a new context is needed.
    Poisoned,
    /// A kernel does not end. Nothing else can be measured, and destroying its context would wait for it.
    Occupied,
}

/// Why a batch gave no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Outage {
    /// It lasted longer than the limit.
    #[error("not done after {0:?}")]
    TimedOut(Duration),
    /// A call or a kernel failed.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The results of one launch do not fit.
    #[error("a grid of {0} warps is too large")]
    TooLarge(u32),
}

impl From<Outage> for ExperimentError {
    fn from(outage: Outage) -> Self {
        match outage {
            Outage::TimedOut(limit) => Self::TimedOut { limit },
            Outage::TooLarge(_) => Self::Unsupported(outage.to_string()),
            Outage::Cuda(error) => Self::Failed(error.to_string()),
        }
    }
}

impl From<Outage> for GpuError {
    fn from(outage: Outage) -> Self {
        match outage {
            Outage::Cuda(error) => Self::Cuda(error),
            Outage::TimedOut(_) | Outage::TooLarge(_) => Self::Unusable(outage.to_string()),
        }
    }
}
