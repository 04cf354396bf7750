//! Readers next to writers: what each role of a shared lock pays.

use syncscope_core::detail::value_of;
use syncscope_core::own::is_own;
use syncscope_core::{LockRole, Row};

use super::families::{cell, line};
use super::prelude::*;

pub(super) const SENTENCES: Sentences = &[sentence(unequal, &[On::Placement])];

/// One lock at one number of threads and of writers: the rows of its readers and of its writers.
struct Mix<'a> {
    like: &'a Case,
    writers: u32,
    of_role: [Option<usize>; 2],
}

fn mixes(data: &RunData) -> Vec<Mix<'_>> {
    let mut found: Vec<Mix<'_>> = Vec::new();
    // Users' own locks are in no catalogue.
    let is_one = |row: &Row| takes_part(data, row, Role::SharedLock) || is_own(&row.case.primitive) && !is_absent(row);
    for index in data.rows_where(is_one) {
        let case = data.case(index);
        let (Some(role), Some(threads)) = (LockRole::of(case), case.threads) else { continue };
        let writers = if role.writes { role.threads } else { threads - role.threads };
        let key = |case: &Case| (case.primitive.clone(), case.threads, case.placement.clone());
        let place = found.iter().position(|mix| key(mix.like) == key(case) && mix.writers == writers);
        let place = place.unwrap_or_else(|| {
            found.push(Mix { like: case, writers, of_role: [None; 2] });
            found.len() - 1
        });
        found[place].of_role[usize::from(role.writes)] = Some(index);
    }
    found
}

impl Mix<'_> {
    fn name(&self) -> String {
        short_name(&self.like.primitive).trim_start_matches("shared_").to_owned()
    }

    /// "15 readers, 1 writer".
    fn words(&self) -> String {
        let readers = self.like.threads.unwrap_or(0).saturating_sub(self.writers);
        format!("{}, {}", plural(readers, "reader"), plural(self.writers, "writer"))
    }

    fn known<'a>(&self, data: &'a RunData) -> Option<[Known<'a>; 2]> {
        let of = |index: Option<usize>| Known::written(data, index?, Basis::Run);
        Some([of(self.of_role[0])?, of(self.of_role[1])?])
    }
}

/// Names the mix in which one role certainly pays the most compared with the other.
fn unequal(data: &RunData) -> Option<Outcome> {
    let all: Vec<_> = mixes(data).into_iter().filter_map(|mix| Some((mix.known(data)?, mix))).collect();
    if all.is_empty() {
        return None;
    }
    let apart = |[read, write]: &[Known<'_>; 2]| (read.ns / write.ns).ln().abs();
    let certain = all.iter().filter(|(known, _)| known[0].across(known[1]).is_some_and(|both| both.is_certain()));
    let Some((known, mix)) = certain.max_by(|(a, _), (b, _)| apart(a).total_cmp(&apart(b))) else {
        return Some(Outcome::open("whether readers or writers of a shared lock wait longer".to_owned()));
    };
    let [read, write] = known;
    let ratio = read.across(*write)?.ratio;
    let (longer, other, more, less) =
        if read.ns > write.ns { ("read", "write", read, write) } else { ("write", "read", write, read) };
    let text = format!(
        "With {} on the {} lock, a {longer} takes {ratio} as long as a {other} ({more} against {less}).",
        mix.words().replace(", ", " and "),
        mix.name()
    );
    Some(Outcome::holds(text, [read.index, write.index]).headed(ratio))
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let tail = |index: usize| {
        let ns = value_of(&data.details, data.case(index), "p99_ns", None)?;
        Some(Cell { value: Some(ns), text: figure::time(ns), detail: None, row: index, also: None })
    };
    let line = |mix: &Mix<'_>| {
        let of = |index: &Option<usize>| [index.map(|index| cell(data, index)), index.and_then(tail)];
        line(format!("{}: {}", mix.name(), mix.words()), mix.of_role.iter().flat_map(of))
    };
    let lines: Vec<Line> = mixes(data).iter().map(line).collect();
    let table = Spec::table("Each role", &["a read", "99th percentile", "a write", "99th percentile"], lines)?;
    Picture::of([Some(table)], "The run does not show what reads and writes cost.", [None::<String>])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, decision, row, said};
    use super::*;

    fn role(threads: u32, group: &str, ns: f64) -> Row {
        let case = case("cpu.lock.shared_std", threads);
        row(Case { group: Some(Group::of_word(group)), placement: Some(Placement::Close), ..case }, ns, 0.02)
    }

    #[test]
    fn the_role_that_waits_longer_is_named() {
        let rows = vec![
            role(4, "3 readers", 200.0),
            role(4, "1 writers", 3000.0),
            role(4, "2 readers", 500.0),
            role(4, "2 writers", 600.0),
        ];
        let text = "With 3 readers and 1 writer on the std lock, a write takes 15 times as long as a read (3.00 µs against 200 ns).";
        assert_eq!(said(unequal, rows.clone()), Some(Ok(text.into())));
        assert!(said(unequal, vec![role(4, "2 readers", 500.0), role(4, "2 writers", 510.0)]).unwrap().is_err());
        assert_eq!(said(unequal, vec![role(4, "3 readers", 200.0)]), None);
        let Spec::Table { lines, .. } = &decision("decide-readers", &data(rows)).unwrap().charts[0] else {
            panic!("a table")
        };
        let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["std: 3 readers, 1 writer", "std: 2 readers, 2 writers"]);
    }

    #[test]
    fn a_users_lock_is_told_by_role_too() {
        let own = |group: &str, ns: f64| {
            let row = role(8, group, ns);
            Row { case: Case { primitive: "cpu.own.mine".to_owned(), ..row.case.clone() }, ..row }
        };
        let text = said(unequal, vec![own("7 readers", 200.0), own("1 writers", 3000.0)]).unwrap().unwrap();
        assert!(text.starts_with("With 7 readers and 1 writer on the mine lock, a write takes 15 times"), "{text}");
    }
}
