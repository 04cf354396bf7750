//! The table of the stored runs in results/README.md. `SYNCSCOPE_UPDATE=1 cargo test -p syncscope --test documents stored_runs`
//! writes all of it but the last column.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

use syncscope_core::Run;
use syncscope_core::run_directory::RunDirectory;

use crate::pages::root;

const HEAD: &str = "| run | machine | command | date | commit | time | usable for |\n|---|---|---|---|---|---|---|\n";

/// The command of a run, without paths of its machine.
fn command(run: &Run) -> String {
    let mut words = run.command.iter().skip(1).map(String::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if ["-o", "--out", "--machine"].contains(&word) {
            words.next();
        } else if !word.contains('/') {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// All cells of a run but the last.
fn line(name: &str, run: &Run) -> String {
    let mut machine = vec![format!("{} CPUs", run.machine.cpu.hardware_threads)];
    let gpus = &run.machine.gpus;
    machine.extend(gpus.first().map(|gpu| match gpus.len() {
        1 => gpu.name.clone(),
        count => format!("{count} × {}", gpu.name),
    }));
    let commit = run.tool.as_ref().and_then(|tool| {
        let short: String = tool.commit.as_ref()?.chars().take(8).collect();
        Some(if tool.modified == Some(true) { format!("{short}, modified") } else { short })
    });
    let seconds: f64 = run.sessions.iter().map(|session| session.seconds).sum();
    format!(
        "| [{name}]({name}) | {} | `{}` | {} | {} | {} | ",
        machine.join(", "),
        command(run),
        &run.started[..10],
        commit.unwrap_or_default(),
        if seconds > 0.0 { format!("{seconds:.0} s") } else { String::new() },
    )
}

#[test]
fn the_table_of_stored_runs_is_that_of_their_files() {
    let path = root().join("results/README.md");
    let text = fs::read_to_string(&path).unwrap();
    let is_row = |line: &&str| line.starts_with("| [");
    let usable = |line: &str| {
        let name = line.strip_prefix("| [")?.split_once("](")?.0.to_owned();
        Some((name, line.trim_end_matches(" |").rsplit_once("| ")?.1.to_owned()))
    };
    let usable: BTreeMap<String, String> = text.lines().filter(is_row).filter_map(usable).collect();
    let mut table = HEAD.to_owned();
    let mut folders: Vec<_> =
        fs::read_dir(root().join("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for directory in folders.iter().filter_map(|folder| RunDirectory::open(folder).ok()) {
        let name = directory.path().file_name().and_then(OsStr::to_str).unwrap();
        let judged = usable.get(name).map_or("", String::as_str);
        table += &(line(name, &directory.read_run().unwrap()) + judged + " |\n");
    }
    let start = text.find("| run |").unwrap();
    let end = start + text[start..].find("\n\n").unwrap() + 1;
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, format!("{}{table}{}", &text[..start], &text[end..])).unwrap();
        return;
    }
    assert!(
        text[start..end] == table,
        "the table of results/README.md is out of date; run this test with SYNCSCOPE_UPDATE=1"
    );
    assert!(table.lines().all(|line| !line.ends_with("|  |")), "say what each run is usable for");
}
