//! Finished runs, and what only the command knows of them: the order of all catalogues.

use std::path::Path;

use syncscope_core::run_directory::RunDirectoryError;
use syncscope_report::RunData;

use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::terminal;

/// Reads a run, and warns of what is wrong with its files.
pub(crate) fn load_as_measured(path: &Path) -> Result<RunData, RunDirectoryError> {
    let data = syncscope_papers::load(path, catalogue())?;
    warn_of_damage(path, &data);
    Ok(data)
}

fn warn_of_damage(path: &Path, data: &RunData) {
    data.damage.warnings().for_each(|text| terminal::warning(&format!("{}: {text}", path.display())));
}

/// The same with its rows in the order of the catalogues, which is the same for every run.
pub(crate) fn load(path: &Path) -> Result<RunData, RunDirectoryError> {
    Ok(load_as_measured(path)?.in_order())
}

/// Reads a run whose rows a command is about.
pub(crate) fn load_rows(path: &Path) -> Result<RunData, Failure> {
    let data = syncscope_papers::load(path, catalogue())?.in_order();
    match data.run.experiment() {
        Some(experiment) if data.rows.is_empty() => Err(Failure::Usage(format!(
            "{path} holds the experiment {experiment} of a paper, which has no rows; `syncscope report {path}` draws it",
            path = path.display()
        ))),
        _ => {
            warn_of_damage(path, &data);
            Ok(data)
        }
    }
}
