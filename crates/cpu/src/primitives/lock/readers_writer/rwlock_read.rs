//! `cpu.lock.rwlock_read`: the reader-writer lock of Rust's standard library, taken for reading.

use std::sync::{Mutex, PoisonError, RwLock};

use syncscope_core::{Case, Dtype, Layout, Primitive};

use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, PlainNumber};
use crate::primitives::operation::{Operation, SLOTS};
use crate::primitives::workload::Workload;
use crate::sync::CachePadded;

/// In theory: readers do not exclude each other, but each of them adds itself to a count on the lock's line and
/// subtracts itself again. These two atomic operations transfer the line, so that many readers scale no better than an
/// atomic counter.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.rwlock_read",
        summary: "The standard library's reader-writer lock, taken for reading by all threads",
        operation: "one addition of the value read under the lock to a private sum by each thread",
        source: "Rust std::sync::RwLock",
    },
    lock::cases,
    workload,
);

fn workload(case: &Case) -> Option<Workload> {
    match case.dtype? {
        Dtype::I32 => Readers::<i32>::workload(case),
        Dtype::U64 => Readers::<u64>::workload(case),
        Dtype::F32 => Readers::<f32>::workload(case),
        Dtype::F64 => Readers::<f64>::workload(case),
        Dtype::U32 => None,
    }
}

/// A number one that all threads read.
struct Readers<N> {
    ones: Vec<CachePadded<RwLock<N>>>,
    /// Each thread's sum after the last shot of a slot, the threads of one slot after those of the slot before.
    sums: Vec<CachePadded<Mutex<N>>>,
    threads: usize,
}

impl<N: PlainNumber> Readers<N> {
    fn workload(case: &Case) -> Option<Workload> {
        let threads = case.threads.filter(|_| case.layout == Some(Layout::Shared))?;
        let mut one = N::default();
        one.add_one();
        let operation = Self {
            ones: (0..SLOTS).map(|_| CachePadded::new(RwLock::new(one))).collect(),
            sums: (0..SLOTS * threads as usize).map(|_| CachePadded::default()).collect(),
            threads: threads as usize,
        };
        // The limit counts for each thread, because every thread has a sum of its own.
        let expected = Expected::once(&["lock xadd"]);
        Some(Workload::contended(operation, threads).with_most_operations(N::LARGEST_COUNT, 1).expecting(expected))
    }

    fn sums_of(&self, slot: usize) -> &[CachePadded<Mutex<N>>] {
        &self.sums[slot * self.threads..][..self.threads]
    }

    fn set_sum(sum: &Mutex<N>, value: N) {
        *sum.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

/// A thread's sum, which is published at the end of the loop.
struct Reader<'a, N: PlainNumber> {
    one: &'a RwLock<N>,
    sum: N,
    published: &'a Mutex<N>,
}

impl<N: PlainNumber> Drop for Reader<'_, N> {
    fn drop(&mut self) {
        Readers::set_sum(self.published, self.sum);
    }
}

impl<N: PlainNumber> Operation for Readers<N> {
    type Local<'a> = Reader<'a, N>;

    fn local(&self, slot: usize, thread: usize) -> Reader<'_, N> {
        Reader { one: &self.ones[slot], sum: N::default(), published: &self.sums_of(slot)[thread] }
    }

    #[inline(always)]
    fn execute(reader: &mut Reader<'_, N>) {
        // Acquire to take it: a writer's value would be visible. Release to give it back: a writer would wait for the
        // read.
        let one = reader.one.read().unwrap_or_else(PoisonError::into_inner);
        reader.sum.add(*one);
    }

    fn counted(&self, slot: usize) -> Option<u64> {
        let of = |sum: &CachePadded<Mutex<N>>| sum.lock().unwrap_or_else(PoisonError::into_inner).count();
        Some(self.sums_of(slot).iter().map(of).sum())
    }

    fn prepare(&self, slot: usize, thread: usize) {
        Self::set_sum(&self.sums_of(slot)[thread], N::default());
    }

    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String> {
        let found = self.sums_of(slot)[thread].lock().unwrap_or_else(PoisonError::into_inner).count();
        if found == operations { Ok(()) } else { Err(format!("{operations} reads of the number 1 add up to {found}")) }
    }
}
