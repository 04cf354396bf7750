//! The state of a device as NVML reports it. Everything is read, nothing is set. A driver may lack any of the functions.

use std::ffi::{CStr, c_char, c_int, c_uint};

use syncscope_core::machine::GpuState;

use super::nvml::{AskModes, Device, SUCCESS, Status, modes};

type AskText = unsafe extern "C" fn(Device, *mut c_char, c_uint) -> Status;
type AskNumber = unsafe extern "C" fn(Device, *mut c_uint) -> Status;
/// A number of one kind, such as the clock of the memory.
type AskOneOf = unsafe extern "C" fn(Device, c_uint, *mut c_uint) -> Status;
/// The lowest and highest clock of a kind in a performance state.
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

functions! {
    /// The functions that are called, with the signatures of `nvml.h`. Clocks are in megahertz, power in milliwatts.
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
    /// The state of the device with this number. `device` is NVML's, of the library that the functions come from.
    pub(super) fn state(&self, device: Device, index: u32) -> GpuState {
        let hertz = |ask| one_of(device, ask, MULTIPROCESSORS).map(from_megahertz);
        let (lowest, highest) = self.clock_limits(device).unzip();
        GpuState {
            index,
            uuid: text(device, self.uuid),
            pci_address: None,
            vbios: text(device, self.vbios),
            power_limit_watts: number(device, self.power_limit).map(|milliwatts| f64::from(milliwatts) / 1e3),
            temperature_celsius: one_of(device, self.temperature, CHIP),
            persistence: number(device, self.persistence).map(|on| on != 0),
            compute_mode: number(device, self.compute_mode).map(compute_mode),
            memory_clock_hz: one_of(device, self.clock, MEMORY).map(from_megahertz),
            sm_clock_lowest_hz: lowest,
            sm_clock_highest_hz: highest.or_else(|| hertz(self.highest_clock)),
            sm_clock_application_hz: hertz(self.application_clock),
            mig: self.is_partitioned(device),
        }
    }

    /// Whether transfers are encrypted.
    pub(super) fn confidential_computing(&self) -> Option<bool> {
        let mut state = Confidential::default();
        // SAFETY: the pointer is valid for the call, and the structure is that of the header.
        let status = unsafe { (self.confidential?)(&raw mut state) };
        (status == SUCCESS).then_some(state.feature != 0)
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
        let (mut lowest, mut highest) = (0, 0);
        // SAFETY: the device is the library's, which is loaded, and the pointers are valid for the call.
        let status = unsafe { (self.clock_limits?)(device, MULTIPROCESSORS, state, &raw mut lowest, &raw mut highest) };
        (status == SUCCESS).then(|| (from_megahertz(lowest), from_megahertz(highest)))
    }
}

fn from_megahertz(megahertz: u32) -> f64 {
    f64::from(megahertz) * 1e6
}

fn text(device: Device, ask: Option<AskText>) -> Option<String> {
    let mut text = [0_u8; 96];
    // SAFETY: the buffer is as long as said; the library ends the text with a zero.
    let status = unsafe { (ask?)(device, text.as_mut_ptr().cast(), text.len() as c_uint) };
    let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().into_owned();
    (status == SUCCESS && !text.is_empty()).then_some(text)
}

fn number(device: Device, ask: Option<AskNumber>) -> Option<u32> {
    let mut value = 0;
    // SAFETY: the device is the library's, which is loaded, and the pointer is valid for the call.
    let status = unsafe { (ask?)(device, &raw mut value) };
    (status == SUCCESS).then_some(value)
}

fn one_of(device: Device, ask: Option<AskOneOf>, kind: c_uint) -> Option<u32> {
    let mut value = 0;
    // SAFETY: the device is the library's, which is loaded, and the pointer is valid for the call.
    let status = unsafe { (ask?)(device, kind, &raw mut value) };
    (status == SUCCESS).then_some(value)
}

/// The word for a value of `nvmlComputeMode_t`.
fn compute_mode(value: u32) -> String {
    let words = ["default", "exclusive_thread", "prohibited", "exclusive_process"];
    words.get(value as usize).map_or_else(|| format!("mode {value}"), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
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

    /// Megahertz: 1000 and the kind.
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
            index: 5,
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
        assert_eq!(functions.state(std::ptr::null_mut(), 5), expected);
        assert_eq!(functions.confidential_computing(), Some(true));
    }

    #[test]
    fn what_a_driver_lacks_or_refuses_is_unknown() {
        let nothing = StateFunctions::default();
        assert_eq!(nothing.state(std::ptr::null_mut(), 0), GpuState::default());
        assert_eq!(nothing.confidential_computing(), None);
        let refusing = StateFunctions {
            power_limit: Some(refused),
            performance_state: Some(refused),
            clock_limits: Some(limits),
            highest_clock: Some(clock),
            ..StateFunctions::default()
        };
        let expected = GpuState { sm_clock_highest_hz: Some(1.001e9), ..GpuState::default() };
        assert_eq!(refusing.state(std::ptr::null_mut(), 0), expected);
    }

    #[test]
    fn modes_have_words() {
        assert_eq!(compute_mode(0), "default");
        assert_eq!(compute_mode(9), "mode 9");
    }
}
