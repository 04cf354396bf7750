//! Follows costs over the runs of one machine and finds where the cost of a case changed for good.
//!
//! What all cases of a class share in a run, such as another clock or state of the machine, is found first and taken out, as
//! in `compare`. The chance of finding any step where there is none is 1 % for all cases of the runs together.

use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::sets::sets;
use syncscope_core::stats::{median, steps};
use syncscope_core::{Case, Class, Nanoseconds, Row};

use super::compare::{IN_RUNS, not_comparable};
use crate::RunData;
use crate::reading::has_cost_of_case;

/// The fewest runs that can show a level before and after a step.
pub const FEWEST_RUNS: usize = 2 * steps::SHORTEST;

/// The fewest cases of a class that separate a run's common shift from each case's own.
const FEWEST_CASES: usize = 8;

/// The chance of finding a step where there is none, over all cases together.
const CHANCE: f64 = 0.01;

/// A change of a cost that lasted.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The case, or `None` for what all cases of the class have in common.
    pub case: Option<Case>,
    /// The class of the case.
    pub class: Option<Class>,
    /// The number of the first run with the new cost.
    pub run: usize,
    /// The new cost over the previous one; `low` and `high` are its 95 % interval.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The steps of the costs over the runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// The steps, those of classes first, then the largest first.
    pub steps: Vec<Step>,
    /// The number of cases with enough runs.
    pub cases: usize,
    /// The number of cases with too few runs.
    pub left_out: usize,
}

/// The runs on the machine of the latest run, in the order of their start.
pub fn of_one_machine(mut runs: Vec<RunData>) -> Vec<RunData> {
    runs.sort_by(|one, other| one.run.started.cmp(&other.run.started));
    let Some(machine) = runs.last().map(|last| last.run.machine.clone()) else { return runs };
    runs.retain(|data| data.run.machine.may_be(&machine));
    runs
}

/// The logarithms of a case's costs, with the numbers of their runs.
type Series = Vec<(usize, f64)>;

/// Finds where costs change over these runs, which are in the order of time, for the rows that `selects` names. A change
/// that a class has in common appears in all of its rows.
pub fn course(runs: &[RunData], selects: impl Fn(&Row) -> bool) -> Course {
    let every = costs(runs, |_| true);
    let mut all = costs(runs, selects);
    let known = all.len();
    let is_enough = |series: &Series| series.len() >= FEWEST_RUNS;
    all.retain(|_, series| is_enough(series));
    let catalogue = runs.last().map(|data| &data.catalogue);
    let class_of = |case: &Case| Some(catalogue?.facts(&case.primitive)?.class_of(case));
    let asked: BTreeSet<Class> = all.keys().filter_map(class_of).collect();
    let of_class = every.iter().filter(|(_, series)| is_enough(series));
    let classes = sets(of_class.filter_map(|(case, series)| Some((class_of(case)?, series))));
    let classes = classes.into_iter().filter(|(class, _)| asked.contains(class));
    let common: BTreeMap<Class, Series> =
        classes.filter_map(|(class, series)| Some((class, common(&series)?))).collect();
    let chance = CHANCE / (all.len() + common.len()).max(1) as f64;
    let mut found = Vec::new();
    for (class, series) in &common {
        let of_class = |step| Step { class: Some(*class), ..step };
        found.extend(steps_of(series, chance).into_iter().map(of_class));
    }
    let shared = found.len();
    for (case, series) in &all {
        let class = class_of(case);
        let common = class.and_then(|class| common.get(&class));
        // A run with too few cases of the class may have been in any state of the machine.
        let of_run = |number: usize| match common {
            Some(common) => common.iter().find(|(run, _)| *run == number).map(|(_, log)| *log),
            None => Some(0.0),
        };
        let own: Series = series.iter().filter_map(|(run, log)| Some((*run, log - of_run(*run)?))).collect();
        let of_case = |step| Step { case: Some(case.clone()), class, ..step };
        found.extend(steps_of(&own, chance).into_iter().map(of_case));
    }
    found[shared..].sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    Course { steps: found, cases: all.len(), left_out: known - all.len() }
}

/// The costs of each case that are comparable with its latest one: versions of syncscope differ in whose cost they record.
fn costs(runs: &[RunData], selects: impl Fn(&Row) -> bool) -> BTreeMap<Case, Series> {
    let latest: BTreeMap<&Case, &Row> = rows(runs).map(|(_, row)| (&row.case, row)).collect();
    let mut all: BTreeMap<Case, Series> = BTreeMap::new();
    for (number, row) in rows(runs).filter(|(_, row)| selects(row)) {
        let log = row.ns.map(Nanoseconds::value).filter(|ns| *ns > 0.0).map(f64::ln);
        let is_alike = not_comparable([row, latest[&row.case]], IN_RUNS).is_none();
        all.entry(row.case.clone()).or_default().extend(log.filter(|_| is_alike).map(|log| (number, log)));
    }
    all
}

/// The rows with a cost, with the numbers of their runs.
fn rows(runs: &[RunData]) -> impl Iterator<Item = (usize, &Row)> {
    let all = runs.iter().enumerate().flat_map(|(number, data)| data.rows.iter().map(move |row| (number, row)));
    all.filter(|(_, row)| has_cost_of_case(row))
}

/// The median deviation, in each run, of a class's cases from their medians over all runs.
fn common(cases: &[&Series]) -> Option<Series> {
    let mut by_run: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for series in cases {
        let middle = median(&series.iter().map(|(_, log)| *log).collect::<Vec<_>>())?;
        for (run, log) in *series {
            by_run.entry(*run).or_default().push(log - middle);
        }
    }
    let enough = by_run.into_iter().filter(|(_, logs)| logs.len() >= FEWEST_CASES);
    let found: Series = enough.filter_map(|(run, logs)| Some((run, median(&logs)?))).collect();
    (!found.is_empty()).then_some(found)
}

/// The steps of a series, not yet assigned to a case.
fn steps_of(series: &Series, chance: f64) -> Vec<Step> {
    let values: Vec<f64> = series.iter().map(|(_, log)| *log).collect();
    let at = steps::steps(&values, chance);
    let ends: Vec<usize> = std::iter::once(0).chain(at).chain([values.len()]).collect();
    let step = |three: &[usize]| {
        let (difference, half) = steps::difference(&values[three[0]..three[1]], &values[three[1]..three[2]]);
        let [ratio, low, high] = [difference, difference - half, difference + half].map(f64::exp);
        Step { case: None, class: None, run: series[three[1]].0, ratio, low, high }
    };
    ends.windows(3).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use syncscope_core::{Actor, Verdict};

    fn normal(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    /// Thirty runs of forty cases: each case has its own noise, and each run moves all by a few percent. `planted` lists
    /// cases with the run from which they cost 10 % more.
    fn runs(seed: u64, planted: &[(u32, usize)], shared: f64) -> Vec<RunData> {
        let mut random = fastrand::Rng::with_seed(seed);
        let run = |number: usize| {
            let all = shared * normal(&mut random);
            let mut row = |threads: u32| {
                let steps = planted.iter().filter(|(case, run)| *case == threads && number >= *run).count();
                let own = 0.01 + 0.0005 * f64::from(threads);
                let log = f64::from(threads) / 10.0 + all + own * normal(&mut random) + 1.1_f64.ln() * steps as f64;
                Row {
                    ns: Some(Nanoseconds(log.exp())),
                    ..Row::unmeasured(
                        Case { threads: Some(threads), ..Case::new("cpu.lock.ticket") },
                        Verdict::Resolved,
                    )
                }
            };
            testing::data((2..=41).map(&mut row).collect())
        };
        (0..30).map(run).collect()
    }

    fn course_of_all(runs: &[RunData]) -> Course {
        course(runs, |_| true)
    }

    #[test]
    fn planted_steps_are_found_in_thirty_runs() {
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..20 {
            let [first, second] = [5 + (seed as usize % 8), 16 + (seed as usize % 9)];
            let course = course_of_all(&runs(seed, &[(7, first), (7, second), (30, second)], 0.04));
            for step in &course.steps {
                let threads = step.case.as_ref().and_then(|case| case.threads);
                let is_planted = matches!(threads, Some(7))
                    && [first, second].iter().any(|at| at.abs_diff(step.run) <= 1)
                    || threads == Some(30) && second.abs_diff(step.run) <= 1;
                found += usize::from(is_planted && step.low > 1.03);
                wrong += usize::from(!is_planted);
            }
        }
        assert!(found >= 57 && wrong <= 1, "{found} of 60 found, {wrong} elsewhere");
    }

    #[test]
    fn thirty_runs_without_a_step_have_none() {
        let found: Vec<Step> = (100..150).flat_map(|seed| course_of_all(&runs(seed, &[], 0.04)).steps).collect();
        assert!(found.len() <= 1, "{found:?}");
    }

    #[test]
    fn what_a_whole_class_does_is_said_once() {
        let planted: Vec<(u32, usize)> = (2..=41).map(|case| (case, 15)).collect();
        let course = course_of_all(&runs(3, &planted, 0.005));
        assert_eq!((course.steps.len(), course.cases), (1, 40), "{:?}", course.steps);
        assert!(course.steps[0].case.is_none() && course.steps[0].run == 15 && course.steps[0].low > 1.05);
    }

    #[test]
    fn runs_of_other_machines_and_too_few_runs_say_nothing() {
        let mut few = runs(1, &[], 0.0);
        few.truncate(FEWEST_RUNS - 1);
        assert_eq!(course_of_all(&few), Course { left_out: 40, ..Course::default() });
        let mut other = testing::data(Vec::new());
        other.run.machine.cpu.model = "another".to_owned();
        other.run.started = "2020-01-01T00:00:00Z".to_owned();
        few.push(other);
        assert_eq!(of_one_machine(few).len(), FEWEST_RUNS - 1);
        assert_eq!(course_of_all(&[]), Course::default());
    }

    /// A case that follows its class does not change by itself, whether it is asked for alone or missing from some runs.
    #[test]
    fn what_the_class_does_is_no_change_of_a_case() {
        let planted: Vec<(u32, usize)> = (2..=41).map(|case| (case, 15)).collect();
        let mut runs = runs(3, &planted, 0.005);
        let is_one = |row: &Row| row.case.threads == Some(7);
        let of_one = |runs: &[RunData]| {
            let found = course(runs, is_one);
            (found.cases, found.steps.iter().map(|step| (step.case.is_some(), step.run)).collect::<Vec<_>>())
        };
        assert_eq!(of_one(&runs), (1, vec![(false, 15)]), "as in the course of all");
        for data in &mut runs[20..] {
            data.rows.retain(is_one);
        }
        assert_eq!(of_one(&runs), (1, vec![(false, 15)]), "the last runs measured nothing else");
    }

    /// A change of actor is not a change of the machine.
    #[test]
    fn rows_of_another_actor_are_left_out() {
        let mut runs = runs(3, &[], 0.0);
        for data in &mut runs[..20] {
            for row in &mut data.rows {
                (row.actor, row.ns) = (Some(Actor::Median), row.ns.map(|ns| Nanoseconds(0.7 * ns.value())));
            }
        }
        for data in &mut runs[20..] {
            data.rows.iter_mut().for_each(|row| row.actor = Some(Actor::Slowest));
        }
        assert_eq!(course_of_all(&runs).steps, []);
    }
}
