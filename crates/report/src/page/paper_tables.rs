//! The section with tables and figure 11 of Zhang, Wahib and Matsuoka, next to the figures of the runs.

use std::collections::BTreeSet;

use syncscope_core::units::plural;

use crate::analysis::paper_tables::{DeviceLine, PaperTable, over_devices, tables};
use crate::section::{self, Part, Table};
use crate::{Axis, Chart, Point, RunData, Series, figure, naming};

/// The section; empty if no run has rows for any table.
pub(super) fn section(runs: &[RunData], labels: &[String]) -> String {
    let with_cards = labels.iter().zip(runs.iter().map(cards)).filter(|(_, own)| !own.is_empty());
    let drawn: Vec<(&str, String)> = with_cards.map(|(label, own)| (label.as_str(), section::html(&own))).collect();
    let lead = "V100 and P100 figures from Zhang, Wahib and Matsuoka, <cite>A Study of Synchronization Methods in \
                Modern GPUs</cite>, next to those of this run. Runs with several shapes have heat maps like figures \
                8 to 10 of the paper.";
    section::of_runs("tables", "Tables of a paper", lead, &drawn, runs.len() > 1)
}

fn cards(data: &RunData) -> Vec<Part> {
    let card = |one: PaperTable| {
        let table = Table { headings: one.headings, rows: one.lines };
        Part::card(one.title, "", vec![Part::Table(table), Part::paragraph(one.note)])
    };
    let mut cards: Vec<Part> = tables(data).into_iter().map(card).collect();
    let lines = over_devices(data);
    if !lines.is_empty() {
        cards.push(Part::card("Figure 11: barriers over the number of devices", "", figure_11(&lines)));
    }
    cards
}

fn figure_11(lines: &[DeviceLine]) -> Vec<Part> {
    let counts = counts(lines);
    let mut primitives: Vec<&str> = lines.iter().map(|line| line.primitive.as_str()).collect();
    primitives.dedup();
    let charts: Vec<Chart> = primitives.iter().map(|primitive| chart(lines, primitive, &counts)).collect();
    let note = "The shapes (blocks per multiprocessor × threads per block) are the paper's fastest, general-purpose and slowest; the \
                slowest is 32 × 64 or, if that was not measured, the largest measured block of fewer than 64 threads. In the paper, two V100s \
                took 6.0 µs at 1 × 32, and up to five took about as long.";
    vec![
        Part::Charts(charts),
        Part::paragraph(note),
        Part::Folded("The figures".to_owned(), vec![figures(lines, &counts)]),
    ]
}

/// The most numbers of devices that become columns of the table.
const MOST_COUNTS: usize = 16;

/// The numbers of devices to show: every number from 1, as in the paper, or only the measured ones if that is too many.
fn counts(lines: &[DeviceLine]) -> Vec<u32> {
    let measured: BTreeSet<u32> = lines.iter().flat_map(|line| &line.points).map(|(devices, ..)| *devices).collect();
    let most = measured.last().copied().unwrap_or(1);
    if most as usize <= MOST_COUNTS { (1..=most).collect() } else { measured.into_iter().take(MOST_COUNTS).collect() }
}

/// A chart of one barrier's shapes. All charts share one vertical axis.
fn chart(lines: &[DeviceLine], primitive: &str, counts: &[u32]) -> Chart {
    let ends = lines.iter().flat_map(|line| &line.points).flat_map(|(_, _, (low, high))| [*low, *high]);
    let (low, high) = figure::extremes(ends.filter(|end| *end > 0.0)).unwrap_or((f64::INFINITY, 0.0));
    let series = |(colour, line): (usize, &DeviceLine)| {
        let point = |(devices, us, interval): &(u32, f64, (f64, f64))| {
            let tip = format!("{}, {}: {us:.2} µs", line.shape, plural(*devices, "device"));
            Point::plain(f64::from(*devices), *us, Some(*interval), tip)
        };
        Series::plain(&line.shape, colour, line.points.iter().map(point).collect())
    };
    let series = lines.iter().filter(|line| line.primitive == primitive).enumerate().map(series).collect();
    let most = lines.iter().flat_map(|line| &line.points).map(|(devices, ..)| *devices).max().unwrap_or(1);
    let x = Axis::count("devices", 1.0, f64::from(most)).at(counts.iter().copied().map(f64::from).collect());
    Chart::lines(primitive, x, Axis::plain("µs", low, high).logarithmic(), series)
}

fn figures(lines: &[DeviceLine], counts: &[u32]) -> Part {
    let names: Vec<String> = counts.iter().map(|count| naming::plural(*count, "device")).collect();
    let headings: Vec<&str> = std::iter::once("barrier").chain(names.iter().map(String::as_str)).collect();
    let line = |line: &DeviceLine| {
        let of = |devices: &u32| {
            let point = line.points.iter().find(|(count, ..)| count == devices);
            point.map_or_else(|| "–".to_owned(), |(_, us, (low, high))| format!("{us:.2} µs ({low:.2} to {high:.2})"))
        };
        std::iter::once(format!("{}, {}", line.primitive, line.shape)).chain(counts.iter().map(of)).collect()
    };
    Part::table(&headings, lines.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_over_devices_is_drawn_and_written() {
        let line = DeviceLine {
            primitive: "flags".into(),
            shape: "1 × 32".into(),
            points: vec![(1, 1.8, (1.7, 1.9)), (2, 2.2, (2.1, 2.3)), (4, 2.4, (2.3, 2.5))],
        };
        let html = section::html(&figure_11(&[line])).replace('\u{a0}', " ");
        assert!(
            html.contains("\"title\":\"flags\"")
                && html.contains("flags, 1 × 32")
                && html.contains(">2.20 µs (2.10 to 2.30)<"),
            "{html}"
        );
        assert_eq!(html.matches("\"state\":\"resolved\"").count(), 3);
        assert!(html.contains(">3 devices<") && html.contains(">–<"), "three devices were not measured");
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    }
}
