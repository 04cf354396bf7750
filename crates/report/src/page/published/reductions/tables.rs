//! The fastest variant of each size, and the times of all.

use syncscope_core::published::reductions::text::{name, time};
use syncscope_core::published::reductions::{Class, Operation, ReductionRow, Reductions, Winner};

use super::super::parts;
use super::text::{on, size};

/// The fastest variant of each problem of one class, the second and what is not distinguished from it.
pub(super) fn winner_table(class: Class, found: &Reductions, won: &[Winner]) -> String {
    let row = |winner: &Winner| {
        let is_this = |row: &&ReductionRow| {
            row.variant == winner.variant
                && (row.operation, row.elements, row.devices) == (winner.operation, winner.elements, winner.devices)
        };
        let bandwidth = found.times.iter().find(is_this).and_then(|row| row.gb_per_s);
        vec![
            size(winner.elements),
            winner.operation.as_str().to_owned(),
            format!("{}{}", name(&winner.variant), on(class, winner.devices)),
            time(winner.ns),
            bandwidth.map_or_else(String::new, |rate| format!("{rate:.1}")),
            winner.runner_up.as_deref().map_or_else(String::new, name),
            winner.margin.map_or_else(String::new, |margin| format!("{:.1} %", (margin - 1.0) * 100.0)),
            winner.ties.iter().map(|id| name(id)).collect::<Vec<_>>().join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = won.iter().filter(|winner| winner.class == class).map(row).collect();
    let headings = ["elements", "operation", "fastest", "time", "GB/s", "second", "slower by", "not distinguished"];
    parts::table(&headings, &rows)
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
