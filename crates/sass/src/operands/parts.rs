//! An instruction taken apart.

use super::shape::Operand;
use super::shapes;
use crate::arch::Arch;
use crate::bits::Bits as _;
use crate::control::Control;
use crate::instruction::Instruction;

/// The fields of an instruction, and the bits outside of them. Fields may be changed; [`Parts::encode`] puts them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The number of the predicate that guards the instruction; 7 is always true.
    pub guard: u8,
    /// Whether the guard is negated.
    pub guard_negated: bool,
    /// Scheduling information.
    pub control: Control,
    /// The fields with registers; empty if they are not in the table.
    pub operands: Vec<Operand>,
    /// Everything else: operation, form, modifiers, numbers. The bits of the fields are 0 here.
    pub rest: u128,
}

const GUARD: (u32, u32) = (12, 3);
const NEGATED: (u32, u32) = (15, 1);

fn mask((low, width): (u32, u32)) -> u128 {
    ((1 << width) - 1) << low
}

fn put(value: u128, (low, width): (u32, u32)) -> u128 {
    value << low & mask((low, width))
}

impl Operand {
    fn place(self) -> (u32, u32) {
        (u32::from(self.low), u32::from(self.width))
    }
}

impl Parts {
    /// Takes an instruction apart.
    #[must_use]
    pub fn of(instruction: &Instruction, arch: Arch) -> Self {
        let raw = instruction.raw;
        let operands = shapes::shape(instruction, arch.generation()).map(|shape| shape.operands).unwrap_or_default();
        let fields = mask(GUARD) | mask(NEGATED) | Control::MASK;
        let fields = operands.iter().fold(fields, |fields, operand| fields | mask(operand.place()));
        Self {
            guard: raw.field(GUARD.0, GUARD.1) as u8,
            guard_negated: raw.field(NEGATED.0, NEGATED.1) == 1,
            control: Control::of(raw),
            operands,
            rest: raw & !fields,
        }
    }

    /// All bits.
    #[must_use]
    pub fn encode(&self) -> u128 {
        let guard = put(self.guard.into(), GUARD) | put(self.guard_negated.into(), NEGATED);
        let operands = self.operands.iter().fold(0, |bits, operand| bits | put(operand.number.into(), operand.place()));
        self.rest | guard | self.control.bits() | operands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(raw: u128) -> (Instruction, Arch) {
        let arch = Arch::new(90).unwrap();
        (Instruction::decode(0, raw, arch), arch)
    }

    /// `REDG.E.ADD.STRONG.GPU desc[UR4][R4.64], R7`.
    const RED: u128 = 0x0005_e200_0c10_e184_0000_0007_0400_798e;

    #[test]
    fn a_changed_field_changes_its_bits_alone() {
        let (instruction, arch) = decode(RED);
        let mut parts = Parts::of(&instruction, arch);
        assert_eq!(parts.encode(), RED);
        let data = parts.operands.iter_mut().find(|operand| operand.number == 7).unwrap();
        data.number = 8;
        assert_eq!(parts.encode() ^ RED, 0xf << 32, "R7 and R8 differ in four bits");
        parts.control.stall ^= 0b10;
        assert_eq!((parts.encode() ^ RED) >> 64, 0b10 << 41, "the stall count");
    }

    #[test]
    fn any_bits_survive() {
        let mut raw = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        for _ in 0..4_000 {
            raw = raw.rotate_left(41).wrapping_mul(0xda94_2042_e4dd_58b5_u128).wrapping_add(1);
            for number in [75, 80, 90, 100, 120] {
                let arch = Arch::new(number).unwrap();
                let instruction = Instruction::decode(0, raw, arch);
                assert_eq!(Parts::of(&instruction, arch).encode(), raw, "sm_{number} {raw:#034x}");
            }
        }
    }
}
