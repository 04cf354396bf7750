//! The page as a file: all data is in it, and no text of a run becomes markup.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod synthetic;

use serde_json::Value;
use syncscope_core::{Case, Row, Verdict};
use syncscope_report::{RunData, page};

/// The data a browser would find in the page.
fn embedded(html: &str) -> Value {
    let start = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").unwrap();
    serde_json::from_str(&html[start..end]).unwrap()
}

#[test]
fn every_cell_of_every_row_is_in_the_page() {
    let runs = [synthetic::both(), synthetic::cpu_only()];
    let data = embedded(&page::render(&runs));
    for (run, data) in runs.iter().zip(data["runs"].as_array().unwrap()) {
        let rows = data["rows"].as_array().unwrap();
        assert_eq!(rows.len(), run.rows.len());
        for (row, cells) in run.rows.iter().zip(rows) {
            let record = row.to_record();
            for ((column, text), cell) in Row::COLUMNS.iter().zip(record.iter()).zip(cells.as_array().unwrap()) {
                match cell {
                    Value::Null => assert_eq!(text, "", "{column}"),
                    Value::String(cell) => assert_eq!(text, cell, "{column}"),
                    cell => assert_eq!(text.parse::<f64>().ok(), cell.as_f64(), "{column}"),
                }
            }
        }
    }
    assert_eq!(data["columns"].as_array().unwrap().len(), Row::COLUMNS.len());
}

#[test]
fn costs_are_numbers_and_words_are_text() {
    let data = embedded(&page::render(&[synthetic::both()]));
    let at = |name: &str| Row::COLUMNS.iter().position(|column| *column == name).unwrap();
    let row = &data["runs"][0]["rows"][0];
    for column in ["threads", "ns", "ns_low", "cycles", "noise", "pairs", "clock_hz", "ops_per_s_total"] {
        assert!(row[at(column)].is_number(), "{column}: {}", row[at(column)]);
    }
    for column in ["case_id", "primitive", "dtype", "verdict", "check"] {
        assert!(row[at(column)].is_string(), "{column}");
    }
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</script><img src=x onerror=alert(1)><!--{{data}}-->&\u{2028}'\"";
    let mut run = synthetic::run(HOSTILE, Some(HOSTILE));
    run.warnings = vec![HOSTILE.into()];
    run.command = vec![HOSTILE.into()];
    let case = Case { group: Some(HOSTILE.into()), ..Case::new("cpu.handoff.futex") };
    let rows = vec![Row { evidence: Some(HOSTILE.into()), ..Row::unmeasured(case, Verdict::Failed(HOSTILE.into())) }];
    let calm = page::render(&[synthetic::data("calm", synthetic::run("CPU", Some("GPU")), vec![])]);
    let html = page::render(&[synthetic::data(HOSTILE, run, rows)]);
    assert!(!html.contains("<img"));
    assert_eq!(html.matches("</script>").count(), calm.matches("</script>").count());
    let data = embedded(&html);
    assert_eq!(data["runs"][0]["name"], HOSTILE);
    assert_eq!(data["runs"][0]["run"]["warnings"][0], HOSTILE);
    let group = Row::COLUMNS.iter().position(|column| *column == "group").unwrap();
    assert_eq!(data["runs"][0]["rows"][0][group], HOSTILE);
}

#[test]
fn the_page_needs_no_network() {
    let html = page::render(&[synthetic::both()]);
    for remote in ["src=\"http", "href=\"http", "url(http", "@import", "//cdn"] {
        assert!(!html.contains(remote), "{remote}");
    }
}

#[test]
fn without_scripts_there_is_a_table() {
    let runs = [synthetic::both()];
    let html = page::render(&runs);
    let start = html.find("<noscript>").unwrap();
    let fallback = &html[start..html.find("</noscript>").unwrap()];
    assert_eq!(fallback.matches("<tr>").count(), runs[0].rows.len() + 1);
    assert!(fallback.contains("cpu.atomic.add i32 shared 1 thread"));
    assert!(fallback.contains("expected WARPSYNC, found NOP"));
}

#[test]
fn runs_of_equal_machines_are_told_apart() {
    let labels = |runs: &[RunData]| -> Vec<String> {
        let data = embedded(&page::render(runs));
        data["runs"].as_array().unwrap().iter().map(|run| run["label"].as_str().unwrap().to_owned()).collect()
    };
    let (both, cpu) = (synthetic::both(), synthetic::cpu_only());
    assert_eq!(labels(&[both.clone(), cpu.clone()]), ["AMD EPYC 9274F + NVIDIA H200", "Intel Xeon Platinum 8375C"]);
    let named = RunData { name: "again".into(), ..cpu.clone() };
    assert_eq!(
        labels(&[cpu.clone(), named.clone()]),
        ["Intel Xeon Platinum 8375C · 2026-11-20T11-30-00Z-standard", "Intel Xeon Platinum 8375C · again"]
    );
    let same = labels(&[named.clone(), named]);
    assert_ne!(same[0], same[1]);
}

#[test]
fn the_cards_name_rows_of_their_run() {
    let data = embedded(&page::render(&[synthetic::both(), synthetic::cpu_only()]));
    let highlights = data["highlights"].as_array().unwrap();
    assert_eq!(highlights.len(), 12);
    let grid = highlights.iter().find(|highlight| highlight["title"] == "Grid barrier").unwrap();
    assert!(grid["rows"][0].is_u64() && grid["rows"][1].is_null());
}
