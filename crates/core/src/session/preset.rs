//! Presets, and the budgets that follow from them: how many pairs, blocks and seconds a case gets. The preset says what is measured,
//! the time of the run how well.

use std::collections::{BTreeMap, HashSet};
use std::iter;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::stopping::PrecisionRule;
use crate::model::own::is_own;
use crate::run::{IMPORTED, LONGEST};
use crate::words::words;
use crate::{BlockCount, Case, CaseId, Facts, Family, Layout, Run, Settings};

words! {
    /// How much is measured.
    #[derive(Default)]
    pub enum Preset ("preset") {
        /// A first look: a minute on 16 CPUs, more on larger machines.
        #[default]
        Quick = "quick",
        /// Every parameter that matters.
        Standard = "standard",
        /// The grids of the papers.
        Paper = "paper",
    }
}

impl Run {
    /// The name of the experiment whose tables the directory holds; `None` for a run of cases, measured or imported.
    pub fn experiment(&self) -> Option<&str> {
        let has_cases = self.preset == IMPORTED || self.preset.parse::<Preset>().is_ok();
        (!has_cases).then_some(self.preset.as_str())
    }
}

/// The fewest blocks that sample enough states of the machine. With 8 blocks a 95 % interval holds in 91 of 100 simulated
/// runs of a machine whose state keeps changing, with 20 blocks in 95.
pub(super) const MIN_BLOCKS: u32 = 8;

/// The fewest blocks in the paper's grids, whose thousands of cases share a minute on a small machine. Their intervals are
/// wider.
const MIN_BLOCKS_OF_PAPER: u32 = 6;

/// How long a measurement block of a CPU case takes: half a dozen pairs of samples. Setting the case up takes 0.1 ms more.
const CPU_BLOCK: Duration = Duration::from_millis(1);

/// The pairs of a CPU case's block. Fewer give the first row no interval. More are better spent in another block.
pub const CPU_BLOCK_PAIRS: u64 = 6;

/// Teams of more threads take tenths of a second for [`CPU_BLOCK_PAIRS`]: their blocks have two pairs, because the state of
/// the machine lasts longer than a block, and another block says more than another pair.
const LARGE_TEAM: u32 = 64;
const LARGE_TEAM_PAIRS: u64 = 2;

/// Plans of more CPU cases than this come from larger machines, whose paper grids may take longer.
pub(super) const LARGE_PLAN: usize = 2000;

/// The pairs of a measurement block of a GPU case. Little disturbs a GPU, and most costs are known after three blocks.
const GPU_BLOCK_PAIRS: u64 = 4;

/// The fewest passes that a GPU case is measured in.
const MIN_BLOCKS_ON_GPU: u32 = 3;

/// The fewest blocks of GPU cases that may have levels: the interval of eight medians is their range, the interval of twelve
/// leaves out two on each side.
const BLOCKS_WITH_LEVELS: u32 = 12;

/// The passes that have GPU contexts of their own, each with memory of its own.
pub const GPU_CONTEXTS: u32 = MIN_BLOCKS;

/// Where a user compares operations of their own in few cases, small differences count: the cases get several times as many
/// blocks, which take a few seconds.
const COMPARED_CASES: usize = 4;
const COMPARED_BLOCKS: u64 = 4;

/// The processes that measure the cases of a CPU in the time of a preset.
const PROCESSES: u32 = 7;

/// The most blocks of a case, however long the run is to take: a hundred thousand of its pairs are in memory.
const MOST_BLOCKS: f64 = 20_000.0;

/// The finest precision that clocks can show.
const FINEST_PRECISION: f64 = 0.001;

/// The most processes of a run of any length: each begins with new pages and caches.
const MOST_PROCESSES: f64 = 28.0;

/// The preset and the time of a run: what is measured, and for how long in all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    preset: Preset,
    /// The time relative to the preset's, for cases of CPUs and for others.
    times: [f64; 2],
}

impl From<Preset> for Effort {
    fn from(preset: Preset) -> Self {
        Self { preset, times: [1.0; 2] }
    }
}

impl Effort {
    /// The effort that takes this time over all cases, one list for each laboratory; without a time, as long as the preset
    /// takes, and at least as long as `least` for each list.
    pub fn within(preset: Preset, time: Option<Duration>, parts: &[Vec<Case>], least: &[Duration]) -> Self {
        let mut times = [1.0; 2];
        let mut planned = Duration::ZERO;
        for (cases, least) in parts.iter().zip(least.iter().chain(iter::repeat(&Duration::ZERO))) {
            let of_preset = Self::from(preset).planned_time(cases);
            planned += of_preset.max(*least);
            if let Some(case) = cases.first().filter(|_| !of_preset.is_zero()) {
                let times = &mut times[usize::from(!case.is_on_cpus())];
                *times = least.div_duration_f64(of_preset).max(*times);
            }
        }
        let time = time.map(|time| time.min(LONGEST)).filter(|_| !planned.is_zero());
        let of_time = time.map_or(1.0, |time| time.div_duration_f64(planned));
        Self { preset, times: times.map(|times| times * of_time) }
    }

    /// The time of such cases relative to the preset's.
    fn times(self, case: &Case) -> f64 {
        self.times[usize::from(!case.is_on_cpus())]
    }

    /// How a case is measured, given how many `cases` its laboratory has. Experiments may ask for a larger or smaller share
    /// of the time. `facts` are the facts about the primitive, where known.
    pub(super) fn settings(self, case: &Case, cases: usize, facts: Option<&Facts>) -> Settings {
        self.lengthened(case, self.preset.settings(case, cases, facts))
    }

    /// [`Self::settings`] of a case among all cases of its laboratory.
    pub(super) fn settings_among(self, case: &Case, cases: &[Case], facts: Option<&Facts>) -> Settings {
        self.lengthened(case, self.preset.settings_among(case, cases, facts))
    }

    /// Adjusts settings to the time: in more time a case gets more blocks, and a finer precision ends it.
    fn lengthened(self, case: &Case, mut settings: Settings) -> Settings {
        let Settings { blocks, rule, .. } = &mut settings;
        let (all, times) = (f64::from(blocks.max), self.times(case));
        let most = (all * times).clamp(f64::from(blocks.min), all.max(MOST_BLOCKS));
        blocks.max = most.ceil() as u32;
        rule.max_pairs = (rule.max_pairs as f64 * most / all) as u64;
        rule.max_time = rule.max_time.mul_f64(most / all);
        rule.precision = (rule.precision / times.max(1.0).sqrt()).max(FINEST_PRECISION.min(rule.precision));
        settings
    }

    /// The number of processes that measure CPU cases, including the one that writes the run. Their differences are most of
    /// an interval for another run, so a longer run has more of them.
    pub(super) fn processes(self) -> u32 {
        (f64::from(PROCESSES) * self.times[0].max(1.0).sqrt()).min(MOST_PROCESSES) as u32
    }

    /// The passes over the cases of one laboratory: how long they may take, and how many are made however long they take.
    pub(super) fn passes(self, cases: &[Case]) -> PassSchedule {
        let of_preset = self.preset.passes(cases);
        let times = cases.first().map_or(1.0, |case| self.times(case));
        if (times - 1.0).abs() < f64::EPSILON {
            return of_preset;
        }
        PassSchedule::within(Self::from(self.preset).planned_time(cases).mul_f64(times), of_preset.fewest)
    }

    /// About how long the cases of one laboratory take: as long as their passes may, less where they are few, and more where
    /// the fewest blocks take longer. What surrounds the passes is not included, see [`time_around`].
    pub fn planned_time(self, cases: &[Case]) -> Duration {
        let Some(case) = cases.first() else { return Duration::ZERO };
        let BlockCount { min, max } = self.settings_among(case, cases, None).blocks;
        let all = |blocks: u32| self.preset.time_of_a_block(cases).mul_f64(cases.len() as f64 * f64::from(blocks));
        all(max).min(self.passes(cases).time).max(all(min))
    }
}

impl Preset {
    /// About how long the cases of one laboratory take, see [`Effort::planned_time`].
    pub fn planned_time(self, cases: &[Case]) -> Duration {
        Effort::from(self).planned_time(cases)
    }

    /// The time for a case is the time for the preset, divided by its number of cases.
    fn settings(self, case: &Case, cases: usize, facts: Option<&Facts>) -> Settings {
        let (rule, mut blocks) = if case.is_on_cpus() { self.on_cpu(case, cases) } else { self.on_gpu() };
        let has_levels = facts.is_some_and(|facts| facts.has_levels(case));
        if has_levels {
            blocks.min = BLOCKS_WITH_LEVELS;
        }
        Settings { blocks, has_levels, ..Settings::with_rule(rule) }
    }

    fn settings_among(self, case: &Case, cases: &[Case], facts: Option<&Facts>) -> Settings {
        let mut settings = self.settings(case, cases.len(), facts);
        let mut own = cases.iter().map(|case| &case.primitive).filter(|id| is_own(id));
        let first = own.next();
        if case.is_on_cpus() && cases.len() <= COMPARED_CASES && own.any(|id| Some(id) != first) {
            settings.rule.precision /= 4.0;
            settings.rule.max_pairs *= COMPARED_BLOCKS;
            settings.rule.max_time *= COMPARED_BLOCKS as u32;
            settings.blocks.max *= COMPARED_BLOCKS as u32;
        }
        settings
    }

    /// The state of a CPU (its clock, SMT interference, where its host lets it run) changes within tenths of a second.
    /// Many short blocks sample more of it than few long ones. The paper's grid on 2 CPUs, 1,300 cases, is to take less
    /// than a minute, and on 16 CPUs, 4,600 cases, less than six.
    fn on_cpu(self, case: &Case, cases: usize) -> (PrecisionRule, BlockCount) {
        let (precision, min, max) = match self {
            Self::Quick => (0.01, MIN_BLOCKS, 400),
            Self::Standard => (0.005, MIN_BLOCKS, 200),
            Self::Paper => (0.01, MIN_BLOCKS_OF_PAPER, if cases > LARGE_PLAN { 40 } else { 20 }),
        };
        let blocks = BlockCount { min, max };
        let pairs = pairs_of_a_block(case);
        let (max_pairs, max_time) = (pairs * u64::from(blocks.max), CPU_BLOCK * blocks.max);
        (PrecisionRule { precision, min_pairs: pairs, max_pairs, max_time }, blocks)
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
        (rule, BlockCount { min: MIN_BLOCKS_ON_GPU, max: most })
    }

    /// The passes over the cases of one laboratory: how long they may take, and how many are made however long they take.
    /// After that time no case gets another block. Machines with more CPUs have more cases, and cases on all CPUs take
    /// longer. A run of the quick preset is to end within a minute, its GPU cases and the start included.
    fn passes(self, cases: &[Case]) -> PassSchedule {
        let Some(first) = cases.first() else { return PassSchedule::within(Duration::ZERO, MIN_BLOCKS) };
        let is_cpu = first.is_on_cpus();
        let seconds = match (is_cpu, self) {
            (true, Self::Quick) => 30,
            (true | false, Self::Standard) => 240,
            (true, Self::Paper) if cases.len() > LARGE_PLAN => 345,
            (true, Self::Paper) => 52,
            (false, Self::Quick) => 12,
            (false, Self::Paper) => 128,
        };
        let (_, blocks) = if is_cpu { self.on_cpu(first, cases.len()) } else { self.on_gpu() };
        PassSchedule::within(Duration::from_secs(seconds), blocks.min)
    }

    /// About how long a block of these cases takes, everything included, in the runs of `results/`. On CPUs it takes 2 ms
    /// where the cases have 1.7 threads on average and 14 to 18 ms with 12, depending on how many of them a hypervisor takes
    /// away, and so in proportion to the threads and the pairs. On a GPU, whose threads run in before the window in which
    /// they are timed, and out behind it, it takes 10 ms in the grids of the papers and 21 ms where cases choose their
    /// iterations and have details (H200).
    fn time_of_a_block(self, cases: &[Case]) -> Duration {
        let ms = match self {
            _ if cases.iter().all(Case::is_on_cpus) => {
                let shots = |case: &Case| f64::from(case.threads.unwrap_or(1)) * pairs_of_a_block(case) as f64;
                1.36 / CPU_BLOCK_PAIRS as f64 * cases.iter().map(shots).sum::<f64>() / cases.len() as f64
            }
            Self::Paper => 10.0,
            Self::Quick | Self::Standard => 21.0,
        };
        Duration::from_secs_f64(ms / 1e3)
    }
}

/// About how long the cases of one laboratory take beyond their passes, in the runs of `results/`: 10 ms to write the rows
/// of a case, and for a GPU 60 ms to compile the kernels of each machine code, and 3 s for contexts.
pub fn time_around(cases: &[Case]) -> Duration {
    const OF_A_CASE: Duration = Duration::from_millis(10);
    const OF_A_KERNEL: Duration = Duration::from_millis(60);
    const OF_CONTEXTS: Duration = Duration::from_secs(3);
    let kernels: HashSet<Case> = cases.iter().filter(|case| !case.is_on_cpus()).map(of_its_code).collect();
    let of_gpu = if kernels.is_empty() { Duration::ZERO } else { OF_CONTEXTS + OF_A_KERNEL * kernels.len() as u32 };
    OF_A_CASE * cases.len() as u32 + of_gpu
}

/// A case reduced to what all cases that run the same machine code have in common.
pub(super) fn of_its_code(case: &Case) -> Case {
    Case { threads: None, blocks: None, devices: None, placement: None, ..case.clone() }
}

/// The pairs that a full measurement block of a case has.
pub fn pairs_of_a_block(case: &Case) -> u64 {
    match case.threads {
        _ if !case.is_on_cpus() => GPU_BLOCK_PAIRS,
        Some(threads) if threads > LARGE_TEAM => LARGE_TEAM_PAIRS,
        _ => CPU_BLOCK_PAIRS,
    }
}

// Which cases show whether their cost is additive.

/// One in this many cases of each family, and no fewer than [`LEAST_OF_FAMILY`], shows whether its cost is additive.
const ADDITIVITY_SHARE: usize = 10;

const LEAST_OF_FAMILY: usize = 2;

/// The cases whose third loop is run: in each family those with the lowest identities, which are as good as random. Fences,
/// and GPU operations on one variable, are all in the sample: nothing but the third loop shows what a fence waits for, and
/// what contends for one variable is seldom additive. A large plan for a GPU has time for some of them only. (Cases that are
/// counted in windows run it too.)
pub fn additivity_sample(cases: &[Case]) -> HashSet<CaseId> {
    let is_large = cases.len() > LARGE_PLAN;
    let (all, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| {
        let is_fence = case.domain_and_family().1 == Family::Fence.as_str();
        if case.is_on_cpus() { is_fence } else { !is_large && (is_fence || case.layout == Some(Layout::Shared)) }
    });
    let mut families: BTreeMap<(&str, &str), Vec<CaseId>> = BTreeMap::new();
    for case in others {
        families.entry(case.domain_and_family()).or_default().push(case.id());
    }
    let sample = families.into_values().flat_map(|mut ids| {
        ids.sort_unstable();
        let count = ids.len().div_ceil(ADDITIVITY_SHARE).max(LEAST_OF_FAMILY);
        ids.into_iter().take(count)
    });
    sample.chain(all.into_iter().map(Case::id)).collect()
}

// How many passes there is time for.

/// The passes over the cases of one laboratory, which end in time.
#[derive(Debug)]
pub(super) struct PassSchedule {
    /// The time that all passes together may take.
    pub(super) time: Duration,
    /// The number of passes that are made however long they take.
    pub(super) fewest: u32,
    /// The number of passes made over the same cases.
    pub(super) made: u32,
    /// The number of passes made in all.
    pub(super) all_made: u32,
    /// How long all passes took.
    pub(super) spent: Duration,
    /// How long the latest pass took.
    pub(super) latest: Duration,
}

impl PassSchedule {
    /// A schedule of passes that together take no longer than this, unless the `fewest` do.
    pub(super) const fn within(time: Duration, fewest: u32) -> Self {
        Self { time, fewest, made: 0, all_made: 0, spent: Duration::ZERO, latest: Duration::ZERO }
    }

    /// Counts passes, which took this long together.
    pub(super) fn add(&mut self, passes: u32, took: Duration) {
        self.made += passes;
        self.all_made += passes;
        self.spent += took;
        self.latest = took / passes.max(1);
    }

    /// Scales the time that a pass is expected to take: the next passes are over `cases`, the latest was over `of_latest`.
    pub(super) fn expect_passes_over(&mut self, cases: usize, of_latest: usize) {
        if of_latest > 0 {
            self.latest = self.latest.mul_f64(cases as f64 / of_latest as f64);
        }
    }

    /// The time of each share of the rest, and how many shares there are if a pass takes as long as the latest: at most
    /// `shares`. `left` is all the time there is, if that is limited.
    pub(super) fn shares(&self, shares: u32, left: Option<Duration>) -> (Duration, u32) {
        let rest = self.time.saturating_sub(self.spent);
        let rest = left.map_or(rest, |left| left.min(rest));
        let passes = rest.as_nanos() / self.latest.as_nanos().max(1);
        let shares = shares.min(u32::try_from(passes).unwrap_or(u32::MAX));
        (rest / shares.max(1), shares)
    }

    /// Whether the passes so far span half of the time.
    pub(super) fn spans_half(&self) -> bool {
        self.spent + self.latest >= self.time / 2
    }

    /// Whether there is no time for another pass after the next one, if they take as long as the latest.
    pub(super) fn is_next_final(&self) -> bool {
        self.made + 1 >= self.fewest && self.spent + 2 * self.latest > self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use crate::session::plan::Plan;

    #[test]
    fn more_time_gives_every_case_more_blocks_and_finer_figures() {
        let cpu: Vec<Case> =
            (1..=40).map(|threads| Case { threads: Some(threads), ..Case::new("cpu.barrier.std") }).collect();
        let gpu: Vec<Case> =
            (1..=40).map(|blocks| Case { blocks: Some(blocks), ..Case::new("gpu.grid.counter") }).collect();
        let parts = [cpu, gpu];
        let planned: Duration = parts.iter().map(|cases| Preset::Paper.planned_time(cases)).sum();
        let minutes = [None, Some(1), Some(4), Some(16), Some(120)]
            .map(|minutes| minutes.map(|minutes| Duration::from_secs(60 * minutes)));
        let mut before: Option<(Vec<Settings>, u32)> = None;
        for time in minutes {
            let effort = Effort::within(Preset::Paper, time, &parts, &[]);
            let takes: Duration = parts.iter().map(|cases| effort.planned_time(cases)).sum();
            let asked = time.unwrap_or(planned).as_secs_f64();
            assert!((takes.as_secs_f64() / asked - 1.0).abs() < 0.03, "{asked} s, planned as {takes:?}");
            let settings: Vec<Settings> =
                parts.iter().map(|cases| effort.settings(&cases[0], cases.len(), None)).collect();
            if let Some((fewer, processes)) = &before {
                let is_more = |(fewer, more): (&Settings, &Settings)| {
                    more.blocks.max > fewer.blocks.max
                        && more.rule.max_pairs > fewer.rule.max_pairs
                        && more.rule.precision <= fewer.rule.precision
                };
                assert!(fewer.iter().zip(&settings).all(is_more) && effort.processes() >= *processes, "{asked} s");
            }
            before = Some((settings, effort.processes()));
        }
    }

    #[test]
    fn a_case_gets_at_least_what_another_preset_gives_it_on_its_side() {
        let parts = [vec![Case::new("cpu.atomic.add"); 2000], vec![Case::new("gpu.atomic.add"); 2000]];
        let of_preset = Effort::from(Preset::Paper);
        let [cpu, gpu] = [0, 1].map(|part| of_preset.planned_time(&parts[part]));
        let effort = Effort::within(Preset::Paper, None, &parts, &[8 * cpu, gpu / 2]);
        assert!((effort.planned_time(&parts[0]).div_duration_f64(8 * cpu) - 1.0).abs() < 0.01);
        assert_eq!(effort.planned_time(&parts[1]), gpu);
        let most = |effort: Effort, part: usize| effort.settings(&parts[part][0], 2000, None).blocks.max;
        assert_eq!((most(effort, 0), most(effort, 1)), (8 * most(of_preset, 0), most(of_preset, 1)));
        // A user who asks for a time gets it, in the same shares.
        let twice = Effort::within(Preset::Paper, Some(2 * (8 * cpu + gpu)), &parts, &[8 * cpu, gpu / 2]);
        assert!((twice.planned_time(&parts[0]).div_duration_f64(16 * cpu) - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_time_of_the_preset_asked_for_is_that_of_the_preset() {
        let parts = [vec![Case::new("cpu.atomic.add"); 400]];
        let planned = Preset::Quick.planned_time(&parts[0]);
        let effort = Effort::within(Preset::Quick, Some(planned), &parts, &[]);
        assert_eq!(effort, Effort::from(Preset::Quick));
        for extreme in [Duration::ZERO, Duration::MAX] {
            let takes = Effort::within(Preset::Quick, Some(extreme), &parts, &[]).planned_time(&parts[0]);
            assert!(takes <= LONGEST, "{extreme:?}: {takes:?}");
        }
        assert_eq!(
            Effort::within(Preset::Quick, Some(planned), &[], &[]),
            Effort::from(Preset::Quick),
            "no case takes no time"
        );
    }

    #[test]
    fn few_cases_end_before_the_time_of_the_preset() {
        assert_eq!(Preset::Quick.planned_time(&[]), Duration::ZERO);
        assert!(Preset::Standard.planned_time(&vec![Case::new("cpu.atomic.add"); 3]) < Duration::from_secs(3));
    }

    #[test]
    fn what_surrounds_the_passes_grows_with_the_cases_and_their_machine_code() {
        let gpu = |blocks, dtype| Case { blocks: Some(blocks), dtype: Some(dtype), ..Case::new("gpu.atomic.add") };
        let cpu = |threads| Case { threads: Some(threads), ..Case::new("cpu.atomic.add") };
        let of = |cases: &[Case]| time_around(cases);
        assert_eq!(of(&[]), Duration::ZERO);
        let case = of(&[cpu(1)]);
        assert!(!case.is_zero());
        assert_eq!(of(&[cpu(1), cpu(2)]), 2 * case, "nothing is compiled");
        let one = of(&[gpu(1, Dtype::I32)]);
        assert!(one > Duration::from_secs(1), "contexts");
        assert_eq!(of(&[gpu(1, Dtype::I32), gpu(2, Dtype::I32)]), one + case, "a kernel of any number of blocks");
        assert!(of(&[gpu(1, Dtype::I32), gpu(1, Dtype::F64)]) > one + 2 * case, "another kernel");
        // All of it is in what a plan says.
        let parts = vec![vec![cpu(1)], vec![gpu(1, Dtype::I32)]];
        let passes: Duration = parts.iter().map(|cases| Preset::Quick.planned_time(cases)).sum();
        let plan = Plan { parts, ..Plan::default() };
        assert_eq!(plan.planned_time(Preset::Quick, None), passes + case + one);
        // A time that is asked for is the time of the whole run.
        let parts = vec![(1..=60).map(cpu).collect(), (1..=60).map(|blocks| gpu(blocks, Dtype::I32)).collect()];
        let plan = Plan { parts, ..Plan::default() };
        for times in [2, 5] {
            let asked = plan.planned_time(Preset::Quick, None) * times;
            let planned = plan.planned_time(Preset::Quick, Some(asked));
            assert!((planned.div_duration_f64(asked) - 1.0).abs() < 0.05, "{planned:?} of {asked:?}");
        }
    }

    const FEWEST: u32 = 8;

    fn passes(time: Duration, each: Duration) -> u32 {
        let mut schedule = PassSchedule::within(time, FEWEST);
        while !schedule.is_next_final() {
            schedule.add(1, each);
        }
        schedule.made + 1
    }

    #[test]
    fn they_end_before_the_time_does() {
        let seconds = Duration::from_secs;
        assert_eq!(passes(seconds(40), seconds(2)), 20);
        assert_eq!(passes(seconds(40), seconds(3)), 13);
        assert_eq!(passes(seconds(40), seconds(4)), 10);
    }

    #[test]
    fn the_fewest_are_made_however_long_they_take() {
        assert_eq!(passes(Duration::from_secs(40), Duration::from_secs(60)), FEWEST);
        assert_eq!(passes(Duration::ZERO, Duration::from_nanos(1)), FEWEST);
    }

    #[test]
    fn the_first_pass_may_take_longer_than_the_others() {
        let mut schedule = PassSchedule::within(Duration::from_secs(20), FEWEST);
        schedule.add(1, Duration::from_secs(8));
        (0..6).for_each(|_| schedule.add(1, Duration::from_secs(1)));
        assert!(!schedule.is_next_final(), "14 of 20 seconds are spent, and a pass takes one");
        (0..5).for_each(|_| schedule.add(1, Duration::from_secs(1)));
        assert!(schedule.is_next_final(), "19 of 20 are");
    }
}
