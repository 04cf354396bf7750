//! `syncscope show --history` on copies of a stored run. In some of them a primitive costs more.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use syncscope_core::data_file;

const RUNS: usize = 10;
const FIRST: usize = 6;

fn history(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    command
        .arg("show")
        .arg(folder)
        .arg("--history")
        .args(words)
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs that began one day after the other; from the seventh on, `__syncthreads()` costs a tenth more.
fn write_runs(folder: &Path) {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/h200");
    let run: Value = serde_json::from_slice(&fs::read(stored.join("run.json")).unwrap()).unwrap();
    let packed = data_file::read(&stored.join("measurements.csv.gz")).unwrap();
    let table = data_file::unpack(&packed, 1 << 30).unwrap();
    for number in 0..RUNS {
        let directory = folder.join(format!("run-{number}"));
        fs::create_dir(&directory).unwrap();
        let mut run = run.clone();
        run["started"] = json!(format!("2026-11-{:02}T00:00:00Z", number + 1));
        fs::write(directory.join("run.json"), run.to_string()).unwrap();
        let mut reader = csv::Reader::from_reader(&table[..]);
        let columns = reader.headers().unwrap().clone();
        let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let primitive = at("primitive");
        let is_of = |at: usize, unit: &str| columns[at].split('_').any(|word| word == unit);
        let is_cost = |at: usize| is_of(at, "ns") || (is_of(at, "within") && !is_of(at, "cycles"));
        let mut writer = csv::Writer::from_path(directory.join("measurements.csv")).unwrap();
        writer.write_record(&columns).unwrap();
        for (line, row) in reader.records().map(Result::unwrap).enumerate() {
            let noise = 1.0 + 0.004 * (((number * 7 + line * 3) % 5) as f64 - 2.0);
            let step = if row[primitive] == *"gpu.block.syncthreads" && number >= FIRST { 1.1 } else { 1.0 };
            let scaled = |(at, cell): (usize, &str)| match cell.parse::<f64>() {
                Ok(value) if is_cost(at) => (value * noise * step).to_string(),
                _ => cell.to_owned(),
            };
            writer.write_record(row.iter().enumerate().map(scaled)).unwrap();
        }
        writer.flush().unwrap();
    }
}

#[test]
fn a_step_is_named_with_its_run_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    write_runs(folder.path());
    let output = history(folder.path(), &["--only", "gpu.*", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answers = found["answers"].as_array().unwrap();
    assert!(answers.len() >= 8, "{answers:?}");
    for answer in answers {
        assert_eq!(
            (&answer["subject"], &answer["verdict"]),
            (&json!("gpu.block.syncthreads"), &json!("slower")),
            "{answer}"
        );
        let ends = [&answer["low"], &answer["high"]].map(|end| end.as_f64().unwrap());
        assert!(
            ends[0] > 1.08 && ends[1] < 1.12 && answer["condition"].as_str().unwrap().contains("run-6"),
            "{answer}"
        );
    }
    let text = String::from_utf8(history(folder.path(), &["--only", "gpu.block.*"]).stdout).unwrap();
    assert!(text.contains("10 runs from 2026-11-01") && text.contains("run-6"), "{text}");
}

#[test]
fn too_few_runs_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = history(folder.path(), &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), errors.lines().count()), (Some(1), 1), "{errors}");
    assert!(errors.contains("a change shows in 6 or more"), "{errors}");
}
