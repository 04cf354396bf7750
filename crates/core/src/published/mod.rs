//! The published experiments: what the experiments of papers give, as plain data.
//!
//! Each experiment has a file of its own here. It holds the rows of its tables, with units in the names of the columns,
//! and everything that is computed from them: formulas, summaries, and what becomes of each claim of its source. Hardware
//! fills the rows, the report draws them; nothing here knows either.
//!
//! The directory of an experiment holds `run.json`, whose `preset` is the name of the experiment, `NAME.csv`, further tables as
//! `NAME_PART.csv`, and `report.html`. It has no `measurements.csv`. [`table`] writes and reads the tables.
//!
//! | file | experiment |
//! |---|---|
//! | [`crosscheck`] | one cost by two clocks: inside the device, and inferred from the host's time |
//! | [`asynchrony`] | which components of a vector a GPU updates one after the other |
//! | [`timeline`] | start and stop of every warp on a common clock |

pub mod asynchrony;
pub mod crosscheck;
pub mod table;
pub mod timeline;

use crate::run::Run;
use crate::run::directory::{RunDirectory, RunDirectoryError};
use crate::words::words;

words! {
    /// A published experiment. Its word names its command and its tables, and stands in `run.json`.
    pub enum PublishedExperiment ("published experiment") {
        /// One cost by two clocks.
        Crosscheck = "crosscheck",
        /// Which threads of a kernel run at the same time.
        Asynchrony = "asynchrony",
        /// Start and stop of every warp on a common clock.
        Timeline = "timeline",
    }
}

/// What the published experiments of one directory gave; `None` where it holds none of that kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// `crosscheck*.csv`.
    pub crosscheck: Option<crosscheck::Crosscheck>,
    /// `asynchrony*.csv`.
    pub asynchrony: Option<asynchrony::Asynchrony>,
    /// `timeline*.csv`.
    pub timeline: Option<timeline::Timeline>,
}

impl Published {
    /// Reads the tables of all experiments that a directory holds.
    ///
    /// # Errors
    /// When a table is there and cannot be read.
    pub fn read(directory: &RunDirectory) -> Result<Self, RunDirectoryError> {
        Ok(Self {
            crosscheck: crosscheck::Crosscheck::read(directory)?,
            asynchrony: asynchrony::Asynchrony::read(directory)?,
            timeline: timeline::Timeline::read(directory)?,
        })
    }
}

impl Published {
    /// Whether the main table of an experiment is there and has rows.
    #[must_use]
    pub fn has_rows_of(&self, experiment: PublishedExperiment) -> bool {
        match experiment {
            PublishedExperiment::Crosscheck => self.crosscheck.as_ref().is_some_and(|found| !found.rows.is_empty()),
            PublishedExperiment::Asynchrony => {
                self.asynchrony.as_ref().is_some_and(|found| !found.positions.is_empty())
            }
            PublishedExperiment::Timeline => self.timeline.as_ref().is_some_and(|found| !found.spans.is_empty()),
        }
    }
}

impl Run {
    /// The published experiment of the directory; `None` for a run of a plan.
    #[must_use]
    pub fn experiment(&self) -> Option<PublishedExperiment> {
        self.preset.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::preset::Preset;

    #[test]
    fn no_experiment_has_the_name_of_a_preset() {
        for experiment in PublishedExperiment::ALL {
            assert!(experiment.as_str().parse::<Preset>().is_err(), "{experiment}");
        }
    }
}
