//! What all hand-offs have in common: two threads pass a token to and fro, and the token counts how often.
//!
//! What a hand-off between spinning threads costs depends on where its line is at home: of two CPUs' lines some cost 64 ns and
//! the others 86, each its own figure again and again, and the median over single lines jumps between the two. There a
//! sample passes several tokens, each on a line of its own, so that every observation is an average over lines: after
//! each iteration of the loop, [`Operation::move_on`], both threads go on to the next one. Thread 0 waits for nobody
//! there, since nobody has the new token yet: one round trip of an iteration overlaps with the last one on the line before. That
//! happens once in an iteration of either loop and drops out of their difference.

mod cas;
mod channel;
mod condvar;
mod futex;
mod park;
mod round_trips;
mod store;

use crate::primitives::Entry;
use std::collections::HashSet;
use std::sync::Arc;

use syncscope_core::{Case, CaseId, Placement, Primitive, sweep::Sweep};

use self::round_trips::RoundTrips;
use crate::evidence::Expected;
use crate::machine::memory::Pages;
use crate::plan::Axes;
use crate::primitives::follow_up::MakeStudy;
use crate::primitives::operation::{Operation, SLOTS, Workload};
use crate::primitives::or_leave;
use crate::studies::core_to_core::{self, ClassedPair};
use crate::studies::cpu_pairs;
use crate::sync::{Broken, OwnLine};

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] =
    &[&store::ENTRY, &cas::ENTRY, &channel::ENTRY, &condvar::ENTRY, &park::ENTRY, &futex::ENTRY];

/// A way to pass a token between threads 0 and 1.
pub(super) trait Handoff: Send + Sync + 'static {
    /// How many tokens a sample passes, one after the other. One, unless the cost is that of moving a line: where a thread sleeps,
    /// waking it takes a hundred times as long, and the library that does it has lines of its own.
    const TOKENS: usize = 1;

    /// A token that was never passed.
    fn new() -> Self;

    /// Called by both threads before they take part. Thread 0 makes the token one that was never passed.
    fn attend(&self, thread: usize);

    /// Waits until the token was passed `turn` times, then passes it to the other thread.
    ///
    /// # Errors
    /// [`Broken`] when the other thread does not pass it within the limit.
    fn pass(&self, thread: usize, turn: u32) -> Result<(), Broken>;

    /// How often the token was passed; asked by one thread while nobody passes it.
    fn turns(&self) -> u32;
}

/// What the cost of all hand-offs is the cost of.
pub(super) const OPERATION: &str = "one hand-off from one thread to the other: half a round trip";

/// Two neighbouring threads, and one pair of each class.
pub(super) fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let two = Sweep::of(primitive.id).threads(&[2]).placements(&[Placement::Close]).cases();
    let on_pairs = cpu_pairs::on_pairs(axes, &two);
    two.into_iter().chain(on_pairs).collect()
}

/// The same for a hand-off that a core-to-core matrix is made of: on all of `pairs` too.
pub(super) fn cases_of_matrix(primitive: &Primitive, axes: &Axes, pairs: &[ClassedPair]) -> Vec<Case> {
    let mut cases = cases(primitive, axes);
    let two = Sweep::of(primitive.id).threads(&[2]).cases();
    // The pairs that stand for their classes are among all pairs.
    let known: HashSet<CaseId> = cases.iter().map(Case::id).collect();
    let matrix = two.iter().flat_map(|two| core_to_core::on_matrix(pairs, two));
    cases.extend(matrix.filter(|case| !known.contains(&case.id())));
    cases
}

/// Tokens of a sample whose cost is that of moving a line. A sample of 40 us has an iteration for each of them if a hand-off takes
/// 80 ns or less; a slower one comes to some of them.
pub(super) const LINES: usize = 16;

/// The loops of a hand-off, and what their machine code must hold.
pub(super) fn workload<H: Handoff>(case: &Case, expected: Expected) -> Option<Workload> {
    let tokens = Arc::new(Pages::filled(SLOTS * H::TOKENS, |_| OwnLine(H::new())));
    let (timed, extent) = (Arc::clone(&tokens), tokens.extent());
    let study: MakeStudy = Box::new(move |clock| Arc::new(RoundTrips::new(Arc::clone(&timed), clock)));
    let workload = Workload::of(Passing::<H> { tokens }).expecting(expected).with_study(study).in_memory(extent);
    (case.threads == Some(2)).then(|| workload.with_operations_per_execution(2))
}

/// The tokens of all slots, those of one slot beside each other.
struct Passing<H> {
    tokens: Arc<Pages<OwnLine<H>>>,
}

impl<H: Handoff> Passing<H> {
    fn of_slot(&self, slot: usize) -> &[OwnLine<H>] {
        &self.tokens[slot * H::TOKENS..][..H::TOKENS]
    }
}

/// One of the two threads and the turn it waits for.
struct Player<'a, H> {
    token: &'a H,
    thread: usize,
    turn: u32,
    /// All tokens of the slot, and which of them comes next.
    tokens: &'a [OwnLine<H>],
    next: usize,
    /// The turn that each token is at when this thread comes to it.
    first_turn: u32,
}

impl<H: Handoff> Operation for Passing<H> {
    type Local<'a> = Player<'a, H>;

    fn local(&self, slot: usize, thread: usize) -> Player<'_, H> {
        let tokens = self.of_slot(slot);
        let turn = thread as u32;
        Player { token: &tokens[0].0, thread, turn, tokens, next: 1, first_turn: turn }
    }

    /// One round trip, as both threads together see it: each passes the token once.
    #[inline(always)]
    fn execute(player: &mut Player<'_, H>) {
        or_leave(player.token.pass(player.thread, player.turn));
        player.turn = player.turn.wrapping_add(2);
    }

    #[inline(always)]
    fn move_on(player: &mut Player<'_, H>) {
        if H::TOKENS == 1 {
            return;
        }
        if player.next >= player.tokens.len() {
            // All were passed equally often: the first is where the last one was left.
            player.next = 0;
            player.first_turn = player.turn;
        }
        player.token = &player.tokens[player.next].0;
        player.turn = player.first_turn;
        player.next += 1;
    }

    fn prepare(&self, slot: usize, thread: usize) {
        self.of_slot(slot).iter().for_each(|token| token.0.attend(thread));
    }

    /// A token that overtook a thread would have been passed more or less often. Thread 0 alone looks, which is also who
    /// prepares the tokens for the next shot.
    fn verify(&self, slot: usize, thread: usize, round_trips: u64) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let (expected, found) = (2 * round_trips, counted(self.of_slot(slot)));
        if found == expected { Ok(()) } else { Err(format!("of {expected} hand-offs, the tokens counted {found}")) }
    }
}

/// How often all of these tokens together were passed. For one thread: to look at a token may mean to take it.
pub(super) fn counted<H: Handoff>(tokens: &[OwnLine<H>]) -> u64 {
    tokens.iter().map(|token| u64::from(token.0.turns())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::LIMIT;
    use crate::primitives::handoff::cas::CasToken;
    use crate::primitives::handoff::channel::Channels;
    use crate::primitives::handoff::condvar::Signalled;
    use crate::primitives::handoff::futex::FutexToken;
    use crate::primitives::handoff::park::Parked;
    use crate::primitives::handoff::store::StoreToken;
    use std::time::Instant;

    fn a_partner_that_does_not_come_is_given_up<H: Handoff>() {
        let token = H::new();
        (0..2).for_each(|thread| token.attend(thread));
        let started = Instant::now();
        assert_eq!((token.pass(0, 0), token.turns()), (Ok(()), 1));
        assert_eq!(token.pass(0, 2), Err(Broken));
        assert!(started.elapsed() >= LIMIT / 2);
    }

    /// Plays `iterations` of the test loop and says how often each token was passed.
    fn passed<H: Handoff>(iterations: u64) -> Vec<u32> {
        let passing = Passing::<H> { tokens: Arc::new(Pages::filled(SLOTS * H::TOKENS, |_| OwnLine(H::new()))) };
        let slot = SLOTS - 1;
        let play = |thread| {
            let mut player = passing.local(slot, thread);
            for _ in 0..iterations {
                (0..3).for_each(|_| Passing::<H>::execute(&mut player));
                Passing::<H>::move_on(&mut player);
            }
        };
        (0..2).for_each(|thread| passing.prepare(slot, thread));
        std::thread::scope(|scope| {
            scope.spawn(|| play(0));
            scope.spawn(|| play(1));
        });
        assert_eq!(passing.verify(slot, 0, 3 * iterations), Ok(()));
        assert!(passing.verify(slot, 0, 3 * iterations + 1).is_err());
        passing.of_slot(slot).iter().map(|token| token.0.turns()).collect()
    }

    #[test]
    fn a_sample_passes_all_tokens_in_turn() {
        let tokens = CasToken::TOKENS as u64;
        assert!(tokens > 1 && StoreToken::TOKENS as u64 == tokens);
        // Two and a half rounds.
        let often = 2 * tokens + tokens / 2;
        for found in [passed::<CasToken>(often), passed::<StoreToken>(often)] {
            let half = found.len() / 2;
            assert!(found[..half].iter().all(|turns| *turns == 3 * 2 * 3), "{found:?}");
            assert!(found[half..].iter().all(|turns| *turns == 2 * 2 * 3), "{found:?}");
        }
        assert_eq!(passed::<FutexToken>(5), [5 * 2 * 3]);
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
