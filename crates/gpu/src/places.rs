//! The places in device memory that a case works on, one after the other.
//!
//! What an access costs depends on its address: which slice of the second-level cache holds it, in which half of the
//! chip, and which other addresses share the slice. On an H200 the same 8,448 threads adding to neighbouring elements
//! take 48 to 83 cycles, depending on where the elements begin, and each place repeats its own figure within 4 %. So each
//! pair of samples takes another place, and the figure is the median over them.

/// Memory that the places of one case may take together.
pub(crate) const POOL_BYTES: usize = 1 << 30;

/// More than the pairs of most cases: a place that came twice would count as two observations of one.
const MOST_PLACES: usize = 512;

/// What the driver aligns allocations to; variables of different places share no sector and no line.
const ALIGNMENT: usize = 512;

/// Places of equal size, side by side, and what was executed on each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    size: usize,
    /// Operations of each thread at each place since the memory was cleared, and in the last launch there.
    executed: Vec<Executed>,
}

/// What each thread did at one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) total: u64,
    pub(crate) last: u64,
}

impl Places {
    /// As many places of `bytes` as fit into `pool` bytes; at least one.
    pub(crate) fn new(bytes: usize, pool: usize) -> Self {
        let size = bytes.max(1).next_multiple_of(ALIGNMENT);
        Self { size, executed: vec![Executed::default(); (pool / size).clamp(1, MOST_PLACES)] }
    }

    /// Half as many places; `None` if there is but one.
    pub(crate) fn halved(&self) -> Option<Self> {
        let half = self.executed.len() / 2;
        (half > 0).then(|| Self { size: self.size, executed: vec![Executed::default(); half] })
    }

    /// Bytes of all places together.
    pub(crate) fn bytes(&self) -> usize {
        self.size * self.executed.len()
    }

    /// Where the place of a pair begins.
    pub(crate) fn offset(&self, pair: u64) -> usize {
        self.index(pair) * self.size
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.executed.len()
    }

    /// The number of the place of a pair, from 0.
    pub(crate) fn number(&self, pair: u64) -> u32 {
        self.index(pair) as u32
    }

    /// What was executed at the place of a pair.
    pub(crate) fn executed(&self, pair: u64) -> Executed {
        self.executed[self.index(pair)]
    }

    /// Notes a launch.
    pub(crate) fn note(&mut self, pair: u64, operations: u64) {
        let index = self.index(pair);
        let executed = &mut self.executed[index];
        executed.total += operations;
        executed.last = operations;
    }

    /// The places that were worked on: where each begins and what was done there.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, Executed)> {
        let places = self.executed.iter().enumerate().map(|(index, executed)| (index * self.size, *executed));
        places.filter(|(_, executed)| executed.total > 0)
    }

    fn index(&self, pair: u64) -> usize {
        (pair % self.executed.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_fit_the_pool() {
        for (bytes, count) in [(0, 512), (4, 512), (513, 512), (3 << 20, 341), (600 << 20, 1), (2 << 30, 1)] {
            let places = Places::new(bytes, POOL_BYTES);
            assert_eq!(places.executed.len(), count, "{bytes}");
            assert!(places.size >= bytes && places.size.is_multiple_of(ALIGNMENT));
            assert!(places.bytes() <= POOL_BYTES.max(places.size));
        }
        let places = Places::new(1000, 4096);
        assert_eq!([0, 1, 2, 3, 4].map(|pair| places.offset(pair)), [0, 1024, 2048, 3072, 0]);
    }

    #[test]
    fn a_small_device_gets_fewer_places() {
        let mut places = Places::new(100 << 20, POOL_BYTES);
        let mut bytes = vec![places.bytes()];
        while let Some(fewer) = places.halved() {
            bytes.push(fewer.bytes());
            places = fewer;
        }
        assert_eq!(bytes, [1000 << 20, 500 << 20, 200 << 20, 100 << 20]);
        assert_eq!(places.offset(7), 0);
    }

    #[test]
    fn each_place_remembers_what_was_done_there() {
        let mut places = Places::new(8, 2 * ALIGNMENT);
        places.note(1, 30);
        places.note(3, 50);
        assert_eq!(places.used().collect::<Vec<_>>(), [(ALIGNMENT, Executed { total: 80, last: 50 })]);
        places.note(0, 7);
        assert_eq!(places.used().count(), 2);
    }
}
