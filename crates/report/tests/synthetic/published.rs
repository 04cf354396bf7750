//! An experiment of plausible numbers.

use syncscope_core::Run;
use syncscope_report::section::{Part, Section};
use syncscope_report::{Axis, Chart, Point, Rectangle, RunData, Series};

/// A section with a chart of each kind: lines, bars, and named lines.
pub(crate) fn experiment() -> (RunData, Section) {
    let point = |x: f64| Point::plain(x, 4.0 + 1.0 / x, Some((4.0, 5.0)), format!("at {x}"));
    let series = vec![Series::plain("inside", 0, [1.0, 10.0, 100.0].map(point).to_vec())];
    let lines =
        Chart::lines("", Axis::count("repetitions", 1.0, 100.0).logarithmic(), Axis::plain("cycles", 0.0, 6.0), series);
    let bar = |at: u32| {
        let x = f64::from(at);
        Rectangle((x - 0.5, x + 0.5), (0.0, x), at as usize, format!("bar {at}"))
    };
    let axes = || (Axis::count("position", 0.0, 8.0), Axis::plain("%", 0.0, 8.0));
    let bars = Chart::rectangles("bars", axes(), &[(0, "first"), (1, "last")], (1..8).map(bar).collect());
    let span = |row: u32| {
        let y = f64::from(row);
        Rectangle((y, y + 5.0), (y + 0.1, y + 0.9), 2, format!("row {row}"))
    };
    let spans = Chart::rectangles(
        "",
        (Axis::count("cycles", 0.0, 8.0), Axis::count("", 0.0, 3.0)),
        &[],
        (0..3).map(span).collect(),
    );
    let spans = spans.named((0..3).map(|row| format!("block 0 warp {row}")).collect()).ruled(3.0, "last arrival");
    let table = || Part::table(&["operation", "cycles"], vec![vec!["an addition".into(), "4.000".into()]]);
    let parts = vec![
        Part::SideBySide(vec![
            Part::card("Lines", "", vec![Part::Charts(vec![lines]), table()]),
            Part::card("Bars", "of a note", vec![Part::Charts(vec![bars])]),
        ]),
        Part::card("Spans", "", vec![Part::Charts(vec![spans])]),
    ];
    let section = Section {
        name: "crosscheck",
        title: "An experiment",
        lead: "Of a paper.",
        answers: Vec::new(),
        parts,
        claims: Vec::new(),
    };
    let both = super::both();
    let run = Run { preset: "crosscheck".into(), planned: 0, ..both.run };
    (RunData { run, rows: Vec::new(), details: std::collections::HashMap::new(), ..both }, section)
}
