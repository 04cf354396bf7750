//! The devices of a case, each with a communicator, a stream and a value.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use crate::cuda::driver::{CapturedGraph, Context, Device, DeviceBuffer, ExecutableGraph, HostBuffer, Stream};
use crate::cuda::error::Called;
use crate::cuda::nccl::{Communicator, Nccl, Window};
use crate::launch::runner::{HostClock, Outage, poll};
use crate::nccl::Launching;

/// Time limit for a chain, which takes milliseconds; after this time the devices do not answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Sums in a graph that is replayed repeatedly.
pub(crate) const SUMS_OF_GRAPH: u64 = 20;

/// The number of sums in a graph and of its replays, for a chain of `count` sums.
const fn replays(count: u64) -> (u64, u64) {
    if count.is_multiple_of(SUMS_OF_GRAPH) { (SUMS_OF_GRAPH, count / SUMS_OF_GRAPH) } else { (count, 1) }
}

/// One device. The context is dropped last.
#[derive(Debug)]
struct Member {
    communicator: Option<Communicator>,
    stream: Stream,
    own: DeviceBuffer,
    sum: DeviceBuffer,
    found: HostBuffer,
    /// The memory of the values, if the library reads and writes them in place.
    windows: Vec<Window>,
    context: Context,
}

/// Bytes of a window: the granularity of the memory behind it.
const WINDOW: usize = 2 << 20;

impl Member {
    fn new(nccl: &Nccl, device: Device, communicator: Communicator, has_windows: bool) -> Called<Self> {
        let context = Context::primary(device)?;
        let windows = if has_windows { vec![nccl.memory(WINDOW)?, nccl.memory(WINDOW)?] } else { Vec::new() };
        let value = |at: usize| match windows.get(at) {
            Some(window) => Ok(DeviceBuffer::borrowed(window.pointer(), size_of::<u64>())),
            None => DeviceBuffer::new(&context, size_of::<u64>()),
        };
        let (own, sum, found) = (value(0)?, value(1)?, HostBuffer::new(&context, 1)?);
        let stream = Stream::new(&context)?;
        stream.clear(&own, 0..own.bytes())?;
        stream.synchronize()?;
        Ok(Self { communicator: Some(communicator), stream, own, sum, found, windows, context })
    }
}

/// The devices of a case, opened once.
#[derive(Debug)]
pub(crate) struct NcclGroup {
    nccl: Rc<Nccl>,
    members: Vec<Member>,
    /// The graphs of all devices, by the number of sums in each.
    graphs: HashMap<u64, Vec<ExecutableGraph>>,
    pub(crate) is_hung: bool,
    /// Whether a capture failed, after which it is unknown what the communicators wait for.
    is_broken: bool,
}

impl NcclGroup {
    /// Opens the devices with these numbers, in this order, with their values in windows or in memory that the library copies.
    pub(crate) fn open(nccl: &Rc<Nccl>, devices: &[(u32, Device)], has_windows: bool) -> Result<Self, Outage> {
        let numbers: Vec<u32> = devices.iter().map(|(number, _)| *number).collect();
        let communicators = nccl.group(&numbers)?;
        let with = |((_, device), communicator): (&(u32, Device), Communicator)| {
            Member::new(nccl, *device, communicator, has_windows)
        };
        let members: Called<Vec<Member>> = devices.iter().zip(communicators).map(with).collect();
        let (graphs, nccl) = (HashMap::new(), Rc::clone(nccl));
        let mut opened = Self { nccl, members: members?, graphs, is_hung: false, is_broken: false };
        (0..if has_windows { 2 } else { 0 }).try_for_each(|at| opened.register(at))?;
        Ok(opened)
    }

    /// Registers the window with this number on all devices.
    fn register(&mut self, at: usize) -> Called {
        self.nccl.begin()?;
        for Member { communicator, windows, context, .. } in &mut self.members {
            context.make_current()?;
            if let (Some(communicator), Some(window)) = (communicator, windows.get_mut(at)) {
                // SAFETY: the window has these bytes, in the context that is current.
                unsafe { self.nccl.register(window, WINDOW, communicator)? };
            }
        }
        self.nccl.end()
    }

    /// The version of the library.
    pub(crate) fn version(&self) -> String {
        self.nccl.version()
    }

    /// Makes the graphs for chains of this many sums, and runs them once.
    pub(crate) fn prepare(&mut self, launching: Launching, count: u64) -> Result<(), Outage> {
        let (sums, _) = replays(count);
        if launching == Launching::Eager || self.graphs.contains_key(&sums) {
            return Ok(());
        }
        // Set until the graphs exist: nothing is called for a group whose capture failed, not even its end.
        self.is_broken = true;
        let graphs = self.capture(sums)?;
        self.is_broken = false;
        for (member, graph) in self.members.iter().zip(&graphs) {
            member.context.make_current()?;
            member.stream.upload(graph)?;
        }
        self.graphs.insert(sums, graphs);
        self.launch(launching, count)?;
        self.wait()
    }

    /// Captures graphs of `count` sums. All streams are captured at the same time, because a sum is queued on all of them at
    /// once. The graphs are made after all captures have ended: the driver refuses to make one while this thread captures
    /// another stream.
    fn capture(&self, count: u64) -> Result<Vec<ExecutableGraph>, Outage> {
        let begun = self.of_each(|member| member.stream.begin_capture());
        let queued = begun.map_err(Outage::from).and_then(|_| self.queue(count));
        let captured = self.of_each(|member| member.stream.end_capture());
        // A failed call makes the captures fail too, but the call's error explains more.
        queued?;
        let graphs: Called<Vec<ExecutableGraph>> = captured?.iter().map(CapturedGraph::executable).collect();
        Ok(graphs?)
    }

    /// Does the same for each device in its context: for all of them, even if it fails for one.
    fn of_each<T>(&self, work: impl Fn(&Member) -> Called<T>) -> Called<Vec<T>> {
        let of = |member: &Member| member.context.make_current().and_then(|()| work(member));
        self.members.iter().map(of).collect::<Vec<_>>().into_iter().collect()
    }

    /// Queues sums one after the other on all devices.
    fn queue(&self, count: u64) -> Result<(), Outage> {
        for _ in 0..count {
            self.nccl.begin()?;
            for member in &self.members {
                let Some(communicator) = &member.communicator else { continue };
                // SAFETY: both values are memory of the device of this communicator, as long as the group.
                unsafe {
                    self.nccl.sum_floats(member.own.pointer(), member.sum.pointer(), communicator, &member.stream)?;
                }
            }
            self.nccl.end()?;
        }
        Ok(())
    }

    /// Launches a chain of this many sums, which [`Self::prepare`] has prepared.
    pub(crate) fn launch(&self, launching: Launching, count: u64) -> Result<(), Outage> {
        if launching == Launching::Eager {
            return self.queue(count);
        }
        let (sums, replays) = replays(count);
        let graphs = self.graphs.get(&sums).map(Vec::as_slice).unwrap_or_default();
        for _ in 0..replays {
            for (member, graph) in self.members.iter().zip(graphs) {
                member.context.make_current()?;
                member.stream.replay(graph)?;
            }
        }
        Ok(())
    }

    /// Waits by polling until all streams are done.
    pub(crate) fn wait(&mut self) -> Result<(), Outage> {
        let mut left = LIMIT;
        for member in &self.members {
            member.context.make_current()?;
            let Some(waited) = poll(&HostClock, left, left, || member.stream.is_done())? else {
                self.is_hung = true;
                return Err(Outage::TimedOut(LIMIT));
            };
            left = left.saturating_sub(waited);
        }
        Ok(())
    }

    /// One sum of these pairs of floats, one pair per device. Returns what each device got.
    pub(crate) fn sum_of(&mut self, launching: Launching, values: &[u64]) -> Result<Vec<u64>, Outage> {
        self.prepare(launching, 1)?;
        for (member, value) in self.members.iter().zip(values) {
            // SAFETY: the value is memory of this context with room for it, and the stream is done.
            unsafe { member.context.write(member.own.pointer(), value)? };
            member.stream.clear(&member.sum, 0..member.sum.bytes())?;
        }
        self.launch(launching, 1)?;
        for member in &mut self.members {
            member.context.make_current()?;
            member.stream.copy_to_host(&member.sum, &mut member.found, size_of::<u64>())?;
        }
        self.wait()?;
        Ok(self.members.iter().filter_map(|member| member.found.values().first().copied()).collect())
    }
}

impl Drop for NcclGroup {
    fn drop(&mut self) {
        if self.is_hung || self.is_broken {
            // Every call might wait for a sum that does not end.
            std::mem::forget(std::mem::take(&mut self.members));
            std::mem::forget(std::mem::take(&mut self.graphs));
            return;
        }
        self.graphs.clear();
        for mut member in self.members.drain(..) {
            // The member's buffers are freed in their own context; an error has no caller to go to.
            let _ = member.context.make_current();
            if let Some(communicator) = member.communicator.take() {
                member.windows.iter().for_each(|window| self.nccl.deregister(window, &communicator));
                self.nccl.destroy(communicator);
            }
            member.windows.drain(..).for_each(|window| self.nccl.free(window));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_replays_of_one_graph_or_a_graph_of_its_own() {
        assert_eq!([20, 100, 600].map(replays), [(20, 1), (20, 5), (20, 30)]);
        assert_eq!([1, 8, 25].map(replays), [(1, 1), (8, 1), (25, 1)]);
    }
}
