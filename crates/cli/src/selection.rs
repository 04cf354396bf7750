//! Which cases a command selects: the globs of `--only` and `--skip`.

use std::collections::HashSet;

use glob::Pattern;
use syncscope_core::own::is_own;
use syncscope_core::session::plan::Plan;
use syncscope_core::{Case, Laboratory, Listing, Preset, Primitive};
use syncscope_cpu::{CpuLaboratory, Topology};
use syncscope_gpu::peer::PEER_PROGRAMS;
use syncscope_host::scheduling::allowed_cpus;
use syncscope_report::RunData;

use crate::axes::AxisFilter;
use crate::failure::Failure;
use crate::laboratories::Laboratories;

/// The word among the globs of `--only` that selects the cases of SyncPerformance's CUDA programs.
const SYNCPERFORMANCE: &str = "@syncperformance";

/// The globs of the command line, and the values of the axes.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    only: Vec<Pattern>,
    skip: Vec<Pattern>,
    /// Whether only the cases of SyncPerformance are selected.
    syncperformance: bool,
    axes: AxisFilter,
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
            axes: AxisFilter::default(),
        })
    }

    /// The same for certain values of the axes only.
    pub(crate) fn with_axes(self, axes: AxisFilter) -> Self {
        Self { axes, ..self }
    }

    /// Whether the globs select a case.
    pub(crate) fn selects(&self, case: &Case) -> bool {
        let matches = |globs: &[Pattern]| globs.iter().any(|glob| glob.matches(&case.primitive));
        (self.only.is_empty() || matches(&self.only)) && !matches(&self.skip)
    }

    /// Fails if a glob matches no primitive, which is probably a typing error.
    pub(crate) fn check(&self, listing: &[Listing]) -> Result<(), Failure> {
        let matches_nothing = |glob: &&Pattern| !listing.iter().any(|listing| glob.matches(listing.primitive.id));
        let Some(glob) = self.only.iter().chain(&self.skip).find(matches_nothing) else { return Ok(()) };
        let primitives: Vec<&Primitive> = listing.iter().map(|listing| listing.primitive).collect();
        Err(Failure::Usage(format!("`{glob}` matches no primitive; {}", advice(glob.as_str(), &primitives))))
    }

    /// Fails if a glob matches no row of any of the runs.
    pub(crate) fn check_runs(&self, runs: &[&RunData]) -> Result<(), Failure> {
        let rows = || runs.iter().flat_map(|data| &data.rows);
        let matches_nothing = |glob: &&Pattern| !rows().any(|row| glob.matches(&row.case.primitive));
        let unmatched = self.only.iter().find(matches_nothing).filter(|_| rows().next().is_some());
        let Some(glob) = unmatched else { return Ok(()) };
        let of_rows = |primitive: &&Primitive| rows().any(|row| row.case.primitive == primitive.id);
        let known = runs.first().map_or(&[][..], |data| data.catalogue.primitives());
        let primitives: Vec<&Primitive> = known.iter().filter(of_rows).collect();
        Err(Failure::Usage(format!("`{glob}` matches no row; {}", advice(glob.as_str(), &primitives))))
    }

    /// The cases of a preset that the globs select, in a random order that `seed` determines. A glob of which the preset has no
    /// case, or none with a value asked for, takes those of the first larger preset that has.
    pub(crate) fn plan(&self, laboratories: &mut Laboratories, preset: Preset, seed: u64) -> Result<Plan, Failure> {
        let listing = laboratories.listing();
        self.check(&listing)?;
        let also_in = self.syncperformance.then(|| laboratories.syncperformance_cases());
        let selects = |case: &Case| self.selects(case) && also_in.as_ref().is_none_or(|cases| cases.contains(case));
        let can_have_work = |case: &Case| {
            let known = listing.iter().find(|listing| listing.primitive.id == case.primitive);
            known.is_some_and(|known| (known.primitive.facts.can_have_work)(case))
        };
        let axes = self.axes.on(topology_of(laboratories));
        let mut planned = |preset| -> Vec<Vec<Case>> {
            let part = |laboratory: &&mut dyn Laboratory| {
                let selected = laboratory.plan(preset).into_iter().filter(selects);
                selected.flat_map(|case| self.axes.with_work(case, can_have_work)).collect()
            };
            laboratories.all().iter().map(part).collect()
        };
        let mut wishes = Wish::of(&self.only);
        let mut presets = Preset::ALL.iter().copied().filter(|other| *other >= preset).peekable();
        while let Some(preset) = presets.next_if(|_| wishes.iter().any(|wish| !wish.is_met(&axes))) {
            let cases = planned(preset);
            for wish in &mut wishes {
                wish.take(&cases, &axes);
            }
        }
        if !wishes.iter().any(|wish| wish.has_candidates) {
            return Err(self.nothing_selected(&listing));
        }
        let parts = united(wishes);
        if parts.iter().all(Vec::is_empty) {
            let there = [planned(preset), planned(Preset::Paper)].concat();
            let why = self.axes.nothing_left(&there.iter().flatten());
            let of_threads = self.axes.options().iter().any(|option| option == "--threads");
            let here = topology_of(laboratories).map_or_else(|| allowed_cpus().len(), |cpus| cpus.allowed().count());
            let cpus = if of_threads { format!("; CPUs here: {here}") } else { String::new() };
            return Err(Failure::Usage(why + &cpus));
        }
        let catalogue = listing.iter().map(|listing| *listing.primitive).collect();
        Ok(Plan::shuffled(parts, catalogue, seed))
    }

    /// The globs of `--only` of which the plan has nothing, and those of `--skip` that leave nothing out, with the reason.
    pub(crate) fn unused_globs(&self, plan: &Plan, listing: &[Listing]) -> Vec<String> {
        let is_planned = |glob: &&Pattern| plan.cases().any(|case| glob.matches(&case.primitive));
        let why = |glob: &Pattern| {
            let mut own = listing.iter().filter(|listing| glob.matches(listing.primitive.id));
            let is_skipped = |listing: &Listing| self.skip.iter().any(|skip| skip.matches(listing.primitive.id));
            if own.clone().all(is_skipped) {
                return "--skip leaves all of it out".to_owned();
            }
            let reason = own.find_map(|listing| listing.unavailable.clone());
            reason.unwrap_or_else(|| "no case has the parameters asked for".to_owned())
        };
        let unplanned = self.only.iter().filter(|glob| !is_planned(glob));
        let unplanned = unplanned.map(|glob| format!("`--only {glob}` selects nothing here: {}", why(glob)));
        let is_in_only = |id: &str| self.only.is_empty() || self.only.iter().any(|only| only.matches(id));
        let leaves_out = |skip: &&Pattern| {
            listing.iter().any(|listing| skip.matches(listing.primitive.id) && is_in_only(listing.primitive.id))
        };
        let idle = self.skip.iter().filter(|skip| !leaves_out(skip));
        unplanned.chain(idle.map(|skip| format!("`--skip {skip}` leaves nothing out"))).collect()
    }

    /// The values of the axes that no case of the plan has.
    pub(crate) fn missing_values(&self, laboratories: &Laboratories, plan: &Plan) -> Vec<String> {
        let axes = self.axes.on(topology_of(laboratories));
        let missing = axes.missing(&plan.parts.iter().flatten());
        missing.iter().map(|((axis, _), value)| format!("{axis} {value}")).collect()
    }

    /// Why the globs select nothing that can be measured here.
    fn nothing_selected(&self, listing: &[Listing]) -> Failure {
        let is_selected = |id: &str| {
            let in_programs = || PEER_PROGRAMS.iter().any(|program| program.primitive == id);
            self.selects(&Case::new(id)) && (!self.syncperformance || in_programs())
        };
        let mut chosen = listing.iter().filter(|listing| is_selected(listing.primitive.id));
        let unavailable = |reason| format!("this machine can measure none of the selected primitives: {reason}");
        match chosen.find_map(|listing| listing.unavailable.as_ref()) {
            Some(reason) => Failure::CouldNot(unavailable(reason)),
            None => Failure::Usage("the globs select no primitive; `syncscope list` shows the ids".to_owned()),
        }
    }
}

/// What one glob of `--only` asks for; without any, there is one wish for everything.
struct Wish<'a> {
    glob: Option<&'a Pattern>,
    /// The cases of each laboratory.
    parts: Vec<Vec<Case>>,
    /// Whether a preset had cases, whatever their parameters.
    has_candidates: bool,
}

impl<'a> Wish<'a> {
    fn of(globs: &'a [Pattern]) -> Vec<Self> {
        let wish = |glob| Self { glob, parts: Vec::new(), has_candidates: false };
        if globs.is_empty() { vec![wish(None)] } else { globs.iter().map(|glob| wish(Some(glob))).collect() }
    }

    /// Whether a larger preset can add nothing.
    fn is_met(&self, axes: &AxisFilter) -> bool {
        self.has_candidates && axes.missing(&self.parts.iter().flatten()).is_empty()
    }

    /// Takes cases of the next larger preset: all of the first that has some, then those with a value that is still missing.
    fn take(&mut self, planned: &[Vec<Case>], axes: &AxisFilter) {
        let is_meant = |case: &&Case| self.glob.is_none_or(|glob| glob.matches(&case.primitive));
        let missing = axes.missing(&self.parts.iter().flatten());
        // What a user wrote has the values that were asked for.
        let fits = |case: &&Case| is_own(&case.primitive) || axes.selects(case);
        let adds = |case: &&Case| !self.has_candidates || missing.iter().any(|value| axes.has(case, value));
        let of_part = |part: &Vec<Case>| part.iter().filter(is_meant).filter(fits).filter(adds).cloned().collect();
        let added: Vec<Vec<Case>> = planned.iter().map(of_part).collect();
        self.has_candidates |= planned.iter().flatten().any(|case| is_meant(&case));
        self.parts.resize(planned.len(), Vec::new());
        self.parts.iter_mut().zip(added).for_each(|(part, added)| part.extend(added));
    }
}

/// The cases of all wishes, each once.
fn united(wishes: Vec<Wish>) -> Vec<Vec<Case>> {
    let mut seen = HashSet::new();
    let mut parts: Vec<Vec<Case>> = Vec::new();
    for wish in wishes {
        parts.resize(parts.len().max(wish.parts.len()), Vec::new());
        for (part, cases) in parts.iter_mut().zip(wish.parts) {
            part.extend(cases.into_iter().filter(|case| seen.insert(case.clone())));
        }
    }
    parts
}

/// The machine whose CPUs are measured; of a fake none.
fn topology_of(laboratories: &Laboratories) -> Option<&Topology> {
    laboratories.cpu.as_ref().map(CpuLaboratory::topology)
}

/// Whether people call a primitive so: a glob of its id, or a word of its id, its description or its source.
pub(crate) fn is_called(primitive: &Primitive, word: &str) -> bool {
    if word.contains(['*', '?', '[']) {
        return Pattern::new(word).is_ok_and(|glob| glob.matches(primitive.id));
    }
    let word = word.to_lowercase();
    let word = word.trim_start_matches("__").trim_end_matches("()");
    let texts = [primitive.id, primitive.summary, primitive.operation, primitive.source];
    // A lock is no block.
    let begins = |text: &str| {
        let mut found = text.match_indices(word);
        found.any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
    };
    texts.iter().any(|text| begins(&text.to_lowercase()))
}

/// What to write instead of a glob or word that matches nothing: it may be the beginning of ids, a part of them, or a word of
/// descriptions.
pub(crate) fn advice(glob: &str, primitives: &[&Primitive]) -> String {
    let beginning = glob.trim_end_matches('.');
    let count = |fits: &dyn Fn(&Primitive) -> bool| primitives.iter().filter(|one| fits(one)).count();
    let inner = beginning.trim_matches('*').to_lowercase();
    let [continued, containing] = [
        count(&|one| one.id.strip_prefix(beginning).is_some_and(|rest| rest.starts_with('.'))),
        count(&|one| !inner.is_empty() && one.id.contains(&inner)),
    ];
    let mut described = primitives.iter().filter(|one| is_called(one, &inner));
    match (continued, containing, described.next()) {
        (1.., _, _) => format!("try '{beginning}.*'"),
        (0, 1, _) => format!("try '*{inner}*' (1 primitive)"),
        (0, 2.., _) => format!("try '*{inner}*' ({containing} primitives)"),
        (0, 0, Some(one)) if !inner.is_empty() => format!("try {}; `syncscope list {inner}` shows more", one.id),
        _ => "`syncscope list` shows the ids".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn what_prevents_a_selection_is_said_of_what_it_selects() {
        let all = syncscope_cpu::catalogue().iter().chain(syncscope_gpu::primitives());
        let missing = |id| Some(format!("{id} is missing"));
        let listing: Vec<Listing> =
            all.map(|primitive| Listing { primitive, unavailable: missing(primitive.id) }).collect();
        let reason = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|glob| (*glob).to_owned()).collect();
            Selection::new(&only, &[]).unwrap().nothing_selected(&listing).to_string()
        };
        assert!(reason(&[SYNCPERFORMANCE]).contains(": gpu."), "{}", reason(&[SYNCPERFORMANCE]));
        assert!(reason(&["cpu.fence.*"]).contains(": cpu.fence."));
        assert!(reason(&[SYNCPERFORMANCE, "cpu.*"]).contains("select no primitive"), "its programs measure GPUs");
    }

    #[test]
    fn words_begin_where_they_are_found() {
        let called = |word: &str| -> Vec<&str> {
            let all = catalogue::catalogue();
            all.primitives().iter().filter(|one| is_called(one, word)).map(|one| one.id).collect()
        };
        let locks = called("lock");
        assert!(locks.contains(&"cpu.lock.mcs") && !locks.contains(&"cpu.barrier.pthread"), "{locks:?}");
        assert!(called("mutex").contains(&"cpu.lock.std_mutex"));
        assert!(called("__syncthreads()").contains(&"gpu.block.syncthreads"));
        assert!(called("gpu.vote.*").iter().all(|id| id.starts_with("gpu.vote.")));
    }
}
