//! `syncscope crosscheck`: one cost by two clocks, as in table 1 of Zhang, Wahib, Matsuoka.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use syncscope_core::PublishedExperiment;
use syncscope_core::published::crosscheck::findings::{INSTRUCTION_BYTES, instruction_cache, objections};
use syncscope_core::published::crosscheck::{Crosscheck, CrosscheckRow};
use syncscope_core::run::Status;

use super::experiment_run::{ExperimentRun, needed_gpu};
use crate::args::CrosscheckArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::terminal;

/// Measures, writes the directory, and shows the table.
pub(crate) fn crosscheck(arguments: &CrosscheckArguments) -> Result<Outcome, Failure> {
    const EXPERIMENT: PublishedExperiment = PublishedExperiment::Crosscheck;
    let mut laboratories = Laboratories::open(arguments.experiment.devices().as_deref())?;
    needed_gpu(EXPERIMENT, &mut laboratories)?;
    let seed = fastrand::u64(..);
    let mut run = ExperimentRun::begin(EXPERIMENT, arguments.experiment.out.as_deref(), seed, &laboratories)?;
    let mut progress = |next: &str| terminal::note(&format!("measuring: {next}"));
    let gpu = needed_gpu(EXPERIMENT, &mut laboratories)?.crosscheck(seed, &mut progress);
    let gpu = gpu.map_err(|error| Failure::CouldNot(error.to_string()))?;
    progress("CPU");
    let cpu = laboratories.cpu.as_ref().map(|cpu| cpu.crosscheck(seed)).unwrap_or_default();
    let crosscheck = Crosscheck::of(&[gpu.series, cpu].concat());
    crosscheck.write(run.directory())?;
    gpu.missing.into_iter().for_each(|reason| run.warn(reason));
    terminal::show(&table(&crosscheck.rows))?;
    terminal::show(&summary(&crosscheck.rows))?;
    run.finish(Status::Done, &laboratories)
}

const HEADINGS: [&str; 10] = [
    "operation",
    "form",
    "threads",
    "repeat difference",
    "from outside",
    "± (formula 2)",
    "inside, whole",
    "inside, difference",
    "outside / inside",
    "pairs",
];

/// Cycles of one operation by both clocks.
fn table(rows: &[CrosscheckRow]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(HEADINGS);
    for row in rows {
        let cycles = |value: Option<f64>| value.map(|cycles| format!("{cycles:.3}")).unwrap_or_default();
        table.add_row([
            row.operation.to_string(),
            row.form.to_string(),
            row.threads.map(|threads| threads.to_string()).unwrap_or_default(),
            row.difference().to_string(),
            cycles(row.inferred_cycles),
            cycles(row.inferred_deviation_cycles),
            cycles(row.inside_whole_cycles),
            cycles(row.inside_cycles),
            row.disagreement().map(|part| format!("{:+.2} %", 100.0 * part)).unwrap_or_default(),
            row.pairs.to_string(),
        ]);
    }
    for index in 2..HEADINGS.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Where the instruction cache ends, and what is wrong with rows.
fn summary(rows: &[CrosscheckRow]) -> String {
    let cache = match instruction_cache(rows) {
        Some(found) => format!(
            "instruction cache: {} additions ({} KiB of code) cost {:.2} cycles each, {} cost more, {:.2} in the longest body",
            found.fits,
            found.fits * INSTRUCTION_BYTES / 1024,
            found.cached_cycles,
            found.exceeds,
            found.beyond_cycles
        ),
        None => "instruction cache: no body was long enough to leave it".to_owned(),
    };
    let wrong = rows.iter().filter(|row| !objections(row).is_empty()).count();
    format!("{cache}\n{wrong} of {} rows disagree with the other clock or a known cost", rows.len())
}
