//! The workers of some CPUs, as a team, and the teams that are kept for the next case.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::{Case, Refusal, Shot};
use syncscope_host::child_process;

use super::{ARGUMENT, Answer, IS_WORKER, Request, Start, send};
use crate::machine::inherited::Inherited;
use crate::team::{Body, Executor, Purpose, Record, TeamError};

/// How long workers may take until they are ready: each calibrates the clock.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);

/// A line of a worker, by its number; `None` when it has ended.
type Received = (usize, Option<Answer>);

/// Processes of one thread each, one for each CPU. Between two shots they sleep, as the threads of a team do.
pub(super) struct ProcessTeam {
    cpus: Vec<Option<u32>>,
    workers: Vec<Worker>,
    answers: Receiver<Received>,
    failed: bool,
}

/// One of them, in a process group of its own: an interrupt from the terminal is for the parent alone.
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
}

impl ProcessTeam {
    /// Starts a worker for each entry of `cpus`.
    pub(super) fn start(cpus: &[Option<u32>]) -> Result<Self, TeamError> {
        if std::env::var_os(IS_WORKER).is_some() {
            return Err(does_not_serve("starts further processes"));
        }
        let inherited = Inherited::create().map_err(|error| not_started(&error))?;
        let (sender, answers) = mpsc::channel();
        let mut team = Self { cpus: cpus.to_vec(), workers: Vec::new(), answers, failed: false };
        for (number, cpu) in cpus.iter().enumerate() {
            // Those that were started end with the team.
            let (workers, parent) = (cpus.len() as u32, std::process::id());
            let start = Start { number, workers, cpu: *cpu, parent, descriptors: inherited.numbers() };
            let worker = Worker::start(&start, &inherited, &sender);
            team.workers.push(worker.map_err(|error| not_started(&error))?);
        }
        drop(sender);
        team.expect_ready(STARTUP_TIMEOUT, 0..cpus.len())?;
        Ok(team)
    }

    /// Lets the workers make the workload of a case, on new memory.
    pub(super) fn renew(&mut self, case: &Case) -> Result<(), TeamError> {
        let request = Request::New(case.clone());
        for workers in [0..1, 1..self.workers.len()] {
            self.ask(&request, workers.clone())?;
            self.expect_ready(STARTUP_TIMEOUT, workers)?;
        }
        Ok(())
    }

    fn ask(&mut self, request: &Request, workers: std::ops::Range<usize>) -> Result<(), TeamError> {
        for worker in workers {
            let sent = self.workers[worker].input.as_mut().map(|input| send(input, request));
            if sent.and_then(Result::ok).is_none() {
                return Err(self.ended(worker));
            }
        }
        Ok(())
    }

    /// So many lines of each of these workers, which come within `limit`. After an error the team takes no more requests.
    fn answers(&mut self, limit: Duration, workers: std::ops::Range<usize>) -> Result<Vec<Answer>, TeamError> {
        let (started, first) = (Instant::now(), workers.start);
        let mut found: Vec<Option<Answer>> = workers.map(|_| None).collect();
        while found.iter().any(Option::is_none) {
            let left = limit.saturating_sub(started.elapsed());
            let (worker, answer) = match self.answers.recv_timeout(left) {
                Ok(received) => received,
                Err(RecvTimeoutError::Timeout) => return Err(self.end(TeamError::TimedOut(limit))),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(0)),
            };
            match answer {
                None => return Err(self.ended(worker)),
                Some(Answer::Late) => {
                    let waited = Duration::from_millis(started.elapsed().as_millis() as u64);
                    return Err(self.end(TeamError::TimedOut(waited)));
                }
                Some(Answer::Error(reason)) => {
                    return Err(self.end(TeamError::Failed(format!("worker process {worker}: {reason}"))));
                }
                answer => match worker.checked_sub(first).and_then(|index| found.get_mut(index)) {
                    Some(of_worker @ None) => *of_worker = answer,
                    _ => return Err(self.end(does_not_serve("answered unasked"))),
                },
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn expect_ready(&mut self, limit: Duration, workers: std::ops::Range<usize>) -> Result<(), TeamError> {
        if self.answers(limit, workers)?.iter().all(|answer| *answer == Answer::Ready) {
            return Ok(());
        }
        Err(self.end(does_not_serve("gave another answer")))
    }

    /// The error of a worker that has ended, which ends the others.
    fn ended(&mut self, worker: usize) -> TeamError {
        let status = self.workers.get_mut(worker).and_then(|worker| worker.child.wait().ok());
        let error = match status {
            Some(status) if !status.success() && std::os::unix::process::ExitStatusExt::signal(&status).is_some() => {
                TeamError::Failed(format!("worker process {worker} of {} ended: {status}", self.cpus.len()))
            }
            _ => does_not_serve("ended"),
        };
        self.end(error)
    }

    /// Kills all workers: they may be waiting for each other, with no limit in the locks of the C library.
    fn end(&mut self, error: TeamError) -> TeamError {
        self.failed = true;
        self.workers.iter_mut().for_each(Worker::kill);
        error
    }
}

impl Executor for ProcessTeam {
    fn cpus(&self) -> &[Option<u32>] {
        &self.cpus
    }

    fn is_fit(&self) -> bool {
        !self.failed
    }

    /// The workers have made the same body for themselves.
    fn run_for(
        &mut self,
        purpose: Purpose,
        _: &Arc<dyn Body>,
        shots: &[Shot],
        limit: Duration,
    ) -> Result<Vec<Vec<Record>>, TeamError> {
        if self.failed {
            return Err(TeamError::Poisoned);
        }
        self.ask(&Request::Run(purpose, shots.to_vec()), 0..self.workers.len())?;
        let of_worker = |answer| match answer {
            Answer::Records(records) if records.len() == shots.len() => Some(records),
            _ => None,
        };
        let records: Option<Vec<_>> = self.answers(limit, 0..self.workers.len())?.into_iter().map(of_worker).collect();
        records.ok_or_else(|| self.end(does_not_serve("gave another answer")))
    }
}

impl Worker {
    fn start(start: &Start, inherited: &Inherited, answers: &Sender<Received>) -> io::Result<Self> {
        let number = start.number;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args([ARGUMENT, &serde_json::to_string(start)?])
            .env(IS_WORKER, "1")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        child_process::inherit(&mut command, &inherited.descriptors());
        let mut child = command.spawn()?;
        let (input, output, answers) = (child.stdin.take(), child.stdout.take(), answers.clone());
        // It ends with the pipe, which the end of the child closes.
        thread::spawn(move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok);
            let answer = |line: String| {
                let read = serde_json::from_str(&line);
                read.unwrap_or_else(|_| Answer::Error(format!("`{line}` cannot be read")))
            };
            lines.map(answer).map(Some).chain([None]).for_each(|answer| drop(answers.send((number, answer))));
        });
        Ok(Self { child, input })
    }

    fn kill(&mut self) {
        // Both fail only for a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.input.take());
        self.kill();
    }
}

fn not_started(error: &io::Error) -> TeamError {
    TeamError::Failed(format!("could not start this program again as a worker process: {error}; check `ulimit -u -n`"))
}

/// The worker is not what it should be.
fn does_not_serve(what: &str) -> TeamError {
    TeamError::Failed(format!(
        "a worker process {what}: the program must call `syncscope_cpu::processes::serve_if_asked` first in `main`, as \
         the command syncscope does, and its file must not change during the run"
    ))
}

/// Processes that are kept at most. They sleep, but each has a process number and a share of memory.
const MAX_PROCESSES: usize = 64;

/// Teams of processes, the one used last at the end.
#[derive(Default)]
pub(crate) struct ProcessPool(Vec<ProcessTeam>);

impl ProcessPool {
    /// Processes on these CPUs that have made the workload of the case, on new memory.
    pub(crate) fn team_for(&mut self, case: &Case, cpus: &[Option<u32>]) -> Result<&mut dyn Executor, Refusal> {
        let failed = |error: TeamError| Refusal::Failed(error.to_string());
        self.0.retain(Executor::is_fit);
        let kept = self.0.iter().position(|team| team.cpus() == cpus).map(|index| self.0.remove(index));
        let team = if let Some(team) = kept {
            team
        } else {
            self.make_room(cpus.len());
            ProcessTeam::start(cpus).map_err(failed)?
        };
        self.0.push(team);
        let last = self.0.last_mut().ok_or_else(|| Refusal::Failed("no process".to_owned()))?;
        last.renew(case).map_err(failed)?;
        Ok(last)
    }

    /// Ends the least recently used teams until `new` processes fit.
    fn make_room(&mut self, new: usize) {
        while !self.0.is_empty() && self.0.iter().map(|team| team.cpus().len()).sum::<usize>() + new > MAX_PROCESSES {
            self.0.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_serve_is_named_as_the_reason() {
        // The program of the tests does not know the argument.
        let Err(error) = ProcessTeam::start(&[None, None]) else { panic!("the tests do not serve") };
        assert!(error.to_string().contains("serve_if_asked"), "{error}");
    }
}
