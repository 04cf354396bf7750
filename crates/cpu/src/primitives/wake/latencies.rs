//! The percentiles of single wake-ups.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use syncscope_core::stats;

use crate::primitives::prelude::*;
use crate::primitives::workload::FEWEST;

use super::wake_pair::{WakePair, WakeUp};
use super::ways::Way;

/// Some dozen wake-ups lie beyond the 99th percentile of this many.
const WAKE_UPS: usize = 2000;

/// The time limit, without the time in which the waiters sleep: some 20 to 100 microseconds pass until one sleeps, is seen asleep
/// and is woken again.
const LIMIT: Duration = Duration::from_millis(80);

/// No wake-up has this number.
const NONE: u64 = u64::MAX;

/// Thread 0 wakes the others again and again. The details hold each latency less the cost of reading the clock.
pub(super) struct Latencies<W> {
    wake_pair: Arc<WakePair<W>>,
    clock: Clock,
    /// The number of the last wake-up, or [`NONE`] as long as more follow. A number, because a waiter that is late to look
    /// may find what the waker stored before the next wake-up.
    last: CachePadded<AtomicU64>,
    found: Mutex<Vec<WakeUp>>,
}

impl<W: Way + Default> Latencies<W> {
    pub(super) fn new(wake_pair: Arc<WakePair<W>>, clock: &Clock) -> Self {
        Self { wake_pair, clock: clock.clone(), last: CachePadded::new(AtomicU64::new(NONE)), found: Mutex::default() }
    }

    fn wake(&self) {
        let mut found = Vec::with_capacity(WAKE_UPS);
        let (started, limit) = (Instant::now(), LIMIT + FEWEST as u32 * self.wake_pair.wait());
        let mut over = false;
        while !over {
            over = found.len() + 1 >= WAKE_UPS || started.elapsed() >= limit;
            if over {
                // Relaxed: the wake-up publishes it.
                self.last.store(self.wake_pair.next().into(), Ordering::Relaxed);
            }
            found.push(or_unwind(self.wake_pair.wake()));
        }
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    fn sleep(&self, thread: usize) {
        while !self.is_last(or_unwind(self.wake_pair.sleep(thread))) {}
    }

    /// Whether no wake-up follows this one.
    fn is_last(&self, number: u32) -> bool {
        self.last.load(Ordering::Relaxed) == u64::from(number)
    }
}

impl<W: Way + Default> Body for Latencies<W> {
    fn prepare(&self, _: &Shot, thread: usize) {
        self.wake_pair.join(thread);
        if thread == 0 {
            self.last.store(NONE, Ordering::Relaxed);
        }
    }

    fn run(&self, _: &Shot, thread: usize) {
        match thread {
            0 => self.wake(),
            _ => self.sleep(thread),
        }
    }

    fn verify(&self, _: &Shot, thread: usize) -> Result<(), String> {
        if thread == 0 { self.wake_pair.verify() } else { Ok(()) }
    }
}

impl<W: Way + Default> FollowUp for Latencies<W> {
    fn details(&self) -> Vec<Detail> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = self.clock.ruler().read_cost.0;
        let ns = |time: fn(&WakeUp) -> u64| -> Vec<f64> {
            found.iter().map(|one| time(one).saturating_sub(cost) as f64 * self.clock.ns_per_tick()).collect()
        };
        let call = stats::median(&ns(|one| one.call)).map(|ns| Detail::of_case(Detail::WAKE_CALL_NS, ns));
        let share = self.wake_pair.asleep_share().map(|share| Detail::of_case(Detail::ASLEEP_SHARE, share));
        percentiles(&ns(|one| one.latency)).into_iter().chain(call).chain(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::spinning::{Hints, SpinFutex, Watched, Yield};
    use super::super::ways::{Event, FutexWord, GuardedTokens, Parked, ParkingLotSignal, StdSignal, Tokens};
    use super::*;
    use crate::primitives::wait;
    use crate::sync::WaitTimeout;
    use crate::team::{Executor, Team};
    use crossbeam::utils::Backoff;
    use std::thread;
    use syncscope_core::Side;

    const ASLEEP: Duration = Duration::from_micros(20);

    fn details<W: Way + Default>(clock: &Clock) -> Vec<Detail> {
        details_of(WakePair::<W>::asleep(1, ASLEEP), clock)
    }

    fn details_of<W: Way + Default>(wake_pair: WakePair<W>, clock: &Clock) -> Vec<Detail> {
        details_of_team(wake_pair, 2, clock)
    }

    fn details_of_team<W: Way + Default>(wake_pair: WakePair<W>, threads: usize, clock: &Clock) -> Vec<Detail> {
        let run = Arc::new(Latencies::new(Arc::new(wake_pair), clock));
        let body: Arc<dyn Body> = Arc::clone(&run) as _;
        let mut team = Team::assemble(&vec![None; threads], clock).unwrap();
        let shot = Shot { side: Side::Test, iterations: 1, pair: 0 };
        // Twice: the threads agree on the next wake-up.
        for _ in 0..2 {
            let records = team.run(&body, &[shot], Duration::from_secs(20)).unwrap();
            assert_eq!(records.iter().flatten().find_map(|record| record.defect.clone()), None);
        }
        run.details()
    }

    #[test]
    fn every_way_wakes_a_sleeping_thread_again_and_again() {
        let clock = Clock::calibrate();
        for details in [
            details::<FutexWord>(&clock),
            details::<StdSignal>(&clock),
            details::<Parked>(&clock),
            details::<ParkingLotSignal>(&clock),
            details::<Event>(&clock),
        ] {
            let of = |name: &str| details.iter().find(|detail| detail.name == name).unwrap().value;
            assert!(of("asleep_share") >= 0.99 && of("wake_call_ns") > 0.0, "{details:?}");
            let tail = details.iter().filter(|detail| detail.name.starts_with('p')).collect::<Vec<_>>();
            assert!(tail.windows(2).all(|pair| pair[0].value <= pair[1].value), "{details:?}");
        }
    }

    #[test]
    fn one_call_wakes_all_sleepers_or_one_of_them() {
        let clock = Clock::calibrate();
        for details in [
            details_of_team(WakePair::<FutexWord<true>>::asleep(5, ASLEEP), 6, &clock),
            details_of_team(WakePair::<StdSignal<true>>::asleep(5, ASLEEP), 6, &clock),
            details_of_team(WakePair::<Tokens>::asleep(5, ASLEEP), 6, &clock),
            details_of_team(WakePair::<GuardedTokens>::asleep(5, ASLEEP), 6, &clock),
        ] {
            let share = details.iter().find(|detail| detail.name == "asleep_share").unwrap().value;
            assert!(share >= 0.99, "{details:?}");
        }
    }

    #[test]
    fn every_way_to_wait_awake_sees_the_store() {
        let (clock, wait) = (Clock::calibrate(), Duration::from_micros(20));
        for details in [
            details_of(WakePair::<Watched<Hints<0>>>::after(wait), &clock),
            details_of(WakePair::<Watched<Hints<16>>>::after(wait), &clock),
            details_of(WakePair::<Watched<Backoff>>::after(wait), &clock),
            details_of(WakePair::<Watched<Yield>>::after(wait), &clock),
            details_of(WakePair::<SpinFutex>::after(wait), &clock),
        ] {
            assert!(details.iter().any(|detail| detail.name == "wake_call_ns" && detail.value >= 0.0), "{details:?}");
            assert!(details.iter().all(|detail| detail.name != "asleep_share"), "{details:?}");
        }
    }

    #[test]
    fn a_waiter_that_is_late_to_look_stays_for_the_last_wake_up() {
        let run = Latencies::new(Arc::new(WakePair::<FutexWord>::asleep(1, ASLEEP)), &Clock::calibrate());
        run.wake_pair.join(1);
        let first = thread::scope(|scope| {
            let waiter = scope.spawn(|| run.wake_pair.sleep(1).unwrap());
            run.wake_pair.wake().unwrap();
            waiter.join().unwrap()
        });
        // The waker is about to call for the last time before the waiter has looked.
        run.last.store(run.wake_pair.next().into(), Ordering::Relaxed);
        assert!(!run.is_last(first));
        assert!(run.is_last(run.wake_pair.next()));
    }

    fn gives_up<W: Way + Default>() {
        let way = W::default();
        way.join();
        let started = Instant::now();
        assert_eq!(way.sleep(1), Err(WaitTimeout));
        assert!(started.elapsed() >= wait::LIMIT / 2);
    }

    #[test]
    fn no_waiter_sleeps_for_ever() {
        thread::scope(|scope| {
            scope.spawn(gives_up::<FutexWord>);
            scope.spawn(gives_up::<StdSignal>);
            scope.spawn(gives_up::<Parked>);
            scope.spawn(gives_up::<ParkingLotSignal>);
            scope.spawn(gives_up::<Event>);
            scope.spawn(gives_up::<Watched<Hints<0>>>);
            scope.spawn(gives_up::<Watched<Backoff>>);
            scope.spawn(gives_up::<SpinFutex>);
        });
    }
}
