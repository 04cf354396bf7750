//! The raw monotonic clock.

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`, which no time service adjusts.
#[inline]
#[must_use]
pub fn raw_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` on this thread's stack; this clock exists since Linux 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::raw_ns;
    use std::time::Duration;

    #[test]
    fn it_counts_nanoseconds_forward() {
        let before = raw_ns();
        std::thread::sleep(Duration::from_millis(2));
        assert!(raw_ns() - before >= 2_000_000);
    }
}
