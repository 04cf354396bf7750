//! The measurement model of syncscope.
//!
//! This crate knows no hardware. It holds the words every other crate speaks (see `docs/METHOD.md`) and the
//! engine that turns an [`Experiment`] into an estimate with a verdict:
//!
//! ```text
//! Primitive x Sweep -> Case -> Experiment -> Samples -> Estimate + Noise -> Verdict (+ Evidence, Check) -> Row -> Report
//! ```
//!
//! One module per step of that line.

pub mod engine;
pub mod fake;
pub mod model;
pub mod run;
pub mod session;
pub mod stats;

pub use engine::cancel::Cancel;
pub use engine::experiment::{Check, Disturbance, Experiment, ExperimentError, Ruler, Sample, Shot, Side};
pub use engine::pairs::Observation;
pub use engine::{Engine, Measurement, cancel, experiment, profile, stopping};
pub use model::case::{Case, CaseId, Dtype, Layout, MemoryOrder, Mode, Placement, Scope, Space};
pub use model::detail::Detail;
pub use model::evidence::Evidence;
pub use model::primitive::{Domain, Family, Primitive};
pub use model::units::{Cycles, Hertz, Nanoseconds, Ticks};
pub use model::verdict::Verdict;
pub use model::{case, detail, evidence, primitive, sweep, units, verdict};
pub use run::directory as run_directory;
pub use run::row::Row;
pub use run::{Run, journal, machine, row};
pub use session::laboratory::{self, Laboratory, Listing, Preset, Refusal};
