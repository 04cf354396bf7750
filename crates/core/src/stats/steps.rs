//! Finds where the level of a series changes.
//!
//! Dynamic programming gives, for each number of steps, the cuts that leave the least squares (Jackson and others, *IEEE
//! Signal Processing Letters* 12, 2005). The most steps that are all certain count: by Student's t for the levels on both
//! sides, with the noise of all levels, times the number of places. This also finds steps up and down that hide each other
//! from a search for one step at a time. Single odd values are no level.
//!
//! [`states`](super::states()) finds changes of a tenth and more within a run; this finds smaller steps from run to run,
//! with a chance of error that is divided by the number of cases.

use super::{median, student};

/// The fewest values of a level.
pub const SHORTEST: usize = 3;

/// The most steps of a series.
const MOST: usize = 6;

/// The least standard deviation of logarithms that is believed: a rebuilt program lies elsewhere in memory.
const LEAST_DEVIATION: f64 = 0.004;

/// Returns the indices at which a new level begins, in order. `chance` is the probability of finding any where there is
/// none, if the noise is normal.
pub fn steps(values: &[f64], chance: f64) -> Vec<usize> {
    let all = best_cuts(values);
    all.into_iter().rev().find(|cuts| are_certain(values, cuts, chance)).unwrap_or_default()
}

/// The levels between cuts.
fn levels<'v>(values: &'v [f64], cuts: &[usize]) -> Vec<&'v [f64]> {
    let ends: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
    ends.windows(2).map(|ends| &values[ends[0]..ends[1]]).collect()
}

fn are_certain(values: &[f64], cuts: &[usize], chance: f64) -> bool {
    let levels = levels(values, cuts);
    let moments: Vec<Moments> = levels.iter().map(|level| Moments::of(level)).collect();
    let degrees = (values.len() - levels.len()) as f64;
    let squares: f64 = moments.iter().map(|level| level.squares).sum();
    let variance = (squares / degrees).max(LEAST_DEVIATION.powi(2));
    let places = (values.len() * values.len()) as f64 / 2.0;
    let is_certain = |(two, of): (&[Moments], &[&[f64]])| {
        let error = (variance * (two[0].count.recip() + two[1].count.recip())).sqrt();
        let p = 2.0 * places * student::upper_tail((two[1].mean - two[0].mean).abs() / error, degrees);
        p <= chance && are_apart(of[0], of[1])
    };
    moments.windows(2).zip(levels.windows(2)).all(is_certain)
}

/// Whether the shorter of two levels has three quarters of its values nearer to its own median than to the longer one's.
fn are_apart(one: &[f64], other: &[f64]) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let Some((own, rest)) = median(short).zip(median(long)) else { return false };
    let near = short.iter().filter(|value| (**value - own).abs() < (**value - rest).abs()).count();
    near * 4 >= short.len() * 3
}

/// The cuts that leave the least squares, for no cut, one, two and more.
fn best_cuts(values: &[f64]) -> Vec<Vec<usize>> {
    let count = values.len();
    let mut sums: Vec<f64> = vec![0.0];
    sums.extend(values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    }));
    // Without the squares of the values themselves, which no cut changes.
    let squares = |from: usize, to: usize| -(sums[to] - sums[from]).powi(2) / (to - from) as f64;
    // For each prefix of the values: the least squares, and the cuts.
    let mut best: Vec<Option<(f64, Vec<usize>)>> =
        (0..=count).map(|to| (to >= SHORTEST).then(|| (squares(0, to), Vec::new()))).collect();
    let mut found = Vec::new();
    for _ in 0..=MOST {
        let Some((_, cuts)) = &best[count] else { break };
        found.push(cuts.clone());
        let longer = |to: usize| {
            let ending = |cut: usize| Some((best[cut].as_ref()?.0 + squares(cut, to), cut));
            let all = (SHORTEST..(to + 1).saturating_sub(SHORTEST)).filter_map(ending);
            let (fewest, cut) = all.min_by(|one, other| one.0.total_cmp(&other.0))?;
            Some((fewest, [&best[cut].as_ref()?.1[..], &[cut]].concat()))
        };
        best = (0..=count).map(longer).collect();
    }
    found
}

/// The difference between the means of two levels, and half the width of its 95 % interval.
pub fn difference(before: &[f64], after: &[f64]) -> (f64, f64) {
    let (of_before, of_after) = (Moments::of(before), Moments::of(after));
    let degrees = (of_before.count + of_after.count - 2.0).max(1.0);
    let variance = ((of_before.squares + of_after.squares) / degrees).max(LEAST_DEVIATION.powi(2));
    let error = (variance * (of_before.count.recip() + of_after.count.recip())).sqrt();
    (of_after.mean - of_before.mean, student::quantile_95(degrees) * error)
}

struct Moments {
    count: f64,
    mean: f64,
    /// The sum of the squares of the distances from the mean.
    squares: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        Self { count, mean, squares: values.iter().map(|value| (value - mean).powi(2)).sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Kind {
        Normal,
        /// One run in twenty is a third off.
        Odd,
        /// Student's t with three degrees of freedom.
        Heavy,
    }

    fn normal(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    fn series(random: &mut fastrand::Rng, noise: Kind, deviation: f64) -> Vec<f64> {
        let mut one = || {
            let value = normal(random);
            match noise {
                Kind::Normal => value * deviation,
                Kind::Odd => value * deviation + if random.f64() < 0.05 { 0.3 } else { 0.0 },
                Kind::Heavy => {
                    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                    value * deviation / (squares / 3.0).sqrt() / 1.7
                }
            }
        };
        (0..30).map(|_| one()).collect()
    }

    /// The chance is that of a table with a hundred cases.
    const CHANCE: f64 = 1e-4;

    #[test]
    fn no_step_is_found_where_there_is_none() {
        let mut random = fastrand::Rng::with_seed(74);
        // Of odd runs, three in a row are a level: 3.5 in 1,000 series.
        for (noise, most) in [(Kind::Normal, 1), (Kind::Odd, 12), (Kind::Heavy, 3)] {
            for deviation in [0.01, 0.03, 0.08] {
                let found: usize = (0..1000).map(|_| steps(&series(&mut random, noise, deviation), CHANCE).len()).sum();
                assert!(found <= most, "{found} in 1,000 series at {deviation}, at most {most}");
            }
        }
        assert_eq!(steps(&[1.0; 30], CHANCE), [0; 0]);
        assert_eq!(steps(&[], CHANCE), [0; 0]);
        assert_eq!(steps(&[1.0, 1.0, 1.0, 5.0, 5.0], CHANCE), [0; 0], "too few for two levels");
    }

    #[test]
    fn two_steps_of_a_tenth_are_found_wherever_they_are() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut found, mut wrong) = (0, 0);
        for turn in 0..500 {
            let mut values = series(&mut random, Kind::Normal, 0.02);
            let (first, second) = (random.usize(5..12), random.usize(17..26));
            values[first..].iter_mut().for_each(|value| *value += 1.1_f64.ln());
            let sign = if turn % 2 == 0 { 1.0 } else { -1.0 };
            values[second..].iter_mut().for_each(|value| *value += sign * 1.1_f64.ln());
            let at = steps(&values, CHANCE);
            let is_near = |planted: usize| at.iter().any(|at| at.abs_diff(planted) <= 1);
            found += usize::from(is_near(first)) + usize::from(is_near(second));
            wrong += at.iter().filter(|at| at.abs_diff(first).min(at.abs_diff(second)) > 1).count();
        }
        assert!(found >= 980 && wrong <= 5, "{found} of 1,000 found, {wrong} elsewhere");
    }

    #[test]
    fn a_level_has_three_quarters_of_its_values() {
        let of = |near: usize| {
            let level: Vec<f64> = (0..8).map(|at| if at < near { 1.0 } else { 0.0 }).collect();
            [are_apart(&level, &[0.0; 20]), are_apart(&[0.0; 20], &level)]
        };
        assert_eq!([5, 6, 8].map(of), [[false; 2], [true; 2], [true; 2]]);
    }

    #[test]
    fn a_difference_has_its_interval() {
        let (difference, half) = difference(&[0.0, 0.02, -0.02, 0.0], &[0.1, 0.12, 0.08, 0.1]);
        assert!((difference - 0.1).abs() < 1e-12 && (0.02..0.04).contains(&half), "{half}");
        // Five degrees of freedom: 2.571 times the deviation of 0.04 times the root of 1/3 and 1/4.
        let (difference, half) = super::difference(&[1.0, 1.04, 0.96], &[1.0, 1.0, 1.06, 0.94]);
        assert!(difference.abs() < 1e-12, "{difference}");
        let deviation = ((2.0 * 0.0016 + 2.0 * 0.0036) / 5.0_f64).sqrt();
        assert!((half - 2.5706 * deviation * (7.0_f64 / 12.0).sqrt()).abs() < 1e-5, "{half}");
    }
}
