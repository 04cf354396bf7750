//! The vector that is reduced, and the known answers. `element_of` in `kernels/published_reductions.cu` makes it.

use syncscope_core::published::reductions::Operation;

/// The largest element, planted at the end of the vector before its maximum is computed. All others are at most 2^30.
pub(super) const PLANTED: u32 = 0x7fff_ff00;

/// Every element of the vector whose sum is computed is the remainder of its index by this prime.
const PERIOD: u64 = 1021;

/// The answer for the first `elements` of the vector: the bits of an i32.
pub(super) const fn answer(operation: Operation, elements: u64) -> u32 {
    match operation {
        Operation::Max => PLANTED,
        Operation::Sum => {
            let (whole, rest) = (elements / PERIOD, elements % PERIOD);
            let of_period = PERIOD * (PERIOD - 1) / 2;
            (whole.wrapping_mul(of_period).wrapping_add(rest * rest.saturating_sub(1) / 2)) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_sum_is_the_sum() {
        for elements in [0_u64, 1, 2, 1020, 1021, 1022, 4097, 100_003, 1 << 20] {
            let sum = (0..elements).fold(0_u32, |sum, index| sum.wrapping_add((index % PERIOD) as u32));
            assert_eq!(answer(Operation::Sum, elements), sum, "{elements}");
        }
        // Beyond 2^32: modulo.
        assert_eq!(answer(Operation::Sum, 1 << 28), ((1_u64 << 28) / PERIOD * 520_710 + 262 * 261 / 2) as u32);
        assert_eq!((1_u64 << 28) % PERIOD, 262);
    }

    #[test]
    fn no_other_element_is_as_large_as_the_planted_one() {
        let element = |index: u32| (index.wrapping_mul(0x9e37_79b1) >> 2) | 1;
        let largest = (0..1 << 20).map(element).max();
        assert!(largest < Some(PLANTED) && largest <= Some(1 << 30));
        assert!(PLANTED.cast_signed() > 0);
        // Zero, the initial value of a result, is none of them.
        assert!((0..1 << 20).all(|index| element(index) > 0));
    }
}
