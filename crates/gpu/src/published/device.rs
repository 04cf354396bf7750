//! One device for an experiment: a context of its own, a stream, and waits with a limit.

use std::time::{Duration, Instant};

use crate::GpuLaboratory;

use crate::cuda::driver::{Context, Device, DeviceBuffer, HostBuffer, Stream};
use crate::cuda::error::{CudaError, GpuError};
use crate::launch::outage::Outage;

/// The host polls without a pause for this time, because it may be timing the kernel.
const EAGER: Duration = Duration::from_millis(50);

/// The pause between two polls after that.
const PAUSE: Duration = Duration::from_micros(50);

/// See the module's description. It is left open, with all that was made in it, if a kernel still occupies the device: to
/// destroy its context would wait for the kernel without a limit. Whoever owns buffers of it must declare them before it, and
/// leak them too if [`Self::is_occupied`].
#[derive(Debug)]
pub(crate) struct ExperimentDevice {
    is_occupied: bool,
    /// Always there; taken only when this is dropped. The stream stands before the context in which it was made.
    opened: Option<(Stream, Context)>,
}

impl GpuLaboratory {
    /// The first opened device with a new context, which is current on the calling thread.
    pub(crate) fn experiment_device(&self) -> Result<ExperimentDevice, GpuError> {
        Ok(ExperimentDevice::on(self.first_device())?)
    }
}

impl ExperimentDevice {
    /// A device with a new context, which is current on the calling thread.
    pub(crate) fn on(device: Device) -> Result<Self, CudaError> {
        let context = Context::new(device)?;
        let stream = Stream::new(&context)?;
        Ok(Self { is_occupied: false, opened: Some((stream, context)) })
    }

    /// Its context, for buffers and modules.
    pub(crate) fn context(&self) -> Result<&Context, CudaError> {
        self.opened.as_ref().map(|(_, context)| context).ok_or_else(closed)
    }

    /// Its queue of work.
    pub(crate) fn stream(&self) -> Result<&Stream, CudaError> {
        self.opened.as_ref().map(|(stream, _)| stream).ok_or_else(closed)
    }

    /// Whether a kernel did not end within its limit.
    pub(crate) const fn is_occupied(&self) -> bool {
        self.is_occupied
    }

    /// Waits by polling until everything queued is done, but no longer than `limit`.
    ///
    /// # Errors
    /// The error of a kernel, or [`Outage::TimedOut`]. After that the device can only be dropped.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<(), Outage> {
        let started = Instant::now();
        while !self.stream()?.is_done()? {
            let waited = started.elapsed();
            if waited > limit {
                self.is_occupied = true;
                return Err(Outage::TimedOut(limit));
            }
            if waited > EAGER {
                std::thread::sleep(PAUSE);
            } else {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    /// Copies the first words of a buffer to the host, after everything queued before.
    pub(crate) fn fetch(
        &mut self,
        from: &DeviceBuffer,
        to: &mut HostBuffer<u64>,
        words: usize,
        limit: Duration,
    ) -> Result<(), Outage> {
        self.stream()?.copy_to_host(from, to, words * size_of::<u64>())?;
        self.wait(limit)
    }
}

/// Cannot happen while the device lives.
fn closed() -> CudaError {
    CudaError { call: "cuCtxSetCurrent", code: 0, name: String::new(), text: "the context is gone".to_owned() }
}

impl Drop for ExperimentDevice {
    fn drop(&mut self) {
        if self.is_occupied {
            std::mem::forget(self.opened.take());
        }
    }
}
