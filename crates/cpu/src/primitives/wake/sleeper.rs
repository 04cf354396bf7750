//! Whether a thread sleeps, as the kernel says.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

/// What the kernel says of the calling thread. An open file stays that of the thread that opened it.
const PATH: &str = "/proc/thread-self/stat";

/// The state of a thread that sleeps until something wakes it (`proc_pid_stat(5)`).
const ASLEEP: u8 = b'S';

/// How many looks in a row have to find the thread asleep. A thread has this state a moment before it has left its CPU;
/// the second look comes microseconds later.
const LOOKS: u32 = 2;

/// How long the waker looks. Where other programs use the CPUs, a thread may wait for a time slice before it can sleep.
const PATIENCE: Duration = Duration::from_millis(200);

/// A thread whose state can be read.
#[derive(Debug)]
pub(super) struct Sleeper(File);

impl Sleeper {
    /// The calling thread.
    pub(super) fn here() -> io::Result<Self> {
        File::open(PATH).map(Self)
    }

    /// Waits until the thread sleeps. `false` if it did not within the patience of the waker. On one CPU it cannot fall
    /// asleep before the waker leaves.
    pub(super) fn falls_asleep(&self, on_one_cpu: bool) -> bool {
        let started = Instant::now();
        let mut looks = 0;
        while looks < LOOKS {
            if self.state() == Some(ASLEEP) {
                looks += 1;
            } else if started.elapsed() > PATIENCE {
                return false;
            } else {
                looks = 0;
                if on_one_cpu {
                    std::thread::yield_now();
                }
            }
        }
        true
    }

    /// The letter of the state; `None` where the file cannot be read.
    fn state(&self) -> Option<u8> {
        // Number, name and state stand at its begin. No field behind the name has a parenthesis.
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let name_end = text[..length].iter().rposition(|byte| *byte == b')')?;
        text[..length].get(name_end + 2).copied()
    }
}

/// Whether the kernel shows the states of threads.
///
/// # Errors
/// What is missing.
pub(super) fn states_are_shown() -> Result<(), String> {
    match Sleeper::here().map(|here| here.state()) {
        Ok(Some(b'R')) => Ok(()),
        Ok(found) => {
            let found = found.map_or_else(|| "no state".to_owned(), |state| format!("state {}", char::from(state)));
            Err(format!("{PATH} shows {found} for a running thread: whether a waiter sleeps cannot be seen here"))
        }
        Err(error) => Err(format!("{PATH} cannot be read ({error}): mount /proc to see whether a waiter sleeps")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_waits_is_asleep_and_one_that_runs_is_not() {
        let here = Sleeper::here().unwrap();
        assert_eq!(here.state(), Some(b'R'));
        assert_eq!(states_are_shown(), Ok(()));
        let (known, sleeper) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("odd) S (name".to_owned());
        let thread = thread.spawn(move || {
            known.send(Sleeper::here().unwrap()).unwrap();
            ended.recv().unwrap_err();
        });
        let sleeper = sleeper.recv().unwrap();
        assert!(sleeper.falls_asleep(false));
        drop(end);
        thread.unwrap().join().unwrap();
        // A thread that has ended is dead for a moment before the kernel forgets it, and an emulator's lives on to clean up.
        let (started, gone) = (Instant::now(), || matches!(sleeper.state(), None | Some(b'X' | b'Z')));
        while !gone() && started.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        assert!(gone(), "the thread is gone");
        assert!(!here.falls_asleep(true), "the thread that looks runs");
    }
}
