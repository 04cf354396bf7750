//! SMT siblings: what a thread loses while the other hardware thread of its core is busy, and what the core gains.

use super::families::{Contrast, by_class, line, of_teams, take_instead, take_longer, usual};
use super::prelude::*;

pub(super) const SENTENCES: Sentences =
    &[sentence(alone_and_beside, &[]), sentence(teams_on_siblings, &[On::Section]), sentence(pairs_on_one_core, &[])];

/// The groups of one thread per core, and of two on the hardware threads of a core.
const SIBLING_IDLE: &str = "sibling_idle";
const SIBLING_BUSY: &str = "sibling_busy";

/// Operations that share nothing: one thread on a core, and one on each of its two hardware threads.
fn independent(data: &RunData) -> Vec<Contrast<'_>> {
    let operation = |case: &Case| Case { threads: None, placement: None, group: None, ..case.clone() };
    let idle = data.rows_where(|row| row.case.in_group(SIBLING_IDLE) && row.case.form.is_none());
    let beside = |index: usize| {
        let own = operation(data.case(index));
        let busy = usual(data, |case| case.in_group(SIBLING_BUSY) && operation(case) == own)?;
        Some(Contrast::of(data, index, busy))
    };
    idle.filter_map(beside).collect()
}

/// Says what a thread loses and what the core gains.
fn alone_and_beside(data: &RunData) -> Option<Outcome> {
    let all = independent(data);
    let gain = |one: &Contrast<'_>| one.gain().map(|gain| format!("the core does {gain:.2} times the work"));
    take_longer("With the SMT sibling busy with the same work", &all, gain)
        .or_else(|| Outcome::open_of(&all, "how much a hardware thread loses to its sibling (the intervals overlap)"))
}

/// A team with one thread per core, and one with all hardware threads of the same cores.
type Teams = [(Placement, u32); 2];

/// The same cores with one thread each and with all of their hardware threads: the cores of a socket, or of the whole
/// machine if threads are not bound.
pub(super) fn teams(data: &RunData) -> Option<Teams> {
    let cpu = &data.run.machine.cpu;
    let [cores, threads] = [cpu.cores, cpu.hardware_threads];
    let has_smt = cores > 0 && threads > cores;
    let usual = placements::shown(data);
    let teams = match usual {
        // On a machine with one socket, the socket is the whole machine, which has the usual placement's name.
        Placement::Cores if cpu.packages <= 1 => [(usual.clone(), cores), (usual, threads)],
        Placement::Cores => {
            let in_one = |placement| Some(placements::boundaries(&data.run, &placement).package?.saturating_sub(1));
            [(Placement::Cores, in_one(Placement::Cores)?), (Placement::Close, in_one(Placement::Close)?)]
        }
        Placement::None => [(usual.clone(), cores), (usual, threads)],
        _ => return None,
    };
    (has_smt && teams[0].1 > 1).then_some(teams)
}

/// These teams, and teams on half, a quarter, ... of their cores if `close` takes both threads of a core before the next
/// core.
fn all_teams(data: &RunData) -> Vec<Teams> {
    let Some(largest) = teams(data) else { return Vec::new() };
    let cpu = &data.run.machine.cpu;
    let is_bound = largest[0].0 == Placement::Cores && cpu.hardware_threads == 2 * cpu.cores;
    let smaller = std::iter::successors(Some(largest[0].1 / 2), |cores| Some(cores / 2)).take_while(|cores| *cores > 1);
    let on = |cores: u32| [(Placement::Cores, cores), (Placement::Close, 2 * cores)];
    std::iter::once(largest).chain(smaller.filter(|_| is_bound).map(on)).collect()
}

/// The CPUs of the teams, if known: ` of CPUs 0-9,20-29`.
fn which(data: &RunData) -> String {
    let cpu = &data.run.machine.cpu;
    let of_all = Some(&data.run.environment.allowed_cpus).filter(|_| cpu.packages <= 1);
    let of_socket = cpu.node_cpus.values().next().filter(|_| cpu.packages == cpu.numa_nodes);
    let list = of_all.or(of_socket).filter(|list| !list.is_empty());
    list.map_or_else(String::new, |list| format!(" of CPUs {list}"))
}

/// Says what threads that share something lose on the same cores.
fn teams_on_siblings(data: &RunData) -> Option<Outcome> {
    let teams = teams(data)?;
    let [(placement, cores), (_, threads)] = &teams;
    let where_longer = match placement {
        // The operating system may run two of fewer threads on one core.
        Placement::None => format!("With {threads} unbound threads instead of {cores} on {cores} cores"),
        _ => format!("With all {threads} hardware threads of {cores} cores instead of one per core"),
    };
    take_longer(&where_longer, &of_teams(data, &teams).collect::<Vec<_>>(), |_| None)
}

/// Two threads that share a line, on the nearest two cores and on the hardware threads of one. If it is unknown what some
/// pairs share, only two cores that share a cache are certainly near.
fn pairs(data: &RunData) -> Vec<Contrast<'_>> {
    let is_unknown = |row: &Row| matches!(row.case.placement, Some(Placement::List(_))) && row.case.group.is_none();
    let has_unknown = data.rows.iter().any(is_unknown);
    let on = |classes: [Option<usize>; 6]| {
        let [one_core, caches @ .., _, _, _] = classes;
        let [_, all @ ..] = classes;
        let near = caches.into_iter().flatten().next();
        let other = near.or_else(|| all.into_iter().flatten().next().filter(|_| !has_unknown))?;
        Some(Contrast::of(data, other, one_core?))
    };
    // Threads with separate lines do not meet.
    let is_met = |one: &Contrast<'_>| !matches!(data.case(one.rows[0]).layout, Some(Layout::Private { .. }));
    by_class(data).into_iter().filter_map(on).filter(is_met).collect()
}

fn pairs_on_one_core(data: &RunData) -> Option<Outcome> {
    take_instead(&pairs(data), |words| format!("Two threads on one core instead of two: {words}."))
}

const WHAT_THEY_ARE: &str = "Curves whose label gives no core count show two hardware threads of one core, each with its own \
                             cache line. “Core throughput” is the combined throughput of the two threads relative to one thread \
                             alone.";

/// Says what published figures show, which have no intervals.
fn by_points(data: &RunData) -> Option<String> {
    let teams = teams(data)?;
    let in_words = |(at, (name, times)): (usize, (String, String))| match at {
        0 => format!("{name} takes {times} as long per thread"),
        _ => format!("{name} {times}"),
    };
    let words = enumerated(of_teams(data, &teams).filter_map(|one| one.of_points()).enumerate().map(in_words))?;
    let [(placement, cores), (_, threads)] = teams;
    let unbound = if placement == Placement::None { " unbound" } else { "" };
    Some(format!(
        "With {threads}{unbound} threads instead of {cores} on the same cores, {words} (figures without intervals)."
    ))
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let gain = |one: &Contrast<'_>| one.gain().map(|gain| one.note(format!("{} ×", figure::ratio(gain))));
    let with_gain = |one: &Contrast<'_>, label: String| {
        let [alone, beside, loss] = one.cells();
        line(label, [alone, beside, loss, gain(one)])
    };
    let mut lines: Vec<Line> = independent(data).iter().map(|one| with_gain(one, one.name())).collect();
    let (title, headings) = match teams(data) {
        Some([(Placement::None, few), (_, all)]) => (
            "Unbound threads: as many as cores and as many as hardware threads".to_owned(),
            [few, all].map(|threads| format!("{threads} threads")),
        ),
        _ => (
            format!("The same cores{} with one thread per core and with one per hardware thread", which(data)),
            ["one thread", "all threads"].map(str::to_owned),
        ),
    };
    for teams in all_teams(data) {
        let label = |one: &Contrast<'_>| format!("{}, {} cores", one.name(), teams[0].1);
        lines.extend(of_teams(data, &teams).map(|one| with_gain(&one, label(&one))));
    }
    let meeting = pairs(data).into_iter().map(|one| line(one.name(), one.cells())).collect();
    let tables = [
        Spec::table(&title, &[&headings[0], &headings[1], "a thread takes", "core throughput"], lines),
        Spec::table("Two threads that meet", &["two cores", "one core", "one core against two"], meeting),
    ];
    let otherwise = "The run does not show what a busy SMT sibling costs.";
    Picture::of(tables, otherwise, [by_points(data), Some(WHAT_THEY_ARE.to_owned())])
}

#[cfg(test)]
mod tests {
    use syncscope_core::machine::Boundaries;
    use syncscope_core::{Group, Row, Verdict};

    use super::super::testing::{case, data, decision, row, said, said_of, within};
    use super::*;

    fn team(id: &str, placement: Placement, threads: u32, ns: f64) -> Row {
        row(Case { placement: Some(placement), ..case(id, threads) }, ns, 0.2)
    }

    fn on(id: &str, group: &'static str, cpus: &[u32], ns: f64) -> Row {
        let placement = Some(Placement::List(cpus.to_vec()));
        row(Case { group: Some(Group::named(group)), placement, ..case(id, cpus.len() as u32) }, ns, 0.2)
    }

    #[test]
    fn both_threads_of_each_core_against_one() {
        let (barrier, mutex) = ("cpu.barrier.dissemination", "cpu.lock.pthread_mutex");
        let mut run = data(vec![
            team(barrier, Placement::Cores, 10, 100.0),
            team(barrier, Placement::Close, 20, 150.0),
            team(mutex, Placement::Cores, 10, 100.0),
            team(mutex, Placement::Close, 20, 400.0),
            team(mutex, Placement::Cores, 8, 80.0),
            team(mutex, Placement::Cores, 5, 50.0),
            team(mutex, Placement::Close, 10, 150.0),
        ]);
        let cpu = &mut run.run.machine.cpu;
        (cpu.packages, cpu.numa_nodes, cpu.cores, cpu.hardware_threads) = (2, 2, 20, 40);
        for (placement, second) in [("cores", 11), ("close", 21)] {
            let own = Boundaries { package: Some(second), ..Boundaries::default() };
            run.run.environment.boundaries.insert(placement.to_owned(), own);
        }
        assert_eq!(
            said_of(teams_on_siblings, &run).unwrap().unwrap(),
            "With all 20 hardware threads of 10 cores instead of one per core, a barrier takes 1.5 times as long \
             (150 ns instead of 100 ns) and a mutex takes 4.0 times as long (400 ns instead of 100 ns)."
        );
        run.run.machine.cpu.node_cpus.insert(0, "0-9,20-29".to_owned());
        let Spec::Table { title, lines, .. } = &decision("decide-smt", &run).unwrap().charts[0] else { panic!() };
        let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["barrier, 10 cores", "mutex, 10 cores", "mutex, 5 cores"]);
        assert!(title.as_ref().unwrap().starts_with("The same cores of CPUs 0-9,20-29 with one"), "{title:?}");
        // If threads are not bound, the teams of the whole machine are compared.
        for row in &mut run.rows {
            let threads = row.case.threads.map(|threads| 2 * threads);
            (row.case.placement, row.case.threads) = (Some(Placement::None), threads);
        }
        let sentence = said_of(teams_on_siblings, &run).unwrap().unwrap();
        assert!(sentence.starts_with("With 40 unbound threads instead of 20 on 20 cores, a"), "{sentence}");
        let charts = decision("decide-smt", &run).unwrap().charts;
        let Spec::Table { title, .. } = &charts[0] else { panic!("a table") };
        let said = [sentence, title.clone().unwrap_or_default()];
        assert!(
            said.iter().all(|text| !text.contains("per core") && text.to_lowercase().contains("unbound")),
            "{said:?}"
        );
        run.run.machine.cpu.hardware_threads = 20;
        assert_eq!(said_of(teams_on_siblings, &run), None);
    }

    #[test]
    fn a_published_point_between_contrary_neighbours_is_compared_with_nothing() {
        let published = |threads, ns| Row {
            verdict: Verdict::Imported(String::new()),
            ns_within: None,
            ns_interval: None,
            ..team("cpu.lock.openmp_critical", Placement::None, threads, ns)
        };
        let said = |at_20| {
            let mut run =
                data(vec![published(19, 4390.0), published(20, at_20), published(21, 4760.0), published(40, 8620.0)]);
            (run.run.machine.cpu.cores, run.run.machine.cpu.hardware_threads) = (20, 40);
            said_of(teams_on_siblings, &run)
        };
        assert_eq!(said(2060.0), None, "a dip");
        assert!(said(4290.0).unwrap().unwrap().contains("a critical section takes 2.0 times"), "no dip");
        assert_eq!(said(4400.0), None, "less than a factor of two between points");
    }

    #[test]
    fn a_busy_sibling_slows_a_thread_down() {
        let add = "cpu.atomic.add";
        let rows = vec![
            on(add, SIBLING_IDLE, &[0], 5.0),
            on(add, SIBLING_BUSY, &[0, 8], 9.0),
            on("cpu.fence.seq_cst", SIBLING_IDLE, &[0], 5.0),
            on("cpu.fence.seq_cst", SIBLING_BUSY, &[0, 8], 5.01),
        ];
        let sentence = "With the SMT sibling busy with the same work, an atomic add takes 1.8 times as long \
                        (the core does 1.11 times the work).";
        assert_eq!(said(alone_and_beside, rows.clone()), Some(Ok(sentence.into())));
        let Spec::Table { lines, .. } = &decision("decide-smt", &data(rows.clone())).unwrap().charts[0] else {
            panic!("a table")
        };
        let texts: Vec<Vec<&str>> =
            lines.iter().map(|line| line.cells.iter().flatten().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(texts[0], ["5.00 ns", "9.00 ns", "1.80 ×", "1.11 ×"]);
        assert_eq!(texts[1], ["5.00 ns", "5.01 ns", "no difference shown", "2.00 ×"]);
        let overlapping = vec![within(rows[0].clone(), 4.0, 9.5), rows[1].clone()];
        assert!(said(alone_and_beside, overlapping).unwrap().is_err());
        assert_eq!(said(alone_and_beside, rows[1..2].to_vec()), None);
    }

    #[test]
    fn two_threads_that_meet_gain_or_lose_on_one_core() {
        let (handoff, wake) = ("cpu.handoff.cas_pingpong", "cpu.wake.futex");
        let rows = vec![
            on(handoff, "same_core", &[0, 8], 6.0),
            on(handoff, "same_l3", &[0, 1], 48.0),
            on(handoff, "same_l3", &[0, 2], 49.0),
            on(handoff, "across", &[0, 4], 210.0),
            on(wake, "same_core", &[0, 8], 5100.0),
            on(wake, "across", &[0, 4], 3200.0),
        ];
        let sentence = "Two threads on one core instead of two: a hand-off takes 6.00 ns instead of 48.0 ns and a \
                        wake-up takes 5.10 µs instead of 3.20 µs.";
        assert_eq!(said(pairs_on_one_core, rows.clone()), Some(Ok(sentence.into())));
        // The sentence has only primitives that represent a family; the table has all that meet.
        let apart = |cpus: &[u32], group, ns| {
            let of = on("cpu.atomic.add", group, cpus, ns);
            Row { case: Case { layout: Some(Layout::Private { stride: 16 }), ..of.case.clone() }, ..of }
        };
        let others = ["cpu.handoff.condvar", "cpu.wake.condvar"]
            .map(|id| [on(id, "same_core", &[0, 8], 900.0), on(id, "same_l3", &[0, 1], 2000.0)]);
        let private = vec![apart(&[0, 8], "same_core", 9.0), apart(&[0, 1], "same_l3", 5.0)];
        let all = [rows, others.concat(), private].concat();
        assert_eq!(said(pairs_on_one_core, all.clone()), Some(Ok(sentence.into())));
        let charts = decision("decide-smt", &data(all)).unwrap().charts;
        let Some(Spec::Table { lines, .. }) = charts.last() else { panic!("a table") };
        let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["hand-off", "wake-up", "condvar hand-off", "condvar wake-up"]);
    }
}
