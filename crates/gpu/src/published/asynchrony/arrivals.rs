//! In which order blocks arrive, and on which multiprocessors: launches of a kernel that notes it.
//!
//! Every launch has records and a counter of its own, all cleared once before the first: the grid with which the driver clears
//! memory would change the order of the next one.

use std::time::Duration;

use syncscope_core::published::asynchrony::WARP_THREADS;
use syncscope_core::published::asynchrony::arrival::{Arrival, LaunchArrivals};

use super::arguments::ArrivalArguments;
use super::kernels::Kernels;
use crate::cuda::driver::{Context, DeviceBuffer, HostBuffer};
use crate::cuda::error::CudaError;
use crate::launch::arguments::MAX_BLOCK_THREADS;
use crate::launch::outage::Outage;
use crate::published::device::ExperimentDevice;

/// Launches of each draw: enough to see two variants alternate.
const LAUNCHES_OF_DRAW: u32 = 4;

/// Launches of the first draw, to see how long an order stays.
const LAUNCHES_OF_FIRST: u32 = 64;

/// Launches of each grid like those of the kernels.
const LAUNCHES_OF_GRID: usize = 32;

/// A grid of this many full blocks on each multiprocessor does not fit on the device.
const TOO_MANY: u32 = 4;

/// All launches take some milliseconds.
const LIMIT: Duration = Duration::from_secs(20);

/// Words of a record: the place and the multiprocessor in one, and the time.
const RECORD_WORDS: usize = 2;

/// Why there are no arrivals.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArrivalError {
    #[error(transparent)]
    Outage(#[from] Outage),
    /// A block is missing or arrived twice.
    #[error("the blocks of launch {launch} of draw {draw} were not all counted once")]
    Incomplete { draw: u32, launch: u32 },
}

/// A grid to be launched.
#[derive(Debug, Clone, Copy)]
struct Grid {
    blocks: u32,
    threads: u32,
}

/// Notes the arrival of blocks.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    pub(super) device: &'a mut ExperimentDevice,
    pub(super) kernels: Kernels,
    pub(super) multiprocessors: u32,
}

/// Memory for all launches.
#[derive(Debug)]
struct Records {
    arrivals: DeviceBuffer,
    counters: DeviceBuffer,
    host: HostBuffer<u64>,
}

impl Records {
    fn new(context: &Context, grid: Grid, launches: u32) -> Result<Self, CudaError> {
        let words = launches as usize * grid.blocks as usize * RECORD_WORDS;
        Ok(Self {
            arrivals: DeviceBuffer::new(context, words * size_of::<u64>())?,
            counters: DeviceBuffer::new(context, launches as usize * size_of::<u32>())?,
            host: HostBuffer::new(context, words)?,
        })
    }
}

impl Recorder<'_> {
    /// Launches of one block for each multiprocessor: `draws` times a new order, and some launches with it.
    pub(super) fn orders(&mut self, draws: u32) -> Result<Vec<LaunchArrivals>, ArrivalError> {
        let others = std::iter::repeat_n(LAUNCHES_OF_DRAW, draws.saturating_sub(1) as usize);
        let draws: Vec<u32> = std::iter::once(LAUNCHES_OF_FIRST).chain(others).collect();
        self.record(Grid { blocks: self.multiprocessors, threads: WARP_THREADS }, &draws)
    }

    /// Launches of a grid of the experiment, each with a new order.
    pub(super) fn of_grid(&mut self, blocks: u32, threads: u32) -> Result<Vec<LaunchArrivals>, ArrivalError> {
        self.record(Grid { blocks, threads }, &[1; LAUNCHES_OF_GRID])
    }

    /// So many launches of a grid in each of several draws.
    fn record(&mut self, grid: Grid, draws: &[u32]) -> Result<Vec<LaunchArrivals>, ArrivalError> {
        let launches = draws.iter().sum();
        let mut records =
            Records::new(self.device.context().map_err(Outage::from)?, grid, launches).map_err(Outage::from)?;
        let taken = self.launch(grid, draws, &mut records);
        if self.device.is_occupied() {
            // To free memory would wait for the kernel that uses it.
            std::mem::forget(records);
            taken?;
            return Ok(Vec::new());
        }
        taken?;
        let launches = launches_of(records.host.values(), grid.blocks as usize, draws);
        match launches.iter().find(|launch| !launch.is_complete()) {
            Some(LaunchArrivals { draw, launch, .. }) => Err(ArrivalError::Incomplete { draw: *draw, launch: *launch }),
            None => Ok(launches),
        }
    }

    /// Launches all draws and waits for their records.
    fn launch(&mut self, grid: Grid, draws: &[u32], records: &mut Records) -> Result<(), Outage> {
        let Records { arrivals, counters, host } = records;
        let stream = self.device.stream()?;
        stream.clear(arrivals, arrivals.bytes())?;
        stream.clear(counters, counters.bytes())?;
        let mut next = 0;
        for launches in draws {
            stream.launch(self.kernels.idle, TOO_MANY * self.multiprocessors, MAX_BLOCK_THREADS, &())?;
            for launch in next..next + u64::from(*launches) {
                let record = launch * u64::from(grid.blocks) * (RECORD_WORDS * size_of::<u64>()) as u64;
                let counter = launch * size_of::<u32>() as u64;
                let arguments =
                    ArrivalArguments { records: arrivals.pointer() + record, counter: counters.pointer() + counter };
                stream.launch(self.kernels.arrive, grid.blocks, grid.threads, &arguments)?;
            }
            next += u64::from(*launches);
        }
        let words = arrivals.bytes() / size_of::<u64>();
        self.device.fetch(arrivals, host, words, LIMIT)
    }
}

/// The arrivals in the words that the launches of all draws left.
fn launches_of(words: &[u64], blocks: usize, draws: &[u32]) -> Vec<LaunchArrivals> {
    let numbers =
        draws.iter().enumerate().flat_map(|(draw, launches)| (0..*launches).map(move |launch| (draw, launch)));
    let arrival = |record: &[u64]| Arrival {
        multiprocessor: record[0] as u32,
        place: (record[0] >> 32) as u32,
        time_ns: record[1],
    };
    let of_launch = |((draw, launch), words): ((usize, u32), &[u64])| LaunchArrivals {
        draw: draw as u32,
        launch,
        blocks: words.chunks_exact(RECORD_WORDS).map(arrival).collect(),
    };
    numbers.zip(words.chunks_exact(blocks * RECORD_WORDS)).map(of_launch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_divided_among_draws_launches_and_blocks() {
        let word = |place: u64, multiprocessor: u64| place << 32 | multiprocessor;
        let words = [word(1, 7), 50, word(0, 9), 40, word(0, 7), 60, word(1, 9), 61, word(0, 8), 70, word(1, 6), 70];
        let launches = launches_of(&words, 2, &[2, 1]);
        let numbers: Vec<(u32, u32)> = launches.iter().map(|launch| (launch.draw, launch.launch)).collect();
        assert_eq!(numbers, [(0, 0), (0, 1), (1, 0)]);
        assert_eq!(launches[0].blocks[0], Arrival { multiprocessor: 7, place: 1, time_ns: 50 });
        assert_eq!(launches[2].blocks[1], Arrival { multiprocessor: 6, place: 1, time_ns: 70 });
        assert!(launches.iter().all(LaunchArrivals::is_complete));
    }

    #[test]
    fn what_no_launch_left_is_no_arrival() {
        assert_eq!(launches_of(&[0; 4], 2, &[3]).len(), 1, "the words of one launch");
        let cleared = launches_of(&[0; 8], 2, &[2]);
        assert!(!cleared[0].is_complete(), "a launch that left nothing has two blocks at place 0");
    }
}
