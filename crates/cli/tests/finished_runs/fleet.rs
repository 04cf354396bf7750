//! `fleet` as users call it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{output, stderr};

fn stored(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name).display().to_string()
}

/// Runs of one fake machine, each with its own seed, in directories inside one folder.
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

/// A run is found by its folder or by its own name, whatever its `run.json` is and whatever lies next to it.
#[test]
fn a_hostile_node_is_left_out_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = runs(folder.path(), 5);
    fs::remove_file(nodes[0].join("run.json")).unwrap();
    assert!(Command::new("mkfifo").arg(nodes[0].join("run.json")).status().unwrap().success());
    symlink("/etc/passwd", nodes[1].join("link")).unwrap();
    let by_name: Vec<String> = nodes.drain(..).map(|node| node.display().to_string()).collect();
    for words in [by_name, vec![folder.path().display().to_string()]] {
        let done = output(&[&["fleet"], &words.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat());
        let text = stderr(&done);
        assert_eq!((done.status.code(), text.matches("left out: ").count()), (Some(0), 2), "{words:?}: {text}");
        assert!(text.contains("cn0") && text.contains("cn1/link"), "{text}");
    }
}

/// These runs have so different cases that no case is in most of them.
#[test]
fn a_fleet_without_a_comparable_case_is_no_all_clear() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("fleet.html");
    let runs = ["published-system1", "epyc-zen5-2cpu-vm", "h200-x4-barriers"].map(stored);
    for more in [&["--fail-on", "outlier"][..], &["--format", "csv", "-o", page.to_str().unwrap()]] {
        let done = output(&[&["fleet"], &runs.each_ref().map(String::as_str)[..], more].concat());
        assert_eq!((done.status.code(), done.stdout.is_empty()), (Some(1), true), "{more:?}: {}", stderr(&done));
        let said = stderr(&done);
        let count: usize = said.split_once(": ").and_then(|(_, text)| text.split(' ').next()?.parse().ok()).unwrap();
        assert!(said.contains(&format!("no case has a figure on {} nodes or more", count / 2 + 1)), "{said}");
        assert!(said.contains("--only"), "{said}");
    }
    assert!(!page.exists());
}

/// Of three machines with a GPU of one generation, the H200 has cheap cluster barriers and atomics in the shared memory of another
/// block, and nothing is certainly dearer on either H100. What stays within a multiprocessor costs the same on all three.
#[test]
fn the_h200_among_h100_differs_in_all_cluster_barriers_and_its_intervals_say_so() {
    let runs = ["h100", "h200", "h100-x2"].map(stored);
    let words = ["--only", "gpu.*", "--fail-on", "outlier", "--format", "json"];
    let done = output(&[&["fleet"], &runs.each_ref().map(String::as_str)[..], &words].concat());
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let changed = |name: &str, change: &str, is_beyond: fn(&serde_json::Value) -> bool| -> Vec<String> {
        let node = json["nodes"].as_array().unwrap().iter().find(|node| node["node"] == name).unwrap();
        let (changed, others): (Vec<_>, Vec<_>) =
            node["primitives"].as_array().unwrap().iter().partition(|cell| cell["change"] == change);
        assert!(changed.iter().all(|cell| is_beyond(cell)) && !others.iter().any(|cell| is_beyond(cell)), "{node}");
        changed.iter().map(|cell| cell["primitive"].as_str().unwrap().to_owned()).collect()
    };
    let faster = changed("h200", "faster", |cell| cell["ratio_high"].as_f64().unwrap() < 1.0 / 1.05);
    for cluster in ["arrive_wait", "dsmem_atomic", "mbarrier_remote", "sync"].map(|name| format!("gpu.cluster.{name}"))
    {
        assert!(faster.contains(&cluster), "{faster:?}");
    }
    for local in ["gpu.block.", "gpu.warp.", "gpu.shuffle.", "gpu.vote.", "gpu.match.", "gpu.reduce."] {
        assert!(!faster.iter().any(|id| id.starts_with(local)), "{faster:?}");
    }
    for one in ["h100", "h100-x2"] {
        assert_eq!(changed(one, "slower", |cell| cell["ratio_low"].as_f64().unwrap() > 1.05), [""; 0], "{one}");
    }
}
