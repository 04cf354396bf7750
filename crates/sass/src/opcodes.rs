//! Operations by number, the lowest nine bits of an instruction. The three bits above select the form of the operands
//! (register, immediate, constant bank, uniform register) and rarely the name.
//!
//! The numbers come from `nvdisasm`, which printed the name of every number for every architecture from sm_75 to
//! sm_120; numbers of the graphics pipeline are left out. Code for an architecture contains only instructions which
//! that architecture has, so an entry names a range of architectures only if a number changed its meaning.

use crate::arch::Generation::{self, Ampere, Blackwell, BlackwellRtx, Hopper, Turing};
use crate::bits::Bits;

/// What an operation number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The mnemonic without modifiers.
    pub(crate) mnemonic: &'static str,
    /// Whether the uniform datapath executes it, so that its guard is a uniform predicate.
    pub(crate) uniform: bool,
}

/// A number whose meaning depends on more than the number: its mnemonic, the first and last generation, and the
/// condition on the other bits. Exceptions are tried before the tables below.
type Exception = (&'static str, u16, Generation, Generation, fn(u128) -> bool);

const ALWAYS: fn(u128) -> bool = |_| true;
const BIT_76: fn(u128) -> bool = |raw| raw.field(76, 1) == 1;
/// Half-precision inputs. Forms with an immediate or a constant as addend never have them.
const MIXED: fn(u128) -> bool = |raw| raw.field(81, 1) == 1 && matches!(form(raw), 1 | 6 | 7);

const fn form(raw: u128) -> u64 {
    (raw >> 9) as u64 & 7
}

const EXCEPTIONS: &[Exception] = &[
    ("IADD", 0x010, Blackwell, Blackwell, BIT_76),
    ("IADD", 0x035, Blackwell, BlackwellRtx, ALWAYS),
    ("VIADD", 0x036, Hopper, BlackwellRtx, ALWAYS),
    ("IMUL", 0x024, Blackwell, Blackwell, BIT_76),
    ("IMUL", 0x025, Blackwell, Blackwell, BIT_76),
    ("FHADD", 0x021, Blackwell, BlackwellRtx, MIXED),
    ("FHFMA", 0x023, Blackwell, BlackwellRtx, MIXED),
    ("FFMA2", 0x049, Blackwell, Blackwell, ALWAYS),
    ("FMUL2", 0x04a, Blackwell, Blackwell, ALWAYS),
    ("UFHADD", 0x054, BlackwellRtx, BlackwellRtx, MIXED),
    ("UFHFMA", 0x055, BlackwellRtx, BlackwellRtx, MIXED),
    ("MOV64IUR", 0x154, BlackwellRtx, BlackwellRtx, |raw| matches!(form(raw), 2 | 7)),
    ("RED", 0x18e, Turing, Ampere, ALWAYS),
    ("CGAERRBAR", 0x1ab, Hopper, BlackwellRtx, |raw| form(raw) == 2),
    ("UCGABAR_WAIT", 0x1c7, Hopper, BlackwellRtx, |raw| form(raw) == 6),
    ("UTCOMMA", 0x1ea, Blackwell, BlackwellRtx, |raw| raw.field(63, 1) == 1),
    ("UTCIMMA", 0x1ea, Blackwell, BlackwellRtx, |raw| raw.field(72, 2) == 1),
    ("UTCQMMA", 0x1ea, Blackwell, BlackwellRtx, |raw| raw.field(72, 2) == 3),
];

/// A mnemonic and its numbers.
type Row = (&'static str, &'static [u16]);

/// Operations of single threads and warps.
#[rustfmt::skip]
const VECTOR: &[Row] = &[
    ("ACQBULK", &[0x02e]), ("ACQSHMINIT", &[0x077]), ("ARRIVES", &[0x1b0]), ("ATOM", &[0x18a, 0x18b, 0x1a2]),
    ("ATOMG", &[0x1a3, 0x1a8, 0x1a9]), ("ATOMS", &[0x18c, 0x18d]), ("B2R", &[0x11c]), ("BAR", &[0x11d]),
    ("BGMMA", &[0x1f2]), ("BMMA", &[0x03d]), ("BMOV", &[0x155, 0x156, 0x157]), ("BMSK", &[0x01b]), ("BPT", &[0x15c]),
    ("BRA", &[0x147]), ("BREAK", &[0x142]), ("BREV", &[0x101]), ("BRX", &[0x149]), ("BRXU", &[0x158]),
    ("BSSY", &[0x145]), ("BSYNC", &[0x141]), ("CALL", &[0x143, 0x144]), ("CCTL", &[0x13f, 0x140, 0x18f]),
    ("CCTLL", &[0x190]), ("CCTLT", &[0x191]), ("CREDUX", &[0x0cc]), ("CS2R", &[0x005]), ("DADD", &[0x029]),
    ("DEPBAR", &[0x11a]), ("DFMA", &[0x02b]), ("DMMA", &[0x03f]), ("DMUL", &[0x028]), ("DSETP", &[0x02a]),
    ("ELECT", &[0x02f]), ("ENDCOLLECTIVE", &[0x11b]), ("ERRBAR", &[0x1ab]), ("EXIT", &[0x14d]),
    ("F2F", &[0x104, 0x110]), ("F2FP", &[0x03e]), ("F2I", &[0x105, 0x111]), ("F2IP", &[0x043]), ("FADD", &[0x021]),
    ("FADD2", &[0x04b]), ("FCHK", &[0x102]), ("FENCE", &[0x1c6]), ("FFMA", &[0x023]), ("FLO", &[0x100]),
    ("FMNMX", &[0x009]), ("FMNMX3", &[0x076]), ("FMUL", &[0x020]), ("FRND", &[0x107, 0x113]), ("FSEL", &[0x008]),
    ("FSET", &[0x00a]), ("FSETP", &[0x00b]), ("FSWZADD", &[0x022]), ("GETLMEMBASE", &[0x1c0]), ("HADD2", &[0x030]),
    ("HFMA2", &[0x031, 0x035]), ("HGMMA", &[0x1f0]), ("HMMA", &[0x036, 0x03c]), ("HMNMX2", &[0x040]),
    ("HMUL2", &[0x032]), ("HSET2", &[0x033]), ("HSETP2", &[0x034]), ("I2F", &[0x106, 0x112]), ("I2FP", &[0x045]),
    ("I2I", &[0x038]), ("I2IP", &[0x039]), ("IABS", &[0x013]), ("IADD3", &[0x010]), ("IDP", &[0x026]),
    ("IGMMA", &[0x1f1]), ("IMAD", &[0x024, 0x025, 0x027]), ("IMMA", &[0x037]), ("IMNMX", &[0x017]), ("ISETP", &[0x00c]),
    ("JMP", &[0x14a]), ("JMX", &[0x14c]), ("JMXU", &[0x159]), ("LD", &[0x180]), ("LDC", &[0x182]),
    ("LDG", &[0x17e, 0x181]), ("LDGDEPBAR", &[0x1af]), ("LDGMC", &[0x1a4, 0x1a5]), ("LDGSTS", &[0x1ae]),
    ("LDL", &[0x183]), ("LDS", &[0x184]), ("LDSM", &[0x03b]), ("LEA", &[0x011]), ("LEPC", &[0x14e]), ("LOP3", &[0x012]),
    ("MATCH", &[0x1a1]), ("MEMBAR", &[0x192]), ("MOV", &[0x002]), ("MOVM", &[0x03a]), ("MUFU", &[0x108]),
    ("NANOSLEEP", &[0x15d]), ("NOP", &[0x118]), ("OMMA", &[0x07f]), ("P2R", &[0x003]),
    ("PLOP3", &[0x01c, 0x01d, 0x01e, 0x01f]), ("PMTRIG", &[0x001]), ("POPC", &[0x109]), ("PREEXIT", &[0x02d]),
    ("PRMT", &[0x016]), ("QADD4", &[0x07d]), ("QFMA4", &[0x07b]), ("QGMMA", &[0x1f3]), ("QMMA", &[0x07a]),
    ("QMUL4", &[0x07c]), ("QSPC", &[0x1aa]), ("R2P", &[0x004]), ("R2UR", &[0x0ca, 0x1c2]), ("REDAS", &[0x1be]),
    ("REDG", &[0x18e, 0x1a6]), ("REDUX", &[0x1c4]), ("RET", &[0x150]), ("RPCMOV", &[0x152, 0x153, 0x154]),
    ("S2R", &[0x119]), ("SEL", &[0x007]), ("SETLMEMBASE", &[0x1c1]), ("SGXT", &[0x01a]), ("SHF", &[0x019]),
    ("SHFL", &[0x189]), ("ST", &[0x185]), ("STAS", &[0x1bd]), ("STG", &[0x17f, 0x186]), ("STL", &[0x187]),
    ("STS", &[0x188]), ("STSM", &[0x044]), ("SUATOM", &[0x193, 0x194, 0x195, 0x196]),
    ("SULD", &[0x197, 0x198, 0x199, 0x19a]), ("SUQUERY", &[0x1b3]), ("SURED", &[0x19f, 0x1a0]),
    ("SUST", &[0x19b, 0x19c, 0x19d, 0x19e]), ("SYNCS", &[0x1a7, 0x1b1]), ("TEX", &[0x160, 0x161, 0x162]),
    ("TLD", &[0x166, 0x167, 0x168]), ("TLD4", &[0x163, 0x164, 0x165]), ("TMML", &[0x169, 0x16a, 0x16b]),
    ("TXD", &[0x16c, 0x16d, 0x16e]), ("TXQ", &[0x16f, 0x170, 0x171]), ("VABSDIFF", &[0x014]), ("VABSDIFF4", &[0x015]),
    ("VHMNMX", &[0x047]), ("VIADDMNMX", &[0x046]), ("VIMNMX", &[0x048]), ("VIMNMX3", &[0x00f]), ("VOTE", &[0x006]),
    ("VOTEU", &[0x086]), ("WARPGROUP", &[0x1c5]), ("WARPGROUPSET", &[0x15e]), ("WARPSYNC", &[0x148]),
    ("YIELD", &[0x146]),
];

/// Operations of the uniform datapath, executed once per warp.
#[rustfmt::skip]
const UNIFORM: &[Row] = &[
    ("CS2UR", &[0x0cb]), ("LDCU", &[0x1ac]), ("LDTM", &[0x1ee]), ("S2UR", &[0x1c3]), ("STTM", &[0x1ed]),
    ("SYNCS", &[0x1b2]), ("UBLKCP", &[0x1ba]), ("UBLKPF", &[0x1bc]), ("UBLKRED", &[0x1bb]), ("UBMSK", &[0x09b]),
    ("UBREV", &[0x0be]), ("UCGABAR_ARV", &[0x1c7]), ("UCLEA", &[0x0bc]), ("UF2F", &[0x05b]), ("UF2FP", &[0x0ba]),
    ("UF2I", &[0x05c]), ("UF2IP", &[0x059]), ("UFADD", &[0x054]), ("UFFMA", &[0x055]), ("UFLO", &[0x0bd]),
    ("UFMNMX", &[0x050]), ("UFMUL", &[0x056]), ("UFRND", &[0x05d]), ("UFSEL", &[0x051]), ("UFSET", &[0x052]),
    ("UFSETP", &[0x053]), ("UGETNEXTWORKID", &[0x1ca]), ("UI2F", &[0x05a]), ("UI2FP", &[0x05e]), ("UI2I", &[0x04e]),
    ("UI2IP", &[0x04f]), ("UIABS", &[0x04d]), ("UIADD3", &[0x090, 0x097]), ("UIMAD", &[0x0a4, 0x0a5, 0x0a6]),
    ("UIMNMX", &[0x085]), ("UISETP", &[0x08c]), ("ULDC", &[0x0b8, 0x0b9, 0x0bb]), ("ULEA", &[0x091]),
    ("ULEPC", &[0x1ce]), ("ULOP3", &[0x092]), ("UMEMSETS", &[0x1cb]), ("UMOV", &[0x082]), ("UP2UR", &[0x083]),
    ("UPLOP3", &[0x09c, 0x09d, 0x09e, 0x09f]), ("UPOPC", &[0x0bf]), ("UPRMT", &[0x096]), ("UR2UP", &[0x084]),
    ("UREDGR", &[0x178]), ("USEL", &[0x087]), ("USETMAXREG", &[0x1c8]), ("USETSHMSZ", &[0x1c9]), ("USGXT", &[0x09a]),
    ("USHF", &[0x099]), ("USTGR", &[0x177]), ("UTCATOMSWS", &[0x1e3]), ("UTCBAR", &[0x1e9]), ("UTCCP", &[0x1e7]),
    ("UTCHMMA", &[0x1ea]), ("UTCSHIFT", &[0x1e6]), ("UTMACCTL", &[0x1b9]), ("UTMACMDFLUSH", &[0x1b7]),
    ("UTMALDG", &[0x1b4]), ("UTMAPF", &[0x1b8]), ("UTMAREDG", &[0x1b6]), ("UTMASTG", &[0x1b5]), ("UVIADD", &[0x049]),
    ("UVIMNMX", &[0x04a]), ("UVIRTCOUNT", &[0x04c]),
];

/// The operation of an instruction. `None` if its number is not in the tables.
pub(crate) fn operation(raw: u128, generation: Generation) -> Option<Operation> {
    let number = raw.field(0, 9) as u16;
    let exception = EXCEPTIONS.iter().find(|(_, exception, first, last, applies)| {
        *exception == number && (*first..=*last).contains(&generation) && applies(raw)
    });
    if let Some((mnemonic, ..)) = exception {
        return Some(Operation { mnemonic, uniform: mnemonic.starts_with('U') });
    }
    OPERATIONS[usize::from(number)]
}

/// Both tables, indexed by operation number.
static OPERATIONS: [Option<Operation>; 1 << 9] = {
    let mut operations = [None; 1 << 9];
    enter(VECTOR, false, &mut operations);
    enter(UNIFORM, true, &mut operations);
    operations
};

const fn enter(mut table: &[Row], uniform: bool, operations: &mut [Option<Operation>; 1 << 9]) {
    while let [(mnemonic, numbers), rest @ ..] = table {
        let mut numbers: &[u16] = numbers;
        while let [number, others @ ..] = numbers {
            operations[*number as usize] = Some(Operation { mnemonic, uniform });
            numbers = others;
        }
        table = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_meaning() {
        let mut numbers: Vec<u16> = VECTOR.iter().chain(UNIFORM).flat_map(|row| row.1).copied().collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert!(numbers.iter().all(|&number| number < 0x200));
    }

    #[test]
    fn numbers_that_changed_their_meaning_follow_the_architecture() {
        let name = |raw, generation| operation(raw, generation).map(|operation| operation.mnemonic);
        assert_eq!(name(0x98e, Ampere), Some("RED"));
        assert_eq!(name(0x98e, Hopper), Some("REDG"));
        assert_eq!(name(0x210, Blackwell), Some("IADD3"));
        assert_eq!(name(0x210 | 1 << 76, Blackwell), Some("IADD"));
        assert_eq!(name(0x210 | 1 << 76, Hopper), Some("IADD3"));
        assert_eq!(name(0x000, Hopper), None);
    }

    #[test]
    fn guards_of_uniform_operations_are_uniform() {
        assert!(operation(0x9c3, Turing).unwrap().uniform, "S2UR");
        assert!(!operation(0x886, Turing).unwrap().uniform, "VOTEU");
        assert!(operation(0x5b2, Hopper).unwrap().uniform, "SYNCS.EXCH");
        assert!(!operation(0x9a7, Hopper).unwrap().uniform, "SYNCS.ARRIVE");
    }
}
