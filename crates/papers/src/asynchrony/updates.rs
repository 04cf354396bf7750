//! Executes the kernels and counts the components that they leave, on the device.
//!
//! An execution is a launch, as in the paper: what blocks see of each other depends on how one grid is scheduled. A
//! graph holds a chain of launches, each on a vector of ones of its own, followed by one kernel that counts all of
//! these vectors and resets them to ones. The host replays the graph and reads counters, never a vector. The counting
//! kernel is a grid that does not fit on the device, after which the device has another block order (`BlockOrder` in
//! `launch/bench.rs` of syncscope-gpu): each replay draws one.

use std::ffi::CString;
use std::time::{Duration, Instant};

use syncscope_gpu::CudaError;
use syncscope_gpu::own_device::{Arguments, Kernel, Launch, Loaded, Memory, Outage, OwnDevice};

use super::Variant;
use super::counted::{Batch, CLASSES, Counted};
use crate::Error;

/// The most launches in a graph.
const MOST_VECTORS: u32 = 50;

/// The vectors of a graph take at most this much memory, half of a large L2 cache: the paper's vector was in the cache too.
const MOST_BYTES: u64 = 28 << 20;

/// Batches of executions, whose shares are compared for the interval.
const BATCHES: u64 = 20;

/// Replays before the first one that counts.
const WARM_UP: u64 = 2;

/// Replays between two waits.
const QUEUED: u64 = 32;

/// Threads of a block of the counting kernel; `TILE` in the kernel's file.
const TILE: u32 = 1024;

/// Blocks of the counting kernel for each multiprocessor, on which two fit.
const COUNTING_BLOCKS: u32 = 4;

/// The limit for the work queued between two waits, which takes some milliseconds, or some hundred milliseconds with
/// the largest vector.
const LIMIT: Duration = Duration::from_secs(20);

/// The counters of the classes, and one more for values that no execution can leave.
const COUNTERS: usize = CLASSES + 1;

/// A kernel, and how often it is executed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) variant: Variant,
    pub(super) block_threads: u32,
    pub(super) components: u32,
    pub(super) executions: u64,
}

impl Case {
    /// Launches in a graph.
    fn vectors(&self) -> u32 {
        let bytes = u64::from(self.components) * size_of::<f64>() as u64;
        let fit = (MOST_BYTES / bytes).clamp(1, u64::from(MOST_VECTORS)) as u32;
        fit.min(u32::try_from(self.executions).unwrap_or(u32::MAX)).max(1)
    }

    /// Replays in each batch: together at least as many executions as asked for.
    fn replays(&self) -> Vec<u64> {
        let all = self.executions.div_ceil(u64::from(self.vectors()));
        let batches = BATCHES.min(all);
        (0..batches).map(|batch| all * (batch + 1) / batches - all * batch / batches).collect()
    }
}

/// Memory for the vectors and counters of a case.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memories {
    values: Memory,
    by_position: Memory,
    found: Memory,
    totals: Memory,
}

impl Memories {
    /// Room for every case on vectors of `components` components.
    pub(super) fn new(device: &mut OwnDevice, components: u32) -> Result<Self, Outage> {
        let most = Case { variant: Variant::Global, block_threads: 1, components, executions: u64::MAX };
        let (components, vectors) = (components as usize, most.vectors() as usize);
        Ok(Self {
            values: device.memory(vectors * components * size_of::<f64>())?,
            by_position: device.results(components)?,
            found: device.memory(vectors * size_of::<u32>())?,
            totals: device.results(COUNTERS)?,
        })
    }
}

/// Executes cases of one block size.
#[derive(Debug)]
pub(super) struct Executor<'a> {
    pub(super) device: &'a mut OwnDevice,
    pub(super) memories: Memories,
    /// The program for the block size.
    pub(super) program: &'a Loaded,
    pub(super) multiprocessors: u32,
}

impl Executor<'_> {
    /// Executes a case until `is_over`, and counts what it leaves. `None` if it was over before the first execution.
    pub(super) fn count(&mut self, case: Case, is_over: &dyn Fn() -> bool) -> Result<Option<Counted>, Error> {
        if is_over() {
            return Ok(None);
        }
        let resident = self.update(case.variant)?.blocks_per_multiprocessor(case.block_threads)?;
        self.prepare(case)?;
        let started = Instant::now();
        let mut before = [0; COUNTERS];
        let mut batches = Vec::new();
        for planned in case.replays() {
            let replays = self.replay(planned, is_over)?;
            let totals = self.totals()?;
            let with = std::array::from_fn(|class| totals[class] - before[class]);
            batches.push(Batch { executions: replays * u64::from(case.vectors()), with });
            before = totals;
            if replays < planned || is_over() {
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        if before[CLASSES] > 0 {
            return Err(format!("{} executions left values that no execution can leave", before[CLASSES]).into());
        }
        let by_position = self.device.fetch(self.memories.by_position, case.components as usize, LIMIT)?.to_vec();
        let counted = Counted {
            variant: case.variant,
            block_threads: case.block_threads,
            components: case.components,
            resident_blocks: resident * self.multiprocessors,
            by_position,
            batches,
            seconds,
        };
        if contradicts_itself(&counted) {
            return Err("the counts by position and by execution contradict each other".into());
        }
        Ok(Some(counted))
    }

    /// The kernel that updates a vector.
    fn update(&self, variant: Variant) -> Result<Kernel, CudaError> {
        self.program.kernel(&CString::new(format!("update_{variant}")).unwrap_or_default())
    }

    /// Sets all vectors to ones and all counters to zero, and captures the graph of the case.
    fn prepare(&mut self, case: Case) -> Result<(), Outage> {
        let Memories { values, by_position, found, totals } = self.memories;
        let kernel = self.update(case.variant)?;
        let Self { device, program, .. } = self;
        let vectors = case.vectors();
        // `CountArguments`.
        let counted = [values, by_position, found, totals].map(|memory| memory.address);
        let counted = counted.into_iter().fold(Arguments::default(), Arguments::wide);
        let counted = counted.word(case.components).word(vectors);
        let count =
            Launch::new(program.kernel(c"count")?, (COUNTING_BLOCKS * self.multiprocessors, TILE), counted.clone());
        device.clear(values)?;
        device.clear(found)?;
        device.launch(&count)?;
        let bytes = u64::from(case.components) * size_of::<f64>() as u64;
        let update = |vector: u64| {
            // `UpdateArguments`.
            let arguments = Arguments::default().wide(values.address + vector * bytes).wide(case.components.into());
            let grid = (case.components / case.block_threads, case.block_threads);
            Launch::new(kernel, grid, arguments)
        };
        let mut launches: Vec<Launch> = (0..u64::from(vectors)).map(update).collect();
        launches.extend([count, Launch::new(program.kernel(c"tally")?, (1, 64), counted)]);
        device.capture(&launches)?;
        self.replay(WARM_UP, &|| false)?;
        // The very first look found zeros, and the warm-up does not count.
        for memory in [found, by_position, totals] {
            self.device.clear(memory)?;
        }
        self.device.wait(LIMIT)
    }

    /// Replays the graph `times` times, or until `is_over` but [`QUEUED`] times at least, and waits for it. Returns how
    /// often.
    fn replay(&mut self, times: u64, is_over: &dyn Fn() -> bool) -> Result<u64, Outage> {
        let mut done = 0;
        while done < times && (done == 0 || !is_over()) {
            let now = (times - done).min(QUEUED);
            (0..now).try_for_each(|_| self.device.replay())?;
            self.device.wait(LIMIT)?;
            done += now;
        }
        Ok(done)
    }

    /// The counters of all executions so far.
    fn totals(&mut self) -> Result<[u64; COUNTERS], Outage> {
        let words = self.device.fetch(self.memories.totals, COUNTERS, LIMIT)?;
        Ok(std::array::from_fn(|counter| words.get(counter).copied().unwrap_or(0)))
    }
}

/// Whether the counts of a class contradict each other: inconsistencies without an execution that has one, the other
/// way round, or fewer inconsistencies than such executions.
fn contradicts_itself(counted: &Counted) -> bool {
    counted.classes().iter().any(|class| {
        (class.inconsistencies > 0) != (class.executions_with > 0) || class.inconsistencies < class.executions_with
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(components: u32, executions: u64) -> Case {
        Case { variant: Variant::Global, block_threads: 32, components, executions }
    }

    #[test]
    fn at_least_as_many_executions_as_asked_for_and_few_more() {
        for (components, executions) in [(65_536, 1_000_000), (65_536, 1), (1024, 999), (1 << 22, 7), (4096, 12_345)] {
            let case = case(components, executions);
            let done: u64 = case.replays().iter().map(|replays| replays * u64::from(case.vectors())).sum();
            assert!((executions..executions + u64::from(case.vectors())).contains(&done), "{case:?}: {done}");
            assert!(case.replays().iter().all(|replays| *replays > 0), "{case:?}");
        }
        assert_eq!(case(65_536, 1_000_000).replays(), [1000; 20]);
    }

    #[test]
    fn the_vectors_of_a_graph_fit_into_the_cache() {
        for components in [1024, 65_536, 1 << 20, 1 << 22] {
            let case = case(components, u64::MAX);
            let bytes = u64::from(case.vectors()) * u64::from(components) * 8;
            assert!(case.vectors() == 1 || bytes <= MOST_BYTES, "{components}: {}", case.vectors());
        }
        assert_eq!(case(65_536, 1_000_000).vectors(), MOST_VECTORS);
    }

    #[test]
    fn counts_that_contradict_each_other_are_noticed() {
        let batch = |with| Batch { executions: 100, with };
        let counted = |by_position: Vec<u64>, with| Counted {
            variant: Variant::Global,
            block_threads: 32,
            components: 1024,
            resident_blocks: 1,
            by_position,
            batches: vec![batch(with)],
            seconds: 0.0,
        };
        let mut found = vec![0; 1024];
        assert!(!contradicts_itself(&counted(found.clone(), [0; CLASSES])));
        assert!(contradicts_itself(&counted(found.clone(), [0, 0, 0, 3, 0])));
        found[32] = 5;
        assert!(!contradicts_itself(&counted(found.clone(), [0, 0, 0, 3, 0])));
        assert!(contradicts_itself(&counted(found.clone(), [0; CLASSES])));
        assert!(contradicts_itself(&counted(found, [0, 0, 0, 6, 0])), "more executions than inconsistencies");
    }

    #[test]
    fn the_kernel_has_as_many_threads() {
        assert_eq!(crate::constant_of(include_str!("asynchrony.cu"), "TILE"), TILE.to_string());
    }
}
