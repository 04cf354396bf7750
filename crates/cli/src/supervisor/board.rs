//! The memory that supervisor and worker share: the worker's current step, and the supervisor's instructions to it at its start.
//!
//! The worker writes without waking anybody, because it is measuring; the supervisor polls.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, stdin};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use syncscope_core::CaseId;
use syncscope_core::session::GivenUp;
use syncscope_host::shared_memory;

use crate::{runs, terminal};

/// What a worker is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// It reads its arguments, or the run that it resumes.
    Starting,
    /// It looks at the CPUs.
    OpeningCpu,
    /// It loads the driver, NVRTC, and opens the GPUs.
    OpeningGpu,
    /// It compiles kernels.
    Preparing,
    /// It takes a measurement block of a case.
    Measuring {
        /// The case.
        id: CaseId,
        /// The case in words.
        name: String,
    },
    /// It repeats this experiment of a paper.
    Experiment(String),
    /// It writes the results.
    Ending,
    /// It does work with limits of its own.
    Other,
}

/// What a worker has to know at its start about the workers before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Instructions {
    /// The cases that ended a worker. They are not measured again.
    pub(crate) give_up: HashMap<CaseId, GivenUp>,
    /// Why the GPUs ended a worker before a case was measured.
    pub(crate) without_gpu: Option<String>,
    /// The experiments of papers that ended a worker, and how.
    pub(crate) without_experiments: HashMap<String, String>,
    /// Whether a worker has already shown what the user has to know of the machine.
    pub(crate) is_again: bool,
    /// Whether no other worker will follow.
    pub(crate) is_last: bool,
    /// The files of the command line for the rows as JSON and as Markdown. The run directory does not name them.
    pub(crate) exports: [Option<OsString>; 2],
}

/// The offsets of the texts. Each ends with a zero, except what measured code writes to its standard error, which ends with the
/// file.
const STEP: u64 = 0;
const DIRECTORY: u64 = 4096;
const LEAVING: u64 = 8192;
const WISH: u64 = 12288;
const INSTRUCTIONS: u64 = 16384;
const WRITTEN: u64 = 1 << 28;

/// The most bytes that are kept of what measured code writes.
const MOST_WRITTEN: u64 = 1 << 22;

/// The beginning of the instructions. A file that is the standard input for another reason lacks it.
const MAGIC: &str = "syncscope";

/// The shared memory, as one side sees it.
#[derive(Debug)]
pub(super) struct Board(File);

/// The worker's board; `None` in a process without a supervisor.
static OWN: OnceLock<Option<Board>> = OnceLock::new();

/// Announces what this process does from now on, and checks whether it has to end: measured code may keep signals from it.
pub(crate) fn begin(step: &Step) {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    if let Some(Some(board)) = OWN.get() {
        // Relaxed: one thread begins steps.
        board.write(STEP, step.to_text(COUNT.fetch_add(1, Ordering::Relaxed)).as_bytes());
        if board.is_to_end() {
            terminal::cancel().cancel();
        }
    }
}

/// Announces the directory with the results of this process, so that another process can resume the run.
pub(crate) fn results_in(directory: &Path) {
    if let Some(Some(board)) = OWN.get() {
        board.write(DIRECTORY, runs::absolute(directory).as_os_str().as_bytes());
    }
}

/// Announces that this process ends by itself, with this exit code.
pub(super) fn leaves_with(code: i32) {
    if let Some(Some(board)) = OWN.get() {
        board.write(LEAVING, code.to_string().as_bytes());
    }
}

/// The file for what measured code writes to its standard error.
pub(crate) fn for_errors() -> Option<File> {
    let mut file = OWN.get()?.as_ref()?.for_worker().ok()?;
    file.seek(SeekFrom::Start(WRITTEN)).is_ok().then_some(file)
}

/// The last words that measured code wrote to its standard error.
pub(crate) fn last_words() -> Option<String> {
    OWN.get()?.as_ref()?.last_words()
}

/// The supervisor's instructions to this process; empty without a supervisor.
pub(crate) fn instructions() -> Instructions {
    let own = OWN.get().and_then(Option::as_ref);
    own.and_then(Board::instructions).unwrap_or_default()
}

/// Whether this process is a worker.
pub(crate) fn is_there() -> bool {
    OWN.get().is_some_and(Option::is_some)
}

/// Makes this process a worker whose standard input is the board. `false` if it is something else.
pub(super) fn adopt() -> bool {
    let board = stdin().as_fd().try_clone_to_owned().map(|descriptor| Board(File::from(descriptor)));
    let board = board.ok().filter(|board| board.instructions().is_some());
    OWN.get_or_init(|| board).is_some()
}

impl Board {
    pub(super) fn new(instructions: &Instructions) -> io::Result<Self> {
        let board = Self(shared_memory::memory_file()?);
        let instructions = serde_json::to_string(instructions)?;
        board.0.write_all_at(format!("{MAGIC}{instructions}\0").as_bytes(), INSTRUCTIONS)?;
        board.write(STEP, Step::Starting.to_text(0).as_bytes());
        Ok(board)
    }

    /// Another handle of the memory, for the worker.
    pub(super) fn for_worker(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// The worker's current step and its number; `None` while the worker writes it.
    pub(super) fn step(&self) -> Option<(u64, Step)> {
        Step::from_text(&String::from_utf8_lossy(&self.read(STEP)))
    }

    /// Asks the worker to end before its next step.
    pub(super) fn ask_to_end(&self) {
        self.write(WISH, b"end");
    }

    fn is_to_end(&self) -> bool {
        let mut first = [0];
        self.0.read_at(&mut first, WISH).is_ok_and(|count| count > 0) && first != [0]
    }

    pub(super) fn directory(&self) -> Option<PathBuf> {
        let bytes = self.read(DIRECTORY);
        (!bytes.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&bytes)))
    }

    /// The exit code that the worker has announced.
    pub(super) fn leaving(&self) -> Option<i32> {
        String::from_utf8(self.read(LEAVING)).ok()?.parse().ok()
    }

    /// Discards what measured code has written if it is much. Later output goes behind the discarded part.
    pub(super) fn forget_much(&self) {
        if self.0.metadata().is_ok_and(|file| file.len() > WRITTEN + MOST_WRITTEN) {
            let _ = self.0.set_len(WRITTEN);
        }
    }

    /// The last line that measured code wrote to its standard error, with the line that it continues: C++ describes an
    /// exception in a second line.
    pub(super) fn last_words(&self) -> Option<String> {
        const MOST: u64 = 400;
        let end = self.0.metadata().ok()?.len();
        let start = end.saturating_sub(MOST).max(WRITTEN);
        let mut bytes = vec![0; end.checked_sub(start)? as usize];
        self.0.read_exact_at(&mut bytes, start).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace(|letter: char| letter.is_control() && letter != '\n', " ");
        // The message of a second thread that throws while the first one describes its exception.
        let text = text.replace("terminate called recursively\n", "");
        let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
        let last = lines.next()?;
        let before = lines.next().filter(|_| last.starts_with(' '));
        Some(before.into_iter().chain([last]).map(str::trim).collect::<Vec<_>>().join(" "))
    }

    fn instructions(&self) -> Option<Instructions> {
        let text = String::from_utf8(self.read(INSTRUCTIONS)).ok()?;
        serde_json::from_str(text.strip_prefix(MAGIC)?).ok()
    }

    /// Writes a text. Nobody waits for it: if writing fails, the supervisor sees an older step.
    fn write(&self, place: u64, text: &[u8]) {
        const MOST: usize = 4000;
        let _ = self.0.write_all_at(&[&text[..text.len().min(MOST)], b"\0"].concat(), place);
    }

    fn read(&self, place: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(count) = self.0.read_at(&mut piece, place + bytes.len() as u64) {
            let end = piece[..count].iter().position(|byte| *byte == 0);
            bytes.extend_from_slice(&piece[..end.unwrap_or(count)]);
            if end.is_some() || count == 0 {
                break;
            }
        }
        bytes
    }
}

impl Step {
    /// Puts the number at both ends, so that a half overwritten text is recognized.
    fn to_text(&self, number: u64) -> String {
        // Writing to a String cannot fail.
        format!("{number}\n{}\n{number}", serde_json::to_string(self).unwrap_or_default())
    }

    fn from_text(text: &str) -> Option<(u64, Self)> {
        let [first, step, last] = text.split('\n').collect::<Vec<_>>().try_into().ok()?;
        let number = first.parse().ok().filter(|_| first == last)?;
        Some((number, serde_json::from_str(step).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use syncscope_core::Verdict;

    use super::*;

    #[test]
    fn a_step_that_is_half_written_is_no_step() {
        let step = Step::Measuring { id: CaseId("0123456789abcdef".into()), name: "cpu.atomic.add threads=2".into() };
        let text = step.to_text(42);
        assert_eq!(Step::from_text(&text), Some((42, step)));
        let torn = text.replacen("42", "43", 1);
        assert_eq!(Step::from_text(&torn), None);
        assert_eq!(Step::from_text(&text[..text.len() - 1]), None);
        assert_eq!(Step::from_text(""), None);
    }

    #[test]
    fn both_sides_see_the_same() {
        let verdicts = [Verdict::TimedOut("it hung".into()), Verdict::Failed("it crashed".into())]
            .map(|verdict| GivenUp { verdict, is_own_fault: true });
        let instructions = Instructions {
            give_up: [CaseId("0a".into()), CaseId("0b".into())].into_iter().zip(verdicts).collect(),
            without_gpu: Some("two\nlines\tand a tab".into()),
            without_experiments: HashMap::from([("timeline".into(), "it hung".into())]),
            is_again: true,
            is_last: true,
            exports: [Some(OsStr::from_bytes(b"/tmp/\xff").to_owned()), None],
        };
        let board = Board::new(&instructions).unwrap();
        let worker = Board(board.for_worker().unwrap());
        assert_eq!(worker.instructions().unwrap(), instructions);
        assert_eq!((board.step(), board.directory()), (Some((0, Step::Starting)), None));
        worker.write(STEP, Step::Preparing.to_text(1).as_bytes());
        worker.write(STEP, Step::Other.to_text(2).as_bytes());
        worker.write(DIRECTORY, b"/tmp/r\xff");
        assert_eq!(board.step(), Some((2, Step::Other)));
        assert_eq!(board.directory().unwrap().as_os_str().as_bytes(), b"/tmp/r\xff");
        assert_eq!(board.leaving(), None);
        worker.write(LEAVING, b"203");
        assert_eq!(board.leaving(), Some(203));
        assert!(!worker.is_to_end());
        board.ask_to_end();
        assert!(worker.is_to_end());
        assert!(Board(shared_memory::memory_file().unwrap()).instructions().is_none(), "another file");
    }

    /// Even behind so much output that it is discarded meanwhile.
    #[test]
    fn the_last_words_of_measured_code_are_kept() {
        use std::io::Write as _;
        let board = Board::new(&Instructions::default()).unwrap();
        assert_eq!(board.last_words(), None);
        let mut errors = board.for_worker().unwrap();
        errors.seek(SeekFrom::Start(WRITTEN)).unwrap();
        errors.write_all(b"first\nlast \x1b[1m\n\n").unwrap();
        assert_eq!(board.last_words().as_deref(), Some("last  [1m"));
        errors.write_all(&vec![b'a'; MOST_WRITTEN as usize]).unwrap();
        board.forget_much();
        assert_eq!(board.last_words(), None);
        errors.write_all(b"\nterminate called after throwing\n  what():  no\n").unwrap();
        assert_eq!(board.last_words().as_deref(), Some("terminate called after throwing what():  no"));
        assert_eq!(board.instructions(), Some(Instructions::default()));
    }
}
