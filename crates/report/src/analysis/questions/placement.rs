//! Where to place threads: on one core, in one cache, on one NUMA node, close or spread?

use super::prelude::*;
use crate::analysis::matrix::{self, PAIR_CLASSES};
use crate::figure::grouped;
use crate::reading::bounds;

pub(super) const SENTENCES: Sentences =
    &[sentence(levels, &[]), sentence(placement, &[]), sentence(same_threads, &[On::Thread])];

/// Says what a hand-off costs within and across the groups that its costs show.
pub(super) fn levels(data: &RunData) -> Option<Outcome> {
    let matrix = matrix::matrix(&data.run, &data.rows)?;
    let text = matrix.levels_in_words(&data.run, &data.rows)?;
    let nearest = figure::time(matrix.levels.first()?.ns);
    Some(Outcome::holds(text, matrix.pairs.iter().map(|(_, _, row)| *row)).headed(nearest))
}

/// Says that all pairs of CPUs hand over alike, or leaves that open.
fn placement(data: &RunData) -> Option<Outcome> {
    if PAIR_CLASSES.into_iter().filter(|class| on_rung(data, class.rung, Basis::Run).is_some()).count() > 1 {
        return None;
    }
    let matrix = matrix::matrix(&data.run, &data.rows)?;
    if let Some(doubt) = matrix.doubt {
        return Some(Outcome::open(format!(
            "whether hand-offs are faster between some pairs of CPUs than between others ({doubt})"
        )));
    }
    let alike = matrix.alike?;
    let (pairs, measured, possible) = (alike.pairs, matrix.pairs.len(), matrix.possible);
    let of = match (pairs == measured, measured == possible) {
        (true, true) => format!("for two threads on any of the {pairs} CPU pairs"),
        (true, false) => format!("among the {pairs} measured CPU pairs (of {})", grouped(possible)),
        (false, _) => format!("among the {pairs} CPU pairs (of {measured}) with narrow intervals"),
    };
    let (least, most) = (figure::time(alike.costs.0), figure::time(alike.costs.1));
    let costs = if least == most { least } else { format!("{least} to {most}") };
    let text = format!("Placement does not matter {of}: a hand-off takes {costs}.");
    let headline = figure::between(alike.costs.0, alike.costs.1);
    Some(Outcome::holds(text, matrix.pairs.iter().map(|(_, _, row)| *row)).headed(headline))
}

/// Says in which placement the same threads cost the least.
fn same_threads(data: &RunData) -> Option<Outcome> {
    let differing = |all: Vec<usize>| {
        let known = data.by_cost(all).into_iter().filter_map(|index| Known::written(data, index, Basis::Run));
        let known: Vec<Known<'_>> = known.collect();
        let both @ Comparison { less, more, .. } = known.first()?.below(*known.last()?)?;
        let [best, worst] = [less, more].map(|one| placed(&one.row.case));
        let (name, threads) = (less.name(), less.row.case.threads.unwrap_or(1));
        Some((format!("{name} takes {less} with {best} and {more} with {worst} ({threads} threads)"), both))
    };
    let (words, all): (Vec<String>, Vec<Comparison<'_>>) = bindings(data).into_iter().filter_map(differing).unzip();
    let text = format!("Placement matters: {}.", enumerated(words)?);
    Some(Outcome::holds(text, all.iter().flat_map(Comparison::rows)).headed(all.first()?.less))
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let time = |label| Axis::log(label, Unit::Time);
    let pairs = classes(data);
    let decides = pairs.len() > 1 || placement(data).is_some();
    let bound = bindings(data).concat().into_iter().map(|index| binding(data, index)).collect();
    let pairs = Spec::dots(time("time of a hand-off"), pairs).filter(|_| decides);
    let charts = [
        pairs.map(|chart| chart.titled("Hand-off by placement of the pair")),
        Spec::dots(time("time per operation"), bound)
            .map(|chart| chart.titled("The same threads in different placements")),
    ];
    let otherwise = "The run does not show whether placement matters, because it has only one class of CPU pairs.";
    Picture::of(charts, otherwise, [missing(data)])
}

/// Says which parts the machine lacks, as the system reports it.
fn missing(data: &RunData) -> Option<String> {
    let cpu = &data.run.machine.cpu;
    let node = if cpu.memory_nodes.is_empty() { "one NUMA node" } else { "one NUMA node with CPUs" };
    let no_smt = cpu.cores > 0 && cpu.cores == cpu.hardware_threads;
    let lacks = [
        (no_smt, "one hardware thread per core", Some("SMT")),
        (cpu.numa_nodes == 1, node, Some("remote memory")),
        (cpu.packages == 1, "one package", None),
    ];
    let lacks: Vec<_> = lacks.into_iter().filter(|(is_lacking, ..)| *is_lacking).collect();
    let reported = enumerated(lacks.iter().map(|(_, what, _)| (*what).to_owned()))?;
    let untold: Vec<&str> = lacks.iter().filter_map(|(.., about)| *about).collect();
    let untold = if untold.is_empty() {
        String::new()
    } else {
        format!(", so this run says nothing about {}", untold.join(" or "))
    };
    let virtual_machine =
        if cpu.hypervisor.is_some() { " A virtual machine may hide part of the topology." } else { "" };
    Some(format!("The system reports {reported}{untold}.{virtual_machine}"))
}

/// The pairs of each class, the median one with its figure, then those whose class an import does not know. Without a class,
/// the pair of the usual close team.
fn classes(data: &RunData) -> Vec<Series> {
    let series = |label: &str, median: usize| {
        let others = pairs(data, data.case(median)).into_iter().filter(|index| *index != median);
        let point = |index: usize| Point::cost(&data.rows[index], index, 0.0);
        let mut points: Vec<Point> = others.map(|index| Point { text: None, ..point(index) }).collect();
        points.push(point(median));
        if points.len() > 1 {
            // Intervals would hide the marks of the other pairs.
            for point in &mut points {
                (point.low, point.high, point.p05, point.p95) = (None, None, None, None);
            }
        }
        Series::plain(label, 0, points)
    };
    let of = |id: &str, label: &str| Some(series(label, rung(data, id)?.row));
    let known: Vec<Series> = PAIR_CLASSES.iter().filter_map(|class| of(class.rung, class.place)).collect();
    if known.is_empty() {
        return of("handoff.close", "a close pair").into_iter().collect();
    }
    let of_no_class = data.by_cost(matrix::without_class(&data.rows));
    let median = of_no_class.get(of_no_class.len() / 2);
    known.into_iter().chain(median.map(|median| series("other pairs", *median))).collect()
}

/// The most pairs of a class to draw; of more, every n-th in the order of their costs.
const MOST_PAIRS: usize = 120;

/// The pairs of the same class, by cost.
fn pairs(data: &RunData, like: &Case) -> Vec<usize> {
    let same = |case: &Case| Case { placement: like.placement.clone(), ..case.clone() } == *like;
    let rows = data.by_cost(data.rows_where(|row| same(&row.case) && bounds(row).is_some()).collect());
    let step = rows.len().div_ceil(MOST_PAIRS).max(1);
    rows.into_iter().step_by(step).collect()
}

/// Operations that are compared by the placement of their team.
const BOUND: [&str; 3] = ["cpu.atomic.add", "cpu.barrier.dissemination", "cpu.lock.pthread_mutex"];

/// The same number of threads in every placement: the rows of each operation's usual case, at the largest team of at most
/// half of the CPUs. With all CPUs, every placement is the same set.
fn bindings(data: &RunData) -> Vec<Vec<usize>> {
    let half = (data.run.machine.cpu.hardware_threads / 2).max(2);
    let of = |id: &str| {
        let is_one = |row: &Row| {
            let is_team = row.case.threads.is_some_and(|threads| (2..=half).contains(&threads));
            let is_placed = row.case.placement.as_ref().is_some_and(|own| placements::BY_RANK.contains(own));
            row.case.primitive == id && is_plain(row) && is_team && is_placed
        };
        let mut sets = data.sets(|row| is_one(row).then(|| Case { placement: None, ..row.case.clone() }));
        sets.retain(|_, rows| rows.len() > 1);
        let usual = sets.into_iter().min_by_key(|(case, _)| (std::cmp::Reverse(case.threads), unusualness(case)));
        usual.map(|(_, rows)| rows)
    };
    BOUND.into_iter().filter_map(of).collect()
}

/// The placement in words.
fn placed(case: &Case) -> String {
    match &case.placement {
        Some(Placement::None) => "unbound".to_owned(),
        placement => placement.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

fn binding(data: &RunData, index: usize) -> Series {
    let row = &data.rows[index];
    let (id, threads) = (&row.case.primitive, row.case.threads.unwrap_or(1));
    let label = format!("{}, {}, {threads} threads", short_name(id), placed(&row.case));
    Series { label, primitive: Some(id.clone()), colour: None, points: vec![Point::cost(row, index, 0.0)] }
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Group, Layout, Placement, Row};

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
        assert!(found.note.unwrap().contains("says nothing about SMT"));
        run.run.machine.cpu.numa_nodes = 1;
        assert!(missing(&run).unwrap().contains("one NUMA node, so"));
        run.run.machine.cpu.memory_nodes = vec![1, 2];
        assert!(missing(&run).unwrap().contains("one NUMA node with CPUs, so"), "{:?}", missing(&run));
        assert_eq!(series(&found.charts[0])[0].points.len(), 2, "each pair is a point");
        run.rows.push(pair(Group::named("across"), [0, 8], 210.0));
        assert_eq!(said_of(placement, &run), None, "they are not alike");
        let imported = pair(Group::named("across"), [0, 4], 90.0);
        run.rows.push(Row { case: Case { group: None, ..imported.case.clone() }, ..imported });
        let found = decision("decide-placement", &run).unwrap();
        let last = series(&found.charts[0]).last().map(|series| (series.label.clone(), series.points.len()));
        assert_eq!(last, Some(("other pairs".to_owned(), 1)), "those of no known class are drawn, too");
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
    fn equal_pairs_are_said_to_be_equal_as_far_as_they_were_measured() {
        let rows = vec![pair(None, [0, 1], 70.0), pair(None, [1, 2], 73.0), pair(None, [0, 2], 71.0)];
        let sentence =
            "Placement does not matter for two threads on any of the 3 CPU pairs: a hand-off takes 70.0 ns to 73.0 ns.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        let mut sampled = data(rows);
        sampled.run.environment.allowed_cpus = "0-15".into();
        let sentence = said_of(placement, &sampled).unwrap().unwrap();
        assert!(sentence.contains("among the 3 measured CPU pairs (of 120)"), "{sentence}");
    }

    #[test]
    fn pairs_without_a_figure_leave_open_whether_there_is_a_better_place() {
        let mut rows = vec![pair(None, [0, 1], 101.0), pair(None, [1, 2], 104.0), pair(None, [0, 2], 107.0)];
        let noisy = |row: Row, low, high| Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) };
        rows[2] = noisy(rows[2].clone(), 80.0, 130.0);
        let sentence = "Placement does not matter among the 2 CPU pairs (of 3) with narrow intervals: a \
                        hand-off takes 101 ns to 104 ns.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        rows[2] = noisy(rows[2].clone(), 0.98, 213.0);
        let question = "whether hand-offs are faster between some pairs of CPUs than between others (for 1 of 3 CPU \
                        pairs, the within-run interval is wider than ±25 %)";
        assert_eq!(said(placement, rows), Some(Err(question.into())));
    }
}
