//! Compresses the files of `kernels/`, so that a new file is found without being named anywhere: each file's name and text,
//! each followed by a zero.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=kernels");
    let missing = |_| io::Error::other("cargo sets it");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(missing)?).join("kernels");
    let files = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "cuh" || end == "cu");
    let mut sources: Vec<_> = files.into_iter().filter(is_source).collect();
    sources.sort();
    let packed = fs::File::create(Path::new(&env::var("OUT_DIR").map_err(missing)?).join("kernels"))?;
    let mut packed = GzEncoder::new(packed, Compression::best());
    for path in sources {
        write!(packed, "{}\0{}\0", path.file_name().unwrap_or_default().display(), fs::read_to_string(&path)?)?;
    }
    packed.finish()?.flush()
}
