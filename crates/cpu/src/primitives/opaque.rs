//! What the optimizer must not see through.

/// Uses a value without doing anything with it: it must be computed, and nothing stands beside its computation.
/// [`std::hint::black_box`] would write it to the stack, right before the next atomic operation has to wait for that.
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

/// Keeps two neighbouring operations two: of two equal fences in a row, compilers drop one.
#[inline(always)]
pub(super) fn separate() {
    keep(0);
}
