//! The card with sums within a warp.

use syncscope_core::published::reductions::{Reductions, WarpRow};

use super::super::parts;

pub(super) fn card(found: &Reductions) -> String {
    let line = |row: &WarpRow| {
        let interval = row.cycles_low.zip(row.cycles_high);
        vec![
            row.method.title().to_owned(),
            row.threads.to_string(),
            row.cycles.map_or_else(String::new, |cycles| format!("{cycles:.1}")),
            interval.map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}")),
            row.evidence.clone().unwrap_or_default(),
            row.reason.clone().unwrap_or_default(),
        ]
    };
    let lines: Vec<Vec<String>> = found.warps.iter().map(line).collect();
    let headings = ["how", "threads of the block", "cycles", "95 % interval", "instructions of one sum", "remark"];
    let note = parts::paragraph(
        "Each sum depends on the one before. The figures of the paper show which threads wait for each other; the values go \
         through shared memory. Where the mask of a barrier differs between threads, the compiler adds a check of the mask \
         (MATCH.ANY) to each of them.",
    );
    parts::card(
        "Sums within a warp",
        "Zhang, Wahib and Matsuoka, figures 3 and 4",
        &format!("{note}{}", parts::table(&headings, &lines)),
    )
}
