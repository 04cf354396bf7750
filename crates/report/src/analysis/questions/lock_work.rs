//! Which lock, by how long its threads work inside of it and outside? A map over the work inside and the number of threads.

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Role, Row, Work};

use super::Picture;
use crate::RunData;
use crate::analysis::contest::{Basis, Contest, Entrant, takes_part};
use crate::chart::{Cell, Line, Spec};

/// Work outside and inside, and the threads.
type Place = (Option<Work>, Option<Work>, u32);

fn place(case: &Case) -> Place {
    (case.outside, case.inside, case.threads.unwrap_or_default())
}

/// A map for each length of the work outside; `None` in a run without work, or with one lock.
pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let idle = |case: &Case| Case { inside: None, outside: None, ..case.clone() };
    let is_lock = |row: &Row| takes_part(data, &Row { case: idle(&row.case), ..row.clone() }, Role::ThreadLock);
    let first = &data.rows.iter().find(|row| row.case.has_work() && is_lock(row))?.case;
    let mut places: BTreeMap<Place, Vec<Entrant<'_>>> = BTreeMap::new();
    for (index, row) in data.rows.iter().enumerate().filter(|(_, row)| is_lock(row)) {
        if (row.case.dtype, &row.case.placement, row.case.layout) == (first.dtype, &first.placement, first.layout) {
            places.entry(place(&row.case)).or_default().push(Entrant::of(data, index, Basis::Run));
        }
    }
    places.retain(|_, entrants| entrants.len() > 1);
    let all_threads: BTreeSet<u32> = places.keys().map(|(_, _, threads)| *threads).collect();
    let columns: Vec<String> = all_threads.iter().map(|threads| format!("{threads} threads")).collect();
    let map = |outside: Option<Work>| {
        let line = |inside: Option<Work>| Line {
            label: amount(inside, "inside"),
            cells: all_threads.iter().map(|threads| cheapest(places.get(&(outside, inside, *threads))?)).collect(),
        };
        let insides: BTreeSet<Option<Work>> = places.keys().map(|(_, inside, _)| *inside).collect();
        let lines: Vec<Line> = insides.into_iter().map(line).collect();
        let has_cell = lines.iter().flat_map(|line| &line.cells).any(Option::is_some);
        Spec::table(&amount(outside, "outside"), &columns, lines).filter(|_| has_cell)
    };
    let text = "The lock with the least time per acquisition, work included, or those that may have it.".to_owned();
    let note = "Work of a time is a loop of additions without memory accesses; work of a size changes a word in each cache line.";
    let otherwise = "Which lock is the cheapest is undecided in this run.";
    let outsides: BTreeSet<Option<Work>> = places.keys().map(|(outside, _, _)| *outside).collect();
    Some(Picture::of(outsides.into_iter().map(map), otherwise, [Some(note.to_owned())])?.saying(Some(text)))
}

fn amount(work: Option<Work>, side: &str) -> String {
    work.map_or_else(|| format!("no work {side}"), |work| format!("{work} {side}"))
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

    fn at(name: &str, inside: Option<Work>, threads: u32, ns: f64) -> Row {
        let row = lock(name, threads, ns);
        Row { case: Case { inside, ..row.case.clone() }, ..row }
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
                at("ticket", Some(Work::Memory(4096)), 16, 6000.0),
                at("pthread_mutex", Some(Work::Memory(4096)), 16, 3600.0),
                at("mcs", Some(Work::Memory(4096)), 1, 210.0),
            ]
        };
        let line = |label: &str, cells: [&str; 2]| (label.to_owned(), cells.map(str::to_owned).to_vec());
        let expected = [line("no work inside", ["ticket", "none"]), line("4KiB inside", ["none", "pthread_mutex"])];
        assert_eq!(cells(rows()).unwrap(), expected, "one lock alone is no choice");
        let mut overlapping = rows();
        overlapping[3] = within(overlapping[3].clone(), 3000.0, 6500.0);
        assert_eq!(cells(overlapping).unwrap()[1].1[1], "ticket or pthread_mutex");
        assert_eq!(cells(rows()[..2].to_vec()), None, "no work");
    }
}
