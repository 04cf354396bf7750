//! Futexes: a thread sleeps while a word of memory has a certain value (`futex(2)`).

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The error when nothing woke the sleeper within its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FutexTimeout;

/// Which threads can wake each other through a futex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads of this process. The kernel finds the futex by its address.
    Process,
    /// Threads of all processes that map the word. The kernel finds the futex by the page of the file.
    System,
}

impl Scope {
    const fn flag(self) -> i32 {
        match self {
            Self::Process => libc::FUTEX_PRIVATE_FLAG,
            Self::System => 0,
        }
    }
}

/// Sleeps while the word is `value`. The call may also return spuriously.
///
/// # Errors
/// [`FutexTimeout`] when nothing woke the thread within `limit`.
#[inline]
pub fn wait(word: &AtomicU32, value: u32, limit: Duration, scope: Scope) -> Result<(), FutexTimeout> {
    let limit = libc::timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    let operation = libc::FUTEX_WAIT | scope.flag();
    // SAFETY: the word is a borrowed, aligned 32-bit number, the timeout lies on this thread's stack; both are only
    // read.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, &raw const limit) };
    let timed_out = result != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
    if timed_out { Err(FutexTimeout) } else { Ok(()) }
}

/// Wakes one thread that sleeps on the word, if there is one.
#[inline]
pub fn wake_one(word: &AtomicU32, scope: Scope) {
    wake(word, 1, scope);
}

/// Wakes all threads that sleep on the word.
#[inline]
pub fn wake_all(word: &AtomicU32, scope: Scope) {
    wake(word, i32::MAX, scope);
}

#[inline]
fn wake(word: &AtomicU32, most: i32, scope: Scope) {
    let operation = libc::FUTEX_WAKE | scope.flag();
    // SAFETY: the address only names the futex.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_sleeper_wakes_or_times_out() {
        for scope in [Scope::Process, Scope::System] {
            let word = AtomicU32::new(0);
            assert_eq!(wait(&word, 1, Duration::from_secs(60), scope), Ok(()), "another value: no sleep");
            assert_eq!(wait(&word, 0, Duration::from_millis(5), scope), Err(FutexTimeout));
            let sleep_while = |value| {
                while word.load(Ordering::Acquire) == value {
                    assert_eq!(wait(&word, value, Duration::from_secs(60), scope), Ok(()));
                }
            };
            std::thread::scope(|threads| {
                threads.spawn(|| sleep_while(0));
                word.store(1, Ordering::Release);
                wake_one(&word, scope);
            });
            std::thread::scope(|threads| {
                (0..3).for_each(|_| drop(threads.spawn(|| sleep_while(1))));
                word.store(2, Ordering::Release);
                wake_all(&word, scope);
            });
        }
    }
}
