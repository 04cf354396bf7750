//! Kernels compiled for every architecture, and the vendor's disassembler.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

use std::collections::HashSet;
use std::hash::Hash;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use syncscope_core::{Case, Layout, Preset};
use syncscope_gpu::compile::{Cache, Compiler, Program};
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::Nvrtc;
use syncscope_gpu::{DeviceLimits, cases, headers, program_of, unavailable};

pub(crate) use syncscope_gpu::verify::ARCHITECTURES;

/// A compiled program.
pub(crate) struct Compiled {
    pub(crate) name: String,
    /// One of the program's cases; the snippets have none.
    pub(crate) case: Option<Case>,
    pub(crate) program: Program,
    pub(crate) cubin: Arc<[u8]>,
}

/// The compute capability of an architecture: 7.5 for `sm_75`.
pub(crate) fn capability(arch: &str) -> (u32, u32) {
    let number: u32 = arch.strip_prefix("sm_").unwrap().parse().unwrap();
    (number / 10, number % 10)
}

/// A compiler with the cache that is kept between test runs.
pub(crate) fn compiler(arch: &str) -> Compiler {
    compiler_in(arch, Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.syncscope/kernel-test-cache")))
}

/// A compiler with its cache in this folder.
pub(crate) fn compiler_in(arch: &str, cache: &Path) -> Compiler {
    Compiler::new(nvrtc(), Cache::in_folder(cache), arch.to_owned(), headers())
}

pub(crate) fn nvrtc() -> Nvrtc {
    Nvrtc::find(&Surroundings::of_process(), None).unwrap_or_else(|error| panic!("{error}"))
}

/// One case for each program.
pub(crate) fn programs() -> Vec<(Case, Program)> {
    static PROGRAMS: LazyLock<Vec<(Case, Program)>> = LazyLock::new(|| {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        let mut seen = HashSet::new();
        // Some primitives cannot be measured on any device.
        let measured = cases(Preset::Paper, &limits)
            .into_iter()
            .filter(|case| [(10, 0), (99, 0)].iter().any(|one| unavailable(&case.primitive, *one).is_none()));
        let planned = measured.filter_map(|case| Some((program_of(&case)?, case)));
        planned.filter(|(program, _)| seen.insert(program.clone())).map(|(program, case)| (case, program)).collect()
    });
    PROGRAMS.clone()
}

/// The programs that an architecture has.
pub(crate) fn programs_on(arch: &str) -> Vec<(Case, Program)> {
    let is_there = |(case, _): &(Case, Program)| unavailable(&case.primitive, capability(arch)).is_none();
    programs().into_iter().filter(is_there).collect()
}

/// Whether tests select many programs: `make test-kernels`.
pub(crate) fn is_thorough() -> bool {
    std::env::var_os("SYNCSCOPE_ALL_KERNELS").is_some()
}

/// A selection of programs. On Hopper: one of each primitive on each memory, in each mode and form, and one for each width of
/// its values; on the oldest and the newest architecture one of each primitive; on the others one of each family. Thorough
/// tests take, on Hopper, all programs; on the oldest and the newest one on each memory, in each mode and form; on the others
/// one of each primitive.
pub(crate) fn some_programs(arch: &str) -> Vec<(Case, Program)> {
    let (mut forms, mut values) = (HashSet::new(), HashSet::new());
    let (is_hopper, is_extreme, is_thorough) = (arch == "sm_90", ["sm_75", "sm_120"].contains(&arch), is_thorough());
    let mut is_new = |case: &Case| {
        let has_primitives = is_hopper || is_extreme || is_thorough;
        let name = if has_primitives { &case.primitive } else { case.domain_and_family().1 }.to_owned();
        let form = (case.space, case.mode, case.layout == Some(Layout::Shared), case.form);
        // Orders and designs of wide barriers are separate programs.
        let is_design = ["gpu.grid.hierarchical", "gpu.multi.flags"].contains(&case.primitive.as_str());
        let design = (case.order, is_design.then(|| case.group.clone()));
        let value = case.dtype.map(|dtype| (dtype.size_bytes(), dtype.is_floating()));
        let has_forms = is_hopper || is_extreme && is_thorough;
        let is_new_form = forms.insert((name.clone(), has_forms.then_some((form, design))));
        is_hopper && values.insert((name, value)) || is_new_form
    };
    programs_on(arch).into_iter().filter(|(case, _)| is_hopper && is_thorough || is_new(case)).collect()
}

/// The snippets, and one program of each primitive, layout, type and form, on each memory and in each mode.
pub(crate) fn compiled(arch: &str) -> Vec<Compiled> {
    compiled_by(arch, |case| {
        let is_one = case.layout == Some(Layout::Shared);
        (case.primitive.clone(), case.space, is_one, case.mode, case.dtype, case.form)
    })
}

/// The snippets, and one program of each family.
pub(crate) fn compiled_families(arch: &str) -> Vec<Compiled> {
    compiled_by(arch, |case| case.domain_and_family().1.to_owned())
}

/// Only the snippets.
pub(crate) fn compiled_snippets(arch: &str) -> Vec<Compiled> {
    compiled_all(arch, vec![(None, snippets())])
}

fn compiled_by<K: Eq + Hash>(arch: &str, key: impl Fn(&Case) -> K) -> Vec<Compiled> {
    let mut seen = HashSet::new();
    let some = some_programs(arch).into_iter().filter(|(case, _)| seen.insert(key(case)));
    let some = some.map(|(case, program)| (Some(case), program));
    compiled_all(arch, std::iter::once((None, snippets())).chain(some).collect())
}

/// Compiles these programs, each with one of its cases if it has one.
pub(crate) fn compiled_all(arch: &str, programs: Vec<(Option<Case>, Program)>) -> Vec<Compiled> {
    let mut compiler = prepared(arch, programs.iter().map(|(_, program)| program));
    let compile = |(case, program): (Option<Case>, Program)| {
        let cubin = compiler.cubin(&program).unwrap_or_else(|error| panic!("{error}"));
        let name = case.as_ref().map_or_else(|| program.file.to_owned(), ToString::to_string);
        Compiled { name: format!("{arch} {name}"), case, program, cubin }
    };
    programs.into_iter().map(compile).collect()
}

/// A compiler that has compiled these programs. One test compiles at a time, with all CPUs; the next one finds them in the
/// cache.
pub(crate) fn prepared<'a>(arch: &str, programs: impl IntoIterator<Item = &'a Program>) -> Compiler {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut compiler = compiler(arch);
    compiler.prepare(&programs.into_iter().cloned().collect::<Vec<_>>(), &mut |_, _| {});
    compiler
}

/// The program of the timed snippets, which are not in the catalogue.
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
