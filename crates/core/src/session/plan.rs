//! The plan of a run: which cases, in which order.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::own::is_own;
use crate::session::preset::{Effort, time_around};
use crate::{Axes, Case, CaseId, Catalogue, Laboratory, Preset, Variants};

/// The cases of a laboratory that were asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The cases, each once.
    pub cases: Vec<Case>,
    /// The cases that cannot exist, and why.
    pub refused: Vec<(Case, String)>,
}

/// The cases of `preset` that are meant, with the values of `axes` in place of the preset's. Cases that take too long are
/// left out of the meant ones, not of the preset: where few primitives are meant, there is time for all of their cases.
pub fn asked(laboratory: &dyn Laboratory, preset: Preset, axes: &Axes, is_meant: &dyn Fn(&Case) -> bool) -> Asked {
    let mut meant: Vec<Case> = laboratory.plan(preset).into_iter().filter(is_meant).collect();
    if axes.threads.is_empty() {
        meant = laboratory.within_time(preset, meant);
    }
    if axes.are_usual() || meant.is_empty() {
        return Asked { cases: meant, refused: Vec::new() };
    }
    let listing = laboratory.listing();
    let can_have_work = |case: &Case| {
        let known = listing.iter().find(|listing| listing.primitive.id == case.primitive);
        known.is_some_and(|known| (known.primitive.facts.can_have_work)(case))
    };
    // Cases of code that a user wrote have the other values already.
    let work = Axes { inside: axes.inside.clone(), outside: axes.outside.clone(), ..Axes::default() };
    let (own, templates): (Vec<Case>, Vec<Case>) = meant.into_iter().partition(|case| is_own(&case.primitive));
    let variants = Variants::of(&laboratory.variants());
    let (mut found, mut candidates) = (Asked::default(), Vec::new());
    let mut seen = HashSet::new();
    for template in templates {
        for case in axes.replace(vec![template.clone()], can_have_work) {
            match variants.limit(&template, &case) {
                Some(reason) => found.refused.push((case, reason)),
                None if seen.insert(case.clone()) => candidates.push(case),
                None => {}
            }
        }
    }
    seen.clear();
    // Cases that are compared with code of the user are measured where that code is.
    let preset = if own.is_empty() { preset } else { Preset::Paper };
    for (case, fitting) in candidates.clone().into_iter().zip(laboratory.fitting(preset, candidates)) {
        match fitting {
            Err(reason) => found.refused.push((case, reason)),
            Ok(case) if seen.insert(case.clone()) => found.cases.push(case),
            Ok(_) => {}
        }
    }
    found.cases.extend(work.replace(own, can_have_work));
    found
}

/// The cases of a run: one list for each laboratory.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The cases of each laboratory, in the order of the first pass.
    pub parts: Vec<Vec<Case>>,
    /// The facts about their primitives.
    pub catalogue: Catalogue,
    /// The least time that each list takes; lists without an entry have none.
    pub least: Vec<Duration>,
}

impl Plan {
    /// A plan of these cases, one list for each laboratory, each in a random order that `seed` decides.
    ///
    /// Cases are shuffled within a laboratory, not across: while the CPU is measured, the clock of a GPU falls.
    pub fn shuffled(mut parts: Vec<Vec<Case>>, catalogue: Catalogue, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        for part in &mut parts {
            random.shuffle(part);
        }
        Self { parts, catalogue, least: Vec::new() }
    }

    /// This plan, in which each CPU case gets at least the time that the quick preset gives it among these cases, one list
    /// for each laboratory: a preset with more cases takes longer. GPU cases are known after few blocks.
    #[must_use]
    pub fn with_time_of_quick(mut self, quick: &[Vec<Case>]) -> Self {
        let least = |(cases, quick): (&Vec<Case>, &Vec<Case>)| {
            let is_on_cpus = quick.first().is_some_and(Case::is_on_cpus);
            let time = if is_on_cpus { Preset::Quick.planned_time(quick) } else { Duration::ZERO };
            time.mul_f64(cases.len() as f64 / quick.len().max(1) as f64)
        };
        self.least = self.parts.iter().zip(quick).map(least).collect();
        self
    }

    /// The effort of measuring the plan in this time, of which the passes have what nothing around them takes; without a
    /// time, in the time that the preset takes.
    pub fn effort(&self, preset: Preset, time: Option<Duration>) -> Effort {
        Effort::within(preset, time.map(|time| time.saturating_sub(self.time_around())), &self.parts, &self.least)
    }

    fn time_around(&self) -> Duration {
        self.parts.iter().map(|cases| time_around(cases)).sum()
    }

    /// About how long a run of the plan takes once its laboratories are open, including what surrounds its passes.
    pub fn planned_time(&self, preset: Preset, time: Option<Duration>) -> Duration {
        let effort = self.effort(preset, time);
        self.time_around() + self.parts.iter().map(|cases| effort.planned_time(cases)).sum::<Duration>()
    }

    /// All cases.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.parts.iter().flatten()
    }

    /// The number of cases of each primitive.
    pub fn count_by_primitive(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for case in self.cases() {
            *counts.entry(case.primitive.clone()).or_default() += 1;
        }
        counts
    }

    /// Number of cases.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Leaves out the cases that are finished.
    pub fn leave_out(&mut self, finished: &HashSet<CaseId>) {
        for part in &mut self.parts {
            part.retain(|case| !finished.contains(&case.id()));
        }
    }
}
