//! Decoding instructions of 64-bit ARM.

use std::ffi::c_void;

use yaxpeax_arch::{Arch, Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{ARMv8, Instruction, Opcode, Operand};

use super::function::{Decoded, Flow};

/// The length of every instruction.
const BYTES: usize = 4;

/// The instructions that follow each other from `address`. `called` finds the code of a called function.
pub(super) fn instructions<'a>(
    code: &'a [u8],
    address: u64,
    called: &'a dyn Fn(u64) -> Option<&'a [u8]>,
) -> impl Iterator<Item = Decoded> {
    code.chunks_exact(BYTES).zip((address..).step_by(BYTES)).map(move |(bytes, address)| {
        let decoded = decode(bytes, address);
        let Flow::Call(Some(function)) = decoded.flow else { return decoded };
        let outlined = called(function).and_then(outlined);
        // An outlined atomic is known code, so it does not count as a call.
        let own_name = || syncscope_host::name_of(function as usize as *const c_void);
        let name = || own_name().unwrap_or_else(|| format!("{function:x}"));
        let text = outlined.map_or_else(|| format!("bl {}", name()), |atomic| format!("outline {atomic}"));
        Decoded { text, ..decoded }
    })
}

fn decode(bytes: &[u8], address: u64) -> Decoded {
    let decoded = <ARMv8 as Arch>::Decoder::default().decode(&mut U8Reader::new(bytes));
    let end = address + BYTES as u64;
    let Ok(instruction) = decoded else {
        // Data, or an instruction newer than the disassembler.
        return Decoded { address, end, text: "unknown".to_owned(), flow: Flow::Next };
    };
    let flow = flow_of(&instruction, address);
    let mut text = instruction.to_string();
    if matches!(flow, Flow::Branch(_) | Flow::Jump(_)) {
        // The target is the last operand.
        text.truncate(text.rfind(' ').unwrap_or(text.len()));
    }
    Decoded { address, end, text, flow }
}

fn flow_of(instruction: &Instruction, address: u64) -> Flow {
    let target = || {
        let offset = instruction.operands.iter().find_map(|operand| match operand {
            Operand::PCOffset(offset) => Some(*offset),
            _ => None,
        });
        address.wrapping_add_signed(offset.unwrap_or_default())
    };
    match instruction.opcode {
        Opcode::B => Flow::Jump(target()),
        Opcode::Bcc(_) | Opcode::CBZ | Opcode::CBNZ | Opcode::TBZ | Opcode::TBNZ => Flow::Branch(target()),
        Opcode::BL => Flow::Call(Some(target())),
        Opcode::BLR => Flow::Call(None),
        Opcode::RET | Opcode::BR | Opcode::BRK | Opcode::UDF => Flow::End,
        _ => Flow::Next,
    }
}

/// The most instructions in a function of outlined atomics.
const LONGEST_OUTLINED: usize = 20;

/// The atomic instruction that a function executes where the processor has it. `None` if the function holds anything but that
/// instruction and the loop for processors without it. Compilers outline atomic operations in this way where they do not know the
/// processor (`-moutline-atomics`; Rust's default on Linux).
fn outlined(code: &[u8]) -> Option<String> {
    const ATOMIC: [&str; 6] = ["cas", "swp", "ldadd", "ldset", "ldclr", "ldeor"];
    let instructions = code.chunks_exact(BYTES).take(LONGEST_OUTLINED).map(|bytes| decode(bytes, 0));
    let texts: Vec<String> = instructions.map(|instruction| instruction.text).collect();
    let mut parts = texts.split(|text| text.starts_with("ret"));
    let (direct, in_a_loop) = (parts.next()?, parts.next()?);
    let name = direct.last()?.split(' ').next()?;
    let has = |names: [&str; 2]| in_a_loop.iter().any(|text| names.iter().any(|name| text.starts_with(name)));
    let is_atomic = ATOMIC.iter().any(|start| name.starts_with(start));
    (is_atomic && has(["ldxr", "ldaxr"]) && has(["stxr", "stlxr"])).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::function::{function, loop_of};
    use crate::evidence::{Architecture, Expected, TimedLoop, judge};
    use syncscope_core::Evidence;

    const LDADD: u32 = 0xf822_0023; // ldadd x2, x3, [x1]
    const LDADDAL: u32 = 0xf8e2_0023;
    const SWP: u32 = 0xf822_8023;
    const CAS: u32 = 0xc8a2_7c23;
    const STR: u32 = 0xf900_0022;
    const DMB_ISH: u32 = 0xd503_3bbf;
    const DMB_ISHLD: u32 = 0xd503_39bf;
    const DMB_ISHST: u32 = 0xd503_3abf;
    const ISB: u32 = 0xd503_3fdf;
    /// ldaxr w8, [x1]; add w8, w8, #1; stlxr w9, w8, [x1]; cbnz w9, back to the ldaxr
    const EXCLUSIVE: [u32; 4] = [0x885f_fc28, 0x1100_0508, 0x8809_fc28, 0x35ff_ffa9];
    /// [`EXCLUSIVE`] with stxr.
    const NOT_RELEASING: [u32; 4] = [0x885f_fc28, 0x1100_0508, 0x8809_7c28, 0x35ff_ffa9];
    /// bl +0x1000, which is far behind the loop.
    const CALL: u32 = 0x9400_0400;
    /// `__aarch64_ldadd4_relax` of compiler-builtins.
    const OUTLINED: [u32; 11] = [
        0x9000_0010,
        0x3940_0210,
        0x3400_0070,
        0xb820_0020,
        0xd65f_03c0,
        0x2a00_03f0,
        0x885f_7c20,
        0x0b10_0011,
        0x880f_7c31,
        0x35ff_ffaf,
        0xd65f_03c0,
    ];

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A loop with `times` copies of the `step` that counts down and goes back.
    fn repeated(step: &[u32], times: usize) -> TimedLoop {
        // The nop keeps a retry from leading to the beginning of an iteration.
        let mut words = vec![0xd503_201f]; // nop
        words.extend(step.repeat(times));
        words.push(0xf100_0400); // subs x0, x0, #1
        let back = words.len() as u32;
        words.extend([0x5400_0001 | ((back.wrapping_neg() & 0x7_ffff) << 5), 0xd65f_03c0]); // b.ne back; ret
        let (code, outlined) = (bytes(&words), bytes(&OUTLINED));
        let called = |address| (address >= 0x2000).then_some(outlined.as_slice());
        let function = function(instructions(&code, 0x1000, &called), &code);
        loop_of(&function, Architecture::Aarch64).unwrap()
    }

    fn examined(step: &[u32], expected: Expected) -> Evidence {
        judge(&repeated(step, 2), &repeated(step, 4), 2, expected)
    }

    #[test]
    fn wrong_instructions_are_noticed() {
        let adds = Expected::once(&[], &["ldadd", "stadd", "outline ldadd", "stxr"]);
        let orders = Expected::once(&[], &["ldaddal", "outline ldaddal", "stlxr"]);
        let compares = Expected::once(&[], &["cas", "outline cas", "ldxr"]);
        let loads = Expected::once(&[], &["dmb ishld"]);
        let all = Expected::once(&[], &["dmb ish"]);
        let cases: [(Expected, &[u32], &[u32], &str); 7] = [
            (adds, &[LDADD], &[STR], "ldadd 2/4"),
            (orders, &[LDADDAL], &[LDADD], "ldaddal 2/4"),
            (orders, &EXCLUSIVE, &NOT_RELEASING, "stlxr 2/4"),
            (compares, &[CAS], &[SWP], "cas 2/4"),
            (loads, &[DMB_ISHLD], &[DMB_ISHST], "dmb ishld 2/4"),
            (all, &[DMB_ISH], &[ISB], "dmb ish 2/4"),
            (adds, &[CALL], &[DMB_ISH], "outline ldadd 2/4"),
        ];
        for (expected, right, wrong, summary) in cases {
            let evidence = examined(right, expected);
            assert!(matches!(evidence, Evidence::Present { .. }), "{evidence:?}");
            assert!(evidence.summary().unwrap().starts_with(summary), "{evidence:?}");
            let evidence = examined(wrong, expected);
            assert!(matches!(evidence, Evidence::Elided { .. }), "{evidence:?}");
        }
    }

    #[test]
    fn functions_that_are_not_outlined_atomics_stay_calls() {
        assert_eq!(outlined(&bytes(&OUTLINED)).as_deref(), Some("ldadd"));
        let mut another = OUTLINED;
        another[3] = 0xb900_0020; // str w0, [x1]
        assert_eq!(outlined(&bytes(&another)), None);
        assert_eq!(outlined(&bytes(&OUTLINED[..5])), None);
        let call = repeated(&[0x9400_0010], 1);
        assert!(call.calls(), "{}", call.listing());
        assert!(!repeated(&[CALL], 1).calls());
    }

    #[test]
    fn a_difference_is_named_by_what_costs_most() {
        let evidence = judge(&repeated(&[STR], 2), &repeated(&[STR, DMB_ISH], 2), 2, Expected::Difference);
        assert_eq!(evidence.summary(), Some("dmb ish 0/2"));
    }
}
