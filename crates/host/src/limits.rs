//! What the system takes away from a process: its limits (`ulimit`), and whether the kernel ended processes for want of memory.

use std::fs;
use std::time::Duration;

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error, here and in all that this process starts. By
/// itself it ends the process (`SIGXFSZ`).
pub fn report_full_files() {
    // SAFETY: the call takes two numbers.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The CPU time after which the kernel ends a process (`ulimit -t`), if there is such a limit.
pub fn cpu_time() -> Option<Duration> {
    bounded(get(0, libc::RLIMIT_CPU)).map(Duration::from_secs)
}

/// The limits on the memory of a process (`ulimit -v`, `-d`). What asks for more gets none.
const OF_MEMORY: [Resource; 2] = [libc::RLIMIT_AS, libc::RLIMIT_DATA];

/// The bytes of memory that this process may have, if there is such a limit.
pub fn memory() -> Option<u64> {
    memory_of(0)
}

/// The same of a child, which may have been given another limit (`prlimit`), or have ended without being waited for.
pub(crate) fn memory_of(process: libc::pid_t) -> Option<u64> {
    OF_MEMORY.into_iter().filter_map(|resource| bounded(get(process, resource))).min()
}

/// Gives this process, which ends, the limits on memory that a child of its own had, so that who waits for it sees them.
pub(crate) fn have_at_end(memory: Option<u64>) {
    let limit = libc::rlimit { rlim_cur: memory.unwrap_or(libc::RLIM_INFINITY), ..get(0, libc::RLIMIT_AS) };
    // SAFETY: the structure is valid for the call.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
}

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

/// A limit of a process, zero being this one; no limit where there is no such process.
fn get(process: libc::pid_t, resource: Resource) -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid for the call, which sets no limit.
    unsafe { libc::prlimit(process, resource, std::ptr::null(), &raw mut limit) };
    limit
}

fn bounded(limit: libc::rlimit) -> Option<u64> {
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// The CPU time of all processes that this one has waited for, and of those that they have waited for.
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

/// How many processes of this one's control group the kernel has ended for want of memory; of the machine, where the group does
/// not say. `None` where nothing says.
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
    use std::process::Command;

    #[test]
    fn the_counter_is_found_in_each_file_that_has_it() {
        assert_eq!(counted("low 0\nhigh 0\nmax 4\noom 2\noom_kill 3\noom_group_kill 0\n"), Some(3));
        assert_eq!(counted("oom_kill_disable 0\nunder_oom 0\noom_kill 17\n"), Some(17));
        assert_eq!(counted("nr_free_pages 4\n"), None);
    }

    #[test]
    fn what_children_take_is_counted() {
        let before = cpu_time_of_children();
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().unwrap().success());
        assert!(cpu_time_of_children() > before);
    }
}
