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
pub use engine::experiment::{Experiment, ExperimentError, Ruler};
pub use engine::measurement::Measurement;
pub use engine::settings::{BlockCount, Settings};
pub use engine::{Cancelled, Engine, cancel, experiment, profile, stopping};
pub use model::case::{Case, CaseId, Dtype, Layout, MemoryOrder, Mode, Placement, Scope, Space};
pub use model::check::Check;
pub use model::detail::Detail;
pub use model::estimate::Estimate;
pub use model::evidence::Evidence;
pub use model::observation::Observation;
pub use model::primitive::{Domain, Family, Primitive};
pub use model::sample::{Disturbance, Sample, Shot, Side};
pub use model::units::{Cycles, Hertz, Nanoseconds, Ticks};
pub use model::verdict::Verdict;
pub use model::{case, detail, evidence, primitive, sweep, units, verdict};
pub use run::directory as run_directory;
pub use run::row::Row;
pub use run::{Run, journal, machine, row, samples, stored_run};
pub use session::laboratory::{Laboratory, Listing, Refusal};
pub use session::preset::Preset;
