//! Synchronize within a kernel, or end it and launch the next one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Group, Row, Verdict};

use super::break_even::{BreakEven, ByLength, break_evens, margin, standing};
use super::spec::{Axis, Cell, Line, Point, Rule, Series, Spec, Unit};
use super::sweep::{exists, note, plain_series, unreliable};
use super::{Decision, said};
use crate::analysis::answers::barriers::enumeration;
use crate::analysis::answers::field::{Basis, Field, Known, field, rung};
use crate::analysis::answers::relaunch;
use crate::analysis::row_query::{GRID_BARRIERS, either, short_design, short_name};
use crate::{RunData, figure};

/// The ways to have one kernel more behind another one, with what a sentence and what a chart call them.
const WAYS: [(&str, &str, &str); 7] = [
    ("gpu.launch.graph", "in a graph", "in a graph"),
    ("gpu.launch.programmatic", "programmatic", "programmatic"),
    ("gpu.launch.stream", "in a stream", "in a stream"),
    ("gpu.launch.wait_value", "in another stream behind a value", "behind a value"),
    ("gpu.launch.event_wait", "in another stream behind an event", "behind an event"),
    ("gpu.launch.conditional", "in a loop of a graph", "in a loop of a graph"),
    ("gpu.launch.device_graph", "in a graph that the device launches", "in a device graph"),
];
pub(super) const LAUNCHES: [&str; 7] = [WAYS[0].0, WAYS[1].0, WAYS[2].0, WAYS[3].0, WAYS[4].0, WAYS[5].0, WAYS[6].0];

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let grid = grid_field(data).filter(|grid| !grid.known.is_empty())?;
    let launches = launch_rows(data, grid.known[0].row);
    if launches.is_empty() {
        return None;
    }
    let known: BTreeSet<u32> = launches.iter().filter_map(|index| length(&data.rows[*index].case)).collect();
    let known: Vec<u32> = known.into_iter().collect();
    let rows: Vec<usize> = grid.known.iter().map(|one| one.index).collect();
    let is_comparable = relaunch::has_grid_of(&data.rows[launches[0]].case, &grid.known[0].row.case);
    let (charts, sentence) = if known.len() > 1 && !is_comparable {
        // Kernels of another grid have no break-even point with the barriers.
        ([by_length(data, &rows, &launches, &known, Names::WithGrid), None], at_one_length(data))
    } else if known.len() > 1 {
        let ways = ways(data, &launches);
        let points: Vec<Vec<BreakEven>> = ways.iter().map(|(_, launch)| break_evens(launch, &grid)).collect();
        let chart = by_length(data, &rows, &launches, &known, Names::Short)?.ruled(rules(&ways, &points));
        let table = margins(&ways, &points, &grid);
        ([Some(chart), table], by_length_in_words(&ways, &points, &grid)?)
    } else {
        let names = if is_comparable { Names::Short } else { Names::WithGrid };
        ([as_dots(data, &rows, &launches, names), None], at_one_length(data))
    };
    let blocks = data.rows[launches[0]].case.blocks.unwrap_or(1);
    let shape = match known.as_slice() {
        [one] => format!("The kernels last {one} µs and have {blocks} block{}.", if blocks == 1 { "" } else { "s" }),
        _ => format!("The kernels have {blocks} block{}.", if blocks == 1 { "" } else { "s" }),
    };
    let why = "The cost of a kernel more is the gap between two kernels. Where kernels are shorter than a launch by the host, it \
               is the time in which the host launches one.";
    let all: Vec<usize> = rows.iter().chain(&launches).copied().collect();
    Some(Decision {
        id: "decide-relaunch",
        question: "Synchronize or relaunch?",
        sentence,
        charts: charts.into_iter().flatten().collect(),
        note: note([Some(shape), Some(why.to_owned()), missing(data), unreliable(data, &all)]),
    })
}

fn at_one_length(data: &RunData) -> String {
    relaunch::kernel_or_grid_barrier(data).map_or_else(
        || {
            "Whether one kernel more is cheaper than a grid barrier cannot be decided: one of the two has no figure."
                .to_owned()
        },
        said,
    )
}

/// The barriers of a grid with one block on each multiprocessor.
fn grid_field(data: &RunData) -> Option<Field<'_>> {
    let like = &data.rows.get(rung(data, "Device", "Grid barrier, best")?.row)?.case;
    Some(field(data, GRID_BARRIERS, like, Basis::Machine))
}

/// The length of a kernel in microseconds; `None` for empty kernels.
fn length(case: &Case) -> Option<u32> {
    match case.group {
        Some(Group::KernelUs(length)) => Some(length),
        _ => None,
    }
}

/// Launches of kernels that do not end at once, of the shape with the most lengths; among such shapes the one with the most
/// ways to launch, then that of the barriers, then the smallest one.
fn launch_rows(data: &RunData, barrier: &Row) -> Vec<usize> {
    let is_one = |index: &usize| {
        let row = &data.rows[*index];
        LAUNCHES.contains(&row.case.primitive.as_str())
            && row.case.form.is_none()
            && exists(row)
            && length(&row.case).is_some()
    };
    let shape = |case: &Case| (case.blocks, case.threads);
    let mut shapes: BTreeMap<(Option<u32>, Option<u32>), Vec<usize>> = BTreeMap::new();
    for index in (0..data.rows.len()).filter(is_one) {
        shapes.entry(shape(&data.rows[index].case)).or_default().push(index);
    }
    let lengths =
        |rows: &[usize]| rows.iter().filter_map(|index| length(&data.rows[*index].case)).collect::<BTreeSet<_>>();
    let ways = |rows: &[usize]| {
        rows.iter().map(|index| data.rows[*index].case.primitive.as_str()).collect::<BTreeSet<_>>().len()
    };
    let best = shapes.into_iter().max_by(|(a, of_a), (b, of_b)| {
        let worth = |own, rows: &[usize]| (lengths(rows).len(), ways(rows), own == shape(&barrier.case));
        let fewer = || data.rows[of_b[0]].case.actors().cmp(&data.rows[of_a[0]].case.actors());
        worth(*a, of_a).cmp(&worth(*b, of_b)).then_with(fewer)
    });
    best.map(|(_, rows)| rows).unwrap_or_default()
}

/// What a chart calls a way to launch.
fn way(id: &str) -> &str {
    WAYS.iter().find(|(known, ..)| *known == id).map_or_else(|| short_name(id), |(.., label)| label)
}

/// What a chart calls its rows and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Short,
    /// With blocks and threads, where those of kernels and barriers differ.
    WithGrid,
}

impl Names {
    fn of(self, case: &Case) -> String {
        let name = if length(case).is_some() {
            format!("next kernel, {}", way(&case.primitive))
        } else {
            format!("grid barrier, {}", short_design(case))
        };
        match self {
            Self::Short => name,
            Self::WithGrid => format!("{name}, {}", relaunch::grid_size(case)),
        }
    }
}

fn as_dots(data: &RunData, grid: &[usize], launches: &[usize], names: Names) -> Option<Spec> {
    let mut rows: Vec<usize> = launches.iter().chain(grid).copied().collect();
    let cost = |index: &usize| data.rows[*index].ns.map_or(f64::INFINITY, syncscope_core::Nanoseconds::value);
    rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let series = rows.into_iter().map(|index| {
        let row = &data.rows[index];
        Series {
            label: names.of(&row.case),
            primitive: None,
            colour: Some(usize::from(length(&row.case).is_none())),
            points: vec![Point::dot(row, index)],
        }
    });
    Spec::dots(Axis::log("time", Unit::Time), series.collect())
}

/// The costs over the length of the kernels. The barriers of the grid do not depend on it: each is a level line.
fn by_length(data: &RunData, grid: &[usize], launches: &[usize], lengths: &[u32], names: Names) -> Option<Spec> {
    let mut series =
        plain_series(data, launches, |case| names.of(case), |case| length(case).map_or(0, u64::from), Point::cost);
    for index in grid {
        let row = &data.rows[*index];
        let ends = [lengths.first(), lengths.last()].into_iter().flatten();
        let points = ends.map(|x| Point::cost(row, *index, f64::from(*x))).collect();
        series.push(Series { label: names.of(&row.case), primitive: None, colour: None, points });
    }
    Spec::lines(Axis::log("length of the kernels (µs)", Unit::Count), Axis::log("time", Unit::Time), series)
}

/// The costs of each way by length, in the order of [`WAYS`]. Ways without a known cost are left out.
fn ways<'a>(data: &'a RunData, launches: &[usize]) -> Vec<(&'static str, ByLength<'a>)> {
    let of = |(id, words, _): (&str, &'static str, &str)| {
        let own = launches.iter().filter(|index| data.rows[**index].case.primitive == id);
        let known =
            own.filter_map(|index| Some((length(&data.rows[*index].case)?, Known::of(data, *index, Basis::Machine)?)));
        let mut known: ByLength<'_> = known.collect();
        known.sort_by_key(|(length, _)| *length);
        (words, known)
    };
    WAYS.into_iter().map(of).filter(|(_, known)| !known.is_empty()).collect()
}

/// The break-even points as vertical lines.
fn rules(ways: &[(&'static str, ByLength<'_>)], points: &[Vec<BreakEven>]) -> Vec<Rule> {
    let of = |((_, launch), points): (&(&str, ByLength<'_>), &Vec<BreakEven>)| {
        let name = launch.first().map_or("", |(_, known)| way(&known.row.case.primitive));
        points
            .iter()
            .map(|point| Rule { x: point.at_us, label: format!("{name}: {}", microseconds(point.at_us)) })
            .collect()
    };
    ways.iter().zip(points).flat_map::<Vec<Rule>, _>(of).collect()
}

/// `1.9 µs`, `24 µs`.
fn microseconds(length: f64) -> String {
    if length < 9.95 { format!("{length:.1} µs") } else { format!("{length:.0} µs") }
}

/// A difference of times with its sign: `−118 ns`.
fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, figure::time(ns.abs()))
}

/// The break-even points, and what a kernel more costs more than the best barrier for the shortest and the longest kernels.
fn margins(ways: &[(&'static str, ByLength<'_>)], points: &[Vec<BreakEven>], grid: &Field<'_>) -> Option<Spec> {
    let best = grid.best()?;
    let cell = |(_, known): &(u32, Known<'_>)| {
        let (more, interval) = margin(known, grid)?;
        Some(Cell {
            value: Some(more).filter(|_| standing(known, grid) == Some(Ordering::Greater)),
            text: if known.has_figure() && best.has_figure() { signed(more) } else { "not resolved".to_owned() },
            detail: Some(format!("{} to {}", signed(interval.low), signed(interval.high))),
            row: known.index,
        })
    };
    let shortest = ways.iter().filter_map(|(_, launch)| launch.first()).map(|(length, _)| *length).min()?;
    let longest = ways.iter().filter_map(|(_, launch)| launch.last()).map(|(length, _)| *length).max()?;
    let line = |((_, launch), points): (&(&str, ByLength<'_>), &Vec<BreakEven>)| {
        let at = |length: u32| launch.iter().find(|(own, _)| *own == length).and_then(cell);
        let (_, first) = launch.first()?;
        let text = |one: &BreakEven| microseconds(one.at_us);
        let between = |one: &BreakEven| format!("{} to {} µs", one.between.0, one.between.1);
        let words = |of: &dyn Fn(&BreakEven) -> String| points.iter().map(of).collect::<Vec<_>>().join(", ");
        let is_any = !points.is_empty();
        let break_even = Cell {
            value: None,
            text: if is_any { words(&text) } else { "none".to_owned() },
            detail: is_any.then(|| words(&between)),
            row: first.index,
        };
        Some(Line {
            label: way(&first.row.case.primitive).to_owned(),
            cells: vec![Some(break_even), at(shortest), at(longest)],
        })
    };
    let columns = vec!["break-even".to_owned(), format!("at {shortest} µs"), format!("at {longest} µs")];
    let lines: Vec<Line> = ways.iter().zip(points).filter_map(line).collect();
    let title = format!("One kernel more against the barrier ({})", best.name());
    Some(Spec::Table { title: None, columns, lines }.titled(title))
}

/// What is certain of each way: where it is cheaper than any barrier, and by how much at the longest length that decides it.
fn by_length_in_words(
    ways: &[(&'static str, ByLength<'_>)],
    points: &[Vec<BreakEven>],
    grid: &Field<'_>,
) -> Option<String> {
    let best = grid.best()?;
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |group: String, words: String| match groups.iter_mut().find(|(known, _)| *known == group) {
        Some((_, all)) => all.push(words),
        None => groups.push((group, vec![words])),
    };
    for ((words, launch), points) in ways.iter().zip(points) {
        let decided: Vec<(u32, Ordering)> =
            launch.iter().filter_map(|(length, known)| Some((*length, standing(known, grid)?))).collect();
        let words = (*words).to_owned();
        match (points.as_slice(), decided.first()) {
            (_, None) => add("it is not certain".to_owned(), words),
            ([], Some((_, Ordering::Less))) => add("it is cheaper wherever that is certain".to_owned(), words),
            ([], Some(_)) => add("it is more expensive wherever that is certain".to_owned(), words),
            ([one], Some(_)) => {
                let side = if one.launch_wins { "for longer kernels" } else { "for shorter kernels" };
                let (from, to) = one.between;
                let point = microseconds(one.at_us);
                add(format!("it is cheaper {side} than about {point} (between {from} and {to} µs)"), words);
            }
            (several, Some(_)) => {
                let all: Vec<String> = several.iter().map(|one| microseconds(one.at_us)).collect();
                add(format!("the cheaper one changes at about {}", enumeration(&all)), words);
            }
        }
    }
    let parts: Vec<String> = groups.into_iter().map(|(group, words)| format!("{} {group}", either(&words))).collect();
    let blocks = best.row.case.blocks.map(|blocks| format!(" of {blocks} blocks")).unwrap_or_default();
    (!parts.is_empty()).then(|| {
        format!(
            "One kernel more, or a grid barrier{blocks} ({}, {})? {}.",
            best.name(),
            best.time(),
            capitalized(&parts.join("; "))
        )
    })
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The ways that this run could not measure, with the reason that its rows give.
fn missing(data: &RunData) -> Option<String> {
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &data.rows {
        if let Verdict::Skipped(reason) = &row.verdict
            && LAUNCHES.contains(&row.case.primitive.as_str())
        {
            reasons.entry(reason).or_default().insert(way(&row.case.primitive));
        }
    }
    let words = |(reason, names): (&str, BTreeSet<&str>)| {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        // Reasons that begin with what this sentence says already.
        match reason.split_once(": ") {
            Some((what, why)) if what.starts_with("not measured") => {
                format!("Not measured: next kernel {names} ({why}).")
            }
            _ => format!("Not measured: next kernel {names} ({reason})."),
        }
    };
    let all: Vec<String> = reasons.into_iter().map(words).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decision, series};
    use super::*;
    use crate::analysis::answers::testing::{case, data, on_blocks, row};

    /// Without their sizes, a kernel of one block looked cheaper than a barrier of 132.
    #[test]
    fn kernels_and_barriers_of_other_grids_are_named_with_them() {
        let labels = |blocks| {
            let launch = Case { group: Some(Group::KernelUs(5)), ..on_blocks("gpu.launch.graph", blocks, 32) };
            let barrier = row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01);
            let found = decision("decide-relaunch", &data(vec![row(launch, 468.0, 0.02), barrier])).unwrap();
            series(&found.charts[0]).iter().map(|one| one.label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(labels(1), ["next kernel, in a graph, 1×32", "grid barrier, counter, 132×32"]);
        assert_eq!(labels(132), ["next kernel, in a graph", "grid barrier, counter"]);
    }

    #[test]
    fn kernels_of_several_lengths_are_lines_over_level_barriers() {
        let kernel = |way: &str, length, ns| {
            let case =
                Case { group: Some(Group::KernelUs(length)), ..on_blocks(&format!("gpu.launch.{way}"), 132, 32) };
            row(case, ns, 0.02)
        };
        let grid = row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01);
        let one = decision("decide-relaunch", &data(vec![kernel("graph", 5, 468.0), grid.clone()])).unwrap();
        assert!(matches!(one.charts[0], Spec::Dots { .. }));
        let lengths =
            vec![kernel("graph", 2, 900.0), kernel("graph", 5, 468.0), kernel("stream", 5, 1530.0), grid.clone()];
        let several = decision("decide-relaunch", &data(lengths)).unwrap();
        let level = series(&several.charts[0]).iter().find(|one| one.label == "grid barrier, counter").unwrap();
        assert_eq!(level.points.iter().filter_map(|point| point.x).collect::<Vec<_>>(), [2.0, 5.0]);
        assert_eq!(decision("decide-relaunch", &data(vec![grid])), None, "nothing to compare");
    }

    #[test]
    fn the_chart_has_the_launches_of_the_sentence() {
        let kernel = |way: &str, blocks, ns| {
            let case = Case { group: Some(Group::KernelUs(5)), ..on_blocks(&format!("gpu.launch.{way}"), blocks, 32) };
            row(case, ns, 0.01)
        };
        // In the quick preset the ways in which a kernel decides are measured with the blocks of the barrier alone.
        let rows = vec![
            kernel("graph", 1, 468.0),
            kernel("stream", 1, 1530.0),
            kernel("conditional", 132, 4080.0),
            row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01),
        ];
        let found = decision("decide-relaunch", &data(rows)).unwrap();
        assert!(found.sentence.contains("468 ns in a graph with 1×32"), "{}", found.sentence);
        let labels: Vec<&str> = series(&found.charts[0]).iter().map(|one| one.label.as_str()).collect();
        for expected in
            ["next kernel, in a graph, 1×32", "next kernel, in a stream, 1×32", "grid barrier, counter, 132×32"]
        {
            assert!(labels.contains(&expected), "{expected}: {labels:?}");
        }
    }

    /// Kernels of 1 to 100 µs in five ways beside a barrier of 806 ns.
    fn launches_by_length() -> Vec<Row> {
        let kernel = |way: &str, length, ns| {
            let case =
                Case { group: Some(Group::KernelUs(length)), ..on_blocks(&format!("gpu.launch.{way}"), 132, 32) };
            row(case, ns, 0.02)
        };
        let mut rows = vec![row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01)];
        for (length, graph, programmatic) in
            [(1, 700.0, 1900.0), (2, 690.0, 1200.0), (5, 690.0, 806.0), (100, 690.0, 500.0)]
        {
            rows.extend([kernel("graph", length, graph), kernel("programmatic", length, programmatic)]);
            rows.extend(["stream", "wait_value", "event_wait"].map(|way| kernel(way, length, 1500.0)));
        }
        // Another shape, with fewer lengths.
        let small = Case { group: Some(Group::KernelUs(5)), ..case("gpu.launch.graph", 32) };
        rows.push(row(small, 468.0, 0.02));
        let skipped = Verdict::Skipped("not measured in this version: the device runtime is not linked".into());
        rows.push(Row::unmeasured(case("gpu.launch.device_graph", 32), skipped));
        rows
    }

    #[test]
    fn kernels_of_another_grid_have_no_break_even_point() {
        let mut rows = launches_by_length();
        for row in rows.iter_mut().filter(|row| row.case.primitive.starts_with("gpu.launch.")) {
            row.case.blocks = Some(1);
        }
        let found = decision("decide-relaunch", &data(rows)).unwrap();
        assert!(found.sentence.starts_with("Not certain in this run: "), "{}", found.sentence);
        let [Spec::Lines { rules, .. }] = found.charts.as_slice() else { panic!("{:?}", found.charts) };
        assert!(rules.is_empty());
    }

    #[test]
    fn a_kernel_more_has_its_break_even_point_with_the_barrier() {
        let run = data(launches_by_length());
        let found = decision("decide-relaunch", &run).unwrap();
        assert_eq!(
            found.sentence,
            "One kernel more, or a grid barrier of 132 blocks (counter, 806 ns)? In a graph it is cheaper wherever that is \
             certain; programmatic it is cheaper for longer kernels than about 5.0 µs (between 2 and 100 µs); in a stream, in \
             another stream behind a value or in another stream behind an event it is more expensive wherever that is certain."
        );
        let Spec::Lines { series, rules, .. } = &found.charts[0] else { panic!("lines") };
        assert_eq!(series.len(), 5 + 1, "five ways and the barrier");
        assert!(series.iter().all(|one| one.points.len() == 4 || one.label.starts_with("grid barrier")));
        assert_eq!(rules.iter().map(|rule| rule.label.as_str()).collect::<Vec<_>>(), ["programmatic: 5.0 µs"]);
        let Spec::Table { columns, lines, .. } = &found.charts[1] else { panic!("a table") };
        assert_eq!(columns, &["break-even", "at 1 µs", "at 100 µs"]);
        let cells = |line: usize| -> Vec<&str> {
            lines[line]
                .cells
                .iter()
                .flatten()
                .flat_map(|cell| [Some(cell.text.as_str()), cell.detail.as_deref()])
                .flatten()
                .collect()
        };
        assert_eq!(cells(0), ["none", "−106 ns", "−128 ns to −83.9 ns", "−116 ns", "−138 ns to −94.1 ns"]);
        assert_eq!(cells(1)[..2], ["5.0 µs", "2 to 100 µs"]);
        let note = found.note.unwrap();
        assert!(
            note.contains("Not measured: next kernel in a device graph (the device runtime is not linked)."),
            "{note}"
        );
        assert!(note.contains("The kernels have 132 blocks."), "the shape with the most lengths: {note}");
    }
}
