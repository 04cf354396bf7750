//! The tables of the experiments of papers. The first byte names the table.

#![no_main]

use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use syncscope_core::Run;
use syncscope_fuzz::FOLDER;
use syncscope_papers::EXPERIMENTS;

/// Tables are only read next to the first table of their experiment, which is written empty for this.
const FIRST: [&str; 3] = ["crosscheck.csv", "asynchrony.csv", "timeline.csv"];

const TABLES: [&str; 12] = [
    "crosscheck.csv",
    "crosscheck_samples.csv",
    "asynchrony.csv",
    "asynchrony_classes.csv",
    "asynchrony_neighbours.csv",
    "asynchrony_launches.csv",
    "asynchrony_arrivals.csv",
    "timeline.csv",
    "timeline_figures.csv",
    "timeline_edits.csv",
    "timeline_code.csv",
    "timeline_clocks.csv",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((table, bytes)) = bytes.split_first() else { return };
    let name = TABLES[usize::from(*table) % TABLES.len()];
    FOLDER.with(|folder| {
        let first = FIRST.into_iter().find(|first| name.starts_with(first.trim_end_matches(".csv")));
        first.into_iter().for_each(|first| folder.write(first, b""));
        folder.write(name, bytes);
        for experiment in EXPERIMENTS {
            let run = Run::new(experiment.name, SystemTime::UNIX_EPOCH);
            let found = (experiment.read)(&folder.directory(), &run, &mut Vec::new());
            // Draw what was read.
            found.into_iter().flatten().for_each(|found| drop(found.to_string()));
        }
        first.into_iter().chain([name]).for_each(|name| folder.remove(name));
    });
});
