//! The data of the page, as the scripts read it.

use serde::Serialize;
use serde_json::Value;
use syncscope_core::{Row, Run};

use super::html::escape_json;
use crate::highlights::HIGHLIGHTS;
use crate::{RunData, figure, naming};

/// Columns of `measurements.csv` that hold numbers; the others hold text.
const NUMBERS: [&str; 19] = [
    "stride",
    "threads",
    "blocks",
    "devices",
    "ns",
    "ns_low",
    "ns_high",
    "cycles",
    "cycles_low",
    "cycles_high",
    "ops_per_s_thread",
    "ops_per_s_total",
    "fastest_ns",
    "median_ns",
    "noise",
    "pairs",
    "set_aside",
    "iterations",
    "unroll",
];

#[derive(Serialize)]
struct Page<'a> {
    columns: &'a [&'a str],
    runs: Vec<PageRun<'a>>,
    highlights: Vec<PageHighlight>,
    families: Vec<PageFamily<'a>>,
}

#[derive(Serialize)]
struct PageRun<'a> {
    label: &'a str,
    name: &'a str,
    cpu: String,
    gpus: Vec<String>,
    /// How long it took, for people.
    duration: Option<String>,
    /// What machine and environment were, line by line.
    facts: Vec<(&'static str, String)>,
    verdicts: Vec<(&'static str, usize)>,
    run: &'a Run,
    /// The cells of `measurements.csv`, row by row; `null` for an empty one.
    rows: Vec<Vec<Value>>,
}

#[derive(Serialize)]
struct PageHighlight {
    title: &'static str,
    /// For each run, the index of the row among its rows.
    rows: Vec<Option<usize>>,
}

#[derive(Serialize)]
struct PageFamily<'a> {
    domain: &'a str,
    family: &'a str,
    title: String,
}

/// The data as JSON that may stand in a `script` element.
pub(super) fn json(runs: &[RunData], labels: &[String]) -> String {
    let page = Page {
        columns: &Row::COLUMNS,
        runs: runs.iter().zip(labels).map(|(data, label)| page_run(data, label)).collect(),
        highlights: HIGHLIGHTS
            .iter()
            .map(|highlight| PageHighlight {
                title: highlight.title,
                rows: runs.iter().map(|data| highlight.find(&data.rows)).collect(),
            })
            .filter(|highlight| highlight.rows.iter().any(Option::is_some))
            .collect(),
        families: families(runs),
    };
    // Serialization fails only for maps with keys that are no strings, and there are none here.
    escape_json(&serde_json::to_string(&page).unwrap_or_default())
}

fn page_run<'a>(data: &'a RunData, label: &'a str) -> PageRun<'a> {
    PageRun {
        label,
        name: &data.name,
        cpu: naming::cpu(&data.run.machine.cpu.model),
        gpus: naming::gpus(&data.run.machine),
        duration: data.seconds().map(figure::duration),
        facts: super::facts::facts(&data.run),
        verdicts: data.verdicts(),
        run: &data.run,
        rows: data.rows.iter().map(cells).collect(),
    }
}

fn cells(row: &Row) -> Vec<Value> {
    let record = row.to_record();
    Row::COLUMNS.iter().zip(record.iter()).map(|(column, cell)| value(column, cell)).collect()
}

fn value(column: &str, cell: &str) -> Value {
    if cell.is_empty() {
        return Value::Null;
    }
    let number = || cell.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    let numeric = NUMBERS.contains(&column) || column == "clock_hz";
    numeric.then(number).flatten().map_or_else(|| Value::String(cell.to_owned()), Value::Number)
}

/// The families in the order in which the rows name them first, CPU before GPU.
fn families(runs: &[RunData]) -> Vec<PageFamily<'_>> {
    let mut families: Vec<PageFamily<'_>> = Vec::new();
    for row in runs.iter().flat_map(|data| &data.rows) {
        let (domain, family) = row.case.domain_and_family();
        if !families.iter().any(|known| known.domain == domain && known.family == family) {
            families.push(PageFamily { domain, family, title: naming::family(family) });
        }
    }
    families.sort_by_key(|known| naming::family_order(known.domain, known.family));
    families
}
