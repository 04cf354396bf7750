//! The mean of few values of which one may be far from the others.

use crate::stats::moderated::Variance;

/// Of each end, this part of the values does not count: two of seven.
const TRIMMED: f64 = 0.3;

/// The logarithm of a variance of normal values that are set to the ends of the middle varies as one with so many of the middle's
/// degrees of freedom (0.85 of seven values without two at each end, 0.89 without one).
const OF_WINSORIZED: f64 = 0.85;

/// The mean without the lowest and the highest values, and the variance that a single value would have if this were the mean of
/// all of them. Like a median it changes little if one value is wrong; its variance follows from the
/// values (Tukey and McLaughlin, *Sankhya* A 25, 1963).
///
/// `None` without a value.
pub(crate) fn trimmed_mean(values: &[f64]) -> Option<(f64, Variance)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let cut = (TRIMMED * count) as usize;
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

#[cfg(test)]
mod tests {
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
