//! The charts: for each level a picture, for each rung in it a strip with all machines as dots on one logarithmic axis.

use std::fmt::Write;

use super::machine::Column;
use super::rung::{Figure, Line};
use crate::figure;
use crate::page::html::escape;

/// The width of a picture: that of a phone's window, so that its text keeps its size there.
const WIDTH: f64 = 352.0;
/// From the border to the first and the last value.
const MARGIN: f64 = 14.0;
/// The title of a strip.
const TITLE: f64 = 22.0;
/// From one machine to the next within a strip, so that dots do not hide each other.
const LANE: f64 = 5.0;
/// Space below a strip.
const GAP: f64 = 12.0;
/// The strips of a card; a level with more has several cards with one axis.
const MOST_STRIPS: usize = 6;
/// The axis with its labels.
const AXIS: f64 = 24.0;

/// A card for each level that has a figure.
pub(super) fn charts(columns: &[Column<'_, '_>], lines: &[Line]) -> String {
    let mut html = String::new();
    for of_level in lines.chunk_by(|a, b| a.level == b.level) {
        let Some(axis) = Axis::around(of_level) else { continue };
        for (part, lines) in of_level.chunks(MOST_STRIPS).enumerate() {
            let level = lines.first().map_or("", |line| line.level);
            let title = if part == 0 { level.to_owned() } else { format!("{level}, continued") };
            // Writing to a String cannot fail.
            let _ = write!(
                html,
                "<figure class=\"panel level-card\"><figcaption><h3>{}</h3></figcaption>{}</figure>",
                escape(&title),
                picture(columns, lines, &axis, &title)
            );
        }
    }
    html
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Around all costs and intervals of these rungs; `None` without any.
    fn around(lines: &[Line]) -> Option<Self> {
        let figures = lines.iter().flat_map(|line| line.figures.iter().flatten()).filter(|figure| is_drawn(figure));
        let ends = figures.flat_map(|figure| {
            let interval = figure.interval.map(|interval| [interval.low, interval.high]);
            figure.ns.into_iter().chain(interval.into_iter().flatten().filter(|_| figure.ns.is_some()))
        });
        let positive: Vec<f64> = ends.filter(|end| end.is_finite() && *end > 0.0).collect();
        let low = positive.iter().copied().fold(f64::INFINITY, f64::min);
        let high = positive.iter().copied().fold(0.0, f64::max);
        (high > 0.0).then(|| {
            // At least a factor of four, so that a single dot has an axis around it.
            let widen = (4.0 / (high / low)).max(1.0).sqrt();
            Self { low: low / widen / 1.1, high: high * widen * 1.1 }
        })
    }

    /// In pixels.
    fn place(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        MARGIN + share.clamp(0.0, 1.0) * (WIDTH - 2.0 * MARGIN)
    }

    /// Round values that have room for their labels.
    fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = if decades <= 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = (decades / 6.0).ceil().max(1.0) as usize;
        let powers = ((self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32)).step_by(every);
        let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        values.filter(|value| (self.low..=self.high).contains(value)).collect()
    }
}

/// `100 ns`: a round time without the digits that a figure has.
fn tick_label(ns: f64) -> String {
    let text = figure::time(ns);
    let Some((digits, unit)) = text.split_once(' ') else { return text };
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits} {unit}")
}

fn picture(columns: &[Column<'_, '_>], lines: &[Line], axis: &Axis, title: &str) -> String {
    // A lane for each machine that has a dot in this picture.
    let has_dot = |index: &usize| {
        lines.iter().any(|line| line.figures.get(*index).and_then(Option::as_ref).is_some_and(is_drawn))
    };
    let drawn: Vec<usize> = (0..columns.len()).filter(has_dot).collect();
    let band = LANE * drawn.len().saturating_sub(1) as f64 + 10.0;
    let strip = TITLE + band + GAP;
    let bottom = strip * lines.len() as f64;
    let height = bottom + AXIS;
    let mut svg = String::new();
    for tick in axis.ticks() {
        let x = axis.place(tick);
        let anchor = if x < 30.0 {
            "start"
        } else if x > WIDTH - 30.0 {
            "end"
        } else {
            "middle"
        };
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1},4V{bottom:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            bottom + 16.0,
            escape(&tick_label(tick))
        );
    }
    for (at, line) in lines.iter().enumerate() {
        let top = strip * at as f64;
        let _ = write!(svg, "<text class=\"label\" x=\"2\" y=\"{:.1}\">{}</text>", top + 15.0, escape(line.title));
        for (lane, index) in drawn.iter().enumerate() {
            if let Some(Some(figure)) = line.figures.get(*index) {
                svg.push_str(&mark(axis, &columns[*index], figure, top + TITLE + 5.0 + LANE * lane as f64));
            }
        }
    }
    let label = escape(&format!("{title}: the costs of the table above as dots, one for each machine"));
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{label}\">{svg}</svg>"
    )
}

/// Whether a figure has a place on a logarithmic axis, beside the others.
fn is_drawn(figure: &Figure) -> bool {
    figure.ns.is_some_and(|ns| ns > 0.0) && !figure.is_other
}

/// The dot of a machine with its interval; what it says under the pointer.
fn mark(axis: &Axis, column: &Column<'_, '_>, figure: &Figure, y: f64) -> String {
    let Some(ns) = figure.ns.filter(|_| is_drawn(figure)) else { return String::new() };
    let whisker = figure.interval.map_or_else(String::new, |interval| {
        let (low, high) = (axis.place(interval.low), axis.place(interval.high));
        format!("<path class=\"whisker\" d=\"M{low:.1},{y:.1}H{high:.1}\"/>")
    });
    let interval = figure.interval_text.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
    let tip = format!("{}: {}{interval}, {}", column.name(), figure.text, figure.case);
    format!(
        "<g class=\"series\" style=\"--c: {}\"><title>{}</title>{whisker}{}</g>",
        escape(&column.colour()),
        escape(&tip),
        column.dot(axis.place(ns), y, figure.is_rough)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_the_axis_are_round_and_inside() {
        assert_eq!(
            [0.5, 1.0, 100.0, 1000.0, 2e4, 1e6].map(tick_label),
            ["0.5 ns", "1 ns", "100 ns", "1 µs", "20 µs", "1 ms"]
        );
        for (low, high) in [(0.4, 2e6), (5.0, 20.0), (1e-3, 1e9)] {
            let axis = Axis { low, high };
            let places: Vec<f64> = axis.ticks().into_iter().map(|tick| axis.place(tick)).collect();
            assert!((2..=12).contains(&places.len()), "{low} to {high}: {places:?}");
            assert!(places.iter().all(|x| (MARGIN..=WIDTH - MARGIN).contains(x)));
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 35.0), "labels overlap: {places:?}");
        }
    }
}
