//! How the samples of a case are taken: their length, their memory offsets and their launches.

use std::time::Duration;

/// Which resource an operation saturates. The loop is in its steady state only when that resource has as much work as it
/// can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saturates {
    /// The queues of each multiprocessor to the memory.
    Multiprocessors,
    /// A resource that the device has once.
    Device,
    /// None: each thread waits for its own operations.
    Nothing,
}

/// How the samples of a case are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingPolicy {
    /// Length of a sample.
    pub(crate) sample: Duration,
    /// Whether the loop is timed without a warm-up.
    pub(crate) skip_warm_up: bool,
    /// Which part of the preset's time for a case this case gets.
    pub(crate) share_of_time: f64,
    /// Memory offsets that one launch uses.
    pub(crate) offsets_per_sample: u32,
    /// Launches that make one sample.
    pub(crate) launches: u32,
}

impl SamplingPolicy {
    /// The clock has steps of half a nanosecond, and the threads start some ten nanoseconds apart. Neither matters for a
    /// sample of this length.
    pub(crate) const USUAL: Self = Self {
        sample: Duration::from_micros(30),
        skip_warm_up: false,
        share_of_time: 1.0,
        offsets_per_sample: 1,
        launches: 1,
    };

    /// Several memory offsets for each sample, for operations whose latency depends on the address. Where there are two
    /// kinds of addresses, a median over single offsets is the figure of one kind or the other, by chance; the median over
    /// means of several offsets is the same in every run. Not for operations that saturate queues: on an H200 private
    /// elements of 66 blocks and more seemed 4 to 13 % slower, likely because threads of different blocks use different
    /// offsets at the same time and each loop is a quarter as long.
    pub(crate) const SEVERAL_OFFSETS: Self = Self { offsets_per_sample: 4, ..Self::USUAL };

    /// Longer samples for many warps in the queue of one multiprocessor: some warps are served before others, and a long
    /// sample averages that. (On an H200, 1,024 threads that compare and swap seem 7 to 9 % faster in samples of 30 us than
    /// of 500 us.)
    pub(super) const MANY_WARPS: Self = Self { sample: Duration::from_micros(120), share_of_time: 0.5, ..Self::USUAL };

    /// No warm-up, for blocks that contend for one variable. The blocks begin at the same time only when the kernel begins.
    /// After a warm-up some blocks are early and run against the warm-up of the others, so the slowest block has too little
    /// contention: on an H200 as much as 25 % less. A cold start costs a microsecond at most, which does not matter in a
    /// long sample.
    pub(super) const CONTENDED: Self = Self { sample: Duration::from_micros(200), skip_warm_up: true, ..Self::USUAL };

    /// Few long samples, for a cost that is a thousandth of its context: long samples resolve more than many short ones.
    pub(super) const LONG_SAMPLES: Self =
        Self { sample: Duration::from_micros(100), share_of_time: 0.05, ..Self::USUAL };
}
