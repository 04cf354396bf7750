//! Processes that foreign code forks in this one.
//!
//! A child that returns from such code continues as this process does, and the code that it calls again forks again, without end.
//! Hence a child ends where the foreign code returns ([`end_child`]), and a great-grandchild ends at once. A child that ends by
//! itself, replaces its program or forks once more, as a daemon does, is left alone.
//!
//! `pthread_atfork` handlers miss `_Fork` and direct system calls. A page that the kernel wipes in every copy of a process
//! catches these, but counts no generations. A child of `vfork` shares the page: nothing tells it from this process.

use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit_at_once;
use crate::shared_memory::SharedMemory;

/// The message where [`has_child_returned`].
pub const CHILD_RETURNED: &str =
    "it forks a process that returns from it; the child must end inside it (`_exit`, `exec`)";

/// The most forks that may lead to a process.
const GENERATIONS: u32 = 2;

/// The number of forks between the process that called [`limit`] and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A word that is nonzero only in the process that called [`limit`]; null where the system has no such pages.
static ORIGINAL: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// Whether this process has forked since [`has_child_returned`] was asked.
static HAS_FORKED: AtomicBool = AtomicBool::new(false);

/// How long a child may take to return: it shares the CPU of the thread that forked it.
const PATIENCE: Duration = Duration::from_millis(200);

/// The address of the code from which a child returned last: a word that all processes share.
static RETURNED: OnceLock<Option<SharedMemory>> = OnceLock::new();

/// Limits the processes that this one forks from now on. Call it before foreign code is loaded.
pub fn limit() {
    RETURNED.get_or_init(|| {
        // SAFETY: the handlers write atomic words, and one makes a system call, as it may after `fork`.
        unsafe { libc::pthread_atfork(None, Some(in_parent), Some(in_child)) };
        mark_original();
        SharedMemory::create(size_of::<AtomicUsize>()).ok()
    });
}

fn mark_original() {
    const BYTES: usize = size_of::<AtomicU32>();
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the system chooses where the new page is, which nothing else uses and which stays.
    unsafe {
        let page = libc::mmap(null_mut(), BYTES, access, flags, -1, 0);
        if page != libc::MAP_FAILED && libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) == 0 {
            let word = page.cast::<AtomicU32>();
            (*word).store(1, Ordering::Relaxed);
            ORIGINAL.store(word, Ordering::Relaxed);
        }
    }
}

/// Whether foreign code may have run in this process.
pub(crate) fn are_limited() -> bool {
    RETURNED.get().is_some()
}

extern "C" fn in_parent() {
    HAS_FORKED.store(true, Ordering::Relaxed);
}

extern "C" fn in_child() {
    if GENERATION.fetch_add(1, Ordering::Relaxed) >= GENERATIONS {
        exit_at_once(0);
    }
}

/// Ends this process if foreign code forked it. Call it where the code at this address returns.
#[inline]
pub fn end_child(code: usize) {
    if is_child() {
        end_returned(code);
    }
}

/// Whether foreign code forked this process.
#[inline]
pub fn is_child() -> bool {
    // SAFETY: the page stays, begins with the word and is only used as an atomic one.
    let original = unsafe { ORIGINAL.load(Ordering::Relaxed).as_ref() };
    GENERATION.load(Ordering::Relaxed) > 0 || original.is_some_and(|word| word.load(Ordering::Relaxed) == 0)
}

#[cold]
fn end_returned(code: usize) {
    if let Some(returned) = returned() {
        returned.store(code, Ordering::Relaxed);
    }
    exit_at_once(0);
}

/// Whether a child has returned from the code at this address. After a fork it waits a moment, as the child may not have run yet.
pub fn has_child_returned(code: usize) -> bool {
    let has_returned = || returned().is_some_and(|returned| returned.load(Ordering::Relaxed) == code);
    let until = HAS_FORKED.swap(false, Ordering::Relaxed).then(|| Instant::now() + PATIENCE);
    while !has_returned() && until.is_some_and(|until| Instant::now() < until) {
        thread::sleep(Duration::from_millis(1));
    }
    has_returned()
}

fn returned() -> Option<&'static AtomicUsize> {
    // SAFETY: the memory stays, begins a page and holds a word that is only used as an atomic one.
    RETURNED.get()?.as_ref().map(|memory| unsafe { memory.first().cast::<AtomicUsize>().as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `in_child` in a forked child, which ends here.
    fn forked(in_child: impl FnOnce()) {
        // SAFETY: the child makes system calls, uses atomic words, and ends.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0, "the system forks no process");
            if child == 0 {
                in_child();
                exit_at_once(0);
            }
            assert_eq!(libc::waitpid(child, null_mut(), 0), child);
        }
    }

    #[test]
    fn children_that_return_and_great_grandchildren_end() {
        limit();
        let memory = SharedMemory::create(4 * size_of::<AtomicU32>()).unwrap();
        // SAFETY: as in `returned`; the words are those of the memory.
        let words: &[AtomicU32; 4] = unsafe { memory.first().cast().as_ref() };
        let note = |at: usize| words[at].store(1, Ordering::Relaxed);
        let noted = || words.each_ref().map(|word| word.load(Ordering::Relaxed));
        forked(|| {
            note(0);
            forked(|| {
                note(1);
                forked(|| note(2));
            });
        });
        assert_eq!(noted(), [1, 1, 0, 0], "the third fork leads nowhere");
        assert!(!has_child_returned(7));
        end_child(7);
        forked(|| {
            end_child(7);
            note(3);
        });
        assert_eq!(noted(), [1, 1, 0, 0], "a child that returns ends");
        assert!(has_child_returned(7) && !has_child_returned(8));
        assert!(!is_child());
        // SAFETY: as in `forked`.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0, "the system forks no process");
            if child == 0 {
                thread::sleep(Duration::from_millis(20));
                end_child(9);
                exit_at_once(0);
            }
            assert!(has_child_returned(9), "a child that has not run yet");
            assert_eq!(libc::waitpid(child, null_mut(), 0), child);
        }
        // SAFETY: as in `forked`; the system call copies the process as `fork` does.
        unsafe {
            let child = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t;
            assert!(child >= 0, "the system copies no process");
            if child == 0 {
                end_child(8);
                exit_at_once(0);
            }
            assert_eq!(libc::waitpid(child, null_mut(), 0), child);
        }
        assert!(has_child_returned(8), "what no handler sees");
    }
}
