//! A control group that limits its processes: half a CPU, some memory, few processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The group, which is removed when this value is dropped; its processes must have ended.
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// A group with half a CPU. `None`, with the reason on stderr, where this process may not make one.
    pub(crate) fn of_half_a_cpu() -> Option<Self> {
        let group = Self::that_is_unlimited()?;
        group.limit_to_half_a_cpu();
        Some(group)
    }

    /// A group that may be limited later.
    pub(crate) fn that_is_unlimited() -> Option<Self> {
        Self::with([
            ("/sys/fs/cgroup/cpu", &[("cpu.cfs_quota_us", "-1")][..]),
            ("/sys/fs/cgroup", &[("cpu.max", "max")]),
        ])
    }

    pub(crate) fn limit_to_half_a_cpu(&self) {
        self.set_quota("50000");
    }

    /// Sets the quota in microseconds per tenth of a second, in the notation of version 1: -1 is no limit.
    pub(crate) fn set_quota(&self, quota: &str) {
        let in_version_2 = format!("{} 100000", if quota == "-1" { "max" } else { quota });
        let attempts = [("cpu.cfs_quota_us", quota), ("cpu.max", &in_version_2)];
        assert!(
            attempts
                .iter()
                .any(|(file, value)| { self.0.join(file).exists() && fs::write(self.0.join(file), value).is_ok() })
        );
    }

    /// A group with this much memory.
    pub(crate) fn of_memory(bytes: &str) -> Option<Self> {
        Self::with([
            ("/sys/fs/cgroup/memory", &[("memory.limit_in_bytes", bytes)][..]),
            ("/sys/fs/cgroup", &[("memory.max", bytes), ("memory.swap.max", "0")]),
        ])
    }

    /// A group with this many processes and threads.
    pub(crate) fn of_processes(count: &str) -> Option<Self> {
        Self::with([("/sys/fs/cgroup/pids", &[("pids.max", count)][..]), ("/sys/fs/cgroup", &[("pids.max", count)])])
    }

    /// Makes a group of version 1, or else of version 2.
    fn with(attempts: [(&str, &[(&str, &str)]); 2]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("syncscope-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        for (root, settings) in attempts {
            let group = Self(Path::new(root).join(&name));
            if fs::create_dir(&group.0).is_err() {
                continue;
            }
            if settings.iter().all(|(file, value)| fs::write(group.0.join(file), value).is_ok()) {
                return Some(group);
            }
        }
        eprintln!("skipped: this process may make no control group with a limit");
        None
    }

    /// A program that runs in the group, even after it starts itself again.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        let procs = self.0.join("cgroup.procs");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs).arg(program);
        command
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A process that was just reaped may still be in the group.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
