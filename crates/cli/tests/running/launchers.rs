//! `run` as one of several processes of a launcher, which is simulated by its environment variables.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{command, stderr};

/// One process of three, started as by MPICH.
fn process(rank: u32, local: u32, node: &str, words: &[&str]) -> Output {
    let mut process = command(words);
    process.env("PMI_RANK", rank.to_string()).env("PMI_SIZE", "3").env("MPI_LOCALRANKID", local.to_string());
    process.env("SLURMD_NODENAME", node).output().unwrap()
}

const SHORT: [&str; 5] = ["run", "--only", "cpu.fence.flush", "--budget", "5s"];

#[test]
fn each_node_has_a_directory_and_one_process_prints() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs");
    let words = [&SHORT[..], &["--out", out.to_str().unwrap()]].concat();
    let first = process(0, 0, "cn1", &words);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(!first.stdout.is_empty() && stderr(&first).contains("the report is"));
    let second = process(1, 0, "cn2", &words);
    assert_eq!((second.status.code(), second.stdout.len(), stderr(&second).as_str()), (Some(0), 0, ""));
    let on_the_same_node = process(2, 1, "cn2", &words);
    assert_eq!((on_the_same_node.status.code(), stderr(&on_the_same_node).as_str()), (Some(0), ""));
    let mut nodes: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    nodes.sort();
    assert_eq!(nodes, ["cn1", "cn2"]);

    let again = process(1, 0, "cn2", &words);
    assert_eq!(again.status.code(), Some(2), "the directory is used");
    assert!(stderr(&again).starts_with("error: cn2: ") && stderr(&again).lines().count() == 1, "{}", stderr(&again));
    let resumed = process(1, 0, "cn2", &["run", "--resume", out.to_str().unwrap()]);
    assert_eq!(resumed.status.code(), Some(0), "a complete node has nothing left: {}", stderr(&resumed));
}

#[test]
fn names_of_nodes_stay_out_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let done = process(2, 0, "secret", &[&SHORT[..], &["--anonymous", "--out", out]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let run = folder.path().join("node-2");
    for file in ["run.json", "measurements.csv", "report.html"] {
        assert!(!fs::read_to_string(run.join(file)).unwrap().contains("secret"), "{file}");
    }
    assert!(Path::new(&run).is_dir());
}

#[test]
fn processes_of_a_launcher_need_a_common_directory() {
    let failed = process(0, 0, "cn1", &SHORT);
    assert_eq!(failed.status.code(), Some(2));
    assert!(stderr(&failed).contains("MPICH started 3 processes") && stderr(&failed).contains("--out"));
}

#[test]
fn processes_that_measure_together_have_no_experiments() {
    let refused = process(0, 0, "cn1", &["run", "--only", "mpi.*", "--experiments"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--experiments"), "{}", stderr(&refused));
}
