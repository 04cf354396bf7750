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
use crate::commands::run::{BegunWith, begun_with, default_directory, is_complete, report};
use crate::failure::{Failure, Outcome};
use crate::launcher;
use crate::provenance;
use crate::signals::cancel_on_signal;
use crate::terminal;

/// How often the child is looked at.
const POLL: Duration = Duration::from_millis(50);

/// After Ctrl-C the child writes what it has. It gets this long.
const GRACE: Duration = Duration::from_secs(20);

/// A run with less time than this has no figures.
const SHORTEST: Duration = Duration::from_secs(1);

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
    devices: Option<Vec<u32>>,
    /// The command that began the runs.
    command: Vec<String>,
}

impl Request {
    /// From the command line, or from the folder that is resumed.
    fn new(arguments: &RunArguments, count: u32) -> Result<Self, Failure> {
        if let Some(folder) = &arguments.resume {
            let run = RunDirectory::open(folder)?.read_run()?;
            let BegunWith { axes, cpus, devices } = begun_with(&run, folder)?;
            let devices = arguments.device.clone().or(devices);
            let axes = AxisFilter::new(&axes);
            let Run { preset, only, skip, seed, command, .. } = run;
            let unknown = |error| Failure::CouldNot(format!("{}: {error}", folder.display()));
            let preset = preset.parse().map_err(unknown)?;
            let seed = seed.wrapping_sub(1);
            return Ok(Self { folder: folder.clone(), preset, only, skip, seed, axes, cpus, devices, command });
        }
        let folder = arguments.out.clone().unwrap_or_else(|| default_directory(arguments.preset));
        let shortest = SHORTEST * count;
        if arguments.budget.is_some_and(|budget| budget < shortest) {
            return Err(Failure::Usage(format!(
                "--budget is too short for {count} runs; give them {} s or more",
                shortest.as_secs()
            )));
        }
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
            devices: arguments.device.clone(),
            command: provenance::command_line(),
        })
    }
}

/// Runs the plan `count` times, or the runs that are left of a folder that was begun.
pub(super) fn run(arguments: &RunArguments, count: u32) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let request = Request::new(arguments, count)?;
    let folder = &request.folder;
    let cancel = cancel_on_signal();
    let mut outcome = Outcome::Done;
    let mut status = Status::Done;
    let folder_of = |number: u32| folder.join(format!("repeat-{number}"));
    // Those that have not begun come first: a budget may not last for all.
    let mut left: Vec<u32> = (1..=count).filter(|number| !is_complete(&folder_of(*number))).collect();
    left.sort_by_key(|number| has_begun(&folder_of(*number)));
    for (at, &number) in left.iter().enumerate() {
        let child_folder = folder_of(number);
        let is_last = at + 1 == left.len();
        let time = arguments.budget.map(|budget| budget.saturating_sub(started.elapsed()));
        // The first one is begun in any case, so that there is something to resume.
        if at > 0 && time.is_some_and(|time| time < SHORTEST / 2) {
            status = Status::BudgetSpent;
            break;
        }
        terminal::note(&format!("run {number} of {count}"));
        let share = time.map(|time| time / u32::try_from(left.len() - at).unwrap_or(count));
        let mut child = command(&request, &child_folder, number, share)?;
        // A run that is killed can be resumed from the moment on that its first run has begun.
        let mut is_joined = folder.join("run.json").is_file();
        let ended = wait(&mut child, || {
            if !is_joined && has_begun(&child_folder) {
                is_joined = join(&request, count, Status::Running).is_ok();
            }
            cancel.is_cancelled()
        })?;
        match ended.and_then(|ended| ended.code()) {
            Some(0) => {}
            Some(3) => outcome = Outcome::SomeCasesFailed,
            Some(2) => return Err(Failure::Usage("the options are not valid; see the message above".to_owned())),
            _ if cancel.is_cancelled() => status = Status::Interrupted,
            code => return Err(ended_early(&request, number, count, code)),
        }
        if status == Status::Done {
            status = RunDirectory::open(&child_folder)?.read_run()?.status;
        }
        join(&request, count, if is_last { status } else { Status::Running })?;
        if status == Status::Interrupted {
            break;
        }
    }
    let directory = join(&request, count, status)?;
    let shown = report(&Finished { directory, status, contradictions: Vec::new() })?;
    Ok(if shown == Outcome::Done { outcome } else { shown })
}

/// What to do when one of the runs ends without a result.
fn ended_early(request: &Request, number: u32, count: u32, code: Option<i32>) -> Failure {
    let how = code.map_or_else(|| "by a signal".to_owned(), |code| format!("exit code {code}"));
    let folder = request.folder.display();
    let is_empty = (1..=count).all(|number| !has_begun(&request.folder.join(format!("repeat-{number}"))));
    let go_on = match join(request, count, Status::Interrupted) {
        Ok(_) => format!("go on with: syncscope run --resume {folder}"),
        Err(_) if is_empty => format!("nothing was measured; remove {folder} and start a new run"),
        Err(error) => format!("what was measured stays in {folder}, but could not be joined: {error}"),
    };
    Failure::CouldNot(format!("run {number} of {count} ended early ({how}); {go_on}"))
}

/// Whether there is something to resume.
fn has_begun(folder: &Path) -> bool {
    RunDirectory::open(folder).and_then(|directory| directory.read_run()).is_ok()
}

/// The command that measures once, or goes on with what was begun.
fn command(request: &Request, folder: &Path, number: u32, budget: Option<Duration>) -> Result<Command, Failure> {
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
    if let Some(devices) = &request.devices {
        let list: Vec<String> = devices.iter().map(u32::to_string).collect();
        child.args(["--device", &list.join(",")]);
    }
    if let Some(budget) = budget {
        child.args(["--budget", &format!("{}ms", budget.as_millis())]);
    }
    Ok(child)
}

/// Waits for a child, and asks again and again whether to end. After a signal it has some time to end by itself; `None` if it
/// did not.
fn wait(command: &mut Command, mut is_cancelled: impl FnMut() -> bool) -> Result<Option<ExitStatus>, Failure> {
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
    let directory = emptied(folder, &joined)?;
    let mut journal = Journal::open(&directory)?;
    for row in repeats::join(&rows) {
        let of_case = details.get(&row.case.id()).map_or(&[][..], Vec::as_slice);
        journal.append(&row, &[], of_case)?;
    }
    directory.tidy()?;
    copy_evidence(first, &directory)?;
    Ok(directory)
}

/// The folder with this `run.json` and without the tables that it held before.
fn emptied(folder: &Path, joined: &Run) -> Result<RunDirectory, Failure> {
    let directory = RunDirectory::with_run(folder, joined)?;
    let files = [directory.measurements(), directory.samples(), directory.details()];
    for file in files.into_iter().filter(|file| file.exists()) {
        std::fs::remove_file(&file).map_err(|error| could_not(&file, &error))?;
    }
    Ok(directory)
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
