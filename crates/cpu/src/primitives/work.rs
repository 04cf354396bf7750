//! Work between operations, as programs do it: a loop of dependent additions that takes a known time and touches no memory.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use syncscope_core::Case;

use crate::timing::chains::{ARE_WRITTEN, steps_of_additions};

/// Whether there is such a loop on this architecture.
pub(crate) const IS_POSSIBLE: bool = ARE_WRITTEN;

/// The work of each thread around one acquisition of a lock, in iterations of the loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) inside: u64,
    pub(super) outside: u64,
    /// How long both take with so many threads that take turns inside.
    pub(super) round: Duration,
}

impl Work {
    /// That of a case; `None` where it has none.
    pub(super) fn of(case: &Case) -> Option<Self> {
        let [inside, outside] = [case.inside_ns, case.outside_ns].map(Option::unwrap_or_default);
        let round = u64::from(inside) * u64::from(case.threads.unwrap_or(1)) + u64::from(outside);
        case.has_work().then(|| Self {
            inside: iterations(inside),
            outside: iterations(outside),
            round: Duration::from_nanos(round),
        })
    }

    /// What a thread does under the lock.
    #[inline(always)]
    pub(super) fn inside(self) {
        steps_of_additions(self.inside);
    }

    /// What it does before it takes the lock again.
    #[inline(always)]
    pub(super) fn outside(self) {
        steps_of_additions(self.outside);
    }
}

/// The iterations that take so long on the calling thread's core, calibrated once for each length.
fn iterations(ns: u32) -> u64 {
    static KNOWN: Mutex<Option<HashMap<u32, u64>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.get_or_insert_default().entry(ns).or_insert_with(|| if ns == 0 { 0 } else { calibrated(f64::from(ns)) })
}

fn calibrated(ns: f64) -> u64 {
    // Long against the end of a loop, which is mispredicted once.
    const MANY: u64 = 4_000;
    let each = time_of(MANY, ns) / MANY as f64;
    let first = (ns / each).max(1.0);
    // The call and the misprediction are part of the time asked for.
    let excess = time_of(first as u64, ns) - ns;
    (first - excess / each).round().max(1.0) as u64
}

/// How long one loop takes, in ns: the fastest of some tries, since interruptions only add.
fn time_of(iterations: u64, about_ns: f64) -> f64 {
    const TRIES: usize = 7;
    const TRY_NS: f64 = 100_000.0;
    let calls = (TRY_NS / about_ns).clamp(4.0, 2_000.0) as u32;
    let mut fastest = f64::INFINITY;
    for _ in 0..TRIES {
        let started = Instant::now();
        for _ in 0..calls {
            black_box(steps_of_additions(black_box(iterations)));
        }
        fastest = fastest.min(started.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    fastest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_work_has_more_iterations() {
        let of = |inside_ns, outside_ns| Work::of(&Case { inside_ns, outside_ns, ..Case::new("cpu.lock.ticket") });
        assert!(of(None, None).is_none());
        let work = of(Some(1_000), Some(100_000)).unwrap();
        assert!(!IS_POSSIBLE || work.inside > 10 && work.outside > 10 * work.inside, "{work:?}");
        assert_eq!((of(None, Some(10)).unwrap().inside, work.round), (0, Duration::from_micros(101)));
    }
}
