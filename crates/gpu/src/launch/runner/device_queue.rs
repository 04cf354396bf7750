//! What the runner asks of a device: the few calls of the driver that launch, query and abort.

use crate::cuda::error::CudaError;

/// A context on one device, with one stream, a buffer of results and an abort flag.
///
/// Every method but [`Self::make_current`] and [`Self::set_abort`] needs the context to be current on the calling thread;
/// so do the methods of the traits below.
pub(crate) trait DeviceQueue {
    /// Makes the context current on the calling thread.
    fn make_current(&self) -> Result<(), CudaError>;

    /// Queues the copy of the first words of the results to the host.
    fn fetch(&mut self, words: usize) -> Result<(), CudaError>;

    /// Whether everything queued is done. The errors of kernels appear here.
    fn is_done(&self) -> Result<bool, CudaError>;

    /// Sets or clears the flag that ends the waits inside kernels.
    fn set_abort(&mut self, stop: bool);
}

/// A device that takes launches of the type `L`.
pub(crate) trait Launches<L>: DeviceQueue {
    /// Queues what sets the order of the blocks of a launch.
    fn order_blocks(&self, launch: &L) -> Result<(), CudaError>;

    /// Queues the kernel of a launch.
    fn launch(&self, launch: &L) -> Result<(), CudaError>;
}

/// Devices on which one call queues the kernels of all.
pub(crate) trait LaunchesTogether<L>: Launches<L> + Sized {
    /// Queues one kernel on each of the devices.
    fn launch_together(devices: &[Self], launches: &[L]) -> Result<(), CudaError>;
}
