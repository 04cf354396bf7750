//! The places in device memory that a case works on, one after the other.
//!
//! What an access costs depends on its address: which slice of the second-level cache holds it, in which half of the
//! chip, and which other addresses share the slice. On an H200 the same 8,448 threads adding to neighbouring elements
//! take 48 to 83 cycles, depending on where the elements begin, and each place repeats its own figure within 4 %. Whether
//! the place of one variable is in the near half of the chip or in the far one is drawn anew every 4 KiB, and makes
//! 350 or 570 cycles of an atomic operation's 460: the median over such places is one of the two, or any value between
//! them. So a sample visits the places of a *tour*, far apart from each other, each pair of samples makes another tour, and
//! the figure is the median over the tours' means.

/// Memory that the places of one case may take together.
pub(crate) const POOL_BYTES: usize = 1 << 30;

/// More than the pairs of most cases visit: a place that came twice would count as two observations of one.
const ENOUGH_PLACES: usize = 512;

/// Small places are more, so that they reach farther: neighbours are alike.
const MOST_PLACES: usize = 4096;

/// As far as small places reach: what a second-level cache holds.
const REACH_BYTES: usize = 16 << 20;

/// Tours that are worth more than that each is long.
const ENOUGH_TOURS: usize = 16;

/// Variables that take as much lie in all parts of the chip by themselves: a longer tour takes more time than it saves. (H200: below
/// 64 KiB the two samples of a pair differ together from those of other pairs, with a correlation of 0.99, up to 1 MiB of
/// 0.9, though by half as much, and beyond of less than 0.4: what differs there is no longer the place.)
const EVEN_BYTES: usize = 1 << 19;

/// What the driver aligns allocations to; variables of different places share no sector and no line.
const ALIGNMENT: usize = 512;

/// Places of equal size, side by side, and what was executed on each tour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    size: usize,
    /// Places of one tour. Each lies as many places after the one before as there are tours.
    tour: usize,
    /// Operations of each thread at each place of a tour since the memory was cleared, and in the last launch there.
    executed: Vec<Executed>,
    /// From tour to tour, so that neighbours, which are alike, come at different times.
    step: usize,
}

/// What each thread did at one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) total: u64,
    pub(crate) last: u64,
}

impl Places {
    /// As many places of `bytes` as fit into `pool` bytes, at least one, in tours of `tour` of them; in shorter ones where there
    /// are few places, or large ones.
    pub(crate) fn new(bytes: usize, pool: usize, tour: u32) -> Self {
        let size = bytes.max(1).next_multiple_of(ALIGNMENT);
        let wanted = (REACH_BYTES / size).clamp(ENOUGH_PLACES, MOST_PLACES);
        let places = (pool / size).clamp(1, wanted);
        let most = (places / ENOUGH_TOURS).min(EVEN_BYTES / size).max(1);
        let tour = (tour as usize).clamp(1, most);
        Self::of(size, tour, places / tour)
    }

    fn of(size: usize, tour: usize, tours: usize) -> Self {
        Self { size, tour, executed: vec![Executed::default(); tours], step: step_among(tours) }
    }

    /// Half as many places; `None` if there is but one.
    pub(crate) fn halved(&self) -> Option<Self> {
        match (self.executed.len() / 2, self.tour / 2) {
            (0, 0) => None,
            (0, tour) => Some(Self::of(self.size, tour, 1)),
            (tours, _) => Some(Self::of(self.size, self.tour, tours)),
        }
    }

    /// Bytes of all places together.
    pub(crate) fn bytes(&self) -> usize {
        self.size * self.count()
    }

    /// Where the first place of a pair begins.
    pub(crate) fn offset(&self, pair: u64) -> usize {
        self.index(pair) * self.size
    }

    /// Bytes from one place of a tour to the next.
    pub(crate) fn distance(&self) -> usize {
        self.tours() * self.size
    }

    /// How many places there are.
    pub(crate) fn count(&self) -> usize {
        self.tour * self.tours()
    }

    /// How many places a tour has.
    pub(crate) fn tour(&self) -> u32 {
        self.tour as u32
    }

    /// How many tours there are, which is also how far apart the numbers of a tour's places are.
    pub(crate) fn tours(&self) -> usize {
        self.executed.len()
    }

    /// The number of the first place of a pair, from 0.
    pub(crate) fn number(&self, pair: u64) -> u32 {
        self.index(pair) as u32
    }

    /// What was executed at each place of a pair.
    pub(crate) fn executed(&self, pair: u64) -> Executed {
        self.executed[self.index(pair)]
    }

    /// Notes a launch with so many operations at each of its places.
    pub(crate) fn note(&mut self, pair: u64, operations: u64) {
        let index = self.index(pair);
        let executed = &mut self.executed[index];
        executed.total += operations;
        executed.last = operations;
    }

    /// The places that were worked on: where each begins and what was done there.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, Executed)> {
        let (size, distance) = (self.size, self.distance());
        let tours = self.executed.iter().enumerate().filter(|(_, executed)| executed.total > 0);
        let stops = move |(index, executed): (usize, &Executed)| {
            let executed = *executed;
            (0..self.tour).map(move |stop| (index * size + stop * distance, executed))
        };
        tours.flat_map(stops)
    }

    fn index(&self, pair: u64) -> usize {
        let tours = self.tours() as u64;
        (pair % tours * self.step as u64 % tours) as usize
    }
}

/// A step that reaches every one of `count` numbers, and lays those that follow each other far apart: about the golden
/// section of their number (Knuth, The Art of Computer Programming 3, 6.4).
fn step_among(count: usize) -> usize {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let wanted = ((count as f64 * GOLDEN) as usize).max(1);
    (wanted..=count).find(|step| greatest_common_divisor(*step, count) == 1).unwrap_or(1)
}

const fn greatest_common_divisor(mut one: usize, mut other: usize) -> usize {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_fit_the_pool() {
        for (bytes, count) in
            [(0, 4096), (4, 4096), (8192, 2048), (34_000, 512), (3 << 20, 341), (600 << 20, 1), (2 << 30, 1)]
        {
            let places = Places::new(bytes, POOL_BYTES, 1);
            assert_eq!((places.count(), places.tour()), (count, 1), "{bytes}");
            assert!(places.size >= bytes && places.size.is_multiple_of(ALIGNMENT));
            assert!(places.bytes() <= POOL_BYTES.max(places.size));
        }
        let places = Places::new(1000, 4096, 1);
        let mut offsets = [0, 1, 2, 3].map(|pair| places.offset(pair));
        assert_eq!(places.offset(4), offsets[0]);
        offsets.sort_unstable();
        assert_eq!(offsets, [0, 1024, 2048, 3072]);
    }

    #[test]
    fn tours_visit_every_place_once() {
        for (bytes, pool, tour) in
            [(4, 1 << 20, 8), (5000, 1 << 24, 8), (100 << 20, 1 << 30, 8), (1 << 18, 100 << 20, 4)]
        {
            let places = Places::new(bytes, pool, tour);
            let (stops_of_one, distance) = (places.tour() as usize, places.distance());
            let stops = |pair| {
                let first = places.offset(pair);
                (0..stops_of_one).map(move |stop| first + stop * distance)
            };
            let mut all: Vec<usize> = (0..places.tours() as u64).flat_map(stops).collect();
            all.sort_unstable();
            assert_eq!(all, (0..places.count()).map(|place| place * places.size).collect::<Vec<_>>());
            assert!(places.bytes() <= pool);
        }
        assert_eq!(Places::new(4, POOL_BYTES, 8).tours(), 512);
        let tours = [512, 64 << 10, 128 << 10, 256 << 10, 600 << 10, 100 << 20]
            .map(|bytes| Places::new(bytes, POOL_BYTES, 8).tour());
        assert_eq!(tours, [8, 8, 4, 2, 1, 1], "large places are even by themselves");
        assert_eq!(Places::new(512, 40 * 512, 8).tour(), 2, "of forty places no tour is long");
    }

    #[test]
    fn tours_that_follow_each_other_are_not_neighbours() {
        let places = Places::new(512, POOL_BYTES, 8);
        for pair in 0..1000 {
            let apart = places.offset(pair).abs_diff(places.offset(pair + 1));
            assert!(apart >= 64 * 512, "{pair}: {apart}");
        }
        for count in 1..600 {
            assert_eq!(greatest_common_divisor(step_among(count), count), 1, "{count}");
        }
    }

    #[test]
    fn a_small_device_gets_fewer_places() {
        let mut places = Places::new(100 << 20, POOL_BYTES, 1);
        let mut bytes = vec![places.bytes()];
        while let Some(fewer) = places.halved() {
            bytes.push(fewer.bytes());
            places = fewer;
        }
        assert_eq!(bytes, [1000 << 20, 500 << 20, 200 << 20, 100 << 20]);
        assert_eq!(places.offset(7), 0);
        let one = Places::of(512, 8, 1);
        assert_eq!(one.halved().map(|places| places.count()), Some(4));
    }

    #[test]
    fn each_place_remembers_what_was_done_there() {
        let mut places = Places::of(ALIGNMENT, 1, 2);
        places.note(1, 30);
        places.note(3, 50);
        assert_eq!(places.used().collect::<Vec<_>>(), [(ALIGNMENT, Executed { total: 80, last: 50 })]);
        places.note(0, 7);
        assert_eq!(places.used().count(), 2);
        let mut places = Places::of(ALIGNMENT, 2, 3);
        places.note(0, 7);
        let all = Executed { total: 7, last: 7 };
        assert_eq!(places.used().collect::<Vec<_>>(), [(0, all), (3 * ALIGNMENT, all)]);
    }
}
