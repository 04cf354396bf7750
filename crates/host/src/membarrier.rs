//! A memory barrier on all running threads of this process (`membarrier(2)`).

use std::io;

// linux/membarrier.h; the C library has no names for them everywhere.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Registers this process for [`barrier`]. It may be called again.
///
/// # Errors
/// The operating system's error (`ENOSYS`: Linux before 4.14, or a container that does not allow the call).
pub fn register() -> io::Result<()> {
    call(REGISTER_PRIVATE_EXPEDITED)
}

/// Executes a full memory barrier on each CPU that runs a thread of this process, before it returns.
///
/// # Errors
/// The operating system's error (`EPERM`: the process is not registered).
#[inline]
pub fn barrier() -> io::Result<()> {
    call(PRIVATE_EXPEDITED)
}

#[inline]
fn call(command: libc::c_int) -> io::Result<()> {
    // SAFETY: the call has no pointers, and orders memory accesses alone.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_process_has_barriers() {
        // Some sandboxes forbid the call; then both functions fail.
        assert_eq!(register().is_ok(), barrier().is_ok());
    }
}
