//! Hand-offs: two threads pass a token to each other, and the token counts how often.
//!
//! - This file: what a hand-off is, what spinning hand-offs have in common, the loops that pass tokens, and the cases of the
//!   family. Start here, then read one of them in `spinning.rs`. `channels.rs`: messages. `sleeping.rs`: waiters sleep.
//!   `kernel.rs`: through file descriptors.
//! - `round_trips.rs`: the percentiles of single round trips, a run after the samples.
//!
//! What a hand-off between spinning threads costs depends on the home of its cache line. On two CPUs some lines cost 64
//! ns, others 86 ns, each its own figure again and again; the median over single lines jumps between the two. A sample
//! of such a hand-off therefore passes several tokens on lines of their own, and every observation is an average over
//! lines. After each iteration ([`Operation::move_on`]) both threads go on to the next token. Thread 0 waits for nobody
//! there, because no thread has the new token yet: one round trip of an iteration overlaps with the last one on the
//! line before. This happens once in an iteration of both loops and cancels in their difference.

use self::round_trips::RoundTrips;
use crate::memory::Pages;
use crate::memory::inherited;
use crate::primitives::prelude::*;
use crate::sync::WaitLimit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

mod channels;
mod kernel;
mod round_trips;
mod sleeping;
mod spinning;

pub(super) use self::kernel::{Events, Inherited, Pipes};
pub(super) use self::spinning::StoreToken;

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[
    &spinning::STORE,
    &spinning::CAS,
    &channels::CHANNEL,
    &channels::BOUNDED,
    &channels::RENDEZVOUS,
    &sleeping::PARKER,
    &spinning::BACKOFF,
    &channels::STD_MPSC,
    &sleeping::CONDVAR,
    &sleeping::PARKING_LOT_CONDVAR,
    &sleeping::PARK,
    &sleeping::FUTEX,
    &kernel::EVENTFD,
    &kernel::PIPE,
];

const SPINNING: Facts =
    Facts { run_effect: facts::between_threads, ..Facts::of(Role::SpinHandoff).waiting(Waits::Spins) };
const SLEEPING: Facts = Facts { role: Role::SleepHandoff, ..SPINNING.waiting(Waits::Sleeps) };
const CHANNEL: Facts = Facts { role: Role::Channel, ..SPINNING.waiting(Waits::SpinsThenSleeps) };

/// The operation whose cost is `ns`, for every hand-off.
const OPERATION: &str = "one hand-off from one thread to the other: half a round trip";

/// Every hand-off is measured on each class of CPU pairs; the quick preset has those of the matrix.
const ON_PAIRS_THAT_EXIST: Participation = Participation::beyond_quick(&CpuPairs);

/// As [`ON_PAIRS_THAT_EXIST`], with a row for each class that this machine lacks.
const ON_CPU_PAIRS: Participation = ON_PAIRS_THAT_EXIST.reporting();

/// A hand-off between two threads.
const fn entry<H: Handoff>(id: &'static str, summary: &'static str, source: &'static str) -> Entry {
    let primitive = Primitive { id, summary, operation: OPERATION, source, facts: H::FACTS };
    Entry::of(primitive, of_two, workload::<H>).in_studies(&[ON_PAIRS_THAT_EXIST])
}

/// The loops of a hand-off.
fn workload<H: Handoff>(case: &Case) -> Option<Workload> {
    let tokens = Arc::new(Pages::filled(SLOTS * H::TOKENS, Token::new));
    let (timed, extent) = (Arc::clone(&tokens), tokens.extent());
    let follow_up: MakeFollowUp = Box::new(move |clock| Arc::new(RoundTrips::<H>::new(Arc::clone(&timed), clock)));
    Some(Workload { follow_up: Some(follow_up), extents: vec![extent], ..passing(case, tokens)? })
}

/// The loops of a hand-off between two processes.
pub(super) fn workload_between_processes<H: Handoff>(case: &Case) -> Option<Workload>
where
    Token<H>: BetweenProcesses,
{
    let tokens = inherited::state(SLOTS * H::TOKENS, Token::<H>::new)?;
    passing(case, Arc::new(tokens)).map(Workload::in_processes)
}

fn passing<H: Handoff>(case: &Case, tokens: Tokens<H>) -> Option<Workload> {
    case.threads.filter(|threads| *threads == 2)?;
    let workload = Workload { per_execution: 2, ..Workload::of(Passing { tokens }).expecting(H::EXPECTED) };
    Some(if H::FACTS.waits == Waits::Spins { workload } else { workload.long_blocking(case) })
}

/// The tokens of all slots; the tokens of one slot are side by side.
struct Passing<H> {
    tokens: Tokens<H>,
}

type Tokens<H> = Arc<Pages<CachePadded<Token<H>>>>;

impl<H: Handoff> Passing<H> {
    fn of_slot(&self, slot: usize) -> &[CachePadded<Token<H>>] {
        &self.tokens[slot * H::TOKENS..][..H::TOKENS]
    }
}

/// One of the two threads and the turn that it waits for.
struct PassingThread<'a, H> {
    token: &'a Token<H>,
    thread: usize,
    turn: u32,
    /// All tokens of the slot, and the index of the next one.
    tokens: &'a [CachePadded<Token<H>>],
    next: usize,
    /// The turn that each token is at when this thread comes to it.
    first_turn: u32,
}

impl<H: Handoff> Operation for Passing<H> {
    type Local<'a> = PassingThread<'a, H>;

    fn local(&self, slot: usize, thread: usize) -> PassingThread<'_, H> {
        let tokens = self.of_slot(slot);
        let turn = thread as u32;
        PassingThread { token: &tokens[0], thread, turn, tokens, next: 1, first_turn: turn }
    }

    /// One round trip of both threads together: each passes the token once.
    #[inline(always)]
    fn execute(local: &mut PassingThread<'_, H>) {
        or_unwind(H::pass(local.token, local.thread, local.turn));
        local.turn = local.turn.wrapping_add(2);
    }

    #[inline(always)]
    fn move_on(local: &mut PassingThread<'_, H>) {
        if H::TOKENS == 1 {
            return;
        }
        if local.next >= local.tokens.len() {
            // All tokens were passed equally often: the first one is at the turn of the last one.
            local.next = 0;
            local.first_turn = local.turn;
        }
        local.token = &local.tokens[local.next];
        local.turn = local.first_turn;
        local.next += 1;
    }

    fn prepare(&self, slot: usize, thread: usize) {
        prepare(self.of_slot(slot), thread);
    }

    /// A thread that was overtaken would have left another count. Only thread 0 checks, which also prepares the tokens
    /// for the next shot.
    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let (expected, found) = (2 * executed.own, counted(self.of_slot(slot)));
        if found == expected { Ok(()) } else { Err(format!("of {expected} hand-offs, the tokens counted {found}")) }
    }
}

// A token that two threads pass to each other.

/// A token, and how often it was passed. Between spinning threads, nothing else on its line changes.
pub(in crate::primitives) struct Token<H> {
    turns: AtomicU32,
    wait_limit: WaitLimit,
    way: H,
}

impl<H: Handoff> Token<H> {
    /// A token that was never passed.
    fn new(_: usize) -> CachePadded<Self> {
        CachePadded::new(Self { turns: AtomicU32::new(0), wait_limit: WaitLimit::new(LIMIT), way: H::default() })
    }
}

/// A way to pass a token between threads 0 and 1.
pub(in crate::primitives) trait Handoff: Default + Send + Sync + 'static {
    /// How many tokens a sample passes, one after the other. One, unless the cost is the move of a cache line: where a thread
    /// blocks, waking it takes a hundred times as long, and the library has lines of its own.
    const TOKENS: usize = if matches!(Self::FACTS.waits, Waits::Spins) { LINES } else { 1 };

    /// What the machine code of its loops must hold.
    const EXPECTED: Expected;

    /// The facts of the catalogue, such as how the threads wait.
    const FACTS: Facts = SLEEPING;

    /// Called by both threads before they take part.
    fn join(&self, _thread: usize) {}

    /// Resets the token, apart from its count. Called by thread 0 before the threads take part.
    fn reset(&self) {}

    /// Waits until the token was passed `turn` times, then passes it to the other thread. This thread then sees what the other
    /// one wrote before it passed the token.
    ///
    /// # Errors
    /// [`WaitTimeout`] when the other thread does not pass it within the limit.
    fn pass(token: &Token<Self>, thread: usize, turn: u32) -> Result<(), WaitTimeout>;

    /// How often the token was passed; called by one thread while no thread passes it.
    fn turns(token: &Token<Self>) -> u32 {
        token.turns.load(Ordering::Relaxed)
    }
}

/// Tokens of a sample whose cost is the move of a line. A sample of 40 us has an iteration for each of them if a hand-off takes
/// 80 ns or less. Slower hand-offs use some of them.
const LINES: usize = 16;

/// How often all of these tokens together were passed. Called by one thread at a time: reading a token may mean to take it.
fn counted<H: Handoff>(tokens: &[CachePadded<Token<H>>]) -> u64 {
    tokens.iter().map(|token| u64::from(H::turns(token))).sum()
}

/// Prepares tokens for both threads; `thread` is the one that calls.
fn prepare<H: Handoff>(tokens: &[CachePadded<Token<H>>], thread: usize) {
    for token in tokens {
        token.way.join(thread);
        if thread == 0 {
            token.turns.store(0, Ordering::Relaxed);
            token.way.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use self::channels::{Bounded, Inboxes, Rendezvous, Std};
    use self::sleeping::{FutexToken, Parked, Parkers, ParkingLotSignal, StdSignal};
    use self::spinning::{BackoffToken, CasToken};
    use super::*;
    use crate::primitives::wait::LIMIT;
    use crate::sync::WaitTimeout;
    use std::time::Instant;

    fn gives_up_on_a_missing_partner<H: Handoff>() {
        let token = [Token::<H>::new(0)];
        (0..2).for_each(|thread| prepare(&token, thread));
        let started = Instant::now();
        assert_eq!((H::pass(&token[0], 0, 0), H::turns(&token[0])), (Ok(()), 1));
        assert_eq!(H::pass(&token[0], 0, 2), Err(WaitTimeout));
        assert!(started.elapsed() >= LIMIT / 2);
    }

    /// Runs `iterations` of the test loop and returns how often each token was passed.
    fn passed<H: Handoff>(iterations: u64) -> Vec<u32> {
        let passing = Passing::<H> { tokens: Arc::new(Pages::filled(SLOTS * H::TOKENS, Token::new)) };
        let slot = SLOTS - 1;
        let run = |thread| {
            let mut local = passing.local(slot, thread);
            for _ in 0..iterations {
                (0..3).for_each(|_| Passing::<H>::execute(&mut local));
                Passing::<H>::move_on(&mut local);
            }
        };
        (0..2).for_each(|thread| passing.prepare(slot, thread));
        std::thread::scope(|scope| {
            scope.spawn(|| run(0));
            scope.spawn(|| run(1));
        });
        assert_eq!(passing.verify(slot, 0, Executed::by_each(3 * iterations)), Ok(()));
        assert!(passing.verify(slot, 0, Executed::by_each(3 * iterations + 1)).is_err());
        passing.of_slot(slot).iter().map(|token| H::turns(token)).collect()
    }

    #[test]
    fn a_sample_passes_all_tokens_in_turn() {
        let tokens = CasToken::TOKENS as u64;
        assert!(tokens > 1 && StoreToken::TOKENS as u64 == tokens);
        // Every token twice, the first half of them a third time.
        let often = 2 * tokens + tokens / 2;
        for found in [passed::<CasToken>(often), passed::<StoreToken>(often), passed::<BackoffToken>(often)] {
            let half = found.len() / 2;
            assert!(found[..half].iter().all(|turns| *turns == 3 * 2 * 3), "{found:?}");
            assert!(found[half..].iter().all(|turns| *turns == 2 * 2 * 3), "{found:?}");
        }
        for found in [
            passed::<FutexToken>(5),
            passed::<Inboxes<Bounded<64>>>(5),
            passed::<Rendezvous>(5),
            passed::<Parkers>(5),
            passed::<Inboxes<Std>>(5),
            passed::<ParkingLotSignal>(5),
            passed::<Events>(5),
            passed::<Pipes>(5),
        ] {
            assert_eq!(found, [5 * 2 * 3]);
        }
    }

    #[test]
    fn every_hand_off_gives_up_on_a_missing_partner() {
        std::thread::scope(|scope| {
            scope.spawn(gives_up_on_a_missing_partner::<CasToken>);
            scope.spawn(gives_up_on_a_missing_partner::<StoreToken>);
            scope.spawn(gives_up_on_a_missing_partner::<Inboxes<Bounded<1>>>);
            scope.spawn(gives_up_on_a_missing_partner::<StdSignal>);
            scope.spawn(gives_up_on_a_missing_partner::<Parked>);
            scope.spawn(gives_up_on_a_missing_partner::<FutexToken>);
            scope.spawn(gives_up_on_a_missing_partner::<Inboxes<Bounded<64>>>);
            scope.spawn(gives_up_on_a_missing_partner::<Parkers>);
            scope.spawn(gives_up_on_a_missing_partner::<BackoffToken>);
            scope.spawn(gives_up_on_a_missing_partner::<ParkingLotSignal>);
            scope.spawn(gives_up_on_a_missing_partner::<Inboxes<Std>>);
            scope.spawn(gives_up_on_a_missing_partner::<Events>);
            scope.spawn(gives_up_on_a_missing_partner::<Pipes>);
        });
    }
}
