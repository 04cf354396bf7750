//! Compares tables 7 to 9 and figure 11 of Zhang, Wahib, Matsuoka (*A Study of Synchronization Methods in Modern GPUs*) with
//! the figures of a run. Figures 8 to 10 are the heat maps of the page.

use syncscope_core::{Case, Evidence, Form, Group, MemoryOrder, Role, Row};

use crate::RunData;
use crate::analysis::contest::{Basis, Known, design};
use crate::analysis::usual::{MachineSize, WARP, short_name};
use crate::figure::{self, extremes};
use syncscope_core::sets::sets;

/// A table as texts; the first column names the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaperTable {
    pub(crate) title: &'static str,
    pub(crate) headings: Vec<String>,
    pub(crate) lines: Vec<Vec<String>>,
    /// The number of columns before the run's own.
    paper: usize,
    /// What a reader must know to compare it with the paper.
    pub(crate) note: &'static str,
}

/// Figure 11: the cost of one barrier over the number of devices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeviceLine {
    pub(crate) primitive: String,
    /// `4 blocks per SM of 256 threads`.
    pub(crate) shape: String,
    /// Number of devices, cost and interval within the run, in microseconds.
    pub(crate) points: Vec<(u32, f64, (f64, f64))>,
}

const TILE: &str = "gpu.warp.tile";
const COALESCED: &str = "gpu.warp.coalesced";
const BLOCK: &str = "gpu.block.syncthreads";

/// The size of the block with which the paper measures the throughput of warps, in threads.
const FULL_BLOCK: u32 = 1024;
/// The text in place of a figure that a run lacks.
const NONE: &str = "–";

/// The tables for which the run has figures in at least half of the lines.
pub(crate) fn tables(data: &RunData) -> Vec<PaperTable> {
    let is_full = |table: &PaperTable| {
        let lines = table.lines.iter().filter(|line| has_figures(std::slice::from_ref(line), table.paper));
        2 * lines.count() >= table.lines.len()
    };
    [throughput(data), grid(data), two_devices(data)].into_iter().filter(is_full).collect()
}

/// The ids of the barriers of this role, in the order of the catalogue.
fn ids_of(data: &RunData, role: Role) -> Vec<&'static str> {
    data.catalogue.with_role(role).map(|primitive| primitive.id).collect()
}

/// The ordered barriers of this primitive in their default form, without a variant.
fn barriers<'a>(data: &'a RunData, id: &'a str) -> impl Iterator<Item = Known<'a>> {
    known(data, move |row| row.case.primitive == id && is_ordered(row) && row.case.group.is_none())
}

/// The costs of the rows that fit and have a figure.
fn known<'a>(data: &'a RunData, fits: impl Fn(&Row) -> bool + 'a) -> impl Iterator<Item = Known<'a>> {
    data.rows_where(fits).filter_map(|index| Known::written(data, index, Basis::Run))
}

/// Whether a barrier orders memory and has its default form.
fn is_ordered(row: &Row) -> bool {
    row.case.form.is_none() && row.case.order != Some(MemoryOrder::Relaxed)
}

fn microseconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e3)
}

fn rate(value: f64) -> String {
    format!("{value:.3}")
}

/// The number of synchronizations per cycle in one block of 1,024 threads, where each group counts. A NOP is not a
/// synchronization; its rate would be the rate of the surrounding loop.
fn warp_rate(data: &RunData, id: &str, group: &Group, form: Option<Form>) -> Option<String> {
    let fits = |row: &Row| {
        let Case { primitive, blocks, threads, .. } = &row.case;
        primitive == id
            && (*blocks, *threads) == (Some(1), Some(FULL_BLOCK))
            && row.case.group.as_ref() == Some(group)
            && row.case.form == form
    };
    let row = known(data, fits).next()?.row;
    if form.is_none() && row.evidence.as_deref().is_some_and(Evidence::is_nop) {
        return Some("a NOP".to_owned());
    }
    let cycles = row.cycles.map(syncscope_core::Cycles::value).filter(|cycles| *cycles > 0.0)?;
    // One coalesced group in each warp.
    let groups = FULL_BLOCK.checked_div(group.number_of("tile #").unwrap_or(WARP))?;
    Some(rate(f64::from(groups) / cycles))
}

/// The highest rate of warps that pass a block barrier, over the numbers of blocks that a multiprocessor holds.
fn block_rate(data: &RunData, threads: fn(u32) -> bool) -> Option<String> {
    let (gpu, machine) = (data.run.machine.gpus.first()?, MachineSize::of(&data.run.machine));
    let of_row = |known: Known<'_>| {
        let (size, (blocks, warps)) = (known.row.case.threads?, machine.load_of(&known.row.case)?);
        let is_resident =
            blocks <= gpu.max_blocks_per_multiprocessor && warps <= gpu.max_threads_per_multiprocessor / WARP;
        // A multiprocessor with room for another block is not full.
        let most_warps = gpu.max_threads_per_multiprocessor / WARP;
        let is_full = blocks == gpu.max_blocks_per_multiprocessor || warps + size.div_ceil(WARP) > most_warps;
        (size >= WARP && threads(size) && is_resident && is_full && known.ns > 0.0)
            .then(|| (size, f64::from(warps) / known.ns))
    };
    let rates = sets(barriers(data, BLOCK).filter_map(of_row));
    range(rates.into_values().filter_map(|rates| rates.into_iter().reduce(f64::max)), rate)
}

fn throughput(data: &RunData) -> PaperTable {
    let cell = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut add = |label: String, paper: [String; 2], here, alone| {
        lines.push([&[label], &paper[..], &[cell(here), cell(alone)]].concat());
    };
    for size in [1, 2, 4, 8, 16, 32] {
        let of = |form| warp_rate(data, TILE, &Group::numbered("tile #", size), form);
        let paper = [8.353, 2.89].map(|of_one| rate(of_one / f64::from(size)));
        add(format!("Tile of {size}, sync/cycle"), paper, of(None), of(Some(Form::Alone)));
    }
    for (size, v100, label) in [(16, 0.166, "Coalesced, 1 to 31 (here 16)"), (32, 0.769, "Coalesced, 32")] {
        let of = |form| warp_rate(data, COALESCED, &Group::numbered("coalesced #", size), form);
        add(format!("{label}, sync/cycle"), [v100, 1.882].map(rate), of(None), of(Some(Form::Alone)));
    }
    for (label, v100, p100, threads) in [
        ("Block of 32", "0.219", "0.087", (|threads| threads == 32) as fn(u32) -> bool),
        ("Block of 64", "0.402", "0.103", |threads| threads == 64),
        ("Block of more", "0.626 to 0.658", "0.102 to 0.111", |threads| threads > 64),
    ] {
        add(format!("{label}, warp-sync/ns"), [v100.into(), p100.into()], block_rate(data, threads), None);
    }
    let columns = if has_figures(&lines, 4) { 5 } else { 4 };
    for line in &mut lines {
        line.truncate(columns);
    }
    let names = ["barrier", "V100", "P100", "this device", "set up each time"];
    PaperTable {
        title: "Table 7: throughput of warp and block barriers",
        headings: names[..columns].iter().map(|text| (*text).to_owned()).collect(),
        lines,
        paper: 3,
        note: "Warp figures use one block of 1,024 threads. The paper's coalesced figures come from its table 4, which its \
               table 7 contradicts. Where the compiler reduces a warp barrier to a NOP, there is nothing to measure; \
               the column \"set up each time\" gives the cost of using it once. Block figures give the highest rate over all \
               block counts that fit on a multiprocessor.",
    }
}

/// The range of these numbers as text; `None` if there are none.
fn range(numbers: impl Iterator<Item = f64>, text: fn(f64) -> String) -> Option<String> {
    extremes(numbers).map(|(low, high)| figure::range(&text(low), &text(high)))
}

/// The range of these costs in microseconds.
fn costs(ns: impl Iterator<Item = f64>) -> String {
    range(ns, microseconds).unwrap_or_else(|| NONE.to_owned())
}

fn headings(first: &str, paper: &[&str], ids: &[&str]) -> Vec<String> {
    let own = ids.iter().map(|id| short_name(id).to_owned());
    std::iter::once(first).chain(paper.iter().copied()).map(str::to_owned).chain(own).collect()
}

fn grid(data: &RunData) -> PaperTable {
    /// Blocks on a multiprocessor, and the paper's least and largest latencies in microseconds.
    const PAPER: [(u32, &str, &str); 6] = [
        (1, "1.435 to 2.199", "1.762 to 2.254"),
        (2, "1.838 to 3.485", "2.050 to 3.493"),
        (4, "2.847 to 4.536", "3.421 to 4.852"),
        (8, "5.055 to 6.649", "6.420 to 8.478"),
        (16, "9.207 to 10.393", "13.228 to 16.627"),
        (32, "21.061 to 24.785", "31.345 to 35.134"),
    ];
    // A variant of a barrier is another algorithm. Whole clusters can leave multiprocessors without a block.
    let ids = ids_of(data, Role::GridBarrier);
    let machine = MachineSize::of(&data.run.machine);
    let placed = |known: Known<'_>| {
        let case = &known.row.case;
        let design = (data.catalogue.position(&case.primitive), design(&data.catalogue, case));
        Some((design, (machine.load_of(case)?.0, known.ns)))
    };
    let rows = known(data, |row| ids.contains(&row.case.primitive.as_str()) && is_ordered(row));
    let designs = sets(rows.filter_map(placed));
    let names: Vec<&str> = designs.keys().map(|(_, name)| name.as_str()).collect();
    let line = |(blocks, v100, p100): (u32, &str, &str)| {
        let of = |rows: &Vec<(u32, f64)>| costs(rows.iter().filter(|(on, _)| *on == blocks).map(|(_, ns)| *ns));
        [vec![blocks.to_string(), v100.to_owned(), p100.to_owned()], designs.values().map(of).collect()].concat()
    };
    let lines: Vec<Vec<String>> = PAPER.into_iter().map(line).collect();
    PaperTable {
        title: "Table 8: barriers across a grid (µs)",
        headings: headings("blocks per SM", &["V100", "P100"], &names),
        lines,
        paper: 3,
        note: "Cells give the lowest and highest cost over the measured block sizes.",
    }
}

/// Selects the load of a multiprocessor: its blocks and warps.
pub(super) type LoadFits = fn((u32, u32)) -> bool;

/// The ends of the paper's table 9.
pub(super) const FEW: LoadFits = |(blocks, warps)| blocks <= 4 && warps <= 16;
pub(super) const MANY: LoadFits = |(blocks, warps)| blocks >= 16 || warps >= 64;

fn two_devices(data: &RunData) -> PaperTable {
    let machine = MachineSize::of(&data.run.machine);
    let paper: [(&str, &str, LoadFits); 3] = [
        ("at most 4 blocks and 16 warps per SM", "6.02 to 9.12", FEW),
        ("in between", "11.39 to 16.40", |load| !FEW(load) && !MANY(load)),
        ("at least 16 blocks or 64 warps per SM", "22.00 to 58.32", MANY),
    ];
    let on_two = |case: &Case| case.devices == Some(2);
    // A column for each primitive that has a row.
    let mut ids = ids_of(data, Role::DeviceBarrier);
    ids.retain(|id| barriers(data, id).any(|known| on_two(&known.row.case)));
    let line = |(label, v100, fits): (&str, &str, LoadFits)| {
        let of = |id: &&str| {
            let has_shape = |case: &Case| machine.load_of(case).is_some_and(fits);
            let rows = barriers(data, id).filter(|known| on_two(&known.row.case) && has_shape(&known.row.case));
            costs(rows.map(|known| known.ns))
        };
        [vec![label.to_owned(), v100.to_owned()], ids.iter().map(of).collect()].concat()
    };
    let lines: Vec<Vec<String>> = paper.into_iter().map(line).collect();
    PaperTable {
        title: "Table 9: barriers across two devices (µs)",
        headings: headings("case", &["V100"], &ids),
        lines,
        paper: 2,
        note: "Cells give the lowest and highest cost over the measured shapes. The paper groups its P100 shapes \
               differently.",
    }
}

/// Whether a column after the first ones has a figure.
fn has_figures(lines: &[Vec<String>], first: usize) -> bool {
    lines.iter().flat_map(|line| line.iter().skip(first)).any(|text| text != NONE)
}

/// Figure 11: for each barrier, the paper's fastest shape, its general case and its slowest shape over the number of
/// devices. If the slowest shape (32 blocks of 64 threads per multiprocessor) is missing, the largest measured block
/// replaces it. Lines of one point are left out.
pub(crate) fn over_devices(data: &RunData) -> Vec<DeviceLine> {
    let machine = MachineSize::of(&data.run.machine);
    let mut lines = Vec::new();
    for id in ids_of(data, Role::DeviceBarrier) {
        let rows: Vec<(Known<'_>, u32)> =
            barriers(data, id).filter_map(|known| Some((known, machine.load_of(&known.row.case)?.0))).collect();
        let of_32 = rows.iter().filter(|(_, blocks)| *blocks == 32).filter_map(|(known, _)| known.row.case.threads);
        let slowest = of_32.filter(|threads| *threads <= 64).max();
        for (blocks, threads) in [(1, Some(32)), (4, Some(256)), (32, slowest)] {
            let own = rows.iter().filter(|(known, each)| *each == blocks && known.row.case.threads == threads);
            let point = |(known, _): &(Known<'_>, u32)| {
                let ends = (known.bounds.low / 1e3, known.bounds.high / 1e3);
                Some((known.row.case.devices?, known.ns / 1e3, ends))
            };
            let mut points: Vec<_> = own.filter_map(point).collect();
            points.sort_by_key(|(devices, ..)| *devices);
            points.dedup_by_key(|(devices, ..)| *devices);
            if let Some(threads) = threads.filter(|_| points.len() > 1) {
                let shape = format!("{blocks} × {threads}");
                lines.push(DeviceLine { primitive: short_name(id).to_owned(), shape, points });
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::machine::GpuMachine;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Cycles, Nanoseconds, Verdict};

    fn row(case: Case, ns: f64, cycles: f64) -> Row {
        Row {
            ns: Some(Nanoseconds(ns)),
            cycles: Some(Cycles(cycles)),
            ns_within: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    fn on(id: &str, blocks: u32, threads: u32, devices: Option<u32>) -> Case {
        Case { blocks: Some(blocks), threads: Some(threads), devices, ..Case::new(id) }
    }

    fn data(rows: Vec<Row>) -> RunData {
        let mut data = crate::testing::data(rows);
        data.run.machine.gpus = vec![GpuMachine {
            multiprocessors: 10,
            max_blocks_per_multiprocessor: 32,
            max_threads_per_multiprocessor: 2048,
            ..GpuMachine::default()
        }];
        data
    }

    fn line<'a>(table: &'a PaperTable, label: &str) -> &'a [String] {
        table.lines.iter().find(|line| line[0].starts_with(label)).unwrap_or_else(|| panic!("{label}: {table:?}"))
    }

    #[test]
    fn throughput_is_in_the_units_of_the_paper() {
        let tile = |size, form| {
            let case =
                Case { group: Some(Group::numbered("tile #", size)), form, ..on("gpu.warp.tile", 1, 1024, None) };
            row(case, 4.0, 8.0)
        };
        let nop = Row { evidence: Some("NOP 32/64 for WARPSYNC".into()), ..tile(16, None) };
        let block = |blocks, threads, ns| row(on("gpu.block.syncthreads", blocks, threads, None), ns, 1.0);
        let rows = vec![
            tile(4, None),
            Row { cycles: Some(Cycles(64.0)), ..tile(4, Some(Form::Alone)) },
            nop,
            block(10, 32, 10.0),
            block(320, 32, 40.0),
            // More blocks than a multiprocessor holds run one after another.
            block(640, 32, 1.0),
            // One block is not a full device.
            block(1, 32, 1.0),
            block(80, 256, 80.0),
            block(20, 1024, 160.0),
            // Nor is one block on each multiprocessor, which can hold eight.
            block(10, 256, 1.0),
        ];
        let data = data(rows);
        assert_eq!(tables(&data), [], "5 of 11 lines");
        let tables = [throughput(&data)];
        // 256 tiles of 4 in 8 cycles, and in 64.
        assert_eq!(line(&tables[0], "Tile of 4")[1..], ["2.088", "0.723", "32.000", "4.000"]);
        assert_eq!(line(&tables[0], "Tile of 8")[3..], [NONE, NONE]);
        assert_eq!(line(&tables[0], "Tile of 16")[3], "a NOP");
        // 32 warps in 40 ns beat one warp in 10 ns.
        assert_eq!(line(&tables[0], "Block of 32")[3], "0.800");
        assert_eq!(line(&tables[0], "Block of more")[3], "0.400 to 0.800");
    }

    #[test]
    fn grids_and_devices_stand_in_the_classes_of_the_paper() {
        let barrier =
            |id: &str, blocks, threads, devices, us: f64| row(on(id, blocks, threads, devices), us * 1e3, 1.0);
        let relaxed = Case { order: Some(MemoryOrder::Relaxed), ..on("gpu.grid.counter", 10, 32, None) };
        let near = Case { group: Some(Group::named("near_counters")), ..on("gpu.grid.hierarchical", 10, 32, None) };
        let rows = vec![
            barrier("gpu.grid.counter", 10, 32, None, 0.8),
            barrier("gpu.grid.counter", 10, 1024, None, 0.9),
            row(relaxed, 100.0, 1.0),
            row(near, 750.0, 1.0),
            barrier("gpu.multi.flags", 10, 32, Some(1), 1.8),
            barrier("gpu.multi.flags", 10, 32, Some(2), 2.2),
            barrier("gpu.multi.flags", 40, 128, Some(2), 2.4),
            barrier("gpu.multi.flags", 10, 1024, Some(2), 2.6),
            barrier("gpu.multi.flags", 320, 32, Some(2), 9.0),
            barrier("gpu.multi.flags", 320, 32, Some(4), 9.5),
        ];
        let data = data(rows);
        assert_eq!(tables(&data), [two_devices(&data)]);
        let (grid, devices) = (&grid(&data), &two_devices(&data));
        assert_eq!(grid.headings, ["blocks per SM", "V100", "P100", "counter", "hierarchical near_counters"]);
        assert_eq!(line(grid, "1")[3..], ["0.80 to 0.90", "0.75"], "a relaxed barrier is another one");
        assert_eq!(line(grid, "2")[3], NONE);
        assert_eq!(line(devices, "at most 4")[2], "2.20 to 2.40");
        assert_eq!(line(devices, "in between")[2], "2.60");
        assert_eq!(line(devices, "at least 16")[2], "9.00");
        let lines = over_devices(&data);
        let shapes: Vec<(&str, Vec<u32>)> =
            lines.iter().map(|line| (line.shape.as_str(), line.points.iter().map(|point| point.0).collect())).collect();
        assert_eq!(shapes, [("1 × 32", vec![1, 2]), ("32 × 32", vec![2, 4])]);
    }

    #[test]
    fn a_run_without_such_rows_has_no_tables() {
        let data = data(vec![row(on("gpu.atomic.add", 1, 32, None), 1.0, 2.0)]);
        assert_eq!((tables(&data), over_devices(&data)), (vec![], vec![]));
    }
}
