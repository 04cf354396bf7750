//! The sum of one value of each device by NCCL, as a barrier of several devices.
//!
//! | file | contents |
//! |---|---|
//! | [`catalogue`] | the primitives and their cases |
//! | [`group`] | the devices of a case: queues sums on all of them, and waits |
//! | [`experiment`] | chains of sums become samples |
//!
//! Start with [`experiment`]. The library is bound in `cuda/nccl.rs`. It works in the primary contexts of the devices, which
//! nothing else here uses.

mod catalogue;
mod experiment;
mod group;

pub(crate) use self::catalogue::{Launching, PRIMITIVES, cases, launching_of};
pub(crate) use self::experiment::NcclExperiment;
pub(crate) use self::group::NcclGroup;
