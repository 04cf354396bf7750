//! `cpu.lock.openmp_critical`: the critical section of the OpenMP runtime, on the runtime's own threads.

use syncscope_core::{Case, Primitive, Waits};

use crate::axes::Axes;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, LockKind, PlainNumber};
use crate::primitives::workload::Workload;
use crate::sync::Guarded;
use crate::team::openmp::{self, Critical, Runtime};

/// In theory: two calls and, in libgomp, a futex lock in the library's own memory, away from what it protects: at least
/// two lines are transferred for every holder. All unnamed critical sections of a program share this lock.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.openmp_critical",
        summary: "#pragma omp critical: GOMP_critical_start and GOMP_critical_end by the threads of a parallel region",
        operation: lock::OPERATION,
        source: "OpenMP 5.2, 15.2; GCC's libgomp or LLVM's libomp, as the column group says",
        facts: lock::FACTS.waiting(Waits::AsConfigured),
    },
    cases,
    workload,
)
.requiring(openmp::installed);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    openmp::with_every_runtime(&lock::cases(primitive, axes))
}

fn workload(case: &Case) -> Option<Workload> {
    let runtime = openmp::of_case(case)?;
    Some(lock::workload(case, &Kind(runtime))?.on_threads_of(runtime).expecting(lock::IN_A_LIBRARY))
}

struct Kind(&'static Runtime);

impl LockKind for Kind {
    type Around<N: PlainNumber> = Guarded<Critical, N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> Guarded<Critical, N> {
        Guarded::new(Critical(self.0), N::default())
    }
}
