//! The largest numbers that a file may hold. Nobody measured a larger one: it is refused where it is read, so that later
//! code may count, multiply and draw what it gets.

use std::str::FromStr;

/// Threads of a team or of a block, or processes of an MPI program.
pub const MOST_THREADS: u32 = 1 << 16;

/// CPUs, processes, states: whatever has a number in a file.
pub(crate) const MOST_OF_ONE_KIND: u32 = 1 << 20;

/// Blocks of a grid: a vector of a gigabyte has half a million.
pub const MOST_BLOCKS: u32 = 1 << 24;

/// Devices of one program.
pub(crate) const MOST_DEVICES: u32 = 1 << 10;

/// Distance between the elements of two threads, in elements.
pub const MOST_STRIDE: u32 = 1 << 30;

/// Elements of a vector.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 40;

/// Any other count, such as pairs and iterations: sums and products of a few of them still fit.
pub(crate) const MOST_COUNT: u64 = 1 << 40;

/// Parses a count of at most `most`; `None` where the text is anything else.
pub(crate) fn count<T: FromStr + PartialOrd + Copy>(text: &str, most: T) -> Option<T> {
    text.parse().ok().filter(|count| *count <= most)
}
