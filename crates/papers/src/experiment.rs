//! What the rest of the program knows of an experiment.

use clap::{ArgMatches, Command};
use syncscope_core::Run;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_cpu::CpuLaboratory;
use syncscope_gpu::GpuLaboratory;
use syncscope_report::section::Section;

/// An experiment of a paper.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name: of the command `syncscope paper NAME`, of its tables, and in `run.json`.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Adds its own options to its command.
    pub options: fn(Command) -> Command,
    /// What these options ask for, or what is wrong with them.
    pub plan: fn(&ArgMatches) -> Result<Plan, String>,
    /// Reads what it left in a directory; `None` if that is nothing.
    pub read: fn(&RunDirectory, &Run) -> Result<Option<Found>, RunDirectoryError>,
}

/// Measures and writes tables; or says why it could not.
pub(crate) type Measure = Box<dyn FnOnce(&mut Bench<'_>) -> Result<Measured, String>>;

/// What is to be measured.
pub struct Plan {
    /// Whether nothing of it can be measured without a GPU.
    pub needs_gpu: bool,
    /// What can be done without a GPU, for the user.
    pub without_gpu: Option<&'static str>,
    /// Measures it and writes its tables.
    pub measure: Measure,
}

/// What measures.
pub struct Bench<'a> {
    /// The CPU; a fake machine has none.
    pub cpu: Option<&'a CpuLaboratory>,
    /// The GPUs.
    pub gpu: Option<&'a mut GpuLaboratory>,
    /// Where the tables go.
    pub directory: &'a RunDirectory,
    /// The seed of every random order.
    pub seed: u64,
    /// Shows what is measured next.
    pub progress: &'a mut dyn FnMut(&str),
}

/// What was measured, besides the tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// What is missing, and why.
    pub warnings: Vec<String>,
    /// What the terminal shows.
    pub text: String,
}

/// What a directory holds of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its section of the page.
    pub section: Section,
    /// Whether its main table has rows.
    pub has_rows: bool,
}

impl Plan {
    /// What only a GPU can do.
    pub(crate) fn on_gpu(measure: impl FnOnce(&mut Bench<'_>) -> Result<Measured, String> + 'static) -> Self {
        Self { needs_gpu: true, without_gpu: None, measure: Box::new(measure) }
    }
}

/// The value of a constant in the text of a kernel.
#[cfg(test)]
pub(crate) fn constant_of(text: &str, name: &str) -> String {
    let definition = format!(" {name} = ");
    let rest = text.split_once(&definition).map_or("", |(_, rest)| rest);
    rest.split_once(';').map_or("", |(value, _)| value).to_owned()
}
