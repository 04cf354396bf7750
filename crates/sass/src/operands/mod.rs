//! The registers that an instruction reads and writes.
//!
//! [`Effects::of`] says them for the operations of the table in `shapes.rs`; of the others nothing is known. [`Parts`] takes
//! an instruction apart into guard, control field, operand fields and the rest, and puts it together again.
//!
//! How the fields were found: as those of the modifiers in `layouts.rs`. A test of `syncscope-gpu`, `tests/operands.rs`, compares
//! reads and writes with the life ranges of registers that `nvdisasm` prints.

mod parts;
mod register;
mod shape;
mod shapes;

pub use self::parts::Parts;
pub use self::register::{Bank, Register};
use self::shape::Role;
pub use self::shape::{Kind, Operand};
use crate::arch::Arch;
use crate::instruction::Instruction;

/// What an instruction does to registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// What kind of operation it is.
    pub kind: Kind,
    /// The registers that it writes. With a guard it may leave them as they are.
    pub defs: Vec<Register>,
    /// The registers that it reads, those of the guard included.
    pub uses: Vec<Register>,
}

impl Effects {
    /// The effects of an instruction; `None` if its operands are not in the table.
    #[must_use]
    pub fn of(instruction: &Instruction, arch: Arch) -> Option<Self> {
        let shape = shapes::shape(instruction, arch.generation())?;
        let of_role = |role: Role| {
            let mut registers: Vec<Register> = shape
                .operands
                .iter()
                .filter(|operand| operand.role == role)
                .flat_map(|operand| operand.registers(arch.generation()))
                .collect();
            registers.sort_unstable();
            registers.dedup();
            registers
        };
        let mut uses = of_role(Role::Use);
        if let Some(guard) = instruction.predicate.filter(|guard| guard.number != shape::TRUE) {
            let bank = if guard.uniform { Bank::UniformPredicate } else { Bank::Predicate };
            uses.push(Register { bank, number: guard.number });
            uses.sort_unstable();
            uses.dedup();
        }
        Some(Self { kind: shape.kind, defs: of_role(Role::Def), uses })
    }
}
