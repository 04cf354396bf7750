//! Which cases a command selects: the globs of `--only` and `--skip`.

use glob::Pattern;
use syncscope_core::session::plan::Plan;
use syncscope_core::{Case, Listing, Preset};

use crate::failure::Failure;
use crate::laboratories::Laboratories;

/// The word among the globs of `--only` that selects the cases of SyncPerformance's CUDA programs.
const SYNCPERFORMANCE: &str = "@syncperformance";

/// The globs of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    only: Vec<Pattern>,
    skip: Vec<Pattern>,
    /// Whether only the cases of SyncPerformance are selected.
    syncperformance: bool,
}

impl Selection {
    pub(crate) fn new(only: &[String], skip: &[String]) -> Result<Self, Failure> {
        let parse = |globs: &[String]| {
            let globs = globs.iter().filter(|glob| *glob != SYNCPERFORMANCE);
            let pattern = |glob: &String| {
                Pattern::new(glob).map_err(|error| {
                    Failure::Usage(format!("`{glob}` is not a valid glob: {error}; try 'cpu.atomic.*'"))
                })
            };
            globs.map(pattern).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            only: parse(only)?,
            skip: parse(skip)?,
            syncperformance: only.iter().any(|glob| glob == SYNCPERFORMANCE),
        })
    }

    /// Whether the globs select a case.
    pub(crate) fn selects(&self, case: &Case) -> bool {
        let matches = |globs: &[Pattern]| globs.iter().any(|glob| glob.matches(&case.primitive));
        (self.only.is_empty() || matches(&self.only)) && !matches(&self.skip)
    }

    /// Fails if a glob matches no primitive, which is probably a typing error.
    pub(crate) fn check(&self, listing: &[Listing]) -> Result<(), Failure> {
        let matches_nothing = |glob: &&Pattern| !listing.iter().any(|listing| glob.matches(listing.primitive.id));
        match self.only.iter().chain(&self.skip).find(matches_nothing) {
            Some(glob) => Err(Failure::Usage(format!("`{glob}` matches no primitive; `syncscope list` shows the ids"))),
            None => Ok(()),
        }
    }

    /// The cases of a preset that the globs select, in a random order that `seed` determines.
    pub(crate) fn plan(&self, laboratories: &mut Laboratories, preset: Preset, seed: u64) -> Result<Plan, Failure> {
        let listing = laboratories.listing();
        self.check(&listing)?;
        let also_in = self.syncperformance.then(|| laboratories.syncperformance_cases());
        let selects = |case: &Case| self.selects(case) && also_in.as_ref().is_none_or(|cases| cases.contains(case));
        let plan = Plan::new(&laboratories.all(), preset, seed, selects);
        if !plan.is_empty() {
            return Ok(plan);
        }
        let mut chosen = listing.iter().filter(|listing| self.selects(&Case::new(listing.primitive.id)));
        Err(match chosen.find_map(|listing| listing.unavailable.as_ref()) {
            Some(reason) => {
                Failure::CouldNot(format!("this machine can measure none of the selected primitives: {reason}"))
            }
            None => Failure::Usage("the globs select no primitive; `syncscope list` shows the ids".to_owned()),
        })
    }
}
