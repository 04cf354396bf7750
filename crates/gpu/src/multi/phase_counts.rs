//! What a kernel counted while its barrier was measured.

use crate::launch::arguments::Finding;
use crate::launch::timing::{HEAD_WORDS, WORD};

/// `PhaseCounts` in `grid_barrier.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PhaseCounts {
    /// Waits that outlasted their limit.
    pub(crate) timeouts: u32,
    pub(crate) mismatches: u32,
    pub(crate) thread: u32,
    pub(crate) reserved: u32,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

const _: () = assert!(size_of::<PhaseCounts>() == 32 && size_of::<PhaseCounts>() <= HEAD_WORDS * WORD);

/// The counts in these words. CUDA devices and their hosts are little-endian.
pub(super) const fn counts_of(words: &[u64]) -> PhaseCounts {
    PhaseCounts {
        timeouts: words[0] as u32,
        mismatches: (words[0] >> 32) as u32,
        thread: words[1] as u32,
        reserved: 0,
        expected: words[2],
        found: words[3],
    }
}

/// The sums, and the values of the first mismatch.
pub(super) fn joined(counts: impl Iterator<Item = PhaseCounts>) -> PhaseCounts {
    counts.fold(PhaseCounts::default(), |sum, counts| {
        let shown = if sum.mismatches > 0 { sum } else { counts };
        PhaseCounts {
            timeouts: sum.timeouts.saturating_add(counts.timeouts),
            mismatches: sum.mismatches.saturating_add(counts.mismatches),
            ..shown
        }
    })
}

impl From<PhaseCounts> for Finding {
    fn from(counts: PhaseCounts) -> Self {
        let PhaseCounts { mismatches, thread, expected, found, .. } = counts;
        Self { mismatches, thread, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_they_are_written_and_joined() {
        let clean = counts_of(&[0, 0, 0, 0]);
        let one = counts_of(&[(3 << 32) | 1, 77, 5, 4]);
        assert_eq!((one.timeouts, one.mismatches, one.thread, one.expected, one.found), (1, 3, 77, 5, 4));
        let other = PhaseCounts { thread: 8, ..one };
        let sum = joined([clean, one, other].into_iter());
        assert_eq!((sum.timeouts, sum.mismatches, sum.thread), (2, 6, 77));
        assert_eq!(joined([clean, clean].into_iter()), PhaseCounts::default());
    }
}
