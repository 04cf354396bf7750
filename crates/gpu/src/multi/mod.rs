//! Devices that work together: the same kernel on each of them, all running at the same time, in memory that all can reach.
//!
//! Each device has a context, a queue and memory of its own. What they tell each other lies in the memory of the one that
//! reads it, if all can reach each other's memory, else in host memory. `kernels/meeting.cuh` is the other side.

mod ledger;
mod stage;
mod station;

use std::time::{Duration, Instant};

pub(crate) use self::ledger::Ledger;
use self::ledger::{WORDS_OF_LEDGER, joined, ledger_of};
use self::stage::{Layout, Roster, WORD, words_of};
pub(crate) use self::stage::{MOST_DEVICES, Stage};
use self::station::{Loaded, Station};
use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, Function, HostBuffer, Stream, launch_together};
use crate::cuda::error::CudaError;
use crate::launch::arguments::Arguments;
use crate::launch::bench::{Health, Kernels, Outage, Shape, Timing};
use crate::launch::block_order::BlockOrder;
use crate::launch::offsets::Places;

/// Launches that are queued before the host waits.
const BATCH: usize = 16;

/// A wait inside a kernel that lasts longer has failed. Longer than the devices need to begin, even if one has to load its
/// kernel first.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

/// Kernels that do not end by themselves are asked to stop after this time.
const HOST_LIMIT: Duration = Duration::from_secs(20);

/// So long a kernel that was asked to stop may take.
const GRACE: Duration = Duration::from_secs(2);

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

    /// As [`crate::launch::bench::Bench::retire`].
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
