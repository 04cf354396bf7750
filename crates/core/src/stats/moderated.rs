//! A variance from few values, with what is known beforehand.

/// What is known beforehand counts at most as much as so many degrees of freedom.
const MOST_PRIOR_DEGREES: f64 = 4.0;

/// A variance, and the degrees of freedom that it stands on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// The estimate.
    pub value: f64,
    /// The degrees of freedom, for Student's t.
    pub degrees: f64,
}

impl Variance {
    /// One that is known well.
    #[must_use]
    pub const fn known(value: f64) -> Self {
        Self { value, degrees: f64::INFINITY }
    }

    /// Moderated by one that is known beforehand: the mean of both, weighted by their degrees of freedom (Smyth, *Statistical
    /// Applications in Genetics and Molecular Biology* 3, 2004). Three values alone say little about how much a fourth differs.
    #[must_use]
    pub fn moderated(self, prior: Self) -> Self {
        let of_prior = prior.degrees.min(MOST_PRIOR_DEGREES);
        let degrees = of_prior + self.degrees;
        Self { value: (of_prior * prior.value + self.degrees * self.value) / degrees, degrees }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_move_what_is_known_little_and_many_replace_it() {
        let moderated = |degrees| Variance { value: 9.0, degrees }.moderated(Variance::known(1.0));
        assert_eq!(moderated(0.0), Variance { value: 1.0, degrees: 4.0 });
        let two = moderated(2.0);
        assert!((two.value - 22.0 / 6.0).abs() < 1e-12 && (two.degrees - 6.0).abs() < 1e-12, "{two:?}");
        assert!((moderated(4e6).value - 9.0).abs() < 1e-4);
    }

    #[test]
    fn what_is_known_from_few_values_counts_as_these() {
        let prior = Variance { value: 1.0, degrees: 1.0 };
        let both = Variance { value: 9.0, degrees: 1.0 }.moderated(prior);
        assert_eq!(both, Variance { value: 5.0, degrees: 2.0 });
    }
}
