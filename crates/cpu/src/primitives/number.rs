//! Numbers that threads can share.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

use super::opaque;

/// A type of the column `dtype`, and the operations on a variable of that type.
///
/// The caller chooses the ordering. A compare-and-swap that fails is relaxed.
pub(crate) trait Number: Copy + PartialEq + Send + Sync + 'static {
    /// The type of a variable that holds the number.
    type Atomic: Send + Sync + Default;

    /// Whether it is a floating-point type. No common processor has atomic arithmetic for these. Compilers load, calculate, and
    /// compare-and-swap the bits until no other thread changed them in between, as this trait does.
    const FLOATING: bool;

    /// The largest count up to which adding one is exact.
    const LARGEST_COUNT: u64;

    /// The count after `additions` additions of one to zero. A floating-point number stays at the largest count.
    fn after_additions(additions: u64) -> u64 {
        if Self::FLOATING { additions.min(Self::LARGEST_COUNT) } else { additions }
    }

    /// The number for a count.
    fn of(count: u64) -> Self;

    /// The count for a number.
    fn count(self) -> u64;

    /// The number plus one.
    fn successor(self) -> Self;

    /// One, computed from this number: an operation with it waits for this number. Two instructions of a cycle each.
    fn one_after(self) -> Self;

    /// Makes the compiler compute this number even if nothing uses it.
    fn keep(self);

    /// Reads.
    fn load(variable: &Self::Atomic, order: Ordering) -> Self;

    /// Writes.
    fn store(variable: &Self::Atomic, value: Self, order: Ordering);

    /// Writes, and returns the old value.
    fn swap(variable: &Self::Atomic, value: Self, order: Ordering) -> Self;

    /// Writes `new` if the variable holds `expected`; returns what it held.
    fn compare_exchange(variable: &Self::Atomic, expected: Self, new: Self, order: Ordering) -> Self;

    /// Adds, and returns the old value.
    fn fetch_add(variable: &Self::Atomic, operand: Self, order: Ordering) -> Self;

    /// Adds one, and returns the old value.
    #[inline(always)]
    fn fetch_increment(variable: &Self::Atomic, order: Ordering) -> Self {
        Self::fetch_add(variable, Self::of(1), order)
    }

    /// Writes `value` if it is larger.
    fn raise(variable: &Self::Atomic, value: Self, order: Ordering);

    /// Adds one as a program does without atomics: a load and a store, between which other threads may write. Load and
    /// store are atomic, which costs nothing, so that this is defined behaviour.
    #[inline(always)]
    fn increment_plainly(variable: &Self::Atomic) {
        Self::store(variable, Self::load(variable, Relaxed).successor(), Relaxed);
    }

    /// Reads as a program does without atomics. The compiler keeps every read.
    ///
    /// # Safety
    /// No thread may write to the variable at the same time.
    unsafe fn read_plainly(variable: &Self::Atomic);
}

/// What integers and floating-point numbers have in common: counts, and accesses to a variable that holds their bits.
macro_rules! accesses {
    ($atomic:ty, $from_bits:expr, $to_bits:expr) => {
        #[inline(always)]
        fn of(count: u64) -> Self {
            count as Self
        }

        #[inline(always)]
        fn count(self) -> u64 {
            self as u64
        }

        #[inline(always)]
        fn load(variable: &$atomic, order: Ordering) -> Self {
            $from_bits(variable.load(order))
        }

        #[inline(always)]
        fn store(variable: &$atomic, value: Self, order: Ordering) {
            variable.store($to_bits(value), order);
        }

        #[inline(always)]
        fn swap(variable: &$atomic, value: Self, order: Ordering) -> Self {
            $from_bits(variable.swap($to_bits(value), order))
        }

        #[inline(always)]
        fn compare_exchange(variable: &$atomic, expected: Self, new: Self, order: Ordering) -> Self {
            match variable.compare_exchange($to_bits(expected), $to_bits(new), order, Relaxed) {
                Ok(found) | Err(found) => $from_bits(found),
            }
        }

        #[inline(always)]
        unsafe fn read_plainly(variable: &$atomic) {
            // SAFETY: the pointer is to a borrowed variable, and the caller excludes writers.
            let _ = unsafe { variable.as_ptr().read_volatile() };
        }
    };
}

macro_rules! integer {
    ($number:ty, $atomic:ty, $bits:ty) => {
        impl Number for $number {
            type Atomic = $atomic;
            const FLOATING: bool = false;
            const LARGEST_COUNT: u64 = <$number>::MAX as u64;

            #[inline(always)]
            fn successor(self) -> Self {
                self.wrapping_add(1)
            }

            #[inline(always)]
            fn one_after(self) -> Self {
                (self & opaque::zero() as $number) | 1
            }

            #[inline(always)]
            fn keep(self) {
                // Unsigned: a sign would be extended by an instruction.
                opaque::keep((self as $bits).into());
            }

            accesses!($atomic, std::convert::identity, std::convert::identity);

            #[inline(always)]
            fn fetch_add(variable: &$atomic, operand: Self, order: Ordering) -> Self {
                variable.fetch_add(operand, order)
            }

            #[inline(always)]
            fn raise(variable: &$atomic, value: Self, order: Ordering) {
                variable.fetch_max(value, order);
            }
        }
    };
}

integer!(i32, AtomicI32, u32);
integer!(u64, AtomicU64, u64);

macro_rules! float {
    ($number:ty, $atomic:ty, $bits:ty) => {
        impl Number for $number {
            type Atomic = $atomic;
            const FLOATING: bool = true;
            /// Every integer up to this one has a value of its own.
            const LARGEST_COUNT: u64 = 1 << <$number>::MANTISSA_DIGITS;

            #[inline(always)]
            fn successor(self) -> Self {
                self + 1.0
            }

            #[inline(always)]
            fn one_after(self) -> Self {
                let zero = self.to_bits() & opaque::zero() as $bits;
                Self::from_bits(zero | Self::to_bits(1.0))
            }

            #[inline(always)]
            fn keep(self) {
                opaque::keep(self.to_bits().into());
            }

            accesses!($atomic, Self::from_bits, Self::to_bits);

            #[inline(always)]
            fn fetch_add(variable: &$atomic, operand: Self, order: Ordering) -> Self {
                let add = |bits| Some((Self::from_bits(bits) + operand).to_bits());
                let (Ok(found) | Err(found)) = variable.fetch_update(order, Relaxed, add);
                Self::from_bits(found)
            }

            #[inline(always)]
            fn raise(variable: &$atomic, value: Self, order: Ordering) {
                let larger = |found| if value > found { value } else { found };
                let raise = |bits| Some(larger(Self::from_bits(bits)).to_bits());
                let _ = variable.fetch_update(order, Relaxed, raise);
            }
        }
    };
}

float!(f32, AtomicU32, u32);
float!(f64, AtomicU64, u64);

/// Evaluates an expression with the Rust type of a `Dtype`; `None` for types that no operation of this crate has.
macro_rules! by_dtype {
    ($dtype:expr, $number:ident => $made:expr) => {
        match $dtype {
            ::syncscope_core::Dtype::I32 => {
                type $number = i32;
                $made
            }
            ::syncscope_core::Dtype::U64 => {
                type $number = u64;
                $made
            }
            ::syncscope_core::Dtype::F32 => {
                type $number = f32;
                $made
            }
            ::syncscope_core::Dtype::F64 => {
                type $number = f64;
                $made
            }
            ::syncscope_core::Dtype::U32 => None,
        }
    };
}
pub(super) use by_dtype;

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies every operation to a variable; returns the numbers that it held, as counts.
    fn history<N: Number>() -> Vec<u64> {
        let variable = N::Atomic::default();
        let mut history = Vec::new();
        let mut note = || history.push(N::load(&variable, Relaxed).count());
        N::store(&variable, N::of(3), Relaxed);
        note();
        assert!(N::fetch_increment(&variable, Relaxed) == N::of(3));
        note();
        N::increment_plainly(&variable);
        note();
        assert!(N::swap(&variable, N::of(8), Relaxed) == N::of(5));
        note();
        assert!(N::compare_exchange(&variable, N::of(7), N::of(1), Relaxed) == N::of(8));
        note();
        assert!(N::compare_exchange(&variable, N::of(8), N::of(9), Relaxed) == N::of(8));
        note();
        assert!(N::compare_exchange(&variable, N::of(8), N::of(1), Relaxed) == N::of(9));
        note();
        assert!(N::compare_exchange(&variable, N::of(9), N::of(5), Relaxed) == N::of(9));
        note();
        assert!(N::fetch_add(&variable, N::of(4), Relaxed) == N::of(5));
        note();
        assert!(N::fetch_add(&variable, N::of(77).one_after(), Relaxed) == N::of(9));
        note();
        N::raise(&variable, N::of(2), Relaxed);
        note();
        N::raise(&variable, N::of(11), Relaxed);
        note();
        history
    }

    #[test]
    fn every_number_does_the_same() {
        let expected = [3, 4, 5, 8, 8, 9, 9, 5, 9, 10, 10, 11];
        assert_eq!(history::<i32>(), expected);
        assert_eq!(history::<u64>(), expected);
        assert_eq!(history::<f32>(), expected);
        assert_eq!(history::<f64>(), expected);
    }

    #[test]
    fn counts_of_floats_end_where_the_mantissa_does() {
        let full = AtomicU32::new(16_777_216_f32.to_bits());
        assert_eq!(f32::LARGEST_COUNT, f32::load(&full, Relaxed).count());
        f32::fetch_increment(&full, Relaxed);
        assert_eq!(f32::load(&full, Relaxed).count(), f32::LARGEST_COUNT);
        assert_eq!([f32::after_additions(1 << 25), u64::after_additions(1 << 25)], [1 << 24, 1 << 25]);
    }
}
