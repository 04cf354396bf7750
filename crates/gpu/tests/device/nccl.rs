//! Sums by NCCL. They need two devices and the library; without them, the test says so and ends.

use syncscope_core::{Case, Check, Laboratory, Preset};

use super::{measure, open};

#[test]
#[ignore = "needs two CUDA devices and NCCL, and NCCL_NVLS_ENABLE=0: make test-gpu"]
fn sums_by_nccl_are_right_or_it_is_said_why_there_are_none() {
    let mut laboratory = open();
    let cases: Vec<Case> =
        laboratory.plan(Preset::Quick).into_iter().filter(|case| case.primitive.contains(".nccl_")).collect();
    let listing = laboratory.listing();
    let listed = listing.iter().filter(|listing| listing.primitive.id.contains(".nccl_"));
    let reasons: Vec<&str> = listed.filter_map(|listing| listing.unavailable.as_deref()).collect();
    assert_eq!(reasons.len(), if cases.is_empty() { 2 } else { 0 }, "planned or explained: {reasons:?}");
    if cases.is_empty() {
        println!("skipped: {}", reasons[0]);
        return;
    }
    // Each primitive with plain memory and with registered windows.
    assert_eq!(cases.iter().filter(|case| case.devices == Some(2)).count(), 4, "{cases:?}");
    for case in &cases {
        let measurement = measure(&mut laboratory, case);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
        let estimate = measurement.estimate.as_ref().unwrap();
        assert!(estimate.cycles.is_none() && estimate.ns.value() > 0.0, "{case}: {estimate:?}");
        println!("{case}: {:.0} ns, {}", estimate.ns.value(), measurement.verdict);
    }
}

#[test]
#[ignore = "needs two CUDA devices and NCCL, and NCCL_NVLS_ENABLE=0: make test-gpu"]
fn other_cases_go_on_beside_nccl() {
    let mut laboratory = open();
    let plan = laboratory.plan(Preset::Quick);
    let nccl = plan.iter().find(|case| case.primitive.contains(".nccl_") && case.devices == Some(2));
    let flags = plan.iter().find(|case| case.primitive == "gpu.multi.flags" && case.devices == Some(2));
    let (Some(nccl), Some(flags)) = (nccl, flags) else {
        println!("skipped: there are no two devices with NCCL");
        return;
    };
    // NCCL works in the primary contexts, our kernels in separate contexts: each has to find its own again.
    for case in [flags, nccl, flags, nccl] {
        let measurement = measure(&mut laboratory, case);
        assert_eq!(measurement.check, Check::Ok, "{case}");
        assert!(!measurement.verdict.is_failure(), "{case}: {}", measurement.verdict);
    }
}
