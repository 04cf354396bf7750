//! `syncscope run --repeat N`: several runs of one plan, each in a process of its own, and one that joins them.
//!
//! The folder holds `repeat-1`, `repeat-2`, ..., each a complete run, and the joined run. It is written anew after each of
//! them, so that what is there is always readable.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use syncscope_core::run::Status;
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::journal::Journal;
use syncscope_core::run::repeats;
use syncscope_core::session::Finished;
use syncscope_core::{Preset, Run};
use syncscope_host::cpu_list;

use crate::args::{CpuList, RunArguments};
use crate::axes::AxisFilter;
use crate::commands::run::{BegunWith, begun_with, default_directory, report};
use crate::failure::{Failure, Outcome};
use crate::launcher;
use crate::provenance;
use crate::signals::cancel_on_signal;
use crate::terminal;

/// How often the child is looked at.
const POLL: Duration = Duration::from_millis(50);

/// After Ctrl-C the child writes what it has. It gets this long.
const GRACE: Duration = Duration::from_secs(20);

/// What each of the runs measures.
struct Request {
    folder: PathBuf,
    preset: Preset,
    only: Vec<String>,
    skip: Vec<String>,
    /// The first run has the next seed, and so on.
    seed: u64,
    axes: AxisFilter,
    cpus: Option<CpuList>,
    /// The command that began the runs.
    command: Vec<String>,
}

impl Request {
    /// From the command line, or from the folder that is resumed.
    fn new(arguments: &RunArguments) -> Result<Self, Failure> {
        if let Some(folder) = &arguments.resume {
            let run = RunDirectory::open(folder)?.read_run()?;
            let BegunWith { axes, cpus } = begun_with(&run, folder)?;
            let axes = AxisFilter::new(&axes);
            let Run { preset, only, skip, seed, command, .. } = run;
            let unknown = |error| Failure::CouldNot(format!("{}: {error}", folder.display()));
            let preset = preset.parse().map_err(unknown)?;
            let seed = seed.wrapping_sub(1);
            return Ok(Self { folder: folder.clone(), preset, only, skip, seed, axes, cpus, command });
        }
        let folder = arguments.out.clone().unwrap_or_else(|| default_directory(arguments.preset));
        // An error shows now, not in a child.
        RunDirectory::create(&folder)?;
        let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..u64::from(u32::MAX)));
        Ok(Self {
            folder,
            preset: arguments.preset,
            only: arguments.only.clone(),
            skip: arguments.skip.clone(),
            seed,
            axes: AxisFilter::new(&arguments.axes),
            cpus: arguments.cpus.clone(),
            command: provenance::command_line(),
        })
    }
}

/// Runs the plan `count` times, or the runs that are left of a folder that was begun.
pub(super) fn run(arguments: &RunArguments, count: u32) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let request = Request::new(arguments)?;
    let folder = &request.folder;
    let cancel = cancel_on_signal();
    let mut outcome = Outcome::Done;
    let mut status = Status::Done;
    for number in 1..=count {
        let child_folder = folder.join(format!("repeat-{number}"));
        if is_done(&child_folder) {
            continue;
        }
        let left = arguments.budget.map(|budget| budget.saturating_sub(started.elapsed()));
        if left.is_some_and(|left| left < Duration::from_secs(1)) {
            status = Status::BudgetSpent;
            break;
        }
        terminal::note(&format!("run {number} of {count}"));
        let share = left.map(|left| left / (count - number + 1));
        let mut child = command(&request, arguments.device.as_deref(), &child_folder, number, share)?;
        let ended = wait(&mut child, || cancel.is_cancelled())?;
        match ended.and_then(|ended| ended.code()) {
            Some(0) => {}
            Some(3) => outcome = Outcome::SomeCasesFailed,
            Some(2) => return Err(Failure::Usage("the options are not valid; see the message above".to_owned())),
            _ if cancel.is_cancelled() => status = Status::Interrupted,
            code => {
                return Err(Failure::CouldNot(format!(
                    "run {number} of {count} ended early ({}); go on with: syncscope run --resume {}",
                    code.map_or_else(|| "by a signal".to_owned(), |code| format!("exit code {code}")),
                    folder.display()
                )));
            }
        }
        join(&request, count, if number == count { status } else { Status::Running })?;
        if status == Status::Interrupted {
            break;
        }
    }
    let directory = join(&request, count, status)?;
    let shown = report(&Finished { directory, status, contradictions: Vec::new() })?;
    Ok(if shown == Outcome::Done { outcome } else { shown })
}

fn is_done(folder: &Path) -> bool {
    RunDirectory::open(folder).and_then(|directory| directory.read_run()).is_ok_and(|run| run.status == Status::Done)
}

/// The command that measures once, or goes on with what was begun.
fn command(
    request: &Request,
    devices: Option<&[u32]>,
    folder: &Path,
    number: u32,
    budget: Option<Duration>,
) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::CouldNot(format!(
            "the file of this program cannot be found: {error}; check that it was not moved or deleted"
        ))
    })?;
    let mut child = Command::new(program);
    child.arg("run").stdin(Stdio::null()).stdout(Stdio::null());
    launcher::keep_directory(&mut child);
    if folder.join("run.json").is_file() {
        child.arg("--resume").arg(folder);
    } else {
        let seed = request.seed.wrapping_add(u64::from(number)).to_string();
        child.args(["--preset", request.preset.as_str(), "--seed", &seed, "--out"]).arg(folder);
        for (option, globs) in [("--only", &request.only), ("--skip", &request.skip)] {
            for glob in globs {
                child.args([option, glob]);
            }
        }
        child.args(request.axes.options());
        if let Some(CpuList(cpus)) = &request.cpus {
            child.args(["--cpus", &cpu_list::format(cpus)]);
        }
    }
    if let Some(devices) = devices {
        let list: Vec<String> = devices.iter().map(u32::to_string).collect();
        child.args(["--device", &list.join(",")]);
    }
    if let Some(budget) = budget {
        child.args(["--budget", &format!("{}ms", budget.as_millis())]);
    }
    Ok(child)
}

/// Waits for a child. After a signal it has some time to end by itself; `None` if it did not.
fn wait(command: &mut Command, is_cancelled: impl Fn() -> bool) -> Result<Option<ExitStatus>, Failure> {
    let could_not = |error: std::io::Error| Failure::CouldNot(format!("the program cannot start itself: {error}"));
    let mut child = command.spawn().map_err(could_not)?;
    let mut cancelled_at = None;
    loop {
        if let Some(status) = child.try_wait().map_err(could_not)? {
            return Ok(Some(status));
        }
        if is_cancelled() && cancelled_at.get_or_insert_with(Instant::now).elapsed() > GRACE {
            // What it has measured so far is in its files.
            child.kill().and_then(|()| child.wait()).map_err(could_not)?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// Writes the joined run from the runs that are there.
fn join(request: &Request, count: u32, status: Status) -> Result<RunDirectory, Failure> {
    let folder = &request.folder;
    let mut runs: Vec<(RunDirectory, Run)> = Vec::new();
    for number in 1..=count {
        if let Ok(directory) = RunDirectory::open(&folder.join(format!("repeat-{number}"))) {
            let run = directory.read_run()?;
            runs.push((directory, run));
        }
    }
    let Some((first, run)) = runs.first() else {
        return Err(Failure::CouldNot(format!("no run in {} has begun", folder.display())));
    };
    let rows = runs.iter().map(|(directory, _)| directory.read_rows()).collect::<Result<Vec<_>, _>>()?;
    let mut joined = Run {
        repeat: Some(count),
        command: request.command.clone(),
        status,
        ended: runs.last().and_then(|(_, run)| run.ended.clone()),
        sessions: runs.iter().flat_map(|(_, run)| run.sessions.clone()).collect(),
        ..run.clone()
    };
    for warning in runs.iter().flat_map(|(_, run)| &run.warnings) {
        if !joined.warnings.contains(warning) {
            joined.warnings.push(warning.clone());
        }
    }
    let details = first.read_details()?;
    let directory = emptied(folder)?;
    directory.write_run(&joined)?;
    let mut journal = Journal::open(&directory)?;
    for row in repeats::join(&rows) {
        let of_case = details.get(&row.case.id()).map_or(&[][..], Vec::as_slice);
        journal.append(&row, &[], of_case)?;
    }
    directory.tidy()?;
    copy_evidence(first, &directory)?;
    Ok(directory)
}

/// The folder without the joined run that it held before.
fn emptied(folder: &Path) -> Result<RunDirectory, Failure> {
    let files = ["measurements.csv", "samples.csv", "details.csv"].map(|name| folder.join(name));
    for file in files.into_iter().filter(|file| file.exists()) {
        std::fs::remove_file(&file).map_err(|error| could_not(&file, &error))?;
    }
    // Only a folder with a `run.json` is opened as one.
    let run_json = folder.join("run.json");
    if !run_json.exists() {
        std::fs::write(&run_json, "").map_err(|error| could_not(&run_json, &error))?;
    }
    Ok(RunDirectory::open(folder)?)
}

fn copy_evidence(from: &RunDirectory, to: &RunDirectory) -> Result<(), Failure> {
    let Ok(listings) = std::fs::read_dir(from.evidence()) else { return Ok(()) };
    let folder: PathBuf = to.evidence();
    std::fs::create_dir_all(&folder).map_err(|error| could_not(&folder, &error))?;
    for listing in listings.filter_map(Result::ok) {
        let copy = folder.join(listing.file_name());
        std::fs::copy(listing.path(), &copy).map_err(|error| could_not(&copy, &error))?;
    }
    Ok(())
}

fn could_not(path: &Path, error: &std::io::Error) -> Failure {
    Failure::CouldNot(format!("{}: {error}", path.display()))
}
