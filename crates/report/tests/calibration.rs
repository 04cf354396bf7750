//! The calibration study: does the interval that a run quotes hold the figure of another run? `results/calibration/*.csv.gz` has
//! the figures of many runs, a table for each machine and session, made by `scripts/calibration`. Each pair of neighbouring runs is
//! left out once: the intervals of each, with and without a history of the rest, are tested on the other, those in cycles less what the
//! class has in common; and the two are compared.
//!
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report --test calibration` writes `coverage.csv`, `compared.csv` and `coverage.svg`
//! there. The ignored test shows the first two of all pairs.
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
use syncscope_core::run::history::{BetweenRuns, History};
use syncscope_core::run::provenance::Tool;
use syncscope_core::stats::{Interval, median};
use syncscope_core::{Case, Class, Cycles, Nanoseconds, Row, Run, Verdict};
use syncscope_report::{Change, ComparedCase, Damage, RunData, compare};

use common::{catalogue, folder, runs, tables};

/// A class whose costs differ by more between two runs is in another state of the machine: 10 %, of logarithms.
const ANOTHER_STATE: f64 = 0.1;

/// A run and each of so many that follow it are a pair.
const NEIGHBOURS: usize = 2;

/// These rows of a run with the intervals that it quotes where this is known of other runs, without the details.
fn quoted(run: &RunData, rows: Vec<Row>, between_runs: Vec<BetweenRuns>) -> RunData {
    let mut quoted = RunData {
        name: run.name.clone(),
        run: Run { between_runs, ..run.run.clone() },
        rows,
        details: HashMap::new(),
        damage: Damage::default(),
        catalogue: Arc::clone(&run.catalogue),
    };
    another_run::derive(&mut quoted.rows, &run.details, &run.catalogue, &quoted.run.between_runs);
    quoted
}

/// What became of a prediction.
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

/// The predictions of a run, tested on another one; of classes in one state.
fn tested(run: &RunData, other: &RunData) -> Vec<Tested> {
    let of_other = resolved(other);
    let mut classes: BTreeMap<Class, Vec<(&Row, &Row)>> = BTreeMap::new();
    for (case, row) in resolved(run) {
        let class = run.catalogue.facts(&case.primitive).map(|facts| facts.class_of(case));
        // On CPUs, of rows that several processes measured; those of devices have the interval within the run.
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
    // Hand-offs say whether the threads are at other places.
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
                // The interval of a device is that of this run's figure. The other run's has as much of its own.
                let times = if class == Class::Device { SQRT_2 } else { 1.0 };
                let held = interval.contains(at + (there / shift.exp() - at) / times);
                let half_width = interval.half_width() / at;
                found.push(Tested { class, unit, case: row.case.to_string(), held, half_width });
            }
        }
    }
    found
}

/// By class and unit, the predictions of each case.
type Cases = BTreeMap<(Class, &'static str), BTreeMap<String, Vec<Tested>>>;

/// What the runs of a table say of each other.
#[derive(Default)]
struct Study {
    /// What became of the predictions without a history, and with one of the other runs.
    tested: [Cases; 2],
    pairs: usize,
    /// How many cases that both runs resolved became what.
    changes: BTreeMap<Change, usize>,
    /// Of the planted delays of one thread, and of several: how many are found, and of how many.
    delays: [[usize; 2]; 2],
}

impl Study {
    fn of(runs: &[RunData], neighbours: usize) -> Self {
        let mut study = Self::default();
        for (at, first) in runs.iter().enumerate() {
            for second in runs[at + 1..].iter().take(neighbours) {
                let mut history = History::default();
                let rest = runs.iter().filter(|run| ![&first.name, &second.name].contains(&&run.name));
                rest.for_each(|run| history.add(&run.run.started, &run.rows));
                let after =
                    |run: &RunData| quoted(run, run.rows.clone(), history.between_runs(&run.rows, &run.catalogue));
                let (a, b) = (after(first), after(second));
                study.test(first, &a, second);
                study.test(second, &b, first);
                study.compare(&a, &b);
                if second.name == runs[at + 1].name {
                    study.find_delays(&a, second);
                }
            }
        }
        study
    }

    /// Tests the predictions of a run, and those that it makes after others.
    fn test(&mut self, run: &RunData, after: &RunData, other: &RunData) {
        // Of a class that no other run has in this state, nothing is known but its processes.
        let is_known = |class| after.run.between_runs.iter().any(|between| between.class == class);
        let after = tested(after, other).into_iter().filter(|tested| is_known(tested.class)).collect();
        for (into, found) in self.tested.iter_mut().zip([tested(run, other), after]) {
            for tested in found {
                let of_class = into.entry((tested.class, tested.unit)).or_default();
                of_class.entry(tested.case.clone()).or_default().push(tested);
            }
        }
    }

    fn compare(&mut self, a: &RunData, b: &RunData) {
        self.pairs += 1;
        for case in compare(a, b, 0.05).cases.iter().filter(|case| is_resolved(case)) {
            *self.changes.entry(case.change).or_default() += 1;
        }
    }

    /// Whether the delays in another build are found, of which is known what is known of the first.
    fn find_delays(&mut self, a: &RunData, second: &RunData) {
        let mut b = quoted(second, second.rows.iter().map(with_delay).collect(), a.run.between_runs.clone());
        b.run.tool = Some(Tool { binary: Some("another".to_owned()), ..Tool::default() });
        let comparison = compare(a, &b, 0.0);
        for case in comparison.cases.iter().filter(|case| is_resolved(case) && is_delayed(case.a)) {
            let [found, all] = &mut self.delays[usize::from(case.a.case.threads != Some(1))];
            *found += usize::from(case.change == Change::Slower);
            *all += 1;
        }
    }
}

fn is_resolved(case: &ComparedCase<'_>) -> bool {
    [case.a, case.b].iter().all(|row| row.verdict == Verdict::Resolved && row.run_to_run.is_some())
}

/// Coverage, and the median half width.
fn summary<'a>(tested: impl Iterator<Item = &'a Tested>) -> (usize, f64, f64) {
    let (held, widths): (Vec<bool>, Vec<f64>) = tested.map(|one| (one.held, one.half_width)).unzip();
    let covered = held.iter().filter(|held| **held).count() as f64 / held.len() as f64;
    (held.len(), covered, median(&widths).unwrap())
}

/// Every fourth case.
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

/// Coverage of each case against the median half width of its interval.
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
    // Each class in one unit, which is cycles where threads share nothing.
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

/// The two tables, and the predictions with a history.
fn studied(neighbours: usize) -> ([String; 2], Cases) {
    let catalogue = catalogue();
    let mut coverage = "table,history,class,unit,cases,predictions,coverage,median_half_width\n".to_owned();
    let mut together = [Cases::new(), Cases::new()];
    let mut compared =
        "table,pairs,same,slower,faster,another_state,undecided,delays_of_3_percent,found,delays_of_10_percent,found\n"
            .to_owned();
    let mut all = |name: &str, found: &[Cases; 2]| {
        for (history, cases) in ["none", "others"].iter().zip(found) {
            for ((class, unit), of) in cases {
                let (all, held, half) = summary(of.values().flatten());
                let cases = of.len();
                writeln!(coverage, "{name},{history},{class},{unit},{cases},{all},{held:.3},{half:.4}").unwrap();
            }
        }
    };
    for (name, path) in tables() {
        let Study { tested, pairs, changes, delays } = Study::of(&runs(&path, &catalogue), neighbours);
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
        writeln!(compared, "{name},{counted},{one},{found},{several},{found_too}").unwrap();
        assert!(100 * (slower + faster) <= same + slower + faster + undecided, "{name}: {changes:?}");
    }
    all("all", &together);
    let [_, after] = together;
    ([coverage, compared], after)
}

#[test]
fn stored_runs_hold_each_other() {
    let ([coverage, compared], after) = studied(NEIGHBOURS);
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
}

#[test]
#[ignore = "half a minute, for people to read: cargo test -p syncscope-report --test calibration -- --ignored --nocapture"]
fn all_pairs() {
    let ([coverage, compared], _) = studied(usize::MAX);
    println!("{coverage}\n{compared}");
}
