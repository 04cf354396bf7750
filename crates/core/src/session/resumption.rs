//! What must not have changed since a run began, so that it can go on.

use std::collections::HashSet;
use std::path::Path;

use crate::run::machine::Machine;
use crate::session::SessionError;
use crate::session::plan::Plan;
use crate::{CaseId, Row, Run};

/// The machine and the process in which a run is resumed.
#[derive(Debug, Clone, Default)]
pub struct Here {
    /// This machine.
    pub machine: Machine,
    /// The CPUs that this process may use, as in [`crate::run::machine::Environment::allowed_cpus`].
    pub allowed_cpus: String,
    /// Whether this process has not looked for GPUs, so that `machine` has none.
    pub may_have_gpus: bool,
    /// Whether this process leaves out the cases of GPUs for another one.
    pub leaves_out_gpus: bool,
    /// Warnings to add to the run's.
    pub warnings: Vec<String>,
}

impl Here {
    /// Whether this is the machine on which the run was begun.
    pub(super) fn is_machine_of(&self, begun: &Run) -> bool {
        let mut machine = self.machine.clone();
        if self.may_have_gpus {
            (machine.gpus, machine.links) = (begun.machine.gpus.clone(), begun.machine.links.clone());
        }
        begun.machine.may_be(&machine)
    }

    /// Compares the plan with what the run planned. Returns a warning if the plan has more cases than that.
    ///
    /// # Errors
    /// When cases of the run are not in the plan: they would never be measured.
    pub(super) fn compare_plan(
        &self,
        path: &Path,
        begun: &Run,
        rows: &[Row],
        plan: &Plan,
    ) -> Result<Option<String>, SessionError> {
        let planned: HashSet<CaseId> = plan.cases().map(crate::model::case::Case::id).collect();
        let here = planned.len() as u64;
        let foreign = rows.iter().filter(|row| !planned.contains(&row.case.id())).count();
        if self.leaves_out_gpus || (foreign == 0 && here == begun.planned) {
            return Ok(None);
        }
        let then = begun.planned;
        let cpus = &begun.environment.allowed_cpus;
        if *cpus == self.allowed_cpus && foreign == 0 && here > then {
            return Ok(Some(format!(
                "the plan had {then} cases when the run began and has {here} now: another version of syncscope resumed the \
                 run, or its run.json was changed"
            )));
        }
        let what = if foreign > 0 {
            format!("{foreign} of its {} rows match no case of the plan here", rows.len())
        } else {
            format!("its plan had {then} cases, but here it would have {here}")
        };
        let remedy = if *cpus == self.allowed_cpus {
            format!(
                "resume it as it was begun (syncscope {}, its run.json as it was, the same libraries and launcher), or start \
                 a new run",
                begun.version
            )
        } else {
            format!(
                "it began with CPUs {cpus} and this process may use {}; resume it where CPUs {cpus} are allowed, or start \
                 a new run",
                self.allowed_cpus
            )
        };
        Err(SessionError::AnotherPlan { path: path.to_owned(), what, remedy })
    }
}
