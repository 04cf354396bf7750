//! `syncscope timeline`: start and stop of every warp of a snippet, on a common clock.
//!
//! | file | contents |
//! |---|---|
//! | here | the experiment: each snippet in both versions, launched some times |
//! | [`versions`] | the machine code as compiled, and with corrected clock reads; needs no GPU |
//! | [`launcher`] | one launch and what it leaves |
//! | [`arguments`] | what the kernels take |

mod arguments;
mod launcher;
pub mod versions;

use syncscope_core::published::timeline::summary::{LaunchRecord, Placed, summarize};
use syncscope_core::published::timeline::{Snippet, Timeline, Version};

use self::arguments::ROUNDS;
use self::launcher::{Launcher, Shape};
use self::versions::{Prepared, prepare, program};
use crate::GpuLaboratory;
use crate::cuda::error::GpuError;

/// Launches of each version that count. One more is made before.
const LAUNCHES: usize = 31;

/// Threads of a block, as in the source: 4 warps.
const FEW_THREADS: u32 = 128;

/// Threads of a block where one warp is late.
const MANY_THREADS: u32 = 256;

/// Blocks whose warps add to the same variables.
const ADDING_BLOCKS: u32 = 4;

/// What was measured, and what could not be.
#[derive(Debug)]
pub struct Measured {
    /// The tables.
    pub timeline: Timeline,
    /// Snippets or versions that are missing, and why.
    pub warnings: Vec<String>,
}

const fn shape(snippet: Snippet, multiprocessors: u32) -> Shape {
    let (blocks, threads) = match snippet {
        Snippet::SharedMemory => (1, FEW_THREADS),
        Snippet::GlobalAtomic => (ADDING_BLOCKS, FEW_THREADS),
        Snippet::LateWarp | Snippet::ProducerConsumer => (1, MANY_THREADS),
        Snippet::GridBarrier => (multiprocessors, 32),
    };
    Shape { blocks, threads, is_cooperative: matches!(snippet, Snippet::GridBarrier) }
}

impl GpuLaboratory {
    /// Runs every snippet in both versions on the first device. `progress` gets the name of what runs.
    ///
    /// # Errors
    /// If the kernels cannot be compiled, or the device fails. A snippet that the device does not have, or whose edits are
    /// refused, is a warning.
    pub fn timeline(&mut self, progress: &mut dyn FnMut(&str)) -> Result<Measured, GpuError> {
        progress("compiling");
        let cubin = self.compiler.cubin(&program())?;
        let multiprocessors = self.limits().multiprocessors;
        let mut measured = Measured { timeline: Timeline::default(), warnings: Vec::new() };
        for &snippet in Snippet::ALL {
            let prepared = match prepare(&cubin, snippet) {
                Ok(prepared) => prepared,
                Err(why) => {
                    measured.warnings.push(format!("{snippet}: {why}"));
                    continue;
                }
            };
            for version in prepared {
                progress(&format!("{snippet} {}", version.version));
                let launches = self.launch_snippet(&version, shape(snippet, multiprocessors))?;
                measured.take(version, &launches);
            }
        }
        Ok(measured)
    }

    fn launch_snippet(&self, prepared: &Prepared, shape: Shape) -> Result<Vec<LaunchRecord>, GpuError> {
        let mut launcher = Launcher::new(self.experiment_device()?, prepared, shape)?;
        launcher.launch()?;
        (0..LAUNCHES).map(|_| Ok(launcher.launch()?)).collect()
    }
}

impl Measured {
    /// Adds what the launches of one version gave.
    fn take(&mut self, prepared: Prepared, launches: &[LaunchRecord]) {
        let Prepared { snippet, version, edits, code, .. } = prepared;
        self.timeline.edits.extend(edits);
        self.timeline.code.extend(code);
        for round in 0..ROUNDS {
            let placed = |launch: &LaunchRecord| launch.place(snippet, version, round as usize);
            let launches: Vec<Placed> = launches.iter().filter_map(placed).collect();
            let Some((shown, figure)) = summarize(snippet, version, round, &launches) else {
                self.warnings.push(format!("{snippet}: clocks of different multiprocessors cannot be compared"));
                return;
            };
            self.timeline.figures.push(figure);
            if round + 1 == ROUNDS {
                self.timeline.spans.extend(launches[shown].spans.iter().cloned());
            }
        }
        if snippet == Snippet::GridBarrier && version == Version::Corrected {
            self.timeline.clocks = launches.last().map(LaunchRecord::clocks).unwrap_or_default();
        }
    }
}
