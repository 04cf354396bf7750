//! `syncscope import`: converts the results of another tool into a run.

use syncscope_import::core_to_core::import_matrices;
use syncscope_import::{ImportError, Target, import_results};

use crate::args::{CoreToCoreArguments, ImportSource, SyncperformanceArguments};
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::{output, provenance, terminal};

/// Converts the results of the tool that the arguments name.
pub(crate) fn import(source: &ImportSource) -> Result<Outcome, Failure> {
    let (ImportSource::Syncperformance(SyncperformanceArguments { target, .. })
    | ImportSource::CoreToCoreLatency(CoreToCoreArguments { target, .. })) = source;
    let (command, catalogue) = (provenance::command_line(), catalogue());
    let into = Target {
        out: &target.out,
        machine: target.machine.as_deref(),
        command: &command,
        catalogue: &catalogue,
        note: &|text| terminal::note(&text),
    };
    let warnings = match source {
        ImportSource::Syncperformance(from) => {
            output::check(&target.out, target.machine.as_slice())?;
            import_results(&from.results, from.bound, &into)
        }
        ImportSource::CoreToCoreLatency(from) => {
            output::check(&target.out, [Some(&from.path), target.machine.as_ref()].into_iter().flatten())?;
            import_matrices(&from.path, &into)
        }
    };
    terminal::warnings(&warnings.map_err(|error| match error {
        ImportError::CouldNot(text) => Failure::CouldNot(text),
        ImportError::Usage(text) => Failure::Usage(text),
    })?);
    Ok(Outcome::Done)
}
