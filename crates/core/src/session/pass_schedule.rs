//! How many passes there is time for.

use std::time::Duration;

/// The passes over the cases of one laboratory, which end in time.
#[derive(Debug)]
pub(super) struct PassSchedule {
    /// How long they may take together.
    pub(super) time: Duration,
    /// How many are made however long they take.
    pub(super) fewest: u32,
    /// How many were made over the same cases.
    pub(super) made: u32,
    /// How many were made in all.
    pub(super) all_made: u32,
    /// How long all of them took.
    pub(super) spent: Duration,
    /// How long the latest one took.
    pub(super) latest: Duration,
}

impl PassSchedule {
    /// Passes that together take no longer than this, unless the `fewest` do.
    pub(super) const fn within(time: Duration, fewest: u32) -> Self {
        Self { time, fewest, made: 0, all_made: 0, spent: Duration::ZERO, latest: Duration::ZERO }
    }

    /// Counts a pass, which took so long.
    pub(super) fn add(&mut self, took: Duration) {
        self.add_share(1, took);
    }

    /// Counts passes of another process, which took so long together.
    pub(super) fn add_share(&mut self, passes: u32, took: Duration) {
        self.made += passes;
        self.all_made += passes;
        self.spent += took;
        self.latest = took / passes.max(1);
    }

    /// The time of each of so many shares of the rest, if `left` is all the time there is, and how many of them there are if a
    /// pass takes as long as the latest.
    pub(super) fn shares(&self, shares: u32, left: Option<Duration>) -> (Duration, u32) {
        let rest = self.time.saturating_sub(self.spent);
        let rest = left.map_or(rest, |left| left.min(rest));
        let passes = rest.as_nanos() / self.latest.as_nanos().max(1);
        let shares = shares.min(u32::try_from(passes).unwrap_or(u32::MAX));
        (rest / shares.max(1), shares)
    }

    /// Whether the fewest were made.
    pub(super) const fn made_the_fewest(&self) -> bool {
        self.made >= self.fewest
    }

    /// The next pass is the first one over other cases.
    pub(super) const fn begin_again(&mut self) {
        self.made = 0;
    }

    /// Whether the passes so far span half of the time.
    pub(super) fn spans_half(&self) -> bool {
        self.spent + self.latest >= self.time / 2
    }

    /// Whether there is no time for another pass after the next one, if they take as long as the latest.
    pub(super) fn is_next_final(&self) -> bool {
        self.made + 1 >= self.fewest && self.spent + 2 * self.latest > self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEWEST: u32 = 8;

    fn passes(time: Duration, each: Duration) -> u32 {
        let mut schedule = PassSchedule::within(time, FEWEST);
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
        assert_eq!(passes(Duration::from_secs(40), Duration::from_secs(60)), FEWEST);
        assert_eq!(passes(Duration::ZERO, Duration::from_nanos(1)), FEWEST);
    }

    #[test]
    fn the_first_pass_may_take_longer_than_the_others() {
        let mut schedule = PassSchedule::within(Duration::from_secs(20), FEWEST);
        schedule.add(Duration::from_secs(8));
        (0..6).for_each(|_| schedule.add(Duration::from_secs(1)));
        assert!(!schedule.is_next_final(), "14 of 20 seconds are spent, and a pass takes one");
        (0..5).for_each(|_| schedule.add(Duration::from_secs(1)));
        assert!(schedule.is_next_final(), "19 of 20 are");
    }
}
