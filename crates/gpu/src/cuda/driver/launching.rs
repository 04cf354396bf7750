//! Other ways to launch kernels and to wait for them than one by one and by asking.

use std::ptr;

use cudarc::driver::sys;

use super::{Context, Stream, checked};
use crate::cuda::error::CudaError;

/// Functions this file calls. All have been in the driver since CUDA 3.2 to 11.4.
pub(super) const FUNCTIONS: [&str; 13] = [
    "cuLaunchCooperativeKernel",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventDestroy_v2",
];

impl Stream {
    /// Waits in the driver until everything queued is done. Only for kernels that are known to end.
    pub(crate) fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is alive.
        checked("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.0) })
    }

    /// Makes a graph of what `queue` queues here, instead of running it.
    pub(crate) fn capture(
        &self,
        queue: impl FnOnce(&Self) -> Result<(), CudaError>,
    ) -> Result<ExecutableGraph, CudaError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive, and nothing captures it yet: the call below ends what this one begins.
        checked("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(self.0, mode) })?;
        let queued = queue(self);
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is valid for the call; the stream is being captured by this thread.
        let ended =
            checked("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.0, &raw mut graph) }).map(|()| graph);
        // A launch that failed spoils the capture too, and says more.
        queued?;
        ExecutableGraph::new(ended?)
    }

    /// Uploads a graph to the device, so that its first replay is like the others.
    pub(crate) fn upload(&self, graph: &ExecutableGraph) -> Result<(), CudaError> {
        // SAFETY: stream and graph are alive.
        checked("cuGraphUpload", unsafe { sys::cuGraphUpload(graph.0, self.0) })
    }

    /// Queues a replay of a graph.
    pub(crate) fn replay(&self, graph: &ExecutableGraph) -> Result<(), CudaError> {
        // SAFETY: stream and graph are alive.
        checked("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.0, self.0) })
    }

    /// Queues a mark behind what is queued so far.
    pub(crate) fn record(&self, event: &Event) -> Result<(), CudaError> {
        // SAFETY: stream and event are alive and of one context.
        checked("cuEventRecord", unsafe { sys::cuEventRecord(event.0, self.0) })
    }
}

/// Work that was captured once, to be replayed as a whole.
#[derive(Debug)]
pub(crate) struct ExecutableGraph(sys::CUgraphExec);

impl ExecutableGraph {
    /// Takes the template, which is not needed any more then.
    fn new(template: sys::CUgraph) -> Result<Self, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is valid for the call, the template is alive.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut graph, template, 0) };
        // SAFETY: the template is ours; what was made of it does not refer to it.
        let _ = unsafe { sys::cuGraphDestroy(template) };
        checked("cuGraphInstantiateWithFlags", made)?;
        Ok(Self(graph))
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: the graph is ours; the driver keeps what still runs until it is done.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

/// A mark in a stream that can be waited for. It takes no time stamp, and who waits for it does not sleep.
#[derive(Debug)]
pub(crate) struct Event(sys::CUevent);

impl Event {
    pub(crate) fn new(_context: &Context) -> Result<Self, CudaError> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the pointer is valid for the call.
        checked("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut event, flags) })?;
        Ok(Self(event))
    }

    /// Waits in the driver until the mark is reached. Only for kernels that are known to end.
    pub(crate) fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the event is alive.
        checked("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is ours; the driver keeps it until it is reached.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}
