//! The mailbox in which the main thread posts commands and the threads of the team report.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use syncscope_core::Shot;

use super::{Body, Record, TeamError};
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

/// What the main thread posts.
#[derive(Clone)]
pub(super) enum Command {
    /// Nothing yet.
    Wait,
    Run(Arc<Batch>),
    /// End the thread.
    Leave,
}

/// Why a thread gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// A wait for another thread timed out: that one is the cause. A primitive unwinds with `WaitTimeout` then.
    WaitTimeout,
    /// It is the cause, for this reason.
    Failed(String),
}

/// What a thread reports.
pub(super) type Report = Result<Vec<Record>, Stopped>;

struct Mailbox {
    /// Incremented with each command, so that no thread takes one twice.
    number: u64,
    command: Command,
    reports: Vec<Option<Report>>,
}

/// What the threads of the team and the main thread share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) barrier: SenseBarrier,
    mailbox: Mutex<Mailbox>,
    posted: Condvar,
    reported: Condvar,
}

impl Shared {
    pub(super) fn new(threads: usize, clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            barrier: SenseBarrier::new(threads as u32, PEER_TIMEOUT),
            mailbox: Mutex::new(Mailbox { number: 0, command: Command::Wait, reports: vec![None; threads] }),
            posted: Condvar::new(),
            reported: Condvar::new(),
        }
    }

    /// No thread panics while it holds this lock.
    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self, command: Command) {
        let mut mailbox = self.mailbox();
        mailbox.number += 1;
        mailbox.command = command;
        mailbox.reports.fill(None);
        drop(mailbox);
        self.posted.notify_all();
    }

    /// Lets all threads run `shots` and waits for their records. A failure aborts the barrier for good.
    pub(super) fn run(
        &self,
        body: &Arc<dyn Body>,
        shots: &[Shot],
        limit: Duration,
    ) -> Result<Vec<Vec<Record>>, TeamError> {
        self.post(Command::Run(Arc::new(Batch { body: Arc::clone(body), shots: shots.to_vec() })));
        self.collect(limit)
    }

    /// Blocks until there is a command after number `seen`.
    pub(super) fn next_command(&self, seen: &mut u64) -> Command {
        let mailbox = self.mailbox();
        let mailbox =
            self.posted.wait_while(mailbox, |mailbox| mailbox.number == *seen).unwrap_or_else(PoisonError::into_inner);
        *seen = mailbox.number;
        mailbox.command.clone()
    }

    pub(super) fn report(&self, thread: usize, report: Report) {
        if report.is_err() {
            self.barrier.abort();
        }
        self.mailbox().reports[thread] = Some(report);
        self.reported.notify_one();
    }

    /// Blocks until every thread has reported, one has failed, or `limit` is over.
    pub(super) fn collect(&self, limit: Duration) -> Result<Vec<Vec<Record>>, TeamError> {
        let started = Instant::now();
        let pending = |mailbox: &mut Mailbox| {
            let failed = mailbox.reports.iter().any(|report| matches!(report, Some(Err(_))));
            !failed && mailbox.reports.iter().any(Option::is_none)
        };
        let (mut mailbox, _) =
            self.reported.wait_timeout_while(self.mailbox(), limit, pending).unwrap_or_else(PoisonError::into_inner);
        let reports = std::mem::take(&mut mailbox.reports);
        mailbox.reports = vec![None; reports.len()];
        drop(mailbox);
        let cause = reports.iter().flatten().find_map(|report| match report {
            Err(Stopped::Failed(cause)) => Some(cause.clone()),
            _ => None,
        });
        let complete: Option<Vec<_>> = reports.into_iter().map(|report| report?.ok()).collect();
        let waited = Duration::from_millis(started.elapsed().as_millis() as u64);
        complete.ok_or_else(|| {
            self.barrier.abort();
            cause.map_or(TeamError::TimedOut(waited), TeamError::Failed)
        })
    }
}
