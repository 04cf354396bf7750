//! The calibration study: does the interval that a run quotes hold the figure of another run? `results/calibration/*.csv.gz` has
//! the figures of many runs, a table for each machine and session, made by `scripts/calibration`. Each run is left out once; the
//! intervals of the others, with and without a history of the rest, are tested on it, less what the class has in common.
//!
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-report --test calibration` writes `coverage.csv` and `coverage.svg` there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a test needs and does not get fails the test"
)]

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::SQRT_2;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::StringRecord;
use flate2::read::GzDecoder;
use syncscope_core::run::another_run;
use syncscope_core::run::columns::COLUMNS;
use syncscope_core::run::fingerprint::{Chosen, figure_of};
use syncscope_core::run::history::History;
use syncscope_core::run::provenance::Tool;
use syncscope_core::stats::{Interval, median};
use syncscope_core::{Case, CaseId, Catalogue, Class, Cycles, Detail, Nanoseconds, Row, Run, Verdict};
use syncscope_report::{Change, Damage, RunData, compare};

/// A class whose costs differ by more between two runs is in another state of the machine: 10 %, of logarithms.
const ANOTHER_STATE: f64 = 0.1;

/// Each run is tested on so many others, the next ones in time: all pairs would take minutes.
const NEIGHBOURS: usize = 4;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/calibration")
}

fn catalogue() -> Arc<Catalogue> {
    let all = [syncscope_cpu::catalogue(), syncscope_gpu::primitives()].concat();
    Arc::new(all.into_iter().collect())
}

/// The rows of a run and their details.
type Tables = (Vec<Row>, HashMap<CaseId, Vec<Detail>>);

/// The runs of a table, by the time when they started, each as its files had it.
fn runs(path: &Path, catalogue: &Arc<Catalogue>) -> Vec<RunData> {
    let mut reader = csv::Reader::from_reader(GzDecoder::new(File::open(path).unwrap()));
    let names = reader.headers().unwrap().clone();
    let mut runs: BTreeMap<String, Tables> = BTreeMap::new();
    for line in reader.records().map(Result::unwrap) {
        let cell = |name: &str| names.iter().position(|one| one == name).map_or("", |at| &line[at]);
        let record: StringRecord = COLUMNS.iter().map(|column| cell(column.name)).collect();
        let row = Row::from_record(&record).unwrap();
        let (rows, details) = runs.entry(cell("started").to_owned()).or_default();
        for name in [Detail::PROCESS_NS, Detail::PROCESS_CYCLES] {
            let numbers = (0..).zip(cell(name).split('|')).filter_map(|(at, text)| Some((at, text.parse().ok()?)));
            let found = numbers.map(|(process, value): (u32, f64)| Detail::of_actor(name, process, value));
            details.entry(row.case.id()).or_insert_with(Vec::new).extend(found);
        }
        rows.push(row.clone().with_facts(catalogue.facts(&row.case.primitive)));
    }
    let run = |(started, (rows, details)): (String, Tables)| RunData {
        name: started.clone(),
        run: Run { started, tool: Some(Tool::default()), ..Run::default() },
        rows,
        details,
        sections: Vec::new(),
        damage: Damage::default(),
        catalogue: Arc::clone(catalogue),
    };
    runs.into_iter().map(run).collect()
}

/// A run with the intervals that it quotes after these others.
fn with_history(run: &RunData, others: &[&RunData]) -> RunData {
    let mut run = run.clone();
    another_run::derive(&mut run.rows, &run.details, &run.catalogue, &[]);
    let mut history = History::default();
    for other in others {
        history.add(&other.run.started, &other.rows);
    }
    run.run.between_runs = history.between_runs(&run.rows, &run.catalogue);
    another_run::derive(&mut run.rows, &run.details, &run.catalogue, &run.run.between_runs);
    run
}

/// What became of a prediction.
struct Tested {
    case: Case,
    held: bool,
    half_width: f64,
}

/// The predictions of a run, tested on another one, by class; of classes in one state.
fn tested(run: &RunData, other: &RunData) -> Vec<(Class, Tested)> {
    let resolved = |data: &RunData| -> HashMap<CaseId, Row> {
        let rows = data.rows.iter().filter(|row| row.verdict == Verdict::Resolved && row.ns_interval.is_some());
        rows.map(|row| (row.case.id(), row.clone())).collect()
    };
    let of_other = resolved(other);
    let mut classes: BTreeMap<Class, Vec<(Row, Row)>> = BTreeMap::new();
    for (id, row) in resolved(run) {
        let class = run.catalogue.facts(&row.case.primitive).map(|facts| facts.class_of(&row.case));
        // On CPUs, of rows that several processes measured; those of devices have the interval within the run.
        if let (Some(class), Some(there)) = (class, of_other.get(&id))
            && (row.run_to_run.is_some() || class == Class::Device)
        {
            classes.entry(class).or_default().push((row, there.clone()));
        }
    }
    let ns = |row: &Row| row.ns.map(Nanoseconds::value);
    let cycles = |row: &Row| row.cycles.map(Cycles::value);
    let shift = |pairs: &[(Row, Row)], value: &dyn Fn(&Row) -> Option<f64>| {
        median(&pairs.iter().filter_map(|(a, b)| Some((value(b)? / value(a)?).ln())).collect::<Vec<_>>())
    };
    // Hand-offs say whether the threads are at other places.
    let own: Vec<&Row> = run.rows.iter().filter(|row| of_other.contains_key(&row.case.id())).collect();
    let chosen = Chosen::of(&own, &run.catalogue);
    let handoffs = [false, true].map(|in_cycles| {
        let here = chosen.reading(|row, _| figure_of(row, in_cycles));
        let there = chosen.reading(|row, _| figure_of(of_other.get(&row.case.id())?, in_cycles));
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
            let by_cycles = row.cycles_interval.zip(cycles(&row)).zip(cycles(&there).zip(of_cycles));
            let (interval, at, there, shift) = match by_cycles.filter(|_| class == Class::NothingShared) {
                Some(((interval, at), (there, shift))) => (interval, at, there, shift),
                None => (row.ns_interval.unwrap(), ns(&row).unwrap(), ns(&there).unwrap(), of_ns),
            };
            // The interval of a device is that of this run's figure. The other run's has as much of its own.
            let times = if class == Class::Device { SQRT_2 } else { 1.0 };
            let held = interval.contains(at + (there / shift.exp() - at) / times);
            found.push((class, Tested { case: row.case, held, half_width: interval.half_width() / at }));
        }
    }
    found
}

type Cases = BTreeMap<(Class, String), Vec<Tested>>;

/// The predictions of the runs of a table, which have the intervals of their processes, without a history and with one of the other runs.
fn all_tested(runs: &[RunData]) -> [Cases; 2] {
    let mut found = [Cases::new(), Cases::new()];
    for (left_out, other) in runs.iter().enumerate() {
        for number in (1..runs.len()).map(|step| (left_out + step) % runs.len()).take(NEIGHBOURS) {
            let run = &runs[number];
            let rest = runs.iter().enumerate().filter(|(at, _)| *at != left_out && *at != number);
            let rest: Vec<&RunData> = rest.map(|(_, run)| run).collect();
            let after = with_history(run, &rest);
            // Of a class that no other run has in this state, nothing is known but its processes.
            let known: Vec<Class> = after.run.between_runs.iter().map(|between| between.class).collect();
            for (number, (into, run)) in found.iter_mut().zip([run, &after]).enumerate() {
                for (class, tested) in
                    tested(run, other).into_iter().filter(|(class, _)| number == 0 || known.contains(class))
                {
                    into.entry((class, tested.case.to_string())).or_default().push(tested);
                }
            }
        }
    }
    found
}

struct Line {
    class: Class,
    cases: usize,
    predictions: usize,
    coverage: f64,
    half_width: f64,
}

fn summary(cases: &Cases) -> Vec<Line> {
    let of_class = |class: Class| {
        let own: Vec<&Tested> = cases.iter().filter(|((of, _), _)| *of == class).flat_map(|(_, all)| all).collect();
        let held = own.iter().filter(|tested| tested.held).count();
        Some(Line {
            class,
            cases: cases.keys().filter(|(of, _)| *of == class).count(),
            predictions: own.len(),
            coverage: held as f64 / own.len() as f64,
            half_width: median(&own.iter().map(|tested| tested.half_width).collect::<Vec<_>>())?,
        })
    };
    Class::ALL.iter().copied().filter_map(of_class).collect()
}

/// How many resolved cases of a run and the next ones in a table became what.
fn compared(runs: &[RunData]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (number, a) in runs.iter().enumerate() {
        for (at, b) in runs.iter().enumerate().skip(number + 1).take(NEIGHBOURS) {
            let rest: Vec<&RunData> = runs
                .iter()
                .enumerate()
                .filter(|(other, _)| ![number, at].contains(other))
                .map(|(_, run)| run)
                .collect();
            let [a, b] = [a, b].map(|run| with_history(run, &rest));
            let comparison = compare(&a, &b, 0.05);
            let both = |case: &&syncscope_report::ComparedCase<'_>| {
                [case.a, case.b].iter().all(|row| row.verdict == Verdict::Resolved && row.run_to_run.is_some())
            };
            for case in comparison.cases.iter().filter(both) {
                *counts.entry(case.change.as_str()).or_default() += 1;
            }
            *counts.entry("pairs").or_default() += 1;
        }
    }
    counts
}

/// A run of another build, in which every fourth case of one thread costs 3 % more and every fourth contended one 10 %.
fn planted(run: &RunData) -> RunData {
    let mut run = run.clone();
    run.run.tool = Some(Tool { binary: Some("another".to_owned()), ..Tool::default() });
    for row in run.rows.iter_mut().filter(|row| is_planted(row)) {
        let factor = delay(row);
        let times = |interval: Interval| Interval { low: interval.low * factor, high: interval.high * factor };
        row.ns = row.ns.map(|ns| Nanoseconds(ns.value() * factor));
        row.cycles = row.cycles.map(|cycles| Cycles(cycles.value() * factor));
        (row.ns_within, row.cycles_within) = (row.ns_within.map(times), row.cycles_within.map(times));
        for detail in run.details.get_mut(&row.case.id()).into_iter().flatten() {
            detail.value *= factor;
        }
    }
    run
}

fn is_planted(row: &Row) -> bool {
    row.case.id().0.ends_with(['0', '4', '8', 'c'])
}

fn delay(row: &Row) -> f64 {
    if row.case.threads == Some(1) { 1.03 } else { 1.1 }
}

/// Of the planted delays of one thread, and of several: how many are found, and of how many.
fn found_of_planted(runs: &[RunData]) -> [[usize; 2]; 2] {
    let mut found = [[0; 2]; 2];
    for (number, a) in runs.iter().enumerate() {
        let b = &runs[(number + 1) % runs.len()];
        let rest: Vec<&RunData> = runs.iter().filter(|run| ![&a.name, &b.name].contains(&&run.name)).collect();
        let (a, b) = (with_history(a, &rest), planted(b));
        // The history of another build is another one: what is known of the first.
        let mut b = with_history(&b, &[]);
        b.run.between_runs.clone_from(&a.run.between_runs);
        another_run::derive(&mut b.rows, &b.details, &b.catalogue, &b.run.between_runs);
        for (several, threshold) in [(0, 0.01), (1, 0.0)] {
            let comparison = compare(&a, &b, threshold);
            let is_one = |case: &&syncscope_report::ComparedCase<'_>| {
                let resolved =
                    [case.a, case.b].iter().all(|row| row.verdict == Verdict::Resolved && row.run_to_run.is_some());
                resolved && is_planted(case.a) && (case.a.case.threads == Some(1)) == (several == 0)
            };
            for case in comparison.cases.iter().filter(is_one) {
                found[several][0] += usize::from(case.change == Change::Slower);
                found[several][1] += 1;
            }
        }
    }
    found
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
    for ((class, _), all) in cases {
        let held = all.iter().filter(|tested| tested.held).count() as f64 / all.len() as f64;
        let half = median(&all.iter().map(|tested| tested.half_width).collect::<Vec<_>>()).unwrap();
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

#[test]
fn stored_runs_hold_each_other() {
    let catalogue = catalogue();
    let mut tables: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.retain(|path| path.extension().is_some_and(|end| end == "gz"));
    tables.sort();
    let mut text = "table,history,class,cases,predictions,coverage,median_half_width\n".to_owned();
    let mut together = [Cases::new(), Cases::new()];
    let mut pairs =
        "table,pairs,same,slower,faster,another_state,undecided,delays_of_3_percent,found,delays_of_10_percent,found\n"
            .to_owned();
    let mut all = |name: &str, found: &[Cases; 2]| {
        for (history, cases) in ["none", "others"].iter().zip(found) {
            for Line { class, cases, predictions, coverage, half_width } in summary(cases) {
                writeln!(text, "{name},{history},{class},{cases},{predictions},{coverage:.3},{half_width:.4}").unwrap();
            }
        }
    };
    for path in &tables {
        let runs: Vec<RunData> = runs(path, &catalogue).iter().map(|run| with_history(run, &[])).collect();
        let name = path.file_name().unwrap().to_string_lossy().replace(".csv.gz", "");
        let found = all_tested(&runs);
        all(&name, &found);
        for (into, found) in together.iter_mut().zip(found) {
            for ((class, case), all) in found {
                into.entry((class, format!("{name} {case}"))).or_default().extend(all);
            }
        }
        let counts = compared(&runs);
        let of = |change: &str| counts.get(change).copied().unwrap_or(0);
        let [same, slower, faster] = [Change::Same, Change::Slower, Change::Faster].map(|change| of(change.as_str()));
        let [[found, one], [found_too, several]] = found_of_planted(&runs);
        let (states, undecided) = (of("another_state"), of("undecided"));
        let counted = format!("{},{same},{slower},{faster},{states},{undecided}", of("pairs"));
        writeln!(pairs, "{name},{counted},{one},{found},{several},{found_too}").unwrap();
        assert!(100 * (slower + faster) <= same + slower + faster + of("undecided"), "{name}: {counts:?}");
    }
    all("all", &together);
    for line in summary(&together[1]) {
        println!(
            "{}: {:.1} % of {}, ±{:.2} %",
            line.class,
            100.0 * line.coverage,
            line.predictions,
            100.0 * line.half_width
        );
    }
    let written = [("coverage.csv", text), ("compared.csv", pairs), ("coverage.svg", plot(&together[1]))];
    for (name, text) in written {
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
