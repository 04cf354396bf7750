//! The time of `--budget`, which bounds the whole command: the model and the tests have its first part, the prices the rest.

use std::time::{Duration, Instant};

/// The least time for figures.
const SHORTEST: Duration = Duration::from_secs(1);

/// The reason for what was left out.
pub(super) const OVER: &str = "the time of --budget was over";

/// The time for an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    begin: Instant,
    all: Option<Duration>,
    /// The part for the model and the tests.
    of_study: u32,
}

impl Time {
    /// The time of one of `operations` that share this budget; without prices, all of it is for the model and the tests.
    pub(super) fn new(budget: Option<Duration>, operations: usize, has_prices: bool) -> Self {
        let all = budget.map(|budget| budget / operations.max(1) as u32);
        Self { begin: Instant::now(), all, of_study: if has_prices { 70 } else { 100 } }
    }

    /// At most `time` of what is left for the model and the tests.
    pub(super) fn at_most(&self, time: Duration) -> Duration {
        let end = self.all.map(|all| (all * self.of_study / 100).saturating_sub(self.begin.elapsed()));
        end.map_or(time, |left| left.min(time))
    }

    /// Whether nothing is left for the model and the tests.
    pub(super) fn is_over(&self) -> bool {
        self.at_most(SHORTEST).is_zero()
    }

    /// The time left for prices; `None` without a budget, an error if it is too little.
    pub(super) fn for_prices(&self) -> Result<Option<Duration>, &'static str> {
        let left = self.all.map(|all| all.saturating_sub(self.begin.elapsed()));
        if left.is_some_and(|left| left < SHORTEST) { Err(OVER) } else { Ok(left) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_bounds_all_parts() {
        let second = Duration::from_secs(1);
        let without = Time::new(None, 3, true);
        assert_eq!(
            (without.at_most(90 * second), without.is_over(), without.for_prices()),
            (90 * second, false, Ok(None))
        );
        let some = Time::new(Some(40 * second), 2, true);
        assert!(some.at_most(90 * second) <= 14 * second && some.at_most(2 * second) == 2 * second && !some.is_over());
        assert!(some.for_prices().is_ok_and(|left| left.is_some_and(|left| left <= 20 * second && left > 15 * second)));
        assert!(Time::new(Some(40 * second), 1, false).at_most(90 * second) > 30 * second);
        let over = Time { begin: Instant::now().checked_sub(15 * second).unwrap(), ..some };
        assert!(over.is_over() && over.at_most(second).is_zero() && over.for_prices().is_ok());
        let at_end = Time { begin: Instant::now().checked_sub(20 * second).unwrap(), ..some };
        assert_eq!(at_end.for_prices(), Err(OVER));
    }
}
