//! Compares the decoder `syncscope-sass` with `nvdisasm`: on a corpus of kernels with the instructions it must know, and on
//! every program of the catalogue, for all architectures. Needs NVRTC and `nvdisasm`, but no GPU.

use std::collections::BTreeSet;

use syncscope_core::{Case, Evidence};
use syncscope_gpu::UNROLL;
use syncscope_gpu::compile::Program;
use syncscope_gpu::evidence::{ExpectedInstructions, judge};
use syncscope_sass::{Arch, Cubin, Instruction, Region, timed_region};

use crate::common::{ARCHITECTURES, Compiled, compiled, compiled_all, nvdisasm};

/// Instructions whose modifiers must agree exactly. For all others only the bare mnemonic must agree.
#[rustfmt::skip]
const EXACT: &[&str] = &[
    "ARRIVES", "ATOM", "ATOMG", "ATOMS", "BAR", "BRA", "BREAK", "BRX", "BRXU", "BSSY", "BSYNC", "CALL", "CCTL",
    "CGAERRBAR", "CREDUX", "CS2R", "CS2UR", "ELECT", "ENDCOLLECTIVE", "ERRBAR", "EXIT", "FENCE", "LD", "LDG", "LDS",
    "MATCH", "MEMBAR", "NANOSLEEP", "NOP", "R2UR", "RED", "REDAS", "REDG", "REDUX", "RET", "S2R", "S2UR", "SHFL",
    "ST", "STAS", "STG", "STS", "SYNCS", "UCGABAR_ARV", "UCGABAR_WAIT", "VOTE", "VOTEU", "WARPSYNC", "YIELD",
];

/// The corpus: each file compiles for every architecture, with the instructions that the architecture has.
const CORPUS: [(&str, &str); 8] = {
    macro_rules! file {
        ($name:literal) => {
            ($name, include_str!(concat!("sass_corpus/", $name)))
        };
    }
    [
        file!("arithmetic.cu"),
        file!("atomic.cu"),
        file!("block.cu"),
        file!("clock.cu"),
        file!("control.cu"),
        file!("fence.cu"),
        file!("mbarrier.cu"),
        file!("warp.cu"),
    ]
};

/// Kernels that are not in the catalogue: file, text, macro.
const NOT_IN_CATALOGUE: [(&str, &str, Option<&str>); 3] = [
    ("ruler.cu", include_str!("../../../../kernels/ruler.cu"), None),
    ("fault.cu", include_str!("../../../../kernels/fault.cu"), Some("FAULT=0")),
    ("fault.cu", include_str!("../../../../kernels/fault.cu"), Some("FAULT=1")),
];

/// The corpus, and kernels of all kinds.
fn everything(arch: &str) -> Vec<Compiled> {
    let program = |file, text, definitions: Option<&str>| {
        let definitions = definitions.into_iter().map(str::to_owned).collect();
        (None, Program { file, text, definitions })
    };
    let corpus = CORPUS.iter().map(|&(file, text)| program(file, text, None));
    let others = NOT_IN_CATALOGUE.iter().map(|&(file, text, definition)| program(file, text, definition));
    let mut all = compiled_all(arch, corpus.chain(others).collect());
    all.extend(compiled(arch));
    all
}

/// The timed regions of baseline and test; `None` if the host times, and for the corpus.
fn regions(compiled: &Compiled) -> Option<[Region; 2]> {
    let of_host = ["gpu.launch.", "gpu.multi.host_barrier"];
    let is_timed_by_host =
        |case: &&Case| case.elements.is_some() || of_host.iter().any(|start| case.primitive.starts_with(start));
    compiled.case.as_ref().filter(|case| !is_timed_by_host(case))?;
    let cubin = Cubin::parse(&compiled.cubin).unwrap();
    Some(["syncscope_baseline", "syncscope_test"].map(|kernel| {
        timed_region(cubin.kernel(kernel).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", compiled.name))
    }))
}

/// One instruction in the output of `nvdisasm`.
#[derive(Debug)]
struct Expected {
    offset: u64,
    guard: String,
    mnemonic: String,
    /// The target of a direct branch.
    target: Option<u64>,
}

/// Parses a line such as `/*0010*/  @!P0 BRA 0x370 ;`.
fn parse(line: &str) -> Option<Expected> {
    let (offset, text) = line.trim().strip_prefix("/*")?.split_once("*/")?;
    let text = text.trim().trim_end_matches(';').trim_end();
    let (guard, text) = if text.starts_with('@') { text.split_once(' ')? } else { ("", text) };
    let (mnemonic, operands) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let last = operands.split(", ").last().unwrap_or_default();
    let branches = ["BRA", "BSSY", "CALL", "WARPSYNC.COLLECTIVE"].iter().any(|branch| mnemonic.starts_with(branch));
    Some(Expected {
        offset: u64::from_str_radix(offset, 16).ok()?,
        guard: guard.to_owned(),
        mnemonic: mnemonic.to_owned(),
        // A call with a register adds it to the number.
        target: last.strip_prefix("0x").filter(|_| branches).and_then(|digits| u64::from_str_radix(digits, 16).ok()),
    })
}

/// A message if the decoder differs from `nvdisasm`.
fn difference(expected: &Expected, ours: &Instruction) -> Option<String> {
    let bare = expected.mnemonic.split('.').next().unwrap();
    let exact = EXACT.contains(&bare);
    let guard = ours.predicate.map(|predicate| predicate.to_string()).unwrap_or_default();
    let same = ours.offset == expected.offset
        && ours.opcode == bare
        && (!exact || ours.mnemonic == expected.mnemonic)
        && guard == expected.guard
        && ours.target == expected.target;
    (!same).then(|| format!("{ours} ({:#034x}); nvdisasm: {expected:x?}", ours.raw))
}

/// The instructions of all kernels for an architecture, each once. Branches come last, so that none leads before the first.
fn instructions_for(arch: &str, number: u32) -> Vec<u128> {
    let mut found = BTreeSet::new();
    for compiled in everything(arch) {
        let cubin = Cubin::parse(&compiled.cubin).unwrap();
        assert_eq!(cubin.arch().number(), number);
        for kernel in cubin.kernels().filter_map(|name| cubin.kernel(name)) {
            found.extend(kernel.instructions().iter().map(|one| (one.target.is_some(), one.raw)));
        }
    }
    found.into_iter().map(|(_, word)| word).collect()
}

#[test]
fn every_instruction_agrees_with_the_vendors_disassembler() {
    for name in ARCHITECTURES {
        let number = name.strip_prefix("sm_").unwrap().parse().unwrap();
        let arch = Arch::new(number).unwrap();
        let words = instructions_for(name, number);
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        // Bare code, located at address 0.
        let listing = nvdisasm(&code, &["--binary", &format!("SM{number}"), "--no-dataflow"]);
        let expected: Vec<Expected> = listing.lines().filter_map(parse).collect();
        assert!(words.len() == expected.len(), "sm_{number}: {} instructions", words.len());
        assert!(words.len() > 5_000, "sm_{number}: only {} instructions to compare", words.len());
        let ours = (0..).zip(&words).map(|(index, word)| Instruction::decode(index * 16, *word, arch));
        let differences: Vec<String> =
            expected.iter().zip(ours).filter_map(|(expected, ours)| difference(expected, &ours)).collect();
        let shown = differences.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(differences.is_empty(), "sm_{number}: {} differences\n{shown}", differences.len());
    }
}

#[test]
fn every_program_has_a_timed_region_without_unknown_instructions() {
    for compiled in ARCHITECTURES.into_iter().flat_map(compiled) {
        for region in regions(&compiled).into_iter().flatten() {
            assert_eq!(region.unknown(), 0, "{}:\n{}", compiled.name, region.listing());
        }
    }
}

/// Whether this program has this file and these macros, among others, and as many copies in its loop as most programs.
fn is_program(compiled: &Compiled, file: &str, macros: &[&str]) -> bool {
    let own = &compiled.program.definitions;
    let is_usual = !own.iter().any(|own| own.starts_with("SYNCSCOPE_UNROLL="));
    compiled.program.file == file && is_usual && macros.iter().all(|wanted| own.iter().any(|own| own == wanted))
}

#[test]
fn the_instructions_of_known_operations_are_found_in_their_number() {
    let expectations: [(&str, &[&str], ExpectedInstructions); 4] = [
        ("block.cu", &["KIND=PLAIN"], ExpectedInstructions::of(&["BAR.SYNC"])),
        (
            "atomic.cu",
            &["ATOMIC=atomicAdd", "RESULT_USED=0", "ONE_ADDRESS=0"],
            ExpectedInstructions::of(&["RED.ADD", "REDG.ADD"]),
        ),
        ("shuffle.cu", &["VALUE=int", "KIND=IDX"], ExpectedInstructions::of(&["SHFL.IDX"])),
        ("shuffle.cu", &["VALUE=double", "KIND=IDX"], ExpectedInstructions::of(&["SHFL.IDX"]).times(2)),
    ];
    for arch in ["sm_75", "sm_90", "sm_120"] {
        let all = compiled(arch);
        for (file, macros, expected) in &expectations {
            let Some(compiled) = all.iter().find(|one| is_program(one, file, macros)) else {
                assert_ne!(arch, "sm_90", "no {file} {macros:?}");
                continue;
            };
            let [baseline, test] = regions(compiled).unwrap();
            let found = judge(&baseline, &test, expected, UNROLL);
            assert!(matches!(found, Evidence::Present { .. }), "{}: {:?}", compiled.name, found.summary());
        }
    }
}

#[test]
fn a_real_file_cut_off_anywhere_causes_no_panic() {
    let programs = compiled("sm_90");
    let whole = &programs.iter().find(|one| is_program(one, "block.cu", &["KIND=PLAIN"])).unwrap().cubin;
    let intact = Cubin::parse(whole).unwrap();
    for length in 0..whole.len() {
        // Only bytes after the last section that is read may be missing.
        if let Ok(cubin) = Cubin::parse(&whole[..length]) {
            assert!(cubin.kernels().eq(intact.kernels()));
            for name in cubin.kernels() {
                assert_eq!(cubin.kernel(name).unwrap().instructions(), intact.kernel(name).unwrap().instructions());
            }
        }
    }
}
