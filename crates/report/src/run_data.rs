//! A run as read from its directory.

use std::collections::HashMap;
use std::path::Path;

use syncscope_core::run::seconds_between;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::{CaseId, Detail, Row, Run, Verdict};

/// One run: its description, rows and details.
#[derive(Debug, Clone, PartialEq)]
pub struct RunData {
    /// The name of its directory.
    pub name: String,
    /// The content of `run.json`.
    pub run: Run,
    /// The rows of the measured cases, in the order of `measurements.csv`.
    pub rows: Vec<Row>,
    /// Further numbers of the cases, such as percentiles.
    pub details: HashMap<CaseId, Vec<Detail>>,
}

impl RunData {
    /// Reads the run in the directory `path`. Of a run that still goes on or was interrupted, it reads the complete lines.
    ///
    /// # Errors
    /// If the directory holds no run, or a file of it cannot be read or parsed. The error names the file.
    pub fn load(path: &Path) -> Result<Self, RunDirectoryError> {
        let directory = RunDirectory::open(path)?;
        Ok(Self {
            name: directory_name(path),
            run: directory.read_run()?,
            rows: directory.read_rows()?,
            details: directory.read_details()?,
        })
    }

    /// The duration of the run in seconds; `None` if `run.json` holds no end.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        seconds_between(&self.run.started, self.run.ended.as_deref()?)
    }

    /// The number of rows of cases for which the run planned more measurement blocks.
    #[must_use]
    pub fn provisional(&self) -> usize {
        self.rows.iter().filter(|row| row.provisional).count()
    }

    /// The number of rows with each verdict, in the order of [`Verdict::NAMES`]. Verdicts without a row are left out.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(&'static str, usize)> {
        let count = |name| self.rows.iter().filter(|row| row.verdict.name() == name).count();
        Verdict::NAMES.into_iter().map(|name| (name, count(name))).filter(|(_, count)| *count > 0).collect()
    }
}

/// The name of the directory itself, where `path` is `.`, `..` or a link.
fn directory_name(path: &Path) -> String {
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolved.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
