//! Burtchell and Burtscher, section V-B2: atomic operations in CUDA.

use syncscope_core::{Dtype, Layout};

use super::super::contest::Known;
use super::Predicate;
use super::judge::{ALIKE, MUCH, Pair, Test, all, flat, generally, grows_alike, preferred, two};
use super::pick::{
    CAS_FAIL, CAS_PASS, DTYPES, EXCHANGE, GPU_ADD, ONE, at, atomics, by_threads, multiprocessors, of_blocks, pairs,
};
use crate::RunData;

const WARP: u32 = 32;
/// The strides of the figures.
const NEAR: Layout = Layout::Private { stride: 1 };
const FAR: Layout = Layout::Private { stride: 32 };

pub(super) const CLAIMS: &[(&str, Predicate)] = &[
    ("burtchell.cuda.int_add", |data| {
        let others = [Dtype::U64, Dtype::F32, Dtype::F64];
        let found: Vec<_> = others.into_iter().flat_map(|other| types(data, GPU_ADD, Dtype::I32, other)).collect();
        preferred("i32 is", &found)
    }),
    ("burtchell.cuda.int_cas", |data| preferred("i32 is", &types(data, CAS_PASS, Dtype::I32, Dtype::U64))),
    ("burtchell.cuda.ull_before_float", |data| {
        let mut found = types(data, GPU_ADD, Dtype::U64, Dtype::F32);
        found.extend(types(data, GPU_ADD, Dtype::U64, Dtype::F64));
        generally(Test::Below, "u64 costs less than the floating-point type", &found)
    }),
    ("burtchell.cuda.aggregation", |data| flat(ALIKE, &up_to(data, GPU_ADD, 1, WARP))),
    ("burtchell.cuda.aggregation_two_blocks", |data| flat(ALIKE, &up_to(data, GPU_ADD, 2, 2 * WARP))),
    ("burtchell.cuda.others_not_aggregated", |data| {
        let parts = [Dtype::U64, Dtype::F32, Dtype::F64].into_iter().filter_map(|dtype| {
            let rows = atomics(data, GPU_ADD, dtype, ONE);
            Some(two(Test::AtLeast(MUCH), (dtype.as_str(), &at(&rows, 1, WARP)?), ("", &at(&rows, 1, 1)?)))
        });
        all(parts)
    }),
    ("burtchell.cuda.overlap", |data| {
        let count = multiprocessors(data)?;
        let of = |(id, dtype)| {
            let of = |layout| of_blocks(&atomics(data, id, dtype, layout), count);
            pairs(&of(ONE), &of(FAR))
        };
        let all = [GPU_ADD, CAS_PASS].into_iter().flat_map(|id| DTYPES.map(|dtype| (id, dtype)));
        let words = "one variable costs at least 1.25 times as much as elements 32 apart";
        generally(Test::AtLeast(ALIKE), words, &all.flat_map(of).collect::<Vec<_>>())
    }),
    ("burtchell.cuda.limit", |data| {
        let count = multiprocessors(data)?;
        let parts = [(GPU_ADD, NEAR), (GPU_ADD, FAR), (CAS_PASS, NEAR), (CAS_PASS, FAR)].into_iter();
        let parts = parts.filter_map(|(primitive, layout)| {
            let rows = atomics(data, primitive, Dtype::I32, layout);
            let (full, half) = (at(&rows, count, 1024)?, at(&rows, count, 512)?);
            // At the limit twice the threads take twice as long.
            let name = format!("{} {}", full.name(), crate::naming::layout(layout));
            Some(two(Test::AtLeast(2.0 / ALIKE), (&name, &full), ("", &half)))
        });
        all(parts)
    }),
    ("burtchell.cuda.stride_one_block", |data| {
        // From two warps on: within one, the elements of stride 1 share cache lines and those of stride 32 do not.
        let [near, far] = [NEAR, FAR].map(|layout| atomics(data, GPU_ADD, Dtype::I32, layout));
        Some(grows_alike(
            ("stride 1", &at(&near, 1, 1024)?, &at(&near, 1, 2 * WARP)?),
            ("stride 32", &at(&far, 1, 1024)?, &at(&far, 1, 2 * WARP)?),
        ))
    }),
    ("burtchell.cuda.stride_many_blocks", |data| {
        let count = multiprocessors(data)?;
        let of = |layout| of_blocks(&atomics(data, GPU_ADD, Dtype::I32, layout), count);
        let found = pairs(&of(FAR), &of(NEAR));
        let (far, near) = found.last()?;
        Some(two(Test::AtLeast(MUCH), ("stride 32", far), ("stride 1", near)))
    }),
    ("burtchell.cuda.more_blocks", |data| {
        let count = multiprocessors(data)?;
        let rows = atomics(data, GPU_ADD, Dtype::I32, NEAR);
        let found = by_threads(&of_blocks(&rows, count), &of_blocks(&rows, 1));
        generally(Test::AtLeast(1.0), "more blocks cost more", &found)
    }),
    ("burtchell.cuda.cas_pass_fail", |data| {
        generally(Test::Within(ALIKE), "both cost alike", &primitives(data, CAS_PASS, CAS_FAIL))
    }),
    ("burtchell.cuda.cas_constant", |data| flat(ALIKE, &up_to(data, CAS_PASS, 1, 4))),
    ("burtchell.cuda.cas_not_aggregated", |data| {
        let rows = atomics(data, CAS_PASS, Dtype::I32, ONE);
        Some(two(Test::AtLeast(MUCH), ("", &at(&rows, 1, WARP)?), ("", &at(&rows, 1, 4)?)))
    }),
    ("burtchell.cuda.exchange", |data| {
        let found = primitives(data, EXCHANGE, CAS_PASS);
        generally(Test::Within(ALIKE), "exchange and compare-and-swap cost alike", &found)
    }),
];

/// Operations on one variable by so many blocks of at most so many threads.
fn up_to<'a>(data: &'a RunData, primitive: &str, blocks: u32, threads: u32) -> Vec<Known<'a>> {
    let mut rows = of_blocks(&atomics(data, primitive, Dtype::I32, ONE), blocks);
    rows.retain(|row| row.row.case.threads <= Some(threads));
    rows
}

/// Pairs of two types at each size, on one variable.
fn types<'a>(data: &'a RunData, primitive: &str, one: Dtype, other: Dtype) -> Vec<Pair<'a>> {
    pairs(&atomics(data, primitive, one, ONE), &atomics(data, primitive, other, ONE))
}

/// Pairs of two primitives at each size, on one variable.
fn primitives<'a>(data: &'a RunData, one: &str, other: &str) -> Vec<Pair<'a>> {
    pairs(&atomics(data, one, Dtype::I32, ONE), &atomics(data, other, Dtype::I32, ONE))
}
