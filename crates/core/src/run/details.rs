//! `details.csv` as a whole.
//!
//! While a run goes on, each case has lines of its own. When the run ends, the table is made compact: a value that most
//! cases of a domain share is there once, in a line whose `case_id` cell holds the domain (`cpu`, `gpu`, `hybrid`, `mpi`).
//! That line holds for every measured case of the domain (one with at least one pair) that has no line of its own for the
//! same name and actor. A table that was read is always complete: each case has all its details.

use std::collections::{HashMap, HashSet};

use csv::StringRecord;

use crate::model::detail::Details;
use crate::model::limits::{MOST_BLOCKS, count};
use crate::model::parameter::text;
use crate::run::damage::{DamagedLines, FIRST_LINE, records};
use crate::run::files::lines;
use crate::units::significant;
use crate::{CaseId, Detail, Domain, Row};

/// The columns of `details.csv`.
pub(crate) const COLUMNS: [&str; 4] = ["case_id", "name", "actor", "value"];

/// The lines of `details.csv`.
#[derive(Debug, Default)]
pub(crate) struct DetailTable {
    shared: Vec<(Domain, Detail)>,
    own: Details,
}

impl DetailTable {
    /// Reads the lines below the header. A line that holds no detail is damaged.
    pub(crate) fn parse(lines: &[u8]) -> Result<(Self, DamagedLines), String> {
        let (mut table, mut damaged) = (Self::default(), DamagedLines::default());
        for (count, (line, _, record)) in records(lines, FIRST_LINE, COLUMNS.len()).enumerate() {
            fits(count)?;
            let read = record.and_then(|record| {
                let detail = detail_in(&record).ok_or("it holds no detail")?;
                Ok((record[0].to_owned(), detail))
            });
            match read {
                Ok((id, detail)) => match id.parse() {
                    Ok(domain) => table.shared.push((domain, detail)),
                    Err(_) => table.own.entry(CaseId(id)).or_default().push(detail),
                },
                Err(reason) => damaged.add(line, || reason),
            }
        }
        Ok((table, damaged))
    }

    /// All details of each case.
    pub(crate) fn expand(self, rows: &[Row]) -> Result<Details, String> {
        let Self { shared, own: mut details } = self;
        let mut count = details.values().map(Vec::len).sum();
        for domain in Domain::ALL {
            // The first of several shared lines for one name and actor counts.
            let mut seen = HashSet::new();
            let of_domain = shared.iter().filter(|(of, _)| of == domain).map(|(_, detail)| detail);
            let of_domain: Vec<&Detail> = of_domain.filter(|detail| seen.insert(key(detail))).collect();
            if of_domain.is_empty() {
                continue;
            }
            for (id, _) in measured_cases(rows, |of| of == *domain) {
                let own = details.entry(id).or_default();
                let known: HashSet<_> = own.iter().map(key).collect();
                let added: Vec<Detail> = of_domain
                    .iter()
                    .filter(|shared| !known.contains(&key(shared)))
                    .map(|shared| (*shared).clone())
                    .collect();
                count += added.len();
                fits(count)?;
                own.extend(added);
            }
        }
        for of_case in details.values_mut() {
            of_case.sort_by(|a, b| key(a).cmp(&key(b)));
        }
        Ok(details)
    }

    /// The table in which each case has lines of its own. The last of several details of one name and actor counts.
    pub(crate) fn of_cases(mut own: Details) -> Self {
        for of_case in own.values_mut() {
            of_case.reverse();
            of_case.dedup_by(|a, b| key(a) == key(b));
            of_case.reverse();
        }
        Self { shared: Vec::new(), own }
    }

    /// The table of these details, in which a value that most cases of a domain share is not repeated.
    pub(crate) fn compact(rows: &[Row], mut details: Details) -> Self {
        let mut shared = Vec::new();
        for domain in Domain::ALL {
            let cases: Vec<CaseId> = measured_cases(rows, |of| of == *domain).map(|(id, _)| id).collect();
            let usual = usual_details(&cases, &details);
            let by_key: HashMap<_, f64> = usual.iter().map(|detail| (key(detail), detail.value)).collect();
            for case in &cases {
                details
                    .entry(case.clone())
                    .or_default()
                    .retain(|detail| by_key.get(&key(detail)) != Some(&detail.value));
            }
            shared.extend(usual.iter().map(|detail| (*domain, detail.clone())));
        }
        Self { shared, own: details }
    }

    /// The file: first what holds for domains, then what holds for single cases, in the order of the rows.
    pub(crate) fn to_bytes(&self, rows: &[Row]) -> Result<Vec<u8>, csv::Error> {
        let header = std::iter::once(StringRecord::from(&COLUMNS[..]));
        let shared = self.shared.iter().map(|(domain, detail)| record(domain.as_str(), detail));
        let own = rows.iter().filter_map(|row| self.own.get_key_value(&row.case.id()));
        let own = own.flat_map(|(id, details)| details.iter().map(|detail| record(&id.0, detail)));
        lines(header.chain(shared).chain(own))
    }
}

/// The table of these rows' details with this name.
///
/// # Errors
/// None, as it goes to memory.
pub fn only_details(rows: &[Row], details: &Details, name: &str) -> Result<String, csv::Error> {
    let of_name = |all: &Vec<Detail>| all.iter().filter(|detail| detail.name == name).cloned().collect();
    let own = details.iter().map(|(id, all)| (id.clone(), of_name(all))).collect();
    let bytes = DetailTable::compact(rows, own).to_bytes(rows)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line of the table.
pub(crate) fn record(case_or_domain: &str, detail: &Detail) -> StringRecord {
    let actor = text(detail.actor);
    StringRecord::from(&[case_or_domain, &detail.name, &actor, &significant(detail.value)][..])
}

/// The detail of a line; `None` where it holds something else, such as two lines that lost the break between them.
fn detail_in(record: &StringRecord) -> Option<Detail> {
    if record.len() != COLUMNS.len() {
        return None;
    }
    let actor = match record.get(2)? {
        "" => None,
        number => Some(count(number, MOST_BLOCKS)?),
    };
    let value = record.get(3)?.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(Detail { name: record.get(1)?.to_owned(), actor, value })
}

/// The measured cases of these domains.
fn measured_cases(rows: &[Row], is_meant: impl Fn(Domain) -> bool) -> impl Iterator<Item = (CaseId, Domain)> {
    rows.iter().filter(|row| row.pairs.is_some_and(|pairs| pairs > 0)).filter_map(move |row| {
        let domain = row.case.domain_and_family().0.parse().ok().filter(|domain| is_meant(*domain))?;
        Some((row.case.id(), domain))
    })
}

/// The name and the actor of a detail, which identify it.
fn key(detail: &Detail) -> (&str, Option<u32>) {
    (&detail.name, detail.actor)
}

/// The details that all these cases have, each with the value that more than half of them have; in the order of name and
/// actor.
fn usual_details(cases: &[CaseId], details: &Details) -> Vec<Detail> {
    let of_cases = cases.iter().enumerate().filter_map(|(at, case)| Some((at, details.get(case)?)));
    let mut lines: Vec<(usize, &Detail)> =
        of_cases.flat_map(|(at, lines)| lines.iter().map(move |line| (at, line))).collect();
    lines.sort_by(|(a_at, a), (b_at, b)| key(a).cmp(&key(b)).then(a_at.cmp(b_at)));
    let mut usual = Vec::new();
    for of_key in lines.chunk_by_mut(|(_, a), (_, b)| key(a) == key(b)) {
        // Each case has it once. (Otherwise a second line of one case would count for a case without it.)
        let has_one_each = of_key.len() == cases.len() && of_key.windows(2).all(|pair| pair[0].0 != pair[1].0);
        if cases.len() < 2 || !has_one_each {
            continue;
        }
        of_key.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        let most = of_key.chunk_by(|(_, a), (_, b)| a == b).max_by_key(|same| same.len());
        usual.extend(most.filter(|same| 2 * same.len() > cases.len()).map(|same| same[0].1.clone()));
    }
    usual
}

/// The most details of a table: more than any run has would not fit into memory.
const MOST_DETAILS: usize = 1 << 23;

fn fits(count: usize) -> Result<(), String> {
    if count < MOST_DETAILS { Ok(()) } else { Err(format!("it has more than {MOST_DETAILS} details, the limit")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::Case;
    use crate::model::verdict::Verdict;

    /// A row of `primitive` with as many `threads`, measured or not.
    fn row(primitive: &str, threads: u32, pairs: Option<u64>) -> Row {
        let case = Case { threads: Some(threads), ..Case::new(primitive) };
        Row { pairs, ..Row::unmeasured(case, Verdict::Resolved) }
    }

    fn text(table: &DetailTable, rows: &[Row]) -> String {
        String::from_utf8(table.to_bytes(rows).unwrap()).unwrap()
    }

    /// Compacts, writes, reads and expands.
    fn there_and_back(rows: &[Row], details: &Details) -> (String, Details) {
        let text = text(&DetailTable::compact(rows, details.clone()), rows);
        let lines = text.split_once('\n').unwrap().1;
        let read = DetailTable::parse(lines.as_bytes()).unwrap().0.expand(rows).unwrap();
        (text, read)
    }

    #[test]
    fn a_detail_survives_the_way_to_a_file_and_back() {
        for detail in [Detail::of_case("jain_index", 0.987_654), Detail::of_actor("acquisitions_per_s", 3, 1.5e6)] {
            assert_eq!(detail_in(&record("0123456789abcdef", &detail)), Some(detail));
        }
        let from = |cells: [&str; 4]| detail_in(&StringRecord::from(&cells[..]));
        assert_eq!(from(["id", "p99_ns", "", "NaN"]), None);
        assert_eq!(from(["id", "p99_ns", "x", "1"]), None);
    }

    #[test]
    fn what_most_cases_share_stands_once_and_is_read_for_each() {
        let mut rows: Vec<Row> = (1..=5).map(|threads| row("gpu.warp.syncwarp", threads, Some(20))).collect();
        rows.push(row("cpu.barrier.std", 2, Some(20)));
        rows.push(row("gpu.warp.tile", 2, None));
        rows.push(row("gpu.warp.tile", 4, Some(0)));
        let details: Details = (0..5_u32)
            .map(|at| {
                let throttled = if at == 3 { 36.0 } else { 0.0 };
                let of_case = vec![
                    Detail::of_actor("ops", 0, 7.0),
                    Detail::of_case("sm_clock_hz_low", 1e6 + f64::from(at)),
                    Detail::of_case("throttle_reasons", throttled),
                ];
                (rows[at as usize].case.id(), of_case)
            })
            .collect();
        let (text, read) = there_and_back(&rows, &details);
        assert_eq!(read, details);
        assert!(text.starts_with("case_id,name,actor,value\ngpu,ops,0,7\ngpu,throttle_reasons,,0\n"), "{text}");
        assert_eq!(text.matches("throttle_reasons").count(), 2, "the usual value, and the one that differs: {text}");
        assert_eq!(text.matches("sm_clock_hz_low").count(), 5, "{text}");
        assert_eq!(there_and_back(&rows, &read).0, text, "a compact table stays as it is");
    }

    #[test]
    fn what_one_measured_case_lacks_stays_with_the_others() {
        let rows: Vec<Row> = (1..=4).map(|threads| row("cpu.barrier.std", threads, Some(20))).collect();
        let blocks = |row: &Row| (row.case.id(), vec![Detail::of_case("blocks", 8.0)]);
        let three: Details = rows[..3].iter().map(blocks).collect();
        let (text, read) = there_and_back(&rows, &three);
        assert_eq!((text.lines().count(), &read), (4, &three), "{text}");
        // A case that has it twice does not make up for one that has it not.
        let mut twice = three.clone();
        twice.get_mut(&rows[0].case.id()).unwrap().push(Detail::of_case("blocks", 8.0));
        assert_eq!(there_and_back(&rows, &twice).1, twice);
        let all: Details = rows.iter().map(blocks).collect();
        let (text, read) = there_and_back(&rows, &all);
        assert_eq!((text.lines().count(), &read), (2, &all), "{text}");
        // A value that no majority has would mislead who reads the file.
        let mut halves = all.clone();
        for row in &rows[..2] {
            halves.get_mut(&row.case.id()).unwrap()[0].value = 9.0;
        }
        let (text, read) = there_and_back(&rows, &halves);
        assert_eq!((text.lines().count(), &read), (5, &halves), "{text}");
    }

    #[test]
    fn a_line_of_a_domain_holds_for_no_case_that_was_not_measured() {
        let rows =
            [row("cpu.barrier.std", 1, Some(9)), row("cpu.barrier.std", 2, None), row("gpu.grid.counter", 1, Some(9))];
        let (table, damaged) =
            DetailTable::parse(b"cpu,blocks,,8\nnpu,blocks,,8\ncpu,broken\ncpu,n,4294967295,1\n\0\0\n").unwrap();
        assert!(damaged.to_string().contains("3 lines (4, 5, 6; line 4: it holds no detail)"), "{damaged}");
        let mut details = table.expand(&rows).unwrap();
        assert_eq!(details.remove(&rows[0].case.id()), Some(vec![Detail::of_case("blocks", 8.0)]));
        assert!(rows.iter().all(|row| !details.contains_key(&row.case.id())), "{details:?}");
    }
}
