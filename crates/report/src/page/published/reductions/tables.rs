//! The fastest variant of each size, and the times of all.

use syncscope_core::published::reductions::text::name;
use syncscope_core::published::reductions::{Class, Operation, ReductionRow, Reductions, Winner};

use super::super::parts;
use crate::figure::time;
use crate::reductions::{WINNER, on, size, winner_cells};

/// The fastest variant of each problem of one class, the second and what is not distinguished from it.
pub(super) fn winner_table(class: Class, found: &Reductions, won: &[Winner]) -> String {
    let row = |winner: &Winner| {
        let ties = winner.ties.iter().map(|id| name(id)).collect::<Vec<_>>().join(", ");
        winner_cells(found, winner).into_iter().chain([ties]).collect()
    };
    let rows: Vec<Vec<String>> = won.iter().filter(|winner| winner.class == class).map(row).collect();
    parts::table(&[&WINNER[..], &["not distinguished"]].concat(), &rows)
}

/// A line for each variant, a column for each size; nothing if the operation was not measured.
pub(super) fn times_table(operation: Operation, rows: &[&ReductionRow]) -> String {
    let of_operation: Vec<&&ReductionRow> = rows.iter().filter(|row| row.operation == operation).collect();
    let mut sizes: Vec<u64> = of_operation.iter().map(|row| row.elements).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // What has no time need not have a number of devices.
    let mut variants: Vec<(Class, &str, Option<u32>)> = Vec::new();
    for row in of_operation.iter().filter(|row| row.usable_ns().is_some()) {
        let variant = (row.class, row.variant.as_str(), row.devices);
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    if variants.is_empty() {
        return String::new();
    }
    let cell = |id: &str, devices: Option<u32>, elements: u64| {
        let is_this = |row: &&&&ReductionRow| row.variant == id && row.devices == devices && row.elements == elements;
        let row = of_operation.iter().find(is_this);
        row.and_then(|row| row.usable_ns()).map_or_else(|| "–".to_owned(), time)
    };
    let line = |(class, id, devices): &(Class, &str, Option<u32>)| {
        let times = sizes.iter().map(|elements| cell(id, *devices, *elements));
        std::iter::once(format!("{}{}", name(id), on(*class, *devices))).chain(times).collect::<Vec<String>>()
    };
    let lines: Vec<Vec<String>> = variants.iter().map(line).collect();
    let headings: Vec<String> =
        std::iter::once(operation.as_str().to_owned()).chain(sizes.iter().map(|elements| size(*elements))).collect();
    parts::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &lines)
}
