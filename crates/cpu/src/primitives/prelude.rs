//! What the families of primitives use: what there is to measure, and what their entries and loops are made of.

pub(super) use syncscope_core::sweep::Sweep;
pub(super) use syncscope_core::{
    Case, Detail, Dtype, Facts, Group, Layout, MemoryOrder, Mode, OperationsAtOnce, Preset, Primitive, Role, Shot,
    Waits,
};

pub(super) use super::entry::{Entry, MakeWorkload, kinds, of_teams, of_two};
pub(super) use super::operation::{Executed, Operation, SLOTS, slot_of};
pub(super) use super::wait::{LIMIT, or_fail, or_unwind};
pub(super) use super::workload::{FollowUp, MakeFollowUp, Proof, Workload, percentiles};
pub(super) use crate::axes::Axes;
pub(super) use crate::evidence::{Beginnings, Expected};
pub(super) use crate::facts;
pub(super) use crate::sync::{BetweenProcesses, CachePadded, WaitTimeout};
pub(super) use crate::team::Body;
pub(super) use crate::timing::clock::Clock;
pub(super) use syncscope_machine::studies::{CoreKinds, CpuPairs, Numa, OneCpu, Participation, Smt};
