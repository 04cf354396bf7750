//! What a child process needs besides the standard library: descriptors of its parent, an end when the parent ends, and a
//! time limit.

use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, parent_id};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::end::End;
use crate::guard::Guarded;
pub use crate::guard::wait_within;
use crate::shared_memory::memory_file;
use crate::{done, opened};

/// How often a child with a limit is polled: often at first, because some children end at once.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LATER_LOOKS: Duration = Duration::from_millis(50);

/// How long a killed child may take to end. A child that waits for a device or a file server may never end.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// The time after which no child with a limit is awaited.
static LAST: OnceLock<Instant> = OnceLock::new();

/// Sets the time at which all children with limits are killed, from now on.
pub fn end_at(time: Instant) {
    LAST.get_or_init(|| time);
}

/// The most bytes of a child's messages that are read.
const MOST_BYTES: u64 = 1 << 20;

/// The most bytes that a child may write to its messages before it is killed: more would fill the memory.
const MOST_WRITTEN: u64 = 1 << 24;

/// The largest file that a child may write. Compiled templates with full debug information take a tenth of it.
const LARGEST_FILE: libc::rlim_t = 1 << 28;

/// Passes these descriptors to the child of `command`, under the same numbers. They have to be open when the child is started.
pub fn inherit(command: &mut Command, descriptors: &[BorrowedFd<'_>]) {
    let numbers: Vec<RawFd> = descriptors.iter().map(BorrowedFd::as_raw_fd).collect();
    // Other children of this process do not get them: the close-on-exec flag is cleared in this child alone.
    let keep_open = move || {
        for number in &numbers {
            // SAFETY: the call takes numbers; a descriptor that is not open is an error.
            done(unsafe { libc::fcntl(*number, libc::F_SETFD, 0) })?;
        }
        Ok(())
    };
    // SAFETY: between `fork` and `exec` the closure makes one system call for each descriptor and allocates nothing.
    unsafe { command.pre_exec(keep_open) };
}

/// The descriptor with this number, which the parent passed to this process.
///
/// # Errors
/// The operating system's error (`EBADF`: it is not open).
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // Returns a copy: in a process that was not started by `inherit`, the number may belong to something else.
    // SAFETY: the call takes numbers and returns a new descriptor or -1.
    unsafe { opened(libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3)) }
}

/// Makes the system kill this process when the thread that started it ends, whatever this process waits for.
///
/// # Errors
/// The operating system's error, or that `parent` has ended.
pub fn end_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: the call takes two numbers.
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    // The parent may have ended before the call.
    if parent_id() == parent { Ok(()) } else { Err(io::Error::other("the process that started this one has ended")) }
}

/// Why a child with limits was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// It took too long.
    Late,
    /// It was no longer wanted.
    Cancelled,
    /// The time of [`end_at`] had come.
    OutOfTime,
    /// It wrote more than the limit.
    Talks,
}

/// How a child with limits ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended by itself, or why it was killed.
    pub status: Result<End, Killed>,
    /// What it wrote to its standard error, or the beginning of it.
    pub messages: String,
}

/// Runs a command without input; only its standard error is read. It is killed, together with everything it started, when it
/// takes longer than `limit`, when `is_cancelled`, when it writes without end, or when this process ends.
///
/// # Errors
/// The operating system's error when the command cannot be started.
pub fn run_within(command: &mut Command, limit: Duration, is_cancelled: impl Fn() -> bool) -> io::Result<Ended> {
    // A file, because a pipe would stay open as long as any process has it.
    let mut messages = memory_file()?;
    // A process group of its own: an interrupt from the terminal is for this process alone.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages.try_clone()?).process_group(0);
    limit_files(command);
    let mut child = Guarded::spawn(command)?;
    let (started, mut pause) = (Instant::now(), FIRST_LOOK);
    let status = loop {
        if let Some(end) = child.try_wait()? {
            break Ok(end);
        }
        let reasons = [
            (started.elapsed() > limit, Killed::Late),
            (is_cancelled(), Killed::Cancelled),
            (LAST.get().is_some_and(|last| Instant::now() >= *last), Killed::OutOfTime),
            (messages.metadata()?.len() > MOST_WRITTEN, Killed::Talks),
        ];
        if let Some((_, reason)) = reasons.into_iter().find(|(holds, _)| *holds) {
            child.end(KILL_LIMIT)?;
            break Err(reason);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LATER_LOOKS);
    };
    messages.rewind()?;
    let mut bytes = Vec::new();
    messages.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let messages = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ended { status: status.map(|end| child.before.of_driver(end, &messages)), messages })
}

/// Limits the size of every file that the child writes.
fn limit_files(command: &mut Command) {
    // SAFETY: between `fork` and `exec` the closure makes two system calls with a value that is valid for them.
    unsafe {
        command.pre_exec(|| {
            let mut limit = std::mem::zeroed();
            done(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit))?;
            limit.rlim_cur = limit.rlim_cur.min(LARGEST_FILE);
            done(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_child_gets_the_descriptors_that_it_is_given_and_no_others() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"x").unwrap();
        let is_open = |descriptors: &[BorrowedFd<'_>]| {
            let mut command = Command::new("test");
            command.args(["-e", &format!("/dev/fd/{}", reader.as_raw_fd())]);
            inherit(&mut command, descriptors);
            command.status().unwrap().success()
        };
        assert!(is_open(&[reader.as_fd()]));
        assert!(!is_open(&[]), "the flag of this process is as it was");
    }

    #[test]
    fn a_number_that_is_not_open_is_an_error() {
        assert_eq!(inherited(1 << 20).unwrap_err().raw_os_error(), Some(libc::EBADF));
        let (reader, _writer) = io::pipe().unwrap();
        assert_ne!(inherited(reader.as_raw_fd()).unwrap().as_raw_fd(), reader.as_raw_fd());
    }

    #[test]
    fn a_process_of_another_parent_is_told() {
        std::thread::spawn(|| assert!(end_with_parent(u32::MAX).is_err())).join().unwrap();
    }

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn a_child_within_its_limit_says_how_it_ended() {
        let ended = run_within(&mut shell("echo no >&2; exit 3"), Duration::from_secs(60), || false).unwrap();
        assert_eq!((ended.status.unwrap(), ended.messages.as_str()), (End::Code(3), "no\n"));
        assert!(run_within(&mut Command::new("/nowhere"), Duration::from_secs(60), || false).is_err());
    }

    #[test]
    fn a_child_that_takes_too_long_is_killed_with_what_it_started() {
        // The second process holds the standard error of the first one, and makes a file when it ends by itself.
        let folder = std::env::temp_dir().join(format!("syncscope-limit-{}", std::process::id()));
        let script = format!("echo begun >&2; (sleep 3; touch {}) & wait", folder.display());
        let started = Instant::now();
        let ended = run_within(&mut shell(&script), Duration::from_secs(1), || false).unwrap();
        assert!(ended.status == Err(Killed::Late) && ended.messages == "begun\n", "{ended:?}");
        let cancelled = run_within(&mut shell("sleep 600"), Duration::from_secs(600), || true).unwrap();
        assert!(cancelled.status == Err(Killed::Cancelled) && started.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_secs(4).saturating_sub(started.elapsed()));
        assert!(!folder.exists(), "the second process went on");
    }

    #[test]
    fn a_child_that_writes_without_end_fills_neither_memory_nor_disk() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(600);
        let talks = run_within(&mut shell("exec yes error >&2"), limit, || false).unwrap();
        assert!(talks.status == Err(Killed::Talks) && talks.messages.starts_with("error\n"));
        assert_eq!(talks.messages.len() as u64, MOST_BYTES);
        let script = format!("exec head -c 3G /dev/zero >{}/output", folder.path().display());
        let fills = run_within(&mut shell(&script), limit, || false).unwrap();
        assert_ne!(fills.status.unwrap(), End::Code(0));
        assert_eq!(std::fs::metadata(folder.path().join("output")).unwrap().len(), LARGEST_FILE);
    }
}
