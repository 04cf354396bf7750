//! Everything that a report says about rows of somebody else: page, tables, comparison, findings, advice, gallery, fleet.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_fuzz::FOLDER;
use syncscope_report::gallery::Entry;
use syncscope_report::{Fleet, Need, Question, RunData, advise, compare, export, findings, gallery, page, table};

fuzz_target!(|bytes: &[u8]| {
    FOLDER.with(|folder| {
        folder.write("measurements.csv", bytes);
        let Ok(data) = RunData::load(folder.path()) else { return };
        if data.rows.is_empty() {
            return;
        }
        let html = page::render(std::slice::from_ref(&data), &[]);
        assert!(html.contains("</html>"));
        let _ = (table::summary(&data, &[], 80, false), export::rows::as_markdown(&data), export::rows::as_json(&data));
        let _ = (findings(&data), export::trackers::as_bmf(&data), export::trackers::as_github(&data));
        let comparison = compare(&data, &data, 0.05, &|_| 0.01);
        let _ = (export::comparison::for_terminal(&comparison, 60), export::comparison::as_json(&comparison));
        for need in Need::ALL {
            let question = Question { threads: None, on: None };
            let answers = advise(&data, &[], need, question);
            let _ = export::advice::for_terminal(&data, &answers, 60);
        }
        let mut fleet = Fleet::default();
        for _ in 0..3 {
            fleet.add(&data, &|_| 0.01);
        }
        let _ = fleet.examine(0.05).map(|fleet| export::fleet::as_json(&fleet));
        let _ = gallery::render(&[Entry { data, page: None }], None, &|_| 0.01);
    });
});
