//! `syncscope report`: the page of one run, or one that compares several.

use std::path::PathBuf;

use syncscope_core::run_directory::RunDirectory;
use syncscope_report::page;

use crate::args::ReportArguments;
use crate::failure::{Failure, Outcome};
use crate::{page_file, runs as stored_runs, terminal};

/// Writes the page.
pub(crate) fn report(arguments: ReportArguments) -> Result<Outcome, Failure> {
    let named = stored_runs::named_or_latest(&arguments.runs)?;
    let directories = named.iter().map(|path| RunDirectory::open(path)).collect::<Result<Vec<_>, _>>()?;
    let output = output(arguments.out, &directories)?;
    let load = |directory: &RunDirectory| stored_runs::load_as_measured(directory.path());
    let runs = directories.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    page_file::named(&output, &page::render(&runs))?;
    terminal::note(&format!("wrote {}", output.display()));
    Ok(Outcome::Done)
}

/// The file of the page. The page of a single run goes into its directory by default.
fn output(requested: Option<PathBuf>, directories: &[RunDirectory]) -> Result<PathBuf, Failure> {
    match (requested, directories) {
        (Some(output), _) => Ok(output),
        (None, [directory]) => Ok(directory.report()),
        (None, _) => Err(Failure::Usage("several runs need a file name for the page: -o FILE".to_owned())),
    }
}
