//! Burtchell and Burtscher, sections V-B3 and V-B5: fences in CUDA, and full or partial warps.

use syncscope_core::{Case, Dtype, Layout, Mode, Verdict};

use super::super::contest::{Basis, Known};
use super::judge::{ALIKE, MUCH, Tally, Test, Unit, all, flat, generally, largely_flat, two};
use super::pick::{
    CAS_PASS, FENCE_BLOCK, FENCE_DEVICE, FENCE_SYSTEM, GPU_ADD, ONE, SYNCTHREADS, at, atomics, blocks, of_blocks,
    pairs_by,
};
use super::{ClaimVerdict, Outcome, Predicate};
use crate::RunData;
use crate::figure::interval_within_run;

const WARP: u32 = 32;
/// "At or near zero": at most this share of the device-wide fence in the same case.
const NEAR_ZERO: f64 = 0.05;
/// "Many": at least this share of the cases.
const MANY: f64 = 0.25;

pub(super) const CLAIMS: &[(&str, Predicate)] = &[
    ("burtchell.cuda.fence_constant", |data| largely_flat(&fences(data, FENCE_DEVICE, |_| true))),
    ("burtchell.cuda.fence_system", |data| {
        let of = |id| fences(data, id, |_| true);
        let found = pairs_by(&of(FENCE_SYSTEM), &of(FENCE_DEVICE), place);
        generally(Test::Within(MUCH), "both fences cost alike, within a factor of two,", &found)
    }),
    ("burtchell.cuda.fence_system_varies", system_varies),
    ("burtchell.cuda.fence_block_warp", |data| {
        let near = |case: &Case| case.layout == Some(Layout::Private { stride: 1 }) && case.threads <= Some(WARP);
        flat(ALIKE, &of_blocks(&fences(data, FENCE_BLOCK, near), 1))
    }),
    ("burtchell.cuda.fence_block_hidden", block_fence_hidden),
    ("burtchell.cuda.full_warps", |data| {
        let barriers = blocks(data, SYNCTHREADS, |_| true);
        let swaps = atomics(data, CAS_PASS, Dtype::I32, ONE);
        all([
            two(Test::Within(ALIKE), ("a barrier", &at(&barriers, 1, WARP)?), ("", &at(&barriers, 1, 1)?)),
            two(Test::AtLeast(ALIKE), ("compare-and-swap", &at(&swaps, 1, WARP)?), ("", &at(&swaps, 1, WARP / 2)?)),
        ])
    }),
    ("burtchell.cuda.partial_int_add", |data| {
        let adds = atomics(data, GPU_ADD, Dtype::I32, ONE);
        Some(two(Test::AtLeast(ALIKE), ("", &at(&adds, 1, WARP)?), ("", &at(&adds, 1, WARP / 2)?)))
    }),
];

/// Whether a case is an i32 one among ordinary accesses.
fn is_usual(case: &Case) -> bool {
    case.dtype == Some(Dtype::I32) && case.form.is_none() && !matches!(case.mode, Some(Mode::Latency))
}

fn fences<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    blocks(data, primitive, |case| is_usual(case) && fits(case))
}

fn place(case: &Case) -> (Option<Layout>, Option<u32>, Option<u32>) {
    (case.layout, case.blocks, case.threads)
}

/// The share of cases that lie certainly beyond [`ALIKE`] of their median, for both fences.
fn system_varies(data: &RunData) -> Option<Outcome> {
    let erratic = |primitive| {
        let rows = fences(data, primitive, |_| true);
        let mut sorted = rows.clone();
        sorted.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        let median = sorted.get(sorted.len() / 2).filter(|_| sorted.len() >= 4).copied()?;
        let Tally { yes, no, all } = Tally::of(rows.iter().map(|row| Test::Within(ALIKE).of(row, &median)));
        Some((no as f64 / all as f64, 1.0 - yes as f64 / all as f64, median, all))
    };
    let (device, system) = (erratic(FENCE_DEVICE)?, erratic(FENCE_SYSTEM)?);
    let verdict = ClaimVerdict::of(system.0 > device.1, system.1 < device.0);
    let unit = Unit::of([&device.2, &system.2]);
    let said = |name: &str, (no, unsure, median, all): (f64, f64, Known<'_>, usize)| {
        format!(
            "{name}: median {}, {:.0} to {:.0} % of {all} cases farther from it than a factor of {ALIKE}",
            unit.cost(&median),
            100.0 * no,
            100.0 * unsure
        )
    };
    let sentence = format!("{}; {}", said("system", system), said("device", device));
    Some(Outcome { verdict, sentence, rows: vec![system.2.index, device.2.index] })
}

fn block_fence_hidden(data: &RunData) -> Option<Outcome> {
    let wide = |case: &Case| {
        let stride = case.layout.and_then(Layout::stride).unwrap_or(0);
        is_usual(case) && case.blocks.is_some() && case.threads > Some(WARP) && stride > 2
    };
    let device = fences(data, FENCE_DEVICE, wide);
    let tested = |index: usize| {
        let row = &data.rows[index];
        let is_below_zero = || interval_within_run(row).is_some_and(|interval| interval.high <= 0.0);
        if matches!(row.verdict, Verdict::BelowResolution(_) | Verdict::Overlapped(_)) || is_below_zero() {
            return (ClaimVerdict::Holds, index);
        }
        let like = device.iter().find(|row| place(&row.row.case) == place(data.case(index)));
        let compared = Known::of(data, index, Basis::Run).zip(like);
        // A figure at zero or below it, which no interval makes certain, is no visible cost.
        (compared.map_or(ClaimVerdict::Open, |(fence, device)| Test::AtMost(NEAR_ZERO).of(&fence, device)), index)
    };
    let own = data.rows_where(|row| row.case.primitive == FENCE_BLOCK && wide(&row.case));
    // The hidden ones first.
    let mut found: Vec<(ClaimVerdict, usize)> = own.map(tested).collect();
    found.sort_unstable();
    found.first()?;
    let Tally { yes, no, all } = Tally::of(found.iter().map(|(hidden, _)| *hidden));
    let sentence = format!(
        "{yes} of {all} cases are hidden by what surrounds them or cost at most {:.0} % of the device-wide fence, {no} cost more, {} \
         are not certain",
        100.0 * NEAR_ZERO,
        all - yes - no
    );
    let verdict = Tally { yes, no, all }.reaches(MANY);
    Some(Outcome { verdict, sentence, rows: found.into_iter().map(|(_, index)| index).collect() })
}
