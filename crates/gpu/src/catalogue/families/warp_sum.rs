//! Sums within a warp, by the operation that moves the values between threads.

use super::prelude::*;
use crate::catalogue::recipe::Operation;

/// Sums in one iteration of the baseline: fewer than for other operations, because one sum has dozens of instructions.
const SUMS: u32 = 4;

/// One block: one warp for the latency and 32 for the throughput (Zhang, Wahib and Matsuoka, section 4.1).
const PLAN: &[PlanRow] = &[on(BEYOND_QUICK, Grids::Blocks(&[1]))
    .dtypes(&[Dtype::I32])
    .groups(&[(Operation::Sum.as_str(), &[])])
    .elements(&[32])];

const FACTS: Facts =
    Facts { mode: Mode::Latency, actor: ActorRule::Slowest, at_once: OperationsAtOnce::OfOneIn(32), ..WARP_COLLECTIVE };

/// Each step of the figures' programs reads one value of another thread.
const SUM: Entry = Entry {
    operation: "one sum reduction per warp",
    source: "Zhang, Wahib and Matsuoka, figures 3 and 4",
    definitions: |case| vec![format!("METHOD={}", name_of(case).trim_start_matches("warp_").to_uppercase())],
    expected: |_| ExpectedInstructions::of(&["LDS"]).times(5),
    plan: PLAN,
    unroll: |_| SUMS,
    ..Entry::of(Kernel::of("reduction_warp.cu", ArgumentKind::Register), Proof::Trial, FACTS)
};

entries! {
    "gpu.reduction.warp_tile" like SUM:
    "Warp sum through shared memory, with tile groups that halve in size at each step";

    "gpu.reduction.warp_coalesced" like SUM:
    "Warp sum through shared memory, with coalesced groups that halve in size at each step";

    "gpu.reduction.warp_shuffle" like SUM: "Warp sum by five shuffles",
    expected: |_| ExpectedInstructions::of(&["SHFL"]).times(5);

    "gpu.reduction.warp_reduce" like SUM: "Warp sum by one reduce instruction",
    expected: |_| ExpectedInstructions::of(&["REDUX.SUM", "CREDUX"]),
    needs: (8, 0);
}
