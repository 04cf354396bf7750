//! The workers of some CPUs, as a team, and the teams that are kept for the next case.

use std::io::{self, BufRead as _, BufReader};
use std::net::Shutdown;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::{Case, Refusal, Shot};
use syncscope_host::child_process;
use syncscope_host::end::{Before, End, WITHOUT_A_WORD};

use super::{ARGUMENT, IS_WORKER, Start, WorkerRequest, send};
use crate::memory::inherited::Inherited;
use crate::primitives::own::Library;
use crate::team::openmp::Policy;
use crate::team::pool::kept_or_new;
use crate::team::{Body, Executor, Numbered, Purpose, Record, Report, Stopped, TeamError, collect};

/// How long workers may take until they are ready: each calibrates the clock.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Processes of one thread each, one for each CPU. Between two shots they sleep, as the threads of a team do.
pub(super) struct ProcessTeam {
    cpus: Vec<Option<u32>>,
    /// The policy of the OpenMP runtime whose threads one worker has.
    policy: Option<&'static Policy>,
    workers: Vec<Worker>,
    reports: Receiver<Numbered>,
    /// Whether all workers have said that they serve.
    serves: bool,
    failed: bool,
}

/// A worker, in a process group of its own: an interrupt from the terminal is for the parent alone.
struct Worker {
    child: Child,
    /// Taken right before the worker started.
    before: Before,
    socket: UnixStream,
}

impl ProcessTeam {
    /// Starts a worker for each entry of `cpus`; with a policy, one for all.
    pub(super) fn start(cpus: &[Option<u32>], policy: Option<&'static Policy>) -> Result<Self, TeamError> {
        if std::env::var_os(IS_WORKER).is_some() {
            return Err(does_not_serve("starts further processes"));
        }
        let inherited = Inherited::create().map_err(|error| not_started(&error))?;
        let (sender, reports) = mpsc::channel();
        let mut team = Self { cpus: cpus.to_vec(), policy, workers: Vec::new(), reports, serves: false, failed: false };
        let of_each = cpus.chunks(if policy.is_some() { cpus.len().max(1) } else { 1 });
        let workers = of_each.len() as u32;
        for (number, cpus) in of_each.enumerate() {
            // If one does not start, those started before it end with the team.
            let (cpus, parent) = (cpus.to_vec(), std::process::id());
            let start = Start { number, workers, cpus, parent, socket: 0, descriptors: inherited.numbers() };
            let worker = Worker::start(start, policy, &inherited, &sender);
            team.workers.push(worker.map_err(|error| not_started(&error))?);
        }
        drop(sender);
        team.reports(0..team.workers.len(), 0, STARTUP_TIMEOUT)?;
        team.serves = true;
        Ok(team)
    }

    /// Lets the workers make the workload of a case, or of the user's operation in a library, on new memory.
    pub(super) fn renew(&mut self, case: &Case, library: Option<Library>) -> Result<(), TeamError> {
        let request = WorkerRequest::New(case.clone(), library.map(Box::new));
        for workers in [0..1, 1..self.workers.len()] {
            self.ask(&request, workers.clone())?;
            self.reports(workers, 0, STARTUP_TIMEOUT)?;
        }
        Ok(())
    }

    fn ask(&mut self, request: &WorkerRequest, workers: Range<usize>) -> Result<(), TeamError> {
        for worker in workers {
            if send(&mut &self.workers[worker].socket, request).is_err() {
                let error = self.ended(worker);
                return Err(self.end(error));
            }
        }
        Ok(())
    }

    /// Waits at most `limit` for `of_each` records from each of these workers. After an error the team takes no more requests.
    fn reports(
        &mut self,
        workers: Range<usize>,
        of_each: usize,
        limit: Duration,
    ) -> Result<Vec<Vec<Record>>, TeamError> {
        let started = Instant::now();
        let error = match collect(&self.reports, workers, limit) {
            Ok(found) if found.iter().all(|records| records.len() == of_each) => return Ok(found),
            Ok(_) => does_not_serve("gave another answer"),
            Err((_, Stopped::WaitTimeout)) => TeamError::timed_out(started),
            Err((worker, Stopped::Failed(reason))) => TeamError::Failed(format!("worker process {worker}: {reason}")),
            Err((worker, Stopped::Ended)) => self.ended(worker),
            Err((_, Stopped::Unasked)) => does_not_serve("answered unasked"),
        };
        Err(self.end(error))
    }

    /// The error of a worker that has ended.
    fn ended(&mut self, worker: usize) -> TeamError {
        let end = self.workers.get_mut(worker).and_then(|worker| worker.before.wait(&mut worker.child).ok());
        let Some(end) = end.filter(|end| self.serves || !matches!(end, End::Code(_))) else {
            return does_not_serve("ended");
        };
        let what = if matches!(end, End::Code(1)) { WITHOUT_A_WORD.to_owned() } else { end.to_string() };
        let reason = format!("worker process {worker} of {} {what}", self.cpus.len());
        if end.is_excused() { TeamError::Prevented(reason) } else { TeamError::Failed(reason) }
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

    /// Ignores the body: the workers have made the same one themselves.
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
        let workers = 0..self.workers.len();
        self.ask(&WorkerRequest::Run(purpose, shots.to_vec()), workers.clone())?;
        let of_each = shots.len() * (self.cpus.len() / workers.len().max(1));
        let found = self.reports(workers, of_each, limit)?;
        Ok(found.iter().flat_map(|records| records.chunks(shots.len().max(1))).map(<[Record]>::to_vec).collect())
    }
}

impl Worker {
    fn start(
        start: Start,
        policy: Option<&Policy>,
        inherited: &Inherited,
        reports: &Sender<Numbered>,
    ) -> io::Result<Self> {
        let number = start.number;
        let (socket, of_child) = UnixStream::pair()?;
        let start = Start { socket: of_child.as_raw_fd(), ..start };
        let mut command = syncscope_host::this_program()?;
        command
            .args([ARGUMENT, &serde_json::to_string(&start)?])
            .env(IS_WORKER, "1")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        policy.inspect(|policy| policy.set_for(&mut command));
        child_process::inherit(&mut command, &[&inherited.descriptors()[..], &[of_child.as_fd()]].concat());
        let before = Before::now();
        let (output, reports) = (socket.try_clone()?, reports.clone());
        // Dropping the worker on an error ends the child, too.
        let worker = Self { child: command.spawn()?, before, socket };
        // The thread ends with the socket, which the end of the child closes.
        thread::Builder::new().spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let report = |line: String| -> Report {
                let unreadable = |_| Err(Stopped::Failed(format!("`{line}` cannot be read")));
                serde_json::from_str(&line).unwrap_or_else(unreadable)
            };
            let all = lines.map(report).chain([Err(Stopped::Ended)]);
            all.for_each(|report| drop(reports.send((number, report))));
        })?;
        Ok(worker)
    }

    fn kill(&mut self) {
        // Both fail only for a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // This ends the thread that reads, whoever else has the socket.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.kill();
    }
}

fn not_started(error: &io::Error) -> TeamError {
    TeamError::Prevented(format!(
        "could not start this program again as a worker process: {error}; check `ulimit -u -n -v`"
    ))
}

/// The error of a worker that does not do what workers do.
fn does_not_serve(what: &str) -> TeamError {
    TeamError::Failed(format!(
        "a worker process {what}: the program must call `syncscope_cpu::processes::serve_if_asked` first in `main`, as \
         the command syncscope does"
    ))
}

/// The most processes that are kept. They sleep, but each has a process number and a share of memory.
const MAX_PROCESSES: usize = 64;

/// Teams of processes, the one used last at the end.
#[derive(Default)]
pub(crate) struct ProcessPool(Vec<ProcessTeam>);

impl ProcessPool {
    /// Processes on these CPUs that have made the workload of the case, on new memory.
    pub(crate) fn team_for(
        &mut self,
        case: &Case,
        library: Option<Library>,
        cpus: &[Option<u32>],
        policy: Option<&'static Policy>,
    ) -> Result<&mut dyn Executor, Refusal> {
        let is_wanted = |team: &ProcessTeam| team.cpus() == cpus && team.policy == policy;
        // The threads of a runtime spin, so its processes end first.
        self.0.retain(|team| team.is_fit() && (team.policy.is_none() || is_wanted(team)));
        let start = || ProcessTeam::start(cpus, policy);
        let team = kept_or_new(&mut self.0, is_wanted, [cpus.len(), MAX_PROCESSES], start)?;
        team.renew(case, library)?;
        Ok(team)
    }

    /// Ends the processes of OpenMP runtimes, whose threads spin.
    pub(crate) fn end_runtimes(&mut self) {
        self.0.retain(|team| team.policy.is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_serve_is_named_as_the_reason() {
        // The program of the tests does not know the argument.
        let Err(error) = ProcessTeam::start(&[None, None], None) else { panic!("the tests do not serve") };
        assert!(error.to_string().contains("serve_if_asked"), "{error}");
    }
}
