//! Calls the functions of the compiled shim. The first call loads the MPI library into this process for good.

use std::ffi::{CStr, c_char, c_int};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use syncscope_host::loading::undisturbed;

use crate::catalogue::Call;
use crate::message::{Loop, WORDS};
use crate::wrapper::Shim;

/// What a process counts in a timed loop; see `struct counts` in `shim.c`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) value: i64,
    pub(crate) sum: i64,
    pub(crate) disorder: i64,
}

/// The place of a process that is not a member of a slot.
const NOT_A_MEMBER: c_int = -1;

syncscope_host::functions! {
    /// The functions of the shim.
    Functions {
        required version: unsafe extern "C" fn(*mut c_char, c_int) -> c_int = "syncscope_version",
        required error: unsafe extern "C" fn(c_int, *mut c_char, c_int) = "syncscope_error",
        required start: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> c_int = "syncscope_start",
        required collect: unsafe extern "C" fn(*const i64, c_int, *mut i64) -> c_int = "syncscope_collect",
        required send: unsafe extern "C" fn(*const i64, c_int) -> c_int = "syncscope_send",
        required begin_receive: unsafe extern "C" fn(*mut i64, c_int) -> c_int = "syncscope_begin_receive",
        required received: unsafe extern "C" fn(*mut c_int) -> c_int = "syncscope_received",
        required prepare: unsafe extern "C" fn(c_int, c_int) -> c_int = "syncscope_prepare",
        required timed_loop: unsafe extern "C" fn(c_int, c_int, c_int, i64, *mut Counts) -> c_int = "syncscope_loop",
        required meet: unsafe extern "C" fn(c_int) -> c_int = "syncscope_meet",
        required counter: unsafe extern "C" fn(c_int, *mut i64) -> c_int = "syncscope_counter",
        required gather: unsafe extern "C" fn(c_int, *const i64, c_int, *mut i64) -> c_int = "syncscope_gather",
        required phases: unsafe extern "C" fn(c_int, c_int, *mut i64) -> c_int = "syncscope_phases",
        required finish: unsafe extern "C" fn() -> c_int = "syncscope_finish",
    }
}

/// The loaded shim.
#[derive(Debug)]
pub(crate) struct ShimLibrary {
    functions: Functions,
    /// The buffer for the next message: the library may write to it until the message has arrived.
    message: Box<[i64; WORDS]>,
}

/// A length in MPI's type. Everything that is exchanged here is far shorter than the limit.
fn length_of<T>(elements: &[T]) -> c_int {
    c_int::try_from(elements.len()).unwrap_or(0)
}

/// Rank and size of this process's world, and the lowest rank on its node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) node: u32,
}

impl ShimLibrary {
    /// Loads the shim, and with it the MPI library.
    pub(crate) fn load(shim: &Shim) -> Result<Self, String> {
        let failed = |error: libloading::Error| {
            let file = shim.file.display();
            format!("{file}: {error}; if the MPI library has changed, delete this file")
        };
        // Open MPI's plug-ins look for its functions among all symbols of the process.
        // SAFETY: loading an MPI library runs its initializers, as in every program that is linked to it; the shim has none.
        let open = || unsafe { Library::open(Some(&shim.file), RTLD_NOW | RTLD_GLOBAL) };
        let library = undisturbed(open).map_err(failed)?;
        let library = libloading::Library::from(library);
        let functions = Functions::of(&library).map_err(failed)?;
        // MPI libraries leave threads and handlers behind that need the library's code.
        std::mem::forget(library);
        Ok(Self { functions, message: Box::new([0; WORDS]) })
    }

    /// Name and version of the MPI library, in its own words.
    pub(crate) fn version(&self) -> String {
        let mut text = [0; 8192];
        // SAFETY: the buffer is as long as said; the function may be called before the start.
        let is_known = unsafe { (self.functions.version)(text.as_mut_ptr().cast(), length_of(&text)) } != 0;
        let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy).unwrap_or_default();
        if is_known { text.trim().to_owned() } else { "MPI library of unknown version".to_owned() }
    }

    fn checked(&self, what: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let mut text = [0; 1024];
        // SAFETY: the buffer is as long as said.
        unsafe { (self.functions.error)(code, text.as_mut_ptr().cast(), length_of(&text)) };
        let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy).unwrap_or_default();
        Err(format!("MPI could not {what}: {text}"))
    }

    /// `count` words, which a function of the library writes.
    fn written(&self, what: &str, count: usize, write: impl FnOnce(*mut i64) -> c_int) -> Result<Vec<i64>, String> {
        let mut words = vec![0; count];
        let code = write(words.as_mut_ptr());
        self.checked(what, code).map(|()| words)
    }

    pub(crate) fn start(&self) -> Result<Place, String> {
        let (mut rank, mut size, mut node) = (0, 0, 0);
        // SAFETY: the pointers are to locals; called once and by the main thread.
        let code = unsafe { (self.functions.start)(&raw mut rank, &raw mut size, &raw mut node) };
        self.checked("start", code)?;
        Ok(Place { rank: rank.cast_unsigned(), size: size.cast_unsigned(), node: node.cast_unsigned() })
    }

    /// The words of all processes, on every process.
    pub(crate) fn collect(&self, own: &[i64], processes: usize) -> Result<Vec<i64>, String> {
        self.written("collect what the processes are", own.len() * processes, |all| {
            // SAFETY: `all` has room for the words of every process.
            unsafe { (self.functions.collect)(own.as_ptr(), length_of(own), all) }
        })
    }

    /// Sends rank 0's message on to the processes that get it from this one.
    pub(crate) fn send(&self, words: &[i64; WORDS]) -> Result<(), String> {
        // SAFETY: the pointer and the length describe `words`.
        let code = unsafe { (self.functions.send)(words.as_ptr(), length_of(words)) };
        self.checked("send a message", code)
    }

    /// Starts to wait for a message.
    pub(crate) fn begin_receive(&mut self) -> Result<(), String> {
        let length = length_of(&*self.message);
        // SAFETY: the buffer is on the heap and stays as long as this value. Nothing else touches it until the message
        // has arrived.
        let code = unsafe { (self.functions.begin_receive)(self.message.as_mut_ptr(), length) };
        self.checked("wait for a message", code)
    }

    /// The message's words, once they have arrived.
    pub(crate) fn received(&self) -> Result<Option<[i64; WORDS]>, String> {
        let mut done = 0;
        // SAFETY: the pointer is to a local.
        let code = unsafe { (self.functions.received)(&raw mut done) };
        self.checked("receive a message", code)?;
        Ok((done != 0).then_some(*self.message))
    }

    /// Prepares a slot; `place` is this process's place among the members.
    pub(crate) fn prepare(&self, slot: i32, place: Option<u32>) -> Result<(), String> {
        let place = place.map_or(NOT_A_MEMBER, u32::cast_signed);
        // SAFETY: rank 0 gives each slot a number below `SLOTS`, once.
        self.checked("prepare a communicator and a window", unsafe { (self.functions.prepare)(slot, place) })
    }

    /// Runs the timed loop and returns the library's code.
    #[inline]
    pub(crate) fn run(&self, slot: i32, call: Call, one: Loop, counts: &mut Counts) -> i32 {
        // SAFETY: the slot is prepared, and this process is a member.
        unsafe { (self.functions.timed_loop)(slot, call as c_int, one.copies, one.iterations, &raw mut *counts) }
    }

    /// Turns the code of a timed loop into a result.
    pub(crate) fn judged(&self, code: i32) -> Result<(), String> {
        self.checked("run the timed loop", code)
    }

    pub(crate) fn meet(&self, slot: i32) -> Result<(), String> {
        // SAFETY: as in `run`.
        self.checked("bring the processes together", unsafe { (self.functions.meet)(slot) })
    }

    pub(crate) fn counter(&self, slot: i32) -> Result<i64, String> {
        // SAFETY: as in `run`; there is room for a word.
        let value = self.written("read the counter", 1, |value| unsafe { (self.functions.counter)(slot, value) })?;
        Ok(value[0])
    }

    /// The words of all members, of use to the first member only.
    pub(crate) fn gather(&self, slot: i32, own: &[i64], members: u32) -> Result<Vec<i64>, String> {
        self.written("collect samples", own.len() * members as usize, |all| {
            // SAFETY: as in `run`; `all` has room for the words of every member.
            unsafe { (self.functions.gather)(slot, own.as_ptr(), length_of(own), all) }
        })
    }

    /// What this process saw at the counter after each phase of a barrier.
    pub(crate) fn phases(&self, slot: i32, phases: usize) -> Result<Vec<i64>, String> {
        let count = c_int::try_from(phases).unwrap_or(0);
        self.written("run the phases of a barrier", phases, |seen| {
            // SAFETY: as in `run`; there is room for every phase.
            unsafe { (self.functions.phases)(slot, count, seen) }
        })
    }

    pub(crate) fn finish(&self) -> Result<(), String> {
        // SAFETY: called once, after everything else.
        self.checked("end", unsafe { (self.functions.finish)() })
    }
}
