//! What a thread of a team does with a batch, whether this program or an OpenMP runtime started it.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use syncscope_core::{Shot, Ticks};
use syncscope_host::scheduling;

use super::mailbox::{Batch, Failure, Report, Shared};
use super::{Body, Record, TeamError};
use crate::sync::{Barrier, LocalSense, WaitTimeout};
use crate::timing::cycles::{self, Meter};
use crate::timing::perf::UserCycles;
use crate::timing::smt_interference::contention_ratio;

/// One thread of a team.
pub(super) struct Actor {
    thread: usize,
    /// The CPU that it is bound to.
    cpu: Option<u32>,
    shared: Arc<Shared>,
    /// The counter of this thread's cycles, where there is one. Only thread 0 counts.
    meter: Option<Meter<UserCycles>>,
}

impl Actor {
    /// The calling thread, as number `thread` of the team, bound to `cpu`.
    pub(super) fn here(thread: usize, cpu: Option<u32>, shared: Arc<Shared>) -> Self {
        // Without a counter there is the chain of additions. `run.json` says why there is no counter.
        let meter = if thread == 0 { Meter::of_this_thread().ok() } else { None };
        Self { thread, cpu, shared, meter }
    }

    /// Runs all shots of a batch. The report also holds a panic.
    pub(super) fn run_batch(&self, batch: &Batch, sense: &mut LocalSense) -> Report {
        match panic::catch_unwind(AssertUnwindSafe(|| self.run_shots(batch, sense))) {
            Ok(Ok(records)) => Ok(records),
            Ok(Err(WaitTimeout)) => Err(Failure::PeerFailed),
            Err(payload) => Err(self.failure_of(payload.as_ref())),
        }
    }

    fn run_shots(&self, batch: &Batch, sense: &mut LocalSense) -> Result<Vec<Record>, WaitTimeout> {
        // No allocation between the shots.
        let mut records = Vec::with_capacity(batch.shots.len());
        for shot in &batch.shots {
            records.push(self.run_shot(batch.body.as_ref(), shot, sense)?);
        }
        Ok(records)
    }

    fn run_shot(&self, body: &dyn Body, shot: &Shot, sense: &mut LocalSense) -> Result<Record, WaitTimeout> {
        let Shared { clock, barrier, .. } = &*self.shared;
        body.prepare(shot, self.thread);
        let ratio_before = contention_ratio(clock);
        let cpu = scheduling::current_cpu();
        // The system moves a bound thread, too, when its CPU is taken away (hot-unplug, a smaller cpuset).
        let is_astray = self.cpu.is_some() && cpu.is_some() && self.cpu != cpu;
        let before = scheduling::involuntary_switches();
        barrier.wait(sense)?;
        let cycles = self.meter.as_ref().and_then(Meter::start);
        let started = clock.start();
        body.run(shot, self.thread);
        let stopped = clock.stop();
        let counted = self.meter.as_ref().and_then(|meter| meter.per_tick(cycles, stopped.saturating_sub(started)));
        let switched = scheduling::involuntary_switches() != before;
        let migrated = scheduling::current_cpu() != cpu;
        let ratio_after = contention_ratio(clock);
        barrier.wait(sense)?;
        let [started, stopped] = body.interval(shot, self.thread).unwrap_or([started, stopped]);
        Ok(Record {
            started: Ticks(started),
            stopped: Ticks(stopped),
            switched,
            migrated: migrated || is_astray,
            contention_ratio: [ratio_before, ratio_after],
            defect: body.verify(shot, self.thread).err(),
            counted_per_tick: counted,
            chained_per_tick: (self.thread == 0).then(|| cycles::per_tick(clock)).flatten(),
        })
    }

    /// The failure that the payload of a panic means. A primitive whose wait timed out unwinds with [`WaitTimeout`].
    fn failure_of(&self, payload: &(dyn Any + Send)) -> Failure {
        if payload.is::<WaitTimeout>() {
            return Failure::PeerFailed;
        }
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let message = message.unwrap_or_else(|| "no message".to_owned());
        Failure::Cause(TeamError::Panicked { thread: self.thread, message })
    }
}
