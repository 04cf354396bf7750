//! How a worker ended, and what ended it.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use syncscope_host::child_process::is_of_fault;
use syncscope_host::limits;

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By itself.
    Code(i32),
    /// By a signal for what it did.
    Signal(i32),
    /// By something else than what it did.
    Outside(Outside),
    /// By the supervisor, because a step took longer than this.
    Hung(Duration),
}

/// What ends a process that did nothing wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// A signal that somebody or a limit sends.
    Signal(i32),
    /// The kernel, because the memory of the machine or of a control group ran out.
    OutOfMemory,
    /// This signal, where a process may have so many bytes of memory.
    MemoryLimit(i32, u64),
    /// The limit on the CPU time of a process.
    CpuTimeLimit(Duration),
}

/// The limit of CPU time is in seconds, and looked at in ticks of the scheduler.
const TICKS: Duration = Duration::from_millis(50);

/// What is counted of all children before a worker starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    out_of_memory_kills: Option<u64>,
    cpu_time: Duration,
}

impl Before {
    pub(super) fn now() -> Self {
        Self { out_of_memory_kills: limits::out_of_memory_kills(), cpu_time: limits::cpu_time_of_children() }
    }

    /// How a worker ended that was started then.
    pub(super) fn end_of(self, status: ExitStatus) -> End {
        let Some(signal) = status.signal() else { return End::Code(status.code().unwrap_or(1)) };
        let spent = limits::cpu_time_of_children().saturating_sub(self.cpu_time) + TICKS;
        let is_at_limit = |limit: &Duration| spent >= *limit;
        match signal {
            libc::SIGXCPU | libc::SIGKILL if limits::cpu_time().as_ref().is_some_and(is_at_limit) => {
                End::Outside(Outside::CpuTimeLimit(limits::cpu_time().unwrap_or_default()))
            }
            libc::SIGKILL if limits::out_of_memory_kills() > self.out_of_memory_kills => {
                End::Outside(Outside::OutOfMemory)
            }
            // What becomes of a process that gets no memory.
            libc::SIGABRT | libc::SIGSEGV if limits::memory().is_some() => {
                End::Outside(Outside::MemoryLimit(signal, limits::memory().unwrap_or_default()))
            }
            _ if is_of_fault(signal) => End::Signal(signal),
            _ => End::Outside(Outside::Signal(signal)),
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal) => write!(f, "was ended from outside ({})", signal_name(*signal)),
            Self::OutOfMemory => write!(f, "was ended by the kernel because memory ran out (SIGKILL)"),
            Self::MemoryLimit(signal, limit) => {
                write!(
                    f,
                    "was ended by {} with at most {} MiB of memory (`ulimit -v`, `-d`)",
                    signal_name(*signal),
                    limit >> 20
                )
            }
            Self::CpuTimeLimit(limit) => {
                write!(f, "was ended at the limit of {} s of CPU time (`ulimit -t`)", limit.as_secs())
            }
        }
    }
}

pub(super) fn signal_name(signal: i32) -> String {
    const NAMES: &str = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN \
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
    fn who_sends_a_signal_is_told_by_what_it_is_for() {
        let end = |status| Before::now().end_of(ExitStatus::from_raw(status));
        assert_eq!(end(3 << 8), End::Code(3));
        assert_eq!(end(libc::SIGFPE), End::Signal(libc::SIGFPE));
        for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGXCPU, libc::SIGALRM, 34] {
            assert_eq!(end(signal), End::Outside(Outside::Signal(signal)), "no counter rose");
        }
        let before = Before { out_of_memory_kills: Some(0), ..Before::now() };
        let is_counted = limits::out_of_memory_kills().is_some_and(|kills| kills > 0);
        let expected = if is_counted { Outside::OutOfMemory } else { Outside::Signal(libc::SIGKILL) };
        assert_eq!(before.end_of(ExitStatus::from_raw(libc::SIGKILL)), End::Outside(expected));
    }
}
