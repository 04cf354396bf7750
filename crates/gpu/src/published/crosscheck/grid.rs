//! The barrier of a grid by both clocks: the project's own, in its own kernels with their checks.

use syncscope_core::published::crosscheck::{
    BASIC_REPEATS, BothClocks, CrosscheckCase, CrosscheckPair, CrosscheckSeries, Executor, Form, Operation,
    REPEAT_DIFFERENCES, Schedule,
};
use syncscope_core::{Case, Check, Experiment, ExperimentError, Shot, Side};

use crate::GpuLaboratory;
use crate::catalogue::program_of;
use crate::experiments::grid_barrier::{BothClocksOfLaunch, GridBarrierExperiment, TimedBy};
use crate::multi::LIMIT;

/// Threads of each block; there is one block on each multiprocessor, as in the first line of the paper's table 8.
pub(super) const THREADS: [u32; 2] = [32, 256];

impl GpuLaboratory {
    /// The barrier that `grid_group::sync` is, on one block of so many threads for each multiprocessor.
    ///
    /// # Errors
    /// Why it cannot be measured, for people.
    pub(super) fn measure_grid_barrier(
        &mut self,
        threads: u32,
        schedule: Schedule,
        seed: u64,
    ) -> Result<Vec<CrosscheckSeries>, String> {
        let blocks = self.limits().multiprocessors;
        let case = Case { threads: Some(threads), blocks: Some(blocks), ..Case::new("gpu.grid.cooperative") };
        let program = program_of(&case).ok_or("there is no grid barrier in this version")?;
        // One memory offset for each launch: its repetitions are then those of the paper.
        let experiment = self.grid_barrier_at_offsets(&case, &program, TimedBy::Host, LIMIT, 1);
        let mut experiment =
            experiment.map_err(|refusal| format!("grid barrier of {blocks} blocks of {threads}: {refusal}"))?;
        let unroll = u64::from(experiment.unroll());
        let mut number = 0;
        let pairs = schedule.take(seed, REPEAT_DIFFERENCES.len(), |at, many_first| {
            number += 1;
            pair(&mut experiment, number, (REPEAT_DIFFERENCES[at], unroll), many_first)
        });
        let pairs = pairs.map_err(|error| format!("grid barrier of {blocks} blocks of {threads}: {error}"))?;
        let check = match experiment.check() {
            Check::Ok => Some("ok".to_owned()),
            Check::Failed(reason) => Some(reason),
            Check::NotApplicable => None,
        };
        let evidence = experiment.evidence().summary().map(str::to_owned);
        let series = REPEAT_DIFFERENCES.iter().zip(pairs).map(|(difference, pairs)| CrosscheckSeries {
            case: CrosscheckCase {
                executor: Executor::Gpu,
                operation: Operation::GridBarrier,
                form: Form::Looped,
                body: unroll,
                blocks: Some(blocks),
                threads: Some(threads),
                few: BASIC_REPEATS,
                many: BASIC_REPEATS + difference,
            },
            pairs,
            check: check.clone(),
            evidence: evidence.clone(),
            known_cycles: None,
        });
        Ok(series.collect())
    }
}

/// Few and many barriers at the same memory offset, that of the pair.
fn pair(
    experiment: &mut GridBarrierExperiment<'_>,
    pair: u64,
    (difference, unroll): (u64, u64),
    many_first: bool,
) -> Result<CrosscheckPair, ExperimentError> {
    let mut launch =
        |repeats: u64| experiment.by_both_clocks(Shot { side: Side::Baseline, iterations: repeats / unroll, pair });
    let repeats = [BASIC_REPEATS, BASIC_REPEATS + difference];
    let (few, many) = if many_first {
        let many = launch(repeats[1])?;
        (launch(repeats[0])?, many)
    } else {
        (launch(repeats[0])?, launch(repeats[1])?)
    };
    let side = |times: BothClocksOfLaunch| BothClocks {
        outside_ns: times.host_ns as f64,
        inside_cycles: times.device_cycles.0 as f64,
    };
    // That of the longer launch: the end of the global timer's step counts for less there.
    let ns_per_cycle = many.ns_per_cycle.or(few.ns_per_cycle);
    let ns_per_cycle =
        ns_per_cycle.ok_or_else(|| ExperimentError::Failed("the global timer does not advance".to_owned()))?;
    Ok(CrosscheckPair { many_first, few: side(few), many: side(many), cycles_per_ns: 1.0 / ns_per_cycle })
}
