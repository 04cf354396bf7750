//! The `syncscope` command: it parses the arguments, runs one command and sets the exit code. Only this crate prints.
//!
//! `main` is the table of contents. Each [`Command`] is a file in `commands/`; `supervisor/` runs the commands that touch hardware
//! in a child process and replaces the child when it dies.

#![forbid(unsafe_code)]

mod args;
mod axes;
mod catalogue;
mod commands;
mod failure;
mod history;
mod laboratories;
mod launcher;
mod orderings_section;
mod output;
mod progress;
mod provenance;
mod runs;
mod selection;
mod supervisor;
mod terminal;

use std::process::ExitCode;

use args::{Arguments, Command};
use failure::{Failure, Outcome};
use supervisor::Resuming;

fn main() -> ExitCode {
    syncscope_host::limits::settle_signals();
    if let Err(bytes) = syncscope_host::limits::allow_enough_stack() {
        let allowed = bytes >> 10;
        terminal::error(&Failure::CouldNot(format!(
            "a process here may use {allowed} KiB of stack, which is too little: allow 8192 (`ulimit -s`)"
        )));
        return ExitCode::FAILURE;
    }
    if let Err(error) = syncscope_host::search_paths::leave_working_folder() {
        terminal::error(&Failure::CouldNot(format!(
            "could not start this program again without the working folder in PATH: {error}"
        )));
        return ExitCode::FAILURE;
    }
    // A process started through the link to the running file would be called `exe`.
    let _ = std::fs::write("/proc/self/comm", env!("CARGO_BIN_NAME"));
    // First of all: a worker of a measurement must not have started a thread.
    let served = syncscope_cpu::processes::serve_if_asked()
        .or_else(|| syncscope_cpu::processes::measure_if_asked(supervisor::fresh_process))
        .or_else(syncscope_gpu::compiler_process::serve_if_asked);
    if let Some(code) = served {
        return code;
    }
    let arguments = Arguments::read();
    // While there is only one thread: the environment belongs to all threads.
    syncscope_gpu::decide_multicast(arguments.as_ref().is_ok_and(Arguments::allows_multicast));
    let outcome = arguments.and_then(|arguments| match arguments.command {
        Command::Run(run) => commands::run(&run),
        Command::Measure(measure) => commands::measure(&measure),
        Command::List(list) => supervised(|| commands::list(&list)),
        Command::System { format } => supervised(|| commands::system(format)),
        Command::Verify(verify) => supervised(|| commands::verify(&verify)),
        Command::Report(report) => commands::report(report),
        Command::Gallery(gallery) => commands::gallery(&gallery),
        Command::Compare(compare) => commands::compare(&compare),
        Command::Fleet(fleet) => commands::fleet(&fleet),
        Command::Advise(advise) => commands::advise(&advise),
        Command::Show(show) => commands::show(&show),
        Command::Findings(findings) => commands::findings(&findings),
        Command::Submit(submit) => commands::submit(&submit),
        Command::Import(source) => commands::import(&source),
        Command::Completions { shell } => commands::completions(shell),
        Command::Man { out } => commands::man(out.as_deref()),
        Command::Paper(paper) => supervised(|| commands::paper(paper)),
    });
    let code = match outcome {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            terminal::error(&failure);
            failure.code()
        }
    };
    supervisor::leave(code);
    ExitCode::from(code)
}

/// Does `work` in a process of its own, which is not resumed.
fn supervised(work: impl FnOnce() -> Result<Outcome, Failure>) -> Result<Outcome, Failure> {
    supervisor::supervised(Resuming::default(), work)
}
