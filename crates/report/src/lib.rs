//! Reports of syncscope: the rows of runs as an HTML page, as a table for the terminal, and in the formats of [`export`].
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use syncscope_report::{RunData, page, table};
//!
//! let run = RunData::load("my-run".as_ref(), Arc::default())?;
//! let terminal = table::summary(&run, 100, true);
//! let html = page::render(&[run]);
//! # Ok::<(), syncscope_core::run_directory::RunDirectoryError>(())
//! ```

#![forbid(unsafe_code)]

mod analysis;
mod chart;
mod figure;
mod generation;
mod harmless;
mod live;
#[cfg(test)]
#[path = "../build/modules.rs"]
mod modules;
mod naming;
mod reading;
mod run_data;
mod sets;
#[cfg(test)]
mod testing;
mod wrap;

pub mod export;
pub mod gallery;
pub mod page;
pub mod section;
pub mod syncperformance;
pub mod table;

pub use analysis::compare::{
    Change, ClassChange, ComparedCase, Comparison, Difference, FamilyChange, MachineStates, USUAL_THRESHOLD, compare,
    compare_in_turn,
};
pub use analysis::contest::Ratio;
pub use analysis::findings::{Finding, Outcome, Paper, Truth, findings};
pub use analysis::fleet::{ExaminedFleet, Fleet, FleetCell, FleetNode};
pub use analysis::questions::advice::{Advice, Asked, Candidate, Choice, CostFigure, Decision, Need, RunnerUp, advise};
pub use chart::{Axis, Chart, Point, Rectangle, Series};
pub use figure::{grouped, time};
pub use harmless::{json, plain, plain_lines};
pub use live::LiveLadder;
pub use reading::{has_cost_of_case, has_figure, interval_within_run};
pub use run_data::{Damage, RunData};
pub use sets::in_groups;
