//! Graphs, including those that run again without the host (a conditional node, a graph that the device launches); events, and
//! waits in the driver.

use std::ptr;

use cudarc::driver::sys;

use crate::cuda::driver::device::Context;
use crate::cuda::driver::library::{self, checked, written};
use crate::cuda::driver::stream::Stream;
use crate::cuda::error::Called;

impl Stream {
    /// Waits in the driver until everything queued is done. Only for kernels known to end.
    pub(crate) fn synchronize(&self) -> Called {
        // SAFETY: the stream is alive.
        checked("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.0) })
    }

    /// Makes a graph of the work that `queue` queues, instead of running it.
    pub(crate) fn capture(&self, queue: impl FnOnce(&Self) -> Called) -> Called<ExecutableGraph> {
        self.captured(queue)?.executable()
    }

    /// Makes a graph of the work that `queue` queues. The graph runs it once, and again as long as a kernel sets the condition,
    /// whose handle `queue` gets. The driver must have conditional nodes.
    pub(crate) fn capture_loop(&self, queue: impl FnOnce(&Self, u64) -> Called) -> Called<ExecutableGraph> {
        // SAFETY: the pointer is valid for the call.
        let graph = CapturedGraph(written("cuGraphCreate", |graph| unsafe { sys::cuGraphCreate(graph, 0) })?);
        let (handle, body) = add_loop(&graph)?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: stream and body are alive, without dependencies there is nothing to read, and nothing captures the stream
        // yet: the call below ends what this one begins.
        checked("cuStreamBeginCaptureToGraph", unsafe {
            sys::cuStreamBeginCaptureToGraph(self.0, body, ptr::null(), ptr::null(), 0, mode)
        })?;
        let queued = queue(self, handle);
        // SAFETY: the pointer is valid for the call; the stream is being captured by this thread. What it gives is the body,
        // which belongs to its node.
        let ended = written("cuStreamEndCapture", |body| unsafe { sys::cuStreamEndCapture(self.0, body) });
        queued?;
        ended?;
        graph.executable()
    }

    /// Makes a graph of the work that `queue` queues, which kernels of the graph may launch.
    pub(crate) fn capture_for_device(&self, queue: impl FnOnce(&Self) -> Called) -> Called<ExecutableGraph> {
        let flag = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
        self.captured(queue)?.executable_with(u64::from(flag.0))
    }

    /// Captures the work that `queue` queues.
    pub(super) fn captured(&self, queue: impl FnOnce(&Self) -> Called) -> Called<CapturedGraph> {
        self.begin_capture()?;
        let queued = queue(self);
        let captured = self.end_capture();
        // A failed launch makes the capture fail too, but the launch's error explains more.
        queued?;
        captured
    }

    /// Starts capturing what this thread queues, instead of running it. [`Self::end_capture`] has to follow.
    pub(crate) fn begin_capture(&self) -> Called {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; the driver refuses one that is being captured.
        checked("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(self.0, mode) })
    }

    /// Ends the capture and returns the captured work.
    pub(crate) fn end_capture(&self) -> Called<CapturedGraph> {
        // SAFETY: the pointer is valid for the call; the driver refuses a stream that is not being captured by this thread.
        written("cuStreamEndCapture", |graph| unsafe { sys::cuStreamEndCapture(self.0, graph) }).map(CapturedGraph)
    }

    /// Uploads a graph to the device, so that its first replay costs the same as the others.
    pub(crate) fn upload(&self, graph: &ExecutableGraph) -> Called {
        // SAFETY: stream and graph are alive.
        checked("cuGraphUpload", unsafe { sys::cuGraphUpload(graph.0, self.0) })
    }

    /// Queues a replay of a graph.
    pub(crate) fn replay(&self, graph: &ExecutableGraph) -> Called {
        // SAFETY: stream and graph are alive.
        checked("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.0, self.0) })
    }

    /// Queues an event after everything queued so far.
    pub(crate) fn record(&self, event: &Event) -> Called {
        // SAFETY: stream and event are alive and of one context.
        checked("cuEventRecord", unsafe { sys::cuEventRecord(event.0, self.0) })
    }

    /// Makes later work wait until the event's last recording is reached.
    pub(crate) fn wait_for(&self, event: &Event) -> Called {
        // SAFETY: stream and event are alive; they may be of different contexts.
        checked("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.0, event.0, 0) })
    }
}

/// Captured or constructed work, from which an executable graph is made.
#[derive(Debug)]
pub(crate) struct CapturedGraph(pub(super) sys::CUgraph);

impl CapturedGraph {
    /// Makes an executable graph. The driver refuses this (`CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`) while the calling thread
    /// captures a stream.
    pub(crate) fn executable(&self) -> Called<ExecutableGraph> {
        self.executable_with(0)
    }

    /// Makes an executable graph with the driver's flags.
    pub(super) fn executable_with(&self, flags: u64) -> Called<ExecutableGraph> {
        // SAFETY: the pointer is valid for the call, and the captured graph is alive.
        let make = |graph| unsafe { sys::cuGraphInstantiateWithFlags(graph, self.0, flags) };
        written("cuGraphInstantiateWithFlags", make).map(ExecutableGraph)
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

/// A point in a stream that the host can wait for. It takes no time stamp, and a waiting thread does not sleep.
#[derive(Debug)]
pub(crate) struct Event(pub(super) sys::CUevent);

impl Event {
    pub(crate) fn new(context: &Context) -> Called<Self> {
        Self::with(context, 0)
    }

    /// Makes an event whose waiting thread sleeps.
    pub(crate) fn blocking(context: &Context) -> Called<Self> {
        Self::with(context, sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32)
    }

    fn with(_context: &Context, flags: u32) -> Called<Self> {
        let flags = flags | sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the pointer is valid for the call.
        written("cuEventCreate", |event| unsafe { sys::cuEventCreate(event, flags) }).map(Self)
    }

    /// Whether the event is reached.
    pub(crate) fn is_reached(&self) -> Called<bool> {
        // SAFETY: the event is alive.
        match unsafe { sys::cuEventQuery(self.0) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => checked("cuEventQuery", result).map(|()| true),
        }
    }

    /// Waits in the driver until the event is reached. Only for kernels known to end.
    pub(crate) fn synchronize(&self) -> Called {
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

/// The functions that CUDA 12.3 added.
const CONDITIONAL_NODES: [&str; 3] =
    ["cuGraphConditionalHandleCreate", "cuGraphAddNode_v2", "cuStreamBeginCaptureToGraph"];

/// Whether the loaded driver has conditional nodes.
pub(crate) fn has_conditional_nodes() -> bool {
    library::has(&CONDITIONAL_NODES)
}

/// Adds a node that runs its body while its condition is set; every replay begins with the condition set. Returns the
/// condition's handle and the body.
fn add_loop(graph: &CapturedGraph) -> Called<(u64, sys::CUgraph)> {
    // SAFETY: the pointer is valid for the call.
    let context = written("cuCtxGetCurrent", |context| unsafe { sys::cuCtxGetCurrent(context) })?;
    let assigned = sys::CU_GRAPH_COND_ASSIGN_DEFAULT;
    // SAFETY: the pointer is valid for the call; graph and context are alive.
    let create = |handle| unsafe { sys::cuGraphConditionalHandleCreate(handle, graph.0, context, 1, assigned) };
    let handle = written("cuGraphConditionalHandleCreate", create)?;
    // SAFETY: numbers and pointers, of which any bits, and null, are values; `type_` is set below, 0 is a kernel node.
    let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
    parameters.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
        handle,
        type_: sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
        size: 1,
        phGraph_out: ptr::null_mut(),
        ctx: context,
    };
    // SAFETY: the pointers are valid for the call, the graph is alive, and there are no dependencies to read.
    let add = |node| unsafe { sys::cuGraphAddNode_v2(node, graph.0, ptr::null(), ptr::null(), 0, &raw mut parameters) };
    written("cuGraphAddNode", add)?;
    // SAFETY: the call has filled in this variant: an array of `size` graphs, which the node owns.
    let body = unsafe { *parameters.__bindgen_anon_1.conditional.phGraph_out };
    Ok((handle, body))
}
