//! The files of a run directory: what can go wrong with them, reading and replacing them.
//!
//! A table may be compressed: `NAME.csv`, or else `NAME.csv.gz`. Stored runs have compressed tables where a repository would
//! otherwise grow by megabytes. Where both files are there, the run went on after it was stored, and the plain one counts.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// What can be wrong with a run directory.
#[derive(Debug, thiserror::Error)]
pub enum RunDirectoryError {
    /// It holds something already.
    #[error("{} is not empty; name another folder with --out, or go on with a run by --resume", .0.display())]
    NotEmpty(PathBuf),
    /// A run is stored there already.
    #[error("{} exists already; remove it, or store the run under another name", .0.display())]
    AlreadyStored(PathBuf),
    /// Another process writes into it.
    #[error("{} is in use by another syncscope; wait until it has ended, or name another folder with --out", .0.display())]
    Busy(PathBuf),
    /// It holds no run.
    #[error("{} is not a syncscope run: it has no run.json", .0.display())]
    NoRun(PathBuf),
    /// It has no rows.
    #[error("{} is missing, and the rows of the run with it; restore the file from a copy, or start a new run", .0.display())]
    NoTable(PathBuf),
    /// The operating system refused.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be understood.
    #[error("{place}: {reason}")]
    Content {
        /// The file, and the line where one is meant.
        place: String,
        /// Why.
        reason: String,
    },
}

impl RunDirectoryError {
    pub(super) fn content(path: &Path, reason: String) -> Self {
        Self::Content { place: path.display().to_string(), reason }
    }
}

/// What a user can do about an error of the file system.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; name one that you may use",
        io::ErrorKind::ReadOnlyFilesystem => "; name a folder you may write to with --out",
        io::ErrorKind::StorageFull => "; free some space: `run --resume` goes on with a run",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "; name a folder with --out",
        _ => "",
    }
}

/// Says of which file the system spoke.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, RunDirectoryError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, RunDirectoryError> {
        self.map_err(|source| RunDirectoryError::Io { path: path.to_owned(), source })
    }
}

impl<T> At<T> for csv::Result<T> {
    fn at(self, path: &Path) -> Result<T, RunDirectoryError> {
        self.map_err(|error| RunDirectoryError::content(path, error.to_string()))
    }
}

/// These records as lines of a file. A cell is one line: a reason quoted from a compiler or a library may hold several.
pub(crate) fn lines(records: impl IntoIterator<Item = StringRecord>) -> csv::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for record in records {
        writer.write_record(record.iter().map(|cell| cell.replace(['\n', '\r'], " ")))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// The part of a file up to its last line break; a line without one was cut off while it was written. (No cell
/// of the journal holds a line break: see [`crate::run::journal::Journal::append`].)
pub(crate) fn complete_lines(bytes: &[u8]) -> &[u8] {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[], |end| &bytes[..=end])
}

/// The complete lines of a table below its header, which has to be exactly these columns; none in an empty file.
///
/// # Errors
/// When the header is another one.
pub(crate) fn body<'a>(path: &Path, bytes: &'a [u8], columns: &[&str]) -> Result<&'a [u8], RunDirectoryError> {
    let bytes = complete_lines(bytes);
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(bytes) };
    let (header, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 1..]);
    if header == columns.join(",") {
        return Ok(body);
    }
    let found: Vec<&str> = header.split(',').collect();
    let differs = (0..columns.len().max(found.len())).find(|at| columns.get(*at) != found.get(*at)).unwrap_or(0);
    let differs = match (columns.get(differs), found.get(differs)) {
        _ if header.ends_with('\r') => "it has other line ends".to_owned(),
        (Some(column), Some(found)) => format!("its header has `{found}` for `{column}`"),
        (Some(column), None) => format!("its header has no `{column}`"),
        (None, found) => format!("its header has `{}`, which is no column", found.unwrap_or(&"")),
    };
    let reason = format!(
        "{differs}; another program, such as a spreadsheet, or another version of syncscope wrote this table: restore it from a \
         copy, or use that version"
    );
    Err(RunDirectoryError::content(path, reason))
}

/// The bytes of a file; `None` if there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, RunDirectoryError> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.at(path).map(Some),
    }
}

/// Replaces a file as a whole: whoever reads it finds the old content or the new one. What is there and is no file, such as
/// a link or a device, is written to.
///
/// # Errors
/// When it cannot be written. A file that was there is unchanged then.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, bytes);
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // Half a draft is worth nothing, and where the disk is full its room is.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Replaces a file of a run directory as a whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), RunDirectoryError> {
    replace_file(path, bytes).at(path)
}

/// The compressed form of a table.
pub(crate) fn packed(plain: &Path) -> PathBuf {
    let mut path = plain.as_os_str().to_owned();
    path.push(".gz");
    PathBuf::from(path)
}

/// The file that holds a table, and its content uncompressed; `None` if there is neither.
///
/// # Errors
/// When a file is there and cannot be read or unpacked.
pub(crate) fn read_table(plain: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, RunDirectoryError> {
    if let Some(bytes) = read_if_there(plain)? {
        return Ok(Some((plain.to_owned(), bytes)));
    }
    let path = packed(plain);
    let Some(compressed) = read_if_there(&path)? else { return Ok(None) };
    let bytes = unpack(&compressed, MOST_BYTES).at(&path)?;
    Ok(Some((path, bytes)))
}

/// Larger tables are refused: a kilobyte can unpack to a megabyte. The paper's grid on 16 CPUs has a tenth of it.
const MOST_BYTES: u64 = 1 << 30;

fn unpack(compressed: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(compressed).take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it unpacks to more than {most} bytes")));
    }
    Ok(bytes)
}

/// Replaces a table by these lines, uncompressed, as a run that goes on adds to them.
///
/// # Errors
/// When a file cannot be written or removed.
pub(crate) fn write_plain(plain: &Path, bytes: &[u8]) -> Result<(), RunDirectoryError> {
    replace(plain, bytes)?;
    let path = packed(plain);
    match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.at(&path),
    }
}

/// Writes `NAME.csv.gz`. The same content gives the same file: no time and no name stands in it.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_packed(plain: &Path, bytes: &[u8]) -> Result<(), RunDirectoryError> {
    let path = packed(plain);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish()).at(&path)?;
    replace(&path, &compressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("table.csv");
        write_packed(&plain, &vec![b'0'; 100_000]).unwrap();
        let compressed = fs::read(packed(&plain)).unwrap();
        assert!(compressed.len() < 1000, "{} bytes", compressed.len());
        assert_eq!(unpack(&compressed, 100_000).unwrap().len(), 100_000);
        let error = unpack(&compressed, 99_999).unwrap_err().to_string();
        assert!(error.contains("more than 99999 bytes"), "{error}");
    }

    #[test]
    fn the_plain_table_counts_and_a_broken_archive_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("table.csv");
        assert_eq!(read_table(&plain).unwrap(), None);
        write_packed(&plain, b"a\n1\n").unwrap();
        assert_eq!(read_table(&plain).unwrap(), Some((packed(&plain), b"a\n1\n".to_vec())));
        fs::write(&plain, "a\n2\n").unwrap();
        assert_eq!(read_table(&plain).unwrap(), Some((plain.clone(), b"a\n2\n".to_vec())), "the run went on");
        write_plain(&plain, b"a\n3\n").unwrap();
        assert!(!packed(&plain).exists());
        fs::remove_file(&plain).unwrap();
        fs::write(packed(&plain), b"no archive").unwrap();
        let error = read_table(&plain).unwrap_err().to_string();
        assert!(error.contains("table.csv.gz"), "{error}");
    }

    #[test]
    fn a_table_with_another_header_is_refused_with_what_differs() {
        let path = Path::new("run/measurements.csv");
        let columns = ["case_id", "ns", "reason"];
        let of = |text: &'static str| body(path, text.as_bytes(), &columns).map_err(|error| error.to_string());
        assert_eq!(of("").unwrap(), b"");
        assert_eq!(of("case_id,ns,reason\n0a,1,\"x, y\"\n0b,2").unwrap(), b"0a,1,\"x, y\"\n");
        for (text, differs) in [
            ("\"case_id\",\"ns\",\"reason\"\n", "`\"case_id\"` for `case_id`"),
            ("case_id,ns,reason\r\n", "line ends"),
            ("case_id;ns;reason\n", "`case_id;ns;reason` for `case_id`"),
            ("case_id,ns\n", "no `reason`"),
            ("case_id,ns,reason,later\n", "`later`, which is no column"),
            ("\u{feff}case_id,ns,reason\n", "for `case_id`"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(differs) && error.contains("measurements.csv"), "{text}: {error}");
            assert!(error.contains("spreadsheet") && error.contains("restore"), "{error}");
        }
    }
}
