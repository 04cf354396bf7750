//! `syncscope report`.

use std::path::PathBuf;

use syncscope_core::run_directory::RunDirectory;
use syncscope_report::{RunData, page};

use crate::args::ReportArguments;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Draws one page for one run or several.
pub(crate) fn report(arguments: ReportArguments) -> Result<Outcome, Failure> {
    let directories = arguments.runs.iter().map(|path| RunDirectory::open(path)).collect::<Result<Vec<_>, _>>()?;
    let output = output(arguments.output, &directories)?;
    let runs = directories.iter().map(|directory| RunData::load(directory.path())).collect::<Result<Vec<_>, _>>()?;
    std::fs::write(&output, page::render(&runs))
        .map_err(|error| Failure::CouldNot(format!("{}: {error}; name another file with -o", output.display())))?;
    terminal::note(&format!("the page is {}", output.display()));
    Ok(Outcome::Done)
}

/// The page of one run lies beside its data; the page of several has no such place.
fn output(asked: Option<PathBuf>, directories: &[RunDirectory]) -> Result<PathBuf, Failure> {
    match (asked, directories) {
        (Some(output), _) => Ok(output),
        (None, [directory]) => Ok(directory.report()),
        (None, _) => Err(Failure::Usage("name the page of several runs with -o FILE".to_owned())),
    }
}
