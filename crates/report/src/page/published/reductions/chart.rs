//! Time against size for the variants of one class.

use syncscope_core::published::reductions::variants::of_class;
use syncscope_core::published::reductions::{Class, Operation, ReductionRow};

use super::super::svg::{Axis, COLOURS, Chart, Point};
use crate::reductions::on;

/// Time against size for the maximum.
pub(super) fn chart(class: Class, rows: &[&ReductionRow]) -> String {
    let measured: Vec<&&ReductionRow> =
        rows.iter().filter(|row| row.operation == Operation::Max && row.usable_ns().is_some()).collect();
    let extremes = |value: fn(&ReductionRow) -> f64| {
        let values = measured.iter().map(|row| value(row));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (x_low, x_high) = extremes(|row| row.elements as f64);
    let (y_low, y_high) = extremes(|row| row.ns.unwrap_or(f64::NAN) / 1000.0);
    let x = Axis::logarithmic("elements", x_low, x_high);
    let y = Axis::logarithmic("microseconds", y_low, y_high);
    let mut chart = Chart::new(&format!("{}: time against size", class.title()), (760, 340), x, y);
    let drawn = || of_class(class).filter(|variant| is_drawn(variant.id));
    let mut counts: Vec<Option<u32>> = measured.iter().map(|row| row.devices).collect();
    counts.sort_unstable();
    counts.dedup();
    let lines = counts.into_iter().flat_map(|devices| drawn().map(move |variant| (variant, devices)));
    for (colour, (variant, devices)) in lines.take(COLOURS).enumerate() {
        let of_variant = measured.iter().filter(|row| row.variant == variant.id && row.devices == devices);
        let point = |row: &ReductionRow| {
            let us = |ns: Option<f64>| ns.unwrap_or(f64::NAN) / 1000.0;
            Point { x: row.elements as f64, y: us(row.ns), interval: Some((us(row.ns_low), us(row.ns_high))) }
        };
        let points: Vec<Point> = of_variant.map(|row| point(row)).collect();
        if points.is_empty() {
            continue;
        }
        chart.line(&points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>(), colour);
        chart.points(&points, colour);
        chart.legend(colour, &format!("{}{}", variant.name, on(class, devices)));
    }
    chart.finish()
}

/// Variants that differ from a drawn one by the launch or the kind of barrier alone are in the table.
fn is_drawn(id: &str) -> bool {
    ![
        "device.last_block",
        "device.grid_counter",
        "device.grid_lock_free",
        "device.atomic_queued",
        "device.grid_queued",
        "device.grid_graph_chain",
        "device.graph",
        "cpu.tree_tree",
        "cpu.openmp_critical",
        "cpu.tree_openmp",
    ]
    .contains(&id)
}
