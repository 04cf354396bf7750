//! One cost by two clocks on the device: chains of one operation, timed inside and by the host.
//!
//! | file | contents |
//! |---|---|
//! | this one | which chains are measured, and the laboratory's methods |
//! | `plan.rs` | chains: their programs, their repetitions, their evidence |
//! | `runner.rs` | launches of chains by both clocks |
//! | `grid.rs` | the barrier of a grid by both clocks |
//!
//! What is computed from the pairs stands in `syncscope_core::published::crosscheck`.

mod grid;
mod plan;
mod runner;

use std::time::Duration;

use syncscope_core::published::crosscheck::{CrosscheckSeries, Schedule};

pub use self::plan::chain_program;
use self::plan::{ChainCase, chain_of_a_check, chains};
use self::runner::ChainRunner;
use crate::GpuLaboratory;
use crate::cuda::compile::Program;
use crate::cuda::error::GpuError;

/// Pairs of a set of cases. The cost of a short chain is uncertain by a tenth of a microsecond of launch, and more pairs make
/// that less. Chains that take milliseconds need no more than the fewest.
const SCHEDULE: Schedule =
    Schedule { pairs_at_once: 5, fewest_pairs: 21, most_pairs: 201, budget: Duration::from_secs(2) };

/// Pairs of the check at the start of a run: some ten milliseconds. (On an H200, medians of 25 were off by up to 1.2 % from
/// outside, where the host disturbs a launch by a microsecond.)
const SCHEDULE_OF_A_CHECK: Schedule =
    Schedule { pairs_at_once: 5, fewest_pairs: 101, most_pairs: 101, budget: Duration::ZERO };

/// What the device gave, and what it could not give.
#[derive(Debug, Default)]
pub struct GpuCrosscheck {
    /// Each case with its pairs.
    pub series: Vec<CrosscheckSeries>,
    /// Why cases are missing.
    pub missing: Vec<String>,
}

impl GpuLaboratory {
    /// Measures all chains and the barrier of a grid on the first device, in about half a minute with the compilation of the
    /// longest chains. `progress` receives what comes next.
    ///
    /// # Errors
    /// When a kernel cannot be compiled, launched, or does not end.
    pub fn crosscheck(&mut self, seed: u64, progress: &mut dyn FnMut(&str)) -> Result<GpuCrosscheck, GpuError> {
        let mut found = GpuCrosscheck::default();
        let sets = chains(self.limits().max_threads);
        progress("compiling the longest chains takes seconds the first time");
        // All at once on all CPUs: the longest take seconds each.
        let programs: Vec<Program> = sets.iter().flat_map(|(_, cases)| cases).flat_map(ChainCase::programs).collect();
        self.compiler.prepare(&programs, &mut |_, _| {});
        for (name, cases) in sets {
            progress(name);
            found.series.extend(self.measure_chains(&cases, SCHEDULE, seed)?);
        }
        for threads in grid::THREADS {
            progress("grid barrier");
            match self.measure_grid_barrier(threads, SCHEDULE, seed) {
                Ok(series) => found.series.extend(series),
                Err(reason) => found.missing.push(reason),
            }
        }
        Ok(found)
    }

    /// A chain of float additions by both clocks, for the check at the start of a run.
    ///
    /// # Errors
    /// As [`Self::crosscheck`].
    pub fn check_chain(&mut self, seed: u64) -> Result<Option<CrosscheckSeries>, GpuError> {
        Ok(self.measure_chains(&[chain_of_a_check()], SCHEDULE_OF_A_CHECK, seed)?.pop())
    }

    fn measure_chains(
        &mut self,
        cases: &[ChainCase],
        schedule: Schedule,
        seed: u64,
    ) -> Result<Vec<CrosscheckSeries>, GpuError> {
        let mut runner = ChainRunner::new(self)?;
        let loaded = cases.iter().map(|case| runner.load(self, case)).collect::<Result<Vec<_>, _>>()?;
        runner.warm_up(self.limits().multiprocessors)?;
        let pairs = schedule.take(seed, cases.len(), |case, many_first| runner.pair(&loaded[case], many_first))?;
        let check = runner.check();
        let capability = self.machines.first().map(|machine| machine.compute_capability);
        let mut series = Vec::with_capacity(cases.len());
        for (case, pairs) in cases.iter().zip(pairs) {
            let evidence = case.evidence(&self.compiler.cubin(&case.many.program())?);
            let known_cycles = capability.and_then(|capability| case.known_cycles(capability));
            series.push(CrosscheckSeries { case: case.case, pairs, check: check.clone(), evidence, known_cycles });
        }
        Ok(series)
    }
}
