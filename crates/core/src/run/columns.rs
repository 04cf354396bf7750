//! A column of `measurements.csv`: how it is written, read and joined, for the page and for the documentation. Which ones there are
//! stands beside the fields of [`Row`]. A table is read by the names in its header: a column that it lacks is empty in every row.

use csv::StringRecord;

use crate::Row;
use crate::model::parameter::{Cells, PARAMETERS, Parameter};
pub use crate::run::row::COLUMNS;
use crate::units::significant;

/// One column of `measurements.csv`.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// What it holds, for people.
    pub meaning: &'static str,
    /// Its title in the page's table of rows; empty where the page has no column for it, or one of its own making.
    pub label: &'static str,
    /// Whether the page's script derives it, so that the page does without.
    pub is_left_to_script: bool,
    /// Whether it holds numbers.
    pub is_number: bool,
    content: Content,
    /// Whether it is measured in rows that join runs alone, and follows from other columns elsewhere.
    is_measured_by_runs: bool,
}

type Write = fn(&Row) -> String;

/// Reads a cell that is not empty, with the other cells at hand; `None` if it does not hold what it should.
type Read = fn(&mut Row, &str, &dyn Cells) -> Option<()>;

#[derive(Debug, Clone, Copy)]
enum Content {
    /// A file may say more of it than the case does.
    Parameter(&'static Parameter, Option<Write>),
    /// Follows from other columns.
    Derived(Write),
    Text(Write, Read),
    Number(fn(&Row) -> Option<f64>, fn(&mut Row, Option<f64>)),
}

impl Column {
    const fn new(name: &'static str, unit: &'static str, meaning: &'static str, content: Content) -> Self {
        let (is_left_to_script, is_measured_by_runs) = (false, false);
        let is_number = match content {
            Content::Number(..) => true,
            Content::Parameter(parameter, _) => parameter.is_number,
            _ => false,
        };
        Self { name, unit, meaning, label: "", is_left_to_script, is_number, content, is_measured_by_runs }
    }

    /// The column of a parameter of the case.
    pub(super) const fn parameter(name: &str) -> Self {
        let mut at = 0;
        while !is_same(PARAMETERS[at].name, name) {
            at += 1;
        }
        let parameter = PARAMETERS[at];
        Self::new(parameter.name, parameter.unit, parameter.meaning, Content::Parameter(parameter, None))
    }

    /// The same with another cell than the case has.
    pub(super) const fn written(self, write: Write) -> Self {
        match self.content {
            Content::Parameter(parameter, _) => Self { content: Content::Parameter(parameter, Some(write)), ..self },
            _ => self,
        }
    }

    pub(super) const fn text(name: &'static str, meaning: &'static str, write: Write, read: Read) -> Self {
        Self::new(name, "", meaning, Content::Text(write, read))
    }

    pub(super) const fn derived(name: &'static str, meaning: &'static str, write: Write) -> Self {
        Self::new(name, "", meaning, Content::Derived(write))
    }

    pub(super) const fn number(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        get: fn(&Row) -> Option<f64>,
        set: fn(&mut Row, Option<f64>),
    ) -> Self {
        Self::new(name, unit, meaning, Content::Number(get, set))
    }

    /// Of numbers, in this unit.
    pub(super) const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, is_number: true, ..self }
    }

    pub(super) const fn labelled(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    pub(super) const fn left_to_script(self) -> Self {
        Self { is_left_to_script: true, ..self }
    }

    pub(super) const fn measured_by_runs(self) -> Self {
        Self { is_measured_by_runs: true, ..self }
    }

    /// Whether it follows from other columns and the catalogue, so that nobody reads it; that may depend on whether the row
    /// joins runs.
    pub const fn is_derived(&self, joins_runs: bool) -> bool {
        matches!(self.content, Content::Derived(_)) || (self.is_measured_by_runs && !joins_runs)
    }

    /// Whether it tells the case from others.
    pub fn names_case(&self) -> bool {
        matches!(self.content, Content::Parameter(..)) || ["case_id", "domain", "family"].contains(&self.name)
    }

    /// The cell of a row.
    pub fn write(&self, row: &Row) -> String {
        match self.content {
            Content::Derived(write) | Content::Text(write, _) | Content::Parameter(_, Some(write)) => write(row),
            Content::Parameter(parameter, None) => (parameter.write)(&row.case),
            Content::Number(get, _) => number_text(get(row)),
        }
    }

    /// Reads a cell that is not empty; `None` if it does not hold what its column holds.
    fn read(&self, row: &mut Row, cell: &str, cells: &dyn Cells) -> Option<()> {
        if self.is_derived(!self.is_measured_by_runs || cells.cell("runs").is_some()) {
            return Some(());
        }
        match self.content {
            Content::Parameter(parameter, _) => (parameter.read)(&mut row.case, cell, cells),
            Content::Derived(_) => Some(()),
            Content::Text(_, read) => read(row, cell, cells),
            // `NaN` and `inf` are no figures.
            Content::Number(_, set) => {
                let number = cell.parse().ok().filter(|number: &f64| number.is_finite())?;
                set(row, Some(number));
                Some(())
            }
        }
    }

    /// Whether it holds one end of an interval whose other end is missing.
    fn is_half_an_interval(&self, row: &Row) -> bool {
        matches!(self.content, Content::Number(get, _) if get(row).is_some_and(f64::is_nan))
    }

    /// Gives the joined row the mean of numbers of the `rows`, if all have one.
    pub(crate) fn join(&self, joined: &mut Row, rows: &[&Row]) {
        if let Content::Number(get, set) = self.content {
            let numbers: Option<Vec<f64>> = rows.iter().map(|row| get(row)).collect();
            set(joined, numbers.map(|numbers| numbers.iter().sum::<f64>() / numbers.len().max(1) as f64));
        }
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// A row and its columns: the fields in the order of the columns that they stand in.
macro_rules! row {
    ($(#[$about:meta])* pub struct Row {
        $($($(#[$doc:meta])* pub $field:ident: $type:ty)? => [$($column:expr),* $(,)?];)*
    }) => {
        $(#[$about])*
        pub struct Row {
            $($($(#[$doc])* pub $field: $type,)?)*
        }

        /// The columns of `measurements.csv`, in the order of a new file.
        pub static COLUMNS: &[Column] = &[$($($column,)*)*];
    };
}
pub(super) use row;

/// A column of numbers: the field of the row (a plain number, one in a unit, or an end of an interval), name, unit, meaning.
macro_rules! number {
    ($field:ident . low, $($words:literal),+) => {
        Column::number($($words),+, |row| row.$field.map(|ends| ends.low), |row, low| row.$field =
            low.map(|low| Interval { low, high: row.$field.map_or(f64::NAN, |ends| ends.high) }))
    };
    ($field:ident . high, $($words:literal),+) => {
        Column::number($($words),+, |row| row.$field.map(|ends| ends.high), |row, high| row.$field =
            high.map(|high| Interval { low: row.$field.map_or(f64::NAN, |ends| ends.low), high }))
    };
    ($field:ident as $quantity:ident, $($words:literal),+) => {
        Column::number($($words),+, |row| row.$field.map($quantity::value), |row, number| row.$field =
            number.map($quantity))
    };
    ($field:ident, $($words:literal),+) => {
        Column::number($($words),+, |row| row.$field, |row, number| row.$field = number)
    };
}
pub(super) use number;

/// A column of whole numbers: name where it is not that of the field, unit, meaning.
macro_rules! count {
    ($field:ident, $unit:literal, $meaning:literal) => {
        count!($field, stringify!($field), $unit, $meaning)
    };
    ($field:ident, $name:expr, $unit:literal, $meaning:literal) => {
        Column::text(
            $name,
            $meaning,
            |row| text(row.$field),
            |row, cell, _| {
                row.$field = Some(count(cell, MOST_COUNT)?.try_into().ok()?);
                Some(())
            },
        )
        .in_unit($unit)
    };
}
pub(super) use count;

/// A column of words, which the type of the field knows, named as the field: meaning.
macro_rules! word {
    ($field:ident, $meaning:literal) => {
        Column::text(
            stringify!($field),
            $meaning,
            |row| text(row.$field.as_ref()),
            |row, cell, _| set(&mut row.$field, cell),
        )
    };
}
pub(super) use word;

/// The header of a new table.
pub fn names() -> Vec<&'static str> {
    COLUMNS.iter().map(|column| column.name).collect()
}

pub(super) fn number_text(value: Option<f64>) -> String {
    value.map(significant).unwrap_or_default()
}

/// Without these a line says nothing of a case.
const NEEDED: [&str; 3] = ["case_id", "primitive", "verdict"];

/// Which column each cell of a line is of, as the header of the table says.
#[derive(Debug, Clone)]
pub struct Header(Vec<Option<&'static Column>>, Vec<String>);

/// That of a new table.
impl Default for Header {
    fn default() -> Self {
        Self(COLUMNS.iter().map(Some).collect(), Vec::new())
    }
}

impl Header {
    /// The columns of these names.
    ///
    /// # Errors
    /// Where one is there twice, or one is missing without which there is no row.
    pub fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Result<Self, String> {
        if let Some(missing) = NEEDED.iter().find(|needed| !names.clone().any(|name| name == **needed)) {
            return Err(format!("its header has no `{missing}`"));
        }
        let column = |name: &str| COLUMNS.iter().find(|column| column.name == name);
        if let Some(twice) = COLUMNS.iter().find(|one| names.clone().filter(|name| *name == one.name).count() > 1) {
            return Err(format!("its header has `{}` twice", twice.name));
        }
        let unknown = names.clone().filter(|name| column(name).is_none()).map(str::to_owned).collect();
        Ok(Self(names.map(column).collect(), unknown))
    }

    /// The names that are no columns of this version. What stands below them is not read.
    pub fn unknown(&self) -> &[String] {
        &self.1
    }

    /// How many cells a line has.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads a row: what was measured. See [`Row::with_facts`] for the rest.
    ///
    /// # Errors
    /// When there are more or fewer cells, or one does not hold what its column holds.
    pub fn row(&self, record: &StringRecord) -> Result<Row, String> {
        if record.len() != self.len() {
            return Err(format!("it has {} cells and not {}", record.len(), self.len()));
        }
        let line = Line(self, record);
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
            if !self.unknown().is_empty() && row.case.id().0 != id {
                return Err(format!("`case_id` {id} is of another case: an unknown column has a parameter of it"));
            }
        }
        Ok(row)
    }
}

/// A line of a table.
struct Line<'a>(&'a Header, &'a StringRecord);

impl Cells for Line<'_> {
    fn cell(&self, column: &str) -> Option<&str> {
        let place = self.0.0.iter().position(|known| known.is_some_and(|known| known.name == column))?;
        self.1.get(place).filter(|cell| !cell.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
