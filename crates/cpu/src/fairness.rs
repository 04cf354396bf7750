//! How fair threads that contend are to each other, by what they executed in the windows that they shared.

use std::time::Duration;

use syncscope_core::Detail;

/// What each thread executed in all windows so far.
#[derive(Debug, Default)]
pub(crate) struct Fairness {
    turns: Vec<f64>,
    windows: u32,
}

impl Fairness {
    /// Adds a window: the turns of each thread's loop.
    pub(crate) fn add(&mut self, turns: &[f64]) {
        self.turns.resize(turns.len(), 0.0);
        self.turns.iter_mut().zip(turns).for_each(|(all, turns)| *all += turns);
        self.windows += 1;
    }

    /// The rate of each thread, and Jain's index of them, of windows of this length with so many operations in a turn.
    pub(crate) fn details(&self, length: Duration, in_a_turn: u64) -> Vec<Detail> {
        let seconds = length.as_secs_f64() * f64::from(self.windows);
        let rate = |turns: &f64| turns * in_a_turn as f64 / seconds;
        let of_actor = |(actor, turns)| Detail::of_actor("acquisitions_per_s", actor as u32, rate(turns));
        let index = jain_index(&self.turns).map(|index| Detail::of_case("jain_index", index));
        self.turns.iter().enumerate().map(of_actor).chain(index).collect()
    }
}

/// 1 where all shares are equal, 1/n where one of n is everything (Jain, Chiu, Hawe, *A Quantitative Measure of
/// Fairness and Discrimination*, DEC-TR-301, 1984). `None` where all shares are zero.
pub(crate) fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let index = sum * sum / (shares.len() as f64 * squares);
    index.is_finite().then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_jains() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        // The paper's example: 100 dollars for 20 of 100 people is 0.2.
        let shares: Vec<f64> = (0..100).map(|person| if person < 20 { 5.0 } else { 0.0 }).collect();
        assert!((jain_index(&shares).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!((jain_index(&[]), jain_index(&[0.0; 3])), (None, None));
    }

    #[test]
    fn details_hold_the_rate_of_each_thread_over_all_windows() {
        let mut fairness = Fairness::default();
        assert!(fairness.details(Duration::from_micros(1), 1).is_empty(), "no window");
        fairness.add(&[200.0, 50.0]);
        fairness.add(&[100.0, 50.0]);
        let details = fairness.details(Duration::from_micros(100), 2);
        let of = |name: &str, actor| details.iter().find(|d| d.name == name && d.actor == actor).unwrap().value;
        let rates = [0, 1].map(|actor| of("acquisitions_per_s", Some(actor)));
        assert!((rates[0] - 3e6).abs() < 1e-3 && (rates[1] - 1e6).abs() < 1e-3, "{details:?}");
        assert!((of("jain_index", None) - 0.8).abs() < 1e-9, "{details:?}");
    }
}
