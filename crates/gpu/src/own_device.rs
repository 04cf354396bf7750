//! A device for programs outside the catalogue: the papers' experiments load, launch and wait here.
//!
//! [`OwnDevice`] has its own context and stream, owns all memory that its programs use, and waits like every other launch of
//! this crate (`crate::launch::runner`). A kernel that does not end occupies the device. Its resources are then leaked, because
//! freeing them would wait for the kernel without a limit, as would freeing another context of the process. Programs bound
//! their own spins; nothing aborts them.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::catalogue::HostWait;
use crate::cuda::driver::{
    Context, DeviceBuffer, ExecutableGraph, Function, HostBuffer, KernelArguments, Module, Stream, Way,
};
use crate::cuda::error::{Called, CudaError};
use crate::experiments::host_wait::Waiter;
use crate::launch::arguments::Rate;
use crate::launch::runner::{DeviceQueue, Health, Runner};
use crate::launch::samples;

pub use crate::launch::ruler::run_until_stable;
pub use crate::launch::runner::Outage;

/// How long the host polls for the end of a launch without a pause, since it may be timing that launch.
const EAGER: Duration = Duration::from_millis(50);

/// The structure that a kernel takes, laid out field by field as in C++.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    words: Vec<u64>,
    bytes: usize,
}

impl Arguments {
    /// Appends a 64-bit field: a number, or an address of [`Memory`].
    pub fn wide(mut self, value: u64) -> Self {
        self.words.push(value);
        self.bytes = self.words.len() * size_of::<u64>();
        self
    }

    /// Appends a 32-bit field. CUDA devices are little-endian.
    pub fn word(mut self, value: u32) -> Self {
        match self.words.last_mut().filter(|_| !self.bytes.is_multiple_of(size_of::<u64>())) {
            Some(last) => *last |= u64::from(value) << 32,
            None => self.words.push(value.into()),
        }
        self.bytes += size_of::<u32>();
        self
    }
}

// SAFETY: the words hold only numbers and device addresses, and there are as many bytes as said.
unsafe impl KernelArguments for Arguments {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn address(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
}

/// A program loaded on the device, unloaded when dropped.
#[derive(Debug)]
pub struct Loaded(Module);

impl Loaded {
    /// The kernel with this name.
    ///
    /// # Errors
    /// The error of the driver, also if there is no such kernel.
    pub fn kernel(&self, name: &CStr) -> Result<Kernel, CudaError> {
        self.0.function(name).map(Kernel)
    }
}

/// A kernel of a loaded program.
#[derive(Debug, Clone, Copy)]
pub struct Kernel(Function);

impl Kernel {
    /// The kernel as a cooperative launch: its blocks wait for each other, so all must run at the same time.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn cooperative(self) -> Result<Self, CudaError> {
        self.0.launched(Way::Cooperative).map(Self)
    }

    /// How many blocks of this many threads one multiprocessor runs at the same time.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn blocks_per_multiprocessor(self, threads: u32) -> Result<u32, CudaError> {
        self.0.blocks_per_multiprocessor(threads)
    }
}

/// Memory of the device, freed when the device is closed.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    index: usize,
    /// The address to pass to kernels.
    pub address: u64,
}

/// A kernel on a grid.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// The kernel's arguments.
    pub arguments: Arguments,
}

impl Launch {
    /// A kernel on a grid of this many blocks and threads per block.
    pub const fn new(kernel: Kernel, (blocks, threads): (u32, u32), arguments: Arguments) -> Self {
        Self { kernel, blocks, threads, arguments }
    }

    fn queue(&self, stream: &Stream) -> Result<(), CudaError> {
        stream.launch(self.kernel.0, self.blocks, self.threads, &self.arguments)
    }
}

/// Memory of the device, and its host copy if the host reads it.
#[derive(Debug)]
struct Buffer {
    device: DeviceBuffer,
    host: Option<HostBuffer>,
}

/// The device's objects, in the order in which they must be dropped.
#[derive(Debug)]
struct Queue {
    buffers: Vec<Buffer>,
    /// The index of the buffer to copy next.
    fetched: usize,
    /// The graphs by number.
    graphs: HashMap<u64, ExecutableGraph>,
    waiter: Option<Waiter>,
    stream: Stream,
    context: Context,
}

impl Queue {
    /// Captures and uploads the graph with this number.
    fn capture(&mut self, number: u64, queue: impl FnOnce(&Stream) -> Called) -> Called {
        let captured = self.stream.capture(queue)?;
        self.stream.upload(&captured)?;
        self.graphs.insert(number, captured);
        Ok(())
    }

    fn replay(&self, number: u64) -> Called {
        self.graphs.get(&number).map_or(Ok(()), |graph| self.stream.replay(graph))
    }
}

impl DeviceQueue for Queue {
    fn make_current(&self) -> Result<(), CudaError> {
        self.context.make_current()
    }

    fn fetch(&mut self, words: usize) -> Result<(), CudaError> {
        match self.buffers.get_mut(self.fetched) {
            Some(Buffer { device, host: Some(host) }) => {
                self.stream.copy_to_host(device, host, words * size_of::<u64>())
            }
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> Result<bool, CudaError> {
        self.stream.is_done()
    }

    fn set_abort(&mut self, _stop: bool) {}
}

/// Whether a kernel was left running.
static OCCUPIED: AtomicBool = AtomicBool::new(false);

/// Whether a kernel of this process does not end. Until the process ends, nothing of the driver can be freed then.
pub(crate) fn is_occupied() -> bool {
    OCCUPIED.load(Ordering::Relaxed)
}

/// A device with its own context and stream; see the module documentation.
#[derive(Debug)]
pub struct OwnDevice {
    /// Always has exactly one device.
    runner: Runner<Queue>,
}

impl OwnDevice {
    /// A device in a newly made context.
    pub(crate) fn in_context(context: Context) -> Result<Self, CudaError> {
        let stream = Stream::new(&context)?;
        let (buffers, graphs) = (Vec::new(), HashMap::new());
        let mut runner = Runner::new(vec![Queue { buffers, fetched: 0, graphs, waiter: None, stream, context }]);
        runner.eager = EAGER;
        Ok(Self { runner })
    }

    /// Loads the user's code; its launches give each block `shared_bytes` of shared memory.
    pub(crate) fn load_own(&mut self, image: &[u8], shared_bytes: u32) -> Result<Loaded, Outage> {
        self.on(|queue| Module::load_own(&queue.context, image, shared_bytes).map(Loaded))
    }

    /// Loads machine code.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn load(&mut self, cubin: &[u8]) -> Result<Loaded, Outage> {
        self.on(|queue| Module::load(&queue.context, cubin, 0).map(Loaded))
    }

    /// Allocates this many bytes, all zero.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn memory(&mut self, bytes: usize) -> Result<Memory, Outage> {
        self.add(bytes, None)
    }

    /// Allocates this many words, all zero, which the host can read.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn results(&mut self, words: usize) -> Result<Memory, Outage> {
        let host = self.on(|queue| HostBuffer::new(&queue.context, words))?;
        self.add(words * size_of::<u64>(), Some(host))
    }

    fn add(&mut self, bytes: usize, host: Option<HostBuffer>) -> Result<Memory, Outage> {
        let memory = self.on(|queue| {
            let device = DeviceBuffer::new(&queue.context, bytes)?;
            let memory = Memory { index: queue.buffers.len(), address: device.pointer() };
            queue.buffers.push(Buffer { device, host });
            Ok(memory)
        })?;
        self.clear(memory)?;
        Ok(memory)
    }

    /// Queues the clearing of memory.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn clear(&mut self, memory: Memory) -> Result<(), Outage> {
        self.on(|Queue { buffers, stream, .. }| match buffers.get(memory.index) {
            Some(Buffer { device, .. }) => stream.clear(device, 0..device.bytes()),
            None => Ok(()),
        })
    }

    /// Queues a kernel.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn launch(&mut self, launch: &Launch) -> Result<(), Outage> {
        self.on(|queue| launch.queue(&queue.stream))
    }

    /// Makes a graph of these launches for [`Self::replay`]; it replaces the previous one.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn capture(&mut self, launches: &[Launch]) -> Result<(), Outage> {
        self.on(|queue| queue.capture(0, |stream| launches.iter().try_for_each(|one| one.queue(stream))))
    }

    /// Queues `count` launches of a user's kernel as a graph, which is made the first time.
    pub(crate) fn launch_own(
        &mut self,
        count: u64,
        kernel: Kernel,
        shape: [[u32; 3]; 2],
        arguments: &[Vec<u64>],
    ) -> Result<(), Outage> {
        self.on(|queue| {
            if !queue.graphs.contains_key(&count) {
                queue.capture(count, |stream| {
                    (0..count).try_for_each(|_| stream.launch_own(kernel.0, shape, arguments))
                })?;
            }
            queue.replay(count)
        })
    }

    /// Calls `launch`, which queues work in the stream, and lets the host wait in this way after each call; `None`: not at all.
    pub(crate) fn call_own(
        &mut self,
        calls: u64,
        launch: impl Fn(&Stream) -> Called,
        wait: Option<HostWait>,
    ) -> Result<(), Outage> {
        self.on(|Queue { stream, context, waiter, .. }| {
            let waiter = match (&mut *waiter, wait) {
                (None, Some(wait)) => Some(&*waiter.insert(Waiter::new(context, wait)?)),
                (waiter, _) => waiter.as_ref(),
            };
            (0..calls).try_for_each(|_| {
                launch(stream)?;
                waiter.zip(wait).map_or(Ok(()), |(waiter, wait)| waiter.wait(wait, stream))
            })
        })
    }

    /// Configures how the driver waits in the context, if this way to wait depends on it.
    pub(crate) fn wait_by(&mut self, wait: Option<HostWait>) -> Result<(), Outage> {
        let Some(HostWait::Stream(waits)) = wait else { return Ok(()) };
        self.on(|queue| queue.context.wait_by(Some(waits)))
    }

    /// Queues the captured graph.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn replay(&mut self) -> Result<(), Outage> {
        self.on(|queue| queue.replay(0))
    }

    /// Waits by polling until everything queued is done, but no longer than `limit`.
    ///
    /// # Errors
    /// The error of a kernel, or [`Outage::TimedOut`]. After that the device can only be dropped.
    pub fn wait(&mut self, limit: Duration) -> Result<(), Outage> {
        self.runner.set_limit(Some(limit));
        self.runner.wait(1)
    }

    /// Returns the first words of results, after everything queued before.
    ///
    /// # Errors
    /// The errors of [`Self::wait`].
    pub fn fetch(&mut self, memory: Memory, words: usize, limit: Duration) -> Result<&[u64], Outage> {
        self.on(|queue| {
            queue.fetched = memory.index;
            queue.fetch(words)
        })?;
        self.wait(limit)?;
        let buffer = self.runner.devices[0].buffers.get(memory.index).and_then(|buffer| buffer.host.as_ref());
        let values = buffer.map_or(&[][..], HostBuffer::values);
        Ok(&values[..words.min(values.len())])
    }

    /// Makes calls on the device; an error makes its context unusable.
    fn on<T>(&mut self, call: impl FnOnce(&mut Queue) -> Result<T, CudaError>) -> Result<T, Outage> {
        let made = call(&mut self.runner.devices[0]);
        self.runner.launched(made)
    }
}

impl Drop for OwnDevice {
    fn drop(&mut self) {
        if self.runner.health == Health::Occupied {
            OCCUPIED.store(true, Ordering::Relaxed);
        }
    }
}

/// The length of a cycle in ns, from a span of the global timer and of the clock; `None` if the timer did not advance.
pub fn ns_per_cycle(nanoseconds: u64, cycles: u64) -> Option<f64> {
    samples::ns_per_cycle(Rate { nanoseconds, cycles })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_cpp_has_them() {
        let arguments = Arguments::default().wide(7).word(1).word(2).word(3).wide(9);
        assert_eq!(arguments, Arguments { words: vec![7, 1 | 2 << 32, 3, 9], bytes: 32 });
        assert_eq!(KernelArguments::bytes(&Arguments::default().wide(7).word(1)), 12);
        assert_eq!(Arguments::default(), Arguments { words: Vec::new(), bytes: 0 }, "a kernel without arguments");
    }
}
