//! What a process inherits that decides the cost of library calls: variables that runtimes read, and libraries that are loaded
//! before those that the program names.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::Path;

/// Beginnings of the variables that change how OpenMP runtimes, the C library, MPI libraries, CUDA and NCCL work. Only these are
/// recorded: others may name a host, a user or a secret.
const PREFIXES: [&str; 31] = [
    "OMP_",
    "GOMP_",
    "KMP_",
    "LIBOMP_",
    "GLIBC_TUNABLES",
    "MALLOC_",
    "MIMALLOC_",
    "TCMALLOC_",
    "LD_",
    "RUST_MIN_STACK",
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

/// Words in the names of variables that give a place or a name and change no cost. The libraries that they load are in
/// [`preloaded`].
const PLACES: [&str; 17] = [
    "ADDR",
    "AUDIT",
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
    "PRELOAD",
    "ROOT",
    "TOKEN",
    "VERSION",
];

/// The most characters of a value that are recorded.
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

/// A value without control characters and without the folders of files, which may name a user, at most [`MOST`] characters long.
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

/// The variables that tell a compiler where its headers, libraries and own programs are, and which options to change, with
/// their values.
pub fn of_compilers() -> Vec<String> {
    const NAMES: [&str; 7] = [
        "CPATH",
        "C_INCLUDE_PATH",
        "CPLUS_INCLUDE_PATH",
        "LIBRARY_PATH",
        "COMPILER_PATH",
        "GCC_EXEC_PREFIX",
        "CCC_OVERRIDE_OPTIONS",
    ];
    let set = |name: &str| Some((name.to_owned(), env::var_os(name)?.to_string_lossy().into_owned()));
    let all = NAMES.into_iter().filter_map(set).filter(|(_, value)| !value.is_empty());
    all.map(|(name, value)| format!("{name}={}", printable(&value))).collect()
}

/// The variables that name libraries to load into a process: by the loader, and by CUDA for tools that watch it.
const LOADED: [&str; 4] = ["LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"];

/// The names, sorted, of the libraries in this process that were preloaded by variables or `/etc/ld.so.preload`.
pub fn preloaded() -> Vec<String> {
    let variables = LOADED.into_iter().filter_map(|name| Some(env::var_os(name)?.to_string_lossy().into_owned()));
    let asked = variables.chain(fs::read_to_string("/etc/ld.so.preload"));
    in_process(asked, &fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

/// The properties that the system gives to this process and not to most others, each with its value.
pub(crate) fn unusual(read: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let status = read("proc/self/status").unwrap_or_default();
    let of_status = |name: &str| {
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(field, _)| *field == name).map(|(_, value)| value.trim().to_owned())
    };
    let stat = read("proc/self/stat").unwrap_or_default();
    // The program's name may hold any characters, but is in parentheses; fields are counted from the state, the third field.
    let after_name: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let field = |number: usize| Some((*after_name.get(number - 3)?).to_owned()).filter(|value| value != "0");
    let is_set = |value: &String| value != "0";
    let policy = |number: String| match number.as_str() {
        "1" => "SCHED_FIFO".to_owned(),
        "2" => "SCHED_RR".to_owned(),
        "3" => "SCHED_BATCH".to_owned(),
        "5" => "SCHED_IDLE".to_owned(),
        "6" => "SCHED_DEADLINE".to_owned(),
        _ => number,
    };
    let memory = read("proc/self/numa_maps").and_then(|maps| Some(maps.split_whitespace().nth(1)?.to_owned()));
    let found = [
        ("nice", field(19)),
        ("scheduling policy", field(41).map(policy)),
        ("memory policy", memory.filter(|policy| policy != "default")),
        ("timer slack in ns", read("proc/self/timerslack_ns").filter(|slack| slack != "50000")),
        ("huge pages", of_status("THP_enabled").filter(|on| on == "0").map(|_| "off".to_owned())),
        ("traced", of_status("TracerPid").filter(is_set).map(|_| "yes".to_owned())),
        ("seccomp filters", of_status("Seccomp_filters").filter(is_set)),
        (
            "speculative store bypass",
            of_status("Speculation_Store_Bypass")
                .filter(|state| state.starts_with("thread") && state.ends_with("mitigated")),
        ),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), printable(&value?)))).collect()
}

/// Beginnings of the variables that change what the C library does in this process, which no row shows. Variables of OpenMP, MPI
/// and CUDA are set on most clusters, and rows say how their threads wait.
const OF_THE_C_LIBRARY: [&str; 2] = ["GLIBC_TUNABLES", "MALLOC_"];

/// The warnings about a process with these unusual properties, libraries and variables. Filters of system calls are usual in a
/// container.
pub fn warnings(
    unusual: &BTreeMap<String, String>,
    preloaded: &[String],
    variables: &BTreeMap<String, String>,
) -> Vec<String> {
    let properties = unusual.iter().filter(|(name, _)| *name != "seccomp filters");
    let properties: Vec<String> = properties.map(|(name, value)| format!("{name}: {value}")).collect();
    let properties = (!properties.is_empty())
        .then(|| format!("this process differs from most ({}), so its costs may differ, too", properties.join(", ")));
    let libraries = (!preloaded.is_empty()).then(|| {
        format!(
            "{} was loaded before the program's libraries: costs may differ from those without it",
            preloaded.join(", ")
        )
    });
    let of_c = variables.iter().filter(|(name, _)| OF_THE_C_LIBRARY.iter().any(|first| name.starts_with(first)));
    let of_c: Vec<String> = of_c.map(|(name, value)| format!("{name}={value}")).collect();
    let of_c = (!of_c.is_empty())
        .then(|| format!("the C library is tuned ({}): costs may differ from those without it", of_c.join(" ")));
    properties.into_iter().chain(libraries).chain(of_c).collect()
}

/// The files of these lists that are mapped. A list may name a link to the file.
fn in_process(lists: impl Iterator<Item = String>, maps: &str) -> Vec<String> {
    let mapped: BTreeSet<&str> = maps.lines().filter_map(|line| line.rsplit_once('/').map(|(_, file)| file)).collect();
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let is_mapped = |path: &Path| {
        let real = fs::canonicalize(path).ok();
        let names = [Some(path), real.as_deref()].into_iter().flatten().filter_map(name);
        // A file found by the loader's search path may have a longer name: `libgomp.so.1.0.0` for `libgomp.so.1`.
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
            ("LD_BIND_NOW", "1"),
            ("LD_PROFILE", "libc.so.6"),
            ("RUST_MIN_STACK", "1000000"),
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
            ("LD_PRELOAD", "/home/alice/a.so"),
            ("LD_AUDIT", "/home/alice/a.so"),
            ("LD_LIBRARY_PATH", "/home/alice/lib"),
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
    fn what_is_unusual_of_a_process_is_found() {
        let with = |status: &str, stat: &str, slack: &str, maps: &str| {
            let files = [("status", status), ("stat", stat), ("timerslack_ns", slack), ("numa_maps", maps)];
            unusual(|path| {
                let name = path.strip_prefix("proc/self/")?;
                files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.trim().to_owned())
            })
        };
        let stat = |nice: &str, policy: &str| {
            let zeros = |count: usize| "0 ".repeat(count);
            format!("7 (a) b) R {}{nice} {}{policy} 0\n", zeros(15), zeros(21))
        };
        let usual =
            "TracerPid:\t0\nTHP_enabled:\t1\nSeccomp_filters:\t0\nSpeculation_Store_Bypass:\tthread vulnerable\n";
        assert!(with(usual, &stat("0", "0"), "50000\n", "5589 default file=/bin/x\n").is_empty());
        let status =
            "TracerPid:\t12\nTHP_enabled:\t0\nSeccomp_filters:\t1\nSpeculation_Store_Bypass:\tthread force mitigated\n";
        let found = with(status, &stat("10", "3"), "1\n", "5589 bind:0 file=/bin/x\n");
        let values: Vec<&str> = found.values().map(String::as_str).collect();
        assert_eq!(
            values,
            ["off", "bind:0", "10", "SCHED_BATCH", "1", "thread force mitigated", "1", "yes"],
            "{found:?}"
        );
        let none = BTreeMap::new();
        let [warning] = &warnings(&found, &[], &none)[..] else { panic!("one sentence") };
        assert!(warning.contains("nice: 10") && warning.contains("traced: yes") && !warning.contains("seccomp"));
        let filters = BTreeMap::from([("seccomp filters".to_owned(), "1".to_owned())]);
        assert!(warnings(&filters, &[], &none).is_empty());
        assert!(warnings(&filters, &["a.so".to_owned()], &none)[0].starts_with("a.so was loaded"));
    }

    #[test]
    fn a_tuned_c_library_is_warned_of_and_no_site_wide_variable() {
        let said = |name: &str, value: &str| warnings(&BTreeMap::new(), &[], &of(&[(name, value)]));
        for (name, value) in [("GLIBC_TUNABLES", "glibc.pthread.rseq=0"), ("MALLOC_ARENA_MAX", "1")] {
            let [warning] = &said(name, value)[..] else { panic!("{name}") };
            assert!(warning.contains(&format!("({name}={value})")), "{warning}");
        }
        for name in ["OMP_NUM_THREADS", "UCX_TLS", "NCCL_NVLS_ENABLE", "CUDA_VISIBLE_DEVICES", "LD_BIND_NOW"] {
            assert!(said(name, "1").is_empty(), "{name}");
        }
    }
}
