//! How many passes there is time for.

use std::time::Duration;

use crate::session::preset::MIN_BLOCKS;

/// The passes over the cases of one laboratory, which end in time.
#[derive(Debug)]
pub(super) struct PassSchedule {
    time: Duration,
    made: u32,
    spent: Duration,
    latest: Duration,
}

impl PassSchedule {
    /// Passes that together take no longer than this, unless the first [`MIN_BLOCKS`] do.
    pub(super) const fn within(time: Duration) -> Self {
        Self { time, made: 0, spent: Duration::ZERO, latest: Duration::ZERO }
    }

    /// How long they may take together.
    pub(super) const fn time(&self) -> Duration {
        self.time
    }

    /// Counts a pass, which took so long.
    pub(super) fn add(&mut self, took: Duration) {
        self.made += 1;
        self.spent += took;
        self.latest = took;
    }

    /// Whether there is no time for another pass after the next one, if they take as long as the latest.
    pub(super) fn is_next_final(&self) -> bool {
        self.made + 1 >= MIN_BLOCKS && self.spent + 2 * self.latest > self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(time: Duration, each: Duration) -> u32 {
        let mut schedule = PassSchedule::within(time);
        while !schedule.is_next_final() {
            schedule.add(each);
        }
        schedule.made + 1
    }

    #[test]
    fn they_end_before_the_time_does() {
        let seconds = Duration::from_secs;
        assert_eq!(passes(seconds(40), seconds(2)), 20);
        assert_eq!(passes(seconds(40), seconds(3)), 13);
        assert_eq!(passes(seconds(40), seconds(4)), 10);
    }

    #[test]
    fn the_fewest_are_made_however_long_they_take() {
        assert_eq!(passes(Duration::from_secs(40), Duration::from_secs(60)), MIN_BLOCKS);
        assert_eq!(passes(Duration::ZERO, Duration::from_nanos(1)), MIN_BLOCKS);
    }

    #[test]
    fn the_first_pass_may_take_longer_than_the_others() {
        let mut schedule = PassSchedule::within(Duration::from_secs(20));
        schedule.add(Duration::from_secs(8));
        (0..6).for_each(|_| schedule.add(Duration::from_secs(1)));
        assert!(!schedule.is_next_final(), "14 of 20 seconds are spent, and a pass takes one");
        (0..5).for_each(|_| schedule.add(Duration::from_secs(1)));
        assert!(schedule.is_next_final(), "19 of 20 are");
    }
}
