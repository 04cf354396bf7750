//! The kernels of `syncscope paper crosscheck` hold the chain and nothing else between the two readings of the clock, on every
//! architecture. Needs NVRTC and nvdisasm, which `make nvrtc` installs, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use std::path::Path;
use std::process::Command;

use syncscope_gpu::compile::{Cache, Compiler};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::headers;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::verify::ARCHITECTURES;
use syncscope_papers::crosscheck::{Operation, chain_program};

/// Instructions of a loop, its start and its end: counter, comparison, branch, moves.
const MOST_OTHERS: usize = 16;

/// The instructions of the kernel `chain` between the clock reads, from the vendor's disassembler.
fn region(operation: Operation, body: u64, tail: u64, arch: &str) -> Vec<String> {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/kernel-test-cache");
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap_or_else(|error| panic!("{error}"));
    let mut compiler = Compiler::new(nvrtc, Cache::in_folder(Path::new(kept)), arch.to_owned(), headers());
    let cubin = compiler.cubin(&chain_program(operation, body, tail)).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.cubin");
    std::fs::write(&file, cubin).unwrap();
    let nvdisasm = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/cuda/nvidia/cu13/bin/nvdisasm");
    let output = Command::new(nvdisasm).arg("-c").arg(&file).output();
    let output = output.unwrap_or_else(|error| panic!("{nvdisasm}: {error}; run `make nvrtc`"));
    let listing = String::from_utf8(output.stdout).unwrap();
    let kernel = listing.lines().skip_while(|line| *line != ".text.chain:").skip(1);
    let kernel = kernel.take_while(|line| !line.starts_with("//---") && !line.contains(".section"));
    let instructions: Vec<String> =
        kernel.filter_map(|line| Some(line.trim().strip_prefix("/*")?.split_once("*/")?.1.trim().to_owned())).collect();
    let is_reading = |text: &String| text.contains("SR_CLOCKLO") && text.contains("CS2");
    let parts: Vec<&[String]> = instructions.split(is_reading).collect();
    assert_eq!(parts.len(), 3, "the whole clock is read twice on {arch}: {instructions:#?}");
    parts[1].to_vec()
}

/// How many instructions have this name, and how many others there are.
fn counts(region: &[String], name: &str) -> (usize, usize) {
    let found = region.iter().filter(|text| text.split_whitespace().any(|word| word.starts_with(name))).count();
    (found, region.len() - found)
}

/// All lengths on one architecture: other architectures differ only in the instructions around the chain.
#[test]
fn exactly_the_additions_are_between_the_readings() {
    const SHAPES: [(u64, u64); 5] = [(512, 0), (0, 512), (1024, 0), (1024, 520), (7680, 0)];
    for arch in ARCHITECTURES {
        for &(body, tail) in if arch == "sm_90" { &SHAPES[..] } else { &SHAPES[..2] } {
            let region = region(Operation::FloatAddition, body, tail, arch);
            let (found, others) = counts(&region, "FADD");
            assert_eq!(found as u64, body + tail, "{arch}, body {body}, tail {tail}: {region:#?}");
            let allowed = if body == 0 { 2 } else { MOST_OTHERS };
            assert!(others <= allowed, "{others} others on {arch}, body {body}, tail {tail}");
            if (body, tail) == (0, 512) {
                additions_are_one_chain(&region, arch);
            }
        }
    }
}

/// Each addition takes the sum before it, and no other instruction writes the sum.
fn additions_are_one_chain(region: &[String], arch: &str) {
    let operands = |text: &String| {
        let operands = text.trim_end_matches([' ', ';']).split_once("FADD")?.1.trim();
        Some(operands.split(',').map(|operand| operand.trim().to_owned()).collect::<Vec<_>>())
    };
    let additions: Vec<Vec<String>> = region.iter().filter_map(operands).collect();
    assert_eq!(additions.len(), 512, "{arch}");
    for two in additions.windows(2) {
        assert!(two[1][1..].contains(&two[0][0]), "{arch}: {:?} does not use the sum of {:?}", two[1], two[0]);
    }
}

#[test]
fn exactly_the_barriers_are_between_the_readings() {
    for arch in ARCHITECTURES {
        for (body, tail) in [(512, 0), (512, 8)] {
            let region = region(Operation::BlockBarrier, body, tail, arch);
            let (found, others) = counts(&region, "BAR.SYNC");
            assert_eq!(found as u64, body + tail, "{arch}, body {body}, tail {tail}: {region:#?}");
            assert!(others <= MOST_OTHERS, "{others} others on {arch}");
        }
    }
}
