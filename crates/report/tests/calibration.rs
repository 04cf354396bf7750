//! The calibration study: does the interval that a run quotes contain the figure of another run?
//! `results/calibration/*.csv.gz` has the figures of many runs, a table for each machine and session, made by
//! `scripts/calibration`. Each pair of neighbouring runs is left out once. The intervals of each, with and without a history
//! of the rest, are tested on the other (those in cycles without the class's common factor), and the two runs are compared.
//! The usual variation of guests is learned from the other machines.
//!
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report --test calibration` writes `coverage.csv`, `compared.csv` and
//! `coverage.svg` there. The ignored test shows the two tables for all pairs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a test needs and does not get fails the test"
)]

mod common;

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::SQRT_2;
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use syncscope_core::run::another_run;
use syncscope_core::run::fingerprint::{Chosen, figure_of};
use syncscope_core::run::guests::{Apart, GUESTS, Usual};
use syncscope_core::run::history::{BetweenRuns, History, Ratio};
use syncscope_core::run::provenance::Tool;
use syncscope_core::run::repeats;
use syncscope_core::stats::{Interval, Variance, median, student};
use syncscope_core::{Case, Class, Cycles, Nanoseconds, Row, Run, Verdict};
use syncscope_report::{Change, ComparedCase, Damage, RunData, compare};

use common::{catalogue, folder, runs, tables};

/// A class whose costs differ by more than this between two runs is in another state of the machine: 10 %, as a logarithm.
const ANOTHER_STATE: f64 = 0.1;

/// A run forms a pair with each of this many runs that follow it.
const NEIGHBOURS: usize = 2;

/// The rows of a run with the intervals that it quotes, given this history of other runs and of other guests, without the
/// details.
fn quoted(run: &RunData, rows: Vec<Row>, between_runs: Vec<BetweenRuns>, usual: &[Usual]) -> RunData {
    let mut quoted = RunData {
        name: run.name.clone(),
        run: Run { between_runs, ..run.run.clone() },
        rows,
        details: HashMap::new(),
        damage: Damage::default(),
        catalogue: Arc::clone(&run.catalogue),
    };
    another_run::derive(&mut quoted.rows, &run.details, &run.catalogue, &quoted.run.between_runs, usual);
    quoted
}

/// A prediction and whether it held.
struct Tested {
    class: Class,
    unit: &'static str,
    case: String,
    held: bool,
    half_width: f64,
}

fn resolved(run: &RunData) -> HashMap<&Case, &Row> {
    let rows = run.rows.iter().filter(|row| row.verdict == Verdict::Resolved && row.ns_interval.is_some());
    rows.map(|row| (&row.case, row)).collect()
}

/// The predictions of a run, tested on another one, for classes in one state.
fn tested(run: &RunData, other: &RunData) -> Vec<Tested> {
    let of_other = resolved(other);
    let mut classes: BTreeMap<Class, Vec<(&Row, &Row)>> = BTreeMap::new();
    for (case, row) in resolved(run) {
        let class = run.catalogue.facts(&case.primitive).map(|facts| facts.class_of(case));
        // On CPUs, only rows that several processes measured; rows of devices have the interval within the run.
        if let (Some(class), Some(there)) = (class, of_other.get(case))
            && (row.run_to_run.is_some() || class == Class::Device)
        {
            classes.entry(class).or_default().push((row, there));
        }
    }
    let ns = |row: &Row| row.ns.map(Nanoseconds::value);
    let cycles = |row: &Row| row.cycles.map(Cycles::value);
    let shift = |pairs: &[(&Row, &Row)], value: &dyn Fn(&Row) -> Option<f64>| {
        median(&pairs.iter().filter_map(|(a, b)| Some((value(b)? / value(a)?).ln())).collect::<Vec<_>>())
    };
    // Hand-offs show whether the threads are at other places.
    let own: Vec<&Row> = run.rows.iter().filter(|row| of_other.contains_key(&row.case)).collect();
    let chosen = Chosen::of(&own, &run.catalogue);
    let handoffs = [false, true].map(|in_cycles| {
        let here = chosen.reading(|row, _| figure_of(row, in_cycles));
        let there = chosen.reading(|row, _| figure_of(of_other.get(&row.case)?, in_cycles));
        here.handoffs_to(&there).map_or(0.0, |ratio| ratio.ln().abs())
    });
    let is_elsewhere = handoffs[0].min(handoffs[1]) > ANOTHER_STATE;
    let mut found = Vec::new();
    for (class, pairs) in classes {
        if is_elsewhere && matches!(class, Class::Lines | Class::Sleeping) {
            continue;
        }
        let (Some(of_ns), of_cycles) = (shift(&pairs, &ns), shift(&pairs, &cycles)) else { continue };
        if pairs.len() < 4 || of_ns.abs().min(of_cycles.map_or(f64::INFINITY, f64::abs)) > ANOTHER_STATE {
            continue;
        }
        for (row, there) in pairs {
            // Intervals in nanoseconds hold what the class has in common; a device has no such part.
            let of_ns = if class == Class::Device { of_ns } else { 0.0 };
            let of_ns = Some(("ns", row.ns_interval, ns(row), ns(there), of_ns));
            let of_cycles = of_cycles.map(|shift| ("cycles", row.cycles_interval, cycles(row), cycles(there), shift));
            for (unit, interval, at, there, shift) in
                of_ns.into_iter().chain(of_cycles.filter(|_| class != Class::Device))
            {
                let (Some(interval), Some(at), Some(there)) = (interval, at, there) else { continue };
                // A device's interval covers this run's figure only; the other run's figure is as uncertain.
                let times = if class == Class::Device { SQRT_2 } else { 1.0 };
                let held = interval.contains(at + (there / shift.exp() - at) / times);
                let half_width = interval.half_width() / at;
                found.push(Tested { class, unit, case: row.case.to_string(), held, half_width });
            }
        }
    }
    found
}

/// The predictions of each case, by class and unit.
type Cases = BTreeMap<(Class, &'static str), BTreeMap<String, Vec<Tested>>>;

/// What the runs of a table say about each other.
#[derive(Default)]
struct Study {
    /// The predictions without a history, with a history of the other runs, of three joined runs, and of the joined rows
    /// that are called resolved.
    tested: [Cases; 4],
    pairs: usize,
    /// The number of cases with each change, if both runs resolved them.
    changes: BTreeMap<Change, usize>,
    /// How many planted delays are found, and of how many, with one thread and with several.
    delays: [[usize; 2]; 2],
    /// The delays found between runs that join three each, and how many other cases are called different there, and of how
    /// many.
    repeated: [[usize; 2]; 2],
    unplanted: [usize; 2],
}

impl Study {
    /// Studies runs; `usual` is known of guests in general.
    fn of(runs: &[RunData], neighbours: usize, usual: &[Usual]) -> Self {
        let mut study = Self::default();
        let alone: Vec<RunData> = runs.iter().map(|run| quoted(run, run.rows.clone(), vec![], usual)).collect();
        for (at, first) in runs.iter().enumerate() {
            for (second, other) in runs[at + 1..].iter().zip(&alone[at + 1..]).take(neighbours) {
                let mut history = History::default();
                let rest = runs.iter().filter(|run| ![&first.name, &second.name].contains(&&run.name));
                rest.for_each(|run| history.add(&run.run.started, &run.rows));
                let after = |run: &RunData| {
                    let between = history.between_runs(&run.rows, &run.catalogue);
                    quoted(run, run.rows.clone(), between, usual)
                };
                let (a, b) = (after(first), after(second));
                study.test(&alone[at], &a, second);
                study.test(other, &b, first);
                study.compare(&a, &b);
                if second.name == runs[at + 1].name {
                    study.find_delays(&a, second, usual);
                }
            }
        }
        for four in runs.windows(4) {
            let mut joined = joined_runs(&four[..3], usual);
            study.add(3, tested(&joined, &four[3]));
            joined.rows.iter_mut().filter(|row| row.has_figure()).for_each(|row| row.verdict = Verdict::Resolved);
            study.add(2, tested(&joined, &four[3]));
        }
        study.find_delays_of_repeated(runs, usual);
        study
    }

    /// Looks for delays between joined runs, as `run --repeat 3` makes them.
    fn find_delays_of_repeated(&mut self, runs: &[RunData], usual: &[Usual]) {
        let joined = |runs: &[RunData], binary: &str| {
            let mut data = joined_runs(runs, usual);
            data.run.tool = Some(Tool { binary: Some(binary.to_owned()), ..Tool::default() });
            data
        };
        for six in runs.windows(6).step_by(3) {
            let (first, second) = six.split_at(3);
            let delayed: Vec<RunData> = second
                .iter()
                .map(|run| RunData { rows: run.rows.iter().map(with_delay).collect(), ..run.clone() })
                .collect();
            let (a, b) = (joined(first, "one"), joined(&delayed, "another"));
            let is_in_all = |case: &&ComparedCase<'_>| {
                case.a.case.is_on_cpus() && six.iter().all(|run| resolved(run).contains_key(&case.a.case))
            };
            for case in compare(&a, &b, 0.0).cases.iter().filter(is_in_all) {
                let is_different = matches!(case.change, Change::Slower | Change::Faster);
                let [found, all] = if is_delayed(case.a) {
                    &mut self.repeated[usize::from(case.a.case.threads != Some(1))]
                } else {
                    &mut self.unplanted
                };
                *found += usize::from(if is_delayed(case.a) { case.change == Change::Slower } else { is_different });
                *all += 1;
            }
        }
    }

    /// Tests the predictions of a run without a history, and with one.
    fn test(&mut self, run: &RunData, after: &RunData, other: &RunData) {
        // For a class that no other run has in this state, only the processes are known.
        let is_known = |class| after.run.between_runs.iter().any(|between| between.class == class);
        let after = tested(after, other).into_iter().filter(|tested| is_known(tested.class)).collect();
        self.add(0, tested(run, other));
        self.add(1, after);
    }

    fn add(&mut self, history: usize, found: Vec<Tested>) {
        for tested in found {
            let of_class = self.tested[history].entry((tested.class, tested.unit)).or_default();
            of_class.entry(tested.case.clone()).or_default().push(tested);
        }
    }

    fn compare(&mut self, a: &RunData, b: &RunData) {
        self.pairs += 1;
        for case in compare(a, b, 0.05).cases.iter().filter(|case| is_resolved(case)) {
            *self.changes.entry(case.change).or_default() += 1;
        }
    }

    /// Looks for the delays in another build, with the history of the first.
    fn find_delays(&mut self, a: &RunData, second: &RunData, usual: &[Usual]) {
        let rows = second.rows.iter().map(with_delay).collect();
        let mut b = quoted(second, rows, a.run.between_runs.clone(), usual);
        b.run.tool = Some(Tool { binary: Some("another".to_owned()), ..Tool::default() });
        let comparison = compare(a, &b, 0.0);
        for case in comparison.cases.iter().filter(|case| is_resolved(case) && is_delayed(case.a)) {
            let [found, all] = &mut self.delays[usize::from(case.a.case.threads != Some(1))];
            *found += usize::from(case.change == Change::Slower);
            *all += 1;
        }
    }
}

/// Joins several runs into one.
fn joined_runs(runs: &[RunData], usual: &[Usual]) -> RunData {
    let first = &runs[0];
    let rows: Vec<Vec<Row>> = runs.iter().map(|run| run.rows.clone()).collect();
    let (joined, details) = (repeats::join(&rows, &first.catalogue, usual), repeats::details(&rows));
    RunData { rows: joined, details, ..first.clone() }
}

fn is_resolved(case: &ComparedCase<'_>) -> bool {
    [case.a, case.b].iter().all(|row| row.verdict == Verdict::Resolved && row.run_to_run.is_some())
}

/// The number of predictions, coverage, and median half-width.
fn summary<'a>(tested: impl Iterator<Item = &'a Tested>) -> (usize, f64, f64) {
    let (held, widths): (Vec<bool>, Vec<f64>) = tested.map(|one| (one.held, one.half_width)).unzip();
    let covered = held.iter().filter(|held| **held).count() as f64 / held.len() as f64;
    (held.len(), covered, median(&widths).unwrap())
}

/// Whether a case is delayed: every fourth one.
fn is_delayed(row: &Row) -> bool {
    row.case.id().0.ends_with(['0', '4', '8', 'c'])
}

/// A row of another build, in which a delayed case of one thread costs 3 % more and a contended one 10 %.
fn with_delay(row: &Row) -> Row {
    let factor = match row.case.threads {
        _ if !is_delayed(row) => 1.0,
        Some(1) => 1.03,
        _ => 1.1,
    };
    let times = |interval: Interval| Interval { low: interval.low * factor, high: interval.high * factor };
    Row {
        ns: row.ns.map(|ns| Nanoseconds(ns.value() * factor)),
        cycles: row.cycles.map(|cycles| Cycles(cycles.value() * factor)),
        ns_within: row.ns_within.map(times),
        cycles_within: row.cycles_within.map(times),
        ..row.clone()
    }
}

/// Plots the coverage of each case against the median half-width of its interval.
fn plot(cases: &Cases) -> String {
    const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
    let (width, height, left, top) = (720.0, 420.0, 60.0, 20.0);
    let (low, high) = (-4.0, 0.0);
    let x = |half: f64| left + (half.log10().clamp(low, high) - low) / (high - low) * (width - left - 20.0);
    let y = |share: f64| top + (1.0 - share) * (height - top - 60.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for share in [0.0, 0.25, 0.5, 0.75, 0.95, 1.0] {
        let dash = if (0.9..1.0).contains(&share) { "" } else { " stroke-dasharray=\"2 4\"" };
        let (at, right) = (y(share), width - 20.0);
        writeln!(svg, "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#888\"{dash}/>").unwrap();
        writeln!(svg, "<text x=\"12\" y=\"{:.0}\">{:.0} %</text>", at + 4.0, 100.0 * share).unwrap();
    }
    for (power, words) in [(-4, "0.01 %"), (-3, "0.1 %"), (-2, "1 %"), (-1, "10 %"), (0, "100 %")] {
        let at = x(10.0_f64.powi(power));
        writeln!(svg, "<text x=\"{at:.0}\" y=\"{}\" text-anchor=\"middle\">{words}</text>", height - 42.0).unwrap();
    }
    let words = "median half width of the interval to quote, with a history of other runs (a point is a case)";
    writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{words}</text>", width / 2.0, height - 24.0).unwrap();
    // Each class in one unit: cycles where threads share nothing, otherwise nanoseconds.
    let in_one_unit = cases.iter().filter(|((class, unit), _)| (*class == Class::NothingShared) == (*unit == "cycles"));
    for (class, all) in in_one_unit.flat_map(|((class, _), of)| of.values().map(move |all| (class, all))) {
        let (_, held, half) = summary(all.iter());
        let (at, of, colour) = (x(half), y(held), COLOURS[*class as usize]);
        writeln!(svg, "<circle cx=\"{at:.1}\" cy=\"{of:.1}\" r=\"3\" fill=\"{colour}\" fill-opacity=\"0.6\"/>")
            .unwrap();
    }
    for (number, class) in Class::ALL.iter().enumerate() {
        let (at, below, colour) = (left + 165.0 * number as f64, height - 6.0, COLOURS[*class as usize]);
        writeln!(svg, "<text x=\"{at}\" y=\"{below}\" fill=\"{colour}\">{class}</text>").unwrap();
    }
    svg + "</svg>\n"
}

/// The two tables, the predictions with a history, and the usual variation of all guests.
fn studied(neighbours: usize) -> ([String; 2], Cases, Vec<Usual>) {
    let catalogue = catalogue();
    let mut coverage = "table,history,class,unit,cases,predictions,coverage,median_half_width\n".to_owned();
    let mut together: [Cases; 4] = Default::default();
    let mut compared =
        "table,pairs,same,slower,faster,another_state,undecided,delays_of_3_percent,found,delays_of_10_percent,found,\
         repeated_3_percent,found,repeated_10_percent,found,repeated_others,different\n"
            .to_owned();
    let mut all = |name: &str, found: &[Cases; 4]| {
        for (history, cases) in ["none", "others", "repeat 3", "repeat 3 resolved"].iter().zip(found) {
            for ((class, unit), of) in cases {
                let (all, held, half) = summary(of.values().flatten());
                let cases = of.len();
                writeln!(coverage, "{name},{history},{class},{unit},{cases},{all},{held:.3},{half:.4}").unwrap();
            }
        }
    };
    let tables: Vec<(String, Vec<RunData>)> =
        tables().into_iter().map(|(name, path)| (name, runs(&path, &catalogue))).collect();
    let seen: Vec<Seen> = tables.iter().flat_map(|(name, runs)| Seen::of(&machine(name), runs)).collect();
    for (name, runs) in tables {
        // The other machines predict a guest.
        let usual = usual(&seen.iter().filter(|seen| seen.machine != machine(&name)));
        let Study { tested, pairs, changes, delays, repeated, unplanted } = Study::of(&runs, neighbours, &usual);
        all(&name, &tested);
        for (into, found) in together.iter_mut().zip(tested) {
            for (class, of) in found {
                let of = of.into_iter().map(|(case, all)| (format!("{name} {case}"), all));
                into.entry(class).or_default().extend(of);
            }
        }
        let kinds = [Change::Same, Change::Slower, Change::Faster, Change::AnotherState, Change::Undecided];
        let [same, slower, faster, states, undecided] =
            kinds.map(|change| changes.get(&change).copied().unwrap_or_default());
        let [[found, one], [found_too, several]] = delays;
        let counted = format!("{pairs},{same},{slower},{faster},{states},{undecided}");
        let [[joined_one, of_one], [joined_several, of_several]] = repeated;
        let [different, others] = unplanted;
        let repeated = format!("{of_one},{joined_one},{of_several},{joined_several},{others},{different}");
        writeln!(compared, "{name},{counted},{one},{found},{several},{found_too},{repeated}").unwrap();
        assert!(100 * (slower + faster) <= same + slower + faster + undecided, "{name}: {changes:?}");
    }
    all("all", &together);
    let [_, after, ..] = together;
    ([coverage, compared], after, usual(&seen.iter()))
}

/// The machine of a table; several tables may be from one machine.
fn machine(table: &str) -> String {
    table.split("-vm").next().unwrap().to_owned()
}

/// How far the runs of a table differ in a class and a unit.
struct Seen {
    machine: String,
    class: Class,
    in_cycles: bool,
    /// The variance of what all cases have in common.
    shared: Variance,
    /// The differences between pairs of runs in the shared part, as logarithms.
    shifts: Vec<f64>,
    /// The variance of a case that processes do not predict, in half of the cases.
    added: f64,
    /// The variance of a case over the variance that processes predict, and how well the ratio is known.
    factor: Variance,
}

impl Seen {
    fn of(machine: &str, runs: &[RunData]) -> Vec<Self> {
        let between = |run: &RunData, others: &[&RunData]| {
            let mut history = History::default();
            for other in others {
                history.add(&other.run.started, &other.rows);
            }
            history.between_runs(&run.rows, &run.catalogue)
        };
        let of_all = |at: usize| {
            let others: Vec<&RunData> = runs.iter().filter(|run| run.name != runs[at].name).collect();
            between(&runs[at], &others).into_iter().map(move |between| (at, between))
        };
        let whole: Vec<(usize, BetweenRuns)> = (0..runs.len()).flat_map(of_all).collect();
        let neighbours =
            |at: usize| runs[at + 1..].iter().take(NEIGHBOURS).flat_map(move |next| between(&runs[at], &[next]));
        let pairs: Vec<BetweenRuns> = (0..runs.len()).flat_map(neighbours).collect();
        let of = |class: Class, in_cycles: bool| {
            let ratio = |one: &BetweenRuns| {
                let of_class = Some(one).filter(|one| one.class == class)?;
                if in_cycles { of_class.cycles.clone() } else { Some(of_class.ns.clone()) }
            };
            let ratios: Vec<(f64, Ratio)> =
                whole.iter().filter_map(|(_, one)| Some((one.runs as f64 - 1.0, ratio(one)?))).collect();
            // The variances by case: predicted by processes, and seen over the runs.
            let cases = |(at, one): &(usize, BetweenRuns)| -> Option<Vec<(f64, Variance)>> {
                let seen = ratio(one)?.cases;
                let of_case = |row: &Row| {
                    let parts = row.run_to_run?;
                    let own = if in_cycles { parts.cycles? } else { parts.ns }.own.value;
                    let [value, degrees] = *seen.get(&row.case.id().0)?;
                    Some((own, Variance { value, degrees }))
                };
                Some(runs[*at].rows.iter().filter_map(of_case).collect())
            };
            let all: Vec<Vec<(f64, Variance)>> = whole.iter().filter_map(cases).collect();
            let added_of = |cases: &Vec<(f64, Variance)>| {
                median(&cases.iter().map(|(own, seen)| seen.value - own).collect::<Vec<_>>())
            };
            let added = median(&all.iter().filter_map(added_of).collect::<Vec<_>>())?.max(0.0);
            let middle = |of: &dyn Fn(&(f64, Ratio)) -> f64| median(&ratios.iter().map(of).collect::<Vec<_>>());
            Some(Self {
                machine: machine.to_owned(),
                class,
                in_cycles,
                shared: Variance {
                    value: middle(&|(_, ratio)| ratio.shared)?,
                    degrees: middle(&|(degrees, _)| *degrees)?,
                },
                // For two runs, the variance is half of the square.
                shifts: pairs.iter().filter_map(|one| Some((2.0 * ratio(one)?.shared).sqrt())).collect(),
                added,
                factor: Variance {
                    value: middle(&|(_, ratio)| ratio.factor)?,
                    degrees: middle(&|(_, ratio)| ratio.degrees)?,
                },
            })
        };
        let units = Class::ALL.iter().flat_map(|class| [false, true].map(|in_cycles| of(*class, in_cycles)));
        units.flatten().filter(|seen| !seen.shifts.is_empty()).collect()
    }
}

/// The share of pairs of runs of the known machines that the interval contains. With it, machines that are left out lie in
/// theirs in 92 % or more in each class.
const COVERED: f64 = 0.85;

/// The weights that guests may have, in degrees of freedom.
const WEIGHTS: [f64; 2] = [2.0, 12.0];

/// What these tables predict for a guest that is not among them: each machine counts once.
fn usual<'a>(seen: &(impl Iterator<Item = &'a Seen> + Clone)) -> Vec<Usual> {
    let apart = |class: Class, in_cycles: bool| {
        let tables: Vec<&Seen> = seen.clone().filter(|one| one.class == class && one.in_cycles == in_cycles).collect();
        let [least, most] = WEIGHTS;
        // The more alike the tables are, the more they weigh.
        let alike = Variance::prior_of(&tables.iter().map(|one| one.shared).collect::<Vec<_>>());
        let degrees = alike.map_or(least, |alike| alike.degrees).clamp(least, most).round();
        let mut shifts: Vec<(f64, f64)> = Vec::new();
        for one in &tables {
            let all: usize = tables.iter().filter(|other| other.machine == one.machine).map(|of| of.shifts.len()).sum();
            shifts.extend(one.shifts.iter().map(|shift| (*shift, 1.0 / all as f64)));
        }
        shifts.sort_by(|one, other| one.0.total_cmp(&other.0));
        let all: f64 = shifts.iter().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let is_reached = |(_, weight): &&(f64, f64)| {
            below += weight;
            below >= COVERED * all
        };
        let (shift, _) = shifts.iter().find(is_reached).or(shifts.last())?;
        let deviation = shift / SQRT_2 / student::quantile_95(degrees);
        let of_machines = tables.iter().map(|one| {
            let same: Vec<&&Seen> = tables.iter().filter(|other| other.machine == one.machine).collect();
            let mean = |of: fn(&Seen) -> f64| same.iter().map(|one| of(one)).sum::<f64>() / same.len() as f64;
            Variance { value: mean(|one| one.factor.value), degrees: mean(|one| one.factor.degrees.min(12.0)).round() }
        });
        // A guest may be like the one whose runs differ most.
        let factor = of_machines.max_by(|one, other| one.value.total_cmp(&other.value));
        // A run has its threads and lines in one place each; threads that share nothing do not depend on the place.
        let added = match class {
            Class::NothingShared => 0.0,
            _ => median(&tables.iter().map(|one| one.added).collect::<Vec<_>>())?,
        };
        Some(Apart { added, factor: factor?, shared: Variance { value: deviation * deviation, degrees } })
    };
    let of = |class: &Class| Some(Usual { class: *class, ns: apart(*class, false)?, cycles: apart(*class, true)? });
    Class::ALL.iter().filter_map(of).collect()
}

/// Writes the table of guests.
fn lines(usual: &[Usual]) -> String {
    let apart = |Apart { added, factor, shared }: &Apart| {
        let [added, deviation] = [added, &shared.value].map(|of| of.sqrt());
        format!(
            "apart({added:.4}, [{:.1}, {:.1}], [{deviation:.4}, {:.1}])",
            factor.value, factor.degrees, shared.degrees
        )
    };
    let line = |one: &Usual| format!("{:?}: ns {}, cycles {}\n", one.class, apart(&one.ns), apart(&one.cycles));
    usual.iter().map(line).collect()
}

#[test]
fn stored_runs_hold_each_other() {
    let ([coverage, compared], after, usual) = studied(NEIGHBOURS);
    for (name, text) in [("coverage.csv", coverage), ("compared.csv", compared), ("coverage.svg", plot(&after))] {
        if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
            fs::write(folder().join(name), &text).unwrap();
        }
        let found = fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(
            found == text,
            "{name} is not what the tables say: SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report --test calibration"
        );
    }
    assert_eq!(lines(&usual), lines(&GUESTS), "crates/core/src/run/guests.rs is not what the tables say");
}

#[test]
#[ignore = "half a minute, for people to read: cargo test -p syncscope-report --test calibration -- --ignored --nocapture"]
fn all_pairs() {
    let ([coverage, compared], ..) = studied(usize::MAX);
    println!("{coverage}\n{compared}");
}
