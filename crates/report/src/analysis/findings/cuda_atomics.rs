//! Burtchell and Burtscher, section V-B2: atomic operations in CUDA.

use syncscope_core::{Dtype, Layout};

use super::super::contest::Known;
use super::Claim;
use super::judge::{ALIKE, MUCH, Pair, Test, any_parts, flat, generally, grows_alike, preferred, two};
use super::pick::{
    CAS_FAIL, CAS_PASS, DTYPES, EXCHANGE, GPU_ADD, ONE, at, atomics, by_threads, multiprocessors, of_blocks, pairs,
};
use crate::RunData;

const WARP: u32 = 32;
/// The strides of the figures.
const NEAR: Layout = Layout::Private { stride: 1 };
const FAR: Layout = Layout::Private { stride: 32 };

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "burtchell.cuda.int_add",
        place: "section V-B5, recommendation 3; figure 9",
        text: "int is preferred for atomic adds over other data types",
        needs: "atomic additions of i32 and of other types to one variable",
        predicate: |data| {
            let others = [Dtype::U64, Dtype::F32, Dtype::F64];
            let found: Vec<_> = others.into_iter().flat_map(|other| types(data, GPU_ADD, Dtype::I32, other)).collect();
            preferred("i32 is", &found)
        },
    },
    Claim {
        id: "burtchell.cuda.int_cas",
        place: "section V-B5, recommendation 3",
        text: "int is preferred for atomic CAS over other data types",
        needs: "compare-and-swap of i32 and of u64 on one variable",
        predicate: |data| preferred("i32 is", &types(data, CAS_PASS, Dtype::I32, Dtype::U64)),
    },
    Claim {
        id: "burtchell.cuda.ull_before_float",
        place: "figure 9",
        text: "ull is faster than the floating-point types in atomic additions to one variable",
        needs: "atomic additions of u64, f32 and f64 to one variable",
        predicate: |data| {
            let mut found = types(data, GPU_ADD, Dtype::U64, Dtype::F32);
            found.extend(types(data, GPU_ADD, Dtype::U64, Dtype::F64));
            generally(Test::Below, "u64 costs less than the floating-point type", &found)
        },
    },
    Claim {
        id: "burtchell.cuda.aggregation",
        place: "figure 9",
        text: "For int the throughput is constant until the size of a warp is surpassed: the atomics of a warp are aggregated",
        needs: "atomic additions of i32 to one variable by one block of up to 32 threads",
        predicate: |data| flat(ALIKE, &up_to(data, GPU_ADD, 1, WARP)),
    },
    Claim {
        id: "burtchell.cuda.aggregation_two_blocks",
        place: "figure 9",
        text: "With two blocks the int additions remain at a constant throughput up to 64 threads (2 warps)",
        needs: "atomic additions of i32 to one variable by two blocks of up to 64 threads",
        predicate: |data| flat(ALIKE, &up_to(data, GPU_ADD, 2, 2 * WARP)),
    },
    Claim {
        id: "burtchell.cuda.others_not_aggregated",
        place: "figure 9",
        text: "Additions of the other types lose throughput within a warp: only those of int are aggregated",
        needs: "atomic additions of other types to one variable by one block of 1 and of 32 threads",
        predicate: |data| {
            let parts = [Dtype::U64, Dtype::F32, Dtype::F64].into_iter().filter_map(|dtype| {
                let rows = atomics(data, GPU_ADD, dtype, ONE);
                Some(two(Test::AtLeast(MUCH), (dtype.as_str(), &at(&rows, 1, WARP)?), ("", &at(&rows, 1, 1)?)))
            });
            any_parts(parts)
        },
    },
    Claim {
        id: "burtchell.cuda.overlap",
        place: "section V-B5, recommendation 4",
        text: "Multiple atomic adds or CASs on the same memory location slow performance, so overlap should be avoided",
        needs: "atomic operations on one variable and on elements 32 apart, by full blocks on all multiprocessors",
        predicate: |data| {
            let count = multiprocessors(data)?;
            let of = |(id, dtype)| {
                let of = |layout| of_blocks(&atomics(data, id, dtype, layout), count);
                pairs(&of(ONE), &of(FAR))
            };
            let all = [GPU_ADD, CAS_PASS].into_iter().flat_map(|id| DTYPES.map(|dtype| (id, dtype)));
            let words = "one variable costs at least 1.25 times as much as elements 32 apart";
            generally(Test::AtLeast(ALIKE), words, &all.flat_map(of).collect::<Vec<_>>())
        },
    },
    Claim {
        id: "burtchell.cuda.limit",
        place: "section V-B5, recommendation 5",
        text: "The number of atomics per unit of time is limited, so too many simultaneous ones should be avoided",
        needs: "atomic additions to private elements by blocks of 512 and 1,024 threads, one on each multiprocessor",
        predicate: |data| {
            let count = multiprocessors(data)?;
            let parts = [(GPU_ADD, NEAR), (GPU_ADD, FAR), (CAS_PASS, NEAR), (CAS_PASS, FAR)].into_iter();
            let parts = parts.filter_map(|(primitive, layout)| {
                let rows = atomics(data, primitive, Dtype::I32, layout);
                let (full, half) = (at(&rows, count, 1024)?, at(&rows, count, 512)?);
                // At the limit twice the threads take twice as long.
                let name = format!("{} {}", full.name(), crate::naming::layout(layout));
                Some(two(Test::AtLeast(2.0 / ALIKE), (&name, &full), ("", &half)))
            });
            any_parts(parts)
        },
    },
    Claim {
        id: "burtchell.cuda.stride_one_block",
        place: "figure 10",
        text: "For one block the trend of additions to private elements is the same regardless of stride",
        needs: "atomic additions to private elements at the strides 1 and 32 by one block of 64 and of 1,024 threads",
        predicate: |data| {
            // From two warps on: within one, the elements of stride 1 share cache lines and those of stride 32 do not.
            let [near, far] = [NEAR, FAR].map(|layout| atomics(data, GPU_ADD, Dtype::I32, layout));
            Some(grows_alike(
                ("stride 1", &at(&near, 1, 1024)?, &at(&near, 1, 2 * WARP)?),
                ("stride 32", &at(&far, 1, 1024)?, &at(&far, 1, 2 * WARP)?),
            ))
        },
    },
    Claim {
        id: "burtchell.cuda.stride_many_blocks",
        place: "figure 10",
        text: "For many blocks the stride fundamentally changes the throughput",
        needs: "atomic additions to private elements at the strides 1 and 32 by one block on each multiprocessor",
        predicate: |data| {
            let count = multiprocessors(data)?;
            let of = |layout| of_blocks(&atomics(data, GPU_ADD, Dtype::I32, layout), count);
            let found = pairs(&of(FAR), &of(NEAR));
            let (far, near) = found.last()?;
            Some(two(Test::AtLeast(MUCH), ("stride 32", far), ("stride 1", near)))
        },
    },
    Claim {
        id: "burtchell.cuda.more_blocks",
        place: "figure 10",
        text: "As the block count increases, the throughput per thread of additions to private elements decreases",
        needs: "atomic additions to private elements by one block and by one on each multiprocessor",
        predicate: |data| {
            let count = multiprocessors(data)?;
            let rows = atomics(data, GPU_ADD, Dtype::I32, NEAR);
            let found = by_threads(&of_blocks(&rows, count), &of_blocks(&rows, 1));
            generally(Test::AtLeast(1.0), "more blocks cost more", &found)
        },
    },
    Claim {
        id: "burtchell.cuda.cas_pass_fail",
        place: "section V-B2",
        text: "There is no difference in performance between an atomicCAS() that always passes and one that always fails",
        needs: "compare-and-swap that passes and that fails on one variable",
        predicate: |data| generally(Test::Within(ALIKE), "both cost alike", &primitives(data, CAS_PASS, CAS_FAIL)),
    },
    Claim {
        id: "burtchell.cuda.cas_constant",
        place: "figure 11",
        text: "For one block atomicCAS() has a constant throughput up to 4 threads",
        needs: "compare-and-swap on one variable by one block of 1, 2 and 4 threads",
        predicate: |data| flat(ALIKE, &up_to(data, CAS_PASS, 1, 4)),
    },
    Claim {
        id: "burtchell.cuda.cas_not_aggregated",
        place: "figure 11",
        text: "atomicCAS() cannot benefit from warp aggregation: its throughput drops within a warp",
        needs: "compare-and-swap on one variable by one block of 4 and of 32 threads",
        predicate: |data| {
            let rows = atomics(data, CAS_PASS, Dtype::I32, ONE);
            Some(two(Test::AtLeast(MUCH), ("", &at(&rows, 1, WARP)?), ("", &at(&rows, 1, 4)?)))
        },
    },
    Claim {
        id: "burtchell.cuda.exchange",
        place: "figure 13",
        text: "The results of atomicExch() are similar to those of atomicCAS()",
        needs: "exchanges and compare-and-swaps on one variable",
        predicate: |data| {
            let found = primitives(data, EXCHANGE, CAS_PASS);
            generally(Test::Within(ALIKE), "exchange and compare-and-swap cost alike", &found)
        },
    },
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
