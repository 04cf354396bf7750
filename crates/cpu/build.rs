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
}

/// `parking_lot=0.12.5` and so on, from the workspace's lock file. A package has no lock file, and a build script does not learn
/// which versions cargo takes there.
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
