//! What all locks have in common: a counter that only the holder may touch.

use syncscope_core::{Case, Dtype, Layout, Primitive};

use super::operation::{Operation, SLOTS, Workload};
use crate::plan::Axes;
use crate::sense_barrier::OwnLine;

/// A lock under study, with the counter it protects.
pub(super) trait Lock: Send + Sync + 'static {
    /// A free lock around zero.
    fn new() -> Self;

    /// Takes the lock, lets `critical` change the counter, gives the lock back.
    fn with(&self, critical: impl FnOnce(&mut u64));
}

pub(super) fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let sweeps = axes.sweep(primitive).into_iter();
    sweeps.flat_map(|sweep| sweep.dtypes(&[Dtype::U64]).layouts(&[Layout::Shared]).cases()).collect()
}

pub(super) fn workload<L: Lock>(case: &Case) -> Option<Workload> {
    let threads = case.threads?;
    let fits = case.dtype == Some(Dtype::U64) && case.layout == Some(Layout::Shared);
    fits.then(|| Workload::of(Locked { slots: (0..SLOTS).map(|_| OwnLine(L::new())).collect(), threads }))
}

struct Locked<L> {
    slots: Vec<OwnLine<L>>,
    threads: u32,
}

impl<L: Lock> Operation for Locked<L> {
    type Local<'a> = &'a L;

    fn local(&self, slot: usize, _thread: usize) -> &L {
        &self.slots[slot].0
    }

    #[inline(always)]
    fn execute(lock: &mut &L) {
        lock.with(|counter| *counter += 1);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if thread == 0 {
            self.slots[slot].0.with(|counter| *counter = 0);
        }
    }

    /// Two holders at a time would lose additions.
    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String> {
        let (expected, mut found) = (u64::from(self.threads) * operations, 0);
        if thread == 0 {
            self.slots[slot].0.with(|counter| found = *counter);
        }
        if thread != 0 || found == expected {
            return Ok(());
        }
        Err(format!("{expected} additions under the lock made {found}"))
    }
}
