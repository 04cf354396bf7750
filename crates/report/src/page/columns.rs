//! The rows as columns: what repeats is written once, so that the page of ten thousand rows stays light.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Number, Value};
use syncscope_core::Row;

/// The columns of `measurements.csv` that the page holds. The others follow from them: domain and family from the primitive,
/// operations per second from the cost, and nothing on the page asks for the identity of a case.
pub(super) const COLUMNS: [&str; 31] = [
    "primitive",
    "dtype",
    "layout",
    "stride",
    "threads",
    "blocks",
    "devices",
    "placement",
    "scope",
    "space",
    "order",
    "mode",
    "group",
    "ns",
    "ns_low",
    "ns_high",
    "cycles",
    "cycles_low",
    "cycles_high",
    "fastest_ns",
    "median_ns",
    "noise",
    "pairs",
    "set_aside",
    "iterations",
    "unroll",
    "verdict",
    "reason",
    "check",
    "evidence",
    "clock_hz",
];

/// Those that hold text.
const TEXTS: [&str; 13] = [
    "primitive",
    "dtype",
    "layout",
    "placement",
    "scope",
    "space",
    "order",
    "mode",
    "group",
    "verdict",
    "reason",
    "check",
    "evidence",
];

/// The cells of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Column {
    /// Every cell is empty.
    Empty,
    /// A number, or `null`, for each row.
    Numbers(Vec<Option<Number>>),
    /// The different texts, and for each row the place of its own among them, or `null`.
    Words { words: Vec<String>, at: Vec<Option<usize>> },
}

/// All columns of a run, in the order of [`COLUMNS`].
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let records: Vec<_> = rows.iter().map(Row::to_record).collect();
    COLUMNS
        .iter()
        .map(|name| {
            let place = Row::COLUMNS.iter().position(|column| column == name);
            let cells = records.iter().map(|record| place.and_then(|place| record.get(place)).unwrap_or_default());
            if TEXTS.contains(name) { words(cells) } else { numbers(cells) }
        })
        .collect()
}

fn numbers<'a>(cells: impl Iterator<Item = &'a str>) -> Column {
    let numbers: Vec<Option<Number>> = cells.map(number).collect();
    if numbers.iter().all(Option::is_none) { Column::Empty } else { Column::Numbers(numbers) }
}

/// A whole number stays one: `32` is shorter than `32.0`.
fn number(cell: &str) -> Option<Number> {
    match serde_json::from_str(cell) {
        Ok(Value::Number(number)) => Some(number),
        _ => cell.parse::<f64>().ok().and_then(Number::from_f64),
    }
}

fn words<'a>(cells: impl Iterator<Item = &'a str>) -> Column {
    let mut words: Vec<String> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let at: Vec<Option<usize>> = cells
        .map(|cell| {
            let next = places.len();
            (!cell.is_empty()).then(|| {
                *places.entry(cell).or_insert_with(|| {
                    words.push(cell.to_owned());
                    next
                })
            })
        })
        .collect();
    if words.is_empty() { Column::Empty } else { Column::Words { words, at } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_written_once() {
        let column = words(["a", "", "b", "a"].into_iter());
        assert_eq!(serde_json::to_string(&column).ok().as_deref(), Some(r#"{"words":["a","b"],"at":[0,null,1,0]}"#));
        assert_eq!(words(["", ""].into_iter()), Column::Empty);
    }

    #[test]
    fn numbers_are_as_short_as_in_the_file() {
        let column = numbers(["32", "", "2.0331", "0.00000012", "NaN"].into_iter());
        assert_eq!(serde_json::to_string(&column).ok().as_deref(), Some("[32,null,2.0331,1.2e-7,null]"));
        assert_eq!(serde_json::to_string(&Column::Empty).ok().as_deref(), Some("null"));
    }

    #[test]
    fn every_column_is_one_of_the_file() {
        for name in COLUMNS.iter().chain(&TEXTS) {
            assert!(Row::COLUMNS.contains(name), "{name}");
        }
    }
}
