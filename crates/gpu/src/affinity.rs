//! On which CPUs a thread runs: what takes part in a measurement stays where it is, and nothing else gets in its way.

use std::io;
use std::mem::size_of_val;

/// A set of 16,384 CPUs: more than the 1,024 of `cpu_set_t`, as many as Linux is ever built for.
type Mask = [u64; 256];

const NO_CPU: Mask = [0; 256];

/// The CPUs that the calling thread may use; empty where the system does not tell.
pub(crate) fn allowed() -> Vec<u32> {
    current_mask().as_ref().map(cpus_in).unwrap_or_default()
}

/// Binds the calling thread to some CPUs.
///
/// # Errors
/// What the operating system says (`EINVAL`: there are no such CPUs, or they may not be used).
pub(crate) fn bind_to(cpus: &[u32]) -> io::Result<()> {
    let mut mask = NO_CPU;
    for cpu in cpus {
        let word = mask.get_mut(*cpu as usize / 64).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (cpu % 64);
    }
    set_mask(&mask)
}

/// The CPU the calling thread runs on at this moment; `None` where the system does not tell.
pub(crate) fn current_cpu() -> Option<u32> {
    // SAFETY: the call takes nothing and returns a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// How often the operating system took the CPU away from the calling thread so far.
pub(crate) fn involuntary_switches() -> i64 {
    // SAFETY: all zeroes are a valid `rusage`, a struct of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `rusage` on this thread's stack, which the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nivcsw
}

/// The calling thread on other CPUs than before. It gets those back when this is dropped, on the same thread.
#[derive(Debug)]
pub(crate) struct Restrained(Option<Mask>);

impl Restrained {
    /// On this CPU alone, where the system lets it.
    pub(crate) fn to(cpu: u32) -> Self {
        Self::after(|_| vec![cpu])
    }

    /// Away from these CPUs, unless it may use no others.
    pub(crate) fn away_from(cpus: &[u32]) -> Self {
        Self::after(|before| before.into_iter().filter(|cpu| !cpus.contains(cpu)).collect())
    }

    /// A thread that cannot be moved stays where it is: that makes the figures noisier, not wrong.
    fn after(choose: impl FnOnce(Vec<u32>) -> Vec<u32>) -> Self {
        let Some(before) = current_mask() else { return Self(None) };
        let chosen = choose(cpus_in(&before));
        let moved = !chosen.is_empty() && bind_to(&chosen).is_ok();
        Self(moved.then_some(before))
    }
}

impl Drop for Restrained {
    fn drop(&mut self) {
        // It fails only if the control group took all of these CPUs away meanwhile; the system has then chosen others.
        let _ = self.0.as_ref().map(set_mask);
    }
}

fn current_mask() -> Option<Mask> {
    let mut mask = NO_CPU;
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call fills; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (result >= 0).then_some(mask)
}

fn set_mask(mask: &Mask) -> io::Result<()> {
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call only reads; 0 is the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn cpus_in(mask: &Mask) -> Vec<u32> {
    let bits = (0_u32..).zip(mask).flat_map(|(word, bits)| (0..64).map(move |bit| (64 * word + bit, bits >> bit & 1)));
    bits.filter(|(_, is_set)| *is_set == 1).map(|(cpu, _)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_thread_of_its_own(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_thread_comes_back_to_where_it_may_be() {
        on_a_thread_of_its_own(|| {
            let before = allowed();
            let first = *before.first().unwrap();
            {
                let _only = Restrained::to(first);
                assert_eq!(allowed(), [first]);
                let _nowhere = Restrained::away_from(&[first]);
                assert_eq!(allowed(), [first], "there is no other");
            }
            assert_eq!(allowed(), before);
            let away = Restrained::away_from(&[first]);
            assert!(before.len() == 1 || !allowed().contains(&first));
            drop(away);
            assert_eq!(allowed(), before);
        });
    }

    #[test]
    fn cpus_that_do_not_exist_are_an_error() {
        on_a_thread_of_its_own(|| {
            for cpu in [16_000, u32::MAX] {
                assert_eq!(bind_to(&[cpu]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
            }
            let before = allowed();
            let _stays = Restrained::to(16_000);
            assert_eq!(allowed(), before);
        });
    }

    #[test]
    fn masks_are_lists_of_cpus() {
        let mut mask = NO_CPU;
        (mask[0], mask[1]) = (0b1001, 1 << 63);
        assert_eq!(cpus_in(&mask), [0, 3, 127]);
    }
}
