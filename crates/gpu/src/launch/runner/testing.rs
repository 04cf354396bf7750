//! A scripted device and clock, which test the runner without a GPU and without sleeping.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::cuda::error::{Called, CudaError};
use crate::launch::runner::{Clock, DeviceQueue, Outage, Runner};

/// The behaviour of a device's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// They end by themselves this long after their launch. The abort flag changes nothing.
    EndsAfter(Duration),
    /// They spin, and end this long after the abort flag was set.
    EndsAfterAbort(Duration),
    /// They never end.
    NeverEnds,
    /// The call that launches them fails.
    LaunchFails,
    /// They poison their context; the first query at least this long after their launch reports that.
    PoisonsAfter(Duration),
}

/// A driver call, with the number of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    MakeCurrent(usize),
    OrderBlocks(usize),
    Launch(usize),
    Fetch(usize, usize),
    SetAbort(usize, bool),
    /// The context is destroyed.
    Destroy(usize),
}

/// What all fake devices of a test share.
#[derive(Debug)]
pub(crate) struct FakeDriver {
    calls: RefCell<Vec<Call>>,
    /// The device whose context is current.
    current: Cell<Option<usize>>,
    started: Instant,
    passed: Cell<Duration>,
    spins: Cell<u32>,
    sleeps: Cell<u32>,
}

/// The clock of a fake driver. Time passes only during waits.
#[derive(Debug, Clone)]
pub(crate) struct FakeClock(Rc<FakeDriver>);

#[derive(Debug)]
pub(crate) struct FakeDevice {
    number: usize,
    pub(crate) script: Script,
    driver: Rc<FakeDriver>,
    /// When the running kernel was launched, if one runs.
    launched: Cell<Option<Duration>>,
    aborted: Cell<Option<Duration>>,
}

impl FakeDriver {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            calls: RefCell::default(),
            current: Cell::new(None),
            started: Instant::now(),
            passed: Cell::default(),
            spins: Cell::default(),
            sleeps: Cell::default(),
        })
    }

    /// A runner with a device for each script.
    pub(crate) fn runner(self: &Rc<Self>, scripts: &[Script]) -> Runner<FakeDevice, FakeClock> {
        let device = |(number, script): (usize, &Script)| FakeDevice {
            number,
            script: *script,
            driver: self.clone(),
            launched: Cell::new(None),
            aborted: Cell::new(None),
        };
        Runner::with_clock(scripts.iter().enumerate().map(device).collect(), FakeClock(self.clone()))
    }

    /// The calls since they were last taken.
    pub(crate) fn take_calls(&self) -> Vec<Call> {
        self.calls.take()
    }

    /// The devices whose contexts were destroyed since calls were last taken.
    pub(crate) fn destroyed(&self) -> Vec<usize> {
        let destroyed = |call: &Call| if let Call::Destroy(number) = call { Some(*number) } else { None };
        self.calls.borrow().iter().filter_map(destroyed).collect()
    }

    pub(crate) fn passed(&self) -> Duration {
        self.passed.get()
    }

    pub(crate) fn wait(&self, time: Duration) {
        self.passed.set(self.passed.get() + time);
    }

    pub(crate) fn spins_and_sleeps(&self) -> (u32, u32) {
        (self.spins.get(), self.sleeps.get())
    }

    fn note(&self, call: Call) {
        self.calls.borrow_mut().push(call);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        self.0.started + self.0.passed()
    }

    fn spin(&self) {
        self.0.spins.set(self.0.spins.get() + 1);
        self.0.wait(Duration::from_micros(10));
    }

    fn sleep(&self, pause: Duration) {
        self.0.sleeps.set(self.0.sleeps.get() + 1);
        self.0.wait(pause);
    }
}

/// A driver error with this number of `cuda.h`.
pub(crate) fn error(call: &'static str, code: u32) -> CudaError {
    CudaError { call, code, name: format!("error {code}"), text: "as the script says".to_owned() }
}

/// `CUDA_ERROR_INVALID_CONTEXT`.
const NOT_CURRENT: u32 = 201;

/// `CUDA_ERROR_LAUNCH_FAILED`.
const KERNEL_FAILED: u32 = 719;

/// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`, which affects only one launch.
const NO_RESOURCES: u32 = 701;

impl FakeDevice {
    /// The driver refuses calls in a context that is not current.
    fn called(&self, name: &'static str) -> Called {
        if self.driver.current.get() == Some(self.number) { Ok(()) } else { Err(error(name, NOT_CURRENT)) }
    }
}

impl DeviceQueue for FakeDevice {
    fn make_current(&self) -> Called {
        self.driver.note(Call::MakeCurrent(self.number));
        self.driver.current.set(Some(self.number));
        Ok(())
    }

    fn fetch(&mut self, words: usize) -> Called {
        self.called("fetch")?;
        self.driver.note(Call::Fetch(self.number, words));
        Ok(())
    }

    fn is_done(&self) -> Called<bool> {
        self.called("is_done")?;
        let now = self.driver.passed();
        let Some(launched) = self.launched.get() else { return Ok(true) };
        let is_over = match self.script {
            Script::EndsAfter(time) => now >= launched + time,
            Script::EndsAfterAbort(time) => self.aborted.get().is_some_and(|aborted| now >= aborted + time),
            Script::PoisonsAfter(time) if now >= launched + time => return Err(error("is_done", KERNEL_FAILED)),
            Script::NeverEnds | Script::LaunchFails | Script::PoisonsAfter(_) => false,
        };
        if is_over {
            self.launched.set(None);
        }
        Ok(is_over)
    }

    fn set_abort(&mut self, stop: bool) {
        self.driver.note(Call::SetAbort(self.number, stop));
        self.aborted.set(stop.then(|| self.driver.passed()));
    }
}

/// Queues the launches that set the block order on the first devices, then a kernel on each.
pub(crate) fn launch(runner: &mut Runner<FakeDevice, FakeClock>, count: usize) -> Result<(), Outage> {
    runner.on_each(count, |_, device| {
        device.called("order_blocks")?;
        device.driver.note(Call::OrderBlocks(device.number));
        Ok(())
    })?;
    runner.on_each(count, |index, device| {
        assert_eq!(index, device.number);
        device.called("launch")?;
        device.driver.note(Call::Launch(device.number));
        if device.script == Script::LaunchFails {
            return Err(error("launch", NO_RESOURCES));
        }
        device.launched.set(Some(device.driver.passed()));
        Ok(())
    })
}

impl Drop for FakeDevice {
    fn drop(&mut self) {
        self.driver.note(Call::Destroy(self.number));
    }
}

/// Launches once on all devices, fetches some words and waits.
pub(crate) fn run(runner: &mut Runner<FakeDevice, FakeClock>) -> Result<(), Outage> {
    let count = runner.devices.len();
    runner.begin(count)?;
    launch(runner, count)?;
    runner.fetch(count, 8)?;
    runner.wait(count)
}
