//! Which cases a run measures: the globs of `--only` and `--skip`.

use glob::Pattern;
use syncscope_core::session::plan::Plan;
use syncscope_core::{Case, Listing, Preset};

use crate::failure::Failure;
use crate::laboratories::Laboratories;

/// Stands among the globs of `--only` for the grid of SyncPerformance's CUDA programs.
const PEER: &str = "@syncperformance";

/// The globs of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    only: Vec<Pattern>,
    skip: Vec<Pattern>,
    /// Whether nothing is measured but what SyncPerformance measures.
    peer: bool,
}

impl Selection {
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

    /// Whether the globs take a case.
    pub(crate) fn takes(&self, case: &Case) -> bool {
        let matches = |globs: &[Pattern]| globs.iter().any(|glob| glob.matches(&case.primitive));
        (self.only.is_empty() || matches(&self.only)) && !matches(&self.skip)
    }

    /// Fails if a glob matches no primitive: that is a mistake.
    pub(crate) fn check(&self, listing: &[Listing]) -> Result<(), Failure> {
        let idle = |glob: &&Pattern| !listing.iter().any(|listing| glob.matches(listing.primitive.id));
        match self.only.iter().chain(&self.skip).find(idle) {
            Some(glob) => {
                Err(Failure::Usage(format!("`{glob}` matches no primitive; `syncscope list` shows their ids")))
            }
            None => Ok(()),
        }
    }

    /// The cases of a preset that the globs take, in a random order that `seed` decides.
    pub(crate) fn plan(&self, laboratories: &mut Laboratories, preset: Preset, seed: u64) -> Result<Plan, Failure> {
        let listing = laboratories.listing();
        self.check(&listing)?;
        let peer = self.peer.then(|| laboratories.peer_cases());
        let takes = |case: &Case| self.takes(case) && peer.as_ref().is_none_or(|peer| peer.contains(case));
        let plan = Plan::new(&laboratories.all(), preset, seed, takes);
        if !plan.is_empty() {
            return Ok(plan);
        }
        let mut chosen = listing.iter().filter(|listing| self.takes(&Case::new(listing.primitive.id)));
        Err(match chosen.find_map(|listing| listing.unavailable.as_ref()) {
            Some(reason) => Failure::CouldNot(format!("nothing of this can be measured here: {reason}")),
            None => Failure::Usage("the globs leave nothing to measure; `syncscope list` shows the ids".to_owned()),
        })
    }
}
