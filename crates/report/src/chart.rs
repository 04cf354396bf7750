//! What a chart shows, in the form that the page's script draws (`assets/js/chart/chart.js`).

use serde::Serialize;
use syncscope_core::Row;
use syncscope_core::stats::Interval;

use crate::figure::extremes;
use crate::reading::{Reading, State, bound, interval_within_run, lacks_number};

/// The unit of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// Operations per second.
    Rate,
    /// One number over another.
    Ratio,
    /// Threads, bytes or microseconds, as the label says.
    Count,
    /// A number between 0 and 1.
    Share,
    /// A number with decimals, in the unit that the label says.
    #[serde(rename = "cycles")]
    Plain,
}

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) log: bool,
    /// Tick positions, where only these are wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) domain: Option<(f64, f64)>,
}

impl Axis {
    pub(crate) const fn log(label: &'static str, unit: Unit) -> Self {
        Self { label, unit, log: true, values: Vec::new(), domain: None }
    }

    /// A linear axis of plain numbers between these ends.
    pub const fn plain(label: &'static str, low: f64, high: f64) -> Self {
        Self { label, unit: Unit::Plain, log: false, values: Vec::new(), domain: Some((low, high)) }
    }

    /// Returns the axis with ticks at `values` only.
    pub fn at(self, values: Vec<f64>) -> Self {
        Self { values, ..self }
    }

    /// Returns the axis with a logarithmic scale.
    pub fn logarithmic(self) -> Self {
        Self { log: true, ..self }
    }

    /// A linear axis of counts between these ends.
    pub fn count(label: &'static str, low: f64, high: f64) -> Self {
        Self { unit: Unit::Count, ..Self::plain(label, low, high) }
    }

    /// A linear axis from 0 to 1.
    pub(crate) const fn share(label: &'static str) -> Self {
        Self { label, unit: Unit::Share, log: false, values: Vec::new(), domain: Some((0.0, 1.0)) }
    }
}

/// One point. In rows of dots the figure is `x`, and there is no `y`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Point {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) x: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) y: Option<f64>,
    /// The interval within the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) high: Option<f64>,
    /// The spread that a program may meet, from `p05` to `p95`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p05: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p95: Option<f64>,
    pub(crate) state: State,
    /// The ends of a thick line, from the dot's figure to another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bar: Option<(f64, f64)>,
    /// A maximum of a dot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) most: Option<f64>,
    /// The index of the point's row in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row: Option<usize>,
    /// The text of the tooltip, where no row has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tip: Option<String>,
    /// The text next to a dot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The point's own colour number, in a row that mixes several kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) colour: Option<usize>,
}

/// Rounds to six significant digits, more than a figure shows.
fn short(value: f64) -> Option<f64> {
    value.is_finite().then(|| format!("{value:.5e}").parse().unwrap_or(value))
}

impl Point {
    /// A figure that belongs to no row, with its interval and tooltip text.
    pub fn plain(x: f64, y: f64, interval: Option<(f64, f64)>, tip: String) -> Self {
        let (low, high) = interval.map_or((None, None), |(low, high)| (short(low), short(high)));
        let (x, y) = (short(x), short(y));
        Self { x, y, low, high, state: State::Resolved, tip: Some(tip), ..Self::default() }
    }

    /// A figure without an interval.
    pub(crate) fn bare(value: f64, index: usize, text: String) -> Self {
        Self { y: short(value), state: State::Resolved, text: Some(text), ..Self::missing(index, None) }
    }

    fn missing(index: usize, x: Option<f64>) -> Self {
        Self { x, row: Some(index), ..Self::default() }
    }

    /// The cost of a row, with its text. Without a cost the point has no `y`.
    pub(crate) fn cost(row: &Row, index: usize, x: f64) -> Self {
        let reading = Reading::of(row);
        let point = Self { text: Some(reading.figure), state: reading.state, ..Self::missing(index, short(x)) };
        match reading.state {
            State::Missing | State::Overlapped => point,
            State::Bound => Self { y: bound(row).and_then(short), ..point },
            State::Resolved | State::Rough | State::Open | State::NonAdditive => {
                let ends = |interval: Option<Interval>| {
                    let positive = |end: f64| short(end.max(0.0));
                    interval.map_or((None, None), |interval| (positive(interval.low), positive(interval.high)))
                };
                let ((low, high), (p05, p95)) = (ends(interval_within_run(row)), ends(row.ns_spread));
                Self { y: row.ns.and_then(|ns| short(ns.value())), low, high, p05, p95, ..point }
            }
        }
    }

    /// The total rate of a row's threads, as uncertain as the cost of one operation.
    pub(crate) fn total_rate(row: &Row, index: usize, x: f64) -> Self {
        let point = Self::cost(row, index, x);
        // `ops_per_s_total` is empty for an unreliable estimate.
        let open = row.rate_ns.filter(|_| matches!(point.state, State::Rough | State::Open));
        let open = open.map(|time| row.case.actors() as f64 * 1e9 / time.value());
        let (Some(rate), Some(ns)) = (row.ops_per_s_total.or(open), point.y) else {
            return Self::missing(index, short(x));
        };
        let inverse = |cost: Option<f64>| cost.filter(|cost| *cost > 0.0).and_then(|cost| short(rate * ns / cost));
        let (low, high) = (inverse(point.high), inverse(point.low));
        let (p05, p95) = (inverse(point.p95), inverse(point.p05));
        Self { y: short(rate), low, high, p05, p95, ..point }
    }
}

/// Points with one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    pub(crate) label: String,
    /// The primitive whose colour the series takes; without one, each series of a chart gets its own colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) primitive: Option<String>,
    /// The colour number, where the colour says what kind of thing the series is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) colour: Option<usize>,
    pub(crate) points: Vec<Point>,
}

impl Series {
    /// A line with the colour number `colour`.
    pub fn plain(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Self {
        Self { label: label.into(), primitive: None, colour: Some(colour), points }
    }
}

/// An area of a chart: its ends on both axes, the number of its colour, and its tooltip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rectangle(pub (f64, f64), pub (f64, f64), pub usize, pub String);

/// What a colour means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Key {
    pub(crate) colour: usize,
    pub(crate) label: &'static str,
}

/// A line across the chart at a position of the horizontal axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Rule {
    pub(crate) x: f64,
    pub(crate) label: String,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// The cost, which the colour follows.
    pub(crate) value: Option<f64>,
    pub(crate) text: String,
    /// The instruction.
    pub(crate) detail: Option<String>,
    pub(crate) row: usize,
    /// Another row behind the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) also: Option<usize>,
}

impl Cell {
    /// The cost of a row. A cell whose row has no figure or range to show takes no colour.
    pub(crate) fn of(row: &Row, index: usize) -> Self {
        let value = Point::cost(row, index, 0.0).y.filter(|_| !lacks_number(row));
        Self { value, ..Self::note(Reading::of(row).figure, index) }
    }

    /// Words about a row.
    pub(crate) const fn note(text: String, row: usize) -> Self {
        Self { value: None, text, detail: None, row, also: None }
    }
}

/// A line of a table: a cell for each column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) cells: Vec<Option<Cell>>,
}

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Spec {
    /// Lines over a number.
    Lines { title: Option<String>, x: Axis, y: Axis, series: Vec<Series>, rules: Vec<Rule> },
    /// A row for each name, its points along the axis.
    Dots {
        title: Option<String>,
        x: Axis,
        rows: Vec<Series>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        legend: Vec<Key>,
    },
    /// Charts of lines side by side with one vertical axis, as one picture.
    Panels { title: Option<String>, panels: Vec<Spec> },
    /// Bars, or spans of time. With names, each name labels a line, from the top.
    Rectangles {
        title: Option<String>,
        x: Axis,
        y: Axis,
        names: Vec<String>,
        height: Option<u32>,
        legend: Vec<Key>,
        rectangles: Vec<Rectangle>,
        rules: Vec<Rule>,
    },
    /// A table with a cost in each cell.
    Table { title: Option<String>, columns: Vec<String>, lines: Vec<Line> },
}

/// Whether any point has a figure.
fn have_figures(series: &[Series]) -> bool {
    series.iter().flat_map(|series| &series.points).any(|point| point.y.is_some())
}

impl Spec {
    /// Lines of costs or rates over a number, with a tick at each number. Costs at a single number become rows of dots.
    /// `None` if no point has a figure.
    pub(crate) fn lines(mut x: Axis, y: Axis, mut series: Vec<Series>) -> Option<Self> {
        let mut values: Vec<f64> =
            series.iter().flat_map(|series| &series.points).filter_map(|point| point.x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if let ([only], Unit::Time) = (&values[..], y.unit) {
            return Some(Self::dots(y, series)?.titled(format!("{}: {only}", x.label)));
        }
        x.values = values;
        series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.text = None);
        have_figures(&series).then_some(Self::Lines { title: None, x, y, series, rules: Vec::new() })
    }

    /// Rows of figures, one for each series; `None` if no point has a figure.
    pub(crate) fn dots(x: Axis, mut rows: Vec<Series>) -> Option<Self> {
        let any = have_figures(&rows);
        for point in rows.iter_mut().flat_map(|row| &mut row.points) {
            point.x = point.y.take();
        }
        any.then_some(Self::Dots { title: None, x, rows, legend: Vec::new() })
    }

    /// A table; `None` if it has no lines.
    pub(crate) fn table(title: &str, columns: &[impl ToString], lines: Vec<Line>) -> Option<Self> {
        let columns = columns.iter().map(ToString::to_string).collect();
        (!lines.is_empty()).then(|| Self::Table { title: Some(title.to_owned()), columns, lines })
    }

    pub(crate) fn titled(mut self, text: impl Into<String>) -> Self {
        let (Self::Lines { title, .. }
        | Self::Dots { title, .. }
        | Self::Panels { title, .. }
        | Self::Rectangles { title, .. }
        | Self::Table { title, .. }) = &mut self;
        *title = Some(text.into());
        self
    }

    /// The rows behind the chart's points and cells.
    pub(crate) fn rows(&self) -> Vec<usize> {
        match self {
            Self::Lines { series, .. } | Self::Dots { rows: series, .. } => {
                series.iter().flat_map(|one| &one.points).filter_map(|point| point.row).collect()
            }
            Self::Panels { panels, .. } => panels.iter().flat_map(Self::rows).collect(),
            Self::Rectangles { .. } => Vec::new(),
            Self::Table { lines, .. } => {
                lines.iter().flat_map(|line| &line.cells).flatten().map(|cell| cell.row).collect()
            }
        }
    }

    /// Returns a chart of dots with a legend of its colours; other charts are unchanged.
    pub(crate) fn with_legend(mut self, keys: Vec<Key>) -> Self {
        if let Self::Dots { legend, .. } = &mut self {
            *legend = keys;
        }
        self
    }

    /// Joins several charts of lines into panels; other charts stay as they are.
    pub(crate) fn side_by_side(mut charts: Vec<Self>) -> Vec<Self> {
        let are_lines = charts.len() > 1 && charts.iter().all(|chart| matches!(chart, Self::Lines { .. }));
        if !are_lines {
            return charts;
        }
        share_vertical_axis(&mut charts);
        vec![Self::Panels { title: None, panels: charts }]
    }

    /// Returns the chart with these vertical lines, if its kind has any.
    pub(crate) fn ruled(mut self, lines: Vec<Rule>) -> Self {
        if let Self::Lines { rules, .. } | Self::Rectangles { rules, .. } = &mut self {
            *rules = lines;
        }
        self
    }
}

/// The room above and below the figures of a shared axis, as a factor.
const MARGIN: f64 = 1.25;

/// Gives charts of lines that are side by side one vertical axis, so that readers can compare them.
fn share_vertical_axis(charts: &mut [Spec]) {
    let lines = charts.iter_mut().filter_map(|chart| match chart {
        Spec::Lines { y, series, .. } => Some((y, &*series)),
        _ => None,
    });
    let mut lines: Vec<(&mut Axis, &Vec<Series>)> = lines.collect();
    let ends_of = |point: &Point| {
        let certain = point.state.has_figure();
        [point.y, point.low.filter(|_| certain), point.high.filter(|_| certain)]
    };
    let points = lines.iter().flat_map(|(_, series)| series.iter()).flat_map(|one| &one.points);
    let ends = extremes(points.flat_map(ends_of).flatten().filter(|end| *end > 0.0));
    for (y, _) in &mut lines {
        y.domain = ends.map(|(low, high)| (low / MARGIN, high * MARGIN));
    }
}

/// A chart that the page's script draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart(pub(crate) Spec);

impl Chart {
    /// Lines over a number.
    pub fn lines(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self(Spec::Lines { title: Some(title.to_owned()), x, y, series, rules: Vec::new() })
    }

    /// Bars, or spans of time. `legend` maps colour numbers to what they mean.
    pub fn rectangles(
        title: &str,
        (x, y): (Axis, Axis),
        legend: &[(usize, &'static str)],
        rectangles: Vec<Rectangle>,
    ) -> Self {
        let legend = legend.iter().map(|(colour, label)| Key { colour: *colour, label }).collect();
        let (names, rules) = (Vec::new(), Vec::new());
        Self(Spec::Rectangles { title: Some(title.to_owned()), x, y, names, height: None, legend, rectangles, rules })
    }

    /// Returns the chart with a named line for each whole number of the vertical axis, from the top.
    pub fn named(mut self, lines: Vec<String>) -> Self {
        if let Spec::Rectangles { names, .. } = &mut self.0 {
            *names = lines;
        }
        self
    }

    /// Sets the height of the chart in pixels.
    pub fn high(mut self, pixels: u32) -> Self {
        if let Spec::Rectangles { height, .. } = &mut self.0 {
            *height = Some(pixels);
        }
        self
    }

    /// Returns the chart with a vertical line at `x`.
    pub fn ruled(self, x: f64, label: &str) -> Self {
        Self(self.0.ruled(vec![Rule { x, label: label.to_owned() }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::NO_NUMBER;
    use syncscope_core::{Case, Nanoseconds, Verdict};

    fn row(verdict: Verdict) -> Row {
        Row {
            ns: Some(Nanoseconds(10.0)),
            ns_interval: Some(Interval { low: -4.0, high: 24.0 }),
            ns_within: Some(Interval { low: 8.0, high: 12.5 }),
            ..Row::unmeasured(Case::new("cpu.lock.mcs"), verdict)
        }
    }

    #[test]
    fn only_a_cost_has_a_height() {
        let point = |verdict| Point::cost(&row(verdict), 0, 1.0);
        let resolved = point(Verdict::Resolved);
        assert_eq!((resolved.y, resolved.low, resolved.high), (Some(10.0), Some(8.0), Some(12.5)));
        assert_eq!(point(Verdict::Noisy("wide".into())).state, State::Open);
        let bound = point(Verdict::BelowResolution("small".into()));
        assert_eq!((bound.y, bound.state, bound.low), (Some(24.0), State::Bound, None));
        for verdict in
            [Verdict::Overlapped(String::new()), Verdict::Elided(String::new()), Verdict::Failed(String::new())]
        {
            assert_eq!(point(verdict).y, None);
        }
    }

    #[test]
    fn a_single_size_is_the_title() {
        let title = |threads: f64| {
            let series = vec![Series::plain("mcs", 0, vec![Point::cost(&row(Verdict::Resolved), 0, threads)])];
            let axis = Axis::log("threads on the device", Unit::Count);
            let Some(Spec::Dots { title, .. }) = Spec::lines(axis, Axis::log("time", Unit::Time), series) else {
                panic!()
            };
            title.unwrap()
        };
        assert_eq!([1.0, 2.0].map(title), ["threads on the device: 1", "threads on the device: 2"]);
    }

    #[test]
    fn a_cell_without_a_figure_has_no_colour_of_a_cost() {
        let cell = |ns_interval, verdict| {
            let row = Row { ns_interval: Some(ns_interval), ..row(verdict) };
            let Cell { text, value, .. } = Cell::of(&row, 0);
            (text.replace('\u{a0}', " "), value)
        };
        let noisy = || Verdict::Noisy("wide".into());
        assert_eq!(cell(Interval { low: -4.0, high: 24.0 }, noisy()), (NO_NUMBER.into(), None));
        assert_eq!(cell(Interval { low: 7.0, high: 13.0 }, noisy()), ("7.0 to 13 ns".into(), Some(10.0)));
        assert_eq!(cell(Interval { low: 9.8, high: 10.2 }, Verdict::Resolved), ("10.0 ns".into(), Some(10.0)));
    }

    #[test]
    fn charts_side_by_side_have_one_axis() {
        let chart = |ns: f64| {
            let row = Row { ns: Some(Nanoseconds(ns)), ns_within: None, ns_interval: None, ..row(Verdict::Resolved) };
            let points = [1.0, 2.0].map(|x| Point::cost(&row, 0, x)).to_vec();
            let series = vec![Series { label: "x".into(), primitive: None, colour: None, points }];
            Spec::lines(Axis::log("threads", Unit::Count), Axis::log("time", Unit::Time), series).unwrap()
        };
        let charts = Spec::side_by_side(vec![chart(10.0), chart(4000.0)]);
        let [Spec::Panels { panels, .. }] = charts.as_slice() else { panic!("one picture") };
        for chart in panels {
            let Spec::Lines { y, .. } = chart else { panic!("lines") };
            assert_eq!(y.domain, Some((8.0, 5000.0)));
        }
    }

    #[test]
    fn the_interval_of_a_rate_is_that_of_its_cost_turned_round() {
        let row = Row { ops_per_s_total: Some(4e8), ..row(Verdict::Resolved) };
        let point = Point::total_rate(&row, 0, 4.0);
        assert_eq!((point.y, point.low, point.high), (Some(4e8), Some(3.2e8), Some(5e8)));
        let unknown = Point::total_rate(&Row { ops_per_s_total: None, ..row.clone() }, 0, 4.0);
        assert_eq!((unknown.y, unknown.state), (None, State::Missing));
        let case = Case { threads: Some(4), ..Case::new("cpu.atomic.add") };
        let noisy = Row { case, verdict: Verdict::Noisy("x".into()), ops_per_s_total: None, ..row };
        let rough = Point::total_rate(&Row { rate_ns: Some(Nanoseconds(5.0)), ..noisy }, 0, 4.0);
        assert_eq!((rough.y, rough.state), (Some(8e8), State::Open));
    }
}
