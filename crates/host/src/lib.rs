//! Calls to the operating system that both hardware crates need, with their `unsafe` code in one place.
//!
//! - [`scheduling`]: the calling thread's CPUs, its priority and its context switches. Start here.
//! - [`clock`]: the raw monotonic clock.
//! - [`descriptors`]: event counters and waiting for a descriptor.
//! - [`futex`]: sleeping on a word of memory, and waking the sleeper.
//! - [`ring`]: sleeping until a request to the kernel is done.
//! - [`membarrier`]: a memory barrier on all threads of the process.
//! - [`shared_memory`]: memory that several processes map.
//! - [`functions!`]: functions of a library that is loaded at run time; [`loading`]: loading it without what its initializers change.
//! - [`child_process`]: what a child gets from its parent, and how both end.
//! - [`end`]: how a child ended, and whether by what it did.
//! - [`forks`]: what foreign code forks.
//! - [`guard`]: a child that ends with this process, and with it all that it started.
//! - [`limits`]: what the system takes away from a process.
//! - [`cpu_list`]: lists of CPUs as Linux writes them, `0-3,8`.
//! - [`c_library_version`]: the C library that this program runs with; [`file_of`], [`name_of`]: the file of any loaded library, the
//!   name of a place in it.
//! - [`file_hash`], [`content_hash`]: the identity of a file's content, or of bytes.
//! - [`cache_folder`]: where the user's programs keep what they can make again.
//! - [`trust`]: which files code may be loaded from; [`search_paths`]: no list of folders leads to the working folder.
//! - [`this_program`], [`program_identity`]: the file that runs, whatever its path names by now.
//! - [`exit_at_once`]: the end of this process without its exit handlers.
//!
//! This crate knows nothing of measurements and depends on no other crate of syncscope.

pub mod child_process;
pub mod clock;
pub mod cpu_list;
pub mod descriptors;
pub mod end;
pub mod forks;
pub mod futex;
pub mod guard;
pub mod limits;
pub mod loading;
pub mod membarrier;
pub mod ring;
pub mod scheduling;
pub mod search_paths;
pub mod shared_memory;
pub mod trust;

mod functions;
mod program;

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

pub use program::{
    c_library_version, cache_folder, content_hash, exit_at_once, file_hash, file_of, is_emulator, name_of,
    program_identity, state_folder, this_program,
};

/// The error of a call that says -1 where it fails.
fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The descriptor that a call has opened, or the error of one that says -1.
///
/// # Safety
/// The kernel has just opened it, and nothing else owns it.
unsafe fn opened(descriptor: libc::c_int) -> io::Result<OwnedFd> {
    done(descriptor)?;
    // SAFETY: the caller's.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
