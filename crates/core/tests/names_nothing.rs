//! This crate names no primitive, device, library or paper: what is known of them is in the crates that have them.

#![allow(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::fs;
use std::path::Path;

/// Devices, libraries, papers.
const NAMES: [&str; 12] = [
    "H100",
    "H200",
    "A100",
    "V100",
    "libgomp",
    "libomp",
    "NCCL",
    "OpenMPI",
    "MPICH",
    "Burtchell",
    "Zhang",
    "SyncPerformance",
];

/// The fakes are for tests.
const EXCEPTION: &str = "fake/";

/// The names in a file, outside comments and its unit tests.
fn names_in(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let is_id = |word: &str| ["cpu.", "gpu.", "hybrid.", "mpi."].iter().any(|domain| word.starts_with(domain));
    let named =
        |line: &&str| NAMES.iter().any(|name| line.contains(name)) || line.split('"').skip(1).step_by(2).any(is_id);
    lines.filter(named).map(str::to_owned).collect()
}

fn search(folder: &Path, root: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            search(&path, root, found);
        } else if !name.starts_with(EXCEPTION) {
            let text = fs::read_to_string(&path).unwrap();
            found.extend(names_in(&text).into_iter().map(|line| format!("{name}: {line}")));
        }
    }
}

#[test]
fn no_primitive_device_library_or_paper_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    search(&root, &root, &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn names_are_found_in_code_alone() {
    let found =
        names_in("// as on an H200\nif id == \"cpu.lock.mcs\" {}\nlet is_new = \"H200\";\n#[cfg(test)]\n\"gpu.a.b\"");
    assert_eq!(found, ["if id == \"cpu.lock.mcs\" {}", "let is_new = \"H200\";"]);
}
