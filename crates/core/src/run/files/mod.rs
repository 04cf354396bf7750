//! The files of a run directory: what can go wrong with them, reading and replacing them.
//!
//! `packed_table` is a table that may be compressed.

pub(crate) mod packed_table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::run::record::RowError;

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
    #[error("{} holds no run: it has no run.json; name a directory that `syncscope run --out` wrote", .0.display())]
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
    /// `run.json` cannot be understood.
    #[error("{}: {reason}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// `measurements.csv` cannot be understood.
    #[error("{}, line {line}: {source}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Why.
        source: RowError,
    },
    /// A run cannot go on with this table.
    #[error("{}: {reason}; resume the run with the version that wrote the table, or start a new one", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file is no CSV at all.
    #[error("{}: {source}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
}

/// What a user can do about an error of the file system.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; name a folder you may write to with --out"
        }
        io::ErrorKind::StorageFull => "; free some space, then go on with --resume",
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

/// The part of a file up to its last line break; a line without one was cut off while it was written. (No cell
/// of the journal holds a line break: see [`crate::run::journal::Journal::append`].)
pub(crate) fn complete_lines(bytes: &[u8]) -> &[u8] {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[], |end| &bytes[..=end])
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
