//! The card with what a kernel boundary costs in a stream and in a graph, beside the barrier of a grid.

use syncscope_core::published::reductions::ReductionRow;
use syncscope_core::published::reductions::boundary::{Boundary, Difference, LaunchedBy, boundaries};

use super::super::parts;
use super::super::svg::{Axis, Chart, Point};
use crate::figure::time;
use crate::reductions::size;

/// Nothing where no variant with a barrier stands beside one without, launched alike.
pub(super) fn card(rows: &[ReductionRow]) -> String {
    let found = boundaries(rows);
    if found.is_empty() {
        return String::new();
    }
    let note = parts::paragraph(
        "Partial results of blocks can be joined behind a barrier: by a second kernel, or behind the barrier of the grid. The \
         figures are the time that takes more than one atomic operation of each block, launched in the same way. Where kernels \
         are queued while others run, they include the time of the host; where they are queued first, they do not.",
    );
    let content = format!("{note}{}{}", chart(&found), table(&found));
    parts::card(
        "What a kernel boundary costs",
        "difference to one atomic operation of each block, 95 % interval",
        &content,
    )
}

/// A barrier, by what is launched how.
type Figure = (LaunchedBy, bool);

const fn figure(boundary: &Boundary, is_grid: bool) -> Option<Difference> {
    if is_grid { boundary.grid } else { boundary.kernel }
}

fn title((launched_by, is_grid): Figure) -> String {
    let what = if is_grid { "grid barrier" } else { "end of a kernel" };
    format!("{what}, {}", launched_by.title())
}

fn figures() -> impl Iterator<Item = Figure> {
    [false, true].into_iter().flat_map(|is_grid| LaunchedBy::ALL.into_iter().map(move |by| (by, is_grid)))
}

/// The figures of sizes at which a barrier is no small part of the time: where the difference is certainly above zero.
fn points(found: &[Boundary], (launched_by, is_grid): Figure) -> Vec<Point> {
    let of_figure = found.iter().filter(|boundary| boundary.launched_by == launched_by);
    let point = |boundary: &Boundary| {
        let Difference { ns, half_width_ns } = figure(boundary, is_grid)?;
        let width = half_width_ns.unwrap_or(0.0);
        let us = |ns: f64| ns / 1000.0;
        let interval = Some((us(ns - width), us(ns + width)));
        (ns > width).then_some(Point { x: boundary.elements as f64, y: us(ns), interval })
    };
    of_figure.filter_map(point).collect()
}

fn chart(found: &[Boundary]) -> String {
    let lines: Vec<(Figure, Vec<Point>)> = figures().map(|figure| (figure, points(found, figure))).collect();
    let all = || lines.iter().flat_map(|(_, points)| points);
    let ends = |value: fn(&Point) -> f64| {
        all()
            .map(value)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    if all().next().is_none() {
        return String::new();
    }
    let (x, y) = (ends(|point| point.x), ends(|point| point.y));
    let x = Axis::logarithmic("elements", x.0, x.1);
    let y = Axis::linear("microseconds more", 0.0, y.1);
    let mut chart = Chart::new("What a kernel boundary costs: difference against size", (760, 300), x, y);
    for (colour, (figure, points)) in lines.iter().enumerate().filter(|(_, (_, points))| !points.is_empty()) {
        chart.line(&points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>(), colour);
        chart.points(points, colour);
        chart.legend(colour, &title(*figure));
    }
    chart.finish()
}

fn table(found: &[Boundary]) -> String {
    let mut sizes: Vec<u64> = found.iter().map(|boundary| boundary.elements).collect();
    sizes.dedup();
    let cell = |elements: u64, (launched_by, is_grid): Figure| {
        let mut of_size = found.iter().filter(|boundary| boundary.elements == elements);
        let found = of_size.find(|boundary| boundary.launched_by == launched_by);
        let difference = found.and_then(|boundary| figure(boundary, is_grid));
        difference.map_or_else(
            || "–".to_owned(),
            |Difference { ns, half_width_ns }| match half_width_ns {
                Some(width) => format!("{} ± {}", time(ns), time(width)),
                None => time(ns),
            },
        )
    };
    let line = |of: Figure| {
        let cells = sizes.iter().map(|elements| cell(*elements, of));
        std::iter::once(title(of)).chain(cells).collect::<Vec<String>>()
    };
    let lines: Vec<Vec<String>> = figures().map(line).filter(|line| line[1..].iter().any(|cell| cell != "–")).collect();
    let headings: Vec<String> =
        std::iter::once("barrier".to_owned()).chain(sizes.iter().map(|elements| size(*elements))).collect();
    parts::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::published::reductions::{Operation, variant};

    fn row(id: &str, elements: u64, ns: f64) -> ReductionRow {
        let row = ReductionRow::unmeasured(variant(id).unwrap(), Operation::Max, elements, String::new());
        ReductionRow { check: Some(true), reason: None, ..row }.with_times(&[ns - 30.0, ns, ns + 30.0], 8)
    }

    #[test]
    fn each_barrier_has_a_line_with_what_it_costs_more() {
        let rows = [
            row("device.atomic_queued", 1 << 10, 2000.0),
            row("device.kernel_boundary_queued", 1 << 10, 3500.0),
            row("device.atomic_graph_chain", 1 << 10, 1300.0),
            row("device.graph_chain", 1 << 10, 2500.0),
            row("device.atomic_graph_chain", 1 << 12, 1300.0),
            row("device.grid_graph_chain", 1 << 12, 2800.0),
        ];
        let html = card(&rows);
        assert!(html.contains("end of a kernel, stream, queued first") && html.contains("1.50 µs ± 42"), "{html}");
        assert!(html.contains("end of a kernel, one graph") && html.contains("1.20 µs ± 42"), "{html}");
        assert!(html.contains("grid barrier, one graph"), "{html}");
        assert!(!html.contains("queued while kernels run</t") && !html.contains("grid barrier, stream"), "{html}");
        assert_eq!(html.matches("<svg").count(), 1);
        assert_eq!(card(&rows[..1]), "");
    }

    #[test]
    fn a_difference_within_its_interval_is_in_the_table_alone() {
        let rows =
            [row("device.atomic_graph_chain", 1 << 28, 250_000.0), row("device.graph_chain", 1 << 28, 250_010.0)];
        let html = card(&rows);
        assert!(html.contains("10.0 ns ± 42") && !html.contains("<svg"), "{html}");
    }
}
