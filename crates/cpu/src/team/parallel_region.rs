//! A batch of shots on the threads of an OpenMP runtime. What they do in a parallel region is timed like everything else.

use std::ffi::c_void;
use std::sync::Arc;

use syncscope_host::scheduling::AffinityGuard;

use super::TeamError;
use super::mailbox::{Batch, Command, Failure, Shared};
use super::team_thread::{TeamThread, bind};
use crate::sync::Barrier;
use crate::team::openmp::Runtime;

/// The thread that enters the regions: each batch of shots is one, in which thread `i` of the runtime is bound to the CPU of
/// thread `i`. The helper is thread 0. If the runtime hangs, the main thread goes on.
pub(super) struct Helper {
    pub(super) runtime: &'static Runtime,
    pub(super) cpus: Box<[Option<u32>]>,
    pub(super) shared: Arc<Shared>,
}

/// What a region's threads share.
struct Job<'a> {
    helper: &'a Helper,
    batch: &'a Batch,
}

impl Helper {
    pub(super) fn serve(self) {
        let mut seen = 0;
        while let Command::Run(batch) = self.shared.next_command(&mut seen) {
            let job = Job { helper: &self, batch: &batch };
            let data = (&raw const job).cast_mut().cast::<c_void>();
            // SAFETY: `region` reads the job, which is `Sync` and outlives the region, and lets no panic out.
            unsafe { self.runtime.parallel(region, data, self.cpus.len() as u32) };
        }
        self.runtime.end_spinning(self.cpus.len() as u32);
    }
}

/// The parallel region.
///
/// # Safety
/// `data` is a [`Job`].
unsafe extern "C" fn region(data: *mut c_void) {
    // SAFETY: the caller's.
    let job = unsafe { &*data.cast::<Job>() };
    job.take_part();
}

impl Job<'_> {
    /// One thread's part of the region.
    fn take_part(&self) {
        let Helper { runtime, cpus, shared } = self.helper;
        let (thread, threads) = (runtime.thread_number(), runtime.thread_count());
        if threads != cpus.len() {
            let cause = TeamError::TooFewThreads { runtime: runtime.name, asked: cpus.len(), given: threads };
            return shared.report(thread.min(cpus.len() - 1), Err(Failure::Cause(cause)));
        }
        // The runtime may use its threads in another region afterwards: they get their old CPUs back.
        let _restored_at_the_end = AffinityGuard::save();
        let bound = cpus[thread].map_or(Ok(()), |cpu| bind(thread, cpu));
        let team_thread = TeamThread::here(thread, cpus[thread]);
        let report = match bound {
            Ok(()) => team_thread.run_batch(shared, self.batch, &mut shared.barrier.join(thread)),
            Err(cause) => Err(Failure::Cause(cause)),
        };
        shared.report(thread, report);
    }
}

const _: () = {
    const fn is_sync<T: Sync>() {}
    is_sync::<Job>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{Body, Executor, Team, openmp};
    use crate::timing::clock::Clock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    use syncscope_core::{Shot, Side};
    use syncscope_host::scheduling;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Checks the CPU of each thread and that all arrive at the runtime's barrier.
    struct Arrivals {
        runtime: &'static Runtime,
        arrived: AtomicU64,
        cpu: Option<u32>,
    }

    impl Body for Arrivals {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, _: &Shot, _: usize) {
            self.arrived.fetch_add(1, Ordering::Relaxed);
            self.runtime.barrier();
        }
        fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
            let arrived = self.arrived.load(Ordering::Relaxed);
            let there = arrived >= 3 * (shot.pair + 1) && scheduling::current_cpu() == self.cpu;
            if there { Ok(()) } else { Err(format!("{thread} found {arrived} on {:?}", scheduling::current_cpu())) }
        }
    }

    #[test]
    fn the_threads_of_every_runtime_are_bound() {
        let clock = Clock::calibrate();
        for runtime in openmp::runtimes() {
            for cpu in crate::machine::topology::tests::usable_cpus() {
                let mut team = Team::of_runtime(runtime, &[Some(cpu); 3], &clock).unwrap();
                for _ in 0..2 {
                    let body: Arc<dyn Body> =
                        Arc::new(Arrivals { runtime, arrived: AtomicU64::new(0), cpu: Some(cpu) });
                    let shots = [0, 1].map(|pair| Shot { side: Side::Test, iterations: 1, pair });
                    let records = team.run(&body, &shots, LIMIT).unwrap();
                    assert_eq!(records.iter().map(Vec::len).collect::<Vec<_>>(), [2; 3]);
                    assert_eq!(records.iter().flatten().find_map(|record| record.defect.clone()), None);
                }
            }
        }
    }

    #[test]
    fn a_thread_that_cannot_be_bound_is_an_error() {
        for runtime in openmp::runtimes() {
            let mut team = Team::of_runtime(runtime, &[None, Some(16_000)], &Clock::calibrate()).unwrap();
            let body: Arc<dyn Body> = Arc::new(Arrivals { runtime, arrived: AtomicU64::new(0), cpu: None });
            let error = team.run(&body, &[], LIMIT).unwrap_err();
            assert!(matches!(&error, TeamError::Bind { thread: 1, cpu: 16_000, .. }), "{error}");
            assert!(!team.is_fit());
        }
    }

    /// One thread never reaches the runtime's barrier.
    struct Missing(&'static Runtime);

    impl Body for Missing {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, _: &Shot, thread: usize) {
            if thread == 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            self.0.barrier();
        }
        fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn a_region_that_does_not_end_times_out() {
        for runtime in openmp::runtimes() {
            let limit = Duration::from_millis(50);
            let mut team = Team::of_runtime(runtime, &[None, None], &Clock::calibrate()).unwrap();
            let body: Arc<dyn Body> = Arc::new(Missing(runtime));
            let error = team.run(&body, &[Shot { side: Side::Test, iterations: 1, pair: 0 }], limit).unwrap_err();
            assert!(matches!(error, TeamError::TimedOut(waited) if waited >= limit), "{error}");
            assert_eq!(team.run(&body, &[], limit), Err(TeamError::Poisoned));
        }
    }
}
