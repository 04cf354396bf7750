//! What a launch leaves in device memory, read word by word.

use super::arguments::{Finding, Rate, Warp};

/// Bytes of a word: what kernels leave is read in words.
pub(crate) const WORD: usize = size_of::<u64>();

/// Words in front of the results of all launches: what kernels found while they were checked.
pub(crate) const HEAD_WORDS: usize = 4;

const _: () = assert!(size_of::<Finding>() <= HEAD_WORDS * WORD);

pub(crate) const WORDS_OF_RATE: usize = size_of::<Rate>() / WORD;
pub(crate) const WORDS_OF_WARP: usize = size_of::<Warp>() / WORD;

/// What one launch of a timed kernel left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) rate: Rate,
    /// All at the first offset, then all at the next one.
    pub(crate) warps: Vec<Warp>,
    /// Memory offsets that were used.
    pub(crate) offsets: usize,
}

impl Timing {
    /// What a launch left that used so many offsets.
    pub(crate) fn of(words: &[u64], offsets: usize) -> Self {
        let (rate, warps) = words.split_at(WORDS_OF_RATE);
        Self {
            rate: Rate { nanoseconds: rate[0], cycles: rate[1] },
            warps: warps.chunks_exact(WORDS_OF_WARP).map(|warp| Warp { slowest: warp[0], fastest: warp[1] }).collect(),
            offsets,
        }
    }

    /// The warps at each offset.
    pub(crate) fn at_each_offset(&self) -> impl Iterator<Item = &[Warp]> {
        self.warps.chunks(self.warps.len().div_ceil(self.offsets.max(1)).max(1))
    }
}

/// The words of a finding; CUDA devices and their hosts are little-endian.
pub(crate) fn finding_of(words: &[u64]) -> Finding {
    Finding { mismatches: words[0] as u32, thread: (words[0] >> 32) as u32, expected: words[1], found: words[2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_are_written() {
        let words = [100, 198, 7, 5, 9, 6];
        let (one, other) = (Warp { slowest: 7, fastest: 5 }, Warp { slowest: 9, fastest: 6 });
        let timing = Timing::of(&words, 1);
        assert_eq!(timing.rate, Rate { nanoseconds: 100, cycles: 198 });
        assert_eq!(timing.at_each_offset().collect::<Vec<_>>(), [&[one, other][..]]);
        let two_offsets = Timing::of(&words, 2);
        assert_eq!(two_offsets.at_each_offset().collect::<Vec<_>>(), [&[one][..], &[other][..]]);
        let finding = finding_of(&[(5 << 32) | 2, 10, 11]);
        assert_eq!(finding, Finding { mismatches: 2, thread: 5, expected: 10, found: 11 });
    }
}
