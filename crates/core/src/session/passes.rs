//! The loop of a run: pass after pass over the unfinished cases, into the journal.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::engine::profile::{self, Phase};
use crate::session::laboratory::Apart;
use crate::session::observer::Observer;
use crate::session::part::{Part, planned_time, turns};
use crate::session::pending_case::{MeasuredApart, PendingCase, Recorded};
use crate::session::preset::of_its_code;
use crate::session::{Limits, Session};
use crate::stats::{layouts, median};
use crate::{
    Case, CaseId, Check, Engine, Laboratory, Measurement, Nanoseconds, Observation, OwnCheck, OwnOperation, Refusal,
    Row, RunDirectoryError, Status, Unmeasured, Verdict,
};

/// Separates what several sessions decided.
const THEN: &str = "; then ";

/// How a block, or a pass of one laboratory, ended.
enum Ended {
    Finished,
    Lost,
    /// The run ends with this status.
    Run(Status),
}

/// Shows an observer what is known of a case that it follows: the cost over all pairs so far, once the pairs are more by an
/// eighth or the last.
fn show(observer: &mut dyn Observer, pending: &mut PendingCase) {
    let Some(found) = pending.found.as_ref().filter(|_| observer.follows(&pending.case)) else { return };
    let pairs = found.observations.len();
    if pairs < pending.shown + pending.shown / 8 && !pending.is_finished {
        return;
    }
    pending.shown = pairs;
    let costs: Vec<f64> = found.observations.iter().map(|pair| pair.ns).collect();
    let row = pending.row(found);
    observer.found(Row { ns: median(&costs).map(Nanoseconds), ..row });
}

/// Numbers groups of layouts as processes: for code that a user wrote, and for what it is compared with, they are what
/// processes are for other cases. In each, code and memory are elsewhere, and time has passed.
fn group_by_layout(observations: &mut [Observation]) {
    for observation in observations {
        observation.process = layouts::of_pass(observation.block) / layouts::PLACES;
    }
}

/// Finishes what is known well enough at the end of a budget. Returns how the run ended.
fn finish_known(parts: &mut [Part]) -> Status {
    parts.iter_mut().for_each(Part::finish_what_has_its_fewest);
    if parts.iter().all(Part::has_finished_all) { Status::Done } else { Status::BudgetSpent }
}

/// Fails a checked operation of which the compiler left nothing: it did not do its work.
fn fail_if_elided(found: &mut Measurement, check: Option<OwnCheck>) {
    let (Verdict::Elided(summary), Some(check)) = (&found.verdict, check) else { return };
    let reason = format!("the compiler removed it ({summary}): {}", check.without_operation());
    (found.verdict, found.check) = (Verdict::Failed(format!("check failed: {reason}")), Check::Failed(reason));
}

/// Measures the cases of a plan, pass after pass.
pub(super) struct Passes<'a> {
    pub(super) session: &'a mut Session,
    pub(super) limits: &'a Limits,
    pub(super) observer: &'a mut dyn Observer,
    /// Names of the disassemblies that were written.
    pub(super) listings: HashSet<String>,
    /// Whether the plan has code that a user wrote.
    pub(super) has_own: bool,
}

impl Passes<'_> {
    /// Measures all cases, or until a limit is reached.
    pub(super) fn measure(&mut self, laboratories: &mut [&mut dyn Laboratory]) -> Result<Status, RunDirectoryError> {
        let effort = self.session.effort;
        let (plan, earlier_pairs) = (&self.session.plan, &self.session.earlier_pairs);
        let part =
            |(number, cases): (usize, &Vec<Case>)| Part::new(number, cases, &plan.catalogue, effort, earlier_pairs);
        let mut parts: Vec<Part> = plan.parts.iter().enumerate().map(part).collect();
        self.prepare(laboratories, &mut parts)?;
        self.record_keep_awake(laboratories)?;
        let (left, planned) = (self.time_left(), planned_time(&parts));
        let mut leaves_some = false;
        for part in &mut parts {
            leaves_some |= left.is_some_and(|left| part.keep_what_can_be_finished(part.share_of(left, planned)));
        }
        let planned = planned_time(&parts);
        let work = |part: &Part| part.work(left.map(|left| part.share_of(left, planned)));
        self.observer.planned(&parts.iter().map(work).collect::<Vec<_>>());
        let ended = self.all_passes(laboratories, &mut parts);
        let ended = ended.map(|ended| if ended == Status::BudgetSpent { finish_known(&mut parts) } else { ended });
        // Writes the blocks since the first one, of cases that the run does not return to.
        for pending in parts.iter_mut().flat_map(Part::unfinished_mut) {
            self.record(pending, Recorded::Everything)?;
        }
        Ok(match ended? {
            Status::Done if leaves_some => Status::BudgetSpent,
            ended => ended,
        })
    }

    /// Prepares the laboratories. The first one makes its first pass before the others prepare, which takes seconds, so that a
    /// user sees figures; not with a budget, of which each part has a share.
    fn prepare(
        &mut self,
        laboratories: &mut [&mut dyn Laboratory],
        parts: &mut [Part],
    ) -> Result<(), RunDirectoryError> {
        let is_early = self.limits.deadline.is_none() && parts.len() > 1;
        for (number, (laboratory, part)) in laboratories.iter_mut().zip(parts).enumerate() {
            let (plan, observer) = (&self.session.plan, &mut *self.observer);
            profile::time(Phase::Prepare, || {
                laboratory.prepare(&plan.parts[number], &mut |done, all| observer.preparing(done, all));
            });
            if is_early && number == 0 && !part.cases.is_empty() {
                let started = (self.session.now)();
                match self.one_pass(*laboratory, part, None)? {
                    Ended::Finished => part.end_pass(self.since(started), None),
                    Ended::Lost => part.is_lost = true,
                    Ended::Run(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Writes what is new in what the laboratories decided when they prepared, so that a run that is killed has it too.
    fn record_keep_awake(&mut self, laboratories: &[&mut dyn Laboratory]) -> Result<(), RunDirectoryError> {
        let decided = laboratories.iter().filter_map(|laboratory| Some(laboratory.keep_awake()?.to_string()));
        let decided: Vec<String> = decided.collect();
        if decided.is_empty() {
            return Ok(());
        }
        let earlier = self.session.run.environment.keep_awake.take();
        let is_new = |one: &String| earlier.as_deref().is_none_or(|known| known.split(THEN).all(|known| known != one));
        let all: Vec<String> = earlier.iter().cloned().chain(decided.into_iter().filter(is_new)).collect();
        self.session.run.environment.keep_awake = Some(all.join(THEN));
        self.session.directory.write_run(&self.session.run)
    }

    /// Makes pass after pass, until all cases are finished.
    fn all_passes(
        &mut self,
        laboratories: &mut [&mut dyn Laboratory],
        parts: &mut [Part],
    ) -> Result<Status, RunDirectoryError> {
        let mut random = fastrand::Rng::with_seed(self.session.run.seed);
        for (part, laboratory) in parts.iter_mut().zip(laboratories.iter()) {
            part.processes_left *= u32::from(laboratory.can_measure_apart());
        }
        while !parts.iter().all(Part::is_done) {
            let (turns, planned) = (turns(parts), planned_time(parts));
            let all = laboratories.iter_mut().zip(&mut *parts).zip(turns);
            for (laboratory, part) in all.filter_map(|(both, has_turn)| has_turn.then_some(both)) {
                let started = (self.session.now)();
                let left = self.time_left().map(|left| part.share_of(left, planned));
                if self.one_share(*laboratory, part, left)? {
                    continue;
                }
                let enough = left.and_then(|left| part.time_of_first_pass(left)).map(|enough| started + enough);
                match self.one_pass(*laboratory, part, enough)? {
                    Ended::Finished => {}
                    // Other laboratories go on. A new process can measure the rest.
                    Ended::Lost => part.is_lost = true,
                    Ended::Run(status) => return Ok(status),
                }
                part.end_pass(self.since(started), self.time_left().map(|left| part.share_of(left, planned)));
                // Each pass puts a case after another one.
                random.shuffle(&mut part.cases);
            }
        }
        Ok(if parts.iter().any(|part| part.is_lost) { Status::Interrupted } else { Status::Done })
    }

    /// Lets a fresh process make some passes. `false` where no process can.
    fn one_share(
        &mut self,
        laboratory: &mut dyn Laboratory,
        part: &mut Part,
        left: Option<Duration>,
    ) -> Result<bool, RunDirectoryError> {
        let started = (self.session.now)();
        if self.limits.cancel.is_cancelled() {
            return Ok(false);
        }
        let Some(share) = part.next_share(self.session.effort, self.session.run.seed, left) else { return Ok(false) };
        if share.cases.is_empty() {
            return Ok(false);
        }
        let found = laboratory.measure_apart(&share, &mut |case| {
            self.observer.measuring_apart(case);
            !self.limits.cancel.is_cancelled()
        });
        let Some(found) = found else { return Ok(false) };
        let last_pass = |found: &[Apart]| found.iter().flat_map(|apart| &apart.observations).map(|o| o.block).max();
        let found = found.and_then(|found| {
            let last = last_pass(&found).ok_or("a fresh process could measure no case")?;
            Ok((found, last))
        });
        let (found, last) = match found {
            Ok(found) => found,
            Err(_) if self.limits.cancel.is_cancelled() => return Ok(true),
            Err(reason) => {
                let rest = if part.has_lost_process() {
                    "another one is tried"
                } else {
                    "the run continues without it and is incomplete"
                };
                self.observer.warning(&format!("{reason}; {rest}"));
                self.session.without_processes = Some(reason);
                return Ok(true);
            }
        };
        let first = share.first_pass;
        self.session.processes.push([first, last]);
        let process = self.session.processes.len() as u32;
        let measured: Duration = found.iter().map(|apart| apart.spent).sum();
        profile::add(Phase::Processes, self.since(started).saturating_sub(measured));
        let mut cases: HashMap<CaseId, &mut PendingCase> =
            part.cases.iter_mut().map(|pending| (pending.case.id(), pending)).collect();
        for apart in found {
            let Some(pending) = cases.get_mut(&apart.id) else { continue };
            let (before, spent) = (pending.blocks(), apart.spent);
            pending.add_apart(apart, process);
            self.observer.measured(part.number, pending.done_since(before), spent);
            show(self.observer, pending);
            self.record(pending, pending.to_record())?;
        }
        part.end_share(last + 1 - first, self.since(started));
        Ok(true)
    }

    /// Takes one block of each case of a pass. Cases that are not reached by the time `enough` wait; the first one is always
    /// measured.
    fn one_pass(
        &mut self,
        laboratory: &mut dyn Laboratory,
        part: &mut Part,
        enough: Option<Instant>,
    ) -> Result<Ended, RunDirectoryError> {
        let is_final = part.is_next_final();
        let spans_half = part.spans_half();
        // Few cases may have all their blocks long before that.
        let may_finish = is_final || spans_half || part.cases.iter().any(PendingCase::is_next_last);
        let states = if may_finish { part.states() } else { BTreeMap::new() };
        laboratory.begin_pass(part.schedule.made);
        let mut reached = 0;
        for pending in &mut part.cases {
            if reached > 0 && enough.is_some_and(|enough| (self.session.now)() >= enough) {
                break;
            }
            reached += 1;
            if let Some(status) = self.ends() {
                return Ok(Ended::Run(status));
            }
            self.observer.measuring(&pending.case);
            let (before, started) = (pending.blocks(), (self.session.now)());
            let mut engine = Engine::new(pending.settings.clone(), self.limits.cancel.clone());
            engine.is_final = is_final && pending.has_next_its_fewest() || pending.is_over_budget();
            engine.tests_additivity = pending.tests_additivity;
            let own = self.session.run.own.iter().find(|own| own.id == pending.case.primitive);
            engine.trial = own.and_then(|own| own.trial_ms).map(|time| Duration::from_millis(time.into()));
            // The state of a CPU (its clock, its host) lasts for seconds, so that the blocks of a few seconds agree without being
            // right: no case of CPUs is precise before its blocks span half of the time.
            engine.may_be_precise = spans_half || !pending.case.is_on_cpus();
            (engine.states, engine.block) =
                (states.get(&pending.class()).cloned().unwrap_or_default(), Some(part.schedule.all_made + 1));
            match self.one_block(laboratory, pending, &engine)? {
                Ended::Finished => {}
                ended => return Ok(ended),
            }
            let spent = self.since(started);
            pending.spent += spent;
            self.observer.measured(part.number, pending.done_since(before), spent);
            show(self.observer, pending);
        }
        part.leave_waiting(reached);
        Ok(Ended::Finished)
    }

    /// How the run ends now; `None` if it goes on.
    fn ends(&self) -> Option<Status> {
        self.limits.end((self.session.now)())
    }

    fn one_block(
        &mut self,
        laboratory: &mut dyn Laboratory,
        pending: &mut PendingCase,
        engine: &Engine,
    ) -> Result<Ended, RunDirectoryError> {
        let mut taken = self.take_block(laboratory, pending, engine);
        if let (Err(Refusal::Prevented(reason)), None) = (&taken, self.ends()) {
            self.observer.warning(&format!("{}: {reason}; it is measured again", pending.case));
            taken = self.take_block(laboratory, pending, engine);
        }
        let mut found = match taken {
            Ok(found) => found,
            Err(refusal) => {
                // A case that was ended on request, or at the end of the budget, is not to blame.
                let is_excused =
                    |status: &Status| *status == Status::Interrupted || matches!(refusal, Refusal::Prevented(_));
                return match self.ends().filter(is_excused) {
                    Some(status) => Ok(Ended::Run(status)),
                    None => self.record_refusal(pending, refusal),
                };
            }
        };
        if let Some(own) = self.session.run.own.iter().find(|own| own.id == pending.case.primitive) {
            fail_if_elided(&mut found, own.checked().filter(|_| own.trial_ms.is_none()));
            let remedy = remedy_of_timeout(own, &pending.case, found.unroll);
            if let (Verdict::TimedOut(reason), Some(remedy)) = (&mut found.verdict, remedy) {
                reason.push_str(&remedy);
            }
        }
        if self.has_own && pending.case.is_on_cpus() {
            group_by_layout(&mut found.observations);
        }
        pending.add_block(found);
        pending.is_finished = pending.found.as_ref().is_none_or(|found| !engine.needs_another_block(found));
        profile::time(Phase::Write, || self.record(pending, pending.to_record()))?;
        Ok(Ended::Finished)
    }

    /// Takes one more block of a case.
    fn take_block(
        &self,
        laboratory: &mut dyn Laboratory,
        pending: &PendingCase,
        engine: &Engine,
    ) -> Result<Measurement, Refusal> {
        let mut experiment = profile::time(Phase::SetUp, || laboratory.experiment(&pending.case))?;
        // The order of pairs differs from case to case and does not depend on which other cases are measured.
        let seed = self.session.run.seed ^ pending.case.id().number();
        engine.measure_block(experiment.as_mut(), pending.found.clone(), seed).map_err(|error| match error {
            Unmeasured::Prevented(reason) => Refusal::Prevented(reason),
            Unmeasured::Cancelled => Refusal::Failed(error.to_string()),
        })
    }

    /// Writes the provisional row of a case, or all that is known of it. Its samples are written only with the rest, because the
    /// last block decides which of them count.
    fn record(&mut self, pending: &mut PendingCase, recorded: Recorded) -> Result<(), RunDirectoryError> {
        let is_all = recorded == Recorded::Everything;
        if is_all {
            // In a run that was ended early, the last block was not planned as the last.
            pending.found.iter_mut().for_each(Measurement::settle);
        }
        let Some(found) = pending.found.as_ref().filter(|_| pending.recorded < recorded) else { return Ok(()) };
        if pending.was_known_better() {
            return Ok(());
        }
        // What fresh processes found is judged at the end; a provisional row is judged for now.
        let settled = (!is_all && pending.recorded != Recorded::Nothing).then(|| {
            let mut settled = found.clone();
            settled.settle();
            settled
        });
        let found = settled.as_ref().unwrap_or(found);
        self.record_evidence(&pending.case, found)?;
        let samples = if is_all { found.observations.as_slice() } else { &[] };
        let details = if is_all { pending.details(found) } else { Vec::new() };
        self.session.journal.append(&pending.row(found), samples, &details)?;
        if is_all {
            self.session.replaced.extend(pending.earlier_pairs.map(|_| pending.case.id()));
        }
        pending.recorded = recorded;
        Ok(())
    }

    fn record_refusal(&mut self, pending: &mut PendingCase, refusal: Refusal) -> Result<Ended, RunDirectoryError> {
        let is_prevented = matches!(refusal, Refusal::Prevented(_));
        if is_prevented && (pending.found.is_some() || pending.earlier_pairs.is_some()) {
            // What is known of the case stays, as a provisional row.
            (pending.is_finished, pending.apart) = (true, MeasuredApart::GivenUp);
            self.record(pending, Recorded::Everything)?;
            return Ok(Ended::Finished);
        }
        let verdict = match refusal {
            Refusal::Skipped(reason) => Verdict::Skipped(reason),
            Refusal::Failed(reason) | Refusal::Prevented(reason) => Verdict::Failed(reason),
            Refusal::Lost(reason) => {
                self.observer.warning(&reason);
                self.session.lost_at = Some(pending.case.clone());
                return Ok(Ended::Lost);
            }
        };
        // A prevented case is measured again when the run is resumed.
        let row = Row { provisional: is_prevented, ..Row::unmeasured(pending.case.clone(), verdict) };
        self.session.journal.append(&row.described(pending.facts.as_ref()), &[], &[])?;
        self.session.replaced.extend(pending.earlier_pairs.map(|_| pending.case.id()));
        // A refusal keeps no earlier blocks.
        (pending.found, pending.is_finished) = (None, true);
        Ok(Ended::Finished)
    }

    /// Writes the disassembly once for all cases that run the same machine code.
    fn record_evidence(&mut self, case: &Case, measurement: &Measurement) -> Result<(), RunDirectoryError> {
        let Some(listing) = measurement.evidence.listing() else { return Ok(()) };
        let code = of_its_code(case);
        let window = if measurement.in_window { " window" } else { "" };
        let name = format!("{code}{window}").replace([' ', '/'], "-");
        if self.listings.insert(name.clone()) {
            self.session.directory.write_evidence(&name, listing)?;
        }
        Ok(())
    }

    /// The time until the deadline, if there is one.
    fn time_left(&self) -> Option<Duration> {
        self.limits.deadline.map(|deadline| deadline.saturating_duration_since((self.session.now)()))
    }

    fn since(&self, earlier: Instant) -> Duration {
        (self.session.now)().saturating_duration_since(earlier)
    }
}

/// What a user can do about code that does not end in time.
fn remedy_of_timeout(own: &OwnOperation, case: &Case, unroll: u32) -> Option<String> {
    if own.launch.is_some() || own.is_wait_for() {
        return None;
    }
    if case.threads > Some(1) && !own.is_barrier() {
        return Some("; if its threads wait for each other, measure it with --check barrier".to_owned());
    }
    // The test has each operation of the baseline once more.
    case.is_on_cpus().then(|| format!("; a sample repeats the operation {} times or more", 2 * unroll))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_elided_fails_where_it_is_checked() {
        let elided = || Measurement { verdict: Verdict::Elided("both are equal".to_owned()), ..Measurement::default() };
        for check in OwnCheck::ALL {
            let mut found = elided();
            fail_if_elided(&mut found, Some(*check));
            assert!(matches!((&found.verdict, &found.check), (Verdict::Failed(_), Check::Failed(_))), "{check}");
        }
        let mut found = elided();
        fail_if_elided(&mut found, None);
        assert_eq!(found.verdict.name(), "Elided");
        let mut resolved = Measurement { verdict: Verdict::Resolved, ..Measurement::default() };
        fail_if_elided(&mut resolved, Some(OwnCheck::Lock));
        assert_eq!(resolved.verdict, Verdict::Resolved);
    }
}
