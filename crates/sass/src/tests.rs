//! Golden listings: instructions of compiled kernels for several architectures, named as `nvdisasm` 13.2 names them.
//! `nvdisasm` does not print the control field; that part of each line follows from the layout in `instruction.rs`.

use crate::arch::Arch;
use crate::instruction::{Clock, Instruction};

fn decode(arch: u32, raw: u128, offset: u64) -> Instruction {
    Instruction::decode(offset, raw, Arch::new(arch).unwrap())
}

#[rustfmt::skip]
const LISTING: &[(u32, u128, &str)] = &[
    (75, 0x000f_cc00_0001_5000_0000_0000_0004_7805, "0x0010: CS2R SR_CLOCKLO  [B------:R-:W-:Y:S06]"),
    (75, 0x000f_cc00_0000_5100_0000_0000_0005_7805, "0x0010: CS2R.32 SR_CLOCKHI  [B------:R-:W-:Y:S06]"),
    (75, 0x000f_e200_0001_ff00_0000_0000_000e_7805, "0x0240: CS2R  [B------:R-:W-:-:S01]"),
    (75, 0x000f_ea00_0000_0000_0000_0000_0000_8b1d, "0x00a0: @!P0 BAR.SYNC  [B------:R-:W-:-:S05]"),
    (75, 0x0001_e200_0c11_4108_0000_0012_ff00_098e, "0x00f0: @P0 RED.E.ADD.STRONG.GPU  [B------:R0:W-:-:S01]"),
    (75, 0x000f_ee00_0380_0000_ffff_ffff_0000_8948, "0x0080: @!P0 WARPSYNC  [B------:R-:W-:-:S07]"),
    (75, 0x000f_ea00_0000_3000_0000_0000_0000_7992, "0x00a0: MEMBAR.SC.SYS  [B------:R-:W-:-:S05]"),
    (75, 0x000f_e800_0000_1000_0008_0100_0d07_7984, "0x01f0: LDS.U.U8  [B------:R-:W-:-:S04]"),
    (75, 0x000e_a400_0c1f_6900_0000_0004_ff00_7981, "0x0020: LDG.E.STRONG.SYS  [B------:R-:W2:-:S02]"),
    (80, 0x000f_ec00_0001_4000_0080_0000_0000_7b1d, "0x0120: BAR.RED.POPC.DEFER_BLOCKING  [B------:R-:W-:-:S06]"),
    (80, 0x020e_6200_0000_c200_0000_0000_0904_73c4, "0x0250: REDUX.SUM.S32  [B-----5:R-:W1:-:S01]"),
    (80, 0x0001_e800_0c10_ed84_0000_000c_0600_798e, "0x00b0: RED.E.ADD.F64.RN.STRONG.GPU  [B------:R0:W-:-:S04]"),
    (80, 0x000e_2400_000e_0000_0c20_1f00_0c07_7f89, "0x0150: SHFL.BFLY  [B------:R-:W0:-:S02]"),
    (80, 0x000f_e200_0d00_003f_0000_0000_ffff_7f8c, "0x0450: ATOMS.POPC.INC.32  [B------:R-:W-:-:S01]"),
    (86, 0x000e_6200_0002_0200_0000_0000_0409_73a1, "0x00c0: MATCH.ALL.U64  [B------:R-:W1:-:S01]"),
    (89, 0x000f_e200_0380_0000_0000_00d0_0000_7945, "0x0070: BSSY 0x150  [B------:R-:W-:-:S01]"),
    (89, 0x002f_ea00_0380_0000_0000_0030_0000_8947, "0x0100: @!P0 BRA 0x140  [B-1----:R-:W-:-:S05]"),
    (89, 0x000f_ea00_03c0_0000_0000_0008_0000_7348, "0x00e0: WARPSYNC.EXCLUSIVE  [B------:R-:W-:-:S05]"),
    (90, 0x000f_e800_0c10_f788_0000_0010_0200_79a6, "0x0530: REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU  [B------:R-:W-:-:S04]"),
    (90, 0x0001_6200_001f_410d_0000_000c_1cff_73a9, "0x0280: ATOMG.E.CAS.STRONG.SYS  [B------:R0:W5:-:S01]"),
    (90, 0x008e_a800_001e_e90c_0000_0008_0204_73a9, "0x0090: ATOMG.E.CAS.128.STRONG.GPU  [B---3--:R-:W2:-:S04]"),
    (90, 0x000f_e200_0d80_0006_0000_0000_ffff_7f8c, "0x03f0: ATOMS.POPC.INC.32  [B------:R-:W-:-:S01]"),
    (90, 0x000e_2400_0180_040a_0000_0008_0d0a_738d, "0x02e0: ATOMS.CAST.SPIN.64  [B------:R-:W0:-:S02]"),
    (90, 0x002f_ea00_0393_ffff_ffff_fffd_00ec_0947, "0x01e0: @P0 BRA.U.ANY 0x1a0  [B-1----:R-:W-:-:S05]"),
    (90, 0x001f_ea00_0b80_0000_0000_0002_0794_7947, "0x0170: BRA.DIV 0x3d0  [B0-----:R-:W-:-:S05]"),
    (90, 0x003f_ea00_03c0_0000_0000_0000_0008_7348, "0x0360: WARPSYNC.COLLECTIVE 0x390  [B01----:R-:W-:-:S05]"),
    (90, 0x000f_ea00_0380_0000_0000_0000_0000_7948, "0x0340: WARPSYNC.ALL  [B------:R-:W-:-:S05]"),
    (90, 0x000f_e200_0800_0000_0000_0000_0000_7dc7, "0x00a0: UCGABAR_WAIT  [B------:R-:W-:-:S01]"),
    (90, 0x000e_6400_0800_0147_0000_0000_ff00_75a7, "0x0220: SYNCS.PHASECHK.TRANS64.TRYWAIT  [B------:R-:W1:-:S02]"),
    (90, 0x0003_e200_0830_0407_0000_0000_ffff_79a7, "0x0120: SYNCS.ARRIVE.TRANS64.RED.A0TR  [B------:R1:W-:-:S01]"),
    (90, 0x000e_e800_0000_0100_0000_0000_0000_73c6, "0x0460: FENCE.VIEW.ASYNC.G  [B------:R-:W3:-:S04]"),
    (90, 0x000f_ec00_0000_0000_0000_0000_0000_05ab, "0x0c20: @P0 CGAERRBAR  [B------:R-:W-:-:S06]"),
    (90, 0x000f_e200_038e_0100_0000_0000_0004_7886, "0x0030: VOTEU.ANY  [B------:R-:W-:-:S01]"),
    (100, 0x004f_da00_0000_0200_0000_0000_0d04_72cc, "0x0ea0: CREDUX.MAX.S32  [B--2---:R-:W-:Y:S13]"),
    (100, 0x001e_aa00_0812_190c_fe00_0004_0208_797e, "0x0030: LDG.E.ENL2.256  [B0-----:R-:W2:-:S05]"),
    (100, 0x000f_d800_0380_0100_0000_01a0_0001_7945, "0x0120: BSSY.RELIABLE 0x2d0  [B------:R-:W-:Y:S12]"),
    (100, 0x000f_ea00_03c0_0000_0000_0024_0020_7944, "0x0110: CALL.REL.NOINC 0x25a0  [B------:R-:W-:-:S05]"),
    (120, 0x000f_e200_0001_5200_0000_0000_0008_78cb, "0x0030: CS2UR SR_GLOBALTIMERLO  [B------:R-:W-:-:S01]"),
    (120, 0x000e_6200_0000_8800_0000_0000_0005_79c3, "0x0060: S2UR  [B------:R-:W1:-:S01]"),
    (120, 0x000f_f000_0380_0000_0000_0064_0000_795d, "0x0040: NANOSLEEP  [B------:R-:W-:-:S08]"),
    (120, 0x004f_e200_0200_0000_0000_0000_ff00_898f, "0x21e0: @!P0 CCTL.IVALL  [B--2---:R-:W-:-:S01]"),
    (120, 0x000f_e200_0800_1a06_0000_0000_ff00_79b0, "0x01f0: ARRIVES.LDGSTSBAR.64.ARVCNT  [B------:R-:W-:-:S01]"),
    (120, 0x000f_e800_0c10_b904_0000_000f_0200_7986, "0x0220: STG.E.STRONG.SM  [B------:R-:W-:-:S04]"),
    (120, 0x000e_6200_0000_8800_0000_0000_0005_99c3, "0x0060: @!UP1 S2UR  [B------:R-:W1:-:S01]"),
    (120, 0x000f_c000_0383_ffff_ffff_fffc_00fc_7947, "0x0390: BRA 0x390  [B------:R-:W-:Y:S00]"),
];

#[test]
fn instructions_agree_with_the_vendors_disassembler() {
    for &(arch, raw, line) in LISTING {
        let offset = u64::from_str_radix(&line[2..6], 16).unwrap();
        let instruction = decode(arch, raw, offset);
        assert_eq!(instruction.to_string(), line, "sm_{arch} {raw:#034x}");
        assert!(instruction.is_known());
        assert_eq!(instruction.raw, raw);
    }
}

#[test]
fn clocks_are_distinguished() {
    let clock = |raw| decode(90, raw, 0).clock;
    assert_eq!(clock(0x000f_cc00_0001_5000_0000_0000_0004_7805), Some(Clock::Cycles64));
    assert_eq!(clock(0x000f_cc00_0000_5000_0000_0000_0004_7805), Some(Clock::Cycles32));
    assert_eq!(clock(0x000f_e200_0001_5200_0000_0000_0008_78cb), Some(Clock::GlobalTimer));
    assert_eq!(clock(0x000e_6200_0000_5000_0000_0000_0005_79c3), Some(Clock::Cycles32), "S2UR SR_CLOCKLO");
    assert_eq!(clock(0x000f_e200_0001_ff00_0000_0000_000e_7805), None, "CS2R SRZ, a zero");
}

#[test]
fn an_unknown_operation_is_marked() {
    let instruction = decode(90, 0x000f_ea00_0380_0000_0000_0000_0000_91ff, 0x40);
    assert!(!instruction.is_known());
    assert_eq!(instruction.to_string(), "0x0040: @!P1 OP_0x1ff  [B------:R-:W-:-:S05]");
    assert!(instruction.matches("OP_0x1ff") && !instruction.matches("NOP"));
}

#[test]
fn patterns_match_the_mnemonic_and_modifiers_in_order() {
    let instruction = decode(90, 0x000f_e800_0c10_f788_0000_0010_0200_79a6, 0);
    assert_eq!(instruction.mnemonic, "REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU");
    for pattern in ["REDG", "REDG.E.ADD", "REDG.ADD.GPU", "REDG.F32x4", "REDG.STRONG.GPU"] {
        assert!(instruction.matches(pattern), "{pattern}");
    }
    for pattern in ["RED", "RED.ADD", "REDG.GPU.ADD", "REDG.SYS", "REDG.E.ADD.F32", "REDG.ADD.ADD", ""] {
        assert!(!instruction.matches(pattern), "{pattern}");
    }
}

#[test]
fn any_bits_decode_to_something() {
    // Many bit patterns, among them branch displacements far outside the kernel.
    let mut raw = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
    for step in 0..4_000_u64 {
        raw = raw.rotate_left(41).wrapping_mul(0xda94_2042_e4dd_58b5_u128).wrapping_add(1);
        for arch in [75, 80, 90, 100, 120] {
            let instruction = decode(arch, raw, step * 16);
            assert!(instruction.to_string().contains(&instruction.mnemonic));
        }
    }
}
