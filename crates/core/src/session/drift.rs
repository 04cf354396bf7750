//! How the machine changes in the course of a run, family by family.
//!
//! All costs of a family often rise and fall together: with a clock outside the cores, or where the host puts the virtual
//! CPUs. Each case says in each pass how far its block was from its median. The median over the cases of a family is what
//! they have in common. What changes in the course of one run changes from one run to another at least as much.

use std::collections::BTreeMap;

use crate::engine::experiment::RunEffect;
use crate::engine::population::Stage;
use crate::model::case::Case;
use crate::session::pending_case::PendingCase;
use crate::stats::median;

/// The run is compared with itself in so many parts.
const PARTS: usize = 4;

/// Fewer passes do not show a course.
const FEWEST_PASSES: usize = 8;

/// The drift of each family: standard deviation of the parts of the run, relative to the cost.
#[derive(Debug, Default)]
pub(super) struct Drift(BTreeMap<String, RunEffect>);

impl Drift {
    /// From what is known of all cases so far, the finished ones too.
    pub(super) fn of<'a>(cases: impl Iterator<Item = &'a PendingCase>) -> Self {
        let mut courses: BTreeMap<String, Vec<Vec<Stage>>> = BTreeMap::new();
        for pending in cases {
            courses.entry(family_of(&pending.case)).or_default().push(pending.course());
        }
        let drifts = courses.into_iter().filter_map(|(family, courses)| {
            let (ns, cycles) = (drift(&courses, |stage| stage.ns)?, drift(&courses, |stage| stage.cycles)?);
            Some((family, RunEffect { ns, cycles }))
        });
        Self(drifts.collect())
    }

    /// The drift of the family of a case; none where nothing is known of it.
    pub(super) fn of_case(&self, case: &Case) -> RunEffect {
        self.0.get(&family_of(case)).copied().unwrap_or(RunEffect::NONE)
    }
}

fn family_of(case: &Case) -> String {
    let (domain, family) = case.domain_and_family();
    format!("{domain}.{family}")
}

fn drift(courses: &[Vec<Stage>], cost: fn(&Stage) -> f64) -> Option<f64> {
    let mut passes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for stage in courses.iter().flatten() {
        passes.entry(stage.block).or_default().push(cost(stage));
    }
    let common: Vec<f64> = passes.values().filter_map(|of_pass| median(of_pass)).collect();
    if common.len() < FEWEST_PASSES {
        return None;
    }
    let parts: Vec<f64> = common.chunks(common.len().div_ceil(PARTS)).filter_map(median).collect();
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (parts.len() - 1).max(1) as f64;
    Some(variance.sqrt()).filter(|drift| drift.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(of_pass: impl Fn(u32) -> f64) -> Vec<Stage> {
        (1..=40).map(|block| Stage { block, ns: of_pass(block), cycles: 1.0 }).collect()
    }

    fn drift_ns(courses: &[Vec<Stage>]) -> Option<f64> {
        drift(courses, |stage| stage.ns)
    }

    #[test]
    fn what_the_cases_have_in_common_is_drift_and_what_they_do_not_is_none() {
        let alternating = |sign: f64| course(move |pass| 1.0 + if pass % 2 == 0 { 0.05 * sign } else { -0.05 * sign });
        let (one, other) = (alternating(1.0), alternating(-1.0));
        assert!(drift_ns(&[one, other]).unwrap() < 1e-12);
        // The second half of the run is 4 % dearer than the first.
        let steps: Vec<_> = (0..5).map(|_| course(|pass| if pass > 20 { 1.04 } else { 1.0 })).collect();
        let found = drift_ns(&steps).unwrap();
        assert!((0.02..0.026).contains(&found), "{found}");
        assert_eq!(drift_ns(&[course(|_| 1.0)[..7].to_vec()]), None, "too few passes");
    }
}
