//! The loop of a run: case after case into the journal.

use std::collections::HashSet;
use std::time::Instant;

use syncscope_core::engine::Measurement;
use syncscope_core::journal::{Journal, RunDirectory};
use syncscope_core::profile::{self, Phase};
use syncscope_core::run::Status;
use syncscope_core::{Cancel, Case, Engine, Laboratory, Preset, Refusal, Row, Verdict};

use crate::failure::Failure;
use crate::plan::{self, Plan};
use crate::progress::Progress;
use crate::terminal;

/// How a case, or the part of a plan that one laboratory measures, ended.
enum Ended {
    Finished,
    Lost,
    Cancelled,
    OutOfTime,
}

/// Measures the cases of a plan and writes each one down as soon as it is finished.
pub(crate) struct Measuring<'a> {
    pub(crate) preset: Preset,
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
            profile::time(Phase::Prepare, || {
                laboratory.prepare(cases, &mut |done, all| progress.say(&format!("preparing {done}/{all}")));
            });
        }
        self.progress.count_to(plan.len() as u64);
        let mut status = Status::Done;
        for (laboratory, cases) in laboratories.iter_mut().zip(&plan.parts) {
            match self.measure_part(*laboratory, cases)? {
                Ended::Finished => {}
                // What another laboratory measures is not concerned; a new process can measure the rest.
                Ended::Lost => status = Status::Interrupted,
                Ended::Cancelled => return Ok(Status::Interrupted),
                Ended::OutOfTime => return Ok(Status::BudgetSpent),
            }
        }
        Ok(status)
    }

    fn measure_part(&mut self, laboratory: &mut dyn Laboratory, cases: &[Case]) -> Result<Ended, Failure> {
        for case in cases {
            if self.cancel.is_cancelled() {
                return Ok(Ended::Cancelled);
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Ended::OutOfTime);
            }
            self.progress.say(&case.to_string());
            match self.measure_case(laboratory, case)? {
                Ended::Finished => self.progress.advance(),
                ended => return Ok(ended),
            }
        }
        Ok(Ended::Finished)
    }

    fn measure_case(&mut self, laboratory: &mut dyn Laboratory, case: &Case) -> Result<Ended, Failure> {
        let mut experiment = match profile::time(Phase::SetUp, || laboratory.experiment(case)) {
            Ok(experiment) => experiment,
            Err(refusal) => return self.keep_refusal(case, refusal),
        };
        // Cases differ in their order of pairs, and a case does not depend on which others are measured.
        let engine = Engine::new(plan::settings(self.preset, case), self.cancel.clone());
        let Ok(measurement) = engine.measure(experiment.as_mut(), self.seed ^ case.id().number()) else {
            return Ok(Ended::Cancelled);
        };
        profile::time(Phase::Write, || {
            self.keep_evidence(case, &measurement)?;
            let row = Row::measured(case.clone(), &measurement);
            Ok(self.journal.append(&row, &measurement.observations, &measurement.details)?)
        })
        .map(|()| Ended::Finished)
    }

    fn keep_refusal(&mut self, case: &Case, refusal: Refusal) -> Result<Ended, Failure> {
        let verdict = match refusal {
            Refusal::Skipped(reason) => Verdict::Skipped(reason),
            Refusal::Failed(reason) => Verdict::Failed(reason),
            Refusal::Lost(reason) => {
                self.progress.suspend(|| terminal::warning(&reason));
                return Ok(Ended::Lost);
            }
        };
        self.journal.append(&Row::unmeasured(case.clone(), verdict), &[], &[])?;
        Ok(Ended::Finished)
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
