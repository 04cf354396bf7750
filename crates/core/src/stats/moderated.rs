//! A variance from few values, with what is known beforehand.

/// What is known beforehand counts as much as so many degrees of freedom.
const PRIOR_DEGREES: f64 = 4.0;

/// A variance estimated from few values and moderated by one known beforehand (Smyth, *Statistical Applications in Genetics
/// and Molecular Biology* 3, 2004): three values alone say little about how much a fourth differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModeratedVariance {
    /// The mean of both, weighted by their degrees of freedom.
    pub variance: f64,
    /// The degrees of freedom of both together, for Student's t.
    pub degrees: f64,
}

impl ModeratedVariance {
    /// Of the variance `prior`, known beforehand, and `own`, estimated with so many `degrees` of freedom.
    #[must_use]
    pub fn of(prior: f64, own: f64, degrees: f64) -> Self {
        let all = PRIOR_DEGREES + degrees;
        Self { variance: (PRIOR_DEGREES * prior + degrees * own) / all, degrees: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_move_what_is_known_little_and_many_replace_it() {
        let none = ModeratedVariance::of(1.0, 9.0, 0.0);
        assert_eq!((none.variance, none.degrees), (1.0, 4.0));
        let two = ModeratedVariance::of(1.0, 9.0, 2.0);
        assert!((two.variance - 22.0 / 6.0).abs() < 1e-12 && (two.degrees - 6.0).abs() < 1e-12, "{two:?}");
        assert!((ModeratedVariance::of(1.0, 9.0, 4e6).variance - 9.0).abs() < 1e-4);
    }
}
