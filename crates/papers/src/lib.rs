//! Repeats the experiments of published papers, one folder each.
//!
//! A folder holds everything about an experiment: what it measures on a CPU and a device, its kernels, rows and
//! formulas, the section that the page and the terminal show, and the tests of its paper's claims. The rest of the
//! program knows an experiment only by its [`Experiment`] in [`EXPERIMENTS`].
//!
//! | folder | experiment |
//! |---|---|
//! | [`crosscheck`] | one cost by two clocks: inside the device, and inferred from the host's time |
//! | [`asynchrony`] | which components of a vector a GPU updates one after the other |
//! | [`timeline`] | start and stop of every warp on a common clock |
//! | [`reductions`] | what the costs of primitives predict of reductions, by the rows of an ordinary run: it measures nothing |
//!
//! The directory of an experiment holds `run.json`, whose `preset` is the name of the experiment, `NAME.csv`, further tables as
//! `NAME_PART.csv`, and `report.html`. It has no `measurements.csv`. `syncscope_core::run::plain` writes and reads the
//! tables.

#![forbid(unsafe_code)]

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Command, FromArgMatches, Subcommand};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::session::Limits;
use syncscope_core::{Catalogue, Run};
use syncscope_cpu::CpuLaboratory;
use syncscope_gpu::GpuLaboratory;
use syncscope_report::section::Section;
use syncscope_report::{Finding, Outcome, Paper, RunData, Truth};

/// Writes and reads the tables of an experiment, the first of which has the experiment's name.
macro_rules! tables {
    ($of:ident: $main:ident = $name:expr, $($field:ident = $file:literal),+) => {
        impl $of {
            /// Writes the tables.
            ///
            /// # Errors
            /// If a file cannot be written.
            pub fn write(&self, directory: &RunDirectory) -> Result<(), RunDirectoryError> {
                $(plain::write(directory, $file, &self.$field)?;)+
                plain::write(directory, $name, &self.$main)
            }

            /// Reads the tables; `None` if the directory lacks the first one, or it has no rows. The other tables may
            /// be missing. Damaged lines become warnings.
            ///
            /// # Errors
            /// If a table is there and cannot be read.
            pub fn read(
                directory: &RunDirectory,
                warnings: &mut Vec<String>,
            ) -> Result<Option<Self>, RunDirectoryError> {
                let $main: Vec<_> = plain::read(directory, $name, warnings)?;
                if $main.is_empty() {
                    return Ok(None);
                }
                Ok(Some(Self { $main, $($field: plain::read(directory, $file, warnings)?,)+ }))
            }
        }
    };
}

/// Lists the experiments in the order of the help: what the help says, the subcommand, and the folder. The last takes
/// what a budget leaves.
macro_rules! experiments {
    ($($(#[$about:meta])* $command:ident: $folder:ident;)+) => {
        $(pub mod $folder;)+

        /// All experiments, in the order of the help.
        pub const EXPERIMENTS: &[Experiment] = &[$($folder::EXPERIMENT),+];

        /// An experiment with its options, as a subcommand of `syncscope paper`.
        #[derive(Debug, Subcommand)]
        pub enum Asked {
            $($(#[$about])* $command(With<$folder::Options>),)+
        }

        impl Asked {
            /// The plan that the options ask for.
            ///
            /// # Errors
            /// If the options are wrong, with the reason.
            pub fn plan(self) -> Result<(Common, Plan), String> {
                Ok(match self {
                    $(Self::$command(With { common, own }) => (common, own.plan()?),)+
                })
            }
        }
    };
}

experiments! {
    /// The same cost by the clock of the GPU and by that of the host (Zhang et al.)
    Crosscheck: crosscheck;
    /// Start and stop of every warp, with the compiler's clock reads and with corrected ones
    Timeline: timeline;
    /// The order in which a block-asynchronous kernel updates a vector (Anzt, Chow, Dongarra)
    Asynchrony: asynchrony;
}

pub mod reductions;

/// Reads the run in the directory `path`, and notes what is wrong with the tables that an experiment left there.
///
/// # Errors
/// As [`RunData::load`], and if a table of an experiment cannot be read.
pub fn load(path: &Path, catalogue: Arc<Catalogue>) -> Result<RunData, RunDirectoryError> {
    Ok(load_with_sections(path, catalogue)?.0)
}

/// Reads the run in the directory `path` as [`load`] does, with the sections of its experiments.
///
/// # Errors
/// As [`load`].
pub fn load_with_sections(
    path: &Path,
    catalogue: Arc<Catalogue>,
) -> Result<(RunData, Vec<Section>), RunDirectoryError> {
    let (mut data, mut sections) = (RunData::load(path, catalogue)?, Vec::new());
    let directory = RunDirectory::open(path)?;
    for experiment in EXPERIMENTS {
        let is_it = data.run.experiment() == Some(experiment.name);
        let found = match (experiment.read)(&directory, &data.run, &mut data.damage.others) {
            Ok(found) => found,
            Err(error) if is_it => return Err(error),
            // The run can do without the part of another experiment.
            Err(error) => {
                data.damage
                    .others
                    .push(format!("damaged: {error}; what `paper {}` measured is left out", experiment.name));
                None
            }
        };
        if is_it && found.is_none() {
            data.damage.others.push(format!(
                "{name}.csv is missing or has no rows; measure again with `syncscope paper {name}`",
                name = experiment.name
            ));
        }
        sections.extend(found);
    }
    sections.extend(reductions::section(&data.rows));
    Ok((data, sections))
}

// What the rest of the program knows of an experiment.

/// Reads the tables of an experiment; problems with their lines go to the last argument.
pub type Reader = fn(&RunDirectory, &Run, &mut Vec<String>) -> Result<Option<Section>, RunDirectoryError>;

/// An experiment of a paper.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// The experiment's name, in the command `syncscope paper NAME`, in its tables and in `run.json`.
    pub name: &'static str,
    /// Reads the experiment's section from what it left in a directory; `None` if its main table is missing or has no
    /// rows. Problems with the lines of its tables become warnings.
    pub read: Reader,
    /// Whether what the experiment left in a directory is complete: a limit may have ended it.
    pub is_whole: fn(&RunDirectory) -> bool,
}

/// The options of an experiment.
pub(crate) trait Planned {
    /// The plan that the options ask for, or what is wrong with them.
    fn plan(self) -> Result<Plan, String>;
}

/// The same beside what every experiment is given.
#[derive(Debug, Args)]
pub struct With<T: Args> {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    own: T,
}

/// Accepts the name of a folder for results.
pub fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(folder_name)
}

/// The path of a folder for results.
///
/// # Errors
/// If the path is `-`, which stands for stdout and is not a folder.
pub fn folder_name(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.as_os_str() == "-" {
        Err("`-` is stdout, and a folder is written: name one (`./-` is a folder)")
    } else {
        Ok(path)
    }
}

/// What every experiment is given.
#[derive(Debug, Args)]
pub struct Common {
    /// GPU to measure, by CUDA device number [default: the first]
    #[arg(long, value_name = "N")]
    pub device: Option<u32>,
    /// Directory for the results; must be new or empty [default: syncscope-runs/TIME-NAME]
    #[arg(short, long, value_name = "DIR", value_parser = folder())]
    pub out: Option<PathBuf>,
}

impl Asked {
    /// The experiment with this name and its default options.
    ///
    /// # Errors
    /// If there is no such experiment.
    pub fn usual(name: &str) -> Result<Self, clap::Error> {
        let command = Self::augment_subcommands(Command::new("paper"));
        Self::from_arg_matches(&command.try_get_matches_from(["paper", name])?)
    }
}

/// Why an experiment could not be measured, for the user.
pub type Error = Box<dyn std::error::Error>;

/// Measures and writes tables, or says why it could not.
pub(crate) type Measure = Box<dyn FnOnce(&mut Bench<'_>) -> Result<Measured, Error>>;

/// What is to be measured.
pub struct Plan {
    /// The name of the experiment.
    pub name: &'static str,
    /// Whether it measures a GPU.
    pub needs_gpu: bool,
    /// What can be done without a GPU, for the user. A run without GPUs does that.
    pub without_gpu: Option<&'static str>,
    /// Measures the experiment and writes its tables.
    pub measure: Measure,
}

/// What an experiment measures with.
pub struct Bench<'a> {
    /// The CPU; a fake machine has none.
    pub cpu: Option<&'a CpuLaboratory>,
    /// The GPUs, if they are to be measured.
    pub gpu: Option<&'a mut GpuLaboratory>,
    /// Where the tables go.
    pub directory: &'a RunDirectory,
    /// The seed of every random order.
    pub seed: u64,
    /// When to stop before all is measured.
    pub limits: &'a Limits,
    /// Shows what is measured next.
    pub progress: &'a mut dyn FnMut(&str),
}

/// What was measured, besides the tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// What is missing, and why.
    pub warnings: Vec<String>,
    /// What a limit cut short, if anything.
    pub cut: Option<String>,
    /// What the terminal shows.
    pub text: String,
}

impl Bench<'_> {
    /// Shows what comes next, and returns whether there is time for it.
    pub(crate) fn has_time_for(&mut self, next: &str) -> bool {
        (self.progress)(next);
        self.limits.end(Instant::now()).is_none()
    }
}

impl Plan {
    /// A plan that needs a GPU.
    pub(crate) fn on_gpu(
        name: &'static str,
        measure: impl FnOnce(&mut Bench<'_>) -> Result<Measured, Error> + 'static,
    ) -> Self {
        Self { name, needs_gpu: true, without_gpu: None, measure: Box::new(measure) }
    }
}

/// A statement of a source about what was measured.
pub(crate) struct Claim {
    pub(crate) statement: &'static str,
    /// Where the source makes the statement.
    pub(crate) place: &'static str,
    /// Whether the statement holds here.
    pub(crate) truth: Truth,
    /// The figures that decide it.
    pub(crate) figures: String,
}

impl Claim {
    /// The verdicts on the statements of a paper, whose ids are `prefix` and a number from 1.
    pub(crate) fn findings(paper: Paper, prefix: &str, claims: impl IntoIterator<Item = Self>) -> Vec<Finding> {
        let finding = |(number, claim): (usize, Self)| Finding {
            id: format!("{prefix}.{number}"),
            paper,
            place: claim.place.to_owned(),
            text: claim.statement.to_owned(),
            outcome: Outcome::of(claim.truth, claim.figures),
            measured: true,
        };
        (1..).zip(claims).map(finding).collect()
    }
}

/// The value of a constant in the text of a kernel.
#[cfg(test)]
pub(crate) fn constant_of(text: &str, name: &str) -> String {
    let definition = format!(" {name} = ");
    let rest = text.split_once(&definition).map_or("", |(_, rest)| rest);
    rest.split_once(';').map_or("", |(value, _)| value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Preset;

    #[test]
    fn names_are_those_of_no_other_experiment_and_of_no_preset() {
        for (at, experiment) in EXPERIMENTS.iter().enumerate() {
            assert!(experiment.name.parse::<Preset>().is_err(), "{}", experiment.name);
            assert!(EXPERIMENTS[..at].iter().all(|other| other.name != experiment.name), "{}", experiment.name);
        }
    }
}
