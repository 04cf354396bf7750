//! What a child process needs besides the standard library: descriptors of its parent, and an end when the parent ends.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, parent_id};
use std::process::Command;

/// Lets the child of `command` have these descriptors, with the same numbers. They have to be open when it is started.
pub fn inherit(command: &mut Command, descriptors: &[BorrowedFd<'_>]) {
    let numbers: Vec<RawFd> = descriptors.iter().map(BorrowedFd::as_raw_fd).collect();
    // All other children of this process still do not get them: the flag is cleared in this child alone.
    let keep_open = move || {
        for number in &numbers {
            // SAFETY: the call takes numbers; a descriptor that is not open is an error.
            if unsafe { libc::fcntl(*number, libc::F_SETFD, 0) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between `fork` and `exec` it makes one system call for each descriptor and allocates nothing.
    unsafe { command.pre_exec(keep_open) };
}

/// A descriptor that the parent let this process have, by its number.
///
/// # Errors
/// What the operating system says (`EBADF`: it is not open).
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // A copy: the number itself may belong to something else in a process that was not started by `inherit`.
    // SAFETY: the call takes numbers and returns a descriptor or -1.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Lets the system kill this process when the thread that started it ends, in whatever it waits for.
///
/// # Errors
/// What the operating system says, or that `parent` has ended.
pub fn end_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: the call takes two numbers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before the call.
    if parent_id() == parent { Ok(()) } else { Err(io::Error::other("the process that started this one has ended")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_child_gets_the_descriptors_that_it_is_given_and_no_others() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"x").unwrap();
        let is_open = |descriptors: &[BorrowedFd<'_>]| {
            let mut command = Command::new("test");
            command.args(["-e", &format!("/dev/fd/{}", reader.as_raw_fd())]);
            inherit(&mut command, descriptors);
            command.status().unwrap().success()
        };
        assert!(is_open(&[reader.as_fd()]));
        assert!(!is_open(&[]), "the flag of this process is as it was");
    }

    #[test]
    fn a_number_that_is_not_open_is_an_error() {
        assert_eq!(inherited(1 << 20).unwrap_err().raw_os_error(), Some(libc::EBADF));
        let (reader, _writer) = io::pipe().unwrap();
        assert_ne!(inherited(reader.as_raw_fd()).unwrap().as_raw_fd(), reader.as_raw_fd());
    }

    #[test]
    fn a_process_of_another_parent_is_told() {
        std::thread::spawn(|| assert!(end_with_parent(u32::MAX).is_err())).join().unwrap();
    }
}
