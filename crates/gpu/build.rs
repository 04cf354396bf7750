//! Lists the headers of `kernels/`, so that a new one is found without being named anywhere.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=kernels");
    let missing = |_| io::Error::other("cargo sets it");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(missing)?).join("kernels");
    let files = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let mut headers: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "cuh")).collect();
    headers.sort();
    let mut list = String::new();
    for path in headers {
        let (name, path) = (path.file_name().unwrap_or_default().to_string_lossy(), path.to_string_lossy());
        // Writing to a String cannot fail.
        let _ = writeln!(list, "({name:?}, include_str!({path:?})),");
    }
    fs::write(Path::new(&env::var("OUT_DIR").map_err(missing)?).join("headers.rs"), format!("&[{list}]"))
}
