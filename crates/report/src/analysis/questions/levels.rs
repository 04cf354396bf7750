//! Leaving a cache, a die, a NUMA node, a socket: what each boundary costs threads that share something, and what another
//! node's memory costs.

use syncscope_core::Nanoseconds;
use syncscope_core::machine::Boundaries;

use super::families::{Contrast, by_class, line, line_of, name, of_teams, take_longer, used};
use super::prelude::*;
use crate::analysis::matrix::{PAIR_CLASSES, PairClass};
use crate::analysis::placements::list_has_any;

pub(super) const SENTENCES: Sentences = &[
    sentence(classes, &[]),
    sentence(across, &[]),
    sentence(memory_of_another_node, &[]),
    sentence(cohort, &[On::Placement, On::Section, On::Thread]),
];

/// Says how a hand-off depends on the nearest resource that two threads share. All pairs are measured in the same way, so
/// rows are compared within the run.
fn classes(data: &RunData) -> Option<Outcome> {
    let of = |class: PairClass| Some((class.place, on_rung(data, class.rung, Basis::Run)?));
    let known: Vec<(&str, Known<'_>)> = PAIR_CLASSES.into_iter().filter_map(of).collect();
    let [(_, nearest), .., (_, farthest)] = known.as_slice() else { return None };
    if !each_costs_more(&known) {
        return Some(Outcome::open(
            "whether hand-offs between near CPUs are cheaper (the intervals \
                                   overlap)"
                .to_owned(),
        ));
    }
    let figures: Vec<String> = known.iter().map(|(words, one)| format!("{one} {words}")).collect();
    let (figures, ratio) = (enumeration(&figures), nearest.against(*farthest)?.ratio);
    let text = format!("A hand-off takes {figures}: {ratio} as long for the farthest pair as for the nearest.");
    Some(Outcome::holds(text, known.iter().map(|(_, one)| one.index)).headed(nearest))
}

/// The largest parts that the machine has several of: the largest team of the usual placement within one of them, and their
/// name.
fn parts(data: &RunData) -> Option<(u32, &'static str)> {
    let Boundaries { cache, node, package, .. } = placements::boundaries(&data.run, &placements::shown(data));
    let parts = [(package, "socket"), (node, "NUMA node"), (cache, "L3 cache")];
    parts.into_iter().find_map(|(second, name)| Some((second?.saturating_sub(1), name)))
}

/// The same number of threads, one per core, in one part of the machine and in several.
pub(super) fn teams(data: &RunData) -> Option<[(Placement, u32); 2]> {
    let (most, _) = parts(data)?;
    let usual = placements::shown(data);
    let of = |placement: &Placement| {
        let rows = data.rows_where(|row| row.case.placement.as_ref() == Some(placement));
        let teams = rows.filter_map(|index| data.case(index).threads);
        teams.filter(|threads| (2..=most).contains(threads)).collect::<BTreeSet<u32>>()
    };
    let threads = of(&usual).intersection(&of(&Placement::Spread)).max().copied()?;
    Some([(usual, threads), (Placement::Spread, threads)])
}

fn across(data: &RunData) -> Option<Outcome> {
    let ((_, part), teams) = (parts(data)?, teams(data)?);
    let where_longer = format!("With {} threads across {part}s instead of in one", teams[0].1);
    take_longer(&where_longer, &of_teams(data, &teams).collect::<Vec<_>>(), |_| None)
}

/// The group of two threads that contend for a line in the memory of a NUMA node.
const LINE_ON_NODE: &str = "line_on_node #";

/// The nodes next to the CPUs of a row.
fn nodes_of(data: &RunData, case: &Case) -> Vec<u32> {
    let Some(Placement::List(cpus)) = &case.placement else { return Vec::new() };
    let is_next = |list: &str| list_has_any(list, cpus);
    data.run.machine.cpu.node_cpus.iter().filter(|(_, list)| is_next(list)).map(|(node, _)| *node).collect()
}

/// The rows of one operation on one pair of CPUs, by the node of the line.
type Homes = BTreeMap<u32, usize>;

/// The rows of each operation on each pair of CPUs.
fn homes(data: &RunData) -> Vec<(Case, Homes)> {
    let mut found: BTreeMap<_, Homes> = BTreeMap::new();
    for (index, row) in data.rows.iter().enumerate().filter(|(_, row)| row.case.form.is_none() && !is_absent(row)) {
        if let Some(node) = row.case.group_number(LINE_ON_NODE) {
            let operation = Case { group: None, ..row.case.clone() };
            let place = nodes_of(data, &operation);
            let key = (row.case.primitive.clone(), unusualness(&operation), place.len(), place, operation);
            found.entry(key).or_default().insert(node, index);
        }
    }
    found.into_iter().map(|((.., operation), homes)| (operation, homes)).collect()
}

/// Says what it costs two threads of one node to contend for a line in another node's memory.
fn memory_of_another_node(data: &RunData) -> Option<Outcome> {
    let found = homes(data);
    let (node, own, homes) = found.iter().find_map(|(operation, homes)| {
        let [node] = nodes_of(data, operation)[..] else { return None };
        Some((node, *homes.get(&node)?, homes))
    })?;
    let cost = |index: &usize| data.rows[*index].ns.map_or(0.0, Nanoseconds::value);
    let others = homes.iter().filter(|(home, _)| **home != node);
    let (other, far) = others.max_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)))?;
    let both = Contrast::of(data, own, *far);
    let Some(words) = both.instead() else {
        let open = "whether a line in memory of another NUMA node costs more (the intervals overlap)".to_owned();
        return Some(Outcome::open(open));
    };
    let text = format!(
        "When two threads of NUMA node {node} contend for a line in memory of node {other} instead of their own, \
         {words}."
    );
    Some(Outcome::holds(text, both.rows).headed(both.costs()?.more))
}

/// The lock that passes within a group of CPUs first.
const COHORT: &str = "cpu.lock.cohort";

/// Compares the lock made for such machines with the cheapest other lock, in the largest team.
fn cohort(data: &RunData) -> Option<Outcome> {
    parts(data)?;
    let peers = Peers::of_team(data, Role::ThreadLock, None, 2)?;
    let contest = peers.contest(Basis::Run);
    let is_cohort = |index: usize| data.case(index).primitive == COHORT;
    let (_, own) = contest.known().find(|(entrant, _)| is_cohort(entrant.index))?;
    let others = contest.clone().only(|one| !is_cohort(one.index));
    let (best, _) = others.best()?;
    let both = Contrast::of(data, best.index, own.index);
    let words = both.figures()?;
    let (threads, best) = (size_and_place(data, peers.like)?, &best.name);
    let text = format!(
        "At {threads}, the cohort lock, which stays within a group of CPUs, takes {words} for {best}, the cheapest \
         other lock."
    );
    Some(Outcome::holds(text, both.rows).headed(both.costs()?.more))
}

/// A table of the columns in which some line has a cell; `None` unless there are several.
fn table(title: &str, columns: &[String], lines: &[Line]) -> Option<Spec> {
    let (columns, lines) = used(columns, lines);
    (columns.len() > 1).then(|| Spec::table(title, &columns, lines))?
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let operation = |case: &Case| {
        let own = matches!(case.layout, Some(Layout::Private { .. })).then_some(", own lines");
        format!("{}{}", name(case), own.unwrap_or_default())
    };
    let by_class: Vec<Line> = by_class(data).iter().filter_map(|rows| line_of(data, rows, operation)).collect();
    let found = homes(data);
    let nodes: BTreeSet<u32> = found.iter().flat_map(|(_, homes)| homes.keys().copied()).collect();
    let of_node = |(operation, homes): &(Case, Homes)| {
        let rows: Vec<Option<usize>> = nodes.iter().map(|node| homes.get(node).copied()).collect();
        line_of(data, &rows, |_| format!("{}, {}", name(operation), place(data, operation)))
    };
    let by_node: Vec<Line> = found.iter().filter_map(of_node).collect();
    let teams = teams(data);
    let spread = teams.iter().flat_map(|teams| of_teams(data, teams));
    let spread: Vec<Line> = spread.map(|one| line(one.name(), one.cells())).collect();
    let shared = PAIR_CLASSES.map(|class| format!("share {}", class.shared));
    let of_nodes: Vec<String> = nodes.iter().map(|node| format!("memory of node {node}")).collect();
    let part = parts(data).map_or("part", |(_, part)| part);
    let threads = teams.map_or(0, |teams| teams[0].1);
    let compared = [format!("one {part}"), format!("several {part}s"), "several against one".to_owned()];
    let charts = [
        table("Two threads, by what their CPUs share", &shared, &by_class),
        table("Two threads that contend for a line on a NUMA node", &of_nodes, &by_node),
        table(&format!("{threads} threads in one {part} and in several"), &compared, &spread),
    ];
    let confirmed = (!nodes.is_empty()).then(|| {
        "The system confirmed the line's node for each row (move_pages); unconfirmed rows are left out.".to_owned()
    });
    Picture::of(charts, "The run does not show what crossing a cache, node or socket costs.", [confirmed])
}

/// Where the CPUs of a pair are: `CPUs 0,1 of node 0`.
fn place(data: &RunData, case: &Case) -> String {
    let cpus = case.placement.as_ref().map(ToString::to_string).unwrap_or_default();
    let nodes: Vec<String> = nodes_of(data, case).iter().map(u32::to_string).collect();
    match nodes.as_slice() {
        [] => format!("CPUs {cpus}"),
        nodes => format!("CPUs {cpus} of {} {}", if nodes.len() == 1 { "node" } else { "nodes" }, enumeration(nodes)),
    }
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Group, Row};

    use super::super::testing::{case, data, decision, lock, row, said, said_of, within};
    use super::*;

    /// Two sockets of ten cores, each with a node.
    fn two_nodes(rows: Vec<Row>) -> RunData {
        let mut run = data(rows);
        let cpu = &mut run.run.machine.cpu;
        (cpu.packages, cpu.numa_nodes, cpu.cores, cpu.hardware_threads) = (2, 2, 20, 20);
        cpu.node_cpus = [(0, "0-9".to_owned()), (1, "10-19".to_owned())].into();
        let own = Boundaries { node: Some(11), package: Some(11), ..Boundaries::default() };
        run.run.environment.boundaries.insert("cores".to_owned(), own);
        run
    }

    fn on_node(cpus: [u32; 2], node: u32, ns: f64) -> Row {
        let placement = Some(Placement::List(cpus.to_vec()));
        let group = Some(Group::of_word(&format!("line_on_node {node}")));
        row(Case { group, placement, ..case("cpu.atomic.add", 2) }, ns, 0.2)
    }

    #[test]
    fn farther_pairs_take_longer() {
        let pair = |group, cpus: [u32; 2], ns| {
            let placement = Some(Placement::List(cpus.to_vec()));
            row(Case { group: Some(Group::named(group)), placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns, 0.2)
        };
        let rows = vec![pair("same_core", [0, 8], 6.0), pair("same_l3", [0, 1], 48.0), pair("across", [0, 4], 210.0)];
        let sentence = "A hand-off takes 6.00 ns between the hardware threads of a core, 48.0 ns within an L3 cache and 210 ns \
                        across packages: 35 times as long for the farthest pair as for the nearest.";
        assert_eq!(said(classes, rows.clone()), Some(Ok(sentence.into())));
        let blurred = vec![rows[0].clone(), within(rows[1].clone(), 5.0, 90.0)];
        assert!(said(classes, blurred).unwrap().is_err());
        assert_eq!(said(classes, rows[..1].to_vec()), None);
    }

    #[test]
    fn memory_of_another_node_costs_more() {
        let rows = vec![
            on_node([0, 10], 0, 300.0),
            on_node([0, 1], 0, 100.0),
            on_node([0, 1], 1, 160.0),
            on_node([10, 11], 0, 165.0),
        ];
        let run = two_nodes(rows);
        let sentence = "When two threads of NUMA node 0 contend for a line in memory of node 1 instead of their own, \
                        an atomic add takes 160 ns instead of 100 ns.";
        assert_eq!(said_of(memory_of_another_node, &run), Some(Ok(sentence.into())));
        let Spec::Table { columns, lines, .. } = &decision("decide-levels", &run).unwrap().charts[0] else {
            panic!("a table")
        };
        assert_eq!(columns, &["memory of node 0", "memory of node 1"]);
        let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        let expected = ["CPUs 0,1 of node 0", "CPUs 10,11 of node 1", "CPUs 0,10 of nodes 0 and 1"];
        assert_eq!(labels, expected.map(|place| format!("atomic add, {place}")));
        let mut unclear = run.clone();
        unclear.rows[2] = within(unclear.rows[2].clone(), 90.0, 200.0);
        assert!(said_of(memory_of_another_node, &unclear).unwrap().is_err());
    }

    #[test]
    fn as_many_threads_in_one_part_and_in_all() {
        let team = |placement, threads, ns| {
            row(Case { placement: Some(placement), ..case("cpu.barrier.dissemination", threads) }, ns, 0.2)
        };
        let mut run = two_nodes(vec![
            team(Placement::Cores, 10, 100.0),
            team(Placement::Spread, 10, 300.0),
            team(Placement::Cores, 8, 80.0),
        ]);
        let expected = |part: &str| {
            format!(
                "With 10 threads across {part}s instead of in one, a barrier takes 3.0 times as long (300 ns instead of 100 ns)."
            )
        };
        assert_eq!(said_of(across, &run), Some(Ok(expected("socket"))));
        run.run.environment.boundaries.get_mut("cores").unwrap().package = None;
        assert_eq!(said_of(across, &run), Some(Ok(expected("NUMA node"))));
        run.run.environment.boundaries.get_mut("cores").unwrap().node = Some(9);
        assert_eq!(said_of(across, &run), None, "ten threads are in two nodes in both placements");
        run.run.environment.boundaries.get_mut("cores").unwrap().node = None;
        assert_eq!(said_of(across, &run), None);
    }

    #[test]
    fn the_lock_of_the_groups_is_compared_with_the_cheapest_other() {
        let run = two_nodes(vec![lock("cohort", 16, 900.0), lock("mcs", 16, 1500.0), lock("ticket", 16, 4000.0)]);
        let sentence = "At 16 threads, the cohort lock, which stays within a group of CPUs, takes 900 ns instead of \
                        1.50 µs for mcs, the cheapest other lock.";
        assert_eq!(said_of(cohort, &run), Some(Ok(sentence.into())));
    }
}
