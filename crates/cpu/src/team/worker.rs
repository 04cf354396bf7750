//! The life of a thread of the pinned team.

use super::TeamError;
use super::actor::Actor;
use super::mailbox::{Failure, Order};
use crate::os;

/// One thread of the team.
pub(super) struct Worker {
    pub(super) cpu: Option<u32>,
    pub(super) actor: Actor,
}

impl Worker {
    /// Binds itself, then carries out one order after the other until one fails.
    pub(super) fn serve(self) {
        let Self { cpu, actor } = self;
        let bound = cpu.map_or(Ok(()), |cpu| bind(actor.thread, cpu));
        let is_bound = bound.is_ok();
        // Joined before the report: nobody may use the barrier earlier.
        let mut sense = actor.shared.barrier.join();
        actor.shared.report(actor.thread, bound.map(|()| Vec::new()).map_err(Failure::Cause));
        let mut seen = 0;
        if !is_bound {
            return;
        }
        loop {
            let Order::Run(batch) = actor.shared.next_order(&mut seen) else { return };
            let report = actor.carry_out(&batch, &mut sense);
            let failed = report.is_err();
            actor.shared.report(actor.thread, report);
            if failed {
                return;
            }
        }
    }
}

/// Binds the calling thread, number `thread` of its team.
pub(super) fn bind(thread: usize, cpu: u32) -> Result<(), TeamError> {
    os::bind_to(cpu).map_err(|error| TeamError::Bind { thread, cpu, reason: error.to_string() })
}
