//! An axis: where values lie on it, and its ticks.

use crate::figure::grouped;

/// How values are placed along an axis.
#[derive(Debug, Clone, PartialEq)]
enum Scale {
    Linear,
    /// Linear, with a tick at each multiple of this, and nothing widened.
    Stepped(f64),
    Logarithmic,
    /// Names at 0, 1, 2 and so on.
    Names(Vec<String>),
}

/// An axis: the range of its values and its title.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::page) struct Axis {
    pub(super) title: String,
    pub(super) low: f64,
    pub(super) high: f64,
    scale: Scale,
}

impl Axis {
    /// From `low` to `high`, each widened to a round number.
    pub(in crate::page) fn linear(title: &str, low: f64, high: f64) -> Self {
        let (low, high) = range(low, high, (0.0, 1.0));
        let step = step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { title: title.to_owned(), low, high, scale: Scale::Linear }
    }

    /// From `low` to `high` exactly, with a tick at each multiple of `step`: for positions, which are counted in powers of two.
    pub(in crate::page) fn stepped(title: &str, low: f64, high: f64, step: f64) -> Self {
        let (low, high) = range(low, high, (0.0, 1.0));
        Self { title: title.to_owned(), low, high, scale: Scale::Stepped(step) }
    }

    /// From `low` to `high`, which are positive. Ticks are at powers of ten and, where few of them fit, at 2 and 5.
    pub(in crate::page) fn logarithmic(title: &str, low: f64, high: f64) -> Self {
        let low = if low > 0.0 { low } else { high / 1000.0 };
        let (low, high) = if low > 0.0 { range(low, high, (1.0, 10.0)) } else { (1.0, 10.0) };
        Self { title: title.to_owned(), low: low / 1.06, high: high * 1.06, scale: Scale::Logarithmic }
    }

    /// One place for each name, the first at 0.
    pub(in crate::page) fn names(title: &str, names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self { title: title.to_owned(), low: -0.5, high: names.len().max(1) as f64 - 0.5, scale: Scale::Names(names) }
    }

    /// Where a value lies between 0 and 1; `None` if it has no place.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Logarithmic => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            Scale::Linear | Scale::Stepped(_) | Scale::Names(_) => (value - self.low) / (self.high - self.low),
        };
        let has_place = value.is_finite() && share.is_finite();
        has_place.then_some(share.clamp(0.0, 1.0))
    }

    /// Values with a label, and whether each has a line across the area.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match &self.scale {
            Scale::Linear => linear_ticks(self.low, self.high, step(self.high - self.low)),
            Scale::Stepped(step) => linear_ticks(self.low, self.high, *step),
            Scale::Logarithmic => logarithmic_ticks(self.low, self.high),
            Scale::Names(names) => names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect(),
        }
    }

    pub(super) const fn has_grid(&self) -> bool {
        !matches!(self.scale, Scale::Names(_))
    }
}

/// A range that is not empty.
fn range(low: f64, high: f64, fallback: (f64, f64)) -> (f64, f64) {
    match (low.is_finite() && high.is_finite(), low < high) {
        (true, true) => (low, high),
        (true, false) if low > 0.0 => (low / 2.0, low * 2.0),
        _ => fallback,
    }
}

/// The distance of about six ticks: 1, 2 or 5 times a power of ten.
fn step(span: f64) -> f64 {
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough);
    factor.unwrap_or(10.0) * power
}

fn linear_ticks(low: f64, high: f64, step: f64) -> Vec<(f64, String)> {
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).clamp(0.0, 50.0) as usize;
    let value = |at: usize| (first + at as f64) * step;
    (0..=count).map(|at| (value(at), label(value(at), digits))).collect()
}

fn logarithmic_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let decades = high.log10() - low.log10();
    let factors: &[f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    // A dozen labels at most, however many powers there are.
    let every = (decades / 12.0).ceil().max(1.0) as usize;
    let powers = ((low.log10().floor() as i32)..=(high.log10().ceil() as i32)).step_by(every);
    let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
    let digits = |value: f64| if value < 1.0 { (-value.log10().floor()).min(12.0) as usize } else { 0 };
    let inside = values.filter(|value| (low..=high).contains(value));
    inside.map(|value| (value, label(value, digits(value)))).collect()
}

/// A number with so many decimals, and commas between thousands.
fn label(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let sign = if value < 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit)) { "−" } else { "" };
    format!("{sign}{}", grouped(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        assert_eq!(labels(&Axis::linear("", 0.0, 51_200.0))[..3], ["0", "10,000", "20,000"]);
        assert_eq!(labels(&Axis::linear("", 3.96, 4.04)), ["3.96", "3.98", "4.00", "4.02", "4.04"]);
        assert_eq!(labels(&Axis::linear("", -1.2, 1.2)), ["−1.5", "−1.0", "−0.5", "0.0", "0.5", "1.0", "1.5"]);
        assert_eq!(
            labels(&Axis::logarithmic("", 512.0, 51_200.0)),
            ["500", "1,000", "2,000", "5,000", "10,000", "20,000", "50,000"]
        );
        assert_eq!(
            labels(&Axis::logarithmic("", 0.01, 1e6)),
            ["0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]
        );
        assert_eq!(labels(&Axis::stepped("", -0.5, 127.5, 32.0)), ["0", "32", "64", "96"]);
        assert_eq!(labels(&Axis::names("", &["a", "b"])), ["a", "b"]);
    }

    #[test]
    fn an_axis_without_a_range_is_still_an_axis() {
        for (low, high) in [(5.0, 5.0), (0.0, 0.0), (f64::NAN, 1.0), (f64::INFINITY, f64::NEG_INFINITY), (2.0, 1.0)] {
            for axis in [Axis::linear("", low, high), Axis::logarithmic("", low, high)] {
                assert!(axis.low < axis.high && axis.ticks().len() < 60, "{low} to {high}: {axis:?}");
            }
        }
        assert!(Axis::names("", &[]).low < Axis::names("", &[]).high);
    }

    #[test]
    fn values_lie_where_the_axis_says() {
        let axis = Axis::linear("", 0.0, 10.0);
        assert_eq!([0.0, 5.0, 10.0, 99.0].map(|value| axis.share(value)), [Some(0.0), Some(0.5), Some(1.0), Some(1.0)]);
        let axis = Axis { low: 1.0, high: 100.0, ..Axis::logarithmic("", 1.0, 100.0) };
        assert!((axis.share(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!([f64::NAN, f64::INFINITY, -1.0].map(|value| axis.share(value)), [None; 3]);
    }
}
