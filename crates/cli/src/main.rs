//! The `syncscope` command: parse, plan, run, report. Nothing else of the project prints.

mod args;
mod failure;
mod import;
mod laboratories;
mod list;
mod progress;
mod report;
mod run;
mod selection;
mod system;
mod terminal;
mod verify;

use std::process::ExitCode;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let outcome = Arguments::read().and_then(|arguments| match arguments.command {
        Command::Run(run) => run::run(&run),
        Command::List(list) => list::list(&list),
        Command::System(system) => system::system(&system),
        Command::Verify(verify) => verify::verify(&verify),
        Command::Report(report) => report::report(report),
        Command::Import(import) => import::import(&import),
    });
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            terminal::error(&failure);
            failure.exit_code()
        }
    }
}
