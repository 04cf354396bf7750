//! How a child process ended, and what ended it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::Duration;
use std::{fmt, io};

use crate::limits;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Code(i32),
    /// By a signal for its own fault.
    Signal(i32),
    /// By a cause outside the process.
    Outside(Outside),
    /// By the process that watched it, because it took longer than this.
    Hung(Duration),
}

/// The message about a process that ended with an exit code of this program and gave no reason.
pub const WITHOUT_A_WORD: &str =
    "ended without a word: the code that it ran calls `exit`, or closes file descriptors of this program";

impl End {
    /// Whether the process is not to blame. Processes that got no memory or were stopped are not excused: their cause is unknown.
    pub const fn is_excused(self) -> bool {
        matches!(self, Self::Outside(outside) if !matches!(outside, Outside::MemoryLimit(..) | Outside::Stopped(_)))
    }
}

/// What ends a process that did nothing wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// A signal that somebody or a limit sent.
    Signal(i32),
    /// The kernel, because the memory of the machine or of a control group ran out.
    OutOfMemory,
    /// This signal, in a process that may have this many bytes of memory.
    MemoryLimit(i32, u64),
    /// The limit on the CPU time of a process, which is this long.
    CpuTimeLimit(Duration),
    /// The process that watched it, because somebody had stopped it and did not continue it within this time.
    Stopped(Duration),
}

/// The tolerance at a limit of CPU time: the limit is in seconds, and the kernel checks it at ticks of the scheduler.
const TICKS: Duration = Duration::from_millis(50);

/// Counters of all children, read before a child starts.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    out_of_memory_kills: Option<u64>,
    cpu_time: Duration,
}

impl Before {
    /// Reads the counters. Call it right before the child starts.
    pub fn now() -> Self {
        Self { out_of_memory_kills: limits::out_of_memory_kills(), cpu_time: limits::cpu_time_of_children() }
    }

    /// Waits for a child that started after these counters were read, and returns how it ended.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn wait(self, child: &mut Child) -> io::Result<End> {
        has_ended(child.id(), 0);
        self.reap(child)
    }

    /// Like [`Before::wait`], but returns `None` at once while the child still runs.
    pub(crate) fn try_wait(self, child: &mut Child) -> io::Result<Option<End>> {
        if has_ended(child.id(), libc::WNOHANG) { self.reap(child).map(Some) } else { Ok(None) }
    }

    /// Waits for a child that has ended. Its limits can be read until then; somebody may have given it others than this process
    /// has.
    fn reap(self, child: &mut Child) -> io::Result<End> {
        let memory = limits::memory_of(child.id().cast_signed());
        child.wait().map(|status| self.end_of(status, memory))
    }

    fn end_of(self, status: ExitStatus, memory: Option<u64>) -> End {
        status.signal().map_or_else(|| End::Code(status.code().unwrap_or(1)), |signal| self.of_signal(signal, memory))
    }

    fn of_signal(self, signal: i32, memory: Option<u64>) -> End {
        let spent = limits::cpu_time_of_children().saturating_sub(self.cpu_time) + TICKS;
        let is_at_limit = |limit: &Duration| spent >= *limit;
        match signal {
            libc::SIGXCPU | libc::SIGKILL if limits::cpu_time().as_ref().is_some_and(is_at_limit) => {
                End::Outside(Outside::CpuTimeLimit(limits::cpu_time().unwrap_or_default()))
            }
            libc::SIGKILL if limits::out_of_memory_kills() > self.out_of_memory_kills => {
                End::Outside(Outside::OutOfMemory)
            }
            // The signals of a process that gets no memory.
            libc::SIGABRT | libc::SIGSEGV => {
                memory.map_or(End::Signal(signal), |limit| End::Outside(Outside::MemoryLimit(signal, limit)))
            }
            _ if is_of_fault(signal) => End::Signal(signal),
            _ => End::Outside(Outside::Signal(signal)),
        }
    }
}

/// Whether a child has ended; does not reap it. If nothing is known of the child, waiting for it tells the reason.
fn has_ended(process: u32, options: libc::c_int) -> bool {
    // SAFETY: zeros are a valid value, which the call replaces where the child has ended; the process number is zero where it
    // has not.
    unsafe {
        let mut found = std::mem::zeroed::<libc::siginfo_t>();
        let called = libc::waitid(libc::P_PID, process, &raw mut found, libc::WEXITED | libc::WNOWAIT | options);
        called != 0 || found.si_pid() != 0
    }
}

impl Before {
    /// How a compiler driver ended. It starts other programs, and when one of them is ended it exits with an error and says so.
    pub(crate) fn of_driver(self, end: End, messages: &str) -> End {
        const FROM_OUTSIDE: [(&str, i32); 4] = [
            ("Killed signal terminated program", libc::SIGKILL),
            ("Terminated signal terminated program", libc::SIGTERM),
            ("Hangup signal terminated program", libc::SIGHUP),
            ("unable to execute command: Killed", libc::SIGKILL),
        ];
        let said = FROM_OUTSIDE.iter().find(|(text, _)| messages.contains(text));
        match (end, said) {
            (End::Code(1..), Some((_, signal))) => self.of_signal(*signal, limits::memory()),
            _ => end,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(signal) => write!(f, "was ended by {}", signal_name(*signal)),
            Self::Outside(outside) => outside.fmt(f),
            Self::Hung(limit) => write!(f, "did not end within {limit:?}"),
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal) => write!(f, "was ended by a signal from outside ({})", signal_name(*signal)),
            Self::OutOfMemory => write!(f, "was ended by the kernel because memory ran out (SIGKILL)"),
            Self::MemoryLimit(signal, limit) => {
                write!(
                    f,
                    "was ended by {} with at most {} MiB of memory (`ulimit -v`, `-d`)",
                    signal_name(*signal),
                    limit >> 20
                )
            }
            Self::Stopped(limit) => {
                write!(f, "was stopped (SIGSTOP, a debugger) and did not go on within {limit:?}")
            }
            Self::CpuTimeLimit(limit) => {
                write!(f, "was ended at the limit of {} s of CPU time (`ulimit -t`)", limit.as_secs())
            }
        }
    }
}

/// Whether a process gets this signal for its own fault. Other signals come from somebody or from a limit.
const fn is_of_fault(signal: i32) -> bool {
    use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    matches!(signal, SIGABRT | SIGBUS | SIGFPE | SIGILL | SIGSEGV | SIGSYS | SIGTRAP)
}

fn signal_name(signal: i32) -> String {
    const NAMES: &str = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT \
                         STOP TSTP TTIN \
                         TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS";
    let name = usize::try_from(signal).ok().and_then(|signal| NAMES.split(' ').nth(signal.checked_sub(1)?));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        for (signal, name) in [(libc::SIGHUP, "SIGHUP"), (libc::SIGXFSZ, "SIGXFSZ"), (libc::SIGSYS, "SIGSYS")] {
            assert_eq!(signal_name(signal), name);
        }
        assert_eq!((signal_name(0), signal_name(64)), ("signal 0".to_owned(), "signal 64".to_owned()));
    }

    #[test]
    fn a_crash_at_a_memory_limit_is_no_interruption() {
        let at_limit = Before::now().end_of(ExitStatus::from_raw(libc::SIGSEGV), Some(1 << 30));
        assert!(matches!(at_limit, End::Outside(_)) && !at_limit.is_excused(), "it is tried again, and then blamed");
        assert!(!End::Outside(Outside::Stopped(Duration::ZERO)).is_excused(), "so is what may have stopped itself");
        assert!(End::Outside(Outside::Signal(libc::SIGKILL)).is_excused());
        assert!(!End::Code(1).is_excused() && !End::Signal(libc::SIGSEGV).is_excused());
    }

    #[test]
    fn who_sends_a_signal_is_told_by_what_it_is_for() {
        let end = |status| Before::now().end_of(ExitStatus::from_raw(status), None);
        assert_eq!(end(3 << 8), End::Code(3));
        assert_eq!(end(libc::SIGFPE), End::Signal(libc::SIGFPE));
        for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGXCPU, libc::SIGALRM, 34] {
            assert_eq!(end(signal), End::Outside(Outside::Signal(signal)), "no counter rose");
        }
        let before = Before { out_of_memory_kills: Some(0), ..Before::now() };
        let is_counted = limits::out_of_memory_kills().is_some_and(|kills| kills > 0);
        let expected = if is_counted { Outside::OutOfMemory } else { Outside::Signal(libc::SIGKILL) };
        assert_eq!(before.end_of(ExitStatus::from_raw(libc::SIGKILL), None), End::Outside(expected));
    }
}
