//! This program: its file, C library, loaded libraries, cache folder and end, and hashes that identify files.

use std::env;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::fs::{self, File};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The link to the running file, which works even where that file was replaced or deleted since.
const RUNNING_FILE: &str = "/proc/self/exe";

/// A command that starts this program again from the running file: an upgrade or a build may have put another program at its
/// path. Under QEMU's user-mode emulation the link leads to the emulator, so the path is used.
///
/// # Errors
/// Where `/proc` is not there and the path is not known.
pub fn this_program() -> io::Result<Command> {
    let emulated = fs::read_link("/proc/thread-self/exe").is_ok_and(|program| is_emulator(&program));
    let has_link = !emulated && Path::new(RUNNING_FILE).exists();
    let mut command = Command::new(if has_link { RUNNING_FILE.into() } else { env::current_exe()? });
    // The name that `ps` shows.
    if let Some(name) = env::args_os().next() {
        command.arg0(name);
    }
    Ok(command)
}

/// Whether a program is QEMU's user-mode emulator, which shows itself in `/proc/thread-self/exe` alone.
pub fn is_emulator(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("qemu-"))
}

/// The device and inode of the running file, by which processes of one program recognize each other.
pub fn program_identity() -> Option<[u64; 2]> {
    let file = fs::metadata(RUNNING_FILE).ok()?;
    Some([file.dev(), file.ino()])
}

/// The file of the loaded library that holds this address, for example of a function.
pub fn file_of(address: *const c_void) -> Option<PathBuf> {
    std::path::absolute(OsStr::from_bytes(text(loaded_at(address)?.dli_fname)?.to_bytes())).ok()
}

/// The loader's name for this address, the same in every run of a program: the function that a library exports there, or the
/// file and the offset in it, `syncscope+3a4f0`. `None` outside the program and its libraries.
pub fn name_of(address: *const c_void) -> Option<String> {
    let found = loaded_at(address)?;
    if found.dli_saddr.cast_const() == address {
        return Some(text(found.dli_sname)?.to_string_lossy().into_owned());
    }
    let file = file_of(address)?;
    Some(format!("{}+{:x}", file.file_name()?.display(), address as usize - found.dli_fbase as usize))
}

/// What the loader knows of an address; does not read memory there.
fn loaded_at(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call reads no memory at the address, and writes to a structure that is valid for it.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) } != 0;
    // SAFETY: zeros are a valid value.
    found.then(|| unsafe { info.assume_init() })
}

/// A name from the loader.
fn text(name: *const c_char) -> Option<&'static CStr> {
    // SAFETY: it ends with a zero, and lives as long as its library, of which none is unloaded.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

/// Name and version of the C library, `("glibc", "2.36")`; `None` where it has no function that says so (musl).
///
/// The version belongs to the library that was loaded, not to the one that the program was built with.
pub fn c_library_version() -> Option<(&'static str, String)> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function takes nothing and returns a constant string of the C library, which ends with a zero.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(("glibc", version.to_str().ok()?.to_owned()))
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

/// The folder for what this program can make again: `$SYNCSCOPE_CACHE`, `$XDG_CACHE_HOME/syncscope` or `~/.cache/syncscope`;
/// `None` if the user has no home.
pub fn cache_folder() -> Option<PathBuf> {
    variable("SYNCSCOPE_CACHE").or_else(|| folder_of_user("XDG_CACHE_HOME", ".cache"))
}

/// The folder for what this program learned of the machine: `$XDG_STATE_HOME/syncscope` or `~/.local/state/syncscope`; `None` if
/// the user has no home.
pub fn state_folder() -> Option<PathBuf> {
    folder_of_user("XDG_STATE_HOME", ".local/state")
}

/// This program's subfolder in the folder that a variable names, or in its usual place in the home.
fn folder_of_user(name: &str, usual: &str) -> Option<PathBuf> {
    Some(variable(name).or_else(|| Some(variable("HOME")?.join(usual)))?.join("syncscope"))
}

/// The folder that a variable names. A relative folder is ignored (XDG Base Directory Specification): it would depend on the
/// working folder.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Ends this process without its exit handlers, which may wait for others.
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: the call has no requirement and does not return.
    unsafe { libc::_exit(code) }
}

/// A 64-bit hash of a file's bytes, as 16 lower-case hexadecimal digits; `None` where the file cannot be read. It identifies a
/// file and is not safe against forgery.
pub fn file_hash(path: &Path) -> Option<String> {
    hashed_by_words(File::open(path).ok()?).ok().map(|hash| format!("{hash:016x}"))
}

/// Hashes eight bytes a step, like rustc's FxHash: FNV-1a multiplies once for each byte, and a program has tens of millions.
fn hashed_by_words(mut bytes: impl Read) -> io::Result<u64> {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    const PART: usize = 1 << 16;
    let with = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (mut hash, mut length) = (OFFSET_BASIS, 0);
    let mut part = Vec::with_capacity(PART);
    loop {
        part.clear();
        // Read a full part however short the reads are; only the last one may end within a word.
        let count = bytes.by_ref().take(PART as u64).read_to_end(&mut part)?;
        length += count as u64;
        part.resize(count.next_multiple_of(8), 0);
        hash = part.as_chunks().0.iter().fold(hash, |hash, word| with(hash, u64::from_le_bytes(*word)));
        if count < PART {
            return Ok(with(hash, length));
        }
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo; IETF draft-eastlake-fnv) of bytes in memory, in the form of [`file_hash`].
pub fn content_hash(bytes: &[u8]) -> String {
    format!("{:016x}", hashed(OFFSET_BASIS, bytes))
}

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

fn hashed(mut hash: u64, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the draft, appendix C.
    #[test]
    fn the_published_vectors_hold() {
        assert_eq!(hashed(OFFSET_BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hashed(OFFSET_BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hashed(OFFSET_BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_file_is_hashed_across_reads() {
        /// Gives three bytes at a time.
        struct Slow<'a>(&'a [u8]);

        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = buffer.len().min(3);
                self.0.read(&mut buffer[..count])
            }
        }

        let bytes: Vec<u8> = (0..200_001_u64).map(|at| ((at * at) >> 7) as u8 ^ 0xa5).collect();
        let of = |bytes: &[u8]| hashed_by_words(bytes).unwrap();
        assert_eq!(hashed_by_words(Slow(&bytes)).unwrap(), of(&bytes));
        let mut all: Vec<u64> = [0, 1, 7, 8, 9, 65_535, 65_536, 65_537, 200_001].map(|end| of(&bytes[..end])).into();
        // Zeros at the end, one bit, two words in another order.
        all.extend([&[0][..], &[0; 2], &[0; 8]].map(of));
        for at in [0, 7, 65_543, 200_000] {
            let mut changed = bytes.clone();
            changed[at] ^= 0x80;
            all.push(of(&changed));
        }
        let mut changed = bytes.clone();
        changed[..16].rotate_left(8);
        all.push(of(&changed));
        let distinct: std::collections::HashSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/program.rs");
        assert_eq!(file_hash(&path), Some(format!("{:016x}", of(&std::fs::read(&path).unwrap()))));
        assert_eq!(file_hash(&path.join("nothing")), None);
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn a_function_of_the_c_library_is_in_its_file() {
        let file = super::file_of(libc::gnu_get_libc_version as *const std::ffi::c_void).unwrap();
        assert!(file.is_file() && file.to_string_lossy().contains("libc"), "{}", file.display());
        assert_eq!(super::file_of(std::ptr::null()), None);
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn an_address_has_the_name_of_its_function_or_its_place_in_a_file() {
        let function = libc::gnu_get_libc_version as *const c_void;
        assert_eq!(name_of(function).as_deref(), Some("gnu_get_libc_version"));
        let own = name_of(name_of as *const c_void).unwrap();
        let (file, place) = own.split_once('+').unwrap();
        assert!(file.starts_with("syncscope_host") && u64::from_str_radix(place, 16).is_ok(), "{own}");
        assert_eq!(name_of(std::ptr::null()), None);
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn glibc_reports_its_version() {
        let (name, version) = super::c_library_version().unwrap();
        let numbers: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
        assert_eq!(name, "glibc");
        assert!(numbers.is_some_and(|numbers| numbers.len() >= 2 && numbers[0] == 2), "{version}");
    }
}
