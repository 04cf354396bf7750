//! Zhang, Wahib, Zhang and Matsuoka: barriers of a grid and of several devices.

use syncscope_core::Case;

use super::super::contest::Known;
use super::judge::{ALIKE, MUCH, Pair, Test, all, generally, grows_more, two};
use super::pick::{self, GRID, MULTI_COUNTER, MULTI_FLAGS, at, blocks, pairs_by, rows};
use super::{Outcome, Predicate};
use crate::RunData;

const WARP: u32 = 32;
/// The barriers of several devices that kernels can call. The vendor's own, which the paper measured, has been removed from CUDA.
const DEVICE_BARRIERS: [&str; 2] = [MULTI_FLAGS, MULTI_COUNTER];

pub(super) const CLAIMS: &[(&str, Predicate)] = &[
    ("zhang.grid_dimensions", |data| {
        let count = pick::multiprocessors(data)?;
        let rows = blocks(data, GRID, |_| true);
        let least = at(&rows, count, WARP)?;
        let most_blocks = rows.iter().rfind(|row| row.row.case.threads == Some(WARP))?;
        let most_threads = rows.iter().rfind(|row| row.row.case.blocks == Some(count))?;
        let others = [most_blocks.index, most_threads.index];
        (!others.contains(&least.index))
            .then(|| grows_more(("blocks:", most_blocks, &least), ("threads:", most_threads, &least)))
    }),
    ("zhang.grid_lesson", |data| {
        let count = pick::multiprocessors(data)?;
        let rows = blocks(data, GRID, |case| case.threads == Some(WARP));
        let most = rows.last().filter(|row| row.row.case.blocks > Some(count))?;
        Some(two(Test::AtLeast(MUCH), ("", most), ("", &at(&rows, count, WARP)?)))
    }),
    ("zhang.multi_lesson_blocks", |data| {
        let count = pick::multiprocessors(data)?;
        of_each(data, |rows| {
            let of_warps: Vec<_> = rows.into_iter().filter(|row| row.row.case.threads == Some(WARP)).collect();
            let least = at(&of_warps, count, WARP)?;
            let most = of_warps.last().filter(|most| most.row.case.blocks > Some(count))?;
            Some(two(Test::AtLeast(ALIKE), (&most.name(), most), ("", &least)))
        })
    }),
    ("zhang.multi_lesson_warps", |data| {
        let count = pick::multiprocessors(data)?;
        of_each(data, |rows| {
            let most = rows.iter().rfind(|row| row.row.case.blocks == Some(count))?;
            let least = at(&rows, count, WARP).filter(|least| least.index != most.index)?;
            Some(two(Test::AtLeast(ALIKE), (&most.name(), most), ("", &least)))
        })
    }),
    ("zhang.multi_first_gap", |data| {
        let words = "the same barrier costs at least 1.25 times as much on two devices as on one";
        generally(Test::AtLeast(ALIKE), words, &devices(data, &[2], 1))
    }),
    ("zhang.multi_alike", |data| {
        generally(Test::Within(ALIKE), "more devices cost what two do", &devices(data, &[3, 4, 5], 2))
    }),
    ("zhang.multi_second_gap", |data| {
        let words = "six devices cost at least 1.25 times as much as five";
        generally(Test::AtLeast(ALIKE), words, &devices(data, &[6], 5))
    }),
    ("zhang.multi_acceptable", |data| {
        let count = pick::multiprocessors(data)?;
        of_each(data, |rows| {
            let (general, fastest) = (at(&rows, 4 * count, 256)?, at(&rows, count, WARP)?);
            Some(two(Test::AtMost(2.0), (&general.name(), &general), ("", &fastest)))
        })
    }),
    ("zhang.multi_ranges", |data| {
        let count = pick::multiprocessors(data)?;
        let parts = DEVICE_BARRIERS.into_iter().filter_map(|primitive| {
            let found = of_devices(data, primitive, 2);
            let each = |case: &Case| case.blocks.unwrap_or(0) / count;
            let warps = |case: &Case| each(case) * case.threads.unwrap_or(0).div_ceil(WARP);
            let is_few = |case: &Case| each(case) <= 4 && warps(case) <= 16;
            let is_many = |case: &Case| each(case) >= 16 || warps(case) >= 64;
            let most = found.iter().filter(|row| is_few(&row.row.case)).max_by(|a, b| a.ns.total_cmp(&b.ns))?;
            let least = found.iter().filter(|row| is_many(&row.row.case)).min_by(|a, b| a.ns.total_cmp(&b.ns))?;
            Some(two(Test::AtLeast(MUCH), (&format!("{}, many:", least.name()), least), ("few:", most)))
        });
        all(parts)
    }),
];

/// Barriers of so many devices that order memory, each launched by itself.
fn of_devices<'a>(data: &'a RunData, primitive: &str, devices: u32) -> Vec<Known<'a>> {
    let is_default = |case: &Case| case.form.is_none() && case.group.is_none() && case.order.is_none();
    rows(data, primitive, |case| is_default(case) && case.devices == Some(devices))
}

/// Barriers of all devices of the run, at least two.
fn together<'a>(data: &'a RunData, primitive: &str) -> Vec<Known<'a>> {
    let of = |case: &Case| case.devices.unwrap_or(1);
    let most = data.rows.iter().filter(|row| row.case.primitive == primitive).map(|row| of(&row.case)).max();
    most.filter(|most| *most > 1).map(|most| of_devices(data, primitive, most)).unwrap_or_default()
}

/// Whether any barrier of devices is so, by its rows on all of them.
fn of_each(data: &RunData, part: impl Fn(Vec<Known<'_>>) -> Option<Outcome>) -> Option<Outcome> {
    all(DEVICE_BARRIERS.into_iter().filter_map(|primitive| part(together(data, primitive))))
}

/// Pairs of barriers of so many devices and of fewer ones, alike in all else.
fn devices<'a>(data: &'a RunData, more: &[u32], fewer: u32) -> Vec<Pair<'a>> {
    let of = |primitive| {
        let base = of_devices(data, primitive, fewer);
        let rows: Vec<_> = more.iter().flat_map(|count| of_devices(data, primitive, *count)).collect();
        pairs_by(&rows, &base, |case| (case.blocks, case.threads))
    };
    DEVICE_BARRIERS.into_iter().flat_map(of).collect()
}
