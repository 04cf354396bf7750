//! Every kernel once, for `make sanitize-gpu`.

use std::collections::HashMap;

use syncscope_core::{Case, Check, Laboratory, Preset, Refusal, Shot, Side};
use syncscope_gpu::compile::Program;
use syncscope_gpu::{GpuLaboratory, program_of};

use super::open;

/// The cases of each program of the paper's plan.
fn cases_of_programs(laboratory: &GpuLaboratory) -> Vec<Vec<Case>> {
    let mut programs: HashMap<Program, Vec<Case>> = HashMap::new();
    for case in laboratory.plan(Preset::Paper) {
        programs.entry(program_of(&case).unwrap()).or_default().push(case);
    }
    programs.into_values().collect()
}

/// Whether a case is small enough for a tool that makes every program a hundred times slower.
fn is_small(case: &Case) -> bool {
    case.blocks.is_some_and(|blocks| blocks <= 2) && case.threads.is_some_and(|threads| threads <= 256)
}

/// Runs both kernels and the check of each selected case once, after telling it, and ignores the times.
fn run_once(laboratory: &mut GpuLaboratory, mut cases: Vec<Case>, tell: impl Fn(&Case)) {
    let part = std::env::var(super::ONLY).unwrap_or_default();
    cases.retain(|case| case.to_string().contains(&part));
    laboratory.prepare(&cases, &mut |_, _| {});
    for case in &cases {
        // What a tool reports below this line is of this case.
        tell(case);
        let mut experiment = match laboratory.experiment(case) {
            Ok(experiment) => experiment,
            Err(Refusal::Skipped(_)) => continue,
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        let shots = [Side::Baseline, Side::Test].map(|side| Shot { side, iterations: 1, pair: 0 });
        experiment.samples(&shots).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(experiment.check(), Check::Ok, "{case}");
    }
}

/// Whether the link carries the operations of this case. An addition to host memory needs a link with atomic operations;
/// without them memcheck reports each addition. The case measures exactly that, so it is not an error of the kernel.
fn is_carried(laboratory: &GpuLaboratory, case: &Case) -> bool {
    case.primitive != "hybrid.atomic.add" || laboratory.adds_natively_to_host_memory()
}

/// Primitives that order accesses to shared memory by flags, objects in another block's memory, or warp barriers that the compiler
/// removes. Racecheck knows none of these and reports each access.
const UNKNOWN_TO_RACECHECK: [&str; 4] =
    ["gpu.handoff.cluster", "gpu.handoff.cluster_async", "gpu.cluster.mbarrier_remote", "gpu.reduction.warp_tile"];

fn is_known_to_racecheck(case: &Case) -> bool {
    !UNKNOWN_TO_RACECHECK.contains(&case.primitive.as_str())
}

/// For `make sanitize-gpu`, without racecheck.
#[test]
#[ignore = "needs a CUDA device: make sanitize-gpu"]
fn kernels_unknown_to_racecheck_run_once() {
    let mut laboratory = open();
    let programs = cases_of_programs(&laboratory).into_iter();
    let smallest = programs.filter_map(|cases| cases.into_iter().min_by_key(Case::actors));
    let chosen: Vec<Case> = smallest.filter(|case| !is_known_to_racecheck(case)).collect();
    assert!(UNKNOWN_TO_RACECHECK.iter().all(|id| chosen.iter().any(|case| case.primitive == *id)), "{chosen:?}");
    run_once(&mut laboratory, chosen, |case| println!("{case}"));
}

/// For `make sanitize-gpu`: each program on a grid with a partial warp, and on one with several warps and blocks.
#[test]
#[ignore = "needs a CUDA device: make sanitize-gpu"]
fn every_kernel_runs_once() {
    let mut laboratory = open();
    let programs = cases_of_programs(&laboratory);
    let largest = |cases: &[Case], fits: fn(u32) -> bool| {
        let fits = |case: &&Case| is_small(case) && case.threads.is_some_and(fits);
        cases.iter().filter(fits).max_by_key(|case| case.actors()).cloned()
    };
    let in_part = |cases: &Vec<Case>| [largest(cases, |threads| threads < 32), largest(cases, |threads| threads >= 32)];
    let chosen: Vec<Case> = programs.iter().flat_map(in_part).flatten().filter(is_known_to_racecheck).collect();
    let is_meant = |case: &Case| is_small(case) && is_known_to_racecheck(case);
    let small = programs.iter().filter(|cases| cases.iter().any(is_meant)).count();
    assert!(chosen.len() > small, "both grids of no program: {} cases of {small} programs", chosen.len());
    let (chosen, forbidden): (Vec<Case>, Vec<Case>) =
        chosen.into_iter().partition(|case| is_carried(&laboratory, case));
    for case in forbidden {
        println!("left out, as the link to the host carries no atomic operations: {case}");
    }
    run_once(&mut laboratory, chosen, |case| println!("{case}"));
}

/// For `make sanitize-gpu`: the programs without a small grid, on their smallest grid.
#[test]
#[ignore = "needs a CUDA device: make sanitize-gpu"]
fn every_wide_kernel_runs_once() {
    let mut laboratory = open();
    let wide = cases_of_programs(&laboratory).into_iter().filter(|cases| !cases.iter().any(is_small));
    let chosen: Vec<Case> = wide.filter_map(|cases| cases.into_iter().min_by_key(Case::actors)).collect();
    assert!(!chosen.is_empty());
    run_once(&mut laboratory, chosen, |case| println!("{case}"));
}
