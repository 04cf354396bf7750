//! Compares the registers that `syncscope-sass` reports as read and written by an instruction with the life ranges that
//! `nvdisasm` prints. Needs NVRTC and `nvdisasm`, but no GPU.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{ARCHITECTURES, compiled_families, compiled_snippets, nvdisasm};
use syncscope_sass::{Arch, Bank, Cubin, Effects, Instruction, Register};

/// What `nvdisasm` says about the registers of one instruction.
#[derive(Debug, Default, PartialEq, Eq)]
struct LifeRanges {
    offset: u64,
    text: String,
    defs: BTreeSet<Register>,
    uses: BTreeSet<Register>,
}

/// The register files in the order of the columns. The text comes before the first one.
const BANKS: [(&str, Bank); 4] =
    [("GPR", Bank::General), ("PRED", Bank::Predicate), ("UGPR", Bank::Uniform), ("UPRED", Bank::UniformPredicate)];

/// Reads the listing of one kernel, with one column for each register:
/// `/*0070*/ IMAD.WIDE.U32 R4, R7, 0x8, R4 ; // |  8 :: :xx v |  ...`.
///
/// The header has the names of the files, and under them the tens and the ones of the numbers.
#[derive(Debug, Default)]
struct Columns {
    /// Columns and their registers.
    registers: Vec<(usize, Register)>,
}

impl Columns {
    fn of(names: &str, digits: &[&str]) -> Self {
        let bars: Vec<usize> = names.match_indices('|').map(|(at, _)| at).collect();
        let mut registers = Vec::new();
        for pair in bars.windows(2) {
            let name = names[pair[0] + 1..pair[1]].trim();
            let Some((_, bank)) = BANKS.iter().find(|(known, _)| *known == name) else { continue };
            for column in pair[0]..pair[1] {
                let digit = |row: &&str| row.as_bytes().get(column).filter(|byte| byte.is_ascii_digit()).copied();
                let found: Vec<u8> = digits.iter().filter_map(digit).collect();
                if !found.is_empty() {
                    let number = found.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
                    registers.push((column, Register { bank: *bank, number: number as u8 }));
                }
            }
        }
        Self { registers }
    }

    fn read(&self, line: &str) -> Option<LifeRanges> {
        let (offset, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
        let marks = line.as_bytes();
        let of = |wanted: &[u8]| {
            let found =
                self.registers.iter().filter(|(column, _)| marks.get(*column).is_some_and(|m| wanted.contains(m)));
            found.map(|(_, register)| *register).collect()
        };
        Some(LifeRanges {
            offset: u64::from_str_radix(offset, 16).ok()?,
            text: text.split(" // ").next()?.trim().to_owned(),
            defs: of(b"^x"),
            uses: of(b"vx"),
        })
    }
}

/// The life ranges in all kernels of a file.
fn life_ranges(cubin: &[u8]) -> BTreeMap<String, Vec<LifeRanges>> {
    let listing = nvdisasm(cubin, &["-c", "-lrm", "narrow"]);
    let mut kernels = BTreeMap::new();
    let (mut columns, mut kernel) = (Columns::default(), String::new());
    let lines: Vec<&str> = listing.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if line.contains('|') && line.contains(" GPR ") {
            let digits: Vec<&str> = lines[at + 1..].iter().take_while(|line| !line.contains("+--")).copied().collect();
            columns = Columns::of(line, &digits);
        }
        if let Some(name) = line.strip_prefix(".text.").and_then(|line| line.split(':').next()) {
            name.clone_into(&mut kernel);
        }
        if let Some(found) = columns.read(line) {
            kernels.entry(kernel.clone()).or_insert_with(Vec::new).push(found);
        }
    }
    kernels
}

/// The difference between our registers and theirs; `None` if there is none.
fn difference(theirs: &LifeRanges, instruction: &Instruction, arch: Arch) -> Option<String> {
    let ours = Effects::of(instruction, arch)?;
    let show = |registers: &BTreeSet<Register>| registers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    (ours.defs != theirs.defs || ours.uses != theirs.uses).then(|| {
        format!(
            "{arch} {:#06x} {:#034x} {}: writes {}, reads {}; nvdisasm: writes {}, reads {}",
            theirs.offset,
            instruction.raw,
            theirs.text,
            show(&ours.defs),
            show(&ours.uses),
            show(&theirs.defs),
            show(&theirs.uses)
        )
    })
}

#[test]
fn reads_and_writes_are_those_of_the_vendors_life_ranges() {
    let mut differences = Vec::new();
    // The vendor's tool takes minutes for the life ranges of all families. Without the variable, only Hopper is compared.
    let is_thorough = std::env::var_os("SYNCSCOPE_ALL_LIFE_RANGES").is_some();
    for arch in ARCHITECTURES {
        let (mut known, mut all) = (0_usize, 0_usize);
        let is_whole = is_thorough || arch == "sm_90";
        for program in if is_whole { compiled_families(arch) } else { compiled_snippets(arch) } {
            let cubin = Cubin::parse(&program.cubin).unwrap();
            let ranges = life_ranges(&program.cubin);
            for name in cubin.kernels() {
                let Some(theirs) = ranges.get(name) else { continue };
                let instructions = cubin.kernel(name).unwrap().instructions();
                for theirs in theirs {
                    let instruction = &instructions[theirs.offset as usize / 16];
                    assert_eq!(instruction.offset, theirs.offset);
                    all += 1;
                    known += usize::from(Effects::of(instruction, cubin.arch()).is_some());
                    differences.extend(difference(theirs, instruction, cubin.arch()));
                }
            }
        }
        assert!(known * 4 > all * 3, "{arch}: only {known} of {all} instructions have known operands");
    }
    let shown = differences.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences\n{shown}", differences.len());
}
