//! The devices, opened once: sets programs up, launches on all of them and waits for all.

use std::time::{Duration, Instant};

use super::device_handle::DeviceHandle;
use super::group_launch::{GRACE, GroupLaunch, LaunchCall};
use super::loaded_program::{DeviceTable, Layout, LoadedModule, LoadedProgram, MOST_DEVICES, words_of};
use super::phase_counts::{PhaseCounts, WORDS_OF_COUNTS, counts_of, joined};
use crate::cuda::compile::Program;
use crate::cuda::driver::{Device, HostBuffer, launch_together};
use crate::cuda::error::CudaError;
use crate::launch::device_context::DeviceContext;
use crate::launch::offsets::MemoryOffsets;
use crate::launch::outage::{Health, Outage};
use crate::launch::request::{Kernels, Shape};
use crate::launch::timing::{Timing, WORD};

/// Launches that are queued before the host waits.
const BATCH: usize = 16;

/// Kernels that do not end by themselves are asked to stop after this time.
const HOST_LIMIT: Duration = Duration::from_secs(20);

/// See the module's description.
#[derive(Debug)]
pub(crate) struct DeviceGroup {
    health: Health,
    last_use: Option<Instant>,
    /// What the devices write for each other, where they cannot access each other's memory.
    host: Option<HostBuffer<u64>>,
    members: Vec<DeviceContext>,
}

impl DeviceGroup {
    pub(crate) const fn new() -> Self {
        Self { health: Health::Good, last_use: None, host: None, members: Vec::new() }
    }

    /// Whether it can run the next launch.
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
        self.last_use.map(|time| time.elapsed())
    }

    /// Opens those of `devices` that are not open yet. Every call must name the same devices in the same order.
    pub(crate) fn open(&mut self, devices: &[Device]) -> Result<(), CudaError> {
        for device in devices.iter().skip(self.members.len()) {
            let member = DeviceContext::new(*device)?;
            for other in &self.members {
                if device.can_reach(other.device)? && other.device.can_reach(*device)? {
                    member.context.reach(&other.context)?;
                    other.context.reach(&member.context)?;
                }
            }
            self.members.push(member);
        }
        Ok(())
    }

    /// Whether each of the first `count` devices can access the memory of every other.
    pub(crate) fn is_connected(&self, count: usize) -> Result<bool, CudaError> {
        let devices: Vec<Device> = self.members.iter().take(count).map(|member| member.device).collect();
        for (index, one) in devices.iter().enumerate() {
            for other in &devices[index + 1..] {
                if !(one.can_reach(*other)? && other.can_reach(*one)?) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// How many blocks of a program run at the same time on the device with the least room.
    pub(crate) fn resident_blocks(
        &mut self,
        program: &Program,
        cubin: &[u8],
        count: usize,
        threads: u32,
        multiprocessors: u32,
    ) -> Result<u32, CudaError> {
        let mut least = u32::MAX;
        for member in self.members.iter_mut().take(count) {
            let Kernels { baseline, test, check } = member.load(program, cubin)?.kernels;
            for kernel in [baseline, test, check] {
                least = least.min(kernel.blocks_per_multiprocessor(threads)?);
            }
        }
        Ok(least.saturating_mul(multiprocessors))
    }

    /// Sets a program up on the first `count` devices: memory and counts are zero, waits have a limit.
    pub(crate) fn set_up(
        &mut self,
        program: &Program,
        cubin: &[u8],
        (count, shape, call): (usize, Shape, LaunchCall),
        offsets: &MemoryOffsets,
        limit: Duration,
    ) -> Result<LoadedProgram, CudaError> {
        let layout = Layout::of(shape, offsets);
        let connected = self.is_connected(count)?;
        let words = words_of(shape, offsets.per_sample());
        let members = &mut self.members[..count];
        let mut modules = Vec::with_capacity(count);
        for member in &mut *members {
            modules.push(member.load(program, cubin)?);
            member.provide(layout.bytes, WORDS_OF_COUNTS + BATCH * words)?;
        }
        let shared_words = layout.shared_bytes() / WORD;
        if let (false, Some(first)) = (connected, members.first()) {
            // New for each case: all zero.
            first.context.make_current()?;
            self.host = Some(HostBuffer::for_all(&first.context, count * shared_words)?);
        }
        let shared = |index: usize| match (&self.host, connected) {
            (Some(host), false) => Ok(host.device_pointer()? + (index * shared_words * WORD) as u64),
            _ => Ok::<_, CudaError>(members[index].memory.pointer() + layout.flags as u64),
        };
        let mut table = DeviceTable {
            limit_ns: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
            counts: 0,
            phases: 0,
            device: 0,
            devices: u32::try_from(count).unwrap_or(u32::MAX),
            exchanges: [0; MOST_DEVICES],
            flags: [0; MOST_DEVICES],
        };
        for index in 0..count {
            table.flags[index] = shared(index)?;
            table.exchanges[index] = shared(index)? + (layout.exchanges - layout.flags) as u64;
        }
        for (device, (member, module)) in (0..).zip(members.iter().zip(&modules)) {
            let table =
                DeviceTable { device, counts: member.results.pointer(), phases: member.memory.pointer(), ..table };
            member.settle()?;
            // SAFETY: `table` is the module's variable of this type (sizes are asserted on both sides), and the device has
            // nothing to do.
            unsafe { member.context.write(module.device_table, &table)? };
        }
        Ok(LoadedProgram { modules, shape, layout, offsets_per_sample: offsets.per_sample(), call, limit })
    }

    /// Runs launches one after the other, each on all devices, and waits for all of them. The result is what they leave, for
    /// each launch and each device.
    ///
    /// # Errors
    /// [`Outage::TimedOut`] also when a wait inside a kernel lasted longer than its limit; the devices can go on then.
    pub(crate) fn run(
        &mut self,
        program: &LoadedProgram,
        launches: &[GroupLaunch],
    ) -> Result<Vec<Vec<Timing>>, Outage> {
        let words = program.words();
        let mut timings = Vec::with_capacity(launches.len());
        for batch in launches.chunks(BATCH) {
            let queued = self.queue(program, batch).and_then(|()| self.fetch(program, batch.len()));
            queued.map_err(|error| self.broken(error))?;
            self.wait(program.modules.len())?;
            if self.counts(program).timeouts > 0 {
                return Err(Outage::TimedOut(program.limit));
            }
            for slot in 0..batch.len() {
                let first = WORDS_OF_COUNTS + slot * words;
                let of = |member: &DeviceContext| {
                    Timing::of(&member.host.values()[first..first + words], program.offsets_per_sample as usize)
                };
                timings.push(self.members[..program.modules.len()].iter().map(of).collect());
            }
        }
        Ok(timings)
    }

    /// The counts of all devices together, as of the last [`Self::run`].
    pub(crate) fn counts(&self, program: &LoadedProgram) -> PhaseCounts {
        let counts = self.members[..program.modules.len()].iter().map(|member| counts_of(member.host.values()));
        joined(counts)
    }

    fn queue(&self, program: &LoadedProgram, batch: &[GroupLaunch]) -> Result<(), CudaError> {
        for (slot, launch) in batch.iter().enumerate() {
            let mut parts = Vec::with_capacity(program.modules.len());
            for (member, module) in self.members.iter().zip(&program.modules) {
                member.context.make_current()?;
                launch.order.queue(&member.stream, module.idle)?;
                parts.push(member.part(program, module, launch, slot)?);
            }
            let Shape { blocks, threads } = program.shape;
            match program.call {
                LaunchCall::Together => launch_together(&parts, blocks, threads)?,
                LaunchCall::PerDevice => {
                    for (member, part) in self.members.iter().zip(&parts) {
                        member.context.make_current()?;
                        part.stream.launch_cooperatively(part.function, blocks, threads, &part.arguments)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Queues the copies of what `launches` launches leave.
    fn fetch(&mut self, program: &LoadedProgram, launches: usize) -> Result<(), CudaError> {
        let bytes = (WORDS_OF_COUNTS + launches * program.words()) * WORD;
        for member in &mut self.members[..program.modules.len()] {
            member.context.make_current()?;
            member.stream.copy_to_host(&member.results, &mut member.host, bytes)?;
        }
        Ok(())
    }

    fn wait(&mut self, count: usize) -> Result<(), Outage> {
        let done = self.wait_until(count, HOST_LIMIT)?;
        self.last_use = Some(Instant::now());
        if done {
            return Ok(());
        }
        self.members.iter_mut().for_each(|member| member.abort.write_volatile(0, 1));
        let stopped = self.wait_until(count, GRACE);
        self.members.iter_mut().for_each(|member| member.abort.write_volatile(0, 0));
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
            if !self.members[index].wait_until(left).map_err(|error| self.broken(error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn broken(&mut self, error: CudaError) -> Outage {
        self.health = Health::Broken;
        error.into()
    }

    /// The devices of a program, one for each host thread.
    pub(crate) fn handles<'a>(&'a self, program: &'a LoadedProgram) -> impl Iterator<Item = DeviceHandle<'a>> {
        let handle = |(member, module): (&'a DeviceContext, &'a LoadedModule)| DeviceHandle {
            context: &member.context,
            stream: &member.stream,
            function: module.kernels.test,
            shape: program.shape,
        };
        self.members.iter().zip(&program.modules).map(handle)
    }

    /// Fetches the counts after launches by [`Self::handles`].
    pub(crate) fn fetch_counts(&mut self, program: &LoadedProgram) -> Result<PhaseCounts, Outage> {
        self.fetch(program, 0).map_err(|error| self.broken(error))?;
        self.wait(program.modules.len())?;
        Ok(self.counts(program))
    }
}
