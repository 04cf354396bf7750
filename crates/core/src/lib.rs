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

mod detail_table;
mod pairs;
mod text;
mod visit;

pub mod cancel;
pub mod case;
pub mod detail;
pub mod engine;
pub mod evidence;
pub mod experiment;
pub mod fake;
pub mod journal;
pub mod laboratory;
pub mod machine;
pub mod primitive;
pub mod profile;
pub mod row;
pub mod run;
pub mod run_directory;
pub mod samples;
pub mod stats;
pub mod stopping;
pub mod stored_run;
pub mod sweep;
pub mod units;
pub mod verdict;

pub use cancel::Cancel;
pub use case::{Case, CaseId, Dtype, Layout, MemoryOrder, Mode, Placement, Scope, Space};
pub use detail::Detail;
pub use engine::{Engine, Measurement};
pub use evidence::Evidence;
pub use experiment::{Check, Disturbance, Experiment, ExperimentError, Ruler, Sample, Shot, Side};
pub use laboratory::{Laboratory, Listing, Preset, Refusal};
pub use pairs::Observation;
pub use primitive::{Domain, Family, Primitive};
pub use row::Row;
pub use run::Run;
pub use units::{Cycles, Hertz, Nanoseconds, Ticks};
pub use verdict::Verdict;
