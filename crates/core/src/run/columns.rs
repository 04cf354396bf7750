//! The columns of `measurements.csv`: one table for writing and reading rows, for the page and for the documentation.
//!
//! A new result is one entry here, a field of [`Row`], and the places that fill it. A new parameter is an entry of
//! [`PARAMETERS`] and a line here. New columns stand at the end and are optional for readers, so that the files of older
//! versions stay readable.

use std::str::FromStr;

use crate::model::parameter::{Cells, PARAMETERS, Parameter};
use crate::run::row::Row;
use crate::stats::Interval;
use crate::units::{Cycles, Hertz, Nanoseconds, significant};

/// One column of `measurements.csv`.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// What it holds, for people.
    pub meaning: &'static str,
    /// Whether it holds numbers.
    pub is_number: bool,
    /// Whether it follows from other columns, so that a reader may leave it out.
    pub is_derived: bool,
    /// Whether every file has it. Columns of later versions are optional.
    pub(crate) is_required: bool,
    content: Content,
    written: Option<fn(&Row) -> String>,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Parameter(&'static Parameter),
    Result {
        write: fn(&Row) -> String,
        /// Reads a cell that is not empty, with the other cells at hand; `None` if it does not hold what it should.
        read: fn(&mut Row, &str, &dyn Cells) -> Option<()>,
    },
}

impl Column {
    const fn parameter(parameter: &'static Parameter) -> Self {
        Self {
            name: parameter.name,
            unit: parameter.unit,
            meaning: parameter.meaning,
            is_number: parameter.is_number,
            is_derived: false,
            is_required: parameter.always_in_id,
            content: Content::Parameter(parameter),
            written: None,
        }
    }

    const fn text(
        name: &'static str,
        meaning: &'static str,
        write: fn(&Row) -> String,
        read: fn(&mut Row, &str, &dyn Cells) -> Option<()>,
    ) -> Self {
        let content = Content::Result { write, read };
        Self { name, unit: "", meaning, is_number: false, is_derived: false, is_required: true, content, written: None }
    }

    const fn number(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        write: fn(&Row) -> String,
        read: fn(&mut Row, &str, &dyn Cells) -> Option<()>,
    ) -> Self {
        Self { unit, is_number: true, ..Self::text(name, meaning, write, read) }
    }

    /// Written in another way: a file says more than the case does.
    const fn written(self, write: fn(&Row) -> String) -> Self {
        Self { written: Some(write), ..self }
    }

    /// Added after the first version: older files have no such column.
    const fn later(self) -> Self {
        Self { is_required: false, ..self }
    }

    /// Follows from others: written, and passed over when read.
    const fn derived(self) -> Self {
        Self { is_derived: true, is_required: false, ..self }
    }

    /// The cell of a row.
    #[must_use]
    pub fn write(&self, row: &Row) -> String {
        match (self.written, self.content) {
            (Some(write), _) | (None, Content::Result { write, .. }) => write(row),
            (None, Content::Parameter(parameter)) => (parameter.write)(&row.case),
        }
    }

    /// Reads a cell that is not empty; `None` if it does not hold what its column holds.
    pub(crate) fn read(&self, row: &mut Row, cell: &str, cells: &dyn Cells) -> Option<()> {
        match self.content {
            Content::Parameter(parameter) => (parameter.read)(&mut row.case, cell, cells),
            Content::Result { read, .. } => read(row, cell, cells),
        }
    }
}

/// The columns, in the order of the file.
pub static COLUMNS: [Column; 47] = [
    Column::text(
        "case_id",
        "identity of the case: 64-bit FNV-1a hash of its parameters, the same on every machine",
        |row| row.case.id().0,
        |_, _, _| Some(()),
    )
    .derived(),
    Column::text(
        "domain",
        "first part of the id: `cpu`, `gpu`, `hybrid` or `mpi`",
        |row| row.case.domain_and_family().0.to_owned(),
        |_, _, _| Some(()),
    )
    .derived(),
    Column::text(
        "family",
        "second part of the id",
        |row| row.case.domain_and_family().1.to_owned(),
        |_, _, _| Some(()),
    )
    .derived(),
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
    Column::parameter(PARAMETERS[11]).written(|row| word(row.case.mode_of_operations())),
    Column::parameter(PARAMETERS[12]),
    Column::number(
        "ns",
        "ns",
        "cost of one operation for the `actor` over the `population`",
        |row| number(row.ns.map(Nanoseconds::value)),
        |row, cell, _| set(&mut row.ns, finite(cell).map(Nanoseconds)),
    ),
    Column::number(
        "ns_low",
        "ns",
        "lower end of the 95 % interval of `ns` for another run on this machine: the one to quote",
        |row| number(row.ns_interval.map(|interval| interval.low)),
        |row, cell, cells| interval(&mut row.ns_interval, cell, cells.cell("ns_high")),
    ),
    Column::number(
        "ns_high",
        "ns",
        "its upper end",
        |row| number(row.ns_interval.map(|interval| interval.high)),
        |_, cell, _| finite(cell).map(drop),
    ),
    Column::number(
        "cycles",
        "cycles",
        "the same cost in cycles of the core or multiprocessor",
        |row| number(row.cycles.map(Cycles::value)),
        |row, cell, _| set(&mut row.cycles, finite(cell).map(Cycles)),
    ),
    Column::number(
        "cycles_low",
        "cycles",
        "lower end of the 95 % interval of `cycles` for another run",
        |row| number(row.cycles_interval.map(|interval| interval.low)),
        |row, cell, cells| interval(&mut row.cycles_interval, cell, cells.cell("cycles_high")),
    ),
    Column::number(
        "cycles_high",
        "cycles",
        "its upper end",
        |row| number(row.cycles_interval.map(|interval| interval.high)),
        |_, cell, _| finite(cell).map(drop),
    ),
    Column::number(
        "ops_per_s_thread",
        "1/s",
        "operations per second of one thread: 1/`ns`; only if `Resolved`",
        |row| number(row.ops_per_s_thread()),
        |_, _, _| Some(()),
    )
    .derived(),
    Column::number(
        "ops_per_s_total",
        "1/s",
        "operations per second of all threads together: their number / `ns` where they contend, elsewhere the sum of their own \
         rates; for a GPU lock \
         the number of warps, for a launch one operation; empty where not all run at the same time; only if `Resolved`",
        |row| number(row.ops_per_s_total),
        |row, cell, _| set(&mut row.ops_per_s_total, finite(cell)),
    ),
    Column::number(
        "fastest_ns",
        "ns",
        "cost for the fastest thread",
        |row| number(row.fastest_ns.map(Nanoseconds::value)),
        |row, cell, _| set(&mut row.fastest_ns, finite(cell).map(Nanoseconds)),
    ),
    Column::number(
        "median_ns",
        "ns",
        "cost for the median thread",
        |row| number(row.median_ns.map(Nanoseconds::value)),
        |row, cell, _| set(&mut row.median_ns, finite(cell).map(Nanoseconds)),
    ),
    Column::number(
        "noise",
        "fraction",
        "relative median absolute deviation of the pairs",
        |row| number(row.noise),
        |row, cell, _| set(&mut row.noise, finite(cell)),
    ),
    Column::number(
        "pairs",
        "",
        "pairs that count",
        |row| count(row.pairs),
        |row, cell, _| set(&mut row.pairs, parsed(cell)),
    ),
    Column::number(
        "set_aside",
        "",
        "pairs excluded for causes seen outside the measured value",
        |row| count(row.excluded),
        |row, cell, _| set(&mut row.excluded, parsed(cell)),
    ),
    Column::number(
        "iterations",
        "",
        "iterations of the loop in each sample",
        |row| count(row.iterations),
        |row, cell, _| set(&mut row.iterations, parsed(cell)),
    ),
    Column::number(
        "unroll",
        "operations",
        "operations in one iteration of the baseline",
        |row| count(row.unroll.map(u64::from)),
        |row, cell, _| set(&mut row.unroll, parsed(cell)),
    ),
    Column::text(
        "verdict",
        "what the figure is worth ([verdicts](METHOD.md#verdicts))",
        |row| row.verdict.name().to_owned(),
        |row, cell, cells| row.read_verdict(cell, cells.cell("reason").unwrap_or_default()),
    ),
    Column::text(
        "reason",
        "the reason of the verdict, remarks, and whether the row is provisional",
        Row::explanation,
        |_, _, _| Some(()),
    ),
    Column::text(
        "check",
        "proof that the primitive did its work: `ok`, `failed` or empty",
        |row| row.check.map_or("", |is_ok| if is_ok { "ok" } else { "failed" }).to_owned(),
        |row, cell, _| {
            let outcomes = [("ok", true), ("failed", false)];
            set(&mut row.check, outcomes.into_iter().find(|(word, _)| *word == cell).map(|(_, is_ok)| is_ok))
        },
    ),
    Column::text(
        "evidence",
        "summary of the instructions found in the timed region",
        |row| row.evidence.clone().unwrap_or_default(),
        |row, cell, _| set(&mut row.evidence, Some(cell.to_owned())),
    ),
    Column::number(
        "clock_hz",
        "Hz",
        "clock of the core or multiprocessor during the case",
        |row| number(row.clock.map(Hertz::value)),
        |row, cell, _| set(&mut row.clock, finite(cell).map(Hertz)),
    ),
    Column::parameter(PARAMETERS[13]),
    Column::text(
        "actor",
        "whose cost `ns` is: the `slowest` thread's where all meet or contend, the `median` thread's where nothing is shared",
        |row| word(row.actor),
        |row, cell, _| set(&mut row.actor, parsed(cell)),
    )
    .later(),
    Column::number(
        "slowest_ns",
        "ns",
        "cost for the slowest thread",
        |row| number(row.slowest_ns.map(Nanoseconds::value)),
        |row, cell, _| set(&mut row.slowest_ns, finite(cell).map(Nanoseconds)),
    )
    .later(),
    Column::number(
        "ns_p05",
        "ns",
        "5th percentile of the pairs: over addresses, orders and times",
        |row| number(row.ns_spread.map(|spread| spread.low)),
        |row, cell, cells| interval(&mut row.ns_spread, cell, cells.cell("ns_p95")),
    )
    .later(),
    Column::number(
        "ns_p95",
        "ns",
        "95th percentile of the pairs",
        |row| number(row.ns_spread.map(|spread| spread.high)),
        |_, cell, _| finite(cell).map(drop),
    )
    .later(),
    Column::number(
        "within_low",
        "ns",
        "lower end of the 95 % interval of `ns` within this run: the one to compare rows of this run by",
        |row| number(row.ns_within.map(|within| within.low)),
        |row, cell, cells| interval(&mut row.ns_within, cell, cells.cell("within_high")),
    )
    .later(),
    Column::number(
        "within_high",
        "ns",
        "its upper end",
        |row| number(row.ns_within.map(|within| within.high)),
        |_, cell, _| finite(cell).map(drop),
    )
    .later(),
    Column::text(
        "population",
        "samples that `ns` stands for: `alone` (the threads had their cores for themselves), `beside` (another hardware \
         thread of their cores was active), `all`",
        |row| word(row.population),
        |row, cell, _| set(&mut row.population, parsed(cell)),
    )
    .later(),
    Column::number(
        "beside_share",
        "fraction",
        "share of the samples with SMT interference (another hardware thread is active); empty where it is not detected",
        |row| number(row.beside_share),
        |row, cell, _| set(&mut row.beside_share, finite(cell)),
    )
    .later(),
    Column::number(
        "runs",
        "",
        "runs that the row joins, if more than one",
        |row| count(row.runs),
        |row, cell, _| set(&mut row.runs, parsed(cell)),
    )
    .later(),
    Column::parameter(PARAMETERS[14]),
];

fn word<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn number(value: Option<f64>) -> String {
    value.map(significant).unwrap_or_default()
}

fn count(value: Option<u64>) -> String {
    value.map(|count| count.to_string()).unwrap_or_default()
}

fn parsed<T: FromStr>(cell: &str) -> Option<T> {
    cell.parse().ok()
}

/// A finite number: `NaN` and `inf` are no figures.
fn finite(cell: &str) -> Option<f64> {
    parsed(cell).filter(|number: &f64| number.is_finite())
}

fn set<T>(field: &mut Option<T>, value: Option<T>) -> Option<()> {
    *field = Some(value?);
    Some(())
}

/// An interval has both ends, or it is none.
fn interval(field: &mut Option<Interval>, low: &str, high: Option<&str>) -> Option<()> {
    let low = finite(low)?;
    *field = high.and_then(finite).map(|high| Interval { low, high });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_every_parameter_and_no_name_twice() {
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
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
        let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert!(names.join(",").starts_with(contract), "{names:?}");
    }
}
