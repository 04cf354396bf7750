//! What a process inherits and what decides the cost of the libraries that it calls: variables that runtimes read, and libraries
//! that are loaded before those that the program names.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use syncscope_host::{cpu_list, program_identity};

/// Beginnings of the variables that change how OpenMP runtimes, the C library, MPI libraries, CUDA and NCCL work. Only these are
/// written: others may name a host, a user or a secret.
const PREFIXES: [&str; 30] = [
    "OMP_",
    "GOMP_",
    "KMP_",
    "LIBOMP_",
    "GLIBC_TUNABLES",
    "MALLOC_",
    "MIMALLOC_",
    "TCMALLOC_",
    "LD_BIND_NOW",
    "OMPI_MCA_btl",
    "OMPI_MCA_bml",
    "OMPI_MCA_coll",
    "OMPI_MCA_mpi",
    "OMPI_MCA_mtl",
    "OMPI_MCA_op",
    "OMPI_MCA_osc",
    "OMPI_MCA_pml",
    "OMPI_MCA_smsc",
    "OMPI_MCA_topo",
    "MPICH_",
    "MPIR_CVAR_",
    "MV2_",
    "UCX_",
    "FI_",
    "PSM2_",
    "I_MPI_",
    "CUDA_",
    "__CUDA_",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_",
];

/// Words of names of variables that say where something is, or what it is called, and change no cost.
const PLACES: [&str; 15] = [
    "ADDR",
    "COMM_ID",
    "DEBUG",
    "DIR",
    "DIRECTORY",
    "FILE",
    "HOME",
    "HOST",
    "HOSTS",
    "HYDRA",
    "KEY",
    "PATH",
    "ROOT",
    "TOKEN",
    "VERSION",
];

/// Most characters of a value that are written.
const MOST: usize = 200;

/// The variables of this process that decide the cost of library calls, each with its value.
pub fn variables() -> BTreeMap<String, String> {
    deciding(
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into()))),
    )
}

fn deciding(all: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let is_a_place = |name: &str| PLACES.iter().any(|word| format!("_{name}_").contains(&format!("_{word}_")));
    let decides = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_a_place(name);
    all.filter(|(name, _)| decides(name)).map(|(name, value)| (printable(&name), printable(&value))).collect()
}

/// A value without control characters and without the folders of files, which may name a user, and not longer than [`MOST`].
fn printable(value: &str) -> String {
    let is_separator = |c: char| ",:;= \t".contains(c);
    let words = value.split_inclusive(is_separator).map(|word| {
        let begin = if word.starts_with('/') { word.rfind('/').map_or(0, |last| last + 1) } else { 0 };
        &word[begin..]
    });
    let text: String = words.collect::<String>().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The names of the files that the loader was told to load before the libraries of the program and that are in this process,
/// sorted: by `LD_PRELOAD`, `LD_AUDIT` and `/etc/ld.so.preload`.
pub fn preloaded() -> Vec<String> {
    let variable = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let file = fs::read_to_string("/etc/ld.so.preload").ok();
    let asked = [variable("LD_PRELOAD"), variable("LD_AUDIT"), file].into_iter().flatten();
    in_process(asked, &fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

/// Which of the files in these lists are mapped. The name may be that of a link to the file.
fn in_process(lists: impl Iterator<Item = String>, maps: &str) -> Vec<String> {
    let mapped: BTreeSet<&str> = maps.lines().filter_map(|line| line.rsplit_once('/').map(|(_, file)| file)).collect();
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let is_mapped = |path: &Path| {
        let real = fs::canonicalize(path).ok();
        let names = [Some(path), real.as_deref()].into_iter().flatten().filter_map(name);
        // What the loader found by its search path may have a longer name: `libgomp.so.1.0.0` of `libgomp.so.1`.
        names.into_iter().any(|name| mapped.iter().any(|file| file.starts_with(&name)))
    };
    let without_comments = |list: String| {
        list.lines()
            .flat_map(|line| {
                line.split('#')
                    .next()
                    .unwrap_or_default()
                    .split([' ', '\t', ':'])
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    let asked = lists.flat_map(without_comments).filter(|path| !path.is_empty());
    let found = asked.filter(|path| is_mapped(Path::new(path))).filter_map(|path| name(Path::new(&path)));
    found.map(|name| printable(&name)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What the processes of a run have in common, or their figures do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The CPUs that they may use.
    cpus: Vec<u32>,
    variables: BTreeMap<String, String>,
    preloaded: Vec<String>,
    /// The file that runs.
    program: Option<[u64; 2]>,
}

impl Conditions {
    /// Those of this process, which measures on these CPUs.
    pub fn here(cpus: Vec<u32>) -> Self {
        Self { cpus, variables: variables(), preloaded: preloaded(), program: program_identity() }
    }

    /// What differs `here` from what was meant; `None` where nothing does.
    pub fn difference(&self, here: &Self) -> Option<String> {
        let of = |cpus: &[u32]| if cpus.is_empty() { "none".to_owned() } else { cpu_list::format(cpus) };
        if self.cpus != here.cpus {
            let (here, meant) = (of(&here.cpus), of(&self.cpus));
            return Some(format!(
                "it may use CPUs {here} instead of {meant}; check taskset, the cpuset and binding variables"
            ));
        }
        if self.program != here.program {
            return Some("it runs another program file".to_owned());
        }
        if self.preloaded != here.preloaded {
            return Some("other libraries were preloaded".to_owned());
        }
        let names: BTreeSet<&String> = self.variables.keys().chain(here.variables.keys()).collect();
        let other = names.into_iter().find(|name| self.variables.get(*name) != here.variables.get(*name))?;
        Some(format!("it has another value of {other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        deciding(all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn variables_that_decide_a_cost_are_kept_and_no_others() {
        let decide = [
            ("OMP_WAIT_POLICY", "passive"),
            ("GOMP_SPINCOUNT", "0"),
            ("KMP_BLOCKTIME", "infinite"),
            ("GLIBC_TUNABLES", "glibc.pthread.mutex_spin_count=0"),
            ("MALLOC_ARENA_MAX", "1"),
            ("OMPI_MCA_btl", "self,vader"),
            ("MPICH_ASYNC_PROGRESS", "1"),
            ("UCX_TLS", "shm"),
            ("I_MPI_FABRICS", "shm"),
            ("CUDA_LAUNCH_BLOCKING", "1"),
            ("CUDA_DEVICE_MAX_CONNECTIONS", "1"),
            ("CUDA_VISIBLE_DEVICES", "0"),
            ("NCCL_ALGO", "Ring"),
        ];
        let others = [
            ("HOME", "/home/alice"),
            ("CUDA_HOME", "/opt/cuda"),
            ("CUDA_CACHE_PATH", "/home/alice"),
            ("NCCL_COMM_ID", "10.0.0.1:1"),
            ("NCCL_DEBUG_FILE", "/home/alice/log"),
            ("OMPI_MCA_orte_hnp_uri", "tcp://10.0.0.1"),
            ("I_MPI_HYDRA_HOST_FILE", "hosts"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("OMP_API_KEY", "x"),
        ];
        let found = of(&[&decide[..], &others].concat());
        assert_eq!(found.keys().collect::<BTreeSet<_>>(), of(&decide).keys().collect());
        assert_eq!(found.len(), decide.len());
    }

    #[test]
    fn values_name_no_folder_have_no_control_characters_and_end() {
        assert_eq!(printable("/home/alice/tool.so:/opt/x/b.so,verbose"), "tool.so:b.so,verbose");
        assert_eq!(printable("{0:4},1/2\n\u{1b}[31m"), "{0:4},1/2  [31m");
        assert_eq!(printable(&"é".repeat(1000)).chars().count(), MOST + 3);
    }

    #[test]
    fn preloaded_libraries_are_those_that_are_there() {
        let maps = "7f00-7f01 r-xp 0 fe:00 1 /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n7f02-7f03 r-xp 0 fe:00 2 /tmp/a b/spin.so\n7f04 rw-p 0";
        let lists = ["libgomp.so.1 /tmp/nowhere/missing.so", "/home/alice/spin.so # mine\n"].map(str::to_owned);
        assert_eq!(in_process(lists.into_iter(), maps), ["libgomp.so.1", "spin.so"]);
        assert!(in_process(std::iter::empty(), maps).is_empty());
    }

    #[test]
    fn the_difference_between_two_processes_is_named() {
        let meant = Conditions {
            cpus: vec![0, 1],
            variables: of(&[("OMP_NUM_THREADS", "2")]),
            preloaded: vec![],
            program: Some([1, 2]),
        };
        let with = |change: fn(&mut Conditions)| {
            let mut other = meant.clone();
            change(&mut other);
            meant.difference(&other)
        };
        assert_eq!(with(|_| ()), None);
        assert!(with(|other| other.cpus = vec![0]).unwrap().contains("CPUs 0 instead of 0-1"));
        assert!(with(|other| other.cpus = vec![]).unwrap().contains("none"));
        assert!(with(|other| other.program = Some([1, 3])).unwrap().contains("another program file"));
        assert!(with(|other| other.preloaded = vec!["a.so".into()]).unwrap().contains("preloaded"));
        assert!(with(|other| other.variables.clear()).unwrap().contains("OMP_NUM_THREADS"));
    }
}
