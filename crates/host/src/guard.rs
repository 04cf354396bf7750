//! Starts a child whose whole process tree ends with this process.
//!
//! `PR_SET_PDEATHSIG` ends only the child: what a compiler or foreign code started continues. So a third process, the guard, sits
//! between this one and the child. Orphans below the guard become its children (`PR_SET_CHILD_SUBREAPER`), even in another
//! session. When the child or this process has ended, for whatever reason, the guard kills everything that is left
//! and ends as the child did. If somebody kills the guard, the system kills the child.
//!
//! ```text
//! this process -- guard -- child -- what it starts
//! ```

use std::ffi::CStr;
use std::fs::Permissions;
use std::mem::{MaybeUninit, zeroed};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{env, fs, io, ptr, thread};

use tempfile::TempDir;

use crate::end::{Before, End};
use crate::{done, forks, limits};

/// The signal that makes a guard kill everything. Other signals end nothing: `SIGTERM` is passed to the child.
const END: libc::c_int = libc::SIGQUIT;

/// How often a guard checks that its parent is there; the end of the parent also wakes it.
const LOOK: Duration = Duration::from_millis(500);

/// How often a guard checks while it ends what is left.
const LOOK_AT_END: Duration = Duration::from_millis(2);

/// How many of these checks other guards have to end the processes below them.
const ROUNDS_OF_GUARDS: u32 = 1000;

/// How often a waiting process polls a child.
const PAUSE: Duration = Duration::from_millis(2);

/// The name of a guard in `/proc/PID/comm`.
const NAME: &CStr = c"syncscope-guard";

/// A child with its guard.
#[derive(Debug)]
pub struct Guarded {
    guard: Child,
    pub(crate) before: Before,
}

impl Guarded {
    /// Starts a command once, behind a guard.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Self::start(command, None)
    }

    /// Like [`Guarded::spawn`], for a command whose temporary files are in this folder. The guard removes the folder at the end.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn spawn_in(command: &mut Command, folder: &TempDir) -> io::Result<Self> {
        Self::start(command.env(TMPDIR, folder.path()), Some(folder.path().to_owned()))
    }

    fn start(command: &mut Command, folder: Option<PathBuf>) -> io::Result<Self> {
        let parent = std::process::id().cast_signed();
        // Measured code may make this process ignore the end of children, and then nobody could wait for one.
        // SAFETY: the call takes two numbers; the default action ignores the signal and lets children be waited for.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        if forks::are_limited() {
            clear_timers();
        }
        // SAFETY: `divide` makes system calls. The process that returns from it allocates nothing.
        unsafe { command.pre_exec(move || divide(parent, folder.as_deref())) };
        let before = Before::now();
        Ok(Self { guard: command.spawn()?, before })
    }

    /// The process number of the guard.
    pub fn id(&self) -> u32 {
        self.guard.id()
    }

    /// How the child ended, once everything it started has ended too.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn try_wait(&mut self) -> io::Result<Option<End>> {
        let ended = self.before.try_wait(&mut self.guard)?;
        if ended.is_none() {
            continue_if_stopped(self.id());
        }
        Ok(ended)
    }

    /// Asks the child to end (`SIGTERM`).
    pub fn ask_to_end(&self) {
        send(self.id().cast_signed(), libc::SIGTERM);
    }

    /// Kills the child and everything it started. Returns `false` where something is left after `limit`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn end(&mut self, limit: Duration) -> io::Result<bool> {
        if self.try_wait()?.is_none() {
            send(self.id().cast_signed(), END);
        }
        Ok(wait_within(&mut self.guard, limit)?.is_some())
    }
}

impl Guarded {
    /// Whether the child is stopped (`SIGSTOP`, a debugger) and does nothing until it is continued; false where the system does
    /// not say.
    pub fn has_stopped(&self) -> bool {
        let read = |file: String| fs::read_to_string(file).unwrap_or_default();
        let guard = self.id();
        read(format!("/proc/{guard}/task/{guard}/children")).split_whitespace().any(|child| {
            let stat = read(format!("/proc/{child}/stat"));
            // The program's name may hold any characters, but is in parentheses.
            stat.rsplit_once(')').is_some_and(|(_, fields)| fields.trim_start().starts_with(['T', 't']))
        })
    }
}

impl Drop for Guarded {
    /// Kills the child without waiting for it.
    fn drop(&mut self) {
        if let Ok(None) = self.try_wait() {
            send(self.id().cast_signed(), END);
        }
    }
}

/// Ends the interval timers that measured code started in this process: they would interrupt everything after it.
fn clear_timers() {
    // SAFETY: zeros are a valid value, and the calls take a number and the address of it.
    unsafe {
        let none = zeroed::<libc::itimerval>();
        for timer in [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF] {
            libc::setitimer(timer, &raw const none, ptr::null_mut());
        }
    }
}

/// Continues a guard that measured code, running below it, has stopped.
fn continue_if_stopped(guard: u32) {
    // SAFETY: zeros are a valid value, which the call replaces where the child has stopped; the process number is zero where it
    // has not.
    let is_stopped = unsafe {
        let mut found = zeroed::<libc::siginfo_t>();
        libc::waitid(libc::P_PID, guard, &raw mut found, libc::WSTOPPED | libc::WNOHANG) == 0 && found.si_pid() != 0
    };
    if is_stopped {
        send(guard.cast_signed(), libc::SIGCONT);
    }
}

/// Sends a signal to a child.
fn send(process: libc::pid_t, signal: libc::c_int) {
    // SAFETY: the call takes two numbers. Nobody but the owner of its `Child` has waited for a child, so the number still belongs
    // to that child.
    unsafe { libc::kill(process, signal) };
}

/// Waits until a child has ended or `limit` is over; returns `None` where the child still runs.
///
/// # Errors
/// The operating system's error.
pub fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || started.elapsed() >= limit {
            return Ok(ended);
        }
        thread::sleep(PAUSE);
    }
}

/// The variable that names the folder of temporary files.
const TMPDIR: &str = "TMPDIR";

/// Creates a folder for temporary files that only this user can open. It is removed with everything in it.
///
/// # Errors
/// The operating system's error, and the folder.
pub fn temporary_folder() -> Result<TempDir, String> {
    temporary_folder_in(&env::temp_dir())
        .map_err(|error| format!("{error}; set {TMPDIR} to a folder for temporary files"))
}

/// [`temporary_folder`] in another folder.
///
/// # Errors
/// The operating system's error.
pub fn temporary_folder_in(folder: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("syncscope-").permissions(Permissions::from_mode(0o700)).tempdir_in(folder)
}

/// Makes this process, which was forked and has one thread, the guard of a new child. Returns in the child.
fn divide(parent: libc::pid_t, folder: Option<&Path>) -> io::Result<()> {
    // SAFETY: the calls take numbers. `fork` copies a process of one thread, which uses nothing that another thread of its
    // parent may have held.
    let (guard, child) = unsafe {
        match done(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1)) {
            // An emulator of another processor may not know the call: then the guard ends only its own child.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            adopts => adopts?,
        }
        (libc::getpid(), libc::fork())
    };
    done(child)?;
    if child > 0 {
        stand_guard(parent, child, folder);
    }
    // SAFETY: the calls take numbers.
    unsafe {
        done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        // The guard may have ended before the call.
        if libc::getppid() == guard { Ok(()) } else { libc::_exit(1) }
    }
}

/// The life of a guard: it waits for the end of the child or of the parent, ends the remaining processes, and ends as the child
/// did.
fn stand_guard(parent: libc::pid_t, child: libc::pid_t, folder: Option<&Path>) -> ! {
    let signals = prepare();
    let (mut status, mut memory, mut is_ending, mut rounds) = (None, None, false, 0);
    loop {
        if status.is_none() {
            memory = limits::memory_of(child);
        }
        let is_left = reap(child, &mut status);
        // SAFETY: the call takes nothing.
        is_ending |= status.is_some() || unsafe { libc::getppid() } != parent;
        if is_ending {
            if !is_left {
                if let Some(folder) = folder {
                    // If it fails, the parent may have removed the folder.
                    let _ = fs::remove_dir_all(folder);
                }
                limits::have_at_end(memory);
                end_like(status.unwrap_or_default());
            }
            kill_children(child, rounds < ROUNDS_OF_GUARDS);
            rounds += 1;
        }
        let woken = wait_for_signal(&signals, if is_ending { LOOK_AT_END } else { LOOK });
        is_ending |= woken == END;
        if woken == libc::SIGTERM && status.is_none() {
            send(child, libc::SIGTERM);
        }
    }
}

/// Closes the descriptors of the parent, leaves its terminal, and blocks all signals so that they can be waited for.
fn prepare() -> libc::sigset_t {
    const MOST: libc::c_long = 1 << 16;
    // SAFETY: the calls take numbers, constant strings that end with a zero, and a set that is valid for them, which the first
    // one fills. This process owns no value that uses a descriptor: it never returns to the code that made one.
    unsafe {
        let mut signals = zeroed();
        libc::sigfillset(&raw mut signals);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const signals, ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        // The end of the parent, or of the thread that started this process, wakes it, even where measured code has stopped it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT);
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        // A signal to the group of the parent, such as SIGKILL, is not for the guard.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) < 0 {
            // Linux before 5.9.
            (0..libc::sysconf(libc::_SC_OPEN_MAX).clamp(0, MOST)).for_each(|number| {
                libc::close(number as libc::c_int);
            });
        }
        signals
    }
}

/// Reaps the processes that have ended, and returns whether any are left.
fn reap(child: libc::pid_t, ended: &mut Option<libc::c_int>) -> bool {
    loop {
        let mut status = 0;
        // SAFETY: the status is valid for the call.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            0 => return true,
            found if found < 0 => return false,
            found if found == child => *ended = Some(status),
            _ => {}
        }
    }
}

/// Kills all children of this process; guards are asked to end what they guard while `spares_guards`. Orphans become children of
/// this process and are killed next.
fn kill_children(first: libc::pid_t, spares_guards: bool) {
    // Reading allocates: the C library's `fork` leaves its allocator fit for use.
    let Ok(children) = fs::read_to_string("/proc/thread-self/children") else {
        // The kernel has no such file.
        return send(first, libc::SIGKILL);
    };
    let is_guard = |number: &str| {
        let name = fs::read(format!("/proc/{number}/comm"));
        spares_guards && name.is_ok_and(|name| name.strip_suffix(b"\n") == Some(NAME.to_bytes()))
    };
    for (number, process) in children.split_whitespace().filter_map(|number| Some((number, number.parse().ok()?))) {
        send(process, if is_guard(number) { END } else { libc::SIGKILL });
    }
}

/// The next signal; 0 where none arrives within this time.
fn wait_for_signal(signals: &libc::sigset_t, time: Duration) -> libc::c_int {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the set and the time are valid for the call.
    unsafe { libc::sigtimedwait(signals, ptr::null_mut(), &raw const time) }.max(0)
}

/// Ends this process in the same way as a process with this status.
fn end_like(status: libc::c_int) -> ! {
    // SAFETY: the calls take numbers, and values that are valid for them.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            // The child has already written its core dump.
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            let mut this = MaybeUninit::zeroed();
            libc::sigemptyset(this.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, this.as_ptr(), ptr::null_mut());
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::end::Outside;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::thread::sleep;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    fn within_a_minute(what: &str, mut is_so: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_so() {
            assert!(started.elapsed() < Duration::from_secs(60), "{what}");
            sleep(Duration::from_millis(5));
        }
    }

    /// The numbers that a script has written to a file, once there are `count` of them. They are words of `$$` and `$!`.
    fn numbers(file: &Path, count: usize) -> Vec<u32> {
        let mut found = Vec::new();
        within_a_minute("the script does not write", || {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            found = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            found.len() == count && text.ends_with('\n')
        });
        found
    }

    fn is_there(process: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    /// Starts processes in a session of their own, orphans, and a process that ignores signals.
    const TREE: &str = "setsid sh -c 'sleep 600 & echo $$ $! >>FILE; wait' & (trap '' TERM INT HUP; sleep 600 & echo $! >>FILE) & \
                        sh -c 'sleep 600 & echo $! >>FILE'; ";

    fn tree(file: &Path, then: &str) -> Command {
        shell(&format!("{TREE}{then}").replace("FILE", file.to_str().unwrap()))
    }

    #[test]
    fn timers_of_measured_code_end_where_a_child_starts() {
        let hour = libc::timeval { tv_sec: 3600, tv_usec: 0 };
        // SAFETY: the calls take numbers, and values that are valid for them.
        let left = |timer| unsafe {
            let mut left = zeroed::<libc::itimerval>();
            libc::getitimer(timer, &raw mut left);
            left.it_value.tv_sec + left.it_interval.tv_sec
        };
        let timers = [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF];
        let start = || Guarded::spawn(&mut shell("exit 0")).unwrap().guard.wait().unwrap();
        let set = libc::itimerval { it_interval: hour, it_value: hour };
        // SAFETY: as above.
        timers.iter().for_each(|timer| unsafe { _ = libc::setitimer(*timer, &raw const set, ptr::null_mut()) });
        assert!(
            start().success() && timers.map(left).iter().all(|left| *left > 3600),
            "those of who started this one stay"
        );
        forks::limit();
        assert!(start().success());
        assert_eq!(timers.map(left), [0; 3]);
    }

    #[test]
    fn a_child_ends_as_it_does_without_a_guard() {
        for (script, expected) in
            [("exit 0", (Some(0), None)), ("exit 3", (Some(3), None)), ("kill -9 $$", (None, Some(9)))]
        {
            let mut child = Guarded::spawn(&mut shell(script)).unwrap();
            let status = wait_within(&mut child.guard, Duration::from_secs(60)).unwrap().unwrap();
            assert_eq!((status.code(), status.signal()), expected, "{script}");
        }
        let status = Guarded::spawn(&mut shell("kill -SEGV $$")).unwrap().guard.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGSEGV));
        assert_eq!(Guarded::spawn(&mut Command::new("/nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
        let file = env::temp_dir().join(format!("syncscope-asked-{}", std::process::id()));
        let script = "trap 'exit 7' TERM; echo $$ >FILE; while :; do sleep 0.01; done";
        let mut asked = Guarded::spawn(&mut shell(&script.replace("FILE", file.to_str().unwrap()))).unwrap();
        numbers(&file, 1);
        asked.ask_to_end();
        let status = wait_within(&mut asked.guard, Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(status.code(), Some(7), "{status}");
        fs::remove_file(&file).unwrap();
    }

    /// Somebody may give a child less memory than this process has.
    #[test]
    fn a_limit_that_somebody_gave_a_child_is_the_childs() {
        let limit = 1 << 30;
        for (script, limited, expected) in [
            ("kill -ABRT $$", true, End::Outside(Outside::MemoryLimit(libc::SIGABRT, limit))),
            ("kill -ABRT $$", false, End::Signal(libc::SIGABRT)),
            ("exit 3", true, End::Code(3)),
        ] {
            let script = if limited { format!("ulimit -v {}; {script}", limit >> 10) } else { script.to_owned() };
            let mut guarded = Guarded::spawn(&mut shell(&script)).unwrap();
            let mut end = None;
            within_a_minute("the child goes on", || {
                end = guarded.try_wait().unwrap();
                end.is_some()
            });
            let before = Before::now();
            let alone = before.wait(&mut shell(&script).spawn().unwrap()).unwrap();
            assert_eq!((end, alone), (Some(expected), expected), "{script}");
        }
    }

    #[test]
    fn nothing_of_a_child_outlives_it_or_its_parent() {
        let folder = std::env::temp_dir().join(format!("syncscope-guard-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The child ends by itself, or is killed.
        for then in ["while [ $(wc -w <FILE) -lt 4 ]; do sleep 0.01; done", "exec sleep 600"] {
            let file = folder.join(format!("{}", then.len()));
            let mut child = Guarded::spawn(&mut tree(&file, &then.replace("FILE", file.to_str().unwrap()))).unwrap();
            let all = numbers(&file, 4);
            if then.starts_with("exec") {
                assert!(child.try_wait().unwrap().is_none());
                assert!(child.end(Duration::from_secs(60)).unwrap());
            } else {
                child.guard.wait().unwrap();
            }
            assert!(!all.iter().any(|process| is_there(*process)), "{then}: {all:?}");
        }
        // The guard, or the parent, is killed.
        for of_guard in [true, false] {
            let file = folder.join(format!("{of_guard}"));
            let mut parent = Command::new(std::env::current_exe().unwrap());
            parent.args(["--exact", "guard::tests::starts_a_tree", "--nocapture"]).env("SYNCSCOPE_TEST_CHILD", &file);
            let mut parent = parent.stdout(std::process::Stdio::null()).spawn().unwrap();
            let all = numbers(&file, 6);
            let [guard, child] = [all[0], all[1]];
            assert!(is_there(guard) && is_there(child));
            send(if of_guard { guard } else { parent.id() }.cast_signed(), libc::SIGKILL);
            within_a_minute("the child goes on", || !is_there(child));
            let temporary = fs::read(file.with_extension("folder")).unwrap();
            if of_guard {
                all[2..].iter().for_each(|process| send(process.cast_signed(), libc::SIGKILL));
            }
            within_a_minute("something goes on", || !all.iter().any(|process| is_there(*process)));
            within_a_minute("its folder stays", || !Path::new(OsStr::from_bytes(&temporary)).exists());
            let _ = parent.kill();
            parent.wait().unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_temporary_folder_is_for_this_user_and_goes_with_its_content_when_nobody_else_can_remove_it() {
        let folder = temporary_folder().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let script = "mkdir $TMPDIR/a && echo x >$TMPDIR/a/b";
        Guarded::spawn_in(&mut shell(script), &folder).unwrap().guard.wait().unwrap();
        assert!(!path.exists(), "the guard is the last");
        let folder = temporary_folder().unwrap();
        let path = folder.path().to_owned();
        assert!(Guarded::spawn_in(&mut Command::new("/nowhere"), &folder).is_err());
        drop(folder);
        assert!(!path.exists());
    }

    /// An inner guard has a folder of its own to remove.
    #[test]
    fn guards_below_a_guard_end_what_they_guard() {
        let file = env::temp_dir().join(format!("syncscope-guards-{}", std::process::id()));
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "guard::tests::starts_a_tree", "--nocapture"]).env("SYNCSCOPE_TEST_CHILD", &file);
        let mut child = Guarded::spawn(command.stdout(std::process::Stdio::null())).unwrap();
        let all = numbers(&file, 6);
        let temporary = PathBuf::from(OsStr::from_bytes(&fs::read(file.with_extension("folder")).unwrap()));
        assert!(temporary.is_dir());
        assert!(child.end(Duration::from_secs(60)).unwrap());
        assert!(!temporary.exists() && !all.iter().any(|process| is_there(*process)));
        for left in [file.with_extension("folder"), file] {
            fs::remove_file(left).unwrap();
        }
    }

    /// Not a test: the parent that the test above kills.
    #[test]
    fn starts_a_tree() {
        let Some(file) = std::env::var_os("SYNCSCOPE_TEST_CHILD").map(PathBuf::from) else { return };
        let script = format!("echo $PPID $$ >FILE; {TREE} exec sleep 600").replace("FILE", file.to_str().unwrap());
        let folder = temporary_folder().unwrap();
        fs::write(file.with_extension("folder"), folder.path().as_os_str().as_bytes()).unwrap();
        let mut child = Guarded::spawn_in(&mut shell(&script), &folder).unwrap();
        let _ = child.guard.wait();
    }
}
