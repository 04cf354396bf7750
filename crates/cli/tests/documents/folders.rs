//! No folder and no file is larger than CONTRIBUTING.md allows.

use std::fs;
use std::path::{Path, PathBuf};

const MOST_FILES: usize = 25;
const MOST_LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// This folder and all folders in it.
pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    let inner = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut found = vec![folder.to_owned()];
    found.extend(inner.flat_map(|inner| folders(&inner)));
    found
}

pub(crate) fn crates() -> impl Iterator<Item = PathBuf> {
    fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

#[test]
fn a_folder_is_seen_at_a_glance() {
    for folder in crates().flat_map(|one| ["src", "tests"].map(|name| one.join(name))).filter(|path| path.is_dir()) {
        for folder in folders(&folder) {
            let files = rust_files(&folder).len();
            assert!(files <= MOST_FILES, "{} has {files} files", folder.display());
        }
    }
}

#[test]
fn a_file_has_one_concept() {
    let mut long = Vec::new();
    for folder in crates().map(|one| one.join("src")).flat_map(|source| folders(&source)) {
        for file in rust_files(&folder).into_iter().filter(|file| !file.ends_with("tests.rs")) {
            let text = fs::read_to_string(&file).unwrap();
            let text = text.replace("#[cfg(test)]\npub(crate) mod tests {", "#[cfg(test)]\nmod tests {");
            let lines = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().count();
            if lines > MOST_LINES {
                long.push(format!("{}: {lines} lines", file.display()));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// Examples in documentation are only allowed in crates whose documentation tests run.
#[test]
fn every_example_of_the_documentation_is_executed() {
    for one in crates().filter(|one| fs::read_to_string(one.join("Cargo.toml")).unwrap().contains("doctest = false")) {
        for file in folders(&one.join("src")).iter().flat_map(|folder| rust_files(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let has_example = text.lines().any(|line| ["/// ```", "//! ```"].contains(&line.trim()));
            assert!(!has_example, "{}: remove `doctest = false`", file.display());
        }
    }
}
