//! Compiled kernels, kept from run to run in the user's cache folder.
//!
//! A cache that is lost, full, read-only or damaged costs only time.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Version of the file format, and of everything that no other part of the key contains.
const FORMAT: &str = "syncscope kernel 1";

/// What a kernel depends on, as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(u128);

impl Key {
    /// The key of these parts. The limits between the parts matter.
    pub fn of(parts: &[&str]) -> Self {
        let lengths = parts.iter().map(|part| part.len().to_string()).collect::<Vec<_>>().join(",");
        Self(hash([FORMAT, &lengths].iter().chain(parts).flat_map(|part| part.bytes())))
    }
}

/// The 128-bit FNV-1a hash (Fowler, Noll, Vo; IETF draft-eastlake-fnv): the same in every version, unlike the hash of the
/// standard library. It detects accidents, not attacks: someone who can write to the folder can also replace the program.
fn hash(bytes: impl IntoIterator<Item = u8>) -> u128 {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.into_iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// A folder of compiled kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's cache: `$SYNCSCOPE_CACHE`, `$XDG_CACHE_HOME/syncscope` or `~/.cache/syncscope`; none if the user has no
    /// home.
    pub fn of_user() -> Self {
        Self { folder: syncscope_host::cache_folder().map(|folder| folder.join("kernels")) }
    }

    /// A cache in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{:032x}.cubin", key.0)))
    }

    /// The kernel with this key; `None` if there is none or it is damaged.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let content = fs::read(self.path(key)?).ok()?;
        let header = header(key, content.get(header(key, &[]).len()..)?);
        Some(content.strip_prefix(header.as_bytes())?.to_vec())
    }

    /// Stores a kernel. The file appears complete or not at all, also if this process is killed.
    ///
    /// # Errors
    /// If the folder cannot be made or written to. The next run compiles again.
    pub fn put(&self, key: &Key, cubin: &[u8]) -> Result<(), String> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let write = || -> io::Result<()> {
            let folder = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            // No other process or thread writes this kernel under this name.
            let draft = path.with_extension(format!("{}.draft", process::id()));
            let written = fs::File::create(&draft).and_then(|mut file| {
                file.write_all(header(key, cubin).as_bytes())?;
                file.write_all(cubin)
            });
            written.and_then(|()| fs::rename(&draft, &path)).inspect_err(|_| drop(fs::remove_file(&draft)))
        };
        write().map_err(|error| format!("compiled kernels cannot be kept in {}: {error}", path.display()))
    }
}

/// The header of a file, of the same length for all kernels. It detects damaged and misplaced files.
fn header(key: &Key, cubin: &[u8]) -> String {
    format!("{FORMAT}\n{:032x}\n{:032x}\n", key.0, hash(cubin.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &[u8] = b"\x7fELF and so on";

    fn key() -> Key {
        Key::of(&["source", "sm_90", "13.0"])
    }

    #[test]
    fn a_stored_kernel_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(&folder.path().join("not/yet/there"));
        assert_eq!(cache.get(&key()), None);
        cache.put(&key(), KERNEL).unwrap();
        assert_eq!(cache.get(&key()).as_deref(), Some(KERNEL));
        cache.put(&key(), b"again").unwrap();
        assert_eq!(cache.get(&key()).as_deref(), Some(&b"again"[..]));
    }

    #[test]
    fn every_part_and_its_position_changes_the_key() {
        let keys = [
            key(),
            Key::of(&["source ", "sm_90", "13.0"]),
            Key::of(&["source", "sm_80", "13.0"]),
            Key::of(&["source", "sm_90", "13.1"]),
            Key::of(&["sources", "m_90", "13.0"]),
            Key::of(&["source", "sm_90", "13.0", ""]),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(one), "{index}");
        }
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        cache.put(&key(), KERNEL).unwrap();
        let path = cache.path(&key()).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for damaged in [&whole[..whole.len() - 1], &whole[..10], &[], &flipped] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(&key()), None);
        }
        cache.put(&key(), KERNEL).unwrap();
        assert_eq!(cache.get(&key()).as_deref(), Some(KERNEL), "and is replaced");
    }

    #[test]
    fn a_kernel_under_another_name_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        let other = Key::of(&["other"]);
        cache.put(&other, KERNEL).unwrap();
        fs::rename(cache.path(&other).unwrap(), cache.path(&key()).unwrap()).unwrap();
        assert_eq!(cache.get(&key()), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::in_folder(&file.join("below")).put(&key(), KERNEL).unwrap_err();
        assert!(error.contains("cannot be kept"), "{error}");
    }

    #[test]
    fn without_a_folder_nothing_is_stored_and_there_is_no_error() {
        let cache = Cache { folder: None };
        cache.put(&key(), KERNEL).unwrap();
        assert_eq!(cache.get(&key()), None);
    }
}
