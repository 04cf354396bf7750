//! `syncscope verify`: the machine instructions of the timed loops.

use std::collections::BTreeSet;

use syncscope_core::{Case, Evidence, Experiment, Laboratory, Preset};
use syncscope_gpu::verify::{ARCHITECTURES, Verified};

use crate::args::VerifyArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::selection::Selection;
use crate::terminal;

/// Shows the machine instructions found in the timed regions. Elided primitives give exit code 3.
pub(crate) fn verify(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let mut progress = Progress::new("inspecting this machine");
    let result = examine(arguments, &selection, &mut progress);
    progress.finish();
    let programs = result?;
    for group in grouped(&programs) {
        terminal::show(&line(&group))?;
    }
    let elided = programs.iter().filter(|program| matches!(program.evidence, Evidence::Elided { .. })).count();
    terminal::show(&format!("\n{} programs, {elided} of them without the expected instruction", programs.len()))?;
    Ok(if elided > 0 { Outcome::SomeCasesFailed } else { Outcome::Done })
}

fn examine(
    arguments: &VerifyArguments,
    selection: &Selection,
    progress: &mut Progress,
) -> Result<Vec<Verified>, Failure> {
    let mut laboratories = Laboratories::open(None)?;
    selection.check(&laboratories.listing())?;
    let mut programs = laboratories.cpu.as_mut().map(|cpu| on_cpu(cpu, selection)).unwrap_or_default();
    let archs =
        if arguments.arch.is_empty() { ARCHITECTURES.map(str::to_owned).to_vec() } else { arguments.arch.clone() };
    progress.show("compiling");
    let mut on_progress = |done, all| progress.show(&format!("compiling {done}/{all}"));
    match syncscope_gpu::verify::verify(&archs, |case| selection.selects(case), &mut on_progress) {
        Ok(on_gpu) => programs.extend(on_gpu),
        Err(error @ syncscope_gpu::NvrtcError::UnknownArchitecture { .. }) => {
            return Err(Failure::Usage(error.to_string()));
        }
        // Without an architecture on the command line, the CPU's part is enough.
        Err(error) if arguments.arch.is_empty() => {
            terminal::note(&format!("the GPU kernels are not checked: {error}"));
        }
        Err(error) => return Err(Failure::CouldNot(error.to_string())),
    }
    Ok(programs)
}

/// The loops of this binary: one case for each piece of machine code.
fn on_cpu(laboratory: &mut dyn Laboratory, selection: &Selection) -> Vec<Verified> {
    let mut seen = BTreeSet::new();
    let mut programs = Vec::new();
    for case in laboratory.plan(Preset::Standard) {
        let code = Case { threads: None, placement: None, layout: None, group: None, ..case.clone() };
        if !selection.selects(&case) || !seen.insert(code.clone()) {
            continue;
        }
        let evidence = laboratory.experiment(&case).map(|mut experiment| Experiment::evidence(experiment.as_mut()));
        let evidence = evidence.unwrap_or_else(|refusal| Evidence::NotAvailable(refusal.to_string()));
        programs.push(Verified { case: code, arch: std::env::consts::ARCH.to_owned(), evidence });
    }
    programs
}

/// The programs, grouped where only the architecture differs.
fn grouped(programs: &[Verified]) -> Vec<Vec<&Verified>> {
    let mut groups: Vec<Vec<&Verified>> = Vec::new();
    for program in programs {
        let same = |group: &&mut Vec<&Verified>| {
            let first = group[0];
            first.case == program.case && evidence_text(&first.evidence) == evidence_text(&program.evidence)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(program),
            None => groups.push(vec![program]),
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
        first.case.group.as_ref().map(ToString::to_string),
    ];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let archs: Vec<&str> = group.iter().map(|program| program.arch.as_str()).collect();
    format!("{name:52} {:60} {}", evidence_text(&first.evidence), archs.join(" "))
}

fn evidence_text(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Present { summary, .. } => summary.clone(),
        Evidence::Substituted { summary, .. } => format!("substituted: {summary}"),
        Evidence::Elided { summary, .. } => format!("ELIDED: {summary}"),
        // The reason may be a compiler's log of many lines.
        Evidence::NotAvailable(reason) => format!("not available: {}", reason.lines().next().unwrap_or_default()),
    }
}
