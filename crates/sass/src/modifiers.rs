//! The modifiers of instructions that synchronize or access memory: bit fields, their words and how they are printed.
//! Instructions of other kinds are printed without modifiers.
//!
//! To find the fields, kernels were compiled for every architecture, single bits of their instructions were flipped,
//! and the output of `nvdisasm` showed which word changed. A test of `syncscope-gpu`, `tests/kernels/sass.rs`, repeats
//! the comparison.

use std::fmt::Write as _;

use crate::arch::Generation::{self, Ampere, Blackwell, BlackwellRtx, Hopper, Turing};
use crate::bits::Bits;

/// A bit field and its words, indexed by value. An empty word prints nothing; a value without a word prints
/// `INVALID<value>`, as `nvdisasm` does.
pub(crate) struct Field {
    low: u32,
    width: u32,
    words: &'static [&'static str],
    /// Whether the field is used in this instruction.
    applies: fn(u128) -> bool,
}

impl Field {
    /// A field of `width` bits from bit `low` upwards.
    pub(crate) const fn new(low: u32, width: u32, words: &'static [&'static str]) -> Self {
        Self { low, width, words, applies: |_| true }
    }

    /// A bit that selects one of two words.
    pub(crate) const fn flag(low: u32, words: &'static [&'static str; 2]) -> Self {
        Self::new(low, 1, words)
    }

    /// A word that is always printed.
    pub(crate) const fn fixed(words: &'static [&'static str; 1]) -> Self {
        Self::new(0, 0, words)
    }

    /// The same field, restricted to instructions for which `applies` holds.
    pub(crate) const fn when(self, applies: fn(u128) -> bool) -> Self {
        Self { applies, ..self }
    }

    fn print(&self, raw: u128, text: &mut String) {
        if !(self.applies)(raw) {
            return;
        }
        let value = raw.field(self.low, self.width);
        match self.words.get(value as usize) {
            Some(&"") => {}
            Some(word) => {
                text.push('.');
                text.push_str(word);
            }
            None => {
                // Writing to a String cannot fail.
                let _ = write!(text, ".INVALID{value}");
            }
        }
    }
}

/// The modifiers of the instructions that share a layout, in printing order.
pub(crate) struct Layout {
    /// The lowest 12 bits of these instructions.
    pub(crate) opcodes: &'static [u16],
    /// The first generation with this layout.
    pub(crate) first: Generation,
    /// The last generation with this layout.
    pub(crate) last: Generation,
    /// The fields.
    pub(crate) fields: &'static [Field],
}

/// Appends the modifiers of an instruction to its bare mnemonic.
pub(crate) fn print(layouts: &[Layout], opcode: u16, generation: Generation, raw: u128, text: &mut String) {
    let layout = layouts
        .iter()
        .find(|layout| (layout.first..=layout.last).contains(&generation) && layout.opcodes.contains(&opcode));
    for field in layout.map_or(&[][..], |layout| layout.fields) {
        field.print(raw, text);
    }
}

/// 64-bit addresses.
const EXTENDED: Field = Field::flag(72, &["", "E"]);
/// Hints for the caches about future uses of the line.
const EVICTION: Field = Field::new(84, 3, &["EF", "", "EL", "LU", "EU", "NA"]);
const EVICTION_L2: Field = Field::new(81, 2, &["EFL2", "ENL2", "ELL2"]);
/// How many neighbouring bytes the L2 cache fetches.
const PREFETCH: Field = Field::new(68, 2, &["", "LTC64B", "LTC128B", "LTC256B"]);

/// Size of a plain access. The empty word is 32 bits.
const SIZE: Field = Field::new(73, 3, &["U8", "S8", "U16", "S16", "", "64", "128"]);
const SIZE_TURING: Field = Field::new(73, 3, &["U8", "S8", "U16", "S16", "", "64", "128", "U.128"]);

/// Memory ordering and scope, one field since Ampere. The arguments are word 4 and the last three words.
#[rustfmt::skip]
macro_rules! order {
    ($plain:literal, $thirteen:literal, $fourteen:literal, $fifteen:literal) => {
        Field::new(77, 4, &[
            "", "CONSTANT.PRIVATE", "CONSTANT.CTA", "CONSTANT.CTA.PRIVATE", $plain, "STRONG.SM", "STRONG.GPU.PRIVATE",
            "STRONG.GPU", "MMIO.GPU", "CONSTANT.SM", "STRONG.SYS", "CONSTANT.SM.PRIVATE", "MMIO.SYS", $thirteen,
            $fourteen, $fifteen,
        ])
    };
}
const LOAD_ORDER: Field = order!("CONSTANT", "CONSTANT.VC", "CONSTANT.VC.PRIVATE", "CONSTANT.GPU");
const ORDER: Field = order!("STRONG.SM.PRIVATE", "CONSTANT.VC", "CONSTANT.VC.PRIVATE", "CONSTANT.GPU");
const STORE_ORDER: Field = order!("STRONG.SM.PRIVATE", "SYS.ORDERED", "STRONG.SYS.ORDERED", "MMIO.SYS.ORDERED");

const LOAD_STRENGTH_TURING: Field = Field::new(79, 2, &["CONSTANT", "", "STRONG", "MMIO"]);
const STORE_STRENGTH_TURING: Field = Field::new(79, 2, &["INVALID0", "", "STRONG", "MMIO"]);
const ATOMIC_STRENGTH_TURING: Field = Field::new(79, 2, &["INVALID0", "", "STRONG"]);
const SCOPE_TURING: Field = Field::new(77, 2, &["CTA", "SM", "GPU", "SYS"]);
const PRIVATE_TURING: Field = Field::flag(76, &["", "PRIVATE"]);

/// The flag that comes with a predicate operand, which compilers do not use. Its effect is undocumented.
const ZD_TURING: Field = Field::flag(87, &["", "ZD"]);

/// Read-modify-write operations. RED lacks the fourth bit, so it cannot exchange.
const REDUCTION: Field = Field::new(87, 3, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"]);
const ATOMIC: Field = Field::new(87, 4, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH"]);
const ATOMIC_GLOBAL: Field =
    Field::new(87, 4, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "SAFEADD"]);
const FLOAT_REDUCTION: Field = Field::new(88, 2, &["ADD", "MIN", "MAX"]);
const COMPARE_AND_SWAP: Field = Field::fixed(&["CAS"]);
const CAS_OR_CAST: Field = Field::flag(87, &["CAS", "CAST"]);
const SPIN: Field = Field::flag(88, &["", "SPIN"]).when(|raw| raw.field(87, 1) == 1);

/// Types of atomic operations. The empty word is 32 bits without a sign.
const MIXED_TYPE_TURING: Field = Field::new(73, 3, &["", "S32", "64", "F32.FTZ.RN", "F16x2.RN", "S64", "F64.RN"]);
const MIXED_TYPE: Field = Field::new(73, 4, &["", "S32", "64", "F32.FTZ.RN", "F16x2.RN", "S64", "F64.RN"]);
const REDUCTION_TYPE: Field = Field::new(73, 3, &["", "S32", "64", "S64"]);
const ATOMIC_TYPE: Field = Field::new(73, 3, &["", "S32", "64", "S64", "128"]);
const SWAP_TYPE_OLD: Field = Field::new(73, 3, &["", "S32", "64"]);
const SWAP_TYPE: Field = Field::new(73, 3, &["", "S32", "64", "INVALID3", "128"]);
const SHARED_TYPE_OLD: Field = Field::new(73, 2, &["", "S32", "64"]);

/// Types of floating-point atomics since Hopper. Bit 87 is the top bit of the type number and is never set in a valid
/// one.
const FLOAT_TYPE: Field = Field::new(73, 4, FLOAT_TYPES).when(|raw| raw.field(87, 1) == 0);
#[rustfmt::skip]
const FLOAT_TYPES: &[&str] = &[
    "F16x2.RN", "F16x4.RN", "F16x8.RN", "BF16x2.RN", "BF16x4.RN", "BF16x8.RN", "INVALID6", "INVALID7", "INVALID8",
    "F32.FTZ.RN", "F32x2.FTZ.RN", "F32x4.FTZ.RN", "F32.RN", "F32x2.RN", "F32x4.RN", "F64.RN",
];

const BARRIER_KIND: Field = Field::new(77, 3, &["SYNC", "ARV", "RED", "SCAN", "SYNCALL"]);
const BARRIER_REDUCTION: Field = Field::new(74, 2, &["POPC", "AND", "OR"]).when(|raw| raw.field(77, 3) == 2);
const DEFER_BLOCKING: Field = Field::flag(80, &["", "DEFER_BLOCKING"]);

const FENCE_KIND: Field = Field::new(79, 2, &["SC", "ALL", "", "MMIO"]);

const WARP_SLEEP: Field = Field::new(85, 2, &["", "WARP", "RAND", "RAND.WARP"]);
const SLEEP_CLEAR: Field = Field::flag(83, &["", "CLEAR"]);

const BRANCH_COUNT: Field = Field::new(85, 2, &["", "INC", "DEC"]);
const BRANCH_KIND: Field = Field::new(32, 2, &["", "U", "DIV", "CONV"]);
const BRANCH_ANY: Field = Field::flag(84, &["", "ANY"]).when(|raw| raw.field(32, 2) == 1);

const CONVERGENCE: Field = Field::new(72, 2, &["", "RELIABLE", "RECONVERGENT"]);

/// The address width. Operations on a whole cache have no address.
const CACHE_ADDRESS: Field = EXTENDED.when(|raw| !matches!(raw.field(87, 4), 4 | 6..=8));

macro_rules! layouts {
    ($([$($opcode:literal)+] $first:ident..$last:ident: $($field:expr),*;)+) => {
        &[$(Layout {
            opcodes: &[$($opcode),+], first: $first, last: $last, fields: &[$($field),*],
        },)+]
    };
}

/// All layouts.
pub(crate) const LAYOUTS: &[Layout] = layouts! {
    // RED, REDG.
    [0x98e] Turing..Turing:
        EXTENDED, REDUCTION, EVICTION, MIXED_TYPE_TURING, ATOMIC_STRENGTH_TURING, SCOPE_TURING, PRIVATE_TURING;
    [0x98e] Ampere..Ampere: EXTENDED, REDUCTION, EVICTION, MIXED_TYPE, ORDER;
    [0x98e] Hopper..BlackwellRtx: EXTENDED, REDUCTION, EVICTION, REDUCTION_TYPE, ORDER;
    [0x9a6 0x3a3 0x9a3 0x3a2 0x9a2] Hopper..BlackwellRtx:
        EXTENDED, FLOAT_REDUCTION, EVICTION, FLOAT_TYPE, ORDER;
    // ATOM.
    [0x38a 0x98a] Turing..Turing:
        EXTENDED, ATOMIC, EVICTION, MIXED_TYPE_TURING, ATOMIC_STRENGTH_TURING, SCOPE_TURING, PRIVATE_TURING;
    [0x38a 0x98a] Ampere..Ampere: EXTENDED, ATOMIC, EVICTION, MIXED_TYPE, ORDER;
    [0x38a 0x98a] Hopper..BlackwellRtx: EXTENDED, ATOMIC, EVICTION, ATOMIC_TYPE, ORDER;
    [0x38b] Turing..Turing:
        EXTENDED, CAS_OR_CAST, SPIN, EVICTION, SWAP_TYPE_OLD, ATOMIC_STRENGTH_TURING, SCOPE_TURING, PRIVATE_TURING;
    [0x38b] Ampere..Ampere: EXTENDED, CAS_OR_CAST, SPIN, EVICTION, SWAP_TYPE_OLD, ORDER;
    [0x38b] Hopper..BlackwellRtx: EXTENDED, CAS_OR_CAST, SPIN, EVICTION, SWAP_TYPE, ORDER;
    // ATOMG.
    [0x3a8 0x9a8] Turing..Turing:
        EXTENDED, ATOMIC_GLOBAL, EVICTION, MIXED_TYPE_TURING, ATOMIC_STRENGTH_TURING, SCOPE_TURING, PRIVATE_TURING;
    [0x3a8 0x9a8] Ampere..Ampere: EXTENDED, ATOMIC_GLOBAL, EVICTION, MIXED_TYPE, ORDER;
    [0x3a8 0x9a8] Hopper..BlackwellRtx: EXTENDED, ATOMIC_GLOBAL, EVICTION, ATOMIC_TYPE, ORDER;
    [0x3a9] Turing..Turing:
        EXTENDED, COMPARE_AND_SWAP, EVICTION, SWAP_TYPE_OLD, ATOMIC_STRENGTH_TURING, SCOPE_TURING, PRIVATE_TURING;
    [0x3a9] Ampere..Ampere: EXTENDED, COMPARE_AND_SWAP, EVICTION, SWAP_TYPE_OLD, ORDER;
    [0x3a9] Hopper..BlackwellRtx: EXTENDED, COMPARE_AND_SWAP, EVICTION, SWAP_TYPE, ORDER;
    // ATOMS.
    [0x38c 0x98c] Turing..Ampere: ATOMIC, SHARED_TYPE_OLD;
    [0x38c 0x98c] Hopper..BlackwellRtx: ATOMIC, SWAP_TYPE;
    [0x38d 0x58d] Turing..Ampere: CAS_OR_CAST, SPIN, SHARED_TYPE_OLD;
    [0x38d 0x58d] Hopper..BlackwellRtx: CAS_OR_CAST, SPIN, SWAP_TYPE;
    [0xf8c] Turing..Ampere: Field::new(87, 4, SHARED_COUNTS_OLD).when(|raw| raw.field(87, 4) >= 9);
    [0xf8c] Hopper..BlackwellRtx: Field::new(87, 4, SHARED_COUNTS).when(|raw| raw.field(87, 4) >= 10);
    // Distributed shared memory.
    [0xdbe] Hopper..BlackwellRtx: ATOMIC_SHARED_REMOTE, Field::new(73, 3, &["", "S32", "64"]);
    [0xdbd] Hopper..BlackwellRtx:
        Field::new(73, 3, &["INVALID0", "INVALID1", "INVALID2", "INVALID3", "", "64", "128"]);

    // LD, LDG.
    [0x980 0x381 0x981] Turing..Turing:
        EXTENDED, EVICTION, Field::new(68, 2, &["", "LTC64B", "LTC128B"]), SIZE_TURING, LOAD_STRENGTH_TURING,
        SCOPE_TURING, PRIVATE_TURING, ZD_TURING;
    [0x980 0x381 0x981] Ampere..BlackwellRtx: EXTENDED, EVICTION, PREFETCH, SIZE, LOAD_ORDER;
    // ST, STG.
    [0x385 0x985 0x386 0x986] Turing..Turing:
        EXTENDED, EVICTION, SIZE_TURING, STORE_STRENGTH_TURING, SCOPE_TURING, PRIVATE_TURING;
    [0x386 0x986] Blackwell..BlackwellRtx: EXTENDED, EVICTION, SIZE, STORE_ORDER;
    [0x385 0x985 0x386 0x986] Ampere..BlackwellRtx: EXTENDED, EVICTION, SIZE, ORDER;
    [0x97e] Blackwell..BlackwellRtx:
        Field::fixed(&["E"]), EVICTION, EVICTION_L2, Field::new(73, 2, &["", "LTC64B", "LTC128B", "LTC256B"]),
        Field::fixed(&["256"]), LOAD_ORDER;
    [0x97f] Blackwell..BlackwellRtx: Field::fixed(&["E"]), EVICTION, EVICTION_L2, Field::fixed(&["256"]), STORE_ORDER;
    // LDS, STS.
    [0x984] Turing..Turing: Field::flag(76, &["", "U"]), SIZE, ZD_TURING;
    [0x984] Ampere..BlackwellRtx: SIZE;
    [0x388 0x988] Turing..BlackwellRtx: SIZE;

    // BAR.
    [0x31d 0x51d 0x91d 0xb1d] Turing..BlackwellRtx: BARRIER_KIND, BARRIER_REDUCTION, DEFER_BLOCKING;
    // WARPSYNC.
    [0x348] Ampere..Ampere: Field::flag(86, &["", "EXCLUSIVE"]);
    [0x348] Hopper..BlackwellRtx: Field::flag(86, &["", "COLLECTIVE"]), Field::flag(85, &["", "EXCLUSIVE"]);
    [0x948] Hopper..BlackwellRtx: Field::flag(86, &["", "COLLECTIVE"]), Field::fixed(&["ALL"]);
    // SHFL.
    [0x389 0x589 0x989 0xf89] Turing..BlackwellRtx: Field::new(58, 2, &["IDX", "UP", "DOWN", "BFLY"]);
    // VOTE, VOTEU.
    [0x806 0x886] Turing..BlackwellRtx: Field::new(72, 2, &["ALL", "ANY", "EQ"]);
    // MATCH.
    [0x3a1] Turing..BlackwellRtx: Field::flag(79, &["ALL", "ANY"]), Field::flag(73, &["", "U64"]);
    // REDUX, CREDUX. The empty word is AND.
    [0x3c4] Ampere..BlackwellRtx:
        Field::new(78, 3, &["", "OR", "XOR", "SUM", "MIN", "MAX"]), Field::flag(73, &["", "S32"]);
    [0x2cc] Blackwell..BlackwellRtx:
        Field::new(78, 2, &["MAX", "MAXABS", "MIN", "MINABS"]), Field::new(73, 2, &["", "S32", "F32"]),
        Field::flag(77, &["", "NAN"]);

    // MEMBAR, FENCE.
    [0x992] Turing..Turing:
        Field::new(79, 2, &["SC", "ALL", ""]), Field::new(76, 3, &["CTA", "SM", "GPU", "SYS", "INVALID4", "VC"]),
        Field::flag(72, &["", "MMIO"]);
    [0x992] Ampere..Ampere: FENCE_KIND, Field::new(76, 3, &["CTA", "SM", "GPU", "SYS", "INVALID4", "VC"]);
    [0x992] Hopper..BlackwellRtx:
        FENCE_KIND, Field::new(76, 3, &["CTA", "SM", "GPU", "SYS", "INVALID4", "VC", "CTA.PARTIAL"]),
        Field::flag(73, &["", "ASYNC"]);
    [0x3c6] Hopper..Hopper: Field::fixed(&["VIEW.ASYNC"]), Field::flag(72, &["S", "G"]);
    [0x3c6] Blackwell..BlackwellRtx: Field::fixed(&["VIEW.ASYNC"]), Field::new(72, 2, &["S", "G", "T"]);
    // CCTL.
    [0x98f 0xd8f] Turing..BlackwellRtx:
        CACHE_ADDRESS, Field::new(78, 2, &["", "U", "C", "I"]), Field::new(87, 4, CACHE_OPERATIONS);

    // R2UR: compilers write BROADCAST where they pass each lane's registers to a bulk copy in turn.
    [0x2ca] Blackwell..BlackwellRtx: Field::flag(87, &["", "BROADCAST"]);

    // SYNCS: barriers in shared memory.
    [0x3a7] Hopper..BlackwellRtx: Field::fixed(&["FLUSH"]);
    [0x5a7] Hopper..BlackwellRtx: Field::fixed(&["PHASECHK.TRANS64"]), Field::flag(72, &["", "TRYWAIT"]);
    [0x9a7] Hopper..BlackwellRtx:
        Field::fixed(&["ARRIVE.TRANS64"]), Field::new(73, 2, &["", "TMASK", "RED"]), Field::flag(75, &["", "OPTOUT"]),
        Field::new(84, 3, &["", "A1T0", "A0T1", "A0TR", "A0TX", "ART0"]);
    [0x9b1] Hopper..BlackwellRtx:
        Field::fixed(&["CCTL"]), Field::flag(72, &["IV", "WB"]).when(|raw| raw.field(91, 1) == 1),
        Field::flag(72, &["IVALL", "WBALL"]).when(|raw| raw.field(91, 1) == 0);
    [0x3b2] Hopper..BlackwellRtx: Field::fixed(&["CAS.64"]);
    [0x5b2] Hopper..BlackwellRtx: Field::fixed(&["EXCH.64"]);
    [0x9b2] Hopper..BlackwellRtx: Field::fixed(&["LD.64"]);
    [0x5b1] Hopper..BlackwellRtx: Field::fixed(&["LD.64"]), Field::flag(74, &["", "WATCH"]);
    // ARRIVES: asynchronous copies arrive at a barrier in shared memory.
    [0x9b0] Ampere..Ampere: Field::fixed(&["LDGSTSBAR.64"]);
    [0x9b0] Hopper..Hopper:
        Field::fixed(&["LDGSTSBAR.64"]), Field::new(70, 2, &["", "ARVCNT", "TRANSCNT"]);
    [0x9b0] Blackwell..BlackwellRtx:
        Field::fixed(&["LDGSTSBAR.64"]), Field::new(76, 2, &["", "ARVCNT", "TRANSCNT"]);

    // Clock reads.
    [0x805 0x8cb] Turing..BlackwellRtx: Field::flag(80, &["32", ""]);
    // NANOSLEEP. The register form has no CLEAR.
    [0x35d 0x95d 0xb5d 0xd5d] Turing..Turing: WARP_SLEEP;
    [0x95d] Ampere..Ampere: SLEEP_CLEAR, WARP_SLEEP.when(|raw| raw.field(83, 1) == 0);
    [0x35d 0xb5d 0xd5d] Ampere..Ampere: WARP_SLEEP;
    [0x95d] Hopper..BlackwellRtx:
        SLEEP_CLEAR, WARP_SLEEP.when(|raw| raw.field(83, 1) == 0),
        Field::flag(84, &["", "SYNCS"]).when(|raw| raw.field(83, 1) == 0);
    [0x35d 0xb5d 0xd5d] Hopper..BlackwellRtx: WARP_SLEEP, Field::flag(84, &["", "SYNCS"]);

    // Control flow.
    [0x547 0x947] Turing..Ampere: BRANCH_COUNT, BRANCH_KIND;
    [0x547 0x947] Hopper..BlackwellRtx: BRANCH_COUNT, BRANCH_KIND, BRANCH_ANY;
    [0x958] Turing..BlackwellRtx: BRANCH_COUNT, BRANCH_KIND;
    [0x949] Turing..BlackwellRtx: BRANCH_COUNT;
    [0x344 0x944 0xb44] Turing..BlackwellRtx: Field::fixed(&["REL"]), Field::flag(86, &["", "NOINC"]);
    [0x343 0x943 0xb43] Turing..BlackwellRtx: Field::fixed(&["ABS"]), Field::flag(86, &["", "NOINC"]);
    [0x950] Turing..BlackwellRtx: Field::flag(85, &["REL", "ABS"]), Field::flag(86, &["", "NODEC"]);
    [0x94d] Turing..BlackwellRtx: Field::new(84, 2, &["", "KEEPREFCOUNT", "PREEMPTED"]), Field::flag(86, &["", "NO_ATEXIT"]);
    [0x941 0x945] Blackwell..BlackwellRtx: CONVERGENCE;
    [0x942] Blackwell..BlackwellRtx: Field::flag(72, &["", "RELIABLE"]);
};

const ATOMIC_SHARED_REMOTE: Field = Field::new(87, 4, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"]);

const CACHE_OPERATIONS: &[&str] =
    &["PF1", "PF2", "WB", "IV", "IVALL", "RS", "IVALLP", "WBALL", "WBALLP", "PML2", "DML2", "RML2"];

/// Counting in shared memory without a register operand, indexed by the field that selects the operation.
const SHARED_COUNTS_OLD: &[&str] = &["", "", "", "", "", "", "", "", "", "ARRIVE.64", "POPC.INC.32"];
const SHARED_COUNTS: &[&str] = &["", "", "", "", "", "", "", "", "", "", "ARRIVE.64", "POPC.INC.32"];

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::fixed(&["E"]),
        Field::new(4, 2, &["CTA", "", "GPU"]),
        Field::flag(8, &["", "SPIN"]).when(|raw| raw.field(4, 2) == 0),
    ];

    fn printed(raw: u128) -> String {
        let mut text = String::new();
        for field in FIELDS {
            field.print(raw, &mut text);
        }
        text
    }

    #[test]
    fn fields_print_words_nothing_or_what_is_wrong() {
        assert_eq!(printed(0x000), ".E.CTA");
        assert_eq!(printed(0x100), ".E.CTA.SPIN");
        assert_eq!(printed(0x110), ".E");
        assert_eq!(printed(0x020), ".E.GPU");
        assert_eq!(printed(0x030), ".E.INVALID3");
    }
}
