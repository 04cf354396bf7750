//! The percentiles of single round trips. The cost of a loop is an average and hides them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Handoff, Token, Tokens, counted, prepare};
use crate::primitives::prelude::*;

/// Lines whose round trips are timed. They are at different distances from the two CPUs, as the lines of a program are.
const TOKENS: usize = SLOTS;

/// How often thread 0 passes each token. The first round trip overlaps with the last one on the line before and is not
/// timed. That leaves 62 round trips of each token and some 4,000 of all: a few dozen lie beyond the 99th percentile.
const PASSES: u32 = 64;

/// The time limit: two threads that block and wake each other need some 10 microseconds for each round trip.
const LIMIT: Duration = Duration::from_millis(60);

/// Thread 0 times each of its round trips.
///
/// The details hold half a round trip, less half the cost of reading the clock. One clock cannot show how the two ways
/// differ. The clock moves in steps (`resolution_ns` of `run.json`), so the fastest hand-offs, of a few nanoseconds,
/// are multiples of half a step.
pub(crate) struct RoundTrips<H> {
    tokens: Tokens<H>,
    clock: Clock,
    /// The number of thread 0's last pass. Thread 0 writes it before that pass, so thread 1 sees it when it answers.
    last: CachePadded<AtomicU32>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// How often thread 0 passed a token.
    passes: u64,
    /// Ticks of each round trip.
    trips: Vec<u64>,
}

/// Every pass of one thread: its number, its token and its turn.
fn passes(thread: u32) -> impl Iterator<Item = (u32, usize, u32)> {
    (0..TOKENS as u32 * PASSES).map(move |pass| (pass, (pass / PASSES) as usize, 2 * (pass % PASSES) + thread))
}

impl<H: Handoff> RoundTrips<H> {
    pub(super) fn new(tokens: Tokens<H>, clock: &Clock) -> Self {
        Self { tokens, clock: clock.clone(), last: CachePadded::new(AtomicU32::new(u32::MAX)), found: Mutex::default() }
    }

    /// The tokens that are passed.
    fn tokens(&self) -> &[CachePadded<Token<H>>] {
        &self.tokens[..TOKENS]
    }

    fn time(&self) {
        let mut readings: Vec<u64> = Vec::with_capacity(TOKENS * PASSES as usize);
        let limit = (LIMIT.as_nanos() as f64 / self.clock.ns_per_tick()) as u64;
        let started = self.clock.start();
        for (pass, token, turn) in passes(0) {
            let last = readings.last().is_some_and(|now| now.saturating_sub(started) >= limit);
            if last {
                // Relaxed: the hand-off publishes it.
                self.last.store(pass, Ordering::Relaxed);
            }
            or_unwind(H::pass(&self.tokens()[token], 0, turn));
            readings.push(self.clock.stop());
            if last {
                break;
            }
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Found { passes: readings.len() as u64, trips: trips(&readings) };
    }

    fn answer(&self) {
        for (pass, token, turn) in passes(1) {
            or_unwind(H::pass(&self.tokens()[token], 1, turn));
            // A number announced between this pass and the next one is greater than this pass.
            if pass >= self.last.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// The durations of the round trips that ended with these readings, one reading after each pass. No thread has a new token yet:
/// its first pass waits for no one and ends no round trip. The round trip after it overlaps with the last one of the token
/// before.
fn trips(readings: &[u64]) -> Vec<u64> {
    let of_token = |readings: &[u64]| -> Vec<u64> {
        readings.windows(2).skip(1).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    };
    readings.chunks(PASSES as usize).flat_map(of_token).collect()
}

impl<H: Handoff> Body for RoundTrips<H> {
    fn prepare(&self, _shot: &Shot, thread: usize) {
        prepare(self.tokens(), thread);
    }

    fn run(&self, _shot: &Shot, thread: usize) {
        match thread {
            0 => self.time(),
            _ => self.answer(),
        }
    }

    /// Only thread 0 reads the tokens: see [`Handoff::turns`].
    fn verify(&self, _shot: &Shot, thread: usize) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let expected = 2 * self.found.lock().unwrap_or_else(PoisonError::into_inner).passes;
        let found = counted(self.tokens());
        if found == expected {
            Ok(())
        } else {
            Err(format!("of {expected} timed hand-offs, the tokens counted {found}"))
        }
    }
}

impl<H: Handoff> FollowUp for RoundTrips<H> {
    fn details(&self) -> Vec<Detail> {
        let trips = &self.found.lock().unwrap_or_else(PoisonError::into_inner).trips;
        let cost = self.clock.ruler().read_cost.0;
        let half = |ticks: &u64| ticks.saturating_sub(cost) as f64 * self.clock.ns_per_tick() / 2.0;
        percentiles(&trips.iter().map(half).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Pages;
    use crate::primitives::handoff::channels::{Bounded, Inboxes};
    use crate::primitives::handoff::spinning::StoreToken;
    use crate::team::{Executor, Team};
    use std::sync::Arc;
    use syncscope_core::Side;

    const SHOT: Shot = Shot { side: Side::Test, iterations: 1, pair: 0 };

    fn round_trips<H: Handoff>(clock: &Clock) -> Arc<RoundTrips<H>> {
        let tokens = Arc::new(Pages::filled(TOKENS, Token::new));
        Arc::new(RoundTrips::new(tokens, clock))
    }

    fn timed<H: Handoff>() -> Vec<Detail> {
        let clock = Clock::calibrate();
        let trips = round_trips::<H>(&clock);
        let body: Arc<dyn Body> = Arc::clone(&trips) as _;
        let mut team = Team::assemble(&[None, None], &clock).unwrap();
        let records = team.run(&body, &[SHOT], Duration::from_secs(20)).unwrap();
        assert_eq!(records.iter().flatten().find_map(|record| record.defect.clone()), None);
        trips.details()
    }

    #[test]
    fn two_threads_may_verify_at_the_same_time() {
        // Reading a channel empties it for a while: a second reader at that time would find nothing.
        let trips = round_trips::<Inboxes<Bounded<1>>>(&Clock::calibrate());
        (0..2).for_each(|thread| trips.prepare(&SHOT, thread));
        for token in trips.tokens() {
            assert_eq!(
                (Inboxes::<Bounded<1>>::pass(token, 0, 0), Inboxes::<Bounded<1>>::pass(token, 1, 1)),
                (Ok(()), Ok(()))
            );
        }
        trips.found.lock().unwrap().passes = TOKENS as u64;
        let verify = |thread| (0..2000).find_map(|_| trips.verify(&SHOT, thread).err());
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| verify(1));
            (verify(0), other.join().unwrap())
        });
        assert_eq!((first, second), (None, None));
    }

    #[test]
    fn a_round_trip_is_of_one_token() {
        let readings: Vec<u64> = (0..2 * u64::from(PASSES)).map(|reading| reading * reading).collect();
        let found = trips(&readings);
        let ends: Vec<u64> = found.iter().map(|trip| trip.div_ceil(2)).collect();
        let expected = (2..u64::from(PASSES)).chain(u64::from(PASSES) + 2..2 * u64::from(PASSES));
        assert_eq!(ends, expected.collect::<Vec<_>>(), "n squared is 2 n - 1 more than the square before");
        assert!(trips(&readings[..2]).is_empty() && trips(&[]).is_empty());
    }

    #[test]
    fn both_threads_finish() {
        for details in (0..5).flat_map(|_| [timed::<StoreToken>(), timed::<Inboxes<Bounded<1>>>()]) {
            // Where other programs use the CPUs, there may be too few round trips for percentiles.
            assert!(details.is_empty() || details.windows(2).all(|pair| pair[0].value <= pair[1].value), "{details:?}");
        }
    }
}
