//! The registers that an instruction reads and writes.
//!
//! [`Effects::of`] says them for the operations of the table in `shapes.rs`; of the others nothing is known.
//!
//! How the fields were found: as those of the modifiers in `modifiers.rs`. A test of `syncscope-gpu`, `tests/kernels/operands.rs`, compares
//! reads and writes with the life ranges of registers that `nvdisasm` prints.

mod shapes;

use std::collections::BTreeSet;
use std::fmt;

use crate::arch::{Arch, Generation};
use crate::instruction::{Bits as _, Instruction};

/// What an instruction does to registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// What kind of operation it is.
    pub kind: Kind,
    /// The registers that it writes. With a guard it may leave them as they are.
    pub defs: BTreeSet<Register>,
    /// The registers that it reads, those of the guard included.
    pub uses: BTreeSet<Register>,
}

impl Effects {
    /// The effects of an instruction; `None` if its operands are not in the table.
    pub fn of(instruction: &Instruction, arch: Arch) -> Option<Self> {
        let shape = shapes::shape(instruction, arch.generation())?;
        let of_role = |role: Role| -> BTreeSet<Register> {
            let operands = shape.operands.iter().filter(|operand| operand.role == role);
            operands.flat_map(|operand| operand.registers(arch.generation())).collect()
        };
        let mut uses = of_role(Role::Use);
        if let Some(guard) = instruction.predicate.filter(|guard| guard.number != TRUE) {
            let bank = if guard.uniform { Bank::UniformPredicate } else { Bank::Predicate };
            uses.insert(Register { bank, number: guard.number });
        }
        Some(Self { kind: shape.kind, defs: of_role(Role::Def), uses })
    }
}

/// A file of registers.
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

/// One register of 32 bits, or one predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// The file.
    pub bank: Bank,
    /// Its number there.
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
    /// Nothing: its result follows from its operands.
    Arithmetic,
    /// It reads a clock.
    Clock,
    /// It accesses memory, or orders accesses.
    Memory,
    /// It waits for other warps or threads.
    Barrier,
    /// It decides which instruction follows.
    Control,
}

/// Whether an operand is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Def,
    Use,
}

/// Registers that an instruction names in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    bank: Bank,
    /// The number in the field.
    number: u8,
    /// How many consecutive registers are meant.
    count: u8,
    role: Role,
}

impl Operand {
    /// The registers, without those that are constant.
    fn registers(self, generation: Generation) -> impl Iterator<Item = Register> {
        let constant = match self.bank {
            Bank::General => ZERO,
            Bank::Uniform => uniform_zero(generation),
            Bank::Predicate | Bank::UniformPredicate => TRUE,
        };
        let count = if self.number == constant { 0 } else { self.count };
        (0..count).map(move |step| Register { bank: self.bank, number: self.number.wrapping_add(step) })
    }
}

/// Blackwell has 256 uniform registers where older architectures have 64.
const fn uniform_zero(generation: Generation) -> u8 {
    match generation {
        Generation::Turing | Generation::Ampere | Generation::Hopper => 63,
        Generation::Blackwell | Generation::BlackwellRtx => 255,
    }
}

/// The operands of an instruction, as they are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    pub(super) operands: Vec<Operand>,
    raw: u128,
    generation: Generation,
}

impl Shape {
    pub(super) const fn new(kind: Kind, raw: u128, generation: Generation) -> Self {
        Self { kind, operands: Vec::new(), raw, generation }
    }

    /// The same operands of another kind of operation.
    pub(super) fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    pub(super) fn bit(&self, low: u32) -> bool {
        self.raw.field(low, 1) == 1
    }

    /// Three bits that say where the second and third operand are.
    pub(super) fn form(&self) -> u64 {
        self.raw.field(9, 3)
    }

    /// Whether the lowest nine bits are this number.
    pub(super) fn is_number(&self, number: u64) -> bool {
        self.raw.field(0, 9) == number
    }

    /// Registers of an operand of MOV, ISETP and the like: Blackwell for workstations has them with 64 bits.
    pub(super) fn words(&self) -> u8 {
        if self.generation == Generation::BlackwellRtx && self.bit(80) { 2 } else { 1 }
    }

    fn push(mut self, bank: Bank, role: Role, low: u8, count: u8) -> Self {
        let width = match bank {
            Bank::Uniform if uniform_zero(self.generation) == 63 => 6,
            Bank::General | Bank::Uniform => 8,
            Bank::Predicate | Bank::UniformPredicate => 3,
        };
        let number = self.raw.field(low.into(), width) as u8;
        self.operands.push(Operand { bank, number, count, role });
        self
    }

    /// Writes general registers.
    pub(super) fn def(self, low: u8, count: u8) -> Self {
        self.push(Bank::General, Role::Def, low, count)
    }

    /// Reads general registers.
    pub(super) fn read(self, low: u8, count: u8) -> Self {
        self.push(Bank::General, Role::Use, low, count)
    }

    /// Writes uniform registers.
    pub(super) fn def_uniform(self, low: u8, count: u8) -> Self {
        self.push(Bank::Uniform, Role::Def, low, count)
    }

    /// Reads uniform registers.
    pub(super) fn read_uniform(self, low: u8, count: u8) -> Self {
        self.push(Bank::Uniform, Role::Use, low, count)
    }

    /// Writes predicates of threads.
    pub(super) fn def_predicates(self, lows: &[u8]) -> Self {
        lows.iter().fold(self, |shape, &low| shape.push(Bank::Predicate, Role::Def, low, 1))
    }

    /// Reads predicates of threads.
    pub(super) fn read_predicates(self, lows: &[u8]) -> Self {
        lows.iter().fold(self, |shape, &low| shape.push(Bank::Predicate, Role::Use, low, 1))
    }

    /// Writes uniform predicates.
    pub(super) fn def_uniform_predicates(self, lows: &[u8]) -> Self {
        lows.iter().fold(self, |shape, &low| shape.push(Bank::UniformPredicate, Role::Def, low, 1))
    }

    /// Reads uniform predicates.
    pub(super) fn read_uniform_predicates(self, lows: &[u8]) -> Self {
        lows.iter().fold(self, |shape, &low| shape.push(Bank::UniformPredicate, Role::Use, low, 1))
    }

    /// The same, if `condition` holds, with what `change` adds.
    pub(super) fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }

    /// The second and the third source of an arithmetic operation, of so many registers each. The form says which of them
    /// is a register, a uniform register, a constant or a number.
    pub(super) fn sources(self, second: u8, third: u8) -> Self {
        match self.form() {
            1 => self.read(32, second).read(64, third),
            2 | 3 => self.read(64, second),
            6 => self.read_uniform(32, second).read(64, third),
            7 => self.read_uniform(32, third).read(64, second),
            // 4 and 5: the second one is a number or a constant.
            _ => self.read(64, third),
        }
    }

    /// The only source of an operation, or the second of two.
    pub(super) fn source(self, count: u8) -> Self {
        match self.form() {
            1 => self.read(32, count),
            3 => self.read(64, count),
            6 | 7 => self.read_uniform(32, count),
            _ => self,
        }
    }

    /// The same for operations of the uniform datapath.
    pub(super) fn uniform_sources(self, second: u8, third: u8) -> Self {
        match self.form() {
            1 => self.read_uniform(32, second).read_uniform(64, third),
            2 | 3 => self.read_uniform(64, second),
            _ => self.read_uniform(64, third),
        }
    }

    /// The only source of such an operation, or the second of two.
    pub(super) fn uniform_source(self, count: u8) -> Self {
        match self.form() {
            1 | 6 => self.read_uniform(32, count),
            2 | 3 => self.read_uniform(64, count),
            _ => self,
        }
    }
}

/// An instruction with what it writes and reads: `0x02c0: LDS  [B------:R0:W1:-:S02]  R23 <- R12`.
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
