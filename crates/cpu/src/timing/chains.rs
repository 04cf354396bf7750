//! Chains of dependent operations, as long as asked for. Each operation needs the result of the one before.
//!
//! The operations of an iteration follow one another; the loop's own instructions run in parallel with them.

/// Operations of one iteration.
pub const STEP: u64 = 8;

/// Operations of one iteration of [`long_steps_of_additions`].
pub(crate) const LONG_STEP: u64 = 128;

/// Whether chains are written for this architecture. Elsewhere they do nothing.
pub const ARE_WRITTEN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The instruction of this architecture.
#[cfg(target_arch = "x86_64")]
macro_rules! of_architecture {
    ($x86_64:literal, $aarch64:literal) => {
        $x86_64
    };
}

/// The instruction of this architecture.
#[cfg(target_arch = "aarch64")]
macro_rules! of_architecture {
    ($x86_64:literal, $aarch64:literal) => {
        $aarch64
    };
}

/// Defines a chain: `unroll` operations in each iteration. On other architectures the function returns its first value.
macro_rules! chain {
    ($(#[$doc:meta])* $name:ident: $value:ty = $first:literal, operand = $operand:literal, unroll = $unroll:literal,
     x86_64 = $x86_64:literal, aarch64 = $aarch64:literal) => {
        $(#[$doc])*
        #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(unused_variables))]
        #[inline(never)]
        pub(crate) extern "C" fn $name(iterations: u64) -> $value {
            #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(unused_mut))]
            let mut value: $value = $first;
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            if iterations > 0 {
                // SAFETY: changes registers of its own; touches no memory and no stack.
                unsafe {
                    std::arch::asm!(
                        ".p2align 5",
                        "2:",
                        concat!(".rept ", $unroll),
                        of_architecture!($x86_64, $aarch64),
                        ".endr",
                        of_architecture!("sub {iterations}, 1", "subs {iterations}, {iterations}, #1"),
                        of_architecture!("jnz 2b", "b.ne 2b"),
                        iterations = inout(reg) iterations => _,
                        value = inout(reg) value,
                        operand = in(reg) { let operand: $value = $operand; operand },
                        options(nomem, nostack),
                    );
                }
            }
            value
        }
    };
}

chain! {
    /// Adds 1 to 0, [`STEP`] times in each iteration.
    steps_of_additions: u64 = 0, operand = 1, unroll = 8,
    x86_64 = "add {value}, {operand}", aarch64 = "add {value}, {value}, {operand}"
}

chain! {
    /// Multiplies 1 by 3 modulo 2^32, [`STEP`] times in each iteration.
    steps_of_multiplications: u32 = 1, operand = 3, unroll = 8,
    x86_64 = "imul {value:e}, {operand:e}", aarch64 = "mul {value:w}, {value:w}, {operand:w}"
}

chain! {
    /// Adds 1 to 0, [`LONG_STEP`] times in each iteration: the ends of the loop are rare.
    long_steps_of_additions: u64 = 0, operand = 1, unroll = 128,
    x86_64 = "add {value}, {operand}", aarch64 = "add {value}, {value}, {operand}"
}

/// Adds 1 to 0 `repeats` times, rounded down to a multiple of [`STEP`].
pub fn additions(repeats: u64) -> u64 {
    steps_of_additions(repeats / STEP)
}

/// Multiplies 1 by 3 `repeats` times, modulo 2^32, rounded down to a multiple of [`STEP`].
pub fn multiplications(repeats: u64) -> u64 {
    u64::from(steps_of_multiplications(repeats / STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_as_many_operations_as_asked_for() {
        for repeats in [0, 8, 512, 2568, 51_712] {
            assert_eq!(additions(repeats), repeats);
            let product = (0..repeats).fold(1_u32, |product, _| product.wrapping_mul(3));
            assert_eq!(multiplications(repeats), u64::from(product));
        }
        assert_eq!((additions(7), additions(15)), (0, 8), "in whole steps");
        assert_eq!([0, 1, 72].map(|iterations| long_steps_of_additions(iterations)), [0, LONG_STEP, 72 * LONG_STEP]);
    }
}
