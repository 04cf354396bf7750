//! Processes that measure: this program, started again.
//!
//! - This file: [`serve_if_asked`], which makes a process a worker. Start here.
//! - `apart.rs`: a fresh process that makes some passes of a run, with memory and threads of its own.
//! - `team.rs`: the workers of some CPUs, as a team that runs shots, and the teams that are kept.
//! - `worker.rs`: what a worker does. `wire.rs`: the lines that both exchange over pipes.
//! - `machine/inherited.rs`: the memory and the descriptors that all workers of a team have.
//!
//! Two kinds of cases need them. glibc leaves out the lock prefix of a mutex while a process has one thread: this process
//! has had several, and that does not come back. And synchronization between processes needs processes.
//!
//! The program starts itself again instead of forking: this process has threads, and after `fork` such a process may call
//! little besides `exec`, because other threads may have held any lock of any library. [`serve_if_asked`] is the first
//! line of `main`. Each worker has one thread, bound to its CPU, makes the workload of the case and runs its shots. The loops
//! are those of any other case, because parent and workers are one program.
//!
//! ```text
//! parent: {"New": case} | {"Run": [shots]} | {"Windows": [shots]} | {"Prove": [shots]}
//! worker: "Ready" | {"Records": [readings of each shot]} | "Late" | {"Error": "..."}
//! ```
//!
//! Every wait ends. The parent kills the workers of a team when one of them ends, reports an error or is late; the system
//! kills a worker when its parent ends.

mod apart;
mod team;
mod wire;
mod worker;

use std::io;
use std::process::ExitCode;

pub(crate) use self::apart::measure as measure_apart;
pub use self::apart::measure_if_asked;
pub(crate) use self::team::ProcessPool;

/// The argument that makes this program a worker. No command has it.
const ARGUMENT: &str = "--worker-process";

/// Set for a worker. A program that does not serve would otherwise start itself again and again.
const IS_WORKER: &str = "SYNCSCOPE_WORKER_PROCESS";

/// Serves shots if this process is a worker, until the parent closes the pipe. `None` in any other process. Has to be
/// called before anything starts a thread.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    (arguments.next()? == ARGUMENT).then(|| {
        let words: Vec<String> = arguments.collect();
        let mut output = io::stdout().lock();
        let served = worker::serve(&words, &mut io::stdin().lock(), &mut output);
        let reported = served.or_else(|reason| wire::send(&mut output, &wire::Answer::Error(reason)));
        if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}
