//! The interval to quote: where the cost of a case will be in another run on the same machine in the same state.
//!
//! A run measures the cases of its CPUs in several processes, each with memory, threads and an order of its own, so a process is
//! to a run what a run is to the machine. With `y` the cost of a case in a process,
//!
//! ```text
//! log y  =  case  +  class x process  +  case x process
//! ```
//!
//! What all cases of a [`Class`] share in a process (the clock of the cores, the speed of what connects them) is estimated
//! by the median over its cases, removed from their costs, and quoted once for the run ([`Shared`]). The variance of the
//! rest has few degrees of freedom for each case (fewer where threads share nothing and the extremes do not count:
//! `stats/variance.rs`); it is moderated by the variance of the class (Smyth 2004, [`Variance::prior_of`]). The interval
//! predicts the figure of another run of as many processes: Student's t with the moderated degrees, times the deviation of
//! the difference of two means. Cases whose threads share nothing follow the clock exactly: their own part is that of their
//! cycles. Both intervals contain the one within the run; the one in nanoseconds contains the shared part, too. Where
//! earlier runs of this machine are known, they say how much more runs differ than processes ([`BetweenRuns`]); until then,
//! other guests do ([`Usual`]).
//!
//! Rows without processes (GPUs, machines that are no guests) keep the interval within the run, and their allowance says
//! what is assumed beyond it. On a guest that interval would be too narrow where the run ended before other processes had
//! measured, the pairs of all but one or two processes are excluded, no other process can be started, or the processes
//! measure together (MPI). These CPU rows get what is assumed and what is usual.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

pub use crate::engine::population::FEWEST_PROCESSES;
use crate::model::detail::Details;
use crate::run::guests::{self, Apart, Usual};
use crate::run::history::{BetweenRuns, Ratio};
use crate::run::machine::Machine;
use crate::run::row::{Parts, RunToRun};
use crate::stats::{Variance, mean, median, student, trimmed_mean, variance};
use crate::units::rounded;
use crate::{Case, Catalogue, Class, Detail, Hertz, Interval, Nanoseconds, Row, Settings};

/// The fewest cases that tell what they share from what each has of its own.
const FEWEST_CASES: usize = 4;

/// Degrees of freedom of the assumed variance, where a class has too few cases for a prior of its own.
const DEGREES_OF_ASSUMED: f64 = 2.0;

/// What the cases of a class share, and by how much another run may shift it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// The class.
    pub class: Class,
    /// The number of its cases that were measured in several processes.
    pub cases: usize,
    /// The number of processes.
    pub processes: usize,
    /// Half the width of the 95 % interval for another run in the same state, of all costs in nanoseconds together, relative
    /// to them.
    pub another_run: f64,
    /// The clock of the cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_hz: Option<f64>,
}

/// A case of a class in one unit: the logarithms of its costs, by process.
struct Logs {
    row: usize,
    of_process: BTreeMap<u32, f64>,
    /// The assumed variance of the logarithm.
    assumed: f64,
}

impl Logs {
    /// The logarithms of a case's costs; `None` unless several processes measured it.
    fn of(index: usize, row: &Row, details: &Details, catalogue: &Catalogue, of_cycles: bool) -> Option<Self> {
        let effect = (catalogue.facts(&row.case.primitive)?.run_effect)(&row.case);
        let (name, assumed) =
            if of_cycles { (Detail::PROCESS_CYCLES, effect.cycles) } else { (Detail::PROCESS_NS, effect.ns) };
        let found = details.get(&row.case.id())?.iter().filter(|detail| detail.name == name && detail.value > 0.0);
        let of_process: BTreeMap<u32, f64> = found.filter_map(|one| Some((one.actor?, one.value.ln()))).collect();
        (of_process.len() >= FEWEST_PROCESSES).then_some(Self { row: index, of_process, assumed: assumed * assumed })
    }

    /// The interval that contains the costs of the runs that a row joins. It also contains the row's own interval where some
    /// of these runs have no cost here, and where threads meet, because families of cases then change each in their own way.
    fn hull(&self, row: &Row, shares_nothing: bool) -> Option<Interval> {
        let costs = self.of_process.values().map(|log| Interval { low: log.exp(), high: log.exp() });
        let has_all = row.runs == Some(self.of_process.len() as u64);
        let others = row.ns_interval.filter(|_| !(shares_nothing && has_all));
        costs.chain(others).reduce(Interval::union)
    }
}

/// Gives the rows that were measured in several processes their intervals for another run, and says what the rows of each
/// class share. `rows` are the rows of a whole run, each as [`Row::with_facts`] leaves it; `between_runs` is what earlier
/// runs say, `usual` what is known before any.
pub fn derive(
    rows: &mut [Row],
    details: &Details,
    catalogue: &Catalogue,
    between_runs: &[BetweenRuns],
    usual: &[Usual],
) -> Vec<Shared> {
    let mut classes: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let facts = catalogue.facts(&row.case.primitive).filter(|_| row.ns_within.is_some());
        if let Some(facts) = facts {
            classes.entry(facts.class_of(&row.case)).or_default().push(index);
        }
    }
    let known = |class| Known {
        between: between_runs.iter().find(|between| between.class == class),
        usual: usual.iter().find(|usual| usual.class == class),
    };
    let shared = |(class, members): (Class, Vec<usize>)| {
        // Joined runs show by themselves how runs differ, but are too few, and too near in time, to show all of it.
        let is_joined = members.iter().any(|row| joins_runs(&rows[*row]));
        let known = if is_joined { Known { between: None, ..known(class) } } else { known(class) };
        of_class(class, &members, rows, details, catalogue, known)
    };
    classes.into_iter().filter_map(shared).collect()
}

/// Whether a row joins several runs. Its interval for another run follows from them (`run/repeats.rs`), and from other
/// guests.
fn joins_runs(row: &Row) -> bool {
    row.runs.is_some_and(|runs| runs > 1)
}

/// Earlier runs and other guests, as far as they are known for a class.
#[derive(Clone, Copy)]
struct Known<'a> {
    between: Option<&'a BetweenRuns>,
    usual: Option<&'a Usual>,
}

/// [`Known`] in one unit: the ratio of earlier runs with their number, and other guests.
type InUnit<'a> = (Option<(&'a Ratio, usize)>, Option<&'a Apart>);

impl<'a> Known<'a> {
    fn in_ns(self) -> InUnit<'a> {
        (self.between.map(|between| (&between.ns, between.runs)), self.usual.map(|usual| &usual.ns))
    }

    fn in_cycles(self) -> InUnit<'a> {
        let between = self.between.and_then(|between| Some((between.cycles.as_ref()?, between.runs)));
        (between, self.usual.map(|usual| &usual.cycles))
    }
}

fn of_class(
    class: Class,
    members: &[usize],
    rows: &mut [Row],
    details: &Details,
    catalogue: &Catalogue,
    known: Known<'_>,
) -> Option<Shared> {
    let logs = |of_cycles: bool| -> Vec<Logs> {
        members.iter().filter_map(|row| Logs::of(*row, &rows[*row], details, catalogue, of_cycles)).collect()
    };
    let (of_ns, of_cycles) = (logs(false), logs(true));
    let shares_nothing = class == Class::NothingShared;
    let over_runs = |found: BTreeMap<usize, Variance>, (seen, _): InUnit<'_>| -> BTreeMap<usize, Variance> {
        let of = |row: usize, own: Variance| seen.map_or(own, |(ratio, _)| ratio.of(&rows[row].case.id(), own.value));
        found.into_iter().map(|(row, own)| (row, of(row, own))).collect()
    };
    let (ns, common) = variances(&of_ns, shares_nothing);
    let (cycles, common_cycles) = variances(&of_cycles, shares_nothing);
    let [ns, cycles] = [over_runs(ns, known.in_ns()), over_runs(cycles, known.in_cycles())];
    let joined = of_ns.iter().filter(|logs| joins_runs(&rows[logs.row])).map(|logs| logs.of_process.len()).max();
    let shared = shared_with_another(&common, joined, known);
    // Comparisons take out what both runs say they share, and do without what is usual.
    let [of_run, of_run_in_cycles] = [(&common, known.in_ns()), (&common_cycles, known.in_cycles())]
        .map(|(common, (seen, _))| of_runs(common, (seen, None)));
    for (row, own) in &cycles {
        let row = &mut rows[*row];
        if joins_runs(row) {
            continue;
        }
        let predicted = |at: f64| around(at, half_width(as_usual(*own, known.in_cycles())));
        row.cycles_interval = row.cycles.map(|at| holding(predicted(at.value()), row.cycles_within));
    }
    let logs_of: BTreeMap<usize, &Logs> = of_ns.iter().map(|logs| (logs.row, logs)).collect();
    for (index, own) in &ns {
        let row = &mut rows[*index];
        let in_cycles = cycles.get(index).filter(|_| row.cycles.is_some());
        row.run_to_run = Some(RunToRun {
            class,
            ns: Parts { own: *own, shared: of_run },
            cycles: in_cycles.map(|own| Parts { own: *own, shared: of_run_in_cycles }),
        });
        let Some(at) = row.ns.map(Nanoseconds::value) else { continue };
        let of_runs = logs_of.get(index).filter(|_| joins_runs(row));
        // Threads that share nothing follow the clock, which all rows share: the rest is the variance of their cycles.
        let own = match (of_runs, in_cycles.filter(|_| shares_nothing)) {
            (Some(_), _) if known.usual.is_none() => continue,
            (Some(logs), _) => of_joined(*own, logs.of_process.len(), known.in_ns()),
            (None, Some(own)) => as_usual(*own, known.in_cycles()),
            (None, None) => as_usual(*own, known.in_ns()),
        };
        let predicted = around(at, half_width(own.plus(shared)));
        let hull = of_runs.and_then(|logs| logs.hull(row, shares_nothing));
        let shown = hull.into_iter().fold(holding(predicted, row.ns_within), Interval::union);
        (row.ns_interval, row.allowance) = (Some(shown), None);
    }
    for index in members.iter().filter(|index| !ns.contains_key(index)) {
        let row = &mut rows[*index];
        known.usual.filter(|_| !joins_runs(row)).inspect(|usual| as_assumed(row, catalogue, usual));
    }
    let clocks: Vec<f64> = of_ns.iter().filter_map(|logs| rows[logs.row].clock).map(Hertz::value).collect();
    (common.len() >= FEWEST_PROCESSES).then(|| Shared {
        class,
        cases: of_ns.len(),
        processes: common.len(),
        another_run: rounded(half_width(shared)),
        clock_hz: median(&clocks).filter(|_| class == Class::NothingShared).map(rounded),
    })
}

/// Gives a row that too few processes measured the interval of what is assumed for it and usual for its class.
fn as_assumed(row: &mut Row, catalogue: &Catalogue, usual: &Usual) {
    let (Some(facts), Some(within)) = (catalogue.facts(&row.case.primitive), row.ns_within) else { return };
    let effect = (facts.run_effect)(&row.case);
    let of = |assumed: f64, apart: &Apart, shared: Option<Variance>| {
        let assumed = Variance { value: assumed * assumed, degrees: DEGREES_OF_ASSUMED };
        let own = as_usual(assumed, (None, Some(apart)));
        half_width(shared.map_or(own, |shared| own.plus(shared)))
    };
    // Other costs have no logarithm, or contradict themselves, which has to be seen.
    let is_cost = |at: &Nanoseconds| at.value() > 0.0 && (within.low..=within.high).contains(&at.value());
    let Some(at) = row.ns.filter(is_cost) else { return };
    let predicted = around(at.value(), of(effect.ns, &usual.ns, Some(usual.ns.shared)));
    let in_cycles = |at: f64| around(at, of(effect.cycles, &usual.cycles, None));
    row.cycles_interval = row.cycles.map(|at| holding(in_cycles(at.value()), row.cycles_within));
    (row.ns_interval, row.allowance) = (Some(holding(predicted, Some(within))), None);
}

/// The variance of the logarithm of each row as the figure of one run, and the factor that all rows share in each process.
fn variances(cases: &[Logs], shares_nothing: bool) -> (BTreeMap<usize, Variance>, Vec<f64>) {
    let mut deviations: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for case in cases {
        let mean = mean(&case.of_process.values().copied().collect::<Vec<_>>());
        for (process, log) in &case.of_process {
            deviations.entry(*process).or_default().push(log - mean);
        }
    }
    let shared = |of: &Vec<f64>| median(of).filter(|_| of.len() >= FEWEST_CASES);
    let shared: BTreeMap<u32, f64> =
        deviations.iter().filter_map(|(process, of)| Some((*process, shared(of)?))).collect();
    // In the order of time: the process that writes the run measures most of its blocks last.
    let own = |case: &Logs| -> Vec<f64> {
        let rest = |(process, log): (&u32, &f64)| log - shared.get(process).copied().unwrap_or(0.0);
        case.of_process.range(1..).chain(case.of_process.range(..1)).map(rest).collect()
    };
    let rests: Vec<Vec<f64>> = cases.iter().map(own).collect();
    let of_rest = |rest: &Vec<f64>| match trimmed_mean(rest).filter(|_| shares_nothing) {
        Some((_, variance)) => variance,
        None => Variance { value: variance(rest), degrees: rest.len() as f64 - 1.0 },
    };
    let variances: Vec<Variance> = rests.iter().map(of_rest).collect();
    let prior = Variance::prior_of(&variances);
    let all: f64 = variances.iter().map(|one| one.degrees).sum();
    let grown = by_estimated_share(cases.len()) * by_drift(&rests);
    let of_run = |(case, own): (&Logs, &Variance)| {
        let prior = prior.unwrap_or(Variance { value: case.assumed, degrees: DEGREES_OF_ASSUMED });
        let Variance { value, degrees } = own.moderated(prior);
        let degrees = degrees.min(all + DEGREES_OF_ASSUMED);
        (case.row, Variance { value: value * grown / case.of_process.len() as f64, degrees })
    };
    (cases.iter().zip(&variances).map(of_run).collect(), shared.into_values().collect())
}

/// The factor by which the variance of a case grows because what it shares with others is estimated by their median, whose
/// variance is π / 2 times that of a mean. It counts once in this run, where it made the rest of each case smaller, and once
/// between two runs.
fn by_estimated_share(cases: usize) -> f64 {
    if cases < FEWEST_CASES { 1.0 } else { (1.0 + PI / 2.0 / cases as f64).powi(2) }
}

/// The factor by which the variance of a mean over processes grows because neighbouring processes resemble each other, where
/// a state of the machine lasts longer than a process; 1 where they do not. The correlation of neighbours is taken over all
/// cases together, corrected for the few processes of each (Kendall, *Biometrika* 41, 1954), as in a first-order
/// autoregression.
fn by_drift(rests: &[Vec<f64>]) -> f64 {
    const LARGEST: f64 = 0.8;
    let processes = rests.iter().map(Vec::len).max().unwrap_or(0) as f64;
    if rests.len() < FEWEST_CASES || processes < 5.0 {
        return 1.0;
    }
    let (mut products, mut squares) = (0.0, 0.0);
    for rest in rests {
        let mean = mean(rest);
        let square = rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        if square > 0.0 {
            products += rest.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / square;
            squares += 1.0;
        }
    }
    let correlation = ((processes * products / f64::max(squares, 1.0) + 1.0) / (processes - 3.0)).clamp(0.0, LARGEST);
    let lags = (1..processes as i32).map(|lag| 2.0 * (1.0 - f64::from(lag) / processes) * correlation.powi(lag));
    let sum: f64 = lags.sum();
    (1.0 + sum) / (1.0 - sum / (processes - 1.0))
}

/// Half the width of the interval for the figure of another run, in logarithms: both runs differ from what they measure.
pub fn half_width(of_run: Variance) -> f64 {
    student::quantile_95(of_run.degrees) * (2.0 * of_run.value).sqrt()
}

/// The variance of a case in another run, if no earlier run shows it: the usual excess over what the processes
/// predict, and at least what a run adds to them. Comparisons of rows within a run, and of runs, do without it.
fn as_usual(own: Variance, known: InUnit<'_>) -> Variance {
    match known {
        (None, Some(Apart { added, factor, .. })) => {
            let value = (factor.value * own.value).max(own.value + added);
            Variance { value, degrees: own.degrees.min(factor.degrees) }
        }
        _ => own,
    }
}

/// Half the variance of a case between another run and the mean of `runs` joined ones, for [`half_width`].
fn of_joined(own: Variance, runs: usize, (_, usual): InUnit<'_>) -> Variance {
    let of_run = (own.value * runs as f64).max(usual.map_or(0.0, |usual| usual.added));
    Variance { value: of_run * by_joined(Some(runs)), ..own }
}

/// The variance of what all cases of a class share, between another run and this one, or the mean of `joined` ones.
fn shared_with_another(common: &[f64], joined: Option<usize>, known: Known<'_>) -> Variance {
    let shared = of_runs(common, known.in_ns());
    let Some(runs) = joined else { return shared };
    // Where the joined runs differ much, these few say how much; where they differ little, they say no more than other
    // guests.
    let seen = Variance { value: variance(common) / runs as f64, degrees: runs as f64 - 1.0 };
    let both = known.usual.map_or(seen, |usual| usual.ns.shared.plus(seen));
    Variance { value: shared.value * by_joined(joined), degrees: shared.degrees.min(both.degrees) }
}

/// The factor by which the variance between two runs shrinks where one of them is the mean of this many.
fn by_joined(runs: Option<usize>) -> f64 {
    runs.map_or(1.0, |runs| f64::midpoint(1.0, 1.0 / runs as f64))
}

/// The variance, in one run, of what all cases of a class share: what is usual plus what the processes say, then what
/// earlier runs show. Where nothing is usual, what the processes say counts next to earlier runs as two observations.
fn of_runs(common: &[f64], (seen, usual): InUnit<'_>) -> Variance {
    let count = common.len() as f64;
    let own = Variance { value: variance(common) / count.max(1.0), degrees: (count - 1.0).max(1.0) };
    let seen = seen.map(|(ratio, runs)| Variance { value: ratio.shared, degrees: runs as f64 - 1.0 });
    match (seen, usual) {
        (Some(seen), None) => seen.moderated(Variance { degrees: DEGREES_OF_ASSUMED, ..own }),
        (None, None) => own,
        (seen, Some(Apart { shared, .. })) => {
            let before = Variance { value: shared.value + own.value, ..*shared };
            seen.map_or(before, |seen| seen.moderated(before))
        }
    }
}

/// The interval to both sides of a cost.
fn around(at: f64, half: f64) -> Interval {
    let at = rounded(at);
    Interval { low: at * (-half).exp(), high: at * half.exp() }
}

/// The predicted interval, extended to contain the one within the run.
fn holding(predicted: Interval, within: Option<Interval>) -> Interval {
    let within = within.map(|Interval { low, high }| Interval { low: rounded(low), high: rounded(high) });
    within.into_iter().fold(predicted, Interval::union)
}

/// What the rows of a run share, in one line for people; empty where that was not measured.
pub fn sentence(shared: &[Shared]) -> String {
    let percent = |share: f64| format!("±{} %", significant_of_percent(100.0 * share));
    let of = |shared: &Shared| match shared.clock_hz {
        Some(hertz) => format!("core clock {:.2} GHz {}", hertz / 1e9, percent(shared.another_run)),
        None => format!("{} {}", shared.class.in_words(), percent(shared.another_run)),
    };
    shared.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// How narrow the intervals of these cases can become in the first run of this machine, however quiet it is: what all cases
/// of a class share limits them. `None` where that is not known before the run.
pub fn expected<'a>(machine: &Machine, cases: impl Iterator<Item = &'a Case>, catalogue: &Catalogue) -> Option<String> {
    let classes: BTreeSet<Class> =
        cases.filter_map(|case| Some(catalogue.facts(&case.primitive)?.class_of(case))).collect();
    let planned = guests::usual(machine).iter().filter(|usual| classes.contains(&usual.class));
    let of = |usual: &Usual| format!("±{:.0} % for {}", 100.0 * half_width(usual.ns.shared), usual.class.in_words());
    let each: Vec<String> = planned.map(of).collect();
    (!each.is_empty()).then(|| {
        format!(
            "in the first run on a virtual machine, CPU costs are known within {} at best, and costs within ±{:.0} % \
             count as resolved",
            each.join(", "),
            100.0 * Settings::NOISY_ABOVE
        )
    })
}

/// Formats a percentage with two digits below ten, otherwise as a whole number.
fn significant_of_percent(percent: f64) -> String {
    let decimals = [0.1, 10.0].into_iter().filter(|bound| percent < *bound).count();
    format!("{percent:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cycles, Facts, Layout, Primitive, Role, RunEffect};

    fn is(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9 * expected.abs().max(1e-3)
    }

    fn of_one_lock() -> Catalogue {
        let facts = Facts::of(Role::ThreadLock);
        [Primitive { id: "cpu.lock.mcs", summary: "", operation: "", source: "", facts }].into_iter().collect()
    }

    #[test]
    fn what_a_first_run_can_know_is_said_of_the_classes_that_it_measures() {
        let catalogue = of_one_lock();
        let case = Case { threads: Some(4), ..Case::new("cpu.lock.mcs") };
        let mut machine = Machine::default();
        let said = |machine: &Machine, case: &Case| expected(machine, [case].into_iter(), &catalogue);
        assert_eq!(said(&machine, &case), None, "no machine like it was calibrated");
        machine.cpu.hypervisor = Some("KVM".to_owned());
        // Student's t with 12 degrees times the deviation of two runs.
        let half = 2.179 * 0.0296 * 2.0_f64.sqrt();
        let text = said(&machine, &case).unwrap();
        assert!(text.contains(&format!("within ±{:.0} % for moving cache lines at best", 100.0 * half)), "{text}");
        assert!(half > Settings::NOISY_ABOVE, "none of them is resolved");
        assert_eq!(said(&machine, &Case::new("gpu.grid.counter")), None);
    }

    #[test]
    fn joined_runs_that_agree_are_as_far_from_the_next_one_as_runs_of_guests_are() {
        let apart = |shared: f64| Apart {
            added: 0.0,
            factor: Variance { value: 1.0, degrees: 9.0 },
            shared: Variance { value: shared * shared, degrees: 4.0 },
        };
        let catalogue = of_one_lock();
        let half = |usual: &[Usual]| {
            let case = |threads| Case { threads: Some(threads), ..Case::new("cpu.lock.mcs") };
            let row = |threads| Row {
                ns: Some(Nanoseconds(100.0)),
                ns_interval: Some(Interval { low: 99.0, high: 101.0 }),
                ns_within: Some(Interval { low: 99.5, high: 100.5 }),
                runs: Some(3),
                ..Row::unmeasured(case(threads), crate::Verdict::Resolved)
            };
            let mut rows: Vec<Row> = (2..8).map(row).collect();
            let of_run = |run: u32| Detail::of_actor(Detail::PROCESS_NS, run, 100.0 + 1e-3 * f64::from(run));
            let details = rows.iter().map(|row| (row.case.id(), (0..3).map(of_run).collect())).collect();
            derive(&mut rows, &details, &catalogue, &[], usual);
            rows[0].shown_width().unwrap()
        };
        assert!(is(half(&[]), 0.01), "what the runs say, where nothing is usual");
        let class = Facts::of(Role::ThreadLock).class_of(&Case { threads: Some(2), ..Case::new("cpu.lock.mcs") });
        let usual = |shared| [Usual { class, ns: apart(shared), cycles: apart(shared) }];
        // Student's t with four degrees, of a run and the mean of three.
        let expected = 2.776 * 0.03 * (4.0_f64 / 3.0).sqrt();
        assert!((half(&usual(0.03)) / expected.sinh() - 1.0).abs() < 0.01, "{} {expected}", half(&usual(0.03)));
        assert!(half(&usual(0.06)) > half(&usual(0.03)));
    }

    /// The median of few cases is one of them, so nothing is left of that case.
    #[test]
    fn an_interval_for_another_run_holds_that_within_the_run() {
        let catalogue = of_one_lock();
        let within = |at: f64| Some(Interval { low: at * 0.99, high: at * 1.01 });
        let row = |threads| Row {
            ns: Some(Nanoseconds(100.0)),
            cycles: Some(Cycles(250.0)),
            ns_within: within(100.0),
            cycles_within: within(250.0),
            ..Row::unmeasured(Case { threads: Some(threads), ..Case::new("cpu.lock.mcs") }, crate::Verdict::Resolved)
        };
        let mut rows: Vec<Row> = (2..8).map(row).collect();
        let of = |name: &'static str, at: f64| (0..7).map(move |process| Detail::of_actor(name, process, at));
        let both = || of(Detail::PROCESS_NS, 100.0).chain(of(Detail::PROCESS_CYCLES, 250.0)).collect();
        let details = rows.iter().map(|row| (row.case.id(), both())).collect();
        derive(&mut rows, &details, &catalogue, &[], &[]);
        for row in &rows {
            let held = |shown: Option<Interval>, within: Option<Interval>| {
                let (shown, within) = (shown.unwrap(), within.unwrap());
                shown.low <= within.low && within.high <= shown.high
            };
            assert!(held(row.ns_interval, row.ns_within), "{:?}", row.ns_interval);
            assert!(held(row.cycles_interval, row.cycles_within), "{:?}", row.cycles_interval);
        }
    }

    #[test]
    fn what_no_other_process_measured_is_no_more_certain() {
        let catalogue = of_one_lock();
        let row = |provisional| Row {
            ns: Some(Nanoseconds(100.0)),
            ns_interval: Some(Interval { low: 99.9, high: 100.1 }),
            ns_within: Some(Interval { low: 99.9, high: 100.1 }),
            provisional,
            ..Row::unmeasured(Case { threads: Some(4), ..Case::new("cpu.lock.mcs") }, crate::Verdict::Resolved)
        };
        let shown = |provisional, usual: &[Usual]| {
            let mut rows = [row(provisional).with_facts(catalogue.facts("cpu.lock.mcs"))];
            derive(&mut rows, &Details::default(), &catalogue, &[], usual);
            rows[0].shown_width().unwrap()
        };
        // Student's t with 12 degrees times the deviation of two runs, of what moving lines share.
        let least = 2.179 * 0.0296 * 2.0_f64.sqrt();
        assert!(shown(true, &guests::GUESTS) > least, "{}", shown(true, &guests::GUESTS));
        assert!(is(shown(true, &[]), 0.001), "nothing is known of machines that are no guests");
        assert!(shown(false, &guests::GUESTS) > least, "nor is a finished row: there may be no other process at all");
        // A row next to rows of several processes: the pairs of all its other processes were excluded.
        let of_processes = |threads| Row { case: Case { threads: Some(threads), ..row(false).case }, ..row(false) };
        let mut rows: Vec<Row> =
            [4, 5, 6, 7, 8].map(|threads| of_processes(threads).with_facts(catalogue.facts("cpu.lock.mcs"))).into();
        let costs = || (0..3).map(|process| Detail::of_actor(Detail::PROCESS_NS, process, 100.0)).collect();
        let details = rows[1..].iter().map(|row| (row.case.id(), costs())).collect();
        derive(&mut rows, &details, &catalogue, &[], &guests::GUESTS);
        assert!(rows[0].shown_width().unwrap() > least && rows[0].allowance.is_none());
    }

    /// In five processes, costs that rise evenly have a correlation of neighbours of (5 * 0.4 + 1) / 2, of which 0.8 counts.
    #[test]
    fn a_state_that_outlasts_a_process_makes_the_mean_less_certain() {
        let rising: Vec<f64> = (0..5).map(f64::from).collect();
        let sum = 2.0 * (0.8 * 0.8 + 0.6 * 0.64 + 0.4 * 0.512 + 0.2 * 0.4096);
        let grown = (1.0 + sum) / (1.0 - sum / 4.0);
        assert!(is(by_drift(&vec![rising.clone(); 4]), grown));
        let without_variance = [vec![vec![7.0; 5]], vec![rising.clone(); 4]].concat();
        assert!(is(by_drift(&without_variance), grown), "it says nothing");
        let unrelated = [0.0, 1.0, 0.0, 1.0, 0.0].to_vec();
        for rests in [vec![unrelated; 4], vec![rising.clone(); 3], vec![rising[..4].to_vec(); 4]] {
            assert!(is(by_drift(&rests), 1.0), "{rests:?}");
        }
        // Distances of -0.4 and 0.6 from the mean: products of 0.04 by squares of 1.2, which is 1/30.
        let loose = vec![vec![0.0, 0.0, 1.0, 1.0, 0.0]; 4];
        let correlation = f64::midpoint(5.0 / 30.0, 1.0);
        let sum: f64 = (1..5).map(|lag| 2.0 * (1.0 - f64::from(lag) / 5.0) * correlation.powi(lag)).sum();
        assert!(is(by_drift(&loose), (1.0 + sum) / (1.0 - sum / 4.0)), "{}", by_drift(&loose));
    }

    #[test]
    fn what_is_shared_is_taken_off_and_its_estimate_counts() {
        let case = |row: usize, rest: &[f64]| Logs {
            row,
            of_process: (0..).zip(rest.iter().map(|log| row as f64 + log)).collect(),
            assumed: 0.01,
        };
        let alone = variances(&[case(0, &[0.3, 0.0, -0.3])], false);
        let Variance { value, degrees } = alone.0[&0];
        assert!(is(value, (2.0 * 0.01 + 2.0 * 0.09) / 4.0 / 3.0) && is(degrees, 4.0) && alone.1.is_empty(), "{value}");
        let alike: Vec<Logs> = (0..4).map(|row| case(row, &[0.1, -0.1, 0.0])).collect();
        let (own, common) = variances(&alike, false);
        assert!(common.iter().zip([0.1, -0.1, 0.0]).all(|(found, shared)| is(*found, shared)), "{common:?}");
        let of_shared = (1.0 + PI / 8.0).powi(2);
        assert!(own.values().all(|own| is(own.value, 2.0 * 0.01 / 4.0 / 3.0 * of_shared)), "{own:?}");
        assert!(is(by_estimated_share(3), 1.0) && is(by_estimated_share(4), of_shared));
    }

    #[test]
    fn neighbouring_processes_are_in_the_order_of_time_and_degrees_have_a_bound() {
        // The median of a pattern and its opposite is zero.
        let of = |pattern: [f64; 5]| {
            let case = |row: usize| {
                let sign = if row.is_multiple_of(2) { 0.01 } else { -0.01 };
                Logs { row, of_process: (0..).zip(pattern.map(|log| sign * log)).collect(), assumed: 0.01 }
            };
            variances(&(0..4).map(case).collect::<Vec<_>>(), false).0[&0]
        };
        // The first process goes on to the end, so it counts as the last one.
        let (rising, unrelated) = (of([4.0, 0.0, 1.0, 2.0, 3.0]), of([0.0, 1.0, 2.0, 3.0, 4.0]));
        assert!((rising.value / unrelated.value - 10.508).abs() < 1e-3, "{rising:?} {unrelated:?}");
        assert!(is(rising.degrees, 4.0 * 4.0 + DEGREES_OF_ASSUMED), "{rising:?}");
    }

    /// Cases with this many threads that cost the same in each of three processes, and what is derived from them.
    fn derived(threads: u32, count: u32, change: impl Fn(&mut Row, &mut Vec<Detail>)) -> (Vec<Row>, Vec<Shared>) {
        derived_after(&[], threads, count, change)
    }

    /// [`derived`], where this is known of earlier runs.
    fn derived_after(
        between: &[BetweenRuns],
        threads: u32,
        count: u32,
        change: impl Fn(&mut Row, &mut Vec<Detail>),
    ) -> (Vec<Row>, Vec<Shared>) {
        let facts = Facts { run_effect: |_| RunEffect { ns: 0.02, cycles: 0.01 }, ..Facts::of(Role::ThreadBarrier) };
        let catalogue: Catalogue =
            [Primitive { id: "cpu.barrier.x", summary: "", operation: "", source: "", facts }].into_iter().collect();
        let one = |number: u32| {
            let layout = Some(Layout::Private { stride: 1 + number });
            let mut row = Row {
                case: Case { threads: Some(threads), layout, ..Case::new("cpu.barrier.x") },
                ns: Some(Nanoseconds(10.0)),
                cycles: Some(Cycles(20.0)),
                ns_within: Some(Interval { low: 9.99, high: 10.01 }),
                clock: Some(Hertz(2e9)),
                ..Row::default()
            };
            let of_process = |process| {
                [(Detail::PROCESS_NS, 10.0), (Detail::PROCESS_CYCLES, 20.0)]
                    .map(|(name, cost)| Detail::of_actor(name, process, cost))
            };
            let mut details: Vec<Detail> = (0..3).flat_map(of_process).collect();
            change(&mut row, &mut details);
            ((row.case.id(), details), row)
        };
        let (details, mut rows): (Details, Vec<Row>) = (0..count).map(one).unzip();
        let shared = derive(&mut rows, &details, &catalogue, between, &[]);
        (rows, shared)
    }

    /// The assumption counts as two observations next to the two of three processes, which do not differ.
    fn by_assumption(at: f64, assumed: f64) -> Interval {
        around(at, half_width(Variance { value: 2.0 * assumed * assumed / 4.0 / 3.0, degrees: 4.0 }))
    }

    #[test]
    fn a_row_of_three_processes_has_the_interval_of_what_is_assumed() {
        let is_one = |found: Option<Interval>, expected: Interval| {
            found.is_some_and(|found| is(found.low, expected.low) && is(found.high, expected.high))
        };
        let (rows, shared) = derived(2, 1, |_, details| details.push(Detail::of_actor(Detail::PROCESS_NS, 3, 0.0)));
        let of_ns = by_assumption(10.0, 0.02);
        assert!(of_ns.low < 9.8 && is_one(rows[0].ns_interval, of_ns), "{:?}", rows[0].ns_interval);
        assert!(is_one(rows[0].cycles_interval, by_assumption(20.0, 0.01)), "{:?}", rows[0].cycles_interval);
        assert_eq!(shared, [], "one case shares nothing");
        // A single thread follows the clock, so the interval of its nanoseconds is that of its cycles.
        assert!(is_one(derived(1, 1, |_, _| {}).0[0].ns_interval, by_assumption(10.0, 0.01)));
        let wide = derived(2, 1, |row, _| row.ns_within = Some(Interval { low: 8.0, high: 13.0 }));
        assert_eq!(wide.0[0].ns_interval, Some(Interval { low: 8.0, high: 13.0 }));
        for change in [|row: &mut Row| row.runs = Some(2), |row: &mut Row| row.ns_within = None] {
            assert_eq!(derived(2, 1, |row, _| change(row)).0[0].ns_interval, None);
        }
    }

    #[test]
    fn earlier_runs_say_how_far_rows_of_their_class_are_apart() {
        let after = |class: Class| {
            let ns = Ratio { factor: 1.0, degrees: 9.0, shared: 0.04, cases: BTreeMap::new() };
            derived_after(&[BetweenRuns { class, runs: 10, ns, cycles: None }], 2, 1, |_, _| {}).0[0].ns_interval
        };
        let own = derived(2, 1, |_, _| {}).0[0].run_to_run.unwrap().class;
        assert_ne!(own, Class::NothingShared);
        assert_eq!(after(Class::NothingShared), Some(by_assumption(10.0, 0.02)), "nothing of another class");
        assert!(after(own).is_some_and(|interval| interval.low < 7.0), "{:?}", after(own));
    }

    #[test]
    fn the_rows_that_a_row_joins_lie_in_its_interval() {
        let of_process = (0..3).zip([90.0_f64, 100.0, 110.0].map(f64::ln)).collect();
        let logs = Logs { row: 0, of_process, assumed: 0.01 };
        let hull = |runs, shares_nothing| {
            let ns_interval = Some(Interval { low: 80.0, high: 120.0 });
            let row = Row { runs: Some(runs), ns_interval, ..Row::default() };
            logs.hull(&row, shares_nothing).map(|Interval { low, high }| [low, high].map(f64::round))
        };
        assert_eq!(hull(3, true), Some([90.0, 110.0]), "each of the runs shows what it costs");
        assert_eq!(hull(4, true), Some([80.0, 120.0]), "one of them does not");
        assert_eq!(hull(3, false), Some([80.0, 120.0]), "families of cases change in their own way");
    }

    #[test]
    fn other_guests_say_how_much_runs_differ_more_than_processes() {
        let of = |value, degrees| Variance { value, degrees };
        let apart = |added| Apart { added, factor: of(3.0, 4.0), shared: of(0.01 / 3.0, 40.0) };
        let own = of(0.02, 9.0);
        let seen = Ratio { factor: 2.0, degrees: 3.0, shared: 0.0, cases: BTreeMap::new() };
        assert_eq!(as_usual(own, (None, Some(&apart(0.001)))), of(3.0 * 0.02, 4.0));
        assert_eq!(as_usual(own, (None, Some(&apart(0.1)))), of(0.02 + 0.1, 4.0), "what another run adds at least");
        assert_eq!(as_usual(own, (Some((&seen, 4)), Some(&apart(0.1)))), own, "earlier runs know better");
        // The variance of a run, and of the mean of three, which is a third of it.
        let joined = of_joined(of(0.01, 9.0), 3, (None, None));
        assert!(is(joined.value, 0.03 * 2.0 / 3.0) && is(joined.degrees, 9.0), "{joined:?}");
        // What three joined runs show and what is usual are alike: Welch and Satterthwaite's degrees of 2 and 40.
        let usual = Usual { class: Class::Lines, ns: apart(0.0), cycles: apart(0.0) };
        let known = Known { between: None, usual: Some(&usual) };
        let Variance { value, degrees } = shared_with_another(&[0.1, -0.1, 0.0], Some(3), known);
        assert!(is(value, 0.02 / 3.0 * 2.0 / 3.0) && is(degrees, 4.0 / (0.5 + 1.0 / 40.0)), "{value} {degrees}");
    }

    #[test]
    fn several_rows_say_the_clock_where_they_share_nothing_else() {
        let clock = |threads| derived(threads, 4, |_, _| {}).1.iter().map(|shared| shared.clock_hz).collect::<Vec<_>>();
        assert_eq!((clock(1), clock(2)), (vec![Some(2e9)], vec![None]));
    }

    #[test]
    fn earlier_runs_say_more_of_what_is_shared_than_processes() {
        let common = [0.1, -0.1, 0.0];
        let Variance { value, degrees } = of_runs(&common, (None, None));
        assert!(is(value, 0.01 / 3.0) && is(degrees, 2.0), "{value} {degrees}");
        let ratio = Ratio { factor: 1.0, degrees: 2.0, shared: 0.04, cases: BTreeMap::new() };
        let Variance { value, degrees } = of_runs(&common, (Some((&ratio, 4)), None));
        assert!(is(value, (3.0 * 0.04 + 2.0 * 0.01 / 3.0) / 5.0) && is(degrees, 5.0), "{value} {degrees}");
        let half = half_width(Variance { value: 0.02, degrees: 10.0 });
        assert!((half - 2.228_14 * 0.2).abs() < 1e-4, "{half}");
    }

    #[test]
    fn what_rows_share_is_one_line() {
        let shared = |class, another_run, clock_hz| Shared { class, cases: 9, processes: 7, another_run, clock_hz };
        let all = [
            shared(Class::NothingShared, 0.0005, Some(3.2e9)),
            shared(Class::Lines, 0.034, None),
            shared(Class::Lines, 0.12, None),
        ];
        let lines = "moving cache lines";
        assert_eq!(sentence(&all), format!("core clock 3.20 GHz ±0.05 %; {lines} ±3.4 %; {lines} ±12 %"));
    }
}
