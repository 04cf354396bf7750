//! Barriers for the optimizer.

/// Uses a value without an instruction, so that the compiler has to compute it. [`std::hint::black_box`] would write it
/// to the stack, and the next atomic operation would wait for that store.
#[inline(always)]
pub(super) fn keep(value: u64) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instruction at all, with a register as its input.
    unsafe {
        std::arch::asm!("/* {} */", in(reg) value, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(value);
}

/// Zero, which the compiler does not know to be zero. What is computed with it depends on all its other operands.
#[inline(always)]
pub(super) fn zero() -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut zero = 0;
        // SAFETY: no instruction at all; the register keeps the zero that the compiler put there.
        unsafe {
            std::arch::asm!("/* {} */", inout(reg) zero, options(pure, nomem, nostack, preserves_flags));
        }
        zero
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(0)
}

/// Separates two operations: of two equal fences in a row, a compiler drops one.
#[inline(always)]
pub(super) fn separate() {
    keep(0);
}
