//! Our own barriers, passed millions of times with every block late at times, and the fastest ones also next to another process
//! that computes on the same device. `SYNCSCOPE_STRESS` sets the number of barriers, `SYNCSCOPE_STRESS_ONLY` selects cases by a
//! part of their names.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use syncscope_core::{Case, Check, Laboratory, Preset};
use syncscope_gpu::{GpuLaboratory, orderings};

use super::{ONLY, measure, on_grid, open, planned};

/// The variable that makes the test of this name compute for this many seconds instead of doing nothing.
const LOAD_SECONDS: &str = "SYNCSCOPE_STRESS_LOAD_SECONDS";

fn barriers() -> u64 {
    std::env::var("SYNCSCOPE_STRESS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
}

/// The ordered barriers of our own designs with 32 threads per block, on as many devices as there are.
fn designs(laboratory: &GpuLaboratory) -> Vec<Case> {
    let devices = u32::try_from(laboratory.machine().len()).unwrap();
    let is_meant = |case: &Case| {
        let is_small = case.threads == Some(32) && case.order.is_none();
        let is_own = (case.in_group("near_counters") || case.in_group("spread"))
            || (case.in_group("near_flags") && case.devices == Some(devices));
        is_small && is_own
    };
    let part = std::env::var(ONLY).unwrap_or_default();
    laboratory
        .plan(Preset::Standard)
        .into_iter()
        .filter(|case| is_meant(case) && case.to_string().contains(&part))
        .collect()
}

/// A case of each of our own barriers of a grid and of all devices, with 32 threads per block. Launching on all devices with
/// one call launches the same kernel.
fn own_designs(laboratory: &GpuLaboratory) -> Vec<Case> {
    let devices = u32::try_from(laboratory.machine().len()).unwrap();
    let is_meant = |case: &Case| {
        let is_wide = case.blocks.is_some_and(|blocks| blocks > 32) && case.threads == Some(32);
        let is_launched_by_each = !case.in_group("driver_launch");
        is_wide && is_launched_by_each && !orderings(case).is_empty() && case.devices.is_none_or(|n| n == devices)
    };
    let part = std::env::var(ONLY).unwrap_or_default();
    let mut cases: Vec<Case> = laboratory.plan(Preset::Standard).into_iter().filter(is_meant).collect();
    let design = |case: &Case| (case.primitive.clone(), format!("{:?}", case.group));
    cases.sort_by_key(|case| (design(case), case.blocks));
    cases.dedup_by_key(|case| design(case));
    cases.retain(|case| case.to_string().contains(&part));
    cases
}

/// Fails unless the barrier holds; returns a line about what was done.
fn held(laboratory: &mut GpuLaboratory, case: &Case) -> String {
    let started = Instant::now();
    let (passed, check) =
        laboratory.stress(case, None, barriers()).unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
    assert_eq!(check, Check::Ok, "{case} after {passed} barriers");
    assert!(passed >= barriers());
    format!("{case}: {passed} barriers in {:.1?}", started.elapsed())
}

#[test]
#[ignore = "needs a CUDA device of compute capability 9.0: make test-gpu"]
fn the_fastest_barriers_hold() {
    let mut laboratory = open();
    let designs = designs(&laboratory);
    assert!(!designs.is_empty());
    for case in &designs {
        println!("{}", held(&mut laboratory, case));
    }
}

#[test]
#[ignore = "needs a CUDA device of compute capability 9.0: make test-gpu"]
fn every_own_barrier_holds() {
    let mut laboratory = open();
    let cases = own_designs(&laboratory);
    assert!(!cases.is_empty());
    for case in &cases {
        println!("{}", held(&mut laboratory, case));
    }
}

/// Whether a barrier passed without each of its orderings on the devices that were tried (H200), or nearly always. For acquires
/// there is another reason: behind an addition that acquires, no stale line is left for the poll to drop. With clusters of 4
/// blocks an H200 passed 1,000,000 barriers without each ordering; with 8 blocks, the same code and check, 528 barriers show
/// that one is missing.
fn passes_without_each(case: &Case) -> bool {
    let is_of_devices =
        case.primitive.starts_with("gpu.multi.") && !(case.in_group("direct") || case.in_group("near_flags"));
    is_of_devices || case.primitive == "gpu.grid.hierarchical" && case.group_number("cluster #") == Some(4)
}

/// Leaves out one ordering after the other. The check must notice at least one missing ordering per barrier, or it sees
/// nothing: the litmus tests in it, message passing and store buffering, would pass without any barrier. An ordering that is
/// not noticed is not proven superfluous: this device may not use its freedom.
#[test]
#[ignore = "needs a CUDA device of compute capability 9.0: make test-gpu"]
fn a_barrier_that_lacks_an_ordering_is_noticed() {
    let mut laboratory = open();
    let cases = own_designs(&laboratory);
    assert!(!cases.is_empty());
    let mut blind = Vec::new();
    for case in &cases {
        let mut noticed = 0;
        for (number, name) in (1..).zip(orderings(case)) {
            let found = laboratory.stress(case, Some(number), barriers());
            let (passed, check) = found.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
            noticed += u32::from(check != Check::Ok);
            println!("{case}, without \"{name}\": {check:?} after {passed} barriers");
        }
        if noticed == 0 && !passes_without_each(case) {
            blind.push(case.to_string());
        }
    }
    assert!(blind.is_empty(), "these barriers pass without each of their orderings: {blind:?}");
}

/// A process that is killed when the test ends, however the test ends.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs a CUDA device of compute capability 9.0: make test-gpu"]
fn the_fastest_barriers_hold_beside_another_process() {
    let program = std::env::current_exe().unwrap();
    let mut load = Command::new(program);
    load.args(["--ignored", "--exact", "stress::a_process_computes"]).env(LOAD_SECONDS, "600");
    let mut load = Load(load.spawn().unwrap());
    let mut laboratory = open();
    let designs = designs(&laboratory);
    assert!(!designs.is_empty());
    for case in &designs {
        println!("{}", held(&mut laboratory, case));
    }
    assert_eq!(load.0.try_wait().unwrap(), None, "the other process ended early");
}

/// The load process: all threads of the device add for as long as the variable says.
#[test]
#[ignore = "the load of another test"]
fn a_process_computes() {
    let Some(seconds) = std::env::var(LOAD_SECONDS).ok().and_then(|text| text.parse().ok()) else { return };
    let mut laboratory = open();
    let blocks = laboratory.machine()[0].multiprocessors;
    let case = planned(&laboratory, |case| on_grid(case, "gpu.atomic.add", blocks, 1024));
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        measure(&mut laboratory, &case);
    }
}
