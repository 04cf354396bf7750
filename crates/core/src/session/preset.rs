//! Presets, and the budgets that follow from them: how many pairs, blocks and seconds a case gets.

use std::time::Duration;

use crate::engine::settings::{BlockCount, Settings};
use crate::engine::stopping::PrecisionRule;
use crate::model::case::Case;
use crate::model::primitive::Domain;
use crate::words::words;

words! {
    /// How much is measured.
    pub enum Preset ("preset") {
        /// A first look in about a minute.
        Quick = "quick",
        /// Every parameter that matters.
        Standard = "standard",
        /// The grids of the papers.
        Paper = "paper",
    }
}

/// How one case is measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Budget {
    pub(super) settings: Settings,
    pub(super) blocks: BlockCount,
}

/// Fewer blocks than this sample too few states of the machine. With 8 blocks a 95 % interval holds in 91 of 100 simulated
/// runs of a machine whose state keeps changing, with 20 blocks in 95.
pub(super) const MIN_BLOCKS: u32 = 8;

/// How long a measurement block of a CPU case takes: half a dozen pairs of samples. Setting the case up takes 0.1 ms more.
const CPU_BLOCK: Duration = Duration::from_millis(1);

/// The pairs of such a block. Fewer give the first row no interval. More are better spent in another block.
const CPU_BLOCK_PAIRS: u64 = 6;

/// Plans of more CPU cases than this are those of larger machines, whose paper grids may take longer.
const LARGE_PLAN: usize = 2000;

/// Pairs of a GPU case before the first look at the interval.
const FIRST_LOOK: u64 = 12;

impl Preset {
    /// How a case is measured, given how many `cases` its laboratory has.
    ///
    /// Samples of 100 us are a thousand times longer than reading the clock and ten times shorter than a scheduler tick.
    /// The time for a case is the time for the preset, divided by its number of cases. Experiments may ask for other
    /// samples and for a larger or smaller share.
    pub(super) fn budget(self, case: &Case, cases: usize) -> Budget {
        let (rule, blocks) = if case.domain_and_family().0 == Domain::Cpu.as_str() {
            self.on_cpu(cases)
        } else {
            (self.on_gpu(), BlockCount::ONE)
        };
        Budget { settings: Settings { sample: Duration::from_micros(100), noisy_above: 0.05, rule }, blocks }
    }

    /// The state of a CPU (its clock, SMT interference, where its host lets it run) changes within tenths of a second.
    /// Many short blocks sample more of it than few long ones. The paper's grid on 2 CPUs, 1,300 cases, is to take less
    /// than a minute, and on 16 CPUs, 4,600 cases, less than six.
    fn on_cpu(self, cases: usize) -> (PrecisionRule, BlockCount) {
        let (precision, blocks) = match self {
            Self::Quick => (0.01, BlockCount { min: 8, max: 160 }),
            Self::Standard => (0.005, BlockCount { min: 8, max: 200 }),
            Self::Paper => (0.01, BlockCount { min: 6, max: if cases > LARGE_PLAN { 40 } else { 20 } }),
        };
        let (max_pairs, max_time) = (CPU_BLOCK_PAIRS * u64::from(blocks.max), CPU_BLOCK * blocks.max);
        (PrecisionRule { precision, min_pairs: CPU_BLOCK_PAIRS, max_pairs, max_time }, blocks)
    }

    /// Little disturbs a GPU, and setting up its cases takes longer: one block.
    const fn on_gpu(self) -> PrecisionRule {
        let (precision, max_pairs, max_time_ms) = match self {
            Self::Quick => (0.01, 400, 300),
            Self::Standard => (0.005, 500, 300),
            Self::Paper => (0.01, 190, 130),
        };
        PrecisionRule { precision, min_pairs: FIRST_LOOK, max_pairs, max_time: Duration::from_millis(max_time_ms) }
    }

    /// How long the passes over the `cases` of one laboratory may take. After that the number of blocks is reduced, down
    /// to [`MIN_BLOCKS`]. Machines with more CPUs have more cases, and those of all CPUs take longer. A run of the quick
    /// preset is to end within a minute, its GPU cases and the start included.
    pub(super) const fn time_for_passes(self, cases: usize) -> Duration {
        Duration::from_secs(match self {
            Self::Quick => 40,
            Self::Standard => 240,
            Self::Paper if cases > LARGE_PLAN => 345,
            Self::Paper => 52,
        })
    }
}
