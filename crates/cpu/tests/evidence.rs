//! The timed loops of this program hold the expected instructions. The optimized program is the one that matters:
//! `cargo test --release -p syncscope-cpu --test evidence`

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::collections::BTreeMap;

use syncscope_core::{Case, Evidence, Laboratory, Preset, Refusal};
use syncscope_cpu::{CpuLaboratory, elided_by_nature, evidence_of};

/// One case for each pair of loops: threads, placement and stride change no instruction.
fn kinds() -> Vec<Case> {
    let laboratory = CpuLaboratory::open().unwrap();
    let mut kinds = BTreeMap::new();
    for case in laboratory.plan(Preset::Paper) {
        kinds.entry((case.primitive.clone(), case.dtype, case.order)).or_insert(case);
    }
    kinds.into_values().collect()
}

/// The expected instructions are found, or a reason says why they are not counted.
#[test]
fn every_loop_holds_the_instructions_of_its_primitive() {
    let mut differences = Vec::new();
    for case in kinds() {
        let evidence = match evidence_of(&case) {
            // An emulator knows no futexes of io_uring.
            Err(Refusal::Skipped(reason)) if case.primitive == "cpu.wake.io_uring" => {
                println!("{case}: skipped: {reason}");
                continue;
            }
            other => other.unwrap(),
        };
        println!("{case}: {}", text_of(&evidence));
        // A primitive that is declared as no instruction must not become one, and no other may be lost.
        let nature = elided_by_nature(&case.primitive, std::env::consts::ARCH);
        let fine = match &evidence {
            Evidence::Present { .. } => nature.is_none(),
            Evidence::Elided { summary, .. } => nature == Some(summary.as_str()),
            Evidence::Substituted { .. } => false,
            // Without full optimization, parts of an operation are in functions that the loop calls.
            Evidence::NotAvailable(reason) => {
                // On AArch64 the attempt to take the token is a function that the loop calls.
                let is_called = cfg!(target_arch = "aarch64") && case.primitive == "cpu.handoff.cas_pingpong";
                let is_counted = cfg!(debug_assertions) || is_called || !reason.contains("expected");
                !reason.contains("no instruction is named") && is_counted
            }
        };
        if !fine {
            let listing = evidence.listing().unwrap_or_default();
            differences.push(format!("{case}: {}\n{listing}", text_of(&evidence)));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn text_of(evidence: &Evidence) -> String {
    match evidence {
        Evidence::NotAvailable(reason) => format!("not available: {reason}"),
        other => other.summary().unwrap_or_default().to_owned(),
    }
}

#[test]
fn an_unknown_primitive_has_no_evidence() {
    let unknown = evidence_of(&Case::new("cpu.atomic.nothing"));
    assert!(matches!(unknown, Err(Refusal::Skipped(reason)) if reason.contains("cpu.atomic.nothing")));
    assert!(matches!(evidence_of(&Case::new("cpu.atomic.add")), Err(Refusal::Skipped(_))));
}
