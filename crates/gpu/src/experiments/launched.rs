//! Chains of a user's kernels, regions of kernels, or sequences of launches.
//!
//! The baseline is a chain of n launches, the test one of 2 n: what the chain takes once drops out of the difference. Launches
//! of a kernel are a graph, in which the host takes no part. A region sums its own cycles; a chain of twice as many launches
//! has twice as many.

use std::time::{Duration, Instant};

use syncscope_core::{Check, Evidence, Experiment, ExperimentError, Protocol, Ruler, Sample, Shot, Side, Ticks};
use syncscope_host::scheduling::AffinityGuard;

use crate::catalogue::HostWait;
use crate::cuda::error::CudaError;
use crate::cuda::host_library::HostLibrary;
use crate::launch::host_clock;
use crate::launch::samples::operations;
use crate::own_device::{Kernel, Memory, Outage, OwnDevice};

/// Launches of the longest baseline, as for our own kernels. In a region, a launch counts as many passes as it makes.
const MOST_LAUNCHES: u64 = 256;

/// Time limit for a chain.
const LIMIT: Duration = Duration::from_secs(60);

/// How long untimed chains run before the first timed one, while the clock of an idle device rises, and after a pause.
const FIRST_WARM_UP: Duration = Duration::from_millis(200);
const WARM_UP: Duration = Duration::from_millis(2);

/// A device counts as idle after this pause.
const IDLE: Duration = Duration::from_micros(200);

/// The work of one launch.
#[derive(Debug)]
pub(crate) enum Launched<'a> {
    /// A kernel on a grid of blocks.
    Kernel { kernel: Kernel, shape: [[u32; 3]; 2], arguments: Vec<Vec<u64>>, region: Option<Memory> },
    /// A host function; after each call the host waits in this way, or not at all.
    Sequence { library: &'a HostLibrary, wait: Option<HostWait> },
}

/// A chain of a user's launches; see the module documentation.
#[derive(Debug)]
pub(crate) struct LaunchedExperiment<'a> {
    pub(crate) device: OwnDevice,
    pub(crate) launched: Launched<'a>,
    /// The clock of the samples: the host's, or for a region that of the multiprocessors.
    pub(crate) ruler: Ruler,
    /// The CPU of the launching thread.
    pub(crate) cpu: Option<u32>,
    /// When the last chain ended.
    pub(crate) ended: Option<Instant>,
}

impl LaunchedExperiment<'_> {
    /// Launches a chain and waits for its end.
    fn run(&mut self, count: u64) -> Result<(), Outage> {
        match &self.launched {
            Launched::Kernel { kernel, shape, arguments, .. } => {
                self.device.launch_own(count, *kernel, *shape, arguments)?;
            }
            Launched::Sequence { library, wait } => {
                self.device.call_own(count, |stream| library.launch(stream), *wait)?;
            }
        }
        self.device.wait(LIMIT).map_err(|outage| match outage {
            Outage::Cuda(error) if error.name.contains("ILLEGAL_ADDRESS") => {
                let text = format!("{}; are the buffers of --arg large enough?", error.text);
                Outage::Cuda(CudaError { text, ..error })
            }
            other => other,
        })
    }

    fn time(&mut self, Shot { side, iterations, .. }: Shot) -> Result<Sample, ExperimentError> {
        let count = operations(side, iterations, 1);
        let Launched::Kernel { region: Some(region), .. } = self.launched else {
            return Ok(host_clock::sample_of(|| self.run(count))?);
        };
        self.device.clear(region)?;
        self.run(count)?;
        let words = self.device.fetch(region, REGION_WORDS, LIMIT)?;
        let ticks = mean_of_passes(words).ok_or_else(|| ExperimentError::Failed(NO_PASS.to_owned()))? * count as f64;
        let length = 1e9 / self.ruler.frequency.value();
        Ok(Sample { cycles_per_tick: Some(1.0), ..Sample::of_one(Ticks(ticks.round() as u64), length) })
    }

    /// Makes the graphs of these shots, and keeps device and host as busy as they will be.
    fn warm_up(&mut self, shots: &[Shot]) -> Result<(), ExperimentError> {
        let length = match self.ended {
            None => FIRST_WARM_UP,
            Some(ended) if ended.elapsed() > IDLE => WARM_UP,
            Some(_) => Duration::ZERO,
        };
        let started = Instant::now();
        // Run each once, so that no graph is made while it is timed.
        let counts: Vec<u64> = shots.iter().map(|shot| operations(shot.side, shot.iterations, 1)).collect();
        for (at, count) in counts.iter().cycle().enumerate() {
            let is_made = at >= counts.len() || counts[..at].contains(count);
            if is_made && started.elapsed() >= length {
                break;
            }
            self.run(*count)?;
        }
        Ok(())
    }
}

const NO_PASS: &str = "the first lane of no warp passed the region";

/// Words that a region leaves: the sum of its cycles including clock readings, the least cycles of a reading (inverted), and
/// its passes.
pub(crate) const REGION_WORDS: usize = 3;

/// The mean cycles of a pass, without reading the clock.
fn mean_of_passes(words: &[u64]) -> Option<f64> {
    match words {
        [cycles, reading, passes] if *passes > 0 => Some((*cycles as f64 / *passes as f64 - !reading as f64).max(0.0)),
        _ => None,
    }
}

impl Experiment for LaunchedExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        operations(side, iterations, 1)
    }

    fn samples(&mut self, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let _here = self.cpu.map(AffinityGuard::bind_to);
        let wait = if let Launched::Sequence { wait, .. } = self.launched { wait } else { None };
        self.device.wait_by(wait)?;
        self.warm_up(shots)?;
        let samples = shots.iter().map(|shot| self.time(*shot)).collect();
        self.ended = Some(Instant::now());
        samples
    }

    fn protocol(&self) -> Protocol {
        Protocol { max_iterations: MOST_LAUNCHES, longest_sample: Some(LIMIT / 6), ..Protocol::of(1) }
    }

    /// Not applicable: only the user knows what the launches should do. Their errors end the case.
    fn check(&mut self) -> Check {
        Check::NotApplicable
    }

    fn evidence(&mut self) -> Evidence {
        let what = match self.launched {
            Launched::Kernel { region: None, .. } => "the user's kernel, a node of a graph for each launch",
            Launched::Kernel { .. } => {
                "the user's kernel with clock reads around the region, a node of a graph for each launch"
            }
            Launched::Sequence { .. } => "what the user's `launch` queues in a stream",
        };
        Evidence::NotAvailable(format!("not inspected: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_costs_the_mean_of_its_passes() {
        assert_eq!(mean_of_passes(&[600, !8, 4]), Some(142.0));
        assert_eq!(mean_of_passes(&[31, !8, 4]), Some(0.0));
        assert_eq!((mean_of_passes(&[0, 0, 0]), mean_of_passes(&[])), (None, None));
    }
}
