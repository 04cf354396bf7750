//! The rows of a line: they differ in few parameters.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use syncscope_core::{Case, Group, Placement, Row, Verdict};

use super::spec::{Point, Rule, Series};
use crate::RunData;
use crate::analysis::row_query::{short_name, unusualness};

/// Whether a row belongs in a chart: a case in its default form that exists on this machine.
pub(super) fn exists(row: &Row) -> bool {
    !matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_))
}

/// The rows of these primitives in their default forms that differ, beyond primitive and group, only in the parameters
/// that `free` clears. Of several such sets, the largest is taken, then the usual one.
pub(super) fn sweep(data: &RunData, primitives: &[&str], free: fn(&mut Case)) -> Vec<usize> {
    let mut sets: BTreeMap<Case, Vec<usize>> = BTreeMap::new();
    for (index, row) in data.rows.iter().enumerate() {
        let listed = matches!(row.case.placement, Some(Placement::List(_)));
        if !primitives.contains(&row.case.primitive.as_str()) || row.case.form.is_some() || !exists(row) || listed {
            continue;
        }
        let mut key = Case { primitive: String::new(), group: None, ..row.case.clone() };
        free(&mut key);
        sets.entry(key).or_default().push(index);
    }
    let largest =
        sets.into_iter().max_by_key(|(case, rows)| (rows.len(), Reverse(unusualness(case)), Reverse(case.clone())));
    largest.map(|(_, rows)| rows).unwrap_or_default()
}

/// Of the rows with one name, those that differ only in the parameters that `free` clears: the largest such set, then the
/// usual one. Rows of other orders or modes would be other lines.
pub(super) fn one_line_each(
    data: &RunData,
    rows: &[usize],
    name: impl Fn(&Case) -> String,
    free: fn(&mut Case),
) -> Vec<usize> {
    let mut lines: BTreeMap<String, BTreeMap<Case, Vec<usize>>> = BTreeMap::new();
    for index in rows {
        let case = &data.rows[*index].case;
        let mut key = case.clone();
        free(&mut key);
        lines.entry(name(case)).or_default().entry(key).or_default().push(*index);
    }
    let largest = |sets: BTreeMap<Case, Vec<usize>>| {
        let usual = |case: &Case| (Reverse(unusualness(case)), Reverse(case.clone()));
        sets.into_iter().max_by_key(|(case, rows)| (rows.len(), usual(case))).map(|(_, rows)| rows).unwrap_or_default()
    };
    let mut kept: Vec<usize> = lines.into_values().flat_map(largest).collect();
    kept.sort_unstable();
    kept
}

/// Clears the number of threads.
pub(super) fn threads(case: &mut Case) {
    case.threads = None;
}

/// Clears the numbers of threads, blocks and devices.
pub(super) fn sizes(case: &mut Case) {
    (case.threads, case.blocks, case.devices) = (None, None, None);
}

/// The name of a primitive in a chart: `ticket`, `openmp libgomp`.
pub(super) fn name(case: &Case) -> String {
    let name = short_name(&case.primitive);
    match &case.group {
        Some(group @ (Group::Libgomp | Group::Libomp)) => format!("{name} {group}"),
        Some(Group::DriverLaunch) => format!("{name} (one launch)"),
        _ => name.to_owned(),
    }
}

/// The rows as one series for each name, in the order of the run; the points of each in the order of `x`. Names that are
/// no primitives have colours of their own.
pub(super) fn plain_series(
    data: &RunData,
    rows: &[usize],
    name: impl Fn(&Case) -> String,
    x: fn(&Case) -> u64,
    point: fn(&Row, usize, f64) -> Point,
) -> Vec<Series> {
    let all = series(data, rows, name, x, point);
    all.into_iter().map(|series| Series { primitive: None, ..series }).collect()
}

/// The same with the colours of their primitives.
pub(super) fn series(
    data: &RunData,
    rows: &[usize],
    name: impl Fn(&Case) -> String,
    x: fn(&Case) -> u64,
    point: fn(&Row, usize, f64) -> Point,
) -> Vec<Series> {
    let mut all: Vec<(Series, Vec<(u64, Point)>)> = Vec::new();
    for index in rows {
        let row = &data.rows[*index];
        let label = name(&row.case);
        let at = x(&row.case);
        let point = (at, point(row, *index, at as f64));
        if let Some((_, points)) = all.iter_mut().find(|(series, _)| series.label == label) {
            points.push(point);
        } else {
            let primitive = Some(row.case.primitive.clone());
            all.push((Series { label, primitive, colour: None, points: Vec::new() }, vec![point]));
        }
    }
    let sorted = |(series, mut points): (Series, Vec<(u64, Point)>)| {
        points.sort_by_key(|(x, _)| *x);
        // Two shapes of a grid can have as many threads.
        points.dedup_by_key(|(x, _)| *x);
        Series { points: points.into_iter().map(|(_, point)| point).collect(), ..series }
    };
    all.into_iter().map(sorted).collect()
}

/// The number of threads of a team.
pub(super) fn team(case: &Case) -> u64 {
    u64::from(case.threads.unwrap_or(1))
}

/// The largest team of the rows that fits the CPUs.
pub(super) fn largest_team(data: &RunData, rows: &[usize]) -> Option<u32> {
    let cpus = data.run.machine.cpu.hardware_threads;
    let teams = rows.iter().filter_map(|index| data.rows[*index].case.threads);
    teams.filter(|threads| cpus == 0 || *threads <= cpus).max()
}

/// The numbers of cores and of CPUs (hardware threads), as in the charts of Burtchell and Burtscher. Unknown numbers have
/// no rule.
pub(super) fn cpu_rules(data: &RunData) -> Vec<Rule> {
    let cpu = &data.run.machine.cpu;
    let rule = |count: u32, name: &str| Rule { x: f64::from(count), label: format!("{name}: {count}") };
    match (cpu.cores, cpu.hardware_threads) {
        (0, 0) => Vec::new(),
        (0, cpus) => vec![rule(cpus, "CPUs")],
        (cores, 0) => vec![rule(cores, "cores")],
        (cores, cpus) if cores == cpus => vec![rule(cpus, "CPUs")],
        (cores, cpus) => vec![rule(cores, "cores"), rule(cpus, "CPUs")],
    }
}

/// How many of the rows have no reliable figure, by verdict.
pub(super) fn unreliable(data: &RunData, rows: &[usize]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for index in rows {
        let verdict = &data.rows[*index].verdict;
        if *verdict != Verdict::Resolved {
            *counts.entry(crate::naming::verdict(verdict.name())).or_default() += 1;
        }
    }
    let total: usize = counts.values().sum();
    let words: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    (total > 0).then(|| format!("Rough or not resolved: {total} of {} cases ({}).", rows.len(), words.join(", ")))
}

/// Sentences as one note.
pub(super) fn note(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::spec::Spec;
    use super::super::testing::{decision, lock};
    use crate::analysis::answers::testing::data;

    #[test]
    fn the_rules_of_a_sweep_are_cores_and_cpus() {
        let rules = |cores| {
            let mut run = data(vec![lock("ticket", 2, 100.0), lock("mcs", 2, 90.0)]);
            run.run.machine.cpu.cores = cores;
            let Some(Spec::Lines { rules, .. }) = decision("decide-lock", &run).map(|found| found.charts[0].clone())
            else {
                panic!("no lines");
            };
            rules.into_iter().map(|rule| rule.label).collect::<Vec<_>>()
        };
        assert_eq!(rules(8), ["cores: 8", "CPUs: 16"]);
        assert_eq!(rules(16), ["CPUs: 16"]);
    }
}
