//! The devices of a reduction with their parts of the vector, and the queueing of one reduction.

use crate::catalogue::recipe::{CUB_TILE, Joining, Operation, PLANTED, Recipe, THREADS};
use crate::cuda::compile::Program;
use crate::cuda::driver::{DevicePointer, Event, ExecutableGraph, Function, KernelArguments, Stream};
use crate::cuda::error::Called;
use crate::launch::device_context::DeviceContext;
use crate::launch::runner::{DeviceQueue, Outage};
use crate::launch::samples::{HEAD_WORDS, WORD};
use crate::multi::{DeviceGroup, DeviceTable, LIMIT, counts_of};

use super::MOST_RESULTS;

/// `MOST_MEMBERS` in `kernels/reduction.cu`.
const MOST_MEMBERS: usize = 8;

/// Bytes from one result to the next: a line.
const LINE: usize = 128;
const LINE_WORDS: usize = LINE / WORD;

/// Maximum blocks of a grid whose blocks write partial results or wait for each other.
const MOST_PARTIALS: usize = 1 << 16;

/// The value that the host writes for the kernel `hold`.
const OPEN: u32 = 1;

/// `ReductionArguments` in `kernels/reduction.cu`, field by field.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct ReductionArguments {
    data: DevicePointer,
    /// One partial result for each block.
    partials: DevicePointer,
    /// 0 before the reduction.
    result: DevicePointer,
    /// State of the barrier, or the counter of the last block.
    barrier: DevicePointer,
    /// A word of host memory; once set, it ends a wait that lasts too long.
    abort: DevicePointer,
    elements: u64,
    /// Barriers that earlier launches passed.
    barriers_passed: u64,
    /// `combine`: number of partial results; `plant`: the value; CUB's `reduce`: blocks that the grid may have.
    count: u32,
    unused: u32,
}

/// `SeveralArguments` in `kernels/reduction.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct SeveralArguments {
    common: ReductionArguments,
    words: [DevicePointer; MOST_MEMBERS],
    device: u32,
    devices: u32,
    epoch: u32,
    reserved: u32,
}

// SAFETY: it holds only numbers and device addresses.
unsafe impl KernelArguments for ReductionArguments {}
// SAFETY: as above.
unsafe impl KernelArguments for SeveralArguments {}

const _: () = assert!(size_of::<ReductionArguments>() == 64 && size_of::<SeveralArguments>() == 144);
const _: () = assert!(std::mem::offset_of!(ReductionArguments, elements) == 40);
const _: () = assert!(std::mem::offset_of!(ReductionArguments, count) == 56);

/// What is reduced, and how.
#[derive(Debug, Clone)]
pub(crate) struct ReductionRequest<'a> {
    pub(crate) recipe: Recipe,
    pub(crate) operation: Operation,
    pub(crate) devices: usize,
    pub(crate) elements: u64,
    /// Number of elements to make room for.
    pub(crate) room: u64,
    /// Multiprocessors of the device that has the fewest.
    pub(crate) multiprocessors: u32,
    /// The program of the variant.
    pub(crate) program: (&'a Program, &'a [u8]),
    /// A program that fills the vector, holds a stream and combines partial results.
    pub(crate) helper: (&'a Program, &'a [u8]),
}

/// Where each part of a device's memory begins, in bytes after the vector.
#[derive(Debug, Clone, Copy)]
struct Layout {
    partials: usize,
    /// A word for each device.
    parts: usize,
    /// A line, and two flags for each block.
    state: usize,
    words: usize,
    bytes: usize,
}

impl Layout {
    /// The layout with room for this many elements.
    fn of(elements: u64) -> Self {
        let partials = usize::try_from(elements.saturating_mul(4)).unwrap_or(usize::MAX / 2).next_multiple_of(512);
        let parts = partials + MOST_PARTIALS * size_of::<u32>();
        let state = parts + LINE;
        let words = state + LINE + 2 * MOST_PARTIALS;
        Self { partials, parts, state, words, bytes: words + 2 * MOST_MEMBERS * WORD }
    }
}

/// The kernels on one device.
#[derive(Debug, Clone, Copy)]
struct Kernels {
    reduce: Function,
    /// The kernel that combines partial results.
    combine: Function,
    /// CUB's kernel for a vector of one tile.
    single: Option<Function>,
    /// The kernel that waits for the host.
    hold: Function,
    fill: Function,
    plant: Function,
}

/// One of the devices of a reduction.
#[derive(Debug)]
struct Member {
    kernels: Kernels,
    /// Elements in its part of the vector.
    elements: u64,
    /// On the first device: its previous reduction is done; on the others: their part of a reduction is done.
    event: Event,
}

/// The devices of a reduction; see the module documentation. Everything that a kernel uses belongs to the devices, which keep
/// it if a kernel does not end.
#[derive(Debug)]
pub(crate) struct Queue<'a> {
    pub(super) group: &'a mut DeviceGroup,
    pub(super) recipe: Recipe,
    operation: Operation,
    pub(super) elements: u64,
    multiprocessors: u32,
    /// Blocks of the kernel that run at the same time on a multiprocessor.
    resident: u32,
    layout: Layout,
    members: Vec<Member>,
    /// Host memory that all devices access: a line for the gate, then each device's lines of results.
    shared: DevicePointer,
    /// Number of reductions so far.
    pub(super) passed: u64,
}

impl<'a> Queue<'a> {
    /// Loads the kernels and fills in the vector on each of the open devices.
    pub(crate) fn new(group: &'a mut DeviceGroup, request: &ReductionRequest<'_>) -> Result<Self, Outage> {
        let ReductionRequest { recipe, operation, devices, elements, multiprocessors, .. } = *request;
        let layout = Layout::of(request.room.div_ceil(devices as u64).next_multiple_of(4));
        let runner = &mut group.runner;
        let members = runner.devices[..devices].iter_mut().map(|device| member(device, request, layout));
        let members = members.collect::<Called<Vec<_>>>();
        let members = runner.judged(members)?;
        let first = &mut runner.devices[0];
        first.make_current()?;
        let lines = 1 + if devices > 1 { devices * MOST_RESULTS as usize } else { 0 };
        let shared = first.provide_shared(lines * LINE_WORDS)?;
        let resident = members[0].kernels.reduce.blocks_per_multiprocessor(recipe.threads())?;
        let mut queue =
            Self { group, recipe, operation, elements, multiprocessors, resident, layout, members, shared, passed: 0 };
        let filled = queue.fill().and_then(|()| queue.resize(elements));
        queue.group.runner.noted(filled)?;
        Ok(queue)
    }

    /// The combined answer of all devices. Each device begins its part of a sum anew.
    pub(crate) fn answer(&self) -> u32 {
        let parts = self.members.iter().map(|member| self.operation.answer(member.elements));
        parts.reduce(|one, other| self.operation.join(one, other)).unwrap_or_default()
    }

    /// A remark with the number of blocks, if the device chose it.
    pub(crate) fn remark(&self) -> Option<String> {
        self.recipe.is_resident().then(|| format!("{} blocks", self.blocks()))
    }

    /// Blocks of the kernel on each device, and threads per block.
    pub(crate) fn shape(&self) -> (u32, u32) {
        (self.blocks(), self.recipe.threads())
    }

    fn blocks(&self) -> u32 {
        let largest = self.members.iter().map(|member| member.elements).max().unwrap_or(1);
        self.recipe.blocks(largest, self.multiprocessors, self.resident)
    }

    fn device(&self, index: usize) -> &DeviceContext {
        &self.group.runner.devices[index]
    }

    /// The stream of a device, after making its context current.
    fn stream(&self, index: usize) -> Called<&Stream> {
        let device = self.device(index);
        if self.members.len() > 1 {
            device.make_current()?;
        }
        Ok(&device.stream)
    }

    /// Waits for everything queued. With one device, its context is current afterwards.
    pub(crate) fn wait(&mut self) -> Result<(), Outage> {
        self.group.runner.wait_without_pause(self.members.len())
    }

    /// The arguments for one device.
    fn arguments(&self, index: usize) -> ReductionArguments {
        let (device, Layout { partials, state, .. }) = (self.device(index), self.layout);
        ReductionArguments {
            data: device.memory(),
            partials: device.memory() + partials as u64,
            barrier: device.memory() + state as u64,
            abort: device.abort_pointer,
            elements: self.members[index].elements,
            barriers_passed: self.passed,
            ..ReductionArguments::default()
        }
    }

    /// The address of a device's result: a single device uses its own memory, several use the host's.
    fn result(&self, index: usize, number: u64) -> DevicePointer {
        let line = (number % MOST_RESULTS) as usize;
        if self.members.len() == 1 {
            self.device(0).head() + (HEAD_WORDS * WORD + line * LINE) as u64
        } else {
            self.shared + Self::shared_line(index, line) as u64
        }
    }

    /// The offset of a line of results in the shared memory, in bytes.
    const fn shared_line(index: usize, line: usize) -> usize {
        (1 + index * MOST_RESULTS as usize + line) * LINE
    }

    /// Fills in the vectors, clears all other memory, and waits.
    fn fill(&mut self) -> Result<(), Outage> {
        self.group.runner.begin(self.members.len())?;
        for (index, member) in self.members.iter().enumerate() {
            let all = ReductionArguments { elements: self.layout.partials as u64 / 4, ..self.arguments(index) };
            self.stream(index)?.launch(member.kernels.fill, 1024, THREADS, &all)?;
        }
        self.wait()
    }

    /// Divides the first `elements` of the vector among the devices, and plants the largest at the end of the last part.
    /// Another number has another grid, whose barrier counts other arrivals, so everything but the vector is set to 0 again.
    pub(crate) fn resize(&mut self, elements: u64) -> Result<(), Outage> {
        let count = self.members.len() as u64;
        self.group.runner.begin(self.members.len())?;
        for index in 0..self.members.len() {
            self.plant(index, 0)?;
            self.device(index).clear_memory(self.layout.partials..self.layout.bytes)?;
            let at = |index: u64| elements * index / count;
            self.members[index].elements = at(index as u64 + 1) - at(index as u64);
            if self.operation == Operation::Max && index + 1 == self.members.len() {
                self.plant(index, PLANTED)?;
            }
        }
        (self.elements, self.passed) = (elements, 0);
        self.wait()
    }

    /// Writes the last element of a part; 0 restores the previous value.
    fn plant(&self, index: usize, count: u32) -> Called {
        let arguments = ReductionArguments { count, ..self.arguments(index) };
        if arguments.elements == 0 {
            return Ok(());
        }
        self.stream(index)?.launch(self.members[index].kernels.plant, 1, THREADS, &arguments)
    }

    /// Sets the first results of all devices to 0. On a single device this is done by the next wait.
    pub(crate) fn clear_results(&mut self, count: u64) -> Result<(), Outage> {
        self.group.runner.begin(self.members.len())?;
        if self.members.len() == 1 {
            return Ok(self.device(0).clear_results(count as usize * LINE_WORDS)?);
        }
        for index in 0..self.members.len() {
            (0..count as usize).for_each(|line| self.set_shared(Self::shared_line(index, line), 0));
        }
        Ok(())
    }

    /// Writes a word of the host memory that devices read and write.
    fn set_shared(&self, byte: usize, value: u32) {
        if let Some(shared) = &self.device(0).shared {
            shared.atomic_u32(byte).store(value, std::sync::atomic::Ordering::Release);
        }
    }

    fn shared(&self, byte: usize) -> u32 {
        let shared = self.device(0).shared.as_ref();
        shared.map_or(0, |shared| shared.atomic_u32(byte).load(std::sync::atomic::Ordering::Acquire))
    }

    /// A wrong one among the first `count` results, if any. Everything queued must be done.
    pub(crate) fn wrong_result(&mut self, count: u64) -> Result<Option<u32>, Outage> {
        let (answer, lines) = (self.answer(), count as usize);
        let Some(joining) = self.recipe.joining else {
            self.group.runner.fetch(1, HEAD_WORDS + lines * LINE_WORDS)?;
            self.wait()?;
            let mut found = self.device(0).results().chunks_exact(LINE_WORDS).take(lines).map(|line| line[0] as u32);
            return Ok(found.find(|found| *found != answer));
        };
        let knowing = joining.knowing(self.members.len());
        let mut found = (0..knowing).flat_map(|index| (0..lines).map(move |line| (index, line)));
        Ok(found.find_map(|(index, line)| Some(self.shared(Self::shared_line(index, line))).filter(|it| *it != answer)))
    }

    /// Waits on one device that outlasted their limit, in the last results. The result may still be right: after so long, the
    /// other blocks have written theirs.
    pub(crate) fn timeouts(&self) -> u32 {
        if self.recipe.joining.is_none() { counts_of(self.device(0).found()).timeouts } else { 0 }
    }

    /// What the host makes of the results of all devices, if that is not the answer.
    pub(crate) fn wrongly_joined(&self, number: u64) -> Option<u32> {
        let line = (number % MOST_RESULTS) as usize;
        let parts = (0..self.members.len()).map(|index| self.shared(Self::shared_line(index, line)));
        parts.reduce(|one, other| self.operation.join(one, other)).filter(|found| *found != self.answer())
    }

    /// Makes later work wait until the gate opens.
    pub(crate) fn close_gate(&self) -> Called {
        self.set_shared(0, 0);
        let closed = ReductionArguments { barrier: self.shared, count: OPEN, ..self.arguments(0) };
        self.stream(0)?.launch(self.members[0].kernels.hold, 1, 1, &closed)
    }

    /// Starts the work behind the gate.
    pub(crate) fn open_gate(&self) {
        self.set_shared(0, OPEN);
    }

    /// The graph of `count` reductions. Other devices join the capture when they wait for an event of the first device.
    pub(crate) fn capture(&self, count: u64) -> Called<ExecutableGraph> {
        let stream = self.stream(0)?;
        let graph = stream.capture(|_| (0..count).try_for_each(|number| self.reduce(number)))?;
        let stream = self.stream(0)?;
        stream.upload(&graph)?;
        Ok(graph)
    }

    /// Queues a graph on the first device.
    pub(crate) fn replay(&self, graph: &ExecutableGraph) -> Called {
        self.stream(0)?.replay(graph)
    }

    /// Queues one reduction, by its number in the chain.
    pub(crate) fn reduce(&self, number: u64) -> Called {
        match self.recipe.joining {
            None => self.reduce_alone(number),
            Some(Joining::Flags) => self.reduce_with_flags(number),
            Some(Joining::Host) => self.reduce_parts(|index| self.result(index, number)),
            Some(Joining::Kernels) => self.reduce_by_kernels(number),
        }
    }

    fn reduce_alone(&self, number: u64) -> Called {
        let (kernels, blocks, threads) = (self.members[0].kernels, self.blocks(), self.recipe.threads());
        let common = self.arguments(0);
        let barriers_passed = self.passed + number;
        let arguments = ReductionArguments { result: self.result(0, number), barriers_passed, count: blocks, ..common };
        let stream = self.stream(0)?;
        if let (Some(single), true) = (kernels.single, arguments.elements <= CUB_TILE) {
            return stream.launch(single, 1, threads, &arguments);
        }
        stream.launch(kernels.reduce, blocks, threads, &arguments)?;
        if self.recipe.has_second { stream.launch(kernels.combine, 1, threads, &arguments) } else { Ok(()) }
    }

    /// Launches each device's kernel. `result` gives the address of its result.
    fn reduce_parts(&self, result: impl Fn(usize) -> DevicePointer) -> Called {
        for (index, member) in self.members.iter().enumerate() {
            let arguments = ReductionArguments { result: result(index), ..self.arguments(index) };
            self.stream(index)?.launch(member.kernels.reduce, self.blocks(), THREADS, &arguments)?;
        }
        Ok(())
    }

    fn reduce_with_flags(&self, number: u64) -> Called {
        let mut words = [0; MOST_MEMBERS];
        for (index, word) in words.iter_mut().enumerate().take(self.members.len()) {
            *word = self.device(index).memory() + self.layout.words as u64;
        }
        // Starts at 1, because the words are 0 before.
        let (devices, epoch) = (self.members.len() as u32, (self.passed + number + 1) as u32);
        for (index, member) in self.members.iter().enumerate() {
            let common = ReductionArguments { result: self.result(index, number), ..self.arguments(index) };
            let arguments = SeveralArguments { common, words, device: index as u32, devices, epoch, reserved: 0 };
            self.stream(index)?.launch(member.kernels.reduce, self.blocks(), THREADS, &arguments)?;
        }
        Ok(())
    }

    /// Queues one reduction by kernels: the first device's event says that the previous reduction is done, the events of the
    /// others that their part is done.
    fn reduce_by_kernels(&self, number: u64) -> Called {
        let (first, others) = (&self.members[0], &self.members[1..]);
        let parts = self.device(0).memory() + self.layout.parts as u64;
        self.stream(0)?.record(&first.event)?;
        for index in 1..=others.len() {
            self.stream(index)?.wait_for(&first.event)?;
        }
        self.reduce_parts(|index| parts + (index * size_of::<u32>()) as u64)?;
        for (index, other) in (1..).zip(others) {
            self.stream(index)?.record(&other.event)?;
        }
        let stream = self.stream(0)?;
        for other in others {
            stream.wait_for(&other.event)?;
        }
        let (result, count) = (self.result(0, number), self.members.len() as u32);
        let arguments = ReductionArguments { partials: parts, result, count, ..self.arguments(0) };
        stream.launch(first.kernels.combine, 1, THREADS, &arguments)
    }
}

/// Loads the kernels on a device and provides its memory; everything but the vector is 0 by the next wait.
fn member(device: &mut DeviceContext, request: &ReductionRequest<'_>, layout: Layout) -> Called<Member> {
    let recipe = request.recipe;
    device.make_current()?;
    let (program, cubin) = request.helper;
    let helper = device.load(program, cubin)?;
    let [combine, hold, fill, plant] = [c"combine", c"hold", c"fill", c"plant"].map(|name| helper.function(name));
    // The variable in which a module's kernels find how long a wait may last.
    let table = c"_ZN9syncscope12device_tableE";
    let mut tables = vec![helper.variable(table)?];
    let (program, cubin) = request.program;
    let own = device.load(program, cubin)?;
    let reduce = own.function(c"reduce")?.launched(recipe.way())?;
    let single = if recipe.is_cub() { Some(own.function(c"single")?) } else { None };
    let combine = if recipe.is_cub() { own.function(c"combine") } else { combine };
    if !recipe.is_cub() {
        tables.push(own.variable(table)?);
    }
    device.reserve_memory(layout.bytes)?;
    device.reserve_results(MOST_RESULTS as usize * LINE_WORDS)?;
    let limit_ns = u64::try_from(LIMIT.as_nanos()).unwrap_or(u64::MAX);
    let table = DeviceTable { limit_ns, counts: device.head(), devices: 1, ..DeviceTable::default() };
    for variable in tables {
        // SAFETY: it is a variable of a loaded module with this structure as its type, and no kernel of the module runs.
        unsafe { device.context.write(variable, &table)? };
    }
    device.clear_memory(0..layout.bytes)?;
    let kernels = Kernels { reduce, combine: combine?, single, hold: hold?, fill: fill?, plant: plant? };
    Ok(Member { kernels, elements: 0, event: Event::new(&device.context)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_as_many_members() {
        assert_eq!(crate::launch::headers::constant_of("reduction.cu", "MOST_MEMBERS"), MOST_MEMBERS.to_string());
    }

    #[test]
    fn nothing_of_a_devices_memory_overlaps() {
        let layout = Layout::of(100_003);
        assert!(layout.partials >= 4 * 100_003 && layout.parts - layout.partials == 4 * MOST_PARTIALS);
        assert!(layout.state - layout.parts >= 4 * MOST_MEMBERS);
        assert!(layout.words - layout.state >= LINE + 2 * MOST_PARTIALS);
        assert_eq!(layout.bytes - layout.words, 2 * MOST_MEMBERS * 8);
        assert!([layout.partials, layout.state, layout.words].iter().all(|at| at.is_multiple_of(16)));
    }
}
