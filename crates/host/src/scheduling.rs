//! How the operating system schedules the calling thread: which CPUs it may use, on which one it runs, its priority, and
//! how often it was interrupted.

use std::io;
use std::mem::{self, size_of_val};

use crate::cpu_list::{self, MAX_CPUS};
use crate::done;

/// A set of CPUs. `cpu_set_t` of the C library has room for 1,024; the kernel takes more.
type Mask = [u64; MAX_CPUS as usize / 64];

const NO_CPU: Mask = [0; MAX_CPUS as usize / 64];

/// The CPUs that the calling thread may use, in ascending order; empty where the system does not say.
///
/// Call it before the thread is bound: afterwards only the CPUs of the binding are left.
pub fn allowed_cpus() -> Vec<u32> {
    // The mask of core_affinity ends at 1,024 CPUs; on larger systems its call fails, and the mask of this module is used.
    let known = core_affinity::get_core_ids();
    let known = known.map(|cores| cores.iter().filter_map(|core| u32::try_from(core.id).ok()).collect());
    known.or_else(|| current_mask().as_ref().map(cpus_in)).unwrap_or_default()
}

/// How many threads this process has; `None` where the system does not say.
pub fn threads_of_process() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

/// Binds the calling thread to these CPUs.
///
/// # Errors
/// The operating system's error (`EINVAL`: none of the CPUs exists or may be used).
pub fn bind_to(cpus: &[u32]) -> io::Result<()> {
    let mut mask = NO_CPU;
    for cpu in cpus {
        let word = mask.get_mut(*cpu as usize / 64).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (cpu % 64);
    }
    set_mask(&mask)
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// As [`bind_to`].
pub fn bind_to_one(cpu: u32) -> io::Result<()> {
    // The mask of core_affinity ends at 1,024 CPUs, and it does not say why a binding fails: then the mask of this module is
    // used.
    let id = cpu as usize;
    let bound = id < libc::CPU_SETSIZE as usize && core_affinity::set_for_current(core_affinity::CoreId { id });
    if bound { Ok(()) } else { bind_to(&[cpu]) }
}

/// The number of the calling thread.
pub fn current_thread() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Gives a thread of this process idle priority (`SCHED_IDLE`, `sched(7)`): it runs where no other thread wants the CPU.
///
/// # Errors
/// The operating system's error, where it refuses or has no such priority.
pub fn lower_to_idle_priority(thread: i32) -> io::Result<()> {
    // The C library of musl refuses this call, and its `sched_param` is longer than the kernel's, which is one number.
    // The priority within `SCHED_IDLE` has to be 0.
    let priority: libc::c_int = 0;
    // SAFETY: the pointer is to the kernel's `sched_param` on this thread's stack, which the call only reads.
    done(unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, libc::SCHED_IDLE, &raw const priority) }
        as libc::c_int)
}

/// The CPU that the calling thread runs on now; `None` where the system does not say.
#[inline]
pub fn current_cpu() -> Option<u32> {
    // SAFETY: the call takes nothing and returns a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// How often the operating system has taken the CPU away from the calling thread so far.
#[inline]
pub fn involuntary_switches() -> i64 {
    // SAFETY: all zeroes are a valid `rusage`, a struct of integers.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a `rusage` on this thread's stack, which the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nivcsw
}

/// The CPUs of a thread, to be restored after others are forced on it: by `taskset -p`, a daemon, a cpuset that shrinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSet(Mask);

impl CpuSet {
    /// The CPUs that the calling thread may use now; `None` where the system does not say.
    pub fn of_this_thread() -> Option<Self> {
        current_mask().map(Self)
    }

    /// Whether the calling thread may use exactly these CPUs.
    pub fn is_of_this_thread(&self) -> bool {
        current_mask().as_ref() == Some(&self.0)
    }

    /// Gives the calling thread these CPUs again, if it has others.
    ///
    /// # Errors
    /// The operating system's error, or that some of the CPUs may not be used any more.
    pub fn restore(&self) -> io::Result<()> {
        if self.is_of_this_thread() {
            return Ok(());
        }
        set_mask(&self.0)?;
        // The kernel leaves out, without an error, CPUs that the control group does not have.
        let left = current_mask().unwrap_or(NO_CPU);
        if left == self.0 {
            return Ok(());
        }
        let [left, all] = [&left, &self.0].map(|mask| cpu_list::format(&cpus_in(mask)));
        Err(io::Error::other(format!("of CPUs {all}, only {left} may still be used")))
    }
}

/// Gives the calling thread its CPUs back when it is dropped, which has to be on the same thread.
#[derive(Debug)]
pub struct AffinityGuard(Option<Mask>);

impl AffinityGuard {
    /// Remembers which CPUs the thread may use now. Where the system does not say, nothing is restored.
    pub fn save() -> Self {
        Self(current_mask())
    }

    /// Binds the thread to one CPU. Where that fails, the thread stays where it is: its figures are noisier, not wrong.
    pub fn bind_to(cpu: u32) -> Self {
        let saved = Self::save();
        // The comment above says what a failure means.
        let _ = bind_to_one(cpu);
        saved
    }

    /// Keeps the thread off these CPUs, unless it may use no others.
    pub fn keep_off(cpus: &[u32]) -> Self {
        let saved = Self::save();
        let others: Vec<u32> = saved.cpus().into_iter().filter(|cpu| !cpus.contains(cpu)).collect();
        if !others.is_empty() {
            // As in `bind_to`.
            let _ = bind_to(&others);
        }
        saved
    }

    /// The CPUs that the thread gets back.
    fn cpus(&self) -> Vec<u32> {
        self.0.as_ref().map(cpus_in).unwrap_or_default()
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        // Fails only if the control group has lost all of these CPUs; the system has then chosen others.
        let _ = self.0.as_ref().map(set_mask);
    }
}

/// Whether the system says which CPUs a thread may use. A filter of system calls may refuse to.
pub fn tells_allowed_cpus() -> bool {
    current_mask().is_some()
}

fn current_mask() -> Option<Mask> {
    let mut mask = NO_CPU;
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call fills; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (result >= 0).then_some(mask)
}

fn set_mask(mask: &Mask) -> io::Result<()> {
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call only reads; 0 is the calling thread.
    done(unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) })
}

fn cpus_in(mask: &Mask) -> Vec<u32> {
    let bits = (0_u32..).zip(mask).flat_map(|(word, bits)| (0..64).map(move |bit| (64 * word + bit, bits >> bit & 1)));
    bits.filter(|(_, is_set)| *is_set == 1).map(|(cpu, _)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a test on a thread of its own, so that its affinity concerns no other test.
    fn on_a_new_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_bound_thread_stays_on_its_cpu() {
        on_a_new_thread(|| {
            let cpu = current_cpu().unwrap();
            for bind in [|cpu| bind_to(&[cpu]), bind_to_one] {
                bind(cpu).unwrap();
                assert_eq!((current_cpu(), allowed_cpus()), (Some(cpu), vec![cpu]));
            }
        });
    }

    #[test]
    fn a_guard_gives_the_cpus_back() {
        on_a_new_thread(|| {
            let before = allowed_cpus();
            let first = *before.first().unwrap();
            {
                let _saved = AffinityGuard::save();
                bind_to(&[first]).unwrap();
                assert_eq!(allowed_cpus(), [first]);
            }
            assert_eq!(allowed_cpus(), before);
            {
                let _bound = AffinityGuard::bind_to(first);
                assert_eq!(allowed_cpus(), [first]);
                let _elsewhere = AffinityGuard::keep_off(&[first]);
                assert_eq!(allowed_cpus(), [first], "there is no other CPU");
            }
            assert_eq!(allowed_cpus(), before);
            let elsewhere = AffinityGuard::keep_off(&[first]);
            assert!(before.len() == 1 || !allowed_cpus().contains(&first));
            drop(elsewhere);
            assert_eq!(allowed_cpus(), before);
        });
    }

    #[test]
    fn a_thread_returns_to_its_cpus() {
        on_a_new_thread(|| {
            let (all, set) = (allowed_cpus(), CpuSet::of_this_thread().unwrap());
            set.restore().unwrap();
            bind_to(&all[..1]).unwrap();
            assert_eq!(set.is_of_this_thread(), all.len() == 1);
            set.restore().unwrap();
            assert!(set.is_of_this_thread() && allowed_cpus() == all);
            // A set with a CPU that does not exist, as after a cpuset has shrunk.
            let mut larger = set;
            larger.0[MAX_CPUS as usize / 64 - 1] |= 1 << 63;
            let error = larger.restore().unwrap_err().to_string();
            assert!(error.contains(&format!("only {} may still be used", cpu_list::format(&all))), "{error}");
        });
    }

    #[test]
    fn cpus_that_do_not_exist_are_an_error() {
        on_a_new_thread(|| {
            for cpu in [16_000, u32::MAX] {
                assert_eq!(bind_to(&[cpu]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
                assert_eq!(bind_to_one(cpu).unwrap_err().raw_os_error(), Some(libc::EINVAL));
            }
            let before = allowed_cpus();
            let _unbound = AffinityGuard::bind_to(16_000);
            assert_eq!(allowed_cpus(), before);
        });
    }

    #[test]
    fn a_thread_of_idle_priority_has_that_policy() {
        on_a_new_thread(|| {
            // SAFETY: the call takes a number and returns one; 0 is the calling thread.
            let policy = || unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
            let before = policy();
            match lower_to_idle_priority(current_thread()) {
                Ok(()) => assert_eq!(policy(), libc::c_long::from(libc::SCHED_IDLE)),
                Err(_) => assert_eq!(policy(), before, "a refusal changes nothing"),
            }
        });
    }

    #[test]
    fn masks_are_lists_of_cpus() {
        let mut mask = NO_CPU;
        (mask[0], mask[1]) = (0b1001, 1 << 63);
        assert_eq!(cpus_in(&mask), [0, 3, 127]);
    }
}
