//! Phases of several threads: which barrier.

use syncscope_core::{Case, Domain, Mode, Placement};

use super::contest::{decide_among, model_case, other_sizes};
use super::{Advice, Decision, Inquiry, Need, cautions};
use crate::analysis::answers::field::{Basis, like_but_primitive};
use crate::analysis::row_query::{CPU_BARRIERS, GRID_BARRIERS};
use crate::naming;

/// Barriers of all threads of a block that do nothing else.
pub(in crate::analysis) const BLOCK_BARRIERS: &[&str] = &["gpu.block.syncthreads", "gpu.block.mbarrier"];

/// The barriers of a team, of a thread block and of a grid. One instrument measures all of a kind, so rows are compared
/// within the run.
pub(super) fn phases(inquiry: Inquiry<'_>) -> Vec<Advice> {
    let mut answers = Vec::new();
    if inquiry.wants(Domain::Cpu) {
        let bound = |case: &Case| !matches!(case.placement, Some(Placement::List(_)));
        answers.extend(of_kind(inquiry, Domain::Cpu, CPU_BARRIERS, bound, "", Basis::Run));
    }
    if inquiry.wants(Domain::Gpu) {
        let one_block = |case: &Case| case.blocks.unwrap_or(1) == 1 && case.mode != Some(Mode::Throughput);
        answers.extend(of_kind(inquiry, Domain::Gpu, BLOCK_BARRIERS, one_block, ", one block", Basis::Run));
        answers.extend(grid(inquiry, Basis::Run));
    }
    answers
}

/// The barriers of a grid of one block on each multiprocessor, where the device is known.
fn grid(inquiry: Inquiry<'_>, basis: Basis) -> Option<Advice> {
    let multiprocessors = inquiry.data.run.machine.gpus.first().map_or(0, |gpu| gpu.multiprocessors);
    let resident = |case: &Case| multiprocessors == 0 || case.blocks == Some(multiprocessors);
    of_kind(inquiry, Domain::Gpu, GRID_BARRIERS, resident, ", whole grid", basis).map(|mut advice| {
        if let Decision::Take(choice) = &mut advice.decision {
            choice.warnings.push(RESIDENT.to_owned());
        }
        advice
    })
}

/// What every barrier of a grid asks of its launch.
pub(super) const RESIDENT: &str =
    "every block must run at the same time: a cooperative launch, no more blocks than fit";

fn of_kind(
    inquiry: Inquiry<'_>,
    on: Domain,
    primitives: &[&str],
    fits: impl Fn(&Case) -> bool,
    what: &str,
    basis: Basis,
) -> Option<Advice> {
    let like = match model_case(inquiry, primitives, fits)? {
        Ok(like) => like,
        Err(present) => {
            let missing = Decision::Missing(other_sizes(inquiry.question.threads, &present));
            let situation = what.trim_start_matches(", ").to_owned();
            return Some(Advice { need: Need::Phases, on, situation, decision: missing });
        }
    };
    let alike = |case: &Case| like_but_primitive(case, like);
    let mut decision = decide_among(inquiry, primitives, alike, basis)?;
    if let Decision::Take(choice) = &mut decision
        && on == Domain::Cpu
        && let Some(row) = inquiry.data.rows.iter().find(|row| row.case.to_string() == choice.case)
    {
        cautions::waiting(inquiry, row, choice);
    }
    Some(Advice { need: Need::Phases, on, situation: format!("{}{what}", naming::size(like)), decision })
}
