//! Synchronization between processes: threads of several processes that map the same memory.
//!
//! Start with `atomic_add.rs`. The locks, barriers and hand-offs are those of the other families, in the memory of worker
//! processes (`crate::processes`) and made for it; their loops and checks stand there. What differs from threads of one
//! process: a futex is not found by its address but by the page of its file, and no library can leave anything out because
//! it sees all users of a lock.

mod atomic_add;
mod barriers;
mod handoffs;
mod locks;

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Facts, Layout, Placement, Primitive, Role, Waits};

use crate::axes::Axes;
use crate::facts;
use crate::primitives::entry::Entry;

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[
    &handoffs::STORE,
    &atomic_add::ENTRY,
    &locks::FUTEX,
    &locks::PTHREAD,
    &barriers::FUTEX,
    &barriers::PTHREAD,
    &handoffs::EVENTFD,
    &handoffs::PIPE,
];

const BARRIER: Facts =
    Facts { run_effect: facts::between_threads, ..Facts::of(Role::ProcessBarrier).waiting(Waits::Sleeps) };
const LOCK: Facts = Facts { role: Role::ProcessLock, ..BARRIER };
const HANDOFF: Facts = Facts { role: Role::ProcessHandoff, ..BARRIER };
const UPDATE: Facts = Facts { role: Role::Update, orders_memory: false, ..BARRIER.waiting(Waits::NoWait) };

/// Two processes that pass something to each other.
fn two(primitive: &Primitive, _: &Axes) -> Vec<Case> {
    Sweep::of(primitive.id).threads(&[2]).placements(&[Placement::Close]).cases()
}

/// Numbers of processes.
fn several(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    Sweep::of(primitive.id).threads(&axes.processes).placements(&[Placement::Close]).cases()
}

/// The same with a counter that they share.
fn several_on_a_counter(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let on_a_counter = |case| Case { dtype: Some(Dtype::U64), layout: Some(Layout::Shared), ..case };
    several(primitive, axes).into_iter().map(on_a_counter).collect()
}
