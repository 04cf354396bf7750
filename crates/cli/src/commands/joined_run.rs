//! The rows of repeated runs, joined in the folder that holds the runs.

use std::fs;
use std::path::{Path, PathBuf};

use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::journal::Journal;
use syncscope_core::run::{Status, repeats};
use syncscope_core::{Row, Run};

use crate::catalogue::catalogue;
use crate::failure::Failure;

/// What the joined run is called and how it ended.
pub(super) struct Joined<'a> {
    /// Holds the runs, each in a folder.
    pub(super) folder: &'a Path,
    /// How many runs were asked for.
    pub(super) count: u32,
    /// The command that began them.
    pub(super) command: &'a [String],
    pub(super) status: Status,
}

impl Joined<'_> {
    /// Writes `run.json` and the tables from the runs that are there.
    ///
    /// # Errors
    /// When there is no run, or a file cannot be read or written.
    pub(super) fn write(&self, runs: &[(RunDirectory, Run)]) -> Result<RunDirectory, Failure> {
        let Some((first, run)) = runs.first() else {
            return Err(Failure::CouldNot(format!("no run in {} has begun", self.folder.display())));
        };
        let rows = rows_of(runs)?;
        let mut joined = Run {
            repeat: Some(self.count),
            command: self.command.to_vec(),
            status: self.status,
            ended: runs.last().and_then(|(_, run)| run.ended.clone()),
            sessions: runs.iter().flat_map(|(_, run)| run.sessions.clone()).collect(),
            ..run.clone()
        };
        for warning in runs.iter().flat_map(|(_, run)| &run.warnings) {
            if !joined.warnings.contains(warning) {
                joined.warnings.push(warning.clone());
            }
        }
        let details = first.read_details()?;
        let directory = emptied(self.folder, &joined)?;
        let mut journal = Journal::open(&directory)?;
        for row in repeats::join(&rows, &catalogue()) {
            let of_case = details.get(&row.case.id()).map_or(&[][..], Vec::as_slice);
            journal.append(&row, &[], of_case)?;
        }
        directory.tidy()?;
        copy_evidence(first, &directory)?;
        Ok(directory)
    }
}

/// The rows of each run.
pub(super) fn rows_of(runs: &[(RunDirectory, Run)]) -> Result<Vec<Vec<Row>>, Failure> {
    Ok(runs.iter().map(|(directory, _)| directory.read_rows()).collect::<Result<Vec<_>, _>>()?)
}

/// The folder with this `run.json` and without the tables that it held before.
fn emptied(folder: &Path, joined: &Run) -> Result<RunDirectory, Failure> {
    let directory = RunDirectory::with_run(folder, joined)?;
    let files = [directory.measurements(), directory.samples(), directory.details()];
    for file in files.into_iter().filter(|file| file.exists()) {
        fs::remove_file(&file).map_err(|error| could_not(&file, &error))?;
    }
    Ok(directory)
}

fn copy_evidence(from: &RunDirectory, to: &RunDirectory) -> Result<(), Failure> {
    let Ok(listings) = fs::read_dir(from.evidence()) else { return Ok(()) };
    let folder: PathBuf = to.evidence();
    fs::create_dir_all(&folder).map_err(|error| could_not(&folder, &error))?;
    for listing in listings.filter_map(Result::ok) {
        let copy = folder.join(listing.file_name());
        fs::copy(listing.path(), &copy).map_err(|error| could_not(&copy, &error))?;
    }
    Ok(())
}

fn could_not(path: &Path, error: &std::io::Error) -> Failure {
    Failure::CouldNot(format!("{}: {error}", path.display()))
}
