//! Reductions of a vector on the CPU: the largest of 32-bit integers, by a team of threads.
//!
//! The variants are in `joining.rs`, one type each; `work.rs` makes jobs of them. OpenMP's `reduction(max:)` has no entry of
//! its own in the runtime. GCC compiles it to a parallel region in which every thread reduces its part and then joins it by
//! an atomic compare-and-swap or, for other types and several variables, in a critical section; the region ends with a
//! barrier. That is what the variants `openmp_atomic` and `openmp_critical` do, on the runtime's threads. The start of the
//! region is no part of the time.

mod joining;
mod work;

use std::sync::Arc;
use std::time::Duration;

use syncscope_core::published::reductions::sampling::{PairedTimes, Sampling, paired_times};
use syncscope_core::published::reductions::variants::of_class;
use syncscope_core::published::reductions::{Class, ELEMENT_BYTES, Operation, ReductionRow, Variant};
use syncscope_core::{Placement, Shot, Side};

use self::work::{MOST_REDUCTIONS, On};
use crate::CpuLaboratory;
use crate::team::openmp;
use crate::team::{Body, Executor, TeamError};

/// What is measured.
#[derive(Debug, Clone)]
pub struct ReductionPlan {
    /// Elements of each vector, in increasing order.
    pub sizes: Vec<u64>,
    /// The time for all of it.
    pub time: Duration,
    /// Decides the order within pairs.
    pub seed: u64,
}

/// A chain that takes longer is a failure.
const LIMIT: Duration = Duration::from_secs(30);

/// Reductions that the fewest pairs of chains of one reduction are made of (`sampling`): 1 + 1 + 1 + 2 and seven times 3.
const FEWEST: f64 = 26.0;

/// A variant that would take longer at one size than this is not measured there.
const LONGEST_CELL: Duration = Duration::from_millis(800);

impl CpuLaboratory {
    /// Measures every variant at every size, on all CPUs that this process may use. Where a variant would take too long, its
    /// larger sizes are left out with the reason.
    pub fn reductions(&mut self, plan: &ReductionPlan, progress: &mut dyn FnMut(&str, u64)) -> Vec<ReductionRow> {
        let threads = (self.topology().allowed_cpus().len() as u32).max(1);
        // A quarter of the memory leaves enough for others.
        let room = self.memory_bytes().map_or(u64::MAX, |bytes| bytes / 4 / ELEMENT_BYTES);
        let fitting = plan.sizes.iter().copied().filter(|size| (1..=room).contains(size));
        let fitting: Vec<usize> = fitting.filter_map(|size| usize::try_from(size).ok()).collect();
        let vector = work::vector(&fitting);
        let cells = plan.sizes.len() * of_class(Class::Cpu).count();
        let each = plan.time / u32::try_from(cells.max(1)).unwrap_or(u32::MAX);
        let mut rows = Vec::new();
        for (number, elements) in fitting.iter().copied().enumerate() {
            let expected = work::largest_of(number);
            for variant in of_class(Class::Cpu) {
                progress(variant.id, elements as u64);
                let cell = Cell { variant, vector: &vector, elements, expected, threads, each, seed: plan.seed };
                rows.push(self.cell(&cell, &rows));
            }
        }
        for size in plan.sizes.iter().skip(fitting.len()) {
            let reason = format!("the vector would take more than a quarter of the memory ({room} elements)");
            let missing = |variant| ReductionRow::unmeasured(variant, Operation::Max, *size, reason.clone());
            rows.extend(of_class(Class::Cpu).map(missing));
        }
        rows
    }

    fn cell(&mut self, cell: &Cell<'_>, earlier: &[ReductionRow]) -> ReductionRow {
        let unmeasured = |reason| ReductionRow::unmeasured(cell.variant, Operation::Max, cell.elements as u64, reason);
        if let Some(expected) = expected_time(cell, earlier).filter(|expected| *expected > LONGEST_CELL) {
            return unmeasured(format!("would take {:.0} s", expected.as_secs_f64().max(1.0)));
        }
        match self.measured(cell) {
            Ok((times, threads)) => {
                let row = unmeasured(String::new()).with_times(&times.ns, times.chain);
                ReductionRow { threads: Some(threads), check: Some(true), reason: None, ..row }
            }
            Err(reason) => ReductionRow { check: Some(false), ..unmeasured(reason) },
        }
    }

    fn measured(&mut self, cell: &Cell<'_>) -> Result<(PairedTimes, u32), String> {
        let on = On::of(cell.variant.id);
        let threads = if matches!(on, On::OneThread) { 1 } else { cell.threads };
        let runtime = match on {
            On::OpenMp => Some(openmp::runtime(openmp::USUAL)?),
            On::OneThread | On::Team => None,
        };
        let ns_per_tick = self.clock().ns_per_tick();
        let team = self.team(&Placement::Close, threads, runtime)?;
        let job = work::job(cell.variant.id, cell.vector, (cell.elements, cell.expected), threads, runtime);
        let job = job.ok_or_else(|| format!("there is no variant {}", cell.variant.id))?;
        let sampling = Sampling { time: cell.each, longest: MOST_REDUCTIONS as u64, seed: cell.seed };
        let times = paired_times(sampling, |count| chain_ns(team, &job, count, ns_per_tick));
        Ok((times?, threads))
    }
}

/// One variant at one size.
struct Cell<'a> {
    variant: &'static Variant,
    vector: &'a Arc<[i32]>,
    elements: usize,
    /// The known answer.
    expected: i32,
    threads: u32,
    each: Duration,
    seed: u64,
}

/// The time of the fewest pairs, if a reduction takes as long for each element as at the size before.
fn expected_time(cell: &Cell<'_>, earlier: &[ReductionRow]) -> Option<Duration> {
    let before = earlier.iter().rev().find(|row| row.variant == cell.variant.id)?;
    let Some(ns) = before.ns else {
        // It was too long before.
        return before.check.is_none().then_some(Duration::MAX);
    };
    let growth = cell.elements as f64 / before.elements.max(1) as f64;
    Duration::try_from_secs_f64(FEWEST * ns * growth * 1e-9).ok()
}

/// Runs a chain of so many reductions: from the first thread that starts to the last that ends, in nanoseconds.
fn chain_ns(team: &mut dyn Executor, job: &Arc<dyn Body>, count: u64, ns_per_tick: f64) -> Result<f64, String> {
    let shot = Shot { side: Side::Test, iterations: count, pair: 0 };
    let records = team.run(job, &[shot], LIMIT).map_err(|error: TeamError| error.to_string())?;
    let records: Vec<_> = records.into_iter().flatten().collect();
    if let Some(defect) = records.iter().find_map(|record| record.defect.clone()) {
        return Err(defect);
    }
    let started = records.iter().map(|record| record.started.0).min().unwrap_or(0);
    let stopped = records.iter().map(|record| record.stopped.0).max().unwrap_or(0);
    Ok(stopped.saturating_sub(started) as f64 * ns_per_tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::published::reductions::variant;

    #[test]
    fn every_variant_is_measured_or_says_why_not() {
        let mut laboratory = CpuLaboratory::open().unwrap();
        let plan = ReductionPlan { sizes: vec![1, 1000], time: Duration::from_millis(100), seed: 7 };
        let rows = laboratory.reductions(&plan, &mut |_, _| {});
        assert_eq!(rows.len(), 2 * of_class(Class::Cpu).count());
        for row in &rows {
            assert!(row.check == Some(true) && row.ns.is_some() || row.reason.is_some(), "{row:?}");
        }
        // The larger vector is left out where a busy machine would take too long.
        let measured = rows.iter().filter(|row| row.elements == 1 && row.check == Some(true)).count();
        assert!(measured >= 8, "{rows:?}");
    }

    #[test]
    fn what_would_take_too_long_is_left_out() {
        let vector: Arc<[i32]> = vec![0].into();
        let variant = variant("cpu.atomic_per_element").unwrap();
        let cell = |elements| Cell {
            variant,
            vector: &vector,
            elements,
            expected: 0,
            threads: 2,
            each: Duration::ZERO,
            seed: 0,
        };
        let before = ReductionRow::unmeasured(variant, Operation::Max, 1024, String::new());
        let before = ReductionRow { check: Some(true), ..before }.with_times(&[1e6], 1);
        let expected = |elements, rows: &[ReductionRow]| expected_time(&cell(elements), rows);
        assert_eq!(expected(4096, std::slice::from_ref(&before)), Some(Duration::from_millis(104)));
        assert_eq!(expected(4096, &[]), None);
        let left_out = ReductionRow::unmeasured(variant, Operation::Max, 4096, "would take 9 s".to_owned());
        assert_eq!(expected(16_384, &[before, left_out]), Some(Duration::MAX));
    }
}
