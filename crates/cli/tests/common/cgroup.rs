//! A control group whose processes get half a CPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The group. It goes when this is dropped; its processes must have ended.
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// `None`, with the reason on stderr, where this process may not make one.
    pub(crate) fn of_half_a_cpu() -> Option<Self> {
        let name = format!("syncscope-test-{}", std::process::id());
        let attempts = [
            // Version 1, then version 2.
            ("/sys/fs/cgroup/cpu", &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")][..]),
            ("/sys/fs/cgroup", &[("cpu.max", "50000 100000")]),
        ];
        for (root, settings) in attempts {
            let group = Self(Path::new(root).join(&name));
            if fs::create_dir(&group.0).is_err() {
                continue;
            }
            if settings.iter().all(|(file, value)| fs::write(group.0.join(file), value).is_ok()) {
                return Some(group);
            }
        }
        eprintln!("skipped: this process may make no control group with a quota");
        None
    }

    /// A program that runs in the group, also after it was started again.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        let procs = self.0.join("cgroup.procs");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs).arg(program);
        command
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A process that was just waited for may still be in it.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
