//! Student's t distribution: tails for any degrees of freedom, whole or not.

use std::f64::consts::PI;

use super::ranked::Level;

/// More degrees of freedom count as the normal distribution: at four standard errors the tails differ by less than 1 %.
const MOST_DEGREES: f64 = 1e4;

/// The probability that a variable with Student's t distribution is above `t`.
pub fn upper_tail(t: f64, degrees: f64) -> f64 {
    let degrees = degrees.clamp(1.0, MOST_DEGREES);
    // Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1 with 26.5.27.
    let both = incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t >= 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

/// The half-width of a two-sided 95 % interval in standard errors.
pub fn quantile_95(degrees: f64) -> f64 {
    quantile(Level::P95.tail, degrees)
}

/// The value that a variable with Student's t distribution exceeds with the probability `tail`, at most one half.
pub fn quantile(tail: f64, degrees: f64) -> f64 {
    const MOST_STEPS: u32 = 60;
    let (tail, degrees) = (tail.clamp(1e-12, 0.5), degrees.clamp(1.0, MOST_DEGREES));
    let scale = (ln_gamma(degrees.midpoint(1.0)) - ln_gamma(degrees / 2.0)).exp() / (degrees * PI).sqrt();
    let density = |t: f64| scale * (1.0 + t * t / degrees).powf(-degrees.midpoint(1.0));
    // The tail is convex above zero, so Newton's method converges from below.
    let mut t = 0.0;
    for _ in 0..MOST_STEPS {
        let step = (upper_tail(t, degrees) - tail) / density(t);
        t += step;
        if step <= 1e-12 * t {
            break;
        }
    }
    t
}

/// The derivative of the logarithm of the gamma function, for positive numbers.
pub(crate) fn digamma(x: f64) -> f64 {
    // Abramowitz and Stegun, 6.3.5 and 6.3.18.
    if x < 8.0 {
        return digamma(x + 1.0) - 1.0 / x;
    }
    let square = 1.0 / (x * x);
    x.ln() - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

/// The derivative of [`digamma`], for positive numbers.
pub(crate) fn trigamma(x: f64) -> f64 {
    // Abramowitz and Stegun, 6.4.6 and 6.4.12.
    if x < 8.0 {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let square = 1.0 / (x * x);
    (1.0 + 0.5 / x + square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))) / x
}

/// The number whose trigamma is `y`, above zero: trigamma falls with its argument.
pub(crate) fn inverse_trigamma(y: f64) -> f64 {
    let (mut low, mut high) = (1e-4, 1e7);
    for _ in 0..80 {
        let middle = f64::sqrt(low * high);
        if trigamma(middle) > y {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularized incomplete beta function I_x(a, b), by its continued fraction (Press et al., *Numerical Recipes*, third
/// edition, 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method. The number of steps is about the square root
/// of the larger parameter.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MOST_STEPS: u32 = 1000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = below;
    for step in 1..=MOST_STEPS {
        let step = f64::from(step);
        let twice = a + 2.0 * step;
        let even = step * (b - step) * x / ((twice - 1.0) * twice);
        let odd = -(a + step) * (a + b + step) * x / (twice * (twice + 1.0));
        let before = result;
        for numerator in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + numerator * below);
            above = away_from_zero(1.0 + numerator / above);
            result *= above * below;
        }
        if (result / before - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function for arguments above zero (Lanczos, SIAM Journal on Numerical Analysis 1, 1964; the
/// coefficients for g = 7, n = 9 by Godfrey).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    // The series for the gamma function of x is good from 1/2 on; every argument here is at least 1/2.
    let x = x - 1.0;
    let series = (1..).zip(COEFFICIENTS).fold(0.999_999_999_999_809_9, |sum, (index, coefficient)| {
        let index: u32 = index;
        sum + coefficient / (x + f64::from(index))
    });
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivatives_of_the_gamma_function() {
        // Abramowitz and Stegun, 6.3.2, 6.3.3 and 6.4.2.
        assert!((digamma(1.0) + 0.577_215_664_9).abs() < 1e-9);
        assert!((digamma(0.5) + 1.963_510_026_0).abs() < 1e-9);
        assert!((trigamma(1.0) - PI.powi(2) / 6.0).abs() < 1e-8);
        for x in [0.3, 1.0, 4.5, 80.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, quantile) in
            [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042), (1e9, 1.960)]
        {
            assert!((quantile_95(degrees) - quantile).abs() < 1e-3, "{degrees}: {}", quantile_95(degrees));
        }
        for (degrees, of_99) in [(1.0, 63.657), (2.0, 9.925), (5.0, 4.032), (1e9, 2.576)] {
            assert!((quantile(0.005, degrees) - of_99).abs() < 1e-3, "{degrees}: {}", quantile(0.005, degrees));
        }
    }

    #[test]
    fn quantiles_are_the_inverse_of_tails() {
        for degrees in [1.0, 4.7, 80.0] {
            for tail in [0.5, 0.05, 1e-4, 1e-9] {
                let found = upper_tail(quantile(tail, degrees), degrees);
                assert!((found / tail - 1.0).abs() < 1e-4, "{degrees} degrees: {found}, not {tail}");
            }
        }
    }

    #[test]
    fn tails_are_those_of_the_tables() {
        // One degree of freedom is the Cauchy distribution; many are the normal one.
        let cauchy = |t: f64| 0.5 - t.atan() / PI;
        for t in [-3.0, -0.5, 0.0, 0.5, 3.0, 40.0] {
            assert!((upper_tail(t, 1.0) - cauchy(t)).abs() < 1e-12, "{t}");
        }
        for (z, tail) in [(0.0, 0.5), (1.0, 0.158_655), (3.0, 1.349_9e-3), (4.0, 3.167e-5)] {
            assert!((upper_tail(z, 1e9) / tail - 1.0).abs() < 0.01, "{z}");
        }
        assert!((upper_tail(5.893, 5.0) - 0.001).abs() < 1e-5);
        assert!(upper_tail(f64::INFINITY, 3.0).abs() < 1e-12 && (upper_tail(-1e9, 3.0) - 1.0).abs() < 1e-9);
    }
}
