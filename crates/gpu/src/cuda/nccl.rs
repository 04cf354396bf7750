//! NCCL, NVIDIA's library for collectives of several devices, loaded from where it is installed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::Library;
use syncscope_host::loading::undisturbed;
use syncscope_host::scheduling;

use super::discovery::Surroundings;
use super::driver::{DevicePointer, Stream};
use super::error::{Called, CudaError};

/// The variable that tells NCCL whether to use NVLink's multicast (NVLS).
const MULTICAST: &str = "NCCL_NVLS_ENABLE";

/// `ncclFloat32` and `ncclSum` of `nccl.h`.
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

type Status = c_int;
type Handle = *mut c_void;

syncscope_host::functions! {
    /// The functions used, with the signatures of `nccl.h`.
    Functions {
        required version: unsafe extern "C" fn(*mut c_int) -> Status = "ncclGetVersion",
        required error_string: unsafe extern "C" fn(Status) -> *const c_char = "ncclGetErrorString",
        required init_all: unsafe extern "C" fn(*mut Handle, c_int, *const c_int) -> Status = "ncclCommInitAll",
        required destroy: unsafe extern "C" fn(Handle) -> Status = "ncclCommDestroy",
        required group_start: unsafe extern "C" fn() -> Status = "ncclGroupStart",
        required group_end: unsafe extern "C" fn() -> Status = "ncclGroupEnd",
        required all_reduce: AllReduce = "ncclAllReduce",
        optional mem_alloc: unsafe extern "C" fn(*mut Handle, usize) -> Status = "ncclMemAlloc",
        optional mem_free: unsafe extern "C" fn(Handle) -> Status = "ncclMemFree",
        optional register: unsafe extern "C" fn(Handle, Handle, usize, *mut Handle, c_int) -> Status = "ncclCommWindowRegister",
        optional deregister: unsafe extern "C" fn(Handle, Handle) -> Status = "ncclCommWindowDeregister",
    }
}

type AllReduce = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> Status;

/// The loaded library. It is never unloaded: its threads and the driver keep addresses in it.
#[derive(Debug)]
pub(crate) struct Nccl(Functions);

/// `NCCL_WIN_COLL_SYMMETRIC` of `nccl.h`.
const SYMMETRIC: c_int = 1;

/// Device memory that the library reads and writes in place.
#[derive(Debug)]
pub(crate) struct Window {
    memory: Handle,
    registered: Handle,
}

impl Window {
    pub(crate) fn pointer(&self) -> DevicePointer {
        self.memory as DevicePointer
    }
}

/// A device's membership in a group.
#[derive(Debug)]
pub(crate) struct Communicator(Handle);

/// Whether NCCL may choose multicast.
static MAY_MULTICAST: AtomicBool = AtomicBool::new(false);

/// Allows NCCL to choose NVLink's multicast, as far as the environment does, or forbids it for this process by setting
/// `NCCL_NVLS_ENABLE=0` if the user has not set the variable. Call it while the process has one thread; later it sets nothing.
pub fn decide_multicast(is_allowed: bool) {
    MAY_MULTICAST.store(is_allowed, Ordering::Relaxed);
    if !is_allowed && std::env::var_os(MULTICAST).is_none() && scheduling::threads_of_process() == Some(1) {
        // SAFETY: there is no other thread that could read the environment meanwhile.
        unsafe { std::env::set_var(MULTICAST, "0") };
    }
}

/// The word in the rows for whether NCCL may use multicast.
pub(crate) fn multicast() -> &'static str {
    let is_off = std::env::var(MULTICAST).is_ok_and(|value| value == "0");
    if is_off { "multicast off" } else { "multicast as NCCL chooses" }
}

impl Nccl {
    /// Loads the library that `SYNCSCOPE_NCCL` names; without a usable one, the loader's or that of a Python environment.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub(crate) fn find(surroundings: &Surroundings) -> Result<Self, String> {
        check_multicast(MAY_MULTICAST.load(Ordering::Relaxed), std::env::var(MULTICAST).ok().as_deref())?;
        let (candidates, refused): (Vec<_>, Vec<_>) =
            surroundings.nccl_libraries().into_iter().partition(Result::is_ok);
        let loaded = candidates.into_iter().flatten().find_map(|candidate| Self::load(&candidate));
        loaded.ok_or_else(|| {
            let refused = refused.into_iter().filter_map(Result::err);
            let missing = "NCCL (libnccl.so.2) was not found: install libnccl2 or `pip install nvidia-nccl-cu12` (cu13), or name the \
                           file in SYNCSCOPE_NCCL"
                .to_owned();
            std::iter::once(missing).chain(refused).collect::<Vec<_>>().join("; ")
        })
    }

    fn load(name: &Path) -> Option<Self> {
        // SAFETY: loading NCCL runs its initializers, which is what every program that links to it does.
        let library = undisturbed(|| unsafe { Library::new(name) }).ok()?;
        let functions = Functions::of(&library).ok()?;
        std::mem::forget(library);
        Some(Self(functions))
    }

    /// The version, such as `2.27.3`.
    pub(crate) fn version(&self) -> String {
        let mut number = 0;
        // SAFETY: the pointer is to a local.
        let status = unsafe { (self.0.version)(&raw mut number) };
        if status == 0 { version_of(number.unsigned_abs()) } else { "of unknown version".to_owned() }
    }

    fn checked(&self, call: &'static str, status: Status) -> Called {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function returns a constant string for any number.
        let text = unsafe { CStr::from_ptr((self.0.error_string)(status)) };
        let name = text.to_string_lossy().into_owned();
        Err(CudaError { call, code: status.unsigned_abs(), name, text: "NCCL_DEBUG=WARN says more".to_owned() })
    }

    /// Makes a group of the devices with these numbers, in their primary contexts.
    pub(crate) fn group(&self, devices: &[u32]) -> Called<Vec<Communicator>> {
        let numbers: Vec<c_int> = devices.iter().map(|number| number.cast_signed()).collect();
        let mut handles = vec![std::ptr::null_mut(); numbers.len()];
        let count = c_int::try_from(numbers.len()).unwrap_or(0);
        // SAFETY: there is room for a handle of each device.
        let status = undisturbed(|| unsafe { (self.0.init_all)(handles.as_mut_ptr(), count, numbers.as_ptr()) });
        self.checked("ncclCommInitAll", status)?;
        Ok(handles.into_iter().map(Communicator).collect())
    }

    /// Begins a group of calls.
    pub(crate) fn begin(&self) -> Called {
        // SAFETY: no requirement.
        self.checked("ncclGroupStart", unsafe { (self.0.group_start)() })
    }

    /// Queues the work of the group's calls.
    pub(crate) fn end(&self) -> Called {
        // SAFETY: no requirement.
        self.checked("ncclGroupEnd", unsafe { (self.0.group_end)() })
    }

    /// Sums two floats of each device: the library's kernels for registered windows do not add integers.
    ///
    /// # Safety
    /// Both addresses are of 8 bytes in the memory of the communicator's device, and stay until the stream is done.
    pub(crate) unsafe fn sum_floats(
        &self,
        from: DevicePointer,
        to: DevicePointer,
        communicator: &Communicator,
        stream: &Stream,
    ) -> Called {
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: the caller's promise; communicator and stream are alive.
        let status = unsafe { (self.0.all_reduce)(from, to, 2, FLOAT32, SUM, communicator.0, stream.handle()) };
        self.checked("ncclAllReduce", status)
    }

    /// Whether the library has windows.
    pub(crate) const fn has_windows(&self) -> bool {
        self.0.mem_alloc.is_some() && self.0.register.is_some()
    }

    /// Allocates memory for a window on the device whose context is current.
    pub(crate) fn memory(&self, bytes: usize) -> Called<Window> {
        let mut memory = std::ptr::null_mut();
        if let Some(alloc) = self.0.mem_alloc {
            // SAFETY: the pointer is to a local.
            self.checked("ncclMemAlloc", unsafe { alloc(&raw mut memory, bytes) })?;
        }
        Ok(Window { memory, registered: std::ptr::null_mut() })
    }

    /// Registers a window; all devices of a group do this together.
    ///
    /// # Safety
    /// The window must have `bytes` bytes, and the context of its device must be current.
    pub(crate) unsafe fn register(&self, window: &mut Window, bytes: usize, communicator: &Communicator) -> Called {
        let Some(register) = self.0.register else { return Ok(()) };
        // SAFETY: the caller's promise; the communicator is alive.
        let status = unsafe { register(communicator.0, window.memory, bytes, &raw mut window.registered, SYMMETRIC) };
        self.checked("ncclCommWindowRegister", status)
    }

    /// Ends a registration.
    pub(crate) fn deregister(&self, window: &Window, communicator: &Communicator) {
        if let Some(deregister) = self.0.deregister {
            // SAFETY: both are alive, and nothing is in a stream.
            let _ = unsafe { deregister(communicator.0, window.registered) };
        }
    }

    /// Frees a window's memory.
    #[allow(clippy::needless_pass_by_value, reason = "nobody can use it any more")]
    pub(crate) fn free(&self, window: Window) {
        if let Some(free) = self.0.mem_free {
            // SAFETY: it is the library's memory, and given up here.
            let _ = unsafe { free(window.memory) };
        }
    }

    /// Ends a device's membership. Its stream must be empty.
    #[allow(clippy::needless_pass_by_value, reason = "nobody can use it any more")]
    pub(crate) fn destroy(&self, communicator: Communicator) {
        // There is no caller left for an error.
        // SAFETY: the communicator is alive, and given up here.
        let _ = unsafe { (self.0.destroy)(communicator.0) };
    }
}

/// Fails if NCCL might use multicast although the command does not allow it.
fn check_multicast(is_allowed: bool, variable: Option<&str>) -> Result<(), String> {
    if is_allowed || variable == Some("0") {
        return Ok(());
    }
    let is = variable.map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"));
    Err(format!("{MULTICAST} is {is}: set it to 0, or let NCCL choose with `syncscope run --nccl-multicast`"))
}

/// Formats NCCL's version number: 10,000 major + 100 minor + patch (`nccl.h`, since 2.9).
fn version_of(number: u32) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version_of(22703), "2.27.3");
        assert_eq!(version_of(21805), "2.18.5");
    }

    #[test]
    fn multicast_is_used_only_where_it_is_allowed() {
        for value in [Some("0"), Some("1"), Some("2"), Some(""), None] {
            assert_eq!(check_multicast(false, value).is_ok(), value == Some("0"), "{value:?}");
            assert_eq!(check_multicast(true, value), Ok(()));
        }
    }

    #[test]
    fn a_library_without_the_functions_is_not_nccl() {
        assert!(Nccl::load(Path::new("libc.so.6")).is_none());
        assert!(Nccl::load(Path::new("libnccl-not-installed.so")).is_none());
    }
}
