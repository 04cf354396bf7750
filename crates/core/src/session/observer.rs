//! Who watches a run: a progress bar, or nobody.

use std::time::Duration;

use crate::{Case, Row};

/// The work of one laboratory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Most measurement blocks to be taken.
    pub blocks: u64,
    /// Blocks that are taken however long they take; none if the user limits the time.
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
    /// Blocks done of [`Work::blocks`].
    pub blocks: u64,
    /// Blocks done of [`Work::fewest`].
    pub fewest: u64,
}

/// Receives the progress of a run. Every method is optional.
pub trait Observer {
    /// Reports how many pieces of all are prepared.
    fn preparing(&mut self, _done: usize, _total: usize) {}

    /// Measuring begins; `work` has one entry for each laboratory.
    fn planned(&mut self, _work: &[Work]) {}

    /// A block of this case begins.
    fn measuring(&mut self, _case: &Case) {}

    /// A fresh process has come to this case; few of its cases are reported.
    fn measuring_apart(&mut self, _case: &Case) {}

    /// A laboratory, counted from 0, has done this much more of its work, in this time.
    fn measured(&mut self, _laboratory: usize, _done: Done, _spent: Duration) {}

    /// Whether the observer shows what is known of this case while the run goes on.
    fn follows(&self, _case: &Case) -> bool {
        false
    }

    /// What is known so far of a case that the observer follows.
    fn found(&mut self, _row: Row) {}

    /// Something a user must know now.
    fn warning(&mut self, _text: &str) {}
}

/// Nobody watches.
impl Observer for () {}
