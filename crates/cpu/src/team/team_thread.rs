//! What a thread of a team does: the loop of a thread of this program, and its part of a batch, whether this program, an
//! OpenMP runtime or another process started it.

use std::any::Any;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use syncscope_core::{Shot, Ticks};
use syncscope_host::loading::FloatingPoint;
use syncscope_host::scheduling::{self, CpuSet};

use super::reports::{Batch, Report, Shared, Stopped};
use super::{Body, Record};
use crate::sync::{Barrier, LocalSense, SenseBarrier, WaitTimeout};
use crate::timing::clock::Clock;
use crate::timing::cycles::{self, Meter};
use crate::timing::smt_interference::contention_ratio;

/// One thread of a team.
pub(crate) struct TeamThread {
    thread: usize,
    /// The CPU that it is bound to.
    cpu: Option<u32>,
    /// The CPUs that the thread may use, `cpu` alone if it is bound; `None` where the system does not say.
    cpus: Option<CpuSet>,
    /// The mode to restore: a user's own code may change it, also for the cases after it.
    floating_point: FloatingPoint,
    /// The counter of this thread's cycles, where there is one. Only thread 0 counts.
    meter: Option<Meter>,
}

impl TeamThread {
    /// Makes the calling thread, bound to `cpu` by now, number `thread` of the team.
    pub(crate) fn here(thread: usize, cpu: Option<u32>) -> Self {
        // Without a counter there is the chain of additions. `run.json` says why there is no counter.
        let meter = if thread == 0 { Meter::of_this_thread().ok() } else { None };
        Self { thread, cpu, cpus: CpuSet::of_this_thread(), floating_point: FloatingPoint::now(), meter }
    }

    /// Runs all shots of a batch.
    pub(super) fn run_batch(&self, shared: &Shared, batch: &Batch, sense: &mut LocalSense) -> Report {
        self.run_shots(&shared.clock, &shared.barrier, batch.body.as_ref(), &batch.shots, sense)
    }

    /// Runs shots one after the other. Each begins and ends with a wait at the barrier for the other threads. A thread that was
    /// moved since the last batch first returns to its CPUs; if it is moved during the batch, its shots count as migrated.
    pub(crate) fn run_shots(
        &self,
        clock: &Clock,
        barrier: &SenseBarrier,
        body: &dyn Body,
        shots: &[Shot],
        sense: &mut LocalSense,
    ) -> Report {
        self.return_to_its_cpus()?;
        self.floating_point.put_back();
        // No allocation between the shots.
        let mut records = Vec::with_capacity(shots.len());
        let all = || -> Result<(), WaitTimeout> {
            for shot in shots {
                records.push(self.run_shot(clock, barrier, body, shot, sense)?);
            }
            Ok(())
        };
        match panic::catch_unwind(AssertUnwindSafe(all)) {
            Ok(Ok(())) => {
                // A thread bound to one CPU checks it in each shot.
                let was_moved = self.cpu.is_none() && self.cpus.as_ref().is_some_and(|cpus| !cpus.is_of_this_thread());
                for record in &mut records {
                    record.migrated |= was_moved;
                }
                Ok(records)
            }
            Ok(Err(WaitTimeout)) => Err(Stopped::WaitTimeout),
            Err(payload) => Err(self.stopped_by(payload.as_ref())),
        }
    }

    fn run_shot(
        &self,
        clock: &Clock,
        barrier: &SenseBarrier,
        body: &dyn Body,
        shot: &Shot,
        sense: &mut LocalSense,
    ) -> Result<Record, WaitTimeout> {
        body.prepare(shot, self.thread);
        let ratio_before = contention_ratio(clock);
        let cpu = scheduling::current_cpu();
        // The system moves a bound thread, too, when its CPU is taken away (hot-unplug, a smaller cpuset).
        let is_astray = |cpu: Option<u32>| self.cpu.is_some() && cpu.is_some() && self.cpu != cpu;
        let before = scheduling::involuntary_switches();
        barrier.wait(sense)?;
        let cycles = self.meter.as_ref().and_then(|meter| meter.counter.read());
        let started = clock.start();
        body.run(shot, self.thread);
        let stopped = clock.stop();
        let counted = self.meter.as_ref().and_then(|meter| meter.per_tick(cycles, stopped.saturating_sub(started)));
        let switched = scheduling::involuntary_switches() != before;
        let is_bound_elsewhere = is_astray(cpu) || is_astray(scheduling::current_cpu());
        let ratio_after = contention_ratio(clock);
        barrier.wait(sense)?;
        let [started, stopped] = body.interval(shot, self.thread).unwrap_or([started, stopped]);
        Ok(Record {
            started: Ticks(started),
            stopped: Ticks(stopped),
            counted: body.counted(self.thread),
            switched,
            migrated: is_bound_elsewhere,
            contention_ratio: [ratio_before, ratio_after],
            defect: body.verify(shot, self.thread).err(),
            counted_per_tick: counted,
            chained_per_tick: (self.thread == 0).then(|| cycles::per_tick(clock)).flatten(),
        })
    }

    fn return_to_its_cpus(&self) -> Result<(), Stopped> {
        let returned = self.cpus.as_ref().map_or(Ok(()), CpuSet::restore);
        returned.map_err(|error| match self.cpu {
            Some(cpu) => not_bound(self.thread, cpu, &error),
            None => Stopped::Failed(format!("thread {}: {error}", self.thread)),
        })
    }

    /// What the payload of a panic means.
    fn stopped_by(&self, payload: &(dyn Any + Send)) -> Stopped {
        if payload.is::<WaitTimeout>() {
            return Stopped::WaitTimeout;
        }
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Stopped::Failed(format!("thread {} panicked: {}", self.thread, message.unwrap_or("no message")))
    }
}

/// The life of thread `thread` of a team: binds itself, then runs one batch after the other until one fails.
pub(super) fn serve(thread: usize, cpu: Option<u32>, shared: &Shared, batches: &Receiver<Arc<Batch>>) {
    let bound = cpu.map_or(Ok(()), |cpu| bind(thread, cpu));
    // Joined before the report: no thread may use the barrier earlier.
    let mut sense = shared.barrier.join(thread);
    let team_thread = TeamThread::here(thread, cpu);
    let mut goes_on = shared.report(thread, bound.map(|()| Vec::new()));
    while goes_on {
        let Ok(batch) = batches.recv() else { return };
        let report = team_thread.run_batch(shared, &batch, &mut sense);
        goes_on = shared.report(thread, report);
    }
}

/// Binds the calling thread, number `thread` of its team.
pub(super) fn bind(thread: usize, cpu: u32) -> Result<(), Stopped> {
    scheduling::bind_to_one(cpu).map_err(|error| not_bound(thread, cpu, &error))
}

fn not_bound(thread: usize, cpu: u32, error: &io::Error) -> Stopped {
    Stopped::Failed(format!(
        "could not bind thread {thread} to CPU {cpu}: {error}; check taskset and the cpuset of the control group"
    ))
}
