//! Formulas 1 and 2 of Zhang, Wahib, Matsuoka, section 3.2, in the unit of the times that they are given.

/// Formula 1: the cost of one operation, from the times of a chain with many repetitions and of one with few. `None` if the
/// repetitions do not differ.
#[must_use]
pub fn cost(time_many: f64, time_few: f64, repeats_many: u64, repeats_few: u64) -> Option<f64> {
    Some((time_many - time_few) / difference(repeats_many, repeats_few)?)
}

/// Formula 2: the standard deviation of that cost, from those of the two times. It assumes that they vary independently.
/// `None` if the repetitions do not differ.
#[must_use]
pub fn cost_deviation(deviation_many: f64, deviation_few: f64, repeats_many: u64, repeats_few: u64) -> Option<f64> {
    Some(deviation_many.hypot(deviation_few) / difference(repeats_many, repeats_few)?)
}

fn difference(many: u64, few: u64) -> Option<f64> {
    many.checked_sub(few).filter(|difference| *difference > 0).map(|difference| difference as f64)
}

/// The standard deviation of a sample (with n - 1); `None` for fewer than two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some((values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / degrees).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's V100 runs at 1,312 MHz (table 3). Table 1: 4.034 cycles at a difference of 5,120, which is 15.74 us.
    #[test]
    fn formula_1_gives_the_papers_cycles_from_times_of_its_clock() {
        const GHZ: f64 = 1.312;
        for (difference, cycles) in [(2056, 4.045), (5120, 4.034), (10_240, 7.259), (51_200, 7.005)] {
            let launch_ns = 9_000.0;
            let many_ns = launch_ns + (512.0 * 4.0 + difference as f64 * cycles) / GHZ;
            let few_ns = launch_ns + 512.0 * 4.0 / GHZ;
            let found = cost(many_ns, few_ns, 512 + difference, 512).unwrap() * GHZ;
            assert!((found - cycles).abs() < 1e-9, "{difference}: {found}");
        }
        let by_hand = cost(10.0, 4.0, 5, 3);
        assert_eq!(by_hand, Some(3.0));
    }

    #[test]
    fn formula_2_falls_with_the_difference_of_repetitions() {
        assert_eq!(cost_deviation(3.0, 4.0, 5632, 512), Some(5.0 / 5120.0));
        let [short, long] = [2056, 51_200].map(|more| cost_deviation(200.0, 200.0, 512 + more, 512).unwrap());
        assert!((short / long - 51_200.0 / 2056.0).abs() < 1e-9, "{short} {long}");
    }

    #[test]
    fn repetitions_that_do_not_differ_give_nothing() {
        assert_eq!((cost(2.0, 1.0, 512, 512), cost(2.0, 1.0, 511, 512)), (None, None));
        assert_eq!(cost_deviation(2.0, 1.0, 512, 512), None);
    }

    #[test]
    fn the_deviation_of_a_sample() {
        assert_eq!(standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some((32.0_f64 / 7.0).sqrt()));
        assert_eq!((standard_deviation(&[1.0]), standard_deviation(&[])), (None, None));
    }
}
