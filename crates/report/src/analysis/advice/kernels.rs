//! The end of a phase of all GPU threads: a barrier within the kernel, or the next kernel.

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Domain, Group};

use super::contest::{Candidate, candidates, decide, other_sizes, takes_part};
use super::{Advice, Decision, Inquiry, Need, barriers};
use crate::analysis::answers::field::Basis;
use crate::analysis::answers::relaunch;
use crate::analysis::row_query::{GRID_BARRIERS, design, is_relaxed_barrier, unusualness};
use crate::naming;

/// Kernels that follow each other, and how their candidates are called.
pub(in crate::analysis) const KERNELS: [(&str, &str); 2] =
    [("gpu.launch.graph", "one kernel more, in a graph"), ("gpu.launch.stream", "one kernel more, in a stream")];

/// For each kernel length, the barriers of a grid against one kernel more of that grid. The host times launches and the
/// device times barriers, so intervals for another run are compared.
pub(super) fn end_gpu_phase(inquiry: Inquiry<'_>) -> Vec<Advice> {
    let ids = KERNELS.map(|(id, _)| id);
    let kernels: Vec<&Case> =
        inquiry.data.rows.iter().filter(|row| takes_part(row, &ids)).map(|row| &row.case).collect();
    if kernels.is_empty() || !inquiry.wants(Domain::Gpu) {
        return Vec::new();
    }
    let sizes: BTreeSet<u32> = inquiry
        .data
        .rows
        .iter()
        .filter(|row| takes_part(row, GRID_BARRIERS))
        .filter_map(|row| row.case.threads)
        .collect();
    if sizes.is_empty() {
        return Vec::new();
    }
    let threads = match inquiry.question.threads {
        Some(asked) if !sizes.contains(&asked) => {
            let decision = Decision::Missing(other_sizes(Some(asked), &sizes));
            return vec![Advice { need: Need::EndGpuPhase, on: Domain::Gpu, situation: String::new(), decision }];
        }
        Some(asked) => asked,
        None => sizes.first().copied().unwrap_or_default(),
    };
    // Kernels that do work first: an empty one measures the host's rate.
    let mut lengths: Vec<&Group> = kernels.iter().filter_map(|case| case.group.as_ref()).collect();
    lengths.sort_by_key(|length| (**length == Group::EmptyKernel, (*length).clone()));
    lengths.dedup();
    lengths.into_iter().filter_map(|length| of_length(inquiry, length, threads)).collect()
}

fn of_length<'a>(inquiry: Inquiry<'a>, length: &Group, threads: u32) -> Option<Advice> {
    let multiprocessors = inquiry.data.run.machine.gpus.first().map_or(0, |gpu| gpu.multiprocessors);
    let resident =
        |case: &Case| (multiprocessors == 0 || case.blocks == Some(multiprocessors)) && case.threads == Some(threads);
    // One row of each design, the usual one: some runs have it in several memory orders.
    let mut designs: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    let rows = inquiry.data.rows.iter().filter(|row| takes_part(row, GRID_BARRIERS) && resident(&row.case));
    for case in rows.map(|row| &row.case).filter(|case| !is_relaxed_barrier(case)) {
        designs.entry(design(case)).or_default().push(case);
    }
    let usual = |cases: Vec<&'a Case>| cases.into_iter().min_by_key(|case| (unusualness(case), (*case).clone()));
    let barriers: Vec<&Case> = designs.into_values().filter_map(usual).collect();
    let mut rivals = candidates(inquiry, GRID_BARRIERS, |case| barriers.contains(&case), Basis::Machine);
    let barrier = rivals.first().and_then(|one| Some(&inquiry.data.rows.get(one.row?)?.case))?;
    let size = naming::size(barrier);
    for rival in &mut rivals {
        let case = rival.row.and_then(|row| Some(&inquiry.data.rows.get(row)?.case));
        rival.name = format!("a grid barrier ({})", case.map_or_else(|| rival.name.clone(), design));
    }
    let barriers = rivals.len();
    rivals.extend(KERNELS.into_iter().filter_map(|(id, name)| kernel(inquiry, id, name, length, barrier)));
    if barriers == 0 || barriers == rivals.len() {
        return None;
    }
    let mut decision =
        other_grids(inquiry, &rivals[barriers..], barrier).map_or_else(|| decide(inquiry, &rivals), Some)?;
    if let Decision::Take(choice) = &mut decision {
        match choice.id.as_str() {
            "gpu.launch.graph" => {
                choice.warnings.push("the kernels must be known before: a graph is built once and replayed".to_owned());
            }
            "gpu.launch.stream" => {}
            _ => choice.warnings.push(barriers::RESIDENT.to_owned()),
        }
        if *length == Group::EmptyKernel {
            choice.notes.push("kernels that do nothing: their rate is the host's, not the device's".to_owned());
        }
    }
    let what = match length {
        Group::EmptyKernel => "empty kernels".to_owned(),
        other => format!("kernels of {}", naming::group(other)),
    };
    Some(Advice { need: Need::EndGpuPhase, on: Domain::Gpu, situation: format!("{what}, grid of {size}"), decision })
}

/// Why nothing is decided where kernels and barriers have different grids: a kernel of one block starts sooner than one of
/// many.
fn other_grids(inquiry: Inquiry<'_>, kernels: &[Candidate], barrier: &Case) -> Option<Decision> {
    let mut cases = kernels.iter().filter_map(|one| Some(&inquiry.data.rows.get(one.row?)?.case));
    let kernel = cases.find(|kernel| !relaunch::has_grid_of(kernel, barrier))?;
    Some(Decision::Undecided(format!(
        "the kernels have a grid of {}, the barriers of {}; {}",
        relaunch::grid_size(kernel),
        relaunch::grid_size(barrier),
        relaunch::SAME_GRID
    )))
}

/// The row of one more kernel of this length; the one of the barrier's grid where there is one. Without a row, it may be yet to
/// measure.
fn kernel(inquiry: Inquiry<'_>, id: &str, name: &str, length: &Group, barrier: &Case) -> Option<Candidate> {
    let rows = inquiry.data.rows.iter().enumerate();
    let own = rows.filter(|(_, row)| takes_part(row, &[id]) && row.case.group.as_ref() == Some(length));
    let usual = own.min_by_key(|(_, row)| {
        let (other_grid, other_size) =
            (!relaunch::has_grid_of(&row.case, barrier), row.case.threads != barrier.threads);
        (other_grid, other_size, u64::MAX - row.case.actors(), row.case.clone())
    });
    match usual {
        Some((index, _)) => Candidate::of_row(inquiry, index, name.to_owned(), Basis::Machine),
        None => inquiry.data.has_more_planned(id).then(|| Candidate::pending(name.to_owned(), id)),
    }
}
