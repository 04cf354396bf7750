//! One machine instruction: its bits, its control field (what the compiler writes for the scheduler), and what they mean.

use std::fmt;

use crate::arch::{Arch, Generation};
use crate::bits::Bits as _;
use crate::modifiers::{self, LAYOUTS};
use crate::opcodes;

/// Size of an instruction in bytes, on every architecture since Volta.
pub(crate) const SIZE_BYTES: usize = 16;

/// The bare mnemonic of an unknown instruction.
const UNKNOWN: &str = "OP";

/// The predicate that is always true.
const TRUE: u8 = 7;

/// The guard of an instruction: a predicate that decides for each thread whether the instruction is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predicate {
    /// Number of the predicate register; 7 is the constant true.
    pub number: u8,
    /// Whether the instruction is executed when the predicate is false.
    pub negated: bool,
    /// Whether the predicate is uniform, one for the whole warp.
    pub uniform: bool,
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.negated { "@!" } else { "@" })?;
        f.write_str(if self.uniform { "UP" } else { "P" })?;
        if self.number == TRUE { f.write_str("T") } else { write!(f, "{}", self.number) }
    }
}

/// A clock that an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The whole cycle counter of the multiprocessor (`clock64`).
    Cycles64,
    /// Half of the cycle counter (`clock`, `clock_hi`).
    Cycles32,
    /// The device's timer in nanoseconds, whole or half.
    GlobalTimer,
}

/// A decoded instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Offset in the kernel, in bytes.
    pub offset: u64,
    /// All 128 bits; bit 0 is the lowest of the first byte.
    pub raw: u128,
    /// The mnemonic without modifiers: `REDG`. `OP` if the operation is unknown.
    pub opcode: &'static str,
    /// The mnemonic with modifiers: `REDG.E.ADD.STRONG.GPU`. `OP_0x1ff` if the operation is unknown.
    pub mnemonic: String,
    /// The guard, unless it is always true.
    pub predicate: Option<Predicate>,
    /// Scheduling information.
    pub control: Control,
    /// The target of a direct branch, call or convergence region, as an offset in the kernel.
    pub target: Option<u64>,
    /// The clock that the instruction reads.
    pub clock: Option<Clock>,
}

impl Instruction {
    /// Decodes the instruction at `offset` in a kernel. Any bits give an instruction; see [`Self::is_known`].
    pub fn decode(offset: u64, raw: u128, arch: Arch) -> Self {
        let generation = arch.generation();
        let code = raw.field(0, 12) as u16;
        let operation = opcodes::operation(raw, generation);
        let opcode = operation.map_or(UNKNOWN, |operation| operation.mnemonic);
        let mut mnemonic = opcode.to_owned();
        if operation.is_some() {
            modifiers::print(LAYOUTS, code, generation, raw, &mut mnemonic);
        } else {
            mnemonic = format!("{UNKNOWN}_{code:#05x}");
        }
        let uniform = operation.is_some_and(|operation| operation.uniform);
        Self {
            offset,
            raw,
            opcode,
            mnemonic,
            predicate: guard(raw, uniform),
            control: Control::of(raw),
            target: displacement(opcode, raw, generation)
                .and_then(|displacement| offset.checked_add(SIZE_BYTES as u64)?.checked_add_signed(displacement)),
            clock: clock(opcode, raw),
        }
    }

    /// Whether the operation is in the tables.
    pub fn is_known(&self) -> bool {
        self.opcode != UNKNOWN
    }

    /// Whether this instruction matches `pattern`: the bare mnemonic, then modifiers that must occur in this order,
    /// with any others between them. `REDG.ADD.GPU` matches `REDG.E.ADD.STRONG.GPU`; `RED` does not match `REDG`.
    pub fn matches(&self, pattern: &str) -> bool {
        let mut words = self.mnemonic.split('.');
        let mut wanted = pattern.split('.');
        words.next() == wanted.next() && wanted.all(|word| words.any(|found| found == word))
    }
}

impl fmt::Display for Instruction {
    /// `0x0120: @!P0 BRA 0x100  [B------:R-:W-:Y:S05]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}: ", self.offset)?;
        if let Some(predicate) = self.predicate {
            write!(f, "{predicate} ")?;
        }
        f.write_str(&self.mnemonic)?;
        if let Some(name) = self.clock.and_then(|_| clock_register(self.raw)) {
            write!(f, " {name}")?;
        }
        if let Some(target) = self.target {
            write!(f, " {target:#x}")?;
        }
        write!(f, "  {}", self.control)
    }
}

/// The index of the instruction at this offset.
pub(crate) fn position(instructions: &[Instruction], offset: u64) -> Option<usize> {
    instructions.binary_search_by_key(&offset, |instruction| instruction.offset).ok()
}

fn guard(raw: u128, uniform: bool) -> Option<Predicate> {
    let number = raw.field(12, 3) as u8;
    let negated = raw.field(15, 1) == 1;
    (number != TRUE || negated).then_some(Predicate { number, negated, uniform })
}

/// The name of the special register if it is a clock. S2R reads one half; CS2R may read both.
fn clock_register(raw: u128) -> Option<&'static str> {
    match raw.field(72, 8) {
        0x50 => Some("SR_CLOCKLO"),
        0x51 => Some("SR_CLOCKHI"),
        0x52 => Some("SR_GLOBALTIMERLO"),
        0x53 => Some("SR_GLOBALTIMERHI"),
        _ => None,
    }
}

fn clock(opcode: &str, raw: u128) -> Option<Clock> {
    let whole = match opcode {
        "CS2R" | "CS2UR" => raw.field(80, 1) == 1,
        "S2R" | "S2UR" => false,
        _ => return None,
    };
    match clock_register(raw)? {
        "SR_CLOCKLO" if whole => Some(Clock::Cycles64),
        "SR_CLOCKLO" | "SR_CLOCKHI" => Some(Clock::Cycles32),
        _ => Some(Clock::GlobalTimer),
    }
}

/// The displacement of a direct branch from the end of its instruction, in bytes. The encoding counts four-byte words.
fn displacement(opcode: &str, raw: u128, generation: Generation) -> Option<i64> {
    let immediate = raw.field(9, 3) == 4;
    let words = match opcode {
        "BSSY" => raw.signed_field(34, 30),
        "CALL" if immediate && raw.field(0, 9) == 0x144 => long_displacement(raw, generation),
        "BRA" => long_displacement(raw, generation),
        "WARPSYNC" if generation >= Generation::Hopper && raw.field(86, 1) == 1 => long_displacement(raw, generation),
        _ => return None,
    };
    Some(words.wrapping_mul(4))
}

/// The displacement in words. Hopper moved its lowest byte to the field of a register that older instructions do not
/// use.
fn long_displacement(raw: u128, generation: Generation) -> i64 {
    let high = raw.signed_field(34, 48);
    if generation >= Generation::Hopper { high << 8 | raw.field(16, 8).cast_signed() } else { high }
}

/// Scheduling information in bits 105 to 125 of an instruction.
///
/// For most instructions the hardware checks no hazards: the compiler writes how long to wait, and which of six
/// scoreboard barriers to set and to wait for. The layout dates from Volta (Jia et al., "Dissecting the NVIDIA Volta
/// GPU Architecture via Microbenchmarking", 2018, section 2.1) and has not changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Cycles until the next instruction of this warp may issue.
    pub stall: u8,
    /// Whether the scheduler should prefer another warp. The bit is stored inverted.
    pub yields: bool,
    /// The barrier that is released once the result is written.
    pub write_barrier: Option<u8>,
    /// The barrier that is released once the operands have been read.
    pub read_barrier: Option<u8>,
    /// The barriers to wait for before issue, one bit each.
    pub wait_mask: u8,
    /// The operand slots whose register stays in the reuse cache, one bit each.
    pub reuse: u8,
}

/// The barrier number that means no barrier.
const NO_BARRIER: u8 = 7;

impl Control {
    /// Reads the control field of an instruction.
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

    /// The bits of an instruction that hold the control field.
    pub const MASK: u128 = 0x1f_ffff << 105;

    /// The control field at its place in an instruction, all other bits 0.
    pub fn bits(self) -> u128 {
        let put = |value: u8, low: u32| u128::from(value) << low;
        put(self.stall & 0xf, 105)
            | put(u8::from(!self.yields), 109)
            | put(self.write_barrier.unwrap_or(NO_BARRIER) & 7, 110)
            | put(self.read_barrier.unwrap_or(NO_BARRIER) & 7, 113)
            | put(self.wait_mask & 0x3f, 116)
            | put(self.reuse & 0xf, 122)
    }

    /// Whether the instruction waits for this barrier.
    pub const fn waits_for(self, barrier: u8) -> bool {
        self.wait_mask >> barrier & 1 == 1
    }
}

impl fmt::Display for Control {
    /// `[B-1----:R-:W0:-:S04]`: barriers waited for, read barrier, write barrier, yield, stall.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[B")?;
        for barrier in 0..6_u8 {
            if self.waits_for(barrier) { write!(f, "{barrier}")? } else { f.write_str("-")? }
        }
        let digit = |barrier: Option<u8>| barrier.map_or('-', |number| char::from(b'0' + number));
        let yields = if self.yields { 'Y' } else { '-' };
        write!(f, ":R{}:W{}:{yields}:S{:02}]", digit(self.read_barrier), digit(self.write_barrier), self.stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints the control field of an instruction with this upper half.
    fn upper(half: u64) -> String {
        Control::of(u128::from(half) << 64).to_string()
    }

    #[test]
    fn the_field_agrees_with_the_code_around_it() {
        // The result of S2R is late: S2R sets write barrier 0, and the ISETP that needs the result waits for it.
        assert_eq!(upper(0x000e_2200_0000_0000), "[B------:R-:W0:-:S01]");
        assert_eq!(upper(0x001f_da00_0bf2_2070), "[B0-----:R-:W-:Y:S13]");
        // REDG reads its operands late: read barrier 2, after waiting for barrier 1 (POPC).
        assert_eq!(upper(0x0025_e200_0c10_e184), "[B-1----:R2:W-:-:S01]");
        // CS2R has a fixed latency until its use; another warp may issue meanwhile.
        assert_eq!(upper(0x000f_cc00_0001_5000), "[B------:R-:W-:Y:S06]");
        // `R7.reuse` in the first operand slot.
        assert_eq!(Control::of(0x040f_e200_0000_0000 << 64).reuse, 0b0001);
        assert_eq!(Control::of(0x000f_e200_0000_0000 << 64).reuse, 0);
    }
}
