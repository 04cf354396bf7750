//! The cohort lock: threads of one group pass the lock among themselves.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{CachePadded, RawLock, WaitLimit, WaitTimeout};

/// A ticket lock for each group of threads and one for the groups (Dice, Marathe and Shavit, *Lock cohorting*, PPoPP 2012:
/// C-TKT-TKT). A holder passes the lock to a waiter of its own group, whose caches have what the lock protects. After
/// `MAX_PASSES` of them the other groups are served.
#[derive(Debug)]
pub struct CohortLock {
    groups: Box<[CachePadded<Group>]>,
    all: CachePadded<Tickets>,
    group_of: fn(usize) -> usize,
    wait_limit: WaitLimit,
}

/// Passes within a group before another group is served: the number of the paper's evaluation.
const MAX_PASSES: u32 = if cfg!(loom) { 1 } else { 64 };

/// A ticket lock. Any thread of a group may serve the next ticket, not only the one that took it.
#[derive(Debug)]
struct Tickets {
    next: AtomicU32,
    serving: AtomicU32,
}

#[derive(Debug)]
struct Group {
    own: Tickets,
    /// How often the lock was passed within the group since the group got it; 0 when the group does not have it. Only the
    /// holder of the group's own lock accesses it.
    passes: AtomicU32,
}

impl Tickets {
    fn new() -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0) }
    }

    #[inline(always)]
    fn lock(&self, wait_limit: &WaitLimit) -> Result<(), WaitTimeout> {
        // Relaxed: a ticket publishes nothing of the memory behind the lock.
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        wait_limit.wait(|| self.serving.load(Ordering::Acquire) == ticket)
    }

    #[inline(always)]
    fn unlock(&self) {
        // Relaxed: only the holder writes it, and a holder acquired what the last one wrote.
        let served = self.serving.load(Ordering::Relaxed);
        self.serving.store(served.wrapping_add(1), Ordering::Release);
    }

    /// Whether a thread waits behind the holder, who asks. A thread that takes its ticket now may be missed.
    #[inline(always)]
    fn is_awaited(&self) -> bool {
        // Relaxed: a missed waiter gets the lock by the longer way.
        let (next, serving) = (self.next.load(Ordering::Relaxed), self.serving.load(Ordering::Relaxed));
        next.wrapping_sub(serving) > 1
    }
}

impl CohortLock {
    /// A free lock for so many groups; `group_of` names the group of a thread, of the thread's number, and is called by
    /// the thread itself. No thread waits longer than `limit`.
    pub fn new(groups: usize, group_of: fn(usize) -> usize, limit: Duration) -> Self {
        let group = |_| CachePadded::new(Group { own: Tickets::new(), passes: AtomicU32::new(0) });
        Self {
            groups: (0..groups.max(1)).map(group).collect(),
            all: CachePadded::new(Tickets::new()),
            group_of,
            wait_limit: WaitLimit::new(limit),
        }
    }
}

// SAFETY: a holder has the lock of its group, and its group has the lock of all groups: either the holder took it, or the
// holder before, of the same group, left it taken and said so (`passes`). Each of the two ticket locks excludes, and its
// acquiring load reads what the releasing store of the last holder wrote.
unsafe impl RawLock for CohortLock {
    /// The number of the thread's group.
    type ThreadState = usize;

    #[inline(always)]
    fn thread_state(&self, thread: usize) -> usize {
        (self.group_of)(thread) % self.groups.len()
    }

    #[inline(always)]
    unsafe fn lock(&self, group: &mut usize) -> Result<(), WaitTimeout> {
        let group = &*self.groups[*group];
        group.own.lock(&self.wait_limit)?;
        // Relaxed: the group's own lock orders it.
        if group.passes.load(Ordering::Relaxed) == 0 {
            self.all.lock(&self.wait_limit)?;
        }
        Ok(())
    }

    #[inline(always)]
    unsafe fn unlock(&self, group: &mut usize) -> Result<(), WaitTimeout> {
        let group = &*self.groups[*group];
        // Relaxed: as above.
        let passes = group.passes.load(Ordering::Relaxed);
        if passes < MAX_PASSES && group.own.is_awaited() {
            group.passes.store(passes + 1, Ordering::Relaxed);
        } else {
            group.passes.store(0, Ordering::Relaxed);
            self.all.unlock();
        }
        group.own.unlock();
        Ok(())
    }
}
