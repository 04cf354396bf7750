//! Runs whose files were cut off or changed: every command that reads them says so.

use std::fs;
use std::path::Path;

use syncscope_core::run::plain::read_text;
use syncscope_core::run_directory::{ORDERINGS, RunDirectory};

use crate::common::{output, stderr};

/// A finished run, with its table changed by `change`.
fn changed(folder: &Path, name: &str, change: impl Fn(&str) -> String) -> String {
    let out = folder.join(name).to_str().unwrap().to_owned();
    assert!(output(&["run", "--seed", "7", "--out", &out]).status.success());
    let file = RunDirectory::open(Path::new(&out)).unwrap().measurements();
    let table = fs::read_to_string(&file).unwrap();
    fs::write(&file, change(&table)).unwrap();
    out
}

#[test]
fn lost_rows_are_warned_of_wherever_a_run_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let whole = changed(folder.path(), "whole", str::to_owned);
    let half = changed(folder.path(), "half", |table| table.split_inclusive('\n').take(7).collect());
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    let commands: [&[&str]; 6] = [
        &["show", &half],
        &["report", &half, "-o", &page],
        &["compare", &whole, &half],
        &["advise", &half],
        &["findings", &half],
        &["gallery", &half, "-o", &page],
    ];
    for words in commands {
        let output = output(words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        let warnings = stderr(&output).matches("damaged: 6 of 12 cases are there").count();
        assert_eq!(warnings, 1, "{words:?}: {}", stderr(&output));
    }
    assert!(String::from_utf8_lossy(&output(&["show", &half]).stdout).contains("damaged: 6 of 12 cases"));
    // Selecting one primitive of a whole run is not damage.
    let some = output(&["show", &whole, "--only", "cpu.atomic.add"]);
    assert!(!stderr(&some).contains("damaged") && !String::from_utf8_lossy(&some.stdout).contains("damaged"));
    let resumed = output(&["run", "--resume", &half]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert!(!stderr(&output(&["show", &half])).contains("damaged"));
}

#[test]
fn lost_details_are_warned_of_because_intervals_follow_from_them() {
    let folder = tempfile::tempdir().unwrap();
    let (run, stored) = (folder.path().join("run"), format!("{}/../../results/h100", env!("CARGO_MANIFEST_DIR")));
    fs::create_dir(&run).unwrap();
    for file in ["run.json", "measurements.csv.gz", "details.csv.gz"] {
        fs::copy(Path::new(&stored).join(file), run.join(file)).unwrap();
    }
    let shown = || stderr(&output(&["show", run.to_str().unwrap()]));
    assert!(!shown().contains("damaged"), "{}", shown());
    let details = read_text(&run.join("details.csv")).unwrap();
    fs::remove_file(run.join("details.csv.gz")).unwrap();
    for left in [details[..details.len() / 2].to_owned(), details.replace("process_ns", "process"), String::new()] {
        fs::write(run.join("details.csv"), left).unwrap();
        assert!(shown().contains("damaged: details.csv lacks"), "{}", shown());
    }
}

#[test]
fn nothing_in_a_file_is_obeyed_by_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let run = changed(folder.path(), "run", |table| table.replace("cpu.atomic.add", "cpu.atomic.\u{1b}[2Jadd"));
    let directory = RunDirectory::open(Path::new(&run)).unwrap();
    let mut content = directory.read_run().unwrap();
    content.machine.cpu.model = "a \u{1b}]0;title\u{7} model".to_owned();
    content.warnings.push("\u{1b}[31mred\u{9b}2J".to_owned());
    directory.write_run(&content).unwrap();
    let shown = output(&["show", &run]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("model") && text.contains("[31mred"), "{text}");
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
    let table = fs::read_to_string(directory.measurements()).unwrap();
    fs::write(directory.measurements(), table.replacen("Resolved", "\u{1b}[2J", 1)).unwrap();
    let refused = stderr(&output(&["show", &run]));
    assert!(refused.contains("[2J") && !refused.contains('\u{1b}'), "{refused:?}");
}

#[test]
fn a_damaged_table_of_orderings_costs_only_itself_and_is_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let run = changed(folder.path(), "run", str::to_owned);
    let file = Path::new(&run).join(ORDERINGS);
    for text in ["[{]", "[[[[", "[{\"operation\": \"x\"}]"] {
        fs::write(&file, text).unwrap();
        let done = output(&["report", &run]);
        assert!(done.status.success() && stderr(&done).contains("the table of orderings is left out"), "{text}");
        let page = fs::read_to_string(Path::new(&run).join("report.html")).unwrap();
        assert!(page.contains("cpu.barrier.std") && !page.contains("Memory orderings</h2>"), "{text}");
    }
    let refused = output(&["report", &run, "-o", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert_eq!(fs::read_to_string(file).unwrap(), "[{\"operation\": \"x\"}]");
}
