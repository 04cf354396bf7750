//! In which order pairs are taken, and how many.

use std::time::{Duration, Instant};

use syncscope_core::Side;
use syncscope_core::engine::PairOrder;

use super::CrosscheckPair;

/// How many pairs the cases of a set get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Pairs of one case before the next one comes.
    pub pairs_at_once: usize,
    /// Each case gets as many, whatever they take. The paper averages 20.
    pub fewest_pairs: usize,
    /// No case gets more.
    pub most_pairs: usize,
    /// After this time no case gets more than the fewest.
    pub budget: Duration,
}

impl Schedule {
    /// Takes the pairs of `cases` cases in turn, so that a disturbance of some milliseconds does not hit one case alone. In
    /// each turn the cases come in another random order, and [`PairOrder`] draws which chain of a pair is first.
    /// `take` gets the number of the case and whether that is the longer one. The first pair of each case counts for nothing: it brings kernels
    /// and code to where they are executed.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn take<E>(
        self,
        seed: u64,
        cases: usize,
        mut take: impl FnMut(usize, bool) -> Result<CrosscheckPair, E>,
    ) -> Result<Vec<Vec<CrosscheckPair>>, E> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order_of_pairs = PairOrder::new(seed, 0, 0);
        let mut pairs = vec![Vec::new(); cases];
        for case in 0..cases {
            take(case, false)?;
        }
        let started = Instant::now();
        let mut order: Vec<usize> = (0..cases).collect();
        loop {
            let most = if started.elapsed() < self.budget { self.most_pairs } else { self.fewest_pairs };
            order.retain(|case| pairs[*case].len() < most);
            if order.is_empty() {
                return Ok(pairs);
            }
            random.shuffle(&mut order);
            for case in &order {
                for _ in 0..self.pairs_at_once.min(most - pairs[*case].len()) {
                    pairs[*case].push(take(*case, order_of_pairs.first_side() == Side::Test)?);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BothClocks;
    use super::*;

    fn pair(many_first: bool) -> CrosscheckPair {
        let side = BothClocks { outside_ns: 1.0, inside_cycles: 1.0 };
        CrosscheckPair { many_first, few: side, many: side, cycles_per_ns: 1.0 }
    }

    fn schedule(budget: Duration) -> Schedule {
        Schedule { pairs_at_once: 5, fewest_pairs: 20, most_pairs: 42, budget }
    }

    #[test]
    fn cases_take_turns_in_a_random_order() {
        let mut calls = Vec::new();
        let taken = schedule(Duration::MAX).take(7, 3, |case, many_first| {
            calls.push(case);
            Ok::<_, ()>(pair(many_first))
        });
        let taken = taken.unwrap();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [42; 3], "no more than the most");
        assert_eq!(calls[..3], [0, 1, 2], "a pair of each that does not count");
        let turns: Vec<Vec<usize>> = calls[3..].chunks(15).map(<[usize]>::to_vec).collect();
        let complete =
            turns.iter().take(8).all(|turn| (0..3).all(|case| turn.iter().filter(|at| **at == case).count() == 5));
        assert!(complete && turns.windows(2).any(|two| two[0] != two[1]), "{turns:?}");
        let first = taken.iter().flatten().filter(|pair| pair.many_first).count();
        assert!((30..97).contains(&first), "either chain is first about as often: {first} of 126");
    }

    #[test]
    fn the_budget_leaves_the_fewest_pairs() {
        let taken = schedule(Duration::ZERO).take(7, 2, |_, many_first| Ok::<_, ()>(pair(many_first))).unwrap();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [20; 2]);
        assert_eq!(schedule(Duration::ZERO).take(7, 0, |_, _| Err(())), Ok(Vec::new()));
    }

    #[test]
    fn an_error_ends_it() {
        let mut left = 9;
        let taken = schedule(Duration::MAX).take(7, 2, |_, many_first| {
            left -= 1;
            if left > 0 { Ok(pair(many_first)) } else { Err("lost") }
        });
        assert_eq!((taken, left), (Err("lost"), 0));
    }
}
