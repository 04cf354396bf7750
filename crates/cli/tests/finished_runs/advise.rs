//! `syncscope advise` on stored runs and on a run of fakes.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use syncscope_core::run::plain::read_text;

fn syncscope(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    command.args(words).env("SYNCSCOPE_FAKE", "").env("COLUMNS", "100").stdin(Stdio::null()).output().unwrap()
}

fn stdout(words: &[&str]) -> String {
    let output = syncscope(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_unanswered = errors.contains("the run has no rows that answer this");
    assert_eq!(output.status.code(), Some(i32::from(is_unanswered)), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn stored(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name).to_str().unwrap().to_owned()
}

fn advice(words: &[&str]) -> Vec<Value> {
    let value: Value = serde_json::from_str(&stdout(words)).unwrap();
    value["advice"].as_array().unwrap().clone()
}

/// The line below the table speaks of intervals only where there are any.
#[test]
fn the_overview_of_published_figures_has_no_intervals() {
    let last = |run: &str| stdout(&["advise", &stored(run)]).split("\n\n").last().unwrap().replace('\n', " ");
    assert!(last("h200").contains("run-to-run"), "{}", last("h200"));
    let published = last("published-system1");
    assert!(published.contains("no intervals") && !published.contains("run-to-run"), "{published}");
}

#[test]
fn every_need_has_a_line_and_what_is_taken_is_certain() {
    let needs = ["count-events", "protect", "phases", "hand-over", "wait", "reduce", "end-gpu-phase"];
    // Reductions are measured by a separate run.
    let sides = [
        ("count-events", "cpu"),
        ("count-events", "gpu"),
        ("protect", "cpu"),
        ("protect", "gpu"),
        ("phases", "cpu"),
        ("phases", "gpu"),
        ("hand-over", "cpu"),
        ("wait", "cpu"),
        ("wait", "gpu"),
        ("reduce", "cpu"),
        ("end-gpu-phase", "gpu"),
    ];
    let run = stored("h200");
    let lines = advice(&["advise", &run, "--format", "json"]);
    let named: Vec<(&str, &str)> =
        lines.iter().map(|line| (line["need"].as_str().unwrap(), line["on"].as_str().unwrap())).collect();
    assert_eq!(named, sides);
    let mut taken = 0;
    for need in needs {
        for line in advice(&["advise", &run, "--need", need, "--format", "json"]) {
            if line["decision"] != "take" {
                assert!(!line["reason"].as_str().unwrap().is_empty() && line["choice"].is_null(), "{line}");
                continue;
            }
            taken += 1;
            let choice = &line["choice"];
            let next = &choice["next"];
            let ratio = next["ratio"].as_f64().unwrap();
            assert!(next["ratio_low"].as_f64().unwrap() > 1.0, "certainly cheaper: {line}");
            assert!(
                next["ratio_low"].as_f64().unwrap() <= ratio && ratio <= next["ratio_high"].as_f64().unwrap(),
                "{line}"
            );
            let cost = &choice["cost"];
            assert!(cost["ns_low"].as_f64() <= cost["ns"].as_f64() && cost["ns"].as_f64() <= cost["ns_high"].as_f64());
            assert!(
                ["operation", "source", "case"]
                    .iter()
                    .all(|key| choice[key].as_str().is_some_and(|text| !text.is_empty()))
            );
        }
    }
    assert!(taken >= 5, "{taken}");
}

#[test]
fn sides_sizes_and_formats() {
    let run = stored("h200");
    let on_gpu = advice(&["advise", &run, "--need", "phases", "--on", "gpu", "--threads", "32", "--format", "json"]);
    assert!(on_gpu.iter().all(|line| line["on"] == "gpu"), "{on_gpu:?}");
    let missing = advice(&["advise", &run, "--need", "protect", "--on", "cpu", "--threads", "7", "--format", "json"]);
    assert!(
        missing[0]["decision"] == "missing" && missing[0]["reason"].as_str().unwrap().contains("16"),
        "{missing:?}"
    );
    let markdown = stdout(&["advise", &run, "--need", "phases", "--format", "markdown"]);
    assert!(
        markdown.contains("| phases | CPU |")
            && markdown.contains("- warning: waiters spin, so it needs its CPUs to itself"),
        "{markdown}"
    );
    let table = stdout(&["advise", &run, "--on", "gpu"]);
    assert!(!table.contains("cpu.handoff"), "a hand-off between CPU threads is no remedy: {table}");
    let table = stdout(&["advise", &stored("epyc-zen5-2cpu-vm"), "--on", "gpu"]);
    assert!(table.contains("no GPU") && !table.contains("measured by"), "{table}");
    let table = stdout(&["advise", &run, "--need", "phases"]);
    assert!(table.contains("source: "), "{table}");
}

#[test]
fn reductions_advise_from_their_experiment() {
    let lines = advice(&["advise", &stored("h200-standard"), "--need", "reduce", "--format", "json"]);
    let of = |elements: &str| lines.iter().find(|line| line["on"] == "gpu" && line["situation"] == elements).unwrap();
    assert_eq!(of("max of 1,024 to 262,144 elements")["choice"]["id"], "gpu.reduction.atomic_graph_chain");
    let large = of("max of 67,108,864 elements");
    assert!(large["decision"] == "undecided" && large.to_string().contains("atomic_queued"), "{large}");
    let without = advice(&["advise", &stored("h200"), "--need", "reduce", "--format", "json"]);
    assert_eq!(without[0]["decision"], "missing");
}

#[test]
fn imported_figures_decide_where_they_differ_by_a_factor_of_two() {
    let run = stored("published-system3");
    let taken = |line: &Value| line["choice"]["next"]["ratio"].as_f64();
    let ratios: Vec<f64> = advice(&["advise", &run, "--format", "json"]).iter().filter_map(taken).collect();
    assert!(!ratios.is_empty() && ratios.iter().all(|ratio| *ratio >= 2.0), "there are no intervals: {ratios:?}");
}

#[test]
fn errors_say_what_is_wrong() {
    for (options, says) in [
        (&["--need", "speed"][..], "count-events, protect"),
        (&["--for", "1ms"], "add `--need wait`"),
        (&["--need", "reduce", "--threads", "4"], "leave it out"),
    ] {
        let output = syncscope(&[&["advise", &stored("h200")], options].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(says), "{error}");
    }
    let output = syncscope(&["advise", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_newest_run_that_counts_is_not_one_of_measure() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("syncscope-runs");
    for (name, own) in [("1-quick", None), ("2-measure", Some(r#"{"own":[{"id":"cpu.own.line","text":"x"}],"#))] {
        std::fs::create_dir_all(runs.join(name)).unwrap();
        for file in ["run.json", "measurements.csv"] {
            let text = read_text(&Path::new(&stored("h200")).join(file)).unwrap();
            let text = own.filter(|_| file == "run.json").map_or(text.clone(), |own| text.replacen('{', own, 1));
            std::fs::write(runs.join(name).join(file), text).unwrap();
        }
    }
    for (command, run) in [("advise", "1-quick"), ("findings", "1-quick"), ("show", "2-measure")] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_syncscope"));
        let output = program.arg(command).current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && note.contains(run), "{command}: {note}");
    }
}

/// By the time when the runs began: the user may have named some of the folders.
#[test]
fn the_newest_run_is_the_one_that_began_last() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["2026-11-01T00-00-00Z-quick", "baseline", "2026-11-03T00-00-00Z-quick"];
    for (name, day) in names.iter().zip(1..) {
        let to = folder.path().join("syncscope-runs").join(name);
        std::fs::create_dir_all(&to).unwrap();
        let text = read_text(&Path::new(&stored("epyc-zen5-2cpu-vm")).join("run.json")).unwrap();
        std::fs::write(to.join("run.json"), text.replace("2026-11-25T15:47:30Z", &format!("2026-11-0{day}T00:00:00Z")))
            .unwrap();
        std::fs::copy(Path::new(&stored("epyc-zen5-2cpu-vm")).join("measurements.csv"), to.join("measurements.csv"))
            .unwrap();
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    let output = program.args(["compare"]).current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    let latest: Vec<&str> =
        notes.lines().filter_map(|line| line.strip_prefix("note: the latest run: syncscope-runs/")).collect();
    assert_eq!(latest, names[1..], "{notes}");
}
