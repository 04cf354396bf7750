//! Parent and child processes: memory that both see, ends that follow each other, and requests to end.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Child;

/// A file that is memory alone (`memfd_create(2)`). It needs no folder, and it is gone with the last process that has it.
///
/// # Errors
/// What the operating system says, where it has no such files or refuses.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: the name is ended by a zero; the call returns a descriptor or -1.
    let descriptor = unsafe { libc::memfd_create(c"syncscope".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it, and nothing else owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Lets the kernel kill this process when the thread that started it ends (`PR_SET_PDEATHSIG`). `false` if the parent is
/// not `parent` any more: it has ended already.
#[must_use]
pub fn end_with_parent(parent: u32) -> bool {
    // SAFETY: the option takes one number. A kernel that refuses changes nothing.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    std::os::unix::process::parent_id() == parent
}

/// Asks a child to end (`SIGTERM`). One that has ended already hears nothing.
pub fn ask_to_end(child: &Child) {
    let Ok(process) = libc::pid_t::try_from(child.id()) else { return };
    // SAFETY: the child has not been waited for by anyone but the owner of `child`, so its number is still its own.
    unsafe { libc::kill(process, libc::SIGTERM) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_sees_the_memory_of_its_parent() {
        let file = memory_file().unwrap();
        file.write_all_at(b"seen\n", 0).unwrap();
        let child = Command::new("cat").stdin(Stdio::from(file.try_clone().unwrap())).output();
        assert_eq!(child.unwrap().stdout, b"seen\n");
    }

    #[test]
    fn a_child_that_is_asked_ends() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        ask_to_end(&child);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}
