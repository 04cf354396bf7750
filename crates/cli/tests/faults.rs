//! A crash or hang costs the current case, or the GPUs, and nothing else: faults of fakes, and of driver and
//! compiler libraries that are built for these tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::fake_libraries::{Libraries, without_libraries};
use common::{command, stderr};
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;

/// The verdicts of a finished run, with the number of their rows.
fn verdicts(folder: &Path) -> BTreeMap<String, usize> {
    let directory = RunDirectory::open(folder).unwrap();
    assert_eq!(directory.read_run().unwrap().status, Status::Done);
    let mut verdicts = BTreeMap::new();
    for row in directory.read_rows().unwrap() {
        assert!(!row.provisional, "{row:?}");
        let key = format!("{} {}", row.verdict.name(), row.verdict.reason().split(' ').next_back().unwrap_or_default());
        *verdicts.entry(key.trim().to_owned()).or_default() += 1;
    }
    verdicts
}

fn fake_run(fault: &str, folder: &Path) -> Output {
    let only = ["--only", "cpu.lock.*", "--only", "cpu.atomic.read"];
    let words = [&["run", "--seed", "1"], &only[..], &["--out", folder.to_str().unwrap()]].concat();
    let mut command = command(&words);
    command.env("RUST_BACKTRACE", "0").env("SYNCSCOPE_STEP_LIMIT", "1s");
    command.env("SYNCSCOPE_FAKE", fault).output().unwrap()
}

/// Two of four cases end the process that measures them, each time they run.
#[test]
fn a_case_that_ends_its_process_fails_alone() {
    let faults = [
        ("crashes", "Failed SIGABRT", "ended by SIGABRT"),
        ("panics", "Failed panicked", "panicked"),
        ("hangs", "TimedOut 1s", "did not end within 1s"),
        ("breaks", "Failed context", "another process measures the rest"),
        ("loses", "Failed back", "its threads, or its device, did not come back"),
    ];
    for (fault, verdict, message) in faults {
        let folder = tempfile::tempdir().unwrap();
        let output = fake_run(&format!("fault={fault}"), folder.path());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{fault}: {text}");
        assert!(text.contains(message), "{fault}: {text}");
        let verdicts = verdicts(folder.path());
        assert_eq!(verdicts.get(verdict), Some(&2), "{fault}: {verdicts:?}");
        assert_eq!(verdicts.values().sum::<usize>(), 4, "{fault}: the rest is measured: {verdicts:?}");
        assert!(folder.path().join("report.html").is_file(), "{fault}");
    }
}

/// The first process of a common run has no supervisor, so it must not open a driver.
#[test]
fn a_driver_that_hangs_does_not_stop_a_common_run() {
    let Some(libraries) = Libraries::build() else { return };
    let folder = tempfile::tempdir().unwrap();
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_libraries/mpi_shim.c");
    let wrapper = folder.path().join("mpicc");
    let script = "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nexec cc -shared -fPIC -w -o \"$2\" 'SHIM'\n";
    fs::write(&wrapper, script.replace("SHIM", shim.to_str().unwrap())).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let common_run = |words: &[&str]| {
        let mut run = command(&[&["run", "--only", "mpi.*", "--dry-run"], words].concat());
        run.env_remove("SYNCSCOPE_FAKE").env("FAKE_CUDA", "cuInit:hangs").stdout(Stdio::piped()).stderr(Stdio::piped());
        run.env("PMI_RANK", "0").env("PMI_SIZE", "2").env("MPI_LOCALRANKID", "0");
        run.env("SYNCSCOPE_MPICC", &wrapper).env("SYNCSCOPE_CACHE", folder.path().join("cache"));
        let mut run = libraries.driver_for(&mut run).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while run.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                run.kill().unwrap();
                panic!("the driver was opened");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        run.wait_with_output().unwrap()
    };
    let output = common_run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("mpi.barrier.blocking"), "{output:?}");
    let refused = common_run(&["--device", "0"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("use no GPU"), "{}", stderr(&refused));
}

/// Each of 12 cases crashes: some processes are tried, then the run says how to resume it.
#[test]
fn a_run_whose_cases_all_crash_ends() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let words = ["run", "--only", "cpu.lock.*", "--out", out];
    let output = command(&words).env("SYNCSCOPE_FAKE", "threads=12,fault=crashes").output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.lines().last().unwrap().contains(&format!("syncscope run --resume {out}")), "{text}");
    let rows = RunDirectory::open(folder.path()).unwrap().read_rows().unwrap();
    assert!((5..12).contains(&rows.len()), "{} rows", rows.len());
    let resumed = command(&["run", "--resume", out]).env("SYNCSCOPE_FAKE", "threads=12").output().unwrap();
    assert_eq!(resumed.status.code(), Some(3), "those that crashed have failed: {}", stderr(&resumed));
    assert_eq!(verdicts(folder.path()).values().sum::<usize>(), 12);
}

/// A killed process takes its worker with it, even a hanging one.
#[test]
fn a_worker_ends_with_its_supervisor() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["run", "--only", "cpu.lock.*", "--out", folder.path().to_str().unwrap()];
    let mut run = command(&words).env("SYNCSCOPE_FAKE", "fault=hangs").spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while RunDirectory::open(folder.path()).is_err() {
        assert!(Instant::now() < deadline, "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let lock = RunDirectory::open(folder.path()).unwrap().lock();
    assert!(lock.is_ok(), "a process of the run is left: {lock:?}");
}

/// Runs the command with a driver that behaves like this.
fn with_driver(libraries: &Libraries, words: &[&str], behaviour: &str) -> Output {
    // Only a step that hangs takes as long as the limit. On a busy machine other steps take seconds, and preparing a run more
    // than 10.
    let limit = if words.contains(&"run") { "20s" } else { "5s" };
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    libraries.driver_for(&mut command).args(words);
    command.env("FAKE_CUDA", behaviour).env("SYNCSCOPE_STEP_LIMIT", limit).output().unwrap()
}

/// The reason that `list` gives for missing GPU primitives.
fn absence(list: &str) -> &str {
    let of_gpu = |part: &&str| part.contains("gpu.atomic.add\n");
    list.split("Not available: ").skip(1).find(of_gpu).unwrap_or_else(|| panic!("the GPU is there: {list}"))
}

/// `list` explains each absence, never crashes and never hangs.
#[test]
fn a_driver_may_fail_in_every_call_of_its_opening() {
    let Some(libraries) = Libraries::build() else { return };
    let cases = [
        ("cuInit:100", "sees no device"),
        ("cuInit:34", "sees no device"),
        ("cuInit:999", "cuInit: unknown error"),
        ("cuInit:hangs", "opening the GPUs: it did not end within 5s"),
        ("cuInit:crashes", "opening the GPUs: the process was ended by SIGSEGV"),
        ("cuInit:exits", "opening the GPUs: the process ended with exit code 0"),
        ("cuDriverGetVersion:3", "cuDriverGetVersion: unknown error"),
        ("cuDeviceGetCount:101", "cuDeviceGetCount: unknown error"),
        ("cuDeviceGet:101", "cuDeviceGet: unknown error"),
        ("cuDeviceGetName:46", "cuDeviceGetName: unknown error"),
        ("cuDeviceGetAttribute:46", "cuDeviceGetAttribute: unknown error"),
        ("cuDeviceTotalMem_v2:crashes", "SIGSEGV"),
    ];
    for (behaviour, reason) in cases {
        let output = with_driver(&libraries, &["list"], behaviour);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{behaviour}: {}", stderr(&output));
        assert!(absence(&text).contains(reason), "{behaviour}: {text}");
        assert!(text.contains("cpu.atomic.add"), "{behaviour}: the CPU is there");
    }
}

/// With the real compiler, the laboratory goes on to contexts, memory, modules, launches and the clock.
#[test]
fn a_device_may_be_lost_in_every_call_of_its_first_kernel() {
    let Some(libraries) = Libraries::build() else { return };
    let mut cases = vec![
        ("cuCtxCreate_v2:hangs", "did not end within 2s"),
        ("cuStreamQuery:hangs", "did not end within 2s"),
        ("cuModuleLoadData:crashes", "SIGSEGV"),
        // The clock of a device that runs nothing does not advance.
        ("none", "the global timer of the device does not advance"),
    ];
    let calls = ["cuCtxCreate_v2", "cuMemAlloc_v2", "cuModuleLoadData", "cuLaunchKernel"];
    let lost: Vec<String> = calls.iter().map(|call| format!("{call}:46")).collect();
    cases.extend(lost.iter().map(|behaviour| (behaviour.as_str(), "unknown error")));
    for (behaviour, reason) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
        libraries.driver_for(&mut command).args(["list"]);
        command.env("FAKE_CUDA", behaviour).env("SYNCSCOPE_STEP_LIMIT", "2s");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{behaviour}: {}", stderr(&output));
        assert!(absence(&text).contains(reason), "{behaviour}: {text}");
    }
}

#[test]
fn a_run_goes_on_without_a_driver_that_hangs() {
    let Some(libraries) = Libraries::build() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let words =
        ["run", "--only", "cpu.atomic.read", "--threads", "1", "--dtype", "i32", "--out", out.to_str().unwrap()];
    let output = with_driver(&libraries, &words, "cuInit:hangs");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("the GPU is not measured: opening the GPUs") && text.contains("nvidia-smi"), "{text}");
    assert!(!verdicts(&out).is_empty());
    // If the user named the device, there is nothing else to measure.
    let out = folder.path().join("asked");
    let output = with_driver(&libraries, &["run", "--device", "0", "--out", out.to_str().unwrap()], "cuInit:crashes");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).lines().last().unwrap().starts_with("error: opening the GPUs"), "{}", stderr(&output));
}

#[test]
fn libraries_that_are_none_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("libcuda.so.1", ""), ("libnvrtc.so.13", "no library"), ("libnvidia-ml.so.1", "\x7fELF")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let list = |folder: &Path| {
        let mut command = without_libraries(folder);
        let output = command.env("LD_LIBRARY_PATH", folder).arg("list").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = list(folder.path());
    assert!(text.contains("Not available: no NVIDIA driver (libcuda.so.1 cannot be loaded)"), "{text}");
    let Some(libraries) = Libraries::build() else { return };
    // A library with other functions under the name of the driver.
    std::fs::copy(libraries.compiler(), folder.path().join("libcuda.so.1")).unwrap();
    let text = list(folder.path());
    assert!(text.contains("Not available: the NVIDIA driver does not have cuInit"), "{text}");
    // A driver and a device, and a compiler that is a text file.
    std::fs::copy(libraries.driver(), folder.path().join("libcuda.so.1")).unwrap();
    let text = list(folder.path());
    assert!(text.contains("NVRTC") && text.contains("gpu.atomic.add"), "{text}");
}

#[test]
fn a_compiler_that_does_not_fit_is_refused_with_the_remedy() {
    let Some(libraries) = Libraries::build() else { return };
    for (variable, value, reason) in [
        ("FAKE_NVRTC_VERSION", "99", "its code is for CUDA 99.0, the driver has CUDA 13.0"),
        ("FAKE_NVRTC_ARCH", "75", "cannot compile for sm_90 (it knows sm_75); install an NVRTC that does"),
        ("FAKE_NVRTC", "nvrtcVersion:hangs", "did not end within 2s"),
        ("FAKE_NVRTC", "nvrtcGetSupportedArchs:crashes", "SIGSEGV"),
        ("FAKE_NVRTC", "nvrtcGetNumSupportedArchs:7", "nvrtcGetNumSupportedArchs: error 7"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = without_libraries(folder.path());
        libraries.compiler_for(libraries.driver_for(&mut command)).arg("list").env(variable, value);
        let output = command.env("SYNCSCOPE_STEP_LIMIT", "2s").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{value}: {}", stderr(&output));
        assert!(text.contains(reason), "{value}: {text}");
    }
}

/// Programs of one type end the compiler; all other programs are compiled.
#[test]
fn a_source_that_ends_the_compiler_fails_alone() {
    let Some(libraries) = Libraries::build() else { return };
    for (behaviour, reason) in [
        ("nvrtcCompileProgram:crashes", "the compiler ended (signal: 11 (SIGSEGV)"),
        ("nvrtcCompileProgram:exits", "the compiler ended (exit status: 0) on shuffle.cu"),
        ("nvrtcCompileProgram:talks", "the compiler wrote something that is not an answer on shuffle.cu"),
        ("nvrtcCompileProgram:hangs", "shuffle.cu was not compiled within 1 s"),
        ("nvrtcCompileProgram:11", "nvrtcCompileProgram: error 11"),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
        libraries.compiler_for(&mut command).args(["verify", "--arch", "sm_90", "--only", "gpu.shuffle.idx"]);
        command.env("FAKE_NVRTC", behaviour).env("FAKE_NVRTC_ON", "double").env("SYNCSCOPE_COMPILE_LIMIT", "1");
        let output = command.env("SYNCSCOPE_CACHE", cache.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(3), "{behaviour}: {text} {}", stderr(&output));
        let last = text.lines().last().unwrap_or_default();
        assert!(last.starts_with("NOT CHECKED: ") && last.contains("for sm_90") && last.contains(reason), "{last}");
        let names_file = behaviour.ends_with("11") || last.contains("shuffle.cu");
        assert!(names_file, "{last}");
        let is_failed = |line: &&str| line.contains(reason);
        let (failed, others): (Vec<&str>, Vec<&str>) =
            text.lines().filter(|line| line.starts_with("gpu.shuffle.idx")).partition(is_failed);
        assert!(!failed.is_empty() && failed.iter().all(|line| line.contains(" f64 ")), "{behaviour}: {text}");
        assert!(
            others.len() > failed.len() && others.iter().all(|line| !line.contains(" f64 ")),
            "{behaviour}: {text}"
        );
    }
}

#[test]
fn an_architecture_that_is_not_verified_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let output = without_libraries(folder.path()).args(["verify", "--only", "gpu.block.syncthreads"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(output.status.code(), Some(3), "{text} {}", stderr(&output));
    assert!(last.starts_with("NOT CHECKED: sm_75, sm_80, ") && last.contains("NVRTC"), "{text}");
    // An architecture counts once, however often it is named.
    let twice = ["verify", "--only", "gpu.block.syncthreads", "--arch", "sm_90,sm_80", "--arch", "sm_90"];
    let output = without_libraries(folder.path()).args(twice).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("NOT CHECKED: sm_90, sm_80: "), "{text}");
    // A command that asks for nothing of a GPU is complete.
    let output = without_libraries(folder.path()).args(["verify", "--only", "cpu.fence.seq_cst"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !text.contains("NOT CHECKED"), "{text} {}", stderr(&output));
    // A primitive without code on this processor, and one without code on any.
    let foreign = if cfg!(target_arch = "x86_64") { "cpu.wait.wfe" } else { "cpu.wait.tpause" };
    for (arguments, code, said) in [
        (vec![foreign], 3, "NOT CHECKED: cpu.wait."),
        (vec!["mpi.barrier.blocking"], 3, "NOT CHECKED: mpi.barrier.blocking: "),
        (vec!["cpu.fence.seq_cst", "--arch", "sm_90,sm_80"], 2, "--arch is for GPUs"),
    ] {
        let output = without_libraries(folder.path()).args(["verify", "--only"]).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        assert!(output.status.code() == Some(code) && text.contains(said), "{text}");
    }
}
