//! SMT interference: whether another hardware thread of the core was active around a sample.
//!
//! On a virtual machine that thread often belongs to another guest and is invisible to the system. Its activity shows in the
//! speed of independent additions: a core executes four or more in a cycle, and two hardware threads share them. Dependent
//! multiplications wait for each other and take the same time in any case. The contention ratio is the time of an addition over
//! that of a multiplication. It does not depend on the clock. Each thread measures it before and after each sample, in 2 us.
//!
//! Measured on virtual machines, without and with interference by this ratio: an uncontended `lock add` takes 18.01 to
//! 18.02 and 21.5 to 22.0 cycles on Sapphire Rapids (medians of six runs), 4.6 to 4.7 and 6.4 to 7.0 ticks on Zen 3.
//! The ratio on Zen 3 is 0.75 without interference and 0.9 to 1.3 with it.

use std::collections::HashMap;

use super::chains::multiplications;
use super::clock::Clock;

/// Iterations of the loop of independent additions, eight in each.
const ADDITIONS: u64 = 600;

/// Operations of the chain of dependent multiplications.
const MULTIPLICATIONS: u64 = 400;

/// The contention ratio of the calling thread's core now. `None` where no loop is written for this architecture, or
/// where the steps of the clock are too coarse.
pub(crate) fn contention_ratio(clock: &Clock) -> Option<f64> {
    if cfg!(not(target_arch = "x86_64")) {
        return None;
    }
    let additions = timed(clock, || independent_additions(ADDITIONS))? as f64 / ADDITIONS as f64;
    let multiplications = timed(clock, || multiplications(MULTIPLICATIONS))? as f64 / MULTIPLICATIONS as f64;
    let ratio = additions / multiplications;
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

fn timed<T>(clock: &Clock, run: impl FnOnce() -> T) -> Option<u64> {
    /// With fewer ticks, one step of the clock would be more than a hundredth of the loop.
    const FEWEST_TICKS: u64 = 100;
    let start = clock.start();
    let _ = run();
    let ticks = clock.stop().saturating_sub(start);
    (ticks >= FEWEST_TICKS).then_some(ticks)
}

/// Executes independent additions of registers, eight in each iteration, by execution units that the hardware threads of a core
/// share. (Intel's Golden Cove executes additions of small constants for free.) On other architectures it does nothing.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
#[inline(never)]
pub(crate) fn independent_additions(iterations: u64) {
    // SAFETY: adds registers of its own; touches no memory and no stack.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            ".irp register, r8, r9, r10, r11, r12, r13, r14, r15",
            "add \\register, {step}",
            ".endr",
            "sub {iterations}, 1",
            "jnz 2b",
            iterations = inout(reg) iterations => _,
            step = in(reg) 1_u64,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            options(nomem, nostack),
        );
    }
}

/// The contention ratios seen on each CPU so far.
#[derive(Debug, Default)]
pub(crate) struct InterferenceDetector(HashMap<u32, Histogram>);

impl InterferenceDetector {
    /// Adds a ratio measured on a CPU.
    pub(crate) fn add(&mut self, cpu: u32, ratio: f64) {
        self.0.entry(cpu).or_default().add(ratio);
    }

    /// Whether a ratio shows another active hardware thread. `false` while too few ratios of this CPU are known.
    pub(crate) fn detects(&self, cpu: u32, ratio: f64) -> bool {
        /// Ratios without interference differ by less, a ratio with interference by more.
        const THRESHOLD: f64 = 1.12;
        self.0.get(&cpu).and_then(Histogram::undisturbed).is_some_and(|undisturbed| ratio > THRESHOLD * undisturbed)
    }
}

/// How often each ratio was seen on one CPU, in steps of 2 %.
#[derive(Debug, Default)]
struct Histogram {
    counts: Vec<u32>,
    total: u32,
}

impl Histogram {
    const STEPS: usize = 256;
    const STEP: f64 = 1.02;
    const LEAST: f64 = 0.1;

    fn add(&mut self, ratio: f64) {
        let step = (ratio / Self::LEAST).ln() / Self::STEP.ln();
        // Ratios beyond the ends count in the first or the last step.
        let step = step.clamp(0.0, Self::STEPS as f64 - 1.0) as usize;
        self.counts.resize(Self::STEPS, 0);
        self.counts[step] = self.counts[step].saturating_add(1);
        self.total = self.total.saturating_add(1);
    }

    /// The ratio without interference: the smallest that was seen often. Rare smaller ones come from interruptions.
    fn undisturbed(&self) -> Option<f64> {
        let enough = (self.total / 200).max(8);
        let step = self.counts.windows(2).position(|two| two[0].saturating_add(two[1]) >= enough)?;
        Some(Self::LEAST * Self::STEP.powi(i32::try_from(step).ok()? + 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A detector that has seen these ratios, each a number of times, on CPU 3.
    fn after(ratios: &[(f64, u32)]) -> InterferenceDetector {
        let mut detector = InterferenceDetector::default();
        for (ratio, times) in ratios {
            (0..*times).for_each(|_| detector.add(3, *ratio));
        }
        detector
    }

    #[test]
    fn the_smallest_frequent_ratio_is_undisturbed() {
        let detector = after(&[(1.1, 700), (0.75, 250), (0.76, 50), (0.4, 3)]);
        assert!(!detector.detects(3, 0.74) && !detector.detects(3, 0.78));
        assert!(detector.detects(3, 0.9) && detector.detects(3, 1.3));
        assert!(!detector.detects(2, 1.3), "nothing is known of another CPU");
    }

    #[test]
    fn a_few_ratios_detect_nothing() {
        assert!(!after(&[(0.75, 4), (1.1, 3)]).detects(3, 1.1));
        // A CPU that was never undisturbed has no reference.
        assert!(!after(&[(1.1, 500)]).detects(3, 1.12));
        let extreme = after(&[(f64::MIN_POSITIVE, 20), (1e9, 20)]);
        assert!(extreme.detects(3, 1.0));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_core_does_several_independent_additions_in_a_cycle() {
        let clock = Clock::calibrate();
        let mut ratios: Vec<f64> = (0..200).filter_map(|_| contention_ratio(&clock)).collect();
        ratios.sort_by(f64::total_cmp);
        // Eight additions in one to eight cycles, a multiplication in three or four.
        let least = ratios[ratios.len() / 20];
        assert!((0.2..3.0).contains(&least), "{least}");
    }
}
