//! `cpu.lock.openmp_critical`: the critical section of the OpenMP runtime, on the runtime's own threads.

use syncscope_core::{Case, Primitive};

use crate::axes::Axes;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, Counter, LockKind};
use crate::sync::Guarded;
use crate::team::openmp::{self, Critical, Runtime};

/// In theory: two calls and, in libgomp, a futex lock that lies in the library, far from what it protects: at least two
/// lines move with every holder. All unnamed critical sections of a program share it.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.openmp_critical",
        summary: "#pragma omp critical: GOMP_critical_start and GOMP_critical_end by the threads of a parallel region",
        operation: "one addition to a counter under the lock by each thread",
        source: "OpenMP 5.2, 15.2; GCC's libgomp or LLVM's libomp, as the column group says",
    },
    cases,
    workload,
)
.requiring(openmp::installed);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    openmp::with_every_runtime(&lock::cases(primitive, axes))
}

fn workload(case: &Case) -> Option<crate::primitives::workload::Workload> {
    let runtime = openmp::runtime(case.group.as_deref()?).ok()?;
    Some(lock::workload(case, &Kind(runtime))?.on_threads_of(runtime).expecting(lock::IN_A_LIBRARY))
}

struct Kind(&'static Runtime);

impl LockKind for Kind {
    type Around<N: Counter> = Guarded<Critical, N>;

    fn make<N: Counter>(&self, _threads: u32) -> Guarded<Critical, N> {
        Guarded::new(Critical(self.0), N::default())
    }
}
