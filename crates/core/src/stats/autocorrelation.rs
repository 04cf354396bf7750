//! How much information correlated observations hold.

use crate::stats::interval::{Interval, Level};

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
    time_of(&signs)
}

/// The same for deviations whose mean is zero.
fn time_of(deviations: &[f64]) -> f64 {
    let energy: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
    if energy == 0.0 {
        return 1.0;
    }
    let count = deviations.len() as f64;
    let insignificant = SIGNIFICANT_CORRELATION / count.sqrt();
    let correlation = |lag: usize| deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / energy;
    let (lags, sum) = (1..deviations.len() / 2)
        .map(correlation)
        .take_while(|r| *r > insignificant)
        .fold((0.0, 0.0), |(lags, sum), r| (lags + 1.0, sum + r));
    // Solved for t: t = 1 + 2 (sum (1 - t / n) + lags t / n).
    let put_back = 1.0 - 2.0 * (lags - sum) / count;
    ((1.0 + 2.0 * sum) / put_back.max(LEAST_PUT_BACK)).max(1.0)
}

/// An interval that holds the share of moments of one kind, given the shares of measurement blocks in the order they were
/// taken. Blocks may resemble their neighbours: so many independent ones hold as much information.
///
/// It is that of Agresti and Coull (*The American Statistician* 52, 1998), which keeps its coverage for small shares too.
pub(crate) fn share_interval(shares: &[f64], level: Level) -> Interval {
    let count = shares.len().max(1) as f64;
    let share = shares.iter().sum::<f64>() / count;
    let deviations: Vec<f64> = shares.iter().map(|of_block| of_block - share).collect();
    let independent = count / time_of(&deviations).max(time_by_changes(shares, share));
    let z = level.z();
    let centre = (share * independent + z * z / 2.0) / (independent + z * z);
    let half_width = z * (centre * (1.0 - centre) / (independent + z * z)).sqrt();
    Interval { low: (centre - half_width).clamp(0.0, share), high: (centre + half_width).clamp(share, 1.0) }
}

/// The same for blocks of two kinds, from how often the one follows the other: few changes say more about a state that
/// lasts for a good part of the run than correlations do. If the kind is drawn anew with a probability q in each block, n
/// blocks have 2 p (1 - p) q n changes, and t = 2 / q - 1.
fn time_by_changes(shares: &[f64], share: f64) -> f64 {
    let changes = shares.windows(2).filter(|two| (two[0] < 0.5) != (two[1] < 0.5)).count() as f64;
    let if_independent = 2.0 * share * (1.0 - share) * shares.len() as f64;
    if if_independent < 1.0 {
        return 1.0;
    }
    2.0 / (changes.max(1.0) / if_independent).min(1.0) - 1.0
}

/// Where the observations are hardly longer than their memory, the correction has no sense; it is never more than this.
const LEAST_PUT_BACK: f64 = 0.25;

/// Standard errors (1 over the square root of n; Bartlett, 1946) an autocorrelation must exceed to be counted.
const SIGNIFICANT_CORRELATION: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wider_where_blocks_resemble_each_other() {
        let alternating: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 4 == 0))).collect();
        let lasting: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i < 10))).collect();
        let (one, other) = (share_interval(&alternating, Level::P95), share_interval(&lasting, Level::P95));
        // Agresti and Coull, 10 of 40: 0.14 to 0.40.
        assert!((one.low - 0.141).abs() < 2e-3 && (one.high - 0.404).abs() < 2e-3, "{one:?}");
        assert!(other.half_width() > 1.5 * one.half_width() && other.contains(0.25), "{other:?}");
        let never = share_interval(&[0.0; 20], Level::P95);
        assert!(never.low.abs() < 1e-12 && (0.1..0.25).contains(&never.high), "{never:?}");
    }
}
