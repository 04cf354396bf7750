//! The loops of readers, which hold a lock together.

use std::sync::{Mutex, PoisonError};

use syncscope_core::{Case, Dtype, Layout};

use crate::primitives::lock::PlainNumber;
use crate::primitives::operation::{Operation, SLOTS};
use crate::primitives::workload::Workload;
use crate::sync::CachePadded;

/// What `ns` is the cost of, for every lock that is taken for reading.
pub(super) const OPERATION: &str = "one addition of the value read under the lock to a private sum by each thread";

/// A lock that one writer or many readers hold, around a number.
pub(super) trait SharedLock<N>: Send + Sync + 'static {
    /// A free lock.
    fn around(number: N) -> Self;

    /// Takes the lock for reading, gives `reader` the number, gives the lock back.
    fn read(&self, reader: impl FnOnce(N));
}

/// A kind of such a lock, for any type of number.
pub(super) trait SharedLockKind {
    /// The lock around a number.
    type Around<N: PlainNumber>: SharedLock<N>;
}

/// The loops of a kind of lock, taken for reading by all threads.
pub(super) fn workload<K: SharedLockKind>(case: &Case) -> Option<Workload> {
    match case.dtype? {
        Dtype::I32 => Readers::<K::Around<i32>, i32>::workload(case),
        Dtype::U64 => Readers::<K::Around<u64>, u64>::workload(case),
        Dtype::F32 => Readers::<K::Around<f32>, f32>::workload(case),
        Dtype::F64 => Readers::<K::Around<f64>, f64>::workload(case),
        Dtype::U32 => None,
    }
}

/// A number one that all threads read.
struct Readers<L, N> {
    ones: Vec<CachePadded<L>>,
    /// Each thread's sum after the last shot of a slot, the threads of one slot after those of the slot before.
    sums: Vec<CachePadded<Mutex<N>>>,
    threads: usize,
}

impl<L: SharedLock<N>, N: PlainNumber> Readers<L, N> {
    fn workload(case: &Case) -> Option<Workload> {
        let threads = case.threads.filter(|_| case.layout == Some(Layout::Shared))?;
        let mut one = N::default();
        one.add_one();
        let operation = Self {
            ones: (0..SLOTS).map(|_| CachePadded::new(L::around(one))).collect(),
            sums: (0..SLOTS * threads as usize).map(|_| CachePadded::default()).collect(),
            threads: threads as usize,
        };
        // The limit counts for each thread, because every thread has a sum of its own.
        Some(Workload::contended(operation, threads).with_most_operations(N::LARGEST_COUNT, 1))
    }

    fn sums_of(&self, slot: usize) -> &[CachePadded<Mutex<N>>] {
        &self.sums[slot * self.threads..][..self.threads]
    }
}

fn set_sum<N: PlainNumber>(sum: &Mutex<N>, value: N) {
    *sum.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

/// A thread's sum, which is published at the end of the loop.
struct Reader<'a, L, N: PlainNumber> {
    one: &'a L,
    sum: N,
    published: &'a Mutex<N>,
}

impl<L, N: PlainNumber> Drop for Reader<'_, L, N> {
    fn drop(&mut self) {
        set_sum(self.published, self.sum);
    }
}

impl<L: SharedLock<N>, N: PlainNumber> Operation for Readers<L, N> {
    type Local<'a> = Reader<'a, L, N>;

    fn local(&self, slot: usize, thread: usize) -> Reader<'_, L, N> {
        Reader { one: &self.ones[slot], sum: N::default(), published: &self.sums_of(slot)[thread] }
    }

    #[inline(always)]
    fn execute(reader: &mut Reader<'_, L, N>) {
        let sum = &mut reader.sum;
        reader.one.read(|one| sum.add(one));
    }

    fn counted(&self, slot: usize) -> Option<u64> {
        let of = |sum: &CachePadded<Mutex<N>>| sum.lock().unwrap_or_else(PoisonError::into_inner).count();
        Some(self.sums_of(slot).iter().map(of).sum())
    }

    fn prepare(&self, slot: usize, thread: usize) {
        set_sum(&self.sums_of(slot)[thread], N::default());
    }

    fn verify(&self, slot: usize, thread: usize, operations: u64) -> Result<(), String> {
        let found = self.sums_of(slot)[thread].lock().unwrap_or_else(PoisonError::into_inner).count();
        if found == operations { Ok(()) } else { Err(format!("{operations} reads of the number 1 add up to {found}")) }
    }
}
