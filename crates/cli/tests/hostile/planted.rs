//! Libraries and programs with all names that syncscope looks for, in the working folder and above it: none is loaded or started.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::program;

/// The names in the program's own lists, used where there is no strace to show them.
const LIBRARIES: [&str; 16] = [
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so",
    "libnvrtc-builtins.so.13.0",
    "libcuda.so.1",
    "libcuda.so",
    "libnvcuda.so",
    "libnvidia-ml.so.1",
    "libnccl.so.2",
    "libgomp.so.1",
    "libomp.so.5",
    "libomp.so",
    "libmpi.so.40",
    "libhwloc.so.15",
    "libnuma.so.1",
    "libstdc++.so.6",
];

/// Programs, including those that a compiler starts.
const PROGRAMS: [&str; 10] = ["cc", "c++", "gcc", "cc1", "as", "ld", "mpicc", "python3", "nvdisasm", "sh"];

/// Libraries that the loader needs before the program begins: the program cannot refuse an empty part of LD_LIBRARY_PATH for
/// these.
const OF_THE_LOADER: [&str; 6] = ["libc.so", "libm.so", "libgcc_s.so", "libdl.so", "libpthread.so", "ld-linux"];

/// The places of libraries below a toolkit, an installation of wheels or a Python environment.
const PLACES: [&str; 8] = [
    "",
    "lib",
    "lib64",
    ".syncscope/cuda",
    ".syncscope/cuda/lib64",
    ".syncscope/cuda/nvidia/cu13/lib",
    ".syncscope/cuda/nvidia/nccl/lib",
    "lib/python3.12/site-packages/nvidia/cu13/lib",
];

const COMMANDS: [&[&str]; 6] = [
    &["list"],
    &["system"],
    &["verify", "--only", "gpu.block.syncthreads", "--arch", "sm_90"],
    &["measure", "--gpu", "x++", "--sass"],
    &["measure", "--cpu", "x++", "--threads", "1", "--budget", "2s", "--out", "OUT"],
    &["run", "--only", "cpu.barrier.openmp", "--threads", "2", "--budget", "1s", "--out", "OUT"],
];

struct Trap {
    root: tempfile::TempDir,
    /// A folder four levels below.
    working: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let working = root.path().join("a/b/c/d");
        fs::create_dir_all(&working).unwrap();
        Self { root, working }
    }

    /// The file to which executed code writes its name.
    fn marker(&self) -> PathBuf {
        self.root.path().join("executed")
    }

    /// A library that leaves a mark when it is loaded; `None` without a compiler.
    fn library(&self) -> Option<PathBuf> {
        let [source, library] = ["planted.c", "planted.so"].map(|name| self.root.path().join(name));
        let text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n__attribute__((constructor)) static void mark(void) {\n\
                    Dl_info own; FILE *to = fopen(MARKER, \"a\"); dladdr((void *)mark, &own); fprintf(to, \"%s\\n\", own.dli_fname); fclose(to); }\n";
        fs::write(&source, text).unwrap();
        let marker = format!("-DMARKER=\"{}\"", self.marker().display());
        let built = Command::new("cc").args(["-shared", "-fPIC", &marker, "-o"]).arg(&library).arg(&source).status();
        built.is_ok_and(|status| status.success()).then_some(library)
    }

    /// Puts the library, under each of the names, and programs into every folder from the working folder up.
    fn plant(&self, library: &Path, names: &BTreeSet<String>) {
        let script = format!("#!/bin/sh\necho \"$0\" >>{}\n", self.marker().display());
        for folder in self.working.ancestors().take(5) {
            for place in PLACES {
                let place = folder.join(place);
                fs::create_dir_all(&place).unwrap();
                for name in names {
                    fs::hard_link(library, place.join(name)).unwrap();
                }
            }
            for name in PROGRAMS {
                fs::write(folder.join(name), &script).unwrap();
                fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }

    /// A command of syncscope in the working folder, behind other words (those of strace).
    fn command(&self, before: &[&str], words: &[&str], number: usize) -> Command {
        let out = self.root.path().join(format!("out-{number}"));
        let program = program();
        let all: Vec<&str> = before.iter().copied().chain([program.as_str()]).chain(words.iter().copied()).collect();
        let mut command = Command::new(all[0]);
        command.args(all[1..].iter().map(|word| if *word == "OUT" { out.as_os_str() } else { word.as_ref() }));
        command.current_dir(&self.working).env("HOME", self.root.path().join("home"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The names of the libraries that syncscope looks for, by strace.
    fn seen(&self) -> BTreeSet<String> {
        let log = self.root.path().join("strace");
        let path = log.to_str().unwrap();
        let mut names = BTreeSet::new();
        for (number, words) in COMMANDS.iter().enumerate() {
            let before = ["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", path];
            let _ = self.command(&before, words, number).status();
            let text = fs::read(&log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            let opened = text.lines().filter_map(|line| line.split('"').nth(1)?.rsplit('/').next());
            names.extend(opened.filter(|name| name.contains(".so")).map(str::to_owned));
        }
        names
    }

    fn executed(&self) -> Vec<String> {
        fs::read_to_string(self.marker()).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

#[test]
fn nothing_is_executed_that_lies_in_the_working_folder_or_above_it() {
    let trap = Trap::new();
    let Some(library) = trap.library() else {
        eprintln!("skipped: there is no C compiler to build the planted library with");
        return;
    };
    let mut names: BTreeSet<String> = LIBRARIES.map(str::to_owned).into();
    names.extend(trap.seen());
    names.retain(|name| !OF_THE_LOADER.iter().any(|known| name.starts_with(known)) && name != "ld.so.cache");
    trap.plant(&library, &names);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut ended = Vec::new();
    let lists = [format!(".:{path}"), format!(":{path}"), format!("{path}:")];
    let mut number = COMMANDS.len();
    for words in COMMANDS {
        for list in &lists {
            number += 1;
            let mut command = trap.command(&[], words, number);
            command.env("PATH", list).env("LD_LIBRARY_PATH", ":").env("COMPILER_PATH", ".").env("C_INCLUDE_PATH", "");
            for variable in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
                command.env(variable, ".");
            }
            command.env("XDG_CACHE_HOME", "lib").env("XDG_STATE_HOME", "lib").env("SYNCSCOPE_NCCL", ".");
            ended.push((words, command.status().unwrap()));
            assert_eq!(trap.executed(), [""; 0], "{words:?} with PATH={list}");
        }
    }
    // The trap works: a library that the user names is loaded.
    let mut control = trap.command(&[], COMMANDS[3], 0);
    let output = control.env("LD_LIBRARY_PATH", trap.working.join("lib64")).stderr(Stdio::piped()).output().unwrap();
    let executed = trap.executed();
    assert!(
        executed.iter().any(|file| file.ends_with("lib64/libnvrtc.so.13")),
        "{executed:?}; {output:?}; {names:?}; before: {ended:?}"
    );
}

#[test]
fn a_library_near_the_program_is_refused_where_others_may_write_and_the_folder_is_named() {
    let trap = Trap::new();
    let Some(library) = trap.library() else { return };
    let own = trap.working.join("syncscope");
    fs::copy(program(), &own).unwrap();
    trap.plant(&library, &BTreeSet::from(["libnvrtc.so.13".to_owned()]));
    let open = trap.root.path().join("a/b");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(own);
    command.args(COMMANDS[2]).env("PATH", "/nowhere").env("HOME", "/nowhere").stdin(Stdio::null());
    for variable in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(trap.executed(), [""; 0], "{text}");
    // On a machine with its own NVRTC, none of the folders matters.
    if !output.status.success() {
        assert!(text.contains("a/b: everybody may write to it (mode 0777)"), "{text}");
    }
}
