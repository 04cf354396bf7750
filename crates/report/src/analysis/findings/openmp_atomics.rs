//! Burtchell and Burtscher, section V-A2: atomic operations in OpenMP, and false sharing.

use syncscope_core::{Dtype, Mode};

use super::judge::{ALIKE, MUCH, Pair, Test, all, flat, generally, two, unique};
use super::openmp_teams::{APART, ends, last_pair};
use super::pick::{CPU_ADD, CPU_CAPTURE, CPU_READ, CPU_WRITE, DTYPES, by_threads, private, shared, teams};
use super::{ClaimVerdict, Outcome, Predicate};
use crate::{RunData, figure};

/// A core begins at least one load in each cycle: an operation of at most one cycle costs what a plain load does.
const LOAD_CYCLES: f64 = 1.0;

pub(super) const CLAIMS: &[(&str, Predicate)] = &[
    ("burtchell.openmp.same_location", |data| {
        let own = teams(data, CPU_ADD, private(Dtype::I32, APART));
        let (one, own) = last_pair(&teams(data, CPU_ADD, shared(Dtype::I32)), &own)?;
        Some(two(Test::AtLeast(MUCH), ("one variable", &one), ("padded elements", &own)))
    }),
    ("burtchell.openmp.false_sharing", |data| {
        let parts = DTYPES.into_iter().filter_map(|dtype| {
            let (near, far) = at_strides(data, dtype, 1, APART)?;
            Some(two(Test::AtLeast(MUCH), (&format!("{dtype} in one line"), &near), ("padded", &far)))
        });
        all(parts)
    }),
    ("burtchell.openmp.line_end", |data| {
        let step = |dtype, before, after| {
            let (before, after) = at_strides(data, dtype, before, after)?;
            Some(two(Test::AtLeast(MUCH), (&format!("{dtype} before the line's end"), &before), ("at it", &after)))
        };
        let [of_u64, of_f64] = [Dtype::U64, Dtype::F64].map(|dtype| step(dtype, 4, 8));
        let [of_i32, of_f32] = [Dtype::I32, Dtype::F32].map(|dtype| step(dtype, 8, 16));
        all([of_u64?, of_f64?, of_i32?, of_f32?])
    }),
    ("burtchell.openmp.own_lines", |data| {
        let parts = DTYPES.into_iter().filter_map(|dtype| {
            let padded = teams(data, CPU_ADD, private(dtype, APART));
            ends(dtype.as_str(), &padded, 2, Test::AtMost(MUCH))
        });
        all(parts)
    }),
    ("burtchell.openmp.integer_faster", |data| {
        let mut pairs = between(data, CPU_ADD, Dtype::I32, Dtype::F32);
        pairs.extend(between(data, CPU_ADD, Dtype::U64, Dtype::F64));
        generally(Test::Below, "the integer costs less", &pairs)
    }),
    ("burtchell.openmp.word_size", |data| {
        let mut pairs = between(data, CPU_ADD, Dtype::I32, Dtype::U64);
        pairs.extend(between(data, CPU_ADD, Dtype::F32, Dtype::F64));
        generally(Test::Within(ALIKE), "both sizes cost alike", &pairs)
    }),
    ("burtchell.openmp.capture", |data| {
        let of = |dtype| by_threads(&teams(data, CPU_CAPTURE, shared(dtype)), &teams(data, CPU_ADD, shared(dtype)));
        let pairs: Vec<_> = DTYPES.into_iter().flat_map(of).collect();
        generally(Test::Within(ALIKE), "capture and update cost alike", &pairs)
    }),
    ("burtchell.openmp.write_type", |data| {
        let others = [Dtype::U64, Dtype::F32, Dtype::F64];
        let pairs: Vec<_> = others.into_iter().flat_map(|other| between(data, CPU_WRITE, Dtype::I32, other)).collect();
        generally(Test::Within(ALIKE), "i32 and the other type cost alike", &pairs)
    }),
    ("burtchell.openmp.write_like_update", |data| {
        ends("", &teams(data, CPU_WRITE, shared(Dtype::I32)), 2, Test::AtLeast(MUCH))
    }),
    ("burtchell.openmp.read_free", read_free),
    ("burtchell.openmp.read_threads", |data| flat(MUCH, &teams(data, CPU_READ, shared(Dtype::I32)))),
];

/// Pairs of two types at each number of threads, one variable for all.
fn between<'a>(data: &'a RunData, primitive: &str, one: Dtype, other: Dtype) -> Vec<Pair<'a>> {
    by_threads(&teams(data, primitive, shared(one)), &teams(data, primitive, shared(other)))
}

/// Updates of elements so far apart, by the largest team that has both.
fn at_strides(data: &RunData, dtype: Dtype, one: u32, other: u32) -> Option<Pair<'_>> {
    let of = |stride| teams(data, CPU_ADD, private(dtype, stride));
    last_pair(&of(one), &of(other))
}

/// Atomic reads cost what a load does, within [`ALIKE`] of [`LOAD_CYCLES`], by their interval in cycles. Noisy rows decide with
/// their intervals, and have no figure.
fn read_free(data: &RunData) -> Option<Outcome> {
    let reads = teams(data, CPU_READ, |case| !matches!(case.mode, Some(Mode::Latency)));
    let known: Vec<_> = reads.iter().filter_map(|row| Some((row, row.row.cycles_interval?))).collect();
    let (highest, highest_bounds) = known.iter().max_by(|a, b| a.1.high.total_cmp(&b.1.high))?;
    let verdict = ClaimVerdict::of(
        highest_bounds.high <= ALIKE * LOAD_CYCLES,
        known.iter().any(|(_, bounds)| bounds.low > ALIKE * LOAD_CYCLES),
    );
    let mut figures: Vec<(f64, usize)> =
        known.iter().filter_map(|(row, _)| Some((row.cycles_figure()?.value(), row.index))).collect();
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_all = if figures.len() < known.len() { format!(" of {}", known.len()) } else { String::new() };
    let measured = match (figures.first(), figures.last()) {
        (Some((least, _)), Some((most, _))) => {
            let range = figure::range(&figure::ratio(*least), &figure::ratio(*most));
            format!("{range} cycles in {}{of_all} cases", figures.len())
        }
        _ => "no figure in cycles".to_owned(),
    };
    let sentence = format!(
        "{measured}, at most {} by the highest interval; a plain load takes up to {LOAD_CYCLES}",
        figure::ratio(highest_bounds.high)
    );
    let ends = figures.first().into_iter().chain(figures.last()).map(|(_, index)| *index);
    let rows = ends.chain([highest.index]).chain(known.iter().map(|(row, _)| row.index));
    Some(Outcome { verdict, sentence, rows: unique(rows) })
}
