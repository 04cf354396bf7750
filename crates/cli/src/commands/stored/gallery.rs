//! `syncscope gallery`: the index page over many runs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_report::gallery::{Entry, render};

use crate::args::GalleryArguments;
use crate::failure::{Failure, Outcome};
use crate::page_file;
use crate::runs;
use crate::terminal;

/// Writes the page. What holds no run is left out, so that a folder of runs can be given as `results/*`.
pub(crate) fn gallery(arguments: &GalleryArguments) -> Result<Outcome, Failure> {
    let mut entries = Vec::new();
    for path in &arguments.runs {
        match RunDirectory::open(path) {
            Ok(_) => {}
            Err(RunDirectoryError::NoRun(_)) => {
                terminal::note(&format!("left out: {} is not a run", path.display()));
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        let data = runs::load(path)?;
        let page = page_of(&arguments.out, path, &data.name);
        entries.push(Entry { data, page });
    }
    if entries.is_empty() {
        return Err(Failure::Usage("none of these folders holds a run; name folders with a run.json".to_owned()));
    }
    let html = render(&entries, arguments.title.as_deref());
    let out = &arguments.out;
    page_file::named(out, &html)?;
    terminal::note(&format!("wrote {} ({} runs)", out.display(), entries.len()));
    Ok(Outcome::Done)
}

/// The address of a run's page where it stands beside the gallery as `NAME/report.html`.
pub(super) fn page_of(out: &Path, run: &Path, name: &str) -> Option<String> {
    let folder =
        out.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_owned);
    let beside = folder.join(name).join("report.html");
    let is_there = beside.is_file();
    // Another folder of that name may be the one beside it.
    let is_the_run = folder.join(name).canonicalize().ok() == run.canonicalize().ok();
    (is_there && (is_the_run || !run.join("report.html").is_file())).then(|| format!("{}/report.html", encoded(name)))
}

/// The name as a part of an address (RFC 3986).
fn encoded(name: &str) -> String {
    let mut address = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            address.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_an_address() {
        assert_eq!(encoded("h100-x2"), "h200-x2");
        assert_eq!(encoded("a b/\"<ü>#?"), "a%20b%2F%22%3C%C3%BC%3E%23%3F");
    }
}
