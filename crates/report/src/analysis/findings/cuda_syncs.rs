//! Burtchell and Burtscher, sections V-B1 and V-B4: barriers of blocks and warps, shuffles and votes in CUDA.

use std::ops::RangeBounds;

use syncscope_core::{Case, Dtype, Form, Mode};

use super::super::contest::Known;
use super::judge::{ALIKE, Test, Unit, all, every, flat, generally, largely_flat, rising, two};
use super::pick::{
    self, BALLOT, SHUFFLE, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_XOR, SYNCTHREADS, SYNCWARP, VOTE_ALL, VOTE_ANY, at,
    blocks, by_threads, of_blocks, pairs, pairs_by,
};
use super::{ClaimVerdict, Outcome, Predicate};
use crate::RunData;

const WARP: u32 = 32;
/// The throughput "drops": costs of shuffles repeat to a thousandth, and a step is at least this factor.
const DROP: f64 = 1.1;

pub(super) const CLAIMS: &[(&str, Predicate)] = &[
    ("burtchell.cuda.syncthreads_warps", |data| rising(&one_block(data, WARP..))),
    ("burtchell.cuda.syncthreads_within_warp", |data| flat(ALIKE, &one_block(data, ..=WARP))),
    ("burtchell.cuda.syncthreads_blocks", |data| {
        // The block counts of the paper: up to two for each multiprocessor.
        let most = pick::multiprocessors(data).map(|count| 2 * count);
        let rows = blocks(data, SYNCTHREADS, |case| most.is_none() || case.blocks <= most);
        let (one, more): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.row.case.blocks == Some(1));
        every(Test::Within(ALIKE), "cost alike in one block and in more", &by_threads(&more, &one))
    }),
    ("burtchell.cuda.syncwarp_constant", |data| largely_flat(&converged(data))),
    ("burtchell.cuda.syncwarp_warps", |data| {
        let count = pick::multiprocessors(data)?;
        let rows = converged(data);
        let mut doubled = of_blocks(&rows, 2 * count);
        // Two blocks of half the size run as many warps. Two blocks of 1,024 threads may not fit.
        doubled.retain(|row| row.row.case.threads < Some(1024));
        let single = |threads: Option<u32>| at(&rows, count, 2 * threads?);
        let found = doubled.into_iter().filter_map(|row| Some((row, single(row.row.case.threads)?)));
        let found: Vec<_> = found.collect();
        generally(Test::Within(ALIKE), "two blocks cost what one of twice the size does", &found)
    }),
    ("burtchell.cuda.shuffle_kinds", |data| {
        let of = |id| shuffles(data, id, |_| true);
        let with = |other| pairs_by(&of(SHUFFLE), &of(other), |case| (case.dtype, case.blocks, case.threads));
        let found: Vec<_> = [SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR].into_iter().flat_map(with).collect();
        generally(Test::Within(ALIKE), "both kinds cost alike", &found)
    }),
    ("burtchell.cuda.shuffle_full", |data| {
        let count = pick::multiprocessors(data)?;
        let rows = shuffles(data, SHUFFLE, |case| case.dtype == Some(Dtype::I32));
        let (full, alone) = (at(&rows, 2 * count, 1024)?, at(&rows, count, WARP)?);
        Some(two(Test::AtLeast(ALIKE), ("", &full), ("", &alone)))
    }),
    ("burtchell.cuda.shuffle_wide", shuffle_wide),
    ("burtchell.cuda.votes_alike", |data| {
        let found = pairs(&votes(data, VOTE_ALL), &votes(data, VOTE_ANY));
        generally(Test::Within(ALIKE), "both votes cost alike", &found)
    }),
    ("burtchell.cuda.votes_syncwarp", |data| {
        let found = pairs(&converged(data), &votes(data, VOTE_ALL));
        let lower = generally(Test::Below, "the barrier costs less", &found)?;
        // "Slightly": the vote costs less than ten times as much.
        all([lower, generally(Test::AtLeast(0.1), "by less than ten times", &found)?])
    }),
    ("burtchell.cuda.ballot", |data| {
        let found = pairs(&votes(data, BALLOT), &votes(data, VOTE_ANY));
        generally(Test::Within(ALIKE), "ballot and vote cost alike", &found)
    }),
];

/// `__syncwarp()` of warps whose threads are on one path.
pub(super) fn converged(data: &RunData) -> Vec<Known<'_>> {
    blocks(data, SYNCWARP, |case| case.in_group("converged"))
}

/// `__syncthreads()` of one block of so many threads.
pub(super) fn one_block(data: &RunData, threads: impl RangeBounds<u32>) -> Vec<Known<'_>> {
    let fits = |case: &Case| case.threads.is_some_and(|count| threads.contains(&count));
    of_blocks(&blocks(data, SYNCTHREADS, fits), 1)
}

/// Shuffles that depend on each other, as in the paper's programs: their distance is in a register. The default form of most kinds
/// has it there, too.
fn shuffles<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    let all = pick::rows(data, primitive, |case| {
        matches!(case.form, None | Some(Form::Opaque))
            && !matches!(case.mode, Some(Mode::Throughput))
            && case.blocks.is_some()
            && fits(case)
    });
    let has_opaque = all.iter().any(|row| row.row.case.form.is_some());
    all.into_iter().filter(|row| row.row.case.form.is_some() == has_opaque).collect()
}

/// Votes that depend on each other.
fn votes<'a>(data: &'a RunData, primitive: &str) -> Vec<Known<'a>> {
    blocks(data, primitive, |case| !matches!(case.mode, Some(Mode::Throughput)))
}

/// The size at which the cost of a block first exceeds that of one warp by [`DROP`].
fn first_drop<'a>(rows: &[Known<'a>]) -> Option<Result<Known<'a>, ()>> {
    let base = rows.iter().find(|row| row.row.case.threads == Some(WARP))?;
    for row in rows.iter().filter(|row| row.row.case.threads > Some(WARP)) {
        match Test::AtMost(DROP).of(row, base) {
            ClaimVerdict::Holds => {}
            ClaimVerdict::DoesNotHold => return Some(Ok(*row)),
            ClaimVerdict::Open => return Some(Err(())),
        }
    }
    None
}

fn shuffle_wide(data: &RunData) -> Option<Outcome> {
    let count = pick::multiprocessors(data)?;
    let mut parts = Vec::new();
    for (narrow, wide) in [(Dtype::I32, Dtype::U64), (Dtype::F32, Dtype::F64)] {
        let [narrow, wide] = [narrow, wide].map(|dtype| {
            let powers = |case: &Case| case.threads.is_some_and(u32::is_power_of_two);
            of_blocks(&shuffles(data, SHUFFLE, |case| case.dtype == Some(dtype) && powers(case)), count)
        });
        let (Some(narrow), Some(wide)) = (first_drop(&narrow), first_drop(&wide)) else { continue };
        parts.push(match (narrow, wide) {
            (Ok(narrow), Ok(wide)) => {
                let half = wide.row.case.threads.map(|threads| 2 * threads) == narrow.row.case.threads;
                let unit = Unit::of([&narrow, &wide]);
                let words = |row: &Known<'_>| {
                    let dtype = row.row.case.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
                    format!("{dtype} from {} threads on ({})", row.row.case.threads.unwrap_or_default(), unit.cost(row))
                };
                let sentence = format!("{}, {}", words(&narrow), words(&wide));
                Outcome { rows: vec![narrow.index, wide.index], ..Outcome::of(Some(half), sentence) }
            }
            _ => Outcome::of(None, "intervals do not say from which size on a shuffle costs more".to_owned()),
        });
    }
    all(parts)
}
