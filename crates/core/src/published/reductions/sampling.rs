//! Pairs of chains: the time of one reduction from chains of n and of 2 n, one after the other.
//!
//! The time is the difference of the two, divided by n (Zhang, Wahib and Matsuoka, formula 1): what a chain has once, the
//! way to the device and the wait for its end, drops out. A random bit decides which of the two comes first.

use std::time::{Duration, Instant};

/// How long the shorter chain should be: long against the wait and the clock, short against a scheduler tick.
const CHAIN_NS: f64 = 1e6;

/// Fewer pairs have no 95 % interval from ranks; one more, because the interval of six is their range.
const FEWEST_PAIRS: usize = 7;
const MOST_PAIRS: usize = 25;

/// How the pairs of one cell are taken.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// No pair after the fewest begins later than this.
    pub time: Duration,
    /// Reductions of the longest chain.
    pub longest: u64,
    /// Of the order within pairs.
    pub seed: u64,
}

/// What the pairs gave.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTimes {
    /// Nanoseconds of one reduction, by pair, in the order they were taken.
    pub ns: Vec<f64>,
    /// Reductions of the shorter chain.
    pub chain: u64,
}

/// Takes the pairs. `sample` runs a chain of so many reductions and returns its time in nanoseconds.
///
/// # Errors
/// The first error of `sample`.
pub fn paired_times<E>(sampling: Sampling, mut sample: impl FnMut(u64) -> Result<f64, E>) -> Result<PairedTimes, E> {
    let mut random = fastrand::Rng::with_seed(sampling.seed);
    // The first reduction may have loaded its kernel or its pages.
    let (first, second) = (sample(1)?, sample(1)?);
    let chain = chain_length(first.min(second), sampling.longest);
    for length in [chain, 2 * chain] {
        sample(length)?;
    }
    let started = Instant::now();
    let mut ns = Vec::with_capacity(MOST_PAIRS);
    while ns.len() < MOST_PAIRS && (ns.len() < FEWEST_PAIRS || started.elapsed() < sampling.time) {
        let (short, long) = if random.bool() {
            let long = sample(2 * chain)?;
            (sample(chain)?, long)
        } else {
            (sample(chain)?, sample(2 * chain)?)
        };
        ns.push((long - short) / chain as f64);
    }
    Ok(PairedTimes { ns, chain })
}

/// Reductions of the shorter chain, if one reduction and one wait take so many nanoseconds.
fn chain_length(ns: f64, longest: u64) -> u64 {
    ((CHAIN_NS / ns.max(1.0)) as u64).clamp(1, (longest / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLING: Sampling = Sampling { time: Duration::ZERO, longest: 480, seed: 7 };

    #[test]
    fn what_a_chain_has_once_drops_out() {
        let mut lengths = Vec::new();
        let times = paired_times(SAMPLING, |count| {
            lengths.push(count);
            Ok::<f64, ()>(12_000.0 + 3000.0 * count as f64)
        });
        let times = times.unwrap();
        assert_eq!((times.ns.clone(), times.chain), (vec![3000.0; FEWEST_PAIRS], 66));
        assert_eq!(lengths.len(), 4 + 2 * FEWEST_PAIRS);
        let orders: Vec<bool> = lengths[4..].chunks(2).map(|pair| pair[0] > pair[1]).collect();
        assert!(orders.contains(&true) && orders.contains(&false), "{orders:?}");
    }

    #[test]
    fn chains_are_neither_empty_nor_too_long() {
        assert_eq!([chain_length(10_000.0, 480), chain_length(1.0, 480), chain_length(1e9, 480)], [100, 240, 1]);
        assert_eq!([chain_length(0.0, 1), chain_length(f64::NAN, 480)], [1, 240]);
    }

    #[test]
    fn more_time_gives_more_pairs_up_to_a_limit() {
        let sampling = Sampling { time: Duration::from_secs(60), ..SAMPLING };
        let times = paired_times(sampling, |count| Ok::<f64, ()>(count as f64)).unwrap();
        assert_eq!(times.ns.len(), MOST_PAIRS);
    }

    #[test]
    fn the_first_failure_ends_it() {
        let mut left = 5;
        let failed = paired_times(SAMPLING, |_| {
            left -= 1;
            if left == 0 { Err("lost") } else { Ok(1000.0) }
        });
        assert_eq!((failed, left), (Err("lost"), 0));
    }
}
