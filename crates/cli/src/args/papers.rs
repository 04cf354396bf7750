//! The arguments of the experiments of papers: those that all have. Each adds its own.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use syncscope_papers::{EXPERIMENTS, Experiment};

/// What every experiment is given.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArguments {
    /// GPU to measure, by CUDA device number [default: the first]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    /// Directory for the results; must be new or empty [default: syncscope-runs/TIME-NAME]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// An experiment, as a subcommand of `paper`.
#[derive(Debug)]
pub(crate) enum PaperCommand {
    /// One of the list, with its own options.
    Of(Experiment, ExperimentArguments, ArgMatches),
    /// The reductions.
    Reductions(ReductionsArguments),
}

const REDUCTIONS: &str = "reductions";
const ABOUT_REDUCTIONS: &str = "What the costs of primitives predict of the reductions of a finished run";

impl Subcommand for PaperCommand {
    fn augment_subcommands(command: Command) -> Command {
        let of = |experiment: &Experiment| {
            let command = ExperimentArguments::augment_args(Command::new(experiment.name));
            (experiment.options)(command).about(experiment.about)
        };
        let reductions = ReductionsArguments::augment_args(Command::new(REDUCTIONS)).about(ABOUT_REDUCTIONS);
        command.subcommands(EXPERIMENTS.iter().map(of)).subcommand(reductions).subcommand_required(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == REDUCTIONS || EXPERIMENTS.iter().any(|experiment| experiment.name == name)
    }
}

impl FromArgMatches for PaperCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        match EXPERIMENTS.iter().find(|experiment| experiment.name == name) {
            Some(experiment) => {
                Ok(Self::Of(*experiment, ExperimentArguments::from_arg_matches(matches)?, matches.clone()))
            }
            None => ReductionsArguments::from_arg_matches(matches).map(Self::Reductions),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReductionsArguments {
    /// Run with rows of `*.reduction.*` and of the primitives they are made of
    #[arg(value_name = "DIR")]
    pub(crate) run: PathBuf,
}
