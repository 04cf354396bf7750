//! A stored run: `run.json` (who measured what, where, when and how it ended) and the modules of its tables.
//!
//! Start with [`row`], one line of `measurements.csv`, and [`directory`], which reads and writes a run.
//!
//! | module | contents |
//! |---|---|
//! | [`directory`] | the files in the folder of a run, and how they are read |
//! | [`row`], [`columns`], `measured` | a row, its cells in `measurements.csv`, what it says of a measurement |
//! | [`journal`] | appends lines to the tables while a run goes on |
//! | `counts` | the integers of `run.json` and their limits |
//! | `damage` | reads a table line by line: a damaged line costs only its own row |
//! | [`samples`], `details` | `samples.csv` and `details.csv` as a whole |
//! | [`plain`] | tables of experiments that measure no cases |
//! | [`another_run`] | intervals for another run, from the differences between processes |
//! | [`rivals`] | the ratio of two costs of a run |
//! | [`between_rows`] | limits that the rows of a run set each other |
//! | [`history`] | how far apart earlier runs of a machine were |
//! | [`fingerprint`] | what tells the states of a machine apart |
//! | [`repeats`] | joins the rows of several runs |
//! | [`shown`] | how a cost is written, by the interval next to it |
//! | [`stored_run`] | the form of the runs in `results/` |

pub(crate) mod files;

pub mod another_run;
pub mod between_rows;
pub mod columns;
mod contradiction;
mod counts;
pub(crate) mod damage;
mod details;
pub mod directory;
pub mod fingerprint;
pub mod guests;
pub mod history;
pub mod journal;
pub mod machine;
mod measured;
pub mod plain;
pub mod provenance;
pub mod repeats;
pub mod rivals;
pub mod row;
pub mod samples;
pub mod shown;
pub mod stored_run;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use crate::run::counts::check as check_counts;
pub use crate::run::details::only_details;

use crate::records::records;

use crate::run::another_run::Shared;
use crate::run::fingerprint::Fingerprint;
use crate::run::history::BetweenRuns;
use crate::run::machine::{Environment, Machine, MeasuredTopology};
use crate::run::provenance::{Disturbed, SessionRecord, Tool};
use crate::words::words;
use crate::{OwnOperation, Row, RunDirectory, RunDirectoryError};

/// Version of the layout of a run directory. Raised when a reader of the old layout would misread the new one.
pub const SCHEMA: u32 = 1;

words! {
    /// How a run ended.
    #[derive(Default)]
    pub enum Status ("status") {
        /// It has not ended, or its end could not be written (a crash, a power cut).
        #[default]
        Running = "running",
        /// All of the plan was measured.
        Done = "done",
        /// Someone asked it to stop.
        Interrupted = "interrupted",
        /// The time allowed for the whole run was spent before the plan was done.
        BudgetSpent = "budget_spent",
    }
}

records! {
    /// The content of `run.json`.
    pub struct Run {
        /// [`SCHEMA`] of the version that wrote it.
        pub schema: u32,
        /// Version of syncscope.
        pub version: String,
        /// The command line.
        pub command: Vec<String>,
        /// The preset measured, [`IMPORTED`], or the name of an experiment that has tables of its own.
        pub preset: String,
        /// The globs that chose primitives; empty means all.
        pub only: Vec<String>,
        /// The globs that left primitives out.
        pub skip: Vec<String>,
        /// The seed of every random order.
        pub seed: u64,
        /// The seconds that the run was to take, by `--time`; `None` for the time of its preset.
        pub time_s?: Option<f64>,
        /// How it ended.
        pub status: Status,
        /// Start, RFC 3339, UTC.
        pub started: String,
        /// End, RFC 3339, UTC.
        pub ended: Option<String>,
        /// Number of cases in the plan.
        pub planned: u64,
        /// Number of cases in the plan by primitive; empty for published experiments and imported figures.
        pub planned_by_primitive?: BTreeMap<String, u64>,
        /// The operations that a user wrote, in their source.
        pub own?: Vec<OwnOperation>,
        /// How the first of these operations compares with the others, measured in turn with it.
        pub compared?: Vec<OwnComparison>,
        /// What may have disturbed the figures, and what to do about it.
        pub warnings: Vec<String>,
        /// What disturbed the run and how much, as its processes and rows show.
        pub disturbed?: Vec<Disturbed>,
        /// Why rows of the CPUs are provisional although nothing ended the run early: fresh processes could not measure.
        pub without_processes?: Option<String>,
        /// The hardware.
        pub machine: Machine,
        /// The state of the machine.
        pub environment: Environment,
        /// What was measured of the CPUs' topology, at the end of a run that measured it.
        pub measured_topology?: Option<MeasuredTopology>,
        /// The build of syncscope that began it; `None` where it did not say.
        pub tool?: Option<Tool>,
        /// How many runs it joins, each in a folder of its own; `None` for a single run.
        pub repeat?: Option<u32>,
        /// The processes that measured it, in order; none where they left no record.
        pub sessions?: Vec<SessionRecord>,
        /// What the rows of each class share, and by how much another run may shift it; none where it was not measured.
        pub shared?: Vec<Shared>,
        /// How far earlier runs of this machine were from it and from each other; none where none was known.
        pub between_runs?: Vec<BetweenRuns>,
        /// In which state the machine was, in each process and, where it changed, in each state.
        pub fingerprint?: Option<Fingerprint>,
    }

    /// The cost of an operation over the cost of another one, measured in turn, in one case.
    pub struct OwnComparison {
        /// The id of the operation that was asked about.
        pub first: String,
        /// The id of the other one.
        pub other: String,
        /// The parameters of the case.
        pub parameters: String,
        /// Threads of the case.
        pub threads?: Option<u32>,
        /// Blocks of the case.
        pub blocks?: Option<u32>,
        /// The ratio; `None` where it is not known.
        pub ratio?: Option<f64>,
        /// The ends of its 95 % interval.
        pub low?: Option<f64>,
        /// See `low`.
        pub high?: Option<f64>,
        /// Whether the words call the first one faster; `None` in older runs.
        pub is_faster?: Option<bool>,
        /// The comparison in words: `1.03 times (1.01 to 1.05) as expensive`.
        pub words: String,
    }
}

/// The longest run: a year.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The preset of a run whose rows come from another tool.
pub const IMPORTED: &str = "imported";

/// The remark of a row whose figure another tool published without an interval.
pub const NO_INTERVAL: &str = "imported; no interval was published";

impl Run {
    /// All that may have disturbed the figures, and what to do about it.
    pub fn all_warnings(&self) -> impl Iterator<Item = String> {
        let reason = self.without_processes.iter();
        let without =
            reason.map(|why| format!("fresh processes could not measure, so CPU rows are provisional: {why}"));
        self.warnings.iter().cloned().chain(without).chain(self.disturbed.iter().map(ToString::to_string))
    }

    /// A run that begins with this version of syncscope: nothing is planned, and nothing is known of the machine. The caller
    /// replaces fields where more is known.
    pub fn new(preset: impl Into<String>, started: SystemTime) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            preset: preset.into(),
            started: timestamp(started),
            ..Self::default()
        }
    }

    /// How long the run was to take, at most [`LONGEST`]; `None` for the time of its preset.
    pub fn time(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.time_s?).ok().map(|time| time.min(LONGEST))
    }

    /// Whether these rows leave nothing to measure: each case of the plan has its last row.
    pub(crate) fn is_complete_with(&self, rows: &[Row]) -> bool {
        rows.len() as u64 >= self.planned && !rows.iter().any(|row| row.provisional)
    }

    /// Why the rows of a finished run are not the rows that it wrote; `None` if they are, or if it is not finished. A
    /// table that was truncated or replaced has fewer.
    pub fn damage(&self, rows: &[Row]) -> Option<String> {
        if self.status != Status::Done || self.is_complete_with(rows) {
            return None;
        }
        let (planned, provisional) = (self.planned, rows.iter().filter(|row| row.provisional).count());
        let open = if provisional > 0 { format!(", {provisional} of them provisional") } else { String::new() };
        Some(format!("damaged: {} of {planned} cases are there{open}", rows.len()))
    }
}

impl RunDirectory {
    /// Whether the run is done and each case of its plan has its last row.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn is_finished(&self, run: &Run) -> Result<bool, RunDirectoryError> {
        Ok(run.status == Status::Done && run.is_complete_with(&self.read_rows()?))
    }
}

/// A moment as RFC 3339 text, to the second, UTC. A clock before 1970 or after 9999 has the nearest of these years.
pub fn timestamp(moment: SystemTime) -> String {
    humantime::format_rfc3339_seconds(within_years(moment)).to_string()
}

/// [`timestamp`] to the nanosecond, which tells apart what happens within a second.
pub fn precise_timestamp(moment: SystemTime) -> String {
    humantime::format_rfc3339_nanos(within_years(moment)).to_string()
}

/// The nearest moment that RFC 3339 can write.
fn within_years(moment: SystemTime) -> SystemTime {
    /// The first second of the year 10000.
    const END: Duration = Duration::from_secs(253_402_300_800);
    moment.clamp(UNIX_EPOCH, UNIX_EPOCH + END - Duration::from_nanos(1))
}

/// The time between two timestamps in seconds, if both can be read.
pub fn seconds_between(start: &str, end: &str) -> Option<f64> {
    let start = humantime::parse_rfc3339(start).ok()?;
    let end = humantime::parse_rfc3339(end).ok()?;
    Some(end.duration_since(start).ok()?.as_secs_f64())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::case::Case;
    use crate::model::verdict::Verdict;

    /// A run of the quick preset that was interrupted.
    pub(crate) fn interrupted() -> Run {
        Run {
            command: vec!["syncscope".into(), "run".into()],
            seed: 7,
            status: Status::Interrupted,
            planned: 2,
            ..Run::new("quick", UNIX_EPOCH + Duration::from_secs(1_000_000_000))
        }
    }

    #[test]
    fn timestamps_are_rfc_3339() {
        let start = timestamp(UNIX_EPOCH + Duration::from_secs(1_000_000_000));
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(320_000_000_000)), "9999-12-31T23:59:59Z");
        assert_eq!(precise_timestamp(UNIX_EPOCH + Duration::from_nanos(5)), "1970-01-01T00:00:00.000000005Z");
        assert_eq!(start, "2001-09-09T01:46:40Z");
        let end = timestamp(UNIX_EPOCH + Duration::from_secs(1_000_000_090));
        assert_eq!(seconds_between(&start, &end), Some(90.0));
        assert_eq!(seconds_between(&end, &start), None);
        assert_eq!(seconds_between("yesterday", &end), None);
    }

    #[test]
    fn a_run_that_is_done_has_a_last_row_for_each_case() {
        let row = |primitive: &str| Row::unmeasured(Case::new(primitive), Verdict::Resolved);
        let rows = [row("cpu.barrier.std"), row("cpu.barrier.sense")];
        let done = Run { status: Status::Done, ..interrupted() };
        assert_eq!(done.damage(&rows), None);
        assert_eq!(done.damage(&rows[..1]).unwrap(), "damaged: 1 of 2 cases are there");
        assert_eq!(interrupted().damage(&rows[..1]), None, "nobody said that it is done");
        let open = [Row { provisional: true, ..rows[0].clone() }, rows[1].clone()];
        assert_eq!(done.damage(&open).unwrap(), "damaged: 2 of 2 cases are there, 1 of them provisional");
        // A later version may have gone on with a longer plan.
        assert_eq!(Run { planned: 1, ..done }.damage(&rows), None);
    }
}
