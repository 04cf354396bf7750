//! The run directory: what lies where in the folder of a run, how it is read, and who may write.
//!
//! A case that is measured in several blocks has a provisional row after the first block and another row after the last.
//! While the run goes on, both stand in the file, and the later one counts. When it ends, there is one row for each case.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use csv::ReaderBuilder;

use crate::model::detail::Details;
use crate::run::details::DetailTable;
use crate::run::files::{At, body, lines, packed, read_table, refuse_link, replace, write_plain};
pub use crate::run::files::{RunDirectoryError, is_plain_name, remove_drafts, replace_file, replace_own_file};
use crate::run::journal::id_of;
use crate::run::{SCHEMA, columns, details};
use crate::{CaseId, Row, Run};

/// A folder that holds one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// Makes an empty folder for a new run; its parents too.
    ///
    /// # Errors
    /// When the folder holds something already or cannot be written to.
    pub fn create(path: &Path) -> Result<Self, RunDirectoryError> {
        let directory = Self::create_for_experiment(path)?;
        // Shows now, not after the first case, that the folder cannot be written to.
        File::create_new(directory.measurements()).at(path)?;
        Ok(directory)
    }

    /// Makes an empty folder for a published experiment, which has no measurements; its parents too.
    ///
    /// # Errors
    /// When the folder holds something already or cannot be made.
    pub fn create_for_experiment(path: &Path) -> Result<Self, RunDirectoryError> {
        fs::create_dir_all(path).at(path)?;
        if fs::read_dir(path).at(path)?.next().is_some() {
            return Err(RunDirectoryError::NotEmpty(path.to_owned()));
        }
        Ok(Self(path.to_owned()))
    }

    /// A folder that is there, with this `run.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn with_run(path: &Path, run: &Run) -> Result<Self, RunDirectoryError> {
        let directory = Self(path.to_owned());
        directory.write_run(run)?;
        Ok(directory)
    }

    /// The folder of a run that exists.
    ///
    /// # Errors
    /// When there is no `run.json` in it, or a link: what it leads to is not the run's.
    pub fn open(path: &Path) -> Result<Self, RunDirectoryError> {
        let directory = Self(path.to_owned());
        for folder in [directory.path(), &directory.evidence()] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                refuse_link(&entry.path())?;
            }
        }
        if directory.run_json().is_file() { Ok(directory) } else { Err(RunDirectoryError::NoRun(path.to_owned())) }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The journal of all cases.
    pub fn measurements(&self) -> PathBuf {
        self.0.join("measurements.csv")
    }

    /// Whether there is a journal, plain or compressed. The directory of a published experiment has none.
    pub fn has_measurements(&self) -> bool {
        self.measurements().is_file() || packed(&self.measurements()).is_file()
    }

    /// The file that holds the journal, and its content uncompressed.
    ///
    /// # Errors
    /// When there is none, or it cannot be read or unpacked.
    pub fn measurement_bytes(&self) -> Result<(PathBuf, Vec<u8>), RunDirectoryError> {
        let path = self.measurements();
        match read_table(&path)? {
            Some(found) => Ok(found),
            None => Err(RunDirectoryError::NoTable(path)),
        }
    }

    /// Every observation.
    pub fn samples(&self) -> PathBuf {
        self.0.join("samples.csv")
    }

    /// What is known of the cases besides their costs.
    pub fn details(&self) -> PathBuf {
        self.0.join("details.csv")
    }

    /// Who, where, when.
    pub fn run_json(&self) -> PathBuf {
        self.0.join("run.json")
    }

    /// The page.
    pub fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// Writes `run.json`; a reader never sees half of it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_run(&self, run: &Run) -> Result<(), RunDirectoryError> {
        let path = self.run_json();
        let mut text = serde_json::to_string_pretty(run).map_err(io::Error::from).at(&path)?;
        text.push('\n');
        replace(&path, text.as_bytes())
    }

    /// Reads `run.json`.
    ///
    /// # Errors
    /// When the file cannot be read or was written by a later version with another layout.
    pub fn read_run(&self) -> Result<Run, RunDirectoryError> {
        let path = self.run_json();
        let text = fs::read_to_string(&path).at(&path)?;
        let bad = |reason: String| RunDirectoryError::content(&path, reason);
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        match value.get("schema").and_then(serde_json::Value::as_u64) {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(schema) => {
                return Err(bad(format!(
                    "layout {schema}, and this version reads layout {SCHEMA}; use the syncscope that wrote it"
                )));
            }
            None => return Err(bad("it has no `schema`, so syncscope did not write it".to_owned())),
        }
        let version = value.get("version").and_then(serde_json::Value::as_str).map(str::to_owned);
        serde_json::from_value(value).map_err(|error| bad(format!("{error}; {}", not_understood(version.as_deref()))))
    }

    /// Reads the row of each case, the later of two. A last line that was cut off is passed over: its case was not
    /// finished.
    ///
    /// # Errors
    /// When the file cannot be read or a line other than the last is no row.
    pub fn read_rows(&self) -> Result<Vec<Row>, RunDirectoryError> {
        Ok(self.read_numbered_rows()?.into_iter().map(|(_, row)| row).collect())
    }

    /// The same, each row with the number of its line, from 1.
    ///
    /// # Errors
    /// As of [`Self::read_rows`].
    pub fn read_numbered_rows(&self) -> Result<Vec<(u64, Row)>, RunDirectoryError> {
        let (path, bytes) = self.measurement_bytes()?;
        let lines = body(&path, &bytes, &columns::names())?;
        let mut rows: Vec<(u64, Row)> = Vec::new();
        let mut places: HashMap<CaseId, usize> = HashMap::new();
        // The first line is that of the header.
        for (line, record) in
            (2..).zip(ReaderBuilder::new().has_headers(false).flexible(true).from_reader(lines).records())
        {
            let record = record.at(&path)?;
            let row = Row::from_record(&record).map_err(|reason| RunDirectoryError::Content {
                place: format!("{}, line {line}", path.display()),
                reason,
            })?;
            let place = *places.entry(row.case.id()).or_insert(rows.len());
            match rows.get_mut(place) {
                Some(earlier) => *earlier = (line, row),
                None => rows.push((line, row)),
            }
        }
        Ok(rows)
    }

    /// Replaces the table by these rows.
    pub(crate) fn write_rows(&self, rows: &[Row]) -> Result<(), RunDirectoryError> {
        let path = self.measurements();
        let header = std::iter::once(csv::StringRecord::from(columns::names()));
        replace(&path, &lines(header.chain(rows.iter().map(Row::to_record))).at(&path)?)
    }

    /// Leaves one row of each case, the last, and makes `details.csv` compact: a value that most cases of a domain share
    /// stands there once. A reader never sees half of a file.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn tidy(&self) -> Result<(), RunDirectoryError> {
        let (path, bytes) = self.measurement_bytes()?;
        let lines: Vec<&[u8]> =
            body(&path, &bytes, &columns::names())?.split_inclusive(|byte| *byte == b'\n').collect();
        let last: HashMap<&[u8], usize> = lines.iter().enumerate().map(|(at, line)| (id_of(line), at)).collect();
        if last.len() < lines.len() {
            let kept = lines.iter().enumerate().filter(|(at, line)| last[id_of(line)] == *at).map(|(_, line)| *line);
            let header = format!("{}\n", columns::names().join(","));
            let table = std::iter::once(header.as_bytes()).chain(kept).collect::<Vec<_>>().concat();
            write_plain(&self.measurements(), &table)?;
        }
        if !self.details().is_file() {
            return Ok(());
        }
        let rows = self.read_rows()?;
        let details = self.detail_table()?.unwrap_or_default().expand(&rows);
        self.write_details(&DetailTable::compact(&rows, details), &rows)
    }

    /// Reads all details of each case, in the order of name and actor; imported runs have none. A line that holds no detail is
    /// passed over.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or the rows cannot be read.
    pub fn read_details(&self) -> Result<Details, RunDirectoryError> {
        self.details_of(&self.read_rows()?)
    }

    /// The same for who has read the rows.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn details_of(&self, rows: &[Row]) -> Result<Details, RunDirectoryError> {
        Ok(self.detail_table()?.map_or_else(Details::new, |table| table.expand(rows)))
    }

    /// `details.csv` as it stands there; `None` if there is no such file.
    pub(super) fn detail_table(&self) -> Result<Option<DetailTable>, RunDirectoryError> {
        let Some((path, bytes)) = read_table(&self.details())? else { return Ok(None) };
        DetailTable::parse(body(&path, &bytes, &details::COLUMNS)?).map(Some).at(&path)
    }

    pub(super) fn write_details(&self, table: &DetailTable, rows: &[Row]) -> Result<(), RunDirectoryError> {
        let path = self.details();
        replace(&path, &table.to_bytes(rows).at(&path)?)
    }

    /// The disassemblies.
    pub fn evidence(&self) -> PathBuf {
        self.0.join("evidence")
    }

    /// Keeps a disassembly in `evidence/`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_evidence(&self, name: &str, listing: &str) -> Result<(), RunDirectoryError> {
        let folder = self.evidence();
        refuse_link(&folder)?;
        fs::create_dir_all(&folder).at(&folder)?;
        replace_own_file(&folder.join(format!("{name}.txt")), listing.as_bytes())
    }
}

const ATTEMPTS: u32 = 50;

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);

/// The right to write into a run directory. It ends when the value is dropped, and with the process, however that ends.
#[derive(Debug)]
pub struct WriteLock {
    /// `None` where the file system has no locks.
    _folder: Option<File>,
}

impl RunDirectory {
    /// Takes the right to write. A process that was killed may still be ending, so it is awaited for a second.
    ///
    /// # Errors
    /// When another process has it.
    pub fn lock(&self) -> Result<WriteLock, RunDirectoryError> {
        let folder = File::open(self.path()).at(self.path())?;
        for _ in 0..ATTEMPTS {
            match folder.try_lock() {
                Ok(()) => {
                    remove_drafts(self.path());
                    return Ok(WriteLock { _folder: Some(folder) });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_ATTEMPTS),
                // A file system without locks is no reason not to measure.
                Err(TryLockError::Error(_)) => return Ok(WriteLock { _folder: None }),
            }
        }
        Err(RunDirectoryError::Busy(self.path().to_owned()))
    }
}

/// Why a `run.json` of this layout cannot be understood, and what to do.
fn not_understood(version: Option<&str>) -> String {
    let here = env!("CARGO_PKG_VERSION");
    match version.filter(|version| *version != here) {
        Some(version) => format!("syncscope {version} wrote it and this is {here}: use the version that wrote it"),
        None => format!(
            "syncscope {here} does not write this: the file was changed or damaged, or comes from another build"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::machine::Environment;
    use crate::run::tests::interrupted as run;

    #[test]
    fn a_folder_in_use_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.txt"), "x").unwrap();
        let error = RunDirectory::create(folder.path()).unwrap_err().to_string();
        assert!(error.contains("--out") && error.contains("--resume"), "{error}");
        let error = RunDirectory::create(&folder.path().join("mine.txt/run")).unwrap_err().to_string();
        assert!(error.contains("--out"), "{error}");
        assert!(matches!(RunDirectory::open(folder.path()), Err(RunDirectoryError::NoRun(_))));
    }

    #[test]
    fn hostile_files_are_refused_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let read = |text: &str| {
            fs::write(directory.run_json(), text).unwrap();
            directory.read_run().unwrap_err().to_string()
        };
        assert!(read("{").contains("run.json"));
        assert!(read("{}").contains("no `schema`"));
        assert!(read(r#"{"schema": 99}"#).contains("layout 99"));
        assert!(read(r#"{"schema": 1}"#).contains("missing field"));
        let spoilt = serde_json::to_string(&run()).unwrap().replacen('{', r#"{"surprise": 1,"#, 1);
        let error = read(&spoilt);
        assert!(error.contains("surprise") && error.contains("changed or damaged"), "{error}");
        let later = spoilt.replacen(concat!("\"", env!("CARGO_PKG_VERSION"), "\""), "\"99.1.0\"", 1);
        let error = read(&later);
        assert!(error.contains("surprise") && error.contains("syncscope 99.1.0 wrote it"), "{error}");
        fs::write(directory.measurements(), "a,b\n1,2\n").unwrap();
        assert!(directory.read_rows().unwrap_err().to_string().contains("its header has"));
        fs::write(directory.measurements(), columns::names().join(",") + "\n1,2\n").unwrap();
        assert!(directory.read_rows().unwrap_err().to_string().contains("measurements.csv, line 2"));
        fs::write(directory.measurements(), b"\xff\xfe\n\xff\n").unwrap();
        assert!(directory.read_rows().is_err());
        fs::remove_file(directory.measurements()).unwrap();
        let error = directory.read_rows().unwrap_err().to_string();
        assert!(error.contains("measurements.csv is missing") && error.contains("new run"), "{error}");
    }

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("a/b")).unwrap();
        // A number that a fast reader takes for its neighbour.
        let load = Some(29.851_622_222_222_222);
        let run = Run { environment: Environment { load, ..Environment::default() }, ..run() };
        directory.write_run(&run).unwrap();
        let reopened = RunDirectory::open(directory.path()).unwrap();
        assert_eq!(reopened.read_run().unwrap(), run);
    }

    #[test]
    fn a_directory_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let first = directory.lock().unwrap();
        let error = directory.lock().unwrap_err().to_string();
        assert!(error.contains("another syncscope") && error.contains("--out"), "{error}");
        drop(first);
        directory.lock().unwrap();
    }
}
