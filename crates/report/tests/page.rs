//! Tests the page as a file: it holds all data, and the text of a run does not become markup.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

mod synthetic;

use serde_json::Value;
use syncscope_core::Group;
use syncscope_core::run::columns::COLUMNS;
use syncscope_core::{Case, Detail, Primitive, Row, Verdict};
use syncscope_report::{RunData, page};

/// The data in the page, as a browser parses it.
fn embedded(html: &str) -> Value {
    let start = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").unwrap();
    serde_json::from_str(&html[start..end]).unwrap()
}

/// A cell of a row, as the scripts of the page read it.
fn cell(data: &Value, run: usize, column: &str, row: usize) -> Value {
    let index = data["columns"].as_array().unwrap().iter().position(|name| name == column).unwrap();
    let cells = &data["runs"][run]["columns"][index];
    match cells {
        Value::Object(words) if words["at"][row].is_null() => Value::Null,
        Value::Object(words) => words["words"][usize::try_from(words["at"][row].as_u64().unwrap()).unwrap()].clone(),
        Value::Array(numbers) => numbers[row].clone(),
        _ => Value::Null,
    }
}

#[test]
fn the_cells_of_the_stored_columns_are_in_the_page() {
    let runs = [synthetic::both(), synthetic::wide::complete()].map(|run| run.in_order());
    let data = embedded(&page::render(&runs));
    let stored = data["columns"].as_array().unwrap();
    let is_stored = |name: &str| stored.iter().any(|column| column == name);
    for (at, run) in runs.iter().enumerate() {
        assert_eq!(data["runs"][at]["count"], run.rows.len());
        for (index, row) in run.rows.iter().enumerate() {
            for column in COLUMNS.iter().filter(|column| is_stored(column.name)) {
                let (column, text) = (column.name, column.write(row));
                match cell(&data, at, column, index) {
                    Value::Null => assert_eq!(text, "", "{column}"),
                    Value::String(cell) => assert_eq!(text, cell, "{column}"),
                    cell => assert_eq!(text.parse::<f64>().ok(), cell.as_f64(), "{column}"),
                }
            }
        }
    }
    let others: Vec<&str> = COLUMNS.iter().map(|column| column.name).filter(|name| !is_stored(name)).collect();
    let derived = ["domain", "family", "ops_per_s_thread"];
    assert!(derived.iter().all(|name| others.contains(name)) && others.len() == 9, "{others:?}");
}

#[test]
fn costs_are_numbers_and_words_are_text() {
    let data = embedded(&page::render(&[synthetic::both()]));
    for column in ["threads", "ns", "ns_low", "cycles", "noise", "pairs", "clock_hz"] {
        assert!(cell(&data, 0, column, 0).is_number(), "{column}");
    }
    for column in ["primitive", "dtype", "verdict", "check"] {
        assert!(cell(&data, 0, column, 0).is_string(), "{column}");
    }
}

#[test]
fn ladder_matrix_and_details_name_rows_of_their_run() {
    let run = synthetic::wide::complete().in_order();
    let data = embedded(&page::render(std::slice::from_ref(&run)));
    let ladder = data["ladder"].as_array().unwrap();
    assert!(ladder.len() >= 30, "{} rungs", ladder.len());
    let cpu = ["one core", "two threads", "all threads"].map(|level| format!("CPU: {level}"));
    let gpu = ["warp", "block", "cluster", "device", "system"].map(|level| format!("GPU: {level}"));
    for heading in cpu.into_iter().chain(gpu) {
        assert!(ladder.iter().any(|rung| rung["heading"] == heading), "{heading}");
    }
    let best = ladder.iter().find(|rung| rung["id"] == "grid").unwrap();
    assert!(best["title"].as_str().unwrap().ends_with(": lock_free"), "{best}");
    let row = usize::try_from(best["rows"][0].as_u64().unwrap()).unwrap();
    assert_eq!(run.rows[row].case.primitive, "gpu.grid.lock_free");
    let matrix = &data["runs"][0]["matrix"];
    assert_eq!((matrix["cpus"].as_array().unwrap().len(), &matrix["possible"]), (16, &Value::from(120)));
    let details = data["runs"][0]["details"].as_array().unwrap();
    // The page has only the least and the largest acquisitions of a thread.
    let shown = |details: &Vec<Detail>| {
        let threads = details.iter().filter(|detail| detail.name == "acquisitions_per_s").count();
        details.len() - threads + threads.min(2)
    };
    assert_eq!(details.len(), run.details.values().map(shown).sum::<usize>());
    let decisions = data["runs"][0]["decisions"].as_array().unwrap();
    let sharing = decisions.iter().find(|one| one["id"] == "decide-false-sharing").unwrap()["note"].as_str().unwrap();
    assert_eq!(sharing.matches("at strides of").count(), 3, "{sharing}");
    assert!(sharing.contains("as fast at strides of 8 elements (64 bytes) or more"), "{sharing}");
}

#[test]
fn a_page_of_twelve_thousand_rows_is_small() {
    let run = synthetic::wide::paper();
    assert!(run.rows.len() > 12_000);
    let html = page::render(std::slice::from_ref(&run));
    assert!(html.len() < 4 << 20, "{} bytes for {} rows", html.len(), run.rows.len());
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</script><img src=x onerror=alert(1)><!--{{data}}-->&\u{2028}'\"";
    let mut run = synthetic::run(HOSTILE, Some(HOSTILE));
    run.warnings = vec![HOSTILE.into()];
    run.command = vec![HOSTILE.into()];
    let case = Case { group: Some(Group::of_word(HOSTILE)), ..Case::new("cpu.handoff.futex") };
    let rows = vec![Row { evidence: Some(HOSTILE.into()), ..Row::unmeasured(case, Verdict::Failed(HOSTILE.into())) }];
    let harmless = page::render(&[synthetic::data("harmless", synthetic::run("CPU", Some("GPU")), vec![])]);
    let html = page::render(&[synthetic::data(HOSTILE, run, rows)]);
    assert!(!html.contains("<img"));
    assert_eq!(html.matches("</script>").count(), harmless.matches("</script>").count());
    let data = embedded(&html);
    assert_eq!(data["runs"][0]["name"], HOSTILE);
    assert_eq!(data["runs"][0]["run"]["warnings"][0], HOSTILE);
    assert_eq!(cell(&data, 0, "group", 0), HOSTILE);
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
fn runs_of_equal_machines_have_distinct_labels() {
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
fn the_ladder_shows_default_forms() {
    let mut run = synthetic::both();
    run.rows.reverse();
    let run = run.in_order();
    let data = embedded(&page::render(std::slice::from_ref(&run)));
    assert!(run.rows.iter().any(|row| row.case.form.is_some()));
    let rows: Vec<&Row> = data["ladder"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["rows"][0].as_u64())
        .map(|index| &run.rows[usize::try_from(index).unwrap()])
        .collect();
    assert!(rows.len() > 15, "{}", rows.len());
    assert!(rows.iter().all(|row| row.case.form.is_none()));
    // The page has words for every form that a row may have.
    let words = |form: &Value| form[0].as_str().unwrap().to_owned();
    let known: Vec<String> = data["forms"].as_array().unwrap().iter().map(words).collect();
    let forms: Vec<String> = run.rows.iter().filter_map(|row| Some(row.case.form?.to_string())).collect();
    assert!(forms.iter().all(|form| known.contains(form)), "{known:?}");
}

#[test]
fn the_rungs_name_rows_of_their_run() {
    let data = embedded(&page::render(&[synthetic::both(), synthetic::cpu_only()]));
    let rungs = data["ladder"].as_array().unwrap();
    let grid = rungs.iter().find(|rung| rung["id"] == "grid").unwrap();
    assert!(grid["rows"][0].is_u64() && grid["rows"][1].is_null());
}

#[test]
fn primitives_keep_their_colour_where_others_are_missing() {
    const fn primitive(id: &'static str) -> Primitive {
        Primitive {
            id,
            summary: "what it is",
            operation: "one",
            source: "a paper",
            facts: syncscope_core::Facts::of(syncscope_core::Role::Update),
        }
    }
    let catalogue = ["cpu.lock.std_mutex", "cpu.lock.ticket", "cpu.atomic.add", "cpu.lock.mcs"].map(primitive);
    let row = |id: &str| Row::unmeasured(Case::new(id), Verdict::Resolved);
    let data = |ids: &[&str]| {
        let rows = ids.iter().map(|id| row(id)).collect();
        let data = synthetic::data("run", synthetic::run("CPU", None), rows);
        let catalogue = std::sync::Arc::new(catalogue.into_iter().collect());
        embedded(&page::render(&[syncscope_report::RunData { catalogue, ..data }]))
    };
    let all = data(&["cpu.lock.mcs", "cpu.lock.ticket", "cpu.lock.std_mutex", "cpu.lock.older"]);
    let few = data(&["cpu.lock.mcs"]);
    let colours = |data: &Value| -> Vec<(String, u64)> {
        let primitives = data["primitives"].as_array().unwrap().iter();
        primitives.map(|one| (one["id"].as_str().unwrap().to_owned(), one["colour"].as_u64().unwrap())).collect()
    };
    let expected = [("cpu.lock.std_mutex", 0), ("cpu.lock.ticket", 1), ("cpu.lock.mcs", 2), ("cpu.lock.older", 3)];
    assert_eq!(colours(&all), expected.map(|(id, colour)| (id.to_owned(), colour)));
    assert_eq!(colours(&few), [("cpu.lock.mcs".to_owned(), 2)]);
    assert_eq!(few["primitives"][0]["source"], "a paper");
    assert_eq!(all["primitives"][3]["summary"], "", "a name of another version has no meaning here");
}

#[test]
fn a_page_of_cpu_rows_is_not_titled_with_the_gpu() {
    let title = |primitive: &str| {
        let rows = vec![Row::unmeasured(Case::new(primitive), Verdict::Resolved)];
        let html = page::render(&[synthetic::data("run", synthetic::run("CPU", Some("NVIDIA H200")), rows)]);
        html.split("<title>").nth(1).unwrap().split('<').next().unwrap().to_owned()
    };
    assert_eq!(title("cpu.atomic.add"), "syncscope: unnamed CPU");
    assert_eq!(title("gpu.atomic.add"), "syncscope: unnamed CPU + NVIDIA H200");
}

#[test]
fn details_that_no_script_reads_stay_in_their_file() {
    let mut run = synthetic::wide::complete();
    let id = run.rows[0].case.id();
    let shown = ["p50_ns", "jain_index", "measurement_blocks", "smt_interference", "first_copy_ns"];
    let hidden = ["sm_clock_1", "throttle_reasons"];
    run.details = [(id, [&shown[..], &hidden].concat().iter().map(|name| Detail::of_case(name, 1.0)).collect())].into();
    let html = page::render(std::slice::from_ref(&run));
    let data = embedded(&html);
    let names: Vec<&str> =
        data["runs"][0]["details"].as_array().unwrap().iter().map(|detail| detail[1].as_str().unwrap()).collect();
    assert_eq!(names, shown);
    let script = &html[html.rfind("<script>").unwrap()..];
    assert!(shown.iter().all(|name| script.contains(name)) && !hidden.iter().any(|name| script.contains(name)));
}
