//! Small arithmetic that several modules need.

/// The greatest common divisor; with 0, the other number.
pub const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A step whose multiples modulo `count` reach every number below `count`, consecutive ones far apart: about the golden
/// section of `count` (Knuth, The Art of Computer Programming 3, 6.4, theorem S).
pub fn scattering_step(count: usize) -> usize {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let wanted = ((count as f64 * GOLDEN) as usize).max(1);
    (wanted..=count).find(|step| gcd(*step as u64, count as u64) == 1).unwrap_or(1)
}

/// The numbers below `count` in an order in which any first part is spread evenly.
pub fn scattered(count: usize) -> impl Iterator<Item = usize> {
    let step = scattering_step(count);
    (0..count).map(move |index| index * step % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greatest_common_divisors() {
        assert_eq!([52, 78, 130].into_iter().fold(0, gcd), 26);
        assert_eq!((gcd(0, 0), gcd(7, 0), gcd(9, 8)), (0, 7, 1));
    }

    #[test]
    fn every_number_comes_once_and_the_first_are_spread() {
        for count in 0..100 {
            let mut numbers: Vec<usize> = scattered(count).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
        let mut first: Vec<usize> = scattered(100).take(10).collect();
        first.sort_unstable();
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{first:?}");
    }
}
