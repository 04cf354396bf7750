//! Burtchell and Burtscher, section V-A: barriers, critical sections, flushes, hyperthreads and placement in OpenMP.

use syncscope_core::machine::CpuMachine;
use syncscope_core::{Case, Dtype, Placement};

use super::super::contest::Known;
use super::judge::{ALIKE, MUCH, Pair, Test, all, generally, grows_more, two};
use super::pick::{
    self, CPU_ADD, CPU_CAPTURE, CPU_WRITE, CRITICAL, FLUSH, OPENMP_BARRIER, by_threads, private, shared, teams,
};
use super::{ClaimVerdict, Outcome, Predicate};
use crate::RunData;
use crate::naming::enumeration;

/// "Only a few threads": the fewest that can synchronize.
const FEW: u32 = 2;
/// "Beyond about 8 threads" (figure 1).
const ABOUT: u32 = 8;
/// Elements so far apart share no cache line of 64 bytes, whatever their type.
pub(super) const APART: u32 = 16;

pub(super) const CLAIMS: &[(&str, Predicate)] = &[
    ("burtchell.openmp.barrier_threads", |data| {
        ends("", &teams(data, OPENMP_BARRIER, |_| true), FEW, Test::AtMost(MUCH))
    }),
    ("burtchell.openmp.barrier_stable", |data| {
        ends("", &teams(data, OPENMP_BARRIER, |_| true), ABOUT, Test::AtMost(MUCH))
    }),
    ("burtchell.openmp.critical", |data| {
        let pairs = by_threads(&critical(data), &teams(data, CPU_ADD, shared(Dtype::I32)));
        generally(Test::AtLeast(1.0), "the critical section costs more", &pairs)
    }),
    ("burtchell.openmp.critical_drop", |data| {
        let pairs = by_threads(&critical(data), &teams(data, CPU_ADD, shared(Dtype::I32)));
        let ((few_section, few_update), (section, update)) = (pairs.first()?, pairs.last()?);
        (few_section.row.case.threads < section.row.case.threads)
            .then(|| grows_more(("critical section", section, few_section), ("atomic update", update, few_update)))
    }),
    ("burtchell.openmp.flush_harmless", |data| {
        let contended = teams(data, CPU_ADD, shared(Dtype::I32));
        let (flush, add) = last_pair(&flushes(data, APART), &contended)?;
        let (flush, add) = (("a flush among padded elements", &flush), ("an atomic update of one variable", &add));
        Some(two(Test::AtMost(1.0 / MUCH), flush, add))
    }),
    ("burtchell.openmp.flush_sharing", |data| {
        let (neighbours, padded) = (flushes(data, 1), flushes(data, APART));
        let (near, far) = last_pair(&neighbours, &padded)?;
        all([
            two(Test::AtLeast(MUCH), ("among neighbouring elements", &near), ("among padded ones", &far)),
            ends("", &neighbours, FEW, Test::AtLeast(MUCH))?,
        ])
    }),
    ("burtchell.openmp.hyperthreads", hyperthreads),
    ("burtchell.openmp.placement", |data| {
        let mut pairs = Vec::new();
        for (primitive, fits) in [(OPENMP_BARRIER, None), (CPU_ADD, Some(APART)), (FLUSH, Some(APART))] {
            let fits = |case: &Case| fits.is_none_or(|stride| private(Dtype::I32, stride)(case));
            let [close, spread] = [Placement::Close, Placement::Spread]
                .map(|placement| pick::teams_in(data, primitive, &placement, &fits));
            pairs.extend(by_threads(&close, &spread));
        }
        generally(Test::Within(ALIKE), "close and spread cost alike", &pairs)
    }),
];

/// The cost of the largest team against that of a team of so many threads, or of the next larger one below twice as many.
pub(super) fn ends(name: &str, teams: &[Known<'_>], few: u32, test: Test) -> Option<Outcome> {
    let is_few = |row: &&Known<'_>| (Some(few)..=Some(2 * few)).contains(&row.row.case.threads);
    let first = teams.iter().find(is_few)?;
    let last = teams.last().filter(|last| last.row.case.threads > first.row.case.threads)?;
    Some(two(test, (name, last), ("", first)))
}

/// The pair of the largest team that both have.
pub(super) fn last_pair<'a>(a: &[Known<'a>], b: &[Known<'a>]) -> Option<Pair<'a>> {
    by_threads(a, b).pop()
}

/// Flushes among elements so far apart, as the slowest thread sees them: the others may run with its line to themselves.
fn flushes(data: &RunData, stride: u32) -> Vec<Known<'_>> {
    teams(data, FLUSH, private(Dtype::I32, stride)).into_iter().map(Known::of_slowest).collect()
}

/// Critical sections around an addition; the type is the first that the run has.
fn critical(data: &RunData) -> Vec<Known<'_>> {
    let of = |dtype| teams(data, CRITICAL, shared(dtype));
    pick::DTYPES.into_iter().map(of).find(|rows| !rows.is_empty()).unwrap_or_default()
}

/// A kind of operation, as the claim on hyperthreads names it, with its primitive and the variables of its rows.
type Kind = (&'static str, &'static str, fn(&Case) -> bool);

/// The operations of the paper that several threads execute.
const KINDS: [Kind; 7] = [
    ("barrier", OPENMP_BARRIER, |_| true),
    ("critical section", CRITICAL, |_| true),
    ("update of one variable", CPU_ADD, |case| shared(Dtype::I32)(case)),
    ("capture of one variable", CPU_CAPTURE, |case| shared(Dtype::I32)(case)),
    ("write of one variable", CPU_WRITE, |case| shared(Dtype::I32)(case)),
    ("update of padded elements", CPU_ADD, |case| private(Dtype::I32, APART)(case)),
    ("flush among padded elements", FLUSH, |case| private(Dtype::I32, APART)(case)),
];

/// The same CPUs with all their hardware threads and with one thread for each core: each operation costs at most [`MUCH`] as much.
/// The paper's "not significantly" is read off charts on which the costs of contended operations grow with the threads anyway. Teams
/// that are placed close fill the hardware threads of a core first, so they say nothing but for all.
fn hyperthreads(data: &RunData) -> Option<Outcome> {
    let CpuMachine { cores, hardware_threads: threads, .. } = data.run.machine.cpu;
    if cores == 0 || threads <= cores {
        return None;
    }
    let at = |(name, primitive, fits): Kind| {
        let of = |placements: &[Placement], count: u32| {
            let rows = placements.iter().flat_map(|placement| pick::teams_in(data, primitive, placement, &fits));
            rows.into_iter().find(|row| row.row.case.threads == Some(count))
        };
        let bound = of(&[Placement::Cores, Placement::Spread], cores)
            .zip(of(&[Placement::Cores, Placement::Close, Placement::Spread], threads));
        let unbound = || of(&[Placement::None], cores).zip(of(&[Placement::None], threads));
        let (one_each, all) = bound.or_else(unbound)?;
        // Of several types, those of one.
        let part = || (name, two(Test::AtMost(MUCH), (name, &all), ("", &one_each)));
        (one_each.row.case.dtype == all.row.case.dtype).then(part)
    };
    let parts: Vec<(&str, Outcome)> = KINDS.into_iter().filter_map(at).collect();
    let slowed: Vec<String> = parts
        .iter()
        .filter(|(_, part)| part.verdict == ClaimVerdict::DoesNotHold)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let mut outcome = all(parts.into_iter().map(|(_, part)| part))?;
    if !slowed.is_empty() {
        outcome.sentence = format!("not of {}: {}", enumeration(&slowed), outcome.sentence);
    }
    Some(outcome)
}
