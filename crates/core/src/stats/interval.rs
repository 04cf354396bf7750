//! Intervals, and how sure they are.

/// An interval of values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether `value` lies in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// This interval, with an independent uncertainty of `half_width` to both sides of `centre` added (in quadrature).
    pub fn widened(self, centre: f64, half_width: f64) -> Self {
        let distance = |end: f64| (centre - end).hypot(half_width);
        Self { low: centre - distance(self.low), high: centre + distance(self.high) }
    }

    /// This interval, at least `margin` wide to both sides of `centre`.
    pub fn at_least(self, centre: f64, margin: f64) -> Self {
        Self { low: self.low.min(centre - margin), high: self.high.max(centre + margin) }
    }
}

/// How sure an interval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// 95 %: what is reported.
    P95,
    /// 99 %: what a cost must pass to be called different from zero.
    P99,
}

impl Level {
    /// The standard normal quantile of both tails together.
    pub(crate) const fn z(self) -> f64 {
        match self {
            Self::P95 => 1.960,
            Self::P99 => 2.576,
        }
    }

    pub(super) const fn tail(self) -> f64 {
        match self {
            Self::P95 => 0.025,
            Self::P99 => 0.005,
        }
    }
}
