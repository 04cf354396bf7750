//! `run.json`: who measured what, where, when and how it ended.

pub(crate) mod files;

pub mod chain_check;
pub mod columns;
pub mod completeness;
pub mod directory;
pub mod lock;
pub mod machine;
pub mod provenance;
pub mod record;
pub mod repeats;
pub mod row;
pub mod smt_interference;
pub mod stored_run;
pub mod tables;

pub use tables::{journal, samples};

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::run::machine::{Environment, Machine, MeasuredTopology};
use crate::run::provenance::{SessionRecord, Tool};
use crate::words::words;

/// Version of the layout of a run directory. Raised when a reader of the old layout would misread the new one.
pub const SCHEMA: u32 = 1;

words! {
    /// How a run ended.
    pub enum Status ("status") {
        /// It has not ended, or its end could not be written (a crash, a power cut).
        Running = "running",
        /// All of the plan was measured.
        Done = "done",
        /// Someone asked it to stop.
        Interrupted = "interrupted",
        /// The time allowed for the whole run was spent before the plan was done.
        BudgetSpent = "budget_spent",
    }
}

/// The content of `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// How it ended.
    pub status: Status,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub ended: Option<String>,
    /// Number of cases in the plan.
    pub planned: u64,
    /// The same by primitive; empty in older files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub planned_by_primitive: BTreeMap<String, u64>,
    /// What may have disturbed the figures, and what to do about it.
    pub warnings: Vec<String>,
    /// The hardware.
    pub machine: Machine,
    /// Its state.
    pub environment: Environment,
    /// What was measured of the CPUs' topology, at the end of a run that measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_topology: Option<MeasuredTopology>,
    /// The build of syncscope that began it; `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// How many runs it joins, each in a folder of its own; `None` for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The processes that measured it, in order; empty in older files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionRecord>,
}

/// The word of a run whose rows come from another tool, where others have their preset.
pub const IMPORTED: &str = "imported";

impl Run {
    /// A run by this version of syncscope that begins: nothing is planned, and nothing is known of the machine. Where more is
    /// known, the caller replaces fields.
    #[must_use]
    pub fn new(preset: impl Into<String>, started: SystemTime) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: Vec::new(),
            preset: preset.into(),
            only: Vec::new(),
            skip: Vec::new(),
            seed: 0,
            status: Status::Running,
            started: timestamp(started),
            ended: None,
            planned: 0,
            planned_by_primitive: BTreeMap::new(),
            warnings: Vec::new(),
            machine: Machine::default(),
            environment: Environment::default(),
            measured_topology: None,
            tool: None,
            repeat: None,
            sessions: Vec::new(),
        }
    }
}

/// A moment as RFC 3339 text, to the second, UTC.
#[must_use]
pub fn timestamp(moment: SystemTime) -> String {
    humantime::format_rfc3339_seconds(moment).to_string()
}

/// The time between two timestamps in seconds, if both can be read.
#[must_use]
pub fn seconds_between(start: &str, end: &str) -> Option<f64> {
    let start = humantime::parse_rfc3339(start).ok()?;
    let end = humantime::parse_rfc3339(end).ok()?;
    Some(end.duration_since(start).ok()?.as_secs_f64())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

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
    fn a_file_of_an_older_version_is_read() {
        let older = r#"{"schema":1,"version":"0.1.0","command":[],"preset":"quick","only":[],"skip":[],"seed":7,
            "status":"done","started":"2001-09-09T01:46:40Z","ended":null,"planned":0,"warnings":[],
            "machine":{"cpu":{"model":"x","architecture":"x86_64","packages":1,"numa_nodes":1,"cores":1,
                "hardware_threads":1,"caches":[],"memory_bytes":null,"hypervisor":null},"gpus":[]},
            "environment":{"os":"Linux","allowed_cpus":"0","cpu_quota":null,"governor":null,"boost":null,"load":0.5,
                "nvidia_driver":null,"cuda_driver":null,"nvrtc":null,"clocks":[],"libraries":{}}}"#;
        let run: Run = serde_json::from_str(older).unwrap();
        assert_eq!((run.tool.clone(), run.sessions.len(), run.environment.settings.clone()), (None, 0, None));
        let text = serde_json::to_string(&run).unwrap();
        assert!(run.planned_by_primitive.is_empty());
        for absent in ["tool", "sessions", "settings", "openmp", "mps", "planned_by_primitive"] {
            assert!(!text.contains(absent), "unknown values are not written: {text}");
        }
    }

    #[test]
    fn timestamps_are_rfc_3339() {
        let start = timestamp(UNIX_EPOCH + Duration::from_secs(1_000_000_000));
        assert_eq!(start, "2001-09-09T01:46:40Z");
        let end = timestamp(UNIX_EPOCH + Duration::from_secs(1_000_000_090));
        assert_eq!(seconds_between(&start, &end), Some(90.0));
        assert_eq!(seconds_between(&end, &start), None);
        assert_eq!(seconds_between("yesterday", &end), None);
    }
}
