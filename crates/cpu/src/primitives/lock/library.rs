//! Mutexes of libraries and runtimes.

use std::sync::{Mutex, PoisonError};

use syncscope_core::Form;

use crate::primitives::lock::{self, Lock, LockKind, PlainNumber, Raw, library_lock};
use crate::primitives::prelude::*;
use crate::sync::{PthreadMutex, PthreadSpin};
use crate::team::openmp::{self, Critical};

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] =
    &[&STD_MUTEX, &PARKING_LOT_MUTEX, &PARKING_LOT_FAIR, &PTHREAD_MUTEX, &PTHREAD_SPIN, &OPENMP_CRITICAL];

/// In theory: a compare-and-swap to take it, an exchange to give it back, both on the lock's line, and two checks whether the
/// thread is panicking (poisoning). Contended: some 100 spins, then a futex call for each waiter. The mutex does not use the C
/// library's and is no cheaper in a process of one thread.
static STD_MUTEX: Entry = lock::spins_then_sleeps(
    "cpu.lock.std_mutex",
    "The standard library's mutex, which uses a futex and supports poisoning",
    "Rust std::sync::Mutex",
    lock::cases,
    |case| lock::workload(case, &StdMutex, lock::SWAPPED_TWICE),
);

library_lock!(StdMutex, Mutex<N>, Mutex::new, |lock| lock.lock().unwrap_or_else(PoisonError::into_inner));

/// Compare-and-swaps of a byte: one acquires, one releases.
const ONE_BYTE_TWICE: Expected =
    Expected::times(2, &["lock cmpxchg"], &["casab", "caslb", "outline casab", "outline caslb", "ldaxrb", "ldxrb"]);

/// In theory: two compare-and-swaps of one byte on the lock's line. Contended: some spins with growing pauses, then a
/// hash table of waiting threads outside the lock. About every half a millisecond the lock is handed to the thread that
/// has waited longest, which may have to be woken (`Mutex`, Fairness). Only long samples show that cost: over 3 ms an
/// acquisition took 1.4 to 1.6 times as long as in the first 40 to 350 us, on 4 to 16 threads of a Sapphire Rapids. The
/// standard library's locks block, too, but have no such rule, and their long and short samples agreed.
static PARKING_LOT_MUTEX: Entry = lock::spins_then_sleeps(
    "cpu.lock.parking_lot_mutex",
    "parking_lot's mutex: one byte; waiters queue in a global table",
    "parking_lot::Mutex; run.json records the library's version, because fairness changed between versions",
    lock::cases,
    parking_lot_workload,
);

fn parking_lot_workload(case: &Case) -> Option<Workload> {
    Some(lock::workload(case, &ParkingLotMutex, ONE_BYTE_TWICE)?.blocking(case))
}

library_lock!(ParkingLotMutex, parking_lot::Mutex<N>, parking_lot::Mutex::new, |lock| lock.lock());

/// In theory: without contention as `parking_lot_mutex`. Contended: a thread that sleeps gets the lock at once and has to
/// be woken before anyone goes on, so that each acquisition takes a wake-up as soon as threads sleep.
static PARKING_LOT_FAIR: Entry = lock::spins_then_sleeps(
    "cpu.lock.parking_lot_fair",
    "parking_lot's mutex, always released with MutexGuard::unlock_fair",
    "parking_lot::MutexGuard::unlock_fair; run.json records the library's version",
    lock::cases_of_one_type,
    |case| Some(lock::workload_of_one_type(case, &ParkingLotFair, ONE_BYTE_TWICE)?.long_blocking(case)),
)
.beyond_quick();

library_lock!(ParkingLotFair, Fair<N>, |number| Fair(parking_lot::Mutex::new(number)), false, |lock, critical| {
    let mut held = lock.0.lock();
    critical(&mut held);
    parking_lot::MutexGuard::unlock_fair(held);
});

struct Fair<N>(parking_lot::Mutex<N>);

/// In theory: a call into the C library, a compare-and-swap to take the lock, an exchange to give it back. Contended:
/// there is no spinning, and every waiter costs a futex call to block and another one to be woken.
///
/// glibc takes and gives back a lock with ordinary instructions while the process has had one thread alone (`SINGLE_THREAD_P`).
/// All other cases run in a process that has had several, as programs with locks have. The form `one_thread_process` is the same
/// lock in a process of its own with one thread.
static PTHREAD_MUTEX: Entry = lock::sleeps(
    "cpu.lock.pthread_mutex",
    "A default pthread_mutex_t, which uses a futex; waiters block without spinning",
    "POSIX.1-2017, pthread_mutex_lock; run.json records the C library's version",
    pthread_mutex_cases,
    pthread_mutex_workload,
)
.in_studies(&[
    Participation { study: &CpuPairs, templates: around_a_counter, reports_missing: false },
    Participation { study: &CoreKinds, templates: around_a_counter, reports_missing: false },
]);

fn around_a_counter(primitive: &Primitive, _: Preset) -> Vec<Case> {
    vec![Case { dtype: Some(Dtype::U64), layout: Some(Layout::Shared), ..Case::new(primitive.id) }]
}

fn pthread_mutex_cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = lock::cases(primitive, axes);
    if cfg!(target_env = "gnu") {
        cases.extend(axes.lock_dtypes.iter().map(|dtype| Case {
            dtype: Some(*dtype),
            layout: Some(Layout::Shared),
            threads: Some(1),
            placement: Some(axes.usual.clone()),
            form: Some(Form::OneThreadProcess),
            ..Case::new(primitive.id)
        }));
    }
    cases
}

fn pthread_mutex_workload(case: &Case) -> Option<Workload> {
    if case.form == Some(Form::OneThreadProcess) && case.threads != Some(1) {
        return None;
    }
    let workload = lock::workload(case, &Raw(|_| PthreadMutex::free()), lock::IN_A_LIBRARY)?;
    Some(if case.form == Some(Form::OneThreadProcess) { workload.in_processes() } else { workload })
}

/// In theory: two calls, one atomic read-modify-write to take the lock and a plain store to give it back: the fastest
/// lock here without contention. Contended: bursts of exclusive requests for one line, and no order among waiters.
///
/// Without contention, the calls count. Zen 5, a C loop: 2.2 to 2.8 ns from a shared library, which the loader maps next to the C
/// library; 3.8 ns, or 5.0 to 5.3 through the linkage table, from a program, which lies terabytes away from it. A line of
/// `syncscope measure`, which is compiled to a shared library, therefore costs 0.76 to 0.83 times as much as this program's own
/// loop.
static PTHREAD_SPIN: Entry = lock::spins(
    "cpu.lock.pthread_spin",
    "pthread_spinlock_t: waiters spin and never yield",
    "POSIX.1-2017, pthread_spin_lock; run.json records the C library's version",
    lock::cases,
    |case| lock::workload(case, &Raw(|_| PthreadSpin::free()), lock::IN_A_LIBRARY),
);

/// In theory: two calls and, in libgomp, a futex lock in the library's own memory, away from what it protects: at least
/// two lines are transferred for every holder. All unnamed critical sections of a program share this lock.
static OPENMP_CRITICAL: Entry = lock::of_openmp(
    "cpu.lock.openmp_critical",
    "#pragma omp critical: the threads of a parallel region call GOMP_critical_start and GOMP_critical_end",
    "OpenMP 5.2, 15.2; GCC's libgomp or LLVM's libomp, as the group column says",
    |primitive, axes| openmp::with_every_runtime(&lock::cases(primitive, axes)),
    openmp_workload,
)
.requiring(openmp::installed);

pub(in crate::primitives) fn openmp_workload(case: &Case) -> Option<Workload> {
    let runtime = openmp::of_case(case)?;
    let workload = lock::workload(case, &Raw(|_| Critical(runtime)), lock::IN_A_LIBRARY)?;
    Some(Workload { runtime: Some(runtime), ..workload })
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Case, Dtype, Layout};

    use super::*;
    use crate::primitives::Blocking;

    #[test]
    fn only_contended_cases_have_long_samples() {
        let of = |threads| {
            let dtype = Some(Dtype::U64);
            let layout = Some(Layout::Shared);
            parking_lot_workload(&Case {
                dtype,
                layout,
                threads: Some(threads),
                ..Case::new(PARKING_LOT_MUTEX.primitive.id)
            })
            .unwrap()
        };
        assert_eq!((of(1).blocking, of(2).blocking), (Blocking::No, Blocking::Yes));
        assert!(of(1).max_iterations > of(2).max_iterations && of(2).max_iterations >= 100);
    }
}
