//! A share of the passes over the cases of a laboratory, measured by a process of its own.
//!
//! A process keeps its memory, its threads and what its caches and branch predictors have learned. All blocks that it
//! measures share these, which looks like a property of the primitive. Fresh processes show how far it is not. The process
//! that writes the run makes the first pass and the last ones; in between, laboratories that can start fresh processes
//! (`Laboratory::measure_apart`) let each make some passes.

use std::time::{Duration, Instant};

use crate::engine::calibration::Calibration;
use crate::own::is_own;
use crate::session::laboratory::{Apart, Share};
use crate::session::observer::Observer;
use crate::{Cancel, Case, Check, Engine, Laboratory, Measurement, Observation};

/// A case in the course of a share.
struct Open<'a> {
    case: &'a Case,
    calibration: Calibration,
    found: Option<Measurement>,
    spent: Duration,
    is_over: bool,
}

impl Share {
    /// Whether it measures code that a user wrote.
    pub fn has_own(&self) -> bool {
        self.cases.iter().any(|(case, _)| is_own(&case.primitive))
    }

    /// Measures the share in this process, pass after pass. Cases that cannot be measured here are left out.
    pub fn measure(&self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Vec<Apart> {
        let mut random = fastrand::Rng::with_seed(self.seed ^ u64::from(self.first_pass));
        let cases = self.cases.iter();
        let mut open: Vec<Open<'_>> = cases
            .map(|(case, calibration)| Open {
                case,
                calibration: *calibration,
                found: None,
                spent: Duration::ZERO,
                is_over: false,
            })
            .collect();
        let (started, mut longest) = (Instant::now(), Duration::ZERO);
        for pass in 0..self.most_passes {
            let begun = started.elapsed();
            if pass > 0 && !self.has_time(begun, longest) {
                break;
            }
            random.shuffle(&mut open);
            for case in open.iter_mut().filter(|case| !case.is_over) {
                observer.measuring(case.case);
                self.one_block(laboratory, case, self.first_pass + pass);
            }
            longest = longest.max(started.elapsed().saturating_sub(begun));
        }
        open.into_iter().filter_map(Open::end).collect()
    }

    /// Whether another pass would end in time, if it takes as long as the longest: one over thousands of cases takes a minute, by which a
    /// run would exceed its budget.
    fn has_time(&self, elapsed: Duration, longest: Duration) -> bool {
        elapsed + longest <= self.time
    }

    fn one_block(&self, laboratory: &mut dyn Laboratory, open: &mut Open<'_>, number: u32) {
        let started = Instant::now();
        let settings = self.effort.settings(open.case, self.cases.len(), None);
        let Ok(mut experiment) = laboratory.experiment(open.case) else {
            open.is_over = true;
            return;
        };
        let mut engine = Engine::new(settings.clone(), Cancel::new());
        engine.may_be_precise = false;
        (engine.calibration, engine.block) = (Some(open.calibration), Some(number));
        let seed = self.seed ^ open.case.id().number() ^ u64::from(self.first_pass);
        let found = engine.measure_block(experiment.as_mut(), open.found.clone(), seed);
        open.spent += started.elapsed();
        let is_long = open.spent > settings.rule.max_time * 4 / self.effort.processes();
        open.is_over = is_long || found.as_ref().is_ok_and(|found| found.stop.is_none());
        open.found = found.ok().or(open.found.take());
    }
}

impl Open<'_> {
    fn end(self) -> Option<Apart> {
        let Measurement { check, observations, .. } = self.found?;
        let failure = if let Check::Failed(reason) = check { Some(reason) } else { None };
        let is_number =
            |o: &Observation| [o.ns, o.fastest_ns, o.slowest_ns, o.mean_rate_ns].iter().all(|ns| ns.is_finite());
        let observations = observations.into_iter().filter(is_number).collect();
        Some(Apart { id: self.case.id(), observations, spent: self.spent, failure })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::fake::FakeLaboratory;
    use crate::{Dtype, Preset};

    #[test]
    fn no_pass_begins_that_would_end_after_the_time() {
        // Each of the 12 samples of a block sleeps: a pass takes at least 60 ms.
        let passes = |milliseconds| {
            let mut laboratory = FakeLaboratory::default();
            laboratory.dwell = Duration::from_millis(5);
            let case = Case { threads: Some(1), dtype: Some(Dtype::I32), ..Case::new("cpu.atomic.add") };
            let share = Share {
                effort: Preset::Quick.into(),
                seed: 0,
                first_pass: 2,
                most_passes: 2,
                time: Duration::from_millis(milliseconds),
                cases: vec![(case, Calibration { iterations: 1000, pair_ns: 10_000.0 })],
            };
            let found = share.measure(&mut laboratory, &mut ());
            found[0].observations.iter().map(|one| one.block).collect::<HashSet<_>>().len()
        };
        assert_eq!(passes(90), 1, "a second pass would begin in time, and end too late");
        assert_eq!(passes(60_000), 2);
    }
}
