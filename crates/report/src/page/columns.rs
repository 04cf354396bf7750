//! The rows as columns of the page's data. Equal texts of a column are stored once, which keeps large pages small.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Number, Value};
use syncscope_core::Row;
use syncscope_core::run::columns::{self, COLUMNS};

/// The columns of `measurements.csv` that the page stores: all except those that the script derives.
fn stored() -> impl Iterator<Item = &'static columns::Column> {
    COLUMNS.iter().filter(|column| !column.is_left_to_script)
}

/// The names of the stored columns.
pub(super) fn names() -> Vec<&'static str> {
    stored().map(|column| column.name).collect()
}

/// A column of the table of rows that needs no words of its own in the script.
#[derive(Serialize)]
pub(super) struct Labelled {
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    number: bool,
}

/// The columns with a title.
pub(super) fn labelled() -> Vec<Labelled> {
    let with_label = COLUMNS.iter().filter(|column| !column.label.is_empty());
    let of = |column: &columns::Column| Labelled {
        name: column.name,
        label: column.label,
        unit: column.unit,
        number: column.is_number,
    };
    with_label.map(of).collect()
}

/// The cells of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Cells {
    /// Every cell is empty.
    Empty,
    /// A number, or `null`, for each row.
    Numbers(Vec<Option<Number>>),
    /// The distinct texts, and for each row the index of its text, or `null`.
    Words { words: Vec<String>, at: Vec<Option<usize>> },
}

/// All columns of a run, in the order of [`names`].
pub(super) fn cells(rows: &[Row]) -> Vec<Cells> {
    stored()
        .map(|column| {
            let cells: Vec<String> = rows.iter().map(|row| column.write(row)).collect();
            let cells = cells.iter().map(String::as_str);
            if column.is_number { numbers(cells) } else { words(cells) }
        })
        .collect()
}

fn numbers<'a>(cells: impl Iterator<Item = &'a str>) -> Cells {
    let numbers: Vec<Option<Number>> = cells.map(number).collect();
    if numbers.iter().all(Option::is_none) { Cells::Empty } else { Cells::Numbers(numbers) }
}

/// An integer stays an integer: `32` is shorter than `32.0`.
fn number(cell: &str) -> Option<Number> {
    match serde_json::from_str(cell) {
        Ok(Value::Number(number)) => Some(number),
        _ => cell.parse::<f64>().ok().and_then(Number::from_f64),
    }
}

fn words<'a>(cells: impl Iterator<Item = &'a str>) -> Cells {
    let mut words: Vec<String> = Vec::new();
    let mut indices: HashMap<&str, usize> = HashMap::new();
    let at: Vec<Option<usize>> = cells
        .map(|cell| {
            let next = indices.len();
            (!cell.is_empty()).then(|| {
                *indices.entry(cell).or_insert_with(|| {
                    words.push(cell.to_owned());
                    next
                })
            })
        })
        .collect();
    if words.is_empty() { Cells::Empty } else { Cells::Words { words, at } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_stored_once() {
        let column = words(["a", "", "b", "a"].into_iter());
        assert_eq!(serde_json::to_string(&column).ok().as_deref(), Some(r#"{"words":["a","b"],"at":[0,null,1,0]}"#));
        assert_eq!(words(["", ""].into_iter()), Cells::Empty);
    }

    #[test]
    fn numbers_are_as_short_as_in_the_file() {
        let column = numbers(["32", "", "2.0331", "0.00000012", "NaN"].into_iter());
        assert_eq!(serde_json::to_string(&column).ok().as_deref(), Some("[32,null,2.0331,1.2e-7,null]"));
        assert_eq!(serde_json::to_string(&Cells::Empty).ok().as_deref(), Some("null"));
    }
}
