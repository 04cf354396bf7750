//! One row of `measurements.csv`. The fields of [`Row`] declare the columns. A table is read by the
//! names in its header: a column that it lacks is empty in every row.

use csv::StringRecord;

use crate::model::parameter::Cells;
use crate::run::row::Row;
pub use crate::run::row::{COLUMNS, Column};

/// The header of a new table.
pub fn names() -> Vec<&'static str> {
    COLUMNS.iter().map(|column| column.name).collect()
}

/// The columns that make a line a row.
const NEEDED: [&str; 3] = ["case_id", "primitive", "verdict"];

/// The error about a table of a program that ends lines as Windows does.
pub(crate) const CR_LF: &str = "its lines end with CR LF";

/// The column of each cell of a line, as the header of the table says.
#[derive(Debug, Clone)]
pub struct Header(Vec<Option<&'static Column>>, Vec<String>);

/// The header of a new table.
impl Default for Header {
    fn default() -> Self {
        Self(COLUMNS.iter().map(Some).collect(), Vec::new())
    }
}

impl Header {
    /// Finds the columns of these names.
    ///
    /// # Errors
    /// Where a column is there twice, or a needed one is missing.
    pub fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Result<Self, String> {
        if let Some(missing) = NEEDED.iter().find(|needed| !names.clone().any(|name| name == **needed)) {
            return Err(format!("its header has no `{missing}`"));
        }
        if names.clone().any(|name| name.ends_with('\r')) {
            return Err(CR_LF.to_owned());
        }
        let column = |name: &str| COLUMNS.iter().find(|column| column.name == name);
        if let Some(twice) = COLUMNS.iter().find(|one| names.clone().filter(|name| *name == one.name).count() > 1) {
            return Err(format!("its header has `{}` twice", twice.name));
        }
        let unknown = names.clone().filter(|name| column(name).is_none()).map(str::to_owned).collect();
        Ok(Self(names.map(column).collect(), unknown))
    }

    /// Names that are not columns of this version. Their cells are not read.
    pub fn unknown(&self) -> &[String] {
        &self.1
    }

    /// The number of cells in a line.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads a row: what was measured. See [`Row::with_facts`] for the rest.
    ///
    /// # Errors
    /// When there are more or fewer cells, or a cell is not valid in its column.
    pub fn row(&self, record: &StringRecord) -> Result<Row, String> {
        if record.len() != self.len() {
            return Err(format!("it has {} cells instead of {}", record.len(), self.len()));
        }
        let line = CellsOfLine(self, record);
        let mut row = Row::default();
        for (column, cell) in self.0.iter().zip(record).filter(|(_, cell)| !cell.is_empty()) {
            if let Some(column) = column.filter(|column| column.read(&mut row, cell, &line).is_none()) {
                return Err(format!("column `{}` holds `{cell}`", column.name));
            }
        }
        let lacks_end = COLUMNS.iter().find(|column| column.is_half_an_interval(&row)).map(|column| column.name);
        if let Some(column) = lacks_end.or_else(|| line.cell("verdict").is_none().then_some("verdict")) {
            return Err(format!("column `{column}` holds ``"));
        }
        row.mode = row.case.mode;
        if let Some(id) = line.cell("case_id") {
            row.case = row.case.without_implied_mode(id);
            if row.case.id().0 != id {
                let why = if self.unknown().is_empty() {
                    "a cell with a parameter was changed"
                } else {
                    "an unknown column holds one of its parameters"
                };
                return Err(format!("`case_id` {id} belongs to another case: {why}"));
            }
        }
        Ok(row)
    }
}

/// A line of a table.
struct CellsOfLine<'a>(&'a Header, &'a StringRecord);

impl Cells for CellsOfLine<'_> {
    fn cell(&self, column: &str) -> Option<&str> {
        let place = self.0.0.iter().position(|known| known.is_some_and(|known| known.name == column))?;
        self.1.get(place).filter(|cell| !cell.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::parameter::PARAMETERS;

    /// A spreadsheet that sorts one column, or writes lines as it likes, makes no other case of a row.
    #[test]
    fn a_changed_parameter_is_not_another_case() {
        let case = crate::Case { threads: Some(2), ..crate::Case::new("cpu.lock.ticket") };
        let row = Row::unmeasured(case, crate::Verdict::Elided(String::new()));
        let (record, threads) = (row.to_record(), names().iter().position(|name| *name == "threads").unwrap());
        assert_eq!(Header::default().row(&record).unwrap().case, row.case);
        let cell = |(at, cell): (usize, &str)| if at == threads { "1".to_owned() } else { cell.to_owned() };
        let changed: StringRecord = record.iter().enumerate().map(cell).collect();
        let error = Header::default().row(&changed).unwrap_err();
        assert!(error.contains("belongs to another case: a cell"), "{error}");
        let last = format!("{}\r", names().last().unwrap());
        let windows = names().into_iter().rev().skip(1).rev().chain([last.as_str()]).collect::<Vec<_>>();
        assert!(Header::of(windows.iter().copied()).unwrap_err().contains(CR_LF));
    }

    #[test]
    fn the_table_holds_every_parameter_and_no_name_twice() {
        let names = names();
        assert!(PARAMETERS.iter().all(|parameter| names.contains(&parameter.name)));
        let mut distinct = names.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn the_columns_of_the_first_version_stand_first() {
        // The CSV contract: files and scripts of others depend on it.
        let contract = "case_id,domain,family,primitive,dtype,layout,stride,threads,blocks,devices,placement,scope,space,\
                        order,mode,group,ns,ns_low,ns_high,cycles,cycles_low,cycles_high,ops_per_s_thread,ops_per_s_total,\
                        fastest_ns,median_ns,noise,pairs,set_aside,iterations,unroll,verdict,reason,check,evidence,clock_hz";
        let names = names();
        assert!(names.join(",").starts_with(contract), "{names:?}");
    }
}
