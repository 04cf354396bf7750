//! Units as types. A duration, a cycle count and a frequency cannot be mixed up by accident.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// The bare number, in the unit this type is named for.
            pub const fn value(self) -> f64 {
                self.0
            }
        }
    };
}

quantity!(
    /// A span of time in nanoseconds.
    Nanoseconds
);
quantity!(
    /// A span of time in cycles of the core or streaming multiprocessor that did the work.
    Cycles
);
quantity!(
    /// A frequency in hertz.
    Hertz
);

/// A reading, or a difference of two readings, of the clock an experiment times with; the experiment's [`crate::Ruler`]
/// knows the length of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// `self - earlier` as a signed number: differences of two samples may be negative.
    pub fn minus(self, earlier: Self) -> f64 {
        self.0 as f64 - earlier.0 as f64
    }
}

/// A count and what is counted: `1 thread`, `16 threads`.
pub fn plural<T: Copy + Display + PartialEq + From<u8>>(count: T, noun: &str) -> String {
    let ending = if count == T::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Smaller numbers have an exponent instead of many zeros. Only probabilities are as small.
const LEAST_WITHOUT_EXPONENT: f64 = 1e-6;

/// A number with seven significant digits: more than any clock here resolves, and no trailing noise.
pub fn significant(number: f64) -> String {
    let rounded = rounded(number);
    let is_small = rounded != 0.0 && rounded.abs() < LEAST_WITHOUT_EXPONENT;
    if is_small { format!("{rounded:e}") } else { format!("{rounded}") }
}

/// The number that [`significant`] writes.
pub fn rounded(number: f64) -> f64 {
    let rounded: f64 = format!("{number:.6e}").parse().unwrap_or(number);
    // `-0` is no figure.
    rounded + 0.0
}

/// Formats a number with three significant digits, or as an integer if more digits are left of the point.
pub fn significant_digits(ns: f64) -> String {
    let decimals = (2.0 - ns.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{ns:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_ticks_keeps_its_sign() {
        assert!((Ticks(3).minus(Ticks(5)) + 2.0).abs() < f64::EPSILON);
    }

    #[test]
    fn numbers_keep_seven_digits() {
        assert_eq!(significant(2.033_183_947_234), "2.033184");
        assert_eq!(significant(1_980_000_000.0), "1980000000");
        assert_eq!(significant(-0.0), "0");
        assert_eq!(significant(-2.5e-6), "-0.0000025");
    }

    /// `0.000…` with three hundred zeros is no number for people, and for some programs none at all.
    #[test]
    fn small_numbers_have_an_exponent() {
        for small in [1.234_567_89e-305, -9.9e-7, f64::MIN_POSITIVE] {
            let text = significant(small);
            assert!(text.len() <= "-1.234568e-305".len(), "{text}");
            assert_eq!(text.parse(), Ok(rounded(small)));
        }
    }
}
