//! `syncscope verify`: the machine instructions of the timed loops.

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::sets::unique;
use syncscope_core::{Case, Evidence, Experiment, Laboratory, Preset};
use syncscope_gpu::verify::{VERIFIED, Verified, Verifier};
use syncscope_report::in_groups;

use crate::args::VerifyArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::selection::Selection;
use crate::terminal;

/// Shows the machine instructions found in the timed regions. The exit code is 3 for a primitive that is elided, unless the
/// catalogue declares it as elided by nature on that architecture, and for anything that could not be checked.
pub(crate) fn verify(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let mut progress = Progress::new("inspecting this machine");
    let result = examine(arguments, &selection, &mut progress);
    progress.finish();
    let (programs, mut unchecked) = result?;
    if programs.is_empty() && unchecked.is_empty() {
        let reason = "there is no such code for this processor, nor for a GPU".to_owned();
        unchecked.insert(reason, arguments.only.clone());
    }
    if !programs.is_empty() {
        terminal::show(&format!("\n{}", summary(&programs)))?;
    }
    // At the end, because a reader of a long listing sees the last line.
    for (reason, what) in &unchecked {
        terminal::show(&format!("NOT CHECKED: {}: {reason}", what.join(", ")))?;
    }
    let wrong = programs.iter().any(|program| Finding::of(program) == Finding::Wrong);
    Ok(if wrong || !unchecked.is_empty() { Outcome::SomeCasesFailed } else { Outcome::Done })
}

fn summary(programs: &[Verified]) -> String {
    let count = |finding| programs.iter().filter(|program| Finding::of(program) == finding).count();
    let checked = programs.iter().filter(|program| program.evidence.is_ok());
    let by_arch = in_groups(checked.map(|program| (program.arch.as_str(), program)));
    let archs: Vec<&str> = by_arch.into_iter().map(|(arch, _)| arch).collect();
    format!(
        "INSTRUCTION 16/32: 16 in the baseline loop, 32 in the test loop, which executes the primitive once more\n\
         {} programs for {}: {} of them not available, {} elided as expected, {} without the expected instruction",
        programs.len(),
        archs.join(", "),
        count(Finding::NotAvailable),
        count(Finding::ElidedByNature),
        count(Finding::Wrong)
    )
}

/// What could not be checked, by reason: architectures, or the number of programs of one architecture.
type Unchecked = BTreeMap<String, Vec<String>>;

/// What the evidence of a program means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// The instruction is there, or another that does its work.
    AsExpected,
    /// It cannot be decided, as in the code of a library.
    NotAvailable,
    /// Nothing is left of the operation, as the catalogue declares.
    ElidedByNature,
    /// Nothing is left of the operation, and nobody expected that; or something is left, and nobody expected that.
    Wrong,
    /// It could not be compiled.
    Unchecked,
}

impl Finding {
    fn of(program: &Verified) -> Self {
        let is_elided = match &program.evidence {
            Err(_) => return Self::Unchecked,
            Ok(Evidence::NotAvailable(_)) => return Self::NotAvailable,
            Ok(Evidence::Elided { .. }) => true,
            Ok(Evidence::Substituted { summary, .. }) => Evidence::is_nop(summary),
            Ok(Evidence::Present { .. }) => false,
        };
        match (is_elided, program.elided_by_nature.is_some()) {
            (true, true) => Self::ElidedByNature,
            (false, false) => Self::AsExpected,
            (true, false) | (false, true) => Self::Wrong,
        }
    }
}

/// Shows the findings, family by family.
fn examine(
    arguments: &VerifyArguments,
    selection: &Selection,
    progress: &mut Progress,
) -> Result<(Vec<Verified>, Unchecked), Failure> {
    let mut laboratories = Laboratories::open(None)?;
    selection.check(&laboratories.listing())?;
    let mut unchecked = Unchecked::new();
    let mut verifiers = Vec::new();
    let on_gpu = syncscope_gpu::verify::programs(|case| selection.selects(case));
    let archs = match &arguments.arch[..] {
        [] if on_gpu.is_empty() => Vec::new(),
        [] => VERIFIED.map(str::to_owned).to_vec(),
        _ if on_gpu.is_empty() => {
            return Err(Failure::Usage("--arch is for GPUs, and --only selects no code of a GPU".to_owned()));
        }
        asked => unique(asked.iter().cloned()),
    };
    for arch in archs {
        match Verifier::new(&arch) {
            Ok(verifier) => verifiers.push((arch, verifier)),
            Err(error @ syncscope_gpu::NvrtcError::UnknownArchitecture { .. }) if !arguments.arch.is_empty() => {
                return Err(Failure::Usage(error.to_string()));
            }
            Err(error) => unchecked.entry(error.to_string()).or_default().push(arch),
        }
    }
    let mut programs = laboratories.cpu.as_mut().map(|cpu| on_cpu(cpu, selection)).unwrap_or_default();
    progress.suspend(|| show(&programs))?;
    let families = in_groups(on_gpu.into_iter().map(|one| (family_of(&one.0).to_owned(), one)));
    for (family, of_family) in BTreeMap::from_iter(families) {
        let mut found = Vec::new();
        for (arch, verifier) in &mut verifiers {
            let mut on_progress = |done, all| progress.show(&format!("compiling {family} for {arch} {done}/{all}"));
            found.extend(verifier.verify(&of_family, &mut on_progress));
        }
        progress.suspend(|| show(&found))?;
        programs.extend(found);
    }
    for (arch, _) in verifiers {
        let of_arch: Vec<&Verified> = programs.iter().filter(|program| program.arch == arch).collect();
        let failed: Vec<&String> = of_arch.iter().filter_map(|program| program.evidence.as_ref().err()).collect();
        let what = match failed.len() {
            all if all == of_arch.len() => arch,
            some => format!("{some} of {} programs for {arch}", of_arch.len()),
        };
        if let Some(reason) = failed.first() {
            unchecked.entry(first_line(reason)).or_default().push(what);
        }
    }
    Ok((programs, unchecked))
}

/// `gpu.atomic` of `gpu.atomic.add`.
fn family_of(case: &Case) -> &str {
    case.primitive.rsplit_once('.').map_or("", |(family, _)| family)
}

fn show(programs: &[Verified]) -> Result<(), Failure> {
    for group in grouped(programs) {
        terminal::show(&line(&group))?;
    }
    Ok(())
}

/// The first line of a reason, which may be a compiler's log of many lines.
fn first_line(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().to_owned()
}

/// The loops of this binary: one case for each piece of machine code.
fn on_cpu(laboratory: &mut dyn Laboratory, selection: &Selection) -> Vec<Verified> {
    let mut seen = BTreeSet::new();
    let planned = laboratory.plan(Preset::Standard).into_iter().filter(|case| selection.selects(case));
    let verified = |case: Case| {
        let code = Case { threads: None, placement: None, layout: None, group: None, ..case.clone() };
        if !seen.insert(code.clone()) {
            return None;
        }
        let evidence = laboratory.experiment(&case).map(|mut experiment| Experiment::evidence(experiment.as_mut()));
        let evidence = evidence.unwrap_or_else(|refusal| Evidence::NotAvailable(refusal.to_string()));
        let arch = std::env::consts::ARCH;
        let elided_by_nature = syncscope_cpu::elided_by_nature(&case.primitive, arch);
        Some(Verified { case: code, arch: arch.to_owned(), evidence: Ok(evidence), elided_by_nature })
    };
    planned.filter_map(verified).collect()
}

/// The programs, grouped where only the architecture differs.
fn grouped(programs: &[Verified]) -> Vec<Vec<&Verified>> {
    let mut groups = in_groups(programs.iter().map(|program| ((&program.case, text(program)), program)));
    groups.sort_by_key(|((case, _), _)| *case);
    groups.into_iter().map(|(_, group)| group).collect()
}

fn line(group: &[&Verified]) -> String {
    let first = group[0];
    let Case { primitive, dtype, order, space, scope, .. } = &first.case;
    let words = [
        Some(primitive.clone()),
        dtype.map(|dtype| dtype.to_string()),
        order.map(|order| order.to_string()),
        scope.map(|scope| scope.to_string()),
        space.map(|space| space.to_string()),
        first.case.mode.map(|mode| mode.to_string()),
        first.case.form.map(|form| form.to_string()),
        first.case.group.as_ref().map(ToString::to_string),
    ];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let archs: Vec<&str> = group.iter().map(|program| program.arch.as_str()).collect();
    format!("{name:52} {:60} {}", text(first), archs.join(" "))
}

/// The evidence, and any error in it.
fn text(program: &Verified) -> String {
    let found = match &program.evidence {
        Ok(Evidence::Present { summary, .. } | Evidence::Elided { summary, .. }) => summary.clone(),
        Ok(Evidence::Substituted { summary, .. }) => format!("substituted: {summary}"),
        Ok(Evidence::NotAvailable(reason)) => format!("not available: {}", first_line(reason)),
        Err(reason) => format!("NOT CHECKED: {}", first_line(reason)),
    };
    match (Finding::of(program), program.elided_by_nature) {
        (Finding::ElidedByNature, Some(why)) => match &program.evidence {
            Ok(Evidence::Substituted { summary, .. }) => format!("elided as expected: {why}: {summary}"),
            _ => format!("elided as expected: {why}"),
        },
        (Finding::Wrong, Some(_)) => format!("UNEXPECTED: {found}, where nothing was expected"),
        (Finding::Wrong, None) => format!("ELIDED: {found}"),
        (Finding::AsExpected | Finding::NotAvailable | Finding::ElidedByNature | Finding::Unchecked, _) => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use syncscope_core::Form;

    fn program(evidence: Evidence, elided_by_nature: Option<&'static str>) -> Verified {
        Verified {
            case: Case::new("gpu.warp.syncwarp"),
            arch: "sm_90".to_owned(),
            evidence: Ok(evidence),
            elided_by_nature,
        }
    }

    fn found(evidence: Evidence, nature: Option<&'static str>) -> (Finding, String) {
        let program = program(evidence, nature);
        (Finding::of(&program), text(&program))
    }

    #[test]
    fn elision_by_nature_is_no_failure() {
        let (nature, listing) = (Some("nothing to wait for"), String::new());
        let elided = Evidence::Elided { summary: "equal".to_owned(), listing: listing.clone() };
        let nop = Evidence::Substituted { summary: "NOP 32/64 for WARPSYNC".to_owned(), listing, receipt: None };
        for evidence in [&elided, &nop] {
            let (finding, text) = found(evidence.clone(), nature);
            assert_eq!(finding, Finding::ElidedByNature);
            assert!(text.starts_with("elided as expected: nothing to wait for"), "{text}");
            let (finding, text) = found(evidence.clone(), None);
            assert_eq!(finding, Finding::Wrong, "nobody declared it");
            assert!(text.starts_with("ELIDED: "), "{text}");
        }
    }

    #[test]
    fn an_instruction_where_none_is_declared_is_a_failure() {
        let present = Evidence::Present { summary: "WARPSYNC 32/64".to_owned(), listing: String::new(), receipt: None };
        assert_eq!(found(present.clone(), None), (Finding::AsExpected, "WARPSYNC 32/64".to_owned()));
        let (finding, text) = found(present, Some("nothing to wait for"));
        assert_eq!(finding, Finding::Wrong);
        assert_eq!(text, "UNEXPECTED: WARPSYNC 32/64, where nothing was expected");
    }

    #[test]
    fn another_instruction_and_missing_evidence_are_no_failure() {
        let other = Evidence::Substituted {
            summary: "MATCH.ANY 32/64 for WARPSYNC".to_owned(),
            listing: String::new(),
            receipt: None,
        };
        assert_eq!(found(other, None).0, Finding::AsExpected);
        let nobody_looked = Evidence::NotAvailable("no disassembler\nfor this".to_owned());
        for nature in [None, Some("why")] {
            let expected = (Finding::NotAvailable, "not available: no disassembler".to_owned());
            assert_eq!(found(nobody_looked.clone(), nature), expected);
        }
    }

    /// Programs of one case that differ only in form.
    #[test]
    fn other_forms_have_other_names() {
        let of_form = |form| Verified {
            case: Case { form, ..Case::new("gpu.atomic.add") },
            ..program(Evidence::NotAvailable("nobody looked".to_owned()), None)
        };
        let names = [None, Some(Form::Varying), Some(Form::Constant)].map(|form| line(&[&of_form(form)]));
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3, "{names:?}");
    }
}
