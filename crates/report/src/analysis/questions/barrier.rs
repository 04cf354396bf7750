//! Which barrier, and how far must it reach? Teams of CPU threads, the grid, clusters and several devices.

use serde::Serialize;

use super::lock::cautions_on_waiting;
use super::prelude::*;
use super::rows::both_sides;
use crate::analysis::contest::is_relaxed;

pub(super) const SENTENCES: Sentences = &[
    sentence(cheapest_of_threads, &[On::Placement, On::Thread]),
    sentence(cluster_or_grid, &[]),
    sentence(barrier_of_devices, &[]),
];

/// The smallest team whose barrier is a question.
const LEAST_TEAM: u32 = 2;

/// The barriers of a grid with one block on each multiprocessor if the device is known: with the requested number of threads
/// in each block, otherwise with the fewest, so that threads within blocks wait the least.
pub(super) fn of_grid(data: &RunData, threads: Option<u32>) -> Option<Peers<'_>> {
    let machine = MachineSize::of(&data.run.machine);
    let fits = |case: &Case| machine.is_filled_by(case) && threads.is_none_or(|asked| case.threads == Some(asked));
    Peers::of(data, Role::GridBarrier, fits, Size::Fewest)
}

/// Names the cheapest barrier of all CPU threads, and the cost of those that most programs use.
fn cheapest_of_threads(data: &RunData) -> Option<Outcome> {
    let peers = Peers::of_team(data, Role::ThreadBarrier, None, LEAST_TEAM)?;
    cheapest_in_words(data, &peers, "barrier", |win, next| {
        let used = |name: &str, words: &str| {
            let mut rivals = win.rivals.iter().filter(|(_, cost)| cost.index != next.index);
            let (_, own) = rivals.find(|(_, cost)| short_name(&cost.row.case.primitive) == name)?;
            Some(format!("{words} costs {} as much", win.ratio(own)))
        };
        (
            None,
            [used("openmp", "OpenMP's barrier"), used("std", "Rust's std::sync::Barrier")]
                .into_iter()
                .flatten()
                .collect(),
        )
    })
}

/// The words that distinguish the compared barriers from the run's relaxed ones, which order no memory accesses and may be
/// cheaper: ` that orders memory`, or empty if the run has no relaxed one of this shape.
pub(super) fn that_orders(data: &RunData, like: &Case) -> &'static str {
    let is_relaxed_one = |row: &Row| {
        has_role(data, &row.case, Role::GridBarrier)
            && is_relaxed(data, &row.case)
            && (row.case.blocks, row.case.threads) == (like.blocks, like.threads)
    };
    if data.rows.iter().any(is_relaxed_one) { " that orders memory" } else { "" }
}

/// Compares a barrier of a cluster with the barriers of the grid. The device measures both, so rows are compared within the
/// run.
fn cluster_or_grid(data: &RunData) -> Option<Outcome> {
    let of_size = |id| on_rung(data, id, Basis::Run);
    let cluster = of_size("cluster.8").or_else(|| of_size("cluster.2"))?;
    let size = cluster.row.case.group.as_ref()?.number()?;
    let peers = of_grid(data, None)?;
    let grid = peers.contest(Basis::Run);
    let (Entrant { name, .. }, cost) = grid.best()?;
    if !cost.is_written() || !grid.is_above(&cluster) {
        return Some(Outcome::open("whether a barrier of a cluster is cheaper than one of the grid".to_owned()));
    }
    let measured = if grid.left_out > 0 { "measured " } else { "" };
    let (orders, ratio) = (that_orders(data, peers.like), cluster.across(cost)?.ratio);
    let text = format!(
        "cluster.sync() of {size} blocks costs {cluster}; the cheapest {measured}grid barrier{orders} ({name}, \
         {cost}) costs {ratio} as much."
    );
    Some(Outcome::holds(text, std::iter::once(cluster.index).chain(grid.rows())).headed(cluster))
}

/// The rungs of barriers of several devices, the most devices first.
const OF_DEVICES: [&str; 3] = ["devices.8", "devices.4", "devices.2"];

/// Compares the cheapest barrier of several devices with the cheapest barrier of one grid. They are measured by other
/// programs and other clocks, so the intervals for another run are compared.
fn barrier_of_devices(data: &RunData) -> Option<Outcome> {
    let selected = OF_DEVICES.iter().find_map(|id| rung(data, id))?;
    let like = &data.rows.get(selected.row)?.case;
    let devices = like.devices?;
    let (wide, narrow) =
        (Contest::like(data, Role::DeviceBarrier, like, Basis::Machine), of_grid(data, None)?.contest(Basis::Machine));
    let ((Entrant { name: wide, .. }, wide_cost), (Entrant { name: narrow, .. }, narrow_cost)) =
        (wide.best()?, narrow.best()?);
    let both @ Comparison { less, more, ratio } = narrow_cost.across(wide_cost)?;
    if !both.is_certain() || !less.is_written() || !more.is_written() {
        return Some(Outcome::open(format!("how much more a {devices}-GPU barrier costs than a grid barrier")));
    }
    let text =
        format!("A {devices}-GPU barrier ({wide}, {more}) takes {ratio} as long as a grid barrier ({narrow}, {less}).");
    Some(Outcome::holds(text, [more.index, less.index]).headed(more))
}

/// The barriers of a block's threads and of a cluster's blocks.
const BLOCK_BARRIER: &str = "gpu.block.syncthreads";
const CLUSTER_BARRIER: &str = "gpu.cluster.sync";

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let threads = Peers::of_team(data, Role::ThreadBarrier, None, LEAST_TEAM);
    let mut cpu = threads.as_ref().map(Peers::with_other_teams).unwrap_or_default();
    cpu.retain(|index| team(data.case(*index)) >= u64::from(LEAST_TEAM));
    let reach = |case: &Case| reach(data, case);
    let gpu = one_line_each(data, &gpu_rows(data), reach, sizes);
    let name = |case: &Case| design(&data.catalogue, case);
    let charts = both_sides(
        data,
        &Axis::log("time per barrier", Unit::Time),
        ("threads that wait", series(data, &cpu, name, team, Point::cost)),
        ("threads that wait", plain(series(data, &gpu, reach, Case::actors, Point::cost))),
    );
    let on_cpu = threads.and_then(|peers| by_threads(data, &peers, "CPU barrier", LEAST_TEAM));
    let all: Vec<usize> = cpu.iter().chain(&gpu).copied().collect();
    let has_grid = gpu.iter().any(|index| has_role(data, data.case(*index), Role::GridBarrier));
    let shape = has_grid.then(|| {
        "Grids have one block per multiprocessor; blocks range from one warp to the largest size measured.".to_owned()
    });
    let relaxed = data.rows.iter().any(|row| row.case.domain_and_family().0 == "gpu" && is_relaxed(data, &row.case));
    let relaxed = relaxed.then(|| "Relaxed barriers, which order no memory accesses, are not drawn.".to_owned());
    let otherwise = "Too few barriers have a figure in this run.";
    let picture = Picture::of(charts, otherwise, [shape, relaxed, unreliable(data, &all)])?;
    Some(picture.finding([on_cpu, gpu_sentence(data).map(|text| Outcome::holds(text, []))]))
}

/// The rows for one line per reach: a block, clusters, the grid by each barrier, and the cheapest barrier of several
/// devices.
fn gpu_rows(data: &RunData) -> Vec<usize> {
    let machine = MachineSize::of(&data.run.machine);
    let fits = |row: &Row| match row.case.primitive.as_str() {
        BLOCK_BARRIER => row.case.blocks.unwrap_or(1) == 1,
        CLUSTER_BARRIER => {
            row.case.group.as_ref().and_then(Group::number) == row.case.blocks && row.case.blocks.is_some()
        }
        _ => takes_part(data, row, Role::GridBarrier) && machine.is_filled_by(&row.case),
    };
    let is_shown =
        |row: &Row| row.case.form.is_none() && !is_absent(row) && row.case.mode != Some(Mode::Throughput) && fits(row);
    data.rows_where(is_shown).chain(device_rows(data)).collect()
}

/// The rows of the barrier of several devices that is cheapest with one warp per block, by number of devices.
fn device_rows(data: &RunData) -> Vec<usize> {
    let machine = MachineSize::of(&data.run.machine);
    let is_one = |row: &Row| {
        takes_part(data, row, Role::DeviceBarrier)
            && row.case.devices.is_some_and(|devices| devices > 1)
            && machine.is_filled_by(&row.case)
    };
    let rows: Vec<usize> = data.rows_where(is_one).collect();
    let name = |case: &Case| design(&data.catalogue, case);
    let best = |devices: Option<u32>| {
        let known = rows.iter().filter_map(|index| Known::of(data, *index, Basis::Run));
        let of_size = known.filter(|one| (one.row.case.devices, one.row.case.threads) == (devices, Some(32)));
        of_size.min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high)).map(|best| name(&best.row.case))
    };
    let is_best = |index: &usize| best(data.case(*index).devices) == Some(name(data.case(*index)));
    rows.iter().copied().filter(is_best).collect()
}

/// What waits: `block`, `cluster of 8`, `grid: counter`, `4 GPUs: flags`.
fn reach(data: &RunData, case: &Case) -> String {
    match (case.primitive.as_str(), case.group.as_ref().and_then(Group::number), case.devices) {
        (BLOCK_BARRIER, ..) => "block".to_owned(),
        (CLUSTER_BARRIER, Some(size), _) => format!("cluster of {size}"),
        (.., Some(devices)) if has_role(data, case, Role::DeviceBarrier) => {
            format!("{devices} GPUs: {}", design(&data.catalogue, case))
        }
        _ => format!("grid: {}", short_design(&data.catalogue, case)),
    }
}

/// Says what each reach costs. These are figures, not comparisons.
fn gpu_sentence(data: &RunData) -> Option<String> {
    let steps = [
        ("block.32", "a block of one warp"),
        ("cluster.8", "a cluster of 8 blocks"),
        ("grid", "the grid"),
        ("devices.2", "2 GPUs"),
        ("devices.4", "4 GPUs"),
        ("devices.8", "8 GPUs"),
    ];
    let figure = |(id, words): (&str, &str)| {
        let selected = rung(data, id)?;
        let known = Known::written(data, selected.row, Basis::Machine)?;
        let name = selected.note.map(|note| format!(" ({note})")).unwrap_or_default();
        Some(format!("{known} for {words}{name}"))
    };
    enumerated(steps.into_iter().filter_map(figure)).map(|figures| format!("A GPU barrier costs {figures}."))
}

/// The requirement of every grid barrier on its launch.
pub(super) const RESIDENT: &str = "all blocks must be resident: use a cooperative launch with no more blocks than fit";

/// Answers which barrier to take for a team, a thread block and a grid. One instrument measures each kind, so rows are
/// compared within the run.
pub(super) fn phases(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let (data, threads) = (inquiry.data, inquiry.asked.threads);
    let one_block = |case: &Case| {
        let is_asked = threads.is_none_or(|asked| case.threads == Some(asked));
        case.blocks.unwrap_or(1) == 1 && case.mode != Some(Mode::Throughput) && case.group.is_none() && is_asked
    };
    let team = Peers::of_team(data, Role::ThreadBarrier, threads, LEAST_TEAM);
    let block = Peers::of(data, Role::BlockBarrier, one_block, Size::Most);
    let kinds = [
        (Domain::Cpu, Role::ThreadBarrier, team, ""),
        (Domain::Gpu, Role::BlockBarrier, block, "one block"),
        (Domain::Gpu, Role::GridBarrier, of_grid(data, threads), "whole grid"),
    ];
    let of = |kind: (Domain, Role, Option<Peers<'_>>, &str)| {
        let role = kind.1;
        of_peers(inquiry, kind, |choice, _| match role {
            Role::GridBarrier => choice.warnings.push(RESIDENT.to_owned()),
            Role::ThreadBarrier => cautions_on_waiting(inquiry, choice),
            _ => {}
        })
    };
    kinds.into_iter().filter_map(of).collect()
}

/// The cheapest barrier of one size in the maps of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Winner {
    /// The index of the row with the lowest cost among those that may be the cheapest.
    row: usize,
    /// The ratio of the next one's cost; `None` if the intervals do not decide.
    times: Option<String>,
}

/// The cheapest barrier for each size of a grid and of several devices, if there are two to choose from.
pub(crate) fn winners(data: &RunData) -> Vec<Winner> {
    let of_role = |role: Role| {
        let cases = data.rows.iter().filter(|row| takes_part(data, row, role)).map(|row| &row.case);
        let sizes: BTreeMap<_, &Case> = cases.map(|case| ((case.devices, case.blocks, case.threads), case)).collect();
        sizes.into_values().filter_map(move |like| winner(data, role, like))
    };
    [Role::GridBarrier, Role::DeviceBarrier].into_iter().flat_map(of_role).collect()
}

fn winner(data: &RunData, role: Role, like: &Case) -> Option<Winner> {
    let contest = Contest::like(data, role, like, Basis::Run);
    let outcome = contest.outcome()?;
    let (_, best) = contest.best()?;
    let times = outcome.ok().and_then(|win| {
        let (_, next) = win.rivals.first()?;
        let is_rough = contest.known().any(|(_, known)| known.row.verdict != Verdict::Resolved);
        let written = if is_rough { figure::rough_ratio } else { figure::ratio };
        Some(written(next.ns / best.ns))
    });
    Some(Winner { row: best.index, times })
}

#[cfg(test)]
mod tests {
    use syncscope_core::MemoryOrder;

    use super::super::testing::{case, data, on_blocks, row, said, within};
    use super::super::testing::{decision, labels, series, text};
    use super::*;

    #[test]
    fn both_runtimes_of_openmp_are_lines_of_their_own() {
        let barrier = |group, ns| {
            let of = row(case("cpu.barrier.openmp", 16), ns, 0.1);
            Row { case: Case { group: Some(group), ..of.case.clone() }, ..of }
        };
        let rows = vec![barrier(Group::named("libgomp"), 900.0), barrier(Group::named("libomp"), 500.0)];
        let found = decision("decide-barrier", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["openmp libgomp", "openmp libomp"]);
        assert!(
            text(&found).ends_with("With 16 threads, the cheapest measured CPU barrier is openmp libomp (500 ns).")
        );
    }

    #[test]
    fn every_design_of_a_grid_barrier_is_a_line_and_relaxed_ones_are_not() {
        let grid = |name: &str, group, order, ns| {
            let row = row(on_blocks(&format!("gpu.grid.{name}"), 132, 32), ns, 0.01);
            Row { case: Case { group, order, ..row.case.clone() }, ..row }
        };
        let rows = vec![
            grid("counter", None, None, 806.0),
            grid("counter", None, Some(MemoryOrder::Relaxed), 575.0),
            grid("hierarchical", Some(Group::named("near_counters")), None, 750.0),
            grid("hierarchical", Some(Group::named("near_counters")), Some(MemoryOrder::Relaxed), 414.0),
        ];
        let found = decision("decide-barrier", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["grid: counter", "grid: near_counters"]);
        assert_eq!(text(&found), "A GPU barrier costs 750 ns for the grid (hierarchical near_counters).");
        let drawn: Vec<Option<f64>> = series(&found.charts[0]).iter().map(|one| one.points[0].x).collect();
        assert_eq!(drawn, [Some(806.0), Some(750.0)]);
        assert!(found.note.unwrap().contains("Relaxed barriers, which order no memory accesses, are not drawn."));
    }

    #[test]
    fn the_cheapest_barrier_is_named_with_what_programs_use() {
        let barrier = |name: &str, ns| row(case(&format!("cpu.barrier.{name}"), 16), ns, 0.3);
        let mut rows = vec![
            barrier("std", 34_640.0),
            barrier("dissemination", 1000.0),
            barrier("tree", 1290.0),
            barrier("openmp", 1370.0),
        ];
        let sentence = "At 16 threads, dissemination (1.00 µs) is the cheapest of the 4 measured barriers. The next \
                        cheapest, tree, costs 1.3 times as much; \
                        OpenMP's barrier costs 1.4 times as much and Rust's std::sync::Barrier costs 35 times as much.";
        assert_eq!(said(cheapest_of_threads, rows.clone()), Some(Ok(sentence.into())));
        rows[2] = within(rows[2].clone(), 990.0, 1500.0);
        assert!(said(cheapest_of_threads, rows.clone()).unwrap().is_err(), "overlap");
        assert_eq!(said(cheapest_of_threads, rows[..1].to_vec()), None, "no rival");
    }

    fn cluster(ns: f64) -> Row {
        let row = row(on_blocks("gpu.cluster.sync", 8, 32), ns, 0.3);
        Row { case: Case { group: Some(Group::of_word("cluster 8")), ..row.case.clone() }, ..row }
    }

    #[test]
    fn a_cluster_is_cheaper_than_the_grid() {
        let grid = |ns| row(on_blocks("gpu.grid.counter", 132, 32), ns, 0.3);
        let sentence = "cluster.sync() of 8 blocks costs 167 ns; the cheapest measured grid barrier (counter, 806 \
                        ns) costs 4.8 times as much.";
        assert_eq!(said(cluster_or_grid, vec![cluster(167.0), grid(806.0)]), Some(Ok(sentence.into())));
        assert!(said(cluster_or_grid, vec![cluster(167.0), grid(168.0)]).unwrap().is_err());
        assert_eq!(said(cluster_or_grid, vec![cluster(167.0)]), None);
        assert_eq!(said(cluster_or_grid, vec![grid(806.0)]), None);
    }

    fn devices(count: u32, ns: f64, share: f64) -> Row {
        row(Case { devices: Some(count), ..on_blocks("gpu.multi.flags", 132, 32) }, ns, share)
    }

    #[test]
    fn the_most_devices_are_compared_with_one_grid() {
        let grid = row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.02);
        let rows = vec![grid.clone(), devices(1, 1790.0, 0.02), devices(2, 2900.0, 0.02), devices(4, 3660.0, 0.02)];
        let sentence = "A 4-GPU barrier (flags, 3.66 µs) takes 4.5 times as long as a grid barrier (counter, 806 ns).";
        assert_eq!(said(barrier_of_devices, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(barrier_of_devices, rows[..2].to_vec()), None, "one device");
        assert_eq!(said(barrier_of_devices, rows[1..].to_vec()), None, "no grid");
        assert!(said(barrier_of_devices, vec![grid, devices(2, 900.0, 0.3)]).unwrap().is_err());
    }
}
