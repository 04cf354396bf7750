//! The kernels of `gpu.reduction.*` compile for every architecture and synchronize as their variants say. Needs NVRTC, which
//! `make nvrtc` installs, but no GPU.

use syncscope_core::{Case, Group, Preset};
use syncscope_gpu::{DeviceLimits, cases, program_of, unavailable};
use syncscope_sass::{Cubin, timed_region};

use crate::common::{ARCHITECTURES, capability, compiled_all, compiler, programs_on, some_programs};

/// How often a kernel has one of these instructions.
fn count(cubin: &[u8], kernel: &str, names: &[&str]) -> usize {
    let cubin = Cubin::parse(cubin).unwrap();
    let kernel = cubin.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
    kernel.instructions().iter().filter(|found| names.iter().any(|name| found.matches(name))).count()
}

/// One case for each program that reduces a vector and that an architecture can run, with the name of its primitive.
fn variants(arch: &str) -> Vec<(String, Case)> {
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    let is_here = |case: &Case| case.elements == Some(1 << 10) && case.devices.is_none_or(|devices| devices == 2);
    let planned = cases(Preset::Paper, &limits).into_iter().filter(is_here);
    let there = planned.filter(|case| unavailable(&case.primitive, capability(arch)).is_none());
    let named = |case: Case| Some((case.primitive.strip_prefix("gpu.reduction.")?.to_owned(), case));
    there.filter_map(named).collect()
}

fn is_max(case: &Case) -> bool {
    case.group == Some(Group::of_word("max"))
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
/// The result and number of a reduction, passed from one device to another.
const WORD_WRITTEN: &[&str] = &["STG.64.STRONG.SYS", "ST.64.STRONG.SYS"];
const WORD_READ: &[&str] = &["LDG.64.STRONG.SYS", "LD.64.STRONG.SYS"];

/// The instructions with which `reduce` synchronizes, and how often each occurs.
fn expected(name: &str, is_max: bool) -> Vec<(&'static [&'static str], usize)> {
    let red = if is_max { RED_MAX } else { RED_ADD };
    // The compiler reduces the values of a warp before an atomic operation of all its threads. This turns the first reduction
    // into the second, with one instruction instead of the shuffles, and the third into the fourth.
    match name {
        "listing_1" => vec![(RED_MAX, 1), (REDUX, 1), (&["SHFL"], 0), (BARRIER, 0)],
        "listing_2" => vec![(RED_MAX, 1), (&["SHFL.BFLY"], 5), (BARRIER, 0)],
        "listing_3" | "listing_4" | "listing_5" => vec![(RED_MAX, 1), (&["ATOMS.MAX"], 1), (BARRIER, 2)],
        "atomic" | "atomic_queued" | "atomic_graph_chain" => {
            vec![(red, 1), (ANY_ATOMIC, 1), (BARRIER, 1)]
        }
        "last_block" | "devices_host" | "devices_events" | "devices_graph_chain" => {
            vec![(&["ATOM.INC", "ATOMG.INC"], 1), (ANY_ATOMIC, 1)]
        }
        "cluster" => vec![(red, 1), (&["UCGABAR_ARV"], 2), (&["UCGABAR_WAIT"], 2)],
        "grid_cooperative" | "grid_queued" | "grid_graph_chain" => vec![(ATOM_ADD, 1)],
        "grid_counter" => vec![(&["RED.ADD", "REDG.ADD"], 1)],
        "grid_lock_free" => vec![(&["STG.STRONG.GPU", "ST.STRONG.GPU"], 2)],
        "kernel_boundary" | "kernel_boundary_queued" | "graph" | "graph_chain" => {
            vec![(ANY_ATOMIC, 0), (BARRIER, 1)]
        }
        "devices_flags" => vec![(WORD_WRITTEN, 1), (WORD_READ, 1)],
        "cub" => vec![(ANY_ATOMIC, 0)],
        _ => panic!("{name} has no expectation"),
    }
}

#[test]
fn every_variant_synchronizes_as_it_says() {
    for arch in ARCHITECTURES {
        // Sums within a warp have a separate test.
        let is_reduction = |(case, _): &(Case, _)| {
            let name = case.primitive.strip_prefix("gpu.reduction.");
            name.is_some_and(|name| !name.starts_with("warp_"))
        };
        // On one architecture with both sum and maximum.
        let programs = if arch == "sm_90" { programs_on(arch) } else { some_programs(arch) };
        let programs = programs.into_iter().filter(is_reduction);
        let compiled = compiled_all(arch, programs.map(|(case, program)| (Some(case), program)).collect());
        let least = match arch {
            "sm_90" => 20,
            "sm_75" | "sm_120" => 10,
            // One program of the family.
            _ => 1,
        };
        assert!(compiled.len() >= least, "{arch}: {}", compiled.len());
        for compiled in compiled {
            let (case, cubin) = (compiled.case.unwrap(), compiled.cubin);
            let name = case.primitive.strip_prefix("gpu.reduction.").unwrap().to_owned();
            for (names, times) in expected(&name, is_max(&case)) {
                let found = count(&cubin, "reduce", names);
                // Turing has no reduce instruction: the compiler writes shuffles and a second path for full warps. Grid
                // barriers also count waits that exceed their limit.
                let at_least = (arch == "sm_75" && name.starts_with("listing_")) || name.starts_with("grid_");
                let is_right = if at_least { found >= times } else { found == times };
                assert!(is_right || (arch == "sm_75" && names == REDUX), "{found} {names:?} in {case} on {arch}");
            }
            check_arguments(&name, &cubin);
            if name == "cub" {
                continue;
            }
            assert_eq!(count(&cubin, "combine", ANY_ATOMIC), 0, "the second kernel only reads and writes");
            // The host may write at any time, so every poll reloads from host memory: the word, and the flag that ends the
            // poll.
            assert!(count(&cubin, "hold", SYSTEM_READ) >= 2, "{case} on {arch}");
            assert!(count(&cubin, "hold", &["BRA"]) >= 2, "{case} on {arch}");
        }
    }
}

/// Checks what the host passes to each kernel.
fn check_arguments(name: &str, cubin: &[u8]) {
    let taken = syncscope_sass::parameter_bytes(cubin).unwrap();
    assert_eq!(taken.get("reduce"), Some(if name == "devices_flags" { &144 } else { &64 }), "{name}");
    let others: &[&str] = if name == "cub" { &["combine", "single"] } else { &["combine", "hold", "fill", "plant"] };
    assert!(others.iter().all(|kernel| taken.get(*kernel) == Some(&64)), "{name}: {taken:?}");
}

#[test]
fn architectures_without_clusters_and_reduce_instructions_have_fewer_variants() {
    let has = |arch: &str, wanted: &str| variants(arch).iter().filter(|(name, _)| name == wanted).count();
    assert_eq!((has("sm_75", "listing_4"), has("sm_80", "listing_4")), (0, 1));
    assert_eq!((has("sm_80", "cluster"), has("sm_90", "cluster")), (0, 2));
    assert_eq!((has("sm_90", "listing_1"), has("sm_90", "atomic")), (1, 2), "the listing has no sum");
}

/// Variants that are compared must read the vector with the same instructions.
#[test]
fn variants_that_are_compared_read_alike() {
    let mut compiler = compiler("sm_90");
    // Excludes the reads of the lock-free barrier's flags.
    let reads =
        |cubin: &[u8]| count(cubin, "reduce", &["LDG.E.128"]) - count(cubin, "reduce", &["LDG.E.128.STRONG.GPU"]);
    let compared = variants("sm_90").into_iter().filter(|(name, _)| name != "cub" && !name.starts_with("listing_"));
    let found: Vec<(String, usize)> =
        compared.map(|(name, case)| (name, reads(&compiler.cubin(&program_of(&case).unwrap()).unwrap()))).collect();
    assert!(found.iter().all(|(_, reads)| *reads == found[0].1 && *reads >= 5), "{found:?}");
}

/// One value per thread, then five steps: those of the figure.
#[test]
fn sums_of_a_warp_have_their_steps() {
    /// Names of instructions, and how many of them a sum has.
    type Counts = [(&'static [&'static str], usize); 2];
    const STEPS: [(&str, Counts); 4] = [
        ("warp_tile", [(&["LDS"], 5), (&["STS"], 6)]),
        ("warp_coalesced", [(&["LDS"], 5), (&["STS"], 6)]),
        ("warp_shuffle", [(&["SHFL"], 5), (&["LDS"], 0)]),
        ("warp_reduce", [(&["REDUX.SUM", "CREDUX"], 1), (&["SHFL"], 0)]),
    ];
    for arch in ARCHITECTURES {
        let mut compiler = compiler(arch);
        for (name, steps) in STEPS {
            let case = Case::new(&format!("gpu.reduction.{name}"));
            if unavailable(&case.primitive, capability(arch)).is_some() {
                continue;
            }
            let cubin = compiler.cubin(&program_of(&case).unwrap()).unwrap_or_else(|error| panic!("{arch}: {error}"));
            let cubin = Cubin::parse(&cubin).unwrap();
            let [baseline, test] = ["syncscope_baseline", "syncscope_test"]
                .map(|kernel| timed_region(cubin.kernel(kernel).unwrap()).unwrap());
            for (names, each) in steps {
                let more: usize = names.iter().map(|name| test.count(name) - baseline.count(name)).sum();
                assert_eq!(more, 4 * each, "{names:?} of {name} on {arch}");
            }
        }
    }
}
