//! Which lock, by how long its threads work inside of it and outside? A map over the work inside and the number of threads.

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Role, Row};

use super::spec::{Cell, Line, Spec};
use super::{Picture, Question};
use crate::analysis::contest::{Basis, Contest, Entrant, takes_part};
use crate::{RunData, figure};

pub(super) const QUESTION: Question = Question {
    id: "decide-lock-work",
    title: "Which lock for how much work?",
    sentences: &[],
    picture: Some(picture),
    advice: None,
};

/// Work inside and outside in nanoseconds, and the threads.
fn place(case: &Case) -> [u32; 3] {
    [case.outside_ns, case.inside_ns, case.threads].map(Option::unwrap_or_default)
}

/// A map for each length of the work outside; `None` in a run without work, or with one lock.
fn picture(data: &RunData) -> Option<Picture> {
    let idle = |case: &Case| Case { inside_ns: None, outside_ns: None, ..case.clone() };
    let is_lock = |row: &Row| takes_part(data, &Row { case: idle(&row.case), ..row.clone() }, Role::ThreadLock);
    let first = &data.rows.iter().find(|row| row.case.has_work() && is_lock(row))?.case;
    let mut places: BTreeMap<[u32; 3], Vec<Entrant<'_>>> = BTreeMap::new();
    for (index, row) in data.rows.iter().enumerate().filter(|(_, row)| is_lock(row)) {
        if (row.case.dtype, &row.case.placement, row.case.layout) == (first.dtype, &first.placement, first.layout) {
            places.entry(place(&row.case)).or_default().push(Entrant::of(data, index, Basis::Run));
        }
    }
    places.retain(|_, entrants| entrants.len() > 1);
    let values = |axis: usize| places.keys().map(|place| place[axis]).collect::<BTreeSet<u32>>();
    let columns: Vec<String> = values(2).iter().map(|threads| format!("{threads} threads")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let map = |outside: u32| {
        let at = |inside: u32, threads: u32| cheapest(places.get(&[outside, inside, threads])?);
        let line = |inside: u32| Line {
            label: length(inside, "inside"),
            cells: values(2).into_iter().map(|threads| at(inside, threads)).collect(),
        };
        let lines: Vec<Line> = values(1).into_iter().map(line).collect();
        let has_cell = lines.iter().flat_map(|line| &line.cells).any(Option::is_some);
        Spec::table(&length(outside, "outside"), &columns, lines).filter(|_| has_cell)
    };
    let text = "The lock with the least time per acquisition, work included, or those that may have it.".to_owned();
    let note = "The work is a loop of additions without memory accesses.".to_owned();
    let otherwise = "Which lock is the cheapest is undecided in this run.";
    Some(Picture::of(values(0).into_iter().map(map), otherwise, [Some(note)])?.saying(Some(text)))
}

fn length(ns: u32, side: &str) -> String {
    if ns == 0 { format!("no work {side}") } else { format!("{} {side}", figure::time(f64::from(ns))) }
}

/// The lock of one place, or those that may be the cheapest.
fn cheapest(entrants: &[Entrant<'_>]) -> Option<Cell> {
    let contest = Contest::of(entrants.to_vec(), Vec::new());
    let (_, best) = contest.best()?;
    let text = match contest.candidates().as_slice() {
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        [one, others @ ..] => format!("{one} or {} others", others.len()),
        [] => return None,
    };
    Some(Cell { value: Some(best.ns), text, detail: Some(best.time()), row: best.index })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{data, decision, lock, within};
    use super::*;

    fn at(name: &str, inside_ns: Option<u32>, threads: u32, ns: f64) -> Row {
        let row = lock(name, threads, ns);
        Row { case: Case { inside_ns, ..row.case.clone() }, ..row }
    }

    fn cells(rows: Vec<Row>) -> Option<Vec<(String, Vec<String>)>> {
        let spec = decision("decide-lock-work", &data(rows))?.charts.remove(0);
        let Spec::Table { lines, .. } = spec else { panic!("a table") };
        let texts =
            |line: Line| line.cells.into_iter().map(|cell| cell.map_or("none".into(), |cell| cell.text)).collect();
        Some(lines.into_iter().map(|line| (line.label.clone(), texts(line))).collect())
    }

    #[test]
    fn the_map_names_the_cheapest_lock_of_each_place() {
        let rows = || {
            vec![
                at("ticket", None, 1, 9.0),
                at("pthread_mutex", None, 1, 15.0),
                at("ticket", Some(200), 16, 6000.0),
                at("pthread_mutex", Some(200), 16, 3600.0),
                at("mcs", Some(200), 1, 210.0),
            ]
        };
        let line = |label: &str, cells: [&str; 2]| (label.to_owned(), cells.map(str::to_owned).to_vec());
        let expected = [line("no work inside", ["ticket", "none"]), line("200 ns inside", ["none", "pthread_mutex"])];
        assert_eq!(cells(rows()).unwrap(), expected, "one lock alone is no choice");
        let mut overlapping = rows();
        overlapping[3] = within(overlapping[3].clone(), 3000.0, 6500.0);
        assert_eq!(cells(overlapping).unwrap()[1].1[1], "ticket or pthread_mutex");
        assert_eq!(cells(rows()[..2].to_vec()), None, "no work");
    }
}
