//! Picks the rows that a claim is about.

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Mode, Placement, Scope, Space};

use super::super::contest::alike::{of_one_actor, stands_out};
use super::super::contest::{Basis, Known};
use super::super::placements;
use super::super::usual::MachineSize;
use super::Outcome;
use super::judge::{Pair, Test, two};
use crate::RunData;

pub(super) use super::super::usual::WARP;
pub(super) const FLUSH: &str = "cpu.fence.flush";
pub(super) const SYNCTHREADS: &str = "gpu.block.syncthreads";

/// The types of the papers.
pub(super) const DTYPES: [Dtype; 4] = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

/// Rows of known cost, by devices, blocks, threads and stride.
pub(super) fn rows<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    let found = data.rows_where(|row| row.case.primitive == primitive && fits(&row.case));
    let mut rows: Vec<Known<'a>> = found.filter_map(|index| Known::of(data, index, Basis::Run)).collect();
    drop_lone_points(&mut rows);
    rows.sort_by_key(|row| {
        let case = &row.row.case;
        (case.devices, case.blocks, case.threads, case.layout.and_then(Layout::stride))
    });
    rows
}

/// Leaves out figures without intervals that are a dip or a peak between the next smaller and the next larger team, because
/// a ratio would rest on noise.
fn drop_lone_points(rows: &mut Vec<Known<'_>>) {
    let without = |row: &&Known<'_>| row.row.ns_within.is_none() && row.row.case.is_on_cpus();
    let mut lines: BTreeMap<Case, Vec<(Option<u32>, f64, usize)>> = BTreeMap::new();
    for row in rows.iter().filter(without) {
        let line = Case { threads: None, ..row.row.case.clone() };
        lines.entry(line).or_default().push((row.row.case.threads, row.ns, row.index));
    }
    let mut lone = BTreeSet::new();
    for line in lines.values_mut() {
        line.sort_by_key(|(threads, ..)| *threads);
        let of =
            |next: &[(Option<u32>, f64, usize)]| stands_out([next[0].1, next[1].1, next[2].1]).then_some(next[1].2);
        lone.extend(line.windows(3).filter_map(of));
    }
    rows.retain(|row| !lone.contains(&row.index));
}

/// Teams of two or more threads that fit the CPUs, in one placement: the one with the most sizes or, among equals, the one
/// left to the system as in the paper, then the usual one.
pub(super) fn teams<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    let placements = [&[Placement::None][..], &placements::BY_RANK].concat();
    let placed = placements.iter().map(|placement| teams_in(data, primitive, placement, &fits));
    placed.reduce(|best, other| if other.len() > best.len() { other } else { best }).unwrap_or_default()
}

pub(super) fn teams_in<'a>(
    data: &'a RunData,
    primitive: &str,
    placement: &Placement,
    fits: &dyn Fn(&Case) -> bool,
) -> Vec<Known<'a>> {
    let machine = MachineSize::of(&data.run.machine);
    rows(data, primitive, |case| {
        let default = case.form.is_none()
            && !case.has_work()
            && (case.group.is_none() || case.in_group("libgomp"))
            && matches!(case.mode, None | Some(Mode::Throughput | Mode::Latency))
            && matches!(case.order, None | Some(MemoryOrder::Relaxed | MemoryOrder::SeqCst));
        default
            && case.placement.as_ref() == Some(placement)
            && case.threads > Some(1)
            && !machine.is_oversubscribed_by(case)
            && fits(case)
    })
}

/// Fits relaxed operations that do not depend on each other, on one variable of this type.
pub(super) fn shared(dtype: Dtype) -> impl Fn(&Case) -> bool {
    move |case| on_cpu(case, dtype, Layout::Shared)
}

/// Like [`shared`], on elements at this stride.
pub(super) fn private(dtype: Dtype, stride: u32) -> impl Fn(&Case) -> bool {
    move |case| on_cpu(case, dtype, Layout::Private { stride })
}

fn on_cpu(case: &Case, dtype: Dtype, layout: Layout) -> bool {
    case.dtype == Some(dtype)
        && case.layout == Some(layout)
        && !matches!(case.mode, Some(Mode::Latency))
        && (case.primitive == FLUSH || !matches!(case.order, Some(MemoryOrder::SeqCst)))
}

/// Blocks on one device, with the primitive in its default form.
pub(super) fn blocks<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    rows(data, primitive, |case| {
        case.form.is_none() && case.devices.unwrap_or(1) == 1 && case.blocks.is_some() && fits(case)
    })
}

/// Relaxed atomic operations of a device on its memory, whose results are not used.
pub(super) fn atomics<'a>(data: &'a RunData, primitive: &str, dtype: Dtype, layout: Layout) -> Vec<Known<'a>> {
    blocks(data, primitive, |case| {
        case.dtype == Some(dtype)
            && case.layout == Some(layout)
            && matches!(case.scope, None | Some(Scope::Device))
            && matches!(case.space, None | Some(Space::Global))
            && matches!(case.mode, None | Some(Mode::Throughput))
    })
}

/// One variable for all threads.
pub(super) const ONE: Layout = Layout::Shared;

/// The row with this many blocks and threads.
pub(super) fn at<'a>(rows: &[Known<'a>], (blocks, threads): (u32, u32)) -> Option<Known<'a>> {
    rows.iter().find(|row| row.row.case.blocks == Some(blocks) && row.row.case.threads == Some(threads)).copied()
}

/// Compares one operation in two shapes, each given as blocks and threads.
pub(super) fn shapes(
    test: Test,
    name: &str,
    rows: &[Known<'_>],
    one: (u32, u32),
    other: (u32, u32),
) -> Option<Outcome> {
    Some(two(test, (name, &at(rows, one)?), ("", &at(rows, other)?)))
}

/// The rows with this many blocks.
pub(super) fn of_blocks<'a>(rows: &[Known<'a>], blocks: u32) -> Vec<Known<'a>> {
    rows.iter().filter(|row| row.row.case.blocks == Some(blocks)).copied().collect()
}

/// The multiprocessors of the first device.
pub(super) fn multiprocessors(data: &RunData) -> Option<u32> {
    data.run.machine.gpus.first().map(|gpu| gpu.multiprocessors).filter(|count| *count > 0)
}

/// Pairs of rows at the same size.
pub(super) fn pairs<'a>(a: &[Known<'a>], b: &[Known<'a>]) -> Vec<Pair<'a>> {
    pairs_by(a, b, |case| (case.devices, case.blocks, case.threads))
}

/// Pairs of rows by the same number of threads, whatever else differs.
pub(super) fn by_threads<'a>(a: &[Known<'a>], b: &[Known<'a>]) -> Vec<Pair<'a>> {
    pairs_by(a, b, |case| case.threads)
}

/// Pairs of rows with the same key, by the costs of the same actor.
pub(super) fn pairs_by<'a, K: PartialEq>(a: &[Known<'a>], b: &[Known<'a>], key: fn(&Case) -> K) -> Vec<Pair<'a>> {
    let pair = |one: &Known<'a>| {
        let other = b.iter().find(|other| key(&other.row.case) == key(&one.row.case))?;
        of_one_actor(vec![*one, *other])?.try_into().ok().map(|[one, other]: [Known<'a>; 2]| (one, other))
    };
    a.iter().filter_map(pair).collect()
}
