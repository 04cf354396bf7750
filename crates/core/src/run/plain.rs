//! Tables of experiments that measure no cases: CSV with one header, one line for each row, an empty cell for what is not known.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

use crate::data_file;
use crate::run::counts::check_line;
use crate::run::damage::{DamagedLines, MOST_ROWS, at_most, records};
use crate::run::files::{At, read_table, replace};
use crate::{RunDirectory, RunDirectoryError};

/// Writes `NAME.csv`. The columns are the fields of a row, which must be numbers, words and options of them.
///
/// # Errors
/// When the file cannot be written.
pub fn write<T: Serialize>(directory: &RunDirectory, name: &str, rows: &[T]) -> Result<(), RunDirectoryError> {
    let path = directory.path().join(format!("{name}.csv"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row)).at(&path)?;
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error).at(&path)?;
    replace(&path, &bytes)
}

/// Reads `NAME.csv`, which may be compressed, without its damaged lines, which become a warning; no rows if there is no such file.
///
/// # Errors
/// When the file cannot be read.
pub fn read<T: DeserializeOwned>(
    directory: &RunDirectory,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<T>, RunDirectoryError> {
    let name = format!("{name}.csv");
    let Some((_, rows, damaged)) = parse(&directory.path().join(&name))? else { return Ok(Vec::new()) };
    warnings.extend(damaged.warning(&name));
    Ok(rows)
}

/// Reads a table that is in no run; `None` if the file is not there.
///
/// # Errors
/// When the file cannot be read or a line is no such row.
pub fn read_file<T: DeserializeOwned>(path: &Path) -> Result<Option<Vec<T>>, RunDirectoryError> {
    let Some((path, rows, damaged)) = parse(path)? else { return Ok(None) };
    if damaged == DamagedLines::default() {
        Ok(Some(rows))
    } else {
        Err(RunDirectoryError::content(&path, damaged.to_string()))
    }
}

type Parsed<T> = (PathBuf, Vec<T>, DamagedLines);

fn parse<T: DeserializeOwned>(path: &Path) -> Result<Option<Parsed<T>>, RunDirectoryError> {
    let Some((path, bytes)) = read_table(path)? else { return Ok(None) };
    let bytes = bytes.strip_prefix(data_file::BYTE_ORDER_MARK.as_bytes()).unwrap_or(&bytes);
    let (mut rows, mut damaged) = (Vec::new(), DamagedLines::default());
    let columns = records(bytes, 1, 0).next().and_then(|(.., header)| Some(header.ok()?.len())).unwrap_or_default();
    let mut lines = records(bytes, 1, columns);
    let Some((.., header)) = lines.next() else { return Ok(Some((path, rows, damaged))) };
    let header = header.map_err(|reason| RunDirectoryError::content(&path, reason))?;
    for (line, _, record) in lines {
        let row = record.and_then(|record| {
            if record.len() != header.len() {
                return Err(format!("it has {} cells instead of {}", record.len(), header.len()));
            }
            check_line(&header, &record)?;
            record.deserialize(Some(&header)).map_err(|error| error.to_string())
        });
        match row {
            Ok(row) => rows.push(row),
            Err(reason) => damaged.add(line, || reason),
        }
        at_most(rows.len(), MOST_ROWS, &path)?;
    }
    Ok(Some((path, rows, damaged)))
}

/// The text of a table, which may be compressed: `path`, or `path` and `.gz`.
///
/// # Errors
/// When there is no such file, or it cannot be read.
pub fn read_text(path: &Path) -> Result<String, RunDirectoryError> {
    let (path, bytes) = read_table(path)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT)).at(path)?;
    data_file::text(bytes).at(&path)
}

/// Reads a count by which others are divided, for `deserialize_with`.
///
/// # Errors
/// If the cell is no count, or 0.
pub fn above_zero<'de, D: Deserializer<'de>>(cell: D) -> Result<u32, D::Error> {
    let count = u32::deserialize(cell)?;
    if count == 0 { Err(D::Error::custom("a count that must be above zero is 0")) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Cost {
        what: String,
        time_ns: Option<f64>,
        repeats: u32,
    }

    fn directory() -> (tempfile::TempDir, RunDirectory) {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
        (folder, directory)
    }

    #[test]
    fn what_is_not_known_is_an_empty_cell_and_stays_unknown() {
        let (_folder, directory) = directory();
        let rows = [
            Cost { what: "a, b".into(), time_ns: Some(0.1 + 0.2), repeats: 3 },
            Cost { what: "c \"d\"".into(), time_ns: None, repeats: 0 },
        ];
        write(&directory, "costs", &rows).unwrap();
        let text = std::fs::read_to_string(directory.path().join("costs.csv")).unwrap();
        assert_eq!(text.lines().next(), Some("what,time_ns,repeats"));
        assert!(text.lines().nth(2).unwrap().ends_with(",,0"), "{text}");
        assert_eq!(read::<Cost>(&directory, "costs", &mut Vec::new()).unwrap(), rows);
        std::fs::write(directory.path().join("costs.csv"), format!("\u{feff}{text}")).unwrap();
        assert_eq!(read::<Cost>(&directory, "costs", &mut Vec::new()).unwrap(), rows, "as a spreadsheet saves it");
    }

    #[test]
    fn a_missing_table_has_no_rows_and_a_damaged_line_costs_its_own_row() {
        let (_folder, directory) = directory();
        let mut warnings = Vec::new();
        let mut read = || read::<Cost>(&directory, "costs", &mut warnings).unwrap();
        assert_eq!(read(), []);
        let lines = "what,time_ns,repeats\na,fast,1\n\0\0\nb,2,3\nc,,4294967295\nd,,1\ne,";
        std::fs::write(directory.path().join("costs.csv"), lines).unwrap();
        assert_eq!(read().iter().map(|line| line.what.as_str()).collect::<Vec<_>>(), ["b", "d"]);
        let error = read_file::<Cost>(&directory.path().join("costs.csv")).unwrap_err().to_string();
        assert!(error.contains("costs.csv: 4 lines (2, 3, 5, 7; line 2: "), "{error}");
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].contains("4 lines (2, 3, 5, 7; line 2: ") && warnings[0].contains("costs.csv"),
            "{warnings:?}"
        );
    }

    #[test]
    fn the_directory_of_an_experiment_has_no_measurements() {
        let (_folder, directory) = directory();
        assert!(!directory.measurements().exists());
        let again = RunDirectory::create_for_experiment(directory.path());
        assert!(again.is_ok(), "it is still empty");
    }
}
