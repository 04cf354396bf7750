//! What the runner asks of a device: the few calls of the driver that launch, query and abort.

use crate::cuda::error::CudaError;

/// How grids are launched on several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchCall {
    /// One call for each device.
    PerDevice,
    /// One call for all.
    Together,
}

/// A context on one device, with one stream, a buffer of results and an abort flag.
///
/// Every method but [`Self::make_current`] and [`Self::set_abort`] needs the context to be current on the calling thread.
pub(crate) trait DeviceQueue: Sized {
    /// One launch on this device, with everything that it needs.
    type Launch;

    /// Makes the context current on the calling thread.
    fn make_current(&self) -> Result<(), CudaError>;

    /// Queues what sets the order of the blocks of a launch.
    fn order_blocks(&self, launch: &Self::Launch) -> Result<(), CudaError>;

    /// Queues the kernel of a launch.
    fn launch(&self, launch: &Self::Launch) -> Result<(), CudaError>;

    /// Queues one kernel on each of the devices by one call.
    fn launch_together(devices: &[Self], launches: &[Self::Launch]) -> Result<(), CudaError>;

    /// Queues the copy of the first words of the results to the host.
    fn fetch(&mut self, words: usize) -> Result<(), CudaError>;

    /// Whether everything queued is done. The errors of kernels appear here.
    fn is_done(&self) -> Result<bool, CudaError>;

    /// Sets or clears the flag that ends the waits inside kernels.
    fn set_abort(&mut self, stop: bool);
}
