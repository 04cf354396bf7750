//! Joins and compresses the style sheets and scripts of the page: half a megabyte of text, of which a program shows nothing
//! before a run has ended.

use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

/// In the order in which they override each other.
const STYLES: [&str; 11] = [
    "colours",
    "base",
    "overview",
    "machine",
    "decisions",
    "panels",
    "charts",
    "pictures",
    "rows",
    "published",
    "media",
];

/// In the order in which they use each other.
const SCRIPTS: [&str; 39] = [
    "dom",
    "model/format",
    "model/data",
    "model/dimensions",
    "model/search",
    "chart/values",
    "model/measures",
    "model/selection",
    "tooltip",
    "chart/marks",
    "chart/lines",
    "chart/dots",
    "chart/cells",
    "chart/rectangles",
    "chart/navigation",
    "chart/export",
    "chart/chart",
    "explore/questions",
    "explore/content",
    "explore/state",
    "explore/keys",
    "explore/draw",
    "explore/controls",
    "parts/ladder",
    "parts/card",
    "parts/heat_maps",
    "parts/matrix",
    "parts/tails",
    "answers",
    "decisions",
    "overview",
    "sections",
    "table/columns",
    "table/save",
    "table/table",
    "findings",
    "glossary",
    "theme",
    "main",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    pack("styles", STYLES.map(|name| read(&format!("css/{name}.css"))))?;
    pack("scripts", SCRIPTS.map(|name| read(&format!("js/{name}.js"))))?;
    let licences = read("vendor/LICENSES.txt")?;
    pack("charts", [Ok(format!("/*\n{licences}*/\n")), read("vendor/plot-0.6.17.min.js")])
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
