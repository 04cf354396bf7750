//! Several runs of one plan, joined: each in a process of its own, with other memory and other addresses of its code.
//!
//! A run differs from the next by more than its own intervals say, because what is drawn once for a process (addresses,
//! where the host puts its threads) is the same for all its samples. Runs are random effects (Kalibera and Jones, *Rigorous
//! benchmarking in reasonable time*, ISMM 2013): the cost is the mean over the runs, and the interval for another run
//! follows from how much the runs differ. The interval contains every run that was made, also those with another verdict
//! than the row, and the interval within a run: another run may be like any of them. Two joins of three or more runs are
//! compared as two runs of that many processes are: less what a class has in common ([`details`]).

use std::collections::{BTreeMap, HashMap};

use crate::model::detail::Details;
use crate::run::another_run;
use crate::run::columns::COLUMNS;
use crate::run::guests::Usual;
use crate::stats::{Variance, mean, student};
use crate::{CaseId, Catalogue, Cycles, Detail, Interval, Nanoseconds, Row, Verdict};

/// Joins the rows of several runs: one row for each case that any of them has, in the order of the first. The catalogue says
/// what one run alone says of another, `usual` how runs of other machines differ: runs that follow each other meet the
/// machine in one state, and agree more with each other than with the next one.
pub fn join(runs: &[Vec<Row>], catalogue: &Catalogue, usual: &[Usual]) -> Vec<Row> {
    let derived = |rows: &Vec<Row>| rows.iter().map(|row| row.clone().with_facts_of(catalogue)).collect();
    let runs: Vec<Vec<Row>> = runs.iter().map(derived).collect();
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    let mut cases: Vec<Vec<&Row>> = Vec::new();
    for row in runs.iter().flatten() {
        let place = *places.entry(row.case.id()).or_insert(cases.len());
        if place == cases.len() {
            cases.push(Vec::new());
        }
        cases[place].push(row);
    }
    let families = family_variances(&cases);
    let joined = cases.iter().filter_map(|rows| Some(joined(rows, &families)?.with_facts_of(catalogue)));
    let mut joined: Vec<Row> = joined.collect();
    another_run::derive(&mut joined, &details(&runs), catalogue, &[], usual);
    joined.into_iter().map(Row::judged).collect()
}

/// The costs of each case in the runs, in place of those in the processes of one run. What the cases of a class share in a
/// run is then separated from what each has of its own as it is for a process ([`another_run`]).
pub fn details(runs: &[Vec<Row>]) -> Details {
    let mut details = Details::new();
    for (number, row) in (0..).zip(runs).flat_map(|(number, rows)| rows.iter().map(move |row| (number, row))) {
        let has_cost = matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_));
        let costs = [
            (Detail::PROCESS_NS, row.ns.map(Nanoseconds::value)),
            (Detail::PROCESS_CYCLES, row.cycles.map(Cycles::value)),
        ];
        let known = costs.into_iter().filter_map(|(name, cost)| Some(Detail::of_actor(name, number, cost?)));
        details.entry(row.case.id()).or_default().extend(known.filter(|_| has_cost && row.case.is_on_cpus()));
    }
    details
}

/// The rows with the verdict that most rows of a case have.
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
    if rows.len() < 2 {
        return Some(first.clone());
    }
    let mut row = first.clone();
    for column in COLUMNS {
        column.join(&mut row, &agreeing);
    }
    let sum = |count: fn(&Row) -> Option<u64>| rows.iter().filter_map(|row| count(row)).reduce(u64::saturating_add);
    let measured: Vec<&Row> = rows.iter().copied().filter(|row| is_measured(row, first)).collect();
    let prior = of_others(families, rows);
    let for_another_run = |point: Option<f64>, value: fn(&Row) -> Option<f64>, own: fn(&Row) -> Option<Interval>| {
        let costs: Vec<f64> = measured.iter().filter_map(|row| value(row)).collect();
        let predicted = if costs.len() < 2 { None } else { prediction(point?, &costs, prior) };
        // What one run says of another one, where the runs do not show it.
        predicted.or_else(|| measured.iter().filter_map(|row| own(row)).reduce(Interval::union))
    };
    let (ns, cycles) = (row.ns.map(Nanoseconds::value), row.cycles.map(Cycles::value));
    let at_least = |interval: Option<Interval>, within: Option<Interval>| {
        let within = within.filter(|within| within.low.is_finite() && within.high.is_finite());
        interval.map(|interval| within.map_or(interval, |within| interval.union(within)))
    };
    let ns_interval = for_another_run(ns, |row| Some(row.ns?.value()), |row| row.ns_interval);
    let cycles_interval = for_another_run(cycles, |row| Some(row.cycles?.value()), |row| row.cycles_interval);
    Some(Row {
        ns_interval: at_least(ns_interval, row.ns_within).filter(|_| ns.is_some()),
        cycles_interval: at_least(cycles_interval, row.cycles_within).filter(|_| cycles.is_some()),
        runs: Some(rows.len() as u64),
        pairs: sum(|row| row.pairs),
        excluded: sum(|row| row.excluded),
        check: rows.iter().filter_map(|row| row.check).reduce(|one, other| one && other),
        remark: remark(first, agreeing.len(), rows.len()),
        provisional: rows.iter().any(|row| row.provisional),
        ..row
    })
}

/// Says where not all runs agree on the verdict.
fn remark(first: &Row, agreeing: usize, all: usize) -> Option<String> {
    let disagreement = (agreeing < all).then(|| format!("{} in {agreeing} of {all} runs", first.verdict.name()));
    let remarks: Vec<String> = first.remark.iter().cloned().chain(disagreement).collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

/// Whether the figure of a row is a cost of its case, which another run may have as well. It is not where the primitive did
/// not do its work, unless the joined row has that verdict, too.
fn is_measured(row: &Row, first: &Row) -> bool {
    let is_cost = !row.verdict.is_failure() && !matches!(row.verdict, Verdict::Elided(_) | Verdict::Skipped(_));
    is_cost || row.verdict.name() == first.verdict.name()
}

/// The variance of costs around `point`, relative to it. `None` for fewer than two, or where the point is no cost.
fn relative_variance(point: f64, costs: &[f64]) -> Option<Variance> {
    let degrees = costs.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
    let value = costs.iter().map(|cost| (cost / point - 1.0).powi(2)).sum::<f64>() / degrees;
    value.is_finite().then_some(Variance { value, degrees })
}

/// The 95 % interval for the cost in another run (prediction), by Student's t. It contains the costs of the runs that were
/// made.
fn prediction(point: f64, costs: &[f64], prior: Option<Variance>) -> Option<Interval> {
    let own = relative_variance(point, costs)?;
    let Variance { value, degrees } = prior.map_or(own, |prior| own.moderated(prior));
    let deviation = (value * (1.0 + 1.0 / costs.len() as f64)).sqrt() * point.abs();
    let half_width = student::quantile_95(degrees) * deviation;
    let predicted = Interval { low: point - half_width, high: point + half_width };
    Some(costs.iter().fold(predicted, |interval, cost| interval.union(Interval { low: *cost, high: *cost })))
}

/// The variance between the runs in the resolved rows of a case.
fn resolved_variance(rows: &[&Row]) -> Option<Variance> {
    let resolved = rows.iter().filter(|row| row.verdict == Verdict::Resolved);
    let costs: Vec<f64> = resolved.filter_map(|row| Some(row.ns?.value())).collect();
    relative_variance(mean(&costs), &costs)
}

/// For each family, the number of its cases that have a variance, and the sum of these variances.
type FamilyVariances = BTreeMap<String, (u32, Variance)>;

fn family_variances(cases: &[Vec<&Row>]) -> FamilyVariances {
    let mut families = FamilyVariances::new();
    for rows in cases {
        if let (Some(row), Some(Variance { value, degrees })) = (rows.first(), resolved_variance(rows)) {
            let (cases, sum) = families.entry(family_of(row)).or_insert((0, Variance { value: 0.0, degrees: 0.0 }));
            (*cases, sum.value, sum.degrees) = (*cases + 1, sum.value + value, sum.degrees + degrees);
        }
    }
    families
}

/// The prior that the other cases of its family give a case: the mean of their variances. `None` where none of them has one.
fn of_others(families: &FamilyVariances, rows: &[&Row]) -> Option<Variance> {
    let (cases, sum) = families.get(&family_of(rows.first()?))?;
    let own = resolved_variance(rows);
    let cases = cases - u32::from(own.is_some());
    let Variance { value, degrees } = own.unwrap_or(Variance { value: 0.0, degrees: 0.0 });
    let value = (sum.value - value).max(0.0) / f64::from(cases);
    // The prior counts for at most four degrees of freedom.
    (cases > 0).then_some(Variance { value, degrees: (sum.degrees - degrees).min(4.0) })
}

fn family_of(row: &Row) -> String {
    let (domain, family) = row.case.domain_and_family();
    format!("{domain}.{family}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::Case;

    fn joined_rows(runs: &[Vec<Row>]) -> Vec<Row> {
        join(runs, &Catalogue::default(), &[])
    }

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
        let joined = joined_rows(&[run(&[10.0, 20.0]), run(&[10.4, 20.0]), run(&[9.6, 20.0])]);
        assert_eq!(joined.len(), 2);
        assert_eq!((joined[0].runs, joined[0].pairs, joined[0].ns), (Some(3), Some(300), Some(Nanoseconds(10.0))));
        // Relative variances 0.0016 and 0 with two degrees of freedom each: together 0.0008 with four.
        let half = 2.776 * (0.0008 * 4.0 / 3.0_f64).sqrt();
        for row in &joined {
            let relative = row.ns_interval.unwrap().half_width() / row.ns.unwrap().value();
            assert!((relative / half - 1.0).abs() < 0.01, "{relative}");
        }
        let within = joined[0].ns_within.unwrap();
        assert!((within.half_width() - 0.01).abs() < 1e-3, "rows of a run are as well known as before");
    }

    #[test]
    fn few_runs_of_one_case_say_little() {
        let joined = joined_rows(&[run(&[10.0]), run(&[10.2])]).remove(0);
        // Student's t with one degree of freedom: 12.706.
        let half = 12.706 * (0.02 * 1.5_f64).sqrt();
        assert!((joined.ns_interval.unwrap().half_width() / half - 1.0).abs() < 0.01, "{joined:?}");
        // One other case gives one degree more, five give four more.
        let many = |cost: f64| run(&[10.0 + cost, 10.0, 10.0, 10.0, 10.0, 10.0]);
        let degrees = |cases: usize| {
            let rows = joined_rows(&[&many(0.0)[..cases], &many(0.2)[..cases]].map(<[Row]>::to_vec));
            let moderated = 0.02 / 10.1_f64.powi(2) / (cases as f64).min(5.0);
            rows[0].ns_interval.unwrap().half_width() / (10.1 * (moderated * 1.5).sqrt())
        };
        assert!((degrees(2) - 4.303).abs() < 0.01 && (degrees(6) - 2.571).abs() < 0.01);
    }

    #[test]
    fn the_interval_holds_the_runs_that_were_made_and_the_interval_within_a_run() {
        // As measured on a busy machine: of two runs one is noisy, and no other case of the family is resolved twice.
        let within = Interval { low: 1.704, high: 2.471 };
        let noisy = Row { ns_within: Some(within), ..row(1, 2.209, Verdict::Noisy("wide".into())) };
        let joined = |first: Row, second: Row| joined_rows(&[vec![first], vec![second]]).remove(0);
        let one = joined(row(1, 1.996, Verdict::Resolved), noisy.clone());
        let interval = one.ns_interval.unwrap();
        assert!(interval.contains(1.996) && interval.contains(2.209), "{interval:?}");
        assert!(interval.low <= within.low && interval.high >= within.high, "{interval:?}");
        // Two runs that happen to agree are no more certain than each of them.
        let alike = joined(noisy.clone(), noisy.clone()).ns_interval.unwrap();
        assert!(alike.low <= within.low && alike.high >= within.high, "{alike:?}");
        // A run far off is held however many agree.
        let far = joined_rows(
            &[&[10.0; 4][..], &[10.0; 4], &[10.0; 4], &[10.0; 4]]
                .map(run)
                .into_iter()
                .chain([vec![row(1, 40.0, Verdict::Interfered("x".into()))]])
                .collect::<Vec<_>>(),
        )
        .remove(0);
        assert_eq!(far.ns, Some(Nanoseconds(10.0)));
        assert!(far.ns_interval.unwrap().contains(40.0), "{far:?}");
        // The other run has no figure, so what the one says of another run holds.
        let failed = Row::unmeasured(row(1, 0.0, Verdict::Resolved).case, Verdict::Failed("lost".into()));
        let own = Row { ns_interval: Some(Interval { low: 1.0, high: 3.0 }), ..noisy };
        assert_eq!(joined(failed, own).ns_interval, Some(Interval { low: 1.0, high: 3.0 }));
        let failed = Row { ns: Some(Nanoseconds(500.0)), ..row(1, 500.0, Verdict::Failed("lost".into())) };
        let costs = joined_rows(&[run(&[10.0]), run(&[10.0]), vec![failed]]).remove(0).ns_interval.unwrap();
        assert!(costs.high < 100.0, "the figure of a failed case is no cost: {costs:?}");
    }

    #[test]
    fn an_interval_in_cycles_holds_the_one_within_a_run() {
        let with = |ns: f64| Row {
            cycles: Some(Cycles(3.0 * ns)),
            cycles_interval: Some(Interval { low: 0.0, high: 0.0 }),
            cycles_within: Some(Interval { low: 24.0, high: 36.0 }),
            ..row(1, ns, Verdict::Resolved)
        };
        let joined = joined_rows(&[vec![with(10.0)], vec![with(10.0)]]).remove(0);
        assert_eq!(
            (joined.cycles, joined.cycles_interval),
            (Some(Cycles(30.0)), Some(Interval { low: 24.0, high: 36.0 }))
        );
    }

    #[test]
    fn a_verdict_that_most_runs_share_is_the_rows() {
        let noisy = || row(1, 30.0, Verdict::Noisy("wide".into()));
        let joined = |rows: Vec<Row>| joined_rows(&rows.into_iter().map(|row| vec![row]).collect::<Vec<_>>()).remove(0);
        let most = joined(vec![run(&[10.0]).remove(0), noisy(), run(&[10.2]).remove(0)]);
        assert_eq!((most.verdict.name(), most.ns), ("Noisy", Some(Nanoseconds(10.1))), "the interval holds all three");
        assert_eq!(most.remark.as_deref(), Some("Resolved in 2 of 3 runs"));
        assert_eq!(
            joined(vec![run(&[10.0]).remove(0), noisy()]).verdict.name(),
            "Noisy",
            "of two, the one that claims less"
        );
    }

    #[test]
    fn a_case_of_one_run_stays_as_it_is() {
        let joined = joined_rows(&[run(&[10.0]), Vec::new()]);
        assert_eq!(joined, run(&[10.0]));
        assert!(joined_rows(&[]).is_empty());
    }
}
