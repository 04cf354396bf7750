//! `syncscope paper EXPERIMENT`: repeats an experiment of a paper. Its directory has `run.json` as `run` writes it, the experiment's
//! tables, and the page.

use std::path::Path;
use std::time::SystemTime;

use syncscope_core::run::{Status, timestamp};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Cancel, Run};
use syncscope_papers::{Asked, Bench, EXPERIMENTS, Experiment, Measured, Plan};

use crate::args::PaperCommand;
use crate::catalogue::catalogue;
use crate::commands::begun_run::default_directory;
use crate::commands::report::write_of_run;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::provenance::{self, SessionStart};
use crate::supervisor::board::{self, Step};
use crate::{runs, terminal};

/// Measures, writes the directory and shows what the experiment gave.
pub(crate) fn paper(command: PaperCommand) -> Result<Outcome, Failure> {
    match command {
        PaperCommand::Of(asked) => measure(asked),
        PaperCommand::Reductions { run } => reductions(&run),
    }
}

/// Shows what the costs in the rows of a run say about its reductions.
fn reductions(run: &Path) -> Result<Outcome, Failure> {
    let data = runs::load_rows(run)?;
    let section = syncscope_papers::reductions::section(&data.rows).ok_or_else(|| {
        Failure::Usage(format!(
            "the run in {} has no reductions with known costs; `syncscope run --preset paper --only '*.reduction.*' \
             --only '*.barrier.*' --only 'gpu.grid.*' --only 'gpu.launch.*' --only '*.atomic.max'` measures both",
            run.display()
        ))
    })?;
    terminal::show(&section.to_string().trim_end())
}

fn measure(asked: Asked) -> Result<Outcome, Failure> {
    let (common, plan) = asked.plan().map_err(Failure::Usage)?;
    let name = plan.name;
    let mut laboratories = Laboratories::open(common.device.as_ref().map(std::slice::from_ref))?;
    can_measure(&plan, &laboratories)?;
    let path = common.out.unwrap_or_else(|| default_directory(name));
    let directory = RunDirectory::create_for_experiment(&path)?;
    let seed = fastrand::u64(..);
    let mut run = provenance::new_run(name, seed, &laboratories);
    let _lock = directory.lock_unused()?;
    directory.write_run(&run)?;
    terminal::warnings(&run.warnings);
    terminal::warnings(laboratories.load_warning().as_slice());
    let start = SessionStart::now(&laboratories);
    let mut progress = Progress::new(name);
    let measured = follow(plan, &mut laboratories, &directory, seed, &mut progress);
    progress.finish();
    let measured = measured?;
    let record = start.ended(&laboratories);
    let warnings: Vec<String> = measured.warnings.into_iter().chain(provenance::warnings(&record, &run)).collect();
    terminal::warnings(&warnings);
    terminal::show(&measured.text.trim_end())?;
    run.warnings.extend(warnings);
    run.sessions.push(record);
    (run.status, run.ended) = (Status::Done, Some(timestamp(SystemTime::now())));
    directory.write_run(&run)?;
    let (data, sections) = syncscope_papers::load_with_sections(&path, catalogue())?;
    write_of_run(&directory, &data, &sections)?;
    Ok(Outcome::Done)
}

/// Repeats the experiments that the directory of a run lacks, with their usual options. Returns whether it was interrupted before
/// the last one, and what is missing for another reason.
pub(super) fn measure_missing(
    laboratories: &mut Laboratories,
    directory: &RunDirectory,
    run: &Run,
    cancel: &Cancel,
    progress: &mut Progress,
) -> (Status, Vec<String>) {
    let mut measure = |Experiment { name, .. }: &Experiment| {
        if let Some(reason) = board::instructions().without_experiments.get(*name) {
            return Err(Failure::CouldNot(format!("`syncscope paper {name}`: {reason}")));
        }
        board::begin(&Step::Experiment((*name).to_owned()));
        let usual = Asked::usual(name).map_err(|error| Failure::CouldNot(error.to_string()))?;
        let (_, plan) = usual.plan().map_err(Failure::Usage)?;
        can_measure(&plan, laboratories)?;
        follow(plan, laboratories, directory, run.seed, progress)
    };
    let is_there = |experiment: &Experiment| matches!((experiment.read)(directory, run, &mut Vec::new()), Ok(Some(_)));
    let mut warnings = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(|experiment| !is_there(experiment)) {
        if cancel.is_cancelled() {
            return (Status::Interrupted, warnings);
        }
        warnings.extend(measure(experiment).map_or_else(|error| vec![error.to_string()], |it| it.warnings));
    }
    (Status::Done, warnings)
}

fn can_measure(plan: &Plan, laboratories: &Laboratories) -> Result<(), Failure> {
    let (name, true, Err(error)) = (plan.name, plan.needs_gpu, &laboratories.gpu) else { return Ok(()) };
    let alternative = plan.without_gpu.map_or_else(String::new, |alternative| format!("; {alternative}"));
    Err(Failure::CouldNot(format!(
        "`syncscope paper {name}` measures a CUDA device of compute capability 7.5 or later: {error}{alternative}"
    )))
}

fn follow(
    plan: Plan,
    laboratories: &mut Laboratories,
    directory: &RunDirectory,
    seed: u64,
    progress: &mut Progress,
) -> Result<Measured, Failure> {
    let mut bench = Bench {
        cpu: laboratories.cpu.as_ref(),
        gpu: laboratories.gpu.as_mut().ok(),
        directory,
        seed,
        progress: &mut |text| progress.show(text),
    };
    (plan.measure)(&mut bench).map_err(|error| Failure::CouldNot(format!("`syncscope paper {}`: {error}", plan.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_leaves_experiments_and_without_a_gpu_all_of_them_are_tried() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
        let mut laboratories = Laboratories::open_without_gpu(syncscope_core::OwnCode::default()).unwrap();
        let cancel = Cancel::new();
        let mut measure = || {
            measure_missing(&mut laboratories, &directory, &Run::default(), &cancel, &mut Progress::new("experiments"))
        };
        let (status, missing) = measure();
        assert_eq!((status, missing.len()), (Status::Done, EXPERIMENTS.len()));
        cancel.cancel();
        assert_eq!(measure(), (Status::Interrupted, Vec::new()));
    }
}
