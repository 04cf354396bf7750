//! The run directory: what lies where in the folder of a run, how it is read, and who may write.
//!
//! A case that is measured in several blocks has a provisional row after the first block and another row after the last.
//! While the run goes on, both are in the file, and the later one counts. When it ends, there is one row for each case.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::data_file;
use crate::model::detail::Details;
use crate::run::columns::Header;
use crate::run::damage::{DamagedLines, FIRST_LINE, MOST_ROWS, at_most, records};
use crate::run::details::DetailTable;
use crate::run::files::{
    At, MOST_PATH, body, complete_lines, foreign, is_draft, lines, packed, read_table, refuse_link, replace,
    split_header, write_plain,
};
pub use crate::run::files::{RunDirectoryError, is_plain_name, remove_drafts, replace_file, replace_own_file};
use crate::run::{SCHEMA, columns, counts, details};
use crate::{CaseId, Row, Run};

const MEASUREMENTS: &str = "measurements.csv";

/// The licence of imported figures, which stays with them.
pub const LICENSE: &str = "LICENSE";

/// The file about memory orderings: no other file holds what is known of them.
pub const ORDERINGS: &str = "orderings.json";

/// A folder that holds one run.
///
/// ```no_run
/// use syncscope_core::run::directory::RunDirectory;
///
/// let directory = RunDirectory::open("syncscope-runs/latest".as_ref())?;
/// println!("{} measured {} cases", directory.read_run()?.version, directory.read_rows()?.len());
/// # Ok::<(), syncscope_core::run::directory::RunDirectoryError>(())
/// ```
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
        File::options().create(true).append(true).open(directory.measurements()).at(path)?;
        Ok(directory)
    }

    /// Refuses a folder that holds anything but what a process leaves behind that was killed before it wrote `run.json`.
    ///
    /// # Errors
    /// When the folder holds anything else, or cannot be read.
    pub fn check_unused(path: &Path) -> Result<(), RunDirectoryError> {
        for entry in fs::read_dir(path).at(path)? {
            let entry = entry.at(path)?;
            let is_empty_table = entry.file_name() == MEASUREMENTS
                && fs::symlink_metadata(entry.path()).is_ok_and(|found| found.is_file() && found.len() == 0);
            if !is_empty_table && !is_draft(&entry) {
                return Err(RunDirectoryError::NotEmpty(path.to_owned()));
            }
        }
        Ok(())
    }

    /// Makes an empty folder for a published experiment, which has no measurements; its parents too.
    ///
    /// # Errors
    /// When the folder holds something already or cannot be made.
    pub fn create_for_experiment(path: &Path) -> Result<Self, RunDirectoryError> {
        let absolute = std::path::absolute(path).at(path)?;
        if absolute.as_os_str().len() > MOST_PATH {
            return Err(RunDirectoryError::LongPath(absolute));
        }
        fs::create_dir_all(path).at(path)?;
        Self::check_unused(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Writes this `run.json` into a folder that exists.
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
    /// When there is no `run.json` in it, or there is a link: what a link leads to is not the run's.
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

    /// Whether a file, by its path within the folder, is a part of the run: all but the page and what others put there.
    pub fn is_part(file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let is_table = name.ends_with(".csv") || name.ends_with(".csv.gz");
        file.starts_with("evidence") || is_table || ["run.json", ORDERINGS, LICENSE].contains(&&*name)
    }

    /// The path of `measurements.csv`, the journal of all cases.
    pub fn measurements(&self) -> PathBuf {
        self.0.join(MEASUREMENTS)
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

    /// The path of `samples.csv`: every observation.
    pub fn samples(&self) -> PathBuf {
        self.0.join("samples.csv")
    }

    /// The path of `details.csv`: what is known about the cases besides their costs.
    pub fn details(&self) -> PathBuf {
        self.0.join("details.csv")
    }

    /// The path of `run.json`: who measured, where and when.
    pub fn run_json(&self) -> PathBuf {
        self.0.join("run.json")
    }

    /// The path of the page.
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
        let text = data_file::read_at_most(&path, MOST_RUN_JSON).at(&path)?;
        let bad = |reason: String| RunDirectoryError::content(&path, reason);
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        match value.get("schema").and_then(serde_json::Value::as_u64) {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(schema) => {
                return Err(bad(format!(
                    "layout {schema}, but this version reads layout {SCHEMA}; use the syncscope that wrote it"
                )));
            }
            None => return Err(bad("it has no `schema`, so syncscope did not write it".to_owned())),
        }
        counts::check(&value).map_err(bad)?;
        let version = value.get("version").and_then(serde_json::Value::as_str).map(str::to_owned);
        serde_json::from_value(value).map_err(|error| bad(format!("{error}; {}", not_understood(version.as_deref()))))
    }

    /// Reads the row of each case, the later of two. A truncated last line is skipped, because its case was not finished,
    /// and so are damaged lines, whose cases a resumed run measures again.
    ///
    /// # Errors
    /// When the file cannot be read, is another table, or has more lines than a run writes.
    pub fn read_rows(&self) -> Result<Vec<Row>, RunDirectoryError> {
        Ok(self.read_numbered_rows()?.0.into_iter().map(|(_, row)| row).collect())
    }

    /// [`Self::read_rows`], each row with the number of its line, from 1, and the damaged lines.
    ///
    /// # Errors
    /// As [`Self::read_rows`].
    pub fn read_numbered_rows(&self) -> Result<(Vec<(u64, Row)>, DamagedLines), RunDirectoryError> {
        let (path, bytes) = self.measurement_bytes()?;
        let (rows, damaged) = rows_of(&path, &table_of(&path, &bytes)?)?;
        Ok((rows.into_iter().map(|(line, _, row)| (line, row)).collect(), damaged))
    }

    /// Gives the table the header of a new one, if it has another, so that lines can be added.
    ///
    /// # Errors
    /// When it has columns that this version does not know, or cannot be written.
    pub(crate) fn bring_up_to_date(&self) -> Result<(), RunDirectoryError> {
        let (path, bytes) = self.measurement_bytes()?;
        match split_header(&bytes) {
            Some((header, _)) if header != columns::names().join(",") => {
                if let [unknown, ..] = table_of(&path, &bytes)?.header.unknown() {
                    return Err(foreign(&path, &header, &format!("its header has `{unknown}`, which is not a column")));
                }
                self.write_rows(&self.read_rows()?)
            }
            _ => Ok(()),
        }
    }

    /// Replaces the table by these rows.
    pub(crate) fn write_rows(&self, rows: &[Row]) -> Result<(), RunDirectoryError> {
        let path = self.measurements();
        let header = std::iter::once(csv::StringRecord::from(columns::names()));
        replace(&path, &lines(header.chain(rows.iter().map(Row::to_record))).at(&path)?)
    }

    /// Keeps the last row of each case and makes `details.csv` compact: a value that most cases of a domain share is
    /// written once. A reader never sees half of a file.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn tidy(&self) -> Result<(), RunDirectoryError> {
        let (path, bytes) = self.measurement_bytes()?;
        let table = table_of(&path, &bytes)?;
        let (mut rows, _) = rows_of(&path, &table)?;
        rows.sort_by_key(|(line, ..)| *line);
        let header = &bytes[..complete_lines(&bytes).len() - table.lines.len()];
        let kept = std::iter::once(header).chain(rows.iter().map(|(_, bytes, _)| *bytes)).collect::<Vec<_>>();
        if kept.iter().map(|line| line.len()).sum::<usize>() < header.len() + table.lines.len() {
            write_plain(&self.measurements(), &kept.concat())?;
        }
        let rows: Vec<Row> = rows.into_iter().map(|(.., row)| row).collect();
        let details = self.details_of(&rows)?;
        self.write_compact_details(&rows, details)
    }

    /// Replaces the details, if there are some, so that a value that most cases of a domain share is written once.
    pub(crate) fn write_compact_details(&self, rows: &[Row], details: Details) -> Result<(), RunDirectoryError> {
        if !self.details().is_file() {
            return Ok(());
        }
        self.write_details(&DetailTable::compact(rows, details), rows)
    }

    /// Reads all details of each case, in the order of name and actor; imported runs have none. A line that holds no detail
    /// is skipped.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or the rows cannot be read.
    pub fn read_details(&self) -> Result<Details, RunDirectoryError> {
        self.details_of(&self.read_rows()?)
    }

    /// [`Self::read_details`], for a caller that has read the rows.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn details_of(&self, rows: &[Row]) -> Result<Details, RunDirectoryError> {
        Ok(self.details_and_damage(rows)?.0)
    }

    /// [`Self::details_of`], with the lines that hold no detail.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn details_and_damage(&self, rows: &[Row]) -> Result<(Details, DamagedLines), RunDirectoryError> {
        let Some((table, damaged)) = self.detail_table()? else { return Ok(Default::default()) };
        Ok((table.expand(rows).map_err(|reason| RunDirectoryError::content(&self.details(), reason))?, damaged))
    }

    /// `details.csv` as it is on disk, and its damaged lines; `None` if there is no such file.
    pub(super) fn detail_table(&self) -> Result<Option<(DetailTable, DamagedLines)>, RunDirectoryError> {
        let Some((path, bytes)) = read_table(&self.details())? else { return Ok(None) };
        let parsed = DetailTable::parse(body(&path, &bytes, &details::COLUMNS)?);
        parsed.map(Some).map_err(|reason| RunDirectoryError::content(&path, reason))
    }

    pub(super) fn write_details(&self, table: &DetailTable, rows: &[Row]) -> Result<(), RunDirectoryError> {
        let path = self.details();
        replace(&path, &table.to_bytes(rows).at(&path)?)
    }

    /// The folder of the disassemblies.
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

/// The largest `run.json`: a thousand times as large as any stored one.
const MOST_RUN_JSON: u64 = 16 << 20;

/// A row with the number of its line and its bytes.
type NumberedRow<'a> = (u64, &'a [u8], Row);

/// The table of rows: its columns, and the complete lines below its header.
struct Table<'a> {
    header: Header,
    lines: &'a [u8],
}

fn table_of<'a>(path: &Path, bytes: &'a [u8]) -> Result<Table<'a>, RunDirectoryError> {
    let Some((names, lines)) = split_header(bytes) else { return Ok(Table { header: Header::default(), lines: &[] }) };
    let header = Header::of(names.split(',')).map_err(|differs| foreign(path, &names, &differs))?;
    Ok(Table { header, lines })
}

/// The last readable row of each case, and the damaged lines.
fn rows_of<'a>(
    path: &Path,
    Table { header, lines }: &Table<'a>,
) -> Result<(Vec<NumberedRow<'a>>, DamagedLines), RunDirectoryError> {
    let mut rows: Vec<NumberedRow<'a>> = Vec::new();
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    let mut damaged = DamagedLines::default();
    damaged.unknown = header.unknown().to_vec();
    for (line, bytes, record) in records(lines, FIRST_LINE, header.len()) {
        let row = match record.and_then(|record| header.row(&record)) {
            Ok(row) => row,
            Err(reason) => {
                damaged.add(line, || reason);
                continue;
            }
        };
        let place = *places.entry(row.case.id()).or_insert(rows.len());
        match rows.get_mut(place) {
            Some(earlier) => *earlier = (line, bytes, row),
            None => rows.push((line, bytes, row)),
        }
        at_most(rows.len(), MOST_ROWS, path)?;
    }
    Ok((rows, damaged))
}

const ATTEMPTS: u32 = 50;

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);

/// The right to write into a directory. It ends when the value is dropped or the process ends, however it does.
#[derive(Debug)]
pub struct WriteLock {
    /// `None` where the file system has no locks.
    folder: Option<File>,
}

impl RunDirectory {
    /// Takes the right to write. A process that was killed may still be ending, so this waits up to a second for it.
    ///
    /// # Errors
    /// When another process has the right.
    pub fn lock(&self) -> Result<WriteLock, RunDirectoryError> {
        let lock = WriteLock::of(self.path())?;
        if lock.folder.is_some() {
            remove_drafts(self.path());
        }
        Ok(lock)
    }

    /// Takes the right to write a new run.
    ///
    /// # Errors
    /// When another process has the right, or has begun a run since the folder was made.
    pub fn lock_unused(&self) -> Result<WriteLock, RunDirectoryError> {
        let lock = self.lock()?;
        Self::check_unused(self.path())?;
        Ok(lock)
    }
}

impl WriteLock {
    /// Takes the right to write into a folder whose files several processes replace.
    ///
    /// # Errors
    /// When another process has the right.
    pub fn of(path: &Path) -> Result<Self, RunDirectoryError> {
        let folder = File::open(path).at(path)?;
        for _ in 0..ATTEMPTS {
            match folder.try_lock() {
                Ok(()) => return Ok(Self { folder: Some(folder) }),
                Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_ATTEMPTS),
                // A file system without locks is no reason not to measure.
                Err(TryLockError::Error(_)) => return Ok(Self { folder: None }),
            }
        }
        Err(RunDirectoryError::Busy(path.to_owned()))
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
    fn a_folder_is_taken_again_until_a_run_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let killed = RunDirectory::create(path).unwrap();
        fs::write(path.join(".syncscope-abc.new"), "{").unwrap();
        let (one, other) = (RunDirectory::create(path).unwrap(), RunDirectory::create(path).unwrap());
        assert_eq!(one, killed);
        let lock = one.lock_unused().unwrap();
        assert!(!path.join(".syncscope-abc.new").exists(), "what was left is removed");
        one.write_run(&run()).unwrap();
        drop(lock);
        assert!(matches!(other.lock_unused(), Err(RunDirectoryError::NotEmpty(_))), "another process was faster");
        assert!(matches!(RunDirectory::create(path), Err(RunDirectoryError::NotEmpty(_))));
        fs::remove_file(one.run_json()).unwrap();
        fs::write(one.measurements(), "a").unwrap();
        assert!(matches!(RunDirectory::create(path), Err(RunDirectoryError::NotEmpty(_))), "a table with content");
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
        assert!(directory.read_rows().unwrap_err().to_string().contains("its header has no `case_id`"));
        fs::write(directory.measurements(), columns::names().join(",") + "\n1,2\n").unwrap();
        let (rows, damaged) = directory.read_numbered_rows().unwrap();
        let short = format!("line 2 (it has 2 cells instead of {})", columns::names().len());
        assert!(rows.is_empty() && damaged.to_string() == short, "{damaged}");
        fs::write(directory.measurements(), b"\xff\xfe\n\xff\n").unwrap();
        assert!(directory.read_rows().is_err());
        fs::remove_file(directory.measurements()).unwrap();
        let error = directory.read_rows().unwrap_err().to_string();
        assert!(error.contains("measurements.csv is missing") && error.contains("new run"), "{error}");
    }

    #[test]
    fn a_table_is_read_by_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let row = crate::run::row::tests::full();
        let write = |names: &[&str], record: &csv::StringRecord| {
            let all = columns::names();
            let cell = |name: &&str| all.iter().position(|known| known == name).map_or("new", |at| &record[at]);
            let cells = csv::StringRecord::from(names.iter().map(cell).collect::<Vec<_>>());
            fs::write(directory.measurements(), lines([csv::StringRecord::from(names), cells]).unwrap()).unwrap();
        };
        let mut names = columns::names();
        names.reverse();
        names.retain(|name| !["noise", "inside", "ops_per_s_total"].contains(name));
        write(&names, &row.to_record());
        let lacking = Row { noise: None, ..read_back(&row) };
        assert!(
            directory.read_rows().unwrap() == std::slice::from_ref(&lacking),
            "another order, and three columns fewer"
        );
        directory.bring_up_to_date().unwrap();
        let text = fs::read_to_string(directory.measurements()).unwrap();
        assert_eq!(text.lines().next(), Some(columns::names().join(",").as_str()));
        assert!(directory.read_rows().unwrap() == std::slice::from_ref(&lacking));

        names.insert(3, "later");
        write(&names, &row.to_record());
        let (rows, damaged) = directory.read_numbered_rows().unwrap();
        assert_eq!(rows, [(2, lacking.clone())]);
        assert!(damaged.note("measurements.csv").unwrap().contains("column `later` of measurements.csv left out"));
        let before = fs::read(directory.measurements()).unwrap();
        assert!(directory.bring_up_to_date().unwrap_err().to_string().contains("`later`, which is not a column"));
        assert!(fs::read(directory.measurements()).unwrap() == before, "what is not known is not dropped");
        // A parameter of a later version: without it, the row would be one of another case.
        let mut record = row.to_record().iter().map(str::to_owned).collect::<Vec<_>>();
        record[0] = "0123456789abcdef".to_owned();
        write(&names, &csv::StringRecord::from(record));
        let (rows, damaged) = directory.read_numbered_rows().unwrap();
        assert!(rows.is_empty() && damaged.to_string().contains("belongs to another case"), "{damaged}");

        for (header, reason) in [
            ("ns,case_id,primitive", "no `verdict`"),
            ("case_id,ns,primitive,ns,verdict", "`ns` twice"),
            ("case_id,primitive,verdict\r", "its lines end with CR LF"),
            ("\u{feff}case_id,primitive,verdict", "no `case_id`"),
        ] {
            fs::write(directory.measurements(), format!("{header}\n")).unwrap();
            let error = directory.read_rows().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("restore it"), "{error}");
        }
    }

    /// The row as a file has it.
    fn read_back(row: &Row) -> Row {
        Header::default().row(&row.to_record()).unwrap()
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
