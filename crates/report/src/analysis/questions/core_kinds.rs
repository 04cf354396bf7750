//! Kinds of cores, such as performance and efficiency cores: what an operation costs on each, and between threads on two.

use std::borrow::Cow;

use syncscope_core::machine::{kind_name, kinds_group};

use super::families::{Contrast, by_groups, line_of, name, take_instead, take_longer};
use super::prelude::*;

pub(super) const SENTENCES: Sentences =
    &[sentence(one_thread, &[]), sentence(two_threads, &[]), sentence(between, &[]), sentence(speeds, &[])];

/// The number of kinds of cores; two in files that do not record it.
fn count(data: &RunData) -> usize {
    data.run.machine.cpu.core_kinds.len().max(2)
}

/// The kinds of cores that threads run on: each kind alone, then each pair.
fn places(count: usize) -> Vec<Vec<usize>> {
    let pairs = (0..count).flat_map(|faster| (faster + 1..count).map(move |slower| vec![faster, slower]));
    (0..count).map(|kind| vec![kind]).chain(pairs).collect()
}

/// The rows of each operation, in the order of [`places`].
fn rows(data: &RunData) -> Vec<Vec<Option<usize>>> {
    let count = count(data);
    let groups: Vec<String> = places(count).iter().map(|kinds| kinds_group(kinds, count)).collect();
    by_groups(data, &groups.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Contrasts each operation of this many threads on the fastest kind with the slowest of the other places, and names the
/// slowest kind there.
fn beside_the_fastest(
    data: &RunData,
    threads: u32,
    others: fn(&[usize]) -> bool,
) -> Option<(Vec<Contrast<'_>>, Cow<'static, str>)> {
    let count = count(data);
    let is_asked = |index: &usize| data.case(*index).threads == Some(threads);
    let rows: Vec<Vec<Option<usize>>> =
        rows(data).into_iter().filter(|places| places[0].as_ref().is_some_and(is_asked)).collect();
    let is_there = |place: &usize| rows.iter().any(|places| places[*place].is_some());
    let places = places(count);
    let slowest = (1..places.len())
        .filter(|place| others(&places[*place]))
        .filter(is_there)
        .max_by_key(|place| places[*place].last().copied())?;
    let both = |places: &Vec<Option<usize>>| Some(Contrast::of(data, places[0]?, places[slowest]?));
    Some((rows.iter().filter_map(both).collect(), kind_name(*places[slowest].last()?, count)))
}

/// `an efficiency core`.
fn one_core(kind: &str) -> String {
    format!("{} {kind} core", if kind.starts_with('e') { "an" } else { "a" })
}

fn one_thread(data: &RunData) -> Option<Outcome> {
    let (all, slow) = beside_the_fastest(data, 1, |kinds| kinds.len() == 1)?;
    let words = format!("With one thread on {} instead of a performance core", one_core(&slow));
    let open = format!(
        "how much more operations cost on {slow} cores than on performance cores (the intervals \
                        overlap)"
    );
    take_longer(&words, &all, |_| None).or_else(|| Outcome::open_of(&all, &open))
}

/// Says what it costs that both threads of a pair are on slower cores.
fn two_threads(data: &RunData) -> Option<Outcome> {
    let (all, slow) = beside_the_fastest(data, 2, |kinds| kinds.len() == 1)?;
    take_instead(&all, |words| format!("Two threads on {slow} cores instead of performance cores: {words}."))
}

/// Says what it costs that one of two threads is on a slower core.
fn between(data: &RunData) -> Option<Outcome> {
    let (all, slow) = beside_the_fastest(data, 2, |kinds| kinds.len() == 2 && kinds[0] == 0)?;
    let place = if count(data) == 2 { "a core of each kind".to_owned() } else { one_core(&slow) };
    let text = |words| match count(data) {
        2 => format!("With one thread on {place} instead of both on performance cores, {words}."),
        _ => format!(
            "With one thread on {place} and one on a performance core instead of both on performance cores, {words}."
        ),
    };
    take_instead(&all, text)
}

/// Cores whose chains differ by less than this factor have one speed.
const ONE_SPEED: f64 = 1.05;

/// Groups cores by the time of a chain of known length, the fastest first. A group ends where the next core is slower by
/// more than noise and both intervals for another run: one core may have had a slower clock in this run alone.
fn by_speed(data: &RunData) -> Vec<Vec<Known<'_>>> {
    let rows = data.rows_where(|row| has_role(data, &row.case, Role::CoreSpeed));
    let mut known: Vec<Known<'_>> =
        rows.filter_map(|row| Known::of(data, row, Basis::Machine).filter(Known::has_figure)).collect();
    known.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let alike = |a: &Known<'_>, b: &Known<'_>| b.ns <= ONE_SPEED * a.ns || b.bounds.low <= a.bounds.high;
    known.chunk_by(alike).map(<[_]>::to_vec).collect()
}

/// `4 cores at 4.00 GHz`: an addition takes one cycle.
fn cores_at(group: &[Known<'_>]) -> Option<String> {
    Some(format!("{} at {} GHz", plural(group.len() as u32, "core"), gigahertz(group)?))
}

/// `4.00`, `2.50 to 2.80`.
fn gigahertz(group: &[Known<'_>]) -> Option<String> {
    let of = |known: &Known<'_>| format!("{:.2}", 1.0 / known.ns);
    let (fastest, slowest) = (of(group.first()?), of(group.last()?));
    Some(if fastest == slowest { fastest } else { format!("{slowest} to {fastest}") })
}

/// The number of kinds of cores that the system names.
fn named(data: &RunData) -> usize {
    data.run.machine.cpu.core_kinds.len().max(1)
}

/// Says how fast the cores are if the system says otherwise or the speeds differ.
fn speeds(data: &RunData) -> Option<Outcome> {
    let (groups, named) = (by_speed(data), named(data));
    let cores: usize = groups.iter().map(Vec::len).sum();
    if cores < 2 || groups.len() == 1 && named == 1 {
        return None;
    }
    let each: Vec<String> = groups.iter().filter_map(|group| cores_at(group)).collect();
    let found = plural(groups.len() as u32, "speed");
    let kinds = plural(named as u32, "kind");
    let text = format!("The cores run at {found}: {}; the system names {kinds}.", enumeration(&each));
    Some(Outcome::holds(text, groups.iter().flatten().map(|known| known.index)))
}

/// Says that all cores run at one speed, as the system reports. No other figure depends on it, so only the chart says it.
fn one_speed(data: &RunData) -> Option<String> {
    let groups = by_speed(data);
    let [cores] = groups.as_slice() else { return None };
    let (fastest, slowest) = (cores.first()?, cores.last()?);
    if cores.len() < 2 || named(data) > 1 {
        return None;
    }
    let range = gigahertz(cores)?;
    Some(if slowest.ns <= ONE_SPEED * fastest.ns {
        let all = if cores.len() == 2 { "Both".to_owned() } else { format!("All {}", cores.len()) };
        format!("{all} measured cores run at the same speed: {range} GHz.")
    } else {
        let cores = cores.len();
        format!("The speeds of the {cores} measured cores ({range} GHz) cannot be told apart: their intervals overlap.")
    })
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let label = |case: &Case| format!("{}{}", name(case), if case.threads == Some(1) { ", one thread" } else { "" });
    let lines = rows(data).iter().filter_map(|rows| line_of(data, rows, label)).collect();
    let count = count(data);
    let heading = |kinds: &[usize]| match kinds {
        [_, _] if count == 2 => "one of each".to_owned(),
        kinds => kinds.iter().map(|kind| kind_name(*kind, count)).collect::<Vec<_>>().join(" and "),
    };
    let columns: Vec<String> = places(count).iter().map(|kinds| heading(kinds)).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let table = Spec::table("One thread on a core of each kind, and two threads on two cores", &columns, lines);
    let note = table.is_some().then(|| "Where the machine has such pairs, both cores share a cache.".to_owned());
    let chains: Vec<usize> = by_speed(data).into_iter().flatten().map(|known| known.index).collect();
    let core = |case: &Case| case.placement.as_ref().map_or(0, |cpu| 1 + cpu.to_string().parse().unwrap_or(0));
    let speeds = Spec::lines(
        Axis::log("CPU, from 1", Unit::Count),
        Axis::log("one addition in a chain", Unit::Time),
        series(data, &chains, |_| "addition".to_owned(), core, Point::cost),
    );
    let picture = Picture::of([table, speeds], "The run does not show what each kind of core costs.", [note])?;
    Some(picture.finding([one_speed(data).map(|text| Outcome::holds(text, []))]))
}

#[cfg(test)]
mod tests {
    use syncscope_core::machine::CoreKind;
    use syncscope_core::{Group, Placement, Row};

    use super::super::testing::{case, data, decision, row, said, said_of, within};
    use super::*;

    const KINDS: [&str; 3] = ["performance_cores", "efficiency_cores", "mixed_cores"];

    fn on(id: &str, kind: usize, cpus: &[u32], ns: f64) -> Row {
        let placement = Some(Placement::List(cpus.to_vec()));
        row(Case { group: Some(Group::named(KINDS[kind])), placement, ..case(id, cpus.len() as u32) }, ns, 0.2)
    }

    #[test]
    fn each_kind_and_both() {
        let (fence, handoff) = ("cpu.fence.seq_cst", "cpu.handoff.cas_pingpong");
        let rows = vec![
            on(fence, 0, &[0], 5.0),
            on(fence, 1, &[16], 8.0),
            on(handoff, 0, &[0, 2], 40.0),
            on(handoff, 1, &[16, 20], 60.0),
            on(handoff, 2, &[0, 16], 70.0),
        ];
        let sentence = "With one thread on an efficiency core instead of a performance core, a fence takes 1.6 times as long \
                        (8.00 ns instead of 5.00 ns).";
        assert_eq!(said(one_thread, rows.clone()), Some(Ok(sentence.into())));
        let sentence = "Two threads on efficiency cores instead of performance cores: a hand-off takes 60.0 ns \
                        instead of 40.0 ns.";
        assert_eq!(said(two_threads, rows.clone()), Some(Ok(sentence.into())));
        let sentence = "With one thread on a core of each kind instead of both on performance cores, a hand-off \
                        takes 70.0 ns \
                        instead of 40.0 ns.";
        assert_eq!(said(between, rows.clone()), Some(Ok(sentence.into())));
        let Spec::Table { lines, .. } = &decision("decide-kinds", &data(rows.clone())).unwrap().charts[0] else {
            panic!("a table")
        };
        assert_eq!(lines.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(), ["fence, one thread", "hand-off"]);
        let blurred = vec![rows[0].clone(), within(rows[1].clone(), 4.0, 9.0)];
        assert!(said(one_thread, blurred).unwrap().is_err());
        assert_eq!(said(one_thread, rows[4..].to_vec()), None);
    }

    #[test]
    fn cores_are_of_so_many_speeds_whatever_the_system_says() {
        let chain = |cpu: u32, ns: f64| {
            let placement = Some(Placement::List(vec![cpu]));
            row(Case { group: Some(Group::named("each core")), placement, ..case("cpu.core.addition", 1) }, ns, 0.002)
        };
        let rows: Vec<Row> = (0..6).map(|cpu| chain(cpu, if cpu < 4 { 0.25 } else { 0.4 })).collect();
        let text = "The cores run at 2 speeds: 4 cores at 4.00 GHz and 2 cores at 2.50 GHz; the system names 1 kind.";
        assert_eq!(said(speeds, rows.clone()), Some(Ok(text.into())));
        assert_eq!(said(speeds, rows[..4].to_vec()), None, "nothing depends on it");
        let alike = |rows: &[Row]| one_speed(&data(rows.to_vec()));
        assert_eq!(alike(&rows[..4]).unwrap(), "All 4 measured cores run at the same speed: 4.00 GHz.");
        assert_eq!(alike(&rows[..2]).unwrap(), "Both measured cores run at the same speed: 4.00 GHz.");
        assert_eq!((alike(&rows), alike(&rows[..1])), (None, None));
        let shown =
            |row: Row, low, high| Row { ns_interval: Some(syncscope_core::stats::Interval { low, high }), ..row };
        let blurred = [shown(chain(0, 0.36), 0.34, 0.42), shown(chain(1, 0.40), 0.35, 0.43)];
        let text =
            "The speeds of the 2 measured cores (2.50 to 2.78 GHz) cannot be told apart: their intervals overlap.";
        assert_eq!(alike(&blurred).unwrap(), text);
        let uncertain: Vec<Row> = rows.iter().map(|row| shown(row.clone(), 0.2, 0.5)).collect();
        assert_eq!(said(speeds, uncertain), None, "in this run alone");
        assert_eq!(said(speeds, vec![]), None);
        assert!(decision("decide-kinds", &data(rows)).unwrap().charts.len() == 1);
    }

    #[test]
    fn headlines_name_the_kinds_of_three() {
        let place = |id: &str, group: &'static str, cpus: &[u32], ns: f64| {
            let placement = Some(Placement::List(cpus.to_vec()));
            row(Case { group: Some(Group::named(group)), placement, ..case(id, cpus.len() as u32) }, ns, 0.2)
        };
        let (fence, handoff) = ("cpu.fence.seq_cst", "cpu.handoff.cas_pingpong");
        let mut run = data(vec![
            place(fence, "performance_cores", &[0], 5.0),
            place(fence, "efficiency_cores", &[4], 8.0),
            place(fence, "low_power_cores", &[12], 15.0),
            place(handoff, "performance_cores", &[0, 2], 40.0),
            place(handoff, "efficiency_cores", &[4, 5], 60.0),
            place(handoff, "low_power_cores", &[12, 13], 120.0),
            place(handoff, "performance_and_efficiency_cores", &[0, 4], 70.0),
            place(handoff, "performance_and_low_power_cores", &[0, 12], 200.0),
            place(handoff, "efficiency_and_low_power_cores", &[4, 12], 180.0),
        ]);
        run.run.machine.cpu.core_kinds = vec![CoreKind::default(); 3];
        let said = |sentence| said_of(sentence, &run).unwrap().unwrap();
        assert!(
            said(one_thread).starts_with("With one thread on a low-power core instead of a performance core"),
            "{}",
            said(one_thread)
        );
        let expected =
            "Two threads on low-power cores instead of performance cores: a hand-off takes 120 ns instead of 40.0 ns.";
        assert_eq!(said(two_threads), expected);
        let expected = "With one thread on a low-power core and one on a performance core instead of both on \
                        performance cores, a \
                        hand-off takes 200 ns instead of 40.0 ns.";
        assert_eq!(said(between), expected);
        let Spec::Table { columns, lines, .. } = &decision("decide-kinds", &run).unwrap().charts[0] else {
            panic!("a table")
        };
        let expected = [
            "performance",
            "efficiency",
            "low-power",
            "performance and efficiency",
            "performance and low-power",
            "efficiency and low-power",
        ];
        assert_eq!((columns.as_slice(), lines.len()), (expected.map(str::to_owned).as_slice(), 2));
    }
}
