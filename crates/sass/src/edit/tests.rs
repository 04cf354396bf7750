//! Edits of a few instructions that NVRTC 13.0 compiled for Hopper: the timed part of the shared-memory snippet of
//! `syncscope paper timeline`.

use super::*;
use crate::arch::Arch;
use crate::bits::Bits as _;
use crate::cubin::Kernel;
use crate::testing::EXIT;

#[rustfmt::skip]
const SNIPPET: [u128; 14] = [
    0x000f_ec00_0001_0000_0000_0000_0000_7b1d, // 0x00 BAR.SYNC.DEFER_BLOCKING 0x0
    0x000f_2800_0c1f_5900_0000_0008_080b_7981, // 0x10 LDG.E.STRONG.SYS R11, desc[UR8][R8.64]
    0x000f_6200_0c1f_5900_0000_0408_080f_7981, // 0x20 LDG.E.STRONG.SYS R15, desc[UR8][R8.64+0x4]
    0x010f_e200_078e_0200_0000_0001_0b0c_7824, // 0x30 IMAD.IADD R12, R11, 0x1, R0
    0x020f_c400_07ff_e0ff_0000_0000_0f0f_7210, // 0x40 IADD3 R15, R15, R0, RZ
    0x000f_e400_0001_5000_0000_0000_000a_7805, // 0x50 CS2R R10, SR_CLOCKLO
    0x000f_e200_0f8e_10ff_0000_0005_0c0c_7c11, // 0x60 LEA R12, R12, UR5, 0x2
    0x000f_e200_078e_00ff_4228_0000_ff11_7424, // 0x70 IMAD.MOV.U32 R17, RZ, RZ, 0x42280000
    0x000f_c800_0f8e_10ff_0000_0005_0f0f_7c11, // 0x80 LEA R15, R15, UR5, 0x2
    0x000f_e200_0000_0800_0000_0011_0c00_7388, // 0x90 STS [R12], R17
    0x000f_ec00_0001_0000_0000_0000_0000_7b1d, // 0xa0 BAR.SYNC.DEFER_BLOCKING 0x0
    0x0000_6400_0000_0800_0000_0000_0f15_7984, // 0xb0 LDS R21, [R15]
    0x001f_e400_0001_5000_0000_0000_000e_7805, // 0xc0 CS2R R14, SR_CLOCKLO
    EXIT,
];

const OPENING: u64 = 0x50;
const STORE: u64 = 0x90;
const LOAD: u64 = 0xb0;
const CLOSING: u64 = 0xc0;

fn edit_of(words: &[u128], referred: &[u64]) -> KernelEdit {
    let (arch, code) = (Arch::new(90).unwrap(), words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    KernelEdit::new(Kernel::decode("snippet", &code, arch).unwrap(), referred.to_vec())
}

fn snippet() -> KernelEdit {
    edit_of(&SNIPPET, &[])
}

fn opcodes(edit: &KernelEdit) -> Vec<&'static str> {
    edit.instructions().iter().map(|instruction| instruction.opcode).collect()
}

#[test]
fn the_clock_reads_are_corrected_as_in_the_source() {
    let mut edit = snippet();
    let made = correct_clock_reads(&mut edit).unwrap();
    let between = ["CS2R", "STS", "BAR", "LDS", "CS2R", "EXIT"];
    assert_eq!(opcodes(&edit)[8..], between, "arithmetic stands before");
    assert!(edit.instructions()[12].control.waits_for(1), "the load");
    let moved: Vec<u64> =
        made.iter().filter(|found| found.change.contains(" was moved before ")).map(|found| found.offset).collect();
    assert_eq!(moved, [0x60, 0x70, 0x80]);
    let change = format!("the clock read now waits on scoreboard barrier 1, set by LDS at {LOAD:#06x}");
    assert!(made.contains(&Correction { offset: CLOSING, change }), "{made:?}");
    // Corrected twice is corrected once.
    let words: Vec<u128> = edit.words().collect();
    assert_eq!(correct_clock_reads(&mut edit).unwrap(), []);
    assert_eq!(edit.words().collect::<Vec<_>>(), words);
}

#[test]
fn an_edit_changes_its_bits_and_no_others() {
    let mut edit = snippet();
    edit.set_wait(CLOSING, 1).unwrap();
    edit.set_stall(OPENING, 7).unwrap();
    let changed = edit.changed_bits();
    assert_eq!(changed.into_iter().collect::<Vec<_>>(), [(OPENING, (2 ^ 7) << 105), (CLOSING, 1 << 117)]);
    edit.clear_wait(CLOSING, 1).unwrap();
    edit.set_stall(OPENING, 2).unwrap();
    assert!(edit.words().eq(SNIPPET), "and back");
}

#[test]
fn a_moved_instruction_keeps_its_bits() {
    let mut edit = snippet();
    edit.set_stall(0x60, 2).unwrap();
    edit.move_instruction(0x70, 0x60).unwrap();
    assert_eq!(edit.changed_bits().into_keys().collect::<Vec<_>>(), [0x60], "the stall count alone");
    assert_eq!(edit.words().nth(6), Some(SNIPPET[7]));
    assert_eq!((edit.compiled_offset(0x60), edit.current_offset(0x60)), (Some(0x70), Some(0x70)));
}

fn refusal(change: impl FnOnce(&mut KernelEdit) -> Result<(), EditError>) -> EditError {
    let mut edit = snippet();
    let error = change(&mut edit).unwrap_err();
    assert!(edit.words().eq(SNIPPET), "what is refused is not made");
    error
}

#[test]
fn the_order_of_dependent_instructions_is_kept() {
    let text = |from, to| refusal(|edit| edit.move_instruction(from, to)).to_string();
    assert_eq!(
        text(LOAD, STORE),
        "LDS (compiled at 0x00b0) must stay behind STS (compiled at 0x0090): both access memory or wait for others"
    );
    assert!(text(0x60, 0x30).contains("it reads R12, which the first writes"));
    assert!(text(0x60, 0x90).contains("STS (compiled at 0x0090) must stay behind LEA (compiled at 0x0060)"));
    assert!(text(CLOSING, OPENING).contains("both read a clock") || text(CLOSING, OPENING).contains("R15"));
    assert!(text(LOAD, 0xd0).contains("ends the basic block"));
}

#[test]
fn a_wait_that_something_needs_is_kept() {
    // IADD3 waits for barrier 5 of the second load.
    let error = refusal(|edit| edit.clear_wait(0x40, 5));
    let text = error.to_string();
    assert!(text.starts_with("IADD3") && text.contains("what LDG") && text.contains("R15"), "{text}");
    assert!(text.contains("wait for barrier 5"), "{text}");
    // The closing read overwrites the address of the load.
    let error = refusal(|edit| edit.clear_wait(CLOSING, 0));
    assert!(error.to_string().contains("it overwrites R15, which the first reads"), "{error}");
}

#[test]
fn fixed_latencies_are_kept() {
    let error = refusal(|edit| edit.set_stall(0x80, 1));
    let EditError::TooSoon { needed, left, .. } = error else { panic!("{error}") };
    assert!(left < needed && needed <= 16, "{left} of {needed}");
    let error = refusal(|edit| edit.set_stall(0xa0, 1));
    assert!(error.to_string().starts_with("LDS (compiled at 0x00b0) needs what"), "{error}");
}

#[test]
fn waits_that_would_not_wait_are_refused() {
    let text = |offset, barrier| refusal(|edit| edit.set_wait(offset, barrier)).to_string();
    assert!(text(CLOSING, 3).starts_with(&format!("a wait for barrier 3 at {CLOSING:#06x} would wait for nothing")));
    assert!(text(0x10, 1).starts_with("a wait for barrier 1 at 0x0010 would wait for nothing"));
    let mut words = SNIPPET;
    words[11] ^= 0b11 << 105;
    let mut edit = edit_of(&words, &[]);
    assert_eq!(edit.instructions()[11].control.stall, 1);
    assert!(edit.set_wait(CLOSING, 1).unwrap_err().to_string().contains("sets barrier 1 in its second cycle"));
}

#[test]
fn places_and_values_that_do_not_exist_are_refused() {
    for (refused, why) in [
        (refusal(|edit| edit.set_wait(0xe0, 1)), "no instruction at 0x00e0"),
        (refusal(|edit| edit.set_wait(0x51, 1)), "no instruction at 0x0051"),
        (refusal(|edit| edit.set_wait(OPENING, 6)), "barriers are 0 to 5"),
        (refusal(|edit| edit.set_stall(OPENING, 16)), "stall counts are 0 to 15"),
    ] {
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[test]
fn what_the_file_refers_to_keeps_its_address() {
    let mut edit = edit_of(&SNIPPET, &[0x70]);
    let error = edit.move_instruction(0x80, 0x60).unwrap_err();
    assert_eq!(error.to_string(), "IMAD at 0x0070 cannot get another address: the file refers to its address");
}

#[test]
fn an_instruction_with_unknown_operands_stops_everything() {
    let mut words = SNIPPET;
    // An operation that is not in the table of operands.
    words[7] = words[7] & !0xfff | 0x9ff;
    let error = edit_of(&words, &[]).move_instruction(0x80, 0x60).unwrap_err();
    assert!(error.to_string().contains("the operands of one of them are unknown"), "{error}");
}

#[test]
fn long_stall_counts_yield() {
    let mut edit = snippet();
    edit.set_stall(OPENING, 12).unwrap();
    let control = edit.instructions()[5].control;
    assert!(control.yields && control.stall == 12);
    assert_eq!(SNIPPET[5].field(109, 1), 1, "it did not before");
}
