//! The unfinished cases of one laboratory, and which of them the next pass measures: all, if there is time.
//!
//! A budget may be too short for the fewest blocks of every case. One block of each case would give no figure at all, so the
//! first pass ends early. The cases that it reached get their fewest blocks, and then the next cases do, if there is time
//! for blocks that do not all fall within one second. First passes are slow, so there may be time for all cases in the end.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::engine::calibration::Calibration;
use crate::engine::population::States;
use crate::model::own::is_own;
use crate::session::laboratory::Share;
use crate::session::observer::Work;
use crate::session::pending_case::{MeasuredApart, PendingCase};
use crate::session::preset::{Effort, PassSchedule, additivity_sample};
use crate::session::states::states_of_classes;
use crate::{BlockCount, Case, CaseId, Catalogue, Class};

/// The state of a machine lasts for seconds. New cases get no blocks in less time: their blocks would agree without being
/// right.
const SHORTEST: Duration = Duration::from_secs(2);

/// The unfinished cases of one laboratory.
pub(super) struct Part {
    pub(super) number: usize,
    /// The cases that the next pass measures.
    pub(super) cases: Vec<PendingCase>,
    /// The cases that no pass has reached.
    waiting: Vec<PendingCase>,
    /// The cases that have their fewest blocks while others have none.
    ahead: Vec<PendingCase>,
    /// The cases that need no more blocks.
    finished: Vec<PendingCase>,
    pub(super) schedule: PassSchedule,
    /// About how long the cases take.
    planned: Duration,
    pub(super) is_lost: bool,
    /// The fresh processes that are still to measure a share of the passes.
    pub(super) processes_left: u32,
    /// Whether the last fresh process measured nothing.
    has_lost_last: bool,
}

impl Part {
    /// `earlier_pairs` are the pairs behind provisional rows of an earlier process.
    pub(super) fn new(
        number: usize,
        cases: &[Case],
        catalogue: &Catalogue,
        effort: Effort,
        earlier_pairs: &HashMap<CaseId, u64>,
    ) -> Self {
        let sample = additivity_sample(cases);
        let pending = |case: &Case| {
            let facts = catalogue.facts(&case.primitive).copied();
            PendingCase {
                tests_additivity: sample.contains(&case.id()),
                earlier_pairs: earlier_pairs.get(&case.id()).copied(),
                facts,
                ..PendingCase::new(case.clone(), effort.settings_among(case, cases, facts.as_ref()))
            }
        };
        Self {
            number,
            cases: cases.iter().map(pending).collect(),
            waiting: Vec::new(),
            ahead: Vec::new(),
            finished: Vec::new(),
            schedule: effort.passes(cases),
            planned: effort.planned_time(cases).max(Duration::from_nanos(1)),
            is_lost: false,
            processes_left: effort.processes() - 1,
            has_lost_last: false,
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.is_lost || self.cases.is_empty()
    }

    /// Whether some cases have no block because others need theirs.
    const fn is_short_of_time(&self) -> bool {
        !(self.is_done() || self.waiting.is_empty() && self.ahead.is_empty())
    }

    /// The fraction of its planned time that the part has taken.
    fn progress(&self) -> f64 {
        self.schedule.spent.as_secs_f64() / self.planned.as_secs_f64()
    }

    /// Its share of the time that is left. `planned` is the planned time of all laboratories that are not done.
    pub(super) fn share_of(&self, left: Duration, planned: Duration) -> Duration {
        left.mul_f64((self.planned.as_secs_f64() / planned.as_secs_f64()).min(1.0))
    }

    /// After how long the first pass over new cases should end, so that they get their fewest blocks in the time that is
    /// left for this laboratory. `None` in later passes, and for operations that a user compares: half of a comparison is
    /// none.
    pub(super) fn time_of_first_pass(&self, left: Duration) -> Option<Duration> {
        // A margin, because passes differ.
        const RESERVE: f64 = 0.9;
        (self.schedule.made == 0 && !self.has_own()).then(|| left.mul_f64(RESERVE) / self.schedule.fewest)
    }

    /// Whether a user wrote some of the code: it is in this process alone, and compared with cases that are measured in turn
    /// with it.
    fn has_own(&self) -> bool {
        self.cases.iter().any(|pending| is_own(&pending.case.primitive))
    }

    /// At the end of a budget, a case that has its fewest blocks is finished: otherwise a run whose time is just enough has no complete
    /// row. A case that a fresh process was asked to measure, and did not, stays provisional. Own code does too, because its layouts
    /// come in later blocks.
    pub(super) fn finish_what_has_its_fewest(&mut self) {
        let is_known = |pending: &&mut PendingCase| pending.has_its_fewest() && !is_own(&pending.case.primitive);
        self.unfinished_mut().filter(is_known).for_each(|pending| pending.is_finished = true);
    }

    /// Whether no case needs more blocks.
    pub(super) fn has_finished_all(&self) -> bool {
        self.unfinished().all(|pending| pending.is_finished)
    }

    /// Leaves cases to later runs, so that the kept ones can be finished in the time that is `left`. This is done only where
    /// an earlier run knew enough of all cases: a few more blocks of each would change nothing, however often a run is
    /// resumed. Returns whether any case was left.
    pub(super) fn keep_what_can_be_finished(&mut self, left: Duration) -> bool {
        if left >= self.planned || !self.cases.iter().all(PendingCase::was_known_well) {
            return false;
        }
        let share = left.as_secs_f64() / self.planned.as_secs_f64();
        let kept = (self.cases.len() as f64 * share) as usize;
        let all = self.cases.len();
        self.cases.truncate(kept.max(1));
        self.planned = left.max(Duration::from_nanos(1));
        self.cases.len() < all
    }

    /// Sets aside the cases from this index on, which the first pass did not reach.
    pub(super) fn leave_waiting(&mut self, from: usize) {
        self.waiting.extend(self.cases.drain(from..));
    }

    /// Counts a pass and the time that it took, then chooses the cases of the next one by the time that is left for this
    /// laboratory, if it is limited.
    pub(super) fn end_pass(&mut self, took: Duration, left: Option<Duration>) {
        self.schedule.add(1, took);
        self.retire_finished();
        if self.schedule.made < self.schedule.fewest && !self.cases.is_empty() {
            return;
        }
        let of_latest = self.cases.len();
        self.ahead.append(&mut self.cases);
        let is_too_late = left.is_some_and(|left| left < SHORTEST) && !self.ahead.is_empty();
        if self.waiting.is_empty() || is_too_late {
            self.cases = std::mem::take(&mut self.ahead);
            self.schedule.expect_passes_over(self.cases.len(), of_latest);
        } else {
            self.cases = std::mem::take(&mut self.waiting);
            self.schedule.made = 0;
        }
    }

    /// Counts the passes of a fresh process and the time that they took.
    pub(super) fn end_share(&mut self, passes: u32, took: Duration) {
        self.has_lost_last = false;
        self.schedule.add(passes, took);
        self.retire_finished();
    }

    /// Counts a fresh process that measured nothing. Returns whether another one is tried. The second failure in a row is
    /// the last, and no case that needs more blocks is complete: the differences between processes are part of its interval.
    pub(super) fn has_lost_process(&mut self) -> bool {
        if std::mem::replace(&mut self.has_lost_last, true) {
            self.processes_left = 0;
            self.unfinished_mut().for_each(|pending| pending.apart = MeasuredApart::GivenUp);
        }
        self.processes_left > 0
    }

    /// Removes finished cases from the passes. They are still part of the course of the run.
    fn retire_finished(&mut self) {
        let (mut finished, cases): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.cases).into_iter().partition(|pending| pending.is_finished);
        finished.iter_mut().for_each(PendingCase::forget_observations);
        self.cases = cases;
        self.finished.append(&mut finished);
    }

    /// The share of the next fresh process; `None` where no process is left, or no time for one. This process has made the
    /// first pass, and makes the last one.
    pub(super) fn next_share(&mut self, effort: Effort, seed: u64, left: Option<Duration>) -> Option<Share> {
        if self.processes_left == 0 || self.schedule.made == 0 || self.has_own() {
            return None;
        }
        let of_rest = if self.is_short_of_time() { None } else { self.part_of_the_rest(left) };
        let (time, most_passes) = of_rest.or_else(|| self.one_of_the_fewest(left))?;
        let share_of = |pending: &mut PendingCase| {
            let known = Calibration::known(pending.found.as_ref()?)?;
            if pending.apart == MeasuredApart::NotAsked {
                pending.apart = MeasuredApart::Asked;
            }
            Some((pending.case.clone(), known))
        };
        let cases = self.cases.iter_mut().filter_map(share_of).collect();
        Some(Share { effort, seed, first_pass: self.schedule.all_made + 1, most_passes, time, cases })
    }

    /// One fresh process for each of the fewest passes over these cases, as far as it would end in time: large plans have
    /// time for no more passes than these.
    fn one_of_the_fewest(&self, left: Option<Duration>) -> Option<(Duration, u32)> {
        let is_in_time = left.is_none_or(|left| left >= self.schedule.latest);
        (is_in_time && self.schedule.made + 1 < self.schedule.fewest).then_some((Duration::ZERO, 1))
    }

    /// The time and the most passes of the next fresh process. The fresh processes that are left share the rest with this
    /// one.
    fn part_of_the_rest(&mut self, left: Option<Duration>) -> Option<(Duration, u32)> {
        let (time, shares) = self.schedule.shares(self.processes_left + 1, left);
        let most = self.cases.iter().map(|pending| pending.settings.blocks.max).max().unwrap_or(0);
        let most_passes = most.saturating_sub(self.schedule.all_made) / shares.max(1);
        // Passes may become shorter: the first ones of a run whose machine was busy when it began.
        if shares < 2 || most_passes == 0 {
            return None;
        }
        self.processes_left -= 1;
        Some((time, most_passes))
    }

    /// Whether the preset has no time for another pass after the next one.
    pub(super) fn is_next_final(&self) -> bool {
        !self.is_short_of_time() && self.schedule.is_next_final()
    }

    /// Whether the blocks so far span half of the time.
    pub(super) fn spans_half(&self) -> bool {
        !self.is_short_of_time() && self.schedule.spans_half()
    }

    /// The states of the machine so far.
    pub(super) fn states(&self) -> BTreeMap<Class, States> {
        states_of_classes(self.unfinished().chain(&self.finished))
    }

    fn unfinished(&self) -> impl Iterator<Item = &PendingCase> {
        self.cases.iter().chain(&self.waiting).chain(&self.ahead)
    }

    /// The cases that need more blocks.
    pub(super) fn unfinished_mut(&mut self) -> impl Iterator<Item = &mut PendingCase> {
        self.cases.iter_mut().chain(&mut self.waiting).chain(&mut self.ahead)
    }

    /// The most blocks still to be taken, and the time for them if it can end them: the first blocks are taken in any case.
    /// `left` is the time for this laboratory, if it is limited.
    pub(super) fn work(&self, left: Option<Duration>) -> Work {
        let open = |limit: fn(BlockCount) -> u32| {
            let left = |pending: &PendingCase| limit(pending.settings.blocks).saturating_sub(pending.blocks());
            self.unfinished().map(left).map(u64::from).sum()
        };
        let ends_by_time = self.unfinished().any(|pending| pending.settings.blocks.max > 1);
        let time = ends_by_time.then_some(self.schedule.time);
        let fewest = if left.is_none() { open(|blocks| blocks.min) } else { 0 };
        let planned = left.map_or(self.planned, |left| left.min(self.planned));
        Work { blocks: open(|blocks| blocks.max), fewest, time: time.into_iter().chain(left).min(), planned }
    }
}

/// The planned time of the laboratories that are not done.
pub(super) fn planned_time(parts: &[Part]) -> Duration {
    parts.iter().filter(|part| !part.is_done()).map(|part| part.planned).sum()
}

/// Which laboratories make a pass now: each that is not done, or, where time is short, the one that took the least of its
/// planned time. Otherwise a laboratory with long passes would take the time of the others.
pub(super) fn turns(parts: &[Part]) -> Vec<bool> {
    let is_short = parts.iter().any(Part::is_short_of_time);
    let open = || parts.iter().filter(|part| !part.is_done());
    let least = open().map(Part::progress).fold(f64::INFINITY, f64::min);
    parts.iter().map(|part| !part.is_done() && (!is_short || part.progress() <= least)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    const SECOND: Duration = Duration::from_secs(1);

    /// Ten cases, all as yet without a block.
    fn part(number: usize, id: &str) -> Part {
        let cases: Vec<Case> = (1..=10).map(|threads| Case { threads: Some(threads), ..Case::new(id) }).collect();
        Part {
            planned: 10 * SECOND,
            ..Part::new(number, &cases, &Catalogue::default(), Preset::Quick.into(), &HashMap::new())
        }
    }

    #[test]
    fn a_first_pass_leaves_time_for_the_others_and_for_other_laboratories() {
        let mut parts = [part(0, "cpu.atomic.add"), part(1, "gpu.atomic.add")];
        let planned = planned_time(&parts);
        assert_eq!(planned, 20 * SECOND);
        let time = |part: &Part| part.time_of_first_pass(part.share_of(80 * SECOND, planned)).unwrap().as_secs_f64();
        assert!((time(&parts[0]) - 80.0 * 0.9 / 2.0 / 8.0).abs() < 1e-9);
        assert!((time(&parts[1]) - 80.0 * 0.9 / 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(part(0, "cpu.own.line").time_of_first_pass(SECOND), None, "half of a comparison is none");
        parts[0].end_pass(SECOND, None);
        assert_eq!(parts[0].time_of_first_pass(SECOND), None, "later passes are over the same cases");
        parts[0].is_lost = true;
        assert_eq!(planned_time(&parts), 10 * SECOND);
    }

    #[test]
    fn cases_that_wait_follow_those_that_have_their_fewest_blocks_and_then_all_go_on() {
        let mut part = part(0, "gpu.atomic.add");
        let threads = |part: &Part| part.cases.iter().filter_map(|pending| pending.case.threads).collect::<Vec<_>>();
        part.leave_waiting(6);
        (0..2).for_each(|_| part.end_pass(SECOND, None));
        assert_eq!(threads(&part), [1, 2, 3, 4, 5, 6]);
        // One of them is precise.
        part.cases[0].is_finished = true;
        part.end_pass(SECOND, None);
        assert_eq!((threads(&part), part.schedule.made), (vec![7, 8, 9, 10], 0));
        (0..3).for_each(|_| part.end_pass(SECOND, None));
        assert_eq!(threads(&part), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert!(!part.is_short_of_time());
        assert_eq!(part.schedule.made, 3, "no case is new");
        part.cases.iter_mut().for_each(|pending| pending.is_finished = true);
        part.end_pass(SECOND, None);
        assert!(part.is_done());
    }

    #[test]
    fn new_cases_need_time_for_blocks_that_differ() {
        let mut part = part(0, "gpu.atomic.add");
        part.leave_waiting(6);
        (0..3).for_each(|_| part.end_pass(SECOND, Some(SECOND)));
        assert_eq!(part.cases.len(), 6, "these get more blocks instead");
        assert!(part.is_short_of_time() && !part.is_done());
        part.cases.iter_mut().for_each(|pending| pending.is_finished = true);
        part.end_pass(SECOND, Some(Duration::ZERO));
        assert_eq!(part.cases.len(), 4, "nothing else is left to do");
    }

    #[test]
    fn after_a_slow_first_pass_fresh_processes_make_the_fewest_passes_or_share_what_is_left() {
        let mut part = part(0, "cpu.atomic.add");
        part.end_pass(20 * SECOND, None);
        let share = part.next_share(Preset::Quick.into(), 1, None).unwrap();
        assert_eq!((share.first_pass, share.most_passes), (2, 1), "of 30 s, not another such pass is left");
        part.end_share(1, SECOND);
        let share = part.next_share(Preset::Quick.into(), 1, None).unwrap();
        assert_eq!((share.first_pass, share.time), (3, 9 * SECOND / 7));
    }

    /// The grids of papers on many CPUs have time for no more. Their intervals need the differences between processes too.
    #[test]
    fn where_only_the_fewest_passes_are_made_each_but_the_first_and_the_last_has_its_process() {
        let mut part = part(0, "cpu.atomic.add");
        part.end_pass(20 * SECOND, None);
        for made in 1..part.schedule.fewest - 1 {
            assert_eq!(
                part.next_share(Preset::Quick.into(), 1, None).map(|share| share.most_passes),
                Some(1),
                "{made}"
            );
            part.end_share(1, 20 * SECOND);
        }
        assert_eq!(part.next_share(Preset::Quick.into(), 1, None), None);
        assert!(part.is_next_final());
    }

    #[test]
    fn where_time_is_short_fresh_processes_make_the_fewest_passes_over_the_cases_that_were_reached() {
        let mut part = part(0, "cpu.atomic.add");
        part.leave_waiting(6);
        let fewest = part.schedule.fewest;
        assert_eq!(part.next_share(Preset::Quick.into(), 1, None), None, "this process makes the first pass");
        for _ in 0..2 {
            part.end_pass(SECOND, None);
            assert_eq!(part.next_share(Preset::Quick.into(), 1, Some(SECOND / 2)), None, "it can end within a pass");
            for made in 1..fewest - 1 {
                let share = part.next_share(Preset::Quick.into(), 1, None).unwrap();
                assert_eq!((share.most_passes, part.schedule.made), (1, made));
                part.end_share(1, SECOND);
            }
            assert_eq!(part.next_share(Preset::Quick.into(), 1, None), None, "and the last one");
            part.end_pass(SECOND, None);
        }
        assert!(part.waiting.is_empty() && part.ahead.is_empty());
    }

    /// A pass over the last few cases says how long one over all of them takes.
    #[test]
    fn the_passes_over_all_cases_are_expected_to_be_longer_than_the_latest_ones_over_some() {
        let mut part = part(0, "cpu.atomic.add");
        part.leave_waiting(9);
        for (cases, seconds) in [(9, 9), (1, 1)] {
            assert_eq!(part.cases.len(), cases);
            (0..part.schedule.fewest).for_each(|_| part.end_pass(seconds * SECOND / 10, None));
        }
        assert_eq!((part.cases.len(), part.schedule.latest), (10, SECOND));
        part.schedule.spent = Duration::ZERO;
        assert_eq!(
            part.next_share(Preset::Quick.into(), 1, Some(SECOND)),
            None,
            "there is time for the last pass alone"
        );
    }

    #[test]
    fn where_time_is_short_the_laboratory_that_took_the_least_has_its_turn() {
        let mut parts = [part(0, "cpu.atomic.add"), part(1, "gpu.atomic.add")];
        assert_eq!(turns(&parts), [true, true]);
        parts[0].end_pass(SECOND, None);
        parts[1].end_pass(3 * SECOND, None);
        assert_eq!(turns(&parts), [true, true], "there is time for all");
        parts[1].leave_waiting(5);
        assert_eq!(turns(&parts), [true, false]);
        parts[0].end_pass(3 * SECOND, None);
        assert_eq!(turns(&parts), [false, true]);
        parts[1].is_lost = true;
        assert_eq!(turns(&parts), [true, false]);
    }
}
