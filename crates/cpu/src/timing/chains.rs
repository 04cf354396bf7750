//! Chains of dependent operations, as long as asked for. Each operation needs the result of the one before.
//!
//! The operations of an iteration stand one after the other; the loop's own instructions run in parallel with them.

/// Operations of one iteration.
pub(crate) const STEP: u64 = 8;

/// Whether chains are written for this architecture. Elsewhere they give 0 at once.
pub(crate) const ARE_WRITTEN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Adds 1 to 0 so many times, rounded down to a multiple of [`STEP`].
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(crate) fn additions(repeats: u64) -> u64 {
    let mut sum = 0_u64;
    if repeats >= STEP {
        // SAFETY: adds registers of its own; touches no memory and no stack.
        unsafe {
            std::arch::asm!(
                ".p2align 5",
                "2:",
                ".rept 8",
                "add {sum}, {one}",
                ".endr",
                "sub {iterations}, 1",
                "jnz 2b",
                iterations = inout(reg) repeats / STEP => _,
                sum = inout(reg) sum,
                one = in(reg) 1_u64,
                options(nomem, nostack),
            );
        }
    }
    sum
}

/// Multiplies 1 by 3 so many times, modulo 2^32, rounded down to a multiple of [`STEP`].
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(crate) fn multiplications(repeats: u64) -> u64 {
    let mut product = 1_u32;
    if repeats >= STEP {
        // SAFETY: multiplies registers of its own; touches no memory and no stack.
        unsafe {
            std::arch::asm!(
                ".p2align 5",
                "2:",
                ".rept 8",
                "imul {product:e}, {three:e}",
                ".endr",
                "sub {iterations}, 1",
                "jnz 2b",
                iterations = inout(reg) repeats / STEP => _,
                product = inout(reg) product,
                three = in(reg) 3_u32,
                options(nomem, nostack),
            );
        }
    }
    u64::from(product)
}

/// Adds 1 to 0 so many times, rounded down to a multiple of [`STEP`].
#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub(crate) fn additions(repeats: u64) -> u64 {
    let mut sum = 0_u64;
    if repeats >= STEP {
        // SAFETY: adds registers of its own; touches no memory and no stack.
        unsafe {
            std::arch::asm!(
                ".p2align 5",
                "2:",
                ".rept 8",
                "add {sum}, {sum}, {one}",
                ".endr",
                "subs {iterations}, {iterations}, #1",
                "b.ne 2b",
                iterations = inout(reg) repeats / STEP => _,
                sum = inout(reg) sum,
                one = in(reg) 1_u64,
                options(nomem, nostack),
            );
        }
    }
    sum
}

/// Multiplies 1 by 3 so many times, modulo 2^32, rounded down to a multiple of [`STEP`].
#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub(crate) fn multiplications(repeats: u64) -> u64 {
    let mut product = 1_u32;
    if repeats >= STEP {
        // SAFETY: multiplies registers of its own; touches no memory and no stack.
        unsafe {
            std::arch::asm!(
                ".p2align 5",
                "2:",
                ".rept 8",
                "mul {product:w}, {product:w}, {three:w}",
                ".endr",
                "subs {iterations}, {iterations}, #1",
                "b.ne 2b",
                iterations = inout(reg) repeats / STEP => _,
                product = inout(reg) product,
                three = in(reg) 3_u32,
                options(nomem, nostack),
            );
        }
    }
    u64::from(product)
}

/// No chain is written for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn additions(_repeats: u64) -> u64 {
    0
}

/// No chain is written for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn multiplications(_repeats: u64) -> u64 {
    0
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
    }
}
