//! Records the compiler and the libraries whose primitives are measured: their versions belong to a run.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Libraries whose primitives are measured.
const LIBRARIES: [&str; 3] = ["parking_lot", "crossbeam-channel", "crossbeam-utils"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(loom)");
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(compiler).arg("--version").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    println!("cargo:rustc-env=SYNCSCOPE_RUSTC={}", version.trim());
    println!("cargo:rustc-env=SYNCSCOPE_LIBRARIES={}", libraries().join(","));
    link_unpacked_hwloc();
}

/// `parking_lot=0.12.5` and so on, from the workspace's lock file. In a package there is none: which versions cargo takes
/// there, a build script does not learn.
fn libraries() -> Vec<String> {
    let lock = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../Cargo.lock");
    let Ok(text) = fs::read_to_string(&lock) else { return Vec::new() };
    println!("cargo:rerun-if-changed={}", lock.display());
    let version = |name: &&str| {
        let (_, rest) = text.split_once(&format!("name = \"{name}\"\nversion = \""))?;
        Some(format!("{name}={}", rest.split('"').next()?))
    };
    LIBRARIES.iter().filter_map(version).collect()
}

/// Where the system has no hwloc, `scripts/setup build` puts one into the project's folder, and `scripts/setup release` one for
/// each architecture.
fn link_unpacked_hwloc() {
    let variable = |name| env::var(name).unwrap_or_default();
    let project = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../.syncscope");
    let is_native = variable("HOST") == variable("TARGET");
    let of_architecture = format!("hwloc-{}", variable("CARGO_CFG_TARGET_ARCH"));
    let folders = is_native.then_some("hwloc").into_iter().chain([of_architecture.as_str()]);
    for folder in folders.filter_map(|folder| project.join(folder).canonicalize().ok()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
}
