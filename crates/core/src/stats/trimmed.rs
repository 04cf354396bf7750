//! The mean of few values of which one may be far from the others.

use crate::stats::moderated::Variance;

/// Of each end, this part of the values does not count: two of seven.
const TRIMMED: f64 = 0.3;

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
    let degrees = left - 1.0;
    let value = squares * count / (left * degrees).max(1.0);
    Some((middle.iter().sum::<f64>() / left, Variance { value, degrees }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_value_changes_little_and_no_value_is_cut_of_three() {
        let (mean, variance) = trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!((mean, variance.degrees), (4.0, 2.0));
        // Winsorized to 3, 3, 3, 4, 5, 5, 5: six squares of one, times 7 / (3 * 2).
        assert!((variance.value - 7.0).abs() < 1e-12, "{variance:?}");
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7000.0]).unwrap(), (mean, variance));
        let (mean, variance) = trimmed_mean(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((mean, variance), (3.0, Variance { value: 7.0, degrees: 2.0 }), "mean and variance as they are");
        assert_eq!(trimmed_mean(&[]), None);
    }
}
