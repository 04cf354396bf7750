//! What it costs to join partial results behind a barrier: the end of a kernel, or the barrier of a grid.
//!
//! All variants read the vector by the same code on the same grid. One atomic operation of each block needs no barrier, so
//! the time that another variant takes more, launched in the same way, is that of its barrier and of what comes after it.

use super::row::ReductionRow;
use super::variants::{Class, Operation};

/// How the kernels of a chain are launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchedBy {
    /// In a stream, while earlier ones run.
    Stream,
    /// In a stream, all of them before the first one starts.
    QueuedFirst,
    /// In one graph.
    Graph,
}

impl LaunchedBy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stream, Self::QueuedFirst, Self::Graph];

    /// For tables.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Stream => "stream, queued while kernels run",
            Self::QueuedFirst => "stream, queued first",
            Self::Graph => "one graph",
        }
    }

    /// The variants without a barrier, with the end of a kernel, and with the barrier of a grid.
    const fn variants(self) -> [&'static str; 3] {
        match self {
            Self::Stream => ["device.atomic", "device.kernel_boundary", "device.grid_cooperative"],
            Self::QueuedFirst => ["device.atomic_queued", "device.kernel_boundary_queued", "device.grid_queued"],
            Self::Graph => ["device.atomic_graph_chain", "device.graph_chain", "device.grid_graph_chain"],
        }
    }
}

/// A difference of two times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// In nanoseconds.
    pub ns: f64,
    /// Half of its 95 % interval.
    pub half_width_ns: Option<f64>,
}

/// What two barriers cost at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundary {
    /// Elements of the vector.
    pub elements: u64,
    /// How the kernels are launched.
    pub launched_by: LaunchedBy,
    /// The end of a kernel, and the kernel that joins.
    pub kernel: Option<Difference>,
    /// The barrier of the grid (cooperative groups), and the block that joins.
    pub grid: Option<Difference>,
}

/// One for each size and each way of launching that was measured, for the maximum on one device.
#[must_use]
pub fn boundaries(rows: &[ReductionRow]) -> Vec<Boundary> {
    let here = || rows.iter().filter(|row| (row.class, row.operation) == (Class::Device, Operation::Max));
    let mut sizes: Vec<u64> = here().map(|row| row.elements).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of = |elements: u64, launched_by: LaunchedBy| {
        let [without, kernel, grid] = launched_by.variants().map(|id| {
            let mut of_size = here().filter(|row| row.elements == elements);
            of_size.find(|row| row.variant == id && row.usable_ns().is_some())
        });
        let (kernel, grid) = (difference(kernel, without), difference(grid, without));
        let found = Boundary { elements, launched_by, kernel, grid };
        (found.kernel.is_some() || found.grid.is_some()).then_some(found)
    };
    sizes.into_iter().flat_map(|elements| LaunchedBy::ALL.into_iter().filter_map(move |by| of(elements, by))).collect()
}

fn difference(with: Option<&ReductionRow>, without: Option<&ReductionRow>) -> Option<Difference> {
    let (with, without) = (with?, without?);
    let half_widths = with.half_width_ns().zip(without.half_width_ns());
    Some(Difference {
        ns: with.usable_ns()? - without.usable_ns()?,
        half_width_ns: half_widths.map(|(one, other)| f64::hypot(one, other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::reductions::row::tests::row;
    use crate::published::reductions::variant;

    #[test]
    fn a_barrier_costs_what_its_variant_takes_more_than_one_launched_alike() {
        let rows = [
            row("device.atomic_queued", 1024, 2000.0),
            row("device.kernel_boundary_queued", 1024, 3500.0),
            row("device.atomic_graph_chain", 1024, 1300.0),
            row("device.graph_chain", 1024, 2500.0),
            row("device.grid_graph_chain", 1024, 2800.0),
            row("device.graph_chain", 4096, 2600.0),
        ];
        let found = boundaries(&rows);
        let short: Vec<_> = found
            .iter()
            .map(|found| (found.elements, found.launched_by, found.kernel.map(|it| it.ns), found.grid.map(|it| it.ns)))
            .collect();
        assert_eq!(
            short,
            [
                (1024, LaunchedBy::QueuedFirst, Some(1500.0), None),
                (1024, LaunchedBy::Graph, Some(1200.0), Some(1500.0)),
            ],
            "nothing is compared with a variant that was launched otherwise, or at another size"
        );
        // 1 % of each, together.
        let half_width = found[0].kernel.unwrap().half_width_ns.unwrap();
        assert!((half_width - f64::hypot(20.0, 35.0)).abs() < 1e-9, "{half_width}");
    }

    #[test]
    fn wrong_results_sums_and_other_classes_do_not_count() {
        let wrong = ReductionRow { check: Some(false), ..row("device.graph_chain", 1024, 2500.0) };
        let sum = ReductionRow { operation: Operation::Sum, ..row("device.graph_chain", 1024, 2500.0) };
        let rows = [row("device.atomic_graph_chain", 1024, 1300.0), wrong, sum, row("devices.graph_chain", 1024, 1.0)];
        assert_eq!(boundaries(&rows), []);
    }

    #[test]
    fn every_way_of_launching_has_three_variants_of_one_device() {
        for id in LaunchedBy::ALL.into_iter().flat_map(LaunchedBy::variants) {
            assert!(variant(id).is_some_and(|found| found.class == Class::Device), "{id}");
        }
    }
}
