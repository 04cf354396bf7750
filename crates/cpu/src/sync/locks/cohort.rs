//! The cohort lock: threads of one group pass the lock among themselves.

use std::time::Duration;

use super::shim::{AtomicU32, Ordering};
use super::{CachePadded, RawLock, TicketLock, WaitTimeout};

/// A ticket lock for each group of threads and one for the groups (Dice, Marathe and Shavit, *Lock cohorting*, PPoPP 2012:
/// C-TKT-TKT). A holder passes the lock to a waiter of its own group, whose caches have what the lock protects. After
/// `MAX_PASSES` such passes the other groups are served.
#[derive(Debug)]
pub struct CohortLock {
    groups: Box<[CachePadded<Group>]>,
    all: CachePadded<TicketLock>,
    group_of: fn(usize) -> usize,
}

/// Passes within a group before another group is served: the number of the paper's evaluation.
const MAX_PASSES: u32 = if cfg!(loom) { 1 } else { 64 };

#[derive(Debug)]
struct Group {
    own: TicketLock,
    /// How often the lock was passed within the group since the group got it; 0 when the group does not have it. Only the
    /// holder of the group's own lock accesses it.
    passes: AtomicU32,
}

impl CohortLock {
    /// A free lock for `groups` groups; `group_of` maps a thread's number to its group and is called by the thread itself. A
    /// thread waits at most `limit`.
    pub fn new(groups: usize, group_of: fn(usize) -> usize, limit: Duration) -> Self {
        let group = |_| CachePadded::new(Group { own: TicketLock::new(limit), passes: AtomicU32::new(0) });
        let groups = (0..groups.max(1)).map(group).collect();
        Self { groups, all: CachePadded::new(TicketLock::new(limit)), group_of }
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
        // SAFETY: a ticket lock has no states.
        unsafe { group.own.lock(&mut ()) }?;
        // Relaxed: the group's own lock orders it.
        if group.passes.load(Ordering::Relaxed) == 0 {
            // SAFETY: as above.
            unsafe { self.all.lock(&mut ()) }?;
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
            // SAFETY: the group has it; whichever of its threads took it, a ticket lock has no states.
            unsafe { self.all.unlock(&mut ()) }?;
        }
        // SAFETY: this thread has it.
        unsafe { group.own.unlock(&mut ()) }
    }
}
