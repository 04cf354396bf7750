//! Who watches a run: a progress bar, or nobody.

use std::time::Duration;

use crate::model::case::Case;
use crate::run::row::Row;

/// What one laboratory has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Most measurement blocks to be taken.
    pub blocks: u64,
    /// Those that are taken however long they take; none if the user limits the time.
    pub fewest: u64,
    /// The time after which the passes end, if they end by time.
    pub time: Option<Duration>,
}

/// Hears how far a run is. Every method may be left out.
pub trait Observer {
    /// So many of so many pieces are prepared.
    fn preparing(&mut self, done: usize, total: usize) {
        let _ = (done, total);
    }

    /// Measuring begins; `work` has one entry for each laboratory.
    fn planned(&mut self, work: &[Work]) {
        let _ = work;
    }

    /// A block of this case begins.
    fn measuring(&mut self, case: &Case) {
        let _ = case;
    }

    /// So many more blocks of a laboratory, counted from 0, are done or no longer needed. They took this long.
    fn measured(&mut self, laboratory: usize, blocks: u64, spent: Duration) {
        let _ = (laboratory, blocks, spent);
    }

    /// Whether it shows what is known of this case while the run goes on.
    fn follows(&self, case: &Case) -> bool {
        let _ = case;
        false
    }

    /// What is known so far of a case that it follows.
    fn found(&mut self, row: Row) {
        let _ = row;
    }

    /// Something a user must know now.
    fn warning(&mut self, text: &str) {
        let _ = text;
    }
}

/// Nobody watches.
impl Observer for () {}
