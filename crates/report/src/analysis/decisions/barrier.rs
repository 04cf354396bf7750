//! Which barrier, and how far it must reach.

use syncscope_core::{Case, Group, Mode, Row};

use super::Decision;
use super::cheapest::{self, Contest};
use super::spec::{Axis, Point, Series, Spec, Unit, share_vertical_axis};
use super::sweep::{
    cpu_rules, exists, name, note, one_line_each, plain_series, series, sizes, sweep, team, threads, unreliable,
};
use crate::RunData;
use crate::analysis::answers::barriers::enumeration;
use crate::analysis::answers::field::{Basis, Known, rung};
use crate::analysis::row_query::{
    CPU_BARRIERS, DEVICE_BARRIERS, GRID_BARRIERS, MachineSize, is_relaxed_barrier, short_design, short_name,
};

/// The smallest team whose barrier is a question.
const LEAST_TEAM: u32 = 2;

/// A barrier of the threads of a block, and one of the blocks of a cluster.
const BLOCK_BARRIER: &str = "gpu.block.syncthreads";
const GRID: &str = "gpu.grid.";
const CLUSTER_BARRIER: &str = "gpu.cluster.sync";
pub(super) const PRIMITIVES: [&str; 2] = [BLOCK_BARRIER, CLUSTER_BARRIER];

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let mut cpu = sweep(data, CPU_BARRIERS, threads);
    cpu.retain(|index| team(&data.rows[*index].case) >= u64::from(LEAST_TEAM));
    let gpu = one_line_each(data, &gpu_rows(data), reach, sizes);
    let chart = |series: Vec<Series>, title: &str| {
        let x = Axis::log("threads that wait", Unit::Count);
        Some(Spec::lines(x, Axis::log("time per barrier", Unit::Time), series)?.titled(title))
    };
    let cpu_chart = chart(series(data, &cpu, name, team, Point::cost), "CPU").map(|chart| chart.ruled(cpu_rules(data)));
    let device_chart = chart(plain_series(data, &gpu, reach, Case::actors, Point::cost), "GPU");
    let mut charts: Vec<Spec> = [cpu_chart, device_chart].into_iter().flatten().collect();
    share_vertical_axis(&mut charts);
    if charts.is_empty() {
        return None;
    }
    let contest = Contest { data, primitives: CPU_BARRIERS, rows: &cpu };
    let parts = [cheapest::sentence(contest, "CPU barrier", LEAST_TEAM), gpu_sentence(data)];
    let sentence = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let sentence =
        if sentence.is_empty() { "What barriers cost is not certain in this run.".to_owned() } else { sentence };
    let all: Vec<usize> = cpu.iter().chain(&gpu).copied().collect();
    let has_grid = gpu.iter().any(|index| data.rows[*index].case.primitive.starts_with(GRID));
    let shape = has_grid.then(|| {
        "A grid has one block on each multiprocessor; its lines begin at one warp in each block and end at full blocks."
            .to_owned()
    });
    let relaxed = data.rows.iter().any(|row| row.case.domain_and_family().0 == "gpu" && is_relaxed_barrier(&row.case));
    let relaxed = relaxed.then(|| "Relaxed barriers, which order no memory accesses, are not drawn.".to_owned());
    Some(Decision {
        id: "decide-barrier",
        question: "Which barrier?",
        sentence,
        charts,
        note: note([shape, relaxed, unreliable(data, &all)]),
    })
}

/// One line for each reach: a block, clusters, the grid by each barrier, and the cheapest barrier of several devices.
fn gpu_rows(data: &RunData) -> Vec<usize> {
    let machine = MachineSize::of(&data.run.machine);
    let fills = |case: &Case| machine.multiprocessors == 0 || case.blocks == Some(machine.multiprocessors);
    let fits = |case: &Case| match case.primitive.as_str() {
        BLOCK_BARRIER => case.blocks.unwrap_or(1) == 1,
        CLUSTER_BARRIER => case.group.as_ref().and_then(Group::size) == case.blocks && case.blocks.is_some(),
        id if GRID_BARRIERS.contains(&id) => fills(case) && !is_relaxed_barrier(case),
        _ => false,
    };
    let is_shown = |row: &Row| {
        row.case.form.is_none() && exists(row) && row.case.mode != Some(Mode::Throughput) && fits(&row.case)
    };
    let one_device = (0..data.rows.len()).filter(|index| is_shown(&data.rows[*index]));
    one_device.chain(device_rows(data, fills)).collect()
}

/// The rows of the barrier of several devices that is cheapest with one warp in each block, by number of devices.
fn device_rows(data: &RunData, fills: impl Fn(&Case) -> bool) -> Vec<usize> {
    let is_one = |row: &Row| {
        DEVICE_BARRIERS.contains(&row.case.primitive.as_str())
            && row.case.devices.is_some_and(|devices| devices > 1)
            && row.case.form.is_none()
            && row.case.group.is_none()
            && exists(row)
            && fills(&row.case)
    };
    let rows: Vec<usize> = (0..data.rows.len()).filter(|index| is_one(&data.rows[*index])).collect();
    let best = |like: usize| {
        let of_size = |index: &usize| {
            let (case, like) = (&data.rows[*index].case, &data.rows[like].case);
            case.devices == like.devices && Some(32) == case.threads
        };
        let known = rows.iter().copied().filter(of_size).filter_map(|index| Known::of(data, index, Basis::Run));
        known.min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high)).map(|best| best.row.case.primitive.as_str())
    };
    rows.iter().copied().filter(|index| best(*index) == Some(data.rows[*index].case.primitive.as_str())).collect()
}

/// What waits: `block`, `cluster of 8`, `grid: counter`, `4 GPUs: flags`.
fn reach(case: &Case) -> String {
    let name = short_name(&case.primitive);
    match (case.primitive.as_str(), case.group.as_ref().and_then(Group::size), case.devices) {
        (BLOCK_BARRIER, ..) => "block".to_owned(),
        (CLUSTER_BARRIER, Some(size), _) => format!("cluster of {size}"),
        (id, _, Some(devices)) if DEVICE_BARRIERS.contains(&id) => format!("{devices} GPUs: {name}"),
        _ => format!("grid: {}", short_design(case)),
    }
}

/// What each reach costs. These are figures, not comparisons.
fn gpu_sentence(data: &RunData) -> Option<String> {
    let steps = [
        ("Block", "Barrier, one warp", "a block of one warp"),
        ("Cluster", "Barrier, 8 blocks", "a cluster of 8 blocks"),
        ("Device", "Grid barrier, best", "the grid"),
        ("Several GPUs", "Barrier, 2 devices, best", "2 GPUs"),
        ("Several GPUs", "Barrier, 4 devices, best", "4 GPUs"),
        ("Several GPUs", "Barrier, 8 devices, best", "8 GPUs"),
    ];
    let figure = |(level, title, words): (&str, &str, &str)| {
        let selected = rung(data, level, title)?;
        let known = Known::with_figure(data, selected.row, Basis::Machine)?;
        let name = selected.note.map(|note| format!(" ({note})")).unwrap_or_default();
        Some(format!("{} for {words}{name}", known.time()))
    };
    let figures: Vec<String> = steps.into_iter().filter_map(figure).collect();
    (!figures.is_empty()).then(|| format!("A GPU barrier costs {}.", enumeration(&figures)))
}

#[cfg(test)]
mod tests {
    use syncscope_core::MemoryOrder;

    use super::super::testing::{decision, labels, series};
    use super::*;
    use crate::analysis::answers::testing::{case, data, on_blocks, row};

    #[test]
    fn both_runtimes_of_openmp_are_lines_of_their_own() {
        let barrier = |group, ns| {
            let of = row(case("cpu.barrier.openmp", 16), ns, 0.1);
            Row { case: Case { group: Some(group), ..of.case.clone() }, ..of }
        };
        let rows = vec![barrier(Group::Libgomp, 900.0), barrier(Group::Libomp, 500.0)];
        let found = decision("decide-barrier", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["openmp libgomp", "openmp libomp"]);
        assert_eq!(found.sentence, "Cheapest measured CPU barrier: openmp libomp at 16 threads (500 ns).");
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
            grid("hierarchical", Some(Group::NearCounters), None, 750.0),
            grid("hierarchical", Some(Group::NearCounters), Some(MemoryOrder::Relaxed), 414.0),
        ];
        let found = decision("decide-barrier", &data(rows)).unwrap();
        assert_eq!(labels(&found.charts[0]), ["grid: counter", "grid: near_counters"]);
        assert_eq!(found.sentence, "A GPU barrier costs 750 ns for the grid (hierarchical near_counters).");
        let drawn: Vec<Option<f64>> = series(&found.charts[0]).iter().map(|one| one.points[0].y).collect();
        assert_eq!(drawn, [Some(806.0), Some(750.0)]);
        assert!(found.note.unwrap().contains("Relaxed barriers, which order no memory accesses, are not drawn."));
    }
}
