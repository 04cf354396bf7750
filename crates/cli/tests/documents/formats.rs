//! The files of runs against `docs/COLUMNS.md`, `docs/FORMATS.md` and `docs/run.schema.json`: those of a new run
//! of fakes, and those of `results/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Run, Verdict, stored_run};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fresh(folder: &Path) -> RunDirectory {
    let out = folder.join("run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    let words = ["run", "--out", out.to_str().unwrap(), "--seed", "7"];
    let output = command.args(words).env("SYNCSCOPE_FAKE", "").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    RunDirectory::open(&out).unwrap()
}

fn stored() -> Vec<RunDirectory> {
    let results = project().join("results");
    [stored_run::stored_runs(&results).unwrap(), stored_run::stored_experiments(&results).unwrap()].concat()
}

fn run_schema() -> Value {
    serde_json::from_str(&fs::read_to_string(project().join("docs/run.schema.json")).unwrap()).unwrap()
}

fn run_json(run: &RunDirectory) -> Value {
    serde_json::from_str(&fs::read_to_string(run.run_json()).unwrap()).unwrap()
}

#[test]
fn every_run_json_follows_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let schema = run_schema();
    let runs = [stored(), vec![fresh(folder.path())]].concat();
    assert!(runs.len() > 10);
    for run in runs {
        assert_eq!(crate::schema::errors(&schema, &run_json(&run)), [] as [&str; 0], "{}", run.path().display());
    }
}

#[test]
fn the_schema_refuses_what_no_run_json_is() {
    let folder = tempfile::tempdir().unwrap();
    let (schema, valid) = (run_schema(), run_json(&fresh(folder.path())));
    let places = |change: fn(&mut Value)| {
        let mut value = valid.clone();
        change(&mut value);
        crate::schema::errors(&schema, &value)
    };
    assert!(places(|_| {}).is_empty());
    assert!(places(|run| run["schema"] = json!(2))[0].starts_with("/schema: const"));
    assert!(places(|run| run["status"] = json!("over"))[0].starts_with("/status: enum"));
    assert!(places(|run| run["surprise"] = json!(1))[0].starts_with("/surprise: not allowed"));
    assert!(places(|run| run["planned"] = json!(-1))[0].starts_with("/planned: minimum"));
    assert!(places(|run| run["environment"]["load"] = json!("low"))[0].starts_with("/environment/load: type"));
    assert!(places(|run| drop(run.as_object_mut().unwrap().remove("seed")))[0].starts_with(": required"));
    assert!(places(|run| run["machine"]["gpus"] = json!([{ "index": 0 }]))[0].starts_with("/machine/gpus/0: required"));
}

#[test]
fn the_schema_names_what_the_code_reads_and_writes() {
    let schema = run_schema();
    let whole = crate::schema::example(&schema, &schema);
    assert_eq!(crate::schema::errors(&schema, &whole), [] as [&str; 0]);
    // The code refuses an unknown key, and writes every known one.
    let run: Run = serde_json::from_value(whole.clone()).unwrap();
    assert_eq!(serde_json::to_value(&run).unwrap(), whole);
}

/// A column in the table of the page.
struct Column {
    unit: String,
    meaning: String,
}

/// The table of the page.
fn documented_columns() -> BTreeMap<String, Column> {
    let page = fs::read_to_string(project().join("docs/COLUMNS.md")).unwrap();
    let lines = page.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            assert_eq!(cells.len(), 3, "{line}");
            let (name, unit, meaning) = (cells[0], cells[1], cells[2]);
            (name.trim_matches('`').to_owned(), Column { unit: unit.to_owned(), meaning: meaning.to_owned() })
        })
        .collect()
}

/// The texts in backticks.
fn words(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Columns whose meaning lists all possible words.
const CLOSED: [&str; 9] = ["domain", "dtype", "layout", "scope", "space", "order", "mode", "check", "population"];

/// Columns of whole numbers without a unit.
const COUNTS: [&str; 8] = ["elements", "threads", "blocks", "devices", "pairs", "set_aside", "iterations", "runs"];

/// The first cells of a column that break the contract.
fn wrong_cells(run: &RunDirectory, columns: &BTreeMap<String, Column>) -> Vec<String> {
    let (_, bytes) = run.measurement_bytes().unwrap();
    std::str::from_utf8(&bytes).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut wrong = Vec::new();
    let documented: Vec<Option<&Column>> = header.iter().map(|name| columns.get(name)).collect();
    wrong.extend(header.iter().zip(&documented).filter(|(_, column)| column.is_none()).map(|(name, _)| name.clone()));
    let allowed: Vec<BTreeSet<String>> =
        documented.iter().map(|column| column.map_or_else(BTreeSet::new, |column| words(&column.meaning))).collect();
    for record in reader.records() {
        let record = record.unwrap();
        for (at, cell) in record.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let (name, unit) = (header[at].as_str(), documented[at].map_or("", |column| column.unit.as_str()));
            if !is_allowed(name, unit, cell, &allowed[at]) {
                wrong.push(format!("{name}: {cell}"));
            }
        }
    }
    wrong
}

fn is_allowed(name: &str, unit: &str, cell: &str, allowed: &BTreeSet<String>) -> bool {
    let number = || cell.parse::<f64>().ok().filter(|number| number.is_finite());
    match name {
        "case_id" => cell.len() == 16 && cell.chars().all(|digit| digit.is_ascii_hexdigit()),
        "verdict" => Verdict::NAMES.contains(&cell),
        "actor" => ["slowest", "median", "mean"].contains(&cell),
        "beside_share" => number().is_some_and(|share| (0.0..=1.0).contains(&share)),
        "placement" => allowed.contains(cell) || cell.split(',').all(|cpu| cpu.parse::<u32>().is_ok()),
        name if CLOSED.contains(&name) => allowed.contains(cell),
        name if COUNTS.contains(&name) => cell.parse::<u64>().is_ok(),
        "primitive" => cell.split('.').count() == 3,
        "family" | "group" | "form" | "reason" | "evidence" => !cell.chars().any(char::is_control),
        _ => !unit.is_empty() && number().is_some(),
    }
}

#[test]
fn every_measurement_follows_the_contract() {
    let columns = documented_columns();
    assert!(columns.len() > 40);
    for name in CLOSED {
        assert!(!words(&columns[name].meaning).is_empty(), "{name} lists its words");
    }
    let folder = tempfile::tempdir().unwrap();
    let new = fresh(folder.path());
    let (_, bytes) = new.measurement_bytes().unwrap();
    let header = String::from_utf8_lossy(&bytes).lines().next().unwrap().to_owned();
    assert_eq!(header.split(',').count(), columns.len(), "a new run has every column: {header}");
    let runs = stored().into_iter().filter(RunDirectory::has_measurements);
    for run in runs.chain([new]) {
        assert_eq!(wrong_cells(&run, &columns), [] as [&str; 0], "{}", run.path().display());
    }
}

#[test]
fn the_contract_refuses_other_words_and_numbers() {
    let columns = documented_columns();
    let refused = |name: &str, cell: &str| !is_allowed(name, &columns[name].unit, cell, &words(&columns[name].meaning));
    for (name, good, bad) in [
        ("domain", "hybrid", "npu"),
        ("dtype", "f64", "i16"),
        ("placement", "0,17", "near"),
        ("ns", "-0.5", "NaN"),
        ("threads", "16", "16.5"),
        ("verdict", "Resolved", "resolved"),
        ("case_id", "0123456789abcdef", "0123"),
        ("population", "alone", "beside"),
        ("beside_share", "0.5", "1.5"),
    ] {
        assert!(!refused(name, good) && refused(name, bad), "{name}: {good}, {bad}");
    }
}

#[test]
fn the_columns_of_samples_and_details_are_documented() {
    let page = fs::read_to_string(project().join("docs/FORMATS.md")).unwrap();
    let named = words(&page);
    let folder = tempfile::tempdir().unwrap();
    let new = fresh(folder.path());
    let header = |path: &Path| fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
    let samples = header(&new.samples());
    for column in samples.split(',') {
        assert!(named.contains(column), "docs/FORMATS.md does not name `{column}` of samples.csv");
    }
    assert!(named.contains(&header(&new.details())), "docs/FORMATS.md has the columns of details.csv in one line");
}
