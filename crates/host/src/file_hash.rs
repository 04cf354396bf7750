//! The identity of a file's content.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo; IETF draft-eastlake-fnv) of a file's bytes, as 16 lower-case hexadecimal
/// digits; `None` where it cannot be read. It identifies a file and protects against no one.
pub fn file_hash(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut buffer = vec![0_u8; 1 << 16];
    let mut hash = OFFSET_BASIS;
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(format!("{hash:016x}")),
            count => hash = hashed(hash, &buffer[..count]),
        }
    }
}

/// The same of bytes in memory.
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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/file_hash.rs");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(file_hash(&path), Some(format!("{:016x}", hashed(OFFSET_BASIS, &bytes))));
        assert_eq!(file_hash(&path.join("nothing")), None);
    }
}
