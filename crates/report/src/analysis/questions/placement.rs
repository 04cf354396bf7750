//! Where to place threads: on one core, in one cache, on one NUMA node, close or spread?

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Group, Mode, Placement, Row};

use super::rows::note;
use super::spec::{Axis, Point, Series, Spec, Unit};
use super::{Picture, Question, Said};
use crate::analysis::contest::{Basis, Known, bounds, is_absent};
use crate::analysis::ladder::{on_rung, rung};
use crate::analysis::matrix;
use crate::analysis::placements;
use crate::analysis::usual::{short_name, unusualness};
use crate::naming::enumeration;
use crate::{RunData, figure};

pub(super) const QUESTION: Question = Question {
    id: "decide-placement",
    title: "Where to place threads?",
    sentences: &[placement, hyperthreads, busy_siblings, across_sockets],
    picture: Some(picture),
    advice: None,
};

/// The classes of pairs of CPUs, the nearest first: the rung of the ladder and what two CPUs of the class are.
pub(super) const CLASSES: [(&str, &str); 6] = [
    ("handoff.core", "between the hardware threads of a core"),
    ("handoff.l2", "within an L2 cache"),
    ("handoff.l3", "within an L3 cache"),
    ("handoff.node", "within a NUMA node"),
    ("handoff.package", "within a package"),
    ("handoff.across", "across packages"),
];

/// What the place of two threads does to a hand-off. All pairs are measured in the same way, so rows are compared within the
/// run.
fn placement(data: &RunData) -> Option<Said> {
    let known: Vec<(&str, Known<'_>)> =
        CLASSES.into_iter().filter_map(|(id, words)| Some((words, on_rung(data, id, Basis::Run)?))).collect();
    if let [(_, nearest), .., (_, farthest)] = known.as_slice() {
        let is_certain = |one: Known<'_>, other| one.against(other).is_some_and(|both| both.is_certain());
        if !known.windows(2).all(|pair| is_certain(pair[0].1, pair[1].1)) {
            return Some(Said::Open("whether hand-offs between near CPUs are cheaper (intervals overlap)".to_owned()));
        }
        let figures: Vec<String> = known.iter().map(|(words, one)| format!("{} {words}", one.time())).collect();
        let text = format!(
            "A hand-off takes {}: {} as long for the farthest pair as for the nearest.",
            enumeration(&figures),
            nearest.against(*farthest)?.times()
        );
        return Some(Said::certain(text, known.iter().map(|(_, one)| one.index)));
    }
    let matrix = matrix::matrix(&data.run, &data.rows)?;
    if let Some(doubt) = matrix.doubt {
        return Some(Said::Open(format!("whether some pairs of CPUs hand over faster than others ({doubt})")));
    }
    let alike = matrix.alike?;
    let (pairs, measured, possible) = (alike.pairs, matrix.pairs.len(), matrix.possible);
    let (which, among) = match (pairs == measured, measured == possible) {
        (true, true) => (format!("All {pairs} pairs of CPUs"), ""),
        (true, false) => (format!("The {pairs} measured of {possible} pairs of CPUs"), "among them "),
        (false, _) => {
            (format!("The {pairs} of {measured} measured pairs of CPUs whose intervals are narrow"), "among them ")
        }
    };
    let text = format!(
        "{which} hand over in about the same time ({} to {}): {among}there is no better place for two threads.",
        figure::time(alike.costs.0),
        figure::time(alike.costs.1)
    );
    Some(Said::certain(text, matrix.pairs.iter().map(|(_, _, row)| *row)))
}

/// The primitive that is measured with an idle and with a busy sibling hardware thread.
const SMT_PRIMITIVE: &str = "cpu.atomic.add";

/// The groups of one thread on a core, and of two on its hardware threads.
const SIBLING_IDLE: &str = "sibling_idle";
const SIBLING_BUSY: &str = "sibling_busy";

/// What a hardware thread loses while its sibling works, and what the core gains. Rows are compared within the run.
fn hyperthreads(data: &RunData) -> Option<Said> {
    let with_group = |group: &str, like: Option<&Case>| {
        let fits = |case: &Case| {
            let place = |case: &Case| (case.dtype, case.layout, case.order);
            case.in_group(group)
                && case.primitive == SMT_PRIMITIVE
                && case.form.is_none()
                && like.is_none_or(|like| place(like) == place(case))
        };
        data.rows_where(|row| fits(&row.case)).find_map(|index| Known::with_figure(data, index, Basis::Run))
    };
    let busy = with_group(SIBLING_BUSY, None)?;
    let idle = with_group(SIBLING_IDLE, Some(&busy.row.case))?;
    let both = idle.across(busy)?;
    if !both.is_certain() {
        return Some(Said::Open("what a hardware thread loses to its sibling (intervals overlap)".to_owned()));
    }
    let text = format!(
        "Where the other hardware thread of the core is busy, an atomic add takes {} as long ({} instead of {}): both \
         together do {:.2} times the work of one.",
        both.times(),
        both.more.time(),
        both.less.time(),
        2.0 * both.less.ns / both.more.ns
    );
    Some(Said::certain(text, [idle.index, busy.index]))
}

/// A family of operations, in words, by the primitive that stands for it.
const FAMILIES: [(&str, &str); 6] = [
    ("an atomic add", "cpu.atomic.add"),
    ("a compare-and-swap", "cpu.atomic.cas_pass"),
    ("a barrier", "cpu.barrier.dissemination"),
    ("a mutex", "cpu.lock.pthread_mutex"),
    ("a critical section", "cpu.lock.openmp_critical"),
    ("a fence", "cpu.fence.seq_cst"),
];

/// What each family costs in one team and in another one, those first of which it certainly costs more. The teams are a
/// placement and a number of threads.
fn families(data: &RunData, [one, other]: [(&Placement, u32); 2]) -> (Vec<String>, Vec<usize>) {
    let of = |id: &str, (placement, threads): (&Placement, u32)| {
        let is_team = |case: &Case| {
            let is_default = case.primitive == id && case.form.is_none() && case.mode != Some(Mode::Latency);
            is_default && case.placement.as_ref() == Some(placement) && case.threads == Some(threads)
        };
        let rows = data.rows_where(|row| is_team(&row.case) && !is_absent(row));
        let usual = rows.min_by_key(|index| (unusualness(&data.rows[*index].case), data.rows[*index].case.clone()))?;
        Known::with_figure(data, usual, Basis::Run)
    };
    let (mut texts, mut rows) = (Vec::new(), Vec::new());
    for (words, id) in FAMILIES {
        let Some(both) = of(id, one).zip(of(id, other)).and_then(|(one, other)| one.across(other)) else { continue };
        if both.is_certain() {
            texts.push(format!("{words} {} ({} instead of {})", both.times(), both.more.time(), both.less.time()));
            rows.extend([both.less.index, both.more.index]);
        }
    }
    (texts, rows)
}

/// The cores of one socket, on machines with several hardware threads for each core or several sockets.
fn cores_of_a_socket(data: &RunData) -> Option<u32> {
    let cpu = &data.run.machine.cpu;
    cpu.cores.checked_div(cpu.packages).filter(|cores| *cores > 1)
}

/// What the second hardware thread of each core costs: the same cores of one socket, with one thread each and with two.
fn busy_siblings(data: &RunData) -> Option<Said> {
    let cpu = &data.run.machine.cpu;
    let cores = cores_of_a_socket(data).filter(|_| cpu.hardware_threads > cpu.cores)?;
    let all = cpu.hardware_threads / cpu.packages;
    // The one socket of a machine is all of it, which has the name of the usual placement.
    let full = if cpu.packages == 1 { &Placement::Cores } else { &Placement::Close };
    let (texts, rows) = families(data, [(&Placement::Cores, cores), (full, all)]);
    let text = format!(
        "With all {all} hardware threads of {cores} cores instead of one each, operations take longer: {}.",
        enumeration(&texts)
    );
    (!texts.is_empty()).then(|| Said::certain(text, rows))
}

/// What the second socket costs: as many threads, one on each core, in one socket and in all.
fn across_sockets(data: &RunData) -> Option<Said> {
    let cores = cores_of_a_socket(data).filter(|_| data.run.machine.cpu.packages > 1)?;
    let usual = placements::shown(data);
    let of = |placement: &Placement| {
        let rows = data.rows_where(|row| row.case.placement.as_ref() == Some(placement));
        rows.filter_map(|index| data.rows[index].case.threads)
            .filter(|threads| *threads <= cores)
            .collect::<BTreeSet<_>>()
    };
    let threads = of(&usual).intersection(&of(&Placement::Spread)).max().copied().filter(|threads| *threads > 1)?;
    let (texts, rows) = families(data, [(&usual, threads), (&Placement::Spread, threads)]);
    let text = format!(
        "With {threads} threads in all sockets instead of one, operations take longer: {}.",
        enumeration(&texts)
    );
    (!texts.is_empty()).then(|| Said::certain(text, rows))
}

fn picture(data: &RunData) -> Option<Picture> {
    let time = |label| Axis::log(label, Unit::Time);
    let charts: Vec<Spec> = [
        Spec::dots(time("time of a hand-off"), classes(data))
            .map(|chart| chart.titled("Hand-off by place of the pair")),
        Spec::dots(time("time per addition"), siblings(data)).map(|chart| chart.titled("Hardware threads of one core")),
        Spec::dots(time("time per addition"), nodes(data)).map(|chart| chart.titled("The line on a NUMA node")),
        Spec::dots(time("time per operation"), bindings(data))
            .map(|chart| chart.titled("The same threads in several placements")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if charts.is_empty() {
        return None;
    }
    Some(Picture {
        charts,
        text: None,
        otherwise: "Whether the place of threads matters cannot be decided: the run has one class of pairs only.",
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
    let of = |id: &str, label: &str| {
        let median = rung(data, id)?.row;
        let others = pairs(data, &data.rows[median].case).into_iter().filter(|index| *index != median);
        let mut points: Vec<Point> = others.map(|index| Point::cost(&data.rows[index], index, 0.0)).collect();
        points.push(Point::dot(&data.rows[median], median));
        if points.len() > 1 {
            // Intervals would hide the marks of the other pairs.
            for point in &mut points {
                (point.low, point.high, point.p05, point.p95) = (None, None, None, None);
            }
        }
        Some(Series::plain(label, 0, points))
    };
    let known: Vec<Series> = CLASSES.iter().filter_map(|(id, label)| of(id, label)).collect();
    if known.is_empty() { of("handoff.close", "a close pair").into_iter().collect() } else { known }
}

/// The most pairs of a class that are drawn. Of more, every n-th in the order of their costs.
const MOST_PAIRS: usize = 120;

/// The pairs of the same class, by cost.
fn pairs(data: &RunData, like: &Case) -> Vec<usize> {
    let same = |case: &Case| Case { placement: like.placement.clone(), ..case.clone() } == *like;
    let cost = |index: &usize| data.rows[*index].ns.map_or(f64::INFINITY, syncscope_core::Nanoseconds::value);
    let mut rows: Vec<usize> = data.rows_where(|row| same(&row.case) && bounds(row).is_some()).collect();
    rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let step = rows.len().div_ceil(MOST_PAIRS).max(1);
    rows.into_iter().step_by(step).collect()
}

/// One series for each row of the SMT primitive whose group has a label.
fn by_group(data: &RunData, label: impl Fn(&Group) -> Option<String>) -> Vec<Series> {
    let is_one = |row: &Row| row.case.primitive == SMT_PRIMITIVE && row.case.form.is_none() && !is_absent(row);
    let case = |index: usize| &data.rows[index].case;
    let labelled = |index| Some((label(case(index).group.as_ref()?)?, index));
    let mut found: Vec<(String, usize)> = data.rows_where(is_one).filter_map(labelled).collect();
    found.sort_by_cached_key(|(label, index)| (label.clone(), unusualness(case(*index))));
    found.dedup_by(|(label, _), (first, _)| label == first);
    let series = |(label, index): (String, usize)| Series::plain(label, 0, vec![Point::dot(&data.rows[index], index)]);
    found.into_iter().map(series).collect()
}

fn siblings(data: &RunData) -> Vec<Series> {
    by_group(data, |group| match group.word() {
        SIBLING_IDLE => Some("its sibling is idle".to_owned()),
        SIBLING_BUSY => Some("its sibling works, too".to_owned()),
        _ => None,
    })
}

fn nodes(data: &RunData) -> Vec<Series> {
    by_group(data, |group| match (group.word(), group.number()) {
        ("line_on_node #", Some(node)) => Some(format!("memory of node {node}")),
        ("line_on_node", _) => Some("memory of a node".to_owned()),
        _ => None,
    })
}

/// Operations that are compared by the placement of their team.
const BOUND: [&str; 3] = ["cpu.atomic.add", "cpu.barrier.dissemination", "cpu.lock.pthread_mutex"];

/// The same threads in every placement: the usual case of each operation, at the largest team of at most half of
/// the CPUs. With all CPUs, all placements are one set of CPUs.
fn bindings(data: &RunData) -> Vec<Series> {
    let half = (data.run.machine.cpu.hardware_threads / 2).max(2);
    let mut series = Vec::new();
    for id in BOUND {
        let mut sets: BTreeMap<Case, Vec<usize>> = BTreeMap::new();
        for (index, row) in data.rows.iter().enumerate() {
            let team = row.case.threads.is_some_and(|threads| (2..=half).contains(&threads));
            let placed = row.case.placement.as_ref().is_some_and(|placement| placements::BY_RANK.contains(placement));
            if row.case.primitive == id
                && row.case.form.is_none()
                && row.case.group.is_none()
                && !is_absent(row)
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
    use syncscope_core::Layout;

    use super::super::testing::{add, decision, labels, series};
    use super::super::testing::{case, data, row, said, said_of, within};
    use super::*;
    use syncscope_core::Verdict;

    #[test]
    fn a_machine_without_hardware_threads_says_so() {
        let pair = |group: Group, cpus: [u32; 2], ns| {
            let placement = Some(Placement::List(cpus.to_vec()));
            row(Case { group: Some(group), placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns, 0.2)
        };
        let mut run =
            data(vec![pair(Group::named("same_l3"), [0, 1], 48.0), pair(Group::named("same_l3"), [0, 2], 49.0)]);
        run.run.machine.cpu.cores = 16;
        let found = decision("decide-placement", &run).unwrap();
        assert!(found.note.unwrap().contains("nothing is said about hyperthreads"));
        assert_eq!(series(&found.charts[0])[0].points.len(), 2, "each pair is a point");
        let far = pair(Group::named("across"), [0, 8], 210.0);
        run.rows.push(far);
        let text = said_of(placement, &run).unwrap().unwrap();
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

    fn pair(group: Option<Group>, cpus: [u32; 2], ns: f64) -> Row {
        let placement = Some(Placement::List(cpus.to_vec()));
        row(Case { group, placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns, 0.2)
    }

    #[test]
    fn farther_pairs_take_longer() {
        let rows = vec![
            pair(Some(Group::named("same_core")), [0, 8], 6.0),
            pair(Some(Group::named("same_l3")), [0, 1], 48.0),
            pair(Some(Group::named("across")), [0, 4], 210.0),
        ];
        let sentence = "A hand-off takes 6.00 ns between the hardware threads of a core, 48.0 ns within an L3 cache and 210 ns \
                        across packages: 35 times as long for the farthest pair as for the nearest.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        let blurred = vec![rows[0].clone(), within(rows[1].clone(), 5.0, 90.0)];
        assert!(said(placement, blurred).unwrap().is_err());
        assert_eq!(said(placement, rows[..1].to_vec()), None);
    }

    #[test]
    fn equal_pairs_are_said_to_be_equal_as_far_as_they_were_measured() {
        let rows = vec![pair(None, [0, 1], 70.0), pair(None, [1, 2], 73.0), pair(None, [0, 2], 71.0)];
        let sentence = "All 3 pairs of CPUs hand over in about the same time (70.0 ns to 73.0 ns): there is no better place for \
                        two threads.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        let mut sampled = data(rows);
        sampled.run.environment.allowed_cpus = "0-15".into();
        let sentence = said_of(placement, &sampled).unwrap().unwrap();
        assert!(
            sentence.starts_with("The 3 measured of 120 pairs") && sentence.contains("among them there is no better")
        );
    }

    #[test]
    fn pairs_without_a_figure_leave_open_whether_there_is_a_better_place() {
        let mut rows = vec![pair(None, [0, 1], 101.0), pair(None, [1, 2], 104.0), pair(None, [0, 2], 107.0)];
        let noisy = |row: Row, low, high| Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) };
        rows[2] = noisy(rows[2].clone(), 80.0, 130.0);
        let sentence = "The 2 of 3 measured pairs of CPUs whose intervals are narrow hand over in about the same time (101 ns to \
                        104 ns): among them there is no better place for two threads.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        rows[2] = noisy(rows[2].clone(), 0.98, 213.0);
        let question = "whether some pairs of CPUs hand over faster than others (1 of 3 pairs has no figure)";
        assert_eq!(said(placement, rows), Some(Err(question.into())));
    }

    #[test]
    fn siblings_and_sockets_are_told_apart() {
        let team =
            |id: &str, placement, threads, ns| row(Case { placement: Some(placement), ..case(id, threads) }, ns, 0.2);
        let (barrier, mutex) = ("cpu.barrier.dissemination", "cpu.lock.pthread_mutex");
        let rows = vec![
            team(barrier, Placement::Cores, 10, 100.0),
            team(barrier, Placement::Close, 20, 150.0),
            team(barrier, Placement::Spread, 10, 300.0),
            team(mutex, Placement::Cores, 10, 100.0),
            team(mutex, Placement::Close, 20, 400.0),
            team(mutex, Placement::Cores, 8, 80.0),
        ];
        let mut run = data(rows);
        let cpu = &mut run.run.machine.cpu;
        (cpu.packages, cpu.numa_nodes, cpu.cores, cpu.hardware_threads) = (2, 2, 20, 40);
        let sentence = said_of(busy_siblings, &run).unwrap().unwrap();
        assert_eq!(
            sentence,
            "With all 20 hardware threads of 10 cores instead of one each, operations take longer: a barrier 1.5 times (150 ns \
             instead of 100 ns) and a mutex 4.0 times (400 ns instead of 100 ns)."
        );
        let sentence = said_of(across_sockets, &run).unwrap().unwrap();
        let expected = "With 10 threads in all sockets instead of one, operations take longer: a barrier 3.0 times (300 ns \
                        instead of 100 ns).";
        assert_eq!(sentence, expected);
        run.run.machine.cpu.packages = 1;
        assert_eq!((said_of(busy_siblings, &run), said_of(across_sockets, &run)), (None, None));
    }

    #[test]
    fn a_busy_sibling_slows_a_thread_down() {
        let add = |group, threads, ns| row(Case { group: Some(group), ..case("cpu.atomic.add", threads) }, ns, 0.2);
        let rows = vec![add(Group::named("sibling_idle"), 1, 5.0), add(Group::named("sibling_busy"), 2, 9.0)];
        let sentence = "Where the other hardware thread of the core is busy, an atomic add takes 1.8 times as long (9.00 ns \
                        instead of 5.00 ns): both together do 1.11 times the work of one.";
        assert_eq!(said(hyperthreads, rows.clone()), Some(Ok(sentence.into())));
        let overlapping = vec![within(rows[0].clone(), 4.0, 9.5), rows[1].clone()];
        assert!(said(hyperthreads, overlapping).unwrap().is_err());
        assert_eq!(said(hyperthreads, rows[1..].to_vec()), None);
    }
}
