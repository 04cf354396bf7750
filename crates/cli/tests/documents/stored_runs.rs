//! What README.md, docs/RESULTS.md and results/README.md say of the stored runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_pages_name_runs_that_are_stored() {
    for page in ["README.md", "docs/RESULTS.md", "results/README.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let folder = root().join(page);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(folder.parent().unwrap().join(link).exists(), "{page} links to {link}");
        }
    }
}

#[test]
fn the_table_of_stored_runs_has_every_run() {
    let results = root().join("results");
    let text = fs::read_to_string(results.join("README.md")).unwrap();
    let run_of = |line: &str| Some(line.strip_prefix("| [")?.split_once("](")?.0.to_owned());
    let named: BTreeSet<String> = text.lines().filter_map(run_of).collect();
    let folders = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    let stored = folders.filter(|folder| folder.join("run.json").is_file());
    let stored: BTreeSet<String> = stored.map(|run| run.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(named, stored);
}

#[test]
fn the_excerpt_of_the_readme_is_what_show_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```text\n").unwrap();
    let (excerpt, _) = rest.split_once("```").unwrap();
    let mut show = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    show.args(["show", "results/h200"]).env("NO_COLOR", "1").env("COLUMNS", "100").current_dir(root());
    let shown = String::from_utf8(show.output().unwrap().stdout).unwrap();
    let shown: Vec<&str> = shown.lines().collect();
    let differ: Vec<&str> = excerpt.lines().filter(|line| !shown.contains(line)).collect();
    assert!(differ.is_empty(), "`syncscope show results/h200` does not print these:\n{}", differ.join("\n"));
    assert!(excerpt.lines().count() > 15);
}
