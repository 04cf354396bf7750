//! Zhang, Wahib, Zhang and Matsuoka: barriers of a grid and of several devices.

use syncscope_core::Case;

use super::super::contest::Known;
use super::judge::{ALIKE, MUCH, Pair, Test, any_parts, generally, grows_more, two};
use super::pick::{self, GRID, MULTI_COUNTER, MULTI_FLAGS, at, blocks, rows};
use super::{Claim, Outcome};
use crate::RunData;

const WARP: u32 = 32;
/// The barriers of several devices that kernels can call. The vendor's own, which the paper measured, has been removed from CUDA.
const DEVICE_BARRIERS: [&str; 2] = [MULTI_FLAGS, MULTI_COUNTER];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "zhang.grid_dimensions",
        place: "figure 8, table 8",
        text: "The latency of grid synchronization is more related to the grid's dimension than to the block's",
        needs: "grid barriers of one and of more blocks on each multiprocessor, and of blocks of several sizes",
        predicate: |data| {
            let count = pick::multiprocessors(data)?;
            let rows = blocks(data, GRID, |_| true);
            let least = at(&rows, count, WARP)?;
            let most_blocks = rows.iter().rfind(|row| row.row.case.threads == Some(WARP))?;
            let most_threads = rows.iter().rfind(|row| row.row.case.blocks == Some(count))?;
            let others = [most_blocks.index, most_threads.index];
            (!others.contains(&least.index))
                .then(|| grows_more(("blocks:", most_blocks, &least), ("threads:", most_threads, &least)))
        },
    },
    Claim {
        id: "zhang.grid_lesson",
        place: "table 10",
        text: "Controlling the total blocks per multiprocessor controls the performance of grid synchronization",
        needs: "grid barriers of one and of more blocks on each multiprocessor",
        predicate: |data| {
            let count = pick::multiprocessors(data)?;
            let rows = blocks(data, GRID, |case| case.threads == Some(WARP));
            let most = rows.last().filter(|row| row.row.case.blocks > Some(count))?;
            Some(two(Test::AtLeast(MUCH), ("", most), ("", &at(&rows, count, WARP)?)))
        },
    },
    Claim {
        id: "zhang.multi_lesson_blocks",
        place: "table 10; figures 9 and 10",
        text: "Blocks per multiprocessor influence the performance of multi-grid synchronization",
        needs: "barriers of several devices with one and with more blocks on each multiprocessor",
        predicate: |data| {
            let count = pick::multiprocessors(data)?;
            of_each(data, |rows| {
                let of_warps: Vec<_> = rows.into_iter().filter(|row| row.row.case.threads == Some(WARP)).collect();
                let least = at(&of_warps, count, WARP)?;
                let most = of_warps.last().filter(|most| most.row.case.blocks > Some(count))?;
                Some(two(Test::AtLeast(ALIKE), (&most.name(), most), ("", &least)))
            })
        },
    },
    Claim {
        id: "zhang.multi_lesson_warps",
        place: "table 10; figures 9 and 10",
        text: "Active warps per multiprocessor influence the performance of multi-grid synchronization, too",
        needs: "barriers of several devices with blocks of several sizes",
        predicate: |data| {
            let count = pick::multiprocessors(data)?;
            of_each(data, |rows| {
                let most = rows.iter().rfind(|row| row.row.case.blocks == Some(count))?;
                let least = at(&rows, count, WARP).filter(|least| least.index != most.index)?;
                Some(two(Test::AtLeast(ALIKE), (&most.name(), most), ("", &least)))
            })
        },
    },
    Claim {
        id: "zhang.multi_first_gap",
        place: "figure 11",
        text: "There is a performance gap between 1 GPU and 2 GPUs",
        needs: "barriers of one and of two devices",
        predicate: |data| {
            let words = "two devices cost at least 1.25 times as much as one";
            generally(Test::AtLeast(ALIKE), words, &devices(data, &[2], 1))
        },
    },
    Claim {
        id: "zhang.multi_alike",
        place: "section 4.3.2, figure 11",
        text: "The performance of multi-grid synchronization among 2 to 5 GPUs is similar to each other",
        needs: "barriers of two and of three to five devices",
        predicate: |data| {
            generally(Test::Within(ALIKE), "more devices cost what two do", &devices(data, &[3, 4, 5], 2))
        },
    },
    Claim {
        id: "zhang.multi_second_gap",
        place: "figure 11",
        text: "There is a performance gap between 5 GPUs and 6 GPUs",
        needs: "barriers of five and of six devices",
        predicate: |data| {
            let words = "six devices cost at least 1.25 times as much as five";
            generally(Test::AtLeast(ALIKE), words, &devices(data, &[6], 5))
        },
    },
    Claim {
        id: "zhang.multi_acceptable",
        place: "section 4.3.2",
        text: "With 4 blocks of 256 threads on each multiprocessor, the latency is no more than 2 times that of the fastest case",
        needs: "barriers of several devices with 1 block of 32 and 4 blocks of 256 threads on each multiprocessor",
        predicate: |data| {
            let count = pick::multiprocessors(data)?;
            of_each(data, |rows| {
                let (general, fastest) = (at(&rows, 4 * count, 256)?, at(&rows, count, WARP)?);
                Some(two(Test::AtMost(2.0), (&general.name(), &general), ("", &fastest)))
            })
        },
    },
    Claim {
        id: "zhang.multi_ranges",
        place: "table 9",
        text: "At most 4 blocks and 16 warps on each multiprocessor cost less than half of 16 and more blocks or 64 warps",
        needs: "barriers of two devices in both ranges",
        predicate: |data| {
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
            any_parts(parts)
        },
    },
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
    any_parts(DEVICE_BARRIERS.into_iter().filter_map(|primitive| part(together(data, primitive))))
}

/// Pairs of barriers of so many devices and of fewer ones, alike in all else.
fn devices<'a>(data: &'a RunData, more: &[u32], fewer: u32) -> Vec<Pair<'a>> {
    let of = |primitive| {
        let base = of_devices(data, primitive, fewer);
        let rows = more.iter().flat_map(move |count| of_devices(data, primitive, *count));
        rows.filter_map(move |row| Some((row, at(&base, row.row.case.blocks?, row.row.case.threads?)?)))
    };
    DEVICE_BARRIERS.into_iter().flat_map(of).collect()
}
