//! Limits of this process (`ulimit`), and whether the kernel's out-of-memory killer ended processes.

use std::time::Duration;
use std::{fs, io};

use crate::loading;

/// Settles the signals of this process and all that it starts, independently of its parent: none is blocked, so that Ctrl-C and
/// `SIGTERM` arrive, and a write beyond the limit on the size of files (`ulimit -f`) is an error instead of the end of the
/// process (`SIGXFSZ`).
pub fn settle_signals() {
    // SAFETY: zeros are a valid set, which the first call fills; the others take it and numbers.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Runs `install`, which sets signal handlers. A hang-up stays ignored if the parent of this process made it so: `nohup` is for
/// runs that outlast a login.
pub fn unless_hang_ups_are_ignored<T>(install: impl FnOnce() -> T) -> T {
    let is_ignored = loading::action(libc::SIGHUP).is_some_and(|action| action.sa_sigaction == libc::SIG_IGN);
    let installed = install();
    if is_ignored {
        // SAFETY: the call takes numbers.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
    installed
}

/// The smallest stack of the first thread with which this program works, and the usual default of systems.
const LEAST_STACK: u64 = 1 << 20;
const USUAL_STACK: u64 = 8 << 20;

/// Gives the first thread of this process, and of its children, a sufficient stack (`ulimit -s`): it grows up to the current
/// limit.
///
/// # Errors
/// The allowed bytes, where the limit cannot be raised.
pub fn allow_enough_stack() -> Result<(), u64> {
    let limit = get(0, libc::RLIMIT_STACK);
    if limit.rlim_cur >= LEAST_STACK {
        return Ok(());
    }
    let more = libc::rlimit { rlim_cur: limit.rlim_max.min(USUAL_STACK), ..limit };
    // SAFETY: the structure is valid for the call.
    unsafe { libc::setrlimit(libc::RLIMIT_STACK, &raw const more) };
    let now = get(0, libc::RLIMIT_STACK).rlim_cur;
    if now >= LEAST_STACK { Ok(()) } else { Err(now) }
}

/// Lets this process open as many files as it may (`ulimit -n`), whatever current limit foreign code has set.
pub(crate) fn allow_open_files() {
    let limit = get(0, libc::RLIMIT_NOFILE);
    let most = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: the structure is valid for the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const most) };
}

/// The CPU time after which the kernel ends a process (`ulimit -t`), if there is such a limit.
pub fn cpu_time() -> Option<Duration> {
    bounded(get(0, libc::RLIMIT_CPU)).map(Duration::from_secs)
}

/// What to do where the system starts no process or thread, or opens no file, to be appended to the error; empty for other
/// errors.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOMEM) => "; check the limits on processes and memory (`ulimit -u -v`, pids.max)",
        Some(libc::EMFILE | libc::ENFILE) => "; allow more open files (`ulimit -n`)",
        Some(libc::EFBIG) => "; allow larger files (`ulimit -f`)",
        _ => "",
    }
}

/// The limits on the memory of a process (`ulimit -v`, `-d`): allocations beyond them fail.
const OF_MEMORY: [Resource; 2] = [libc::RLIMIT_AS, libc::RLIMIT_DATA];

/// The bytes of memory that this process may have, if there is such a limit.
pub fn memory() -> Option<u64> {
    memory_of(0)
}

/// [`memory`] of a child, which may have been given another limit (`prlimit`), or have ended without being waited for.
pub(crate) fn memory_of(process: libc::pid_t) -> Option<u64> {
    OF_MEMORY.into_iter().filter_map(|resource| bounded(get(process, resource))).min()
}

/// Gives this process, which is about to end, the memory limit that its child had, so that its parent can read it.
pub(crate) fn have_at_end(memory: Option<u64>) {
    let limit = libc::rlimit { rlim_cur: memory.unwrap_or(libc::RLIM_INFINITY), ..get(0, libc::RLIMIT_AS) };
    // SAFETY: the structure is valid for the call.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
}

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// A limit of a process, 0 meaning this process; no limit where there is no such process.
fn get(process: libc::pid_t, resource: Resource) -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid for the call, which sets no limit.
    unsafe { libc::prlimit(process, resource, std::ptr::null(), &raw mut limit) };
    limit
}

fn bounded(limit: libc::rlimit) -> Option<u64> {
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// How many threads this process may still start, by its limit on memory mappings: a thread that gets no stack for its signals
/// aborts the process. `None` where the system does not say.
pub fn threads_left() -> Option<usize> {
    let read = |file| fs::read_to_string(file).ok();
    let most: usize = read("/proc/sys/vm/max_map_count")?.trim().parse().ok()?;
    Some(most.saturating_sub(read("/proc/self/maps")?.lines().count() + SPARE_MAPPINGS) / MAPPINGS_OF_THREAD)
}

/// The mappings of a thread: its stack and one for signals, each with a guard page, and its part of the allocator, with its
/// reserve, which on a machine with many CPUs every thread has.
const MAPPINGS_OF_THREAD: usize = 6;

/// Mappings for everything besides threads.
const SPARE_MAPPINGS: usize = 512;

/// The CPU time of all processes that this one has waited for, and of the processes that they have waited for.
pub fn cpu_time_of_children() -> Duration {
    // SAFETY: zeros are a valid value, which the call replaces.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let of = |time: libc::timeval| Duration::new(time.tv_sec.max(0) as u64, time.tv_usec.max(0) as u32 * 1000);
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// The number of processes in this one's control group that the kernel has killed for lack of memory; the number for the
/// machine where the group does not say. `None` where nothing says.
pub fn out_of_memory_kills() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let files = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        match controllers {
            "" => Some(format!("/sys/fs/cgroup{path}/memory.events")),
            _ => controllers
                .split(',')
                .any(|controller| controller == "memory")
                .then(|| format!("/sys/fs/cgroup/memory{path}/memory.oom_control")),
        }
    });
    files.chain(["/proc/vmstat".to_owned()]).find_map(|file| counted(&fs::read_to_string(file).ok()?))
}

fn counted(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_met_is_named() {
        let of = |number| remedy(&io::Error::from_raw_os_error(number));
        for (number, name) in [(libc::EAGAIN, "pids.max"), (libc::EMFILE, "`ulimit -n`"), (libc::EFBIG, "`ulimit -f`")]
        {
            assert!(of(number).contains(name), "{number}");
        }
        assert_eq!(of(libc::ENOENT), "");
    }
    use std::process::Command;

    #[test]
    fn each_thread_takes_its_share_of_the_mappings() {
        let before = threads_left().unwrap();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        std::thread::scope(|scope| {
            (0..64).for_each(|_| _ = scope.spawn(|| wait.lock().unwrap().recv()));
            let left = threads_left().unwrap();
            assert!((before - 80..before).contains(&left), "{before}, {left}");
            drop(end);
        });
    }

    #[test]
    fn the_counter_is_found_in_each_file_that_has_it() {
        assert_eq!(counted("low 0\nhigh 0\nmax 4\noom 2\noom_kill 3\noom_group_kill 0\n"), Some(3));
        assert_eq!(counted("oom_kill_disable 0\nunder_oom 0\noom_kill 17\n"), Some(17));
        assert_eq!(counted("nr_free_pages 4\n"), None);
    }

    #[test]
    fn signals_that_a_parent_blocks_arrive() {
        let is_blocked = |change: bool| {
            // SAFETY: zeros are a valid set, which the calls fill and read; the mask is that of this thread.
            unsafe {
                let mut set = std::mem::zeroed();
                libc::sigfillset(&raw mut set);
                let new = if change { &raw const set } else { std::ptr::null() };
                libc::pthread_sigmask(libc::SIG_SETMASK, new, std::ptr::null_mut());
                libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut set);
                [libc::SIGINT, libc::SIGTERM, libc::SIGCHLD].map(|signal| libc::sigismember(&raw const set, signal))
            }
        };
        let masks = std::thread::spawn(move || {
            let inherited = is_blocked(true);
            settle_signals();
            (inherited, is_blocked(false))
        });
        assert_eq!(masks.join().unwrap(), ([1; 3], [0; 3]));
    }

    #[test]
    fn what_children_take_is_counted() {
        let before = cpu_time_of_children();
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().unwrap().success());
        assert!(cpu_time_of_children() > before);
    }
}
