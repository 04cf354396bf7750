//! How much of the time of their CPUs the threads of this process got.

use std::time::{Duration, Instant};

use syncscope_host::clock::process_cpu_time;

/// The begin of a stretch of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occupancy {
    started: Instant,
    spent: Duration,
}

impl Occupancy {
    /// The stretch begins now.
    pub(crate) fn begin() -> Self {
        Self { started: Instant::now(), spent: process_cpu_time() }
    }

    /// The share of the time of so many CPUs that this process has spent since then.
    pub(crate) fn share(&self, cpus: u32) -> f64 {
        share(process_cpu_time().saturating_sub(self.spent), self.started.elapsed(), cpus)
    }
}

fn share(spent: Duration, elapsed: Duration, cpus: u32) -> f64 {
    spent.as_secs_f64() / (elapsed.as_secs_f64() * f64::from(cpus.max(1))).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_cpus() {
        let seconds = Duration::from_secs;
        assert!((share(seconds(1), seconds(2), 1) - 0.5).abs() < 1e-12);
        assert!((share(seconds(1), seconds(2), 4) - 0.125).abs() < 1e-12);
        assert!(share(seconds(0), seconds(0), 0).abs() < 1e-12);
    }

    #[test]
    fn a_process_that_works_gets_a_share() {
        let working = Occupancy::begin();
        while process_cpu_time() == working.spent {
            std::hint::spin_loop();
        }
        assert!(working.share(1) > 0.0 && working.share(4) < working.share(1));
    }
}
