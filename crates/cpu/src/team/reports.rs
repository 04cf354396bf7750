//! What the threads of a team are asked to run, and what they report.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use syncscope_core::Shot;

use super::{Body, Record};
use crate::sync::SenseBarrier;
use crate::timing::clock::Clock;

/// How long a thread waits for the others at the start and at the end of a shot. The main thread gives up earlier,
/// except on very long batches; this limit then ends the threads that are left over.
pub(crate) const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// One batch of shots.
pub(super) struct Batch {
    pub(super) body: Arc<dyn Body>,
    pub(super) shots: Vec<Shot>,
}

/// Why a thread or a worker process gave up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stopped {
    /// A wait for another thread timed out, and that thread is the cause. A primitive then unwinds with `WaitTimeout`.
    WaitTimeout,
    /// It failed itself, for this reason.
    Failed(String),
    /// Its process has ended.
    Ended,
    /// It reported without being asked.
    Unasked,
}

/// What a thread or a worker process reports.
pub(crate) type Report = Result<Vec<Record>, Stopped>;

/// A report with the number of its thread or worker.
pub(crate) type Numbered = (usize, Report);

/// What the threads of the team share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) barrier: SenseBarrier,
    pub(super) reports: Sender<Numbered>,
}

impl Shared {
    /// Reports to the main thread and returns whether this thread goes on. A failure aborts the barrier for good.
    pub(super) fn report(&self, thread: usize, report: Report) -> bool {
        let goes_on = report.is_ok();
        // Nobody waits for a team that was abandoned.
        let _ = self.reports.send((thread, report));
        if !goes_on {
            self.barrier.abort();
        }
        goes_on
    }
}

/// Blocks until all that were asked have reported, one has failed, or `limit` is over, for which none in particular is to blame.
///
/// # Errors
/// Which one stopped, and why.
pub(crate) fn collect(
    reports: &Receiver<Numbered>,
    asked: Range<usize>,
    limit: Duration,
) -> Result<Vec<Vec<Record>>, (usize, Stopped)> {
    let (started, first) = (Instant::now(), asked.start);
    let mut found: Vec<Option<Vec<Record>>> = vec![None; asked.len()];
    while found.iter().any(Option::is_none) {
        let received = reports.recv_timeout(limit.saturating_sub(started.elapsed()));
        let (thread, report) = received.map_err(|_| (first, Stopped::WaitTimeout))?;
        let records = report.map_err(|stopped| (thread, stopped))?;
        match thread.checked_sub(first).and_then(|index| found.get_mut(index)) {
            Some(of_thread @ None) => *of_thread = Some(records),
            _ => return Err((thread, Stopped::Unasked)),
        }
    }
    Ok(found.into_iter().flatten().collect())
}
