//! Synchronize within a kernel, or end it and launch the next one.

use syncscope_core::{Case, Group};

use super::spec::{Axis, Point, Series, Spec, Unit};
use super::sweep::{exists, note, plain_series, unreliable};
use super::{Decision, said};
use crate::RunData;
use crate::analysis::answers::field::{Basis, field, rung};
use crate::analysis::answers::relaunch;
use crate::analysis::row_query::{GRID_BARRIERS, short_name};

pub(super) const LAUNCHES: [&str; 2] = ["gpu.launch.graph", "gpu.launch.stream"];

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let grid: Vec<usize> = grid_rows(data)?;
    let launches = launch_rows(data);
    if launches.is_empty() {
        return None;
    }
    let lengths = |index: &usize| length(&data.rows[*index].case);
    let mut known: Vec<u32> = launches.iter().filter_map(lengths).collect();
    known.sort_unstable();
    known.dedup();
    let chart =
        if known.len() > 1 { by_length(data, &grid, &launches, &known) } else { as_dots(data, &grid, &launches) }?;
    let sentence = relaunch::kernel_or_grid_barrier(data).map_or_else(
        || {
            "Whether one kernel more is cheaper than a grid barrier cannot be decided: one of the two has no figure."
                .to_owned()
        },
        said,
    );
    let blocks = data.rows[launches[0]].case.blocks.unwrap_or(1);
    let shape = match known.as_slice() {
        [one] => format!("The kernels last {one} µs and have {blocks} block{}.", if blocks == 1 { "" } else { "s" }),
        _ => format!("The kernels have {blocks} block{}.", if blocks == 1 { "" } else { "s" }),
    };
    let why = "The cost of a kernel more is the gap between two kernels that the host launched in time. \
               Kernels shorter than a launch wait for the host, and are left out.";
    let all: Vec<usize> = grid.iter().chain(&launches).copied().collect();
    Some(Decision {
        id: "decide-relaunch",
        question: "Synchronize or relaunch?",
        sentence,
        charts: vec![chart],
        note: note([Some(shape), Some(why.to_owned()), unreliable(data, &all)]),
    })
}

/// The barriers of a grid with one block on each multiprocessor.
fn grid_rows(data: &RunData) -> Option<Vec<usize>> {
    let like = &data.rows.get(rung(data, "Device", "Grid barrier, best")?.row)?.case;
    let rows: Vec<usize> = field(data, GRID_BARRIERS, like, Basis::Machine).known.iter().map(|one| one.index).collect();
    (!rows.is_empty()).then_some(rows)
}

/// The length of a kernel in microseconds; `None` for empty kernels.
fn length(case: &Case) -> Option<u32> {
    match case.group {
        Some(Group::KernelUs(length)) => Some(length),
        _ => None,
    }
}

/// Launches of kernels that last longer than a launch, of the fewest blocks.
fn launch_rows(data: &RunData) -> Vec<usize> {
    let is_one = |index: &usize| {
        let row = &data.rows[*index];
        LAUNCHES.contains(&row.case.primitive.as_str())
            && row.case.form.is_none()
            && exists(row)
            && length(&row.case).is_some()
    };
    let rows: Vec<usize> = (0..data.rows.len()).filter(is_one).collect();
    let fewest = rows.iter().map(|index| data.rows[*index].case.actors()).min();
    rows.into_iter().filter(|index| Some(data.rows[*index].case.actors()) == fewest).collect()
}

fn name(case: &Case) -> String {
    let name = short_name(&case.primitive);
    if length(case).is_some() { format!("one kernel more, {name}") } else { format!("grid barrier, {name}") }
}

fn as_dots(data: &RunData, grid: &[usize], launches: &[usize]) -> Option<Spec> {
    let mut rows: Vec<usize> = launches.iter().chain(grid).copied().collect();
    let cost = |index: &usize| data.rows[*index].ns.map_or(f64::INFINITY, syncscope_core::Nanoseconds::value);
    rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let series = rows.into_iter().map(|index| {
        let row = &data.rows[index];
        Series {
            label: name(&row.case),
            primitive: None,
            colour: Some(usize::from(length(&row.case).is_none())),
            points: vec![Point::dot(row, index)],
        }
    });
    Spec::dots(Axis::log("time", Unit::Time), series.collect())
}

/// The costs over the length of the kernels. The barriers of the grid do not depend on it: each is a level line.
fn by_length(data: &RunData, grid: &[usize], launches: &[usize], lengths: &[u32]) -> Option<Spec> {
    let mut series = plain_series(data, launches, name, |case| length(case).map_or(0, u64::from), Point::cost);
    for index in grid {
        let row = &data.rows[*index];
        let ends = [lengths.first(), lengths.last()].into_iter().flatten();
        let points = ends.map(|x| Point::cost(row, *index, f64::from(*x))).collect();
        series.push(Series { label: name(&row.case), primitive: None, colour: None, points });
    }
    Spec::lines(Axis::log("length of the kernels (µs)", Unit::Count), Axis::log("time", Unit::Time), series)
}
