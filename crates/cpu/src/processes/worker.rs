//! A worker: a process of one thread that makes the workload of a case and runs its shots.

use std::io::{BufRead, Write};
use std::sync::Arc;

use syncscope_core::{Case, Shot};
use syncscope_host::{child_process, scheduling};

use super::{Answer, Request, send};
use crate::machine::inherited::{self, Inherited};
use crate::machine::memory::Pages;
use crate::machine::system::System;
use crate::primitives::{self, Workload};
use crate::sync::{Barrier as _, LocalSense, SenseBarrier};
use crate::team::{Body, PEER_TIMEOUT, Stopped, TeamThread};
use crate::timing::clock::Clock;

/// The process that a worker is.
struct Worker {
    thread: usize,
    workers: u32,
    clock: Clock,
    team_thread: TeamThread,
    inherited: &'static Inherited,
    job: Option<Job>,
}

/// A case that is ready to run.
struct Job {
    workload: Workload,
    /// Its loop in windows, where the workers contend.
    windowed: Option<Arc<dyn Body>>,
    /// At which the workers of a team begin and end each shot.
    barrier: Pages<SenseBarrier>,
    sense: LocalSense,
}

/// Serves until the input ends. `words` are the worker's number, how many there are, its CPU, the process that started it
/// and the numbers of its descriptors.
pub(super) fn serve(words: &[String], input: &mut impl BufRead, output: &mut impl Write) -> Result<(), String> {
    let mut worker = Worker::of(words)?;
    let mut send = |answer: &Answer| send(output, answer).map_err(|error| error.to_string());
    send(&Answer::Ready)?;
    for line in input.lines() {
        let line = line.map_err(|error| error.to_string())?;
        let request = serde_json::from_str(&line).map_err(|error| format!("`{line}` cannot be read: {error}"))?;
        let answer = match request {
            Request::New(case) => worker.renew(&case).map(|()| Answer::Ready),
            Request::Run(shots) => worker.run(&shots, |job| Some(job.workload.body.as_ref())),
            Request::Windows(shots) => worker.run(&shots, |job| job.windowed.as_deref()),
            Request::Prove(shots) => worker.run(&shots, |job| job.workload.proof.as_deref()),
        };
        send(&answer?)?;
    }
    Ok(())
}

impl Worker {
    fn of(words: &[String]) -> Result<Self, String> {
        let [thread, workers, cpu, parent, descriptors] = words else {
            return Err("five arguments are expected".to_owned());
        };
        let number = |word: &str| word.parse::<u32>().map_err(|_| format!("{word} is no number"));
        let (thread, workers) = (number(thread)?, number(workers)?);
        child_process::end_with_parent(number(parent)?).map_err(|error| error.to_string())?;
        // QEMU's emulation has a thread of its own.
        let at_start = 1 + usize::from(System::default().is_emulated_in_user_mode());
        let threads = scheduling::threads_of_process().unwrap_or(1);
        if threads > at_start {
            return Err(format!("the process has {threads} threads at its start; unset LD_PRELOAD"));
        }
        let cpu = cpu.parse().ok();
        if let Some(cpu) = cpu {
            scheduling::bind_to_one(cpu).map_err(|error| format!("could not bind to CPU {cpu}: {error}"))?;
        }
        let inherited = Inherited::adopt(descriptors, thread == 0)?;
        let (thread, team_thread) = (thread as usize, TeamThread::here(thread as usize, cpu));
        Ok(Self { thread, workers, clock: Clock::calibrate(), team_thread, inherited, job: None })
    }

    /// Makes the workload of a case, on new memory. The parent asks the first worker before the others.
    fn renew(&mut self, case: &Case) -> Result<(), String> {
        self.job = None;
        // SAFETY: this worker's job is gone, and the others run none: the parent has their answers. The first one makes the
        // new state before the others are asked for theirs.
        unsafe { self.inherited.renew()? };
        let barrier =
            inherited::state(1, |_| SenseBarrier::new(self.workers, PEER_TIMEOUT)).ok_or("no memory is left")?;
        let workload = primitives::workload_of(case).map_err(|refusal| refusal.to_string())?;
        let sense = barrier[0].join(self.thread);
        let windowed = workload.windows.as_ref().map(|windows| windows.body(&self.clock));
        self.job = Some(Job { workload, windowed, barrier, sense });
        Ok(())
    }

    /// Runs shots of a job of the case: the lines of their records, or of what stopped them.
    fn run(&mut self, shots: &[Shot], body: impl Fn(&Job) -> Option<&dyn Body>) -> Result<Answer, String> {
        let job = self.job.as_mut().ok_or("no case was named")?;
        let mut sense = job.sense;
        let body = body(job).ok_or("the case has no such job")?;
        let found = self.team_thread.run_shots(&self.clock, &job.barrier[0], body, shots, &mut sense);
        job.sense = sense;
        match found {
            Ok(records) => Ok(Answer::Records(records)),
            Err(Stopped::WaitTimeout) => Ok(Answer::Late),
            Err(Stopped::Panicked(message)) => Err(message),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_of_several_threads_measures_nothing() {
        let serve = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            super::serve(&words, &mut "".as_bytes(), &mut Vec::new())
        };
        let parent = std::os::unix::process::parent_id().to_string();
        let on_a_thread = || serve(&["0", "1", "any", &parent, "0"]);
        let served = std::thread::scope(|scope| scope.spawn(on_a_thread).join().unwrap());
        assert!(served.is_err_and(|reason| reason.contains("threads at its start")));
        assert!(serve(&["0", "1", "any", "0", "0"]).is_err_and(|reason| reason.contains("has ended")));
        assert!(serve(&["0", "one", "any", &parent, "0"]).is_err_and(|reason| reason.contains("no number")));
    }
}
