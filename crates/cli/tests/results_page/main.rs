//! `docs/RESULTS.md` is generated from `docs/results.template.md` and the stored runs, by
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope --test results_page`.
//!
//! Every figure of a run is a query in `{{}}`, which `query` describes; `numerals` holds all other numerals of the template to a
//! list. So no figure of the page can differ from the runs.

#![allow(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

mod claims;
mod format;
mod numerals;
mod query;
mod readme;
mod tables;
mod times;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tables::Runs;

/// Replaces every `{{query}}` of a text. The errors name the queries.
fn fill(template: &str, runs: &Runs) -> Result<String, Vec<String>> {
    let (mut page, mut errors) = (String::new(), Vec::new());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((query, after)) = after.split_once("}}") else {
            errors.push(format!("`{{{{` without an end: {}", after.lines().next().unwrap_or_default()));
            break;
        };
        page.push_str(before);
        match value(query, runs) {
            Ok(text) => page.push_str(&text),
            Err(error) => errors.push(format!("{{{{{query}}}}}: {error}")),
        }
        rest = after;
    }
    page.push_str(rest);
    if errors.is_empty() { Ok(page) } else { Err(errors) }
}

fn value(text: &str, runs: &Runs) -> Result<String, String> {
    match text.trim().strip_prefix("claims ") {
        Some(words) => claims::table(words, runs),
        None => query::answer(text, runs),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn template() -> String {
    fs::read_to_string(root().join("docs/results.template.md")).unwrap()
}

#[test]
fn the_page_of_results_is_up_to_date() {
    let text = template();
    let (_, body) = text.split_once("-->\n").unwrap();
    let page = fill(body, &Runs::new(root().join("results"))).unwrap_or_else(|errors| panic!("{}", errors.join("\n")));
    let path = root().join("docs/RESULTS.md");
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/RESULTS.md is out of date; run this test with SYNCSCOPE_UPDATE=1");
}

#[test]
fn the_table_of_stored_runs_has_every_run_with_its_time() {
    let path = root().join("results/README.md");
    let read = || fs::read_to_string(&path).unwrap();
    let page = times::with_times(&read(), &Runs::new(root().join("results"))).unwrap();
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        read() == page,
        "the times in results/README.md differ from the runs; run this test with SYNCSCOPE_UPDATE=1"
    );
    let named: BTreeSet<String> = page.lines().filter_map(times::run_of).map(str::to_owned).collect();
    let folders = fs::read_dir(root().join("results")).unwrap().map(|entry| entry.unwrap().path());
    let stored = folders.filter(|folder| folder.join("run.json").is_file());
    let stored: BTreeSet<String> =
        stored.map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(named, stored);
}

#[test]
fn every_numeral_outside_queries_is_on_the_list() {
    let text = template();
    let (_, body) = text.split_once("-->\n").unwrap();
    let unknown = numerals::unknown(body);
    assert!(
        unknown.is_empty(),
        "a figure of a run is a query; parameters and the papers' figures are on the list: {unknown:#?}"
    );
    let unused = numerals::unused(body);
    assert!(unused.is_empty(), "on the list and not in the template: {unused:?}");
}

#[test]
fn an_unknown_query_is_an_error_that_names_it() {
    let runs = Runs::new(root().join("results"));
    for (text, part) in [
        ("{{no-such-run gpu.x : ns.1}}", "no-such-run"),
        ("{{h200 gpu.block.syncthreads : cycles.0}}", "4 rows"),
        ("{{h200 gpu.block.syncthreads threads=7 : cycles.0}}", "no row"),
        ("{{h200 gpu.block.syncthreads colour=red : cycles.0}}", "colour"),
        ("{{h200 gpu.block.syncthreads threads=32 blocks=1 : cycles}}", "decimals"),
        ("{{h200", "without an end"),
    ] {
        let errors = fill(text, &runs).unwrap_err();
        assert!(errors.len() == 1 && errors[0].contains(part), "{text}: {errors:?}");
    }
}
