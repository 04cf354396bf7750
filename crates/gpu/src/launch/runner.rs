//! Runs launches on one or several devices, waits for them with a limit, and decides what can run afterwards.
//!
//! One device is a group of one, so the same code waits for both. The runner reaches a device through the trait [`DeviceQueue`]
//! and reads the time through the trait [`Clock`]. Tests replace both (`testing.rs`), so they need no GPU and no sleep.
//!
//! ```text
//!            launch, fetch            done within the limit
//! Usable ---------------------> wait -----------------------> Usable, results can be read
//!   ^      |                     |  |
//!   |      | a call fails        |  | a query reports the error of a kernel
//!   |      +-----> Poisoned <-------+
//!   |                            | the limit passes: the abort flag is raised on all devices
//!   |                            v
//!   +---- done within the grace period: timed out, and the context works
//!                                |
//!                                +--> not done: timed out, and the device is Occupied
//! ```
//!
//! A poisoned context is destroyed and replaced. The contexts of an occupied device are never destroyed, because that would
//! wait for a kernel that does not end: they are leaked until the process ends.

use crate::cuda::error::{Called, CudaError, GpuError};
use std::time::{Duration, Instant};
use syncscope_core::ExperimentError;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

/// Kernels are asked to stop when a batch takes longer than this. The longest correct batch, two samples of some hundred
/// million atomic additions to one variable, takes a second.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// How long a kernel may take to stop when asked.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long the runner polls without a pause, so that no time is lost between batches.
const EAGER: Duration = Duration::from_millis(2);

/// The pause between two queries after that.
const PAUSE: Duration = Duration::from_micros(50);

/// The contexts of one or several devices, and whether they can be used; see the module documentation.
///
/// Callers use the first `count` devices: [`Self::begin`], then [`Self::on_each`] as often as needed, then
/// [`Self::fetch`] and [`Self::wait`].
#[derive(Debug)]
pub(crate) struct Runner<D: DeviceQueue, C: Clock = HostClock> {
    pub(crate) health: Health,
    limit: Duration,
    /// How long it queries without a pause.
    pub(crate) eager: Duration,
    /// When the devices were last busy.
    last_use: Option<Instant>,
    clock: C,
    pub(crate) devices: Vec<D>,
}

impl<D: DeviceQueue> Runner<D> {
    pub(crate) fn new(devices: Vec<D>) -> Self {
        Self::with_clock(devices, HostClock)
    }
}

impl<D: DeviceQueue, C: Clock> Runner<D, C> {
    pub(crate) fn with_clock(devices: Vec<D>, clock: C) -> Self {
        Self { health: Health::Usable, limit: LIMIT, eager: EAGER, last_use: None, clock, devices }
    }

    /// Whether the runner can run the next launch. Stops work left in a poisoned context first, because nothing can be measured
    /// in another context meanwhile.
    pub(crate) fn checked_health(&mut self) -> Health {
        if self.health == Health::Poisoned {
            self.stop();
        }
        self.health
    }

    /// Changes how long a batch may take; `None` restores the usual limit.
    pub(crate) fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit.unwrap_or(LIMIT);
    }

    /// How long the devices have had nothing to do; `None` if nothing was launched yet.
    pub(crate) fn idle(&self) -> Option<Duration> {
        self.last_use.map(|time| self.clock.now().saturating_duration_since(time))
    }

    /// Prepares the calling thread for a batch on the first `count` devices. A single context stays current until the batch is
    /// done; with several devices, each context becomes current again before its calls.
    pub(crate) fn begin(&mut self, count: usize) -> Result<(), Outage> {
        let made = match self.devices.first() {
            Some(device) if count == 1 => device.make_current(),
            _ => Ok(()),
        };
        self.launched(made)
    }

    /// Queues work on each of the first `count` devices. `call` gets the number of the device.
    pub(crate) fn on_each(&mut self, count: usize, mut call: impl FnMut(usize, &D) -> Called) -> Result<(), Outage> {
        let queued = self.devices[..count].iter().enumerate().try_for_each(|(index, device)| {
            enter(device, count)?;
            call(index, device)
        });
        self.launched(queued)
    }

    /// Queues the copies of the first words of the results of the first `count` devices.
    pub(crate) fn fetch(&mut self, count: usize, words: usize) -> Result<(), Outage> {
        let copied = self.devices[..count].iter_mut().try_for_each(|device| {
            enter(device, count)?;
            device.fetch(words)
        });
        self.launched(copied)
    }

    /// Waits, for a limited time, until everything queued on the first `count` devices is done.
    ///
    /// # Errors
    /// [`Outage::TimedOut`] if that takes longer than the limit. [`Self::checked_health`] then tells whether the abort flag
    /// helped.
    pub(crate) fn wait(&mut self, count: usize) -> Result<(), Outage> {
        let limit = self.limit;
        let done = self.wait_until(count, limit)?;
        self.last_use = Some(self.clock.now());
        if done { Ok(()) } else { self.abort(count, limit) }
    }

    /// Waits without a pause between two queries, for work that the host times.
    pub(crate) fn wait_without_pause(&mut self, count: usize) -> Result<(), Outage> {
        let usual = std::mem::replace(&mut self.eager, Duration::MAX);
        let waited = self.wait(count);
        self.eager = usual;
        waited
    }

    /// Waits until the first `count` devices have cleared their memory. This does not count as use: devices are not warm after
    /// it.
    pub(crate) fn settle(&mut self, count: usize) -> Result<(), Outage> {
        self.begin(count)?;
        if self.wait_until(count, GRACE)? { Ok(()) } else { self.abort(count, GRACE) }
    }

    /// Ends kernels that have outlasted `limit`: spinning kernels check the flag. A kernel on one device may wait for kernels
    /// on the others, so the flag is set on all.
    fn abort(&mut self, count: usize, limit: Duration) -> Result<(), Outage> {
        self.set_abort(true);
        let stopped = self.wait_until(count, GRACE);
        self.set_abort(false);
        if !stopped? {
            self.health = Health::Occupied;
        }
        Err(Outage::TimedOut(limit))
    }

    fn set_abort(&mut self, stop: bool) {
        self.devices.iter_mut().for_each(|device| device.set_abort(stop));
    }

    /// Waits until the first `count` devices are done; `false` if all together take longer than `limit`.
    fn wait_until(&mut self, count: usize, limit: Duration) -> Result<bool, Outage> {
        let mut left = limit;
        for index in 0..count {
            let device = &self.devices[index];
            let waited = enter(device, count).and_then(|()| self.query(device, left));
            match self.launched(waited)? {
                Some(waited) => left = left.saturating_sub(waited),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Queries one device until it is done.
    fn query(&self, device: &D, limit: Duration) -> Called<Option<Duration>> {
        poll(&self.clock, limit, self.eager, || device.is_done())
    }

    /// Passes on the result of a call that launches nothing. Not every error of such a call makes a context unusable: the
    /// device may just be out of memory.
    pub(crate) fn judged<T>(&mut self, result: Called<T>) -> Called<T> {
        if result.as_ref().is_err_and(CudaError::is_fatal) {
            self.health = Health::Poisoned;
        }
        result
    }

    /// Makes a call on the first device and passes on its result like [`Self::judged`].
    pub(crate) fn on_first<T>(&mut self, call: impl FnOnce(&mut D) -> Called<T>) -> Called<T> {
        let result = call(&mut self.devices[0]);
        self.judged(result)
    }

    /// Passes on the result of a call that queues work or waits for it. A kernel's error makes its context unusable, and the
    /// next call, whichever it is, returns that error.
    pub(crate) fn launched<T>(&mut self, result: Called<T>) -> Result<T, Outage> {
        if result.is_err() {
            self.health = Health::Poisoned;
        }
        Ok(result?)
    }

    /// Passes on the result of work launched by other means. After a success nothing of it runs any more; after a failure
    /// something may still run, in a context that may be unusable.
    pub(crate) fn noted<T>(&mut self, result: Result<T, Outage>) -> Result<T, Outage> {
        self.last_use = Some(self.clock.now());
        if result.is_err() && self.health == Health::Usable {
            self.health = Health::Poisoned;
        }
        result
    }

    /// Stops what still runs. The abort flag stays set.
    fn stop(&mut self) {
        if self.is_over_within(Duration::ZERO) {
            return;
        }
        self.set_abort(true);
        if !self.is_over_within(GRACE) {
            self.health = Health::Occupied;
        }
    }

    /// Whether nothing runs on any device after at most this time. A context that reports an error runs nothing.
    fn is_over_within(&self, limit: Duration) -> bool {
        let started = self.clock.now();
        self.devices.iter().all(|device| {
            let left = limit.saturating_sub(self.clock.now().saturating_duration_since(started));
            !matches!(device.make_current().and_then(|()| self.query(device, left)), Ok(None))
        })
    }
}

/// Polls until something is done, and returns how long that took; `None` if it takes longer than `limit`. The first `eager` of
/// the time it polls without a pause. Every wait of the host for a device is this loop.
pub(crate) fn poll<E>(
    clock: &impl Clock,
    limit: Duration,
    eager: Duration,
    mut is_done: impl FnMut() -> Result<bool, E>,
) -> Result<Option<Duration>, E> {
    let started = clock.now();
    let mut waited = Duration::ZERO;
    while !is_done()? {
        waited = clock.now().saturating_duration_since(started);
        if waited > limit {
            return Ok(None);
        }
        if waited > eager {
            clock.sleep(PAUSE);
        } else {
            clock.spin();
        }
    }
    Ok(Some(waited))
}

/// Makes the device's context current if there are several.
fn enter(device: &impl DeviceQueue, count: usize) -> Called {
    if count > 1 { device.make_current() } else { Ok(()) }
}

impl<D: DeviceQueue, C: Clock> Drop for Runner<D, C> {
    /// Frees the contexts, unless a kernel still runs: destroying its context would wait for it without a limit. The end of the
    /// process then frees the contexts.
    fn drop(&mut self) {
        if self.health != Health::Occupied {
            self.stop();
        }
        if self.health == Health::Occupied {
            std::mem::forget(std::mem::take(&mut self.devices));
        }
    }
}

/// A context on one device, with one stream, a buffer of results and an abort flag.
///
/// Every method but [`Self::make_current`] and [`Self::set_abort`] needs the context to be current on the calling thread.
pub(crate) trait DeviceQueue {
    /// Makes the context current on the calling thread.
    fn make_current(&self) -> Called;

    /// Queues the copy of the first words of the results to the host.
    fn fetch(&mut self, words: usize) -> Called;

    /// Whether everything queued is done. Returns errors of kernels.
    fn is_done(&self) -> Called<bool>;

    /// Sets or clears the flag that ends the waits inside kernels.
    fn set_abort(&mut self, stop: bool);
}

/// The time as the runner sees it.
pub(crate) trait Clock {
    /// The current time.
    fn now(&self) -> Instant;

    /// Pauses as briefly as possible and keeps the CPU.
    fn spin(&self);

    /// Yields the CPU for about this time.
    fn sleep(&self, pause: Duration);
}

/// The host's monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn spin(&self) {
        std::hint::spin_loop();
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}

// Why a batch of launches gave no results, and whether the next launch can run.

/// Whether the next launch can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// The next launch can run.
    Usable,
    /// A kernel's error made the context unusable: a new context is needed.
    Poisoned,
    /// A kernel does not end. Nothing else can be measured, and destroying its context would wait for it.
    Occupied,
}

/// Why a batch gave no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Outage {
    /// The batch lasted longer than the limit.
    #[error("not done after {0:?}")]
    TimedOut(Duration),
    /// A call or a kernel failed.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The results of one launch do not fit.
    #[error("a grid of {0} warps is too large")]
    TooLarge(u32),
}

impl From<Outage> for ExperimentError {
    fn from(outage: Outage) -> Self {
        match outage {
            Outage::TimedOut(limit) => Self::TimedOut(limit),
            Outage::TooLarge(_) => Self::Unsupported(outage.to_string()),
            Outage::Cuda(error) => Self::Failed(error.to_string()),
        }
    }
}

impl From<Outage> for GpuError {
    fn from(outage: Outage) -> Self {
        match outage {
            Outage::Cuda(error) => Self::Cuda(error),
            Outage::TimedOut(_) | Outage::TooLarge(_) => Self::Unusable(outage.to_string()),
        }
    }
}
