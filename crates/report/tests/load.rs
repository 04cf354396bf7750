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
    // This journal has no pairs; without the file, none is missing.
    fs::remove_file(directory.samples()).unwrap();
}

#[test]
fn a_written_run_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-run");
    let data = synthetic::cpu_only();
    write(&data, &path);
    let read = RunData::load(&path, synthetic::catalogue()).unwrap();
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
    let read = RunData::load(&path, synthetic::catalogue()).unwrap();
    assert_eq!(read.rows.len(), data.rows.len() - 1);
    assert_eq!(read.seconds(), None);
    let text = table::summary(&read, 100, false);
    assert!(text.contains(&format!("not finished: {} of 400 cases", read.rows.len())), "{text}");
}

#[test]
fn a_run_without_a_finished_case_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    write(&RunData { rows: vec![], ..synthetic::cpu_only() }, &path);
    let read = RunData::load(&path, synthetic::catalogue()).unwrap();
    assert!(table::summary(&read, 80, false).contains("No case was finished."));
    assert!(page::render(&[read]).contains("</html>"));
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(RunData::load(folder.path(), synthetic::catalogue()).unwrap_err().to_string().contains("run.json"));
    let path = folder.path().join("run");
    write(&synthetic::cpu_only(), &path);
    let file = path.join("measurements.csv");
    let text = fs::read_to_string(&file).unwrap().replacen("Resolved", "Perfect", 1);
    fs::write(&file, text).unwrap();
    let read = RunData::load(&path, synthetic::catalogue()).unwrap();
    let text: Vec<String> = read.damage.warnings().filter(|text| text.contains("Perfect")).collect();
    assert!(
        text.len() == 1 && text[0].contains("line 2 (column `verdict`") && text[0].contains("measurements.csv"),
        "{text:?}"
    );
    fs::write(&file, "another,table\n").unwrap();
    let error = RunData::load(&path, synthetic::catalogue()).unwrap_err().to_string();
    assert!(error.contains("measurements.csv: its header"), "{error}");
    fs::remove_file(&file).unwrap();
    assert!(RunData::load(&path, synthetic::catalogue()).unwrap_err().to_string().contains("measurements.csv"));
}

/// Reads the run after a change of its table.
fn read_changed(data: &RunData, change: impl Fn(&str) -> String) -> RunData {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    write(data, &path);
    let file = path.join("measurements.csv");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, change(&text)).unwrap();
    RunData::load(&path, synthetic::catalogue()).unwrap()
}

/// A finished run with all of its rows.
fn complete() -> RunData {
    let mut data = synthetic::cpu_only();
    (data.run.status, data.run.planned) = (Status::Done, data.rows.len() as u64);
    data
}

#[test]
fn a_run_that_lost_rows_is_not_called_complete() {
    let data = complete();
    let whole = read_changed(&data, str::to_owned);
    assert_eq!(whole.damage, syncscope_report::Damage::default());
    assert!(table::summary(&whole, 100, false).contains(&format!("complete, {} cases", data.rows.len())));
    let half = read_changed(&data, |text| text.split_inclusive('\n').take(4).collect());
    let stated = format!("damaged: 3 of {} cases are there", data.rows.len());
    let summary = table::summary(&half, 100, false);
    assert!(summary.contains(&stated) && !summary.contains("complete"), "{summary}");
    assert!(half.damage.warnings().any(|text| text.contains(&stated) && text.contains("--resume")));
    let page = page::render(&[half]);
    assert!(page.matches(&stated).count() >= 2, "in the data and in the page without scripts");
    let empty = read_changed(&data, |_| String::new());
    assert!(table::summary(&empty, 100, false).contains("damaged: 0 of "));
}

#[test]
fn a_row_that_contradicts_itself_has_no_figure() {
    let data = complete();
    let at = data.rows.iter().position(|row| row.verdict.name() == "Resolved" && row.ns_interval.is_some()).unwrap();
    let with = |column: &'static str, cell: &'static str| {
        let text = |text: &str| {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let header = reader.headers().unwrap().clone();
            let place = header.iter().position(|name| name == column).unwrap();
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&header).unwrap();
            for (line, record) in reader.records().map(Result::unwrap).enumerate() {
                let changed =
                    record.iter().enumerate().map(|(cells, old)| if line == at && cells == place { cell } else { old });
                writer.write_record(changed.collect::<Vec<_>>()).unwrap();
            }
            String::from_utf8(writer.into_inner().unwrap()).unwrap()
        };
        read_changed(&data, text)
    };
    for (column, cell) in [("ns", "0"), ("ns", "-1"), ("ns", "1e9"), ("within_low", "1e9"), ("check", "failed")] {
        let read = with(column, cell);
        let row = &read.rows[at];
        assert_eq!((row.ns, row.ns_interval, row.verdict.name()), (None, None, "Failed"), "{column}={cell}");
        let warnings: Vec<String> = read.damage.warnings().collect();
        let line = format!("1 row contradicts itself and counts as failed; the first, in line {}", at + 2);
        assert!(warnings.len() == 1 && warnings[0].starts_with(&line), "{warnings:?}");
        assert_eq!(read.rows.iter().filter(|row| row.verdict.name() == "Failed").count(), 1 + failed(&data));
        assert!(!table::summary(&read, 100, false).contains("NaN"));
    }
}

fn failed(data: &RunData) -> usize {
    data.rows.iter().filter(|row| row.verdict.name() == "Failed").count()
}
