//! The life of a thread of the team.

use std::any::Any;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use syncscope_core::{Shot, Ticks};

use super::mailbox::{Batch, Failure, Order, Shared};
use super::{Body, Record, TeamError};
use crate::sense_barrier::{Broken, LocalSense};
use crate::{cycles, os};

/// One thread of the team.
pub(super) struct Worker {
    pub(super) thread: usize,
    pub(super) cpu: Option<u32>,
    pub(super) shared: Arc<Shared>,
}

impl Worker {
    /// Binds itself, then carries out one order after the other until one fails.
    pub(super) fn serve(self) {
        let bound = self.cpu.map_or(Ok(()), |cpu| self.bind(cpu));
        let is_bound = bound.is_ok();
        // Joined before the report: nobody may use the barrier earlier.
        let mut sense = self.shared.barrier.join();
        self.shared.report(self.thread, bound.map(|()| Vec::new()).map_err(Failure::Cause));
        let mut seen = 0;
        if !is_bound {
            return;
        }
        loop {
            let Order::Run(batch) = self.shared.next_order(&mut seen) else { return };
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| self.perform(&batch, &mut sense)));
            let report = match outcome {
                Ok(Ok(records)) => Ok(records),
                Ok(Err(Broken)) => Err(Failure::LeftAlone),
                Err(payload) => Err(self.explain(payload.as_ref())),
            };
            let failed = report.is_err();
            self.shared.report(self.thread, report);
            if failed {
                return;
            }
        }
    }

    fn bind(&self, cpu: u32) -> Result<(), TeamError> {
        let failure = |error: io::Error| TeamError::Bind { thread: self.thread, cpu, reason: error.to_string() };
        os::bind_to(cpu).map_err(failure)
    }

    fn perform(&self, batch: &Batch, sense: &mut LocalSense) -> Result<Vec<Record>, Broken> {
        // No allocation between the shots.
        let mut records = Vec::with_capacity(batch.shots.len());
        for shot in &batch.shots {
            records.push(self.shoot(batch.body.as_ref(), shot, sense)?);
        }
        Ok(records)
    }

    fn shoot(&self, body: &dyn Body, shot: &Shot, sense: &mut LocalSense) -> Result<Record, Broken> {
        let Shared { clock, barrier, .. } = &*self.shared;
        body.prepare(shot, self.thread);
        let cpu = os::current_cpu();
        let before = os::involuntary_switches();
        barrier.wait(sense)?;
        let started = clock.start();
        body.run(shot, self.thread);
        let stopped = clock.stop();
        let switched = os::involuntary_switches() != before;
        let migrated = os::current_cpu() != cpu;
        barrier.wait(sense)?;
        Ok(Record {
            started: Ticks(started),
            stopped: Ticks(stopped),
            switched,
            migrated,
            defect: body.verify(shot, self.thread).err(),
            cycles_per_tick: (self.thread == 0).then(|| cycles::per_tick(clock)).flatten(),
        })
    }

    /// What the payload of a panic says. Primitives whose own barrier breaks unwind with [`Broken`].
    fn explain(&self, payload: &(dyn Any + Send)) -> Failure {
        if payload.is::<Broken>() {
            return Failure::LeftAlone;
        }
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let message = message.unwrap_or_else(|| "no message".to_owned());
        Failure::Cause(TeamError::Panicked { thread: self.thread, message })
    }
}
