//! What a run measures: the cases of a preset, chosen by globs, in a random order.

use std::collections::HashSet;
use std::time::Duration;

use glob::Pattern;
use syncscope_core::engine::{Settings, Visits};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Case, CaseId, Domain, Listing, Preset};

use crate::failure::Failure;
use crate::laboratories::Laboratories;

/// Stands among the globs of `--only` for the grid of SyncPerformance's CUDA programs.
const PEER: &str = "@syncperformance";

/// The globs of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    only: Vec<Pattern>,
    skip: Vec<Pattern>,
    /// Whether nothing is measured but what SyncPerformance measures.
    peer: bool,
}

impl Choice {
    pub(crate) fn new(only: &[String], skip: &[String]) -> Result<Self, Failure> {
        let parse = |globs: &[String]| {
            let globs = globs.iter().filter(|glob| *glob != PEER);
            let pattern = |glob: &String| {
                Pattern::new(glob)
                    .map_err(|error| Failure::Usage(format!("`{glob}` is no glob: {error}; try 'cpu.atomic.*'")))
            };
            globs.map(pattern).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self { only: parse(only)?, skip: parse(skip)?, peer: only.iter().any(|glob| glob == PEER) })
    }

    pub(crate) fn takes(&self, case: &Case) -> bool {
        let matches = |globs: &[Pattern]| globs.iter().any(|glob| glob.matches(&case.primitive));
        (self.only.is_empty() || matches(&self.only)) && !matches(&self.skip)
    }

    /// That every glob matches some primitive; one that does not is a mistake.
    pub(crate) fn check(&self, listing: &[Listing]) -> Result<(), Failure> {
        let idle = |glob: &&Pattern| !listing.iter().any(|listing| glob.matches(listing.primitive.id));
        match self.only.iter().chain(&self.skip).find(idle) {
            Some(glob) => {
                Err(Failure::Usage(format!("`{glob}` matches no primitive; `syncscope list` shows their ids")))
            }
            None => Ok(()),
        }
    }
}

/// The cases of a run: one list for each laboratory, in the order of [`Laboratories::all`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Vec<Case>>,
}

impl Plan {
    /// Chooses and shuffles. A glob that matches no primitive is a mistake, said so.
    pub(crate) fn new(
        laboratories: &mut Laboratories,
        preset: Preset,
        choice: &Choice,
        seed: u64,
    ) -> Result<Self, Failure> {
        let listing = laboratories.listing();
        choice.check(&listing)?;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut plan = Self { parts: Vec::new() };
        let peer = choice.peer.then(|| laboratories.peer_cases());
        let takes = |case: &Case| choice.takes(case) && peer.as_ref().is_none_or(|peer| peer.contains(case));
        for laboratory in laboratories.all() {
            let mut cases: Vec<Case> = laboratory.plan(preset).into_iter().filter(|case| takes(case)).collect();
            random.shuffle(&mut cases);
            plan.parts.push(cases);
        }
        if plan.len() > 0 {
            return Ok(plan);
        }
        let mut reason = listing.iter().filter(|listing| choice.takes(&Case::new(listing.primitive.id)));
        Err(match reason.find_map(|listing| listing.unavailable.as_ref()) {
            Some(reason) => Failure::CouldNot(format!("nothing of this can be measured here: {reason}")),
            None => Failure::Usage("the globs leave nothing to measure; `syncscope list` shows the ids".to_owned()),
        })
    }

    /// Number of cases.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    /// The plan without the cases that are finished.
    pub(crate) fn without(mut self, finished: &HashSet<CaseId>) -> Self {
        for part in &mut self.parts {
            part.retain(|case| !finished.contains(&case.id()));
        }
        self
    }
}

/// What a visit to a CPU case takes: half a dozen pairs of samples. Setting the case up takes 0.1 ms more.
const CPU_VISIT: Duration = Duration::from_millis(1);

/// The pairs of such a visit: fewer give the first row no interval, and more of one moment tell less than those of another.
const CPU_VISIT_PAIRS: u64 = 6;

/// Plans of more CPU cases than this are those of larger machines, whose paper grids may take longer.
const LARGE_PLAN: usize = 2000;

/// How the cases of a preset are measured, given how many of their domain there are.
///
/// Samples of 100 us are a thousand times longer than reading the clock and ten times shorter than a scheduler
/// tick. Time allowed for a case is what the preset as a whole may take, divided by its number of cases; experiments
/// may ask for other samples and a larger or smaller share.
pub(crate) fn manner(preset: Preset, case: &Case, cases: usize) -> (Settings, Visits) {
    let (rule, visits) = if case.domain_and_family().0 == Domain::Cpu.as_str() {
        on_cpu(preset, cases)
    } else {
        (on_gpu(preset), Visits::ONCE)
    };
    (Settings { sample: Duration::from_micros(100), noisy_above: 0.05, rule }, visits)
}

/// What drifts on a CPU (its clock, its neighbours, where its host lets it run) does so within tenths of a second: many
/// short visits meet more of it than few long ones. The paper's grid on 2 CPUs, 1,300 cases, shall take less than a minute,
/// and on 16 CPUs, 4,600 cases, less than six.
fn on_cpu(preset: Preset, cases: usize) -> (PrecisionRule, Visits) {
    let (precision, visits) = match preset {
        Preset::Quick => (0.01, Visits { fewest: 8, most: 160 }),
        Preset::Standard => (0.005, Visits { fewest: 8, most: 200 }),
        Preset::Paper => (0.01, Visits { fewest: 6, most: if cases > LARGE_PLAN { 40 } else { 20 } }),
    };
    let (max_pairs, max_time) = (CPU_VISIT_PAIRS * u64::from(visits.most), CPU_VISIT * visits.most);
    (PrecisionRule { precision, min_pairs: CPU_VISIT_PAIRS, max_pairs, max_time }, visits)
}

/// Fewer visits than this see too few moments, however long they take: with this many an interval holds in 91 of 100
/// runs of a machine that is never quiet, with 20 in 95.
pub(crate) const ENOUGH_VISITS: u32 = 8;

/// How long the `cases` of one laboratory may be visited; after that the number of visits gives way, down to
/// [`ENOUGH_VISITS`]. Machines with more CPUs have more cases, and those of all CPUs take longer. A run of the quick preset
/// is to end within a minute, its GPU cases and the start included.
pub(crate) const fn time_for_visits(preset: Preset, cases: usize) -> Duration {
    Duration::from_secs(match preset {
        Preset::Quick => 40,
        Preset::Standard => 240,
        Preset::Paper if cases > LARGE_PLAN => 345,
        Preset::Paper => 52,
    })
}

/// Nobody disturbs a GPU, and setting up its cases takes longer: one visit.
const fn on_gpu(preset: Preset) -> PrecisionRule {
    let (precision, max_pairs, max_time_ms) = match preset {
        Preset::Quick => (0.01, 400, 300),
        Preset::Standard => (0.005, 500, 300),
        Preset::Paper => (0.01, 190, 130),
    };
    PrecisionRule { precision, min_pairs: FIRST_LOOK, max_pairs, max_time: Duration::from_millis(max_time_ms) }
}

/// Pairs before the first look.
const FIRST_LOOK: u64 = 12;
