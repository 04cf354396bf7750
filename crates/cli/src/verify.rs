//! `syncscope verify`.

use std::collections::BTreeSet;

use syncscope_core::{Case, Evidence, Experiment, Laboratory, Preset};
use syncscope_gpu::verify::{ARCHITECTURES, Verified};

use crate::args::VerifyArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::selection::Selection;
use crate::terminal;

/// Shows what machine instructions stand in the timed regions. Elided primitives are exit code 3.
pub(crate) fn verify(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let mut progress = Progress::new("looking at this machine");
    let result = found(arguments, &selection, &mut progress);
    progress.finish();
    let findings = result?;
    for group in grouped(&findings) {
        terminal::show(&line(&group))?;
    }
    let elided = findings.iter().filter(|finding| matches!(finding.evidence, Evidence::Elided { .. })).count();
    terminal::show(&format!("\n{} programs, {elided} of them without their instruction", findings.len()))?;
    Ok(if elided > 0 { Outcome::SomeCasesFailed } else { Outcome::Done })
}

fn found(
    arguments: &VerifyArguments,
    selection: &Selection,
    progress: &mut Progress,
) -> Result<Vec<Verified>, Failure> {
    let mut laboratories = Laboratories::open(None)?;
    selection.check(&laboratories.listing())?;
    let mut findings = laboratories.cpu.as_mut().map(|cpu| on_cpu(cpu, selection)).unwrap_or_default();
    let archs =
        if arguments.arch.is_empty() { ARCHITECTURES.map(str::to_owned).to_vec() } else { arguments.arch.clone() };
    progress.say("compiling");
    let mut heard = |done, all| progress.say(&format!("compiling {done}/{all}"));
    match syncscope_gpu::verify::verify(&archs, |case| selection.takes(case), &mut heard) {
        Ok(on_gpu) => findings.extend(on_gpu),
        Err(error @ syncscope_gpu::NvrtcError::UnknownArchitecture { .. }) => {
            return Err(Failure::Usage(error.to_string()));
        }
        // Someone who named an architecture wants the GPU's part; others get what there is.
        Err(error) if arguments.arch.is_empty() => {
            terminal::note(&format!("the GPU's kernels are not verified: {error}"));
        }
        Err(error) => return Err(Failure::CouldNot(error.to_string())),
    }
    Ok(findings)
}

/// The loops of this very binary: one case for each piece of machine code.
fn on_cpu(laboratory: &mut dyn Laboratory, selection: &Selection) -> Vec<Verified> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for case in laboratory.plan(Preset::Standard) {
        let code = Case { threads: None, placement: None, layout: None, group: None, ..case.clone() };
        if !selection.takes(&case) || !seen.insert(code.clone()) {
            continue;
        }
        let evidence = laboratory.experiment(&case).map(|mut experiment| Experiment::evidence(experiment.as_mut()));
        let evidence = evidence.unwrap_or_else(|refusal| Evidence::NotAvailable(refusal.to_string()));
        findings.push(Verified { case: code, arch: std::env::consts::ARCH.to_owned(), evidence });
    }
    findings
}

/// Findings that differ in the architecture alone, side by side.
fn grouped(findings: &[Verified]) -> Vec<Vec<&Verified>> {
    let mut groups: Vec<Vec<&Verified>> = Vec::new();
    for finding in findings {
        let same = |group: &&mut Vec<&Verified>| {
            let first = group[0];
            first.case == finding.case && told(&first.evidence) == told(&finding.evidence)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups.sort_by_key(|group| group[0].case.clone());
    groups
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
        first.case.group.clone(),
    ];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let archs: Vec<&str> = group.iter().map(|finding| finding.arch.as_str()).collect();
    format!("{name:52} {:60} {}", told(&first.evidence), archs.join(" "))
}

fn told(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Present { summary, .. } => summary.clone(),
        Evidence::Substituted { summary, .. } => format!("substituted: {summary}"),
        Evidence::Elided { summary, .. } => format!("ELIDED: {summary}"),
        // A compiler's log has many lines.
        Evidence::NotAvailable(reason) => format!("not available: {}", reason.lines().next().unwrap_or_default()),
    }
}
