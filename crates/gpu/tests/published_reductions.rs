//! The kernels of `syncscope reductions` compile for every architecture and synchronize as their variants say. Needs
//! NVRTC, which `make nvrtc` installs, but no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

use std::collections::BTreeMap;
use std::path::Path;

use syncscope_core::published::reductions::Operation;
use syncscope_core::published::reductions::WarpMethod;
use syncscope_gpu::cache::Cache;
use syncscope_gpu::compile::Compiler;
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::verify::ARCHITECTURES;
use syncscope_gpu::{cub_programs, headers, reduction_programs, several_programs, warp_instructions, warp_program};
use syncscope_sass::Cubin;

fn compiler(arch: &str) -> Compiler {
    let kept = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/kernel-test-cache"));
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap_or_else(|error| panic!("{error}"));
    Compiler::new(nvrtc, Cache::in_folder(kept), arch.to_owned(), headers())
}

fn capability(arch: &str) -> (u32, u32) {
    let number: u32 = arch.strip_prefix("sm_").unwrap().parse().unwrap();
    (number / 10, number % 10)
}

/// How often a kernel has one of the instructions.
fn count(cubin: &[u8], kernel: &str, names: &[&str]) -> usize {
    let cubin = Cubin::parse(cubin).unwrap();
    let kernel = cubin.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
    kernel.instructions().iter().filter(|found| names.iter().any(|name| found.matches(name))).count()
}

/// An atomic maximum or addition in global memory without a result.
const RED_MAX: &[&str] = &["RED.MAX", "REDG.MAX"];
const RED_ADD: &[&str] = &["RED.ADD", "REDG.ADD"];
const ATOM_ADD: &[&str] = &["ATOM.ADD", "ATOMG.ADD"];
const ANY_ATOMIC: &[&str] = &["ATOM", "ATOMG", "RED", "REDG", "ATOMS"];
const REDUX: &[&str] = &["REDUX.MAX", "CREDUX.MAX"];
/// A volatile read.
const SYSTEM_READ: &[&str] = &["LDG.E.STRONG.SYS", "LD.E.STRONG.SYS", "LDG.STRONG.SYS"];
const BARRIER: &[&str] = &["BAR.SYNC"];

/// The synchronization of `reduce`: instructions, and how often.
fn expected(id: &str, operation: Operation) -> Vec<(&'static [&'static str], usize)> {
    let red = if operation == Operation::Max { RED_MAX } else { RED_ADD };
    // The compiler reduces the values of a warp before an atomic operation of all its threads: it makes the second
    // reduction of the first, with one instruction in place of the shuffles, and the fourth of the third.
    match id {
        "listing.1" => vec![(RED_MAX, 1), (REDUX, 1), (&["SHFL"], 0), (BARRIER, 0)],
        "listing.2" => vec![(RED_MAX, 1), (&["SHFL.BFLY"], 5), (BARRIER, 0)],
        "listing.3" | "listing.4" | "listing.5" => vec![(RED_MAX, 1), (&["ATOMS.MAX"], 1), (BARRIER, 2)],
        "device.atomic" | "device.atomic_queued" | "device.atomic_graph_chain" => {
            vec![(red, 1), (ANY_ATOMIC, 1), (BARRIER, 1)]
        }
        "device.last_block" => vec![(&["ATOM.INC", "ATOMG.INC"], 1), (ANY_ATOMIC, 1)],
        "device.cluster" => vec![(red, 1), (&["UCGABAR_ARV"], 2), (&["UCGABAR_WAIT"], 2)],
        "device.grid_cooperative" | "device.grid_queued" | "device.grid_graph_chain" => vec![(ATOM_ADD, 1)],
        "device.grid_counter" => vec![(&["RED.ADD", "REDG.ADD"], 1)],
        "device.grid_lock_free" => vec![(&["STG.STRONG.GPU", "ST.STRONG.GPU"], 2)],
        "device.kernel_boundary" | "device.kernel_boundary_queued" | "device.graph" | "device.graph_chain" => {
            vec![(ANY_ATOMIC, 0), (BARRIER, 1)]
        }
        _ => panic!("{id} has no expectation"),
    }
}

#[test]
fn every_variant_synchronizes_as_it_says_on_every_architecture() {
    for arch in ARCHITECTURES {
        let mut compiler = compiler(arch);
        let programs = reduction_programs(capability(arch));
        compiler.prepare(&programs.iter().map(|(_, _, program)| program.clone()).collect::<Vec<_>>(), &mut |_, _| {});
        for (id, operation, program) in programs {
            let cubin = compiler.cubin(&program).unwrap_or_else(|error| panic!("{id} on {arch}: {error}"));
            for (names, times) in expected(id, operation) {
                let found = count(&cubin, "reduce", names);
                // Turing has no reduce instruction: the compiler writes shuffles and a second path for full warps. The
                // barriers of a grid count waits that last too long.
                let at_least = (arch == "sm_75" && id.starts_with("listing.")) || id.starts_with("device.grid_");
                let is_right = if at_least { found >= times } else { found == times };
                assert!(
                    is_right || (arch == "sm_75" && names == REDUX),
                    "{found} {names:?} in {id} {operation:?} on {arch}"
                );
            }
            let parameters = syncscope_sass::parameter_bytes(&cubin).unwrap();
            for kernel in ["reduce", "combine", "hold", "fill", "plant"] {
                assert_eq!(parameters.get(kernel), Some(&64), "{kernel} of {id} on {arch}");
            }
            assert_eq!(count(&cubin, "combine", ANY_ATOMIC), 0, "the second kernel only reads and writes");
            // The host may write at any time, so every poll reads host memory anew: the word, and the flag that ends it.
            assert!(count(&cubin, "hold", SYSTEM_READ) >= 2, "{id} on {arch}");
            assert!(count(&cubin, "hold", &["BRA"]) >= 2, "{id} on {arch}");
        }
    }
}

#[test]
fn architectures_without_clusters_and_reduce_instructions_have_fewer_variants() {
    let count = |capability| {
        let ids: BTreeMap<&str, usize> =
            reduction_programs(capability).into_iter().fold(BTreeMap::new(), |mut ids, (id, _, _)| {
                *ids.entry(id).or_default() += 1;
                ids
            });
        ids
    };
    let (turing, ampere, hopper) = (count((7, 5)), count((8, 0)), count((9, 0)));
    assert!(!turing.contains_key("listing.4") && ampere.contains_key("listing.4"));
    assert!(!ampere.contains_key("device.cluster") && hopper.contains_key("device.cluster"));
    assert_eq!((hopper["listing.1"], hopper["device.atomic"]), (1, 2), "the listing has no sum");
}

/// Variants that are compared read the vector by the same instructions.
#[test]
fn variants_that_are_compared_read_alike() {
    let mut compiler = compiler("sm_90");
    // Without those of the lock-free barrier's flags.
    let reads =
        |cubin: &[u8]| count(cubin, "reduce", &["LDG.E.128"]) - count(cubin, "reduce", &["LDG.E.128.STRONG.GPU"]);
    let programs = reduction_programs((9, 0));
    let device = programs.into_iter().filter(|(id, _, _)| id.starts_with("device."));
    let found: Vec<(&str, usize)> =
        device.map(|(id, _, program)| (id, reads(&compiler.cubin(&program).unwrap()))).collect();
    assert!(found.iter().all(|(_, reads)| *reads == found[0].1 && *reads >= 5), "{found:?}");
}

#[test]
fn devices_that_reduce_together_write_and_read_one_word_each() {
    for arch in ARCHITECTURES {
        let mut compiler = compiler(arch);
        for [alone, together] in several_programs() {
            let [alone, together] = [alone, together].map(|program| compiler.cubin(&program).unwrap());
            let sizes = [&alone, &together].map(|cubin| syncscope_sass::parameter_bytes(cubin).unwrap()["reduce"]);
            assert_eq!(sizes, [64, 144], "{arch}");
            assert_eq!(syncscope_sass::parameter_bytes(&alone).unwrap()["combine"], 64, "{arch}");
            assert_eq!(count(&together, "reduce", &["STG.64.STRONG.SYS", "ST.64.STRONG.SYS"]), 1, "{arch}");
            assert_eq!(count(&together, "reduce", &["LDG.64.STRONG.SYS", "LD.64.STRONG.SYS"]), 1, "{arch}");
            assert_eq!(count(&alone, "reduce", &["STG.64.STRONG.SYS", "LDG.64.STRONG.SYS"]), 0, "{arch}");
        }
    }
}

/// The headers are those that `make nvrtc` installs.
#[test]
fn cubs_kernels_compile() {
    for arch in ["sm_80", "sm_90"] {
        let mut compiler = compiler(arch);
        for program in cub_programs() {
            let cubin = compiler.cubin(&program).unwrap_or_else(|error| panic!("{error}"));
            let parameters = syncscope_sass::parameter_bytes(&cubin).unwrap();
            for kernel in ["reduce", "combine", "single"] {
                assert_eq!(parameters.get(kernel), Some(&64), "{kernel} on {arch}");
                assert_eq!(count(&cubin, kernel, ANY_ATOMIC), 0, "CUB joins by kernels alone: {kernel} on {arch}");
            }
        }
    }
}

#[test]
fn sums_of_a_warp_have_their_steps() {
    for arch in ARCHITECTURES {
        let mut compiler = compiler(arch);
        for method in WarpMethod::ALL {
            if method == WarpMethod::Reduce && capability(arch) < (8, 0) {
                continue;
            }
            let cubin = compiler.cubin(&warp_program(method)).unwrap_or_else(|error| panic!("{arch}: {error}"));
            let found = warp_instructions(&cubin).unwrap_or_else(|| panic!("{method:?} on {arch}"));
            let counts = |name: &str| {
                let word = found.split(", ").find_map(|word| word.strip_prefix(name)?.strip_prefix(' '));
                word.map_or(0, |count| count.parse::<u32>().unwrap())
            };
            let expected = match method {
                // One value of each thread, then five steps: those of a figure.
                WarpMethod::Tile | WarpMethod::Coalesced => counts("LDS") == 5 && counts("STS") == 6,
                WarpMethod::Shuffle => counts("SHFL") == 5 && counts("LDS") == 0,
                WarpMethod::Reduce => counts("REDUX.SUM") + counts("CREDUX") == 1 && counts("SHFL") == 0,
            };
            assert!(expected, "{method:?} on {arch}: {found}");
        }
    }
}
