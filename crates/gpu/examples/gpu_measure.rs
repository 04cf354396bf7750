//! Measures a plan on the first device and prints it as `measurements.csv` would hold it:
//! `gpu_measure [quick|standard] [PART OF AN ID]`. What happens meanwhile goes to stderr.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use syncscope_core::Settings;
use syncscope_core::machine::Environment;
use syncscope_core::run::columns::COLUMNS;
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Engine, Laboratory, Preset, Row, Verdict};
use syncscope_gpu::GpuLaboratory;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gpu_measure: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let preset = arguments.first().map_or(Ok(Preset::Quick), |word| word.parse())?;
    let wanted = arguments.get(1).map_or("", String::as_str);

    let started = Instant::now();
    let mut laboratory = GpuLaboratory::open(None)?;
    eprintln!("opened in {:?}: {:#?}", started.elapsed(), laboratory.machine());
    let mut environment = Environment::default();
    laboratory.describe(&mut environment);
    eprintln!("{environment:#?}");

    let mut cases = laboratory.plan(preset);
    cases.retain(|case| case.primitive.contains(wanted));
    let compiling = Instant::now();
    laboratory.prepare(&cases, &mut |done, all| eprintln!("compiled {done} of {all}"));
    eprintln!("prepared in {:?}; warnings: {:?}", compiling.elapsed(), laboratory.warnings());

    let measuring = Instant::now();
    println!("{}", COLUMNS.map(|column| column.name).join(","));
    for case in &cases {
        let case_started = Instant::now();
        println!("{}", line(&row_of(&mut laboratory, case)?));
        if case_started.elapsed() > Duration::from_secs(1) {
            eprintln!("{case} took {:?}", case_started.elapsed());
        }
    }
    eprintln!("{} cases in {:?}, all in {:?}", cases.len(), measuring.elapsed(), started.elapsed());
    Ok(())
}

fn row_of(laboratory: &mut GpuLaboratory, case: &Case) -> Result<Row, Box<dyn Error>> {
    let rule = PrecisionRule { precision: 0.005, min_pairs: 8, max_pairs: 40, max_time: Duration::from_millis(100) };
    let settings = Settings { sample: Duration::from_micros(100), noisy_above: 0.05, rule };
    Ok(match laboratory.experiment(case) {
        Ok(mut experiment) => {
            let measurement = Engine::new(settings, Cancel::new()).measure(experiment.as_mut(), case.id().number())?;
            Row::measured(case.clone(), &measurement)
        }
        Err(refusal) => Row::unmeasured(case.clone(), Verdict::Failed(refusal.to_string())),
    })
}

/// The row as a line; cells that hold commas are quoted.
fn line(row: &Row) -> String {
    let quoted = |cell: &str| if cell.contains([',', '"']) { format!("{cell:?}") } else { cell.to_owned() };
    row.to_record().iter().map(quoted).collect::<Vec<_>>().join(",")
}
