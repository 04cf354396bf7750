//! One process at a time writes into a run directory.

use std::fs::{File, TryLockError};
use std::thread;
use std::time::Duration;

use crate::run::directory::RunDirectory;
use crate::run::files::{At, RunDirectoryError};

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
                Ok(()) => return Ok(WriteLock { _folder: Some(folder) }),
                Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_ATTEMPTS),
                // A file system without locks is no reason not to measure.
                Err(TryLockError::Error(_)) => return Ok(WriteLock { _folder: None }),
            }
        }
        Err(RunDirectoryError::Busy(self.path().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
