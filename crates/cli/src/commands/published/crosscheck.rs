//! `syncscope crosscheck`: one cost by two clocks, as in table 1 of Zhang, Wahib, Matsuoka.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use syncscope_core::PublishedExperiment;
use syncscope_core::published::crosscheck::findings::{Agreement, INSTRUCTION_BYTES, instruction_cache, objections};
use syncscope_core::published::crosscheck::{Crosscheck, CrosscheckRow, CrosscheckSeries, Form};
use syncscope_core::run::Status;

use super::experiment_run::{ExperimentRun, needed_gpu, with_alternative};
use crate::args::{CrosscheckArguments, CrosscheckOn};
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::terminal;

const EXPERIMENT: PublishedExperiment = PublishedExperiment::Crosscheck;

/// Measures, writes the directory, and shows the table.
pub(crate) fn crosscheck(arguments: &CrosscheckArguments) -> Result<Outcome, Failure> {
    let mut laboratories = Laboratories::open(arguments.experiment.devices().as_deref())?;
    if arguments.on == CrosscheckOn::All {
        needed_gpu(EXPERIMENT, &mut laboratories)
            .map_err(|failure| with_alternative(failure, "`--on cpu` compares the clocks of the CPU alone"))?;
    }
    let seed = fastrand::u64(..);
    let mut run = ExperimentRun::begin(EXPERIMENT, arguments.experiment.out.as_deref(), seed, &laboratories)?;
    let (series, missing) = measured(arguments.on, seed, &mut laboratories)?;
    let crosscheck = Crosscheck::of(&series);
    crosscheck.write(run.directory())?;
    for reason in missing {
        run.warn(reason);
    }
    terminal::show(&"Cycles of one operation by both clocks")?;
    terminal::show(&table(&crosscheck.rows))?;
    terminal::show(&summary(&crosscheck.rows))?;
    run.finish(Status::Done, &laboratories)
}

/// All series, and why some are missing.
fn measured(
    on: CrosscheckOn,
    seed: u64,
    laboratories: &mut Laboratories,
) -> Result<(Vec<CrosscheckSeries>, Vec<String>), Failure> {
    let mut progress = |next: &str| terminal::note(&format!("measuring: {next}"));
    let (mut series, mut missing) = (Vec::new(), Vec::new());
    if on == CrosscheckOn::All {
        let gpu = needed_gpu(EXPERIMENT, laboratories)?.crosscheck(seed, &mut progress);
        let gpu = gpu.map_err(|error| Failure::CouldNot(error.to_string()))?;
        series.extend(gpu.series);
        missing.extend(gpu.missing);
    }
    progress("CPU");
    let cpu = laboratories.cpu.as_ref().map(|cpu| cpu.crosscheck(seed)).unwrap_or_default();
    if cpu.is_empty() && on == CrosscheckOn::Cpu {
        return Err(Failure::CouldNot("no chain of known cost is written for this CPU".to_owned()));
    }
    series.extend(cpu);
    Ok((series, missing))
}

const HEADINGS: [&str; 11] = [
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
    "disagrees",
];

/// The rows; those that disagree say why.
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
            objections(row).join("; "),
        ]);
    }
    for index in 2..HEADINGS.len() - 1 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Where the instruction cache ends, and which rows do not agree, and why.
fn summary(rows: &[CrosscheckRow]) -> String {
    let has_bodies = rows.iter().any(|row| row.form == Form::Body);
    let cache = match instruction_cache(rows) {
        Some(found) => format!(
            "instruction cache: {} additions ({} KiB of code) cost {:.2} cycles each, those of the shortest body {:.2}, {} cost more, {:.2} in the longest \
             body\n",
            found.fits,
            found.fits * INSTRUCTION_BYTES / 1024,
            found.fitting_cycles,
            found.cached_cycles,
            found.exceeds,
            found.beyond_cycles
        ),
        None if has_bodies => "instruction cache: no body was long enough to leave it\n".to_owned(),
        None => String::new(),
    };
    let agreement = |found: Agreement| {
        let lines = found.objections.iter().map(|objection| format!("\n  {objection}"));
        found.summary() + &lines.collect::<String>()
    };
    let agreements: Vec<String> = Agreement::of(rows).into_iter().map(agreement).collect();
    format!("{cache}{}", agreements.join("\n"))
}
