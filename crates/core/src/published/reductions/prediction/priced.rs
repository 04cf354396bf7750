//! Variants with the costs of their terms.

use super::super::costs::{Costs, SyncCost};
use super::super::row::ReductionRow;
use super::super::terms::{Term, terms_of};

/// The sum of a variant's terms.
pub(super) struct Priced<'a> {
    pub(super) row: &'a ReductionRow,
    pub(super) ns: f64,
    /// What it takes longer than at the smallest size: reading the vector.
    pub(super) reading_ns: f64,
    pub(super) half_width_ns: Option<f64>,
    pub(super) terms: Vec<(Term, Option<SyncCost>)>,
}

impl<'a> Priced<'a> {
    pub(super) fn of(row: &'a ReductionRow, rows: &[ReductionRow], kernel_us: u32, costs: &Costs) -> Option<Self> {
        let ns = row.usable_ns()?;
        let is_same = |other: &&ReductionRow| {
            other.variant == row.variant && (other.operation, other.devices) == (row.operation, row.devices)
        };
        let shortest = rows.iter().filter(is_same).filter_map(ReductionRow::usable_ns).fold(ns, f64::min);
        let terms = terms_of(row, kernel_us)?;
        let terms =
            terms.into_iter().map(|term| (costs.of_term(&term), term)).map(|(cost, term)| (term, cost)).collect();
        Some(Self { row, ns, reading_ns: ns - shortest, half_width_ns: row.half_width_ns(), terms })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.terms.iter().all(|(_, cost)| cost.is_some())
    }

    /// Sum of the terms that overlap with reading, or of the others, and half of its interval.
    pub(super) fn sum(&self, overlaps: bool) -> (f64, f64) {
        let terms = self.terms.iter().filter(|(term, _)| term.overlaps == overlaps);
        terms.fold((0.0, 0.0), |(sum, half_width), (term, cost)| match cost {
            Some(cost) => {
                let width = term.count * (cost.ns_high - cost.ns_low) / 2.0;
                (term.count.mul_add(cost.ns, sum), f64::hypot(half_width, width))
            }
            None => (sum, half_width),
        })
    }
}

/// Length of the launch cases whose kernels last about as long, in microseconds: those of the catalogue.
#[must_use]
pub fn kernel_us(ns: f64) -> u32 {
    match ns {
        ns if ns < 3_200.0 => 2,
        ns if ns < 10_000.0 => 5,
        _ => 20,
    }
}

/// The priced variants of one class, operation and size; all with launches beside kernels of one length.
pub(super) fn priced<'a>(problem: &[&'a ReductionRow], rows: &[ReductionRow], costs: &Costs) -> Vec<Priced<'a>> {
    let fastest = problem.iter().filter_map(|row| row.usable_ns()).fold(f64::INFINITY, f64::min);
    problem.iter().filter_map(|row| Priced::of(row, rows, kernel_us(fastest), costs)).collect()
}

/// The rows of each problem, in the order of the problems.
pub(super) fn by_size(rows: &[ReductionRow]) -> Vec<Vec<&ReductionRow>> {
    let mut sorted: Vec<&ReductionRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.problem());
    sorted.chunk_by(|a, b| a.problem() == b.problem()).map(<[&ReductionRow]>::to_vec).collect()
}

/// The difference of two variants' terms and half of its interval. What overlaps with reading counts as far as it takes
/// longer than reading.
pub(super) fn predicted_difference(variant: &Priced<'_>, reference: &Priced<'_>) -> (f64, f64) {
    let (added, added_width) = variant.sum(false);
    let (of_reference, of_reference_width) = reference.sum(false);
    let reading = reference.reading_ns;
    let exceeds = |priced: &Priced<'_>| {
        let (ns, half_width) = priced.sum(true);
        if ns > reading { (ns - reading, half_width) } else { (0.0, 0.0) }
    };
    let ((over, over_width), (reference_over, _)) = (exceeds(variant), exceeds(reference));
    let half_width = added_width.hypot(of_reference_width).hypot(over_width);
    (added - of_reference + over - reference_over, half_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_as_long_as_those_of_the_catalogue() {
        assert_eq!([1_500.0, 4_000.0, 9_000.0, 250_000.0].map(kernel_us), [2, 5, 5, 20]);
    }
}
