//! Loads foreign libraries and undoes what their initializers change in this process, because such changes would affect
//! measurements: libgomp binds the thread that loads it, MPI libraries install signal handlers, code compiled with
//! `-ffast-math` flushes small numbers to zero.

use std::ffi::{CStr, CString, c_int};
use std::fs::File;
use std::mem::{self, MaybeUninit};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::ptr;

use crate::done;
use crate::scheduling::AffinityGuard;

/// Runs `load`, which runs foreign initializers, and restores what they changed: in the calling thread the CPUs, the signal
/// mask and the floating point mode; in the process the lowered limits, the handlers of signals that end or stop it, the
/// locale, the `umask` and the working folder.
pub fn undisturbed<T>(load: impl FnOnce() -> T) -> T {
    let _put_back = Saved::now();
    load()
}

/// Signals by which a terminal, a parent or the system ends, stops or informs a process. Handlers of others (timers, faults) may
/// be a library's own business.
const SIGNALS: [c_int; 11] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGTERM,
    libc::SIGCHLD,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

/// The number of limits (`RLIM_NLIMITS`).
const LIMITS: u32 = 16;

/// The state to restore when this value is dropped, which has to happen on the same thread.
struct Saved {
    _cpus: AffinityGuard,
    floating_point: FloatingPoint,
    blocked: libc::sigset_t,
    actions: Vec<(c_int, libc::sigaction)>,
    limits: Vec<(u32, libc::rlimit)>,
    locale: Option<CString>,
    umask: libc::mode_t,
    folder: Option<File>,
}

impl Saved {
    fn now() -> Self {
        let folder = File::options().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(".");
        // SAFETY: zeros are a valid set of signals, which the call fills; without a new set it changes nothing.
        let blocked = unsafe {
            let mut blocked = mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut blocked);
            blocked
        };
        Self {
            _cpus: AffinityGuard::save(),
            floating_point: FloatingPoint::now(),
            blocked,
            actions: SIGNALS.iter().filter_map(|signal| Some((*signal, action(*signal)?))).collect(),
            limits: (0..LIMITS).filter_map(|resource| Some((resource, limit(resource)?))).collect(),
            locale: locale(),
            umask: umask(),
            folder: folder.ok(),
        }
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        self.floating_point.put_back();
        // Where one of these calls fails, the library's setting stays; there is no other remedy.
        for (signal, saved) in &self.actions {
            // SAFETY: the action is one that the call has given before.
            unsafe { libc::sigaction(*signal, &raw const *saved, ptr::null_mut()) };
        }
        // SAFETY: the set is one that the call has given before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.blocked, ptr::null_mut()) };
        for (resource, saved) in &self.limits {
            // A limit that the library raised harms nothing, and the library may need it.
            if limit(*resource).is_some_and(|now| now.rlim_cur < saved.rlim_cur) {
                // SAFETY: the limit is on this thread's stack, and the call only reads it.
                unsafe { libc::setrlimit(*resource as _, &raw const *saved) };
            }
        }
        if let Some(saved) = self.locale.as_ref().filter(|saved| locale().as_ref() != Some(saved)) {
            // SAFETY: the name ends with a zero; threads that measure read no locale.
            unsafe { libc::setlocale(libc::LC_ALL, saved.as_ptr()) };
        }
        // SAFETY: the call takes a number.
        unsafe { libc::umask(self.umask) };
        if let Some(folder) = &self.folder {
            // SAFETY: the call takes a number.
            let _ = done(unsafe { libc::fchdir(folder.as_raw_fd()) });
        }
    }
}

pub(crate) fn action(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only fills the old one.
    done(unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) }).ok()?;
    // SAFETY: zeros are a valid value, and the call has filled it.
    Some(unsafe { action.assume_init() })
}

fn limit(resource: u32) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a structure on this thread's stack, which the call fills.
    done(unsafe { libc::getrlimit(resource as _, &raw mut limit) }).ok()?;
    Some(limit)
}

fn locale() -> Option<CString> {
    // SAFETY: without a name the call changes nothing and returns a text that ends with a zero and stays until the next call.
    let name = unsafe { libc::setlocale(libc::LC_ALL, ptr::null()) };
    // SAFETY: as above.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_owned())
}

/// Reads the `umask`, which no call does without setting it. A file that another thread makes in between is for its owner alone.
fn umask() -> libc::mode_t {
    // SAFETY: both calls take and return a number.
    unsafe {
        let now = libc::umask(0o077);
        libc::umask(now);
        now
    }
}

/// How the calling thread rounds, whether it flushes small numbers to zero, and which exceptions it masks.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct FloatingPoint {
    mxcsr: u32,
    x87: u16,
}

#[cfg(target_arch = "x86_64")]
impl FloatingPoint {
    /// The current mode.
    pub fn now() -> Self {
        let (mut mxcsr, mut x87) = (0_u32, 0_u16);
        // SAFETY: the instructions store two registers to the variables.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut x87, options(nostack, preserves_flags));
        }
        Self { mxcsr, x87 }
    }

    /// Restores this mode.
    pub fn put_back(&self) {
        let now = Self::now();
        if (now.mxcsr, now.x87) != (self.mxcsr, self.x87) {
            // SAFETY: the registers get values that they have had.
            unsafe {
                std::arch::asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) &raw const self.mxcsr, in(reg) &raw const self.x87, options(nostack, readonly, preserves_flags));
            }
        }
    }
}

/// How the calling thread rounds, whether it flushes small numbers to zero, and which exceptions it traps.
#[cfg(target_arch = "aarch64")]
#[derive(Debug)]
pub struct FloatingPoint(u64);

#[cfg(target_arch = "aarch64")]
impl FloatingPoint {
    /// The current mode.
    pub fn now() -> Self {
        let fpcr: u64;
        // SAFETY: the instruction reads a register.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        Self(fpcr)
    }

    /// Restores this mode.
    pub fn put_back(&self) {
        // SAFETY: the register gets a value that it has had.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.0, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;
    use crate::scheduling;

    /// `RLIMIT_MEMLOCK`, whose type differs between C libraries.
    const LOCKED_MEMORY: u32 = 8;

    /// Changes one thing of each kind that an initializer may change. `SIGTTIN` and a limit of locked memory concern no other
    /// test.
    fn change_everything(folder: &std::path::Path) {
        scheduling::bind_to_one(scheduling::current_cpu().unwrap()).unwrap();
        env::set_current_dir(folder).unwrap();
        // SAFETY: the calls take numbers, texts that end with a zero, and structures on this thread's stack.
        unsafe {
            let mut all = mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
            libc::signal(libc::SIGTTIN, libc::SIG_IGN);
            libc::umask(0o777);
            libc::setlocale(libc::LC_ALL, c"C.UTF-8".as_ptr());
            let hard = limit(LOCKED_MEMORY).unwrap().rlim_max;
            libc::setrlimit(libc::RLIMIT_MEMLOCK, &libc::rlimit { rlim_cur: 0, rlim_max: hard });
            #[cfg(target_arch = "x86_64")]
            std::arch::asm!("ldmxcsr [{}]", in(reg) &0xffc0_u32, options(nostack, readonly));
        }
    }

    /// The smallest normal number divided by two, at run time: zero where small numbers are flushed.
    fn half_of_the_smallest() -> f64 {
        std::hint::black_box(f64::MIN_POSITIVE) / std::hint::black_box(2.0)
    }

    fn state() -> impl PartialEq + std::fmt::Debug {
        // SAFETY: zeros are a valid set, which the call fills.
        let is_blocked = unsafe {
            let mut blocked = mem::zeroed();
            libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut blocked);
            libc::sigismember(&raw const blocked, libc::SIGUSR2)
        };
        let small = half_of_the_smallest() > 0.0;
        let handler = action(libc::SIGTTIN).unwrap().sa_sigaction;
        let locked = limit(LOCKED_MEMORY).unwrap().rlim_cur;
        (scheduling::allowed_cpus(), env::current_dir().unwrap(), is_blocked, small, handler, locked, locale(), umask())
    }

    #[test]
    fn an_initializer_that_changes_everything_changes_nothing() {
        let folder = env::temp_dir().join(format!("syncscope-loading-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let other = folder.clone();
        std::thread::spawn(move || {
            let before = state();
            assert_eq!(undisturbed(|| 7), 7);
            undisturbed(|| {
                change_everything(&other);
                assert_ne!(state(), before, "there is something to put back");
            });
            assert_eq!(state(), before);
        })
        .join()
        .unwrap();
        fs::remove_dir(&folder).unwrap();
    }
}
