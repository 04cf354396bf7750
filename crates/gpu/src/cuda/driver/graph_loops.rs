//! Graphs that run again and again without the host: a conditional node, and a graph that the device launches.

use std::ptr;

use cudarc::driver::sys;

use super::call::checked;
use super::graph::{CapturedGraph, ExecutableGraph};
use super::library;
use super::stream::Stream;
use crate::cuda::error::CudaError;

/// What CUDA 12.3 added.
const CONDITIONAL_NODES: [&str; 3] =
    ["cuGraphConditionalHandleCreate", "cuGraphAddNode_v2", "cuStreamBeginCaptureToGraph"];

/// Whether the loaded driver has conditional nodes.
pub(crate) fn has_conditional_nodes() -> bool {
    library::has(&CONDITIONAL_NODES)
}

impl Stream {
    /// Makes a graph of what `queue` queues, which runs once, and then again as long as a kernel sets the condition, whose
    /// handle `queue` gets. The driver must have conditional nodes.
    pub(crate) fn capture_loop(
        &self,
        queue: impl FnOnce(&Self, u64) -> Result<(), CudaError>,
    ) -> Result<ExecutableGraph, CudaError> {
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        checked("cuGraphCreate", unsafe { sys::cuGraphCreate(&raw mut graph, 0) })?;
        let graph = CapturedGraph(graph);
        let (handle, body) = add_loop(&graph)?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: stream and body are alive, without dependencies there is nothing to read, and nothing captures the stream
        // yet: the call below ends what this one begins.
        checked("cuStreamBeginCaptureToGraph", unsafe {
            sys::cuStreamBeginCaptureToGraph(self.0, body, ptr::null(), ptr::null(), 0, mode)
        })?;
        let queued = queue(self, handle);
        let mut captured = ptr::null_mut();
        // SAFETY: the pointer is valid for the call; the stream is being captured by this thread. What it gives is the body,
        // which belongs to its node.
        let ended = checked("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.0, &raw mut captured) });
        queued?;
        ended?;
        graph.executable()
    }

    /// Makes a graph of what `queue` queues, which its kernels may launch.
    pub(crate) fn capture_for_device(
        &self,
        queue: impl FnOnce(&Self) -> Result<(), CudaError>,
    ) -> Result<ExecutableGraph, CudaError> {
        let flag = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
        self.captured(queue)?.executable_with(u64::from(flag.0))
    }
}

/// Adds a node that runs its body while its condition is set, which it is at the beginning of every replay. Gives the handle
/// of the condition and the body.
fn add_loop(graph: &CapturedGraph) -> Result<(u64, sys::CUgraph), CudaError> {
    let mut context = ptr::null_mut();
    // SAFETY: the pointer is valid for the call.
    checked("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&raw mut context) })?;
    let mut handle = 0;
    // SAFETY: the pointer is valid for the call; graph and context are alive.
    checked("cuGraphConditionalHandleCreate", unsafe {
        let assigned = sys::CU_GRAPH_COND_ASSIGN_DEFAULT;
        sys::cuGraphConditionalHandleCreate(&raw mut handle, graph.0, context, 1, assigned)
    })?;
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
    let mut node = ptr::null_mut();
    // SAFETY: the pointers are valid for the call, the graph is alive, and there are no dependencies to read.
    checked("cuGraphAddNode", unsafe {
        sys::cuGraphAddNode_v2(&raw mut node, graph.0, ptr::null(), ptr::null(), 0, &raw mut parameters)
    })?;
    // SAFETY: the call has filled in this variant: an array of `size` graphs, which the node owns.
    let body = unsafe { *parameters.__bindgen_anon_1.conditional.phGraph_out };
    Ok((handle, body))
}
