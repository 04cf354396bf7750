//! The measurement model of syncscope: it turns timed samples of two loops into a cost with an interval and a verdict.
//!
//! Start with [`engine`], which measures one case. The crate knows no hardware. It defines the terms of every other crate
//! (`docs/METHOD.md`) and measures through two traits: a [`Laboratory`] makes the experiments of one domain, an
//! [`Experiment`] runs one of its two loops when asked.
//!
//! ```text
//! Primitive x Sweep -> Case -> Experiment -> Samples -> Estimate + Noise -> Verdict (+ Evidence, Check) -> Row -> Report
//! ```
//!
//! Dependencies between the folders run one way: `session` uses `run`, `run` uses `engine`, `engine` uses `stats` and `model`.
//!
//! - [`model`]: the terms as types
//! - [`stats`]: medians, intervals, noise
//! - [`engine`]: one case, from samples to a verdict
//! - [`run`]: the run directory, its files and columns
//! - [`session`]: a whole run over many cases
//! - [`sets`]: items by their keys
//! - [`fake`]: an experiment and a laboratory made of numbers, for tests

#![forbid(unsafe_code)]

pub mod data_file;
pub mod engine;
pub mod fake;
pub mod model;
pub mod numbers;
mod records;
pub mod run;
pub mod session;
pub mod sets;
pub mod stats;
pub mod units;
pub mod words;

pub use engine::experiment::{Experiment, ExperimentError, Limit, Protocol, Ruler};
pub use engine::measurement::Measurement;
pub use engine::stopping::{BlockCount, Cancel, Settings};
pub use engine::{Engine, Unmeasured, experiment, profile, stopping};
pub use model::axes::{Axes, Variants};
pub use model::case::{
    Actor, Case, CaseId, Dtype, Form, Group, Layout, MemoryOrder, Mode, Placement, Population, Scope, Space, Work,
};
pub use model::detail::Detail;
pub use model::domain::Domain;
pub use model::estimate::{Estimate, Observation};
pub use model::evidence::{Check, Counted, Evidence, MOST_OTHERS, Receipt};
pub use model::facts::{ActorRule, Class, Facts, OperationsAtOnce, Role, RunEffect, Waits};
pub use model::groups::{LockRole, SpinBudget};
pub use model::own::{Inspected, OwnCheck, OwnCode, OwnLaunch, OwnOperation, OwnUse};
pub use model::primitive::{Catalogue, Family, Primitive};
pub use model::sample::{Disturbance, Sample, Shot, Side};
pub use model::verdict::Verdict;
pub use model::{case, detail, evidence, language, limits, own, primitive, sample, sweep, verdict};
pub use run::directory as run_directory;
pub use run::directory::{RunDirectory, RunDirectoryError};
pub use run::row::Row;
pub use run::samples as stored_samples;
pub use run::{Run, Status, journal, machine, row, stored_run};
pub use session::laboratory::{Laboratory, Listing, Refusal};
pub use session::preset::{CPU_BLOCK_PAIRS, Preset, pairs_of_a_block};
pub use stats::{Interval, Level};
pub use units::{Cycles, Hertz, Nanoseconds, Ticks};
