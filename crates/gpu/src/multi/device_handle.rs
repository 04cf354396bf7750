//! One device for one host thread: what the thread launches there and waits for.

use crate::cuda::driver::{Context, Function, Stream};
use crate::cuda::error::CudaError;
use crate::launch::arguments::HostBarrierArguments;
use crate::launch::request::Shape;

/// One device, as one host thread uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceHandle<'a> {
    pub(super) context: &'a Context,
    pub(super) stream: &'a Stream,
    pub(super) function: Function,
    pub(super) shape: Shape,
}

impl DeviceHandle<'_> {
    /// Makes the context current. The thread calls this first.
    pub(crate) fn take(&self) -> Result<(), CudaError> {
        self.context.make_current()
    }

    pub(crate) fn launch(&self, arguments: HostBarrierArguments) -> Result<(), CudaError> {
        self.stream.launch(self.function, self.shape.blocks, self.shape.threads, &arguments)
    }

    pub(crate) fn is_done(&self) -> Result<bool, CudaError> {
        self.stream.is_done()
    }
}
