//! Finds changes of level in a series: which state a machine was in, and when.

use std::ops::Range;

use crate::stats::{median, median_absolute_deviation};

/// The least change of level, in logarithms (10 %), that counts as a change of the machine's state. Smaller changes are
/// drift, which the differences between processes show.
pub const LEAST_CHANGE: f64 = 0.1;

/// The least change in units of the noise of one value, for a stretch of [`SHORTEST`] values: a longer stretch has less
/// noise.
const LEAST_NOISES: f64 = 6.0;

/// The fewest values that show their noise.
const FEWEST: usize = 12;

/// The fewest values of a state.
const SHORTEST: usize = 3;

/// Returns the state in which each value was taken; state 0 has the most values. `values` are logarithms of costs, in time
/// order.
///
/// Uses circular binary segmentation (Olshen and others, Biostatistics 5(4), 2004): the stretch that differs most from the
/// rest, for the lengths of both, is another state if the medians differ by 10 % and by more than the noise explains. The
/// noise follows from the differences of neighbours. A part joins the nearest state unless it differs by as much from that
/// state's longest part. In simulations without a change (independent noise, heavy tails, drift), at most one series in a
/// hundred has one.
pub fn states(values: &[f64]) -> Vec<usize> {
    if values.len() < FEWEST {
        return vec![0; values.len()];
    }
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The deviation of a difference of two, from its median absolute deviation (normal: 0.6745).
    let noise = median_absolute_deviation(&steps).unwrap_or(0.0) / 0.6745 / std::f64::consts::SQRT_2;
    let mut parts = Vec::new();
    divide(values, 0..values.len(), noise, &mut parts);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let level = |part: &Range<usize>| median(&values[part.clone()]).unwrap_or(0.0);
    let mut groups: Vec<Vec<Range<usize>>> = Vec::new();
    for part in parts {
        let distance = |group: &Vec<Range<usize>>| (level(&group[0]) - level(&part)).abs();
        let nearest = groups.iter_mut().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        match nearest.filter(|group| distance(group) < least_change(noise, part.len())) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.iter().map(Range::len).sum::<usize>()));
    let mut states = vec![0; values.len()];
    for (state, part) in
        groups.iter().enumerate().flat_map(|(state, group)| group.iter().map(move |part| (state, part)))
    {
        states[part.clone()].fill(state);
    }
    states
}

/// Returns the level of each value where the order of the values says nothing; level 0 has the most values. There are two
/// levels where the widest gap between neighbours in size makes up most of the difference between both sides, and that
/// difference is a change of state. `values` are logarithms. In simulations of one level (normal noise up to 30 %, heavy
/// tails), at most one series in a hundred has two.
pub(crate) fn levels(values: &[f64]) -> Vec<usize> {
    const MOST_OF_DIFFERENCE: f64 = 0.6;
    const LEAST_NOISES: f64 = 8.0;
    let one = vec![0; values.len()];
    if values.len() < FEWEST {
        return one;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gap = |at: usize| sorted[at] - sorted[at - 1];
    let split = (SHORTEST..=sorted.len() - SHORTEST).max_by(|one, other| gap(*one).total_cmp(&gap(*other)));
    let Some(at) = split else { return one };
    let [low, high] = [&sorted[..at], &sorted[at..]].map(|side| median(side).unwrap_or(0.0));
    let own = |(number, value): (usize, &f64)| value - if number < at { low } else { high };
    let rests: Vec<f64> = sorted.iter().enumerate().map(own).collect();
    let noise = median(&rests.iter().map(|rest| rest.abs()).collect::<Vec<_>>()).unwrap_or(0.0) / 0.6745;
    if gap(at) < (high - low) * MOST_OF_DIFFERENCE || high - low < LEAST_CHANGE.max(LEAST_NOISES * noise) {
        return one;
    }
    let is_high_usual = 2 * at < sorted.len();
    values.iter().map(|value| usize::from((*value >= sorted[at]) != is_high_usual)).collect()
}

/// The least change that makes a stretch of `length` values another state.
fn least_change(noise: f64, length: usize) -> f64 {
    LEAST_CHANGE.max(LEAST_NOISES * noise * (SHORTEST as f64 / length as f64).sqrt())
}

/// Divides a part of the series where a stretch differs from the rest of it, then the pieces. Medians decide whether a
/// stretch differs, so that single values do not; means decide where.
fn divide(values: &[f64], part: Range<usize>, noise: f64, parts: &mut Vec<Range<usize>>) {
    let Some(stretch) = deviating(&values[part.clone()], noise) else {
        parts.push(part);
        return;
    };
    let (start, end) = (part.start + stretch.start, part.start + stretch.end);
    for piece in [part.start..start, start..end, end..part.end] {
        if !piece.is_empty() {
            divide(values, piece, noise, parts);
        }
    }
}

/// Returns the stretch that differs most from the values before and behind it, for the lengths of both, if it is another
/// state.
fn deviating(values: &[f64], noise: f64) -> Option<Range<usize>> {
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(values.iter().scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        }))
        .collect();
    let all = values.len();
    let is_long_enough = |length: usize| length == 0 || length >= SHORTEST;
    let mut most: Option<(f64, Range<usize>)> = None;
    for start in (0..all).filter(|start| is_long_enough(*start)) {
        for end in (start + SHORTEST..=all).filter(|end| is_long_enough(all - end)) {
            let (inside, outside) = (end - start, all - (end - start));
            let sum = sums[end] - sums[start];
            let difference = (sum / inside as f64 - (sums[all] - sum) / outside as f64).abs();
            let least = least_change(noise, inside.min(outside));
            let size = difference * (inside as f64 * outside as f64).sqrt();
            // Where a median differs, so does the mean, unless single values hide it.
            if outside > 0
                && difference >= least / 2.0
                && most.as_ref().is_none_or(|(most, _)| size > *most)
                && medians_differ(values, start..end, least)
            {
                most = Some((size, start..end));
            }
        }
    }
    most.map(|(_, stretch)| stretch)
}

fn medians_differ(values: &[f64], stretch: Range<usize>, least: f64) -> bool {
    let rest = [&values[..stretch.start], &values[stretch.end..]].concat();
    match (median(&values[stretch]), median(&rest)) {
        (Some(inside), Some(outside)) => (inside - outside).abs() >= least,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a series without a change may look like.
    #[derive(Debug, Clone, Copy)]
    enum Law {
        Normal(f64),
        HeavyTails(f64),
        /// Each value is near the one before.
        Drift(f64),
    }

    fn series(law: Law, length: usize, random: &mut fastrand::Rng) -> Vec<f64> {
        let mut level = 0.0;
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut value = |_| match law {
            Law::Normal(sigma) => sigma * normal(),
            // Student's t with three degrees of freedom.
            Law::HeavyTails(sigma) => sigma * normal() / ((0..3).map(|_| normal().powi(2)).sum::<f64>() / 3.0).sqrt(),
            Law::Drift(sigma) => {
                level = 0.95 * level + sigma * 0.31 * normal();
                level + 0.01 * normal()
            }
        };
        (0..length).map(&mut value).collect()
    }

    /// Half of the differences of neighbours are 0.1, so the noise is 0.105, and twelve values must differ by 0.314.
    #[test]
    fn a_change_counts_from_six_times_the_noise_of_its_median_on() {
        let states_by = |by: f64| {
            let value = |at: usize| if at.div_ceil(2) % 2 == 1 { 0.1 } else { 0.0 };
            let values: Vec<f64> = (0..24).map(|at| value(at) + if at < 12 { 0.0 } else { by }).collect();
            states(&values).into_iter().max().unwrap()
        };
        assert_eq!([0.2, 0.25, 0.4, 0.5].map(states_by), [0, 0, 1, 1]);
    }

    #[test]
    fn at_most_one_of_a_hundred_series_without_a_change_has_two_states() {
        let mut random = fastrand::Rng::with_seed(1);
        for law in
            [Law::Normal(0.01), Law::Normal(0.05), Law::HeavyTails(0.02), Law::HeavyTails(0.05), Law::Drift(0.015)]
        {
            for length in [12, 60, 120] {
                let has_two = |_: &usize| states(&series(law, length, &mut random)).iter().any(|state| *state > 0);
                let wrong = (0..100).filter(has_two).count();
                assert!(wrong <= 1, "{law:?} {length}: {wrong} of 100");
            }
        }
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let mut random = fastrand::Rng::with_seed(2);
        // As seen on a guest with two CPUs: the first 21 of 339 passes cost 3.6 times as much.
        let mut values = series(Law::Normal(0.03), 339, &mut random);
        values[..21].iter_mut().for_each(|value| *value += 3.6_f64.ln());
        let found = states(&values);
        assert!(
            found[..21].iter().all(|state| *state == 1) && found[21..].iter().all(|state| *state == 0),
            "{found:?}"
        );
        // In the middle of a run, where both sides of each change are mostly of the usual state.
        let mut values = series(Law::Normal(0.03), 140, &mut random);
        values[25..34].iter_mut().for_each(|value| *value -= 0.26);
        let found = states(&values);
        assert_eq!((0..140).filter(|at| found[*at] == 1).collect::<Vec<_>>(), (25..34).collect::<Vec<_>>());
        // A state that returns is the same state; each of the two holds for half of the run.
        let mut values = series(Law::HeavyTails(0.01), 120, &mut random);
        values[30..60].iter_mut().for_each(|value| *value -= 0.2);
        values[90..115].iter_mut().for_each(|value| *value -= 0.2);
        let found = states(&values);
        let mistakes = (0..120).filter(|at| (found[*at] == 1) != ((30..60).contains(at) || (90..115).contains(at)));
        assert!(mistakes.count() <= 2, "{found:?}");
        // A small change that lasts, and passes between two levels, which do not make them one.
        let mut values = series(Law::Normal(0.035), 200, &mut random);
        values[60..100].iter_mut().for_each(|value| *value += 0.14);
        values[140..146].iter_mut().for_each(|value| *value -= 0.15);
        values[146..].iter_mut().for_each(|value| *value -= 0.3);
        let found = states(&values);
        let [usual, small, large] = [0..60, 60..100, 146..200].map(|part| found[part.start + part.len() / 2]);
        assert!(usual == 0 && small > 0 && large > 0 && small != large, "{found:?}");
    }

    /// As seen on an H100: graphs in several contexts, of 0.84 or 1.03 µs.
    #[test]
    fn two_levels_are_told_apart_in_any_order() {
        let of = |costs: &[f64]| levels(&costs.iter().map(|cost| cost.ln()).collect::<Vec<_>>());
        let two = [1034.0, 838.0, 1029.0, 1041.0, 846.0, 1030.0, 835.0, 1036.0, 1031.0, 1027.0, 1038.0, 1033.0];
        let low = [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
        assert_eq!(of(&two), low);
        assert_eq!(of(&two.map(|cost| 1e6 / cost)), low);
        let mut strays = two;
        (strays[1], strays[4]) = (1028.0, 1500.0);
        assert_eq!(of(&strays), [0; 12], "single blocks are no level");
        assert_eq!(of(&two.map(|cost| 1000.0 + 0.3 * (cost - 1000.0))), [0; 12], "within 10 %");
        assert_eq!([of(&[]), of(&two[..8])], [vec![], vec![0; 8]], "too few");
    }

    #[test]
    fn at_most_one_of_a_hundred_cases_without_levels_has_two() {
        let mut random = fastrand::Rng::with_seed(4);
        for law in [Law::Normal(0.02), Law::Normal(0.3), Law::HeavyTails(0.03), Law::HeavyTails(0.1)] {
            for length in [12, 40] {
                let has_two = |_: &usize| levels(&series(law, length, &mut random)).contains(&1);
                let wrong = (0..400).filter(has_two).count();
                assert!(wrong <= 4, "{law:?} {length}: {wrong} of 400");
            }
        }
    }

    #[test]
    fn short_and_steady_series_have_one_state() {
        assert!(states(&[]).is_empty());
        let mut one = [0.0; 40];
        one[7] = 9.0;
        assert_eq!(states(&one), [0; 40], "one value is no state");
        assert_eq!(deviating(&one.map(|value| 5.0 + value), 0.0), None, "in any unit");
        assert_eq!(states(&[0.0; 10]), [0; 10]);
        let of = |count: usize| states(&(0..count).map(|at| if at < 4 { 1.0 } else { 0.0 }).collect::<Vec<_>>());
        assert_eq!((of(11), of(12)), (vec![0; 11], [vec![1; 4], vec![0; 8]].concat()), "twelve show their noise");
    }

    /// The means differ by 0.098, because of one value; the medians by the 0.11 of the rest.
    #[test]
    fn a_single_value_does_not_hide_the_state_of_its_neighbours() {
        let mut values = [0.0; 30];
        values[15..].fill(0.11);
        values[22] = -0.07;
        assert_eq!(states(&values), [[0; 15], [1; 15]].concat());
    }
}
