//! Reads data files: those of a run, which other people may have written, and those that a user names.
//!
//! Only a regular file has an end. A FIFO, a terminal or `/dev/zero` would be read for ever, so nothing else is opened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// The largest file that is read as a whole, packed or unpacked. A kilobyte can unpack to a megabyte, and a sparse file can claim
/// any size.
pub const MOST_BYTES: u64 = 256 << 20;

/// The mark that some programs write at the beginning of a text. It is no part of the text.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads a regular file of at most [`MOST_BYTES`].
///
/// # Errors
/// When it is not there, is no regular file, is larger, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MOST_BYTES)
}

/// Reads a regular file as text.
///
/// # Errors
/// As [`read`], and when it is no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

/// The bytes of a file as text, without a byte order mark.
///
/// # Errors
/// When they are no UTF-8, with the number of the line.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        invalid(format!("line {line} is not UTF-8"))
    })?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(text))
}

/// Reads a regular file with another limit.
///
/// # Errors
/// As [`read`].
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large(most));
    }
    // Files of /proc have no size. One byte more tells a file that grows from one that just fits.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default().saturating_add(1));
    take(file, most, &mut bytes)?;
    Ok(bytes)
}

/// Unpacks a compressed file of at most this size, unpacked.
///
/// # Errors
/// When it is damaged or larger.
pub fn unpack(compressed: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    take(MultiGzDecoder::new(compressed), most, &mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => invalid("it is cut off: copy it again".to_owned()),
        _ => error,
    })?;
    Ok(bytes)
}

fn take(source: impl Read, most: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    source.take(most + 1).read_to_end(bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(()) }
}

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a device can act on it, and opening a FIFO wakes its writer.
    is_regular(&fs::metadata(path)?)?;
    // Another file may have taken its place since: do not wait for that one.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    is_regular(&file.metadata()?)?;
    Ok(file)
}

fn is_regular(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let is_folder = found.is_dir();
    Err(if is_folder {
        io::ErrorKind::IsADirectory.into()
    } else {
        invalid("it is not a regular file: save the output of a pipe or device to a file first".to_owned())
    })
}

fn too_large(most: u64) -> io::Error {
    invalid(format!("it has more than {most} bytes, the limit"))
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let [fifo, link, dangling, sparse] =
            ["fifo", "link", "dangling", "sparse"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        File::create(&sparse).unwrap().set_len(40 << 30).unwrap();
        for path in [&fifo, &link] {
            assert!(read(path).unwrap_err().to_string().contains("regular file"), "{}", path.display());
        }
        assert_eq!(read(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(read(&dangling).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(read(&sparse).unwrap_err().to_string().contains("more than 268435456 bytes"));
        assert!(read(Path::new("/proc/self/status")).unwrap().len() > 100, "a file without a size");
    }

    #[test]
    fn the_line_that_is_no_text_is_named() {
        assert_eq!(text("é\n".into()).unwrap(), "é\n");
        assert_eq!(text("\u{feff}é\n".into()).unwrap(), "é\n");
        for (bytes, line) in [(&b"\xff"[..], 1), (b"a\n\n\xc3", 3), (b"\n\xe9\n\xe9", 2)] {
            assert_eq!(text(bytes.to_vec()).unwrap_err().to_string(), format!("line {line} is not UTF-8"));
        }
    }

    #[test]
    fn the_limit_is_the_last_size_that_fits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        assert!(read_at_most(&path, 4).is_err());
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b'0'; 100_000]).unwrap();
        let compressed = encoder.finish().unwrap();
        assert!(compressed.len() < 1000, "{} bytes", compressed.len());
        assert_eq!(unpack(&compressed, 100_000).unwrap().len(), 100_000);
        assert!(unpack(&compressed, 99_999).unwrap_err().to_string().contains("more than 99999 bytes"));
        for kept in [1, 5, 30, compressed.len() - 1] {
            let error = unpack(&compressed[..kept], 100_000).unwrap_err();
            assert_eq!(error.to_string(), "it is cut off: copy it again", "{kept} bytes");
        }
    }
}
