//! The rows of one kernel and block size.

use super::super::counted::ClassRow;
use super::super::position::PositionClass;

/// The rows of one kernel and block size, one for each class.
pub(super) struct ClassRows<'a>(Vec<&'a ClassRow>);

impl<'a> ClassRows<'a> {
    /// `None` unless there is a row for each class.
    pub(super) fn of(rows: impl Iterator<Item = &'a ClassRow>) -> Option<Self> {
        let rows: Vec<&ClassRow> = rows.collect();
        let is_complete = PositionClass::ALL.iter().all(|class| rows.iter().any(|row| row.class == *class));
        is_complete.then_some(Self(rows))
    }

    pub(super) fn first(&self) -> &'a ClassRow {
        self.0[0]
    }

    pub(super) fn classes(&self, classes: &[PositionClass]) -> Vec<&'a ClassRow> {
        self.0.iter().copied().filter(|row| classes.contains(&row.class)).collect()
    }

    pub(super) fn count(&self, classes: &[PositionClass]) -> u64 {
        self.classes(classes).iter().map(|row| row.inconsistencies).sum()
    }

    /// The row of these classes with the most executions; the interval of several classes together is not known.
    pub(super) fn most(&self, classes: &[PositionClass]) -> Option<&'a ClassRow> {
        let with_share = self.classes(classes).into_iter().filter(|row| row.share.is_some());
        with_share.max_by_key(|row| row.executions_with)
    }
}
