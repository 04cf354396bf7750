//! Hand-made kernels in Hopper's encoding, for tests of whole kernels.
#![allow(non_snake_case, reason = "`BACK(3)` is written like an instruction")]

use crate::arch::Arch;
use crate::cubin::Kernel;

/// `CS2R R2, SR_CLOCKLO`, 64 bits.
pub(crate) const CLOCK: u128 = 0x000f_cc00_0001_5000_0000_0000_0002_7805;
/// `CS2R.32 R2, SR_CLOCKLO`.
pub(crate) const CLOCK_LOW: u128 = 0x000f_cc00_0000_5000_0000_0000_0002_7805;
/// `CS2R R2, SR_GLOBALTIMERLO`.
pub(crate) const TIMER: u128 = 0x000f_cc00_0001_5200_0000_0000_0002_7805;
/// `REDG.E.ADD.STRONG.GPU desc[UR4][R4.64], R7`.
pub(crate) const RED: u128 = 0x0005_e200_0c10_e184_0000_0007_0400_798e;
/// `NOP`.
pub(crate) const NOP: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;
/// `EXIT`.
pub(crate) const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;

/// `RET.REL.NODEC R6 0x0`.
pub(crate) const RET: u128 = 0x000f_ea00_03c3_ffff_ffff_fff4_0600_7950;

/// `CALL.REL.NOINC` to the function after the next `skipped` instructions.
pub(crate) const fn CALL(skipped: i64) -> u128 {
    FORWARD(skipped) & !0xfff | 0x944
}

/// `BRA` to itself: its target is one instruction before its end.
const BRANCH: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_7947;

/// `BRA` to the instruction `words` four-byte words after its end.
const fn branch(words: i64) -> u128 {
    let words = words.cast_unsigned() as u128;
    BRANCH | (words & 0xff) << 16 | (words >> 8 & 0xffff_ffff_ffff) << 34
}

/// `BRA` to the instruction `distance` before it.
pub(crate) const fn BACK(distance: i64) -> u128 {
    branch(-4 * (distance + 1))
}

/// `BRA` over `skipped` instructions.
pub(crate) const fn FORWARD(skipped: i64) -> u128 {
    branch(4 * skipped)
}

/// A kernel with these instructions.
pub(crate) fn kernel(words: &[u128]) -> Kernel {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Kernel::decode("sample", &code, Arch::new(90).unwrap()).unwrap()
}
