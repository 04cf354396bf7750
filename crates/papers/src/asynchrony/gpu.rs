//! Runs the experiment on a device: one program for each block size, whose kernels are executed and counted, and whose
//! grids are watched as they arrive.
//!
//! Every watched launch has its own records and its own counter, all cleared once before the first launch: the grid
//! with which the driver clears memory would change the order of the next launch.

use std::time::{Duration, Instant};

use syncscope_core::session::Limits;
use syncscope_gpu::GpuLaboratory;
use syncscope_gpu::compile::Program;
use syncscope_gpu::own_device::{Arguments, Launch, Outage, OwnDevice};

use super::arrival::{self, ArrivalRow, is_complete};
use super::counted::Counted;
use super::updates::{Case, Executor, Memories};
use super::{Asynchrony, BLOCK_THREADS, Options, PARTS, Variant, WARP_THREADS};
use crate::Error;

/// Threads of the largest block.
const MAX_BLOCK_THREADS: u32 = 1024;

/// Launches of each draw: enough to see two variants alternate.
const LAUNCHES_OF_DRAW: u32 = 4;

/// Launches of the first draw, to see how long an order stays.
const LAUNCHES_OF_FIRST: u32 = 64;

/// Launches of each grid like those of the kernels.
const LAUNCHES_OF_GRID: usize = 32;

/// A grid of this many full blocks on each multiprocessor does not fit on the device.
const TOO_MANY: u32 = 4;

/// The limit for all launches, which take some milliseconds.
const LIMIT: Duration = Duration::from_secs(20);

/// Words of a record: the place and the multiprocessor in one, and the time.
const RECORD_WORDS: usize = 2;

/// The program for blocks of `block_threads` threads.
pub fn asynchrony_program(block_threads: u32) -> Program {
    let definitions = vec![format!("BLOCK_THREADS={block_threads}")];
    Program { file: "asynchrony.cu", text: include_str!("asynchrony.cu"), definitions }
}

/// Runs the experiment on the first opened device, or as much of it as the limits allow. `progress` gets the numbers of
/// finished and of all parts.
///
/// # Errors
/// If a kernel does not compile, a call of the driver fails, or the counts contradict themselves.
pub fn measure(
    gpu: &mut GpuLaboratory,
    plan: &Options,
    limits: &Limits,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Asynchrony, Error> {
    gpu.prepare_programs(&BLOCK_THREADS.map(asynchrony_program));
    let multiprocessors = gpu.limits().multiprocessors;
    let mut device: OwnDevice = gpu.own_device()?;
    let memories = Memories::new(&mut device, plan.components)?;
    let mut share = Share { limits, left: BLOCK_THREADS.len() as u64 * of_a_size(plan) };
    let (mut counted, mut neighbours, mut orders) = (Vec::new(), Vec::new(), Vec::new());
    'sizes: for block_threads in BLOCK_THREADS {
        if limits.end(Instant::now()).is_some() {
            break;
        }
        let program = device.load(&gpu.cubin(&asynchrony_program(block_threads))?)?;
        let mut executor = Executor { device: &mut device, memories, program: &program, multiprocessors };
        if orders.is_empty() {
            orders = executor.orders(plan.draws)?;
        }
        let arrivals = executor.record(plan.components / block_threads, block_threads, &[1; LAUNCHES_OF_GRID])?;
        neighbours.push(arrival::neighbour_row(block_threads, &arrivals));
        for variant in Variant::ALL.iter().copied() {
            let (components, executions) = (plan.components, plan.executions_of(variant));
            let limits = share.of(executions, Instant::now());
            let case = Case { variant, block_threads, components, executions };
            let Some(part) = executor.count(case, &|| limits.end(Instant::now()).is_some())? else { break 'sizes };
            counted.push(part);
            progress(counted.len(), PARTS);
        }
    }
    counted.sort_by_key(|counted: &Counted| (counted.variant, counted.block_threads));
    Ok(Asynchrony {
        positions: counted.iter().flat_map(Counted::positions).collect(),
        classes: counted.iter().flat_map(Counted::classes).collect(),
        neighbours,
        launches: arrival::launch_rows(&orders),
        arrivals: arrival::kept(&orders),
    })
}

/// Executions of all kernels with one block size.
fn of_a_size(plan: &Options) -> u64 {
    Variant::ALL.iter().map(|variant| plan.executions_of(*variant)).sum()
}

/// Splits the remaining time among the parts by their executions, so that a short time leaves some for each part.
struct Share<'a> {
    limits: &'a Limits,
    left: u64,
}

impl Share<'_> {
    /// The limits of the next part, which has `executions` executions.
    fn of(&mut self, executions: u64, now: Instant) -> Limits {
        let part = executions as f64 / self.left.max(1) as f64;
        self.left = self.left.saturating_sub(executions);
        let end = |deadline: Instant| now + deadline.saturating_duration_since(now).mul_f64(part.min(1.0));
        Limits { cancel: self.limits.cancel.clone(), deadline: self.limits.deadline.map(end) }
    }
}

/// The arrival of blocks.
impl Executor<'_> {
    /// Launches one block for each multiprocessor: a new order in each of `draws` draws, and some launches with it.
    fn orders(&mut self, draws: u32) -> Result<Vec<Vec<ArrivalRow>>, Error> {
        let others = std::iter::repeat_n(LAUNCHES_OF_DRAW, draws.saturating_sub(1) as usize);
        let draws: Vec<u32> = std::iter::once(LAUNCHES_OF_FIRST).chain(others).collect();
        self.record(self.multiprocessors, WARP_THREADS, &draws)
    }

    /// Launches a grid in each of several draws, as often as `draws` says.
    fn record(&mut self, blocks: u32, threads: u32, draws: &[u32]) -> Result<Vec<Vec<ArrivalRow>>, Error> {
        let words = self.launch(blocks, threads, draws)?;
        let launches = launches_of(words, blocks as usize, draws);
        match launches.iter().find(|launch| !is_complete(launch)).and_then(|launch| launch.first()) {
            Some(ArrivalRow { draw, launch, .. }) => {
                Err(format!("the blocks of launch {launch} of draw {draw} were not all counted once").into())
            }
            None => Ok(launches),
        }
    }

    /// Launches all draws and waits for their records.
    fn launch(&mut self, blocks: u32, threads: u32, draws: &[u32]) -> Result<&[u64], Outage> {
        let launches = draws.iter().sum::<u32>() as usize;
        let words = launches * blocks as usize * RECORD_WORDS;
        let records = self.device.results(words)?;
        let counters = self.device.memory(launches * size_of::<u32>())?;
        let too_many = (TOO_MANY * self.multiprocessors, MAX_BLOCK_THREADS);
        let (idle, arrive) = (self.program.kernel(c"idle")?, self.program.kernel(c"arrive")?);
        let too_many = Launch::new(idle, too_many, Arguments::default());
        let mut next = 0;
        for launches in draws {
            self.device.launch(&too_many)?;
            for launch in next..next + u64::from(*launches) {
                let record = launch * u64::from(blocks) * (RECORD_WORDS * size_of::<u64>()) as u64;
                let counter = launch * size_of::<u32>() as u64;
                let arguments = Arguments::default().wide(records.address + record).wide(counters.address + counter);
                self.device.launch(&Launch::new(arrive, (blocks, threads), arguments))?;
            }
            next += u64::from(*launches);
        }
        self.device.fetch(records, words, LIMIT)
    }
}

/// The arrivals in the words that the launches of all draws left.
fn launches_of(words: &[u64], blocks: usize, draws: &[u32]) -> Vec<Vec<ArrivalRow>> {
    let numbers = (0..).zip(draws).flat_map(|(draw, launches)| (0..*launches).map(move |launch| (draw, launch)));
    let of_launch = |((draw, launch), words): ((u32, u32), &[u64])| {
        let records = words.as_chunks::<RECORD_WORDS>().0;
        let first = records.iter().map(|[_, time_ns]| *time_ns).min().unwrap_or(0);
        let row = |(block, [place, time_ns]): (u32, &[u64; RECORD_WORDS])| ArrivalRow {
            draw,
            launch,
            block,
            multiprocessor: *place as u32,
            place: (place >> 32) as u32,
            after_first_ns: time_ns - first,
        };
        (0..).zip(records).map(row).collect()
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
        let numbers: Vec<(u32, u32)> = launches.iter().map(|launch| (launch[0].draw, launch[0].launch)).collect();
        assert_eq!(numbers, [(0, 0), (0, 1), (1, 0)]);
        let row = ArrivalRow { draw: 0, launch: 0, block: 0, multiprocessor: 7, place: 1, after_first_ns: 10 };
        assert_eq!(launches[0][0], row);
        let row = ArrivalRow { draw: 1, launch: 0, block: 1, multiprocessor: 6, place: 1, after_first_ns: 0 };
        assert_eq!(launches[2][1], row);
        assert!(launches.iter().all(|launch| is_complete(launch)));
    }

    #[test]
    fn parts_share_the_time_that_is_left() {
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        let limits = Limits { deadline: Some(after(100)), ..Limits::default() };
        let mut share = Share { limits: &limits, left: 40 };
        assert_eq!(share.of(20, now).deadline, Some(after(50)));
        // The first part took less time, so the next ones have more.
        assert_eq!(share.of(10, after(20)).deadline, Some(after(60)));
        assert_eq!(share.of(10, after(60)).deadline, Some(after(100)));
        assert_eq!(share.of(10, after(200)).deadline, Some(after(200)), "there is none");
        assert_eq!(Share { limits: &Limits::default(), left: 40 }.of(20, now).deadline, None);
    }

    #[test]
    fn what_no_launch_left_is_no_arrival() {
        assert_eq!(launches_of(&[0; 4], 2, &[3]).len(), 1, "the words of one launch");
        let cleared = launches_of(&[0; 8], 2, &[2]);
        assert!(!is_complete(&cleared[0]), "a launch that left nothing has two blocks at place 0");
    }
}
