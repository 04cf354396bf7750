//! What a chart of a decision shows, in the form that the page's script draws (`assets/js/chart.js`).

use serde::Serialize;
use syncscope_core::stats::Interval;
use syncscope_core::{Row, Verdict};

use crate::figure::interval_within_run;

/// The kind of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Lines over a numeric axis.
    Lines,
    /// One row for each series, its points along the axis of costs.
    Dots,
    /// A table of rows and columns with a text in each cell.
    Cells,
}

/// What the numbers of an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    /// Nanoseconds.
    Time,
    /// Operations per second.
    Rate,
    /// A number of threads.
    Threads,
    /// Bytes.
    Bytes,
    /// Microseconds, as a length of kernels.
    Microseconds,
    /// A number without a unit between 0 and 1.
    Share,
    /// Words.
    Names,
}

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) quantity: Quantity,
    pub(crate) log: bool,
}

impl Axis {
    pub(super) const fn log(label: &'static str, quantity: Quantity) -> Self {
        Self { label, quantity, log: true }
    }

    pub(super) const fn linear(label: &'static str, quantity: Quantity) -> Self {
        Self { label, quantity, log: false }
    }
}

/// What a point is worth, in the words of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Resolved,
    /// An unreliable estimate.
    Open,
    /// An upper bound of a cost.
    Bound,
    /// A cost that depends on the operations around it.
    NonAdditive,
    /// No figure.
    None,
}

/// One measured point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Point {
    /// The position on the horizontal axis, or the name of a column.
    pub(crate) x: Position,
    pub(crate) y: Option<f64>,
    /// The interval within the run.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// What a program may meet.
    pub(crate) p05: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) state: State,
    /// The index of its row among the rows of the run.
    pub(crate) row: usize,
    /// The text in the cell of a table, or beside a dot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// A position on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Position {
    At(f64),
    Name(&'static str),
}

/// Six digits are more than a figure has.
fn short(value: f64) -> Option<f64> {
    value.is_finite().then(|| format!("{value:.5e}").parse().unwrap_or(value))
}

impl Point {
    /// The cost of a row. A point whose row has no cost has no height.
    pub(crate) fn cost(row: &Row, index: usize, x: Position) -> Self {
        let none = Self {
            x,
            y: None,
            low: None,
            high: None,
            p05: None,
            p95: None,
            state: State::None,
            row: index,
            text: None,
        };
        let bound = row.ns_interval.map(|interval| interval.high).filter(|high| *high > 0.0);
        let Some(ns) = row.ns.map(syncscope_core::Nanoseconds::value) else { return none };
        let state = match row.verdict {
            Verdict::Resolved if ns > 0.0 => State::Resolved,
            Verdict::Noisy(_) | Verdict::Interfered(_) if ns > 0.0 => State::Open,
            Verdict::NonAdditive(_) if ns > 0.0 => State::NonAdditive,
            Verdict::BelowResolution(_) if bound.is_some() => {
                return Self { y: bound.and_then(short), state: State::Bound, ..none };
            }
            _ => return none,
        };
        let ends = |interval: Option<Interval>| {
            let positive = |end: f64| short(end.max(0.0));
            interval.map_or((None, None), |interval| (positive(interval.low), positive(interval.high)))
        };
        let ((low, high), (p05, p95)) = (ends(interval_within_run(row)), ends(row.ns_spread));
        Self { y: short(ns), low, high, p05, p95, state, ..none }
    }

    /// The rate of all threads of a row together. It is as uncertain as the cost of one operation.
    pub(super) fn total_rate(row: &Row, index: usize, x: Position) -> Self {
        let point = Self::cost(row, index, x);
        let (Some(rate), Some(ns)) = (row.ops_per_s_total, point.y) else {
            return Self { y: None, low: None, high: None, p05: None, p95: None, state: State::None, ..point };
        };
        let inverse = |cost: Option<f64>| cost.filter(|cost| *cost > 0.0).and_then(|cost| short(rate * ns / cost));
        let (low, high) = (inverse(point.high), inverse(point.low));
        let (p05, p95) = (inverse(point.p95), inverse(point.p05));
        Self { y: short(rate), low, high, p05, p95, ..point }
    }
}

/// Points with one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Series {
    pub(crate) label: String,
    /// The primitive whose colour the series has; `None` where several stand in it.
    pub(crate) primitive: Option<String>,
    pub(crate) points: Vec<Point>,
}

/// A line across the chart at a position of the horizontal axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Rule {
    pub(crate) x: f64,
    pub(crate) label: String,
}

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Spec {
    pub(crate) kind: Kind,
    /// What it shows, where a decision has several charts.
    pub(crate) title: Option<String>,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) rules: Vec<Rule>,
}

impl Spec {
    /// Lines of costs or rates over a number; `None` without a point that has a figure.
    pub(super) fn lines(x: Axis, y: Axis, series: Vec<Series>) -> Option<Self> {
        Self { kind: Kind::Lines, title: None, x, y, series, rules: Vec::new() }.with_figures()
    }

    /// Rows of costs, one for each series; `None` without a point that has a figure.
    pub(super) fn dots(x: Axis, series: Vec<Series>) -> Option<Self> {
        let y = Axis::linear("", Quantity::Names);
        Self { kind: Kind::Dots, title: None, x, y, series, rules: Vec::new() }.with_figures()
    }

    fn with_figures(mut self) -> Option<Self> {
        self.series.retain(|series| series.points.iter().any(|point| point.y.is_some()));
        (!self.series.is_empty()).then_some(self)
    }

    pub(super) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    pub(super) fn ruled(self, rules: Vec<Rule>) -> Self {
        Self { rules, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Case, Nanoseconds};

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
        let point = |verdict| Point::cost(&row(verdict), 0, Position::At(1.0));
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
    fn the_interval_of_a_rate_is_that_of_its_cost_turned_round() {
        let row = Row { ops_per_s_total: Some(4e8), ..row(Verdict::Resolved) };
        let point = Point::total_rate(&row, 0, Position::At(4.0));
        assert_eq!((point.y, point.low, point.high), (Some(4e8), Some(3.2e8), Some(5e8)));
        let unknown = Point::total_rate(&Row { ops_per_s_total: None, ..row }, 0, Position::At(4.0));
        assert_eq!((unknown.y, unknown.state), (None, State::None));
    }
}
