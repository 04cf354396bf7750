//! Several runs of one plan, joined: each in a process of its own, with other memory and other addresses of its code.
//!
//! A run differs from the next by more than its own intervals say, because what is drawn once for a process (addresses,
//! where the host puts its threads) is the same for all its samples. Runs are random effects (Kalibera and Jones, *Rigorous
//! benchmarking in reasonable time*, ISMM 2013): the cost is the mean over the runs, and the interval for another run follows
//! from how much the runs differ.

use std::collections::{BTreeMap, HashMap};

use crate::model::case::CaseId;
use crate::model::verdict::Verdict;
use crate::run::row::Row;
use crate::stats::{Interval, ModeratedVariance, student};
use crate::units::{Cycles, Nanoseconds};

/// Joins the rows of several runs: one row for each case that any of them has, in the order of the first.
#[must_use]
pub fn join(runs: &[Vec<Row>]) -> Vec<Row> {
    let mut order: Vec<CaseId> = Vec::new();
    let mut cases: HashMap<CaseId, Vec<&Row>> = HashMap::new();
    for row in runs.iter().flatten() {
        let id = row.case.id();
        cases.entry(id.clone()).or_insert_with(|| {
            order.push(id);
            Vec::new()
        });
        cases.entry(row.case.id()).or_default().push(row);
    }
    let of_case = |id: &CaseId| cases.get(id).map_or(&[][..], Vec::as_slice);
    let families = FamilyVariances::of(order.iter().map(of_case));
    order.iter().filter_map(|id| joined(of_case(id), &families)).collect()
}

/// The rows of a case whose figures count: those with the verdict that most of them have.
fn agreeing<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let count = |row: &Row| rows.iter().filter(|other| other.verdict.name() == row.verdict.name()).count();
    // Of two verdicts with as many rows, the one that claims less.
    let rank = |row: &&Row| (count(row), row.verdict != Verdict::Resolved);
    let Some(most) = rows.iter().copied().max_by_key(rank) else { return Vec::new() };
    rows.iter().copied().filter(|row| row.verdict.name() == most.verdict.name()).collect()
}

fn joined(rows: &[&Row], families: &FamilyVariances) -> Option<Row> {
    let agreeing = agreeing(rows);
    let first = *agreeing.first()?;
    let runs = agreeing.len();
    if rows.len() < 2 {
        return Some(first.clone());
    }
    let values = |value: fn(&Row) -> Option<f64>| agreeing.iter().filter_map(|row| value(row)).collect::<Vec<f64>>();
    let mean =
        |value: fn(&Row) -> Option<f64>| Some(values(value)).filter(|all| all.len() == runs).map(|all| mean(&all));
    let family = families.of_row(first);
    let ns = Points::of(&values(|row| Some(row.ns?.value())), runs);
    let cycles = Points::of(&values(|row| Some(row.cycles?.value())), runs);
    let between = |interval: fn(&Row) -> Option<Interval>| {
        let ends: Vec<Interval> = agreeing.iter().filter_map(|row| interval(row)).collect();
        (ends.len() == runs).then(|| Interval {
            low: ends.iter().map(|interval| interval.low).sum::<f64>() / runs as f64,
            high: ends.iter().map(|interval| interval.high).sum::<f64>() / runs as f64,
        })
    };
    let total =
        |count: fn(&Row) -> Option<u64>| rows.iter().filter_map(|row| count(row)).reduce(|one, other| one + other);
    Some(Row {
        ns: ns.as_ref().map(|points| Nanoseconds(points.mean)),
        ns_interval: ns.as_ref().map(|points| points.for_another_run(family)),
        ns_within: between(|row| row.ns_within),
        ns_spread: between(|row| row.ns_spread),
        cycles: cycles.as_ref().map(|points| Cycles(points.mean)),
        cycles_interval: cycles.as_ref().map(|points| points.for_another_run(family)),
        fastest_ns: mean(|row| Some(row.fastest_ns?.value())).map(Nanoseconds),
        median_ns: mean(|row| Some(row.median_ns?.value())).map(Nanoseconds),
        slowest_ns: mean(|row| Some(row.slowest_ns?.value())).map(Nanoseconds),
        ops_per_s_total: mean(|row| row.ops_per_s_total),
        beside_share: mean(|row| row.beside_share),
        noise: mean(|row| row.noise),
        pairs: total(|row| row.pairs),
        excluded: total(|row| row.excluded),
        runs: Some(rows.len() as u64),
        check: rows.iter().filter_map(|row| row.check).reduce(|one, other| one && other),
        remark: remark(first, runs, rows.len()),
        provisional: rows.iter().any(|row| row.provisional),
        ..first.clone()
    })
}

/// Says where not all runs agree on the verdict.
fn remark(first: &Row, agreeing: usize, all: usize) -> Option<String> {
    let disagreement = (agreeing < all).then(|| format!("{} in {agreeing} of {all} runs", first.verdict.name()));
    let remarks: Vec<String> = first.remark.iter().cloned().chain(disagreement).collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

/// The costs of a case in several runs.
struct Points {
    mean: f64,
    /// Relative to the mean.
    variance: Option<f64>,
    runs: usize,
}

impl Points {
    /// `None` unless every run has one.
    fn of(points: &[f64], runs: usize) -> Option<Self> {
        (points.len() == runs && runs > 0).then(|| Self {
            mean: mean(points),
            variance: relative_variance(points),
            runs,
        })
    }

    /// The 95 % interval for the cost in another run (prediction), by Student's t. What runs of the family differ by moderates
    /// what those of the case differ by.
    fn for_another_run(&self, family_variance: f64) -> Interval {
        let own = self.variance.unwrap_or(0.0);
        let moderated = ModeratedVariance::of(family_variance, own, (self.runs - 1) as f64);
        let deviation = (moderated.variance * (1.0 + 1.0 / self.runs as f64)).sqrt() * self.mean.abs();
        let half_width = student::quantile_95(moderated.degrees) * deviation;
        Interval { low: self.mean - half_width, high: self.mean + half_width }
    }
}

/// How much the runs differ, by family: the mean relative variance of its cases.
struct FamilyVariances(BTreeMap<String, f64>);

impl FamilyVariances {
    fn of<'a>(cases: impl Iterator<Item = &'a [&'a Row]>) -> Self {
        let mut families: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for rows in cases {
            let resolved: Vec<&Row> = rows.iter().copied().filter(|row| row.verdict == Verdict::Resolved).collect();
            let points: Vec<f64> = resolved.iter().filter_map(|row| Some(row.ns?.value())).collect();
            if let (Some(row), Some(variance)) = (resolved.first(), relative_variance(&points)) {
                families.entry(family_of(row)).or_default().push(variance);
            }
        }
        Self(families.into_iter().map(|(family, variances)| (family, mean(&variances))).collect())
    }

    fn of_row(&self, row: &Row) -> f64 {
        self.0.get(&family_of(row)).copied().unwrap_or(0.0)
    }
}

fn family_of(row: &Row) -> String {
    let (domain, family) = row.case.domain_and_family();
    format!("{domain}.{family}")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// `None` for fewer than two values, or where their mean is no cost.
fn relative_variance(values: &[f64]) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
    let mean = mean(values);
    let variance = values.iter().map(|value| (value / mean - 1.0).powi(2)).sum::<f64>() / degrees;
    variance.is_finite().then_some(variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::Case;

    fn row(threads: u32, ns: f64, verdict: Verdict) -> Row {
        let case = Case { threads: Some(threads), ..Case::new("cpu.atomic.add") };
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
            ns_within: Some(Interval { low: ns * 0.999, high: ns * 1.001 }),
            pairs: Some(100),
            ..Row::unmeasured(case, verdict)
        }
    }

    fn run(costs: &[f64]) -> Vec<Row> {
        (1..).zip(costs).map(|(threads, ns)| row(threads, *ns, Verdict::Resolved)).collect()
    }

    #[test]
    fn the_interval_holds_what_runs_differ_by() {
        let joined = join(&[run(&[10.0, 20.0]), run(&[10.4, 20.0]), run(&[9.6, 20.0])]);
        assert_eq!(joined.len(), 2);
        assert_eq!((joined[0].runs, joined[0].pairs, joined[0].ns), (Some(3), Some(300), Some(Nanoseconds(10.0))));
        // Relative variances 0.0016 and 0: the family's is 0.0008, the moderated ones (4 f + 2 v) / 6.
        let half = |variance: f64| 2.447 * (variance * 4.0 / 3.0_f64).sqrt();
        for (row, variance) in joined.iter().zip([0.001_066_7, 0.000_533_3]) {
            let relative = row.ns_interval.unwrap().half_width() / row.ns.unwrap().value();
            assert!((relative / half(variance) - 1.0).abs() < 0.01, "{relative}");
        }
        let within = joined[0].ns_within.unwrap();
        assert!((within.half_width() - 0.01).abs() < 1e-3, "rows of a run are as well known as before");
    }

    #[test]
    fn a_verdict_that_most_runs_share_is_the_rows() {
        let noisy = || row(1, 30.0, Verdict::Noisy("wide".into()));
        let joined = |rows: Vec<Row>| join(&rows.into_iter().map(|row| vec![row]).collect::<Vec<_>>()).remove(0);
        let most = joined(vec![run(&[10.0]).remove(0), noisy(), run(&[10.2]).remove(0)]);
        assert_eq!((&most.verdict, most.ns), (&Verdict::Resolved, Some(Nanoseconds(10.1))));
        assert_eq!(most.remark.as_deref(), Some("Resolved in 2 of 3 runs"));
        assert_eq!(
            joined(vec![run(&[10.0]).remove(0), noisy()]).verdict.name(),
            "Noisy",
            "of two, the one that claims less"
        );
    }

    #[test]
    fn a_case_of_one_run_stays_as_it_is() {
        let joined = join(&[run(&[10.0]), Vec::new()]);
        assert_eq!(joined, run(&[10.0]));
        assert!(join(&[]).is_empty());
    }
}
