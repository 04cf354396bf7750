//! Joins and compresses the style sheets and scripts of the page: half a megabyte of text, of which a program shows nothing
//! before a run has ended.

use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    pack("styles", listed("css")?)?;
    pack("scripts", listed("js")?)?;
    let licences = read("vendor/LICENSES.txt")?;
    pack("charts", [Ok(format!("/*\n{licences}*/\n")), read("vendor/plot-0.6.17.min.js")])
}

/// The files of a folder in the order of its list, in which scripts use each other and style sheets override each other.
fn listed(folder: &str) -> io::Result<Vec<io::Result<String>>> {
    let list = read(&format!("{folder}/order.txt"))?;
    Ok(list.lines().map(|name| read(&format!("{folder}/{name}"))).collect())
}

fn read(asset: &str) -> io::Result<String> {
    fs::read_to_string(Path::new("assets").join(asset))
        .map_err(|error| io::Error::other(format!("assets/{asset}: {error}")))
}

fn pack(name: &str, texts: impl IntoIterator<Item = io::Result<String>>) -> io::Result<()> {
    let folder = env::var("OUT_DIR").map_err(|_| io::Error::other("cargo sets it"))?;
    let mut file = GzEncoder::new(fs::File::create(Path::new(&folder).join(name))?, Compression::best());
    for text in texts {
        file.write_all(text?.as_bytes())?;
    }
    file.finish()?.flush()
}
