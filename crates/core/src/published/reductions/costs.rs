//! Costs of operations of the catalogue: from the rows of a run, or measured for the purpose.

use serde::{Deserialize, Serialize};

use super::terms::Term;
use crate::model::case::Case;
use crate::model::verdict::Verdict;
use crate::run::row::Row;

/// Where the costs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// Measured by this command.
    Here,
    /// Rows of a run.
    Run,
}

/// The cost of one operation of a term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyncCost {
    /// Id of the primitive.
    pub primitive: String,
    /// The case it was measured in.
    pub case: String,
    /// Where it was measured.
    pub source: CostSource,
    /// Nanoseconds of one operation.
    pub ns: f64,
    /// Lower end of the 95 % interval.
    pub ns_low: f64,
    /// Upper end.
    pub ns_high: f64,
}

/// Costs by case.
#[derive(Debug, Clone, Default)]
pub struct Costs {
    rows: Vec<Row>,
    source: Option<CostSource>,
}

impl Costs {
    /// Those of the rows that have a figure. `Noisy` ones count with their interval.
    #[must_use]
    pub fn of(rows: Vec<Row>, source: CostSource) -> Self {
        let has_figure =
            |row: &Row| matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_) | Verdict::NonAdditive(_));
        let rows =
            rows.into_iter().filter(|row| row.ns.is_some_and(|ns| ns.value() > 0.0) && has_figure(row)).collect();
        Self { rows, source: Some(source) }
    }

    /// The cost of one operation of a term: that of the same case; where there is none, that of the case of the same
    /// primitive, type, mode and group whose grid is the nearest.
    #[must_use]
    pub fn of_term(&self, term: &Term) -> Option<SyncCost> {
        let candidates = self.rows.iter().filter(|row| is_same_operation(&row.case, &term.case));
        let row = candidates.min_by(|a, b| distance(&a.case, &term.case).total_cmp(&distance(&b.case, &term.case)))?;
        let ns = row.ns?.value();
        let interval = row.ns_interval.or(row.ns_within);
        let (low, high) = interval.map_or((ns, ns), |interval| (interval.low, interval.high));
        // An overlapping term counts operations of all threads together.
        let share = if term.overlaps { row.case.actors().max(1) as f64 } else { 1.0 };
        Some(SyncCost {
            primitive: row.case.primitive.clone(),
            case: row.case.to_string(),
            source: self.source?,
            ns: ns / share,
            ns_low: low / share,
            ns_high: high / share,
        })
    }
}

/// Whether two cases differ in nothing but their grid. What the wanted case leaves open may be anything.
fn is_same_operation(found: &Case, wanted: &Case) -> bool {
    found.primitive == wanted.primitive
        && (wanted.dtype.is_none() || found.dtype == wanted.dtype)
        && (wanted.layout.is_none() || found.layout == wanted.layout)
        && (wanted.space.is_none() || found.space == wanted.space)
        && (wanted.scope.is_none() || found.scope == wanted.scope)
        && (wanted.mode.is_none() || found.mode == wanted.mode)
        && (wanted.group.is_none() || is_same_group(found, wanted))
        && found.form == wanted.form
        && found.devices.unwrap_or(1) == wanted.devices.unwrap_or(1)
}

/// Kernels of any length but zero are one group: the preset `quick` has one length.
fn is_same_group(found: &Case, wanted: &Case) -> bool {
    use crate::model::group::Group::KernelUs;
    matches!((&found.group, &wanted.group), (Some(KernelUs(_)), Some(KernelUs(_)))) || found.group == wanted.group
}

/// How far the grid of one case is from that of another: in factors of two of blocks, threads and length of the kernel.
fn distance(found: &Case, wanted: &Case) -> f64 {
    use crate::model::group::Group::KernelUs;
    let steps = |found: Option<u32>, wanted: Option<u32>| match (found, wanted) {
        (Some(found), Some(wanted)) => (f64::from(found.max(1)) / f64::from(wanted.max(1))).log2().abs(),
        // The largest grid of those that are left open.
        (Some(found), None) => 1.0 / f64::from(found.max(1)),
        _ => 0.0,
    };
    let length = |case: &Case| match case.group {
        Some(KernelUs(length)) => Some(length),
        _ => None,
    };
    let of_length = if length(wanted).is_some() { steps(length(found), length(wanted)) } else { 0.0 };
    // Blocks matter most to barriers of a grid, and threads hardly.
    2.0 * steps(found.blocks, wanted.blocks) + steps(found.threads, wanted.threads) + of_length
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::group::Group;
    use crate::stats::Interval;
    use crate::units::Nanoseconds;

    pub(in crate::published::reductions) fn measured(case: Case, ns: f64) -> Row {
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns * 0.98, high: ns * 1.02 }),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    fn barrier(blocks: u32, threads: u32) -> Case {
        Case { blocks: Some(blocks), threads: Some(threads), ..Case::new("gpu.grid.cooperative") }
    }

    fn term(case: Case) -> Term {
        Term { case, count: 1.0, overlaps: false }
    }

    #[test]
    fn the_same_case_counts_before_the_nearest_one() {
        let rows = [(132, 32, 900.0), (132, 1024, 1000.0), (264, 512, 1290.0)];
        let rows = rows.map(|(blocks, threads, ns)| measured(barrier(blocks, threads), ns));
        let costs = Costs::of(rows.to_vec(), CostSource::Run);
        let of = |blocks, threads| costs.of_term(&term(barrier(blocks, threads))).map(|cost| cost.ns);
        assert_eq!(of(264, 512), Some(1290.0));
        assert_eq!(of(132, 512), Some(1000.0));
        assert_eq!(of(132, 64), Some(900.0));
        assert_eq!(costs.of_term(&term(Case::new("gpu.grid.counter"))), None);
    }

    #[test]
    fn rows_without_a_figure_do_not_count() {
        let skipped = Row::unmeasured(barrier(264, 512), Verdict::Skipped("too large".to_owned()));
        let zero = measured(barrier(264, 512), 0.0);
        let costs = Costs::of(vec![skipped, zero], CostSource::Here);
        assert_eq!(costs.of_term(&term(barrier(264, 512))), None);
    }

    #[test]
    fn an_overlapping_term_counts_the_operations_of_all_threads() {
        let case = Case { blocks: Some(264), threads: Some(1024), ..Case::new("gpu.atomic.max") };
        let costs = Costs::of(vec![measured(case, 6000.0)], CostSource::Here);
        let each = Term { case: Case::new("gpu.atomic.max"), count: 1e6, overlaps: true };
        let cost = costs.of_term(&each).unwrap();
        assert!((cost.ns - 6000.0 / (264.0 * 1024.0)).abs() < 1e-12, "{cost:?}");
    }

    #[test]
    fn launches_are_those_beside_kernels_of_the_nearest_length() {
        let launch =
            |group| Case { blocks: Some(1), threads: Some(32), group: Some(group), ..Case::new("gpu.launch.stream") };
        let rows = vec![
            measured(launch(Group::EmptyKernel), 1500.0),
            measured(launch(Group::KernelUs(5)), 2700.0),
            measured(launch(Group::KernelUs(20)), 2800.0),
        ];
        let costs = Costs::of(rows, CostSource::Run);
        let of = |length| costs.of_term(&term(launch(Group::KernelUs(length)))).map(|cost| cost.ns);
        assert_eq!([of(2), of(5), of(18)], [Some(2700.0), Some(2700.0), Some(2800.0)]);
    }
}
