//! The experiments of papers, one folder each.
//!
//! A folder holds all of an experiment: what it measures on a CPU and a device, with the kernels, its rows and formulas, the
//! section that the page and the terminal show, and what becomes of its paper's claims. Its [`Experiment`] in [`EXPERIMENTS`] is
//! all that the rest of the program knows of it.
//!
//! | folder | experiment |
//! |---|---|
//! | [`crosscheck`] | one cost by two clocks: inside the device, and inferred from the host's time |
//! | [`asynchrony`] | which components of a vector a GPU updates one after the other |
//! | [`timeline`] | start and stop of every warp on a common clock |
//! | [`reductions`] | what the costs of primitives predict of reductions, by the rows of an ordinary run: it measures nothing |
//!
//! The directory of an experiment holds `run.json`, whose `preset` is the name of the experiment, `NAME.csv`, further tables as
//! `NAME_PART.csv`, and `report.html`. It has no `measurements.csv`. `syncscope_core::run::plain` writes and reads the
//! tables.

#![forbid(unsafe_code)]

pub mod asynchrony;
pub mod crosscheck;
mod experiment;
pub mod reductions;
pub mod timeline;

use std::path::Path;
use std::sync::Arc;

pub use experiment::{Bench, Experiment, Found, Measured, Plan};
use syncscope_core::Catalogue;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_report::RunData;

/// All of them, in the order of the help.
pub const EXPERIMENTS: [Experiment; 3] = [crosscheck::EXPERIMENT, asynchrony::EXPERIMENT, timeline::EXPERIMENT];

/// Reads the run in the directory `path`, with what an experiment left there.
///
/// # Errors
/// As [`RunData::load`], and if a table of an experiment cannot be read.
pub fn load(path: &Path, catalogue: Arc<Catalogue>) -> Result<RunData, RunDirectoryError> {
    let mut data = RunData::load(path, catalogue)?;
    let directory = RunDirectory::open(path)?;
    for experiment in &EXPERIMENTS {
        let is_it = data.run.experiment() == Some(experiment.name);
        let found = (experiment.read)(&directory, &data.run)?;
        let has_rows = found.as_ref().is_some_and(|found| found.has_rows);
        if let (true, false) = (is_it, has_rows) {
            data.damage.others.push(format!(
                "{name}.csv is missing or has no rows; measure again with `syncscope paper {name}`",
                name = experiment.name
            ));
        }
        data.sections.extend(found.map(|found| found.section));
    }
    data.sections.extend(reductions::section(&data.rows));
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Preset;

    #[test]
    fn names_are_those_of_no_other_experiment_and_of_no_preset() {
        for (at, experiment) in EXPERIMENTS.iter().enumerate() {
            assert!(experiment.name.parse::<Preset>().is_err(), "{}", experiment.name);
            assert!(EXPERIMENTS[..at].iter().all(|other| other.name != experiment.name), "{}", experiment.name);
        }
    }
}
