//! `syncscope paper EXPERIMENT`: repeats an experiment of a paper. Its directory has `run.json` as `run` writes it, the
//! experiment's tables, and the page.

use std::path::Path;
use std::time::{Instant, SystemTime};

use syncscope_core::Run;
use syncscope_core::run::{Status, timestamp};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::session::Limits;
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
use crate::terminal::cancel_on_signal;
use crate::{runs, terminal};

/// Measures, writes the directory and shows the results of the experiment.
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
    let limits = Limits { cancel: cancel_on_signal(), deadline: None };
    let measured = follow(plan, (&mut laboratories, true), (&directory, seed, &limits), &Step::Other, &mut progress);
    progress.finish();
    let mut measured = measured?;
    if measured.cut.is_some() && measured.text.is_empty() {
        terminal::note(&"interrupted before anything was measured");
        return Ok(Outcome::Interrupted);
    }
    measured.warnings.extend(start.change(&laboratories));
    let record = start.ended(&laboratories);
    run.disturbed = provenance::disturbed(&record, &run);
    terminal::warnings(&measured.warnings);
    terminal::warnings(&run.disturbed);
    terminal::show(&measured.text.trim_end())?;
    run.warnings.extend(measured.warnings);
    run.sessions.push(record);
    run.status = if measured.cut.is_some() { Status::Interrupted } else { Status::Done };
    run.ended = Some(timestamp(SystemTime::now()));
    directory.write_run(&run)?;
    let (data, sections) = syncscope_papers::load_with_sections(&path, catalogue())?;
    write_of_run(&directory, &data, &sections)?;
    let Some(cut) = measured.cut else { return Ok(Outcome::Done) };
    terminal::note(&format!("interrupted: {cut}"));
    Ok(Outcome::Interrupted)
}

/// Repeats the experiments that the directory of a run lacks, with their usual options, on GPUs only if the run measures some.
/// Returns how the run ends, and what is missing for a reason other than its limits.
pub(super) fn measure_missing(
    laboratories: &mut Laboratories,
    (directory, run): (&RunDirectory, &Run),
    limits: &Limits,
    progress: &mut Progress,
) -> (Status, Vec<String>) {
    let on_gpus = run.planned_by_primitive.keys().any(|id| ["gpu.", "hybrid."].iter().any(|side| id.starts_with(side)));
    let mut measure = |name: &str, progress: &mut Progress| {
        if let Some(reason) = board::instructions().without_experiments.get(name) {
            return Err(Failure::CouldNot(format!("`syncscope paper {name}`: {reason}")));
        }
        let step = Step::Experiment(name.to_owned());
        board::begin(&step);
        let usual = Asked::usual(name).map_err(|error| Failure::CouldNot(error.to_string()))?;
        let (_, plan) = usual.plan().map_err(Failure::Usage)?;
        if plan.without_gpu.is_none() {
            can_measure(&plan, laboratories)?;
            if !on_gpus {
                let what =
                    format!("`syncscope paper {name}` measures a GPU, and this run measures none: use the command");
                return Err(Failure::CouldNot(what));
            }
        }
        follow(plan, (laboratories, on_gpus), (directory, run.seed, limits), &step, progress)
    };
    let is_there = |experiment: &Experiment| {
        matches!((experiment.read)(directory, run, &mut Vec::new()), Ok(Some(_))) && (experiment.is_whole)(directory)
    };
    let (mut status, mut warnings) = (Status::Done, Vec::new());
    for Experiment { name, .. } in EXPERIMENTS.iter().filter(|experiment| !is_there(experiment)) {
        let cut = if limits.end(Instant::now()).is_some() {
            Some("had no time left".to_owned())
        } else {
            let measured = measure(name, progress)
                .unwrap_or_else(|error| Measured { warnings: vec![error.to_string()], ..Measured::default() });
            warnings.extend(measured.warnings);
            measured.cut.map(|cut| format!("was cut short ({cut})"))
        };
        if let Some(cut) = cut {
            status = limits.end(Instant::now()).unwrap_or(status);
            progress
                .suspend(|| terminal::note(&format!("`syncscope paper {name}` {cut}; the command measures all of it")));
        }
    }
    (status, warnings)
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
    (laboratories, on_gpus): (&mut Laboratories, bool),
    (directory, seed, limits): (&RunDirectory, u64, &Limits),
    step: &Step,
    progress: &mut Progress,
) -> Result<Measured, Failure> {
    let mut show = |text: &str| {
        // Tell the supervisor that it has not hung.
        board::begin(step);
        progress.show(text);
    };
    let mut bench = Bench {
        cpu: laboratories.cpu.as_ref(),
        gpu: laboratories.gpu.as_mut().ok().filter(|_| on_gpus),
        directory,
        seed,
        limits,
        progress: &mut show,
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
        let run = Run { planned_by_primitive: [("cpu.lock.mcs".to_owned(), 1)].into(), ..Run::default() };
        let mut measure = |limits: &Limits| {
            measure_missing(&mut laboratories, (&directory, &run), limits, &mut Progress::new("experiments"))
        };
        let limits = Limits::default();
        limits.cancel.cancel();
        assert_eq!(measure(&limits), (Status::Interrupted, Vec::new()));
        let spent = Limits { deadline: Some(Instant::now()), ..Limits::default() };
        assert_eq!(measure(&spent), (Status::BudgetSpent, Vec::new()));
        let (status, missing) = measure(&Limits::default());
        assert_eq!(
            (status, missing.len()),
            (Status::Done, EXPERIMENTS.len() - 1),
            "the clocks of the CPU can be compared"
        );
        assert!(missing.iter().all(|text| text.contains("measures a CUDA device")), "{missing:?}");
        // Nothing else is missing.
        assert_eq!(measure(&spent), (Status::BudgetSpent, Vec::new()));
        assert!((EXPERIMENTS[0].is_whole)(&directory));
    }
}
