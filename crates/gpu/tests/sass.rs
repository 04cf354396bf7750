//! Compares the decoder `syncscope-sass` with `nvdisasm`: on a corpus of kernels with the instructions it must know, and on
//! every program of the catalogue, for all architectures. Needs NVRTC and `nvdisasm`, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that fails is a failed test")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{fs, thread};

use syncscope_core::{Case, Evidence, Preset};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::evidence::{ExpectedInstructions, judge};
use syncscope_gpu::nvrtc::{Nvrtc, Source};
use syncscope_gpu::{DeviceLimits, UNROLL, cases, headers, program_of, unavailable};
use syncscope_sass::{Arch, Cubin, Instruction, Region, timed_region};

const ARCHS: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// Instructions whose modifiers must agree exactly. Of the others only the bare mnemonic must agree.
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

/// A text to compile, and its macros.
struct Program {
    file: String,
    text: String,
    options: Vec<String>,
    /// Whether it has the kernels `baseline` and `test`, each with a timed loop.
    is_kernel: bool,
}

/// Kernels that are not in the catalogue: file, text, option, whether they have a timed loop.
const NOT_IN_CATALOGUE: [(&str, &str, Option<&str>, bool); 4] = [
    ("timeline.cu", include_str!("../../papers/src/timeline/timeline.cu"), None, false),
    ("ruler.cu", include_str!("../../../kernels/ruler.cu"), None, true),
    ("fault.cu", include_str!("../../../kernels/fault.cu"), Some("-DFAULT=0"), true),
    ("fault.cu", include_str!("../../../kernels/fault.cu"), Some("-DFAULT=1"), false),
];

/// The corpus and all kernels.
fn programs(arch: u32) -> Vec<Program> {
    let corpus = CORPUS.iter().map(|&(file, text)| Program {
        file: file.into(),
        text: text.into(),
        options: Vec::new(),
        is_kernel: false,
    });
    let others = NOT_IN_CATALOGUE.iter().map(|&(file, text, option, is_kernel)| Program {
        file: file.into(),
        text: text.into(),
        options: option.into_iter().map(str::to_owned).collect(),
        is_kernel,
    });
    corpus.chain(others).chain(catalogue(arch)).collect()
}

/// One program of each primitive of the catalogue that the architecture has.
fn catalogue(arch: u32) -> Vec<Program> {
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    let mut seen = HashSet::new();
    let mut planned = cases(Preset::Quick, &limits);
    planned.retain(|case| unavailable(&case.primitive, (arch / 10, arch % 10)).is_none());
    // The types of shuffles differ in their number of instructions.
    planned.retain(|case| seen.insert((case.primitive.clone(), case.dtype, case.mode, case.form)));
    let program_of = |case: &Case| {
        let program = program_of(case).unwrap();
        let options = program.definitions.iter().map(|definition| format!("-D{definition}")).collect();
        // The host times launches.
        let is_kernel = !case.primitive.starts_with("gpu.launch.") && case.primitive != "gpu.multi.host_barrier";
        Program { file: program.file.into(), text: program.text.into(), options, is_kernel }
    };
    planned.iter().map(program_of).collect()
}

/// A program compiled for an architecture.
struct Compiled {
    program: Program,
    arch: u32,
    cubin: Vec<u8>,
}

impl Compiled {
    /// Whether this is the timed program with this file and these options, among others.
    fn is_kernel(&self, file: &str, options: &[&str]) -> bool {
        self.program.is_kernel
            && self.program.file == file
            && options.iter().all(|option| self.program.options.iter().any(|own| own == option))
    }

    fn name(&self) -> String {
        format!("sm_{} {} {}", self.arch, self.program.file, self.program.options.join(" "))
    }

    /// The timed regions of baseline and test.
    fn regions(&self) -> [Region; 2] {
        let cubin = Cubin::parse(&self.cubin).unwrap();
        ["baseline", "test"].map(|kernel| {
            timed_region(cubin.kernel(kernel).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", self.name()))
        })
    }
}

/// Everything, for all architectures; each architecture on a thread of its own.
static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
    let compile = |arch: u32| -> Vec<Compiled> {
        let compiled = programs(arch).into_iter().map(|program| {
            let source = Source { file: &program.file, text: &program.text, headers: headers() };
            let mut options = program.options.clone();
            options.push("-std=c++17".to_owned());
            let cubin = nvrtc.compile(source, &format!("sm_{arch}"), &options).unwrap();
            Compiled { program, arch, cubin }
        });
        compiled.collect()
    };
    thread::scope(|scope| {
        let threads: Vec<_> = ARCHS.map(|arch| scope.spawn(move || compile(arch))).into();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
});

/// The `nvdisasm` that `make nvrtc` installs.
fn nvdisasm() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.syncscope/cuda/nvidia/cu13/bin/nvdisasm");
    assert!(path.exists(), "{} is missing: run `make nvrtc`", path.display());
    path
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

/// Disassembles bare code, as if it began at address 0.
fn disassemble(code: &[u8], arch: u32) -> Vec<Expected> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), code).unwrap();
    let output = Command::new(nvdisasm())
        .args(["--binary", &format!("SM{arch}"), "--no-dataflow"])
        .arg(file.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().filter_map(parse).collect()
}

/// Reads `/*0010*/  @!P0 BRA 0x370 ;`.
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

/// The code of all kernels for an architecture.
fn code_for(arch: u32) -> Vec<u8> {
    let mut code = Vec::new();
    for compiled in COMPILED.iter().filter(|compiled| compiled.arch == arch) {
        let cubin = Cubin::parse(&compiled.cubin).unwrap();
        assert_eq!(cubin.arch().number(), arch);
        for kernel in cubin.kernels().filter_map(|name| cubin.kernel(name)) {
            code.extend(kernel.instructions().iter().flat_map(|instruction| instruction.raw.to_le_bytes()));
        }
    }
    code
}

#[test]
fn every_instruction_agrees_with_the_vendors_disassembler() {
    for number in ARCHS {
        let arch = Arch::new(number).unwrap();
        let code = code_for(number);
        let (words, rest) = code.as_chunks::<16>();
        let expected = disassemble(&code, number);
        assert!(rest.is_empty() && words.len() == expected.len(), "sm_{number}: {} instructions", words.len());
        assert!(words.len() > 5_000, "sm_{number}: only {} instructions to compare", words.len());
        let differences: Vec<String> = expected
            .iter()
            .zip(words)
            .enumerate()
            .map(|(index, (expected, word))| {
                (expected, Instruction::decode(index as u64 * 16, u128::from_le_bytes(*word), arch))
            })
            .filter_map(|(expected, ours)| difference(expected, &ours))
            .collect();
        let shown = differences.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(differences.is_empty(), "sm_{number}: {} differences\n{shown}", differences.len());
    }
}

#[test]
fn every_program_has_a_timed_region_without_unknown_instructions() {
    for compiled in COMPILED.iter().filter(|compiled| compiled.program.is_kernel) {
        for region in compiled.regions() {
            assert_eq!(region.unknown(), 0, "{}:\n{}", compiled.name(), region.listing());
        }
    }
}

#[test]
fn the_instructions_of_known_operations_are_found_in_their_number() {
    let expectations: [(&str, &[&str], ExpectedInstructions); 4] = [
        ("block.cu", &["-DKIND=PLAIN"], ExpectedInstructions::of(&["BAR.SYNC"])),
        (
            "atomic.cu",
            &["-DATOMIC=atomicAdd", "-DRESULT_USED=0", "-DONE_ADDRESS=0"],
            ExpectedInstructions::of(&["RED.ADD", "REDG.ADD"]),
        ),
        ("shuffle.cu", &["-DVALUE=int", "-DKIND=IDX"], ExpectedInstructions::of(&["SHFL.IDX"])),
        ("shuffle.cu", &["-DVALUE=double", "-DKIND=IDX"], ExpectedInstructions::of(&["SHFL.IDX"]).times(2)),
    ];
    for (file, options, expected) in expectations {
        let compiled: Vec<_> = COMPILED.iter().filter(|compiled| compiled.is_kernel(file, options)).collect();
        assert_eq!(compiled.len(), ARCHS.len(), "{file} {options:?}");
        for compiled in compiled {
            let [baseline, test] = compiled.regions();
            let found = judge(&baseline, &test, &expected, UNROLL);
            assert!(matches!(found, Evidence::Present { .. }), "{}: {:?}", compiled.name(), found.summary());
        }
    }
}

#[test]
fn a_real_file_cut_off_anywhere_causes_no_panic() {
    let compiled = COMPILED.iter().find(|compiled| compiled.is_kernel("block.cu", &["-DKIND=PLAIN"])).unwrap();
    let whole = &compiled.cubin;
    let intact = Cubin::parse(whole).unwrap();
    for length in 0..whole.len() {
        // Bytes after the last section that is read may be missing, and nothing else.
        if let Ok(cubin) = Cubin::parse(&whole[..length]) {
            assert!(cubin.kernels().eq(intact.kernels()));
            for name in cubin.kernels() {
                assert_eq!(cubin.kernel(name).unwrap().instructions(), intact.kernel(name).unwrap().instructions());
            }
        }
    }
}
