//! Where the time of a run goes, for developers. Nothing is timed until it is enabled; until then a phase costs the reading
//! of one flag.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::words::words;

words! {
    /// A part of a run. A name with a point is part of the phase named before the point.
    pub enum Phase ("phase") {
        /// Finding the hardware and making it ready.
        Open = "open",
        /// Loading the driver of a device.
        Driver = "open.driver",
        /// Finding and loading a compiler.
        Compiler = "open.compiler",
        /// Making a context on a device, and memory in it.
        Context = "open.context",
        /// Bringing up a device's clock and measuring it.
        Clock = "open.clock",
        /// Finding who knows about clocks.
        Watch = "open.watch",
        /// Chains of known operations by two clocks.
        Crosscheck = "crosscheck",
        /// What is done once for all cases, such as compiling.
        Prepare = "prepare",
        /// Making a case ready.
        SetUp = "case",
        /// Waking the device.
        Wake = "case.wake",
        /// Loading its machine code and looking at it.
        Load = "case.load",
        /// Finding whether its threads fit together.
        Fit = "case.fit",
        /// Clearing its memory.
        Clear = "case.clear",
        /// Choosing the iterations.
        Calibrate = "calibrate",
        /// Taking pairs.
        Pairs = "pairs",
        /// Taking the pairs in which every actor does equal work.
        EqualWork = "pairs.equal_work",
        /// Queueing work on a device, for calibration and pairs.
        Queue = "device.queue",
        /// Waiting for a device.
        Wait = "device.wait",
        /// Reading what a device left.
        Read = "device.read",
        /// Checks after the samples.
        Check = "check",
        /// Finding out what else is known of a case.
        Details = "details",
        /// Whether a second copy costs what the first one does.
        Additivity = "additivity",
        /// The time of fresh processes beyond the blocks that they measured: starting, looking at the machine, handing back.
        Processes = "processes",
        /// Writing results.
        Write = "write",
        /// Report and table at the end.
        Report = "report",
    }
}

static ENABLED: AtomicBool = AtomicBool::new(false);

// One of each for every phase.
static SPENT_NS: [AtomicU64; Phase::ALL.len()] = [const { AtomicU64::new(0) }; Phase::ALL.len()];
static TIMES: [AtomicU64; Phase::ALL.len()] = [const { AtomicU64::new(0) }; Phase::ALL.len()];

/// Enables the timing of phases.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Does some work and times it as part of a phase.
pub fn time<T>(phase: Phase, work: impl FnOnce() -> T) -> T {
    if !ENABLED.load(Ordering::Relaxed) {
        return work();
    }
    let started = Instant::now();
    let result = work();
    add(phase, started.elapsed());
    result
}

/// Counts time that a phase took elsewhere.
pub fn add(phase: Phase, spent: Duration) {
    if ENABLED.load(Ordering::Relaxed) {
        // Relaxed: sums alone, read when all is done.
        SPENT_NS[phase as usize].fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        TIMES[phase as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// The time of each phase so far, and how often it was entered; `None` if not enabled.
pub fn phase_times() -> Option<Vec<(Phase, Duration, u64)>> {
    let entry = |phase: &Phase| {
        let [spent_ns, times] = [&SPENT_NS, &TIMES].map(|of| of[*phase as usize].load(Ordering::Relaxed));
        (times > 0).then(|| (*phase, Duration::from_nanos(spent_ns), times))
    };
    ENABLED.load(Ordering::Relaxed).then(|| Phase::ALL.iter().filter_map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, because the times are the process's.
    #[test]
    fn phases_are_timed_once_enabled() {
        assert_eq!(time(Phase::Report, || 7), 7);
        assert_eq!(phase_times(), None);
        enable();
        // Work that ends when the clock shows that time has passed.
        let started = Instant::now();
        time(Phase::Report, || while started.elapsed().is_zero() {});
        let times = phase_times().unwrap();
        let (_, spent, times) = times.iter().find(|(phase, ..)| *phase == Phase::Report).unwrap();
        assert_eq!(*times, 1, "what came before is not counted");
        assert!(*spent <= started.elapsed());
    }
}
