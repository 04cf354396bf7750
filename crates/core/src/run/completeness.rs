//! Whether a run has what it planned: a row for each case, and none to which measurement blocks are to be added.

use crate::run::directory::{RunDirectory, RunDirectoryError};
use crate::run::row::Row;
use crate::run::{Run, Status};

/// The rows of a run beside the number of cases that it planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completeness {
    /// The cases of the plan.
    pub planned: u64,
    /// The cases with a row.
    pub rows: u64,
    /// Of these rows, those of cases that are to get more measurement blocks.
    pub provisional: u64,
}

impl Completeness {
    /// Counts the rows of a run.
    #[must_use]
    pub fn of(run: &Run, rows: &[Row]) -> Self {
        let provisional = rows.iter().filter(|row| row.provisional).count() as u64;
        Self { planned: run.planned, rows: rows.len() as u64, provisional }
    }

    /// Whether nothing is left to measure.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.rows >= self.planned && self.provisional == 0
    }
}

impl Run {
    /// Why the rows of a run that is done are not those that it wrote; `None` if they are, or if it is not done. A table that
    /// was cut off or replaced has fewer.
    #[must_use]
    pub fn damage(&self, rows: &[Row]) -> Option<String> {
        let found = Completeness::of(self, rows);
        if self.status != Status::Done || found.is_complete() {
            return None;
        }
        let Completeness { planned, rows, provisional } = found;
        let open = if provisional > 0 { format!(", {provisional} of them provisional") } else { String::new() };
        Some(format!("damaged: {rows} of {planned} cases are there{open}"))
    }
}

impl RunDirectory {
    /// Whether the run is done and each case of its plan has its last row.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn is_finished(&self, run: &Run) -> Result<bool, RunDirectoryError> {
        Ok(run.status == Status::Done && Completeness::of(run, &self.read_rows()?).is_complete())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::Case;
    use crate::model::verdict::Verdict;
    use crate::run::tests::interrupted;

    #[test]
    fn a_run_that_is_done_has_a_last_row_for_each_case() {
        let row = |primitive: &str| Row::unmeasured(Case::new(primitive), Verdict::Resolved);
        let rows = [row("cpu.barrier.std"), row("cpu.barrier.sense")];
        let done = Run { status: Status::Done, ..interrupted() };
        assert_eq!(done.damage(&rows), None);
        assert_eq!(done.damage(&rows[..1]).unwrap(), "damaged: 1 of 2 cases are there");
        assert_eq!(interrupted().damage(&rows[..1]), None, "nobody said that it is done");
        let open = [Row { provisional: true, ..rows[0].clone() }, rows[1].clone()];
        assert_eq!(done.damage(&open).unwrap(), "damaged: 2 of 2 cases are there, 1 of them provisional");
        // A later version may have gone on with a longer plan.
        assert_eq!(Run { planned: 1, ..done }.damage(&rows), None);
    }
}
