//! A whole run: what is measured, in which order, how often and until when.
//!
//! A [`Session`] measures the cases of a [`Plan`] in passes. One pass takes one measurement block of each unfinished case
//! (`passes.rs`), so the blocks of a case are spread over the run, and an interrupted run knows something about every case.
//! If a budget is too short for all figures, some of the cases get theirs (`part.rs`). The [`Preset`] decides how many
//! blocks a case gets and how long the passes may take (`preset.rs`). A case is written after its first block and after its
//! last (`pending_case.rs`).
//!
//! The command only opens the laboratories, shows progress through an [`Observer`], and prints.

pub mod laboratory;
pub mod observer;
mod part;
mod passes;
mod pending_case;
pub mod plan;
pub mod preset;
mod resumption;
mod share;
mod states;

pub use laboratory::{Apart, Share};
pub use preset::{Effort, additivity_sample};
pub use resumption::Here;

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::model::detail::Details;
use crate::model::own::is_own;
use crate::run::between_rows::frequent_smt_interference;
use crate::run::directory::WriteLock;
use crate::run::fingerprint::Fingerprint;
use crate::run::history::History;
use crate::run::journal::Journal;
use crate::run::provenance::{Disturbed, Disturber, SessionRecord};
use crate::run::{another_run, between_rows, guests, precise_timestamp, timestamp};
use crate::session::observer::Observer;
use crate::session::passes::Passes;
use crate::session::plan::Plan;
use crate::{Cancel, Case, CaseId, Laboratory, Preset, Row, Run, RunDirectory, RunDirectoryError, Status, Verdict};

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A file of the run directory cannot be read or written.
    #[error(transparent)]
    Directory(#[from] RunDirectoryError),
    /// The run was begun on other hardware.
    #[error("{} was measured on another machine ({model}); start a new run here", path.display())]
    AnotherMachine {
        /// The run directory.
        path: PathBuf,
        /// The processor of that machine.
        model: String,
    },
    /// Nothing is left to measure.
    #[error("the run in {} is complete; there is nothing to resume", .0.display())]
    Complete(PathBuf),
    /// The plan here lacks cases of the run.
    #[error("{}: {what}: {remedy}", path.display())]
    AnotherPlan {
        /// The run directory.
        path: PathBuf,
        /// How the plans differ.
        what: String,
        /// Why, as far as it is known, and what to do.
        remedy: String,
    },
}

/// When to stop before the plan is done.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Raised by Ctrl-C.
    pub cancel: Cancel,
    /// No measurement block begins after this time.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// How a run ends at this time; `None` if it goes on.
    pub fn end(&self, now: Instant) -> Option<Status> {
        if self.cancel.is_cancelled() {
            return Some(Status::Interrupted);
        }
        self.deadline.is_some_and(|deadline| now >= deadline).then_some(Status::BudgetSpent)
    }
}

/// The outcome of a case that is given up because processes ended while they measured it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// Its verdict.
    pub verdict: Verdict,
    /// Whether the case itself ended them. Otherwise it is measured again when the run is resumed.
    pub is_own_fault: bool,
}

/// A run that is being measured.
pub struct Session {
    directory: RunDirectory,
    journal: Journal,
    /// Held until the run has ended.
    _lock: WriteLock,
    run: Run,
    effort: Effort,
    plan: Plan,
    /// The pairs of provisional rows, which stay until more is known.
    earlier_pairs: HashMap<CaseId, u64>,
    /// The cases with provisional rows about which more is known now.
    replaced: HashSet<CaseId>,
    lost_at: Option<Case>,
    /// The passes of each fresh process.
    processes: Vec<[u32; 2]>,
    /// Why the last of the fresh processes that measured nothing could not.
    without_processes: Option<String>,
    /// The earlier runs of this machine, which its intervals take into account; `None` where they do not count.
    pub history: Option<History>,
    now: Box<dyn Fn() -> Instant>,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its folder, with one row for each case.
    pub directory: RunDirectory,
    /// How it ended.
    pub status: Status,
    /// Why it is incomplete although nothing ended it early: fresh processes could not measure.
    pub without_processes: Option<String>,
    /// Where the measurements contradict what the system says of the CPUs' topology.
    pub contradictions: Vec<String>,
    /// What it adds to the runs of this machine; `None` where they do not count.
    pub history: Option<History>,
}

impl Session {
    /// Begins a new run in an empty folder.
    ///
    /// # Errors
    /// When a file cannot be written, or another process writes into the folder.
    pub fn start(directory: RunDirectory, run: Run, preset: Preset, plan: Plan) -> Result<Self, SessionError> {
        let lock = directory.lock_unused()?;
        let effort = plan.effort(preset, run.time());
        Self::locked(directory, lock, run, effort, plan)
    }

    fn locked(
        directory: RunDirectory,
        lock: WriteLock,
        run: Run,
        effort: Effort,
        plan: Plan,
    ) -> Result<Self, SessionError> {
        directory.write_run(&run)?;
        let journal = Journal::open(&directory)?;
        Ok(Self {
            directory,
            journal,
            _lock: lock,
            run,
            effort,
            plan,
            earlier_pairs: HashMap::new(),
            replaced: HashSet::new(),
            lost_at: None,
            processes: Vec::new(),
            without_processes: None,
            history: None,
            now: Box::new(Instant::now),
        })
    }

    /// Continues a run. Cases of `plan` that it has finished are left out. Cases with provisional rows are measured again,
    /// after those without a row; their rows stay until more is known. Everything is read once no other process can write.
    ///
    /// # Errors
    /// When the run is complete, was begun on another machine or with cases that `plan` lacks, another process writes into
    /// the folder, or a file cannot be read or written.
    pub fn resume(directory: RunDirectory, here: &Here, preset: Preset, mut plan: Plan) -> Result<Self, SessionError> {
        let lock = directory.lock()?;
        let (begun, rows, path) = (directory.read_run()?, directory.read_rows()?, directory.path().to_owned());
        if directory.is_finished(&begun)? {
            return Err(SessionError::Complete(path));
        }
        if !here.is_machine_of(&begun) {
            return Err(SessionError::AnotherMachine { path, model: begun.machine.cpu.model });
        }
        let longer = here.compare_plan(&path, &begun, &rows, &plan)?;
        let mut run = Run { status: Status::Running, ended: None, ..begun };
        if longer.is_some() {
            (run.planned, run.planned_by_primitive) = (plan.len() as u64, plan.count_by_primitive());
        }
        for warning in longer.iter().chain(&here.warnings) {
            if !run.warnings.contains(warning) {
                run.warnings.push(warning.clone());
            }
        }
        // The findings from the rows so far are made again at the end, together with those from later rows.
        run.without_processes = None;
        run.disturbed.retain(|one| one.by != Disturber::SmtInterference);
        let (provisional, finished): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.provisional);
        let finished: HashSet<CaseId> = finished.iter().map(|row| row.case.id()).collect();
        let earlier_pairs: HashMap<CaseId, u64> =
            provisional.iter().map(|row| (row.case.id(), row.pairs.unwrap_or(0))).collect();
        directory.forget_all_but(&finished.iter().chain(earlier_pairs.keys()).cloned().collect())?;
        let effort = plan.effort(preset, run.time());
        plan.leave_out(&finished);
        // Cases that have a row already come last.
        plan.parts.iter_mut().for_each(|part| part.sort_by_key(|case| earlier_pairs.contains_key(&case.id())));
        Ok(Self { earlier_pairs, ..Self::locked(directory, lock, run, effort, plan)? })
    }

    /// This session with another clock, for tests.
    pub fn with_clock(self, now: impl Fn() -> Instant + 'static) -> Self {
        Self { now: Box::new(now), ..self }
    }

    /// The content of `run.json`.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Gives cases of the plan a row without a figure and leaves them out: earlier processes ended while they measured them.
    /// Cases that the plan does not have are skipped.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn give_up(&mut self, cases: &HashMap<CaseId, GivenUp>) -> Result<(), SessionError> {
        for case in self.plan.cases() {
            let Some(GivenUp { verdict, is_own_fault }) = cases.get(&case.id()) else { continue };
            let earlier = self.earlier_pairs.get_key_value(&case.id()).map(|(id, _)| id.clone());
            // A figure of which more could have been known stays.
            if !is_own_fault && earlier.is_some() {
                continue;
            }
            let row = Row { provisional: !is_own_fault, ..Row::unmeasured(case.clone(), verdict.clone()) };
            self.journal.append(&row.described(self.plan.catalogue.facts(&case.primitive)), &[], &[])?;
            self.replaced.extend(earlier);
        }
        self.plan.leave_out(&cases.keys().cloned().collect());
        Ok(())
    }

    /// The case that could not be set up because its laboratory can measure nothing any more in this process. It and the
    /// laboratory's other cases are left to another process.
    pub const fn lost_at(&self) -> Option<&Case> {
        self.lost_at.as_ref()
    }

    /// The folder of the run.
    pub const fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Adds warnings for the user that are not there yet.
    pub fn warn(&mut self, mut warnings: Vec<String>) {
        warnings.retain(|warning| !self.run.warnings.contains(warning));
        self.run.warnings.append(&mut warnings);
    }

    /// Adds what disturbed this process.
    pub fn disturb(&mut self, disturbed: Vec<Disturbed>) {
        self.run.disturbed = Disturbed::merged(mem::take(&mut self.run.disturbed).into_iter().chain(disturbed));
    }

    /// Adds what is known only after this process has measured.
    pub fn add_record(&mut self, record: SessionRecord) {
        self.run.sessions.push(SessionRecord { processes: std::mem::take(&mut self.processes), ..record });
    }

    /// Measures the plan until it is done or a limit is reached. `laboratories` are the plan's, in the same order.
    ///
    /// # Errors
    /// When a file cannot be written; what was written before is readable.
    pub fn measure(
        &mut self,
        laboratories: &mut [&mut dyn Laboratory],
        limits: &Limits,
        observer: &mut dyn Observer,
    ) -> Result<Status, SessionError> {
        let has_own = self.plan.cases().any(|case| is_own(&case.primitive));
        let mut passes = Passes { session: self, limits, observer, listings: HashSet::new(), has_own };
        Ok(passes.measure(laboratories)?)
    }

    /// Ends the run: writes how it ended and what its rows say together, and leaves one row for each case. A failure of
    /// [`Self::measure`] is recorded, then returned.
    ///
    /// # Errors
    /// When measuring failed, or a file cannot be read or written.
    pub fn finish(
        mut self,
        measured: Result<Status, SessionError>,
        laboratories: &[&mut dyn Laboratory],
    ) -> Result<Finished, SessionError> {
        self.run.status = *measured.as_ref().unwrap_or(&Status::Interrupted);
        self.run.ended = Some(timestamp(SystemTime::now()));
        let recorded = self.record_end(laboratories);
        // A full disk ends the measuring. What is in the journal is a run all the same, and the first error is the cause.
        measured?;
        let (rows, mut details) = recorded?;
        if !self.replaced.is_empty() {
            self.directory.forget_first(&self.replaced, self.journal.began)?;
            details = self.directory.details_of(&rows)?;
        }
        self.settle(rows, details)?;
        let Self { directory, run, history, without_processes, .. } = self;
        let contradictions = run.measured_topology.map(|topology| topology.contradictions).unwrap_or_default();
        Ok(Finished { directory, status: run.status, without_processes, contradictions, history })
    }

    /// Writes one row for each case, with what follows from all of them together, and the details once.
    fn settle(&mut self, rows: Vec<Row>, details: Details) -> Result<(), RunDirectoryError> {
        let catalogue = &self.plan.catalogue;
        let mut rows: Vec<Row> = rows.into_iter().map(|row| row.with_facts_of(catalogue)).collect();
        if let Some(history) = &mut self.history {
            another_run::derive(&mut rows, &details, catalogue, &[], &[]);
            self.run.between_runs = mem::take(history).between_runs(&rows, catalogue);
            if self.run.status == Status::Done {
                history.add(&precise_timestamp(SystemTime::now()), &rows);
            }
        }
        let usual = guests::usual(&self.run.machine);
        self.run.shared = another_run::derive(&mut rows, &details, catalogue, &self.run.between_runs, usual);
        between_rows::judge(&mut rows, &details, |case| Some(catalogue.facts(&case.primitive)?.role));
        let rows: Vec<Row> = rows.into_iter().map(Row::judged).collect();
        self.run.fingerprint = Fingerprint::of(&rows, &details, catalogue);
        self.directory.write_rows(&rows)?;
        self.directory.write_compact_details(&rows, details)?;
        self.directory.write_run(&self.run)
    }

    /// Writes how the run ended; returns its rows, in the order in which they were completed, and their details.
    fn record_end(&mut self, laboratories: &[&mut dyn Laboratory]) -> Result<(Vec<Row>, Details), RunDirectoryError> {
        let (mut rows, _) = self.directory.read_numbered_rows()?;
        rows.sort_by_key(|(line, _)| *line);
        let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        let details = self.directory.details_of(&rows)?;
        // The run is done when it has what it planned, whatever this process was to measure.
        if !self.run.is_complete_with(&rows) {
            let is_early = self.run.status != Status::Done;
            if !is_early {
                self.run.status = Status::Interrupted;
            }
            let reason = self.without_processes.take();
            self.run.without_processes.clone_from(&reason);
            self.without_processes = reason.filter(|_| !is_early);
        }
        let interference = frequent_smt_interference(&rows);
        self.disturb(interference.map(|share| Disturbed::of(Disturber::SmtInterference, share)).into_iter().collect());
        self.run.measured_topology = laboratories.iter().find_map(|laboratory| laboratory.measured_topology(&rows));
        self.directory.write_run(&self.run)?;
        Ok((rows, details))
    }
}
