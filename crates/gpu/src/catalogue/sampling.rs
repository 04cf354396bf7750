//! How the samples of a case are taken: their length, their memory offsets and their launches.

use std::time::Duration;

/// What an operation keeps busy: until that has as much to do as it can take, the loop is not in its steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Each multiprocessor, with its queues to the memory.
    Multiprocessors,
    /// Something that the device has once.
    Device,
    /// Nothing: each thread waits for what it has begun.
    Nothing,
}

/// How the samples of a case are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Length of a sample.
    pub(crate) sample: Duration,
    /// Whether the loop is timed without having run before.
    pub(crate) cold: bool,
    /// How much of the preset's time for a case is worth spending on it.
    pub(crate) share_of_time: f64,
    /// Places in memory that one launch visits.
    pub(crate) tour: u32,
    /// Launches that make one sample.
    pub(crate) launches: u32,
}

impl Pace {
    /// Steps of the clock are half a nanosecond and the threads' start differs by some ten nanoseconds, which a sample of
    /// this length does not notice.
    pub(crate) const USUAL: Self =
        Self { sample: Duration::from_micros(30), cold: false, share_of_time: 1.0, tour: 1, launches: 1 };

    /// For threads that wait for one variable at each place in memory: one sample visits several. A median over places of two
    /// kinds is the one or the other kind's, by chance; over the means of tours it is the same in every run. Not for what
    /// keeps queues busy: on an H200 private elements of 66 blocks and more seemed 4 to 13 % more expensive, likely because threads
    /// of different blocks come to different places and each loop is a quarter as long.
    pub(crate) const TOUR: Self = Self { tour: 4, ..Self::USUAL };

    /// For many warps in the queue of one multiprocessor: some are served before others, which evens out in time. (On an
    /// H200, 1,024 threads that compare and swap seem 7 to 9 % cheaper in 30 us than in 500.)
    pub(super) const MANY_WARPS: Self = Self { sample: Duration::from_micros(120), share_of_time: 0.5, ..Self::USUAL };

    /// For blocks that contend for one variable: all begin at the same time only when the kernel begins. After a first run
    /// of the loop some come early and compete with that of the others, and the slowest has less company than it should:
    /// on an H200 as much as 25 % less. A cold start costs a microsecond at most, which a long sample does not notice.
    pub(super) const CROWD: Self = Self { sample: Duration::from_micros(200), cold: true, ..Self::USUAL };

    /// For a cost that is a thousandth of its context: a longer sample tells more than many short ones, and if it does not
    /// tell, nothing does.
    pub(super) const PATIENT: Self = Self { sample: Duration::from_micros(100), share_of_time: 0.05, ..Self::USUAL };
}
