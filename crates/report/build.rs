//! Joins and compresses the style sheets and scripts of the page: half a megabyte of text, which a program needs only once a
//! run has ended.

#[path = "build/modules.rs"]
mod modules;

use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=assets");
    pack("styles", &styles()?)?;
    pack("scripts", &joined("main.js")?)?;
    pack("charts", &format!("/*\n{}*/\n{}", read("vendor/LICENSES.txt")?, read("vendor/plot-0.6.17.min.js")?))
}

/// The style sheets in the order in which they override each other.
fn styles() -> io::Result<String> {
    let sheets: io::Result<String> = read("css/order.txt")?.lines().map(|name| read(&format!("css/{name}"))).collect();
    Ok(modules::without_comments(&sheets?))
}

fn joined(entry: &str) -> io::Result<String> {
    let module = |path: &str| read(&format!("js/{path}")).map_err(|error| error.to_string());
    modules::join(entry, &module).map_err(io::Error::other)
}

fn read(asset: &str) -> io::Result<String> {
    fs::read_to_string(Path::new("assets").join(asset))
        .map_err(|error| io::Error::other(format!("assets/{asset}: {error}")))
}

fn pack(name: &str, text: &str) -> io::Result<()> {
    let folder = env::var("OUT_DIR").map_err(|_| io::Error::other("cargo sets it"))?;
    let mut file = GzEncoder::new(fs::File::create(Path::new(&folder).join(name))?, Compression::best());
    file.write_all(text.as_bytes())?;
    file.finish()?.flush()
}
