//! `unsafe` is allowed only in the modules named here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files, or folders with everything in them.
const MODULES: [&str; 32] = [
    // Calls of the operating system that no crate offers.
    "crates/host/src",
    // Reads the machine code of this program's own loops.
    "crates/cpu/src/evidence/function.rs",
    "crates/cpu/src/evidence/x86_64.rs",
    // Mapped memory, the place of its pages, CPUID.
    "crates/cpu/src/memory/mod.rs",
    "crates/machine/src/system.rs",
    // Instructions under study that Rust cannot express, and pointers to measured variables.
    "crates/cpu/src/primitives/atomic/read.rs",
    "crates/cpu/src/primitives/hint.rs",
    "crates/cpu/src/primitives/lock/mod.rs",
    "crates/cpu/src/primitives/lock/readers_writer.rs",
    "crates/cpu/src/primitives/number.rs",
    "crates/cpu/src/primitives/opaque.rs",
    "crates/cpu/src/primitives/reduction/joining.rs",
    // Memory and descriptors that several processes share.
    "crates/cpu/src/memory/inherited.rs",
    "crates/cpu/src/primitives/handoff/kernel.rs",
    "crates/cpu/src/primitives/handoff/spinning.rs",
    "crates/cpu/src/processes",
    "crates/cpu/src/sync/between_processes.rs",
    // The library of the site's MPI.
    "crates/mpi/src/library.rs",
    // The user's code, compiled and loaded.
    "crates/cpu/src/primitives/own/library.rs",
    // Locks and barriers.
    "crates/cpu/src/sync/locks",
    "crates/cpu/src/sync/pthread.rs",
    // OpenMP runtimes.
    "crates/cpu/src/team/openmp.rs",
    // Instructions that read clocks and counters, and chains of instructions.
    "crates/cpu/src/timing/chains.rs",
    "crates/cpu/src/timing/clock.rs",
    "crates/cpu/src/timing/cycles.rs",
    "crates/cpu/src/timing/smt_interference.rs",
    // The driver, NVML and NVRTC.
    "crates/gpu/src/cuda",
    // Structures as the bytes that a kernel receives.
    "crates/gpu/src/experiments/reduction/queue.rs",
    "crates/gpu/src/launch/arguments.rs",
    "crates/gpu/src/multi/device_group.rs",
    "crates/gpu/src/nccl/group.rs",
    "crates/gpu/src/own_device.rs",
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

/// Whether a text has unsafe code, ignoring comments and words in strings.
fn has_unsafe_code(text: &str) -> bool {
    let follows = ["{", "fn ", "impl ", "impl<", "extern ", "trait "].map(|next| format!("unsafe {next}"));
    let mut code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.any(|line| follows.iter().any(|form| line.contains(form)))
}

#[test]
fn unsafe_code_stands_in_the_named_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for krate in fs::read_dir(root.join("crates")).unwrap() {
        sources(&krate.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut unused = BTreeSet::from(MODULES);
    for file in files.iter().filter(|file| has_unsafe_code(&fs::read_to_string(file).unwrap())) {
        let name = file.strip_prefix(&root).unwrap();
        let module = MODULES.iter().find(|module| name.starts_with(module));
        let module = module.unwrap_or_else(|| panic!("{} has unsafe code and is not on the list", name.display()));
        unused.remove(module);
    }
    assert!(unused.is_empty(), "on the list, and without unsafe code: {unused:?}");
}

#[test]
fn comments_and_words_are_no_unsafe_code() {
    assert!(!has_unsafe_code("// unsafe { }\nlet a = \"unsafe\"; b(); // unsafe {\n#![forbid(unsafe_code)]"));
    assert!(has_unsafe_code("unsafe impl<T> Send for P<T> {}") && has_unsafe_code("pub unsafe fn a() {}"));
}

/// Initializers of a library may bind the thread, change its floating point mode, or block its signals.
#[test]
fn no_library_is_loaded_but_undisturbed() {
    let mut files = Vec::new();
    for krate in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        sources(&krate.unwrap().path().join("src"), &mut files);
    }
    let mut loads = 0;
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let count = |words: &[&str]| words.iter().map(|word| text.matches(word).count()).sum::<usize>();
        let here = count(&["Library::new(", "Library::open(", "is_culib_present()"]);
        assert!(count(&["undisturbed("]) >= here, "{}: load it in `loading::undisturbed`", file.display());
        loads += here;
    }
    assert!(loads >= 8, "{loads}");
}
