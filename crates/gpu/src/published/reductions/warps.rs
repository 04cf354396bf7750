//! Sums within a warp: tile groups and coalesced groups (Zhang, Wahib and Matsuoka, figures 3 and 4), beside shuffles and
//! the reduce instruction.

use syncscope_core::published::reductions::{WarpMethod, WarpRow};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Check, Engine, Evidence, Settings, Verdict};
use syncscope_sass::{Cubin, timed_region};

use std::time::Duration;

use crate::GpuLaboratory;
use crate::cuda::compile::Program;
use crate::launch::arguments::UNROLL;
use crate::launch::request::Shape;

/// Sums in one iteration of the baseline: fewer than other operations, because one has dozens of instructions.
const SUMS: u32 = 4;

/// The experiment counts [`UNROLL`] operations in one iteration.
const SUMS_OF_ONE: f64 = UNROLL as f64 / SUMS as f64;

/// Threads of the one block: for the latency and for the throughput, as in section 4.1 of the paper.
const THREADS: [u32; 2] = [32, 1024];

const RULE: PrecisionRule =
    PrecisionRule { precision: 0.005, min_pairs: 8, max_pairs: 40, max_time: Duration::from_millis(200) };

/// What the evidence counts: how values move, and how threads wait.
const COUNTED: [&str; 8] = ["SHFL", "REDUX.SUM", "CREDUX", "LDS", "STS", "WARPSYNC", "MATCH.ANY", "BRA.CONV"];

/// The kernels of a method.
#[must_use]
pub fn warp_program(method: WarpMethod) -> Program {
    let name = match method {
        WarpMethod::Tile => "TILE",
        WarpMethod::Coalesced => "COALESCED",
        WarpMethod::Shuffle => "SHUFFLE",
        WarpMethod::Reduce => "REDUCE",
    };
    Program {
        file: "reduction_warp.cu",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/reduction_warp.cu")),
        definitions: vec![format!("METHOD={name}"), format!("SYNCSCOPE_UNROLL={SUMS}")],
    }
}

/// The instructions of one sum, such as `SHFL 5`: what the test has more of than the baseline, for each sum.
#[must_use]
pub fn warp_instructions(cubin: &[u8]) -> Option<String> {
    let cubin = Cubin::parse(cubin).ok()?;
    let [baseline, test] = ["baseline", "test"].map(|name| timed_region(cubin.kernel(name)?).ok());
    let (baseline, test) = (baseline?, test?);
    let of_one = |name: &str| {
        let more = test.count(name).saturating_sub(baseline.count(name)) as f64;
        (name.to_owned(), more / f64::from(SUMS))
    };
    let counted = COUNTED.map(of_one).into_iter().filter(|(_, count)| *count > 0.0);
    let words: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

impl GpuLaboratory {
    /// Measures every method with one warp and with 32.
    pub fn warp_reductions(&mut self, seed: u64) -> Vec<WarpRow> {
        let capability = self.machines.first().map_or((0, 0), |machine| machine.compute_capability);
        let cells = WarpMethod::ALL.into_iter().flat_map(|method| THREADS.map(|threads| (method, threads)));
        let cells: Vec<(WarpMethod, u32)> = cells.collect();
        cells
            .into_iter()
            .map(|(method, threads)| {
                let empty = WarpRow {
                    method,
                    threads,
                    cycles: None,
                    cycles_low: None,
                    cycles_high: None,
                    ns: None,
                    check: None,
                    evidence: None,
                    reason: None,
                };
                if method == WarpMethod::Reduce && capability < (8, 0) {
                    let reason = Some("needs compute capability 8.0".to_owned());
                    return WarpRow { reason, ..empty };
                }
                self.warp_reduction(&empty, seed).unwrap_or_else(|reason| WarpRow { reason: Some(reason), ..empty })
            })
            .collect()
    }

    fn warp_reduction(&mut self, empty: &WarpRow, seed: u64) -> Result<WarpRow, String> {
        let program = warp_program(empty.method);
        let cubin = self.compiler.cubin(&program).map_err(|error| error.to_string())?;
        let evidence = warp_instructions(&cubin);
        let found = Evidence::NotAvailable("counted in the row".to_owned());
        let shape = Shape { blocks: 1, threads: empty.threads };
        let mut experiment = self.loop_in_kernel(&program, found, shape).map_err(|refusal| refusal.to_string())?;
        let engine = Engine::new(Settings::with_rule(RULE), Cancel::new());
        let measurement = engine.measure(experiment.as_mut(), seed).map_err(|cancelled| cancelled.to_string())?;
        let estimate = measurement.estimate.as_ref();
        let cycles = estimate.and_then(|estimate| estimate.cycles_interval);
        let check = match &measurement.check {
            Check::Ok => Some(true),
            Check::Failed(_) => Some(false),
            Check::NotApplicable => None,
        };
        let reason = match (&measurement.check, &measurement.verdict) {
            (Check::Failed(reason), _) => Some(reason.clone()),
            (_, Verdict::Resolved) => None,
            (_, verdict) => Some(verdict.reason().to_owned()),
        };
        Ok(WarpRow {
            cycles: estimate.and_then(|estimate| estimate.cycles).map(|cycles| cycles.value() * SUMS_OF_ONE),
            cycles_low: cycles.map(|interval| interval.low * SUMS_OF_ONE),
            cycles_high: cycles.map(|interval| interval.high * SUMS_OF_ONE),
            ns: estimate.map(|estimate| estimate.ns.value() * SUMS_OF_ONE),
            check,
            evidence,
            reason,
            ..empty.clone()
        })
    }
}
