//! Which primitive is the cheapest, by number of threads.

use super::sweep::{largest_team, name};
use crate::RunData;
use crate::analysis::answers::barriers::enumeration;
use crate::analysis::answers::field::{Basis, Coverage, Known, like_but_primitive};

/// What the intervals of the rows of one size make certain.
#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    /// The name of the cheapest.
    One(String),
    /// The names of those that may be the cheapest.
    Several(Vec<String>),
    /// Why any other one may be the cheapest: rows without a figure, or cases that are not measured yet.
    Unknown(String),
    /// The name of the cheapest, whose cost has no figure.
    Unresolved(String),
}

/// The most names in a sentence.
const MOST_NAMES: usize = 3;

fn names(names: &[String]) -> String {
    if names.len() <= MOST_NAMES {
        return enumeration(names);
    }
    let more = names.len() - MOST_NAMES + 1;
    format!("{} and {more} more", names[..MOST_NAMES - 1].join(", "))
}

/// The rows of some primitives that are compared.
#[derive(Clone, Copy)]
pub(super) struct Contest<'a> {
    pub(super) data: &'a RunData,
    pub(super) primitives: &'a [&'a str],
    /// Those that differ in primitive, group and number of threads.
    pub(super) rows: &'a [usize],
}

/// The cheapest of the rows with so many threads, with its cost; `None` where fewer than two have them.
fn outcome(contest: Contest<'_>, threads: u32) -> Option<(Outcome, String, Coverage)> {
    let Contest { data, primitives, rows } = contest;
    let own: Vec<usize> =
        rows.iter().copied().filter(|index| data.rows[*index].case.threads == Some(threads)).collect();
    let known: Vec<Known<'_>> = own.iter().filter_map(|index| Known::of(data, *index, Basis::Run)).collect();
    let best = known.iter().min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high))?;
    let like = &data.rows[*own.first()?].case;
    let coverage = Coverage::of(data, primitives, |case| like_but_primitive(case, like));
    let unknown = |why| Some((Outcome::Unknown(why), String::new(), coverage));
    if let Some(gap) = coverage.gap() {
        return unknown(gap);
    }
    if own.len() < 2 {
        return None;
    }
    if known.len() < own.len() {
        return unknown(format!("{} of {} have no reliable figure", own.len() - known.len(), own.len()));
    }
    let mut rivals: Vec<&Known<'_>> =
        known.iter().filter(|one| one.index == best.index || !best.is_below(one)).collect();
    rivals.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let rivals: Vec<String> = rivals.iter().map(|one| name(&one.row.case)).collect();
    let outcome = match rivals.len() {
        1 if best.has_figure() => Outcome::One(name(&best.row.case)),
        1 => Outcome::Unresolved(name(&best.row.case)),
        _ => Outcome::Several(rivals),
    };
    Some((outcome, best.time(), coverage))
}

/// The numbers of threads that a sentence is about: the smallest ones, the largest team that fits the CPUs, and the largest
/// beyond it. Where the largest ones leave the choice open, the largest one that has figures for all rows follows.
fn outcomes(contest: Contest<'_>, least: u32) -> Vec<(u32, Outcome, String, Coverage)> {
    let Contest { data, rows, .. } = contest;
    let of =
        |threads: u32| outcome(contest, threads).map(|(outcome, time, coverage)| (threads, outcome, time, coverage));
    let mut teams: Vec<u32> = rows.iter().filter_map(|index| data.rows[*index].case.threads).collect();
    teams.retain(|team| *team >= least);
    teams.sort_unstable();
    teams.dedup();
    let Some(fits) = largest_team(data, rows) else { return Vec::new() };
    let is_unknown =
        |team: &u32| matches!(of(*team), None | Some((_, Outcome::Unknown(_) | Outcome::Unresolved(_), ..)));
    let smaller = teams.iter().rev().copied().filter(|team| *team < fits).find(|team| !is_unknown(team));
    let mut stops: Vec<u32> = teams.iter().copied().filter(|team| *team <= 2).collect();
    stops.extend(smaller.filter(|_| is_unknown(&fits)));
    stops.push(fits);
    stops.extend(teams.last());
    stops.sort_unstable();
    stops.dedup();
    stops.into_iter().filter_map(of).collect()
}

/// `1 thread`, `2 threads`.
fn at(threads: u32) -> String {
    format!("at {threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// `Cheapest lock: ticket at 1 thread (8.99 ns), pthread_mutex at 2 threads (88 ns) and at 16 (1.30 us); ...`, and `Cheapest
/// measured lock` where the run leaves some out at such a number of threads. The rows are measured in the same way, so intervals within the run decide. `None` where no number of threads has two rows.
pub(super) fn sentence(contest: Contest<'_>, noun: &str, least: u32) -> Option<String> {
    let mut certain: Vec<(String, Vec<String>)> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut measured = "";
    for (threads, outcome, time, coverage) in outcomes(contest, least) {
        if matches!(outcome, Outcome::One(_)) && coverage.left_out > 0 {
            measured = "measured ";
        }
        match outcome {
            Outcome::One(name) => match certain.iter_mut().find(|(known, _)| *known == name) {
                Some((_, places)) => places.push(format!("at {threads} ({time})")),
                None => certain.push((name, vec![format!("{} ({time})", at(threads))])),
            },
            Outcome::Several(rivals) => {
                open.push(format!("{}, {} cannot be distinguished", at(threads), names(&rivals)));
            }
            Outcome::Unknown(why) => open.push(format!("{}, {why}", at(threads))),
            Outcome::Unresolved(name) => open.push(format!("{}, the cost of {name} is not resolved", at(threads))),
        }
    }
    let certain: Vec<String> =
        certain.into_iter().map(|(name, places)| format!("{name} {}", enumeration(&places))).collect();
    let certain = (!certain.is_empty()).then(|| certain.join(", "));
    let parts: Vec<String> = certain.into_iter().chain(open).collect();
    (!parts.is_empty()).then(|| format!("Cheapest {measured}{noun}: {}.", parts.join("; ")))
}
