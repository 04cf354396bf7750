//! `unsafe` stands in the modules that are named here, as often as it says here. Whoever adds one changes this list.

#![allow(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files, or folders with all that is in them, and their `unsafe` blocks, functions and implementations.
const MODULES: [(&str, usize); 28] = [
    // The calls of the operating system that no crate offers.
    ("crates/host/src", 33),
    // Reads the machine code of this program's own loops.
    ("crates/cpu/src/evidence/x86_64.rs", 2),
    // Mapped memory, where its pages are, CPUID.
    ("crates/cpu/src/machine/memory.rs", 8),
    ("crates/cpu/src/machine/page_homes.rs", 3),
    ("crates/cpu/src/machine/system.rs", 1),
    // Instructions under study that the language has no word for, and pointers to measured variables.
    ("crates/cpu/src/primitives/atomic/read.rs", 2),
    ("crates/cpu/src/primitives/lock/mod.rs", 1),
    ("crates/cpu/src/primitives/number.rs", 5),
    ("crates/cpu/src/primitives/opaque.rs", 2),
    ("crates/cpu/src/published/reductions/joining.rs", 1),
    // Memory and descriptors that several processes have in common.
    ("crates/cpu/src/primitives/handoff/kernel", 2),
    ("crates/cpu/src/primitives/handoff/store.rs", 1),
    ("crates/cpu/src/processes", 7),
    ("crates/cpu/src/sync/between_processes.rs", 11),
    // The library of the site's MPI.
    ("crates/cpu/src/mpi/library.rs", 30),
    // Locks and barriers.
    ("crates/cpu/src/sync/barriers/pthread.rs", 4),
    ("crates/cpu/src/sync/locks", 42),
    // OpenMP runtimes.
    ("crates/cpu/src/team/openmp.rs", 23),
    ("crates/cpu/src/team/openmp_team.rs", 3),
    // Instructions that read clocks and counters, and chains of instructions.
    ("crates/cpu/src/timing/chains.rs", 2),
    ("crates/cpu/src/timing/clock.rs", 4),
    ("crates/cpu/src/timing/perf.rs", 2),
    ("crates/cpu/src/timing/smt_interference.rs", 2),
    // The driver, NVML and NVRTC.
    ("crates/gpu/src/cuda", 179),
    // Structures as the bytes that a kernel gets.
    ("crates/gpu/src/launch/arguments.rs", 7),
    ("crates/gpu/src/multi/device_group.rs", 1),
    ("crates/gpu/src/nccl/group.rs", 2),
    ("crates/gpu/src/published", 8),
];

/// The Rust files below a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            found.push(path);
        }
    }
}

/// How often a text is `unsafe`, comments and words in texts aside.
fn count(text: &str) -> usize {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.map(|line| {
        ["{", "fn ", "impl ", "impl<", "extern ", "trait "].map(|next| line.matches(&format!("unsafe {next}")).count())
    })
    .map(|counts| counts.iter().sum::<usize>())
    .sum()
}

#[test]
fn unsafe_code_stands_in_the_named_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for krate in fs::read_dir(root.join("crates")).unwrap() {
        sources(&krate.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut found: BTreeMap<&str, usize> = MODULES.iter().map(|(module, _)| (*module, 0)).collect();
    for file in files {
        let here = count(&fs::read_to_string(&file).unwrap());
        if here > 0 {
            let name = file.strip_prefix(&root).unwrap();
            let module = MODULES.iter().find(|(module, _)| name.starts_with(module));
            let (module, _) =
                module.unwrap_or_else(|| panic!("{} has unsafe code and is not on the list", name.display()));
            *found.get_mut(module).unwrap() += here;
        }
    }
    assert_eq!(found, BTreeMap::from(MODULES));
}

#[test]
fn comments_and_words_are_not_counted() {
    assert_eq!(
        count("// unsafe { }\nlet a = \"unsafe\"; unsafe { b() } // unsafe {\nunsafe impl<T> Send for P<T> {}"),
        2
    );
    assert_eq!(count("pub unsafe fn a() {}\n#![forbid(unsafe_code)]\nunsafe extern \"C\" {}"), 2);
}
