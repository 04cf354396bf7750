//! The course of costs over the runs of one machine: where the cost of a case became another one and stayed so.
//!
//! What all cases of a class have in common in a run, such as another clock or state of the machine, is found first and taken out, as
//! `compare` does. The chance that any step is found where there is none is 1 % for all cases of the runs together.

use std::collections::BTreeMap;

use syncscope_core::stats::{median, steps};
use syncscope_core::{Case, Class, Nanoseconds};

use super::compare::same_machine;
use crate::RunData;
use crate::reading::has_cost_of_case;

/// Fewer runs show no level before and after a step.
pub const FEWEST_RUNS: usize = 2 * steps::SHORTEST;

/// Of fewer cases, what a run has in common with others is not told from what each case has of its own.
const FEWEST_CASES: usize = 8;

/// The chance of a step where there is none, in all cases together.
const CHANCE: f64 = 0.01;

/// A cost that became another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Of which case; `None`: of what all cases of the class have in common.
    pub case: Option<Case>,
    /// The class of the case.
    pub class: Option<Class>,
    /// The number of the first run with the new cost.
    pub run: usize,
    /// The new cost over the one before, and its 95 % interval.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What became of the costs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// The steps, those of classes first, then the largest first.
    pub steps: Vec<Step>,
    /// The cases with enough runs.
    pub cases: usize,
    /// The cases that too few runs have.
    pub left_out: usize,
}

/// The runs of the machine of the latest one, in the order of their beginning.
pub fn of_one_machine(mut runs: Vec<RunData>) -> Vec<RunData> {
    runs.sort_by(|one, other| one.run.started.cmp(&other.run.started));
    let Some(machine) = runs.last().map(|last| last.run.machine.clone()) else { return runs };
    runs.retain(|data| same_machine(&data.run.machine, &machine));
    runs
}

/// The logarithms of a case's costs, with the numbers of their runs.
type Series = Vec<(usize, f64)>;

/// Where the costs of these runs, which are in the order of time, change.
pub fn course(runs: &[RunData]) -> Course {
    let mut all: BTreeMap<Case, Series> = BTreeMap::new();
    for (number, data) in runs.iter().enumerate() {
        for row in data.rows.iter().filter(|row| has_cost_of_case(row)) {
            let log = row.ns.map(Nanoseconds::value).filter(|ns| *ns > 0.0).map(f64::ln);
            all.entry(row.case.clone()).or_default().extend(log.map(|log| (number, log)));
        }
    }
    let known = all.len();
    all.retain(|_, series| series.len() >= FEWEST_RUNS);
    let catalogue = runs.last().map(|data| &data.catalogue);
    let class_of = |case: &Case| Some(catalogue?.facts(&case.primitive)?.class_of(case));
    let mut classes: BTreeMap<Class, Vec<&Series>> = BTreeMap::new();
    for (case, series) in &all {
        if let Some(class) = class_of(case) {
            classes.entry(class).or_default().push(series);
        }
    }
    let common: BTreeMap<Class, Series> =
        classes.into_iter().filter_map(|(class, series)| Some((class, common(&series)?))).collect();
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
        let of_run = |number: usize| common?.iter().find(|(run, _)| *run == number).map(|(_, log)| *log);
        let own: Series = series.iter().map(|(run, log)| (*run, log - of_run(*run).unwrap_or(0.0))).collect();
        let of_case = |step| Step { case: Some(case.clone()), class, ..step };
        found.extend(steps_of(&own, chance).into_iter().map(of_case));
    }
    found[shared..].sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    Course { steps: found, cases: all.len(), left_out: known - all.len() }
}

/// In each run, how far the cases of a class are from their medians over all runs: the median case.
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

/// The steps of a series, of no case.
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
    use syncscope_core::{Row, Verdict};

    fn normal(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    /// Thirty runs of forty cases: each case has noise of its own, and a run moves all by some percent. `planted` are cases with the run in
    /// which they begin to cost ten percent more.
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

    #[test]
    fn planted_steps_are_found_in_thirty_runs() {
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..20 {
            let [first, second] = [5 + (seed as usize % 8), 16 + (seed as usize % 9)];
            let course = course(&runs(seed, &[(7, first), (7, second), (30, second)], 0.04));
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
        let found: Vec<Step> = (100..150).flat_map(|seed| course(&runs(seed, &[], 0.04)).steps).collect();
        assert!(found.len() <= 1, "{found:?}");
    }

    #[test]
    fn what_a_whole_class_does_is_said_once() {
        let planted: Vec<(u32, usize)> = (2..=41).map(|case| (case, 15)).collect();
        let course = course(&runs(3, &planted, 0.005));
        assert_eq!((course.steps.len(), course.cases), (1, 40), "{:?}", course.steps);
        assert!(course.steps[0].case.is_none() && course.steps[0].run == 15 && course.steps[0].low > 1.05);
    }

    #[test]
    fn runs_of_other_machines_and_too_few_runs_say_nothing() {
        let mut few = runs(1, &[], 0.0);
        few.truncate(FEWEST_RUNS - 1);
        assert_eq!(course(&few), Course { left_out: 40, ..Course::default() });
        let mut other = testing::data(Vec::new());
        other.run.machine.cpu.model = "another".to_owned();
        other.run.started = "2020-01-01T00:00:00Z".to_owned();
        few.push(other);
        assert_eq!(of_one_machine(few).len(), FEWEST_RUNS - 1);
        assert_eq!(course(&[]), Course::default());
    }
}
