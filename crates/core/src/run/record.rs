//! A row as a line of `measurements.csv`, and back, by the table of columns.

use std::collections::HashMap;

use csv::StringRecord;

use crate::model::case::Case;
use crate::model::parameter::Cells;
use crate::model::verdict::Verdict;
use crate::run::columns::COLUMNS;
use crate::run::row::Row;

/// A line that is no row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The header does not hold this column.
    #[error("column `{0}` is missing")]
    MissingColumn(&'static str),
    /// A cell does not hold what its column holds.
    #[error("column `{column}` holds `{found}`")]
    Cell {
        /// The column.
        column: &'static str,
        /// The text found.
        found: String,
    },
}

/// The header of a file: where each of its columns stands. Of two columns with one name, the first counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header(HashMap<String, usize>);

impl<'a> FromIterator<&'a str> for Header {
    fn from_iter<T: IntoIterator<Item = &'a str>>(names: T) -> Self {
        let mut positions = HashMap::new();
        for (position, name) in names.into_iter().enumerate() {
            positions.entry(name.to_owned()).or_insert(position);
        }
        Self(positions)
    }
}

impl Row {
    /// The cells of this row, in the order of [`COLUMNS`].
    #[must_use]
    pub fn to_record(&self) -> StringRecord {
        COLUMNS.iter().map(|column| column.write(self)).collect()
    }

    /// Reads a row; the columns may stand in any order, and columns of later versions are passed over.
    ///
    /// # Errors
    /// When a column is missing or a cell does not hold what its column holds.
    pub fn from_record(header: &Header, record: &StringRecord) -> Result<Self, RowError> {
        let line = Line { header, record };
        let mut row = Self::unmeasured(Case::new(""), Verdict::Failed(String::new()));
        for column in &COLUMNS {
            if column.is_required && !header.0.contains_key(column.name) {
                return Err(RowError::MissingColumn(column.name));
            }
            let cell = line.cell(column.name);
            if let Some(cell) = cell
                && column.read(&mut row, cell, &line).is_none()
            {
                return Err(RowError::Cell { column: column.name, found: cell.to_owned() });
            }
        }
        if line.cell("verdict").is_none() {
            return Err(RowError::Cell { column: "verdict", found: String::new() });
        }
        row.mode = row.case.mode;
        if let Some(id) = line.cell("case_id") {
            row.case = row.case.without_implied_mode(id);
        }
        Ok(row)
    }
}

/// A line whose cells are found by the names of their columns.
struct Line<'a> {
    header: &'a Header,
    record: &'a StringRecord,
}

impl Cells for Line<'_> {
    fn cell(&self, column: &str) -> Option<&str> {
        self.record.get(*self.header.0.get(column)?).filter(|cell| !cell.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::row::tests::full;
    use crate::units::Nanoseconds;

    fn names() -> Vec<&'static str> {
        COLUMNS.iter().map(|column| column.name).collect()
    }

    fn header() -> Header {
        names().into_iter().collect()
    }

    #[test]
    fn a_row_survives_the_way_to_a_file_and_back() {
        let skipped = Row::unmeasured(Case::new("cpu.barrier.std"), Verdict::Skipped("one CPU".into()));
        let remarked = Row { remark: Some("4 threads on 2 CPUs".into()), ..full() };
        let provisional = [&full(), &remarked, &Row { verdict: Verdict::Noisy("wide".into()), ..full() }]
            .map(|row| Row { provisional: true, ..row.clone() });
        let older = Row { actor: None, ..full() };
        for row in [full(), skipped, remarked, older].into_iter().chain(provisional) {
            let record = row.to_record();
            assert_eq!(record.len(), COLUMNS.len());
            assert_eq!(Row::from_record(&header(), &record), Ok(row));
        }
    }

    /// The rate of a thread follows from the cost: from the seven digits that a reader has, not from the ones before.
    #[test]
    fn a_row_that_was_read_is_written_as_it_was() {
        let row = Row { ns: Some(Nanoseconds(10.292_099_091)), ..full() };
        let record = row.to_record();
        assert_eq!(Row::from_record(&header(), &record).unwrap().to_record(), record);
    }

    #[test]
    fn the_columns_hold_what_the_contract_says() {
        let record = full().to_record();
        let cell = |name: &str| record.get(COLUMNS.iter().position(|column| column.name == name).unwrap()).unwrap();
        assert_eq!(cell("domain"), "cpu");
        assert_eq!(cell("family"), "atomic");
        assert_eq!(cell("stride"), "8");
        assert_eq!(cell("placement"), "0,1");
        assert_eq!(cell("check"), "ok");
        assert_eq!(cell("verdict"), "Resolved");
        assert_eq!(cell("clock_hz"), "3680000000");
        assert_eq!(cell("devices"), "");
        assert_eq!(cell("ops_per_s_total"), "990000000");
        assert_eq!((cell("mode"), cell("actor"), cell("population")), ("throughput", "slowest", "alone"));
    }

    #[test]
    fn columns_may_stand_in_any_order_and_may_be_more() {
        let mut header = names();
        header.reverse();
        header.push("later");
        let record = full().to_record();
        let mut cells: Vec<&str> = record.iter().collect();
        cells.reverse();
        cells.push("x");
        assert_eq!(Row::from_record(&header.into_iter().collect(), &StringRecord::from(cells)), Ok(full()));
    }

    #[test]
    fn bad_cells_are_named() {
        let spoil = |column: &str, text: &str| {
            let index = COLUMNS.iter().position(|known| known.name == column).unwrap();
            let cells: Vec<String> = full()
                .to_record()
                .iter()
                .enumerate()
                .map(|(at, cell)| if at == index { text } else { cell }.to_owned())
                .collect();
            Row::from_record(&header(), &StringRecord::from(cells)).unwrap_err().to_string()
        };
        assert_eq!(spoil("ns", "NaN"), "column `ns` holds `NaN`");
        assert_eq!(spoil("verdict", "fine"), "column `verdict` holds `fine`");
        assert_eq!(spoil("stride", ""), "column `layout` holds `private`");
        let short = names()[..20].iter().copied().collect();
        assert!(matches!(Row::from_record(&short, &full().to_record()), Err(RowError::MissingColumn(_))));
    }
}
