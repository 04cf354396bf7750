//! What the tests of several decisions need.

use syncscope_core::{Case, Dtype, Layout, Row, Verdict};

use super::spec::{Series, Spec};
use super::{Decision, decisions};
use crate::RunData;
use crate::analysis::answers::testing::{case, data, row, within};

pub(super) fn decision(id: &str, data: &RunData) -> Option<Decision> {
    decisions(data).into_iter().find(|decision| decision.id == id)
}

pub(super) fn sentence(id: &str, rows: Vec<Row>) -> String {
    decision(id, &data(rows)).unwrap().sentence
}

/// The series of a chart; a table has none.
pub(super) fn series(chart: &Spec) -> &[Series] {
    match chart {
        Spec::Lines { series, .. } => series,
        Spec::Dots { rows, .. } => rows,
        Spec::Rectangles { .. } | Spec::Table { .. } => &[],
    }
}

/// The labels of the series of a chart.
pub(super) fn labels(chart: &Spec) -> Vec<&str> {
    series(chart).iter().map(|one| one.label.as_str()).collect()
}

/// A lock by its name.
pub(super) fn lock(name: &str, threads: u32, ns: f64) -> Row {
    row(case(&format!("cpu.lock.{name}"), threads), ns, 0.3)
}

/// The row with a wide interval and a verdict that says so.
pub(super) fn noisy(row: Row, low: f64, high: f64) -> Row {
    Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) }
}

/// Additions of CPU threads to 32-bit integers, with the rate of all threads.
pub(super) fn add(layout: Layout, threads: u32, ns: f64, rate: f64) -> Row {
    let case = Case { layout: Some(layout), dtype: Some(Dtype::I32), ..case("cpu.atomic.add", threads) };
    Row { ops_per_s_total: Some(rate), ..row(case, ns, 0.2) }
}
