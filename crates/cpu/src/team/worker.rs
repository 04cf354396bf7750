//! The loop of a thread of a [`Team`](super::Team).

use std::sync::Arc;

use super::TeamError;
use super::mailbox::{Command, Failure, Shared};
use super::team_thread::TeamThread;
use crate::sync::Barrier;
use syncscope_host::scheduling;

/// One thread of the team.
pub(super) struct Worker {
    pub(super) thread: usize,
    pub(super) cpu: Option<u32>,
    pub(super) shared: Arc<Shared>,
}

impl Worker {
    /// Binds itself, then executes one command after the other until one fails.
    pub(super) fn serve(self) {
        let Self { thread, cpu, shared } = self;
        let bound = cpu.map_or(Ok(()), |cpu| bind(thread, cpu));
        let is_bound = bound.is_ok();
        // Joined before the report: no thread may use the barrier earlier.
        let mut sense = shared.barrier.join(thread);
        let team_thread = TeamThread::here(thread, cpu);
        shared.report(thread, bound.map(|()| Vec::new()).map_err(Failure::Cause));
        let mut seen = 0;
        if !is_bound {
            return;
        }
        loop {
            let Command::Run(batch) = shared.next_command(&mut seen) else { return };
            let report = match returned(thread, cpu) {
                Ok(()) => team_thread.run_batch(&shared, &batch, &mut sense),
                Err(cause) => Err(Failure::Cause(cause)),
            };
            let failed = report.is_err();
            shared.report(thread, report);
            if failed {
                return;
            }
        }
    }
}

/// Binds the calling thread again if its CPU was taken away since.
fn returned(thread: usize, cpu: Option<u32>) -> Result<(), TeamError> {
    match cpu {
        Some(cpu) if scheduling::current_cpu() != Some(cpu) => bind(thread, cpu),
        _ => Ok(()),
    }
}

/// Binds the calling thread, number `thread` of its team.
pub(super) fn bind(thread: usize, cpu: u32) -> Result<(), TeamError> {
    scheduling::bind_to_one(cpu).map_err(|error| TeamError::Bind { thread, cpu, reason: error.to_string() })
}
