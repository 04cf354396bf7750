//! A run as it is read from its directory.

use std::collections::HashMap;
use std::path::Path;

use syncscope_core::run::seconds_between;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::{CaseId, Detail, Row, Run, Verdict};

/// One run: who measured what, and all that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct RunData {
    /// The name of its folder.
    pub name: String,
    /// The content of `run.json`.
    pub run: Run,
    /// The finished cases, in the order they were measured.
    pub rows: Vec<Row>,
    /// What is known of the cases besides their costs.
    pub details: HashMap<CaseId, Vec<Detail>>,
}

impl RunData {
    /// Reads the run in the folder `path`. A run that goes on, was interrupted or was cut off in the middle of a line
    /// is read as far as it came.
    ///
    /// # Errors
    /// When the folder holds no run, or a file in it cannot be read or understood; the error names the file.
    pub fn load(path: &Path) -> Result<Self, RunDirectoryError> {
        let directory = RunDirectory::open(path)?;
        Ok(Self {
            name: folder_name(path),
            run: directory.read_run()?,
            rows: directory.read_rows()?,
            details: directory.read_details()?,
        })
    }

    /// How long it took in seconds; `None` while it goes on or if its end was not written.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        seconds_between(&self.run.started, self.run.ended.as_deref()?)
    }

    /// How many rows are of cases that the run was to visit again.
    #[must_use]
    pub fn provisional(&self) -> usize {
        self.rows.iter().filter(|row| row.provisional).count()
    }

    /// How many rows have each verdict, in the order of [`Verdict::NAMES`], without those that have none.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(&'static str, usize)> {
        let count = |name| self.rows.iter().filter(|row| row.verdict.name() == name).count();
        Verdict::NAMES.into_iter().map(|name| (name, count(name))).filter(|(_, count)| *count > 0).collect()
    }
}

/// `.` and `..` are no names, and a link tells less than what it leads to.
fn folder_name(path: &Path) -> String {
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolved.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
