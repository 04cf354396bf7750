//! Tails: the percentiles of single hand-offs, which the cost of a loop averages over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use syncscope_core::{Detail, Shot};

use crate::machine::memory::Pages;
use crate::primitives::follow_up::Study;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::operation::SLOTS;
use crate::primitives::or_leave;
use crate::sync::OwnLine;
use crate::team::Body;
use crate::timing::clock::Clock;

/// Lines whose round trips are timed: some of them are farther away than others, and all together are what a program meets.
const TOKENS: usize = SLOTS;

/// How often thread 0 passes each token. The first round trip overlaps with the last one on the line before and is not
/// timed, so that there are 62 of each and some 4,000 of all: a few dozen lie beyond the 99th percentile.
const PASSES: u32 = 64;

/// Most time: two threads that sleep and wake each other need some 10 microseconds for each.
const LIMIT: Duration = Duration::from_millis(60);

/// Fewer round trips have no 99th percentile.
const FEWEST: usize = 100;

/// Thread 0 times each of its round trips.
///
/// What stands in the details is half a round trip, less half of what reading the clock costs: how the two ways differ
/// cannot be told by one clock reader, and the clock moves in steps (`resolution_ns` of `run.json`), so the fastest
/// hand-offs, of a few nanoseconds, come in halves of such steps.
pub(crate) struct RoundTrips<H> {
    tokens: Arc<Pages<OwnLine<H>>>,
    clock: Clock,
    /// The number of thread 0's last pass, which it writes before it passes, so thread 1 knows it when it answers.
    last: OwnLine<AtomicU32>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// How often thread 0 passed a token.
    passes: u64,
    /// Ticks of each round trip.
    trips: Vec<u64>,
}

/// Every pass of one thread: its number, and the token and the turn of it.
fn passes(thread: u32) -> impl Iterator<Item = (u32, usize, u32)> {
    (0..TOKENS as u32 * PASSES).map(move |pass| (pass, (pass / PASSES) as usize, 2 * (pass % PASSES) + thread))
}

impl<H: Handoff> RoundTrips<H> {
    pub(crate) fn new(tokens: Arc<Pages<OwnLine<H>>>, clock: &Clock) -> Self {
        Self { tokens, clock: clock.clone(), last: OwnLine(AtomicU32::new(u32::MAX)), found: Mutex::default() }
    }

    /// The tokens that are passed.
    fn tokens(&self) -> &[OwnLine<H>] {
        &self.tokens[..TOKENS]
    }

    fn time(&self) {
        let mut readings: Vec<u64> = Vec::with_capacity(TOKENS * PASSES as usize);
        let limit = (LIMIT.as_nanos() as f64 / self.clock.ns_per_tick()) as u64;
        let started = self.clock.start();
        for (pass, token, turn) in passes(0) {
            let last = readings.last().is_some_and(|now| now.saturating_sub(started) >= limit);
            if last {
                // Relaxed: the hand-off passes it on.
                self.last.0.store(pass, Ordering::Relaxed);
            }
            or_leave(self.tokens()[token].0.pass(0, turn));
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
            or_leave(self.tokens()[token].0.pass(1, turn));
            // An end that is announced early, between this pass and the next, is still ahead.
            if pass >= self.last.0.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// How long the round trips took that ended with these readings, one after each pass. Nobody has a new token: the first
/// pass waits for no one and ends no round trip, and the round trip after it overlaps with the last one of the token before.
fn trips(readings: &[u64]) -> Vec<u64> {
    let of_token = |readings: &[u64]| -> Vec<u64> {
        readings.windows(2).skip(1).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    };
    readings.chunks(PASSES as usize).flat_map(of_token).collect()
}

impl<H: Handoff> Body for RoundTrips<H> {
    fn prepare(&self, _shot: &Shot, thread: usize) {
        self.tokens().iter().for_each(|token| token.0.attend(thread));
    }

    fn run(&self, _shot: &Shot, thread: usize) {
        match thread {
            0 => self.time(),
            _ => self.answer(),
        }
    }

    /// Thread 0 alone looks at the tokens: see [`Handoff::turns`].
    fn verify(&self, _shot: &Shot, thread: usize) -> Result<(), String> {
        if thread != 0 {
            return Ok(());
        }
        let expected = 2 * self.found.lock().unwrap_or_else(PoisonError::into_inner).passes;
        let found = handoff::counted(self.tokens());
        if found == expected {
            Ok(())
        } else {
            Err(format!("of {expected} timed hand-offs, the tokens counted {found}"))
        }
    }
}

impl<H: Handoff> Study for RoundTrips<H> {
    fn details(&self) -> Vec<Detail> {
        let trips = &self.found.lock().unwrap_or_else(PoisonError::into_inner).trips;
        let cost = self.clock.ruler().read_cost.0;
        let half = |ticks: &u64| ticks.saturating_sub(cost) as f64 * self.clock.ns_per_tick() / 2.0;
        percentiles(&trips.iter().map(half).collect::<Vec<_>>())
    }
}

/// Percentiles by the nearest rank (Hyndman and Fan, 1996, definition 1): each is a value that occurred.
fn percentiles(values: &[f64]) -> Vec<Detail> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(max) = sorted.last().filter(|_| sorted.len() >= FEWEST) else { return Vec::new() };
    let at = |share: f64| sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    let named = [("p50_ns", at(0.50)), ("p90_ns", at(0.90)), ("p99_ns", at(0.99)), ("max_ns", *max)];
    named.into_iter().map(|(name, value)| Detail::of_case(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::handoff::channel::Channels;
    use crate::primitives::handoff::store::StoreToken;
    use crate::team::{Executor, Team};
    use syncscope_core::Side;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found: Vec<(String, f64)> = percentiles(&values).into_iter().map(|d| (d.name, d.value)).collect();
        let expected = [("p50_ns", 100.0), ("p90_ns", 180.0), ("p99_ns", 198.0), ("max_ns", 200.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(percentiles(&values[..FEWEST - 1]).is_empty(), "too few for the 99th");
    }

    const SHOT: Shot = Shot { side: Side::Test, iterations: 1, pair: 0 };

    fn study<H: Handoff>(clock: &Clock) -> Arc<RoundTrips<H>> {
        let tokens = Arc::new(Pages::filled(TOKENS, |_| OwnLine(H::new())));
        Arc::new(RoundTrips::new(tokens, clock))
    }

    fn timed<H: Handoff>() -> Vec<Detail> {
        let clock = Clock::calibrate();
        let study = study::<H>(&clock);
        let body: Arc<dyn Body> = Arc::clone(&study) as _;
        let mut team = Team::assemble(&[None, None], &clock).unwrap();
        let records = team.run(&body, &[SHOT], Duration::from_secs(20)).unwrap();
        assert_eq!(records.iter().flatten().find_map(|record| record.defect.clone()), None);
        study.details()
    }

    #[test]
    fn two_threads_that_verify_at_the_same_time_find_the_same() {
        // A channel has to be emptied to see what is in it: two who look at the same time miss it.
        let study = study::<Channels>(&Clock::calibrate());
        (0..2).for_each(|thread| study.prepare(&SHOT, thread));
        for token in study.tokens() {
            assert_eq!((token.0.pass(0, 0), token.0.pass(1, 1)), (Ok(()), Ok(())));
        }
        study.found.lock().unwrap().passes = TOKENS as u64;
        let verify = |thread| (0..2000).find_map(|_| study.verify(&SHOT, thread).err());
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| verify(1));
            (verify(0), other.join().unwrap())
        });
        assert_eq!((first, second), (None, None));
    }

    #[test]
    fn round_trips_are_of_one_token() {
        let readings: Vec<u64> = (0..2 * u64::from(PASSES)).map(|reading| reading * reading).collect();
        let found = trips(&readings);
        let ends: Vec<u64> = found.iter().map(|trip| trip.div_ceil(2)).collect();
        let expected = (2..u64::from(PASSES)).chain(u64::from(PASSES) + 2..2 * u64::from(PASSES));
        assert_eq!(ends, expected.collect::<Vec<_>>(), "n squared is 2 n - 1 more than the square before");
        assert!(trips(&readings[..2]).is_empty() && trips(&[]).is_empty());
    }

    #[test]
    fn both_threads_come_to_the_end() {
        for details in (0..5).flat_map(|_| [timed::<StoreToken>(), timed::<Channels>()]) {
            // Where other programs have the CPUs, there may be too few round trips for percentiles.
            assert!(details.is_empty() || details.windows(2).all(|pair| pair[0].value <= pair[1].value), "{details:?}");
        }
    }
}
