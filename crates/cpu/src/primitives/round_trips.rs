//! Tails: the percentiles of single hand-offs, which the cost of a loop averages over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use syncscope_core::{Detail, Shot};

use super::handoffs::Handoff;
use super::or_leave;
use super::study::Study;
use crate::clock::Clock;
use crate::memory::Pages;
use crate::sync::OwnLine;
use crate::team::Body;

/// Most round trips: a few dozen lie beyond the 99th percentile.
const MOST: u32 = 4000;

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
    /// The last turn of thread 0, which writes it before it passes, so thread 1 knows it when it answers.
    last: OwnLine<AtomicU32>,
    /// Ticks of each round trip.
    trips: Mutex<Vec<u64>>,
}

impl<H: Handoff> RoundTrips<H> {
    pub(crate) fn new(tokens: Arc<Pages<OwnLine<H>>>, clock: &Clock) -> Self {
        Self { tokens, clock: clock.clone(), last: OwnLine(AtomicU32::new(u32::MAX)), trips: Mutex::default() }
    }

    fn time(&self, token: &H) {
        let mut readings = Vec::with_capacity(MOST as usize + 1);
        let limit = (LIMIT.as_nanos() as f64 / self.clock.ns_per_tick()) as u64;
        let started = self.clock.start();
        for trip in 0..=MOST {
            let last = trip == MOST || readings.last().is_some_and(|now: &u64| now.saturating_sub(started) >= limit);
            if last {
                // Relaxed: the hand-off passes it on.
                self.last.0.store(2 * trip, Ordering::Relaxed);
            }
            or_leave(token.pass(0, 2 * trip));
            readings.push(self.clock.stop());
            if last {
                break;
            }
        }
        // The first pass waits for nobody: the first round trip ends with the second reading.
        let trips = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        *self.trips.lock().unwrap_or_else(PoisonError::into_inner) = trips;
    }

    fn answer(&self, token: &H) {
        for trip in 0..=MOST {
            let turn = 2 * trip + 1;
            or_leave(token.pass(1, turn));
            // An end that is announced early, between this turn and the next, is still ahead.
            if turn > self.last.0.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

impl<H: Handoff> Body for RoundTrips<H> {
    fn prepare(&self, _shot: &Shot, thread: usize) {
        self.tokens[0].0.attend(thread);
    }

    fn run(&self, _shot: &Shot, thread: usize) {
        match thread {
            0 => self.time(&self.tokens[0].0),
            _ => self.answer(&self.tokens[0].0),
        }
    }

    fn verify(&self, _shot: &Shot, thread: usize) -> Result<(), String> {
        let trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner).len() as u32;
        // With the pass that waited for nobody, each thread passed once more than there are round trips.
        let (expected, found) = (2 * (trips + 1), self.tokens[0].0.turns());
        if thread != 0 || found == expected {
            return Ok(());
        }
        Err(format!("of {expected} timed hand-offs, the token counted {found}"))
    }
}

impl<H: Handoff> Study for RoundTrips<H> {
    fn details(&self) -> Vec<Detail> {
        let trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
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
    use crate::primitives::handoff_channel::Channels;
    use crate::primitives::handoff_store::StoreToken;
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

    fn timed<H: Handoff>() -> Vec<Detail> {
        let clock = Clock::calibrate();
        let tokens = Arc::new(Pages::filled(1, |_| OwnLine(H::new())));
        let study = Arc::new(RoundTrips::new(tokens, &clock));
        let shot = Shot { side: Side::Test, iterations: 1, pair: 0 };
        let body: Arc<dyn Body> = Arc::clone(&study) as _;
        let mut team = Team::assemble(&[None, None], &clock).unwrap();
        let records = team.run(&body, &[shot], Duration::from_secs(20)).unwrap();
        assert_eq!(records.iter().flatten().find_map(|record| record.defect.clone()), None);
        study.details()
    }

    #[test]
    fn both_threads_come_to_the_end() {
        for details in (0..5).flat_map(|_| [timed::<StoreToken>(), timed::<Channels>()]) {
            // Where other programs have the CPUs, there may be too few round trips for percentiles.
            assert!(details.is_empty() || details.windows(2).all(|pair| pair[0].value <= pair[1].value), "{details:?}");
        }
    }
}
