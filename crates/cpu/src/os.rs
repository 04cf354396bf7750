//! What is asked of the operating system directly: binding, the current CPU, context switches, the raw clock.

use std::io;
use std::mem;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// A set of 16,384 CPUs: more than the 1,024 of `cpu_set_t`, as many as Linux is ever built for.
type Mask = [u64; 256];

const NO_CPU: Mask = [0; 256];

/// Binds the calling thread to one CPU.
///
/// # Errors
/// What the operating system says (`EINVAL`: the CPU does not exist or may not be used).
pub(crate) fn bind_to(cpu: u32) -> io::Result<()> {
    let mut mask = NO_CPU;
    let word = mask.get_mut(cpu as usize / 64).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    *word = 1 << (cpu % 64);
    set_mask(&mask)
}

fn set_mask(mask: &Mask) -> io::Result<()> {
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call only reads; 0 is the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, mem::size_of_val(mask), mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPUs a thread might use at some moment. It gets them back when this is dropped, on the same thread.
pub(crate) struct Affinity(Option<Mask>);

impl Affinity {
    /// What the calling thread may use now. Where the system does not tell, there is nothing to give back.
    pub(crate) fn of_this_thread() -> Self {
        let mut mask = NO_CPU;
        // SAFETY: the pointer and the length in bytes describe `mask`, which the call fills; 0 is the calling thread.
        let result = unsafe { libc::sched_getaffinity(0, mem::size_of_val(&mask), mask.as_mut_ptr().cast()) };
        Self((result >= 0).then_some(mask))
    }
}

impl Drop for Affinity {
    fn drop(&mut self) {
        // It fails only if the control group took all of these CPUs away meanwhile; the system has then chosen others.
        let _ = self.0.as_ref().map(set_mask);
    }
}

/// Nobody woke the sleeper of a futex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FutexTimeout;

/// Sleeps on a futex while its word is `value`. May wake up for no reason.
///
/// # Errors
/// When nothing happened for as long as `limit`.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) -> Result<(), FutexTimeout> {
    let limit = libc::timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: the word is a borrowed, aligned 32-bit number, the timeout lies on this thread's stack; both are only read.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), FUTEX_WAIT, value, &raw const limit) };
    let timed_out = result != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
    if timed_out { Err(FutexTimeout) } else { Ok(()) }
}

/// Wakes one thread that sleeps on the futex, if there is one.
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: the address only names the futex.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), FUTEX_WAKE, 1) };
}

/// Between threads of one process.
const FUTEX_WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const FUTEX_WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// The CPU the calling thread runs on at this moment; `None` where the system does not tell.
pub(crate) fn current_cpu() -> Option<u32> {
    // SAFETY: the call takes nothing and returns a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// How often the operating system took the CPU away from the calling thread so far.
pub(crate) fn involuntary_switches() -> i64 {
    // SAFETY: all zeroes are a valid `rusage`, a struct of integers.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a `rusage` of this thread's stack, which the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nivcsw
}

/// Nanoseconds of the raw monotonic clock, which no time service adjusts.
pub(crate) fn raw_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` of this thread's stack; this clock exists since Linux 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_bound_thread_stays_where_it_is() {
        let cpu = current_cpu().unwrap();
        std::thread::spawn(move || {
            bind_to(cpu).unwrap();
            assert_eq!(current_cpu(), Some(cpu));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_a_thread_could_use_comes_back() {
        std::thread::spawn(|| {
            let before = Affinity::of_this_thread().0;
            let guard = Affinity::of_this_thread();
            bind_to(current_cpu().unwrap()).unwrap();
            drop(guard);
            assert_eq!(Affinity::of_this_thread().0, before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_futex_wakes_and_ends() {
        let word = AtomicU32::new(0);
        assert_eq!(futex_wait(&word, 1, Duration::from_secs(60)), Ok(()));
        assert_eq!(futex_wait(&word, 0, Duration::from_millis(5)), Err(FutexTimeout));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    assert_eq!(futex_wait(&word, 0, Duration::from_secs(60)), Ok(()));
                }
            });
            word.store(1, Ordering::Release);
            futex_wake(&word);
        });
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        assert_eq!(bind_to(16_000).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(bind_to(u32::MAX).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn the_raw_clock_goes_forward() {
        let earlier = raw_nanoseconds();
        assert!(raw_nanoseconds() >= earlier && earlier > 0);
        assert!(involuntary_switches() >= 0);
    }
}
