//! The types whose values may be in memory that several processes map.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::{CachePadded, FutexBarrier, Guarded, PthreadBarrier, PthreadMutex, SenseBarrier, SpinParkLock, WaitLimit};

/// A value that several processes may use at the same time, each at an address of its own.
///
/// # Safety
/// It holds no address, no descriptor and nothing else of one process, and needs no drop. Its bytes mean the same in all
/// processes that run one program. If it was made for several processes, their threads may do with it what the threads of one
/// process may.
pub(crate) unsafe trait BetweenProcesses: Sync + 'static {}

// SAFETY: a number without an address.
unsafe impl BetweenProcesses for AtomicU32 {}
// SAFETY: as above.
unsafe impl BetweenProcesses for AtomicU64 {}
// SAFETY: a length of time and a flag.
unsafe impl BetweenProcesses for WaitLimit {}
// SAFETY: numbers, a flag and a wait limit.
unsafe impl BetweenProcesses for SenseBarrier {}
// SAFETY: numbers and a length of time; `between_processes` makes one whose futex is not private.
unsafe impl BetweenProcesses for FutexBarrier {}
// SAFETY: as above.
unsafe impl BetweenProcesses for SpinParkLock {}
// SAFETY: `between_processes` makes one with the attribute that POSIX demands for shared memory.
unsafe impl BetweenProcesses for PthreadMutex {}
// SAFETY: as above.
unsafe impl BetweenProcesses for PthreadBarrier {}
// SAFETY: it is its value, on lines of its own.
unsafe impl<T: BetweenProcesses> BetweenProcesses for CachePadded<T> {}
// SAFETY: a lock for several processes lets one thread of all of them at the value, which is a number.
unsafe impl<L: super::RawLock + BetweenProcesses, T: Copy + Send + 'static> BetweenProcesses for Guarded<L, T> {}
