//! Which cases a command selects: the globs of `--only` and `--skip`.

use std::collections::HashSet;

use glob::Pattern;
use syncscope_core::session::plan::{Asked, Plan, asked};
use syncscope_core::units::plural;
use syncscope_core::{Axes, Case, Listing, Preset, Primitive};
use syncscope_gpu::peer::PEER_PROGRAMS;
use syncscope_import::{is_openmp_case, is_openmp_primitive};
use syncscope_report::RunData;

use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::laboratories::Laboratories;

/// The words among the globs of `--only` that select the cases of SyncPerformance's CUDA programs and of its OpenMP programs.
const PROGRAMS: [&str; 2] = ["@syncperformance", "@syncperformance-omp"];

/// The globs of the command line, and the values of the axes.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    only: Vec<Pattern>,
    skip: Vec<Pattern>,
    /// Whether only the cases of SyncPerformance's CUDA programs, of its OpenMP programs or of both are selected.
    programs: [bool; 2],
    axes: Axes,
}

impl Selection {
    pub(crate) fn new(only: &[String], skip: &[String]) -> Result<Self, Failure> {
        let parse = |globs: &[String]| {
            let globs = globs.iter().filter(|glob| !PROGRAMS.contains(&glob.as_str()));
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
            programs: PROGRAMS.map(|word| only.iter().any(|glob| glob == word)),
            axes: Axes::default(),
        })
    }

    /// The selection with these values in place of a preset's.
    pub(crate) fn with_axes(self, axes: Axes) -> Self {
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
        if catalogue().primitives().iter().any(|primitive| glob.matches(primitive.id)) {
            let unmeasured = format!("`{glob}` matches no row: none of its primitives was measured");
            return Err(Failure::Usage(unmeasured));
        }
        let of_rows = |primitive: &&Primitive| rows().any(|row| row.case.primitive == primitive.id);
        let known = runs.first().map_or(&[][..], |data| data.catalogue.primitives());
        let primitives: Vec<&Primitive> = known.iter().filter(of_rows).collect();
        Err(Failure::Usage(format!("`{glob}` matches no row; {}", advice(glob.as_str(), &primitives))))
    }

    /// The cases of a preset that the globs select, in a random order that `seed` determines, and the requested cases that
    /// cannot exist. If the preset has no case of a glob with the requested parameters, the first larger preset with one
    /// provides the cases.
    pub(crate) fn plan(
        &self,
        laboratories: &mut Laboratories,
        preset: Preset,
        seed: u64,
    ) -> Result<(Plan, Vec<(Case, String)>), Failure> {
        let listing = laboratories.listing();
        self.check(&listing)?;
        let [cuda, openmp] = self.programs;
        let of_cuda = if cuda { laboratories.syncperformance_cases() } else { HashSet::new() };
        let is_of_program = |case: &Case| of_cuda.contains(case) || (openmp && is_openmp_case(case));
        let selects = |case: &Case| self.selects(case) && (!cuda && !openmp || is_of_program(case));
        let all = laboratories.all();
        let planned = |preset: &Preset| -> Vec<Asked> {
            all.iter().map(|laboratory| asked(&**laboratory, *preset, &self.axes, &selects)).collect()
        };
        let mut wishes = Wish::of(&self.only);
        for preset in Preset::ALL.iter().filter(|other| **other >= preset) {
            if wishes.iter().all(Wish::is_met) {
                break;
            }
            let planned = planned(preset);
            wishes.iter_mut().filter(|wish| !wish.is_met()).for_each(|wish| wish.take(&planned));
        }
        let refused: Vec<(Case, String)> = wishes.iter().flat_map(|wish| wish.refused.iter().cloned()).collect();
        let mut parts = united(wishes);
        // Other values may turn a case of SyncPerformance's programs into one that they do not have.
        for part in &mut parts {
            part.retain(selects);
        }
        if parts.iter().all(Vec::is_empty) {
            let has_cases = all.iter().any(|laboratory| laboratory.plan(Preset::Paper).iter().any(selects));
            return Err(if has_cases { self.nothing_left(&refused) } else { self.nothing_selected(&listing) });
        }
        let catalogue = listing.iter().map(|listing| *listing.primitive).collect();
        let plan = Plan::shuffled(parts, catalogue, seed);
        if preset == Preset::Quick {
            return Ok((plan, refused));
        }
        let quick: Vec<Vec<Case>> = planned(&Preset::Quick).into_iter().map(|asked| asked.cases).collect();
        Ok((plan.with_time_of_quick(&quick), refused))
    }

    /// The error when no case that the globs select has the requested values.
    fn nothing_left(&self, refused: &[(Case, String)]) -> Failure {
        const MOST: usize = 3;
        let mut seen = HashSet::new();
        let reasons: Vec<String> = refused.iter().map(of_case).filter(|reason| seen.insert(reason.clone())).collect();
        let asked: Vec<String> =
            self.axes.asked().iter().map(|(option, values)| format!("{option} {}", values.join(","))).collect();
        let more = reasons.len().saturating_sub(MOST);
        let more = if more > 0 { format!("; and {}", plural(more, "more reason")) } else { String::new() };
        Failure::Usage(if reasons.is_empty() {
            format!("none of the selected primitives has the parameters of {}", asked.join(" "))
        } else {
            format!("{}{more}", reasons[..reasons.len().min(MOST)].join("; "))
        })
    }

    /// The globs of `--only` without a case in the plan, and those of `--skip` that leave nothing out, with the reason.
    pub(crate) fn unused_globs(&self, plan: &Plan, listing: &[Listing]) -> Vec<String> {
        let is_planned = |glob: &&Pattern| plan.cases().any(|case| glob.matches(&case.primitive));
        let why = |glob: &Pattern| {
            let mut own = listing.iter().filter(|listing| glob.matches(listing.primitive.id));
            let is_skipped = |listing: &Listing| self.skip.iter().any(|skip| skip.matches(listing.primitive.id));
            if own.clone().all(is_skipped) {
                return "--skip leaves out everything selected".to_owned();
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

    /// The values of the axes without a case in the plan, with the reason if there is one.
    pub(crate) fn missing_values(&self, plan: &Plan, refused: &[(Case, String)]) -> Vec<String> {
        let cases: Vec<&Case> = plan.cases().collect();
        let why = |(value, refused): (String, Option<&(Case, String)>)| match refused {
            Some(refused) => format!("{value}: {}", of_case(refused)),
            None => format!("{value}: no case has it"),
        };
        self.axes.missing(&cases, refused).into_iter().map(why).collect()
    }

    /// The error when the globs select nothing that can be measured here.
    fn nothing_selected(&self, listing: &[Listing]) -> Failure {
        let is_selected = |id: &str| {
            let [cuda, openmp] = self.programs;
            let of_cuda = || PEER_PROGRAMS.iter().any(|program| program.primitive == id);
            let in_programs = || (cuda && of_cuda()) || (openmp && is_openmp_primitive(id));
            self.selects(&Case::new(id)) && (!cuda && !openmp || in_programs())
        };
        let mut chosen = listing.iter().filter(|listing| is_selected(listing.primitive.id));
        let unavailable = |reason| format!("this machine can measure none of the selected primitives: {reason}");
        match chosen.find_map(|listing| listing.unavailable.as_ref()) {
            Some(reason) => Failure::CouldNot(unavailable(reason)),
            None => Failure::Usage("the globs select no primitive; `syncscope list` shows the ids".to_owned()),
        }
    }
}

/// Why a case cannot exist, with its primitive.
fn of_case((case, reason): &(Case, String)) -> String {
    format!("{}: {reason}", case.primitive)
}

/// What one glob of `--only` asks for; without globs, there is one wish for everything.
struct Wish<'a> {
    glob: Option<&'a Pattern>,
    /// The cases of each laboratory.
    parts: Vec<Vec<Case>>,
    refused: Vec<(Case, String)>,
}

impl<'a> Wish<'a> {
    fn of(globs: &'a [Pattern]) -> Vec<Self> {
        let wish = |glob| Self { glob, parts: Vec::new(), refused: Vec::new() };
        if globs.is_empty() { vec![wish(None)] } else { globs.iter().map(|glob| wish(Some(glob))).collect() }
    }

    /// Whether a preset has cases with the requested parameters, even if none of the values can exist.
    fn is_met(&self) -> bool {
        !self.refused.is_empty() || self.parts.iter().any(|part| !part.is_empty())
    }

    fn take(&mut self, planned: &[Asked]) {
        let is_meant = |case: &Case| self.glob.is_none_or(|glob| glob.matches(&case.primitive));
        let meant = |asked: &Asked| asked.cases.iter().filter(|case| is_meant(case)).cloned().collect();
        let refused = planned.iter().flat_map(|asked| &asked.refused).filter(|(case, _)| is_meant(case));
        (self.parts, self.refused) = (planned.iter().map(meant).collect(), refused.cloned().collect());
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

/// Whether a primitive answers to a word: a glob of its id, or the beginning of a word of its id, description or source.
pub(crate) fn is_called(primitive: &Primitive, word: &str) -> bool {
    if word.contains(['*', '?', '[']) {
        return Pattern::new(word).is_ok_and(|glob| glob.matches(primitive.id));
    }
    let word = word.to_lowercase();
    let word = word.trim_start_matches("__").trim_end_matches("()");
    let texts = [primitive.id, primitive.summary, primitive.operation, primitive.source];
    // `lock` must not find `block`.
    let begins = |text: &str| {
        let mut found = text.match_indices(word);
        found.any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
    };
    texts.iter().any(|text| begins(&text.to_lowercase()))
}

/// What to write instead of a glob or word that matches nothing: it may be the beginning or a part of ids, a word of
/// descriptions, or one of these with typing errors.
pub(crate) fn advice(glob: &str, primitives: &[&Primitive]) -> String {
    if glob.contains(['{', '}']) {
        return "a glob has no braces: write each of them out, such as 'cpu.lock.*,cpu.barrier.*'".to_owned();
    }
    if glob.starts_with('@') {
        return format!("try '{}'", PROGRAMS.join("' or '"));
    }
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
        _ => nearest(&glob.to_lowercase(), primitives)
            .map_or_else(|| "`syncscope list` shows the ids".to_owned(), |near| format!("try '{near}'")),
    }
}

/// The glob that a glob or id with typing errors may stand for: each part that matches no part of an id differs from its part
/// by one letter or a third of its letters.
fn nearest(glob: &str, primitives: &[&Primitive]) -> Option<String> {
    let parts: Vec<&str> = glob.split('.').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return None;
    }
    let slips = |part: &str, own: &str| {
        let is_one = part == "*" || Pattern::new(part).is_ok_and(|pattern| pattern.matches(own));
        let letters = part.replace(['*', '?'], "");
        let slips = if is_one { 0 } else { strsim::osa_distance(&letters, own) };
        (slips <= (letters.chars().count() / 3).max(1)).then_some((slips, if is_one { part } else { own }.to_owned()))
    };
    let mut found: Option<(usize, String)> = None;
    for primitive in primitives {
        let own: Vec<&str> = primitive.id.split('.').collect();
        for (first, window) in own.windows(parts.len()).enumerate() {
            let Some(pairs) = parts.iter().zip(window).map(|(part, own)| slips(part, own)).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let (slips, mended): (Vec<usize>, Vec<String>) = pairs.into_iter().unzip();
            let slips = slips.iter().sum();
            if found.as_ref().is_none_or(|(least, _)| slips < *least) {
                let before = own[..first].iter().map(|part| (*part).to_owned());
                let after = (first + parts.len() < own.len()).then(|| "*".to_owned());
                found = Some((slips, before.chain(mended).chain(after).collect::<Vec<_>>().join(".")));
            }
        }
    }
    found.map(|(_, glob)| glob)
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
        let [cuda, openmp] = PROGRAMS;
        assert!(reason(&[cuda]).contains(": gpu."), "{}", reason(&[cuda]));
        assert!(reason(&[openmp]).contains(": cpu."), "{}", reason(&[openmp]));
        assert!(reason(&["cpu.fence.*"]).contains(": cpu.fence."));
        assert!(reason(&[cuda, "cpu.*"]).contains("select no primitive"), "its programs measure GPUs");
        assert!(reason(&[openmp, "gpu.*"]).contains("select no primitive"), "and these CPUs");
    }

    #[test]
    fn a_near_miss_is_mended() {
        let catalogue = catalogue::catalogue();
        let all: Vec<&Primitive> = catalogue.primitives().iter().collect();
        for (missed, meant) in [
            ("cpu.lock.tiket", "'cpu.lock.ticket'"),
            ("CPU.lock.tiket", "'cpu.lock.ticket'"),
            ("tiket", "'cpu.lock.ticket'"),
            ("cpu.lok.*", "'cpu.lock.*'"),
            ("cpu.lok", "'cpu.lock.*'"),
            ("cpu.barier.dissemniation", "'cpu.barrier.dissemination'"),
            ("gpv.vote.*", "'gpu.vote.*'"),
            ("cpu.*.tiket", "'cpu.*.ticket'"),
            ("@syncperf", "'@syncperformance' or '@syncperformance-omp'"),
            ("cpu.{lock", "'cpu.lock.*,cpu.barrier.*'"),
            ("zzzzzz", "`syncscope list` shows the ids"),
            ("", "`syncscope list` shows the ids"),
            ("*.*.*.*.*", "`syncscope list` shows the ids"),
        ] {
            let advice = advice(missed, &all);
            assert!(advice.contains(meant), "{missed}: {advice}");
        }
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
