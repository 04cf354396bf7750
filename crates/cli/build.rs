//! Records the git commit that the program is built from. Nothing is recorded without git or in a source archive; nor in an
//! unoptimized program, which measures nothing that is kept, and would be built again after each commit.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the program, below the workspace's folder. A change of one leads to a new check whether the program was
/// modified.
const SOURCES: [&str; 13] = [
    "Cargo.toml",
    "Cargo.lock",
    "kernels",
    "crates/cli/src",
    "crates/core/src",
    "crates/cpu/src",
    "crates/gpu/src",
    "crates/host/src",
    "crates/machine/src",
    "crates/orderings/src",
    "crates/papers/src",
    "crates/report",
    "crates/sass/src",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=SYNCSCOPE_VERSION={version}");
    if env::var("PROFILE").as_deref() == Ok("debug") {
        return;
    }
    // Cargo forgets `strip = "symbols"` where the package has a profile of its own. A profiler wants the names:
    // CARGO_PROFILE_RELEASE_STRIP=none keeps them.
    println!("cargo:rerun-if-env-changed=CARGO_PROFILE_RELEASE_STRIP");
    if env::var("CARGO_PROFILE_RELEASE_STRIP").as_deref() != Ok("none") {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
    let workspace = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    watch(SOURCES.iter().map(|source| workspace.join(source)));
    // An archive that lies in another project's repository must not take that project's commit.
    if !workspace.join(".git").exists() {
        return;
    }
    let Some(commit) = git(&workspace, &["rev-parse", "HEAD"]) else { return };
    println!("cargo:rustc-env=SYNCSCOPE_COMMIT={commit}");
    let changes = git(&workspace, &["status", "--porcelain", "--untracked-files=no"]);
    let is_modified = changes.map(|changes| !changes.is_empty());
    if let Some(is_modified) = is_modified {
        println!("cargo:rustc-env=SYNCSCOPE_MODIFIED={is_modified}");
    }
    if let Some(name) = git(&workspace, &["show", "--no-patch", "--format=%h %cs", "--abbrev=12", "HEAD"]) {
        let modified = if is_modified == Some(true) { ", modified" } else { "" };
        // The last line with a variable counts.
        println!("cargo:rustc-env=SYNCSCOPE_VERSION={version} ({name}{modified})");
    }
    let branch = git(&workspace, &["symbolic-ref", "--quiet", "HEAD"]);
    let heads = ["HEAD", "logs/HEAD", "packed-refs"].map(str::to_owned).into_iter().chain(branch);
    let files = heads.filter_map(|head| git(&workspace, &["rev-parse", "--git-path", &head]));
    watch(files.map(|file| workspace.join(file)));
}

/// Makes the script run again when one of these files changes. A missing file would make it run each time.
fn watch(files: impl Iterator<Item = PathBuf>) {
    for file in files.filter(|file| file.exists()) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}

/// The output of git; `None` if git is missing or fails.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // In a git hook these variables name another index or work tree.
    for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        command.env_remove(variable);
    }
    // `status` would write the index.
    let output = command.arg("--no-optional-locks").args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
