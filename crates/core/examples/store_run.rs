//! Stores a run as `results/NAME`, in the form that `results/README.md` describes:
//! `cargo run -p syncscope-core --example store_run -- syncscope-runs/MINE results/NAME`.

#![allow(clippy::print_stdout, reason = "it says what it did")]

use std::path::Path;

use syncscope_core::run_directory::RunDirectory;
use syncscope_core::stored_run;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, folder] = arguments.as_slice() else { return Err("store_run RUN results/NAME".to_owned()) };
    let folder = Path::new(folder);
    let (Some(results), Some(name)) = (folder.parent(), folder.file_name().and_then(|name| name.to_str())) else {
        return Err(format!("{} is no name in a folder of results", folder.display()));
    };
    let say = |error: &dyn std::fmt::Display| error.to_string();
    let run = RunDirectory::open(Path::new(run)).map_err(|error| say(&error))?;
    let stored = stored_run::store(&run, results, name).map_err(|error| say(&error))?;
    println!("stored as {}", stored.path().display());
    // A run that was stored under this name before may have been the last to refer to some disassemblies.
    for path in stored_run::remove_unused_evidence(results).map_err(|error| say(&error))? {
        println!("removed {}: no run refers to it", path.display());
    }
    Ok(())
}
