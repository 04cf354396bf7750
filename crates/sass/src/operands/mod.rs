//! The registers that an instruction reads and writes.
//!
//! [`Effects::of`] returns them for the operations in the table of `shapes.rs`, and nothing for other operations. The
//! fields were found in the same way as the modifiers in `modifiers.rs`. A test of `syncscope-gpu`,
//! `tests/kernels/operands.rs`, compares reads and writes with the live ranges of registers that `nvdisasm` prints.

mod shapes;

use std::collections::BTreeSet;
use std::fmt;

use crate::arch::{Arch, Generation};
use crate::bits::Bits as _;
use crate::instruction::Instruction;

/// What an instruction does to registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// The kind of operation.
    pub kind: Kind,
    /// The registers that the instruction writes. A guarded instruction may leave them unchanged.
    pub defs: BTreeSet<Register>,
    /// The registers that the instruction reads, including the guard.
    pub uses: BTreeSet<Register>,
}

impl Effects {
    /// The effects of an instruction; `None` if its operands are not in the table.
    pub fn of(instruction: &Instruction, arch: Arch) -> Option<Self> {
        let mut effects = shapes::shape(instruction, arch.generation())?.effects;
        if let Some(guard) = instruction.predicate.filter(|guard| guard.number != TRUE) {
            let bank = if guard.uniform { Bank::UniformPredicate } else { Bank::Predicate };
            effects.uses.insert(Register { bank, number: guard.number });
        }
        Some(effects)
    }
}

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bank {
    /// `R0` to `R254`, one for each thread.
    General,
    /// `UR0` and up, one for a warp.
    Uniform,
    /// `P0` to `P6`, one for each thread.
    Predicate,
    /// `UP0` to `UP6`, one for a warp.
    UniformPredicate,
}

/// One 32-bit register, or one predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// The register file.
    pub bank: Bank,
    /// The register's number in that file.
    pub number: u8,
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.bank {
            Bank::General => "R",
            Bank::Uniform => "UR",
            Bank::Predicate => "P",
            Bank::UniformPredicate => "UP",
        };
        write!(f, "{name}{}", self.number)
    }
}

/// The number of the predicate that is always true.
pub(super) const TRUE: u8 = 7;

/// The number of the general register that is always zero.
const ZERO: u8 = 255;

/// What an operation does besides writing registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: the result depends only on the operands.
    Arithmetic,
    /// Reads a clock.
    Clock,
    /// Accesses memory, or orders accesses.
    Memory,
    /// Waits for other warps or threads.
    Barrier,
    /// Decides which instruction follows.
    Control,
}

/// The number of the uniform register that is always zero. Blackwell has 256 uniform registers, older architectures 64.
const fn uniform_zero(generation: Generation) -> u8 {
    match generation {
        Generation::Turing | Generation::Ampere | Generation::Hopper => 63,
        Generation::Blackwell | Generation::BlackwellRtx => 255,
    }
}

/// The effects of an instruction, collected one operand at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) effects: Effects,
    /// Whether the operands that follow are uniform registers and predicates, one per warp.
    pub(super) is_uniform: bool,
    raw: u128,
    generation: Generation,
}

impl Shape {
    pub(super) const fn new(kind: Kind, raw: u128, generation: Generation) -> Self {
        let effects = Effects { kind, defs: BTreeSet::new(), uses: BTreeSet::new() };
        Self { effects, is_uniform: false, raw, generation }
    }

    /// Changes the kind of operation and keeps the operands.
    pub(super) fn of_kind(self, kind: Kind) -> Self {
        Self { effects: Effects { kind, ..self.effects }, ..self }
    }

    /// Treats the operands that follow as per warp.
    pub(super) fn of_warps(self) -> Self {
        Self { is_uniform: true, ..self }
    }

    /// Treats the operands that follow as per thread.
    pub(super) fn of_threads(self) -> Self {
        Self { is_uniform: false, ..self }
    }

    pub(super) fn bit(&self, low: u32) -> bool {
        self.raw.field(low, 1) == 1
    }

    /// The three bits that say where the second and third operand are.
    pub(super) fn form(&self) -> u64 {
        self.raw.field(9, 3)
    }

    /// Whether the operation has this number (the lowest nine bits).
    pub(super) fn is_number(&self, number: u64) -> bool {
        self.raw.field(0, 9) == number
    }

    /// Registers per operand of MOV, ISETP and the like: Blackwell for workstations has 64-bit forms.
    pub(super) fn words(&self) -> u8 {
        if self.generation == Generation::BlackwellRtx && self.bit(80) { 2 } else { 1 }
    }

    /// `count` registers from the one that a field names, or none if the field names a constant register.
    fn registers(&self, bank: Bank, low: u8, count: u8) -> impl Iterator<Item = Register> + use<> {
        let uniform_zero = uniform_zero(self.generation);
        let (width, constant) = match bank {
            Bank::General => (8, ZERO),
            Bank::Uniform if uniform_zero == 63 => (6, uniform_zero),
            Bank::Uniform => (8, uniform_zero),
            Bank::Predicate | Bank::UniformPredicate => (3, TRUE),
        };
        let number = self.raw.field(low.into(), width) as u8;
        let count = if number == constant { 0 } else { count };
        (0..count).map(move |step| Register { bank, number: number.wrapping_add(step) })
    }

    const fn bank(&self) -> Bank {
        if self.is_uniform { Bank::Uniform } else { Bank::General }
    }

    fn predicates(&self, lows: &[u8]) -> impl Iterator<Item = Register> {
        let bank = if self.is_uniform { Bank::UniformPredicate } else { Bank::Predicate };
        lows.iter().flat_map(move |&low| self.registers(bank, low, 1))
    }

    /// Adds registers that the instruction writes.
    pub(super) fn def(mut self, low: u8, count: u8) -> Self {
        self.effects.defs.extend(self.registers(self.bank(), low, count));
        self
    }

    /// Adds registers that the instruction reads.
    pub(super) fn read(mut self, low: u8, count: u8) -> Self {
        self.effects.uses.extend(self.registers(self.bank(), low, count));
        self
    }

    /// Adds uniform registers that the instruction reads, whatever the other operands are.
    pub(super) fn read_uniform(mut self, low: u8, count: u8) -> Self {
        self.effects.uses.extend(self.registers(Bank::Uniform, low, count));
        self
    }

    /// Adds predicates that the instruction writes.
    pub(super) fn def_predicates(mut self, lows: &[u8]) -> Self {
        let predicates: Vec<Register> = self.predicates(lows).collect();
        self.effects.defs.extend(predicates);
        self
    }

    /// Adds predicates that the instruction reads.
    pub(super) fn read_predicates(mut self, lows: &[u8]) -> Self {
        let predicates: Vec<Register> = self.predicates(lows).collect();
        self.effects.uses.extend(predicates);
        self
    }

    /// Applies `change` if `condition` holds.
    pub(super) fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }

    /// Reads the second and third source of an arithmetic operation, of `second` and `third` registers. The form says
    /// whether each source is a register, a uniform register, a constant or an immediate.
    pub(super) fn sources(self, second: u8, third: u8) -> Self {
        match self.form() {
            1 => self.read(32, second).read(64, third),
            2 | 3 => self.read(64, second),
            6 if !self.is_uniform => self.read_uniform(32, second).read(64, third),
            7 if !self.is_uniform => self.read_uniform(32, third).read(64, second),
            // 4 and 5: the second source is an immediate or a constant.
            _ => self.read(64, third),
        }
    }

    /// Reads the only source of an operation, or the second of two.
    pub(super) fn source(self, count: u8) -> Self {
        match self.form() {
            1 => self.read(32, count),
            2 if self.is_uniform => self.read(64, count),
            3 => self.read(64, count),
            7 if self.is_uniform => self,
            6 | 7 => self.read_uniform(32, count),
            _ => self,
        }
    }
}

/// An instruction with the registers it writes and reads: `0x02c0: LDS  [B------:R0:W1:-:S02]  R23 <- R12`.
pub fn with_registers(instruction: &Instruction, arch: Arch) -> String {
    let Some(effects) = Effects::of(instruction, arch) else { return instruction.to_string() };
    let names =
        |registers: &BTreeSet<Register>| registers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    match (names(&effects.defs).as_str(), names(&effects.uses).as_str()) {
        ("", "") => instruction.to_string(),
        (defs, "") => format!("{instruction}  {defs} <-"),
        ("", uses) => format!("{instruction}  <- {uses}"),
        (defs, uses) => format!("{instruction}  {defs} <- {uses}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bits_name_registers_or_none() {
        let mut raw = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        for _ in 0..4_000 {
            raw = raw.rotate_left(41).wrapping_mul(0xda94_2042_e4dd_58b5_u128).wrapping_add(1);
            for number in [75, 80, 90, 100, 120] {
                let arch = Arch::new(number).unwrap();
                let Some(effects) = Effects::of(&Instruction::decode(0, raw, arch), arch) else { continue };
                let registers = effects.defs.iter().chain(&effects.uses);
                let is_predicate =
                    |register: &&Register| matches!(register.bank, Bank::Predicate | Bank::UniformPredicate);
                assert!(registers.filter(is_predicate).all(|predicate| predicate.number < TRUE), "{raw:#034x}");
            }
        }
    }
}
