//! `syncscope import`: from the files of SyncPerformance to a page.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use syncscope_report::RunData;

fn syncscope(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syncscope")).args(arguments).output().unwrap()
}

fn import(results: &Path, run: &Path) -> Output {
    syncscope(&["import".as_ref(), "syncperformance".as_ref(), results, "-o".as_ref(), run])
}

fn file(root: &Path, folder: &str, text: &str) {
    let folder = root.join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("runtimes.csv"), text).unwrap();
}

/// Writes the results of one system, a few lines of each kind.
fn results(root: &Path) {
    let cuda = "cuda_syncthreads\nn iter,1000\n\"\"\nn_blocks,1\ntype mode,aggregate,32,64\n\
        int,max,5e-06,-6e-06\nint,min,4e-06,5e-06\nint,med,5e-06,5e-06\nint,avg,5e-06,5e-06\n";
    file(root, "NVIDIA_A100/cuda_syncthreads", cuda);
    let omp = "omp_atomicadd_array_v2_close\nn iter,1000\narr step,16\n\"\"\ntype mode,aggregate,2\nint,max,6e-09\n";
    file(root, "omp_atomicadd_array_v2_close/step16", omp);
    file(root, "omp_atomicread_close", "omp_atomicread_close\nn iter,1000\n\"\"\ntype mode,aggregate,2\nint,max,0.0\n");
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_results_become_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (system, run) = (folder.path().join("system9"), folder.path().join("run"));
    results(&system);
    fs::write(folder.path().join("LICENSE"), "a licence").unwrap();
    let output = import(&system, &run);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let data = RunData::load(&run, std::sync::Arc::default()).unwrap();
    assert_eq!(data.rows.len(), 3);
    assert_eq!(fs::read_to_string(run.join("LICENSE")).unwrap(), "a licence", "the licence stays beside the figures");
    assert_eq!(data.run.machine.gpus[0].name, "NVIDIA A100");
    assert!(data.run.warnings.iter().any(|warning| warning.starts_with("ignored omp_atomicread_close: ")));
    let row = |part: &str| data.rows.iter().find(|row| row.case.to_string().contains(part)).unwrap();
    let barrier = row("syncthreads 32");
    assert!((barrier.ns.unwrap().value() - 5.0).abs() < 1e-6);
    assert_eq!((barrier.ns_interval, barrier.cycles), (None, None));
    assert_eq!(row("syncthreads 64").verdict.name(), "Noisy");
    assert!((row("cpu.atomic.add").ns.unwrap().value() - 6.0).abs() < 1e-6);
    let page = folder.path().join("page.html");
    let output = syncscope(&["report".as_ref(), &run, &run, "-o".as_ref(), &page]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(fs::read_to_string(page).unwrap().contains("system9 (SyncPerformance)"));
}

#[test]
fn errors_name_the_file_or_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("empty")).unwrap();
    let output = import(&at("empty"), &at("run"));
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(errors(&output).contains("holds no runtimes.csv"));

    results(&at("broken"));
    file(&at("broken"), "omp_barrier", "omp_barrier\nn iter,1000\nint,max,oops\n");
    let output = import(&at("broken"), &at("run"));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains("omp_barrier/runtimes.csv, line 3: `oops` is not a number"),
        "{}",
        errors(&output)
    );
    assert!(!at("run").exists(), "no directory is left");

    results(&at("two/a"));
    results(&at("two/b"));
    let output = import(&at("two"), &at("run"));
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("several systems"), "{}", errors(&output));

    results(&at("good"));
    let output = import(&at("good"), &at("good"));
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("is not empty; name another directory with -o"), "{}", errors(&output));
}

#[test]
fn what_describes_no_machine_of_a_matrix_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("cpu.csv"), "\u{feff},,\n1,,\n2,3,\n").unwrap();
    let import = |matrix: &str, machine: &str| {
        fs::write(at("machine.json"), machine).unwrap();
        let [matrix, machine, run] = [matrix, "machine.json", "run"].map(at);
        let output = syncscope(&[
            "import".as_ref(),
            "core-to-core-latency".as_ref(),
            &matrix,
            "--machine".as_ref(),
            &machine,
            "-o".as_ref(),
            &run,
        ]);
        (output.status.code(), errors(&output))
    };
    let of_threads = |count: u32| format!("{{\"machine\": {{\"cpu\": {{\"hardware_threads\": {count}}}}}}}");
    for (matrix, machine, words) in [
        ("none.csv", of_threads(3), "none.csv: No such file or directory"),
        ("cpu.csv", "[]".to_owned(), "machine.json: it is no run.json: expected an object with `machine`"),
        ("cpu.csv", of_threads(2), "machine.json: the machine has 2 hardware threads, but the results are of 3 CPUs"),
    ] {
        let (code, text) = import(matrix, &machine);
        assert!(code == Some(1) && text.contains(words), "{words}: {text}");
        assert!(!at("run").exists(), "{words}");
    }
    let (code, text) = import("cpu.csv", &of_threads(4));
    assert_eq!(code, Some(0), "{text}");
}
