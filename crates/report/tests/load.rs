//! Reading run directories: complete, interrupted and broken ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

mod synthetic;

use std::fs;
use std::path::Path;

use syncscope_core::journal::Journal;
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_report::{RunData, page, table};

/// Writes a run as a measurement does.
fn write(data: &RunData, folder: &Path) {
    let directory = RunDirectory::create(folder).unwrap();
    directory.write_run(&data.run).unwrap();
    let mut journal = Journal::open(&directory).unwrap();
    data.rows.iter().for_each(|row| journal.append(row, &[], &[]).unwrap());
}

#[test]
fn a_written_run_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-run");
    let data = synthetic::cpu_only();
    write(&data, &path);
    let read = RunData::load(&path).unwrap();
    assert_eq!(read.name, "my-run");
    assert_eq!(read.run, data.run);
    assert_eq!(read.rows.len(), data.rows.len());
    assert_eq!(read.seconds(), Some(200.0));
}

#[test]
fn an_incomplete_last_line_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut data = synthetic::cpu_only();
    data.run.status = Status::Running;
    data.run.ended = None;
    write(&data, &path);
    let file = path.join("measurements.csv");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 30);
    fs::write(&file, bytes).unwrap();
    let read = RunData::load(&path).unwrap();
    assert_eq!(read.rows.len(), data.rows.len() - 1);
    assert_eq!(read.seconds(), None);
    let text = table::summary(&read, &[], 100, false);
    assert!(text.contains(&format!("not finished: {} of 400 cases", read.rows.len())), "{text}");
}

#[test]
fn a_run_without_a_finished_case_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    write(&RunData { rows: vec![], ..synthetic::cpu_only() }, &path);
    let read = RunData::load(&path).unwrap();
    assert!(table::summary(&read, &[], 80, false).contains("No case was finished."));
    assert!(page::render(&[read], &[]).contains("</html>"));
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(RunData::load(folder.path()).unwrap_err().to_string().contains("run.json"));
    let path = folder.path().join("run");
    write(&synthetic::cpu_only(), &path);
    let file = path.join("measurements.csv");
    let text = fs::read_to_string(&file).unwrap().replacen("Resolved", "Perfect", 1);
    fs::write(&file, text).unwrap();
    let error = RunData::load(&path).unwrap_err().to_string();
    assert!(error.contains("measurements.csv, line 2") && error.contains("Perfect"), "{error}");
    fs::remove_file(&file).unwrap();
    assert!(RunData::load(&path).unwrap_err().to_string().contains("measurements.csv"));
}
