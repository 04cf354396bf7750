//! Finished runs, and what only the command knows of them: the order of all catalogues.

use std::path::Path;
use std::sync::Arc;

use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::{Catalogue, OwnAxes};
use syncscope_report::RunData;

use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::terminal;

/// All primitives, and those that the user of a run wrote.
fn catalogue_of(path: &Path) -> Arc<Catalogue> {
    let run = RunDirectory::open(path).and_then(|directory| directory.read_run());
    let Some(run) = run.ok().filter(|run| !run.own.is_empty()) else { return catalogue() };
    syncscope_cpu::primitives::own::define(&run.own, &OwnAxes::default());
    syncscope_gpu::own::define(&run.own, &OwnAxes::default());
    let own = syncscope_cpu::primitives::own::primitives().chain(syncscope_gpu::own::primitives());
    let own = own.filter(|primitive| run.own.iter().any(|own| own.id == primitive.id));
    let known = catalogue();
    Arc::new(known.primitives().iter().copied().chain(own.copied()).collect())
}

/// Reads a run, and warns of what is wrong with its files.
pub(crate) fn load_as_measured(path: &Path) -> Result<RunData, RunDirectoryError> {
    let data = syncscope_papers::load(path, catalogue_of(path))?;
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
    let data = syncscope_papers::load(path, catalogue_of(path))?.in_order();
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
