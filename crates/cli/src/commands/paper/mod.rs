//! `syncscope paper EXPERIMENT`: repeats an experiment of a paper. `experiment_run` is the directory that it writes.

mod experiment_run;

use clap::ArgMatches;
use syncscope_core::run::Status;
use syncscope_papers::{Bench, Experiment, Plan};

use self::experiment_run::{ExperimentRun, needed_gpu, with_alternative};
use crate::args::{ExperimentArguments, PaperCommand, ReductionsArguments};
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::{runs, terminal};

/// Measures, writes the directory and shows what the experiment gave.
pub(crate) fn paper(command: &PaperCommand) -> Result<Outcome, Failure> {
    match command {
        PaperCommand::Of(experiment, arguments, options) => measure(experiment, arguments, options),
        PaperCommand::Reductions(arguments) => reductions(arguments),
    }
}

/// Shows what the costs in the rows of a run say about its reductions.
fn reductions(arguments: &ReductionsArguments) -> Result<Outcome, Failure> {
    let data = runs::load_rows(&arguments.run)?;
    let section = syncscope_papers::reductions::section(&data.rows).ok_or_else(|| {
        Failure::Usage(format!(
            "the run in {} has no reductions with known costs; `syncscope run --preset paper --only '*.reduction.*' \
             --only '*.barrier.*' --only 'gpu.grid.*' --only 'gpu.launch.*' --only '*.atomic.max'` measures both",
            arguments.run.display()
        ))
    })?;
    terminal::show(&section.to_string().trim_end())?;
    Ok(Outcome::Done)
}

fn measure(experiment: &Experiment, arguments: &ExperimentArguments, options: &ArgMatches) -> Result<Outcome, Failure> {
    let Plan { needs_gpu, without_gpu, measure } = (experiment.plan)(options).map_err(Failure::Usage)?;
    let mut laboratories = Laboratories::open(arguments.devices().as_deref())?;
    if needs_gpu {
        needed_gpu(experiment.name, &mut laboratories).map_err(|failure| match without_gpu {
            Some(alternative) => with_alternative(failure, alternative),
            None => failure,
        })?;
    }
    let seed = fastrand::u64(..);
    let mut run = ExperimentRun::begin(experiment.name, arguments.out.as_deref(), seed, &laboratories)?;
    let mut progress = Progress::new(experiment.name);
    let measured = measure(&mut Bench {
        cpu: laboratories.cpu.as_ref(),
        gpu: laboratories.gpu.as_mut().ok(),
        directory: run.directory(),
        seed,
        progress: &mut |text| progress.show(text),
    });
    progress.finish();
    let measured =
        measured.map_err(|error| Failure::CouldNot(format!("`syncscope paper {}`: {error}", experiment.name)))?;
    measured.warnings.into_iter().for_each(|text| run.warn(text));
    terminal::show(&measured.text.trim_end())?;
    run.finish(Status::Done, &laboratories)
}
