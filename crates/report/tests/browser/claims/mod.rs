//! Checks that what the page says is true: each test has a run about which an earlier page said something false. There is
//! one file for each part of the page; helpers to build rows are here.

mod charts;
mod dots;
mod ladder;
mod rows;
mod search;
mod sentences;
mod winners;

use crate::chromium::{open, plain};
use crate::synthetic;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Nanoseconds, Row, Verdict};
use syncscope_report::RunData;

const DESKTOP: u32 = 1280;

/// A row whose interval is both the one within the run and the one to quote.
fn row(case: Case, low: f64, ns: f64, high: f64) -> Row {
    let interval = Some(Interval { low, high });
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: interval,
        ns_within: interval,
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

fn exact(case: Case, ns: f64) -> Row {
    row(case, ns * 0.99, ns, ns * 1.01)
}

fn noisy(row: Row) -> Row {
    Row { verdict: Verdict::Noisy("the interval is wide".into()), ..row }
}

fn case(primitive: &str, threads: u32) -> Case {
    Case { threads: Some(threads), ..Case::new(primitive) }
}

fn grid(primitive: &str, blocks: u32, threads: u32) -> Case {
    Case { blocks: Some(blocks), ..case(primitive, threads) }
}

fn run(rows: Vec<Row>) -> RunData {
    synthetic::data("run", synthetic::run("CPU", Some("NVIDIA H200")), rows)
}

/// The text of the page with every chart drawn and plain spaces; `None` without a browser.
fn text(runs: &[RunData]) -> Option<String> {
    Some(plain(&open(runs, DESKTOP)?.1))
}
