//! The directory of a run: its path, the arguments that the run was begun with, whether anything is left to measure, and the
//! report at the end.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::{Status, timestamp};
use syncscope_core::session::{Finished, SessionError};
use syncscope_core::units::plural;
use syncscope_core::{Axes, Run};
use syncscope_report::table;

use crate::args::{Arguments, Command, MeasureArguments, RunArguments};
use crate::commands::own_request::{OwnRequest, has_answer};
use crate::commands::report::write_of_run;
use crate::commands::written_code;
use crate::failure::{Failure, Outcome};
use crate::supervisor::board;
use crate::{runs, terminal};

/// Opens a run that is not complete.
///
/// # Errors
/// If there is no run, or nothing is left to measure.
pub(super) fn resumable(path: &Path) -> Result<(RunDirectory, Run), Failure> {
    let directory = RunDirectory::open(path)?;
    let run = directory.read_run()?;
    if let Some(experiment) = run.experiment() {
        return Err(Failure::Usage(format!(
            "{} holds a paper's experiment, which cannot be resumed; measure it again with `syncscope paper \
             {experiment}`",
            path.display()
        )));
    }
    // Checked before the laboratories open, which takes time. It is checked again once no other process can write.
    if directory.is_finished(&run)? {
        return Err(SessionError::Complete(path.to_owned()).into());
    }
    Ok((directory, run))
}

/// The arguments of a resumed run, as it was begun, from `run.json` and the command there; and the user's operations, if it
/// measures some.
///
/// # Errors
/// If the command has options that this version does not understand, because the rest of the run would not fit its beginning.
/// Also if it holds code that this user neither began to measure nor trusts.
pub(super) fn as_begun(
    arguments: &RunArguments,
    directory: &RunDirectory,
    run: &Run,
) -> Result<(RunArguments, Option<OwnRequest>), Failure> {
    let could_not = |path: &Path, what: String| Failure::CouldNot(format!("{}: {what}", path.display()));
    let kept = RunArguments {
        preset: run.preset.parse().map_err(|error| could_not(&directory.run_json(), format!("{error}")))?,
        only: run.only.clone(),
        skip: run.skip.clone(),
        seed: Some(run.seed),
        time: run.time(),
        ..arguments.clone()
    };
    match Arguments::of_command(&run.command) {
        Ok(Command::Run(begun)) => {
            let device = arguments.device.clone().or(begun.device);
            let experiments = arguments.experiments || begun.experiments;
            Ok((RunArguments { axes: begun.axes, cpus: begun.cpus, device, experiments, ..kept }, None))
        }
        Ok(Command::Measure(begun)) => {
            let device = arguments.device.clone().or_else(|| begun.device.clone());
            let kept = RunArguments { axes: begun.axes.clone(), device, ..kept };
            written_code::check(&run.own, arguments.trust_code, directory.path())?;
            // The source is the run's, whatever the files hold now. Exports that the run's command named are not written again.
            let [export_json, export_markdown] = board::instructions().exports.map(|file| file.map(PathBuf::from));
            let begun = MeasureArguments { export_json, export_markdown, ..*begun };
            Ok((kept, Some(OwnRequest::begun(run.own.clone(), begun))))
        }
        Err(error) if !run.own.is_empty() || run.command.iter().any(|word| is_restriction(word)) => {
            let what = format!("the command in run.json cannot be understood: {error}; start a new run");
            Err(could_not(directory.path(), what))
        }
        // Commands of other versions without such options.
        _ => Ok((kept, None)),
    }
}

/// Whether a word is an option that restricts a run and is recorded only in its command.
fn is_restriction(word: &str) -> bool {
    Axes::options().chain(["--cpus", "--device"]).any(|option| word.starts_with(option))
}

/// `syncscope-runs/2026-01-31T12-00-00Z-quick`, with the name of a preset or an experiment: sorts by time and is valid on
/// every file system. A second run in the same second ends in `-2`.
pub(super) fn default_directory(name: impl Display) -> PathBuf {
    let time = timestamp(SystemTime::now()).replace(':', "-");
    let named = |ending: &str| PathBuf::from(runs::RUNS).join(format!("{time}-{name}{ending}"));
    let mut path = named("");
    for number in 2_u32.. {
        if !path.exists() {
            break;
        }
        path = named(&format!("-{number}"));
    }
    path
}

/// Whether a run has nothing left to measure.
pub(super) fn is_complete(directory: &Path) -> bool {
    let is_finished = |directory: RunDirectory| directory.is_finished(&directory.read_run()?);
    RunDirectory::open(directory).and_then(is_finished).unwrap_or(false)
}

/// Writes the page, shows the table and the command that resumes an incomplete run.
pub(super) fn report(finished: &Finished) -> Result<Outcome, Failure> {
    let Finished { directory, status, without_processes, contradictions, .. } = finished;
    terminal::warnings(contradictions);
    let (data, sections) = runs::load_with_sections(directory.path())?;
    let mut data = data.in_order();
    let page = write_of_run(directory, &data, &sections);
    // Warnings since the start are on the terminal already.
    data.run = Run { warnings: Vec::new(), disturbed: Vec::new(), without_processes: None, ..data.run };
    data.run.measured_topology = None;
    terminal::show_as_is(&table::summary(&data, terminal::width(), terminal::colour()))?;
    page?;
    match status {
        Status::Interrupted | Status::Running => {
            let Some(reason) = without_processes else { return Ok(interrupted(directory.path(), data.provisional())) };
            let how = how_to_resume(directory.path(), data.provisional());
            terminal::note(&format!("incomplete without fresh processes ({reason}); {how}"));
            return Ok(Outcome::Interrupted);
        }
        Status::BudgetSpent => {
            let how = how_to_resume(directory.path(), data.provisional());
            if !data.rows.iter().any(has_answer) {
                return Err(Failure::CouldNot(format!("the time budget is spent and left no figure; {how}")));
            }
            terminal::note(&format!("the time budget is spent; {how}"));
        }
        Status::Done => {}
    }
    let failed = data.rows.iter().any(|row| row.verdict.is_failure());
    Ok(if failed { Outcome::SomeCasesFailed } else { Outcome::Done })
}

/// Says how to resume a run that has this many provisional rows. A run may be incomplete without an interrupt by the user.
pub(super) fn interrupted(directory: &Path, provisional: usize) -> Outcome {
    let what = if terminal::cancel().is_cancelled() { "interrupted" } else { "incomplete" };
    terminal::note(&format!("{what}; {}", how_to_resume(directory, provisional)));
    Outcome::Interrupted
}

fn how_to_resume(directory: &Path, provisional: usize) -> String {
    let remaining =
        if provisional > 0 { format!("{}; ", plural(provisional, "provisional row")) } else { String::new() };
    format!("{remaining}resume with: {}", terminal::resume_command(directory))
}
