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

/// Into how many visits the measuring of a case is divided.
///
/// What drifts on a CPU (its clock, its neighbours, where its host lets it run) does so within tenths of a second: many
/// short visits meet more of it than few long ones. A dozen pairs take 1.5 ms, and setting a case up 0.4 ms. Nobody disturbs a
/// GPU, and setting up its cases takes longer.
pub(crate) fn visits(preset: Preset, case: &Case) -> Visits {
    match (preset, on_cpu(case)) {
        (Preset::Quick | Preset::Standard, true) => Visits { fewest: 4, most: 40 },
        (Preset::Paper, true) => Visits { fewest: 3, most: 20 },
        (_, false) => Visits::ONCE,
    }
}

fn on_cpu(case: &Case) -> bool {
    case.domain_and_family().0 == Domain::Cpu.as_str()
}

/// How the cases of a preset are measured.
///
/// Samples of 100 us are a thousand times longer than reading the clock and ten times shorter than a scheduler
/// tick. Time allowed for a case is what the preset as a whole may take, divided by its number of cases; experiments
/// may ask for a larger or smaller share. CPUs have shorter samples, so more of them fit into less time.
pub(crate) fn settings(preset: Preset, case: &Case) -> Settings {
    let (precision, max_pairs, max_time_ms) = match (preset, on_cpu(case)) {
        (Preset::Quick, true) => (0.01, 600, 100),
        (Preset::Standard, true) => (0.005, 1000, 100),
        // 4,600 cases on 16 CPUs in less than six minutes, with what surrounds a case.
        (Preset::Paper, true) => (0.01, 600, 50),
        (Preset::Quick, false) => (0.01, 400, 300),
        (Preset::Standard, false) => (0.005, 500, 300),
        (Preset::Paper, false) => (0.01, 150, 120),
    };
    Settings {
        sample: Duration::from_micros(100),
        noisy_above: 0.05,
        rule: PrecisionRule { precision, min_pairs: 12, max_pairs, max_time: Duration::from_millis(max_time_ms) },
    }
}
