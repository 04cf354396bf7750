//! Every primitive: its work, its third loop, and the reason of each figure.

use std::collections::HashSet;

use syncscope_core::{Case, Check, Laboratory, Layout, Measurement, Preset, Refusal, Row, Shot, Side};

use super::{engine, open, short_engine};

/// Checks of every kind of grid: parts of warps, parts of blocks, more blocks than multiprocessors.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_primitive_does_its_work_on_every_kind_of_grid() {
    let mut laboratory = open();
    let multiprocessors = laboratory.machine()[0].multiprocessors;
    let layouts =
        [None, Some(Layout::Shared), Some(Layout::Private { stride: 1 }), Some(Layout::Private { stride: 32 })];
    let is_usual = |case: &Case| [1, 2 * multiprocessors].map(Some).contains(&case.blocks);
    let plan = laboratory.plan(Preset::Standard);
    let on_usual_grids: HashSet<_> =
        plan.iter().filter(|case| is_usual(case)).map(|case| case.primitive.clone()).collect();
    let cases: Vec<Case> = plan
        .into_iter()
        .filter(|case| [1, 16, 32, 1024].map(Some).contains(&case.threads))
        .filter(|case| {
            let is_wide = case.in_group("cluster #");
            let is_tried = is_usual(case) || !on_usual_grids.contains(&case.primitive);
            is_tried || is_wide || case.primitive.starts_with("gpu.grid.") || case.primitive.starts_with("gpu.multi.")
        })
        .filter(|case| layouts.contains(&case.layout))
        // A hundred thousand threads on one variable take seconds and show no more than ten thousand.
        .filter(|case| case.actors() <= 16_384)
        .collect();
    laboratory.prepare(&cases, &mut |_, _| {});
    let mut done = HashSet::new();
    let mut wrong = Vec::new();
    for case in cases {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => short_engine().measure(experiment.as_mut(), 1).unwrap(),
            Err(Refusal::Skipped(_)) => continue,
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        if measurement.check != Check::Ok || measurement.verdict.is_failure() {
            wrong.push(format!("{case}: {:?}, {}", measurement.check, measurement.verdict));
        }
        done.insert(case.primitive);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let listing = laboratory.listing();
    // Reductions and sums by NCCL are not on our grids: `reductions.rs` and `nccl.rs` try them.
    let is_tried_here = |id: &str| !["gpu.reduction.", "gpu.multi.nccl_"].iter().any(|other| id.starts_with(other));
    let missing: Vec<_> = listing
        .iter()
        .filter(|line| line.unavailable.is_none() && is_tried_here(line.primitive.id))
        .filter(|line| !done.contains(line.primitive.id))
        .map(|line| line.primitive.id)
        .collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
}

/// One case of each primitive with a third loop, with few blocks. A sum that does not count the third loop is wrong.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_third_loop_of_every_primitive_runs_and_is_checked() {
    let mut laboratory = open();
    let mut seen = HashSet::new();
    let mut wrong = Vec::new();
    for case in laboratory.plan(Preset::Standard) {
        if case.actors() > 16_384 * 8 || !seen.insert((case.primitive.clone(), case.mode, case.space, case.layout)) {
            continue;
        }
        let mut experiment = match laboratory.experiment(&case) {
            Ok(experiment) if experiment.protocol().has_double => experiment,
            Ok(_) | Err(Refusal::Skipped(_)) => continue,
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        let iterations = experiment.protocol().min_iterations.max(2);
        let shot = |side, pair| Shot { side, iterations, pair };
        let shots = [shot(Side::Test, 1), shot(Side::Double, 1), shot(Side::Baseline, 1), shot(Side::Double, 2)];
        let samples = experiment.samples(&shots).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(samples.len(), shots.len());
        let check = experiment.check();
        if check != Check::Ok {
            wrong.push(format!("{case}: {check:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen.len() > 40, "{}", seen.len());
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_figure_is_explained() {
    let mut laboratory = open();
    let cases = laboratory.plan(Preset::Quick);
    laboratory.prepare(&cases, &mut |_, _| {});
    let defect = |case: Case, measurement: &Measurement| {
        let row = Row::measured(case, None, measurement);
        row.defect().map(|defect| format!("{}: {defect}", row.case))
    };
    let mut defects = Vec::new();
    for case in cases.into_iter().filter(|case| case.actors() <= 16_384) {
        let measurement = match laboratory.experiment(&case) {
            Ok(mut experiment) => engine().measure(experiment.as_mut(), 1).unwrap(),
            // Skipped cases must state a reason.
            Err(Refusal::Skipped(reason)) => {
                assert!(!reason.is_empty(), "{case}");
                println!("{case}: {reason}");
                continue;
            }
            Err(refusal) => panic!("{case}: {refusal}"),
        };
        // Cases of one grid report its clock.
        let by_device = !["grid", "multi", "launch", "flag"].contains(&case.domain_and_family().1)
            && case.primitive.starts_with("gpu.");
        assert!(!by_device || measurement.details.iter().any(|detail| detail.name == "sm_clock_hz_low"), "{case}");
        defects.extend(defect(case, &measurement));
    }
    assert!(defects.is_empty(), "{defects:#?}");
}
