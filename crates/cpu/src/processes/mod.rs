//! Processes that measure: this program, started again.
//!
//! - This file: [`serve_if_asked`], which makes a process a worker, and the lines that a team and its workers exchange over sockets.
//!   Start here.
//! - `apart.rs`: a fresh process that makes some passes of a run, with memory and threads of its own.
//! - `team.rs`: the workers of some CPUs, as a team that runs shots, and the teams that are kept.
//! - `worker.rs`: what a worker does.
//! - `memory/inherited.rs`: the memory and the descriptors that all workers of a team have.
//!
//! Two kinds of cases need worker processes. glibc leaves out the lock prefix of a mutex while a process has one thread: this
//! process has had several, and there is no way back. And synchronization between processes needs processes.
//!
//! The program starts itself again instead of forking: this process has threads, and after `fork` a process with threads may call
//! little besides `exec`, because other threads may have held any lock of any library. [`serve_if_asked`] is the first line of
//! `main`. Each worker has one thread, bound to its CPU, makes the workload of the case and runs its shots. The loops are those
//! of any other case, because parent and workers are one program.
//!
//! ```text
//! parent: {"New": [case, code of the user]} | {"Run": [purpose, [shots]]}
//! worker: {"Ok": [readings of each shot]} | {"Err": "WaitTimeout" | {"Failed": "..."}}
//! ```
//!
//! A case with a policy of an OpenMP runtime has one worker, whose variables set the policy; the runtime's threads form the team,
//! and the worker answers with the readings of all.
//!
//! A worker has nothing at its standard input and output: a user's code may read and print.
//!
//! Every wait ends. The parent kills the workers of a team when one of them ends, reports an error or is late; the system
//! kills a worker when its parent ends.

mod apart;
mod team;
mod worker;

use std::io::{self, Write};
use std::os::fd::RawFd;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use syncscope_core::{Case, Shot};

pub(crate) use self::apart::measure as measure_apart;
pub use self::apart::measure_if_asked;
pub(crate) use self::team::ProcessPool;
use crate::primitives::own::Library;
use crate::team::Purpose;

/// The argument that makes this program a worker. No command has it.
const ARGUMENT: &str = "--worker-process";

/// Set for a worker. A program that does not serve would otherwise start itself again and again.
const IS_WORKER: &str = "SYNCSCOPE_WORKER_PROCESS";

/// Serves shots if this process is a worker, until the parent closes the socket. `None` in any other process. Has to be
/// called before anything starts a thread.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    (arguments.next()? == ARGUMENT).then(|| {
        let served = worker::serve(&arguments.next().unwrap_or_default());
        if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

// What a team asks its worker processes: lines of JSON, as their reports are.

/// The argument of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Start {
    /// Its number in the team.
    number: usize,
    /// How many workers there are.
    workers: u32,
    /// The CPU that the worker is bound to; for the threads of an OpenMP runtime in one process, the CPUs of all threads.
    cpus: Vec<Option<u32>>,
    /// The process that started it.
    parent: u32,
    /// The numbers of this worker's socket and of the descriptors that all workers inherit.
    socket: RawFd,
    descriptors: Vec<RawFd>,
}

/// A request of a team to its workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum WorkerRequest {
    /// Make a case ready, from the catalogue or from the user's code.
    New(Case, Option<Box<Library>>),
    /// Run the shots.
    Run(Purpose, Vec<Shot>),
}

/// Writes a line.
pub(super) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Dtype, Form, Layout, OwnOperation, Placement, Side, Ticks};

    use super::*;
    use crate::team::{Record, Report, Stopped};

    fn survives<T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug>(message: &T) {
        let mut line = Vec::new();
        send(&mut line, message).unwrap();
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        assert_eq!(&serde_json::from_slice::<T>(&line).unwrap(), message);
    }

    #[test]
    fn requests_survive_the_pipe() {
        let shots: Vec<Shot> =
            [Side::Baseline, Side::Test, Side::Double].map(|side| Shot { side, iterations: 12, pair: 3 }).to_vec();
        let case = Case {
            dtype: Some(Dtype::U64),
            layout: Some(Layout::Shared),
            form: Some(Form::OneThreadProcess),
            threads: Some(2),
            placement: Some(Placement::Close),
            ..Case::new("cpu.lock.pthread_mutex")
        };
        let library = Library { own: OwnOperation::default(), file: "/tmp/operation.so".into() };
        for library in [None, Some(Box::new(library))] {
            survives(&WorkerRequest::New(case.clone(), library));
        }
        for purpose in [Purpose::Samples, Purpose::Windows, Purpose::Proof] {
            survives(&WorkerRequest::Run(purpose, shots.clone()));
        }
    }

    #[test]
    fn answers_survive_the_pipe() {
        let record = Record {
            started: Ticks(17),
            stopped: Ticks(4_000),
            counted: Some(31.75),
            switched: true,
            migrated: false,
            counted_per_tick: None,
            chained_per_tick: Some(1.25),
            contention_ratio: [None, Some(0.1)],
            defect: None,
        };
        let defective = Record { defect: Some("expected 3,\nfound 2".to_owned()), ..record.clone() };
        let reports = [Ok(vec![]), Ok(vec![record, defective]), Err(Stopped::WaitTimeout)];
        reports.iter().for_each(survives::<Report>);
    }
}
