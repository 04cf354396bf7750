//! The directory of an experiment of a paper: `run.json` as `run` writes it, the experiment's tables, and the page.
//!
//! A command begins an [`ExperimentRun`], measures, writes its tables into [`ExperimentRun::directory`], and finishes it.

use std::path::Path;
use std::time::SystemTime;

use syncscope_core::Run;
use syncscope_core::run::directory::WriteLock;
use syncscope_core::run::{Status, timestamp};
use syncscope_core::run_directory::RunDirectory;
use syncscope_gpu::GpuLaboratory;

use crate::catalogue::catalogue;
use crate::commands::begun_run::default_directory;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::page_file;
use crate::provenance::{self, SessionStart};
use crate::terminal;

/// An experiment that is being measured.
pub(crate) struct ExperimentRun {
    directory: RunDirectory,
    /// Held until the experiment has ended.
    _lock: WriteLock,
    run: Run,
    start: SessionStart,
}

impl ExperimentRun {
    /// Makes the directory, `out` or one named after time and experiment, and writes `run.json` there. Shows what may
    /// disturb the measurement.
    pub(crate) fn begin(
        experiment: &str,
        out: Option<&Path>,
        seed: u64,
        laboratories: &Laboratories,
    ) -> Result<Self, Failure> {
        let path = out.map_or_else(|| default_directory(experiment), Path::to_owned);
        let directory = RunDirectory::create_for_experiment(&path)?;
        let run = Run::new(experiment, SystemTime::now());
        let run = Run {
            command: provenance::command_line(),
            seed,
            warnings: laboratories.warnings(),
            machine: laboratories.machine(),
            environment: laboratories.environment(),
            tool: Some(provenance::tool()),
            ..run
        };
        let lock = directory.lock()?;
        directory.write_run(&run)?;
        run.warnings.iter().for_each(|text| terminal::warning(text));
        Ok(Self { directory, _lock: lock, run, start: SessionStart::now(laboratories) })
    }

    /// Where the tables of the experiment go.
    pub(crate) const fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Shows a warning and keeps it in `run.json`.
    pub(crate) fn warn(&mut self, text: String) {
        terminal::warning(&text);
        self.run.warnings.push(text);
    }

    /// Writes how it ended, and the page.
    pub(crate) fn finish(mut self, status: Status, laboratories: &Laboratories) -> Result<Outcome, Failure> {
        let record = self.start.ended(laboratories);
        let warnings = record.warnings();
        for text in &warnings {
            terminal::warning(text);
        }
        self.run.warnings.extend(warnings);
        self.run.sessions.push(record);
        (self.run.status, self.run.ended) = (status, Some(timestamp(SystemTime::now())));
        self.directory.write_run(&self.run)?;
        page_file::of_run(&self.directory, &syncscope_papers::load(self.directory.path(), catalogue())?)?;
        Ok(match status {
            Status::Interrupted | Status::Running => Outcome::Interrupted,
            Status::Done | Status::BudgetSpent => Outcome::Done,
        })
    }
}

/// The GPUs, or what the experiment needs to run.
pub(crate) fn needed_gpu<'a>(
    experiment: &str,
    laboratories: &'a mut Laboratories,
) -> Result<&'a mut GpuLaboratory, Failure> {
    laboratories.gpu.as_mut().map_err(|error| {
        Failure::CouldNot(format!(
            "`syncscope paper {experiment}` measures a CUDA device of compute capability 7.5 or later: {error}"
        ))
    })
}

/// Without a GPU there is still a part that can be measured: `alternative` says which.
pub(crate) fn with_alternative(failure: Failure, alternative: &str) -> Failure {
    match failure {
        Failure::CouldNot(reason) => Failure::CouldNot(format!("{reason}; {alternative}")),
        usage @ Failure::Usage(_) => usage,
    }
}
