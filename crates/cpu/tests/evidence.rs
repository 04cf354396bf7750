//! The instructions that are meant stand in the loops of this very program. What counts is the optimized one:
//! `cargo test --release -p syncscope-cpu --test evidence`

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::collections::BTreeMap;

use syncscope_core::{Case, Evidence, Laboratory, Preset, Refusal};
use syncscope_cpu::{CpuLaboratory, evidence_of};

/// One case for each pair of loops: threads, placement and stride change none of their instructions.
fn kinds() -> Vec<Case> {
    let laboratory = CpuLaboratory::open().unwrap();
    let mut kinds = BTreeMap::new();
    for case in laboratory.plan(Preset::Paper) {
        kinds.entry((case.primitive.clone(), case.dtype, case.order)).or_insert(case);
    }
    kinds.into_values().collect()
}

/// What is found is what was meant, or a reason says why nobody counts.
#[test]
fn every_loop_holds_what_it_is_named_for() {
    let mut surprises = Vec::new();
    for case in kinds() {
        let evidence = evidence_of(&case).unwrap();
        println!("{case}: {}", told(&evidence));
        let fine = match &evidence {
            Evidence::Present { .. } => true,
            Evidence::Elided { summary, .. } => summary.starts_with("no instruction on x86-64"),
            Evidence::Substituted { .. } => false,
            // At lower levels of optimization, parts of an operation stand in functions that the loop calls.
            Evidence::NotAvailable(reason) => {
                !reason.contains("no instruction is named") && (cfg!(debug_assertions) || !reason.contains("expected"))
            }
        };
        if !fine {
            let listing = evidence.listing().unwrap_or_default();
            surprises.push(format!("{case}: {}\n{listing}", told(&evidence)));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn told(evidence: &Evidence) -> String {
    match evidence {
        Evidence::NotAvailable(reason) => format!("not available: {reason}"),
        other => other.summary().unwrap_or_default().to_owned(),
    }
}

#[test]
fn what_does_not_exist_has_no_evidence() {
    let unknown = evidence_of(&Case::new("cpu.atomic.nothing"));
    assert!(matches!(unknown, Err(Refusal::Skipped(reason)) if reason.contains("cpu.atomic.nothing")));
    assert!(matches!(evidence_of(&Case::new("cpu.atomic.add")), Err(Refusal::Skipped(_))));
}
