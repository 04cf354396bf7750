//! Reports of syncscope: the rows of runs as an HTML page, as a table for the terminal, and in the formats of [`export`].
//!
//! Start with `reading.rs`, which puts one row into words, and `analysis/questions/mod.rs`, which answers questions from many rows.
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
mod harmless;
mod html;
mod live;
#[cfg(test)]
#[path = "../build/modules.rs"]
mod modules;
mod reading;
mod run_data;
#[cfg(test)]
mod testing;
mod wrap;

pub mod export;
pub mod figure;
pub mod grid;
pub mod naming;
pub mod page;
pub mod section;
pub mod table;

pub use analysis::compare::differences::{Property, differences, properties, variables_in_words};
pub use analysis::compare::{
    Change, ClassChange, ComparedCase, Comparison, Difference, FamilyChange, IN_RUNS, MachineStates, USUAL_THRESHOLD,
    compare, compare_in_turn, compare_selected, error_of_intervals, instructions, is_one_definition, rejected,
};
pub use analysis::contest::{OnMachine, Ratio, cheapest_machines};
pub use analysis::course::{Course, FEWEST_RUNS, Step, course, of_one_machine};
pub use analysis::findings::{Finding, Outcome, Paper, Truth, findings};
pub use analysis::ladder::LADDER;
pub use analysis::ladder::row_query::{Rung, Selected};
pub use analysis::placements::beyond_one_socket;
pub use analysis::questions::advice::{Advice, Asked, Candidate, Choice, CostFigure, Decision, Need, RunnerUp, advise};
pub use analysis::trust::trust;
pub use chart::{Axis, Chart, Point, Rectangle, Series};
pub use figure::{grouped, rough_time, time};
pub use harmless::{json, plain, plain_lines};
pub use live::LiveLadder;
pub use reading::{Reading, State, has_cost_of_case, has_figure, interval_within_run, range};
pub use run_data::{Damage, RunData};
pub use syncscope_core::sets::{in_groups, sets};
