//! Synchronize in a kernel, or end it and launch the next one.

use syncscope_core::{Case, Group, Row};

use super::Finding;
use super::field::{Basis, Known, field, rung, that_orders};
use crate::RunData;
use crate::analysis::row_query::{GRID_BARRIERS, unusualness};
pub(in crate::analysis) use crate::naming::grid_size;

/// One kernel more against a barrier of the grid. The host times launches and the device times barriers, so the intervals
/// for another run are compared. A kernel of one block starts sooner than one of many: only launches of the barrier's grid
/// decide.
pub(in crate::analysis) fn kernel_or_grid_barrier(data: &RunData) -> Option<Finding> {
    let like = &data.rows.get(rung(data, "Device", "Grid barrier, best")?.row)?.case;
    let grid = field(data, GRID_BARRIERS, like, Basis::Machine);
    let best = grid.best().filter(Known::has_figure)?;
    let all: Vec<(&str, Known<'_>)> =
        WAYS.into_iter().filter_map(|(way, title)| Some((way, launch(data, title, like)?))).collect();
    let (kernels, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, one)| has_grid_of(&one.row.case, like));
    if kernels.is_empty() && !others.is_empty() {
        return Some(Finding::Open(on_other_grids(&others, &best, like)));
    }
    let first = kernels.first()?;
    let wins = |kernel: &Known<'_>| grid.is_complete() && grid.known.iter().all(|barrier| kernel.is_below(barrier));
    let loses = |kernel: &Known<'_>| best.is_below(kernel);
    let measured = if grid.coverage.left_out > 0 { "measured " } else { "" };
    let blocks = like.blocks.map(|blocks| format!(" of {blocks} blocks")).unwrap_or_default();
    let barrier = format!("{}, {}", best.name(), best.time());
    let with_figures = |of: &[(&str, Known<'_>)]| {
        of.iter().map(|(way, one)| format!("{way} ({})", one.time())).collect::<Vec<_>>().join(" or ")
    };
    let (cheap, rest): (Vec<_>, Vec<_>) = kernels.iter().copied().partition(|(_, kernel)| wins(kernel));
    let (expensive, open): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, kernel)| loses(kernel));
    let uncertain =
        if open.is_empty() { String::new() } else { format!("; {}, it is not certain", with_figures(&open)) };
    let text = match (cheap.is_empty(), expensive.is_empty()) {
        (true, true) => {
            return Some(Finding::Open(format!(
                "whether one kernel more ({} {}) is cheaper than a grid barrier ({barrier})",
                first.1.time(),
                first.0
            )));
        }
        (true, false) => format!(
            "A grid barrier{blocks} ({barrier}) is cheaper than one kernel more {}{uncertain}.",
            with_figures(&expensive)
        ),
        (false, expensive_is_empty) => {
            let other =
                if expensive_is_empty { String::new() } else { format!("; {} it is not", with_figures(&expensive)) };
            format!(
                "One kernel more {} is cheaper than any {measured}grid barrier{blocks}{} (from {}, {}){other}{uncertain}.",
                with_figures(&cheap),
                that_orders(data, like),
                best.time(),
                best.name()
            )
        }
    };
    let rows = kernels.iter().map(|(_, one)| one.index).chain(grid.known.iter().map(|one| one.index));
    Some(Finding::certain("decide-relaunch", text, rows))
}

/// Ways to have one kernel more, and their rungs of the cost ladder.
const WAYS: [(&str, &str); 2] =
    [("in a graph", "One kernel more, in a graph"), ("in a stream", "One kernel more, in a stream")];

/// The launch on this rung: the one of the barrier's grid where the run has one.
fn launch<'a>(data: &'a RunData, title: &str, barrier: &Case) -> Option<Known<'a>> {
    let on_rung = Known::on_rung(data, "Device", title, Basis::Machine)?;
    let usual = &on_rung.row.case;
    let takes_part = |row: &Row| {
        row.case.primitive == usual.primitive
            && row.case.form.is_none()
            && row.case.group != Some(Group::EmptyKernel)
            && has_grid_of(&row.case, barrier)
    };
    let rows = data.rows.iter().enumerate().filter(|(_, row)| takes_part(row));
    let same = rows.filter_map(|(index, _)| Known::with_figure(data, index, Basis::Machine));
    let rank = |case: &Case| (case.group != usual.group, unusualness(case), case.clone());
    same.min_by_key(|one| rank(&one.row.case)).or(Some(on_rung))
}

/// Whether a kernel has the grid of the barrier. A kernel without a number of blocks has one.
pub(in crate::analysis) fn has_grid_of(kernel: &Case, barrier: &Case) -> bool {
    let grid = |case: &Case| (case.blocks.unwrap_or(1), case.threads);
    grid(kernel) == grid(barrier)
}

/// Kernels whose cost does not decide, and what would.
fn on_other_grids(kernels: &[(&str, Known<'_>)], barrier: &Known<'_>, like: &Case) -> String {
    let cost = |(way, one): &(&str, Known<'_>)| format!("{} {way} with {}", one.time(), grid_size(&one.row.case));
    format!(
        "whether one kernel more is cheaper than a grid barrier of {} ({}, {}): the run's kernels have another grid ({}); \
         {SAME_GRID}",
        grid_size(like),
        barrier.name(),
        barrier.time(),
        kernels.iter().map(cost).collect::<Vec<_>>().join(", ")
    )
}

/// The remedy for kernels of another grid than that of the barriers.
pub(in crate::analysis) const SAME_GRID: &str =
    "repeat the run with the current version, which measures both on one grid";

#[cfg(test)]
mod tests {
    use super::super::testing::{on_blocks, row, said};
    use super::*;
    use syncscope_core::{MemoryOrder, Verdict};

    fn grid(name: &str, ns: f64, share: f64) -> Row {
        row(on_blocks(&format!("gpu.grid.{name}"), 132, 32), ns, share)
    }

    fn kernel(way: &str, ns: f64) -> Row {
        of_blocks(way, 132, ns)
    }

    fn of_blocks(way: &str, blocks: u32, ns: f64) -> Row {
        let case = Case { group: Some(Group::KernelUs(5)), ..on_blocks(&format!("gpu.launch.{way}"), blocks, 32) };
        row(case, ns, 0.02)
    }

    /// As in quick runs of older versions: the kernels have one block.
    #[test]
    fn kernels_of_another_grid_decide_nothing() {
        let without =
            Row { case: Case { blocks: None, ..of_blocks("stream", 1, 1480.0).case }, ..kernel("stream", 1480.0) };
        let rows = vec![of_blocks("graph", 1, 515.0), without, grid("counter", 806.0, 0.01)];
        let question = said(kernel_or_grid_barrier, rows).unwrap().unwrap_err();
        for part in
            ["grid barrier of 132×32 (counter, 806 ns)", "515 ns in a graph with 1×32", "1.48 µs in a stream with 1×32"]
        {
            assert!(question.contains(part), "{part}: {question}");
        }
        assert!(question.ends_with(SAME_GRID), "{question}");
    }

    /// As in the paper preset of an H200, whose intervals for 132 blocks overlap.
    #[test]
    fn kernels_of_the_barriers_grid_are_preferred() {
        let rows = vec![of_blocks("graph", 1, 515.0), kernel("graph", 700.0), grid("counter", 717.0, 0.01)];
        let question = said(kernel_or_grid_barrier, rows).unwrap().unwrap_err();
        assert!(question.starts_with("whether one kernel more (700 ns in a graph)"), "{question}");
        let rows = vec![of_blocks("graph", 1, 515.0), kernel("graph", 900.0), grid("counter", 717.0, 0.01)];
        let sentence =
            "A grid barrier of 132 blocks (counter, 717 ns) is cheaper than one kernel more in a graph (900 ns).";
        assert_eq!(said(kernel_or_grid_barrier, rows), Some(Ok(sentence.into())));
    }

    #[test]
    fn a_graph_beats_the_grid_barrier_and_a_stream_does_not() {
        let rows = vec![
            kernel("stream", 1530.0),
            kernel("graph", 468.0),
            grid("counter", 806.0, 0.01),
            grid("cooperative", 1006.0, 0.01),
        ];
        assert_eq!(
            said(kernel_or_grid_barrier, rows),
            Some(Ok(
                "One kernel more in a graph (468 ns) is cheaper than any measured grid barrier of 132 blocks (from 806 ns, \
                     counter); in a stream (1.53 µs) it is not."
                    .into()
            ))
        );
    }

    #[test]
    fn any_barrier_is_any_design_that_orders_memory() {
        let with = |row: Row, group, order| Row { case: Case { group, order, ..row.case.clone() }, ..row };
        let near = with(grid("hierarchical", 750.0, 0.01), Some(Group::NearCounters), None);
        let relaxed = with(grid("counter", 414.0, 0.01), None, Some(MemoryOrder::Relaxed));
        let rows = vec![kernel("graph", 645.0), grid("counter", 806.0, 0.01), near.clone(), relaxed];
        assert_eq!(
            said(kernel_or_grid_barrier, rows),
            Some(Ok("One kernel more in a graph (645 ns) is cheaper than any measured grid barrier of 132 blocks that orders memory \
                     (from 750 ns, hierarchical near_counters)."
                .into()))
        );
        let between = vec![kernel("graph", 770.0), grid("counter", 806.0, 0.01), near];
        let sentence = "A grid barrier of 132 blocks (hierarchical near_counters, 750 ns) is cheaper than one kernel more in a \
                        graph (770 ns).";
        let certain = between.into_iter().map(|row| within_a_hundredth(&row)).collect();
        assert_eq!(said(kernel_or_grid_barrier, certain), Some(Ok(sentence.into())), "the best of all designs decides");
    }

    fn within_a_hundredth(row: &Row) -> Row {
        Row { ns_interval: row.ns_within, ..row.clone() }
    }

    #[test]
    fn a_grid_barrier_can_win() {
        let rows = vec![kernel("stream", 1530.0), kernel("graph", 1468.0), grid("counter", 806.0, 0.01)];
        let sentence = "A grid barrier of 132 blocks (counter, 806 ns) is cheaper than one kernel more in a graph (1.47 µs) \
                        or in a stream (1.53 µs).";
        assert_eq!(said(kernel_or_grid_barrier, rows), Some(Ok(sentence.into())));
    }

    #[test]
    fn the_intervals_for_another_run_decide() {
        // Within the run, both are certain to a hundredth.
        let rows = vec![kernel("graph", 700.0), grid("counter", 806.0, 0.2)];
        let found = said(kernel_or_grid_barrier, rows).unwrap();
        assert!(found.unwrap_err().starts_with("whether one kernel more (700 ns in a graph)"));
    }

    #[test]
    fn a_barrier_without_a_figure_leaves_any_open() {
        let unknown = Row { verdict: Verdict::Interfered("too many".into()), ..grid("lock_free", 1.0, 0.1) };
        let rows = vec![kernel("graph", 468.0), grid("counter", 806.0, 0.01), unknown];
        assert!(said(kernel_or_grid_barrier, rows).unwrap().is_err());
    }

    #[test]
    fn both_sides_are_needed() {
        assert_eq!(said(kernel_or_grid_barrier, vec![kernel("graph", 468.0)]), None);
        assert_eq!(said(kernel_or_grid_barrier, vec![grid("counter", 806.0, 0.01)]), None);
        // Empty kernels are the host's rate of launching, and no answer.
        let empty = Row {
            case: Case { group: Some(Group::EmptyKernel), ..kernel("graph", 1.0).case },
            ..kernel("graph", 100.0)
        };
        assert_eq!(said(kernel_or_grid_barrier, vec![empty, grid("counter", 806.0, 0.01)]), None);
    }
}
