//! Where threads should be: on one core, in one cache, on one NUMA node, close or spread.

use std::collections::BTreeMap;

use syncscope_core::{Case, Group, Placement};

use super::spec::{Axis, Point, Series, Spec, Unit};
use super::sweep::{exists, note};
use super::{Decision, said};
use crate::RunData;
use crate::analysis::answers::cpus;
use crate::analysis::answers::field::rung;
use crate::analysis::row_query::{bounds, short_name, unusualness};

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let time = |label| Axis::log(label, Unit::Time);
    let charts: Vec<Spec> = [
        Spec::dots(time("time of a hand-off"), classes(data))
            .map(|chart| chart.titled("Hand-off by place of the pair")),
        Spec::dots(time("time per addition"), siblings(data)).map(|chart| chart.titled("Hardware threads of one core")),
        Spec::dots(time("time per addition"), nodes(data)).map(|chart| chart.titled("The line on a NUMA node")),
        Spec::dots(time("time per operation"), bindings(data)).map(|chart| chart.titled("Close, spread or unbound")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if charts.is_empty() {
        return None;
    }
    let found: Vec<String> =
        [cpus::placement(data), cpus::hyperthreads(data)].into_iter().flatten().map(said).collect();
    let sentence = if found.is_empty() {
        "Whether the place of threads matters cannot be decided: the run has one class of pairs only.".to_owned()
    } else {
        found.join(" ")
    };
    Some(Decision {
        id: "decide-placement",
        question: "Where to place threads?",
        sentence,
        charts,
        note: note([missing(data)]),
    })
}

/// What the machine does not have, as the system reports it.
fn missing(data: &RunData) -> Option<String> {
    let cpu = &data.run.machine.cpu;
    let no_smt = cpu.cores > 0 && cpu.cores == cpu.hardware_threads;
    let parts = [
        no_smt.then_some("one hardware thread for each core, so nothing is said about hyperthreads"),
        (cpu.numa_nodes == 1).then_some("one NUMA node, so nothing is said about remote memory"),
        (cpu.packages == 1).then_some("one package"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().map(str::to_owned).collect();
    if parts.is_empty() {
        return None;
    }
    let virtual_machine = if cpu.hypervisor.is_some() { " A virtual machine may hide more." } else { "" };
    Some(format!("The system reports {}.{virtual_machine}", parts.join("; ")))
}

/// The pairs of each class, the median one with its figure; without a class, the pair of the usual close team.
fn classes(data: &RunData) -> Vec<Series> {
    let of = |title: &str, label: &str| {
        let median = rung(data, "Two threads", title)?.row;
        let others = pairs(data, &data.rows[median].case).into_iter().filter(|index| *index != median);
        let mut points: Vec<Point> = others.map(|index| Point::cost(&data.rows[index], index, 0.0)).collect();
        points.push(Point::dot(&data.rows[median], median));
        if points.len() > 1 {
            // Intervals would hide the marks of the other pairs.
            for point in &mut points {
                (point.low, point.high, point.p05, point.p95) = (None, None, None, None);
            }
        }
        Some(Series { label: label.to_owned(), primitive: None, colour: Some(0), points })
    };
    let known: Vec<Series> = cpus::CLASSES.iter().filter_map(|(title, label)| of(title, label)).collect();
    if known.is_empty() { of("Hand-off, close", "a close pair").into_iter().collect() } else { known }
}

/// The most pairs of a class that are drawn. Of more, every n-th in the order of their costs.
const MOST_PAIRS: usize = 120;

/// The pairs of the same class, by cost.
fn pairs(data: &RunData, like: &Case) -> Vec<usize> {
    let same = |case: &Case| Case { placement: like.placement.clone(), ..case.clone() } == *like;
    let cost = |index: &usize| data.rows[*index].ns.map_or(f64::INFINITY, syncscope_core::Nanoseconds::value);
    let mut rows: Vec<usize> = (0..data.rows.len())
        .filter(|index| same(&data.rows[*index].case) && bounds(&data.rows[*index]).is_some())
        .collect();
    rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let step = rows.len().div_ceil(MOST_PAIRS).max(1);
    rows.into_iter().step_by(step).collect()
}

/// One series for each row of the SMT primitive whose group has a label.
fn by_group(data: &RunData, label: impl Fn(&Group) -> Option<String>) -> Vec<Series> {
    let rows = data
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.case.primitive == cpus::SMT_PRIMITIVE && row.case.form.is_none() && exists(row));
    let mut found: BTreeMap<String, (usize, &Case)> = BTreeMap::new();
    for (index, row) in rows {
        let Some(label) = row.case.group.as_ref().and_then(&label) else { continue };
        let known = found.entry(label).or_insert((index, &row.case));
        if unusualness(&row.case) < unusualness(known.1) {
            *known = (index, &row.case);
        }
    }
    let series = |(label, (index, _)): (String, (usize, &Case))| {
        let points = vec![Point::dot(&data.rows[index], index)];
        Series { label, primitive: None, colour: Some(0), points }
    };
    found.into_iter().map(series).collect()
}

fn siblings(data: &RunData) -> Vec<Series> {
    by_group(data, |group| match group {
        Group::SiblingIdle => Some("its sibling is idle".to_owned()),
        Group::SiblingBusy => Some("its sibling works, too".to_owned()),
        _ => None,
    })
}

fn nodes(data: &RunData) -> Vec<Series> {
    by_group(data, |group| match group {
        Group::LineOnNode(Some(node)) => Some(format!("memory of node {node}")),
        Group::LineOnNode(None) => Some("memory of a node".to_owned()),
        _ => None,
    })
}

/// Operations that are compared by the placement of their team.
pub(super) const BOUND: [&str; 3] = ["cpu.atomic.add", "cpu.barrier.dissemination", "cpu.lock.pthread_mutex"];

/// The same threads close, spread and unbound: the usual case of each operation, at the largest team of at most half of
/// the CPUs. With all CPUs, close and spread are one set of CPUs.
fn bindings(data: &RunData) -> Vec<Series> {
    let half = (data.run.machine.cpu.hardware_threads / 2).max(2);
    let mut series = Vec::new();
    for id in BOUND {
        let mut sets: BTreeMap<Case, Vec<usize>> = BTreeMap::new();
        for (index, row) in data.rows.iter().enumerate() {
            let team = row.case.threads.is_some_and(|threads| (2..=half).contains(&threads));
            let placed = matches!(row.case.placement, Some(Placement::Close | Placement::Spread | Placement::None));
            if row.case.primitive == id
                && row.case.form.is_none()
                && row.case.group.is_none()
                && exists(row)
                && team
                && placed
            {
                sets.entry(Case { placement: None, ..row.case.clone() }).or_default().push(index);
            }
        }
        sets.retain(|_, rows| rows.len() > 1);
        let usual = sets.into_iter().min_by_key(|(case, _)| (std::cmp::Reverse(case.threads), unusualness(case)));
        for index in usual.map(|(_, rows)| rows).unwrap_or_default() {
            let row = &data.rows[index];
            let placement = row.case.placement.as_ref().map(ToString::to_string).unwrap_or_default();
            let place = if placement == "none" { "unbound".to_owned() } else { placement };
            let threads = row.case.threads.unwrap_or(1);
            let label = format!("{}, {place}, {threads} threads", short_name(id));
            series.push(Series {
                label,
                primitive: Some(id.to_owned()),
                colour: None,
                points: vec![Point::dot(row, index)],
            });
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Layout, Row};

    use super::super::testing::{add, decision, labels, series};
    use super::*;
    use crate::analysis::answers::testing::{case, data, row};

    #[test]
    fn a_machine_without_hardware_threads_says_so() {
        let pair = |group: Group, cpus: [u32; 2], ns| {
            let placement = Some(Placement::List(cpus.to_vec()));
            row(Case { group: Some(group), placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns, 0.2)
        };
        let mut run = data(vec![pair(Group::SameL3, [0, 1], 48.0), pair(Group::SameL3, [0, 2], 49.0)]);
        run.run.machine.cpu.cores = 16;
        let found = decision("decide-placement", &run).unwrap();
        assert!(found.note.unwrap().contains("nothing is said about hyperthreads"));
        assert_eq!(series(&found.charts[0])[0].points.len(), 2, "each pair is a point");
        let far = pair(Group::Across, [0, 8], 210.0);
        run.rows.push(far);
        let text = decision("decide-placement", &run).unwrap().sentence;
        assert!(text.contains("210 ns across packages"), "{text}");
    }

    #[test]
    fn placements_of_the_same_threads_stand_together() {
        let add = |threads, placement| {
            let of = add(Layout::Shared, threads, 100.0, 1e7);
            Row { case: Case { placement: Some(placement), ..of.case.clone() }, ..of }
        };
        let rows = vec![
            add(8, Placement::Close),
            add(8, Placement::Spread),
            add(4, Placement::Close),
            add(4, Placement::Spread),
            add(16, Placement::Close),
            add(16, Placement::Spread),
            add(8, Placement::None),
        ];
        let found = decision("decide-placement", &data(rows)).unwrap();
        let shown = labels(found.charts.last().unwrap());
        assert_eq!(shown, ["add, close, 8 threads", "add, spread, 8 threads", "add, unbound, 8 threads"]);
    }
}
