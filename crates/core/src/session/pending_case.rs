//! A case that is not finished, and what is known of it.

use std::collections::HashSet;
use std::time::Duration;

use crate::engine::population::{Stage, course};
use crate::model::estimate::Stratum;
use crate::session::laboratory::Apart;
use crate::session::observer::Done;
use crate::session::preset::MIN_BLOCKS;
use crate::{BlockCount, Case, Check, Class, Detail, Facts, Measurement, Observation, Row, Settings, Verdict};

/// How much of a case is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Recorded {
    Nothing,
    /// A provisional row of this many pairs.
    Row(u64),
    Everything,
}

/// Whether fresh processes measured a case. Their differences are then part of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasuredApart {
    NotAsked,
    Asked,
    Done,
    /// The case needs more fresh processes, and no other can measure; or the system ended the process of one thread that
    /// measured it.
    GivenUp,
}

/// A case in the course of its measurement blocks.
pub(super) struct PendingCase {
    pub(super) case: Case,
    /// The facts about its primitive.
    pub(super) facts: Option<Facts>,
    pub(super) settings: Settings,
    /// Whether its third loop is run.
    pub(super) tests_additivity: bool,
    /// The pairs behind the row that an earlier process left of the case.
    pub(super) earlier_pairs: Option<u64>,
    /// Its course once it is finished.
    pub(super) finished_course: Vec<Stage>,
    pub(super) found: Option<Measurement>,
    /// Why the last block that other programs prevented has no pairs.
    pub(super) prevented: Option<String>,
    pub(super) recorded: Recorded,
    /// The pairs that the case had when its cost was last shown.
    pub(super) shown: usize,
    /// How long its blocks took, including setting up the case.
    pub(super) spent: Duration,
    /// Whether it needs no more blocks.
    pub(super) is_finished: bool,
    pub(super) apart: MeasuredApart,
}

impl PendingCase {
    pub(super) const fn new(case: Case, settings: Settings) -> Self {
        Self {
            case,
            facts: None,
            settings,
            tests_additivity: false,
            earlier_pairs: None,
            finished_course: Vec::new(),
            found: None,
            prevented: None,
            recorded: Recorded::Nothing,
            shown: 0,
            spent: Duration::ZERO,
            is_finished: false,
            apart: MeasuredApart::NotAsked,
        }
    }

    /// Takes what was `found` with one more block. A block that other programs prevented does not replace earlier ones.
    pub(super) fn add_block(&mut self, found: Measurement) {
        let is_prevented = found.stop.is_none() && matches!(found.verdict, Verdict::Interfered(_));
        self.found = match self.found.take() {
            Some(earlier) if is_prevented => {
                self.prevented = Some(found.verdict.reason().to_owned());
                Some(Measurement { blocks: found.blocks, ..earlier })
            }
            _ => Some(found),
        };
    }

    /// Adds what the fresh process with this number found. Its memory and its threads are others, but what it executed is
    /// the same.
    pub(super) fn add_apart(&mut self, apart: Apart, process: u32) {
        self.apart = MeasuredApart::Done;
        self.spent += apart.spent;
        let Some(found) = &mut self.found else { return };
        let first = found.observations.last().map_or(0, |last| last.pair + 1);
        let blocks: HashSet<u32> = apart.observations.iter().map(|o| o.block).collect();
        found.blocks += blocks.len() as u32;
        let numbered = (first..).zip(apart.observations).map(|(pair, o)| Observation { pair, process, ..o });
        found.observations.extend(numbered);
        if let Some(reason) = apart.failure {
            found.check = Check::Failed(reason);
            self.is_finished = true;
        }
    }

    /// How many blocks were taken.
    pub(super) fn blocks(&self) -> u32 {
        self.found.as_ref().map_or(0, |found| found.blocks)
    }

    /// The work done since the case had this many blocks. For a finished case, the blocks that are left count as done.
    pub(super) fn done_since(&self, before: u32) -> Done {
        let (now, BlockCount { min, max }) = (self.blocks(), self.settings.blocks);
        let end = if self.is_finished { u32::MAX } else { now };
        let of = |limit: u32| u64::from(limit.min(end).saturating_sub(before));
        Done { measured: now.saturating_sub(before).into(), blocks: of(max), fewest: of(min) }
    }

    /// What to record now: a provisional row of the first block and whenever there are twice as many pairs, so that the
    /// table of a run that is killed rests on more than half of them. The pairs themselves are written with the finished case.
    pub(super) fn to_record(&self) -> Recorded {
        let pairs = self.found.as_ref().map_or(0, |found| found.observations.len() as u64);
        match self.recorded {
            _ if self.is_finished => Recorded::Everything,
            Recorded::Row(known) if pairs < 2 * known => self.recorded,
            Recorded::Everything => self.recorded,
            _ => Recorded::Row(pairs),
        }
    }

    /// Whether an earlier process took most of the case's fewest blocks.
    pub(super) fn was_known_well(&self) -> bool {
        let fewest = u64::from(self.settings.blocks.min) * self.settings.rule.min_pairs;
        self.earlier_pairs.is_some_and(|earlier| 2 * earlier >= fewest)
    }

    /// Whether an earlier process knew more of the case than this one does.
    pub(super) fn was_known_better(&self) -> bool {
        let pairs = self.found.as_ref().map_or(0, |found| found.pairs);
        !self.is_finished && self.earlier_pairs.is_some_and(|earlier| earlier > pairs)
    }

    /// Its row for what was `found`.
    pub(super) fn row(&self, found: &Measurement) -> Row {
        let mut row = Row::measured(self.case.clone(), self.facts.as_ref(), found);
        if let Some(reason) = &self.prevented {
            let remark = format!("a block of pairs is missing: {reason}");
            row.remark = Some(row.remark.map_or(remark.clone(), |known| format!("{known}; {remark}")));
        }
        let lacks_processes = matches!(self.apart, MeasuredApart::Asked | MeasuredApart::GivenUp);
        Row { provisional: !self.is_finished || lacks_processes, ..row }
    }

    /// Its details for what was `found`.
    pub(super) fn details(&self, found: &Measurement) -> Vec<Detail> {
        // How many times the case was measured, where it could have been more than one.
        let blocks = (self.settings.blocks.max > 1)
            .then(|| Detail::of_case(Detail::MEASUREMENT_BLOCKS, f64::from(found.blocks)));
        let rest = strata(found).into_iter().chain(states_and_processes(found));
        found.details.iter().cloned().chain(blocks).chain(rest).collect()
    }

    /// Keeps the course of the case without its pairs, which are in the file.
    pub(super) fn forget_observations(&mut self) {
        self.finished_course = self.course();
        if let Some(found) = &mut self.found {
            (found.observations, found.equal_work) = Default::default();
        }
    }

    /// The medians of its measurement blocks, relative to their median.
    pub(super) fn course(&self) -> Vec<Stage> {
        if !self.finished_course.is_empty() {
            return self.finished_course.clone();
        }
        self.found.as_ref().map_or_else(Vec::new, |found| course(&found.observations))
    }

    /// The class of the case: what changes its cost.
    pub(super) fn class(&self) -> Class {
        self.facts.map_or(Class::NothingShared, |facts| facts.class_of(&self.case))
    }

    /// Whether it has no block after the next one.
    pub(super) fn is_next_last(&self) -> bool {
        self.blocks() + 1 >= self.settings.blocks.max || self.is_over_budget()
    }

    /// Whether it has its fewest blocks.
    pub(super) fn has_its_fewest(&self) -> bool {
        self.blocks() >= self.settings.blocks.min
    }

    /// Whether it has its fewest blocks after the next one.
    pub(super) fn has_next_its_fewest(&self) -> bool {
        self.blocks() + 1 >= self.settings.blocks.min
    }

    /// Whether it took the time of several cases. (On 64 virtual CPUs a block with a thread on each lasts 20 ms instead
    /// of five: the host always takes one of the CPUs away.)
    pub(super) fn is_over_budget(&self) -> bool {
        const SEVERAL: u32 = 4;
        self.blocks() + 1 >= MIN_BLOCKS.max(self.settings.blocks.min)
            && self.spent > SEVERAL * self.settings.rule.max_time
    }
}

/// What the case cost in each state of the machine and in each measuring process, where there were several.
fn states_and_processes(found: &Measurement) -> Vec<Detail> {
    let states = (0..).zip(&found.states).flat_map(|(number, state)| {
        let known = [
            (Detail::STATE_SHARE, Some(state.share)),
            (Detail::STATE_NS, Some(state.ns)),
            (Detail::STATE_CYCLES, state.cycles),
        ];
        known.into_iter().filter_map(move |(name, value)| Some(Detail::of_actor(name, number, value?)))
    });
    let processes = found.processes.iter().flat_map(|cost| {
        let cycles = cost.cycles.map(|cycles| Detail::of_actor(Detail::PROCESS_CYCLES, cost.process, cycles));
        std::iter::once(Detail::of_actor(Detail::PROCESS_NS, cost.process, cost.ns)).chain(cycles)
    });
    states.chain(processes).collect()
}

/// What is known of the two populations, where SMT interference is detected.
fn strata(found: &Measurement) -> Vec<Detail> {
    let Some(strata) = found.estimate.as_ref().and_then(|estimate| estimate.strata.as_ref()) else { return Vec::new() };
    let share = Detail::of_case(Detail::SMT_INTERFERENCE, strata.beside_share);
    let of_stratum = |name: &str, stratum: &Stratum| {
        let ends = stratum.interval.map(|interval| [("low_ns", interval.low), ("high_ns", interval.high)]);
        let known =
            [("ns", stratum.ns.value()), ("pairs", stratum.pairs as f64)].into_iter().chain(ends.into_iter().flatten());
        known.map(|(what, value)| Detail::of_case(&format!("{name}_{what}"), value)).collect::<Vec<_>>()
    };
    let of_both = [("alone", &strata.alone), ("beside", &strata.beside)].into_iter();
    let of_both = of_both.filter_map(|(name, stratum)| Some(of_stratum(name, stratum.as_ref()?))).flatten();
    std::iter::once(share).filter(|share| share.value > 0.0).chain(of_both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::engine::stopping::Cancel;
    use crate::fake::{FakeExperiment, Fault};
    use crate::session::preset::{Effort, Preset};

    fn lock() -> (Engine, PendingCase) {
        let case = Case::new("cpu.lock.std_mutex");
        let settings = Effort::from(Preset::Standard).settings(&case, 1, None);
        (Engine::new(settings.clone(), Cancel::new()), PendingCase::new(case, settings))
    }

    #[test]
    fn a_block_that_other_programs_prevent_takes_no_earlier_one_away() {
        let (engine, mut pending) = lock();
        let mut take = |fault| {
            let mut experiment = FakeExperiment::new(5.0, 1).with_fault(fault);
            pending.add_block(engine.measure_block(&mut experiment, pending.found.clone(), 1).unwrap());
            let found = pending.found.as_ref().unwrap();
            (found.blocks, found.observations.len(), found.verdict.name(), engine.needs_another_block(found))
        };
        let (_, pairs, _, _) = take(Fault::None);
        assert_eq!(take(Fault::Interfered), (2, pairs, "Noisy", true), "too few blocks yet");
        assert_eq!(take(Fault::TimesOut), (3, 0, "TimedOut", false), "that is the primitive's doing");
        let row = pending.row(pending.found.as_ref().unwrap());
        assert!(row.remark.unwrap().contains("is missing: the processors were taken"), "the row says so");
        pending.found = None;
        let mut experiment = FakeExperiment::new(5.0, 1).with_fault(Fault::Interfered);
        pending.add_block(engine.measure_block(&mut experiment, None, 1).unwrap());
        let found = pending.found.as_ref().unwrap();
        assert_eq!(found.verdict, Verdict::Interfered("the processors were taken".to_owned()));
        assert!(!engine.needs_another_block(found), "each attempt lasts as long as its limit");
    }

    #[test]
    fn a_row_is_recorded_again_when_twice_as_many_pairs_are_known() {
        let (engine, mut pending) = lock();
        let mut recorded = Vec::new();
        for _ in 0..8 {
            let mut experiment = FakeExperiment::new(5.0, 1);
            pending.add_block(engine.measure_block(&mut experiment, pending.found.clone(), 1).unwrap());
            if pending.recorded < pending.to_record() {
                pending.recorded = pending.to_record();
                recorded.push(pending.found.as_ref().unwrap().observations.len());
            }
            let (written, known) = (recorded[recorded.len() - 1], pending.found.as_ref().unwrap().observations.len());
            assert!(2 * written > known, "{recorded:?}, and {known}");
        }
        assert!(recorded.len() > 1 && recorded.windows(2).all(|two| two[1] >= 2 * two[0]), "{recorded:?}");
        pending.is_finished = true;
        assert_eq!(pending.to_record(), Recorded::Everything);
    }
}
