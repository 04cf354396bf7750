//! What a thread that waits leaves to the other hardware thread of its core: thread 0 works there, and thread 1 waits for it in one of
//! the ways. The cost is that of eight independent additions; beside a thread that sleeps it is that of a core of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use syncscope_core::Shot;

use super::ways::Way;
use crate::evidence::Expected;
use crate::primitives::wait::{LIMIT, or_unwind};
use crate::primitives::workload::Workload;
use crate::sync::WaitLimit;
use crate::team::Body;
use crate::timing::clock::Clock;
use crate::timing::smt_interference::independent_additions;

/// The longest loop: some milliseconds.
const MOST_ITERATIONS: u64 = 1 << 20;

/// How long the waiter waits before the work begins, so that it sleeps where it is going to.
const SETTLED: Duration = Duration::from_micros(50);

struct Beside<W> {
    way: W,
    clock: Clock,
    wait_limit: WaitLimit,
    /// The wake-up that the waiter waits for.
    number: AtomicU32,
    /// The one that it is about to wait for.
    announced: AtomicU32,
    /// Begin and end of the work.
    interval: [AtomicU64; 2],
}

pub(super) fn workload<W: Way>() -> Workload {
    let (number, announced, interval) = Default::default();
    let (clock, way, wait_limit) = (Clock::uncalibrated(), W::new(), WaitLimit::new(LIMIT));
    let work: fn(u64) = independent_additions;
    Workload::of_chain(
        Arc::new(Beside { way, clock, wait_limit, number, announced, interval }),
        work as usize,
        MOST_ITERATIONS,
    )
    .expecting(Expected::Uncounted("the work beside the waiter is timed"))
}

impl<W: Way> Body for Beside<W> {
    fn prepare(&self, _: &Shot, thread: usize) {
        match thread {
            0 => drop(self.number.fetch_add(1, Ordering::Relaxed)),
            _ => self.way.join(),
        }
    }

    fn run(&self, shot: &Shot, thread: usize) {
        // Relaxed: a barrier stands between this and the addition.
        let number = self.number.load(Ordering::Relaxed);
        if thread > 0 {
            self.announced.store(number, Ordering::Release);
            return or_unwind(self.way.sleep(number));
        }
        or_unwind(self.wait_limit.wait(|| self.announced.load(Ordering::Acquire) == number));
        let announced = Instant::now();
        while announced.elapsed() < SETTLED {
            std::hint::spin_loop();
        }
        let begin = self.clock.start();
        independent_additions(shot.iterations * (1 + shot.side.copies()));
        let end = self.clock.stop();
        self.way.wake(number);
        self.interval[0].store(begin, Ordering::Relaxed);
        self.interval[1].store(end, Ordering::Relaxed);
    }

    /// That of the work, for both threads. Relaxed: a barrier stands between the stores and this.
    fn interval(&self, _: &Shot, _: usize) -> Option<[u64; 2]> {
        Some([0, 1].map(|end| self.interval[end].load(Ordering::Relaxed)))
    }

    fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
        Ok(())
    }
}
