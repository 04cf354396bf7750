//! Burtchell and Burtscher, section V-B: CUDA.

use std::ops::RangeBounds;

use syncscope_core::{Form, Verdict};

use super::super::usual::short_name;
use super::prelude::*;
use crate::naming;
use crate::reading::interval_within_run;

const GPU_ADD: &str = "gpu.atomic.add";
const CAS_PASS: &str = "gpu.atomic.cas_pass";
/// The throughput "drops": a step of at least this factor. Costs of shuffles repeat to a thousandth.
const DROP: f64 = 1.1;
/// The strides of the figures.
const NEAR: Layout = Layout::Private { stride: 1 };
const FAR: Layout = Layout::Private { stride: 32 };
/// "At or near zero": at most this share of the device-wide fence in the same case.
const NEAR_ZERO: f64 = 0.05;
/// "Many": at least this share of the cases.
const MANY: f64 = 0.25;

pub(super) const CLAIMS: &[Claim] = claims! {
    "burtchell.cuda.syncthreads_warps", "section V-B5, recommendation 1; figure 7",
        "__syncthreads() performance decreases with increasing warp counts",
        needs "block barriers of one block in three sizes of 32 threads or more" => |data| rising(&one_block(data, WARP..));
    "burtchell.cuda.syncthreads_within_warp", "figure 7",
        "The throughput of __syncthreads() is constant until the block surpasses the warp size of 32 threads",
        needs "block barriers of one block with at most 32 threads, in several sizes" =>
        |data| flat(ALIKE, &one_block(data, ..=WARP));
    "burtchell.cuda.syncthreads_blocks", "figure 7", "The results of __syncthreads() are identical for all block counts",
        needs "block barriers of one block and of more blocks" => |data| {
        // The block counts of the paper: up to two for each multiprocessor.
        let most = multiprocessors(data).map(|count| 2 * count);
        let rows = blocks(data, SYNCTHREADS, |case| most.is_none() || case.blocks <= most);
        let (one, more): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.row.case.blocks == Some(1));
        every(Test::Within(ALIKE), "the costs in one block and in several agree within a factor of 1.25", &by_threads(&more, &one))
    };
    "burtchell.cuda.syncwarp_constant", "section V-B5, recommendation 2",
        "__syncwarp() has largely constant throughput and can be used without regard to block or thread count",
        needs "barriers of converged warps in three sizes" => |data| largely_flat(&converged(data));
    "burtchell.cuda.syncwarp_warps", "figure 8",
        "__syncwarp() throughput depends on the number of warps running on a multiprocessor, not on the number per block",
        needs "barriers of converged warps with one and with two blocks on each multiprocessor" => |data| {
        let count = multiprocessors(data)?;
        let rows = converged(data);
        let mut doubled = of_blocks(&rows, 2 * count);
        // Two blocks of half the size run as many warps. Two blocks of 1,024 threads may not fit.
        doubled.retain(|row| row.row.case.threads < Some(1024));
        let single = |threads: Option<u32>| at(&rows, (count, 2 * threads?));
        let found: Vec<_> = doubled.into_iter().filter_map(|row| Some((row, single(row.row.case.threads)?))).collect();
        alike("two blocks and one of twice the size", &found)
    };
    "burtchell.cuda.shuffle_kinds", "section V-B4",
        "The up, down and xor variants of the shuffle show no performance difference",
        needs "shuffles of several kinds at one size" => |data| {
        let of = |id| shuffles(data, id, |_| true);
        let with = |other| pairs_by(&of("gpu.shuffle.idx"), &of(other), |case| (case.dtype, case.blocks, case.threads));
        let found = ["gpu.shuffle.up", "gpu.shuffle.down", "gpu.shuffle.xor"].map(with);
        alike("both kinds", &found.concat())
    };
    "burtchell.cuda.shuffle_full", "section V-B5, recommendation 7",
        "The throughput of warp shuffles decreases when the multiprocessor is nearly fully loaded",
        needs "shuffles with one block of a warp and two full blocks on each multiprocessor" => |data| {
        let count = multiprocessors(data)?;
        let rows = shuffles(data, "gpu.shuffle.idx", |case| case.dtype == Some(Dtype::I32));
        shapes(Test::AtLeast(ALIKE), "", &rows, (2 * count, 1024), (count, WARP))
    };
    "burtchell.cuda.shuffle_wide", "section V-B4, figure 15; recommendation 7",
        "The throughput of 64-bit shuffles drops at half as many threads as that of 32-bit shuffles",
        needs "shuffles of 32- and of 64-bit types with one block on each multiprocessor, in several sizes" => shuffle_wide;
    "burtchell.cuda.votes_alike", "section V-B4", "The voting functions all and any behave identically",
        needs "both votes at one size" => |data| {
        alike("both votes", &pairs(&votes(data, "gpu.vote.all"), &votes(data, "gpu.vote.any")))
    };
    "burtchell.cuda.votes_syncwarp", "section V-B4",
        "The votes behave like __syncwarp(), with a slightly lower absolute throughput",
        needs "votes and barriers of converged warps at one size" => |data| {
        let found = pairs(&converged(data), &votes(data, "gpu.vote.all"));
        let lower = generally(Test::Below, "the barrier costs less", &found)?;
        // "Slightly": the vote costs less than ten times as much.
        all([lower, generally(Test::AtLeast(0.1), "the vote costs at most ten times as much as the barrier", &found)?])
    };
    "burtchell.cuda.ballot", "section V-B4",
        "The ballot, which could not be recorded, is expected to behave like the other votes",
        needs "ballots and other votes at one size" => |data| {
        alike("ballot and vote", &pairs(&votes(data, "gpu.vote.ballot"), &votes(data, "gpu.vote.any")))
    };
    "burtchell.cuda.int_add", "section V-B5, recommendation 3; figure 9",
        "int is preferable to other data types for atomic adds",
        needs "atomic additions of i32 and of other types to one variable" => |data| {
        let found = [Dtype::U64, Dtype::F32, Dtype::F64].map(|other| types(data, GPU_ADD, Dtype::I32, other));
        preferred("i32 is", &found.concat())
    };
    "burtchell.cuda.int_cas", "section V-B5, recommendation 3", "int is preferable to other data types for atomic CAS",
        needs "compare-and-swap of i32 and of u64 on one variable" =>
        |data| preferred("i32 is", &types(data, CAS_PASS, Dtype::I32, Dtype::U64));
    "burtchell.cuda.ull_before_float", "figure 9",
        "ull is faster than the floating-point types in atomic additions to one variable",
        needs "atomic additions of u64, f32 and f64 to one variable" => |data| {
        let found = [Dtype::F32, Dtype::F64].map(|float| types(data, GPU_ADD, Dtype::U64, float));
        generally(Test::Below, "u64 costs less than the floating-point type", &found.concat())
    };
    "burtchell.cuda.aggregation", "figure 9",
        "The throughput of int additions is constant up to the size of a warp, because the atomics of a warp are \
         aggregated",
        needs "atomic additions of i32 to one variable by one block of up to 32 threads" =>
        |data| flat(ALIKE, &up_to(data, GPU_ADD, 1, WARP));
    "burtchell.cuda.aggregation_two_blocks", "figure 9",
        "With two blocks, the throughput of int additions stays constant up to 64 threads (2 warps)",
        needs "atomic additions of i32 to one variable by two blocks of up to 64 threads" =>
        |data| flat(ALIKE, &up_to(data, GPU_ADD, 2, 2 * WARP));
    "burtchell.cuda.others_not_aggregated", "figure 9",
        "Additions of other types lose throughput within a warp, because only int additions are aggregated",
        needs "atomic additions of other types to one variable by one block of 1 and of 32 threads" => |data| {
        all([Dtype::U64, Dtype::F32, Dtype::F64].into_iter().filter_map(|dtype| {
            let rows = atomics(data, GPU_ADD, dtype, ONE);
            shapes(Test::AtLeast(MUCH), dtype.as_str(), &rows, (1, WARP), (1, 1))
        }))
    };
    "burtchell.cuda.overlap", "section V-B5, recommendation 4",
        "Multiple atomic adds or CASs on the same memory location reduce performance, so overlap should be avoided",
        needs "atomic operations on one variable and on elements at stride 32, by full blocks on all multiprocessors" => |data| {
        let count = multiprocessors(data)?;
        let of = |id, dtype, layout| of_blocks(&atomics(data, id, dtype, layout), count);
        let found = [GPU_ADD, CAS_PASS].map(|id| DTYPES.map(|dtype| pairs(&of(id, dtype, ONE), &of(id, dtype, FAR))));
        let words = "operations on one variable cost at least 1.25 times as much as on elements at stride 32";
        generally(Test::AtLeast(ALIKE), words, &found.concat().concat())
    };
    "burtchell.cuda.limit", "section V-B5, recommendation 5",
        "Atomic throughput is limited, so too many simultaneous atomics should be avoided",
        needs "atomic additions to private elements by blocks of 512 and 1,024 threads, one on each multiprocessor" =>
        |data| {
        let count = multiprocessors(data)?;
        let of = |(primitive, layout)| {
            let rows = atomics(data, primitive, Dtype::I32, layout);
            let name = format!("{} {}", short_name(primitive), naming::layout(layout));
            // At the limit twice the threads take twice as long.
            shapes(Test::AtLeast(2.0 / ALIKE), &name, &rows, (count, 1024), (count, 512))
        };
        all([(GPU_ADD, NEAR), (GPU_ADD, FAR), (CAS_PASS, NEAR), (CAS_PASS, FAR)].into_iter().filter_map(of))
    };
    "burtchell.cuda.stride_one_block", "figure 10",
        "With one block, additions to private elements follow the same trend at every stride",
        needs "atomic additions to private elements at the strides 1 and 32 by one block of 64 and of 1,024 threads" =>
        |data| {
        // Start at two warps: within one warp, the elements of stride 1 share cache lines and those of stride 32 do not.
        let [near, far] = [NEAR, FAR].map(|layout| atomics(data, GPU_ADD, Dtype::I32, layout));
        Some(grows_alike(
            ("the cost at stride 1", &at(&near, (1, 1024))?, &at(&near, (1, 2 * WARP))?),
            ("the cost at stride 32", &at(&far, (1, 1024))?, &at(&far, (1, 2 * WARP))?),
        ))
    };
    "burtchell.cuda.stride_many_blocks", "figure 10", "With many blocks, the stride fundamentally changes the \
     throughput",
        needs "atomic additions to private elements at the strides 1 and 32 by one block on each multiprocessor" => |data| {
        let count = multiprocessors(data)?;
        let of = |layout| of_blocks(&atomics(data, GPU_ADD, Dtype::I32, layout), count);
        let found = pairs(&of(FAR), &of(NEAR));
        let (far, near) = found.last()?;
        Some(two(Test::AtLeast(MUCH), ("stride 32", far), ("stride 1", near)))
    };
    "burtchell.cuda.more_blocks", "figure 10",
        "As the block count increases, the throughput per thread of additions to private elements decreases",
        needs "atomic additions to private elements by one block and by one on each multiprocessor" => |data| {
        let count = multiprocessors(data)?;
        let rows = atomics(data, GPU_ADD, Dtype::I32, NEAR);
        let found = by_threads(&of_blocks(&rows, count), &of_blocks(&rows, 1));
        generally(Test::AtLeast(1.0), "more blocks cost more", &found)
    };
    "burtchell.cuda.cas_pass_fail", "section V-B2",
        "There is no difference in performance between an atomicCAS() that always passes and one that always fails",
        needs "compare-and-swap that passes and that fails on one variable" =>
        |data| alike("both", &primitives(data, CAS_PASS, "gpu.atomic.cas_fail"));
    "burtchell.cuda.cas_constant", "figure 11", "With one block, atomicCAS() has a constant throughput up to 4 threads",
        needs "compare-and-swap on one variable by one block of 1, 2 and 4 threads" =>
        |data| flat(ALIKE, &up_to(data, CAS_PASS, 1, 4));
    "burtchell.cuda.cas_two_blocks", "section V-B2", "With two blocks, atomicCAS() has a constant throughput up to 2 \
     threads",
        needs "compare-and-swap on one variable by two blocks of 1 and 2 threads" =>
        |data| flat(ALIKE, &up_to(data, CAS_PASS, 2, 2));
    "burtchell.cuda.cas_array", "figure 12",
        "On private elements, atomicCAS() follows the trends of atomicAdd()",
        needs "additions and compare-and-swaps on private elements of full and of one-warp blocks" => |data| {
        let count = multiprocessors(data)?;
        let part = |layout| {
            let [swaps, adds] = [CAS_PASS, GPU_ADD].map(|id| atomics(data, id, Dtype::I32, layout));
            let (full, warp) = ((count, 1024), (count, WARP));
            Some(grows_alike(
                ("the cost of a compare-and-swap", &at(&swaps, full)?, &at(&swaps, warp)?),
                ("the cost of an addition", &at(&adds, full)?, &at(&adds, warp)?),
            ))
        };
        all([NEAR, FAR].into_iter().filter_map(part))
    };
    "burtchell.cuda.cas_not_aggregated", "figure 11",
        "atomicCAS() cannot benefit from warp aggregation: its throughput drops within a warp",
        needs "compare-and-swap on one variable by one block of 4 and of 32 threads" => |data| {
        shapes(Test::AtLeast(MUCH), "", &atomics(data, CAS_PASS, Dtype::I32, ONE), (1, WARP), (1, 4))
    };
    "burtchell.cuda.exchange", "figure 13", "The results of atomicExch() are similar to those of atomicCAS()",
        needs "exchanges and compare-and-swaps on one variable" => |data| {
        alike("exchange and compare-and-swap", &primitives(data, "gpu.atomic.exchange", CAS_PASS))
    };
    "burtchell.cuda.fence_constant", "section V-B5, recommendation 6; figure 14",
        "Thread fences incur largely constant overhead, regardless of thread count, block count or stride",
        needs "device-wide fences in three sizes" => |data| largely_flat(&fences(data, "gpu.fence.device"));
    "burtchell.cuda.fence_system", "section V-B3",
        "__threadfence_system() is close in behavior to its device-wide counterpart",
        needs "fences of the device and of the system in the same cases" => |data| {
        let found = pairs_by(&fences(data, "gpu.fence.system"), &fences(data, "gpu.fence.device"), place);
        generally(Test::Within(MUCH), "both fences cost the same to within a factor of 2", &found)
    };
    "burtchell.cuda.fence_system_varies", "section V-B3",
        "__threadfence_system() is more erratic than __threadfence(), since it involves the CPU",
        needs "fences of the device and of the system in four sizes" => system_varies;
    "burtchell.cuda.fence_block_warp", "section V-B3",
        "The cost of __threadfence_block() is constant for thread counts up to the warp size",
        needs "fences of a block by one block of at most 32 threads, in several sizes" => |data| {
        let of_all_types = rows(data, BLOCK_FENCE, |case| case.blocks.is_some() && case.form == block_fence_form(data));
        let mut rows = of_blocks(&of_all_types, 1);
        rows.retain(|row| row.row.case.layout == Some(NEAR) && row.row.case.threads <= Some(WARP));
        let (one, several): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.row.case.threads == Some(1));
        let pairs = pairs_by(&several, &one, |case| case.dtype);
        // A figure without an interval may be noise, so not every one of these counts.
        let is_known = |(a, b): &Pair<'_>| a.row.ns_within.is_some() && b.row.ns_within.is_some();
        let judge = if pairs.iter().all(is_known) { every } else { generally };
        judge(Test::Within(ALIKE), "the fence costs the same to within a factor of 1.25 for several threads of a warp and for one", &pairs)
    };
    "burtchell.cuda.fence_block_hidden", "section V-B3",
        "At thread counts above the warp size and strides above 2, many runtimes of __threadfence_block() are at or near zero",
        needs "fences of a block and of the device by more than 32 threads at strides above 2" => block_fence_hidden;
    "burtchell.cuda.full_warps", "section V-B5, recommendation 8",
        "Codes should always use full warps to maximize performance except for atomic operations, where partial warps can be faster",
        needs "block barriers of 1 and of 32 threads, and compare-and-swaps on one variable by 16 and by 32" => |data| {
        let barriers = blocks(data, SYNCTHREADS, |_| true);
        let swaps = atomics(data, CAS_PASS, Dtype::I32, ONE);
        all([
            shapes(Test::Within(ALIKE), "a barrier", &barriers, (1, WARP), (1, 1))?,
            shapes(Test::AtLeast(ALIKE), "a compare-and-swap", &swaps, (1, WARP), (1, WARP / 2))?,
        ])
    };
    "burtchell.cuda.partial_int_add", "section V-B5, recommendation 8",
        "\"Turning off\" threads that need no atomic may yield benefits, even for int additions, which are aggregated",
        needs "atomic additions of i32 to one variable by one block of 16 and of 32 threads" => |data| {
        let adds = atomics(data, GPU_ADD, Dtype::I32, ONE);
        shapes(Test::AtLeast(ALIKE), "", &adds, (1, WARP), (1, WARP / 2))
    };
};

/// `__syncwarp()` of warps whose threads are on one path.
pub(super) fn converged(data: &RunData) -> Vec<Known<'_>> {
    blocks(data, "gpu.warp.syncwarp", |case| case.in_group("converged"))
}

/// `__syncthreads()` of one block with this many threads.
pub(super) fn one_block(data: &RunData, threads: impl RangeBounds<u32>) -> Vec<Known<'_>> {
    let fits = |case: &Case| case.threads.is_some_and(|count| threads.contains(&count));
    of_blocks(&blocks(data, SYNCTHREADS, fits), 1)
}

/// Shuffles that depend on each other, with their distance in a register, as in the paper's programs. The default form of
/// most kinds has it there, too.
fn shuffles<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    let all = rows(data, primitive, |case| {
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

/// The size at which the cost of a block first exceeds the cost of one warp by [`DROP`].
fn first_drop<'a>(rows: &[Known<'a>]) -> Option<Result<Known<'a>, ()>> {
    let base = rows.iter().find(|row| row.row.case.threads == Some(WARP))?;
    let larger = rows.iter().filter(|row| row.row.case.threads > Some(WARP));
    larger.map(|row| (row, Test::AtMost(DROP).of(row, base))).find_map(|(row, is_as_cheap)| match is_as_cheap {
        Truth::Holds => None,
        Truth::Fails => Some(Ok(*row)),
        Truth::Open => Some(Err(())),
    })
}

fn shuffle_wide(data: &RunData) -> Option<Outcome> {
    let count = multiprocessors(data)?;
    let drop_of = |dtype: Dtype| {
        let fits = |case: &Case| case.dtype == Some(dtype) && case.threads.is_some_and(u32::is_power_of_two);
        first_drop(&of_blocks(&shuffles(data, "gpu.shuffle.idx", fits), count))
    };
    let part = |[narrow, wide]: [Dtype; 2]| {
        let (Ok(narrow), Ok(wide)) = (drop_of(narrow)?, drop_of(wide)?) else {
            let open = "the intervals are too wide to tell at which size a shuffle begins to cost more";
            return Some(Outcome::open(open.to_owned()));
        };
        let half = wide.row.case.threads.map(|threads| 2 * threads) == narrow.row.case.threads;
        let unit = Unit::of([&narrow, &wide]);
        let words = |row: &Known<'_>| {
            let dtype = row.row.case.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
            format!(
                "{dtype} shuffles begin to slow down at {} threads ({})",
                row.row.case.threads.unwrap_or_default(),
                unit.cost(row)
            )
        };
        let sentence = format!("{}, {}", words(&narrow), words(&wide));
        Some(Outcome::of(Some(half).into(), sentence).on(vec![narrow.index, wide.index]))
    };
    all([[Dtype::I32, Dtype::U64], [Dtype::F32, Dtype::F64]].into_iter().filter_map(part))
}

/// Operations on one variable by this many blocks of at most this many threads.
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

/// Whether a case is of type i32, among ordinary accesses.
fn is_usual(case: &Case) -> bool {
    case.dtype == Some(Dtype::I32) && case.form.is_none() && !matches!(case.mode, Some(Mode::Latency))
}

const BLOCK_FENCE: &str = "gpu.fence.block";

/// The paper's form, in which the block fence follows another fence; the default form if the run lacks it.
fn block_fence_form(data: &RunData) -> Option<Form> {
    let fenced = Some(Form::Fenced);
    fenced.filter(|_| data.rows.iter().any(|row| row.case.form == fenced))
}

fn fences<'a>(data: &'a RunData, primitive: &str) -> Vec<Known<'a>> {
    blocks(data, primitive, is_usual)
}

fn place(case: &Case) -> (Option<Layout>, Option<u32>, Option<u32>) {
    (case.layout, case.blocks, case.threads)
}

/// The share of cases certainly beyond [`ALIKE`] of their median, for both fences.
fn system_varies(data: &RunData) -> Option<Outcome> {
    let erratic = |primitive| {
        let rows = fences(data, primitive);
        let mut sorted = rows.clone();
        sorted.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        let median = sorted.get(sorted.len() / 2).filter(|_| sorted.len() >= 4).copied()?;
        let Tally { yes, no, all } = Tally::of(rows.iter().map(|row| Test::Within(ALIKE).of(row, &median)));
        Some((no as f64 / all as f64, 1.0 - yes as f64 / all as f64, median, all))
    };
    let (device, system) = (erratic("gpu.fence.device")?, erratic("gpu.fence.system")?);
    let verdict = Truth::of(system.0 > device.1, system.1 < device.0);
    let unit = Unit::of([&device.2, &system.2]);
    let said = |name: &str, (no, unsure, median, all): (f64, f64, Known<'_>, usize)| {
        let (median, [low, high]) = (unit.cost(&median), [no, unsure].map(|share| format!("{:.0}", 100.0 * share)));
        let share = figure::range(&low, &high);
        format!(
            "the median of {name} is {median}; {share} % of the {all} cases differ from this median by more than a \
             factor of {ALIKE}"
        )
    };
    let sentence = format!("{}; {}", said("__threadfence_system()", system), said("__threadfence()", device));
    Some(Outcome::of(verdict, sentence).on(vec![system.2.index, device.2.index]))
}

fn block_fence_hidden(data: &RunData) -> Option<Outcome> {
    let wide = |case: &Case| {
        let stride = case.layout.and_then(Layout::stride).unwrap_or(0);
        let is_usual = is_usual(&Case { form: None, ..case.clone() });
        is_usual && case.blocks.is_some() && case.threads > Some(WARP) && stride > 2
    };
    let device = fences(data, "gpu.fence.device");
    let tested = |index: usize| {
        let row = &data.rows[index];
        let is_below_zero = || interval_within_run(row).is_some_and(|interval| interval.high <= 0.0);
        if matches!(row.verdict, Verdict::BelowResolution(_) | Verdict::Overlapped(_)) || is_below_zero() {
            return (Truth::Holds, index);
        }
        let like = device.iter().find(|row| place(&row.row.case) == place(data.case(index)));
        let compared = Known::of(data, index, Basis::Run).zip(like);
        // A figure of zero or less, which no interval makes certain, is not a visible cost.
        (compared.map_or(Truth::Open, |(fence, device)| Test::AtMost(NEAR_ZERO).of(&fence, device)), index)
    };
    let form = block_fence_form(data);
    let own = data.rows_where(|row| row.case.primitive == BLOCK_FENCE && row.case.form == form && wide(&row.case));
    // Hidden fences first.
    let mut found: Vec<(Truth, usize)> = own.map(tested).collect();
    found.sort_unstable();
    found.first()?;
    let Tally { yes, no, all } = Tally::of(found.iter().map(|(hidden, _)| *hidden));
    let (percent, open) = (100.0 * NEAR_ZERO, all - yes - no);
    let open = if open > 0 { format!(", with {open} undecided") } else { String::new() };
    let sentence = format!(
        "in {yes} of {all} cases, the fence is hidden by surrounding code or costs at most {percent:.0} % as much as \
         the device-wide fence; it costs more in {no}{open}"
    );
    let verdict = Tally { yes, no, all }.reaches(MANY);
    Some(Outcome::of(verdict, sentence).on(found.into_iter().map(|(_, index)| index).collect()))
}
