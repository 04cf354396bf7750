//! `syncscope run --repeat N`: several runs of one plan, each in a process of its own, and a run that joins them.
//!
//! The folder holds `repeat-1`, `repeat-2`, ..., each a complete run, and the joined run, which is written anew after each of
//! them, so that the folder is always readable. It has a `run.json` from the beginning, so that it can be resumed
//! whenever it is killed. One process at a time works in it, and the processes that it starts end with it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use syncscope_core::run::Status;
use syncscope_core::run::directory::{RunDirectory, WriteLock, remove_drafts};
use syncscope_core::run::journal::Journal;
use syncscope_core::run::provenance::Disturbed;
use syncscope_core::run::{guests, repeats};
use syncscope_core::session::Finished;
use syncscope_core::sets::unique;
use syncscope_core::{Detail, Row, Run};
use syncscope_host::cpu_list;
use syncscope_host::end::End;
use syncscope_host::guard::Guarded;

use crate::args::{CpuList, RunArguments};
use crate::catalogue::catalogue;
use crate::commands::begun_run::{as_begun, default_directory, interrupted, is_complete, report, resumable};
use crate::failure::{Failure, Outcome};
use crate::terminal::{self, cancel_on_signal};
use crate::{launcher, provenance, supervisor};

/// How often the child is polled.
const POLL: Duration = Duration::from_millis(50);

/// How long the child may take to write what it has, after Ctrl-C or SIGTERM.
const GRACE: Duration = Duration::from_secs(20);

/// The shortest time in which a run has figures.
const SHORTEST: Duration = Duration::from_secs(1);

/// The request for the runs.
struct RepeatRequest {
    folder: PathBuf,
    /// The number of runs.
    count: u32,
    /// Held until the runs have ended.
    _lock: WriteLock,
    /// The arguments of the runs. The first run has the next seed, and so on.
    arguments: RunArguments,
    seed: u64,
    /// The command that began the runs.
    command: Vec<String>,
}

impl RepeatRequest {
    /// From the command line, or from the folder that is resumed.
    fn new(arguments: &RunArguments, count: u32) -> Result<Self, Failure> {
        match &arguments.resume {
            Some(folder) => Self::resumed(folder, arguments, count),
            None => Self::begun(arguments, count),
        }
    }

    fn resumed(folder: &Path, arguments: &RunArguments, count: u32) -> Result<Self, Failure> {
        let reason = "--experiments: repeated runs measure none; start a run without --repeat";
        Failure::refuse([(arguments.experiments, reason)])?;
        let lock = RunDirectory::open(folder)?.lock()?;
        let (directory, run) = resumable(folder)?;
        let (arguments, _) = as_begun(arguments, &directory, &run)?;
        let (folder, seed, command) = (folder.to_owned(), run.seed.wrapping_sub(1), run.command);
        let request = Self { folder, count, _lock: lock, arguments, seed, command };
        request.check_rows(&directory)?;
        Ok(request)
    }

    fn begun(arguments: &RunArguments, count: u32) -> Result<Self, Failure> {
        let folder = arguments.out.clone().unwrap_or_else(|| default_directory(arguments.preset));
        let shortest = SHORTEST * count;
        let reason = format!("--budget is too short for {count} runs; give them {} s or more", shortest.as_secs());
        Failure::refuse([(arguments.budget.is_some_and(|budget| budget < shortest), &reason)])?;
        // An error has to show now, not in a child.
        let directory = RunDirectory::create(&folder)?;
        let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..u64::from(u32::MAX)));
        let (lock, arguments, command) = (directory.lock_unused()?, arguments.clone(), provenance::command_line());
        let request = Self { folder, count, _lock: lock, arguments, seed, command };
        directory.write_run(&request.unmeasured())?;
        Ok(request)
    }

    /// The content of `run.json` until the first run has begun: enough to resume it.
    fn unmeasured(&self) -> Run {
        Run {
            repeat: Some(self.count),
            command: self.command.clone(),
            only: self.arguments.only.clone(),
            skip: self.arguments.skip.clone(),
            seed: self.seed_of(1),
            time_s: self.arguments.time.map(|time| time.as_secs_f64()),
            tool: Some(provenance::tool()),
            ..Run::new(self.arguments.preset.to_string(), SystemTime::now())
        }
    }

    fn seed_of(&self, number: u32) -> u64 {
        self.seed.wrapping_add(u64::from(number))
    }

    /// The folder of a run. Runs are numbered from 1.
    fn folder_of(&self, number: u32) -> PathBuf {
        self.folder.join(format!("repeat-{number}"))
    }

    /// The folders of all runs, including those that have not begun.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        (1..=self.count).map(|number| self.folder_of(number))
    }

    /// The runs that have begun.
    fn runs(&self) -> Result<Vec<(RunDirectory, Run)>, Failure> {
        let there = self.folders().filter_map(|folder| RunDirectory::open(&folder).ok());
        there.map(|directory| directory.read_run().map(|run| (directory, run)).map_err(Failure::from)).collect()
    }

    /// Fails if the folder has rows that its runs do not have, because joining the remaining runs would replace them. Stored
    /// runs are kept without the folders of their runs.
    fn check_rows(&self, directory: &RunDirectory) -> Result<(), Failure> {
        if !directory.has_measurements() {
            return Ok(());
        }
        let joined = repeats::join(&rows_of(&self.runs()?)?, &catalogue(), &[]);
        let left: HashMap<_, _> = joined.iter().map(|row| (row.case.id(), joined_runs(row))).collect();
        let is_less = |row: &Row| left.get(&row.case.id()).is_none_or(|runs| *runs < joined_runs(row));
        if directory.read_rows()?.iter().any(is_less) {
            return Err(Failure::Usage(format!(
                "{}: its rows were joined from more runs than are left in its folders repeat-1 to repeat-{}, and resuming \
                 would replace them; put the folders back, or start a new run with --out",
                self.folder.display(),
                self.count
            )));
        }
        Ok(())
    }

    /// Removes what this process wrote before a run had begun, so that `--out` can name the folder again. If removing fails,
    /// the run can be resumed.
    fn take_back(&self) {
        for file in ["measurements.csv", "run.json"] {
            let _ = fs::remove_file(self.folder.join(file));
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The number of runs that a row joins.
fn joined_runs(row: &Row) -> u64 {
    row.runs.unwrap_or(1)
}

/// Runs the plan `count` times, or the remaining runs of a folder that was begun.
pub(super) fn run(arguments: &RunArguments, count: u32) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let request = RepeatRequest::new(arguments, count)?;
    let cancel = cancel_on_signal();
    let mut outcome = Outcome::Done;
    let mut status = Status::Done;
    // Runs that have not begun come first: a budget may not be enough for all.
    let mut left: Vec<u32> = (1..=count).filter(|number| !is_complete(&request.folder_of(*number))).collect();
    left.sort_by_key(|number| has_begun(&request.folder_of(*number)));
    let mut is_joined = false;
    for (at, &number) in left.iter().enumerate() {
        let child_folder = request.folder_of(number);
        // Another process may have resumed this run alone.
        if is_complete(&child_folder) {
            continue;
        }
        if cancel.is_cancelled() {
            status = Status::Interrupted;
            break;
        }
        let time = arguments.budget.map(|budget| budget.saturating_sub(started.elapsed()));
        // The first run is begun in any case, so that there is something to resume.
        if at > 0 && time.is_some_and(|time| time < SHORTEST / 2) {
            status = Status::BudgetSpent;
            break;
        }
        terminal::note(&format!("run {number} of {count}"));
        let share = time.map(|time| time / u32::try_from(left.len() - at).unwrap_or(count));
        let mut child = command(&request, &child_folder, number, share)?;
        let ended = wait(&mut child, || {
            if !is_joined && has_begun(&child_folder) {
                is_joined = join(&request, Status::Running).is_ok();
            }
            cancel.is_cancelled()
        })?;
        match ended {
            Some(End::Code(0)) => {}
            Some(End::Code(3)) => outcome = Outcome::SomeCasesFailed,
            _ if cancel.is_cancelled() => {
                status = Status::Interrupted;
                break;
            }
            ended => return Err(ended_early(&request, number, ended)),
        }
        if status == Status::Done {
            status = RunDirectory::open(&child_folder)?.read_run()?.status;
        }
        let is_last = at + 1 == left.len();
        join(&request, if is_last { status } else { Status::Running })?;
    }
    if status == Status::Interrupted && request.runs()?.is_empty() {
        RunDirectory::with_run(&request.folder, &Run { status, ..request.unmeasured() })?;
        return Ok(interrupted(&request.folder, 0));
    }
    let directory = join(&request, status)?;
    let shown =
        report(&Finished { directory, status, without_processes: None, contradictions: Vec::new(), history: None })?;
    Ok(if shown == Outcome::Done { outcome } else { shown })
}

/// The failure after one of the runs ended without a result, and what to do about it.
fn ended_early(request: &RepeatRequest, number: u32, ended: Option<End>) -> Failure {
    let has_none = !request.folders().any(|folder| has_begun(&folder));
    let is_taken_back = request.arguments.resume.is_none() && !request.folders().any(|folder| folder.exists());
    if is_taken_back {
        request.take_back();
    }
    if ended == Some(End::Code(2)) {
        return Failure::Usage("the options are not valid; see the message above".to_owned());
    }
    let how = ended.map_or_else(|| "was ended".to_owned(), |end| end.to_string());
    let folder = &request.folder;
    let go_on = match join(request, Status::Interrupted) {
        _ if is_taken_back => "nothing was measured".to_owned(),
        Err(error) if !has_none => {
            format!("what was measured stays in {}, but could not be joined: {error}", folder.display())
        }
        _ => format!("go on with: {}", terminal::resume_command(folder)),
    };
    Failure::CouldNot(format!("run {number} of {} {how}; {go_on}", request.count))
}

/// Whether there is something to resume.
fn has_begun(folder: &Path) -> bool {
    RunDirectory::open(folder).and_then(|directory| directory.read_run()).is_ok()
}

/// The command that measures once, or resumes a run that was begun.
fn command(request: &RepeatRequest, folder: &Path, number: u32, budget: Option<Duration>) -> Result<Command, Failure> {
    let missing = |error| Failure::CouldNot(format!("the file of this program cannot be found: {error}"));
    let (mut child, arguments) = (syncscope_host::this_program().map_err(missing)?, &request.arguments);
    child.arg("run").stdin(Stdio::null()).stdout(Stdio::null());
    launcher::keep_directory(&mut child);
    if folder.join("run.json").is_file() {
        child.arg("--resume").arg(folder);
    } else {
        remove_empty_start(folder);
        let seed = request.seed_of(number).to_string();
        // These runs show their own differences between runs.
        child.args(["--no-history", "--preset", arguments.preset.as_str(), "--seed", &seed, "--out"]).arg(folder);
        child.args(arguments.only.iter().flat_map(|glob| ["--only", glob]));
        child.args(arguments.skip.iter().flat_map(|glob| ["--skip", glob]));
        child.args(arguments.time.iter().flat_map(|time| ["--time".to_owned(), format!("{}ms", time.as_millis())]));
        child.args(arguments.axes.options());
        if let Some(CpuList(cpus)) = &arguments.cpus {
            child.args(["--cpus", &cpu_list::format(cpus)]);
        }
    }
    if arguments.nccl_multicast {
        child.arg("--nccl-multicast");
    }
    child.args(supervisor::options(arguments.device.as_deref(), budget));
    Ok(child)
}

/// Removes the files of a process that was killed before it wrote `run.json`: it had measured nothing. Any other file stays, and
/// is an error of the next run.
fn remove_empty_start(folder: &Path) {
    let is_empty = |file: &PathBuf| fs::metadata(file).is_ok_and(|file| file.len() == 0);
    remove_drafts(folder);
    if let Some(empty) = Some(folder.join("measurements.csv")).filter(is_empty) {
        let _ = fs::remove_file(empty);
    }
}

/// Waits for a child and polls `is_cancelled`. Once cancelled, it asks the child to end, and gives it some time; `None`
/// if that was not enough.
pub(super) fn wait(command: &mut Command, mut is_cancelled: impl FnMut() -> bool) -> Result<Option<End>, Failure> {
    let could_not = |error: std::io::Error| Failure::CouldNot(format!("the program cannot start itself: {error}"));
    let mut child = Guarded::spawn(command).map_err(could_not)?;
    let mut cancelled_at: Option<Instant> = None;
    loop {
        if let Some(end) = child.try_wait().map_err(could_not)? {
            return Ok(Some(end));
        }
        if is_cancelled() && cancelled_at.is_none() {
            cancelled_at = Some(Instant::now());
            child.ask_to_end();
        }
        if terminal::is_urgent() || cancelled_at.is_some_and(|at| at.elapsed() > GRACE) {
            // The rows measured so far are in the child's files.
            child.end(supervisor::KILL_LIMIT).map_err(could_not)?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// Writes the joined run, `run.json` and the tables, from the existing runs.
///
/// # Errors
/// When there is no run, or a file cannot be read or written.
fn join(request: &RepeatRequest, status: Status) -> Result<RunDirectory, Failure> {
    let runs = request.runs()?;
    let Some((first, run)) = runs.first() else {
        return Err(Failure::CouldNot(format!("no run in {} has begun", request.folder.display())));
    };
    let rows = rows_of(&runs)?;
    let mut joined = Run {
        repeat: Some(request.count),
        command: request.command.clone(),
        status,
        ended: runs.last().and_then(|(_, run)| run.ended.clone()),
        sessions: runs.iter().flat_map(|(_, run)| run.sessions.clone()).collect(),
        ..run.clone()
    };
    let other = |(_, other): &(RunDirectory, Run)| provenance::another_environment(run, &other.environment);
    let changed = runs.iter().find_map(other);
    joined.warnings = unique(runs.iter().flat_map(|(_, run)| run.warnings.clone()).chain(changed));
    joined.disturbed = Disturbed::merged(runs.iter().flat_map(|(_, run)| run.disturbed.clone()));
    joined.without_processes = runs.iter().find_map(|(_, run)| run.without_processes.clone());
    let (mut details, of_runs) = (first.read_details()?, repeats::details(&rows));
    for (case, of_runs) in of_runs.into_iter().filter(|(_, of_runs)| !of_runs.is_empty()) {
        let of_case = details.entry(case).or_default();
        of_case.retain(|one| one.name != Detail::PROCESS_NS && one.name != Detail::PROCESS_CYCLES);
        of_case.extend(of_runs);
    }
    let directory = emptied(&request.folder, &joined)?;
    let mut journal = Journal::open(&directory)?;
    for row in repeats::join(&rows, &catalogue(), guests::usual(&run.machine)) {
        let of_case = details.get(&row.case.id()).map_or(&[][..], Vec::as_slice);
        journal.append(&row, &[], of_case)?;
    }
    directory.tidy()?;
    copy_evidence(first, &directory)?;
    Ok(directory)
}

/// The rows of each run.
fn rows_of(runs: &[(RunDirectory, Run)]) -> Result<Vec<Vec<Row>>, Failure> {
    Ok(runs.iter().map(|(directory, _)| directory.read_rows()).collect::<Result<Vec<_>, _>>()?)
}

/// The folder with this `run.json` and without its earlier tables.
fn emptied(folder: &Path, joined: &Run) -> Result<RunDirectory, Failure> {
    let directory = RunDirectory::with_run(folder, joined)?;
    let files = [directory.measurements(), directory.samples(), directory.details()];
    for file in files.into_iter().filter(|file| file.exists()) {
        fs::remove_file(&file).map_err(Failure::in_file(&file))?;
    }
    Ok(directory)
}

fn copy_evidence(from: &RunDirectory, to: &RunDirectory) -> Result<(), Failure> {
    let Ok(listings) = fs::read_dir(from.evidence()) else { return Ok(()) };
    let folder: PathBuf = to.evidence();
    fs::create_dir_all(&folder).map_err(Failure::in_file(&folder))?;
    for listing in listings.filter_map(Result::ok) {
        let copy = folder.join(listing.file_name());
        fs::copy(listing.path(), &copy).map_err(Failure::in_file(&copy))?;
    }
    Ok(())
}
