//! How many rounds of visits there is time for.

use std::time::Duration;

use crate::plan::ENOUGH_VISITS;

/// The rounds of visits to the cases of one laboratory, which end in time.
#[derive(Debug)]
pub(crate) struct Rounds {
    time: Duration,
    made: u32,
    spent: Duration,
    latest: Duration,
}

impl Rounds {
    /// Rounds that together take no longer than this, unless fewer than [`ENOUGH_VISITS`] do.
    pub(crate) const fn within(time: Duration) -> Self {
        Self { time, made: 0, spent: Duration::ZERO, latest: Duration::ZERO }
    }

    /// How long they may take together.
    pub(crate) const fn time(&self) -> Duration {
        self.time
    }

    /// A round was made, which took so long.
    pub(crate) fn add(&mut self, took: Duration) {
        self.made += 1;
        self.spent += took;
        self.latest = took;
    }

    /// Whether there is no time for another round after the next one, if they take as long as the latest.
    pub(crate) fn is_next_the_last(&self) -> bool {
        self.made + 1 >= ENOUGH_VISITS && self.spent + 2 * self.latest > self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(time: Duration, each: Duration) -> u32 {
        let mut rounds = Rounds::within(time);
        while !rounds.is_next_the_last() {
            rounds.add(each);
        }
        rounds.made + 1
    }

    #[test]
    fn they_end_before_the_time_does() {
        let seconds = Duration::from_secs;
        assert_eq!(rounds(seconds(40), seconds(2)), 20);
        assert_eq!(rounds(seconds(40), seconds(3)), 13);
        assert_eq!(rounds(seconds(40), seconds(4)), 10);
    }

    #[test]
    fn there_are_enough_of_them_however_long_they_take() {
        assert_eq!(rounds(Duration::from_secs(40), Duration::from_secs(60)), ENOUGH_VISITS);
        assert_eq!(rounds(Duration::ZERO, Duration::from_nanos(1)), ENOUGH_VISITS);
    }

    #[test]
    fn the_first_round_may_take_longer_than_the_others() {
        let mut rounds = Rounds::within(Duration::from_secs(20));
        rounds.add(Duration::from_secs(8));
        (0..6).for_each(|_| rounds.add(Duration::from_secs(1)));
        assert!(!rounds.is_next_the_last(), "14 of 20 seconds are spent, and a round takes one");
        (0..5).for_each(|_| rounds.add(Duration::from_secs(1)));
        assert!(rounds.is_next_the_last(), "19 of 20 are");
    }
}
