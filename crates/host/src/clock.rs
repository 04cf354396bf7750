//! The raw monotonic clock, and the unit of the kernel's accounts.

use std::time::Duration;

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`, which no time service adjusts.
#[inline]
pub fn raw_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` on this thread's stack; this clock exists since Linux 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The time that all threads of this process have spent on CPUs so far.
#[inline]
pub fn process_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` on this thread's stack; this clock exists since Linux 2.6.12.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// The CPU time of this process's children that have ended, and of their children.
pub fn children_cpu_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a `rusage` on this thread's stack, which is numbers; the call fails for unknown kinds only.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec.cast_unsigned(), 1000 * time.tv_usec as u32);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Ticks per second of the kernel's CPU accounting (`/proc/stat`).
pub fn ticks_per_second() -> f64 {
    // SAFETY: the call has no requirement.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // The call fails on no Linux, and every 64-bit Linux counts hundredths of a second.
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::{process_cpu_time, raw_ns, ticks_per_second};
    use std::time::Duration;

    #[test]
    fn it_counts_nanoseconds_forward() {
        let before = raw_ns();
        std::thread::sleep(Duration::from_millis(2));
        assert!(raw_ns() - before >= 2_000_000);
    }

    #[test]
    fn a_working_process_spends_time_on_cpus() {
        let before = process_cpu_time();
        while process_cpu_time() == before {
            std::hint::spin_loop();
        }
        assert!(process_cpu_time() > before);
    }

    #[test]
    fn the_kernel_counts_some_ticks_in_a_second() {
        assert!((10.0..=10_000.0).contains(&ticks_per_second()));
    }
}
