//! Devices that work together: the same kernel on each of them, all running at the same time, in memory that all can reach.
//!
//! Each device has a context, a queue and memory of its own. What they tell each other lies in the memory of the one that
//! reads it, if all can reach each other's memory, else in host memory. `kernels/meeting.cuh` is the other side.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::arguments::{Arguments, DevicePointer, Finding, Rate, Warp};
use crate::bench::{Health, Kernels, Outage, Shape, Timing};
use crate::block_order::{BlockOrder, Idle};
use crate::compile::Program;
use crate::driver::{Context, Device, DeviceBuffer, Function, HostBuffer, Module, Part, Stream, launch_together};
use crate::error::CudaError;
use crate::places::Places;

/// `MOST_DEVICES` in `meeting.cuh`.
pub(crate) const MOST_DEVICES: usize = 16;

/// Launches that are queued before the host waits.
const BATCH: usize = 16;

/// A wait inside a kernel that lasts longer has failed. Longer than the devices need to begin, even if one has to load its
/// kernel first.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

/// Kernels that do not end by themselves are asked to stop after this time.
const HOST_LIMIT: Duration = Duration::from_secs(20);

/// So long a kernel that was asked to stop may take.
const GRACE: Duration = Duration::from_secs(2);

/// `Ledger` in `meeting.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) gave_up: u32,
    pub(crate) mismatches: u32,
    pub(crate) thread: u32,
    pub(crate) reserved: u32,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

/// `Exchange` in `meeting.cuh`.
const EXCHANGE_BYTES: usize = 256;

/// `Roster` in `meeting.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Roster {
    limit_ns: u64,
    ledger: DevicePointer,
    phases: DevicePointer,
    device: u32,
    devices: u32,
    exchanges: [DevicePointer; MOST_DEVICES],
    tidings: [DevicePointer; MOST_DEVICES],
}

const _: () = assert!(size_of::<Ledger>() == 32 && size_of::<Roster>() == 288);

const WORD: usize = size_of::<u64>();
const WORDS_OF_LEDGER: usize = size_of::<Ledger>() / WORD;
const WORDS_OF_RATE: usize = size_of::<Rate>() / WORD;
const WORDS_OF_WARP: usize = size_of::<Warp>() / WORD;

/// How grids are launched on several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launching {
    /// One call for each device.
    OneByOne,
    /// One call for all.
    Together,
}

/// One of the kernels of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Baseline,
    Test,
    Check,
}

/// One launch on every device. Addresses in the arguments are the fabric's to fill in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) role: Role,
    pub(crate) arguments: Arguments,
    /// Where the state of its barrier begins, in bytes from the first place.
    pub(crate) offset: usize,
    /// In which order the blocks come to the multiprocessors of each device.
    pub(crate) order: BlockOrder,
}

/// A program, loaded on one device.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    kernels: Kernels,
    idle: Idle,
    roster: DevicePointer,
}

/// One device.
#[derive(Debug)]
struct Station {
    device: Device,
    loaded: HashMap<Program, Loaded>,
    abort: HostBuffer<u32>,
    host: HostBuffer<u64>,
    results: DeviceBuffer,
    memory: DeviceBuffer,
    stream: Stream,
    // The last field: it is dropped after all that lives in it.
    context: Context,
}

/// A program set up on a number of devices.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    loaded: Vec<Loaded>,
    pub(crate) shape: Shape,
    layout: Layout,
    /// Places that one launch visits.
    tour: u32,
    launching: Launching,
    limit: Duration,
}

impl Stage {
    /// Words of 8 bytes that one launch leaves on one device.
    const fn words(&self) -> usize {
        words_of(self.shape, self.tour)
    }
}

/// Where in a device's memory what begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    tidings: usize,
    exchanges: usize,
    places: usize,
    bytes: usize,
}

impl Layout {
    /// A phase for each thread, tidings for each block, an exchange for each place, then the places.
    fn of(shape: Shape, places: &Places) -> Self {
        const LINE: usize = 512;
        let tidings = (shape.grid_threads() * size_of::<u32>()).next_multiple_of(LINE);
        let exchanges = tidings + (shape.blocks as usize * size_of::<u32>()).next_multiple_of(LINE);
        let first = exchanges + (places.count() * EXCHANGE_BYTES).next_multiple_of(LINE);
        Self { tidings, exchanges, places: first, bytes: first + places.bytes() }
    }

    /// What others must reach.
    const fn shared_bytes(self) -> usize {
        self.places - self.tidings
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Fabric {
    health: Health,
    last_use: Option<Instant>,
    /// What the devices tell each other where they do not reach each other's memory.
    host: Option<HostBuffer<u64>>,
    stations: Vec<Station>,
}

impl Fabric {
    pub(crate) const fn new() -> Self {
        Self { health: Health::Good, last_use: None, host: None, stations: Vec::new() }
    }

    /// Whether it can go on.
    pub(crate) const fn health(&self) -> Health {
        self.health
    }

    /// As [`crate::bench::Bench::retire`].
    pub(crate) fn retire(self) {
        if self.health == Health::Occupied {
            std::mem::forget(self);
        }
    }

    /// How long the devices have had nothing to do.
    pub(crate) fn idle(&self) -> Option<Duration> {
        self.last_use.map(|moment| moment.elapsed())
    }

    /// Opens `devices` as far as they are not open; always the same ones in the same order.
    pub(crate) fn open(&mut self, devices: &[Device]) -> Result<(), CudaError> {
        for device in devices.iter().skip(self.stations.len()) {
            let station = Station::new(*device)?;
            for other in &self.stations {
                if device.can_reach(other.device)? && other.device.can_reach(*device)? {
                    station.context.reach(&other.context)?;
                    other.context.reach(&station.context)?;
                }
            }
            self.stations.push(station);
        }
        Ok(())
    }

    /// Whether each of the first `count` devices reaches the memory of each other.
    pub(crate) fn is_connected(&self, count: usize) -> Result<bool, CudaError> {
        let devices: Vec<Device> = self.stations.iter().take(count).map(|station| station.device).collect();
        for (index, one) in devices.iter().enumerate() {
            for other in &devices[index + 1..] {
                if !(one.can_reach(*other)? && other.can_reach(*one)?) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Blocks of a program that one device, the one with the least room, holds at the same time.
    pub(crate) fn resident_blocks(
        &mut self,
        program: &Program,
        cubin: &[u8],
        count: usize,
        threads: u32,
        multiprocessors: u32,
    ) -> Result<u32, CudaError> {
        let mut least = u32::MAX;
        for station in self.stations.iter_mut().take(count) {
            let Kernels { baseline, test, check } = station.load(program, cubin)?.kernels;
            for kernel in [baseline, test, check] {
                least = least.min(kernel.blocks_per_multiprocessor(threads)?);
            }
        }
        Ok(least.saturating_mul(multiprocessors))
    }

    /// Sets a program up on the first `count` devices: memory all zero, the ledgers empty, waits limited.
    pub(crate) fn set_up(
        &mut self,
        program: &Program,
        cubin: &[u8],
        (count, shape, launching): (usize, Shape, Launching),
        places: &Places,
        limit: Duration,
    ) -> Result<Stage, CudaError> {
        let layout = Layout::of(shape, places);
        let connected = self.is_connected(count)?;
        let words = words_of(shape, places.tour());
        let stations = &mut self.stations[..count];
        let mut loaded = Vec::with_capacity(count);
        for station in &mut *stations {
            loaded.push(station.load(program, cubin)?);
            station.provide(layout.bytes, WORDS_OF_LEDGER + BATCH * words)?;
        }
        let shared_words = layout.shared_bytes() / WORD;
        if let (false, Some(first)) = (connected, stations.first()) {
            // New for each case: all zero.
            first.context.make_current()?;
            self.host = Some(HostBuffer::for_all(&first.context, count * shared_words)?);
        }
        let shared = |index: usize| match (&self.host, connected) {
            (Some(host), false) => Ok(host.device_pointer()? + (index * shared_words * WORD) as u64),
            _ => Ok::<_, CudaError>(stations[index].memory.pointer() + layout.tidings as u64),
        };
        let mut roster = Roster {
            limit_ns: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
            ledger: 0,
            phases: 0,
            device: 0,
            devices: u32::try_from(count).unwrap_or(u32::MAX),
            exchanges: [0; MOST_DEVICES],
            tidings: [0; MOST_DEVICES],
        };
        for index in 0..count {
            roster.tidings[index] = shared(index)?;
            roster.exchanges[index] = shared(index)? + (layout.exchanges - layout.tidings) as u64;
        }
        for (device, (station, loaded)) in (0..).zip(stations.iter().zip(&loaded)) {
            let roster =
                Roster { device, ledger: station.results.pointer(), phases: station.memory.pointer(), ..roster };
            station.settle()?;
            // SAFETY: `roster` is the module's variable of this type (sizes are asserted on both sides), and the device has
            // nothing to do.
            unsafe { station.context.write(loaded.roster, &roster)? };
        }
        Ok(Stage { loaded, shape, layout, tour: places.tour(), launching, limit })
    }

    /// Runs rounds one after the other, each on all devices, and waits for all of them. What they leave, for each round and
    /// each device.
    ///
    /// # Errors
    /// [`Outage::TimedOut`] also when a wait inside a kernel lasted longer than its limit; the devices can go on then.
    pub(crate) fn run(&mut self, stage: &Stage, rounds: &[Round]) -> Result<Vec<Vec<Timing>>, Outage> {
        let words = stage.words();
        let mut timings = Vec::with_capacity(rounds.len());
        for batch in rounds.chunks(BATCH) {
            let queued = self.queue(stage, batch).and_then(|()| self.fetch(stage, batch.len()));
            queued.map_err(|error| self.broken(error))?;
            self.wait(stage.loaded.len())?;
            if self.ledger(stage).gave_up > 0 {
                return Err(Outage::TimedOut(stage.limit));
            }
            for slot in 0..batch.len() {
                let first = WORDS_OF_LEDGER + slot * words;
                let of =
                    |station: &Station| Timing::of(&station.host.values()[first..first + words], stage.tour as usize);
                timings.push(self.stations[..stage.loaded.len()].iter().map(of).collect());
            }
        }
        Ok(timings)
    }

    /// What the ledgers of all devices say together, as of the last [`Self::run`].
    pub(crate) fn ledger(&self, stage: &Stage) -> Ledger {
        let ledgers = self.stations[..stage.loaded.len()].iter().map(|station| ledger_of(station.host.values()));
        joined(ledgers)
    }

    fn queue(&self, stage: &Stage, batch: &[Round]) -> Result<(), CudaError> {
        for (slot, round) in batch.iter().enumerate() {
            let mut parts = Vec::with_capacity(stage.loaded.len());
            for (station, loaded) in self.stations.iter().zip(&stage.loaded) {
                station.context.make_current()?;
                round.order.queue(&station.stream, loaded.idle)?;
                parts.push(station.part(stage, loaded, round, slot)?);
            }
            let Shape { blocks, threads } = stage.shape;
            match stage.launching {
                Launching::Together => launch_together(&parts, blocks, threads)?,
                Launching::OneByOne => {
                    for (station, part) in self.stations.iter().zip(&parts) {
                        station.context.make_current()?;
                        part.stream.launch_cooperatively(part.function, blocks, threads, &part.arguments)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Queues the copies of what `rounds` rounds leave.
    fn fetch(&mut self, stage: &Stage, rounds: usize) -> Result<(), CudaError> {
        let bytes = (WORDS_OF_LEDGER + rounds * stage.words()) * WORD;
        for station in &mut self.stations[..stage.loaded.len()] {
            station.context.make_current()?;
            station.stream.copy_to_host(&station.results, &mut station.host, bytes)?;
        }
        Ok(())
    }

    fn wait(&mut self, count: usize) -> Result<(), Outage> {
        let done = self.wait_until(count, HOST_LIMIT)?;
        self.last_use = Some(Instant::now());
        if done {
            return Ok(());
        }
        self.stations.iter_mut().for_each(|station| station.abort.write_volatile(0, 1));
        let stopped = self.wait_until(count, GRACE);
        self.stations.iter_mut().for_each(|station| station.abort.write_volatile(0, 0));
        if !stopped? {
            self.health = Health::Occupied;
        }
        Err(Outage::TimedOut(HOST_LIMIT))
    }

    /// Waits until the first `count` devices are done; `false` if that lasts longer than `limit`.
    fn wait_until(&mut self, count: usize, limit: Duration) -> Result<bool, Outage> {
        let started = Instant::now();
        for index in 0..count {
            let left = limit.saturating_sub(started.elapsed());
            if !self.stations[index].wait_until(left).map_err(|error| self.broken(error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn broken(&mut self, error: CudaError) -> Outage {
        self.health = Health::Broken;
        error.into()
    }

    /// The devices of a stage for host threads, one for each: what they launch and wait for.
    pub(crate) fn hands<'a>(&'a self, stage: &'a Stage) -> impl Iterator<Item = Hand<'a>> {
        let hand = |(station, loaded): (&'a Station, &'a Loaded)| Hand {
            context: &station.context,
            stream: &station.stream,
            function: loaded.kernels.test,
            shape: stage.shape,
        };
        self.stations.iter().zip(&stage.loaded).map(hand)
    }

    /// Fetches the ledgers after launches by [`Self::hands`].
    pub(crate) fn fetch_ledger(&mut self, stage: &Stage) -> Result<Ledger, Outage> {
        self.fetch(stage, 0).map_err(|error| self.broken(error))?;
        self.wait(stage.loaded.len())?;
        Ok(self.ledger(stage))
    }
}

/// One device in the hands of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hand<'a> {
    context: &'a Context,
    stream: &'a Stream,
    function: Function,
    shape: Shape,
}

impl Hand<'_> {
    /// To be called first on the thread.
    pub(crate) fn take(&self) -> Result<(), CudaError> {
        self.context.make_current()
    }

    pub(crate) fn launch(&self, arguments: &Arguments) -> Result<(), CudaError> {
        self.stream.launch(self.function, self.shape.blocks, self.shape.threads, arguments)
    }

    pub(crate) fn is_done(&self) -> Result<bool, CudaError> {
        self.stream.is_done()
    }
}

impl Station {
    fn new(device: Device) -> Result<Self, CudaError> {
        let context = Context::new(device)?;
        Ok(Self {
            device,
            loaded: HashMap::new(),
            abort: HostBuffer::new(&context, 1)?,
            host: HostBuffer::new(&context, WORDS_OF_LEDGER)?,
            results: DeviceBuffer::new(&context, size_of::<Ledger>())?,
            memory: DeviceBuffer::new(&context, 1)?,
            stream: Stream::new(&context)?,
            context,
        })
    }

    fn load(&mut self, program: &Program, cubin: &[u8]) -> Result<Loaded, CudaError> {
        if let Some(loaded) = self.loaded.get(program) {
            return Ok(*loaded);
        }
        self.context.make_current()?;
        let module = Module::load(&self.context, cubin)?;
        let kernels = Kernels {
            baseline: module.function(c"baseline")?,
            test: module.function(c"test")?,
            check: module.function(c"check")?,
        };
        let idle = Idle::of(module, self.device)?;
        let loaded = Loaded { kernels, idle, roster: module.variable(c"roster")? };
        self.loaded.insert(program.clone(), loaded);
        Ok(loaded)
    }

    /// Provides memory, all zero, and room for results, with an empty ledger.
    fn provide(&mut self, bytes: usize, result_words: usize) -> Result<(), CudaError> {
        self.context.make_current()?;
        if bytes > self.memory.bytes() {
            self.memory = DeviceBuffer::new(&self.context, bytes)?;
        }
        if result_words * WORD > self.results.bytes() {
            self.results = DeviceBuffer::new(&self.context, result_words * WORD)?;
            self.host = HostBuffer::new(&self.context, result_words)?;
        }
        self.stream.clear(&self.memory, bytes)?;
        self.stream.clear(&self.results, size_of::<Ledger>())
    }

    /// Waits for the clearing of memory; nothing else is queued.
    fn settle(&self) -> Result<(), CudaError> {
        self.context.make_current()?;
        let started = Instant::now();
        while !self.stream.is_done()? && started.elapsed() < GRACE {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn wait_until(&self, limit: Duration) -> Result<bool, CudaError> {
        self.context.make_current()?;
        self.stream.wait_until(limit)
    }

    /// The kernel and arguments of a round on this device.
    fn part(&self, stage: &Stage, loaded: &Loaded, round: &Round, slot: usize) -> Result<Part<'_>, CudaError> {
        let rate = self.results.pointer() + ((WORDS_OF_LEDGER + slot * stage.words()) * WORD) as u64;
        let arguments = Arguments {
            memory: self.memory.pointer() + (stage.layout.places + round.offset) as u64,
            rate,
            warps: rate + size_of::<Rate>() as u64,
            abort: self.abort.device_pointer()?,
            ..round.arguments
        };
        let Kernels { baseline, test, check } = loaded.kernels;
        let function = match round.role {
            Role::Baseline => baseline,
            Role::Test => test,
            Role::Check => check,
        };
        Ok(Part { stream: &self.stream, function, arguments })
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // What it owns is given back in its context.
        let _ = self.context.make_current();
    }
}

/// Words of 8 bytes that one launch leaves on one device.
const fn words_of(shape: Shape, tour: u32) -> usize {
    WORDS_OF_RATE + WORDS_OF_WARP * shape.warps() as usize * tour as usize
}

/// CUDA devices and their hosts are little-endian.
const fn ledger_of(words: &[u64]) -> Ledger {
    Ledger {
        gave_up: words[0] as u32,
        mismatches: (words[0] >> 32) as u32,
        thread: words[1] as u32,
        reserved: 0,
        expected: words[2],
        found: words[3],
    }
}

/// The sums, and the values of the first mismatch.
fn joined(ledgers: impl Iterator<Item = Ledger>) -> Ledger {
    ledgers.fold(Ledger::default(), |sum, ledger| {
        let shown = if sum.mismatches > 0 { sum } else { ledger };
        Ledger {
            gave_up: sum.gave_up.saturating_add(ledger.gave_up),
            mismatches: sum.mismatches.saturating_add(ledger.mismatches),
            ..shown
        }
    })
}

impl From<Ledger> for Finding {
    fn from(ledger: Ledger) -> Self {
        let Ledger { mismatches, thread, expected, found, .. } = ledger;
        Self { mismatches, thread, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_devices_memory_overlaps() {
        let shape = Shape { blocks: 4224, threads: 64 };
        let places = Places::new(34_000, 100 * 34_304, 4);
        let layout = Layout::of(shape, &places);
        assert!(layout.tidings >= 4224 * 64 * 4);
        assert!(layout.exchanges - layout.tidings >= 4224 * 4);
        assert!(layout.places - layout.exchanges >= places.count() * EXCHANGE_BYTES);
        assert_eq!(layout.bytes - layout.places, places.bytes());
        assert_eq!(layout.shared_bytes(), layout.places - layout.tidings);
        assert!([layout.tidings, layout.exchanges, layout.places].iter().all(|offset| offset.is_multiple_of(256)));
    }

    #[test]
    fn ledgers_are_read_as_they_are_written_and_joined() {
        let clean = ledger_of(&[0, 0, 0, 0]);
        let one = ledger_of(&[(3 << 32) | 1, 77, 5, 4]);
        assert_eq!((one.gave_up, one.mismatches, one.thread, one.expected, one.found), (1, 3, 77, 5, 4));
        let other = Ledger { thread: 8, ..one };
        let sum = joined([clean, one, other].into_iter());
        assert_eq!((sum.gave_up, sum.mismatches, sum.thread), (2, 6, 77));
        assert_eq!(joined([clean, clean].into_iter()), Ledger::default());
    }

    #[test]
    fn a_launch_leaves_its_rate_and_its_warps_at_each_place() {
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 1), 2 + 2 * 4);
        assert_eq!(words_of(Shape { blocks: 2, threads: 33 }, 8), 2 + 8 * 2 * 4);
    }
}
