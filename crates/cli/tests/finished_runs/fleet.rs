//! `fleet` as users call it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{output, stderr};

fn stored(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name).display().to_string()
}

/// Runs of one fake machine, each with its seed, in directories of one.
fn runs(folder: &Path, count: u32) -> Vec<PathBuf> {
    let run = |seed: u32| {
        let path = folder.join(format!("cn{seed}"));
        let seed = seed.to_string();
        let done = output(&["run", "--seed", &seed, "--skip", "cpu.barrier.*", "--out", path.to_str().unwrap()]);
        assert!(done.status.success(), "{}", stderr(&done));
        path
    };
    (0..count).map(run).collect()
}

#[test]
fn nodes_of_one_kind_are_alike_and_one_that_cannot_be_read_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let runs = runs(folder.path(), 4);
    fs::write(runs[2].join("run.json"), "{").unwrap();
    let words = ["fleet", folder.path().to_str().unwrap(), "--fail-on", "outlier"];
    let done = output(&words);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("3 nodes") && text.contains("no node differs"), "{text}");
    assert!(stderr(&done).starts_with("warning: left out: ") && stderr(&done).contains("cn2"), "{}", stderr(&done));

    fs::remove_dir_all(&runs[3]).unwrap();
    let few = output(&words);
    assert_eq!(
        (few.status.code(), stderr(&few).contains("at least three runs, found 2")),
        (Some(2), true),
        "{}",
        stderr(&few)
    );
    let help = String::from_utf8(output(&["fleet", "--help"]).stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("At least three runs"), "the help says what is refused: {help}");
    let none = output(&["fleet", runs[2].join("evidence").to_str().unwrap()]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
}

/// The stored runs have such different cases that none is on most of them.
#[test]
fn a_fleet_without_a_comparable_case_is_no_all_clear() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("fleet.html");
    let results = stored("");
    for more in [&["--fail-on", "outlier"][..], &["--format", "csv", "-o", page.to_str().unwrap()]] {
        let done = output(&[&["fleet", &results][..], more].concat());
        assert_eq!((done.status.code(), done.stdout.is_empty()), (Some(1), true), "{more:?}: {}", stderr(&done));
        let said = stderr(&done);
        let count: usize = said.split_once(": ").and_then(|(_, text)| text.split(' ').next()?.parse().ok()).unwrap();
        assert!(said.contains(&format!("no case has a figure on {} nodes or more", count / 2 + 1)), "{said}");
        assert!(said.contains("--only"), "{said}");
    }
    assert!(!page.exists());
}

/// Two of three machines differ a little in what the third differs much: its three cluster barriers, as `compare` says.
#[test]
fn the_h100_differs_in_all_cluster_barriers_and_its_intervals_say_so() {
    let done = output(&["fleet", &stored("h100"), &stored("h200-older"), &stored("h200-x2"), "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let h100 = json["nodes"].as_array().unwrap().iter().find(|node| node["node"] == "h100").unwrap();
    let mut slower = Vec::new();
    for cell in h100["primitives"].as_array().unwrap() {
        let is_slower = cell["change"] == "slower";
        assert_eq!(is_slower, cell["ratio_low"].as_f64().unwrap() > 1.05, "{cell}");
        if is_slower {
            slower.push(cell["primitive"].as_str().unwrap());
        }
    }
    for barrier in ["gpu.cluster.arrive_wait", "gpu.cluster.mbarrier_remote", "gpu.cluster.sync"] {
        assert!(slower.contains(&barrier), "{slower:?}");
    }
}

/// Of three machines with a GPU of the same generation, one has an expensive cluster barrier. What stays within a
/// multiprocessor costs the same on all.
#[test]
fn the_h100_among_h200_differs_in_the_cluster_barrier() {
    let words = [
        "fleet",
        &stored("h100"),
        &stored("h200-older"),
        &stored("h200-x2"),
        "--only",
        "gpu.*",
        "--fail-on",
        "outlier",
    ];
    let done = output(&[&words[..], &["--format", "json"]].concat());
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let h100 = json["nodes"].as_array().unwrap().iter().find(|node| node["node"] == "h100").unwrap();
    let slower: Vec<&str> = h100["primitives"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["change"] == "slower")
        .map(|cell| cell["primitive"].as_str().unwrap())
        .collect();
    for barrier in ["gpu.cluster.arrive_wait", "gpu.cluster.sync"] {
        assert!(slower.contains(&barrier), "{slower:?}");
    }
    for local in ["gpu.block.", "gpu.warp.", "gpu.shuffle.", "gpu.vote.", "gpu.match.", "gpu.reduce."] {
        assert!(!slower.iter().any(|id| id.starts_with(local)), "{slower:?}");
    }
}
