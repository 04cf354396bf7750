//! Finds and loads runs for the command, with the order of all catalogues.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::{Catalogue, OwnCode};
use syncscope_report::RunData;
use syncscope_report::section::Section;

use crate::axes::shortened;
use crate::catalogue::catalogue;
use crate::failure::Failure;
use crate::orderings_section;
use crate::terminal;

/// The folder for runs without a named directory.
pub(crate) const RUNS: &str = "syncscope-runs";

/// The absolute path, which measured code cannot change by leaving the working folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The named directories; if there are none, the newest run of [`RUNS`].
pub(crate) fn named_or_latest(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    named_or(named, |_| true)
}

/// [`named_or_latest`], but only runs of the catalogue's primitives count, not those of `measure`.
pub(crate) fn named_or_latest_of_catalogue(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    named_or(named, |run| run.read_run().is_ok_and(|run| run.own.is_empty()))
}

fn named_or(named: &[PathBuf], counts: fn(&RunDirectory) -> bool) -> Result<Vec<PathBuf>, Failure> {
    if named.is_empty() {
        return latest(1, "a run", counts);
    }
    named.iter().map(|path| run_of(path)).collect::<Result<_, _>>().map(distinct)
}

/// Each run once, even if it is named by several paths or links.
pub(crate) fn distinct(mut named: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    named.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    named
}

/// The newest runs of [`RUNS`] that count, the newest last. Where there are too few, the message asks for what is `wanted`.
pub(crate) fn latest(count: usize, wanted: &str, counts: fn(&RunDirectory) -> bool) -> Result<Vec<PathBuf>, Failure> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut runs = runs_in(Path::new(RUNS), counts);
    runs.sort_by_cached_key(|path| began(path));
    if runs.len() < count {
        let held = if runs.is_empty() { "none" } else { "no other" };
        return Err(Failure::Usage(format!("name {wanted}: ./{RUNS} holds {held}; `syncscope run` writes one there")));
    }
    let newest = runs.split_off(runs.len() - count);
    for path in &newest {
        terminal::note(&format!("the latest run: {}", path.display()));
    }
    Ok(newest)
}

/// When a run began, followed by its name. A run that cannot be read has its name alone, which begins with the time by default.
fn began(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let run = RunDirectory::open(path).and_then(|directory| directory.read_run());
    run.map_or_else(|_| name.clone().into_owned(), |run| format!("{}-{name}", run.started.replace(':', "-")))
}

/// The runs in a folder that count, by name.
pub(crate) fn runs_in(folder: &Path, counts: fn(&RunDirectory) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut runs: Vec<PathBuf> = paths.filter(|path| RunDirectory::open(path).is_ok_and(|run| counts(&run))).collect();
    runs.sort();
    runs
}

/// The directory of a run, even where a file in it is named.
pub(crate) fn run_of(path: &Path) -> Result<PathBuf, Failure> {
    let is_in_run = path.is_file() && path.parent().is_some_and(|folder| RunDirectory::open(folder).is_ok());
    let within = if RunDirectory::open(path).is_ok() { Vec::new() } else { runs_in(path, |_| true) };
    if within.is_empty() {
        return Ok(path.parent().filter(|_| is_in_run).unwrap_or(path).to_owned());
    }
    let names: Vec<String> = within.iter().map(|run| run.display().to_string()).collect();
    Err(Failure::Usage(format!("{} is a folder of runs; name one: {}", path.display(), shortened(&names))))
}

/// All primitives, including those that the user of a run wrote.
fn catalogue_of(path: &Path) -> Arc<Catalogue> {
    let run = RunDirectory::open(path).and_then(|directory| directory.read_run());
    let Some(run) = run.ok().filter(|run| !run.own.is_empty()) else { return catalogue() };
    let code = OwnCode { operations: run.own, ..OwnCode::default() };
    let own = [syncscope_cpu::primitives::own::primitives(&code), syncscope_gpu::own::primitives(&code)];
    let known = catalogue();
    Arc::new(known.primitives().iter().chain(own.into_iter().flatten()).copied().collect())
}

/// Reads a run, and warns of damaged files.
pub(crate) fn load_as_measured(path: &Path) -> Result<RunData, RunDirectoryError> {
    Ok(load_with_sections(path)?.0)
}

fn warn_of_damage(path: &Path, data: &RunData) {
    data.damage.warnings().for_each(|text| terminal::warning(&format!("{}: {text}", path.display())));
}

/// Reads a run with the sections of experiments of papers and of `measure --orderings`.
pub(crate) fn load_with_sections(path: &Path) -> Result<(RunData, Vec<Section>), RunDirectoryError> {
    let (mut data, mut sections) = syncscope_papers::load_with_sections(path, catalogue_of(path))?;
    match orderings_section::read(path) {
        Ok(found) => sections.extend(found),
        Err(damage) => data.damage.others.push(format!("{damage}; the table of orderings is left out")),
    }
    warn_of_damage(path, &data);
    Ok((data, sections))
}

/// Reads a run with its rows in the order of the catalogues, which is the same for every run.
pub(crate) fn load(path: &Path) -> Result<RunData, RunDirectoryError> {
    Ok(load_as_measured(path)?.in_order())
}

/// Reads a run for a command that needs its rows.
pub(crate) fn load_rows(path: &Path) -> Result<RunData, Failure> {
    let data = syncscope_papers::load(path, catalogue_of(path))?.in_order();
    match data.run.experiment() {
        Some(experiment) if data.rows.is_empty() => Err(Failure::Usage(format!(
            "{path} holds the experiment {experiment} of a paper, which has no rows; `syncscope report {path}` draws it",
            path = path.display()
        ))),
        _ => {
            warn_of_damage(path, &data);
            Ok(data)
        }
    }
}
