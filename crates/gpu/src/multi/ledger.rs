//! What a kernel found out about its barrier while it was measured.

use super::WORD;
use crate::launch::arguments::Finding;

/// `Ledger` in `meeting.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) gave_up: u32,
    pub(crate) mismatches: u32,
    pub(crate) thread: u32,
    pub(crate) reserved: u32,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

pub(super) const WORDS_OF_LEDGER: usize = size_of::<Ledger>() / WORD;

const _: () = assert!(size_of::<Ledger>() == 32);

/// CUDA devices and their hosts are little-endian.
pub(super) const fn ledger_of(words: &[u64]) -> Ledger {
    Ledger {
        gave_up: words[0] as u32,
        mismatches: (words[0] >> 32) as u32,
        thread: words[1] as u32,
        reserved: 0,
        expected: words[2],
        found: words[3],
    }
}

/// The sums, and the values of the first mismatch.
pub(super) fn joined(ledgers: impl Iterator<Item = Ledger>) -> Ledger {
    ledgers.fold(Ledger::default(), |sum, ledger| {
        let shown = if sum.mismatches > 0 { sum } else { ledger };
        Ledger {
            gave_up: sum.gave_up.saturating_add(ledger.gave_up),
            mismatches: sum.mismatches.saturating_add(ledger.mismatches),
            ..shown
        }
    })
}

impl From<Ledger> for Finding {
    fn from(ledger: Ledger) -> Self {
        let Ledger { mismatches, thread, expected, found, .. } = ledger;
        Self { mismatches, thread, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledgers_are_read_as_they_are_written_and_joined() {
        let clean = ledger_of(&[0, 0, 0, 0]);
        let one = ledger_of(&[(3 << 32) | 1, 77, 5, 4]);
        assert_eq!((one.gave_up, one.mismatches, one.thread, one.expected, one.found), (1, 3, 77, 5, 4));
        let other = Ledger { thread: 8, ..one };
        let sum = joined([clean, one, other].into_iter());
        assert_eq!((sum.gave_up, sum.mismatches, sum.thread), (2, 6, 77));
        assert_eq!(joined([clean, clean].into_iter()), Ledger::default());
    }
}
