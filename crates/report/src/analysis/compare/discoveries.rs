//! Which of many hypotheses are rejected, so that few of the rejections are wrong.

/// The share of wrong ones among the rejections, on average over comparisons.
pub(super) const FALSE_DISCOVERIES: f64 = 0.05;

/// For each p-value, whether its hypothesis is rejected (Benjamini and Hochberg, *Controlling the false discovery rate*,
/// Journal of the Royal Statistical Society B 57, 1995). It holds for independent tests and for those that rise and fall
/// together, as the costs of a family do (Benjamini and Yekutieli, Annals of Statistics 29, 2001).
pub(in crate::analysis) fn rejected(p_values: &[f64]) -> Vec<bool> {
    let mut ascending: Vec<f64> = p_values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let allowed = |rank: usize| FALSE_DISCOVERIES * rank as f64 / p_values.len() as f64;
    let limit = (1..).zip(&ascending).filter(|(rank, p)| **p <= allowed(*rank)).map(|(_, p)| *p).last();
    p_values.iter().map(|p| limit.is_some_and(|limit| *p <= limit)).collect()
}

/// The share of errors to allow in each of the intervals, so that those of the rejected hypotheses together are as often wrong
/// as the rejections are (Benjamini and Yekutieli, *False discovery rate-adjusted multiple confidence intervals for selected
/// parameters*, Journal of the American Statistical Association 100, 2005). A hypothesis is rejected if and only if its
/// p-value is at most this, unless none is rejected.
pub(in crate::analysis) fn error_of_intervals(rejected: &[bool]) -> f64 {
    let count = rejected.iter().filter(|rejected| **rejected).count();
    FALSE_DISCOVERIES * count.max(1) as f64 / rejected.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rank_that_holds_decides() {
        // The example of Benjamini and Hochberg, table 1: the four smallest of 15.
        let paper = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.000,
        ];
        let rejected_of_paper = rejected(&paper);
        assert_eq!(rejected_of_paper.iter().filter(|rejected| **rejected).count(), 4);
        assert!(rejected_of_paper[..4].iter().all(|rejected| *rejected));
        // The second alone would not pass at its rank, but the third does.
        assert_eq!(rejected(&[0.05, 0.04, 0.045]), [true, true, true]);
        assert_eq!(rejected(&[0.9, 0.02, 0.5]), [false, false, false]);
        assert!(rejected(&[]).is_empty());
    }

    #[test]
    fn the_error_of_the_intervals_separates_the_rejected_from_the_others() {
        let lists: [&[f64]; 4] = [&[0.001, 0.02, 0.03, 0.9, 0.04], &[0.5, 0.3, 0.9], &[1e-9, 0.026, 0.9], &[0.01; 3]];
        for p_values in lists {
            let rejected = rejected(p_values);
            let error = error_of_intervals(&rejected);
            for (p, is_rejected) in p_values.iter().zip(rejected) {
                assert_eq!(*p <= error, is_rejected, "{p} of {p_values:?}, {error}");
            }
        }
        assert!((error_of_intervals(&[false; 20]) - 0.05 / 20.0).abs() < 1e-12);
    }
}
