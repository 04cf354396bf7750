//! Finished runs, and what only the command knows of them: the order of all catalogues, and by how much runs differ.

use std::path::Path;

use syncscope_core::run_directory::RunDirectoryError;
use syncscope_core::{Case, RunEffect};
use syncscope_report::RunData;

use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::terminal;

/// Reads a run, and warns of what is wrong with its files.
pub(crate) fn load_as_measured(path: &Path) -> Result<RunData, RunDirectoryError> {
    let data = RunData::load(path, catalogue())?;
    warn_of_damage(path, &data);
    Ok(data)
}

fn warn_of_damage(path: &Path, data: &RunData) {
    data.damage.warnings().for_each(|text| terminal::warning(&format!("{}: {text}", path.display())));
}

/// The same with its rows in the order of the catalogues, which is the same for every run.
pub(crate) fn load(path: &Path) -> Result<RunData, RunDirectoryError> {
    Ok(load_as_measured(path)?.in_order(catalogue().primitives()))
}

/// Reads a run whose rows a command is about.
pub(crate) fn load_rows(path: &Path) -> Result<RunData, Failure> {
    let data = RunData::load(path, catalogue())?.in_order(catalogue().primitives());
    match data.run.experiment() {
        Some(experiment) if data.rows.is_empty() => Err(Failure::Usage(format!(
            "{path} holds the published experiment {experiment}, which has no rows; `syncscope report {path}` draws it",
            path = path.display()
        ))),
        _ => {
            warn_of_damage(path, &data);
            Ok(data)
        }
    }
}

/// By how much two runs on one machine differ in the cost of a case, as far as this version knows.
pub(crate) fn run_effect(case: &Case) -> RunEffect {
    if case.is_on_cpus() { syncscope_cpu::run_effect(case) } else { syncscope_gpu::run_effect(case) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_case_has_a_run_effect() {
        assert!((run_effect(&Case { threads: Some(2), ..Case::new("cpu.barrier.std") }).ns - 0.06).abs() < 1e-12);
        assert!((run_effect(&Case::new("gpu.cluster.sync")).ns - 0.002).abs() < 1e-12);
        assert!((run_effect(&Case::new("hybrid.flag.round_trip")).ns - 0.02).abs() < 1e-12);
    }
}
