//! Futexes of one process: a thread sleeps while a word of memory has a certain value (`futex(2)`).

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Nothing woke the sleeper within its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FutexTimeout;

/// Sleeps while the word is `value`. The call may also return without a reason.
///
/// # Errors
/// [`FutexTimeout`] when nothing woke the thread within `limit`.
#[inline]
pub fn wait(word: &AtomicU32, value: u32, limit: Duration) -> Result<(), FutexTimeout> {
    let limit = libc::timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: the word is a borrowed, aligned 32-bit number, the timeout lies on this thread's stack; both are only
    // read.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), WAIT, value, &raw const limit) };
    let timed_out = result != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
    if timed_out { Err(FutexTimeout) } else { Ok(()) }
}

/// Wakes one thread that sleeps on the word, if there is one.
#[inline]
pub fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

/// Wakes all threads that sleep on the word.
#[inline]
pub fn wake_all(word: &AtomicU32) {
    wake(word, i32::MAX);
}

#[inline]
fn wake(word: &AtomicU32, most: i32) {
    // SAFETY: the address only names the futex.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), WAKE, most) };
}

/// Between threads of one process.
const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_sleeper_wakes_or_times_out() {
        let word = AtomicU32::new(0);
        assert_eq!(wait(&word, 1, Duration::from_secs(60)), Ok(()), "another value: no sleep");
        assert_eq!(wait(&word, 0, Duration::from_millis(5)), Err(FutexTimeout));
        let sleep_while = |value| {
            while word.load(Ordering::Acquire) == value {
                assert_eq!(wait(&word, value, Duration::from_secs(60)), Ok(()));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| sleep_while(0));
            word.store(1, Ordering::Release);
            wake_one(&word);
        });
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(|| sleep_while(1))));
            word.store(2, Ordering::Release);
            wake_all(&word);
        });
    }
}
