//! Burtchell and Burtscher, section V-A: barriers, critical sections, flushes, hyperthreads and placement in OpenMP.

use syncscope_core::machine::CpuMachine;
use syncscope_core::{Case, Dtype, Placement};

use super::super::contest::Known;
use super::judge::{ALIKE, MUCH, Pair, Test, all, any_parts, generally, grows_more, two};
use super::pick::{
    self, CPU_ADD, CPU_CAPTURE, CPU_WRITE, CRITICAL, FLUSH, OPENMP_BARRIER, by_threads, private, shared, teams,
};
use super::{Claim, ClaimVerdict, Outcome};
use crate::RunData;
use crate::naming::enumeration;

/// "Only a few threads": the fewest that can synchronize.
const FEW: u32 = 2;
/// "Beyond about 8 threads" (figure 1).
const ABOUT: u32 = 8;
/// Elements so far apart share no cache line of 64 bytes, whatever their type.
pub(super) const APART: u32 = 16;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "burtchell.openmp.barrier_threads",
        place: "section V-A5, recommendation 1",
        text: "Barriers are not much cheaper when only a few threads are used",
        needs: "barriers of libgomp by two and by more threads",
        predicate: |data| ends("", &teams(data, OPENMP_BARRIER, |_| true), FEW, Test::AtMost(MUCH)),
    },
    Claim {
        id: "burtchell.openmp.barrier_stable",
        place: "figure 1",
        text: "Beyond about 8 threads, the barrier's throughput per thread remains largely stable",
        needs: "barriers of libgomp by 8 and by more threads",
        predicate: |data| ends("", &teams(data, OPENMP_BARRIER, |_| true), ABOUT, Test::AtMost(MUCH)),
    },
    Claim {
        id: "burtchell.openmp.critical",
        place: "section V-A5, recommendation 5; figure 5",
        text: "Critical sections are slower than atomics and should be avoided unless there is no other option",
        needs: "critical sections and atomic updates of one variable by several threads",
        predicate: |data| {
            let pairs = by_threads(&critical(data), &teams(data, CPU_ADD, shared(Dtype::I32)));
            generally(Test::AtLeast(1.0), "the critical section costs more", &pairs)
        },
    },
    Claim {
        id: "burtchell.openmp.critical_drop",
        place: "figure 5",
        text: "The throughput of a critical section drops more quickly with the threads than that of the atomic update",
        needs: "critical sections and atomic updates of one variable by two and by more threads",
        predicate: |data| {
            let pairs = by_threads(&critical(data), &teams(data, CPU_ADD, shared(Dtype::I32)));
            let ((few_section, few_update), (section, update)) = (pairs.first()?, pairs.last()?);
            (few_section.row.case.threads < section.row.case.threads)
                .then(|| grows_more(("critical section", section, few_section), ("atomic update", update, few_update)))
        },
    },
    Claim {
        id: "burtchell.openmp.flush_harmless",
        place: "section V-A5, recommendation 6; figure 6",
        text: "Flushes do not have a major performance impact: without false sharing it is minimal",
        needs: "flushes among padded elements and atomic updates of one variable by several threads",
        predicate: |data| {
            let contended = teams(data, CPU_ADD, shared(Dtype::I32));
            let (flush, add) = last_pair(&flushes(data, APART), &contended)?;
            let (flush, add) = (("a flush among padded elements", &flush), ("an atomic update of one variable", &add));
            Some(two(Test::AtMost(1.0 / MUCH), flush, add))
        },
    },
    Claim {
        id: "burtchell.openmp.flush_sharing",
        place: "figure 6",
        text: "With false sharing a flush behaves like an atomic update: its throughput drops with the threads",
        needs: "flushes among neighbouring and among padded elements by several threads",
        predicate: |data| {
            let (neighbours, padded) = (flushes(data, 1), flushes(data, APART));
            let (near, far) = last_pair(&neighbours, &padded)?;
            Some(all([
                two(Test::AtLeast(MUCH), ("among neighbouring elements", &near), ("among padded ones", &far)),
                ends("", &neighbours, FEW, Test::AtLeast(MUCH))?,
            ]))
        },
    },
    Claim {
        id: "burtchell.openmp.hyperthreads",
        place: "section V-A5, recommendation 7",
        text: "Using hyperthreads is fine: they do not significantly slow down synchronizations",
        needs: "operations by as many threads as cores and as hardware threads, on CPUs whose cores have several of these",
        predicate: hyperthreads,
    },
    Claim {
        id: "burtchell.openmp.placement",
        place: "sections V-A1, V-A2 and V-A4",
        text: "The affinities \"spread\" and \"close\" make no notable difference",
        needs: "the same case in the placements close and spread",
        predicate: |data| {
            let mut pairs = Vec::new();
            for (primitive, fits) in [(OPENMP_BARRIER, None), (CPU_ADD, Some(APART)), (FLUSH, Some(APART))] {
                let fits = |case: &Case| fits.is_none_or(|stride| private(Dtype::I32, stride)(case));
                let [close, spread] = [Placement::Close, Placement::Spread]
                    .map(|placement| pick::teams_in(data, primitive, &placement, &fits));
                pairs.extend(by_threads(&close, &spread));
            }
            generally(Test::Within(ALIKE), "close and spread cost alike", &pairs)
        },
    },
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
    let mut outcome = any_parts(parts.into_iter().map(|(_, part)| part))?;
    if !slowed.is_empty() {
        outcome.sentence = format!("not of {}: {}", enumeration(&slowed), outcome.sentence);
    }
    Some(outcome)
}
