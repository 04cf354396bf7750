//! Numbers that can be added to atomically.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A type of the column `dtype`, by the atomic variable that holds it.
///
/// Every access is relaxed: only the atomicity of the addition is under study, no other memory is passed on.
pub(crate) trait Number: Send + Sync + 'static {
    /// The variable.
    type Atomic: Send + Sync + Default;

    /// The largest count up to which adding one is exact.
    const LARGEST_COUNT: u64;

    /// Adds one.
    fn add_one(variable: &Self::Atomic);

    /// Makes it zero.
    fn reset(variable: &Self::Atomic);

    /// The variable as a count.
    fn count(variable: &Self::Atomic) -> u64;
}

macro_rules! integer {
    ($number:ty, $atomic:ty) => {
        impl Number for $number {
            type Atomic = $atomic;
            const LARGEST_COUNT: u64 = <$number>::MAX as u64;

            #[inline(always)]
            fn add_one(variable: &$atomic) {
                variable.fetch_add(1, Relaxed);
            }

            fn reset(variable: &$atomic) {
                variable.store(0, Relaxed);
            }

            fn count(variable: &$atomic) -> u64 {
                variable.load(Relaxed) as u64
            }
        }
    };
}

integer!(i32, AtomicI32);
integer!(u64, AtomicU64);

/// No common processor adds floating-point numbers in memory: compilers load, add, and compare-and-swap the bits
/// until nobody came in between. So does this.
macro_rules! float {
    ($number:ty, $atomic:ty) => {
        impl Number for $number {
            type Atomic = $atomic;
            /// Every whole number up to here has its own value.
            const LARGEST_COUNT: u64 = 1 << <$number>::MANTISSA_DIGITS;

            #[inline(always)]
            fn add_one(variable: &$atomic) {
                let mut bits = variable.load(Relaxed);
                loop {
                    let sum = (<$number>::from_bits(bits) + 1.0).to_bits();
                    match variable.compare_exchange_weak(bits, sum, Relaxed, Relaxed) {
                        Ok(_) => break,
                        Err(found) => bits = found,
                    }
                }
            }

            fn reset(variable: &$atomic) {
                variable.store(<$number>::to_bits(0.0), Relaxed);
            }

            fn count(variable: &$atomic) -> u64 {
                <$number>::from_bits(variable.load(Relaxed)) as u64
            }
        }
    };
}

float!(f32, AtomicU32);
float!(f64, AtomicU64);

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_to<N: Number>(count: u64) -> u64 {
        let variable = N::Atomic::default();
        N::reset(&variable);
        (0..count).for_each(|_| N::add_one(&variable));
        N::count(&variable)
    }

    #[test]
    fn every_number_counts() {
        let counts = [counts_to::<i32>(1000), counts_to::<u64>(1000), counts_to::<f32>(1000), counts_to::<f64>(1000)];
        assert_eq!(counts, [1000; 4]);
    }

    #[test]
    fn counts_of_floats_end_where_the_mantissa_does() {
        let full = AtomicU32::new(16_777_216_f32.to_bits());
        assert_eq!(f32::LARGEST_COUNT, f32::count(&full));
        f32::add_one(&full);
        assert_eq!(f32::count(&full), f32::LARGEST_COUNT);
    }
}
