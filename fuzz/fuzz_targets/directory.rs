//! A whole foreign run directory: `run.json` and the tables together, and what is drawn of them. The input is a byte that
//! chooses (`run.json`, tables of experiments or none, page, gallery, fleet or table) and a list of edits of a valid run, so
//! that most inputs are read. An edit has twelve bytes, which say what is edited and how. New strings are chosen among those
//! that hurt.

#![no_main]

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use syncscope_core::Catalogue;
use syncscope_fleet::gallery::{self, Entry};
use syncscope_fleet::nodes::{self, Fleet};
use syncscope_fuzz::FOLDER;
use syncscope_report::{RunData, page, table};

static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
    Arc::new([syncscope_cpu::catalogue(), syncscope_gpu::primitives()].concat().into_iter().collect())
});

const RUNS: [&[u8]; 2] = [include_bytes!("../seeds/run_json/run.json"), include_bytes!("../seeds/run_json/gpu.json")];

/// The tables that are edited. The tables of experiments are seeds of the target `published`, whose first byte names the table.
const TABLES: [(&str, &[u8]); 12] = [
    ("measurements.csv", include_bytes!("../src/rows.csv")),
    ("details.csv", include_bytes!("../seeds/details/cpu.csv")),
    ("crosscheck.csv", include_bytes!("../seeds/published/crosscheck")),
    ("asynchrony.csv", include_bytes!("../seeds/published/asynchrony")),
    ("asynchrony_classes.csv", include_bytes!("../seeds/published/asynchrony_classes")),
    ("asynchrony_launches.csv", include_bytes!("../seeds/published/asynchrony_launches")),
    ("asynchrony_neighbours.csv", include_bytes!("../seeds/published/asynchrony_neighbours")),
    ("timeline.csv", include_bytes!("../seeds/published/timeline")),
    ("timeline_clocks.csv", include_bytes!("../seeds/published/timeline_clocks")),
    ("timeline_code.csv", include_bytes!("../seeds/published/timeline_code")),
    ("timeline_edits.csv", include_bytes!("../seeds/published/timeline_edits")),
    ("timeline_figures.csv", include_bytes!("../seeds/published/timeline_figures")),
];

const STRINGS: [&str; 8] =
    ["", "\u{1b}[31m", "=1+1", "<script>", "0-16383", "4294967295", "2026-11-28T00:00:00Z", "\u{202e}é"];

/// A number: an extreme, one near an extreme, or any number.
fn number(kind: u8, bytes: u64) -> u64 {
    match kind % 8 {
        0 => 0,
        1 => 1,
        2 => 1 << (bytes % 64),
        3 => (1_u64 << (bytes % 64)).wrapping_sub(1),
        4 => u64::from(u32::MAX),
        5 => bytes % 1024,
        6 => bytes % (1 << 20),
        _ => bytes,
    }
}

/// The leaf with number `at` of a value.
fn leaf<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    match value {
        Value::Object(fields) => fields.values_mut().find_map(|value| leaf(value, at)),
        Value::Array(values) => values.iter_mut().find_map(|value| leaf(value, at)),
        value if *at == 0 => Some(value),
        _ => {
            *at -= 1;
            None
        }
    }
}

fn leaves(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.values().map(leaves).sum(),
        Value::Array(values) => values.iter().map(leaves).sum(),
        _ => 1,
    }
}

fn edit_run(run: &mut Value, at: u16, kind: u8, bytes: u64) {
    let mut at = usize::from(at) % leaves(run).max(1);
    let Some(leaf) = leaf(run, &mut at) else { return };
    *leaf = match leaf {
        Value::Number(number_there) if number_there.is_f64() => f64::from_bits(bytes).into(),
        Value::Number(_) => number(kind, bytes).into(),
        Value::String(_) => STRINGS[usize::from(kind) % STRINGS.len()].into(),
        Value::Bool(there) => (!*there).into(),
        _ if kind.is_multiple_of(2) => number(kind / 2, bytes).into(),
        _ => STRINGS[usize::from(kind) % STRINGS.len()].into(),
    };
}

fn edit_table(table: &mut Table, at: u16, kind: u8, bytes: u64) {
    let rows = table.len().saturating_sub(1).max(1);
    let row = 1 + usize::from(at) % rows;
    match kind {
        // Append a copy of the line, which later edits may change.
        250.. => {
            let line = table.get(row).cloned();
            table.extend(line.filter(|_| rows < 64));
        }
        240.. => drop((table.len() > row).then(|| table.remove(row))),
        _ => {
            let Some(line) = table.get_mut(row) else { return };
            let column = usize::from(at) / rows % line.len().max(1);
            let Some(cell) = line.get_mut(column) else { return };
            *cell = match kind % 4 {
                0 | 1 => number(kind / 4, bytes).to_string(),
                2 => f64::from_bits(bytes).to_string(),
                _ => STRINGS[usize::from(kind / 4) % STRINGS.len()].to_owned(),
            };
        }
    }
}

/// The cells of a seed, without the byte that may name its table.
fn cells(name: &str, seed: &[u8]) -> Table {
    let seed = if ["measurements.csv", "details.csv"].contains(&name) { seed } else { &seed[1..] };
    let text = String::from_utf8_lossy(seed).into_owned();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

type Table = Vec<Vec<String>>;

/// A valid run, which edits start from.
struct Seeds {
    runs: [Value; 2],
    tables: [Table; TABLES.len()],
}

static SEEDS: LazyLock<Seeds> = LazyLock::new(|| Seeds {
    runs: RUNS.map(|run| serde_json::from_slice(run).expect("it is in order")),
    tables: TABLES.map(|(name, seed)| cells(name, seed)),
});

/// What is drawn of the run: one part in each execution, chosen by its first byte.
const PARTS: [fn(RunData); 4] = [
    |data| assert!(page::render(&[data]).contains("</html>")),
    |data| {
        let _ = gallery::render(&[Entry { data, page: None, is_own: false }], None);
    },
    |data| {
        let mut fleet = Fleet::default();
        (0..3).for_each(|_| fleet.add(&data));
        let _ = fleet.examine(0.05).map(|fleet| nodes::page::render(&fleet, &[None, None, None]));
    },
    |data| drop(table::summary(&data, 80, false)),
];

thread_local! {
    /// The tables in the folder that an earlier execution has edited or removed; at first all of them.
    static CHANGED: Cell<[bool; TABLES.len()]> = const { Cell::new([true; TABLES.len()]) };
}

fn text(table: &Table) -> String {
    table.iter().map(|line| line.join(",") + "\n").collect()
}

fuzz_target!(|input: &[u8]| {
    let Some((first, edits)) = input.split_first() else { return };
    let mut run = SEEDS.runs[usize::from(first & 1)].clone();
    let mut tables: [Option<Table>; TABLES.len()] = Default::default();
    for edit in edits.chunks_exact(12) {
        let at = u16::from_le_bytes([edit[2], edit[3]]);
        let bytes = u64::from_le_bytes([edit[4], edit[5], edit[6], edit[7], edit[8], edit[9], edit[10], edit[11]]);
        match usize::from(edit[0]) % (2 * TABLES.len()) {
            table if table < TABLES.len() => {
                edit_table(tables[table].get_or_insert_with(|| SEEDS.tables[table].clone()), at, edit[1], bytes);
            }
            _ => edit_run(&mut run, at, edit[1], bytes),
        }
    }
    FOLDER.with(|folder| {
        folder.write("run.json", &serde_json::to_vec(&run).expect("it is a value"));
        // Half of the inputs have the tables of experiments. A table that equals its seed stays where it is.
        let count = if first & 2 == 0 { 2 } else { TABLES.len() };
        let before = CHANGED.get();
        let mut changed = [false; TABLES.len()];
        for (at, (name, _)) in TABLES.iter().enumerate() {
            changed[at] = at >= count || tables[at].is_some();
            match &tables[at] {
                _ if at >= count => folder.remove(name),
                None if !before[at] => {}
                edited => folder.write(name, text(edited.as_ref().unwrap_or(&SEEDS.tables[at])).as_bytes()),
            }
        }
        CHANGED.set(changed);
        if let Ok(data) = syncscope_papers::load(folder.path(), CATALOGUE.clone()) {
            PARTS[usize::from(first >> 2) % PARTS.len()](data);
        }
    });
});
