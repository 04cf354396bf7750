//! The loop of a run: case after case into the journal.

use std::collections::HashSet;
use std::time::Instant;

use syncscope_core::engine::Measurement;
use syncscope_core::journal::{Journal, RunDirectory};
use syncscope_core::run::Status;
use syncscope_core::{Cancel, Case, Engine, Laboratory, Refusal, Row, Verdict};

use crate::failure::Failure;
use crate::plan::Plan;
use crate::progress::Progress;

/// Measures the cases of a plan and writes each one down as soon as it is finished.
pub(crate) struct Measuring<'a> {
    pub(crate) engine: Engine,
    pub(crate) cancel: Cancel,
    pub(crate) deadline: Option<Instant>,
    pub(crate) seed: u64,
    pub(crate) directory: &'a RunDirectory,
    pub(crate) journal: Journal,
    pub(crate) progress: &'a mut Progress,
    /// Names of the disassemblies that are written.
    pub(crate) listings: HashSet<String>,
}

impl Measuring<'_> {
    /// Measures everything, or until someone or the budget says stop.
    pub(crate) fn measure(&mut self, laboratories: Vec<&mut dyn Laboratory>, plan: &Plan) -> Result<Status, Failure> {
        let mut laboratories = laboratories;
        for (laboratory, cases) in laboratories.iter_mut().zip(&plan.parts) {
            let progress = &mut *self.progress;
            laboratory.prepare(cases, &mut |done, all| progress.say(&format!("preparing {done}/{all}")));
        }
        self.progress.count_to(plan.len() as u64);
        for (laboratory, cases) in laboratories.iter_mut().zip(&plan.parts) {
            for case in cases {
                if self.cancel.is_cancelled() {
                    return Ok(Status::Interrupted);
                }
                if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Ok(Status::BudgetSpent);
                }
                self.progress.say(&case.to_string());
                if !self.measure_case(*laboratory, case)? {
                    return Ok(Status::Interrupted);
                }
                self.progress.advance();
            }
        }
        Ok(Status::Done)
    }

    /// Whether the case was finished.
    fn measure_case(&mut self, laboratory: &mut dyn Laboratory, case: &Case) -> Result<bool, Failure> {
        let mut experiment = match laboratory.experiment(case) {
            Ok(experiment) => experiment,
            Err(refusal) => {
                let verdict = match refusal {
                    Refusal::Skipped(reason) => Verdict::Skipped(reason),
                    Refusal::Failed(reason) => Verdict::Failed(reason),
                };
                self.journal.append(&Row::unmeasured(case.clone(), verdict), &[])?;
                return Ok(true);
            }
        };
        // Cases differ in their order of pairs, and a case does not depend on which others are measured.
        let Ok(measurement) = self.engine.measure(experiment.as_mut(), self.seed ^ case.id().number()) else {
            return Ok(false);
        };
        self.keep_evidence(case, &measurement)?;
        self.journal.append(&Row::measured(case.clone(), &measurement), &measurement.observations)?;
        Ok(true)
    }

    /// Writes the disassembly once for all cases that run the same machine code.
    fn keep_evidence(&mut self, case: &Case, measurement: &Measurement) -> Result<(), Failure> {
        let Some(listing) = measurement.evidence.listing() else { return Ok(()) };
        let code = Case { threads: None, blocks: None, devices: None, placement: None, ..case.clone() };
        let name = code.to_string().replace([' ', '/'], "-");
        if self.listings.insert(name.clone()) {
            self.directory.write_evidence(&name, listing)?;
        }
        Ok(())
    }
}
