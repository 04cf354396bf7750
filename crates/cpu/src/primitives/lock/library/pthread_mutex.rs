//! `cpu.lock.pthread_mutex`: the mutex of the C library.

use syncscope_core::{Case, Form, Layout, Placement, Primitive, Waits};

use crate::axes::Axes;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Raw};
use crate::primitives::workload::Workload;
use crate::sync::PthreadMutex;

/// In theory: a call into the C library, a compare-and-swap to take the lock, an exchange to give it back. Contended:
/// there is no spinning, and every waiter costs a futex call to block and another one to be woken.
///
/// glibc takes and gives back a lock with ordinary instructions while the process has had one thread alone
/// (`SINGLE_THREAD_P`). All other cases are of a process that has had several, as programs with locks have. The form
/// `one_thread_process` is the same lock in a process of its own with one thread.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.pthread_mutex",
        summary: "pthread_mutex_t of the default kind: a futex, waiters block at once",
        operation: lock::OPERATION,
        source: "POSIX.1-2017, pthread_mutex_lock; run.json holds the C library's version",
        facts: lock::FACTS.waiting(Waits::Sleeps),
    },
    cases,
    workload,
);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let mut cases = lock::cases(primitive, axes);
    if cfg!(target_env = "gnu") {
        cases.extend(axes.lock_dtypes.iter().map(|dtype| Case {
            dtype: Some(*dtype),
            layout: Some(Layout::Shared),
            threads: Some(1),
            placement: Some(Placement::Close),
            form: Some(Form::OneThreadProcess),
            ..Case::new(primitive.id)
        }));
    }
    cases
}

fn workload(case: &Case) -> Option<Workload> {
    if case.form == Some(Form::OneThreadProcess) && case.threads != Some(1) {
        return None;
    }
    let workload = lock::workload(case, &Raw(|_| PthreadMutex::free()))?.expecting(lock::IN_A_LIBRARY);
    Some(if case.form == Some(Form::OneThreadProcess) { workload.in_processes() } else { workload })
}
