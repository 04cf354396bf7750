//! Zhang, Wahib, Zhang and Matsuoka: barriers within a warp and a block, of a grid and of several devices.

use syncscope_core::stats::Interval;
use syncscope_core::{Evidence, MemoryOrder, Role};

use super::super::paper_tables::{FEW, LoadFits, MANY};
use super::super::usual::MachineSize;
use super::cuda::{converged, one_block};
use super::judge::GENERALLY;
use super::prelude::*;

/// "Not so different", "gap": an order of magnitude. The paper calls costs similar in kind that differ by up to 5 times
/// (table 6: 108 cycles for a coalesced group, 22 for a block).
const GAP: f64 = 10.0;
/// A barrier that has an effect cannot take fewer cycles than two dependent instructions.
const SUSPICIOUS_CYCLES: f64 = 2.0;
/// Barriers of a part of a warp, and their groups.
const TILES: [&str; 2] = ["gpu.warp.tile", "tile #"];
/// Groups of threads that are neighbours.
const NEIGHBOURS: [&str; 2] = ["gpu.warp.coalesced", "coalesced #"];
/// The warps and blocks that a multiprocessor holds at once, as the paper gives them for both of its devices.
const RESIDENT_WARPS: u32 = 64;
const RESIDENT_BLOCKS: u32 = 32;
/// The barriers across devices that kernels can call. The vendor's own, which the paper measured, has been removed from
/// CUDA.
const DEVICE_BARRIERS: [&str; 2] = ["gpu.multi.flags", "gpu.multi.counter"];

pub(super) const CLAIMS: &[Claim] = claims! {
    "zhang.tile_size", "table 4, section 4.1",
        "The size of a tile group does not influence the performance of its synchronization",
        needs "barriers of tiles of several sizes, by one block of one warp" => |data| flat(ALIKE, &in_groups(data, TILES));
    "zhang.coalesced_size", "table 4, section 4.1 (V100)",
        "A coalesced group performs best when it contains all threads of a warp (14 against 108 cycles)",
        needs "barriers of coalesced groups of 16 and of 32 threads, by one block of one warp" => |data| {
        let rows = in_groups(data, NEIGHBOURS);
        let of = |size| rows.iter().find(|row| row.row.case.group_number(NEIGHBOURS[1]) == Some(size));
        Some(two(Test::AtLeast(MUCH), ("a group of 16", of(16)?), ("a group of 32", of(32)?)))
    };
    "zhang.coalesced_constant", "table 4, section 4.1 (P100)",
        "The size of a coalesced group does not influence the performance of its synchronization",
        needs "barriers of coalesced groups of several sizes, by one block of one warp" =>
        |data| flat(ALIKE, &in_groups(data, NEIGHBOURS));
    "zhang.one_cycle", "section 4.4, table 6 (P100)",
        "A synchronization instruction is unlikely to take only 1 cycle",
        needs "barriers of coalesced groups, by one block of one warp" => one_cycle;
    "zhang.block_size", "table 5", "The performance of block synchronization decreases as the block size increases",
        needs "block barriers of one block in three sizes of 32 threads or more" => |data| rising(&one_block(data, WARP..));
    "zhang.block_warps", "figure 6, section 4.2",
        "The performance of block synchronization is related to the warp count per multiprocessor: most of the points are close to a line",
        needs "block barriers of equal warps on each multiprocessor in blocks of several sizes" => block_warps;
    "zhang.block_lesson", "table 10",
        "The number of warps per multiprocessor controls the performance of block synchronization",
        needs "block barriers of one warp and of many warps on a multiprocessor" => |data| {
        let rows = one_block(data, WARP..);
        Some(two(Test::AtLeast(MUCH), ("", rows.last().filter(|_| rows.len() > 1)?), ("", rows.first()?)))
    };
    "zhang.block_saturation", "figure 7, table 7",
        "Once a multiprocessor has its maximum number of active warps, warps in all blocks of more than 64 threads \
         synchronize at the same rate (0.626 to 0.658 warp-sync/ns)",
        needs "block barriers that fill a multiprocessor with blocks of several sizes" => saturation;
    "zhang.levels", "section 4.4",
        "Levels do not always differ in performance: the warp level is not so different from the block level",
        needs "barriers of a converged warp or of a divergent one, and of a block of one warp" => |data| {
        let block = at(&blocks(data, SYNCTHREADS, |_| true), (1, WARP))?;
        let warp = |group: &str| {
            let rows = blocks(data, "gpu.warp.syncwarp", |case| case.in_group(group));
            let one_warp = at(&rows, (1, WARP))?;
            (!is_nop(&one_warp)).then_some(one_warp)
        };
        let part = |name, group| Some(two(Test::Within(GAP), (name, &warp(group)?), ("a block", &block)));
        let divergent = || part("a divergent warp", "divergent");
        // The paper's warps were converged; a divergent one is another operation.
        part("a converged warp", "converged").or_else(|| {
            let other = divergent()?;
            let sentence =
                format!("the barrier of a converged warp compiled to nothing or was not measured; a divergent warp was compared instead: {}", other.sentence);
            Some(Outcome { verdict: Truth::Open, sentence, ..other })
        })
    };
    "zhang.block_before_warp", "section 4.4 (V100)", "Block synchronization seems faster than warp synchronization",
        needs "barriers of a block of one warp, and of a tile or a converged warp" => |data| {
        let block = at(&blocks(data, SYNCTHREADS, |_| true), (1, WARP))?;
        let warp = in_groups(data, TILES).first().copied().or_else(|| at(&converged(data), (1, WARP)))?;
        Some(two(Test::Below, ("a block", &block), (&warp.name(), &warp)))
    };
    "zhang.full_block", "section 4.4 (block)", "A block barrier is always much slower with 1024 threads",
        needs "block barriers of blocks of 32 and of 1,024 threads" =>
        |data| full_block(&blocks(data, SYNCTHREADS, |_| true), 1);
    "zhang.full_block_grid", "section 4.4 (grid)",
        "A grid barrier is always much slower with 1024 threads per block",
        needs "grid barriers of blocks of 32 and of 1,024 threads, one on each multiprocessor" => |data| {
        full_block(&blocks(data, "gpu.grid.cooperative", |_| true), multiprocessors(data)?)
    };
    "zhang.grid_dimensions", "figure 8, table 8",
        "The latency of grid synchronization depends more on the grid dimension than on the block dimension",
        needs "grid barriers of one and of more blocks on each multiprocessor, and of blocks of several sizes" => |data| {
        let count = multiprocessors(data)?;
        let rows = blocks(data, "gpu.grid.cooperative", |_| true);
        let least = at(&rows, (count, WARP))?;
        let most_blocks = rows.iter().rfind(|row| row.row.case.threads == Some(WARP))?;
        let most_threads = rows.iter().rfind(|row| row.row.case.blocks == Some(count))?;
        let others = [most_blocks.index, most_threads.index];
        (!others.contains(&least.index))
            .then(|| grows_more(("the cost with more blocks", most_blocks, &least), ("with more threads, it", most_threads, &least)))
    };
    "zhang.grid_lesson", "table 10",
        "The number of blocks per multiprocessor controls the performance of grid synchronization",
        needs "grid barriers of one and of more blocks on each multiprocessor" => |data| {
        let count = multiprocessors(data)?;
        let rows = blocks(data, "gpu.grid.cooperative", |case| case.threads == Some(WARP));
        let most = rows.last().filter(|row| row.row.case.blocks > Some(count))?;
        Some(two(Test::AtLeast(MUCH), ("", most), ("", &at(&rows, (count, WARP))?)))
    };
    "zhang.multi_lesson_blocks", "table 10; figures 9 and 10",
        "Blocks per multiprocessor influence the performance of multi-grid synchronization",
        needs "barriers of several devices with one and with more blocks on each multiprocessor" => |data| {
        of_each(data, |rows, count| {
            let of_warps: Vec<_> = rows.into_iter().filter(|row| row.row.case.threads == Some(WARP)).collect();
            let least = at(&of_warps, (count, WARP))?;
            let most = of_warps.last().filter(|most| most.row.case.blocks > Some(count))?;
            Some(two(Test::AtLeast(ALIKE), (&most.name(), most), ("", &least)))
        })
    };
    "zhang.multi_lesson_warps", "table 10; figures 9 and 10",
        "Active warps per multiprocessor also influence the performance of multi-grid synchronization",
        needs "barriers of several devices with blocks of several sizes" => |data| {
        of_each(data, |rows, count| {
            let most = rows.iter().rfind(|row| row.row.case.blocks == Some(count))?;
            let least = at(&rows, (count, WARP)).filter(|least| least.index != most.index)?;
            Some(two(Test::AtLeast(ALIKE), (&most.name(), most), ("", &least)))
        })
    };
    "zhang.multi_first_gap", "figure 11", "There is a performance gap between 1 GPU and 2 GPUs",
        needs "barriers of one and of two devices" => first_gap;
    "zhang.multi_like_grid", "section 4.4",
        "On a single GPU, a grid barrier and a multi-device barrier perform similarly",
        needs "barriers of several devices on one device and barriers of a grid at the same sizes" => |data| {
        let one: Vec<_> = DEVICE_BARRIERS.into_iter().flat_map(|id| of_devices(data, id, 1)).collect();
        let grid = blocks(data, "gpu.grid.cooperative", |case| case.group.is_none() && case.order.is_none());
        alike(
            "a multi-device barrier on one device and a grid barrier",
            &pairs_by(&one, &grid, |case| (case.blocks, case.threads)),
        )
    };
    "zhang.multi_alike", "section 4.3.2, figure 11",
        "Multi-grid synchronization performs similarly on 2 to 5 GPUs",
        needs "barriers of two and of three to five devices" => |data| {
        alike("a barrier across more than two devices and one across two", &devices(data, &[3, 4, 5], 2))
    };
    "zhang.multi_second_gap", "figure 11", "There is a performance gap between 5 GPUs and 6 GPUs",
        needs "barriers of five and of six devices" => |data| {
        let words = "six devices cost at least 1.25 times as much as five";
        generally(Test::AtLeast(ALIKE), words, &devices(data, &[6], 5))
    };
    "zhang.multi_acceptable", "section 4.3.2",
        "With 4 blocks of 256 threads on each multiprocessor, the latency is at most twice that of the fastest case",
        needs "barriers of several devices with 1 block of 32 and 4 blocks of 256 threads on each multiprocessor" => |data| {
        of_each(data, |rows, count| {
            shapes(Test::AtMost(2.0), &rows.first()?.name(), &rows, (4 * count, 256), (count, WARP))
        })
    };
    "zhang.multi_ranges", "table 9",
        "A barrier with at most 4 blocks and 16 warps on each multiprocessor costs less than half as much as one \
         with at least 16 blocks or 64 warps",
        needs "barriers of two devices in both ranges" => |data| {
        let machine = MachineSize::of(&data.run.machine);
        all(DEVICE_BARRIERS.into_iter().filter_map(|primitive| {
            let found = of_devices(data, primitive, 2);
            let of = |fits: LoadFits| found.iter().filter(move |row| machine.load_of(&row.row.case).is_some_and(fits));
            let most = of(FEW).max_by(|a, b| a.ns.total_cmp(&b.ns))?;
            let least = of(MANY).min_by(|a, b| a.ns.total_cmp(&b.ns))?;
            Some(two(Test::AtLeast(MUCH), (&format!("{} with many", least.name()), least), ("few", most)))
        }))
    };
};

/// The number of sizes close to the least-squares line through all of them.
fn block_warps(data: &RunData) -> Option<Outcome> {
    let all = resident(data);
    let points: Vec<(f64, f64)> = all.iter().map(|one| (f64::from(one.warps), one.row.ns)).collect();
    let (base, slope) = line(&points)?;
    let at = |one: &Resident<'_>| base + slope * f64::from(one.warps);
    let tested = |one: &Resident<'_>| {
        let bounds = one.row.bounds;
        Test::Within(ALIKE).between([bounds.low, bounds.high], [at(one); 2])
    };
    let tally = Tally::of(all.iter().map(tested));
    let apart = |one: &&Resident<'_>| (one.row.ns / at(one)).ln().abs();
    let farthest = all.iter().max_by(|one, other| apart(one).total_cmp(&apart(other)))?;
    // The line fits times, not cycles.
    let (cost, of_line) = (Unit::Time.cost(&farthest.row), figure::time(at(farthest)));
    let worst = format!("; the worst fit is {}, where the line gives {of_line}", Unit::Time.sized(&farthest.row));
    let worst = if cost == of_line { String::new() } else { worst };
    let sentence = format!(
        "the fitted line starts at {} and rises by {} per warp on a multiprocessor; costs are within a factor of \
         {ALIKE} of the line {}{worst}",
        figure::time(base),
        figure::time(slope),
        tally.in_words("case"),
    );
    let rows = unique(std::iter::once(farthest).chain(&all).map(|one| one.row.index));
    Some(Outcome::of(tally.reaches(GENERALLY), sentence).on(rows))
}

/// The least-squares line through at least three points: its start and its slope.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let slope = sum(&|point| (point.0 - x) * (point.1 - y)) / sum(&|point| (point.0 - x).powi(2));
    (points.len() > 2 && slope.is_finite()).then_some((y - slope * x, slope))
}

/// The cost of the second device: the cheapest barrier of two devices that orders memory against the cheapest of one grid,
/// then the same relaxed barrier on two devices and on one.
fn first_gap(data: &RunData) -> Option<Outcome> {
    let count = multiprocessors(data)?;
    let cheapest = |role: Role, devices: u32| {
        let of_size =
            |case: &Case| (case.devices.unwrap_or(1), case.blocks, case.threads) == (devices, Some(count), Some(WARP));
        let ids = data.catalogue.with_role(role).map(|one| one.id);
        let ordered = |case: &Case| case.form.is_none() && case.order.is_none() && !case.in_group("driver_launch");
        let all = ids.flat_map(|id| rows(data, id, |case| of_size(case) && ordered(case)));
        all.min_by(|a, b| a.bounds.high.total_cmp(&b.bounds.high))
    };
    let (two_devices, grid) = (cheapest(Role::DeviceBarrier, 2)?, cheapest(Role::GridBarrier, 1)?);
    let best = two(Test::AtLeast(ALIKE), (&two_devices.name(), &two_devices), (&grid.name(), &grid));
    let relaxed = |primitive: &str, devices| {
        rows(data, primitive, |case| {
            case.form.is_none()
                && case.order == Some(MemoryOrder::Relaxed)
                && case.devices == Some(devices)
                && case.group.is_none()
        })
    };
    let same = |case: &Case| (case.blocks, case.threads);
    let pairs = DEVICE_BARRIERS.map(|id| pairs_by(&relaxed(id, 2), &relaxed(id, 1), same)).concat();
    let words = "the same barrier without memory ordering costs at least 1.25 times as much on two devices as on one";
    all(std::iter::once(best).chain(generally(Test::AtLeast(ALIKE), words, &pairs)))
}

/// The paper's own ratios, of which the smallest is 1.28 (grid, P100), are all beyond "alike".
fn full_block(rows: &[Known<'_>], blocks: u32) -> Option<Outcome> {
    shapes(Test::AtLeast(ALIKE), "", rows, (blocks, 1024), (blocks, WARP))
}

fn is_nop(row: &Known<'_>) -> bool {
    row.row.evidence.as_deref().is_some_and(Evidence::is_nop)
}

fn in_groups<'a>(data: &'a RunData, [primitive, group]: [&str; 2]) -> Vec<Known<'a>> {
    groups(data, primitive, |case| case.in_group(group))
}

/// Barriers of groups within one warp, in a loop.
fn groups<'a>(data: &'a RunData, primitive: &str, fits: impl Fn(&Case) -> bool) -> Vec<Known<'a>> {
    let one_warp = |case: &Case| case.blocks == Some(1) && case.threads == Some(WARP);
    let mut rows = blocks(data, primitive, |case| one_warp(case) && fits(case));
    // Barriers that compile to nothing count only if nothing else was measured.
    if !rows.iter().all(is_nop) {
        rows.retain(|row| !is_nop(row));
    }
    rows.sort_by(|a, b| a.row.case.group.cmp(&b.row.case.group));
    rows
}

fn one_cycle(data: &RunData) -> Option<Outcome> {
    let rows = groups(data, NEIGHBOURS[0], |case| case.group.is_some());
    let known: Vec<_> = rows.iter().filter_map(|row| Some((*row, row.row.cycles_interval?))).collect();
    let (least, interval) = known.iter().min_by(|a, b| a.1.high.total_cmp(&b.1.high)).copied()?;
    let is_possible = |(_, bounds): &(Known<'_>, Interval)| bounds.low >= SUSPICIOUS_CYCLES;
    let verdict = Truth::of(known.iter().all(is_possible), interval.high < SUSPICIOUS_CYCLES);
    // The reason names the NOP already.
    let evidence = least.row.evidence.as_deref().filter(|_| !is_nop(&least));
    let evidence = evidence.map(|text| format!(" ({text})")).unwrap_or_default();
    let group = least.row.case.group_number(NEIGHBOURS[1]).unwrap_or_default();
    let which = match known.len() {
        1 => "the only one measured".to_owned(),
        count => format!("the cheapest of {count} coalesced groups"),
    };
    let sentence =
        format!("a coalesced group of {group}, {which}, costs {}{evidence}", Unit::of([&least]).sized(&least));
    let rows = [least.index].into_iter().chain(known.iter().map(|(row, _)| row.index));
    Some(Outcome::of(verdict, sentence).on(unique(rows)))
}

/// A block barrier of resident blocks, with the blocks and warps per multiprocessor.
struct Resident<'a> {
    row: Known<'a>,
    blocks: u32,
    warps: u32,
}

fn resident(data: &RunData) -> Vec<Resident<'_>> {
    let machine = MachineSize::of(&data.run.machine);
    let rows = blocks(data, SYNCTHREADS, |case| case.threads >= Some(WARP));
    let found = rows.into_iter().filter_map(|row| {
        let (blocks, warps) = machine.load_of(&row.row.case)?;
        Some(Resident { row, blocks, warps })
    });
    found.filter(|one| one.blocks <= RESIDENT_BLOCKS && one.warps <= RESIDENT_WARPS).collect()
}

/// The best rate of block barriers per warp, for each block size above 64 threads on full multiprocessors.
fn saturation(data: &RunData) -> Option<Outcome> {
    let is_full = |one: &Resident<'_>| one.row.row.case.threads > Some(2 * WARP) && one.warps == RESIDENT_WARPS;
    let warps = f64::from(RESIDENT_WARPS);
    let rate = |Resident { row, .. }| (row, warps / row.bounds.high, warps / row.ns, warps / row.bounds.low);
    let mut rates: Vec<_> = resident(data).into_iter().filter(is_full).map(rate).collect();
    rates.sort_by(|a, b| a.2.total_cmp(&b.2));
    let [slowest, .., fastest] = rates.as_slice() else { return None };
    let (least, most) = figure::extremes(rates.iter().flat_map(|rate| [rate.1, rate.3]))?;
    let verdict = Truth::of(most <= ALIKE * least, fastest.1 > ALIKE * slowest.3);
    let said = |rate: &(Known<'_>, f64, f64, f64)| {
        let threads = rate.0.row.case.threads.unwrap_or_default();
        let figure = if rate.0.has_figure() { figure::ratio(rate.2) } else { figure::ends(Some(rate.1), Some(rate.3)) };
        let figure = figure::dashed(&figure);
        format!("{figure} warp-sync/ns in blocks of {threads} threads")
    };
    let sentence =
        format!("from {} to {}, on multiprocessors with {RESIDENT_WARPS} warps", said(slowest), said(fastest));
    Some(Outcome::of(verdict, sentence).on(unique(rates.iter().map(|rate| rate.0.index))))
}

/// Barriers of this many devices that order memory, each launched by itself.
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

/// Tests `part` on every barrier of devices, with its rows on all devices and the number of multiprocessors.
fn of_each(data: &RunData, part: impl Fn(Vec<Known<'_>>, u32) -> Option<Outcome>) -> Option<Outcome> {
    let count = multiprocessors(data)?;
    all(DEVICE_BARRIERS.into_iter().filter_map(|primitive| part(together(data, primitive), count)))
}

/// Pairs of barriers on this many devices and on fewer, alike in everything else.
fn devices<'a>(data: &'a RunData, more: &[u32], fewer: u32) -> Vec<Pair<'a>> {
    let of = |primitive| {
        let rows: Vec<_> = more.iter().flat_map(|count| of_devices(data, primitive, *count)).collect();
        pairs_by(&rows, &of_devices(data, primitive, fewer), |case| (case.blocks, case.threads))
    };
    DEVICE_BARRIERS.map(of).concat()
}
