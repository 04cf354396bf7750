//! A worker: a process of one thread that makes the workload of a case and runs its shots.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use syncscope_core::{Case, Shot};
use syncscope_host::{child_process, scheduling};

use super::{Start, WorkerRequest, send};
use crate::memory::Pages;
use crate::memory::inherited::{self, Inherited};
use crate::primitives::own::{Adopted, Library};
use crate::primitives::{self, Workload};
use crate::sync::{Barrier as _, LocalSense, SenseBarrier};
use crate::team::{Body, Executor as _, PEER_TIMEOUT, Purpose, Report, Stopped, Team, TeamError, TeamThread};
use crate::timing::clock::Clock;
use syncscope_machine::system::System;

/// The state of a worker process.
struct Worker {
    thread: usize,
    workers: u32,
    clock: Clock,
    team_thread: TeamThread,
    /// The CPUs for the threads of an OpenMP runtime, and their team once a case has needed it.
    cpus: Vec<Option<u32>>,
    of_runtime: Option<Team>,
    inherited: &'static Inherited,
    adopted: Adopted,
    job: Option<Job>,
}

/// A case that is ready to run.
struct Job {
    workload: Workload,
    /// The loop in windows, for workers that contend.
    windowed: Option<Arc<dyn Body>>,
    /// The barrier at which the workers of a team begin and end each shot.
    barrier: Pages<SenseBarrier>,
    sense: LocalSense,
}

/// Serves until the parent closes the socket. `start` is the argument, a [`Start`].
pub(super) fn serve(start: &str) -> Result<(), String> {
    let start: Start = read(start)?;
    let in_words = |error: io::Error| error.to_string();
    let socket = UnixStream::from(child_process::inherited(start.socket).map_err(in_words)?);
    let served = Worker::of(start).and_then(|worker| worker.serve(&socket));
    served.inspect_err(|reason| {
        // A parent that does not read has ended.
        let _ = send(&mut &socket, &Report::Err(Stopped::Failed(reason.clone())));
    })
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("`{text}` cannot be read: {error}"))
}

impl Worker {
    fn of(start: Start) -> Result<Self, String> {
        let Start { number: thread, workers, cpus, parent, descriptors, .. } = start;
        child_process::end_with_parent(parent).map_err(|error| error.to_string())?;
        // QEMU's emulation has a thread of its own.
        let at_start = 1 + usize::from(System::default().is_emulated_in_user_mode());
        let threads = scheduling::threads_of_process().unwrap_or(1);
        if threads > at_start {
            return Err(format!("the process has {threads} threads at its start; unset LD_PRELOAD"));
        }
        let cpu = if let [cpu] = cpus[..] { cpu } else { None };
        if let Some(cpu) = cpu {
            scheduling::bind_to_one(cpu).map_err(|error| format!("could not bind to CPU {cpu}: {error}"))?;
        }
        let inherited = Inherited::adopt(&descriptors, thread == 0)?;
        let team_thread = TeamThread::here(thread, cpu);
        Ok(Self {
            thread,
            workers,
            clock: Clock::calibrate(),
            team_thread,
            cpus,
            of_runtime: None,
            inherited,
            adopted: Adopted::default(),
            job: None,
        })
    }

    fn serve(mut self, socket: &UnixStream) -> Result<(), String> {
        let mut output = socket;
        let mut send = |report: &Report| send(&mut output, report).map_err(|error| error.to_string());
        send(&Ok(Vec::new()))?;
        for line in BufReader::new(socket).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let report = match read(&line)? {
                WorkerRequest::New(case, library) => {
                    self.renew(&case, library).map(|()| Vec::new()).map_err(Stopped::Failed)
                }
                WorkerRequest::Run(purpose, shots) => self.run(purpose, &shots),
            };
            send(&report)?;
            if report.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Makes the workload of a case, on new memory. The parent asks the first worker before the others.
    fn renew(&mut self, case: &Case, library: Option<Box<Library>>) -> Result<(), String> {
        self.job = None;
        // SAFETY: this worker's job is gone, and the others run none: the parent has their answers. The first one makes the
        // new state before the others are asked for theirs.
        unsafe { self.inherited.renew()? };
        let barrier =
            inherited::state(1, |_| SenseBarrier::new(self.workers, PEER_TIMEOUT)).ok_or("no memory is left")?;
        let workload = match library {
            Some(library) => self.adopted.workload(*library, case)?,
            None => primitives::workload_of(case).map_err(|refusal| refusal.to_string())?,
        };
        let sense = barrier[0].join(self.thread);
        let windowed = workload.windows.as_ref().map(|windows| windows.body(&self.clock));
        self.job = Some(Job { workload, windowed, barrier, sense });
        Ok(())
    }

    /// Runs shots of the case and returns their records, or what stopped them.
    fn run(&mut self, purpose: Purpose, shots: &[Shot]) -> Report {
        let failed = |reason: &str| Stopped::Failed(reason.to_owned());
        let Job { workload, windowed, barrier, sense } =
            self.job.as_mut().ok_or_else(|| failed("no case was named"))?;
        let body = match purpose {
            Purpose::Samples => Some(&workload.body),
            Purpose::Windows => windowed.as_ref(),
            Purpose::Proof => workload.proof.as_ref(),
        };
        let body = body.ok_or_else(|| failed("the case has no such loops"))?;
        let Some(runtime) = workload.runtime else {
            return self.team_thread.run_shots(&self.clock, &barrier[0], body.as_ref(), shots, sense);
        };
        let stopped = |error: TeamError| match error {
            TeamError::TimedOut(_) => Stopped::WaitTimeout,
            other => Stopped::Failed(other.to_string()),
        };
        if self.of_runtime.is_none() {
            self.of_runtime = Some(Team::of_runtime(runtime, &self.cpus, &self.clock).map_err(stopped)?);
        }
        let team = self.of_runtime.as_mut().ok_or(Stopped::Ended)?;
        team.run_for(purpose, body, shots, PEER_TIMEOUT).map(|records| records.concat()).map_err(stopped)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_process_of_several_threads_measures_nothing() {
        let serve = |parent: u32| {
            let (here, there) = UnixStream::pair().unwrap();
            let start = Start {
                number: 0,
                workers: 1,
                cpus: vec![None],
                parent,
                socket: there.as_raw_fd(),
                descriptors: vec![0],
            };
            let served = super::serve(&serde_json::to_string(&start).unwrap());
            drop(there);
            let said = BufReader::new(here).lines().next().unwrap().unwrap();
            let told = serde_json::from_str::<Report>(&said).unwrap();
            assert_eq!(told, Err(Stopped::Failed(served.clone().unwrap_err())));
            served
        };
        let on_a_thread = || serve(std::os::unix::process::parent_id());
        let served = std::thread::scope(|scope| scope.spawn(on_a_thread).join().unwrap());
        assert!(served.is_err_and(|reason| reason.contains("threads at its start")));
        assert!(serve(0).is_err_and(|reason| reason.contains("has ended")));
        assert!(super::serve("{}").is_err_and(|reason| reason.contains("cannot be read")));
    }
}
