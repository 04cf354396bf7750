//! `syncscope compare` and `syncscope show` from the outside, on runs of fakes (`SYNCSCOPE_FAKE`) and on stored runs.

use std::fs;
use std::path::Path;

use crate::common::output;
use syncscope_core::journal::Journal;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::stats::Interval;
use syncscope_core::{Nanoseconds, Row, Run, Verdict};

fn stdout(words: &[&str]) -> String {
    let output = output(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The exit code and the error message, of which there must be exactly one.
fn failure(words: &[&str]) -> (i32, String) {
    let output = output(words);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with("error: ") && text.lines().count() == 1 && output.stdout.is_empty(), "{words:?}: {text}");
    (output.status.code().unwrap(), text)
}

fn run(folder: &Path, name: &str, seed: &str) -> String {
    let out = folder.join(name).to_str().unwrap().to_owned();
    stdout(&["run", "--out", &out, "--seed", seed]);
    out
}

/// A copy of a run with changed rows.
fn copy(of: &str, to: &Path, change: impl Fn(Row) -> Row) -> String {
    let (from, directory) = (RunDirectory::open(Path::new(of)).unwrap(), RunDirectory::create(to).unwrap());
    directory.write_run(&from.read_run().unwrap()).unwrap();
    let mut journal = Journal::open(&directory).unwrap();
    for row in from.read_rows().unwrap() {
        journal.append(&change(row), &[], &[]).unwrap();
    }
    drop(journal);
    // Without the file, no pair counts as missing; the pairs were not copied.
    fs::remove_file(directory.samples()).unwrap();
    to.to_str().unwrap().to_owned()
}

/// The row with its cost multiplied; the interval for another run follows when the copy is read.
fn times(factor: f64, row: Row) -> Row {
    let within = |of: Interval| Interval { low: of.low * factor, high: of.high * factor };
    Row { ns: row.ns.map(|ns| Nanoseconds(ns.value() * factor)), ns_within: row.ns_within.map(within), ..row }
}

/// The row as on a quiet machine: fakes next to other programs may be too noisy to be compared.
fn quiet(row: Row) -> Row {
    let around = |ns: Nanoseconds| Interval { low: 0.999 * ns.value(), high: 1.001 * ns.value() };
    Row {
        ns_within: row.ns.map(around),
        verdict: if row.ns.is_some() { Verdict::Resolved } else { row.verdict },
        ..row
    }
}

fn stored(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name).to_str().unwrap().to_owned()
}

#[test]
fn two_runs_of_one_machine_have_no_certain_change() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (run(folder.path(), "a", "1"), run(folder.path(), "b", "2"));
    // Without a gate, which fails where the fake barrier is too noisy to be compared.
    let text = stdout(&["compare", &a, &b]);
    let summary = text.rsplit("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(summary.starts_with("Of the 12 common cases, none is slower or faster, "), "{text}");
    assert!(summary.contains("same within 5 %") && !summary.contains("only in "), "{text}");
    assert!(text.contains("Same machine and environment"), "{text}");
}

#[test]
fn a_slower_case_is_named_and_fails_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", "1");
    let b = copy(&a, &folder.path().join("b"), |row| {
        let factor = if row.case.primitive == "cpu.lock.std_mutex" { 1.5 } else { 1.0 };
        times(factor, row)
    });
    let words = ["compare", &a, &b, "--fail-on", "slower"];
    let slower = output(&words);
    let text = String::from_utf8(slower.stdout).unwrap();
    assert_eq!(slower.status.code(), Some(3), "{text}");
    assert!(text.contains("Slower in B: 2 cases") && text.contains("cpu.lock.std_mutex"), "{text}");
    assert!(text.contains("Of the 12 common cases, 2 are slower"), "{text}");
    assert_eq!(output(&words[..3]).status.code(), Some(0), "asked for nothing");
    assert_eq!(output(&["compare", &b, &a, "--fail-on", "slower"]).status.code(), Some(0), "faster");
    assert_eq!(output(&[&words[..], &["--threshold", "60%"]].concat()).status.code(), Some(0), "50 % are within 60 %");
    let rest = output(&[&words[..], &["--only", "cpu.atomic.*"]].concat());
    assert_eq!(rest.status.code(), Some(0), "the locks are left out");
}

/// Cases that failed in B, or all cases, were not compared; cases that are noisy in both are usual.
#[test]
fn a_gate_fails_on_what_it_could_not_compare() {
    let folder = tempfile::tempdir().unwrap();
    let a = copy(&run(folder.path(), "measured", "1"), &folder.path().join("a"), quiet);
    let changed = |name: &str, of: &str, verdict: fn() -> Verdict| {
        copy(&a, &folder.path().join(name), |row| {
            if row.case.primitive.starts_with(of) { Row::unmeasured(row.case, verdict()) } else { row }
        })
    };
    let failed = changed("failed", "cpu.lock.std_mutex", || Verdict::Failed("check failed: 1 of 2".to_owned()));
    let gone = changed("gone", "", || Verdict::Elided("both are equal".to_owned()));
    let some = changed("some", "cpu.lock.std_mutex", || Verdict::Elided("both are equal".to_owned()));
    for (b, code, said) in
        [(&failed, 1, "could not decide"), (&gone, 1, "no case to compare"), (&some, 0, "not compared")]
    {
        let both = output(&["compare", &a, b, "--fail-on", "slower"]);
        let text = String::from_utf8_lossy(&both.stderr).into_owned();
        assert_eq!(both.status.code(), Some(code), "{b}: {text}");
        assert!(text.contains(said), "{b}: {text}");
        assert_eq!(output(&["compare", &a, b]).status.code(), Some(0), "asked for nothing");
    }
}

/// Rows that B has lost do not count as equal, and cases that it never planned are named.
#[test]
fn a_gate_passes_no_rows_that_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let a = copy(&run(folder.path(), "measured", "1"), &folder.path().join("a"), quiet);
    let b = copy(&a, &folder.path().join("b"), |row| row);
    let directory = RunDirectory::open(Path::new(&b)).unwrap();
    let whole = fs::read_to_string(directory.measurements()).unwrap();
    let kept: Vec<&str> = whole.lines().filter(|line| !line.contains("cpu.lock.")).collect();
    fs::write(directory.measurements(), kept.join("\n") + "\n").unwrap();
    let gate = || {
        let output = output(&["compare", &a, &b, "--fail-on", "slower"]);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = gate();
    assert!(code == 1 && text.contains("could not decide") && text.contains("B is damaged: "), "{code} {text}");
    let planned = kept.len() as u64 - 1;
    directory.write_run(&Run { planned, ..directory.read_run().unwrap() }).unwrap();
    let (code, text) = gate();
    let missing = whole.lines().count() - kept.len();
    assert!(code == 0 && text.contains(&format!("not in B: {missing} case")), "{code} {text}");
}

#[test]
fn every_format_has_the_same_counts() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", "1");
    let b = copy(&a, &folder.path().join("b"), |row| times(0.5, row));
    let formatted = |format: &str| stdout(&["compare", &a, &b, "--format", format]);
    let json: serde_json::Value = serde_json::from_str(&formatted("json")).unwrap();
    let faster = json["changes"]["faster"].as_u64().unwrap();
    assert!(faster >= 5, "{}", json["changes"]);
    let top = &json["cases"][0];
    assert_eq!((&top["change"], &top["a_verdict"]), (&"faster".into(), &"Resolved".into()));
    // A table holds seven digits of a cost.
    assert!((top["ratio"].as_f64().unwrap() - 0.5).abs() < 1e-6, "{top}");
    assert!(top["ratio_low"].as_f64().unwrap() < 0.5 && top["ratio_high"].as_f64().unwrap() > 0.5, "{top}");
    let csv = formatted("csv");
    let lines: Vec<csv::StringRecord> =
        csv::Reader::from_reader(csv.as_bytes()).into_records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 12, "every case, changed or not");
    assert_eq!(lines.iter().filter(|line| line.iter().any(|cell| cell == "faster")).count() as u64, faster);
    let markdown = formatted("markdown");
    // Noisy rows, of which the fakes have some, are listed without a ratio.
    let (_, listed) = markdown.split_once("### Faster").unwrap();
    let is_case = |line: &&str| line.starts_with("| 0.500 |") || line.starts_with("| – |");
    assert_eq!(
        listed.lines().take_while(|line| !line.starts_with('#')).filter(is_case).count() as u64,
        faster,
        "{markdown}"
    );
    assert!(
        markdown.starts_with(&format!("**Of the 12 common cases, none is slower, {faster} are faster")),
        "{markdown}"
    );
}

#[test]
fn what_cannot_be_compared_is_one_line_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let a = run(folder.path(), "a", "1");
    let empty = folder.path().join("empty").to_str().unwrap().to_owned();
    fs::create_dir(&empty).unwrap();
    let newer = copy(&a, &folder.path().join("newer"), |row| row);
    let run_json = Path::new(&newer).join("run.json");
    let text = fs::read_to_string(&run_json).unwrap().replace("\"schema\": 1", "\"schema\": 99");
    fs::write(&run_json, text).unwrap();
    let other = copy(&a, &folder.path().join("other"), |mut row| {
        row.case.threads = row.case.threads.map(|count| count + 1000);
        row
    });
    let experiment = copy(&a, &folder.path().join("experiment"), |row| row);
    let run_json = Path::new(&experiment).join("run.json");
    let text = fs::read_to_string(&run_json).unwrap().replace("\"preset\": \"quick\"", "\"preset\": \"crosscheck\"");
    fs::write(&run_json, text).unwrap();
    fs::remove_file(Path::new(&experiment).join("measurements.csv")).unwrap();
    let roundabout = format!("{empty}/../a");
    let wrong: &[(&[&str], i32, &str)] = &[
        (&["compare", &a, &empty], 2, "no run"),
        (&["compare", "/nowhere", &a], 2, "no run"),
        (&["compare", folder.path().to_str().unwrap(), &a], 2, "is a folder of runs; name one"),
        (&["compare", &a, &newer], 1, "layout 99"),
        (&["compare", &a, &a], 2, "same directory"),
        (&["compare", &a, &roundabout], 2, "same directory"),
        (&["compare", &a, &other], 1, "no case in common (12 rows in A, 12 rows in B)"),
        (&["compare", &a], 2, "name the other run: ./syncscope-runs holds none"),
        (&["compare", &a, &other, "--threshold", "five"], 2, "such as 5%"),
        (&["compare", &a, &other, "--threshold=-1%"], 2, "such as 5%"),
        (&["compare", &a, &other, "--only", "gpu.*"], 2, "matches no row"),
        (&["compare", &a, &experiment], 2, "the experiment crosscheck of a paper, which has no rows"),
        (&["show", &experiment], 2, "syncscope report"),
        (&["show", &empty], 2, "no run"),
        (&["show", &newer], 1, "layout 99"),
        (&["show", &a, "--only", "gpu.*"], 2, "matches no row"),
    ];
    for (words, code, remedy) in wrong {
        let (found, text) = failure(words);
        assert_eq!(found, *code, "{words:?}: {text}");
        assert!(text.contains(remedy), "{words:?}: {text}");
    }
}

#[test]
fn of_two_gpus_of_one_generation_the_cluster_barrier_differs_most() {
    let text = stdout(&["compare", &stored("h100"), &stored("h200"), "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    // The cost of a launch also depends on the host.
    let of_devices = json["cases"].as_array().unwrap().iter().filter(|case| case["family"] != "launch");
    for case in of_devices.take(4) {
        assert_eq!(case["family"], "cluster", "{case}");
        assert!(case["ratio"].as_f64().unwrap() < 0.6, "{case}");
        assert!(!case["remark"].as_str().unwrap().contains("instructions"), "the same instructions: {case}");
    }
    let differences: Vec<&str> =
        json["differences"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(differences[0], "GPU", "{differences:?}");
    let families = json["families"].as_array().unwrap();
    let shuffles = families.iter().find(|family| family["family"] == "gpu.shuffle").unwrap();
    assert_eq!((&shuffles["slower"], &shuffles["faster"]), (&0.into(), &0.into()), "registers are the same");
}

#[test]
fn a_run_is_shown_in_the_same_order_whatever_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (run(folder.path(), "a", "1"), run(folder.path(), "b", "2"));
    let cases = |of: &str, sort: &str| -> Vec<(String, f64)> {
        let text = stdout(&["show", of, "--format", "json", "--sort", sort]);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rows = json["rows"].as_array().unwrap();
        rows.iter()
            .map(|row| (row["case_id"].as_str().unwrap().to_owned(), row["ns"].as_f64().unwrap_or(0.0)))
            .collect()
    };
    let ids = |of: &str| cases(of, "catalogue").into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(&a), ids(&b));
    assert!(cases(&a, "cost")[..5].windows(2).all(|pair| pair[0].1 >= pair[1].1), "{:?}", cases(&a, "cost"));
    let table = |of: &str| stdout(&["show", of]);
    let labels = |text: &str| text.lines().map(|line| line.chars().take(20).collect::<String>()).collect::<Vec<_>>();
    let part = |text: &str| labels(text.split("\n\n").nth(1).unwrap());
    assert_eq!(part(&table(&a)), part(&table(&b)));
    assert!(stdout(&["show", &a, "--only", "cpu.lock.*", "--format", "markdown"]).contains("| cpu.lock.std\\_mutex"));
    let csv = stdout(&["show", &a, "--format", "csv"]);
    assert_eq!(csv.lines().count(), 13);
    assert_eq!(csv.lines().next(), fs::read_to_string(Path::new(&a).join("measurements.csv")).unwrap().lines().next());
}
