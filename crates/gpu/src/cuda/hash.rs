//! The hash by which compiled texts are found again.

/// The 128-bit FNV-1a hash (Fowler, Noll, Vo; IETF draft-eastlake-fnv): the same in every version, unlike the hash of the
/// standard library. It detects accidents, not attacks: from a folder where everybody may write, nothing is taken.
pub(crate) fn hash(bytes: impl IntoIterator<Item = u8>) -> u128 {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.into_iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}
