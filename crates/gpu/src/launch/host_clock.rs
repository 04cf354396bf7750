//! The host's clock, for driver calls and for CPU threads.

use syncscope_core::sample::Disturbance;
use syncscope_core::{Hertz, Ruler, Sample, Ticks};
use syncscope_host::scheduling;

pub(crate) use syncscope_host::clock::raw_ns as now_ns;

/// How many readings measure the ruler.
const READINGS: usize = 4096;

/// Measures the clock, which counts nanoseconds.
pub(crate) fn measure() -> Ruler {
    let readings: Vec<u64> = (0..READINGS).map(|_| now_ns()).collect();
    ruler_of(&readings)
}

/// The sample of what this thread does in `work`; `work` must wait for its own end.
pub(crate) fn sample_of<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Sample, E> {
    let (cpu, switches) = (scheduling::current_cpu(), scheduling::involuntary_switches());
    let started = now_ns();
    work()?;
    let elapsed = Ticks(now_ns().saturating_sub(started));
    let moved = (scheduling::current_cpu() != cpu).then_some(Disturbance::Migration);
    let interrupted = scheduling::involuntary_switches() != switches;
    let disturbance = if interrupted { Some(Disturbance::InvoluntarySwitch) } else { moved };
    Ok(Sample { disturbance, ..Sample::of_one(elapsed, 1.0) })
}

/// The smallest step between two different readings, and the time between the first and the last.
fn ruler_of(readings: &[u64]) -> Ruler {
    let steps = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let resolution = steps.filter(|step| *step > 0).min().unwrap_or(1);
    let span = readings.last().zip(readings.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
    let read_cost = span / (readings.len().saturating_sub(1).max(1) as u64);
    Ruler { name: "monotonic_raw", frequency: Hertz(1e9), resolution: Ticks(resolution), read_cost: Ticks(read_cost) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_step_is_the_resolution() {
        let ruler = ruler_of(&[100, 100, 140, 160, 200]);
        assert_eq!((ruler.resolution, ruler.read_cost), (Ticks(20), Ticks(25)));
        assert_eq!(ruler_of(&[7, 7]).resolution, Ticks(1), "a clock that stood still has counted nanoseconds still");
        assert_eq!(ruler_of(&[]).read_cost, Ticks(0));
    }

    #[test]
    fn this_machines_clock_goes_forward() {
        let ruler = measure();
        assert!(ruler.resolution.0 > 0 && ruler.read_cost.0 < 1_000_000, "{ruler:?}");
    }
}
