//! What all hand-offs have in common: two threads pass a token to and fro, and the token counts how often.

use std::collections::HashSet;
use std::sync::Arc;

use syncscope_core::{Case, CaseId, Placement, Primitive, sweep::Sweep};

use super::operation::{Operation, SLOTS, Workload};
use super::or_leave;
use super::round_trips::RoundTrips;
use super::study::MakeStudy;
use crate::evidence::Expected;
use crate::matrix::{self, ClassedPair};
use crate::memory::Pages;
use crate::pairs;
use crate::plan::Axes;
use crate::sync::{Broken, OwnLine};

/// A way to pass a token between threads 0 and 1.
pub(super) trait Handoff: Send + Sync + 'static {
    /// A token that was never passed.
    fn new() -> Self;

    /// Called by both threads before they take part. Thread 0 makes the token one that was never passed.
    fn attend(&self, thread: usize);

    /// Waits until the token was passed `turn` times, then passes it to the other thread.
    ///
    /// # Errors
    /// [`Broken`] when the other thread does not pass it within the limit.
    fn pass(&self, thread: usize, turn: u32) -> Result<(), Broken>;

    /// How often the token was passed; asked while nobody passes it.
    fn turns(&self) -> u32;
}

/// What the cost of all hand-offs is the cost of.
pub(super) const OPERATION: &str = "one hand-off from one thread to the other: half a round trip";

/// Two neighbouring threads, and one pair of each class.
pub(super) fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let two = Sweep::of(primitive.id).threads(&[2]).placements(&[Placement::Close]).cases();
    let on_pairs = pairs::on_pairs(axes, &two);
    two.into_iter().chain(on_pairs).collect()
}

/// The same for a hand-off that a core-to-core matrix is made of: on all of `pairs` too.
pub(super) fn cases_of_matrix(primitive: &Primitive, axes: &Axes, pairs: &[ClassedPair]) -> Vec<Case> {
    let mut cases = cases(primitive, axes);
    let two = Sweep::of(primitive.id).threads(&[2]).cases();
    // The pairs that stand for their classes are among all pairs.
    let known: HashSet<CaseId> = cases.iter().map(Case::id).collect();
    let matrix = two.iter().flat_map(|two| matrix::on_matrix(pairs, two));
    cases.extend(matrix.filter(|case| !known.contains(&case.id())));
    cases
}

/// The loops of a hand-off, and what their machine code must hold.
pub(super) fn workload<H: Handoff>(case: &Case, expected: Expected) -> Option<Workload> {
    let slots = Arc::new(Pages::filled(SLOTS, |_| OwnLine(H::new())));
    let (tokens, extent) = (Arc::clone(&slots), slots.extent());
    let study: MakeStudy = Box::new(move |clock| Arc::new(RoundTrips::new(Arc::clone(&tokens), clock)));
    let workload = Workload::of(Passing::<H> { slots }).expecting(expected).with_study(study).in_memory(extent);
    (case.threads == Some(2)).then(|| workload.with_operations_per_execution(2))
}

/// A token in each slot.
struct Passing<H> {
    slots: Arc<Pages<OwnLine<H>>>,
}

/// One of the two threads and the turn it waits for.
struct Player<'a, H> {
    token: &'a H,
    thread: usize,
    turn: u32,
}

impl<H: Handoff> Operation for Passing<H> {
    type Local<'a> = Player<'a, H>;

    fn local(&self, slot: usize, thread: usize) -> Player<'_, H> {
        Player { token: &self.slots[slot].0, thread, turn: thread as u32 }
    }

    /// One round trip, as both threads together see it: each passes the token once.
    #[inline(always)]
    fn execute(player: &mut Player<'_, H>) {
        or_leave(player.token.pass(player.thread, player.turn));
        player.turn = player.turn.wrapping_add(2);
    }

    fn prepare(&self, slot: usize, thread: usize) {
        self.slots[slot].0.attend(thread);
    }

    /// A token that overtook a thread would have been passed more or less often.
    fn verify(&self, slot: usize, thread: usize, round_trips: u64) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let (expected, found) = (2 * round_trips, u64::from(self.slots[slot].0.turns()));
        if found == expected { Ok(()) } else { Err(format!("of {expected} hand-offs, the token counted {found}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::LIMIT;
    use crate::primitives::handoff_cas::CasToken;
    use crate::primitives::handoff_channel::Channels;
    use crate::primitives::handoff_condvar::Signalled;
    use crate::primitives::handoff_futex::FutexToken;
    use crate::primitives::handoff_park::Parked;
    use crate::primitives::handoff_store::StoreToken;
    use std::time::Instant;

    fn a_partner_that_does_not_come_is_given_up<H: Handoff>() {
        let token = H::new();
        (0..2).for_each(|thread| token.attend(thread));
        let started = Instant::now();
        assert_eq!((token.pass(0, 0), token.turns()), (Ok(()), 1));
        assert_eq!(token.pass(0, 2), Err(Broken));
        assert!(started.elapsed() >= LIMIT / 2);
    }

    #[test]
    fn no_hand_off_waits_for_ever() {
        std::thread::scope(|scope| {
            scope.spawn(a_partner_that_does_not_come_is_given_up::<CasToken>);
            scope.spawn(a_partner_that_does_not_come_is_given_up::<StoreToken>);
            scope.spawn(a_partner_that_does_not_come_is_given_up::<Channels>);
            scope.spawn(a_partner_that_does_not_come_is_given_up::<Signalled>);
            scope.spawn(a_partner_that_does_not_come_is_given_up::<Parked>);
            scope.spawn(a_partner_that_does_not_come_is_given_up::<FutexToken>);
        });
    }
}
