//! Core cycles per tick of the clock, from two sources: the processor's own counter where the operating system allows
//! it, and a chain of dependent additions, each of which takes one cycle.
//!
//! The counter counts during the shot, but only while the thread runs in user mode: cycles are missing where it blocked
//! or was in the kernel. The chain shows the core's frequency right after the shot, whatever the thread did in it. The
//! counter is used where both agree, the chain elsewhere.
//!
//! An addition of two registers has a latency of one cycle on every x86-64 and 64-bit ARM core in use (uops.info,
//! `ADD_R64_R64`; Arm Software Optimization Guides, "arithmetic, basic"). Register operands matter: Intel's Golden Cove
//! executes additions of small constants for free while renaming.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, RawFd};

use syncscope_core::run::machine::CHAIN_TOLERANCE;

use crate::timing::chains::{self, LONG_STEP};
use crate::timing::clock::{self, Clock};

/// Iterations of the two chains. The end of the loop may be mispredicted; it occurs in both.
const SHORT: u64 = 8;
const LONG: u64 = 72;

/// Core cycles per tick of `clock` on the calling thread's core now. `None` where no chain is written for this
/// architecture, or when an interruption made the longer chain appear shorter.
///
/// Two chains of different length are timed, so that the cost of reading the clock cancels. Takes about 10,000 cycles.
pub(crate) fn per_tick(clock: &Clock) -> Option<f64> {
    let short = time_chain(clock, SHORT)?;
    let long = time_chain(clock, LONG)?;
    let ticks = long.checked_sub(short).filter(|ticks| *ticks > 0)?;
    Some(((LONG - SHORT) * LONG_STEP) as f64 / ticks as f64)
}

fn time_chain(clock: &Clock, iterations: u64) -> Option<u64> {
    let start = clock.start();
    let sum = chains::long_steps_of_additions(iterations);
    let stop = clock.stop();
    (sum == iterations * LONG_STEP).then(|| stop.saturating_sub(start))
}

/// A counter and the cost of reading it.
pub(crate) struct Meter {
    pub(crate) counter: UserCycles,
    /// What two readings count with nothing between them.
    empty: u64,
}

impl Meter {
    /// The meter of the calling thread.
    ///
    /// # Errors
    /// As [`UserCycles::open`]; also when the counter exists and does not count.
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        let silent = || io::Error::other("the counter does not count");
        let meter = Self::of(UserCycles::open()?).ok_or_else(silent)?;
        let before = meter.counter.read().ok_or_else(silent)?;
        let counted = |after: u64| after.saturating_sub(before) >= SHORT * LONG_STEP;
        let moves = chains::long_steps_of_additions(SHORT) == 0 || meter.counter.read().is_some_and(counted);
        if moves { Ok(meter) } else { Err(silent()) }
    }

    /// Measures what a reading itself costs: the median of several, because interrupts only add.
    fn of(counter: UserCycles) -> Option<Self> {
        let once = || counter.read().zip(counter.read()).map(|(before, after)| after.saturating_sub(before));
        let costs: Option<Vec<u64>> = (0..15).map(|_| once()).collect();
        Some(Self { counter, empty: clock::middle(costs?) })
    }

    /// Cycles per tick since the reading `start`; `ticks` passed in between.
    pub(crate) fn per_tick(&self, start: Option<u64>, ticks: u64) -> Option<f64> {
        let cycles = self.counter.read()?.checked_sub(start?)?.saturating_sub(self.empty);
        (cycles > 0 && ticks > 0).then(|| cycles as f64 / ticks as f64)
    }
}

/// Cycles per tick during a batch, from the readings of the counter and of the chain for its shots. Small differences between both
/// are changes of the frequency. Larger ones are time that the thread did not spend in user mode: then the counter is wrong.
pub(crate) fn of_batch(counted: &[f64], chained: &[f64]) -> Option<f64> {
    let (counted, chained) = (robust_mean(counted), robust_mean(chained));
    let agrees = |counted: &f64| chained.is_none_or(|chained| (counted / chained - 1.0).abs() <= CHAIN_TOLERANCE);
    counted.filter(agrees).or(chained)
}

/// How cycles are counted on this machine, for `run.json`.
pub(crate) fn description() -> String {
    match Meter::of_this_thread() {
        Ok(_) => {
            "the processor's counter (perf_event_open, user mode), checked against a chain of dependent additions, \
             which replaces it where threads block"
                .to_owned()
        }
        Err(error) => {
            let setting = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            let setting = Some(setting.trim()).filter(|setting| !setting.is_empty()).unwrap_or("not shown");
            format!(
                "a chain of dependent additions timed after each sample; the processor's counter cannot be read \
                 ({error}; perf_event_paranoid is {setting}; virtual machines often have no counter)"
            )
        }
    }
}

/// The mean of the readings within 5 % of their median. Steps of the clock average out, interrupted readings do not
/// count.
fn robust_mean(readings: &[f64]) -> Option<f64> {
    let mut sorted = readings.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // One of the readings, not the midpoint of two: there may be no reading near a midpoint.
    let median = *sorted.get(sorted.len() / 2)?;
    let near: Vec<f64> = sorted.into_iter().filter(|reading| (reading - median).abs() <= 0.05 * median).collect();
    Some(near.iter().sum::<f64>() / near.len() as f64).filter(|mean| mean.is_finite())
}

/// `struct perf_event_attr` of `linux/perf_event.h` in its first version (`PERF_ATTR_SIZE_VER0`), which every kernel
/// accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
/// Always on the processor: a counter that shares its register with others only estimates.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const PERF_FLAG_FD_CLOEXEC: u64 = 1 << 3;

/// A counter of the core cycles that the calling thread spends in user mode. Each thread opens its own.
#[derive(Debug)]
pub(crate) struct UserCycles(File);

impl UserCycles {
    /// Opens and starts the counter of the calling thread.
    ///
    /// # Errors
    /// What the operating system says: `EACCES` where `perf_event_paranoid` or a seccomp filter forbids it, `ENOENT` or
    /// `EOPNOTSUPP` where there is no such counter, as in most virtual machines.
    pub(crate) fn open() -> io::Result<Self> {
        let attributes = Attributes {
            kind: PERF_TYPE_HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_HW_CPU_CYCLES,
            flags: PINNED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        // SAFETY: the call reads `size` bytes of the attributes, which live until it returns; 0 is the calling thread,
        // the first -1 stands for every CPU it runs on, the second for no group.
        let descriptor =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) };
        let descriptor = RawFd::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0);
        let descriptor = descriptor.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
        Ok(Self(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// The count so far; `None` when the processor had no free register for the counter.
    pub(crate) fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        // A pinned counter that lost its register reads as an empty file.
        (&self.0).read_exact(&mut count).ok()?;
        Some(u64::from_ne_bytes(count))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    /// A counter that reads these counts, one after the other, and then nothing.
    fn fake(counts: impl Iterator<Item = u64>) -> UserCycles {
        let mut file = tempfile::tempfile().unwrap();
        counts.for_each(|count| file.write_all(&count.to_ne_bytes()).unwrap());
        file.rewind().unwrap();
        UserCycles(file)
    }

    #[test]
    fn two_clocks_in_one_batch_have_a_mean() {
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
        assert!(close(robust_mean(&[1.0, 1.2]), 1.2), "no reading is near the midpoint of the two");
        assert!(close(robust_mean(&[1.0, 1.02, 1.2]), 1.01), "one was interrupted");
        assert_eq!(robust_mean(&[]), None);
    }

    #[test]
    fn the_cost_of_a_reading_is_subtracted() {
        // Each reading takes 60 cycles. The meter has 15 pairs of them at first, then one before the shot.
        let (before, after) = ((1..=31).map(|reading| 60 * reading), (32..40).map(|reading| 30_000 + 60 * reading));
        let meter = Meter::of(fake(before.chain(after))).unwrap();
        let start = meter.counter.read();
        let per_tick = meter.per_tick(start, 20_000).unwrap();
        assert!((per_tick - 1.5).abs() < 1e-12, "{per_tick}");
        assert_eq!(meter.per_tick(meter.counter.read(), 100), None, "only the cost of readings");
        assert_eq!(meter.per_tick(None, 100), None);
        assert_eq!(meter.per_tick(Some(0), 0), None, "no time");
        assert!(Meter::of(fake(std::iter::empty())).is_none());
    }

    #[test]
    fn the_counter_is_used_where_the_chain_agrees() {
        assert_eq!(of_batch(&[1.51], &[1.5]), Some(1.51));
        assert_eq!(of_batch(&[0.3], &[1.5]), Some(1.5), "the thread blocked");
        assert_eq!(of_batch(&[], &[1.5]), Some(1.5));
        assert_eq!(of_batch(&[1.5], &[]), Some(1.5));
        assert_eq!(of_batch(&[], &[]), None);
    }

    #[test]
    fn the_description_names_the_source() {
        let text = description();
        assert!(text.contains("chain of dependent additions"), "{text}");
        assert_eq!(text.contains("cannot be read"), Meter::of_this_thread().is_err(), "{text}");
    }

    #[test]
    fn interrupted_readings_do_not_count() {
        assert_eq!(robust_mean(&[]), None);
        let mean = robust_mean(&[1.40, 1.42, 1.41, 0.2, 1.41]).unwrap();
        assert!((mean - 1.41).abs() < 1e-9);
    }

    #[test]
    fn the_attributes_have_the_size_the_kernel_knows() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn a_counter_reads_eight_bytes_and_an_empty_file_is_no_count() {
        let counter = fake([42].into_iter());
        assert_eq!(counter.read(), Some(42));
        assert_eq!(counter.read(), None, "the file is at its end");
    }

    /// Where the system grants no counter this test can only check the error; the one above checks the reading.
    #[test]
    fn a_counter_counts_the_additions_of_this_thread_or_the_system_names_an_error() {
        const ADDITIONS: u64 = 100_000;
        match UserCycles::open() {
            Ok(counter) => {
                // A virtual machine may grant a counter that reads nothing.
                let Some(before) = counter.read() else { return };
                let sum: u64 = (0..ADDITIONS).map(std::hint::black_box).sum();
                assert_eq!(sum, ADDITIONS * (ADDITIONS - 1) / 2);
                let cycles = counter.read().unwrap() - before;
                // No core adds more than eight numbers in a cycle. A counter that stands still is refused by `Meter`.
                assert!(cycles == 0 || cycles > ADDITIONS / 8, "{cycles}");
            }
            Err(error) => {
                let known = [libc::EACCES, libc::EPERM, libc::ENOENT, libc::EOPNOTSUPP, libc::ENOSYS, libc::ENODEV];
                assert!(error.raw_os_error().is_some_and(|code| known.contains(&code)), "{error}");
            }
        }
    }
}
