//! The logarithmic axis of an operation.

use super::rung::Line;
use crate::figure;

/// From the cheapest to the most expensive machine.
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Around all costs and intervals of an operation; `None` without any.
    pub(super) fn around(line: &Line) -> Option<Self> {
        let ends = line.figures.iter().flatten().filter(|figure| figure.is_compared()).flat_map(|figure| {
            let interval = figure.interval.map(|interval| [interval.low, interval.high]);
            figure.ns.into_iter().chain(interval.into_iter().flatten())
        });
        let positive: Vec<f64> = ends.filter(|end| end.is_finite() && *end > 0.0).collect();
        let low = positive.iter().copied().fold(f64::INFINITY, f64::min);
        let high = positive.iter().copied().fold(0.0, f64::max);
        // At least a factor of four, so that a single dot has an axis around it.
        let widen = (4.0 / (high / low)).max(1.0).sqrt();
        (high > 0.0).then(|| Self { low: low / widen, high: high * widen })
    }

    /// In percent of its length.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        100.0 * share.clamp(0.0, 1.0)
    }

    /// `5.00 ns to 20.0 ns`.
    pub(super) fn label(&self) -> String {
        format!("{} to {}", figure::time(self.low), figure::time(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_long() {
        let axis = Axis { low: 1.0, high: 100.0 };
        let places = [1.0, 10.0, 100.0, 1e9, 0.0].map(|value| format!("{:.0}", axis.place(value)));
        assert_eq!(places, ["0", "50", "100", "100", "0"]);
    }
}
