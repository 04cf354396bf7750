//! A compiled operation, loaded into this process, and its loops as a job for a team.
//!
//! The operation is foreign code: it may crash, end the process or never return. Then the process that watches this one names
//! the case.

use std::error::Error as _;
use std::ffi::c_void;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use libloading::Library;
use syncscope_core::{Case, Dtype, Layout, LockRole, OwnCheck, Shot};
use syncscope_host::forks;
use syncscope_host::loading::undisturbed;

use crate::evidence::LoopFunctions;
use crate::memory::Pages;
use crate::primitives::lock::roles;
use crate::primitives::operation::{Executed, Operation, SLOTS, TURN, Turns, UNROLL, slot_of};
use crate::primitives::wake::Way;
use crate::primitives::work::{LockWork, Task};
use crate::sync::{Barrier, CachePadded, WaitTimeout};
use crate::team::Body;

/// The data of a thread, from the team: `syncscope_given` in `loops.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    x: *const AtomicU64,
    mine: *const c_void,
    memory: *const AtomicU64,
    counter: *const AtomicU64,
    meeting: *const AtomicU64,
    number: u32,
    threads: u32,
    executed: u64,
    work: unsafe extern "C" fn(*const c_void),
    inside: *const c_void,
    outside: *const c_void,
    writes: u32,
}

// SAFETY: the pointers are to memory of the operation, all of it atomic, which outlives the threads that work on it.
unsafe impl Send for Given {}

/// Does the work behind a pointer of [`Given`].
unsafe extern "C" fn run_task(task: *const c_void) {
    // SAFETY: the loops pass on the pointer from the operation, to a task that lives as long as the operation.
    unsafe { &*task.cast::<Task>() }.run();
}

type Repeat = unsafe extern "C-unwind" fn(*const Given, u64);
type Look = unsafe extern "C-unwind" fn(*mut c_void) -> u64;
type Window = unsafe extern "C-unwind" fn(*const Given, Look, *mut c_void, u64);
type Once = unsafe extern "C-unwind" fn(*const Given);
type Verify = unsafe extern "C-unwind" fn(*const Given) -> i32;

/// The functions of `loops.h`, by the copies of the operation besides its context.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Loops {
    repeat: [Repeat; 3],
    window: [Window; 3],
    execute: Once,
    stress: Repeat,
    begin: Once,
    verify: Verify,
}

impl Loops {
    /// Loads a compiled operation and never unloads it: its threads may never return.
    ///
    /// # Errors
    /// The loader's error: a function that the source calls may be in no library.
    pub(super) fn load(file: &Path) -> Result<&'static Self, String> {
        forks::limit();
        // SAFETY: initializers of a library run here. They are the user's own, in the process that runs the rest of it.
        let loaded = undisturbed(|| unsafe { Library::new(file) });
        let library = loaded.map_err(|error| unloaded(&error))?;
        // SAFETY: the type is that of `loops.h`, which is in every such library.
        let loops = unsafe { library.get::<unsafe extern "C" fn() -> &'static Self>(b"syncscope_loops\0") };
        // SAFETY: as above.
        let loops = unsafe { loops.map_err(|error| unloaded(&error))?() };
        std::mem::forget(library);
        Ok(loops)
    }

    /// The addresses of the machine code of baseline and test.
    pub(super) fn functions(&self) -> LoopFunctions {
        LoopFunctions { baseline: self.repeat[0] as usize, test: self.repeat[1] as usize, unroll: UNROLL }
    }

    /// Ends this process if the operation forked it. Called where the operation returns.
    fn end_child(&self) {
        forks::end_child(self.functions().baseline);
    }

    /// The addresses for threads that are timed in a window.
    pub(super) fn in_window(&self) -> LoopFunctions {
        LoopFunctions { baseline: self.window[0] as usize, test: self.window[1] as usize, unroll: TURN }
    }
}

/// The remedy where the compiled code may not run.
pub(super) const NOEXEC: &str =
    " (its file system may be mounted noexec: set TMPDIR to a folder in which programs may run)";

/// Why a compiled operation cannot be loaded: libloading says only which call failed; its source says why.
fn unloaded(error: &libloading::Error) -> String {
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let remedy = match &*reason {
        reason if reason.contains("failed to map segment") => NOEXEC,
        reason if reason.contains("cannot open shared object file") => {
            " (name its folder in CC or CXX with -LFOLDER, or in LD_LIBRARY_PATH)"
        }
        _ => "",
    };
    format!("the compiled operation cannot be loaded: {reason}{remedy}")
}

/// A line of memory.
type CacheLine = CachePadded<[AtomicU64; 16]>;

/// The length of a line in bytes.
const LINE: usize = size_of::<CacheLine>();

/// Lines before those of `me->memory`.
const BEFORE_MEMORY: usize = 3;

/// Lines of `me->memory`.
const MEMORY_LINES: usize = 4096 / LINE;

/// Each slot holds `x`, the counter of a lock, the barrier of the team, the data of a message, the memory of all threads, and the
/// elements of each thread.
pub(super) struct OwnLoop {
    loops: &'static Loops,
    lines: Pages<CacheLine>,
    per_slot: usize,
    /// Bytes from the element of a thread to the next.
    distance: usize,
    threads: u32,
    dtype: Dtype,
    check: Option<OwnCheck>,
    is_shared: bool,
    /// Whether the operation is a lock that admits several threads.
    admits_several: bool,
    role: Option<LockRole>,
    work: Option<Arc<LockWork>>,
}

impl OwnLoop {
    pub(super) fn new(
        loops: &'static Loops,
        case: &Case,
        (check, admits_several): (Option<OwnCheck>, bool),
        work: Option<Arc<LockWork>>,
    ) -> Option<Self> {
        let (dtype, threads) = (case.dtype.unwrap_or(Dtype::I32), case.threads?);
        let stride = case.layout.and_then(Layout::stride).map(|stride| stride as usize);
        let distance = stride.map_or(LINE, |stride| stride * dtype.size_bytes());
        let per_slot = BEFORE_MEMORY + MEMORY_LINES + (threads as usize * distance).div_ceil(LINE);
        let line = |_| CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0)));
        let lines = Pages::filled(SLOTS * per_slot, line);
        let (is_shared, role) = (stride.is_none(), LockRole::of(case));
        Some(Self { loops, lines, per_slot, distance, threads, dtype, check, is_shared, admits_several, role, work })
    }

    fn slot(&self, slot: usize) -> &[CacheLine] {
        &self.lines[slot * self.per_slot..(slot + 1) * self.per_slot]
    }

    fn given(&self, slot: usize, thread: usize, executed: u64) -> Given {
        let lines = self.slot(slot);
        let work = self.work.as_deref();
        let task = |task: Option<&Task>| task.map_or(ptr::null(), |task| ptr::from_ref(task).cast());
        let elements: *const c_void = lines[BEFORE_MEMORY + MEMORY_LINES..].as_ptr().cast();
        Given {
            x: &raw const lines[0][0],
            mine: elements.wrapping_byte_add(thread * self.distance),
            memory: lines[BEFORE_MEMORY].as_ptr(),
            counter: if self.check == Some(OwnCheck::Message) || self.admits_several {
                &raw const lines[2][0]
            } else {
                &raw const lines[0][1]
            },
            meeting: lines[1].as_ptr(),
            number: thread as u32,
            threads: self.threads,
            executed,
            work: run_task,
            inside: task(work.map(|work| &work.inside)),
            outside: task(work.map(|work| &work.outside[thread])),
            writes: self.role.is_some_and(|role| roles::writes(role, thread)).into(),
        }
    }

    /// What a variable of the operation's type holds, as an integer.
    fn value(&self, variable: *const c_void) -> f64 {
        // SAFETY: it is in `lines` and aligned to its size, and all accesses to it are atomic or over.
        let narrow = || unsafe { &*variable.cast::<AtomicU32>() }.load(Ordering::Relaxed);
        // SAFETY: as above.
        let wide = || unsafe { &*variable.cast::<AtomicU64>() }.load(Ordering::Relaxed);
        match self.dtype {
            Dtype::I32 | Dtype::U32 => narrow().into(),
            Dtype::F32 => f32::from_bits(narrow()).into(),
            Dtype::U64 => wide() as f64,
            Dtype::F64 => f64::from_bits(wide()),
        }
    }

    /// Checks that no addition of writers beside readers is lost.
    fn check_written(&self, slot: usize) -> Result<(), String> {
        // `syncscope_guarded` in `functions.h`.
        let [found, expected] = [0, 7].map(|word| self.slot(slot)[2][word].load(Ordering::Relaxed));
        if found == expected { Ok(()) } else { Err(format!("{expected} additions of the writers made {found}")) }
    }

    /// Checks that what each thread counted, or all threads together, is in memory.
    fn check_counts(&self, slot: usize, executed: u64) -> Result<(), String> {
        let counts = |found: f64, operations: u64| {
            // Integers of 32 bits wrap around.
            let expected = if self.dtype.size_bytes() == 4 { f64::from(operations as u32) } else { operations as f64 };
            let same = (found - expected).abs() < 0.5;
            if same { Ok(()) } else { Err(format!("expected {expected} in the variable, found {found}")) }
        };
        let given = |thread| self.given(slot, thread, 0);
        match self.check {
            Some(OwnCheck::Lock) if self.admits_several => {
                // `syncscope_guarded` in `functions.h`.
                let [torn, alone] = [2, 6].map(|word| self.slot(slot)[2][word].load(Ordering::Relaxed));
                if torn > 0 {
                    return Err(format!("{torn} readers saw what a writer had begun and not ended"));
                }
                let reason = "no second thread got in while one was inside: a lock that admits one is written as `acquire` \
                              and `release`";
                if alone == 0 { Ok(()) } else { Err(reason.to_owned()) }
            }
            Some(OwnCheck::Lock) => {
                let found = self.slot(slot)[0][1].load(Ordering::Relaxed);
                let lost = format!(
                    "expected {executed} additions under the lock, found {found} (a lock that admits several, as of readers, is \
                     written as `acquire_shared` and `release_shared`)"
                );
                if found == executed { Ok(()) } else { Err(lost) }
            }
            Some(OwnCheck::Message) => match self.slot(slot)[2][1].load(Ordering::Relaxed) {
                0 => Ok(()),
                missed => Err(format!("{missed} messages came before the data that were written before them")),
            },
            Some(OwnCheck::Counter) if self.is_shared => counts(self.value(given(0).x.cast()), executed),
            Some(OwnCheck::Counter) => {
                let all: f64 = (0..self.threads as usize).map(|thread| self.value(given(thread).mine)).sum();
                counts(all, executed)
            }
            Some(OwnCheck::Barrier) | None => Ok(()),
        }
    }
}

impl Operation for OwnLoop {
    type Local<'a> = (&'static Loops, Given);

    fn local(&self, slot: usize, thread: usize) -> Self::Local<'_> {
        (self.loops, self.given(slot, thread, 0))
    }

    fn execute((loops, given): &mut Self::Local<'_>) {
        // SAFETY: the function is in a library that stays loaded; what it does is the user's.
        unsafe { (loops.execute)(given) };
        loops.end_child();
    }

    fn repeat<const COPIES: u32>((loops, given): Self::Local<'_>, iterations: u64) {
        // SAFETY: as above.
        unsafe { (loops.repeat[COPIES as usize])(&raw const given, iterations) };
        loops.end_child();
    }

    fn repeat_in_window<W: Turns, const COPIES: u32>((loops, given): Self::Local<'_>, watch: &mut W) {
        unsafe extern "C-unwind" fn look<W: Turns>(watch: *mut c_void) -> u64 {
            if forks::is_child() {
                return 0;
            }
            // SAFETY: the pointer is to the watch of the call below, which nothing else uses meanwhile.
            unsafe { &mut *watch.cast::<W>() }.look()
        }
        let first = watch.first();
        let watch: *mut W = watch;
        // SAFETY: as above; the loop calls `look` with this watch and nothing else.
        unsafe { (loops.window[COPIES as usize])(&raw const given, look::<W>, watch.cast(), first) };
        loops.end_child();
    }

    /// Clears the slot and runs the setup, in the first thread.
    fn prepare(&self, slot: usize, thread: usize) {
        if let Some(work) = &self.work {
            work.prepare(thread);
        }
        if thread != 0 {
            return;
        }
        for word in self.slot(slot).iter().flat_map(|line| line.iter()) {
            word.store(0, Ordering::Relaxed);
        }
        let given = self.given(slot, 0, 0);
        // SAFETY: as above.
        unsafe { (self.loops.begin)(&raw const given) };
    }

    fn verify(&self, slot: usize, thread: usize, executed: Executed) -> Result<(), String> {
        self.work.as_ref().map_or(Ok(()), |work| work.verify(thread, executed))?;
        if thread != 0 {
            return Ok(());
        }
        if forks::has_child_returned(self.loops.functions().baseline) {
            return Err(forks::CHILD_RETURNED.to_owned());
        }
        let all = executed.by_all(self.threads);
        match self.role {
            // Operations that are timed one by one are not counted.
            Some(_) if all == 0 => return Ok(()),
            Some(_) => self.check_written(slot)?,
            None => {}
        }
        self.check_counts(slot, all)?;
        let given = self.given(slot, 0, all);
        // SAFETY: as above.
        match unsafe { (self.loops.verify)(&raw const given) } {
            0 => Err("check() returned 0".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The operation of a slot as a barrier, for the proof that nobody leaves it early.
pub(super) struct OwnBarrier {
    operation: Arc<OwnLoop>,
    slot: usize,
}

impl OwnBarrier {
    /// The barriers of all slots.
    pub(super) fn of_all(operation: &Arc<OwnLoop>) -> Pages<CachePadded<Self>> {
        let of = |slot| {
            // The proof is the first to use the slot, or follows samples that left the barrier as it was.
            operation.prepare(slot, 0);
            CachePadded::new(Self { operation: Arc::clone(operation), slot })
        };
        Pages::filled(SLOTS, of)
    }
}

impl Barrier for OwnBarrier {
    type Local = Given;

    fn join(&self, thread: usize) -> Given {
        self.operation.given(self.slot, thread, 0)
    }

    fn wait(&self, given: &mut Given) -> Result<(), WaitTimeout> {
        // SAFETY: as in the loops.
        unsafe { (self.operation.loops.execute)(given) };
        self.operation.loops.end_child();
        Ok(())
    }
}

/// The operation of the first slot as a wait of one thread for another.
pub(super) struct OwnWait(OwnLoop);

impl OwnWait {
    pub(super) fn of(operation: OwnLoop) -> Self {
        operation.prepare(0, 0);
        Self(operation)
    }

    fn execute(&self, thread: usize, number: u32) {
        let given = self.0.given(0, thread, number.into());
        // SAFETY: as in the loops.
        unsafe { (self.0.loops.execute)(&raw const given) };
        self.0.loops.end_child();
    }
}

impl Way for OwnWait {
    fn sleep(&self, number: u32) -> Result<(), WaitTimeout> {
        self.execute(1, number);
        Ok(())
    }

    fn wake(&self, number: u32) {
        self.execute(0, number);
    }
}

/// The operation of a slot as a lock that is held for longer than in the timed loops, for a different time in each use.
pub(super) struct StressedLock(pub(super) Arc<OwnLoop>);

impl Body for StressedLock {
    fn prepare(&self, shot: &Shot, thread: usize) {
        self.0.prepare(slot_of(shot.pair), thread);
    }

    fn run(&self, shot: &Shot, thread: usize) {
        let given = self.0.given(slot_of(shot.pair), thread, 0);
        // SAFETY: as in the loops.
        unsafe { (self.0.loops.stress)(&raw const given, shot.iterations) };
        self.0.loops.end_child();
    }

    fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
        let all = shot.iterations * u64::from(self.0.threads);
        if thread == 0 { self.0.check_counts(slot_of(shot.pair), all) } else { Ok(()) }
    }
}
