//! `cpu.process.atomic_add`: an atomic addition to a variable that several processes map.

use std::sync::atomic::{AtomicU64, Ordering};

use syncscope_core::{Case, Primitive};

use crate::evidence::Expected;
use crate::machine::memory::Pages;
use crate::primitives::entry::Entry;
use crate::primitives::operation::{Operation, SLOTS};
use crate::primitives::process;
use crate::primitives::workload::Workload;
use crate::processes;
use crate::sync::CachePadded;

/// In theory: what `cpu.atomic.add` costs between threads. Caches hold physical addresses, so that the line moves between
/// cores in the same way; each process has an entry of its own for the page in its core's TLB.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.process.atomic_add",
        summary: "Atomic addition whose result is not used, to a variable that several processes map",
        operation: "one addition of 1 by each process",
        source: "C++20 [atomics.lockfree], on address-free operations; Linux, memfd_create(2), mmap(2) with MAP_SHARED",
        facts: process::UPDATE,
    },
    process::several_on_a_counter,
    workload,
)
.beyond_quick();

fn workload(case: &Case) -> Option<Workload> {
    let slots = processes::state(SLOTS, |_| CachePadded::new(AtomicU64::new(0)))?;
    let added = Added { slots, processes: case.threads?.into() };
    Some(Workload::of(added).expecting(Expected::once(&["lock add", "lock inc"])).in_processes())
}

/// A variable in each slot.
struct Added {
    slots: Pages<CachePadded<AtomicU64>>,
    processes: u64,
}

impl Operation for Added {
    type Local<'a> = &'a AtomicU64;

    fn local(&self, slot: usize, _thread: usize) -> &AtomicU64 {
        &self.slots[slot]
    }

    /// Relaxed: only the atomicity of the addition is under study.
    #[inline(always)]
    fn execute(variable: &mut &AtomicU64) {
        variable.fetch_add(1, Ordering::Relaxed);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        if thread == 0 {
            self.slots[slot].store(0, Ordering::Relaxed);
        }
    }

    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String> {
        let (expected, found) = (self.processes * operations, self.slots[slot].load(Ordering::Relaxed));
        let is_right = thread != 0 || found == expected;
        if is_right { Ok(()) } else { Err(format!("expected {expected} in the variable, found {found}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_of_all_processes_are_expected() {
        // Here the threads of a test stand for processes.
        let slots = Pages::filled(SLOTS, |_| CachePadded::new(AtomicU64::new(0)));
        let added = Added { slots, processes: 2 };
        (0..2).for_each(|thread| added.prepare(5, thread));
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let mut variable = added.local(5, thread);
                scope.spawn(move || (0..100).for_each(|_| Added::execute(&mut variable)));
            }
        });
        assert_eq!(added.verify(5, 0, 100), Ok(()));
        assert!(added.verify(5, 0, 99).is_err() && added.verify(4, 0, 100).is_err());
    }
}
