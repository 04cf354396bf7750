//! Kernels compiled for every architecture, and the vendor's disassembler.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

use std::collections::HashSet;
use std::hash::Hash;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use syncscope_core::{Case, Preset};
use syncscope_gpu::cache::Cache;
use syncscope_gpu::compile::{Compiler, Program};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::{DeviceLimits, cases, headers, program_of, unavailable};

pub(crate) use syncscope_gpu::verify::ARCHITECTURES;

/// A compiled program.
pub(crate) struct Compiled {
    pub(crate) name: String,
    /// One of its cases; the snippets have none.
    pub(crate) case: Option<Case>,
    pub(crate) cubin: Arc<[u8]>,
}

/// The capability of `sm_75` is 7.5.
pub(crate) fn capability(arch: &str) -> (u32, u32) {
    let number: u32 = arch.strip_prefix("sm_").unwrap().parse().unwrap();
    (number / 10, number % 10)
}

/// A compiler with the cache that is kept between test runs.
pub(crate) fn compiler(arch: &str) -> Compiler {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/kernel-test-cache");
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap_or_else(|error| panic!("{error}"));
    Compiler::new(nvrtc, Cache::in_folder(Path::new(kept)), arch.to_owned(), headers())
}

/// The snippets, and one program of each primitive on each memory and in each mode.
pub(crate) fn compiled(arch: &str) -> Vec<Compiled> {
    compiled_by(arch, |case| (case.primitive.clone(), case.space, case.mode))
}

/// The snippets, and one program of each family.
pub(crate) fn compiled_families(arch: &str) -> Vec<Compiled> {
    compiled_by(arch, |case| case.domain_and_family().1.to_owned())
}

/// The snippets alone.
pub(crate) fn compiled_snippets(arch: &str) -> Vec<Compiled> {
    compiled_families(arch).into_iter().filter(|program| program.case.is_none()).collect()
}

/// The snippets, and every program of the catalogue.
pub(crate) fn compiled_all(arch: &str) -> Vec<Compiled> {
    compiled_by(arch, |case| program_of(case).map(|program| (program.file, program.definitions)))
}

/// One test compiles at a time, with all CPUs; the next one finds the programs in the cache.
fn compiled_by<K: Eq + Hash>(arch: &str, key: impl Fn(&Case) -> K) -> Vec<Compiled> {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    let mut seen = HashSet::new();
    let mut planned = cases(Preset::Paper, &limits);
    planned.retain(|case| unavailable(&case.primitive, capability(arch)).is_none());
    planned.retain(|case| seen.insert(key(case)));
    let of_catalogue = planned.into_iter().filter_map(|case| Some((program_of(&case)?, Some(case))));
    let programs: Vec<(Program, Option<Case>)> = std::iter::once((snippets(), None)).chain(of_catalogue).collect();
    let mut compiler = compiler(arch);
    compiler.prepare(&programs.iter().map(|(program, _)| program.clone()).collect::<Vec<_>>(), &mut |_, _| {});
    let compile = |(program, case): (Program, Option<Case>)| {
        let cubin = compiler.cubin(&program).unwrap_or_else(|error| panic!("{error}"));
        let name = case.as_ref().map_or_else(|| program.file.to_owned(), ToString::to_string);
        Compiled { name: format!("{arch} {name}"), case, cubin }
    };
    programs.into_iter().map(compile).collect()
}

/// The program of the timed snippets, which is no part of the catalogue.
fn snippets() -> Program {
    let text = include_str!("../../../papers/src/timeline/timeline.cu");
    Program { file: "timeline.cu", text, definitions: Vec::new() }
}

/// The output of `nvdisasm` for a file.
pub(crate) fn nvdisasm(cubin: &[u8], options: &[&str]) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/cuda/nvidia/cu13/bin/nvdisasm");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), cubin).unwrap();
    let output = Command::new(path).args(options).arg(file.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{path}: {error}; run `make nvrtc`"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
