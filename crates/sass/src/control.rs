//! The control field: what the compiler writes for the scheduler about one instruction.

use std::fmt;

use crate::bits::Bits;

/// Scheduling information in bits 105 to 125 of an instruction.
///
/// For most instructions the hardware checks no hazards. The compiler writes how long to wait, and which of six scoreboard
/// barriers to set and to wait for. The layout is that of Volta (Jia et al., "Dissecting the
/// NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 2.1) and has not changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Cycles until the next instruction of this warp may issue.
    pub stall: u8,
    /// Whether the scheduler should prefer another warp. The bit is stored inverted.
    pub yields: bool,
    /// The barrier that is released when the result is written.
    pub write_barrier: Option<u8>,
    /// The barrier that is released when the operands have been read.
    pub read_barrier: Option<u8>,
    /// The barriers to wait for before issue, one bit each.
    pub wait_mask: u8,
    /// The operand slots whose register stays in the reuse cache, one bit each.
    pub reuse: u8,
}

/// The barrier number for no barrier.
const NO_BARRIER: u8 = 7;

impl Control {
    /// Reads the field from a whole instruction.
    #[must_use]
    pub fn of(raw: u128) -> Self {
        let field = |low, width| raw.field(low, width) as u8;
        let barrier = |low| Some(field(low, 3)).filter(|&number| number != NO_BARRIER);
        Self {
            stall: field(105, 4),
            yields: field(109, 1) == 0,
            write_barrier: barrier(110),
            read_barrier: barrier(113),
            wait_mask: field(116, 6),
            reuse: field(122, 4),
        }
    }
}

impl Control {
    /// The bits of the field in an instruction.
    pub(crate) const MASK: u128 = 0x1f_ffff << 105;

    /// The field as bits of an instruction, all others 0.
    #[must_use]
    pub fn bits(self) -> u128 {
        let put = |value: u8, low: u32| u128::from(value) << low;
        put(self.stall & 0xf, 105)
            | put(u8::from(!self.yields), 109)
            | put(self.write_barrier.unwrap_or(NO_BARRIER) & 7, 110)
            | put(self.read_barrier.unwrap_or(NO_BARRIER) & 7, 113)
            | put(self.wait_mask & 0x3f, 116)
            | put(self.reuse & 0xf, 122)
    }

    /// Whether it waits for this barrier.
    #[must_use]
    pub const fn waits_for(self, barrier: u8) -> bool {
        self.wait_mask >> barrier & 1 == 1
    }
}

impl fmt::Display for Control {
    /// `[B-1----:R-:W0:-:S04]`: barriers waited for, read barrier, write barrier, yield, stall.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[B")?;
        for barrier in 0..6_u8 {
            if self.wait_mask >> barrier & 1 == 1 { write!(f, "{barrier}")? } else { f.write_str("-")? }
        }
        let digit = |barrier: Option<u8>| barrier.map_or('-', |number| char::from(b'0' + number));
        let yields = if self.yields { 'Y' } else { '-' };
        write!(f, ":R{}:W{}:{yields}:S{:02}]", digit(self.read_barrier), digit(self.write_barrier), self.stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints the control field of this upper half of an instruction.
    fn upper(half: u64) -> String {
        Control::of(u128::from(half) << 64).to_string()
    }

    #[test]
    fn the_field_agrees_with_the_code_around_it() {
        // S2R, whose result is late, sets write barrier 0; the ISETP that needs it waits for barrier 0.
        assert_eq!(upper(0x000e_2200_0000_0000), "[B------:R-:W0:-:S01]");
        assert_eq!(upper(0x001f_da00_0bf2_2070), "[B0-----:R-:W-:Y:S13]");
        // REDG reads its operands late: read barrier 2, after waiting for barrier 1 (POPC).
        assert_eq!(upper(0x0025_e200_0c10_e184), "[B-1----:R2:W-:-:S01]");
        // A fixed latency between CS2R and its use, during which another warp may issue.
        assert_eq!(upper(0x000f_cc00_0001_5000), "[B------:R-:W-:Y:S06]");
        // `R7.reuse` in the first operand slot.
        assert_eq!(Control::of(0x040f_e200_0000_0000 << 64).reuse, 0b0001);
        assert_eq!(Control::of(0x000f_e200_0000_0000 << 64).reuse, 0);
    }
}
