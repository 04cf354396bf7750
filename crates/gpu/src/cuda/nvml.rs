//! NVML, NVIDIA's management library, for warnings and for what explains a figure. Without NVML only these are missing.

use libloading::Library;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{process, ptr};
use syncscope_core::machine::GpuState;
use syncscope_host::loading::undisturbed;

pub(super) type Status = c_int;
pub(super) type Device = *mut c_void;

pub(super) const SUCCESS: Status = 0;
const INSUFFICIENT_SIZE: Status = 7;

/// `nvmlProcessInfo_t` of the `_v3` functions.
#[repr(C)]
#[derive(Clone, Copy)]
struct Process {
    pid: c_uint,
    used_memory: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// Bits of `nvmlDeviceGetCurrentClocksThrottleReasons` (`nvml.h`) that lower the clock below the requested one.
const SLOWDOWNS: [(u64, &str); 5] = [
    (0x04, "its power limit"),
    (0x08, "the hardware (temperature, power brake or power supply)"),
    (0x20, "its temperature"),
    (0x40, "its temperature, by the hardware"),
    (0x80, "the power brake of its power supply"),
];

syncscope_host::functions! {
    /// The functions used, with the signatures of `nvml.h`.
    Functions {
        required init: unsafe extern "C" fn() -> Status = "nvmlInit_v2",
        required shutdown: unsafe extern "C" fn() -> Status = "nvmlShutdown",
        required driver_version: unsafe extern "C" fn(*mut c_char, c_uint) -> Status = "nvmlSystemGetDriverVersion",
        required by_pci_address: unsafe extern "C" fn(*const c_char, *mut Device) -> Status
            = "nvmlDeviceGetHandleByPciBusId_v2",
        optional slowdowns: unsafe extern "C" fn(Device, *mut c_ulonglong) -> Status
            = "nvmlDeviceGetCurrentClocksEventReasons" | "nvmlDeviceGetCurrentClocksThrottleReasons",
        required processes: unsafe extern "C" fn(Device, *mut c_uint, *mut Process) -> Status
            = "nvmlDeviceGetComputeRunningProcesses_v3",
        required ecc_mode: AskModes = "nvmlDeviceGetEccMode",
        /// Available since driver 390.
        optional peer_status: unsafe extern "C" fn(Device, Device, c_int, *mut c_int) -> Status
            = "nvmlDeviceGetP2PStatus",
    }
}

/// The initialized library.
#[derive(Debug)]
pub(crate) struct Nvml {
    functions: Functions,
    state: StateFunctions,
    _library: Library,
}

impl Nvml {
    /// Loads the driver's NVML; `None` if it is missing or does not work.
    pub(crate) fn load() -> Option<Self> {
        // SAFETY: loading NVML runs its initializers, which is what every program that links to it does.
        let library = undisturbed(|| unsafe { Library::new("libnvidia-ml.so.1") }).ok()?;
        let functions = Functions::of(&library).ok()?;
        let state = StateFunctions::of(&library).ok()?;
        // SAFETY: no requirement; every successful call is followed by a shutdown when this value is dropped.
        (undisturbed(|| unsafe { (functions.init)() }) == SUCCESS).then_some(Self {
            functions,
            state,
            _library: library,
        })
    }

    /// Version of the driver, such as `580.95.05`.
    pub(crate) fn driver_version(&self) -> Option<String> {
        // SAFETY: the buffer is as long as said.
        text(|buffer, length| unsafe { (self.functions.driver_version)(buffer, length) })
    }

    /// The state of the device with this number and PCI address.
    pub(crate) fn state(&self, address: &str, index: u32) -> GpuState {
        let state = self.device(address).map(|device| self.state.state(device));
        GpuState { pci_address: Some(address.to_owned()), index, ..state.unwrap_or_default() }
    }

    /// Whether the devices use confidential computing.
    pub(crate) fn confidential_computing(&self) -> Option<bool> {
        self.state.confidential_computing()
    }

    /// Whether NVLink connects the devices at these PCI addresses; `None` if NVML does not report it.
    pub(crate) fn is_nvlink(&self, one: &str, other: &str) -> Option<bool> {
        /// `NVML_P2P_CAPS_INDEX_NVLINK` of `nvml.h`.
        const NVLINK: c_int = 2;
        /// `NVML_P2P_STATUS_OK`.
        const OK: c_int = 0;
        let (one, other, ask) = (self.device(one)?, self.device(other)?, self.functions.peer_status?);
        // SAFETY: the devices are the library's, which is loaded, and the pointer is valid for the call.
        answer(|status| unsafe { ask(one, other, NVLINK, status) }).map(|status| status == OK)
    }

    /// Warnings about the device at this PCI address.
    pub(crate) fn warnings(&self, address: &str) -> Vec<String> {
        let Some(device) = self.device(address) else { return Vec::new() };
        let others = self
            .other_processes(device)
            .filter(|count| *count > 0)
            .map(|count| format!("{count} other processes use the GPU and may disturb the figures; see `nvidia-smi`"));
        let slowdown = self.slowdowns(device).and_then(slowdown);
        let mig = self.state.is_partitioned(device).unwrap_or(false).then(|| {
            "the GPU is partitioned (MIG), so the figures are for one instance, and others may share its memory system"
                .to_owned()
        });
        let modes = modes(device, self.functions.ecc_mode);
        let ecc = modes.is_some_and(|(current, pending)| current != pending).then(|| {
            "the GPU's error correction mode changes with its next reset; the figures are for the current mode"
                .to_owned()
        });
        [others, slowdown, mig, ecc].into_iter().flatten().collect()
    }

    fn device(&self, address: &str) -> Option<Device> {
        let address = CString::new(address).ok()?;
        let mut device = ptr::null_mut();
        // SAFETY: the text is ended by a zero, the pointer valid for the call.
        let status = unsafe { (self.functions.by_pci_address)(address.as_ptr(), &raw mut device) };
        (status == SUCCESS).then_some(device)
    }

    fn slowdowns(&self, device: Device) -> Option<u64> {
        let ask = self.functions.slowdowns?;
        // SAFETY: the device is the library's, the pointer valid for the call.
        answer(|reasons| unsafe { ask(device, reasons) })
    }

    /// How many other processes compute on the device. In a container, NVML may report all of them with numbers of another
    /// namespace, or none of them.
    fn other_processes(&self, device: Device) -> Option<usize> {
        let mut processes = [Process { pid: 0, used_memory: 0, gpu_instance: 0, compute_instance: 0 }; 64];
        let mut count = processes.len() as c_uint;
        // SAFETY: the array is as long as said.
        let status = unsafe { (self.functions.processes)(device, &raw mut count, processes.as_mut_ptr()) };
        match status {
            SUCCESS => Some(others(&processes.map(|process| process.pid)[..(count as usize).min(processes.len())])),
            INSUFFICIENT_SIZE => Some(count as usize),
            _ => None,
        }
    }
}

/// What the driver reports about the clocks of a device at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ClockState {
    /// The clock of the multiprocessors in hertz.
    clock: Option<f64>,
    /// Why the clock is not higher: bits of `nvmlDeviceGetCurrentClocksEventReasons`.
    reasons: Option<u64>,
}

impl ClockState {
    /// A remark if something other than a request lowers the clock.
    pub(crate) fn slowdown(&self) -> Option<String> {
        slowdown(self.reasons?)
    }

    /// The numbers for `details.csv`.
    pub(crate) fn details(&self) -> Vec<(&'static str, f64)> {
        let clock = self.clock.map(|hertz| ("sm_clock_hz_nvml", hertz));
        let reasons = self.reasons.map(|bits| ("throttle_reasons", bits as f64));
        clock.into_iter().chain(reasons).collect()
    }
}

/// Reads the clocks of one device at a bounded rate.
#[derive(Debug)]
pub(crate) struct Watch {
    nvml: Rc<Nvml>,
    device: Device,
    last: Cell<Option<Look>>,
}

/// A reading, its time, and how long it took.
#[derive(Debug, Clone, Copy)]
struct Look {
    time: Instant,
    took: Duration,
    state: ClockState,
}

impl Look {
    /// Whether the reading is still valid. The driver itself reads the clocks a few times a second. A call takes 20 us to some
    /// milliseconds, and calls should take no more than a hundredth of a run.
    fn is_fresh(&self, now: Instant) -> bool {
        const LONGEST: Duration = Duration::from_millis(20);
        now.saturating_duration_since(self.time) < LONGEST.max(100 * self.took)
    }
}

impl Watch {
    /// Watches the device at this PCI address; `None` if the library does not know it.
    pub(crate) fn new(nvml: &Rc<Nvml>, address: &str) -> Option<Self> {
        Some(Self { nvml: Rc::clone(nvml), device: nvml.device(address)?, last: Cell::new(None) })
    }

    /// The state of the clocks, read now or shortly before.
    pub(crate) fn state(&self) -> ClockState {
        let now = Instant::now();
        if let Some(look) = self.last.get().filter(|look| look.is_fresh(now)) {
            return look.state;
        }
        let state = ClockState { clock: self.nvml.state.clock(self.device), reasons: self.nvml.slowdowns(self.device) };
        self.last.set(Some(Look { time: now, took: now.elapsed(), state }));
        state
    }
}

/// Reads a mode: its current value and its value after the next reset.
pub(super) type AskModes = unsafe extern "C" fn(Device, *mut c_uint, *mut c_uint) -> Status;

pub(super) fn modes(device: Device, ask: AskModes) -> Option<(u32, u32)> {
    // SAFETY: the device is the library's, which is loaded, and the pointers are valid for the call.
    answer(|(current, pending)| unsafe { ask(device, current, pending) })
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: the library was initialized once for this value.
        let _ = unsafe { (self.functions.shutdown)() };
    }
}

/// The number of listed processes except this one, which may be listed with a number of another namespace.
fn others(pids: &[u32]) -> usize {
    let own = process::id();
    if pids.contains(&own) { pids.iter().filter(|pid| **pid != own).count() } else { pids.len().saturating_sub(1) }
}

fn slowdown(reasons: u64) -> Option<String> {
    let causes: Vec<&str> = SLOWDOWNS.iter().filter(|(bit, _)| reasons & bit != 0).map(|(_, cause)| *cause).collect();
    (!causes.is_empty()).then(|| {
        format!(
            "the GPU's clock is lowered by {}; figures in nanoseconds are affected, figures in cycles less",
            causes.join(" and ")
        )
    })
}

// The state of a device as NVML reports it. Everything is read, nothing is set. A driver may lack any of these functions.

type AskText = unsafe extern "C" fn(Device, *mut c_char, c_uint) -> Status;
type AskNumber = unsafe extern "C" fn(Device, *mut c_uint) -> Status;
/// Reads a number of one kind, such as the memory clock.
type AskOneOf = unsafe extern "C" fn(Device, c_uint, *mut c_uint) -> Status;
/// Reads the lowest and highest clock of a kind in a performance state.
type AskLimits = unsafe extern "C" fn(Device, c_uint, c_int, *mut c_uint, *mut c_uint) -> Status;
type AskConfidential = unsafe extern "C" fn(*mut Confidential) -> Status;

/// `nvmlConfComputeSystemState_t` of `nvml.h`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Confidential {
    environment: c_uint,
    feature: c_uint,
    developer_tools: c_uint,
}

/// `NVML_TEMPERATURE_GPU` of `nvml.h`.
const CHIP: c_uint = 0;
/// `NVML_CLOCK_SM`.
const MULTIPROCESSORS: c_uint = 1;
/// `NVML_CLOCK_MEM`.
const MEMORY: c_uint = 2;

syncscope_host::functions! {
    /// The functions used, with the signatures of `nvml.h`. Clocks are in megahertz, power in milliwatts.
    #[derive(Default)]
    StateFunctions {
        optional uuid: AskText = "nvmlDeviceGetUUID",
        optional vbios: AskText = "nvmlDeviceGetVbiosVersion",
        optional power_limit: AskNumber = "nvmlDeviceGetEnforcedPowerLimit",
        optional persistence: AskNumber = "nvmlDeviceGetPersistenceMode",
        optional compute_mode: AskNumber = "nvmlDeviceGetComputeMode",
        optional performance_state: AskNumber = "nvmlDeviceGetPerformanceState",
        optional temperature: AskOneOf = "nvmlDeviceGetTemperature",
        optional clock: AskOneOf = "nvmlDeviceGetClockInfo",
        optional highest_clock: AskOneOf = "nvmlDeviceGetMaxClockInfo",
        optional application_clock: AskOneOf = "nvmlDeviceGetApplicationsClock",
        optional clock_limits: AskLimits = "nvmlDeviceGetMinMaxClockOfPState",
        optional mig: AskModes = "nvmlDeviceGetMigMode",
        optional confidential: AskConfidential = "nvmlSystemGetConfComputeState",
    }
}

impl StateFunctions {
    /// The state of a device, without its number and address. `device` must be of the library that the functions come from.
    pub(super) fn state(&self, device: Device) -> GpuState {
        let hertz = |ask| one_of(device, ask, MULTIPROCESSORS).map(from_megahertz);
        let (lowest, highest) = self.clock_limits(device).unzip();
        GpuState {
            uuid: text_of(device, self.uuid),
            vbios: text_of(device, self.vbios),
            power_limit_watts: number(device, self.power_limit).map(|milliwatts| f64::from(milliwatts) / 1e3),
            temperature_celsius: one_of(device, self.temperature, CHIP),
            persistence: number(device, self.persistence).map(|on| on != 0),
            compute_mode: number(device, self.compute_mode).map(compute_mode),
            memory_clock_hz: one_of(device, self.clock, MEMORY).map(from_megahertz),
            sm_clock_lowest_hz: lowest,
            sm_clock_highest_hz: highest.or_else(|| hertz(self.highest_clock)),
            sm_clock_application_hz: hertz(self.application_clock),
            mig: self.is_partitioned(device),
            ..GpuState::default()
        }
    }

    /// Whether transfers are encrypted.
    pub(super) fn confidential_computing(&self) -> Option<bool> {
        let ask = self.confidential?;
        // SAFETY: the pointer is valid for the call, and the structure is that of the header.
        answer(|state: &mut Confidential| unsafe { ask(state) }).map(|state| state.feature != 0)
    }

    /// The clock of the multiprocessors in hertz, as the driver last read it.
    pub(super) fn clock(&self, device: Device) -> Option<f64> {
        one_of(device, self.clock, MULTIPROCESSORS).map(from_megahertz)
    }

    /// Whether the device is partitioned (MIG).
    pub(super) fn is_partitioned(&self, device: Device) -> Option<bool> {
        modes(device, self.mig?).map(|(current, _)| current != 0)
    }

    fn clock_limits(&self, device: Device) -> Option<(f64, f64)> {
        let state = c_int::try_from(number(device, self.performance_state)?).ok()?;
        let ask = self.clock_limits?;
        // SAFETY: the device is the library's, which is loaded, and the pointers are valid for the call.
        let limits = answer(|(lowest, highest)| unsafe { ask(device, MULTIPROCESSORS, state, lowest, highest) });
        limits.map(|(lowest, highest)| (from_megahertz(lowest), from_megahertz(highest)))
    }
}

fn from_megahertz(megahertz: u32) -> f64 {
    f64::from(megahertz) * 1e6
}

/// The value that a call writes if it succeeds.
fn answer<T: Default>(call: impl FnOnce(&mut T) -> Status) -> Option<T> {
    let mut value = T::default();
    (call(&mut value) == SUCCESS).then_some(value)
}

/// The zero-terminated text that a call writes to a buffer of this length if it succeeds.
fn text(call: impl FnOnce(*mut c_char, c_uint) -> Status) -> Option<String> {
    let mut text = [0_u8; 96];
    let status = call(text.as_mut_ptr().cast(), text.len() as c_uint);
    let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().into_owned();
    (status == SUCCESS && !text.is_empty()).then_some(text)
}

fn text_of(device: Device, ask: Option<AskText>) -> Option<String> {
    let ask = ask?;
    // SAFETY: the device is the library's, which is loaded, and the buffer is as long as said.
    text(|buffer, length| unsafe { ask(device, buffer, length) })
}

fn number(device: Device, ask: Option<AskNumber>) -> Option<u32> {
    let ask = ask?;
    // SAFETY: the device is the library's, which is loaded, and the pointer is valid for the call.
    answer(|value| unsafe { ask(device, value) })
}

fn one_of(device: Device, ask: Option<AskOneOf>, kind: c_uint) -> Option<u32> {
    let ask = ask?;
    // SAFETY: the device is the library's, which is loaded, and the pointer is valid for the call.
    answer(|value| unsafe { ask(device, kind, value) })
}

/// The word for a value of `nvmlComputeMode_t`.
fn compute_mode(value: u32) -> String {
    let words = ["default", "exclusive_thread", "prohibited", "exclusive_process"];
    words.get(value as usize).map_or_else(|| format!("mode {value}"), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idling_and_clocks_asked_for_are_no_slowdown() {
        assert_eq!(slowdown(0x01), None);
        assert_eq!(slowdown(0x02), None);
        assert!(slowdown(0x24).is_some_and(|text| text.contains("its power limit and its temperature")));
    }

    #[test]
    fn a_clock_held_down_is_said_in_words_and_in_numbers() {
        let state = ClockState { clock: Some(1.2e9), reasons: Some(0x24) };
        assert!(state.slowdown().is_some_and(|text| text.contains("its temperature")));
        assert_eq!(state.details(), [("sm_clock_hz_nvml", 1.2e9), ("throttle_reasons", 36.0)]);
        let unknown = ClockState::default();
        assert_eq!((unknown.slowdown(), unknown.details()), (None, Vec::new()));
    }

    #[test]
    fn the_slower_the_answer_the_rarer_the_question() {
        let now = Instant::now();
        let fresh = |age_ms, took_ms| {
            let [age, took] = [age_ms, took_ms].map(Duration::from_millis);
            now.checked_sub(age).map(|time| Look { time, took, state: ClockState::default() }.is_fresh(now))
        };
        assert_eq!(fresh(10, 0), Some(true));
        assert_eq!(fresh(30, 0), Some(false));
        assert_eq!(fresh(300, 5), Some(true));
    }

    #[test]
    fn this_process_is_no_other() {
        assert_eq!(others(&[]), 0);
        assert_eq!(others(&[process::id()]), 0);
        assert_eq!(others(&[process::id(), 1]), 1);
        assert_eq!(others(&[4_000_000_000]), 0, "seen under another number");
    }
}

#[cfg(test)]
mod device_state_tests {
    use super::*;

    const NOT_SUPPORTED: Status = 3;

    unsafe extern "C" fn uuid(_: Device, text: *mut c_char, length: c_uint) -> Status {
        let answer = b"GPU-1\0";
        assert!(length as usize >= answer.len());
        // SAFETY: the buffer is as long as said.
        unsafe { text.copy_from_nonoverlapping(answer.as_ptr().cast(), answer.len()) };
        SUCCESS
    }

    unsafe extern "C" fn refused(_: Device, _: *mut c_uint) -> Status {
        NOT_SUPPORTED
    }

    unsafe extern "C" fn three(_: Device, value: *mut c_uint) -> Status {
        // SAFETY: the caller's pointer is valid.
        unsafe { *value = 3 };
        SUCCESS
    }

    /// A clock in megahertz: 1000 plus the kind.
    unsafe extern "C" fn clock(_: Device, kind: c_uint, value: *mut c_uint) -> Status {
        // SAFETY: the caller's pointer is valid.
        unsafe { *value = 1000 + kind };
        SUCCESS
    }

    unsafe extern "C" fn limits(_: Device, kind: c_uint, state: c_int, low: *mut c_uint, high: *mut c_uint) -> Status {
        assert_eq!((kind, state), (MULTIPROCESSORS, 3));
        // SAFETY: the caller's pointers are valid.
        unsafe { (*low, *high) = (345, 1980) };
        SUCCESS
    }

    unsafe extern "C" fn mig(_: Device, current: *mut c_uint, pending: *mut c_uint) -> Status {
        // SAFETY: the caller's pointers are valid.
        unsafe { (*current, *pending) = (0, 1) };
        SUCCESS
    }

    unsafe extern "C" fn confidential(state: *mut Confidential) -> Status {
        // SAFETY: the caller's pointer is valid.
        unsafe { *state = Confidential { environment: 2, feature: 1, developer_tools: 0 } };
        SUCCESS
    }

    #[test]
    fn answers_have_their_units() {
        let functions = StateFunctions {
            uuid: Some(uuid),
            power_limit: Some(three),
            persistence: Some(three),
            compute_mode: Some(three),
            performance_state: Some(three),
            clock: Some(clock),
            highest_clock: Some(clock),
            clock_limits: Some(limits),
            mig: Some(mig),
            confidential: Some(confidential),
            ..StateFunctions::default()
        };
        let expected = GpuState {
            uuid: Some("GPU-1".to_owned()),
            power_limit_watts: Some(0.003),
            persistence: Some(true),
            compute_mode: Some("exclusive_process".to_owned()),
            memory_clock_hz: Some(1.002e9),
            sm_clock_lowest_hz: Some(3.45e8),
            sm_clock_highest_hz: Some(1.98e9),
            mig: Some(false),
            ..GpuState::default()
        };
        assert_eq!(functions.state(std::ptr::null_mut()), expected);
        assert_eq!(functions.confidential_computing(), Some(true));
    }

    #[test]
    fn what_a_driver_lacks_or_refuses_is_unknown() {
        let nothing = StateFunctions::default();
        assert_eq!(nothing.state(std::ptr::null_mut()), GpuState::default());
        assert_eq!(nothing.confidential_computing(), None);
        let refusing = StateFunctions {
            power_limit: Some(refused),
            performance_state: Some(refused),
            clock_limits: Some(limits),
            highest_clock: Some(clock),
            ..StateFunctions::default()
        };
        let expected = GpuState { sm_clock_highest_hz: Some(1.001e9), ..GpuState::default() };
        assert_eq!(refusing.state(std::ptr::null_mut()), expected);
    }

    #[test]
    fn modes_have_words() {
        assert_eq!(compute_mode(0), "default");
        assert_eq!(compute_mode(9), "mode 9");
    }
}
