//! The memory offsets at which the variables of a case lie, one after the other.
//!
//! The cost of an access depends on its address: which slice of the L2 cache holds it, in which half of the chip that slice is,
//! and which other addresses share the slice. On an H200, 8,448 threads that add to neighbouring elements take 48 to 83 cycles,
//! depending on where the elements begin; each offset repeats its own figure within 4 %. Whether the slice of one variable is
//! in the near or the far half of the chip changes at random every 4 KiB: an atomic operation takes 350 or 570 cycles, 460 on
//! average. A median over such offsets is one of the two values, or any value between them. Therefore one sample uses a *set*
//! of offsets that are far apart, each pair of samples uses another set, and the figure is the median over the means of the
//! sets.

use syncscope_core::numbers::scattering_step;

/// Memory that all offsets of one case may occupy.
pub(crate) const POOL_BYTES: usize = 1 << 30;

/// More offsets than most cases have pairs: an offset used twice would count as two observations of the same thing.
const ENOUGH_OFFSETS: usize = 512;

/// Small variables get more offsets, which then reach farther; neighbouring offsets are alike.
const MOST_OFFSETS: usize = 4096;

/// How far the offsets of small variables reach: the capacity of an L2 cache.
const REACH_BYTES: usize = 16 << 20;

/// Number of sets from which on longer sets are worth more than additional sets.
const ENOUGH_SETS: usize = 16;

/// Variables of this size lie in all parts of the chip anyway, so more offsets per sample take more time than they save. (H200:
/// below 64 KiB the two samples of a pair differ together from those of other pairs, with a correlation of 0.99. Up to 1 MiB
/// the correlation is 0.9, with half the difference; beyond that it is below 0.4, and the offset no longer matters.)
const EVEN_BYTES: usize = 1 << 19;

/// The alignment of the driver's allocations; variables at different offsets share no sector and no line.
pub(crate) const ALIGNMENT: usize = 512;

/// Offsets at equal distances, and what was executed at each set of offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryOffsets {
    /// Bytes from one offset to the next.
    size: usize,
    /// Offsets in one set. Consecutive offsets of a set are as many offsets apart as there are sets.
    per_sample: usize,
    /// Operations of each thread at each offset of a set, for each set.
    executed: Vec<Executed>,
    /// Distance from one used set to the next, so that neighbouring offsets, which are alike, are used at different times.
    step: usize,
}

/// Operations of each thread at one offset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Executed {
    /// Since the memory was cleared.
    pub(crate) total: u64,
    /// In the last launch.
    pub(crate) last: u64,
}

/// An offset taken out of the sets, for launches of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OffsetApart {
    /// Its number among all offsets.
    pub(crate) number: usize,
    /// Where it begins, in bytes.
    pub(crate) bytes: usize,
    /// Operations of each thread since the memory was cleared.
    pub(crate) executed: u64,
}

impl MemoryOffsets {
    /// Makes as many offsets for variables of `bytes` as fit into `pool` bytes, at least one, in sets of `per_sample`; sets are
    /// smaller if there are few offsets or the variables are large.
    pub(crate) fn new(bytes: usize, pool: usize, per_sample: u32) -> Self {
        let size = bytes.max(1).next_multiple_of(ALIGNMENT);
        let wanted = (REACH_BYTES / size).clamp(ENOUGH_OFFSETS, MOST_OFFSETS);
        let count = (pool / size).clamp(1, wanted);
        let most = (count / ENOUGH_SETS).min(EVEN_BYTES / size).max(1);
        let per_sample = (per_sample as usize).clamp(1, most);
        Self::of(size, per_sample, count / per_sample)
    }

    fn of(size: usize, per_sample: usize, sets: usize) -> Self {
        Self { size, per_sample, executed: vec![Executed::default(); sets], step: scattering_step(sets) }
    }

    /// Returns half as many offsets; `None` if there is only one.
    pub(crate) fn halved(&self) -> Option<Self> {
        match (self.executed.len() / 2, self.per_sample / 2) {
            (0, 0) => None,
            (0, per_sample) => Some(Self::of(self.size, per_sample, 1)),
            (sets, _) => Some(Self::of(self.size, self.per_sample, sets)),
        }
    }

    /// Takes the last offset out of use, for launches of its own; `None` if there is only one set.
    pub(crate) fn set_apart(&mut self) -> Option<OffsetApart> {
        let (number, sets) = (self.count() - 1, self.sets() - 1);
        (sets > 0).then(|| {
            *self = Self::of(self.size, self.per_sample, sets);
            OffsetApart { number, bytes: number * self.size, executed: 0 }
        })
    }

    /// Bytes of all offsets together.
    pub(crate) fn bytes(&self) -> usize {
        self.size * self.count()
    }

    /// The first offset of a pair, in bytes.
    pub(crate) fn offset(&self, pair: u64) -> usize {
        self.index(pair) * self.size
    }

    /// Bytes from one offset of a set to the next.
    pub(crate) fn distance(&self) -> usize {
        self.sets() * self.size
    }

    /// The number of offsets.
    pub(crate) fn count(&self) -> usize {
        self.per_sample * self.sets()
    }

    /// How many offsets one sample uses.
    pub(crate) fn per_sample(&self) -> u32 {
        self.per_sample as u32
    }

    /// The number of sets, which is also the distance between the numbers of a set's offsets.
    pub(crate) fn sets(&self) -> usize {
        self.executed.len()
    }

    /// What was executed at each offset of a pair.
    pub(crate) fn executed(&self, pair: u64) -> Executed {
        self.executed[self.index(pair)]
    }

    /// Notes a launch with this many operations at each offset of its pair.
    pub(crate) fn note(&mut self, pair: u64, operations: u64) {
        let index = self.index(pair);
        let executed = &mut self.executed[index];
        executed.total += operations;
        executed.last = operations;
    }

    /// The number of the first offset of a pair, from 0.
    pub(crate) fn index(&self, pair: u64) -> usize {
        let sets = self.sets() as u64;
        (pair % sets * self.step as u64 % sets) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_apart_is_none_of_the_others_and_lies_in_their_memory() {
        for (bytes, pool, per_sample) in [(64, 1 << 20, 8), (34_000, 100 * 34_304, 4), (512, 2 * 512, 1)] {
            let all = MemoryOffsets::new(bytes, pool, per_sample);
            let mut used = all.clone();
            let apart = used.set_apart().unwrap();
            let last_of = |pair| used.offset(pair) + (used.per_sample() as usize - 1) * used.distance();
            let last = (0..used.sets() as u64).map(last_of).max().unwrap();
            assert!(
                last + used.size <= apart.bytes && apart.bytes + used.size <= all.bytes(),
                "{bytes} bytes: {apart:?}"
            );
            assert_eq!((apart.bytes, used.per_sample()), (apart.number * all.size, all.per_sample()));
        }
        assert_eq!(MemoryOffsets::new(512, 512, 1).set_apart(), None);
    }

    #[test]
    fn offsets_do_not_overlap_and_fit_the_pool() {
        for (bytes, count) in
            [(0, 4096), (4, 4096), (8192, 2048), (34_000, 512), (3 << 20, 341), (600 << 20, 1), (2 << 30, 1)]
        {
            let offsets = MemoryOffsets::new(bytes, POOL_BYTES, 1);
            assert_eq!((offsets.count(), offsets.per_sample()), (count, 1), "{bytes}");
            assert!(offsets.size >= bytes && offsets.size.is_multiple_of(ALIGNMENT));
            assert!(offsets.bytes() <= POOL_BYTES.max(offsets.size));
        }
        let offsets = MemoryOffsets::new(1000, 4096, 1);
        let mut first = [0, 1, 2, 3].map(|pair| offsets.offset(pair));
        assert_eq!(offsets.offset(4), first[0]);
        first.sort_unstable();
        assert_eq!(first, [0, 1024, 2048, 3072]);
    }

    #[test]
    fn sets_use_every_offset_once() {
        for (bytes, pool, per_sample) in
            [(4, 1 << 20, 8), (5000, 1 << 24, 8), (100 << 20, 1 << 30, 8), (1 << 18, 100 << 20, 4)]
        {
            let offsets = MemoryOffsets::new(bytes, pool, per_sample);
            let (count, distance) = (offsets.per_sample() as usize, offsets.distance());
            let of_pair = |pair| {
                let first = offsets.offset(pair);
                (0..count).map(move |number| first + number * distance)
            };
            let mut all: Vec<usize> = (0..offsets.sets() as u64).flat_map(of_pair).collect();
            all.sort_unstable();
            assert_eq!(all, (0..offsets.count()).map(|offset| offset * offsets.size).collect::<Vec<_>>());
            assert!(offsets.bytes() <= pool);
        }
        assert_eq!(MemoryOffsets::new(4, POOL_BYTES, 8).sets(), 512);
        let per_sample = [512, 64 << 10, 128 << 10, 256 << 10, 600 << 10, 100 << 20]
            .map(|bytes| MemoryOffsets::new(bytes, POOL_BYTES, 8).per_sample());
        assert_eq!(per_sample, [8, 8, 4, 2, 1, 1], "large variables are even by themselves");
        assert_eq!(MemoryOffsets::new(512, 40 * 512, 8).per_sample(), 2, "of forty offsets no set is long");
    }

    #[test]
    fn sets_that_follow_each_other_are_not_neighbours() {
        let offsets = MemoryOffsets::new(512, POOL_BYTES, 8);
        for pair in 0..1000 {
            let apart = offsets.offset(pair).abs_diff(offsets.offset(pair + 1));
            assert!(apart >= 64 * 512, "{pair}: {apart}");
        }
    }

    #[test]
    fn the_pairs_of_later_measurement_blocks_have_other_offsets() {
        for (bytes, per_sample) in [(4, 1), (4, 4), (4, 8), (34_000, 1)] {
            let offsets = MemoryOffsets::new(bytes, POOL_BYTES, per_sample);
            // The pairs of the quick preset in three blocks, with consecutive numbers.
            let mut all: Vec<usize> = (0..400).map(|pair| offsets.offset(pair)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 400, "{bytes} bytes, {per_sample} per sample");
        }
    }

    #[test]
    fn a_small_device_gets_fewer_offsets() {
        let mut offsets = MemoryOffsets::new(100 << 20, POOL_BYTES, 1);
        let mut bytes = vec![offsets.bytes()];
        while let Some(fewer) = offsets.halved() {
            bytes.push(fewer.bytes());
            offsets = fewer;
        }
        assert_eq!(bytes, [1000 << 20, 500 << 20, 200 << 20, 100 << 20]);
        assert_eq!(offsets.offset(7), 0);
        let one = MemoryOffsets::of(512, 8, 1);
        assert_eq!(one.halved().map(|offsets| offsets.count()), Some(4));
    }

    #[test]
    fn operations_are_counted_for_each_set() {
        let mut offsets = MemoryOffsets::of(ALIGNMENT, 1, 2);
        offsets.note(1, 30);
        offsets.note(3, 50);
        assert_eq!(offsets.executed(5), Executed { total: 80, last: 50 });
        assert_eq!(offsets.executed(0), Executed::default());
    }
}
