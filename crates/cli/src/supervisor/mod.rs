//! Commands that use the hardware run in a process of their own, the worker, which this process watches: foreign libraries
//! may crash or never return, and a case that deadlocks ends nothing else.
//!
//! - this file: starts workers and watches them
//! - [`board`]: the memory that both share: the steps of a worker, and instructions for it
//! - [`decision`]: what to do when a worker has ended
//!
//! A worker is this program with the same arguments. One that follows another resumes the run directory.

pub(crate) mod board;
pub(crate) mod decision;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use syncscope_core::own::is_own;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::session::observer::Observer;
use syncscope_core::{Cancel, Case};
use syncscope_host::end::{End, Outside};
use syncscope_host::guard::{Guarded, temporary_folder};
use syncscope_host::limits;

use self::board::{Board, Instructions, Step};
use self::decision::{Decision, History, Left, doing};
use crate::failure::{self, Failure, Outcome};
use crate::launcher;
use crate::terminal::{self, cancel_on_signal};

/// The environment variable with another limit of a step, such as `10m`; see docs/GUIDE.md.
const STEP_LIMIT: &str = "SYNCSCOPE_STEP_LIMIT";

/// The longest time of one step. A measurement block takes milliseconds to seconds; a driver that opens eight devices for the
/// first time takes half a minute.
const LIMIT: Duration = Duration::from_secs(120);

/// The limit for the user's code, which may wait for ever: compiling it, or executing it for some milliseconds.
const OWN_LIMIT: Duration = Duration::from_secs(30);

/// The limit for writing the results of a large run, and its page.
const ENDING_LIMIT: Duration = Duration::from_secs(900);

/// The limit for a part of a published experiment, which may compile long kernels first.
const EXPERIMENT_LIMIT: Duration = Duration::from_secs(300);

/// The limit for a published experiment alone, or for the machine code of all kernels for all architectures: minutes, and more
/// where a user asks for more executions.
const OTHER_LIMIT: Duration = Duration::from_secs(4 * 3600);

/// How often the supervisor polls the worker: often while the worker may end at once, then rarely, so that no
/// measurement is disturbed.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LATER_LOOKS: Duration = Duration::from_millis(200);

/// How long a killed process may take to end. A process inside a driver call that does not return stays.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(20);

/// How a worker resumes the run of the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resuming<'a> {
    /// The devices that the command names.
    pub(crate) devices: Option<&'a [u32]>,
    /// The end of the budget.
    pub(crate) deadline: Option<Instant>,
    /// Whether the user trusts the code that is measured: it is the user's own, or `--trust-code` was given.
    pub(crate) trusts_code: bool,
    /// The files that the command names: JSON and Markdown.
    pub(crate) exports: [Option<&'a Path>; 2],
}

/// Does `work` in a worker, and returns how it ended. In the worker itself, and where no worker can be started, `work` runs
/// in this process.
pub(crate) fn supervised(
    resuming: Resuming<'_>,
    work: impl FnOnce() -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    if board::adopt() {
        return work();
    }
    let mut worker = match Worker::first() {
        Ok(worker) => worker,
        Err(error) => {
            terminal::warning(&format!(
                "this program cannot start itself again ({error}{}): one process does everything, nothing ends what hangs, \
                 and how processes differ is not measured",
                limits::remedy(&error)
            ));
            return work();
        }
    };
    let cancel = cancel_on_signal();
    let mut history = History::default();
    history.instructions.exports = resuming.exports.map(|file| file.map(Into::into));
    loop {
        let (step, left, directory) = worker.run(&mut history, &cancel)?;
        let is_begun = |directory: &&Path| RunDirectory::open(directory).is_ok();
        let how_to_go_on = directory
            .as_deref()
            .filter(is_begun)
            .map_or_else(String::new, |directory| format!("; go on with: {}", terminal::resume_command(directory)));
        if cancel.is_cancelled() && left.said(&step).is_none() {
            terminal::note(&format!("interrupted{how_to_go_on}"));
            return Ok(Outcome::Interrupted);
        }
        match history.decide(&step, left) {
            Decision::Done(code) => return Ok(Outcome::OfWorker(code.try_into().unwrap_or(1))),
            Decision::Restart(message) => {
                terminal::warning(&message);
                worker.resume(directory.as_deref(), &resuming, history.instructions.without_gpu.is_some());
            }
            Decision::Impossible(reason) => return Err(Failure::CouldNot(format!("{reason}{how_to_go_on}"))),
        }
    }
}

/// The option that allows measuring the code of a run, although this user did not write it here.
const TRUST_CODE: &str = "--trust-code";

/// Announces the steps of a fresh process, which a worker has started, to the supervisor of the worker.
pub(crate) fn fresh_process() -> impl Observer {
    struct Steps;
    impl Observer for Steps {
        fn measuring(&mut self, case: &Case) {
            board::begin(&Step::Measuring { id: case.id(), name: case.to_string() });
        }
    }
    board::adopt();
    Steps
}

/// Whether this process is a worker that another one follows if its laboratory is lost.
pub(crate) fn another_follows() -> bool {
    board::is_there() && !board::instructions().is_last
}

/// Ends a worker without the exit handlers of foreign code, which may do anything. Files stay as they are.
pub(crate) fn leave(code: u8) {
    if board::is_there() {
        let is_said = code != failure::LABORATORY_LOST;
        let code = i32::from(code) + if is_said { decision::SAID } else { 0 };
        board::leaves_with(code);
        syncscope_host::exit_at_once(code);
    }
}

/// The outcome of a worker whose laboratory was lost when it set up `case`.
pub(crate) fn lost(case: &Case) -> Outcome {
    board::begin(&Step::Measuring { id: case.id(), name: case.to_string() });
    Outcome::LaboratoryLost
}

/// The options of a process that measures on these devices for this time.
pub(crate) fn options(devices: Option<&[u32]>, budget: Option<Duration>) -> impl Iterator<Item = String> {
    let list = |devices: &[u32]| devices.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let devices = devices.map(|devices| ["--device".to_owned(), list(devices)]);
    let budget = budget.map(|budget| ["--budget".to_owned(), format!("{}ms", budget.as_millis())]);
    devices.into_iter().chain(budget).flatten()
}

/// The command line of the next worker.
struct Worker {
    words: Vec<OsString>,
    keeps_directory: bool,
}

impl Worker {
    /// A worker with the arguments of this process.
    ///
    /// # Errors
    /// Where the program does not find itself, or there is no shared memory.
    fn first() -> std::io::Result<Self> {
        Board::new(&Instructions::default()).and_then(|_| syncscope_host::this_program())?;
        Ok(Self { words: std::env::args_os().skip(1).collect(), keeps_directory: false })
    }

    /// Makes the next worker resume the run, if the last one began a run.
    fn resume(&mut self, directory: Option<&Path>, resuming: &Resuming<'_>, without_gpu: bool) {
        let Some(directory) = directory.filter(|directory| RunDirectory::open(directory).is_ok()) else { return };
        self.words.retain(|word| word == "--nccl-multicast" || word == "--experiments");
        self.words.splice(..0, ["run".into(), "--resume".into(), directory.into()]);
        self.keeps_directory = true;
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let devices = resuming.devices.filter(|_| !without_gpu);
        self.words.extend(options(devices, resuming.deadline.map(left)).map(OsString::from));
        self.words.extend(resuming.trusts_code.then(|| TRUST_CODE.into()));
    }

    /// Runs a worker to its end. Returns its last step, how it ended, and where its results are.
    fn run(&self, history: &mut History, cancel: &Cancel) -> Result<(Step, Left, Option<PathBuf>), Failure> {
        let could_not = |error: std::io::Error| {
            Failure::CouldNot(format!("the program cannot start itself: {error}{}", limits::remedy(&error)))
        };
        let board = Board::new(&history.instructions).map_err(could_not)?;
        // `run.json` records the command as it was typed.
        let mut command = syncscope_host::this_program().map_err(could_not)?;
        command.args(&self.words);
        command.stdin(board.for_worker().map_err(could_not)?);
        if self.keeps_directory {
            launcher::keep_directory(&mut command);
        }
        // If there is no room for the folder, the code that needs one says so.
        let folder = temporary_folder().ok();
        let child = match &folder {
            Some(folder) => Guarded::spawn_in(&mut command, folder),
            None => Guarded::spawn(&mut command),
        };
        let mut child = child.map_err(could_not)?;
        let (step, end) = watch(&mut child, &board, cancel).map_err(could_not)?;
        if child.try_wait().map_err(could_not)?.is_none() {
            return Err(Failure::CouldNot(format!(
                "a child of process {} hangs in a system or driver call and cannot be ended; see `dmesg`, and \
                 continue with `syncscope run --resume` when it is gone",
                child.id()
            )));
        }
        history.last_words = board.last_words();
        Ok((step, Left { end, announced: board.leaving() }, board.directory()))
    }
}

/// Polls a worker until it has ended, was killed because a step took too long, or the user does not wait for it.
fn watch(child: &mut Guarded, board: &Board, cancel: &Cancel) -> std::io::Result<(Step, End)> {
    let asked = std::env::var(STEP_LIMIT).ok().and_then(|text| humantime::parse_duration(&text).ok());
    let (mut last, mut age, mut pause) = ((0, Step::Starting), Duration::ZERO, FIRST_LOOK);
    let mut was_asked = false;
    loop {
        if let Some(end) = child.try_wait()? {
            let (_, step) = board.step().unwrap_or(last);
            return Ok((step, end));
        }
        board.forget_much();
        // Pauses are counted, not the time: a process that was stopped and continued has not been waiting.
        age += pause;
        if let Some(now) = board.step().filter(|now| now.0 != last.0) {
            (last, age) = (now, Duration::ZERO);
        }
        let limit = limit_of(&last.1, asked);
        if cancel.is_cancelled() && !was_asked {
            was_asked = true;
            child.ask_to_end();
            board.ask_to_end();
            // Writing takes seconds, far below its limit, and work with limits of its own ends soon.
            let limit = match last.1 {
                Step::Ending | Step::Other => String::new(),
                _ => format!(", which may take {}", humantime::format_duration(limit)),
            };
            let step = doing(&last.1);
            terminal::note(&format!("ending after this step, {step}{limit}; Ctrl-C again ends at once"));
        }
        let is_urgent = terminal::is_urgent() && !launcher::has_directory();
        if age > limit || is_urgent {
            let is_stopped = child.has_stopped();
            child.end(KILL_LIMIT)?;
            let end = match () {
                () if is_urgent => End::Outside(Outside::Signal(libc::SIGKILL)),
                () if is_stopped => End::Outside(Outside::Stopped(limit)),
                () => End::Hung(limit),
            };
            return Ok((last.1, end));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LATER_LOOKS);
    }
}

/// The longest time of a step. A longer limit that the user asks for holds for all steps.
fn limit_of(step: &Step, asked: Option<Duration>) -> Duration {
    match step {
        Step::Measuring { name, .. } if is_own(name) => asked.unwrap_or(OWN_LIMIT),
        Step::Starting | Step::OpeningCpu | Step::OpeningGpu | Step::Preparing | Step::Measuring { .. } => {
            asked.unwrap_or(LIMIT)
        }
        Step::Ending => asked.unwrap_or_default().max(ENDING_LIMIT),
        Step::Experiment(_) => asked.unwrap_or_default().max(EXPERIMENT_LIMIT),
        Step::Other => asked.unwrap_or_default().max(OTHER_LIMIT),
    }
}
