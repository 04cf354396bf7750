//! The table of operations and the fields in which each holds registers.
//!
//! Field positions since Volta: destination at bit 16, sources at 24, 32 and 64, written predicates at 81 and 84, read
//! predicates at 87 and 77.

use crate::arch::Generation;
use crate::bits::Bits as _;
use crate::instruction::Instruction;
use crate::operands::{Kind, Shape};

/// The operands of an instruction; `None` if its operation, or this form of it, is not in the table.
pub(super) fn shape(instruction: &Instruction, generation: Generation) -> Option<Shape> {
    let raw = instruction.raw;
    let of = |kind| Shape::new(kind, raw, generation);
    // A register selects the constant bank.
    let bindless = matches!(raw.field(9, 3), 3 | 5) && raw.field(91, 1) == 1;
    if !bindless && let Some(shape) = arithmetic(instruction.opcode, of(Kind::Arithmetic)) {
        return Some(shape);
    }
    uniform(instruction.opcode, of(Kind::Arithmetic).of_warps())
        .or_else(|| clock(instruction, of(Kind::Clock)))
        .or_else(|| memory(instruction, generation, of(Kind::Memory)))
        .or_else(|| barrier(instruction, of(Kind::Barrier)))
        .or_else(|| control(instruction.opcode, generation, of(Kind::Control)))
}

/// Arithmetic per thread or per warp.
fn arithmetic(opcode: &str, shape: Shape) -> Option<Shape> {
    let extended = shape.bit(74);
    let words = shape.words();
    Some(match opcode {
        // MOV.64 with an immediate.
        "MOV" if shape.form() == 2 => shape.def(16, 2),
        "MOV" => shape.def(16, words).source(words),
        "SEL" => select(shape),
        "VIADD" | "FADD" | "FMUL" => shape.def(16, 1).read(24, 1).source(1),
        "SHF" | "PRMT" | "FFMA" | "HFMA2" => shape.def(16, 1).read(24, 1).sources(1, 1),
        "POPC" | "FLO" | "BREV" => shape.def(16, 1).source(1),
        "IADD3" => {
            // UIADD3.64 has an operation number of its own.
            let words = if shape.is_number(0x97) { 2 } else { 1 };
            let shape = shape.def(16, words).read(24, words).sources(words, words).def_predicates(&[81, 84]);
            shape.when(extended, |shape| shape.read_predicates(&[77, 87]))
        }
        "LEA" => {
            let shape = shape.def(16, 1).read(24, 1).sources(1, 1).def_predicates(&[81]);
            shape.when(extended, |shape| shape.read_predicates(&[87]))
        }
        "LOP3" => shape.def(16, 1).read(24, 1).sources(1, 1).def_predicates(&[81]).read_predicates(&[87]),
        "IMAD" => imad(shape),
        "ISETP" => {
            let with_carry = shape.bit(72);
            let shape = shape.read(24, words).source(words).def_predicates(&[81, 84]).read_predicates(&[87]);
            shape.when(with_carry, |shape| shape.read_predicates(&[68]))
        }
        _ => return None,
    })
}

/// SEL, and SEL.64 in forms 2 and 3.
fn select(shape: Shape) -> Shape {
    let shape = match shape.form() {
        2 => shape.def(16, 2).read(24, 2),
        3 => shape.def(16, 2).read(24, 2).read(32, 2),
        _ => shape.def(16, 1).read(24, 1).source(1),
    };
    shape.read_predicates(&[87])
}

/// IMAD, IMAD.WIDE and IMAD.HI. The uniform datapath has only the first two, and writes no predicate.
fn imad(shape: Shape) -> Shape {
    let (is_uniform, extended) = (shape.is_uniform, shape.bit(74));
    let (is_wide, is_high) = (shape.is_number(0x25) || shape.is_number(0xa5), shape.is_number(0x27));
    let (result, addend) = (if is_wide { 2 } else { 1 }, if is_wide || is_high { 2 } else { 1 });
    let shape = shape.def(16, result).read(24, 1).sources(1, addend);
    let shape = shape.when(!is_uniform, |shape| shape.def_predicates(&[81]));
    shape.when(extended, |shape| shape.read_predicates(&[87]))
}

/// Arithmetic of the uniform datapath, and moves from threads to warps.
fn uniform(opcode: &str, shape: Shape) -> Option<Shape> {
    match opcode {
        "UMOV" | "USHF" | "UPRMT" | "UIADD3" | "ULEA" | "ULOP3" | "UIMAD" | "UISETP" => arithmetic(&opcode[1..], shape),
        "VOTE" => Some(shape.of_threads().def(16, 1).def_predicates(&[81]).read_predicates(&[87])),
        "VOTEU" => Some(shape.def(16, 1).def_predicates(&[81]).of_threads().read_predicates(&[87])),
        "R2UR" => Some(shape.def(16, 1).of_threads().read(24, 1).def_predicates(&[81])),
        _ => None,
    }
}

/// Clocks and other special registers.
fn clock(instruction: &Instruction, shape: Shape) -> Option<Shape> {
    let kind = if instruction.clock.is_some() { Kind::Clock } else { Kind::Arithmetic };
    let count = if shape.bit(80) { 2 } else { 1 };
    let shape = shape.of_kind(kind);
    Some(match instruction.opcode {
        "CS2R" => shape.def(16, count),
        "CS2UR" => shape.of_warps().def(16, count),
        "S2R" => shape.def(16, 1),
        "S2UR" => shape.of_warps().def(16, 1),
        _ => return None,
    })
}

/// Registers in the value of a plain access.
fn size(raw: u128) -> u8 {
    match raw.field(73, 3) {
        5 => 2,
        6 => 4,
        _ => 1,
    }
}

/// Registers in the value of a global atomic operation.
fn atomic_size(raw: u128) -> u8 {
    // 64-bit integers with and without a sign, and double.
    if matches!(raw.field(73, 3), 2 | 5 | 6) && raw.field(73, 4) < 8 { 2 } else { 1 }
}

/// Memory accesses.
fn memory(instruction: &Instruction, generation: Generation, shape: Shape) -> Option<Shape> {
    let raw = instruction.raw;
    let code = raw.field(0, 12);
    let address = if raw.field(72, 1) == 1 { 2 } else { 1 };
    // With a uniform register, the thread's own part of a plain access's address may have 32 bits.
    let is_short = raw.field(91, 1) == 1 && raw.field(90, 1) == 0;
    let plain_address = if is_short { 1 } else { address };
    // Before Hopper, the descriptor of a global access is not a register.
    let described = generation >= Generation::Hopper || raw.field(91, 1) == 1;
    let constant = shape.clone().of_kind(Kind::Arithmetic);
    Some(match (instruction.opcode, code) {
        ("LDC", 0xb82) if raw.field(91, 1) == 0 => constant.def(16, size(raw)).read(24, 1),
        ("ULDC", 0xab9) => constant.of_warps().def(16, size(raw)),
        ("LDCU", 0x7ac) => constant.of_warps().def(16, size(raw)).read(24, 1),
        ("LDG", 0x381) => shape.def(16, size(raw)).read(24, address),
        ("LDG", 0x981) => {
            shape.def(16, size(raw)).read(24, plain_address).when(described, |shape| shape.read_uniform(32, 2))
        }
        ("STG", 0x386) => shape.read(24, address).read(32, size(raw)),
        ("STG", 0x986) => {
            shape.read(24, plain_address).read(32, size(raw)).when(described, |shape| shape.read_uniform(64, 2))
        }
        ("ATOMG", 0x3a8 | 0x9a8) => {
            let count = atomic_size(raw);
            let shape = shape.def(16, count).def_predicates(&[81]).read(24, address).read(32, count);
            shape.when(described && code == 0x9a8, |shape| shape.read_uniform(64, 2))
        }
        ("RED" | "REDG", 0x98e) => {
            let shape = shape.read(24, address).read(32, atomic_size(raw));
            shape.when(described, |shape| shape.read_uniform(64, 2))
        }
        ("LDS", 0x984) => {
            shape.def(16, size(raw)).read(24, 1).when(raw.field(91, 1) == 1, |shape| shape.read_uniform(32, 1))
        }
        ("STS", 0x388) => shape.read(24, 1).read(32, size(raw)),
        ("STS", 0x988) => {
            shape.read(24, 1).read(32, size(raw)).when(raw.field(91, 1) == 1, |shape| shape.read_uniform(64, 1))
        }
        ("SYNCS", 0x5b2) => shape.of_warps().def(16, 2).read(24, 1).read(32, 2),
        ("SYNCS", 0x5a7) => shape.def_predicates(&[81]).read(24, 1).read(32, 1).read_uniform(64, 1),
        ("SYNCS", 0x9a7) => shape.def(16, 2).read(24, 1).read(32, 1).read_uniform(64, 1),
        ("MEMBAR", 0x992) | ("ERRBAR" | "CGAERRBAR", _) => shape,
        ("CCTL", 0x98f) if instruction.matches("CCTL.IVALL") => shape,
        _ => return None,
    })
}

/// Barriers of a block or of the threads of a warp.
fn barrier(instruction: &Instruction, shape: Shape) -> Option<Shape> {
    match (instruction.opcode, instruction.raw.field(0, 12)) {
        ("BAR", 0xb1d) if instruction.matches("BAR.SYNC") => Some(shape),
        ("WARPSYNC", 0x948) => Some(shape.read_predicates(&[87])),
        _ => None,
    }
}

/// Instructions that decide what is executed next.
fn control(opcode: &str, generation: Generation, shape: Shape) -> Option<Shape> {
    // BRA.DIV branches unless all threads of this mask have arrived. On Turing the mask is in the predicate.
    let divergent = generation >= Generation::Ampere && shape.bit(33) && !shape.bit(32);
    Some(match opcode {
        "NOP" | "BSSY" => shape,
        "BSYNC" | "EXIT" | "YIELD" => shape.read_predicates(&[87]),
        "BRA" if shape.form() == 4 => shape.read_predicates(&[87]).when(divergent, |shape| shape.read_uniform(24, 1)),
        _ => return None,
    })
}
