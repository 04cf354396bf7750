//! Tells the linker the folder of a hwloc that is not the system's.

use std::env;
use std::path::Path;

/// On a system without hwloc, `scripts/setup build` builds one in the project's folder, and `scripts/setup release` one for
/// each architecture.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| env::var(name).unwrap_or_default();
    let project = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../.syncscope");
    let is_native = variable("HOST") == variable("TARGET");
    let of_architecture = format!("hwloc-{}", variable("CARGO_CFG_TARGET_ARCH"));
    let folders = is_native.then_some("hwloc").into_iter().chain([of_architecture.as_str()]);
    for folder in folders.filter_map(|folder| project.join(folder).canonicalize().ok()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        // The absolute path changes when the project is moved.
        println!("cargo:rerun-if-changed={}", folder.display());
    }
}
