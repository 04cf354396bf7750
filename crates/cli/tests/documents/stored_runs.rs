//! What results/README.md says of the stored runs.

use std::collections::BTreeSet;
use std::fs;

use crate::pages::root;

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
