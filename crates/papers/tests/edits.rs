//! Edits of real machine code: what they change, what is refused, and that the vendor's disassembler reads the result. Needs
//! NVRTC and `nvdisasm`, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that fails is a failed test")]

#[path = "../../gpu/tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, HashMap};

use common::{ARCHITECTURES, capability, compiler, nvdisasm};
use syncscope_papers::timeline::versions::{Prepared, own_program, prepare, program};
use syncscope_papers::timeline::{Snippet, Version};
use syncscope_sass::{Clock, Control, Cubin, CubinFile, Instruction, KernelEdit};

fn compiled(arch: &str) -> Vec<u8> {
    compiler(arch).cubin(&program()).unwrap_or_else(|error| panic!("{error}")).to_vec()
}

/// Both versions of each snippet that the architecture has.
fn versions(arch: &str) -> Vec<[Prepared; 2]> {
    let cubin = compiled(arch);
    let example = own_program("region.cu", include_str!("../../../examples/measure/region.cu"));
    let own = compiler(arch).cubin(&example).unwrap_or_else(|error| panic!("{error}"));
    let snippets =
        Snippet::ALL.iter().filter(|&&snippet| snippet != Snippet::ProducerConsumer || capability(arch) >= (8, 0));
    snippets
        .map(|&snippet| {
            let cubin = if snippet == Snippet::Own { &own } else { &cubin[..] };
            prepare(cubin, snippet).unwrap_or_else(|error| panic!("{arch} {snippet}: {error}"))
        })
        .collect()
}

fn instructions(prepared: &Prepared) -> Vec<Instruction> {
    Cubin::parse(&prepared.cubin).unwrap().kernel(prepared.snippet.as_str()).unwrap().instructions().to_vec()
}

/// The positions of a snippet's clock reads; reads at the steps of the global timer follow them.
fn reads(instructions: &[Instruction]) -> Vec<usize> {
    let timer = instructions.iter().position(|found| found.clock == Some(Clock::GlobalTimer)).unwrap();
    (0..timer).filter(|&at| instructions[at].clock == Some(Clock::Cycles64)).collect()
}

#[test]
fn a_region_without_its_ends_is_refused() {
    let example = include_str!("../../../examples/measure/region.cu");
    for missing in [&["BEGIN_REGION;"][..], &["END_REGION;"], &["BEGIN_REGION;", "END_REGION;"]] {
        let text = missing.iter().fold(example.to_owned(), |text, word| text.replace(word, ""));
        let cubin = compiler("sm_90").cubin(&own_program("region.cu", &text)).unwrap_or_else(|error| panic!("{error}"));
        let refused = prepare(&cubin, Snippet::Own).unwrap_err();
        assert!(refused.contains("needs BEGIN_REGION and END_REGION"), "{refused}");
    }
}

#[test]
fn the_closing_clock_read_of_the_shared_memory_snippet_waits_for_the_load() {
    for arch in ARCHITECTURES {
        let cubin = compiled(arch);
        let [naive, corrected] = prepare(&cubin, Snippet::SharedMemory).unwrap();
        for (version, waits) in [(naive, false), (corrected, true)] {
            let code = instructions(&version);
            let reads = reads(&code);
            let load = code.iter().position(|found| found.opcode == "LDS").unwrap();
            let barrier = code[load].control.write_barrier.unwrap();
            assert!(reads[0] < load && load < reads[1], "{arch}");
            assert_eq!(code[reads[1]].control.waits_for(barrier), waits, "{arch} {}", version.version);
            let between: Vec<&str> = code[reads[0] + 1..reads[1]].iter().map(|found| found.opcode).collect();
            // As in the source: the naive reads time the wait for the addresses, which come from global memory.
            let global = code[..reads[1]].iter().rfind(|found| found.opcode == "LDG").unwrap().control.write_barrier;
            let timed = &code[reads[0] + 1..reads[1]];
            assert_eq!(timed.iter().any(|found| found.control.waits_for(global.unwrap())), !waits, "{arch}");
            if waits {
                assert_eq!(between, ["STS", "BAR", "LDS"], "{arch}: nothing else is timed");
                assert!(code[reads[0] + 1..reads[1]].iter().all(|found| found.control.wait_mask == 0), "{arch}");
            }
        }
    }
}

#[test]
fn the_edit_changes_waits_stalls_reuse_and_order_and_nothing_else() {
    for arch in ARCHITECTURES {
        for [naive, corrected] in versions(arch) {
            let name = format!("{arch} {}", naive.snippet);
            assert_eq!(naive.cubin.len(), corrected.cubin.len(), "{name}");
            assert!(!corrected.edits.is_empty(), "{name}");
            let (before, after) = (instructions(&naive), instructions(&corrected));
            // Bytes outside of the kernel are the same.
            let differing = naive.cubin.iter().zip(&corrected.cubin).filter(|(old, new)| old != new).count();
            let in_kernel: usize = before
                .iter()
                .zip(&after)
                .map(|(old, new)| {
                    old.raw.to_le_bytes().iter().zip(new.raw.to_le_bytes()).filter(|(a, b)| **a != *b).count()
                })
                .sum();
            assert_eq!(differing, in_kernel, "{name}");
            // Without wait masks, stall counts and flags of the reuse cache, the same instructions are there.
            let bare = |code: &[Instruction]| -> BTreeMap<u128, usize> {
                let mut counts = BTreeMap::new();
                for instruction in code {
                    let control = Control { wait_mask: 0, stall: 0, reuse: 0, yields: true, ..instruction.control };
                    *counts.entry(instruction.raw & !Control::MASK | control.bits()).or_default() += 1;
                }
                counts
            };
            assert_eq!(bare(&before), bare(&after), "{name}");
        }
    }
}

#[test]
fn a_single_edit_changes_the_bits_it_names() {
    let cubin = CubinFile::parse(&compiled("sm_90")).unwrap();
    let mut edit = cubin.edit("shared_memory").unwrap();
    let code = edit.instructions();
    let load = code.iter().find(|found| found.opcode == "LDS").unwrap();
    let (barrier, read) = (load.control.write_barrier.unwrap(), load.offset + 16);
    edit.set_stall(load.offset, 9).unwrap();
    edit.set_wait(read, barrier).unwrap();
    let stall = u128::from(load.control.stall ^ 9) << 105;
    let changed: Vec<(u64, u128)> = edit.changed_bits().into_iter().collect();
    assert_eq!(changed, [(load.offset, stall), (read, 1 << (116 + barrier))]);
    let written = cubin.with(&edit).unwrap();
    let bytes = |file: &CubinFile| file.bytes().to_vec();
    let flipped: u32 = bytes(&cubin).iter().zip(bytes(&written)).map(|(old, new)| (old ^ new).count_ones()).sum();
    assert_eq!(flipped, stall.count_ones() + 1);
    edit.clear_wait(read, barrier).unwrap();
    edit.set_stall(load.offset, load.control.stall).unwrap();
    assert_eq!(cubin.with(&edit).unwrap().bytes(), cubin.bytes(), "back to the compiled file, bit by bit");
}

/// The compiled shared-memory snippet for Hopper.
fn hopper() -> KernelEdit {
    CubinFile::parse(&compiled("sm_90")).unwrap().edit("shared_memory").unwrap()
}

fn offset_of(edit: &KernelEdit, opcode: &str) -> u64 {
    edit.instructions().iter().find(|found| found.opcode == opcode).unwrap().offset
}

#[test]
fn edits_that_break_a_dependency_are_refused_with_the_dependency() {
    let code = hopper().instructions();
    let refused = |change: &dyn Fn(&mut KernelEdit) -> Result<(), syncscope_sass::EditError>| {
        let mut edit = hopper();
        let error = change(&mut edit).unwrap_err().to_string();
        assert!(edit.changed_bits().is_empty(), "a refused edit is not made");
        error
    };
    let opening = code[reads(&code)[0]].offset;
    let (store, load) = (offset_of(&hopper(), "STS"), offset_of(&hopper(), "LDS"));

    // The store before the barrier, and the load behind it.
    let text = refused(&|edit| edit.move_instruction(load, store));
    assert!(text.contains("LDS") && text.contains("must stay behind") && text.contains("memory"), "{text}");

    // An instruction that uses what is loaded from global memory.
    let global = code.iter().rposition(|found| found.opcode == "LDG" && found.offset < opening).unwrap();
    let barrier = code[global].control.write_barrier.unwrap();
    let user = code[global + 1..].iter().find(|found| found.control.waits_for(barrier)).unwrap();
    let text = refused(&|edit| edit.clear_wait(user.offset, barrier));
    assert!(text.contains("LDG") && text.contains(&format!("barrier {barrier}")) && text.contains("reads R"), "{text}");

    // That instruction cannot move before the load either.
    let text = refused(&|edit| edit.move_instruction(user.offset, code[global - 1].offset));
    assert!(text.contains("must stay behind") || text.contains("LDG"), "{text}");

    // The address of the store has a fixed latency.
    let text = refused(&|edit| edit.set_stall(store - 16, 0));
    assert!(text.contains("cycles"), "{text}");

    // Nothing sets this barrier.
    let text = refused(&|edit| edit.set_wait(code[1].offset, 5));
    assert!(text.contains("would wait for nothing"), "{text}");

    let text = refused(&|edit| edit.move_instruction(opening, 0));
    assert!(text.contains("different basic blocks"), "{text}");
    for text in [refused(&|edit| edit.set_wait(load, 6)), refused(&|edit| edit.set_stall(load, 16))] {
        assert!(text.contains("does not exist"), "{text}");
    }
    assert!(refused(&|edit| edit.set_stall(1 << 40, 1)).contains("no instruction at"));
}

/// `nvdisasm` does not print barriers and stalls, so its text must be the same except for the order.
#[test]
fn nvdisasm_reads_the_edited_file() {
    let essence = |listing: &str, kernel: &str| -> Vec<String> {
        let start = format!(".text.{kernel}:");
        let body = listing.lines().skip_while(|line| *line != start).skip(1);
        let body = body.take_while(|line| !line.contains(".section"));
        body.filter_map(|line| Some(line.trim().strip_prefix("/*")?.split_once("*/")?.1.trim().to_owned())).collect()
    };
    for arch in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        // The naive versions of most snippets are one file.
        let mut read = HashMap::new();
        for [naive, corrected] in versions(arch) {
            let listings = [&naive, &corrected].map(|version| {
                let listing = read.entry(version.cubin.clone()).or_insert_with_key(|cubin| nvdisasm(cubin, &["-c"]));
                essence(listing, naive.snippet.as_str())
            });
            let code = instructions(&corrected);
            assert_eq!(listings[1].len(), code.len(), "{arch} {}", naive.snippet);
            for (line, ours) in listings[1].iter().zip(&code) {
                assert!(line.contains(&ours.mnemonic) || !line.contains(ours.opcode), "{arch}: {line}; {ours}");
            }
            let sorted = |mut lines: Vec<String>| {
                lines.sort();
                lines
            };
            // Flags of the reuse cache are cleared where neighbours change.
            let [before, after] =
                listings.map(|lines| sorted(lines.iter().map(|line| line.replace(".reuse", "")).collect()));
            assert_eq!(before, after, "{arch} {}", naive.snippet);
        }
    }
}

/// Tests the rules that a wait counts only from the second cycle after the instruction that sets the barrier, and that
/// an instruction with a long stall count yields.
#[test]
fn compiled_code_keeps_the_rules_of_the_control_field() {
    for arch in ARCHITECTURES {
        let mut pairs = 0;
        for program in common::compiled(arch) {
            let cubin = Cubin::parse(&program.cubin).unwrap();
            for kernel in cubin.kernels().filter_map(|name| cubin.kernel(name)) {
                for pair in kernel.instructions().windows(2) {
                    assert!(pair[0].control.stall < 12 || pair[0].control.yields, "{} {}", program.name, pair[0]);
                    let set = [pair[0].control.write_barrier, pair[0].control.read_barrier];
                    if set.into_iter().flatten().any(|barrier| pair[1].control.waits_for(barrier)) {
                        pairs += 1;
                        assert!(
                            pair[0].control.stall >= 2,
                            "{} {}\n{}\n{}",
                            program.name,
                            kernel.name(),
                            pair[0],
                            pair[1]
                        );
                    }
                }
            }
        }
        assert!(pairs > 100, "{arch}: {pairs}");
    }
}

#[test]
fn what_was_edited_is_listed() {
    for [naive, corrected] in versions("sm_90") {
        assert_eq!((naive.version, corrected.version), (Version::Naive, Version::Corrected));
        assert!(naive.edits.is_empty() && naive.code.iter().all(|line| !line.edited), "{naive:?}");
        assert!(corrected.code.iter().any(|line| line.edited), "{corrected:?}");
        assert_eq!(naive.code.len(), corrected.code.len());
        for edit in &corrected.edits {
            println!("{} {:#06x} {}", edit.snippet, edit.offset, edit.change);
        }
        for line in &corrected.code {
            println!("{} {}", if line.edited { '*' } else { ' ' }, line.instruction);
        }
    }
}
