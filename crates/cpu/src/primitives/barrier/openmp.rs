//! `cpu.barrier.openmp`: the barrier of the OpenMP runtime, on the runtime's own threads.

use syncscope_core::{Case, Primitive, Waits};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::primitives::barrier;
use crate::primitives::entry::Entry;
use crate::primitives::workload::Workload;
use crate::sync::{Barrier, WaitTimeout};
use crate::team::openmp::{self, Runtime};

/// In theory: that of libgomp is central, with one atomic operation of each thread on one line and a generation that
/// all others read. That of libomp is a tree by default. Waiters spin as long as the runtime's environment says, then
/// block on a futex. With more threads than CPUs libgomp hardly spins.
pub(super) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.barrier.openmp",
        summary: "#pragma omp barrier: a call of GOMP_barrier by the threads of a parallel region",
        operation: barrier::OPERATION,
        source: "OpenMP 5.2, 15.3.1; GCC's libgomp or LLVM's libomp, as the column group says",
        facts: barrier::FACTS.waiting(Waits::AsConfigured),
    },
    cases,
    workload,
)
.requiring(openmp::installed);

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    openmp::with_every_runtime(&barrier::cases(primitive, axes))
}

fn workload(case: &Case) -> Option<Workload> {
    let runtime = openmp::of_case(case)?;
    let expected = Expected::Uncounted("the barrier is a function of the runtime, behind a call");
    Some(barrier::workload(case, |_| OpenMpBarrier(runtime))?.on_threads_of(runtime).expecting(expected))
}

pub(in crate::primitives) struct OpenMpBarrier(pub(in crate::primitives) &'static Runtime);

impl Barrier for OpenMpBarrier {
    type Local = ();

    fn join(&self, _thread: usize) {}

    #[inline(always)]
    fn wait(&self, (): &mut ()) -> Result<(), WaitTimeout> {
        // A barrier implies a flush of all threads before and after it (OpenMP 5.2, 15.8.6).
        self.0.barrier();
        Ok(())
    }
}
