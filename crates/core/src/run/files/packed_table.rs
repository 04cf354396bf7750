//! A table of a run directory that may be compressed: `NAME.csv`, or else `NAME.csv.gz`. Stored runs have compressed tables
//! where a repository would otherwise grow by megabytes. Where both files are there, the run went on after it was stored,
//! and the plain one counts.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{At, RunDirectoryError, read_if_there, replace};

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
pub(crate) fn read(plain: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, RunDirectoryError> {
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
        assert_eq!(read(&plain).unwrap(), None);
        write_packed(&plain, b"a\n1\n").unwrap();
        assert_eq!(read(&plain).unwrap(), Some((packed(&plain), b"a\n1\n".to_vec())));
        fs::write(&plain, "a\n2\n").unwrap();
        assert_eq!(read(&plain).unwrap(), Some((plain.clone(), b"a\n2\n".to_vec())), "the run went on");
        write_plain(&plain, b"a\n3\n").unwrap();
        assert!(!packed(&plain).exists());
        fs::remove_file(&plain).unwrap();
        fs::write(packed(&plain), b"no archive").unwrap();
        let error = read(&plain).unwrap_err().to_string();
        assert!(error.contains("table.csv.gz"), "{error}");
    }
}
