//! Presets, and the budgets that follow from them: how many pairs, blocks and seconds a case gets.

use std::time::Duration;

use crate::engine::settings::{BlockCount, Settings};
use crate::engine::stopping::PrecisionRule;
use crate::model::case::Case;
use crate::model::primitive::Domain;
use crate::session::pass_schedule::PassSchedule;
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

/// The pairs of a measurement block of a GPU case. Little disturbs a GPU, and most costs are known after three blocks.
const GPU_BLOCK_PAIRS: u64 = 4;

/// The passes after which every GPU case has been measured in as many contexts, each with memory of its own.
pub const GPU_CONTEXTS: u32 = 3;

impl Preset {
    /// How a case is measured, given how many `cases` its laboratory has.
    ///
    /// Samples of 100 us are a thousand times longer than reading the clock and ten times shorter than a scheduler tick.
    /// The time for a case is the time for the preset, divided by its number of cases. Experiments may ask for other
    /// samples and for a larger or smaller share.
    pub(super) fn budget(self, case: &Case, cases: usize) -> Budget {
        let is_cpu = is_on_cpus(case);
        let (rule, blocks) = if is_cpu { self.on_cpu(cases) } else { self.on_gpu() };
        Budget { settings: Settings { sample: Duration::from_micros(100), noisy_above: 0.05, rule }, blocks }
    }

    /// The state of a CPU (its clock, SMT interference, where its host lets it run) changes within tenths of a second.
    /// Many short blocks sample more of it than few long ones. The paper's grid on 2 CPUs, 1,300 cases, is to take less
    /// than a minute, and on 16 CPUs, 4,600 cases, less than six.
    fn on_cpu(self, cases: usize) -> (PrecisionRule, BlockCount) {
        let (precision, blocks) = match self {
            Self::Quick => (0.01, BlockCount { min: 8, max: 400 }),
            Self::Standard => (0.005, BlockCount { min: 8, max: 200 }),
            Self::Paper => (0.01, BlockCount { min: 6, max: if cases > LARGE_PLAN { 40 } else { 20 } }),
        };
        let (max_pairs, max_time) = (CPU_BLOCK_PAIRS * u64::from(blocks.max), CPU_BLOCK * blocks.max);
        (PrecisionRule { precision, min_pairs: CPU_BLOCK_PAIRS, max_pairs, max_time }, blocks)
    }

    /// The state of a GPU hardly changes, but a context, its memory and its modules lie elsewhere each time.
    fn on_gpu(self) -> (PrecisionRule, BlockCount) {
        let (precision, most, max_time_ms) = match self {
            Self::Quick => (0.01, 60, 300),
            Self::Standard => (0.005, 80, 300),
            Self::Paper => (0.01, 24, 130),
        };
        let max_pairs = GPU_BLOCK_PAIRS * u64::from(most);
        let max_time = Duration::from_millis(max_time_ms);
        let rule = PrecisionRule { precision, min_pairs: GPU_BLOCK_PAIRS, max_pairs, max_time };
        (rule, BlockCount { min: GPU_CONTEXTS, max: most })
    }

    /// The passes over the cases of one laboratory: how long they may take, and how many are made however long they take.
    /// After that time no case gets another block. Machines with more CPUs have more cases, and those of all CPUs take
    /// longer. A run of the quick preset is to end within a minute, its GPU cases and the start included.
    pub(super) fn passes(self, cases: &[Case]) -> PassSchedule {
        let is_cpu = cases.first().is_some_and(is_on_cpus);
        let (seconds, fewest) = match (is_cpu, self) {
            (true, Self::Quick) => (40, MIN_BLOCKS),
            (true, Self::Standard) => (240, MIN_BLOCKS),
            (true, Self::Paper) if cases.len() > LARGE_PLAN => (345, MIN_BLOCKS),
            (true, Self::Paper) => (52, MIN_BLOCKS),
            (false, Self::Quick) => (12, GPU_CONTEXTS),
            (false, Self::Standard) => (240, GPU_CONTEXTS),
            (false, Self::Paper) => (170, GPU_CONTEXTS),
        };
        PassSchedule::within(Duration::from_secs(seconds), fewest)
    }

    /// About how long the cases of one laboratory take: as long as their passes may, or less where they are few. Setting up
    /// is not in it.
    #[must_use]
    pub fn planned_time(self, cases: &[Case]) -> Duration {
        let Some(case) = cases.first() else { return Duration::ZERO };
        let is_cpu = is_on_cpus(case);
        let Budget { settings, blocks } = self.budget(case, cases.len());
        // Many blocks on the CPU take longer than their pairs need: threads sleep, or wait for each other.
        let block = if is_cpu { 2 * CPU_BLOCK } else { settings.rule.max_time / blocks.max };
        let all = |blocks: u32| block * blocks * u32::try_from(cases.len()).unwrap_or(u32::MAX);
        let fewest = if is_cpu { MIN_BLOCKS } else { GPU_CONTEXTS };
        all(blocks.max).min(self.passes(cases).time()).max(all(fewest.min(blocks.max)))
    }

    /// Whether a case may end as precise before its blocks span half of the time. The state of a CPU (its clock, its host)
    /// lasts for seconds, so that the blocks of a few seconds agree without being right.
    pub(super) fn may_end_early(case: &Case) -> bool {
        !is_on_cpus(case)
    }
}

/// Whether the actors of a case are threads or processes.
fn is_on_cpus(case: &Case) -> bool {
    [Domain::Cpu, Domain::Mpi].iter().any(|domain| case.domain_and_family().0 == domain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_times_are_those_of_runs() {
        let cases = |id: &str, count| vec![Case::new(id); count];
        let seconds = |preset: Preset, id, count| preset.planned_time(&cases(id, count)).as_secs();
        // What runs took on a guest with 2 CPUs, on one with 16 and on an H200.
        for (preset, id, count, took) in [
            (Preset::Quick, "cpu.atomic.add", 82, 40),
            (Preset::Quick, "cpu.atomic.add", 220, 40),
            (Preset::Paper, "cpu.atomic.add", 1296, 52),
            (Preset::Paper, "cpu.atomic.add", 4612, 323),
            (Preset::Paper, "gpu.atomic.add", 9460, 176),
        ] {
            let planned = seconds(preset, id, count);
            assert!(planned.abs_diff(took) * 10 <= took, "{preset:?} {id} {count}: {planned} s, took {took} s");
        }
        assert_eq!(Preset::Quick.planned_time(&[]), Duration::ZERO);
        assert!(seconds(Preset::Standard, "cpu.atomic.add", 3) < 3, "few cases end early");
    }
}
