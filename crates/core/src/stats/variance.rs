//! Variances of few values each, moderated by other variances of their kind.

use crate::stats::student::{digamma, inverse_trigamma, trigamma};

/// A variance and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// The estimate.
    pub value: f64,
    /// The degrees of freedom, for Student's t.
    pub degrees: f64,
}

/// The fewest variances that show how variances differ.
const FEWEST: usize = 4;

/// The most degrees of freedom that a prior counts for: variances that seem to be all alike are few.
const MOST_PRIOR_DEGREES: f64 = 100.0;

impl Variance {
    /// Moderates this variance by a prior: the mean of both, weighted by their degrees of freedom (Smyth, *Statistical
    /// Applications in Genetics and Molecular Biology* 3, 2004). Three values alone say little about how much a fourth
    /// differs.
    pub fn moderated(self, prior: Self) -> Self {
        let degrees = prior.degrees + self.degrees;
        Self { value: (prior.degrees * prior.value + self.degrees * self.value) / degrees, degrees }
    }

    /// The variance of a sum of two independent values, with the degrees of freedom of Welch and Satterthwaite (Biometrics
    /// Bulletin 2, 1946).
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let value = self.value + other.value;
        let share = |of: Self| if of.value > 0.0 { (of.value / value).powi(2) / of.degrees } else { 0.0 };
        let degrees = Some(1.0 / (share(self) + share(other))).filter(|degrees| degrees.is_finite());
        Self { value, degrees: degrees.unwrap_or(self.degrees) }
    }

    /// The prior that these variances of one kind have in common: a scaled inverse chi-square distribution, whose scale and degrees
    /// of freedom follow from mean and variance of their logarithms (Smyth 2004, section 6.2). `None` for fewer than four.
    pub fn prior_of(variances: &[Self]) -> Option<Self> {
        let usable: Vec<&Self> = variances.iter().filter(|one| one.value > 0.0 && one.degrees > 0.0).collect();
        if usable.len() < FEWEST {
            return None;
        }
        let count = usable.len() as f64;
        let logs: Vec<f64> =
            usable.iter().map(|one| one.value.ln() - digamma(one.degrees / 2.0) + (one.degrees / 2.0).ln()).collect();
        let (mean, spread) = (mean(&logs), variance(&logs));
        let by_chance = usable.iter().map(|one| trigamma(one.degrees / 2.0)).sum::<f64>() / count;
        let half = Some(spread - by_chance).filter(|rest| *rest > 0.0).map(inverse_trigamma);
        let half = half.unwrap_or(f64::INFINITY).min(MOST_PRIOR_DEGREES / 2.0);
        Some(Self { value: (mean + digamma(half) - half.ln()).exp(), degrees: 2.0 * half })
    }
}

// The mean of few values of which one may be far from the others.

/// The part of the values that is left out at each end: two of seven.
const TRIMMED: f64 = 0.3;

/// The effective part of the middle's degrees of freedom, where the outer values are set to the ends of the middle: how the
/// logarithm of such a variance of normal values varies (0.85 for seven values without two at each end, 0.89 without one).
const OF_WINSORIZED: f64 = 0.85;

/// How many of `count` values are left out at each end.
pub(crate) fn trimmed_at_each_end(count: usize) -> usize {
    (TRIMMED * count as f64) as usize
}

/// The mean without the lowest and the highest values, and the variance that a single value would have if this were the mean
/// of all of them. Like a median, the mean changes little if one value is wrong; its variance follows from the values (Tukey
/// and McLaughlin, *Sankhya* A 25, 1963).
///
/// `None` without a value.
pub(crate) fn trimmed_mean(values: &[f64]) -> Option<(f64, Variance)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let cut = trimmed_at_each_end(sorted.len());
    let middle = &sorted[cut..sorted.len() - cut];
    let (least, most) = (*middle.first()?, *middle.last()?);
    let left = middle.len() as f64;
    let winsorized: Vec<f64> = sorted.iter().map(|value| value.clamp(least, most)).collect();
    let centre = winsorized.iter().sum::<f64>() / count;
    let squares: f64 = winsorized.iter().map(|value| (value - centre).powi(2)).sum();
    let value = squares * count / (left * (left - 1.0)).max(1.0);
    let degrees = (left - 1.0) * if cut > 0 { OF_WINSORIZED } else { 1.0 };
    Some((middle.iter().sum::<f64>() / left, Variance { value, degrees }))
}

/// The mean of some values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of some values around their mean; 0 for a single one.
pub fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variances of eight normal values each, whose own variances are drawn from the prior.
    fn drawn(prior_degrees: Option<f64>, seed: u64) -> Vec<Variance> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut square_sum = |count: usize| (0..count).map(|_| normal().powi(2)).sum::<f64>();
        let variance = |_| {
            let own = prior_degrees.map_or(4.0, |degrees| 4.0 * degrees / square_sum(degrees as usize));
            Variance { value: own * square_sum(7) / 7.0, degrees: 7.0 }
        };
        (0..2000).map(variance).collect()
    }

    #[test]
    fn the_prior_that_variances_were_drawn_from_is_found() {
        let found = Variance::prior_of(&drawn(Some(6.0), 1)).unwrap();
        assert!((found.degrees / 6.0 - 1.0).abs() < 0.15 && (found.value / 4.0 - 1.0).abs() < 0.05, "{found:?}");
        let alike = Variance::prior_of(&drawn(None, 2)).unwrap();
        assert!(alike.degrees > 50.0 && (alike.value / 4.0 - 1.0).abs() < 0.05, "{alike:?}");
        assert_eq!(Variance::prior_of(&drawn(None, 3)[..3]), None, "three say nothing of their kind");
    }

    #[test]
    fn few_values_move_what_is_known_little_and_many_replace_it() {
        let prior = Variance { value: 1.0, degrees: 4.0 };
        let moderated = |degrees| Variance { value: 9.0, degrees }.moderated(prior);
        assert_eq!(moderated(0.0), prior);
        let two = moderated(2.0);
        assert!((two.value - 22.0 / 6.0).abs() < 1e-12 && (two.degrees - 6.0).abs() < 1e-12, "{two:?}");
        assert!((moderated(4e6).value - 9.0).abs() < 1e-4);
    }
}

#[cfg(test)]
mod trimmed_tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_logarithm() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let logs = |_| trimmed_mean(&[(); 7].map(|()| normal())).unwrap().1.value.ln();
        let logs: Vec<f64> = (0..4000).map(logs).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        let degrees = 2.0 * crate::stats::student::inverse_trigamma(spread);
        assert!((degrees - 1.7).abs() < 0.1, "{degrees}");
    }

    #[test]
    fn the_larger_of_two_variances_decides_the_degrees() {
        let of = |value, degrees| Variance { value, degrees };
        let both = of(4.0, 6.0).plus(of(4.0, 6.0));
        assert_eq!((both.value, both.degrees), (8.0, 12.0));
        assert!((of(4.0, 6.0).plus(of(1e-9, 2.0)).degrees - 6.0).abs() < 1e-6);
        assert_eq!(of(4.0, 6.0).plus(of(0.0, 1.0)), of(4.0, 6.0));
        assert_eq!(of(0.0, 6.0).plus(of(0.0, 1.0)), of(0.0, 6.0));
    }

    #[test]
    fn one_wrong_value_changes_little_and_no_value_is_cut_of_three() {
        let (mean, variance) = trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!((mean, variance.degrees), (4.0, 1.7));
        // Winsorized to 3, 3, 3, 4, 5, 5, 5: six squares of one, times 7 / (3 * 2).
        assert!((variance.value - 7.0).abs() < 1e-12, "{variance:?}");
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7000.0]).unwrap(), (mean, variance));
        let (mean, variance) = trimmed_mean(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((mean, variance), (3.0, Variance { value: 7.0, degrees: 2.0 }), "mean and variance as they are");
        assert_eq!(trimmed_mean(&[]), None);
    }
}
