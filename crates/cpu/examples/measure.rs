//! Measures the CPU's quick plan twice and prints what a developer of this crate wants to see: every figure, how sure it
//! is, and how far the two runs agree.
//!
//! `cargo run --release -p syncscope-cpu --example measure [quick|standard|paper] [part of an id]`

#![allow(clippy::print_stdout, reason = "the output of an example is its purpose")]

use std::error::Error;
use std::time::{Duration, Instant};

use syncscope_core::Settings;
use syncscope_core::stats::median;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Engine, Laboratory, Measurement, Preset, Refusal, Row, Verdict};
use syncscope_cpu::CpuLaboratory;

fn settings() -> Settings {
    Settings {
        sample: Duration::from_micros(100),
        noisy_above: 0.05,
        rule: PrecisionRule { precision: 0.01, min_pairs: 12, max_pairs: 200, max_time: Duration::from_millis(100) },
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let preset: Preset = arguments.next().as_deref().unwrap_or("quick").parse()?;
    let part = arguments.next().unwrap_or_default();
    let mut laboratory = CpuLaboratory::open()?;
    println!("{}\n{:?}", laboratory.topology(), laboratory.clock());
    laboratory.warnings().iter().for_each(|warning| println!("warning: {warning}"));
    let mut cases = laboratory.plan(preset);
    cases.retain(|case| case.to_string().contains(&part));
    let started = Instant::now();
    let first = measure_all(&mut laboratory, &cases)?;
    println!("{} cases in {:.1?}", cases.len(), started.elapsed());
    let second = measure_all(&mut laboratory, &cases)?;
    summarize(&first, &second);
    Ok(())
}

fn measure_all(laboratory: &mut CpuLaboratory, cases: &[Case]) -> Result<Vec<(Row, Measurement)>, Box<dyn Error>> {
    let engine = Engine::new(settings(), Cancel::new());
    let mut measure = |case: &Case| {
        let mut experiment = match laboratory.experiment(case) {
            Ok(experiment) => experiment,
            Err(Refusal::Skipped(reason)) => {
                println!("{case}: skipped, {reason}");
                return Ok(None);
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let measurement = engine.measure(experiment.as_mut(), case.id().number())?;
        let row = Row::measured(case.clone(), &measurement);
        print_row(&row);
        Ok(Some((row, measurement)))
    };
    cases.iter().filter_map(|case| measure(case).transpose()).collect()
}

fn print_row(row: &Row) {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let interval = row.ns_interval.map_or("-".to_owned(), |interval| {
        let point = row.ns.map_or(f64::NAN, syncscope_core::Nanoseconds::value);
        format!("{:.2} %", interval.half_width() / point * 100.0)
    });
    println!(
        "{:58} {:>10} ns +/- {interval:>8} {:>10} cycles  noise {:>6} pairs {:>3} aside {:>2} it {:>6} fast {:>9} {:?} {} {}",
        row.case.to_string(),
        number(row.ns.map(syncscope_core::Nanoseconds::value)),
        number(row.cycles.map(syncscope_core::Cycles::value)),
        number(row.noise),
        row.pairs.unwrap_or_default(),
        row.excluded.unwrap_or_default(),
        row.iterations.unwrap_or_default(),
        number(row.fastest_ns.map(syncscope_core::Nanoseconds::value)),
        row.check,
        row.verdict.name(),
        row.explanation(),
    );
}

fn summarize(first: &[(Row, Measurement)], second: &[(Row, Measurement)]) {
    let noises: Vec<f64> = first.iter().filter_map(|(row, _)| row.noise).collect();
    let resolved = first.iter().filter(|(row, _)| row.verdict == Verdict::Resolved).count();
    let (mut differences, mut cycle_differences, mut overlaps) = (Vec::new(), Vec::new(), 0);
    for ((one, _), (two, _)) in first.iter().zip(second) {
        let (Some(a), Some(b), Some(x), Some(y)) = (one.ns, two.ns, one.ns_interval, two.ns_interval) else { continue };
        let difference = (a.value() - b.value()).abs() / a.value();
        differences.push(difference);
        if let (Some(a), Some(b)) = (one.cycles, two.cycles) {
            cycle_differences.push((a.value() - b.value()).abs() / a.value());
        }
        let overlap = x.low <= y.high && y.low <= x.high;
        overlaps += usize::from(overlap);
        if difference > 0.05 {
            println!("differs by {:.0} %: {}  {a:.2} {b:.2}", difference * 100.0, one.case);
        }
    }
    let within = |bound: f64| differences.iter().filter(|difference| **difference <= bound).count();
    println!("resolved {resolved} of {}, median noise {:?}", first.len(), median(&noises));
    println!(
        "two runs: median difference {:?} ({:?} in cycles), within 1 %: {}, within 5 %: {}, overlapping intervals: {overlaps}, of {}",
        median(&differences),
        median(&cycle_differences),
        within(0.01),
        within(0.05),
        differences.len()
    );
}
