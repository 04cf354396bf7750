//! The columns of `measurements.csv`: one table for writing, reading and joining rows, for the page and for the documentation.
//!
//! A new result is a field of [`Row`], one entry here (with a label where the page shall show it), and the place that fills the
//! field. A new parameter of a case is an entry of [`PARAMETERS`] and a line here. New columns stand at the end.
//!
//! A file holds what was measured. Columns that follow from others are written for other programs, and never read.

use crate::model::limits::{MOST_COUNT, count};
use crate::model::parameter::{Cells, PARAMETERS, Parameter, set, text};
use crate::units::significant;
use crate::{Cycles, Hertz, Interval, Nanoseconds, Row};

/// One column of `measurements.csv`.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
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
    /// Whether a row that joins those of several runs has the sum over all of them.
    is_total: bool,
    /// Whether it is measured in rows that join runs alone, and follows from other columns elsewhere.
    is_measured_by_runs: bool,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Parameter(&'static Parameter),
    /// Follows from other columns.
    Derived(fn(&Row) -> String),
    Text {
        write: fn(&Row) -> String,
        /// Reads a cell that is not empty, with the other cells at hand; `None` if it does not hold what it should.
        read: fn(&mut Row, &str, &dyn Cells) -> Option<()>,
    },
    Number {
        get: fn(&Row) -> Option<f64>,
        set: fn(&mut Row, Option<f64>),
    },
    Count {
        get: fn(&Row) -> Option<u64>,
        set: fn(&mut Row, Option<u64>) -> Option<()>,
    },
}

impl Column {
    const fn new(name: &'static str, unit: &'static str, meaning: &'static str, content: Content) -> Self {
        let is_number = match content {
            Content::Number { .. } | Content::Count { .. } => true,
            Content::Parameter(parameter) => parameter.is_number,
            _ => false,
        };
        Self {
            name,
            unit,
            meaning,
            label: "",
            is_left_to_script: false,
            is_number,
            content,
            is_total: false,
            is_measured_by_runs: false,
        }
    }

    const fn parameter(parameter: &'static Parameter) -> Self {
        Self::new(parameter.name, parameter.unit, parameter.meaning, Content::Parameter(parameter))
    }

    const fn text(
        name: &'static str,
        meaning: &'static str,
        write: fn(&Row) -> String,
        read: fn(&mut Row, &str, &dyn Cells) -> Option<()>,
    ) -> Self {
        Self::new(name, "", meaning, Content::Text { write, read })
    }

    const fn derived(name: &'static str, meaning: &'static str, write: fn(&Row) -> String) -> Self {
        Self::new(name, "", meaning, Content::Derived(write))
    }

    /// A number that follows from others, in a unit of its own.
    const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, is_number: true, ..self }
    }

    const fn labelled(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    const fn left_to_script(self) -> Self {
        Self { is_left_to_script: true, ..self }
    }

    const fn measured_by_runs(self) -> Self {
        Self { is_measured_by_runs: true, ..self }
    }

    const fn total(self) -> Self {
        Self { is_total: true, ..self }
    }

    /// Whether it follows from other columns and the catalogue, so that nobody reads it; that may depend on whether the row
    /// joins runs.
    pub const fn is_derived(&self, joins_runs: bool) -> bool {
        matches!(self.content, Content::Derived(_)) || (self.is_measured_by_runs && !joins_runs)
    }

    /// The cell of a row.
    pub fn write(&self, row: &Row) -> String {
        match self.content {
            Content::Derived(write) | Content::Text { write, .. } => write(row),
            Content::Parameter(parameter) => (parameter.write)(&row.case),
            Content::Number { get, .. } => number(get(row)),
            Content::Count { get, .. } => text(get(row)),
        }
    }

    /// Reads a cell that is not empty; `None` if it does not hold what its column holds.
    pub(crate) fn read(&self, row: &mut Row, cell: &str, cells: &dyn Cells) -> Option<()> {
        if self.is_derived(!self.is_measured_by_runs || cells.cell("runs").is_some()) {
            return Some(());
        }
        match self.content {
            Content::Parameter(parameter) => (parameter.read)(&mut row.case, cell, cells),
            Content::Derived(_) => Some(()),
            Content::Text { read, .. } => read(row, cell, cells),
            // `NaN` and `inf` are no figures.
            Content::Number { set, .. } => {
                let number = cell.parse().ok().filter(|number: &f64| number.is_finite())?;
                set(row, Some(number));
                Some(())
            }
            Content::Count { set, .. } => set(row, Some(count(cell, MOST_COUNT)?)),
        }
    }

    /// Whether it holds one end of an interval whose other end is missing.
    pub(crate) fn is_half_an_interval(&self, row: &Row) -> bool {
        matches!(self.content, Content::Number { get, .. } if get(row).is_some_and(f64::is_nan))
    }

    /// Gives the joined row what the rows of the runs have: `all` of them, and those `agreeing` on its verdict.
    pub(crate) fn join(&self, joined: &mut Row, agreeing: &[&Row], all: &[&Row]) {
        match self.content {
            Content::Number { get, set } => {
                let numbers: Option<Vec<f64>> = agreeing.iter().map(|row| get(row)).collect();
                set(joined, numbers.map(|numbers| numbers.iter().sum::<f64>() / numbers.len().max(1) as f64));
            }
            Content::Count { get, set } if self.is_total => {
                let _ = set(joined, all.iter().filter_map(|row| get(row)).reduce(u64::saturating_add));
            }
            _ => {}
        }
    }
}

/// A column of numbers: name, unit, meaning, and the field of the row: a plain number, one in a unit, or an end of an interval.
macro_rules! number {
    ($name:literal, $unit:literal, $meaning:literal, $field:ident . low) => {
        number!($name, $unit, $meaning, |row| row.$field.map(|ends| ends.low), |row, low| row.$field =
            low.map(|low| Interval { low, high: row.$field.map_or(f64::NAN, |ends| ends.high) }))
    };
    ($name:literal, $unit:literal, $meaning:literal, $field:ident . high) => {
        number!($name, $unit, $meaning, |row| row.$field.map(|ends| ends.high), |row, high| row.$field =
            high.map(|high| Interval { low: row.$field.map_or(f64::NAN, |ends| ends.low), high }))
    };
    ($name:literal, $unit:literal, $meaning:literal, $field:ident as $quantity:ident) => {
        number!($name, $unit, $meaning, |row| row.$field.map($quantity::value), |row, number| row.$field =
            number.map($quantity))
    };
    ($name:literal, $unit:literal, $meaning:literal, $field:ident) => {
        number!($name, $unit, $meaning, |row| row.$field, |row, number| row.$field = number)
    };
    ($name:literal, $unit:literal, $meaning:literal, $get:expr, $set:expr) => {
        Column::new($name, $unit, $meaning, Content::Number { get: $get, set: $set })
    };
}

/// A column of whole numbers.
macro_rules! count {
    ($name:literal, $unit:literal, $meaning:literal, $field:ident) => {
        Column::new(
            $name,
            $unit,
            $meaning,
            Content::Count {
                get: |row| row.$field.map(u64::from),
                set: |row, count| {
                    row.$field = count.map(TryInto::try_into).transpose().ok()?;
                    Some(())
                },
            },
        )
    };
}

/// A column of words, which the type of the field knows.
macro_rules! word {
    ($name:literal, $meaning:literal, $field:ident) => {
        Column::text($name, $meaning, |row| text(row.$field.as_ref()), |row, cell, _| set(&mut row.$field, cell))
    };
}

/// The columns, in the order of the file.
pub static COLUMNS: [Column; 54] = [
    // It says whether the `mode` is a parameter of the case.
    Column::text(
        "case_id",
        "identity of the case: 64-bit FNV-1a hash of its parameters, the same on every machine",
        |row| row.case.id().0,
        |_, _, _| Some(()),
    )
    .left_to_script(),
    Column::derived("domain", "first part of the id: `cpu`, `gpu`, `hybrid` or `mpi`", |row| {
        row.case.domain_and_family().0.to_owned()
    })
    .left_to_script(),
    Column::derived("family", "second part of the id", |row| row.case.domain_and_family().1.to_owned())
        .left_to_script(),
    Column::parameter(PARAMETERS[0]),
    Column::parameter(PARAMETERS[1]),
    Column::parameter(PARAMETERS[2]),
    Column::parameter(PARAMETERS[3]),
    Column::parameter(PARAMETERS[4]),
    Column::parameter(PARAMETERS[5]),
    Column::parameter(PARAMETERS[6]),
    Column::parameter(PARAMETERS[7]),
    Column::parameter(PARAMETERS[8]),
    Column::parameter(PARAMETERS[9]),
    Column::parameter(PARAMETERS[10]),
    Column {
        // A file says more of it than the case does.
        content: Content::Text {
            write: |row| text(row.mode),
            read: |row, cell, cells| (PARAMETERS[11].read)(&mut row.case, cell, cells),
        },
        ..Column::parameter(PARAMETERS[11])
    },
    Column::parameter(PARAMETERS[12]),
    number!("ns", "ns", "cost of one operation for the `actor` over the `population`", ns as Nanoseconds),
    number!(
        "ns_low",
        "ns",
        "lower end of the 95 % interval of `ns` for another run on this machine in the same state (run-to-run, a prediction)",
        ns_interval.low
    )
    .measured_by_runs(),
    number!("ns_high", "ns", "its upper end", ns_interval.high).measured_by_runs(),
    number!("cycles", "cycles", "the same cost in cycles of the core or multiprocessor", cycles as Cycles),
    number!("cycles_low", "cycles", "lower end of the 95 % interval of `cycles` for another run", cycles_interval.low)
        .measured_by_runs(),
    number!("cycles_high", "cycles", "its upper end", cycles_interval.high).measured_by_runs(),
    Column::derived("ops_per_s_thread", "operations per second of one thread: 1/`ns`; only if `Resolved`", |row| {
        number(row.ops_per_s_thread())
    })
    .in_unit("1/s")
    .left_to_script(),
    Column::derived(
        "ops_per_s_total",
        "operations per second of all threads together: how many they do at once / `rate_ns`. A barrier is one operation of all \
         that meet, a GPU lock has one of each warp, a launch is one; only if `Resolved`",
        |row| number(row.ops_per_s_total),
    )
    .in_unit("1/s"),
    number!("fastest_ns", "ns", "cost for the fastest thread", fastest_ns as Nanoseconds),
    number!("median_ns", "ns", "cost for the median thread", median_ns as Nanoseconds),
    number!("noise", "fraction", "relative median absolute deviation of the pairs", noise).labelled("Noise"),
    count!("pairs", "", "pairs that count", pairs).total().labelled("Pairs"),
    count!("set_aside", "", "pairs excluded for causes seen outside the measured value", excluded).total(),
    count!("iterations", "", "iterations of the loop in each sample", iterations),
    count!("unroll", "operations", "operations in one iteration of the baseline", unroll),
    Column::text(
        "verdict",
        "what the figure is worth ([verdicts](METHOD.md#verdicts))",
        |row| row.verdict.name().to_owned(),
        |row, cell, cells| row.read_verdict(cell, cells.cell("reason").unwrap_or_default()),
    ),
    // Read with the verdict.
    Column::text("reason", "the reason of the verdict, or a remark on a resolved cost", Row::explanation, |_, _, _| {
        Some(())
    }),
    Column::text(
        "check",
        "proof that the primitive did its work: `ok`, `failed` or empty",
        |row| row.check.map_or("", |is_ok| if is_ok { "ok" } else { "failed" }).to_owned(),
        |row, cell, _| {
            row.check = match cell {
                "ok" => Some(true),
                "failed" => Some(false),
                _ => return None,
            };
            Some(())
        },
    )
    .labelled("Check"),
    word!(
        "evidence",
        "summary of the instructions found in the timed region, then the other instructions of an operation",
        evidence
    )
    .labelled("Instructions"),
    number!("clock_hz", "Hz", "clock of the core or multiprocessor in the pairs that count", clock as Hertz),
    Column::parameter(PARAMETERS[13]),
    word!(
        "actor",
        "whose cost `ns` is: the `slowest` thread's where all meet or contend, the `median` thread's where nothing is shared, the \
         `mean` of all threads of a GPU in a common window",
        actor
    ),
    number!("slowest_ns", "ns", "cost for the slowest thread", slowest_ns as Nanoseconds),
    number!("ns_p05", "ns", "5th percentile of the pairs: over addresses, orders and times", ns_spread.low),
    number!("ns_p95", "ns", "95th percentile of the pairs", ns_spread.high),
    number!(
        "within_low",
        "ns",
        "lower end of the 95 % interval of `ns` within this run: the one to compare rows of this run by",
        ns_within.low
    ),
    number!("within_high", "ns", "its upper end", ns_within.high),
    word!(
        "population",
        "samples that `ns` stands for: `alone` (the threads had their cores for themselves), `all`",
        population
    ),
    number!(
        "beside_share",
        "fraction",
        "share of the samples with SMT interference (another hardware thread is active); empty where it is not detected",
        beside_share
    )
    .labelled("SMT interference"),
    count!("runs", "", "runs that the row joins, if more than one", runs),
    Column::text(
        "provisional",
        "`yes` if the run ended before all measurement blocks of the case were taken; a resumed run measures it again",
        |row| if row.provisional { "yes" } else { "" }.to_owned(),
        |row, cell, _| {
            row.provisional = cell == "yes";
            row.provisional.then_some(())
        },
    ),
    number!(
        "rate_ns",
        "ns",
        "time in which all threads together execute their number of operations: the harmonic mean of their costs, or the \
         cost of the slowest where that counts; empty where not all run at the same time",
        rate_ns as Nanoseconds
    ),
    number!(
        "cycles_within_low",
        "cycles",
        "lower end of the 95 % interval of `cycles` within this run",
        cycles_within.low
    ),
    number!("cycles_within_high", "cycles", "its upper end", cycles_within.high),
    Column::parameter(PARAMETERS[14]),
    Column::derived(
            "allowance",
            "what is assumed of another run, not measured, and not in `ns_low` to `ns_high`: half of a 95 % interval, relative to \
             `ns`; empty where the differences between processes or runs were measured",
            |row| number(row.allowance),
        ).in_unit("fraction"),
    Column::parameter(PARAMETERS[15]),
    Column::parameter(PARAMETERS[16]),
];

/// The header of the table.
pub fn names() -> Vec<&'static str> {
    COLUMNS.iter().map(|column| column.name).collect()
}

fn number(value: Option<f64>) -> String {
    value.map(significant).unwrap_or_default()
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
