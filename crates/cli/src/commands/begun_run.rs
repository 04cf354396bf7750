//! A run that is resumed: whether it can be, and what it was begun with.

use std::path::Path;

use syncscope_core::Run;
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::session::SessionError;

use crate::args::{Arguments, AxisArguments, Command, CpuList};
use crate::axes;
use crate::failure::Failure;

/// A run that is not complete.
///
/// # Errors
/// If there is no run, or nothing of it is left to measure.
pub(super) fn resumable(path: &Path) -> Result<(RunDirectory, Run), Failure> {
    let directory = RunDirectory::open(path)?;
    let run = directory.read_run()?;
    if let Some(experiment) = run.experiment() {
        return Err(Failure::Usage(format!(
            "{} holds an experiment of a paper, which is not resumed; measure it again with `syncscope paper {experiment}`",
            path.display()
        )));
    }
    // Known before the laboratories open, which takes time. It counts again once no other process can write.
    if directory.is_finished(&run)? {
        return Err(SessionError::Complete(path.to_owned()).into());
    }
    Ok((directory, run))
}

/// What a run that is resumed was restricted to, from its command in `run.json`.
pub(super) struct BegunWith {
    pub(super) axes: AxisArguments,
    pub(super) cpus: Option<CpuList>,
    pub(super) devices: Option<Vec<u32>>,
}

/// # Errors
/// If the command has options that this version does not understand: the rest of the run would not fit its beginning.
pub(super) fn begun_with(run: &Run, path: &Path) -> Result<BegunWith, Failure> {
    match Arguments::of_command(&run.command) {
        Ok(Command::Run(begun)) => Ok(BegunWith { axes: begun.axes, cpus: begun.cpus, devices: begun.device }),
        Err(error) if run.command.iter().any(|word| is_restriction(word)) => {
            let path = path.display();
            Err(Failure::CouldNot(format!(
                "{path}: the command in run.json cannot be understood: {error}; start a new run"
            )))
        }
        // Commands of other versions, which had no such options.
        _ => Ok(BegunWith { axes: AxisArguments::default(), cpus: None, devices: None }),
    }
}

/// Whether a word is an option that restricts a run and stands nowhere but in its command.
fn is_restriction(word: &str) -> bool {
    axes::options().chain(["--cpus", "--device"]).any(|option| word.starts_with(option))
}
