//! What follows from the times alone: the cost of barriers, and what a paper states of its listing.

use syncscope_core::Row;
use syncscope_report::{Finding, Outcome, Paper, grouped, time};

use super::{Class, Measured, measured};

/// Two times of one size, the second launched like the first: one atomic operation of each block needs no barrier, so what
/// another variant takes more is the cost of its barrier and of what comes after it.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    pub(super) elements: u64,
    /// How the kernels of a chain are launched.
    pub(super) launched_by: &'static str,
    /// The end of a kernel, and the kernel that joins; with half of the interval.
    pub(super) kernel: Option<(f64, f64)>,
    /// The barrier of the grid (cooperative groups), and the block that joins.
    pub(super) grid: Option<(f64, f64)>,
}

/// Where launches do not depend on the host.
pub(super) const ONE_GRAPH: &str = "one graph";

/// Ways to launch: the variants without a barrier, with the end of a kernel, and with the barrier of a grid.
const LAUNCHED_BY: [(&str, [&str; 3]); 3] = [
    ("stream, queued while kernels run", ["atomic", "kernel_boundary", "grid_cooperative"]),
    ("stream, queued first", ["atomic_queued", "kernel_boundary_queued", "grid_queued"]),
    (ONE_GRAPH, ["atomic_graph_chain", "graph_chain", "grid_graph_chain"]),
];

/// One for each size and each way of launching that was measured.
pub(super) fn boundaries(rows: &[Row]) -> Vec<Boundary> {
    let all = measured(rows);
    let sizes = all.chunk_by(|one, other| one.problem() == other.problem()).filter(|of| of[0].class == Class::Device);
    let of_size = |of_size: &[Measured<'_>]| {
        LAUNCHED_BY.map(|(launched_by, names)| {
            let [without, kernel, grid] = names.map(|name| of_size.iter().find(|one| one.name == name));
            let more = |with: Option<&Measured<'_>>| {
                let (with, without) = (with?, without?);
                Some((with.ns - without.ns, f64::hypot(with.half_width_ns, without.half_width_ns)))
            };
            Boundary { elements: of_size[0].elements, launched_by, kernel: more(kernel), grid: more(grid) }
        })
    };
    sizes.flat_map(of_size).filter(|found| found.kernel.is_some() || found.grid.is_some()).collect()
}

/// How often faster the fifth is than the second, and how far off a figure may be that still agrees.
const SPEEDUP: f64 = 2.5;
const TOLERANCE: f64 = 0.2;

/// The five reductions of listing 1 (Burtchell and Burtscher, section II).
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing {
    pub(super) elements: u64,
    /// In nanoseconds.
    pub(super) times: [f64; 5],
}

/// At the largest size at which all five were measured.
pub(super) fn listing(rows: &[Row]) -> Option<Listing> {
    let all = measured(rows);
    let times = |of_size: &[Measured<'_>]| {
        let time = |number: usize| Some(of_size.iter().find(|one| one.name == format!("listing_{number}"))?.ns);
        Some(Listing { elements: of_size[0].elements, times: [time(1)?, time(2)?, time(3)?, time(4)?, time(5)?] })
    };
    let complete = all.chunk_by(|one, other| one.problem() == other.problem()).filter_map(times);
    complete.max_by_key(|one| one.elements)
}

/// The statements of the text about it.
pub(super) fn listing_claims(rows: &[Row]) -> Vec<Finding> {
    let Some(Listing { elements, times: [first, second, third, fourth, fifth] }) = listing(rows) else {
        return Vec::new();
    };
    let best = [first, second, third, fourth].into_iter().fold(f64::INFINITY, f64::min);
    let speedup = second / fifth;
    let claims = [
        (
            "Of the first four, reduction 3 is the fastest, followed by 4, then 1, and 2 is the slowest.",
            third < fourth && fourth < first && first < second,
            format!(
                "{} elements: (1) {}, (2) {}, (3) {}, (4) {}",
                grouped(elements),
                time(first),
                time(second),
                time(third),
                time(fourth)
            ),
        ),
        (
            "Reduction 5, with several elements for each thread, outperforms all four.",
            fifth < best,
            format!("{}, and the best of the four {}", time(fifth), time(best)),
        ),
        (
            "Reduction 5 is about 2.5 times faster than reduction 2.",
            (speedup - SPEEDUP).abs() <= TOLERANCE * SPEEDUP,
            format!("{speedup:.1} times"),
        ),
    ];
    let finding = |(number, (text, holds, figures)): (usize, (&str, bool, String))| Finding {
        id: format!("burtchell.listing1.{number}"),
        paper: Paper::Burtchell,
        place: "listing 1, section II-C".to_owned(),
        text: text.to_owned(),
        outcome: Outcome::of(Some(holds), figures),
        measured: true,
    };
    (1..).zip(claims).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::reduction;
    use super::*;
    use syncscope_report::ClaimVerdict;

    #[test]
    fn a_barrier_costs_what_its_variant_takes_more_than_one_launched_alike() {
        let rows = [
            reduction("atomic_queued", 1024, 2000.0),
            reduction("kernel_boundary_queued", 1024, 3500.0),
            reduction("atomic_graph_chain", 1024, 1300.0),
            reduction("graph_chain", 1024, 2500.0),
            reduction("grid_graph_chain", 1024, 2800.0),
            reduction("graph_chain", 4096, 2600.0),
        ];
        let found = boundaries(&rows);
        let short: Vec<_> = found
            .iter()
            .map(|found| (found.elements, found.launched_by, found.kernel.map(|it| it.0), found.grid.map(|it| it.0)))
            .collect();
        assert_eq!(
            short,
            [(1024, "stream, queued first", Some(1500.0), None), (1024, "one graph", Some(1200.0), Some(1500.0))],
            "nothing is compared with a variant that was launched otherwise, or at another size"
        );
        // 1 % of each, together.
        let half_width = found[0].kernel.unwrap().1;
        assert!((half_width - f64::hypot(20.0, 35.0)).abs() < 1e-9, "{half_width}");
    }

    fn listing(elements: u64, times: [f64; 5]) -> Vec<Row> {
        let of = |(ns, number): (&f64, i32)| reduction(&format!("listing_{number}"), elements, *ns);
        times.iter().zip(1..).map(of).collect()
    }

    #[test]
    fn the_papers_own_order_holds_and_the_largest_complete_size_counts() {
        let holds = |rows: &[Row]| -> Vec<bool> {
            listing_claims(rows).iter().map(|claim| claim.outcome.verdict == ClaimVerdict::Holds).collect()
        };
        let mut rows = listing(1 << 24, [200.0, 250.0, 110.0, 120.0, 100.0]);
        assert_eq!(holds(&rows), [true; 3]);
        rows.extend(listing(1 << 28, [300.0, 300.0, 310.0, 120.0, 130.0]));
        assert_eq!(holds(&rows), [false, false, true]);
        rows[9].check = Some(false);
        assert_eq!(holds(&rows), [true; 3], "the fifth is wrong at the largest size");
        assert!(holds(&rows[5..]).is_empty());
    }
}
