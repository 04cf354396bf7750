//! Sums by NCCL as a barrier, timed by the host.
//!
//! The baseline is a chain of n sums, the test one of 2 n. The first call and the wait drop out of the difference, and n
//! sums remain. (`all_reduce_perf` of nccl-tests divides the time of a chain by its length.) There is no figure in cycles,
//! because the host takes part.
//!
//! A chain in graphs is replays of one short graph, not one long one: the launch of a graph takes longer the longer it is, and
//! the first device waits for the launch on the last. With one graph a sum took 6.8 us on two H200,
//! with replays 5.6.

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Ruler, Sample, Shot, Side};
use syncscope_host::scheduling::AffinityGuard;

use super::catalogue::Launching;
use super::group::{NcclError, NcclGroup, SUMS_OF_GRAPH};
use crate::launch::host_clock;

/// The longest baseline, in steps of [`SUMS_OF_GRAPH`] sums.
const MOST_STEPS: u64 = 10;

/// The shortest baseline: half of a chain of `all_reduce_perf -n 200`.
const FEWEST_STEPS: u64 = 5;

/// Sums of the check.
const TRIALS: u64 = 8;

/// A case, ready to run.
#[derive(Debug)]
pub(crate) struct NcclExperiment<'a> {
    pub(crate) group: &'a mut NcclGroup,
    pub(crate) launching: Launching,
    pub(crate) devices: u32,
    pub(crate) ruler: Ruler,
    /// The CPU of the launching thread.
    pub(crate) cpu: Option<u32>,
}

const fn sums(side: Side, iterations: u64) -> u64 {
    (1 + side.copies()) * iterations * SUMS_OF_GRAPH
}

/// The value of a device in a trial: another one each time.
const fn value(trial: u64, device: u64) -> u64 {
    1000 * (trial + 1) + device + 1
}

/// What is wrong with what the devices got, if something is.
fn defect(trial: u64, found: &[u64], devices: u32) -> Option<String> {
    let expected: u64 = (0..u64::from(devices)).map(|device| value(trial, device)).sum();
    let all = found.len() == devices as usize;
    let wrong = found.iter().position(|sum| *sum != expected);
    match wrong {
        None if all => None,
        None => Some(format!("{} of {devices} devices have a sum", found.len())),
        Some(device) => Some(format!("device {device} got the sum {} instead of {expected}", found[device])),
    }
}

impl NcclExperiment<'_> {
    fn time(&mut self, Shot { side, iterations, .. }: Shot) -> Result<Sample, NcclError> {
        let count = sums(side, iterations);
        self.group.prepare(self.launching, count)?;
        host_clock::sample_of(|| {
            self.group.launch(self.launching, count)?;
            self.group.wait()
        })
    }
}

impl From<NcclError> for ExperimentError {
    fn from(error: NcclError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Experiment for NcclExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        sums(side, iterations)
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let _here = self.cpu.map(AffinityGuard::bind_to);
        Ok(self.time(shot)?)
    }

    fn unroll(&self) -> u32 {
        1
    }

    fn min_iterations(&self) -> u64 {
        FEWEST_STEPS
    }

    fn max_iterations(&self) -> u64 {
        MOST_STEPS
    }

    fn has_double(&self) -> bool {
        true
    }

    fn check(&mut self) -> Check {
        for trial in 0..TRIALS {
            let values: Vec<u64> = (0..u64::from(self.devices)).map(|device| value(trial, device)).collect();
            match self.group.sum_of(self.launching, &values).map(|found| defect(trial, &found, self.devices)) {
                Ok(None) => {}
                Ok(Some(defect)) => return Check::Failed(defect),
                Err(error) => return Check::Failed(error.to_string()),
            }
        }
        Check::Ok
    }

    /// The function is called once for each sum and device; the library's kernels are its own.
    fn evidence(&mut self) -> Evidence {
        let summary = format!("library call ncclAllReduce (NCCL {})", self.group.version());
        Evidence::Present { listing: format!("{summary}\n"), summary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_has_as_many_sums_more_as_the_baseline_has() {
        for iterations in [FEWEST_STEPS, MOST_STEPS] {
            let baseline = sums(Side::Baseline, iterations);
            assert_eq!(sums(Side::Test, iterations) - baseline, baseline);
            assert_eq!(sums(Side::Double, iterations) - sums(Side::Test, iterations), baseline);
            assert_eq!(baseline % SUMS_OF_GRAPH, 0);
        }
    }

    #[test]
    fn a_wrong_or_missing_sum_is_a_defect() {
        // 1001 + 1002.
        assert_eq!(defect(0, &[2003, 2003], 2), None);
        assert!(defect(1, &[2003, 2003], 2).unwrap().contains("device 0 got the sum 2003 instead of 4003"));
        assert!(defect(0, &[2003, 0], 2).unwrap().contains("device 1"));
        assert!(defect(0, &[2003], 2).unwrap().contains("1 of 2"));
    }
}
