//! One device: its context, its stream, its buffers, and the programs loaded on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use syncscope_core::Side;

use crate::cuda::compile::Program;
use crate::cuda::driver::{Context, Device, DeviceBuffer, Function, HostBuffer, Module, Stream, Way};
use crate::cuda::error::Called;
use crate::launch::arguments::{DevicePointer, Gate, LoopArguments, Rate};
use crate::launch::runner::DeviceQueue;
use crate::launch::samples::{HEAD_WORDS, Timing, WORD};

/// The kernels of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    pub(crate) baseline: Function,
    pub(crate) test: Function,
    pub(crate) check: Function,
}

impl Kernels {
    /// The kernel of a side. The third loop is the test kernel of a separate program.
    pub(crate) const fn of(self, side: Side) -> Function {
        match side {
            Side::Baseline => self.baseline,
            Side::Test | Side::Double => self.test,
        }
    }

    /// The kernels of a program with a timed loop.
    pub(crate) fn in_module(module: &Module) -> Called<Self> {
        Ok(Self {
            baseline: module.function(c"syncscope_baseline")?,
            test: module.function(c"syncscope_test")?,
            check: module.function(c"syncscope_check")?,
        })
    }

    /// The same kernels, launched in this way.
    pub(crate) fn launched(self, way: Way) -> Called<Self> {
        let Self { baseline, test, check } = self;
        Ok(Self { baseline: baseline.launched(way)?, test: test.launched(way)?, check: check.launched(way)? })
    }

    /// How many blocks of each kernel run at the same time on a device with this many multiprocessors; 0 if no cluster does.
    pub(crate) fn resident_blocks(self, threads: u32, multiprocessors: u32) -> Called<u32> {
        let kernels = [self.baseline, self.test, self.check];
        let resident = kernels.map(|kernel| kernel.resident_blocks(threads, multiprocessors));
        Ok(resident.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().min().unwrap_or(0))
    }
}

/// Memory that the context of each later pass leaves unused before its own, in addition to that of the previous pass. The
/// driver hands out memory in 2 MiB blocks and often gives the next context the same ones. The padding gives the buffers of
/// each pass other addresses.
const PADDING_BYTES: usize = 3 * (2 << 20);

/// One device. Its results begin with the kernels' findings ([`HEAD_WORDS`]), followed by the results of each launch.
#[derive(Debug)]
pub(crate) struct DeviceContext {
    pub(crate) device: Device,
    modules: HashMap<Program, Module>,
    abort: HostBuffer,
    /// The device's address of `abort`.
    pub(crate) abort_pointer: DevicePointer,
    /// The host's copy of `results`.
    host: HostBuffer,
    results: DeviceBuffer,
    memory: DeviceBuffer,
    /// One [`Gate`] for all launches.
    gate: DeviceBuffer,
    /// Memory in which several devices write for each other, if they cannot access each other's memory.
    pub(crate) shared: Option<HostBuffer>,
    /// Unused memory; see [`PADDING_BYTES`].
    _padding: Option<DeviceBuffer>,
    pub(crate) stream: Stream,
    /// Streams for chains of launches; some chains use both in turn. The streams that launch in a context decide the level of a
    /// launch: see `docs/notes/launch-levels.md`.
    pub(crate) launch_streams: [Rc<Stream>; 2],
    // The last field: it is dropped after everything that lives in it.
    pub(crate) context: Context,
}

impl DeviceContext {
    /// Opens a device for a pass, counted from 0, with room for `result_words` words of all launches' results and
    /// `memory_bytes` of memory.
    pub(crate) fn new(device: Device, pass: u32, result_words: usize, memory_bytes: usize) -> Called<Self> {
        let context = Context::new(device)?;
        let padding = (pass > 0).then(|| DeviceBuffer::new(&context, pass as usize * PADDING_BYTES)).transpose()?;
        let abort = HostBuffer::new(&context, 1)?;
        let words = HEAD_WORDS + result_words;
        let opened = Self {
            device,
            modules: HashMap::new(),
            abort_pointer: abort.device_pointer()?,
            abort,
            host: HostBuffer::new(&context, words)?,
            results: DeviceBuffer::new(&context, words * WORD)?,
            memory: DeviceBuffer::new(&context, memory_bytes)?,
            gate: DeviceBuffer::new(&context, size_of::<Gate>())?,
            shared: None,
            _padding: padding,
            stream: Stream::new(&context)?,
            launch_streams: [Rc::new(Stream::new(&context)?), Rc::new(Stream::new(&context)?)],
            context,
        };
        // Every copy of results begins with the head, whether a kernel wrote there or not.
        opened.clear_head()?;
        Ok(opened)
    }

    /// The address of its memory.
    pub(crate) const fn memory(&self) -> DevicePointer {
        self.memory.pointer()
    }

    /// The address of its results, which begin with the kernels' findings.
    pub(crate) const fn head(&self) -> DevicePointer {
        self.results.pointer()
    }

    /// How many words fit, for the results of all launches.
    pub(crate) const fn result_words(&self) -> usize {
        self.results.bytes() / WORD - HEAD_WORDS
    }

    /// Loads a program, once, and makes the context current, because the caller uses the program's kernels.
    pub(crate) fn load(&mut self, program: &Program, cubin: &[u8]) -> Called<&Module> {
        self.context.make_current()?;
        match self.modules.entry(program.clone()) {
            Entry::Occupied(loaded) => Ok(loaded.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(Module::load(&self.context, cubin, program.launch_memory())?)),
        }
    }

    /// Provides at least this much memory. The context must be current, as for the functions below.
    pub(crate) fn reserve_memory(&mut self, bytes: usize) -> Called {
        if bytes > self.memory.bytes() {
            // Freed first, because a device may not have room for both.
            self.memory = DeviceBuffer::new(&self.context, 1)?;
            self.memory = DeviceBuffer::new(&self.context, bytes)?;
        }
        Ok(())
    }

    /// Provides room for `words` words, for the results of all launches.
    pub(crate) fn reserve_results(&mut self, words: usize) -> Called {
        if words > self.result_words() {
            self.results = DeviceBuffer::new(&self.context, (HEAD_WORDS + words) * WORD)?;
            self.host = HostBuffer::new(&self.context, HEAD_WORDS + words)?;
        }
        Ok(())
    }

    /// Provides host memory that all devices can access, new and all zero, and returns its address.
    pub(crate) fn provide_shared(&mut self, words: usize) -> Called<DevicePointer> {
        let shared = HostBuffer::for_all(&self.context, words)?;
        self.shared.insert(shared).device_pointer()
    }

    /// Queues the clearing of the kernels' findings and of the first `words` of their results.
    pub(crate) fn clear_results(&self, words: usize) -> Called {
        self.stream.clear(&self.results, 0..(HEAD_WORDS + words) * WORD)
    }

    /// The results in the last copy that was waited for.
    pub(crate) fn results(&self) -> &[u64] {
        &self.host.values()[HEAD_WORDS..]
    }

    /// Queues the clearing of these bytes of the memory.
    pub(crate) fn clear_memory(&self, bytes: Range<usize>) -> Called {
        self.stream.clear(&self.memory, bytes)
    }

    /// Queues the clearing of the kernels' findings.
    pub(crate) fn clear_head(&self) -> Called {
        self.stream.clear(&self.results, 0..HEAD_WORDS * WORD)
    }

    /// Queues the closing of the gate.
    pub(crate) fn clear_gate(&self) -> Called {
        self.stream.clear(&self.gate, 0..size_of::<Gate>())
    }

    /// The arguments of a launch whose variables begin at `memory` and whose results begin at `word` after the head.
    pub(crate) fn addressed(&self, arguments: LoopArguments, memory: DevicePointer, word: usize) -> LoopArguments {
        let rate = self.results.pointer() + ((HEAD_WORDS + word) * WORD) as u64;
        let (abort, gate) = (self.abort_pointer, self.gate.pointer());
        LoopArguments { memory, rate, warps: rate + size_of::<Rate>() as u64, abort, gate, ..arguments }
    }

    /// The kernels' findings in the last copy that was waited for.
    pub(crate) fn found(&self) -> &[u64] {
        &self.host.values()[..HEAD_WORDS]
    }

    /// The results of the launch whose `words` begin at `word` after the head, in the last copy that was waited for.
    pub(crate) fn timing(&self, word: usize, words: usize, offsets: usize) -> Timing {
        Timing::of(&self.host.values()[HEAD_WORDS + word..][..words], offsets)
    }
}

impl DeviceQueue for DeviceContext {
    fn make_current(&self) -> Called {
        self.context.make_current()
    }

    fn fetch(&mut self, words: usize) -> Called {
        self.stream.copy_to_host(&self.results, &mut self.host, words * WORD)
    }

    fn is_done(&self) -> Called<bool> {
        self.stream.is_done()
    }

    fn set_abort(&mut self, stop: bool) {
        // Relaxed: the flag orders no other memory.
        self.abort.atomic_u32(0).store(u32::from(stop), Ordering::Relaxed);
    }
}

impl Drop for DeviceContext {
    fn drop(&mut self) {
        // Its buffers have to be freed in its context.
        let _ = self.context.make_current();
    }
}
