//! Who watches a run: a progress bar, or nobody.

use std::time::Duration;

use crate::{Case, Row};

/// What one laboratory has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Most measurement blocks to be taken.
    pub blocks: u64,
    /// Those that are taken however long they take; none if the user limits the time.
    pub fewest: u64,
    /// The time after which the passes end, if they end by time.
    pub time: Option<Duration>,
    /// About how long all of it takes.
    pub planned: Duration,
}

/// Blocks that a laboratory has done, or no longer has to, because their case is finished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Blocks that were measured.
    pub measured: u64,
    /// Of [`Work::blocks`].
    pub blocks: u64,
    /// Of [`Work::fewest`].
    pub fewest: u64,
}

/// Hears how far a run is. Every method may be left out.
pub trait Observer {
    /// So many of so many pieces are prepared.
    fn preparing(&mut self, _done: usize, _total: usize) {}

    /// Measuring begins; `work` has one entry for each laboratory.
    fn planned(&mut self, _work: &[Work]) {}

    /// A block of this case begins.
    fn measuring(&mut self, _case: &Case) {}

    /// A fresh process has come to this case; few of its cases are reported.
    fn measuring_apart(&mut self, _case: &Case) {}

    /// So much more of the work of a laboratory, counted from 0, is done. It took this long.
    fn measured(&mut self, _laboratory: usize, _done: Done, _spent: Duration) {}

    /// Whether it shows what is known of this case while the run goes on.
    fn follows(&self, _case: &Case) -> bool {
        false
    }

    /// What is known so far of a case that it follows.
    fn found(&mut self, _row: Row) {}

    /// Something a user must know now.
    fn warning(&mut self, _text: &str) {}
}

/// Nobody watches.
impl Observer for () {}
