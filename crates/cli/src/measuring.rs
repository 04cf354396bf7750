//! The loop of a run: visit after visit to its cases, into the journal.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use syncscope_core::engine::{Measurement, Settings, Visits};
use syncscope_core::journal::Journal;
use syncscope_core::profile::{self, Phase};
use syncscope_core::run::Status;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Cancel, Case, Detail, Engine, Laboratory, Observation, Preset, Refusal, Row, Verdict};

use crate::failure::Failure;
use crate::plan::{self, ENOUGH_VISITS, Plan};
use crate::progress::Progress;
use crate::rounds::Rounds;
use crate::terminal;

/// How a visit, or a round of visits by one laboratory, ended.
enum Ended {
    Finished,
    Lost,
    Cancelled,
    OutOfTime,
}

/// What of a case is in the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    /// What its first visit found.
    FirstRow,
    Everything,
}

/// A case, and what is known of it.
struct Open {
    case: Case,
    settings: Settings,
    visits: Visits,
    found: Option<Measurement>,
    kept: Kept,
    /// How long it was visited, its setting up included.
    spent: Duration,
    settled: bool,
}

impl Open {
    const fn new(case: Case, (settings, visits): (Settings, Visits)) -> Self {
        Self { case, settings, visits, found: None, kept: Kept::Nothing, spent: Duration::ZERO, settled: false }
    }

    /// How often it was visited.
    fn visited(&self) -> u32 {
        self.found.as_ref().map_or(0, |found| found.visits)
    }

    /// What stands in the journal of what was `found`.
    fn row(&self, found: &Measurement) -> Row {
        Row { provisional: !self.settled, ..Row::measured(self.case.clone(), found) }
    }

    fn details(&self, found: &Measurement) -> Vec<Detail> {
        // At how many moments the case was seen, where it could have been more than one.
        let visits = (self.settled && self.visits.most > 1).then(|| Detail::of_case("visits", f64::from(found.visits)));
        let busy = self.settled.then(|| busy_neighbours(&found.observations)).flatten();
        found.details.iter().cloned().chain(visits).chain(busy).collect()
    }

    /// Whether it took the time of several cases. (On 64 virtual CPUs a visit to threads on all of them lasts 20 ms instead of
    /// five: the host always takes one of them away.)
    fn is_dear(&self) -> bool {
        const SEVERAL: u32 = 4;
        self.visited() + 1 >= ENOUGH_VISITS && self.spent > SEVERAL * self.settings.rule.max_time
    }
}

/// The cases of one laboratory that are not settled.
struct Part {
    number: usize,
    cases: Vec<Open>,
    rounds: Rounds,
    lost: bool,
}

impl Part {
    const fn is_done(&self) -> bool {
        self.lost || self.cases.is_empty()
    }

    /// Most visits to be made, and the time for them if it can end them: the first visits are made in any case.
    fn visits(&self) -> (u64, Option<Duration>) {
        let most = self.cases.iter().map(|open| u64::from(open.visits.most));
        (most.clone().sum(), most.max().is_some_and(|most| most > 1).then(|| self.rounds.time()))
    }
}

/// Measures the cases of a plan.
///
/// All cases are visited before any is visited again, so that the visits to a case are spread over the run, and a run that
/// is ended early knows something of every case. What is known of a case is written down after the first visit and after
/// the last.
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
        let mut parts: Vec<Part> =
            plan.parts.iter().enumerate().map(|(number, cases)| self.part(number, cases)).collect();
        self.progress.count_to(parts.iter().map(Part::visits));
        let ended = self.visit_rounds(&mut laboratories, &mut parts);
        // What was found since the first visit, of cases that the run does not come back to.
        for open in parts.iter_mut().flat_map(|part| &mut part.cases) {
            self.keep_all(open)?;
        }
        ended
    }

    fn part(&self, number: usize, cases: &[Case]) -> Part {
        let open = |case: &Case| Open::new(case.clone(), plan::manner(self.preset, case, cases.len()));
        let rounds = Rounds::within(plan::time_for_visits(self.preset, cases.len()));
        Part { number, cases: cases.iter().map(open).collect(), rounds, lost: false }
    }

    /// Round after round, until all is settled.
    fn visit_rounds(
        &mut self,
        laboratories: &mut [&mut dyn Laboratory],
        parts: &mut [Part],
    ) -> Result<Status, Failure> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        while !parts.iter().all(Part::is_done) {
            for (laboratory, part) in laboratories.iter_mut().zip(&mut *parts).filter(|(_, part)| !part.is_done()) {
                let started = Instant::now();
                match self.visit_all(*laboratory, part)? {
                    Ended::Finished => {}
                    // What another laboratory measures is not concerned; a new process can measure the rest.
                    Ended::Lost => part.lost = true,
                    Ended::Cancelled => return Ok(Status::Interrupted),
                    Ended::OutOfTime => return Ok(Status::BudgetSpent),
                }
                part.rounds.add(started.elapsed());
                part.cases.retain(|open| !open.settled);
                // What a case follows on in one round it does not follow on in the next.
                random.shuffle(&mut part.cases);
            }
        }
        Ok(if parts.iter().any(|part| part.lost) { Status::Interrupted } else { Status::Done })
    }

    /// One visit to each case that is not settled.
    fn visit_all(&mut self, laboratory: &mut dyn Laboratory, part: &mut Part) -> Result<Ended, Failure> {
        let is_last = part.rounds.is_next_the_last();
        for open in &mut part.cases {
            if self.cancel.is_cancelled() {
                return Ok(Ended::Cancelled);
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Ended::OutOfTime);
            }
            self.progress.say(&open.case.to_string());
            let (before, started) = (open.visited(), Instant::now());
            let is_last = is_last || open.is_dear();
            match self.visit(laboratory, open, is_last)? {
                Ended::Finished => {}
                ended => return Ok(ended),
            }
            open.spent += started.elapsed();
            // A case that needs no more visits is as good as visited.
            let after = if open.settled { open.visits.most } else { open.visited() };
            self.progress.advance_by(part.number, u64::from(after.saturating_sub(before)), started.elapsed());
        }
        Ok(Ended::Finished)
    }

    fn visit(&mut self, laboratory: &mut dyn Laboratory, open: &mut Open, is_last: bool) -> Result<Ended, Failure> {
        let mut experiment = match profile::time(Phase::SetUp, || laboratory.experiment(&open.case)) {
            Ok(experiment) => experiment,
            Err(refusal) => return self.keep_refusal(open, refusal),
        };
        let engine =
            Engine::new(open.settings.clone(), self.cancel.clone()).visiting(open.visits).for_the_last_time(is_last);
        // Cases differ in their order of pairs, and a case does not depend on which others are measured.
        let seed = self.seed ^ open.case.id().number();
        let earlier = open.found.clone();
        let Ok(found) = engine.visit(experiment.as_mut(), earlier, seed) else { return Ok(Ended::Cancelled) };
        open.settled = !engine.wants_more(&found);
        open.found = Some(found);
        profile::time(Phase::Write, || if open.settled { self.keep_all(open) } else { self.keep_first_row(open) })?;
        Ok(Ended::Finished)
    }

    /// Writes down what the first visit to a case found.
    fn keep_first_row(&mut self, open: &mut Open) -> Result<(), Failure> {
        let (Kept::Nothing, Some(found)) = (open.kept, &open.found) else { return Ok(()) };
        self.keep_evidence(&open.case, found)?;
        self.journal.append(&open.row(found), &[], &[])?;
        open.kept = Kept::FirstRow;
        Ok(())
    }

    /// Writes down all that is known of a case. Its samples wait until now, because which of them count is known after the
    /// last.
    fn keep_all(&mut self, open: &mut Open) -> Result<(), Failure> {
        let (Kept::Nothing | Kept::FirstRow, Some(found)) = (open.kept, &open.found) else { return Ok(()) };
        self.keep_evidence(&open.case, found)?;
        self.journal.append(&open.row(found), &found.observations, &open.details(found))?;
        open.kept = Kept::Everything;
        Ok(())
    }

    fn keep_refusal(&mut self, open: &mut Open, refusal: Refusal) -> Result<Ended, Failure> {
        let verdict = match refusal {
            Refusal::Skipped(reason) => Verdict::Skipped(reason),
            Refusal::Failed(reason) => Verdict::Failed(reason),
            Refusal::Lost(reason) => {
                self.progress.suspend(|| terminal::warning(&reason));
                return Ok(Ended::Lost);
            }
        };
        self.journal.append(&Row::unmeasured(open.case.clone(), verdict), &[], &[])?;
        // What earlier visits found does not stand beside that.
        (open.found, open.settled) = (None, true);
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

/// In which part of the pairs someone else was seen to use the core of a thread, if in any.
fn busy_neighbours(observations: &[Observation]) -> Option<Detail> {
    let busy = observations.iter().filter(|observation| observation.busy_neighbour).count();
    (busy > 0).then(|| Detail::of_case(Detail::BUSY_NEIGHBOUR, busy as f64 / observations.len() as f64))
}
