//! One machine instruction.

use std::fmt;

use crate::arch::{Arch, Generation};
use crate::bits::Bits;
use crate::control::Control;
use crate::layouts::LAYOUTS;
use crate::modifiers;
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
    /// Number of the register; 7 is the constant true.
    pub number: u8,
    /// Whether the instruction is executed if the predicate is false.
    pub negated: bool,
    /// Whether it is a uniform predicate, one for the whole warp.
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
    /// Half of it (`clock`, `clock_hi`).
    Cycles32,
    /// The timer of the device in nanoseconds, whole or half.
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
    /// The clock that it reads.
    pub clock: Option<Clock>,
}

impl Instruction {
    /// Decodes the instruction at `offset` of a kernel. Any bits give an instruction; see [`Self::is_known`].
    #[must_use]
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
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.opcode != UNKNOWN
    }

    /// Whether this instruction matches `pattern`. The first word of the pattern is the bare mnemonic. The others are
    /// modifiers, which must occur in this order; others may be between them. `REDG.ADD.GPU` matches
    /// `REDG.E.ADD.STRONG.GPU`; `RED` does not match `REDG`.
    #[must_use]
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

fn guard(raw: u128, uniform: bool) -> Option<Predicate> {
    let number = raw.field(12, 3) as u8;
    let negated = raw.field(15, 1) == 1;
    (number != TRUE || negated).then_some(Predicate { number, negated, uniform })
}

/// The special registers that are clocks. S2R reads one half; CS2R may read both.
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

/// The displacement of a direct branch from the end of its instruction, in bytes. The encoding counts words of four bytes.
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

/// Hopper moved the lowest byte to the field of a register that older instructions do not use.
fn long_displacement(raw: u128, generation: Generation) -> i64 {
    let high = raw.signed_field(34, 48);
    if generation >= Generation::Hopper { high << 8 | raw.field(16, 8).cast_signed() } else { high }
}
