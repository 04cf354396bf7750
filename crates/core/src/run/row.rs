//! A row: everything a run says about one case. Its columns in `measurements.csv` say how each cell is written, read and
//! joined, for the page and for the documentation.

use crate::model::limits::{MOST_COUNT, count};
use crate::model::parameter::{Cells, PARAMETERS, Parameter, set, text};
use crate::stats::Variance;
use crate::units::significant;
use crate::{Actor, Case, Class, Cycles, Hertz, Interval, Mode, Nanoseconds, Population, Verdict};

/// How far the figure of a row may be from other runs in the same state, judged by how much processes differ:
/// variances of its logarithm, as for the figure of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunToRun {
    /// The class of the case: what changes its cost.
    pub class: Class,
    /// The variances of the cost in nanoseconds.
    pub ns: Parts,
    /// The variances of the cost in cycles.
    pub cycles: Option<Parts>,
}

/// The parts of the variance between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// The variance of the row's own part.
    pub own: Variance,
    /// The variance of what all rows of its class share; zero where too few rows show it.
    pub shared: Variance,
}

/// One column of `measurements.csv`.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// A description of the cells for people.
    pub meaning: &'static str,
    /// Its title in the page's table of rows; empty where the page has no column for it, or one of its own making.
    pub label: &'static str,
    /// Whether the page's script derives it, so that the page leaves it out.
    pub is_left_to_script: bool,
    /// Whether it holds numbers.
    pub is_number: bool,
    content: Content,
    /// Whether it is measured only in rows that join runs, and follows from other columns in all others.
    is_measured_by_runs: bool,
}

type Write = fn(&Row) -> String;

/// Reads a cell that is not empty, with the other cells at hand; `None` if the cell is not valid.
type Read = fn(&mut Row, &str, &dyn Cells) -> Option<()>;

#[derive(Debug, Clone, Copy)]
enum Content {
    /// A parameter of the case, with a cell of its own where a file says more than the case does.
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
    const fn parameter(name: &str) -> Self {
        let mut at = 0;
        while !is_same(PARAMETERS[at].name, name) {
            at += 1;
        }
        let parameter = PARAMETERS[at];
        Self::new(parameter.name, parameter.unit, parameter.meaning, Content::Parameter(parameter, None))
    }

    /// This column with another cell than the case has.
    const fn written(self, write: Write) -> Self {
        match self.content {
            Content::Parameter(parameter, _) => Self { content: Content::Parameter(parameter, Some(write)), ..self },
            _ => self,
        }
    }

    const fn text(name: &'static str, meaning: &'static str, write: Write, read: Read) -> Self {
        Self::new(name, "", meaning, Content::Text(write, read))
    }

    const fn derived(name: &'static str, meaning: &'static str, write: Write) -> Self {
        Self::new(name, "", meaning, Content::Derived(write))
    }

    const fn number(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        get: fn(&Row) -> Option<f64>,
        set: fn(&mut Row, Option<f64>),
    ) -> Self {
        Self::new(name, unit, meaning, Content::Number(get, set))
    }

    /// This column as one of numbers, in this unit.
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

    /// Whether it follows from other columns and the catalogue, so that nobody reads it. This may depend on whether the row
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

    /// Reads a cell that is not empty; `None` if it is not valid in its column.
    pub(super) fn read(&self, row: &mut Row, cell: &str, cells: &dyn Cells) -> Option<()> {
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
    pub(super) fn is_half_an_interval(&self, row: &Row) -> bool {
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

/// A row and its columns: the fields in the order of their columns.
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
/// A column of whole numbers: name where it differs from the field's, unit, meaning.
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
fn number_text(value: Option<f64>) -> String {
    value.map(significant).unwrap_or_default()
}

row! {
    /// Everything a run says about one case, and its columns of `measurements.csv`. To add a result, add a field here
    /// with its columns at the end, and fill the field where it is measured.
    ///
    /// An empty cell means: not applicable, or not available. What follows from other columns is written for other programs, and
    /// never read.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Row {
        /// The case.
        pub case: Case => [
            // The identity says whether the `mode` is a parameter of the case.
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
            Column::parameter("primitive"),
            Column::parameter("dtype"),
            Column::parameter("layout"),
            Column::parameter("stride"),
            Column::parameter("threads"),
            Column::parameter("blocks"),
            Column::parameter("devices"),
            Column::parameter("placement"),
            Column::parameter("scope"),
            Column::parameter("space"),
            Column::parameter("order"),
        ];
        /// How the operations follow each other: as the case says, or as its primitive implies.
        pub mode: Option<Mode> => [Column::parameter("mode").written(|row| text(row.mode)), Column::parameter("group")];
        /// Cost of one operation, for the actors and the population that the row is about.
        pub ns: Option<Nanoseconds> => [
            number!(ns as Nanoseconds, "ns", "ns", "cost of one operation for the `actor` over the `population`"),
        ];
        /// 95 % interval of `ns` for another run on this machine. Quote this one.
        pub ns_interval: Option<Interval> => [
            number!(
                ns_interval.low,
                "ns_low",
                "ns",
                "lower end of the run-to-run 95 % interval of `ns`, a prediction for another run on this machine in the \
                 same state"
            )
            .measured_by_runs(),
            number!(ns_interval.high, "ns_high", "ns", "its upper end").measured_by_runs(),
        ];
        /// Cost of one operation in cycles of the core or multiprocessor.
        pub cycles: Option<Cycles> => [
            number!(cycles as Cycles, "cycles", "cycles", "the same cost in cycles of the core or multiprocessor"),
        ];
        /// 95 % interval of `cycles` for another run.
        pub cycles_interval: Option<Interval> => [
            number!(
                cycles_interval.low,
                "cycles_low",
                "cycles",
                "lower end of the run-to-run 95 % interval of `cycles`"
            )
            .measured_by_runs(),
            number!(cycles_interval.high, "cycles_high", "cycles", "its upper end").measured_by_runs(),
            Column::derived("ops_per_s_thread", "operations per second of one thread: 1/`ns`; only of a cost that is resolved, rough or imported", |row| {
                number_text(row.ops_per_s_thread())
            })
            .in_unit("1/s")
            .left_to_script(),
        ];
        /// Operations per second of all actors together; follows from `rate_ns`.
        pub ops_per_s_total: Option<f64> => [
            Column::derived(
                "ops_per_s_total",
                "operations per second of all threads together: operations at once / `rate_ns`. A barrier counts \
                 once for all that meet, a GPU lock once per warp, a launch once; only of such a cost",
                |row| number_text(row.ops_per_s_total),
            )
            .in_unit("1/s"),
        ];
        /// Cost of one operation as the fastest actor sees it.
        pub fastest_ns: Option<Nanoseconds> => [
            number!(fastest_ns as Nanoseconds, "fastest_ns", "ns", "cost for the fastest thread: median of all pairs"),
        ];
        /// Cost of one operation as the median actor sees it.
        pub median_ns: Option<Nanoseconds> => [
            number!(median_ns as Nanoseconds, "median_ns", "ns", "cost for the median thread: median of all pairs, which `ns` weights by population, block and process"),
        ];
        /// Relative median absolute deviation of the observations.
        pub noise: Option<f64> => [
            number!(noise, "noise", "fraction", "relative median absolute deviation of the pairs").labelled("Noise"),
        ];
        /// Number of pairs behind the estimate.
        pub pairs: Option<u64> => [count!(pairs, "", "pairs that count").labelled("Pairs")];
        /// Number of pairs excluded for causes seen outside the measured value.
        pub excluded: Option<u64> => [
            count!(excluded, "set_aside", "", "pairs excluded for disturbances detected independently of the \
                                               measured value"),
        ];
        /// Iterations of the loop in each sample.
        pub iterations: Option<u64> => [count!(iterations, "", "iterations of the loop in each sample")];
        /// Operations in one iteration of the baseline.
        pub unroll: Option<u32> => [count!(unroll, "operations", "operations in one iteration of the baseline")];
        /// What the figure is worth.
        pub verdict: Verdict => [
            Column::text(
                "verdict",
                "what the figure is worth ([verdicts](METHOD.md#verdicts))",
                |row| row.verdict.name().to_owned(),
                |row, cell, cells| row.read_verdict(cell, cells.cell("reason").unwrap_or_default()),
            ),
        ];
        /// What a reader of a resolved figure must know, such as "4 threads on 2 CPUs". The column `reason` has it
        /// after the verdict's own reason.
        pub remark: Option<String> => [
            // Read with the verdict.
            Column::text("reason", "the reason of the verdict, or a remark on a resolved cost", Row::explanation, |_, _, _| {
                Some(())
            }),
        ];
        /// Whether the primitive did its work; `None` where that cannot be seen.
        pub check: Option<bool> => [
            Column::text(
                "check",
                "proof that the primitive did its work: `ok`, `failed` or empty",
                |row| row.check.map_or("", |is_ok| if is_ok { "ok" } else { "failed" }).to_owned(),
                |row, cell, _| {
                    row.check = Some(["failed", "ok"].iter().position(|word| *word == cell)? == 1);
                    Some(())
                },
            )
            .labelled("Check"),
        ];
        /// The summary of what a disassembler found.
        pub evidence: Option<String> => [
            word!(
                evidence,
                "summary of the instructions found in the timed region, then the other instructions of an operation"
            )
            .labelled("Instructions"),
        ];
        /// Clock of the core or multiprocessor: cycles over nanoseconds of a resolved cost, otherwise the clock of the pairs
        /// that count.
        pub clock: Option<Hertz> => [
            number!(clock as Hertz, "clock_hz", "Hz", "clock of the core or multiprocessor: `cycles`/`ns` of a resolved cost, else that of the pairs that count"),
            Column::parameter("form"),
        ];
        /// Whose cost `ns` is; `None` where nobody said so.
        pub actor: Option<Actor> => [
            word!(
                actor,
                "whose cost `ns` is: the `slowest` thread's where all meet, the `median` thread's where nothing is shared, the `mean` of \
                 all threads in a common window"
            ),
        ];
        /// Cost of one operation as the slowest actor sees it.
        pub slowest_ns: Option<Nanoseconds> => [
            number!(slowest_ns as Nanoseconds, "slowest_ns", "ns", "cost for the slowest thread: median of all pairs; in a window it depends on the window's length (`window_ns` in details.csv)"),
        ];
        /// The 5th and the 95th percentile of the pairs: what a program may meet.
        pub ns_spread: Option<Interval> => [
            number!(ns_spread.low, "ns_p05", "ns", "5th percentile of the pairs: over addresses, execution orders and points in time"),
            number!(ns_spread.high, "ns_p95", "ns", "95th percentile of the pairs"),
        ];
        /// 95 % interval of `ns` within this run. Use it to compare rows of this run.
        pub ns_within: Option<Interval> => [
            number!(
                ns_within.low,
                "within_low",
                "ns",
                "lower end of the 95 % interval of `ns` within this run: use it to compare rows of this run"
            ),
            number!(ns_within.high, "within_high", "ns", "its upper end"),
        ];
        /// The samples that `ns` covers.
        pub population: Option<Population> => [
            word!(
                population,
                "samples that `ns` covers: `alone` (the threads had their cores for themselves), `all`"
            ),
        ];
        /// Share of the samples of actors with SMT interference, 0 to 1; `None` where it is not detected.
        pub beside_share: Option<f64> => [
            number!(
                beside_share,
                "beside_share",
                "fraction",
                "share of the samples with SMT interference (another hardware thread is active); empty where it is not detected"
            )
            .labelled("SMT interference"),
        ];
        /// Number of runs that the row joins; `None` for one. With a number, its interval for another run is read as it is written.
        pub runs: Option<u64> => [count!(runs, "", "runs that the row joins, if more than one; `1` in a bundle, which keeps the run-to-run intervals of its run")];
        /// Whether the run ended before all measurement blocks of this case were taken. A resumed run measures such cases again.
        pub provisional: bool => [
            Column::text(
                "provisional",
                "`yes` if the run ended before the case had enough measurement blocks; a resumed run measures it again",
                |row| if row.provisional { "yes" } else { "" }.to_owned(),
                |row, cell, _| {
                    row.provisional = cell == "yes";
                    row.provisional.then_some(())
                },
            ),
        ];
        /// The time in which all actors together execute their number of operations, see
        /// [`Estimate::rate_ns`](crate::Estimate::rate_ns).
        pub rate_ns: Option<Nanoseconds> => [
            number!(
                rate_ns as Nanoseconds,
                "rate_ns",
                "ns",
                "time in which all threads together execute their number of operations: the harmonic mean of their costs, or the \
                 cost of the slowest where that counts; empty where not all run at the same time"
            ),
        ];
        /// 95 % interval of `cycles` within this run.
        pub cycles_within: Option<Interval> => [
            number!(
                cycles_within.low,
                "cycles_within_low",
                "cycles",
                "lower end of the 95 % interval of `cycles` within this run"
            ),
            number!(cycles_within.high, "cycles_within_high", "cycles", "its upper end"),
            Column::parameter("elements"),
        ];
        /// What is assumed about another run, not measured, and not in `ns_interval`: half the width of a 95 % interval,
        /// relative to the cost.
        pub allowance: Option<f64> => [
            number!(
                allowance,
                "allowance",
                "fraction",
                "half-width of a run-to-run 95 % interval, relative to `ns`, that is assumed instead of \
                 measured and is not part of `ns_low` to `ns_high`; empty where the differences between processes or \
                 runs were measured"
            )
            .measured_by_runs(),
            Column::parameter("inside"),
            Column::parameter("outside"),
        ];
        /// Cost of one operation where every actor does equal work, until the last is done; `None` where a window serves the
        /// actors alike.
        pub equal_work_ns: Option<Nanoseconds> => [
            number!(
                equal_work_ns as Nanoseconds,
                "equal_work_ns",
                "ns",
                "cost of one operation if every thread does equally many, until the last is done; empty where the \
                 window serves all threads alike or `ns` is not a mean"
            ),
        ];
        /// 95 % interval of `equal_work_ns` within this run.
        pub equal_work_within: Option<Interval> => [
            number!(equal_work_within.low, "equal_work_low", "ns", "lower end of its 95 % interval within this run"),
            number!(equal_work_within.high, "equal_work_high", "ns", "its upper end"),
        ];
        /// The cost of equal work in cycles.
        pub equal_work_cycles: Option<Cycles> => [
            number!(equal_work_cycles as Cycles, "equal_work_cycles", "cycles", "the same cost in cycles of the multiprocessor"),
        ];
        /// How far the figure may be from other runs, judged by how much processes differ. No column has it: it
        /// follows from all rows and their details together, see [`crate::run::another_run`].
        pub run_to_run: Option<RunToRun> => [];
    }
}

#[cfg(test)]
pub(super) mod tests;
