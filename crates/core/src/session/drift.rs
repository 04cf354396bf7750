//! How the machine changes in the course of a run, family by family.
//!
//! All costs of a family often rise and fall together: with a clock outside the cores, or where the host puts the virtual
//! CPUs. Each case says in each pass how far its block was from its median. The median over the cases of a family is what
//! they have in common. What changes in the course of one run changes from one run to another at least as much.

use std::collections::BTreeMap;

use crate::engine::population::{CommonCourse, Stage};
use crate::model::facts::RunEffect;
use crate::model::observation::Common;
use crate::session::pending_case::PendingCase;
use crate::stats::median;

/// The run is compared with itself in so many parts.
const PARTS: usize = 4;

/// Fewer passes do not show a course.
const FEWEST_PASSES: usize = 8;

/// What the cases of each family had in common, and by how much that changed.
#[derive(Debug, Default)]
pub(super) struct Drift(BTreeMap<String, (CommonCourse, Option<RunEffect>)>);

impl Drift {
    /// From what is known of all cases so far, the finished ones too.
    pub(super) fn of<'a>(cases: impl Iterator<Item = &'a PendingCase>) -> Self {
        let mut courses: BTreeMap<String, Vec<Vec<Stage>>> = BTreeMap::new();
        for pending in cases {
            courses.entry(family_of(pending)).or_default().push(pending.course());
        }
        let families = courses.into_iter().map(|(family, courses)| {
            let course = CommonCourse::of(&courses);
            let drift = drift(&course);
            (family, (course, drift))
        });
        Self(families.collect())
    }

    /// The drift of the family of a case, where it is known.
    pub(super) fn of_case(&self, pending: &PendingCase) -> Option<RunEffect> {
        self.0.get(&family_of(pending)).and_then(|(_, drift)| *drift)
    }

    /// What the cases of the family had in common.
    pub(super) fn course_of(&self, pending: &PendingCase) -> CommonCourse {
        self.0.get(&family_of(pending)).map(|(course, _)| course.clone()).unwrap_or_default()
    }
}

/// Threads that contend and threads that share nothing do not rise and fall together.
fn family_of(pending: &PendingCase) -> String {
    let (domain, family) = pending.case.domain_and_family();
    let actor = pending.facts.map_or("", |facts| facts.actor_of(&pending.case).as_str());
    format!("{domain}.{family}.{actor}")
}

/// The standard deviation of the parts of the run, relative to the cost.
fn drift(course: &CommonCourse) -> Option<RunEffect> {
    if course.blocks().count() < FEWEST_PASSES {
        return None;
    }
    let deviation = |cost: fn(&Common) -> f64| {
        let common: Vec<f64> = course.blocks().map(cost).collect();
        let parts: Vec<f64> = common.chunks(common.len().div_ceil(PARTS)).filter_map(median).collect();
        let mean = parts.iter().sum::<f64>() / parts.len() as f64;
        let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (parts.len() - 1).max(1) as f64;
        variance.sqrt()
    };
    Some(RunEffect { ns: deviation(|common| common.ns), cycles: deviation(|common| common.cycles) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(of_pass: impl Fn(u32) -> f64) -> Vec<Stage> {
        (1..=40).map(|block| Stage { block, ns: of_pass(block), cycles: 1.0 }).collect()
    }

    fn drift_ns(courses: &[Vec<Stage>]) -> f64 {
        drift(&CommonCourse::of(courses)).map_or(0.0, |drift| drift.ns)
    }

    #[test]
    fn what_the_cases_have_in_common_is_drift_and_what_they_do_not_is_none() {
        let alternating = |sign: f64| course(move |pass| 1.0 + if pass % 2 == 0 { 0.05 * sign } else { -0.05 * sign });
        let [one, other] = [alternating(1.0), alternating(-1.0)];
        assert!(drift_ns(&[one.clone(), other.clone(), one, other]) < 1e-12);
        // The second half of the run is 4 % more expensive than the first.
        let steps: Vec<_> = (0..5).map(|_| course(|pass| if pass > 20 { 1.04 } else { 1.0 })).collect();
        let found = drift_ns(&steps);
        assert!((0.02..0.026).contains(&found), "{found}");
        assert!(drift_ns(&steps[..3]).abs() < 1e-12, "three cases are not a family");
        let short: Vec<_> = steps.iter().map(|course| course[17..24].to_vec()).collect();
        assert!(drift_ns(&short).abs() < 1e-12, "too few passes");
    }
}
