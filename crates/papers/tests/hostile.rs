//! Files of other people whose numbers and strings are chosen to hurt: each integer at its extremes and each string an escape
//! sequence, a formula, a markup and 250 KB of text, in `run.json` and in each table, for all that is drawn of a run. Nothing panics,
//! nothing takes more memory or time than the limits of the child that reads them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use syncscope_core::run::plain::read_text;
use syncscope_core::{Catalogue, RunDirectory};
use syncscope_fleet::gallery::{self, Entry};
use syncscope_fleet::nodes::{self, Fleet};
use syncscope_report::{Asked, Need, RunData, advise, compare, export, findings, page, table};

/// Seconds of CPU and KiB of address space of a child.
const SECONDS: u32 = 240;
const KIB: u32 = 2_000_000;

/// Runs one of the ignored tests below in a process with these limits.
fn within_limits(name: &str) {
    let limits = format!("ulimit -v {KIB} -t {SECONDS}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh");
    child.args(["-c", &limits]).arg(std::env::current_exe().unwrap());
    let output = child.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let end: String = text.chars().rev().take(3000).collect::<String>().chars().rev().collect();
    assert!(output.status.success(), "{name}: {}\n{end}", output.status);
    assert!(text.contains("1 passed"), "{end}");
}

#[test]
fn every_integer_of_run_json_at_its_extremes() {
    within_limits("integers_of_run_json");
}

#[test]
fn every_integer_of_each_table_at_its_extremes() {
    within_limits("integers_of_tables");
}

#[test]
fn every_string_that_hurts() {
    within_limits("strings");
}

/// A run that has something of everything: rows of both sides, details, and the tables of experiments.
struct Hostile {
    _folder: tempfile::TempDir,
    path: PathBuf,
    catalogue: Arc<Catalogue>,
    run: Value,
    /// What was already drawn: most refused values leave the same rows.
    drawn: RefCell<HashSet<u64>>,
}

/// The tables of experiments: the seeds of the fuzz target that reads them, whose first byte names the table.
const TABLES: [&str; 10] = [
    "crosscheck",
    "asynchrony",
    "asynchrony_classes",
    "asynchrony_neighbours",
    "asynchrony_launches",
    "timeline",
    "timeline_figures",
    "timeline_edits",
    "timeline_code",
    "timeline_clocks",
];

/// Rows of each primitive that are taken from each stored run; a case that several runs have is taken once.
const ROWS: usize = 1;

impl Hostile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        fs::create_dir(&path).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let stored = |run: &str, table: &str| read_text(&root.join("results").join(run).join(table)).unwrap();
        let mut lines: Vec<String> = Vec::new();
        for run in ["h200-x4", "h200-standard", "epyc-zen4-2cpu-vm"] {
            let text = stored(run, "measurements.csv");
            let mut counts = std::collections::HashMap::new();
            for line in text.lines().skip(usize::from(!lines.is_empty())) {
                let count: &mut usize = counts.entry(line.split(',').nth(3).unwrap().to_owned()).or_default();
                *count += 1;
                let id = line.split(',').next();
                if *count <= ROWS && !lines.iter().any(|known: &String| known.split(',').next() == id) {
                    lines.push(line.to_owned());
                }
            }
        }
        fs::write(path.join("measurements.csv"), lines.join("\n") + "\n").unwrap();
        let details = stored("h200-x4", "details.csv");
        let ids: Vec<&str> = lines.iter().map(|line| line.split(',').next().unwrap()).collect();
        let is_ours = |line: &&str| {
            line.starts_with("case_id") || line.starts_with("cpu,") || ids.iter().any(|id| line.starts_with(id))
        };
        let details: Vec<&str> = details.lines().filter(is_ours).take(400).collect();
        fs::write(path.join("details.csv"), details.join("\n") + "\n").unwrap();
        for name in TABLES {
            let seed = fs::read(root.join("fuzz/seeds/published").join(name)).unwrap();
            fs::write(path.join(format!("{name}.csv")), &seed[1..]).unwrap();
        }
        let run = complete(serde_json::from_str(&stored("h200-x4", "run.json")).unwrap());
        let catalogue = [syncscope_cpu::catalogue(), syncscope_gpu::primitives()].concat().into_iter().collect();
        let hostile = Self { _folder: folder, path, catalogue: Arc::new(catalogue), run, drawn: RefCell::default() };
        hostile.write_run(&hostile.run);
        let read = syncscope_papers::load(&hostile.path, hostile.catalogue.clone());
        assert!(read.is_ok(), "it is in order: {:?}", read.err());
        hostile
    }

    fn write_run(&self, run: &Value) {
        fs::write(self.path.join("run.json"), serde_json::to_vec(run).unwrap()).unwrap();
    }

    /// Writes `run.json` with this value at all these places.
    fn write_with(&self, places: &[&str], value: &Value) {
        let mut run = self.run.clone();
        for place in places {
            *run.pointer_mut(place).unwrap() = value.clone();
        }
        self.write_run(&run);
    }

    /// The places where this value does not end the reading, which would hide what the other values drawn with it do.
    fn read_with<'a>(&self, places: &'a [String], value: &Value) -> Vec<&'a str> {
        let is_read = |place: &&str| {
            self.write_with(&[place], value);
            RunDirectory::open(&self.path).is_ok_and(|directory| directory.read_run().is_ok())
        };
        places.iter().map(String::as_str).filter(is_read).collect()
    }

    /// Draws the tables with this cell in each of these sets of columns: eight sets at a time if every line is still
    /// read, because a lost line would hide what the other sets do.
    fn draw_with(&self, sets: &[Vec<Column>], cell: &str, lines: usize, markup: Option<&str>) {
        let is_whole = |set: &[Column]| {
            write(set, cell, lines);
            let data = syncscope_papers::load(&self.path, self.catalogue.clone());
            data.is_ok_and(|data| data.damage.others.is_empty())
        };
        let draw = |set: &[Column]| {
            write(set, cell, lines);
            self.is_drawn(markup);
            restore(set);
        };
        let (whole, damaged): (Vec<_>, Vec<_>) = sets.iter().partition(|set| {
            let is_whole = is_whole(set);
            restore(set);
            is_whole
        });
        for some in whole.chunks(8) {
            let together: Vec<Column> = some.iter().flat_map(|set| set.iter().cloned()).collect();
            if is_whole(&together) {
                draw(&together);
            } else {
                restore(&together);
                for set in some {
                    draw(set);
                }
            }
        }
        for set in damaged {
            draw(set);
        }
    }

    /// Draws what can be read, and says whether it could.
    fn is_drawn(&self, markup: Option<&str>) -> bool {
        let Ok(data) = syncscope_papers::load(&self.path, self.catalogue.clone()) else { return false };
        let mut hasher = DefaultHasher::new();
        // Details are in no order.
        let details: BTreeMap<_, _> = data.details.iter().collect();
        format!("{:?} {:?} {details:?} {:?}", data.run, data.rows, markup.map(|_| &data.damage)).hash(&mut hasher);
        if !self.drawn.borrow_mut().insert(hasher.finish()) {
            return true;
        }
        let html = everything(data);
        assert!(markup.is_none_or(|markup| !html.contains(markup)), "markup of a file is markup of the page");
        true
    }
}

/// Adds the fields that this run does not have.
fn complete(mut run: Value) -> Value {
    let fields = run.as_object_mut().unwrap();
    fields.insert("repeat".to_owned(), json!(2));
    fields.insert(
        "between_runs".to_owned(),
        json!([{"class": "cache lines that move", "runs": 3,
        "ns": {"factor": 1.0, "degrees": 2.0, "shared": 0.1, "cases": {}}}]),
    );
    run
}

/// Makes everything that a command makes of a run, and returns the pages.
fn everything(data: RunData) -> String {
    let _ = (table::summary(&data, 80, false), export::rows::for_terminal(&data, 80), export::rows::as_markdown(&data));
    let _ = (export::rows::as_csv(&data), export::rows::as_json(&data, None), findings(&data, []));
    let _ = (export::trackers::as_bmf(&data), export::trackers::as_github(&data), export::trackers::as_reframe(&data));
    for need in Need::ALL.iter().copied() {
        let answers = advise(&data, need, Asked { threads: None, on: None, wait: None });
        let _ = (export::advice::for_terminal(&data, &answers, 60), export::advice::as_json(&data, &answers));
    }
    let comparison = compare(&data, &data, 0.05);
    let _ = (export::comparison::for_terminal(&comparison, 60), export::comparison::as_json(&comparison));
    let mut fleet = Fleet::default();
    (0..3).for_each(|_| fleet.add(&data));
    let nodes = fleet
        .examine(0.05)
        .map(|fleet| nodes::text::as_json(&fleet) + &nodes::page::render(&fleet, &[None, None, None]));
    let one = page::render(std::slice::from_ref(&data));
    one + &nodes.unwrap_or_default() + &gallery::render(&[Entry { data, page: None, is_own: false }], None)
}

const EXTREMES: [&str; 6] = ["0", "1", "2147483648", "4294967295", "18446744073709551615", "-1"];

/// The places of all values of a kind in an object, as JSON pointers.
fn places(value: &Value, is_meant: fn(&Value) -> bool, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places(value, is_meant, &format!("{at}/{name}"), found));
        }
        // The elements of a list are alike.
        Value::Array(values) => {
            values.iter().take(1).for_each(|value| places(value, is_meant, &format!("{at}/0"), found));
        }
        value if is_meant(value) => found.push(at.to_owned()),
        _ => {}
    }
}

#[test]
#[ignore = "within the limits of a child"]
fn integers_of_run_json() {
    let hostile = Hostile::new();
    assert!(hostile.is_drawn(None), "it is in order");
    let mut found = Vec::new();
    places(&hostile.run, Value::is_u64, "", &mut found);
    // One place stands for the case counts of all primitives.
    let mut planned = 0;
    found.retain(|place| !place.starts_with("/planned_by_primitive") || std::mem::replace(&mut planned, 1) == 0);
    assert!(found.len() > 30, "{found:?}");
    for (number, extreme) in EXTREMES.into_iter().enumerate() {
        let value: Value = serde_json::from_str(extreme).unwrap();
        let read = hostile.read_with(&found, &value);
        let is_any = |place: &str| place == "/seed" || place.ends_with("_bytes") || place.ends_with("_celsius");
        assert!(number < 3 || read.iter().all(|place| is_any(place)), "{extreme} is read: {read:?}");
        for places in read.chunks(16) {
            hostile.write_with(places, &value);
            assert!(hostile.is_drawn(None), "{extreme}: {places:?}");
        }
    }
}

/// The lines of a table with these cells in one column, wherever the column says something.
fn with_cells(text: &str, column: usize, cell: &str) -> String {
    let mut lines = text.lines();
    let mut changed = format!("{}\n", lines.next().unwrap());
    for line in lines {
        let cells = line.split(',').enumerate();
        let cells: Vec<&str> =
            cells.map(|(at, own)| if at == column && !own.is_empty() { cell } else { own }).collect();
        changed += &(cells.join(",") + "\n");
    }
    changed
}

/// A column of a table: the file, its text, and the column.
type Column = (PathBuf, String, usize);

/// Columns that fit, in sets that are changed together. Tables of experiments are read separately, so a set has one
/// column of each of them; a column of a run's own tables is alone, and so is every column with
/// `SYNCSCOPE_ALL_COMBINATIONS`.
fn columns(hostile: &Hostile, is_meant: fn(&str) -> bool) -> Vec<Vec<Column>> {
    let of_table = |name: &str| {
        let file = hostile.path.join(format!("{name}.csv"));
        // A quoted cell may hold a comma: those lines are left out.
        let text: String =
            fs::read_to_string(&file).unwrap().split_inclusive('\n').filter(|line| !line.contains('"')).collect();
        let count = text.lines().next().unwrap().split(',').count();
        let fits = |at: &usize| text.lines().skip(1).any(|line| line.split(',').nth(*at).is_some_and(is_meant));
        (0..count).filter(fits).map(|at| (file.clone(), text.clone(), at)).collect::<Vec<_>>()
    };
    let of_run = ["measurements", "details"].into_iter().flat_map(of_table).map(|column| vec![column]);
    let of_experiments: Vec<Vec<Column>> = TABLES.into_iter().map(of_table).collect();
    if std::env::var_os("SYNCSCOPE_ALL_COMBINATIONS").is_some() {
        return of_run.chain(of_experiments.into_iter().flatten().map(|column| vec![column])).collect();
    }
    let most = of_experiments.iter().map(Vec::len).max().unwrap_or(0);
    let one_of_each = |at| of_experiments.iter().filter_map(|table| table.get(at).cloned()).collect();
    of_run.chain((0..most).map(one_of_each)).collect()
}

/// Writes the tables of a set with this cell in its columns, and `lines` lines of each.
fn write(set: &[Column], cell: &str, lines: usize) {
    let mut tables: BTreeMap<&PathBuf, String> = BTreeMap::new();
    for (file, text, at) in set {
        let table = tables.entry(file).or_insert_with(|| text.split_inclusive('\n').take(lines).collect());
        *table = with_cells(table, *at, cell);
    }
    for (file, table) in tables {
        fs::write(file, table).unwrap();
    }
}

fn restore(set: &[Column]) {
    for (file, text, _) in set {
        fs::write(file, text).unwrap();
    }
}

#[test]
#[ignore = "within the limits of a child"]
fn integers_of_tables() {
    let hostile = Hostile::new();
    let sets = columns(&hostile, |cell| cell.parse::<u64>().is_ok());
    let count: usize = sets.iter().map(Vec::len).sum();
    assert!(count > 40, "{count}");
    for extreme in EXTREMES {
        hostile.draw_with(&sets, extreme, usize::MAX, None);
    }
    // Numbers within words.
    let file = hostile.path.join("measurements.csv");
    let text = fs::read_to_string(&file).unwrap();
    for (name, words) in [
        (
            "group",
            [
                "tile 0",
                "tile 4294967295",
                "cluster 4294967295",
                "line_on_node 4294967295",
                "spin 0 us",
                "nodes 4294967295",
            ],
        ),
        ("placement", ["4294967295", "0,4294967295", "1048576", "0,0", "-1", "0-9"]),
    ] {
        let at = text.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
        for word in words {
            fs::write(&file, with_cells(&text, at, &format!("\"{word}\""))).unwrap();
            hostile.is_drawn(None);
        }
    }
}

const MARKUP: &str = "<img src=x onerror=alert(1)>";

#[test]
#[ignore = "within the limits of a child"]
fn strings() {
    let hostile = Hostile::new();
    let long = "long ".repeat(50_000);
    // A formula needs the beginning of a cell; markup works anywhere.
    let formula = format!("=HYPERLINK(\"http://x\")</script><!--{MARKUP}");
    let payloads = ["\u{1b}]0;x\u{7}\u{9b}31m\u{202e}", &formula, &long, "__proto__"];
    let mut found = Vec::new();
    places(&hostile.run, Value::is_string, "", &mut found);
    assert!(found.len() > 30, "{found:?}");
    for payload in payloads {
        let value = json!(payload);
        let read = hostile.read_with(&found, &value);
        assert!(read.len() > 20, "{payload:.20}: only {read:?}");
        for places in read.chunks(if payload.len() > 100 { 8 } else { 16 }) {
            hostile.write_with(places, &value);
            assert!(hostile.is_drawn(Some(MARKUP)), "{payload:.20}: {places:?}");
        }
    }
    let mut run = hostile.run.clone();
    run["machine"] = Value::Object(Map::from_iter([(MARKUP.to_owned(), json!(1))]));
    hostile.write_run(&run);
    assert!(!hostile.is_drawn(None), "an unknown field");
    hostile.write_run(&hostile.run);
    let sets = columns(&hostile, |cell| !cell.is_empty() && cell.parse::<f64>().is_err());
    for payload in payloads {
        let lines = if payload.len() > 100 { 2 } else { usize::MAX };
        hostile.draw_with(&sets, &format!("\"{}\"", payload.replace('"', "\"\"")), lines, Some(MARKUP));
    }
}

#[test]
fn a_damaged_line_of_any_table_costs_its_own_row_and_is_named() {
    let hostile = Hostile::new();
    let load = || syncscope_papers::load(&hostile.path, hostile.catalogue.clone()).unwrap();
    // The run has only a few of the planned rows.
    assert!(load().damage.others.is_empty(), "{:?}", load().damage);
    let whole = load();
    for name in ["measurements", "details"].into_iter().chain(TABLES) {
        let file = hostile.path.join(format!("{name}.csv"));
        let bytes = fs::read(&file).unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let third = lines[2];
        // Cut before the last cell: a line that ends within that cell cannot be told from another.
        let cut = third.iter().rposition(|byte| *byte == b',').unwrap();
        let half = [&third[..cut], b"\n"].concat();
        let joined = [&third[..third.len() - 1], &lines[1][..lines[1].len() - 1], b"\n"].concat();
        for damaged in [&b"\0\0\0\0\0\0\n"[..], &half, &joined, b"\xff\xfe\n", b"\"open\n"] {
            let with = [&lines[..2], &[damaged], &lines[3..]].concat().concat();
            fs::write(&file, with).unwrap();
            let data = load();
            let warnings: Vec<String> = data.damage.warnings().collect();
            let names = |warning: &String| warning.contains("line 3 (") && warning.contains(&format!("{name}.csv"));
            assert!(warnings.iter().any(names), "{name}: {:?}: {warnings:?}", String::from_utf8_lossy(damaged));
            let lost = usize::from(name == "measurements");
            assert_eq!(data.rows.len(), whole.rows.len() - lost, "{name}: {:?}", String::from_utf8_lossy(damaged));
            assert!(
                data.rows.iter().all(|row| whole.rows.iter().any(|own| own.case == row.case && own.ns == row.ns)),
                "{name}"
            );
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(RunDirectory::open(&hostile.path).is_ok());
}
