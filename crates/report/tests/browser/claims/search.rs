//! Checks what people type into the filter of a stored run against the first row it must find.

use std::fmt::Write;
use std::path::PathBuf;

use syncscope_report::RunData;

use super::{DESKTOP, synthetic};
use crate::chromium::open_and;

/// Queries, and the beginning of the first row's name; `|` separates alternatives.
const QUERIES: &str = include_str!("queries.txt");

#[test]
fn no_query_ends_empty_and_the_first_row_is_what_was_meant() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", "h200"].iter().collect();
    let data = RunData::load(&path, synthetic::catalogue()).unwrap();
    let queries: Vec<(&str, &str)> = QUERIES.lines().filter_map(|line| line.split_once(" => ")).collect();
    assert!(queries.len() >= 99, "{}", queries.len());
    let words: Vec<&str> = queries.iter().map(|(query, _)| *query).collect();
    let script = format!(
        "const input = page.querySelector('#rows input[type=search]');
        const type = (query) => {{
            input.value = query;
            input.dispatchEvent(new Event('input'));
            const first = page.querySelector('#rows tbody th .primitive');
            return first ? first.textContent : 'nothing';
        }};
        root.dataset.first = {words:?}.map(type).join('|');
        type('__syncthreads 200');
        root.dataset.missing = page.querySelector('#rows p[role=status]').textContent;
        const address = () => page.defaultView.location.hash;
        for (let turn = 0; turn < 200 && !address().endsWith('200'); turn++) await wait(50);
        root.dataset.address = address();"
    );
    let Some((counts, _)) = open_and(&[data], DESKTOP, &script) else { return };
    let mut wrong = String::new();
    for ((query, meant), first) in queries.iter().zip(counts["first"].split('|')) {
        if !meant.split('|').any(|start| first.starts_with(start)) {
            writeln!(wrong, "{query}: {first}, not {meant}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let missing = &counts["missing"];
    assert!(missing.starts_with("No such row has threads 200; this run has 64, 128, 256 and 512."), "{missing}");
    assert!(missing.contains("syncscope run --only gpu.block.syncthreads --threads 200"), "{missing}");
    assert_eq!(counts["address"], "#rows?q=__syncthreads+200");
}
