//! How much information correlated observations hold.

/// How many observations in a row hold as much information as one independent observation, as far as being above or below
/// the median goes; 1 for independent ones.
///
/// It is t = 1 + 2 (r1 + r2 + ...), r being the autocorrelations of the sign of the distance from the median, summed up
/// to the first that is not significant. Those of n observations about their own median come out lower than they
/// are, by about (1 - r) t / n each (Marriott and Pope, Biometrika 41, 1954): that is put back. Never below 1: alternation
/// is not credited.
pub(super) fn autocorrelation_time(observations: &[f64], centre: f64) -> f64 {
    let signs: Vec<f64> = observations
        .iter()
        .map(|value| match value.total_cmp(&centre) {
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0,
        })
        .collect();
    let energy: f64 = signs.iter().map(|sign| sign * sign).sum();
    if energy == 0.0 {
        return 1.0;
    }
    let insignificant = SIGNIFICANT_CORRELATION / (observations.len() as f64).sqrt();
    let correlation = |lag: usize| signs.iter().zip(&signs[lag..]).map(|(a, b)| a * b).sum::<f64>() / energy;
    let (lags, sum) = (1..observations.len() / 2)
        .map(correlation)
        .take_while(|r| *r > insignificant)
        .fold((0.0, 0.0), |(lags, sum), r| (lags + 1.0, sum + r));
    // Solved for t: t = 1 + 2 (sum (1 - t / n) + lags t / n).
    let put_back = 1.0 - 2.0 * (lags - sum) / observations.len() as f64;
    ((1.0 + 2.0 * sum) / put_back.max(LEAST_PUT_BACK)).max(1.0)
}

/// The standard error of the mean of values in the order they were taken, which may be correlated. `None` for fewer than
/// two.
pub(crate) fn error_of_mean(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / degrees;
    Some((variance * autocorrelation_time(values, mean) / count).sqrt())
}

/// Where the observations are hardly longer than their memory, the correction has no sense; it is never more than this.
const LEAST_PUT_BACK: f64 = 0.25;

/// Standard errors (1 over the square root of n; Bartlett, 1946) an autocorrelation must exceed to be counted.
const SIGNIFICANT_CORRELATION: f64 = 1.0;
