//! Which barrier, and what its reach costs.

use syncscope_core::{Case, Placement};

use super::Finding;
use super::field::{Basis, Known, field, rung, that_orders};
use crate::RunData;
use crate::analysis::row_query::{CPU_BARRIERS, GRID_BARRIERS};

/// The cheapest barrier of all CPU threads, and what the standard library's costs. All are measured in the same way, so
/// rows are compared within the run.
pub(super) fn cheapest_cpu_barrier(data: &RunData) -> Option<Finding> {
    let like = &data.rows.get(rung(data, "All threads", "Barrier, best")?.row)?.case;
    let field = field(data, CPU_BARRIERS, like, Basis::Run);
    let threads = like.threads?;
    Some(match field.winner()? {
        Err(reason) => Finding::Open(format!("which barrier is the cheapest at {threads} threads ({reason})")),
        Ok((best, rivals)) => {
            let next = rivals.first()?;
            let named = |name: &str| rivals.iter().find(|rival| rival.name() == name && rival.index != next.index);
            let openmp = named("openmp").map(|openmp| format!("OpenMP's {}", openmp.times(&best)));
            let std = named("std").map(|std| format!("Rust's std::sync::Barrier {}", std.times(&best)));
            let others: Vec<String> = openmp.into_iter().chain(std).collect();
            let others = if others.is_empty() { String::new() } else { format!("; {}", enumeration(&others)) };
            let text = format!(
                "At {threads} threads {} ({}) is the {}. The next, {}, costs {} as much{others}.",
                best.name(),
                best.time(),
                field.coverage.cheapest("barrier"),
                next.name(),
                next.times(&best),
            );
            let rows = std::iter::once(best.index).chain(rivals.iter().map(|rival| rival.index));
            Finding::certain("decide-barrier", text, rows)
        }
    })
}

/// What a wider scope of a GPU fence costs. One instrument measures all, so rows are compared within the run.
pub(in crate::analysis) fn fence_scopes(data: &RunData) -> Option<Finding> {
    let scopes = [
        ("the block", "Block", "Fence"),
        ("the device", "Device", "Fence"),
        ("the system", "Several GPUs", "Fence, system"),
    ];
    let known: Vec<(&str, Known<'_>)> = scopes
        .into_iter()
        .filter_map(|(scope, level, title)| Some((scope, Known::on_rung(data, level, title, Basis::Run)?)))
        .collect();
    let [(_, first), .., (widest, last)] = known.as_slice() else { return None };
    if !known.windows(2).all(|pair| pair[0].1.is_below(&pair[1].1)) {
        return Some(Finding::Open("whether a GPU fence costs more for a wider scope (intervals overlap)".to_owned()));
    }
    let figures: Vec<String> = known.iter().map(|(scope, one)| format!("{} for {scope}", one.time())).collect();
    let text = format!(
        "A GPU fence costs {}: {} as much for {widest} as for the block.",
        enumeration(&figures),
        last.times(first)
    );
    let text = if known[0].0 == "the block" { text } else { format!("A GPU fence costs {}.", enumeration(&figures)) };
    Some(Finding::certain("decide-fences", text, known.iter().map(|(_, one)| one.index)))
}

/// `a, b and c`.
pub(in crate::analysis) fn enumeration(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A barrier of a cluster against the barriers of the grid. The device measures both, so rows are compared within the run.
pub(super) fn cluster_or_grid(data: &RunData) -> Option<Finding> {
    let of_size = |title| Known::on_rung(data, "Cluster", title, Basis::Run);
    let cluster = of_size("Barrier, 8 blocks").or_else(|| of_size("Barrier, 2 blocks"))?;
    let size = cluster.row.case.group.as_ref()?.size()?;
    let like = &data.rows.get(rung(data, "Device", "Grid barrier, best")?.row)?.case;
    let grid = field(data, GRID_BARRIERS, like, Basis::Run);
    let best = grid.best()?;
    if !grid.is_complete() || !best.has_figure() || !grid.known.iter().all(|barrier| cluster.is_below(barrier)) {
        return Some(Finding::Open("whether a barrier of a cluster is cheaper than one of the grid".to_owned()));
    }
    let measured = if grid.coverage.left_out > 0 { "measured " } else { "" };
    let text = format!(
        "A barrier of a cluster of {size} blocks ({}) is {} cheaper than the cheapest {measured}barrier of the grid{} ({}, {}).",
        cluster.time(),
        best.times(&cluster),
        that_orders(data, like),
        best.name(),
        best.time()
    );
    let rows = std::iter::once(cluster.index).chain(grid.known.iter().map(|one| one.index));
    Some(Finding::certain("decide-barrier", text, rows))
}

/// A barrier of a warp whose halves are on two paths, against one of a warp on one path.
pub(super) fn divergent_warp(data: &RunData) -> Option<Finding> {
    let barrier = |title| Known::on_rung(data, "Warp", title, Basis::Run);
    let (converged, divergent) = (barrier("Barrier, converged")?, barrier("Barrier, divergent")?);
    converged.is_below(&divergent).then(|| {
        let text = format!(
            "__syncwarp costs {} where the warp is on one path and {} where its halves are on two, {} as much.",
            converged.time(),
            divergent.time(),
            divergent.times(&converged)
        );
        Finding::certain("gpu.warp", text, [converged.index, divergent.index])
    })
}

/// Barriers of a block that a program can have in place of `__syncthreads`: their names in a sentence, and their ids.
pub(super) const BLOCK_BARRIERS: [(&str, &str); 2] =
    [("an mbarrier", "gpu.block.mbarrier"), ("__syncthreads_count", "gpu.block.syncthreads_count")];

/// `__syncthreads` against the other barriers of a full block.
pub(super) fn block_barriers(data: &RunData) -> Option<Finding> {
    let plain = Known::on_rung(data, "Block", "Barrier, 1,024 threads", Basis::Run)?;
    let same = |case: &Case| {
        case.threads == plain.row.case.threads
            && case.blocks == plain.row.case.blocks
            && case.form.is_none()
            && !matches!(case.placement, Some(Placement::List(_)))
    };
    let of = |id: &str| {
        let index = data.rows.iter().position(|row| row.case.primitive == id && same(&row.case))?;
        Known::with_figure(data, index, Basis::Run).filter(|other| plain.is_below(other))
    };
    let costlier: Vec<(&str, Known<'_>)> =
        BLOCK_BARRIERS.into_iter().filter_map(|(name, id)| Some((name, of(id)?))).collect();
    if costlier.is_empty() {
        return None;
    }
    let texts: Vec<String> = costlier
        .iter()
        .map(|(name, one)| format!("{} cheaper than {name} ({})", one.times(&plain), one.time()))
        .collect();
    let text = format!("In a block of 1,024 threads __syncthreads ({}) is {}.", plain.time(), enumeration(&texts));
    let rows = std::iter::once(plain.index).chain(costlier.iter().map(|(_, one)| one.index));
    Some(Finding::certain("gpu.block", text, rows))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, on_blocks, row, said, within};
    use super::*;
    use syncscope_core::{Group, Row};

    #[test]
    fn the_cheapest_barrier_is_named_with_what_programs_use() {
        let barrier = |name: &str, ns| row(case(&format!("cpu.barrier.{name}"), 16), ns, 0.3);
        let mut rows = vec![
            barrier("std", 34_640.0),
            barrier("dissemination", 1000.0),
            barrier("tree", 1290.0),
            barrier("openmp", 1370.0),
        ];
        let sentence = "At 16 threads dissemination (1.00 µs) is the cheapest of the 4 measured barriers. The next, tree, costs 1.3 times as much; \
                        OpenMP's 1.4 times and Rust's std::sync::Barrier 35 times.";
        assert_eq!(said(cheapest_cpu_barrier, rows.clone()), Some(Ok(sentence.into())));
        rows[2] = within(rows[2].clone(), 990.0, 1500.0);
        assert!(said(cheapest_cpu_barrier, rows.clone()).unwrap().is_err(), "overlap");
        assert_eq!(said(cheapest_cpu_barrier, rows[..1].to_vec()), None, "no rival");
    }

    #[test]
    fn a_wider_scope_costs_more() {
        let fence = |scope: &str, ns| row(on_blocks(&format!("gpu.fence.{scope}"), 1, 32), ns, 0.3);
        let mut rows = vec![fence("block", 4.04), fence("device", 215.0), fence("system", 514.0)];
        let sentence = "A GPU fence costs 4.04 ns for the block, 215 ns for the device and 514 ns for the system: 127 times as \
                        much for the system as for the block.";
        assert_eq!(said(fence_scopes, rows.clone()), Some(Ok(sentence.into())));
        assert!(said(fence_scopes, rows[..2].to_vec()).unwrap().unwrap().ends_with("for the device as for the block."));
        assert_eq!(
            said(fence_scopes, rows[1..].to_vec()),
            Some(Ok("A GPU fence costs 215 ns for the device and 514 ns for the system.".into()))
        );
        assert_eq!(said(fence_scopes, rows[..1].to_vec()), None);
        rows[1] = within(rows[1].clone(), 200.0, 600.0);
        assert!(said(fence_scopes, rows).unwrap().is_err(), "overlap");
    }

    fn cluster(ns: f64) -> Row {
        let row = row(on_blocks("gpu.cluster.sync", 8, 32), ns, 0.3);
        Row { case: Case { group: Some(Group::Cluster(8)), ..row.case.clone() }, ..row }
    }

    #[test]
    fn a_cluster_is_cheaper_than_the_grid() {
        let grid = |ns| row(on_blocks("gpu.grid.counter", 132, 32), ns, 0.3);
        let sentence = "A barrier of a cluster of 8 blocks (167 ns) is 4.8 times cheaper than the cheapest measured barrier of the grid \
                        (counter, 806 ns).";
        assert_eq!(said(cluster_or_grid, vec![cluster(167.0), grid(806.0)]), Some(Ok(sentence.into())));
        assert!(said(cluster_or_grid, vec![cluster(167.0), grid(168.0)]).unwrap().is_err());
        assert_eq!(said(cluster_or_grid, vec![cluster(167.0)]), None);
        assert_eq!(said(cluster_or_grid, vec![grid(806.0)]), None);
    }

    #[test]
    fn divergence_has_its_price() {
        let warp = |group, ns| {
            let row = row(on_blocks("gpu.warp.syncwarp", 1, 32), ns, 0.3);
            Row { case: Case { group: Some(group), ..row.case.clone() }, ..row }
        };
        let rows = vec![warp(Group::Converged, 0.505), warp(Group::Divergent, 83.3)];
        let sentence = "__syncwarp costs 0.505 ns where the warp is on one path and 83.3 ns where its halves are on two, 165 \
                        times as much.";
        assert_eq!(said(divergent_warp, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(divergent_warp, rows[..1].to_vec()), None);
        let overlapping = vec![rows[0].clone(), within(rows[1].clone(), 0.4, 100.0)];
        assert_eq!(said(divergent_warp, overlapping), None);
    }

    #[test]
    fn syncthreads_is_compared_with_the_other_barriers_of_a_block() {
        let block = |name: &str, ns| row(on_blocks(&format!("gpu.block.{name}"), 1, 1024), ns, 0.3);
        let rows = vec![block("syncthreads", 38.4), block("mbarrier", 100.0), block("syncthreads_count", 75.8)];
        let sentence = "In a block of 1,024 threads __syncthreads (38.4 ns) is 2.6 times cheaper than an mbarrier (100 ns) and \
                        2.0 times cheaper than __syncthreads_count (75.8 ns).";
        assert_eq!(said(block_barriers, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(block_barriers, rows[..1].to_vec()), None);
        assert_eq!(said(block_barriers, vec![rows[0].clone(), within(rows[1].clone(), 30.0, 200.0)]), None, "overlap");
    }
}
