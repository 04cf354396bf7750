//! The reductions of a paper: what the experiment gives, as plain data.
//!
//! Hardware fills the rows, the report draws them; nothing here knows either.

pub mod reductions;

use crate::run::directory::{RunDirectory, RunDirectoryError};
pub use crate::run::plain as table;
use crate::words::words;

words! {
    /// A published experiment. Its word names its command and its tables, and stands in `run.json`.
    pub enum PublishedExperiment ("published experiment") {
        /// Reductions with each kind of synchronization.
        Reductions = "reductions",
    }
}

/// What the published experiments of one directory gave; `None` where it holds none of that kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    /// `reductions*.csv`.
    pub reductions: Option<reductions::Reductions>,
}

impl Published {
    /// Reads the tables of all experiments that a directory holds.
    ///
    /// # Errors
    /// When a table is there and cannot be read.
    pub fn read(directory: &RunDirectory) -> Result<Self, RunDirectoryError> {
        Ok(Self { reductions: reductions::Reductions::read(directory)? })
    }

    /// Whether the main table of an experiment is there and has rows.
    #[must_use]
    pub fn has_rows_of(&self, experiment: &str) -> bool {
        experiment == PublishedExperiment::Reductions.as_str()
            && self.reductions.as_ref().is_some_and(|found| !found.times.is_empty())
    }
}
