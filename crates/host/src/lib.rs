//! Calls to the operating system that both hardware crates need, with their `unsafe` code in one place.
//!
//! - [`scheduling`]: the calling thread's CPUs, its priority and its context switches. Start here.
//! - [`clock`]: the raw monotonic clock.
//! - [`descriptors`]: event counters and waiting for a descriptor.
//! - [`futex`]: sleeping on a word of memory, and waking the sleeper.
//! - [`ring`]: sleeping until a request to the kernel is done.
//! - [`membarrier`]: a memory barrier on all threads of the process.
//! - [`shared_memory`]: memory that several processes map.
//! - [`functions!`]: functions of a library that is loaded at run time; [`loading`]: loads it and undoes what its initializers
//!   change.
//! - [`child_process`]: what a child inherits from its parent, and its time limit.
//! - [`end`]: how a child ended, and whether by its own fault.
//! - [`forks`]: limits on processes that foreign code forks.
//! - [`guard`]: a child that ends with this process, together with everything the child started.
//! - [`limits`]: limits of this process (`ulimit`), and out-of-memory kills.
//! - [`cpu_list`]: lists of CPUs as Linux writes them, `0-3,8`.
//! - [`c_library_version`]: the C library that this program runs with; [`file_of`]: the file of any loaded library;
//!   [`name_of`]: the name of an address in it.
//! - [`file_hash`], [`content_hash`]: hashes that identify a file or bytes.
//! - [`cache_folder`]: the user's folder for what this program can make again.
//! - [`trust`]: which files code may be loaded from; [`search_paths`]: keeps the working folder out of the lists of folders.
//! - [`this_program`], [`program_identity`]: the running file, whatever its path names by now.
//! - [`exit_at_once`]: ends this process without its exit handlers.
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

/// Turns the result of a call that returns -1 on failure into its error.
fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes ownership of the descriptor that a call has opened, or returns the error of a call that returned -1.
///
/// # Safety
/// The kernel has just opened it, and nothing else owns it.
unsafe fn opened(descriptor: libc::c_int) -> io::Result<OwnedFd> {
    done(descriptor)?;
    // SAFETY: the caller guarantees that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
