//! The kernels of the block-asynchronous experiment, compiled for every architecture: which loads and stores are there, and in
//! which order. Needs NVRTC and nvdisasm, which `make nvrtc` installs, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use syncscope_gpu::compile::{Cache, Compiler, Program};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::headers;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::verify::ARCHITECTURES;
use syncscope_papers::asynchrony::Variant;
use syncscope_papers::asynchrony::gpu::asynchrony_program;
use syncscope_sass::Cubin;

/// The smallest block, one of several warps, and the largest.
const BLOCK_THREADS: [u32; 3] = [8, 64, 1024];

/// The machine code for each architecture and block size.
fn compiled() -> Vec<(String, Arc<[u8]>)> {
    let cache = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/kernel-test-cache"));
    let programs = BLOCK_THREADS.map(asynchrony_program);
    let of_arch = |arch: &str| {
        let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap_or_else(|error| panic!("{error}"));
        let mut compiler = Compiler::new(nvrtc, Cache::in_folder(cache), arch.to_owned(), headers());
        compiler.prepare(&programs, &mut |_, _| {});
        let cubin = |program: &Program| {
            (
                format!("{arch}, {}", program.definitions.join(" ")),
                compiler.cubin(program).unwrap_or_else(|error| panic!("{error}")),
            )
        };
        programs.iter().map(cubin).collect::<Vec<_>>()
    };
    ARCHITECTURES.into_iter().flat_map(of_arch).collect()
}

fn disassembled(cubin: &[u8]) -> String {
    let nvdisasm = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/cuda/nvidia/cu13/bin/nvdisasm");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), cubin).unwrap();
    let output = Command::new(nvdisasm).arg("-c").arg(file.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{nvdisasm}: {error}; run `make nvrtc`"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The accesses and barriers of a kernel in the order of its code, by name without modifiers. A load of the element
/// after the one in the register is an `LDG+8`. A strong access, which volatile variables have, is a `STRONG LDG`.
fn accesses(listing: &str, kernel: &str) -> Vec<String> {
    let start = format!(".text.{kernel}:");
    let body = listing.lines().skip_while(|line| *line != start).skip(1).take_while(|line| !line.starts_with("//---"));
    body.filter_map(access).collect()
}

fn access(line: &str) -> Option<String> {
    let text = line.trim().strip_prefix("/*")?.split_once("*/")?.1.trim();
    let text = if text.starts_with('@') { text.split_once(' ')?.1.trim() } else { text };
    let mnemonic = text.split(' ').next()?;
    let name = mnemonic.split('.').next()?;
    let strong = if mnemonic.contains("STRONG") { "STRONG " } else { "" };
    let behind = if text.contains("+0x8]") { "+8" } else { "" };
    match name {
        "LDG" | "LD" => Some(format!("{strong}{name}{behind}")),
        "STG" | "ST" | "LDS" | "STS" | "BAR" => Some(format!("{strong}{name}")),
        _ => None,
    }
}

#[test]
fn each_component_is_read_and_written_as_the_source_says_and_nothing_is_volatile() {
    for (name, cubin) in compiled() {
        let listing = disassembled(&cubin);
        // The right neighbour is the element after; the other load reads the left neighbour.
        assert_eq!(accesses(&listing, "update_global"), ["LDG+8", "LDG", "STG"], "{name}");
        assert_eq!(accesses(&listing, "update_global_left_first"), ["LDG", "LDG+8", "STG"], "{name}");
        let shared = accesses(&listing, "update_shared");
        let barriers: Vec<usize> = (0..shared.len()).filter(|place| shared[*place] == "BAR").collect();
        let &[first, second] = barriers.as_slice() else { panic!("{name}: {shared:?}") };
        assert_eq!(shared[..first], ["LDG", "STS"], "{name}");
        assert_eq!(shared[second + 1..], ["LDS", "STG"], "{name}");
        // The neighbours of the ends of a block are read in global memory, the others in shared memory.
        let mut update: Vec<&str> = shared[first + 1..second].iter().map(String::as_str).collect();
        update.sort_unstable();
        assert_eq!(update, ["LDG", "LDG+8", "LDS", "LDS", "STS", "STS", "STS"], "{name}");
        // The control of figure 4 waits for no global memory between the barriers.
        let uniform = accesses(&listing, "update_shared_uniform");
        let parts: Vec<&[String]> = uniform.split(|access| access == "BAR").collect();
        let [before, between, after] = parts.as_slice() else { panic!("{name}: {uniform:?}") };
        assert_eq!(before.iter().filter(|access| access.starts_with("LDG")).count(), 3, "{name}: {uniform:?}");
        assert_eq!(*between, ["LDS", "LDS", "LDS", "STS"], "{name}");
        assert_eq!(*after, ["LDS", "STG"], "{name}");
    }
}

#[test]
fn kernels_take_what_the_host_passes_and_every_instruction_is_known() {
    for (name, cubin) in compiled() {
        let taken = syncscope_sass::parameter_bytes(&cubin).unwrap();
        let bytes = |kernel: &str| taken.get(kernel).copied().unwrap_or(0);
        let updates = Variant::ALL.iter().map(|variant| format!("update_{variant}"));
        for kernel in updates.chain(["arrive".to_owned()]) {
            assert_eq!(bytes(&kernel), 16, "{kernel} {name}");
        }
        assert_eq!([bytes("count"), bytes("tally"), bytes("idle")], [40, 40, 0], "{name}");
        let parsed = Cubin::parse(&cubin).unwrap();
        for kernel in parsed.kernels() {
            assert_eq!(parsed.kernel(kernel).map(syncscope_sass::Kernel::unknown), Some(0), "{kernel} {name}");
        }
    }
}
