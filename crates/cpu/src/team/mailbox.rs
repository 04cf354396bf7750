//! The place where the main thread posts its orders and the workers hand in their reports.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use syncscope_core::Shot;

use super::{Body, Record, TeamError};
use crate::sync::SenseBarrier;
use crate::timing::clock::Clock;

/// How long a thread waits for the others at the start and at the end of a shot: longer than the main thread waits for a
/// batch of ordinary length, so that this bound only ends what nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(20);

/// One batch of shots.
pub(super) struct Batch {
    pub(super) body: Arc<dyn Body>,
    pub(super) shots: Vec<Shot>,
}

/// What the main thread posts.
#[derive(Clone)]
pub(super) enum Order {
    /// Nothing yet.
    Wait,
    Run(Arc<Batch>),
    Leave,
}

/// Why a worker gave up.
#[derive(Clone)]
pub(super) enum Failure {
    /// It saw a barrier break: someone else is the cause.
    PeerFailed,
    /// It is the cause.
    Cause(TeamError),
}

/// What a worker hands in.
pub(super) type Report = Result<Vec<Record>, Failure>;

struct Mailbox {
    /// Raised with each order, so that a worker takes none twice.
    number: u64,
    order: Order,
    reports: Vec<Option<Report>>,
}

/// What the workers and the main thread share.
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
            barrier: SenseBarrier::new(threads as u32, PATIENCE),
            mailbox: Mutex::new(Mailbox { number: 0, order: Order::Wait, reports: vec![None; threads] }),
            posted: Condvar::new(),
            reported: Condvar::new(),
        }
    }

    /// A worker that panics does so outside this lock; what it guards stays whole in any case.
    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self, order: Order) {
        let mut mailbox = self.mailbox();
        mailbox.number += 1;
        mailbox.order = order;
        mailbox.reports.fill(None);
        drop(mailbox);
        self.posted.notify_all();
    }

    /// Has all threads run `shots` and waits for their records. A failure breaks the barrier for good.
    pub(super) fn run(
        &self,
        body: &Arc<dyn Body>,
        shots: &[Shot],
        limit: Duration,
    ) -> Result<Vec<Vec<Record>>, TeamError> {
        self.post(Order::Run(Arc::new(Batch { body: Arc::clone(body), shots: shots.to_vec() })));
        self.collect(limit)
    }

    /// Sleeps until there is an order after number `seen`.
    pub(super) fn next_order(&self, seen: &mut u64) -> Order {
        let mailbox = self.mailbox();
        let mailbox =
            self.posted.wait_while(mailbox, |mailbox| mailbox.number == *seen).unwrap_or_else(PoisonError::into_inner);
        *seen = mailbox.number;
        mailbox.order.clone()
    }

    pub(super) fn report(&self, thread: usize, report: Report) {
        if report.is_err() {
            self.barrier.abort();
        }
        self.mailbox().reports[thread] = Some(report);
        self.reported.notify_one();
    }

    /// Sleeps until every thread has reported, one has failed, or `limit` is over.
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
            Err(Failure::Cause(cause)) => Some(cause.clone()),
            _ => None,
        });
        let complete: Option<Vec<_>> = reports.into_iter().map(|report| report?.ok()).collect();
        let waited = Duration::from_millis(started.elapsed().as_millis() as u64);
        complete.ok_or_else(|| {
            self.barrier.abort();
            cause.unwrap_or(TeamError::TimedOut(waited))
        })
    }
}
