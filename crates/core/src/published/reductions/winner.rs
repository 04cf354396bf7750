//! The fastest variant of each size.

use serde::{Deserialize, Serialize};

use super::row::ReductionRow;
use super::variants::{Class, Operation};

/// The fastest variant of a class at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Winner {
    /// The class.
    pub class: Class,
    /// The operation.
    pub operation: Operation,
    /// Elements of the vector.
    pub elements: u64,
    /// GPUs that take part.
    pub devices: Option<u32>,
    /// Id of the fastest variant.
    pub variant: String,
    /// Its time in nanoseconds.
    pub ns: f64,
    /// Id of the second, if there is one.
    pub runner_up: Option<String>,
    /// The time of the second over that of the first.
    pub margin: Option<f64>,
    /// Variants whose intervals overlap with that of the fastest: the measurement does not distinguish them.
    pub ties: Vec<String>,
}

/// The winner of each class, operation, number of GPUs and size, in this order.
#[must_use]
pub fn winners(rows: &[ReductionRow]) -> Vec<Winner> {
    let mut problems: Vec<(Class, Operation, u32, u64)> = rows.iter().map(ReductionRow::problem).collect();
    problems.sort_unstable();
    problems.dedup();
    problems.into_iter().filter_map(|problem| winner(rows, problem)).collect()
}

fn winner(rows: &[ReductionRow], problem: (Class, Operation, u32, u64)) -> Option<Winner> {
    let here = rows.iter().filter(|row| row.problem() == problem);
    let mut times: Vec<(f64, &ReductionRow)> = here.filter_map(|row| Some((row.usable_ns()?, row))).collect();
    times.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let ((ns, first), others) = times.split_first()?;
    let high = first.ns_high.unwrap_or(*ns);
    let is_tie = |row: &&ReductionRow| row.ns_low.is_some_and(|low| low <= high);
    let second = others.first();
    Some(Winner {
        class: first.class,
        operation: first.operation,
        elements: first.elements,
        devices: first.devices,
        variant: first.variant.clone(),
        ns: *ns,
        runner_up: second.map(|(_, row)| row.variant.clone()),
        margin: second.map(|(time, _)| time / ns),
        ties: others.iter().map(|(_, row)| *row).filter(is_tie).map(|row| row.variant.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::reductions::row::tests::row;

    #[test]
    fn the_fastest_wins_and_those_within_its_interval_tie() {
        let rows = [
            row("device.atomic", 1024, 1000.0),
            row("device.graph", 1024, 1015.0),
            row("device.grid_counter", 1024, 1500.0),
            row("cpu.lock", 1024, 10.0),
            row("device.atomic", 4096, 1100.0),
            row("device.graph", 4096, 900.0),
        ];
        let found = winners(&rows);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].variant.as_str(), found[0].elements), ("device.atomic", 1024));
        assert_eq!(found[0].ties, ["device.graph"]);
        assert!((found[0].margin.unwrap() - 1.015).abs() < 1e-9);
        assert_eq!((found[1].variant.as_str(), found[1].ties.len()), ("device.graph", 0));
        assert_eq!((found[2].class, found[2].runner_up.clone()), (Class::Cpu, None));
    }

    #[test]
    fn wrong_results_do_not_win() {
        let wrong = ReductionRow { check: Some(false), ..row("device.atomic", 1024, 1.0) };
        let rows = [wrong, row("device.graph", 1024, 900.0)];
        assert_eq!(winners(&rows)[0].variant, "device.graph");
        assert!(winners(&rows[..1]).is_empty());
    }
}
