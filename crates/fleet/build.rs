//! Joins the gallery's script with the report scripts that it imports.

#[path = "build/modules.rs"]
mod modules;

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=assets");
    let read =
        |path: &str| fs::read_to_string(Path::new("assets").join(path)).map_err(|error| format!("{path}: {error}"));
    let script = modules::join("gallery.js", &read).map_err(io::Error::other)?;
    let folder = env::var("OUT_DIR").map_err(|_| io::Error::other("cargo sets it"))?;
    fs::write(Path::new(&folder).join("gallery.js"), script)
}
