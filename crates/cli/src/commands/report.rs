//! Pages: `syncscope report` makes one of a run or compares several runs; `gallery` shows many runs. A page that cannot be
//! written whole leaves what was there before.

use std::path::Path;

use syncscope_core::run_directory::{RunDirectory, RunDirectoryError, replace_own_file};
use syncscope_core::units::plural;
use syncscope_fleet::gallery;
use syncscope_report::section::Section;
use syncscope_report::{RunData, page};

use crate::args::{GalleryArguments, ReportArguments};
use crate::failure::{Failure, Outcome};
use crate::{output, runs, terminal};

/// Writes the page.
pub(crate) fn report(arguments: ReportArguments) -> Result<Outcome, Failure> {
    let named = runs::named_or_latest(&arguments.runs)?;
    let directories = named.iter().map(|path| RunDirectory::open(path)).collect::<Result<Vec<_>, _>>()?;
    match &arguments.out {
        Some(out) => output::check(out, &named)?,
        None if directories.len() == 1 => {}
        None => return Err(Failure::Usage("several runs need a file name for the page: -o FILE".to_owned())),
    }
    let data = match directories.as_slice() {
        [directory] => vec![runs::load_with_sections(directory.path())?],
        several => {
            several.iter().filter_map(|directory| unless_broken(runs::load_with_sections(directory.path()))).collect()
        }
    };
    if data.is_empty() {
        return Err(Failure::CouldNot("none of these runs can be read".to_owned()));
    }
    let (data, sections): (Vec<RunData>, Vec<Vec<Section>>) = data.into_iter().unzip();
    let sections: Vec<&[Section]> = sections.iter().map(Vec::as_slice).collect();
    match arguments.out {
        Some(out) => output::write(&out, page::with_sections(&data, &sections).as_bytes())?,
        None => write_of_run(&directories[0], &data[0], sections[0])?,
    }
    Ok(Outcome::Done)
}

/// Writes the page. A path that holds no run is left out, so that a folder of runs can be given as `results/*`. A run that cannot
/// be read is left out, too: one broken run of many does not end the gallery.
pub(crate) fn gallery(arguments: &GalleryArguments) -> Result<Outcome, Failure> {
    output::check(&arguments.out, &arguments.runs)?;
    let mut entries = Vec::new();
    for path in &runs::distinct(arguments.runs.clone()) {
        if let Err(RunDirectoryError::NoRun(_)) = RunDirectory::open(path) {
            terminal::note(&format!("left out: {} is not a run", path.display()));
            continue;
        }
        let Some(data) = unless_broken(runs::load(path)) else { continue };
        let page = page_of(&arguments.out, path, &data.name);
        let is_own = path.canonicalize().is_ok_and(|path| path.components().any(|part| part.as_os_str() == runs::RUNS));
        entries.push(gallery::Entry { data, page, is_own });
    }
    if entries.is_empty() {
        return Err(Failure::Usage(
            "none of these folders holds a run that can be read; name folders with a run.json".to_owned(),
        ));
    }
    let html = gallery::render(&entries, arguments.title.as_deref());
    output::write(&arguments.out, html.as_bytes())?;
    terminal::note(&plural(entries.len(), "run"));
    Ok(Outcome::Done)
}

/// A run among several; a run that cannot be read is named and left out.
pub(super) fn unless_broken<T>(run: Result<T, RunDirectoryError>) -> Option<T> {
    run.inspect_err(|error| terminal::warning(&format!("left out: {error}"))).ok()
}

/// The address of a run's page, if it is next to the gallery as `NAME/report.html`.
pub(super) fn page_of(out: &Path, run: &Path, name: &str) -> Option<String> {
    let beside = out.parent().unwrap_or(out).join(name);
    let is_there = beside.join("report.html").is_file();
    // The folder of that name may hold another run.
    let is_the_run = beside.canonicalize().ok() == run.canonicalize().ok();
    (is_there && (is_the_run || !run.join("report.html").is_file())).then(|| format!("{}/report.html", encoded(name)))
}

/// The name as a part of an address (RFC 3986).
fn encoded(name: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(encoded).collect()
}

/// Writes the page of a run into its directory, and says where it is.
///
/// # Errors
/// With the command that writes the page again when there is room.
pub(super) fn write_of_run(directory: &RunDirectory, data: &RunData, sections: &[Section]) -> Result<(), Failure> {
    let report = directory.report();
    let html = page::with_sections(std::slice::from_ref(data), &[sections]);
    let remedy = format!("then: syncscope report {}", terminal::word(directory.path()));
    replace_own_file(&report, html.as_bytes()).map_err(|error| Failure::CouldNot(format!("{error}; {remedy}")))?;
    terminal::note(&format!("the report is {}", report.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_an_address() {
        assert_eq!(encoded("h100-x2"), "h100-x2");
        assert_eq!(encoded("a b/\"<ü>#?"), "a%20b%2F%22%3C%C3%BC%3E%23%3F");
    }
}
