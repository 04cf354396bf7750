//! Graphs, events, and waits in the driver.

use std::ptr;

use cudarc::driver::sys;

use super::call::checked;
use super::context::Context;
use super::stream::Stream;
use crate::cuda::error::CudaError;

impl Stream {
    /// Waits in the driver until everything queued is done. Only for kernels that are known to end.
    pub(crate) fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is alive.
        checked("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.0) })
    }

    /// Makes a graph of what `queue` queues, instead of running it.
    pub(crate) fn capture(
        &self,
        queue: impl FnOnce(&Self) -> Result<(), CudaError>,
    ) -> Result<ExecutableGraph, CudaError> {
        self.captured(queue)?.executable()
    }

    /// What `queue` queues.
    pub(super) fn captured(
        &self,
        queue: impl FnOnce(&Self) -> Result<(), CudaError>,
    ) -> Result<CapturedGraph, CudaError> {
        self.begin_capture()?;
        let queued = queue(self);
        let captured = self.end_capture();
        // A failed launch makes the capture fail too, and its error explains more.
        queued?;
        captured
    }

    /// From here on, what this thread queues is captured instead of run. [`Self::end_capture`] has to follow.
    pub(crate) fn begin_capture(&self) -> Result<(), CudaError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; the driver refuses one that is being captured.
        checked("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(self.0, mode) })
    }

    /// What was captured.
    pub(crate) fn end_capture(&self) -> Result<CapturedGraph, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is valid for the call; the driver refuses a stream that is not being captured by this thread.
        let ended = unsafe { sys::cuStreamEndCapture(self.0, &raw mut graph) };
        checked("cuStreamEndCapture", ended).map(|()| CapturedGraph(graph))
    }

    /// Uploads a graph to the device, so that its first replay costs the same as the others.
    pub(crate) fn upload(&self, graph: &ExecutableGraph) -> Result<(), CudaError> {
        // SAFETY: stream and graph are alive.
        checked("cuGraphUpload", unsafe { sys::cuGraphUpload(graph.0, self.0) })
    }

    /// Queues a replay of a graph.
    pub(crate) fn replay(&self, graph: &ExecutableGraph) -> Result<(), CudaError> {
        // SAFETY: stream and graph are alive.
        checked("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.0, self.0) })
    }

    /// Queues an event after everything queued so far.
    pub(crate) fn record(&self, event: &Event) -> Result<(), CudaError> {
        // SAFETY: stream and event are alive and of one context.
        checked("cuEventRecord", unsafe { sys::cuEventRecord(event.0, self.0) })
    }
}

/// Captured or constructed work, of which an executable graph is made.
#[derive(Debug)]
pub(crate) struct CapturedGraph(pub(super) sys::CUgraph);

impl CapturedGraph {
    /// The driver refuses this (`CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`) as long as the calling thread captures a stream.
    pub(crate) fn executable(&self) -> Result<ExecutableGraph, CudaError> {
        self.executable_with(0)
    }

    /// The same with flags of the driver's.
    pub(super) fn executable_with(&self, flags: u64) -> Result<ExecutableGraph, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is valid for the call, and the captured graph is alive.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut graph, self.0, flags) };
        checked("cuGraphInstantiateWithFlags", made).map(|()| ExecutableGraph(graph))
    }
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        // SAFETY: the graph is ours; what was made of it does not refer to it.
        let _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

/// Captured work that is replayed as a whole.
#[derive(Debug)]
pub(crate) struct ExecutableGraph(sys::CUgraphExec);

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: the graph is ours; the driver keeps what still runs until it is done.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

/// A point in a stream that the host can wait for. It takes no time stamp, and a thread that waits for it does not sleep.
#[derive(Debug)]
pub(crate) struct Event(pub(super) sys::CUevent);

impl Event {
    pub(crate) fn new(_context: &Context) -> Result<Self, CudaError> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the pointer is valid for the call.
        checked("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut event, flags) })?;
        Ok(Self(event))
    }

    /// Waits in the driver until the event is reached. Only for kernels that are known to end.
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
