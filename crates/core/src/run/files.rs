//! The files of a run directory: what can go wrong with them, reading and replacing them.
//!
//! A table may be compressed: `NAME.csv`, or else `NAME.csv.gz`. Stored runs have compressed tables where a repository would
//! otherwise grow by megabytes. Where both files are there, the run went on after it was stored, and the plain one counts.

use std::borrow::Cow;
use std::fs::{self, DirEntry, File, Permissions};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use tempfile::{Builder, NamedTempFile};

use crate::data_file;
use crate::run::columns::CR_LF;

/// The longest absolute path of a run directory, in bytes. `PATH_MAX` of Linux is 4,096, and a name has up to 255.
pub(crate) const MOST_PATH: usize = 3800;

/// An error about a run directory.
#[derive(Debug, thiserror::Error)]
pub enum RunDirectoryError {
    /// It holds something already.
    #[error("{} is not empty; name another folder with --out, or continue its run with --resume", .0.display())]
    NotEmpty(PathBuf),
    /// The names of its files would be longer than the system allows.
    #[error("the path {}... has {} bytes, but at most {MOST_PATH} leave room for file names; name a shorter one with \
             --out", .0.display().to_string().chars().take(60).collect::<String>(), .0.as_os_str().len())]
    LongPath(PathBuf),
    /// A run is stored there already.
    #[error("{} exists already; remove it, or store the run under another name", .0.display())]
    AlreadyStored(PathBuf),
    /// Something in it is a link: a run that somebody passed on could have files of its reader read and replaced.
    #[error("{} is a link, and a run contains none: put the file itself there, or remove the link", .0.display())]
    Link(PathBuf),
    /// Another process writes into it.
    #[error("{} is in use by another syncscope; wait until it has ended, or name another folder with --out", .0.display())]
    Busy(PathBuf),
    /// It holds no run.
    #[error("{} is not a syncscope run: it has no run.json", .0.display())]
    NoRun(PathBuf),
    /// It has no rows.
    #[error("{} is missing, and with it the run's rows; restore the file from a copy, or start a new run", .0.display())]
    NoTable(PathBuf),
    /// The operating system refused.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
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

/// The remedy for an error of the file system.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; name one that you may use",
        io::ErrorKind::ReadOnlyFilesystem => "; name a folder you may write to with --out",
        io::ErrorKind::StorageFull => "; free some space: `run --resume` continues a run",
        io::ErrorKind::FileTooLarge => "; allow larger files (`ulimit -f`): `run --resume` continues a run",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "; name a folder with --out",
        io::ErrorKind::InvalidFilename => "; name a shorter one with --out",
        _ => "",
    }
}

/// Adds the path of the file to an error of the system.
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

/// The header of a table without its line break, and the complete lines below; `None` in an empty file.
pub(crate) fn split_header(bytes: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    let bytes = complete_lines(bytes);
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((String::from_utf8_lossy(&bytes[..end]), &bytes[end + 1..]))
}

/// The complete lines of a table below its header, which has to be exactly these columns; none in an empty file.
///
/// # Errors
/// When the header is another one.
pub(crate) fn body<'a>(path: &Path, bytes: &'a [u8], columns: &[&str]) -> Result<&'a [u8], RunDirectoryError> {
    let Some((header, body)) = split_header(bytes) else { return Ok(&[]) };
    if header == columns.join(",") {
        return Ok(body);
    }
    let found: Vec<&str> = header.split(',').collect();
    let differs = (0..columns.len().max(found.len())).find(|at| columns.get(*at) != found.get(*at)).unwrap_or(0);
    let differs = match (columns.get(differs), found.get(differs)) {
        (Some(column), Some(found)) => format!("its header has `{found}` for `{column}`"),
        (Some(column), None) => format!("its header has no `{column}`"),
        (None, found) => format!("its header has `{}`, which is not a column", found.unwrap_or(&"")),
    };
    Err(foreign(path, &header, &differs))
}

/// The error about a table with another header; `differs` says how it differs.
pub(crate) fn foreign(path: &Path, header: &str, differs: &str) -> RunDirectoryError {
    let differs = if header.ends_with('\r') { CR_LF } else { differs };
    let reason = format!(
        "{differs}; another program, such as a spreadsheet, or another version of syncscope wrote this table: restore it from a \
         copy, or use that version"
    );
    RunDirectoryError::content(path, reason)
}

/// The bytes of a regular file; `None` if there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, RunDirectoryError> {
    read_at_most(path, data_file::MOST_BYTES)
}

/// [`read_if_there`] with another size limit.
pub(crate) fn read_at_most(path: &Path, most: u64) -> Result<Option<Vec<u8>>, RunDirectoryError> {
    match data_file::read_at_most(path, most) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.at(path).map(Some),
    }
}

/// Replaces a file that the user named, as a whole: whoever reads it finds the old content or the new one. Anything there
/// that is no file, such as a link or a device, is written to.
///
/// # Errors
/// When it cannot be written. A file that was there is unchanged then.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, bytes);
    }
    draft_of(path, bytes)?.persist(path)?;
    Ok(())
}

/// Replaces a file of a folder whose content others may have made. A link in its place is not followed.
///
/// # Errors
/// When it cannot be written, or something else than a file is there.
pub fn replace_own_file(path: &Path, bytes: &[u8]) -> Result<(), RunDirectoryError> {
    refuse_link(path)?;
    draft_of(path, bytes).and_then(|draft| Ok(draft.persist(path)?)).map(drop).at(path)
}

/// Replaces a file of a run directory as a whole, so that even a power cut leaves the old content or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), RunDirectoryError> {
    refuse_link(path)?;
    let replaced = draft_of(path, bytes).and_then(|draft| {
        draft.as_file().sync_all()?;
        draft.persist(path)?;
        Ok(())
    });
    // Some file systems cannot sync a folder. The file is whole all the same.
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    replaced.at(path)
}

/// Refuses a link.
pub(crate) fn refuse_link(path: &Path) -> Result<(), RunDirectoryError> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link { Err(RunDirectoryError::Link(path.to_owned())) } else { Ok(()) }
}

/// Whether this is the name of a file and leads to no other folder.
pub fn is_plain_name(name: &str) -> bool {
    let path = Path::new(name);
    path.file_name() == Some(path.as_os_str()) && !name.contains('\0')
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How the names of drafts begin and end.
const DRAFT: (&str, &str) = (".syncscope-", ".new");

/// A file with an unpredictable name, in the folder of the file that it will replace. It is removed if it does not
/// replace it.
fn draft_of(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let (begin, end) = DRAFT;
    // The mode of any new file, from which `umask` takes.
    let mode = Permissions::from_mode(0o666);
    let mut draft = Builder::new().prefix(begin).suffix(end).permissions(mode).tempfile_in(folder_of(path))?;
    draft.write_all(bytes)?;
    Ok(draft)
}

/// Removes the drafts of processes that were killed.
pub fn remove_drafts(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_draft) {
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether it is a draft, by its name.
pub(crate) fn is_draft(entry: &DirEntry) -> bool {
    let (begin, end) = DRAFT;
    entry.file_name().to_str().is_some_and(|name| name.starts_with(begin) && name.ends_with(end))
}

/// The path of the compressed form of a table.
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
    read_large_table(plain, data_file::MOST_BYTES)
}

/// [`read_table`] with another size limit, packed and unpacked.
pub(crate) fn read_large_table(plain: &Path, most: u64) -> Result<Option<(PathBuf, Vec<u8>)>, RunDirectoryError> {
    if let Some(bytes) = read_at_most(plain, most)? {
        return Ok(Some((plain.to_owned(), bytes)));
    }
    let path = packed(plain);
    let Some(compressed) = read_at_most(&path, most)? else { return Ok(None) };
    let bytes = data_file::unpack(&compressed, most).at(&path)?;
    Ok(Some((path, bytes)))
}

/// Counts the complete lines of a table that can be read, and tells whether that is all of it.
pub(crate) fn count_lines(plain: &Path, most_bytes: u64) -> io::Result<(u64, bool)> {
    let file: Box<dyn Read> = match data_file::open(plain) {
        Ok(file) => Box::new(file),
        Err(_) => Box::new(MultiGzDecoder::new(data_file::open(&packed(plain))?)),
    };
    let (mut source, mut lines, mut last) = (BufReader::new(file.take(most_bytes)), 0, b'\n');
    // What cannot be unpacked any further was cut off.
    while let Ok(bytes) = source.fill_buf() {
        let Some(end) = bytes.last() else { return Ok((lines, last == b'\n')) };
        last = *end;
        lines += bytes.split(|byte| *byte == b'\n').count() as u64 - 1;
        let read = bytes.len();
        source.consume(read);
    }
    Ok((lines, false))
}

/// Replaces a table with these lines, uncompressed, in the form to which a run in progress adds.
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

/// Writes `NAME.csv.gz`. Equal content gives an equal file: it contains no time and no name.
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
    fn a_link_is_followed_only_where_the_user_named_it() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [victim, link, dangling] = ["victim", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &link).unwrap();
        symlink(folder.path().join("made"), &dangling).unwrap();
        for path in [&link, &dangling] {
            for error in
                [replace(path, b"x"), replace_own_file(path, b"x")].map(|written| written.unwrap_err().to_string())
            {
                assert!(error.contains("is a link") && error.contains("remove"), "{error}");
            }
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        replace_file(&link, b"written through").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"written through");
        replace(&victim, b"new").unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no draft is left");
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(replace(&folder.path().join("folder"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "no draft is left of a failure");
    }

    #[test]
    fn a_plain_name_leads_nowhere() {
        for name in ["", ".", "..", "/", "a/", "/a", "a/b", "../a", "a/..", "a\0b"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
        assert!(["a", "a.csv", "..a", "a b", "\u{e9}"].iter().all(|name| is_plain_name(name)));
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
            ("case_id,ns,reason\r\n", "its lines end with CR LF"),
            ("case_id;ns;reason\n", "`case_id;ns;reason` for `case_id`"),
            ("case_id,ns\n", "no `reason`"),
            ("case_id,ns,reason,later\n", "`later`, which is not a column"),
            ("\u{feff}case_id,ns,reason\n", "for `case_id`"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(differs) && error.contains("measurements.csv"), "{text}: {error}");
            assert!(error.contains("spreadsheet") && error.contains("restore"), "{error}");
        }
    }
}
