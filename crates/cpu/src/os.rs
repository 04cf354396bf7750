//! What is asked of the operating system directly: binding, the current CPU, context switches, the raw clock.

use std::io;
use std::mem;

/// Binds the calling thread to one CPU.
///
/// # Errors
/// What the operating system says (`EINVAL`: the CPU does not exist or may not be used).
pub(crate) fn bind_to(cpu: u32) -> io::Result<()> {
    /// 16,384 CPUs: more than the 1,024 of `cpu_set_t`, as many as Linux is ever built for.
    const WORDS: usize = 256;
    let mut mask = [0_u64; WORDS];
    let word = mask.get_mut(cpu as usize / 64).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    *word = 1 << (cpu % 64);
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call only reads; 0 is the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, mem::size_of_val(&mask), mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

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
