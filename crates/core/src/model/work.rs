//! What threads do inside and outside of a critical section, as those of a program do.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::words::UnknownWord;

/// The work of one thread in one place, written `100ns`, `1us`, `4KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// So many nanoseconds without memory accesses.
    Time(u32),
    /// A walk over so many bytes of data, one cache line after the other.
    Memory(u32),
}

/// Long against the steps of a loop, and short against a time slice.
const NS: RangeInclusive<u32> = 10..=100_000;

/// From one cache line to what fits into most second-level caches.
const BYTES: RangeInclusive<u32> = 64..=1 << 20;

/// Its word, its kind, and how many of the smallest unit it is.
type Unit = (&'static str, fn(u32) -> Work, u32);

/// The larger unit of each kind first.
const UNITS: [Unit; 5] = [
    ("us", Work::Time, 1_000),
    ("ns", Work::Time, 1),
    ("MiB", Work::Memory, 1 << 20),
    ("KiB", Work::Memory, 1 << 10),
    ("B", Work::Memory, 1),
];

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Time(amount) | Self::Memory(amount)) = *self;
        let fits = |(_, of, size): &&Unit| of(amount) == *self && amount % size == 0;
        let (unit, _, size) = UNITS.iter().find(fits).unwrap_or(&("", Self::Time, 1));
        write!(f, "{}{unit}", amount / size)
    }
}

impl FromStr for Work {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let read =
            |(unit, of, size): &Unit| Some(of(word.strip_suffix(unit)?.parse::<u32>().ok()?.checked_mul(*size)?));
        let is_possible = |work: &Self| match work {
            Self::Time(ns) => NS.contains(ns),
            Self::Memory(bytes) => BYTES.contains(bytes),
        };
        UNITS.iter().find_map(read).filter(is_possible).ok_or_else(|| UnknownWord {
            kind: "work",
            found: word.to_owned(),
            expected: "0, 10ns to 100us, 64B to 1MiB".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_written_in_its_largest_whole_unit() {
        let written = |word: &str| word.parse::<Work>().map(|work| work.to_string()).ok();
        for word in ["10ns", "1500ns", "1us", "100us", "64B", "4KiB", "1MiB"] {
            assert_eq!(written(word).as_deref(), Some(word));
        }
        assert_eq!(written("2048B").as_deref(), Some("2KiB"));
        for word in ["0", "9ns", "101us", "63B", "2MiB", "4294967295KiB", "4kb", "-64B", "64", ""] {
            assert_eq!(written(word), None, "{word}");
        }
    }
}
