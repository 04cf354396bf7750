//! The clock that samples are timed with: the processor's own counter where it runs at a constant rate, else the
//! operating system's raw clock.

use std::time::Duration;

use syncscope_core::numbers::gcd;
use syncscope_core::{Hertz, Ruler, Ticks, machine};
use syncscope_host::clock::raw_ns;

/// A clock and its measured properties.
///
/// ```
/// use syncscope_cpu::timing::clock::Clock;
///
/// let clock = Clock::calibrate();
/// let begin = clock.start();
/// let sum: u64 = (0..1000).sum();
/// let ns = clock.stop().saturating_sub(begin) as f64 * clock.ns_per_tick();
/// assert!(sum == 499_500 && ns >= 0.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// Why the operating system's `CLOCK_MONOTONIC_RAW` is read; `None` where the processor's counter is.
    fallback: Option<&'static str>,
    frequency: Hertz,
    resolution: Ticks,
    read_cost: Ticks,
}

/// How long the counter is compared with the operating system's clock.
const CALIBRATION: Duration = Duration::from_millis(30);

/// Readings from which resolution and cost are taken.
const READINGS: usize = 2000;

impl Clock {
    /// Chooses the counter and measures it; takes about 30 ms.
    pub fn calibrate() -> Self {
        Self::measure(counter::defect())
    }

    /// The clock that [`Self::calibrate`] chooses, without its measured properties: for readings alone.
    pub(crate) fn uncalibrated() -> Self {
        Self { fallback: counter::defect(), frequency: Hertz(1e9), resolution: Ticks(1), read_cost: Ticks(0) }
    }

    fn measure(fallback: Option<&'static str>) -> Self {
        let unmeasured = Self { fallback, ..Self::uncalibrated() };
        let frequency = unmeasured.measure_frequency();
        let steps: Vec<u64> = (0..READINGS).map(|index| unmeasured.step(index)).collect();
        let resolution = Ticks(steps.iter().copied().fold(0, gcd).max(1));
        let read_cost = Ticks(middle(steps));
        Self { frequency, resolution, read_cost, ..unmeasured }
    }

    /// A reading before the timed region: all earlier instructions are done, no later one has begun.
    #[inline]
    pub fn start(&self) -> u64 {
        if self.fallback.is_none() { counter::start() } else { raw_ns() }
    }

    /// A reading after the timed region, ordered in the same way.
    #[inline]
    pub fn stop(&self) -> u64 {
        if self.fallback.is_none() { counter::stop() } else { raw_ns() }
    }

    /// The clock's name: `tsc`, `cntvct` or `monotonic_raw`.
    pub const fn name(&self) -> &'static str {
        if self.fallback.is_none() { counter::NAME } else { "monotonic_raw" }
    }

    /// Why the processor's own counter is not used; `None` where it is.
    pub const fn fallback_reason(&self) -> Option<&'static str> {
        self.fallback
    }

    /// Nanoseconds in a tick.
    pub fn ns_per_tick(&self) -> f64 {
        1e9 / self.frequency.value()
    }

    /// The clock's properties for the engine.
    pub const fn ruler(&self) -> Ruler {
        Ruler { name: self.name(), frequency: self.frequency, resolution: self.resolution, read_cost: self.read_cost }
    }

    /// The clock's properties for `run.json`.
    pub fn description(&self) -> machine::Clock {
        let ns = |ticks: Ticks| ticks.0 as f64 * self.ns_per_tick();
        machine::Clock {
            name: self.name().to_owned(),
            frequency_hz: self.frequency.value(),
            resolution_ns: ns(self.resolution),
            read_cost_ns: ns(self.read_cost),
        }
    }

    fn measure_frequency(&self) -> Hertz {
        if self.fallback.is_some() {
            return Hertz(1e9);
        }
        let (first_ticks, first_ns) = self.simultaneous();
        std::thread::sleep(CALIBRATION);
        let (last_ticks, last_ns) = self.simultaneous();
        Hertz(last_ticks.saturating_sub(first_ticks) as f64 / last_ns.saturating_sub(first_ns).max(1) as f64 * 1e9)
    }

    /// Reads both clocks at the same time: of many tries, the one in which the least time passed in between, so that neither an
    /// interrupt nor a preemption counts.
    fn simultaneous(&self) -> (u64, u64) {
        let tries = (0..200).map(|_| {
            let before = self.start();
            let ns = raw_ns();
            let after = self.stop();
            (after.saturating_sub(before), (before.midpoint(after), ns))
        });
        tries.min_by_key(|(gap, _)| *gap).map_or((0, 0), |(_, readings)| readings)
    }

    /// Ticks between two readings. A varying amount of work is between some of them, so that the cost of a reading
    /// hides no step of the counter. The readings without work, which show that cost, are the majority.
    fn step(&self, index: usize) -> u64 {
        let start = self.start();
        if index.is_multiple_of(4) {
            for turn in 0..index % 64 {
                std::hint::black_box(turn);
            }
        }
        self.stop().saturating_sub(start)
    }
}

/// The upper median.
pub(super) fn middle(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The time stamp counter of x86.
#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

    pub(super) const NAME: &str = "tsc";

    /// Why the counter cannot be used, if so (AMD APM 3, E.4.6; Intel SDM 3B, 19.17.1).
    #[allow(unused_unsafe, reason = "`__cpuid` became safe after the oldest supported compiler")]
    pub(super) fn defect() -> Option<&'static str> {
        const EXTENDED: u32 = 0x8000_0000;
        // SAFETY: every x86-64 processor has CPUID.
        let leaf = |number: u32| unsafe { __cpuid(number) };
        if leaf(EXTENDED).eax < EXTENDED + 7 || leaf(EXTENDED + 7).edx & (1 << 8) == 0 {
            return Some("the processor does not promise that its time stamp counter runs at a constant rate");
        }
        if leaf(EXTENDED + 1).edx & (1 << 27) == 0 {
            return Some("the processor has no RDTSCP");
        }
        None
    }

    /// The fences keep RDTSC in its place: earlier loads are done before, later instructions begin after (Intel SDM
    /// 2B, RDTSC).
    #[inline]
    pub(super) fn start() -> u64 {
        // SAFETY: SSE2 and the counter belong to x86-64; Linux lets every process read it.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }

    /// RDTSCP waits for all earlier instructions, the fence holds back later ones (Intel SDM 2B, RDTSCP).
    #[inline]
    pub(super) fn stop() -> u64 {
        let mut processor = 0;
        // SAFETY: `defect` made sure that RDTSCP exists; the pointer is to a local.
        unsafe {
            let ticks = __rdtscp(&raw mut processor);
            _mm_lfence();
            ticks
        }
    }
}

/// The virtual count of the generic timer of ARM.
#[cfg(target_arch = "aarch64")]
mod counter {
    pub(super) const NAME: &str = "cntvct";

    /// The generic timer runs at a constant rate by architecture (Arm ARM, D12.1).
    pub(super) const fn defect() -> Option<&'static str> {
        None
    }

    pub(super) use start as stop;

    /// ISB keeps the counter from being read early (Arm ARM, D12.2.2).
    #[inline]
    pub(super) fn start() -> u64 {
        let ticks: u64;
        // SAFETY: Linux lets every process read this counter; nothing but the output register is written.
        unsafe {
            std::arch::asm!("isb", "mrs {ticks}, cntvct_el0", "isb", ticks = out(reg) ticks, options(nomem, nostack));
        }
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) use syncscope_host::clock::{raw_ns as start, raw_ns as stop};

    pub(super) const NAME: &str = "unknown";

    pub(super) const fn defect() -> Option<&'static str> {
        Some("no counter of this architecture is known to syncscope")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_has_plausible_properties() {
        let clock = Clock::calibrate();
        assert!(clock.frequency.value() > 1e6, "{clock:?}");
        assert!(clock.resolution.0 >= 1 && clock.read_cost.0 < 1_000_000, "{clock:?}");
        assert_eq!(clock.fallback_reason().is_some(), clock.name() == "monotonic_raw");
        assert!((clock.description().frequency_hz - clock.ruler().frequency.value()).abs() < 1.0);
    }

    #[test]
    fn the_fallback_is_the_operating_system() {
        let clock = Clock::measure(Some("a test"));
        assert_eq!((clock.name(), clock.fallback_reason()), ("monotonic_raw", Some("a test")));
        assert!((clock.ns_per_tick() - 1.0).abs() < 1e-12);
        let earlier = clock.start();
        assert!(clock.stop() >= earlier);
    }

    #[test]
    fn the_clock_agrees_with_the_operating_system() {
        let clock = Clock::calibrate();
        let (start, started) = (clock.start(), std::time::Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let (ns, expected) = ((clock.stop() - start) as f64 * clock.ns_per_tick(), started.elapsed().as_nanos() as f64);
        // A factor, not a percentage: the thread may be interrupted between the two readings.
        assert!(ns > 0.5 * expected && ns < 2.0 * expected, "{ns} {expected}");
    }
}
