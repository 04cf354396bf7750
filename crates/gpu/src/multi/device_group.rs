//! The devices, opened once: sets programs up, launches on all of them and waits for all.

use std::ffi::CStr;
use std::time::Duration;

use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, DeviceLaunch, Function, Stream, launch_together};
use crate::cuda::error::Called;
use crate::launch::arguments::{DevicePointer, GridBarrierArguments};
use crate::launch::bench::{Idle, Shape, words_of};
use crate::launch::device_context::{DeviceContext, Kernels};
use crate::launch::offsets::MemoryOffsets;
use crate::launch::runner::{DeviceQueue, Outage, Runner};
use crate::launch::samples::{HEAD_WORDS, Timing, WORD};
use crate::multi::loaded_program::{
    DeviceTable, GroupLaunch, LaunchCall, Layout, LoadedProgram, Member, PhaseCounts, counts_of, joined,
};

/// Launches queued before the host waits.
const BATCH: usize = 16;

/// A group of devices that run kernels together; see the module documentation.
#[derive(Debug)]
pub(crate) struct DeviceGroup {
    /// The runner, used also for launches that the group does not make itself, such as those on [`Self::tests`].
    pub(crate) runner: Runner<DeviceContext>,
    pass: u32,
}

impl DeviceGroup {
    /// An empty group for a pass, counted from 0.
    pub(crate) fn new(pass: u32) -> Self {
        Self { runner: Runner::new(Vec::new()), pass }
    }

    /// Opens those of `devices` that are not open yet. Every call must name the same devices in the same order.
    pub(crate) fn open(&mut self, devices: &[Device]) -> Called {
        for device in devices.iter().skip(self.runner.devices.len()) {
            let member = DeviceContext::new(*device, self.pass, 0, 0)?;
            for other in &self.runner.devices {
                if device.can_reach(other.device)? && other.device.can_reach(*device)? {
                    member.context.reach(&other.context)?;
                    other.context.reach(&member.context)?;
                }
            }
            self.runner.devices.push(member);
        }
        Ok(())
    }

    /// Whether each of the first `count` devices can access every other one's memory.
    pub(crate) fn is_connected(&self, count: usize) -> Called<bool> {
        let mut later = self.runner.devices.iter().take(count).map(|device| device.device);
        while let Some(one) = later.next() {
            for other in later.clone() {
                if !(one.can_reach(other)? && other.can_reach(one)?) {
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
        (threads, call): (u32, LaunchCall),
        multiprocessors: u32,
    ) -> Called<u32> {
        let mut least = u32::MAX;
        for device in self.runner.devices.iter_mut().take(count) {
            let kernels = Kernels::in_module(device.load(program, cubin)?)?.launched(call.way())?;
            least = least.min(kernels.resident_blocks(threads, multiprocessors)?);
        }
        Ok(least)
    }

    /// Sets a program up on the first `count` devices, with zeroed memory and counts and a limit for waits.
    pub(crate) fn set_up(
        &mut self,
        program: &Program,
        cubin: &[u8],
        (count, shape, call): (usize, Shape, LaunchCall),
        offsets: &MemoryOffsets,
        limit: Duration,
    ) -> Result<LoadedProgram, Outage> {
        let layout = Layout::of(shape, offsets);
        let offsets_per_sample = offsets.per_sample();
        let words = words_of(shape, offsets_per_sample as usize);
        let prepared = self.prepare(program, cubin, (count, call), layout, words);
        let (members, shared) = self.runner.judged(prepared)?;
        self.runner.settle(count)?;
        let loaded = LoadedProgram { members, shape, layout, offsets_per_sample, shared, call, limit };
        let written = self.write_tables(&loaded);
        self.runner.judged(written)?;
        Ok(loaded)
    }

    /// Loads the third loop of a program that is set up: in the same memory, as the kernel `test` of a separate program.
    pub(crate) fn load_third_loop(
        &mut self,
        program: &LoadedProgram,
        third: &Program,
        cubin: &[u8],
    ) -> Result<LoadedProgram, Outage> {
        let members = self.members(third, cubin, (program.members.len(), program.call), Some(c"syncscope_third"));
        let loaded = LoadedProgram { members: self.runner.judged(members)?, ..program.clone() };
        let written = self.write_tables(&loaded);
        self.runner.judged(written)?;
        Ok(loaded)
    }

    /// Loads a program on the first devices. `test` may name a kernel that replaces the test.
    fn members(
        &mut self,
        program: &Program,
        cubin: &[u8],
        (count, call): (usize, LaunchCall),
        test: Option<&CStr>,
    ) -> Called<Vec<Member>> {
        let member = |device: &mut DeviceContext| {
            let number = device.device;
            let module = device.load(program, cubin)?;
            let kernels = Kernels::in_module(module)?;
            let test = test.map_or(Ok(kernels.test), |name| module.function(name))?;
            Ok(Member {
                kernels: Kernels { test, ..kernels }.launched(call.way())?,
                idle: Idle::of(module, number)?,
                device_table: module.variable(c"_ZN9syncscope12device_tableE")?,
            })
        };
        self.runner.devices[..count].iter_mut().map(member).collect()
    }

    /// Loads a program on the first devices, with zeroed memory of this layout, empty counts, and room for the results of a
    /// batch of launches that leave this many words each. Also returns the address of each device's flags, which all devices
    /// access: in the device's own memory, or in host memory.
    fn prepare(
        &mut self,
        program: &Program,
        cubin: &[u8],
        (count, call): (usize, LaunchCall),
        layout: Layout,
        words: usize,
    ) -> Called<(Vec<Member>, Vec<DevicePointer>)> {
        let members = self.members(program, cubin, (count, call), None)?;
        for device in &mut self.runner.devices[..count] {
            device.make_current()?;
            device.reserve_memory(layout.bytes)?;
            device.reserve_results(BATCH * words)?;
            device.clear_memory(0..layout.bytes)?;
            device.clear_head()?;
        }
        if self.is_connected(count)? {
            let devices = self.runner.devices[..count].iter();
            return Ok((members, devices.map(|device| device.memory() + layout.flags as u64).collect()));
        }
        let (first, words) = (&mut self.runner.devices[0], layout.shared_bytes() / WORD);
        first.make_current()?;
        let host = first.provide_shared(count * words)?;
        Ok((members, (0..count).map(|index| host + (index * words * WORD) as u64).collect()))
    }

    /// Writes to each device what it must know of itself and of the others. The devices must be idle.
    fn write_tables(&self, program: &LoadedProgram) -> Called {
        let LoadedProgram { layout, shared, .. } = program;
        let mut table = DeviceTable {
            limit_ns: u64::try_from(program.limit.as_nanos()).unwrap_or(u64::MAX),
            devices: u32::try_from(shared.len()).unwrap_or(u32::MAX),
            copy_distance: layout.copy_distance as u64,
            ..DeviceTable::default()
        };
        for (index, flags) in shared.iter().enumerate() {
            table.block_flags[index] = *flags;
            table.exchanges[index] = flags + (layout.exchanges - layout.flags) as u64;
        }
        for (number, (device, member)) in (0..).zip(self.runner.devices.iter().zip(&program.members)) {
            let table = DeviceTable { device: number, counts: device.head(), phases: device.memory(), ..table };
            // SAFETY: `table` is the module's variable of this type (both sides assert its size), and the device is idle.
            unsafe { device.context.write(member.device_table, &table)? };
        }
        Ok(())
    }

    /// Runs launches one after the other, each on all devices, and waits for all of them. Returns their results for each launch
    /// and each device.
    ///
    /// # Errors
    /// [`Outage::TimedOut`] also if a wait inside a kernel exceeded its limit; the devices can continue then.
    pub(crate) fn run(
        &mut self,
        program: &LoadedProgram,
        launches: &[GroupLaunch],
    ) -> Result<Vec<Vec<Timing>>, Outage> {
        let (count, offsets) = (program.members.len(), program.offsets_per_sample as usize);
        let words = words_of(program.shape, offsets);
        let mut timings = Vec::with_capacity(launches.len());
        self.runner.begin(count)?;
        for batch in launches.chunks(BATCH) {
            for (at, launch) in batch.iter().enumerate() {
                self.queue(program, launch, at * words)?;
            }
            self.runner.fetch(count, HEAD_WORDS + batch.len() * words)?;
            self.runner.wait(count)?;
            if self.counts(program).timeouts > 0 {
                return Err(Outage::TimedOut(program.limit));
            }
            let devices = &self.runner.devices[..count];
            let left = |at| devices.iter().map(|device| device.timing(at * words, words, offsets)).collect();
            timings.extend((0..batch.len()).map(left));
        }
        Ok(timings)
    }

    /// Queues a launch on every device of a program, preceded by the launches that set its block order on all of them; its
    /// results start at `word`.
    fn queue(&mut self, program: &LoadedProgram, launch: &GroupLaunch, word: usize) -> Result<(), Outage> {
        let (members, Shape { blocks, threads }) = (&program.members, program.shape);
        self.runner.on_each(members.len(), |at, device| launch.order.queue(&device.stream, members[at].idle))?;
        if program.call == LaunchCall::Together {
            let devices = self.runner.devices.iter().zip(members);
            let parts: Vec<_> = devices.map(|(device, member)| part(program, launch, device, member, word)).collect();
            let queued = launch_together(&parts, blocks, threads);
            return self.runner.launched(queued);
        }
        self.runner.on_each(members.len(), |at, device| {
            let part = part(program, launch, device, &members[at], word);
            part.stream.launch(part.function, blocks, threads, &part.arguments)
        })
    }

    /// The counts of all devices together, from the last [`Self::run`].
    pub(crate) fn counts(&self, program: &LoadedProgram) -> PhaseCounts {
        joined(self.runner.devices[..program.members.len()].iter().map(|device| counts_of(device.found())))
    }

    /// Context and stream of each device of a program, with its kernel `test`, for launches that the group does not make.
    pub(crate) fn tests(&self, program: &LoadedProgram) -> impl Iterator<Item = (&Context, &Stream, Function)> {
        let devices = self.runner.devices.iter().zip(&program.members);
        devices.map(|(device, member)| (&device.context, &device.stream, member.kernels.test))
    }

    /// Fetches the counts after launches on [`Self::tests`].
    pub(crate) fn fetch_counts(&mut self, program: &LoadedProgram) -> Result<PhaseCounts, Outage> {
        let count = program.members.len();
        self.runner.begin(count)?;
        self.runner.fetch(count, HEAD_WORDS)?;
        self.runner.wait(count)?;
        Ok(self.counts(program))
    }
}

/// The part of a launch on one device, with all addresses in its arguments.
fn part<'a>(
    program: &LoadedProgram,
    launch: &GroupLaunch,
    device: &'a DeviceContext,
    member: &Member,
    word: usize,
) -> DeviceLaunch<'a, GridBarrierArguments> {
    let function = launch.side.map_or(member.kernels.check, |side| member.kernels.of(side));
    let memory = device.memory() + (program.layout.offsets + launch.offset) as u64;
    let common = device.addressed(launch.arguments.common, memory, word);
    DeviceLaunch { stream: &device.stream, function, arguments: GridBarrierArguments { common, ..launch.arguments } }
}
