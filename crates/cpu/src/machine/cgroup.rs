//! The CPU time that control groups grant to this process.

use std::fs;
use std::path::{Path, PathBuf};

/// The tightest CPU quota that applies, in CPUs; `None` where nothing limits it. `root` is `/` but in tests.
///
/// A group's limit also binds the groups below it, so every group from the process's own up to the top is read
/// (Linux `Documentation/admin-guide/cgroup-v2.rst`, `cpu.max`; `scheduler/sched-bwc.rst` for version 1).
#[must_use]
pub fn cpu_quota(root: &Path) -> Option<f64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups
        .lines()
        .filter_map(|line| {
            // `hierarchy:controllers:path`; version 2 has an empty list of controllers.
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(controllers, _)| controllers.is_empty() || controllers.split(',').any(|name| name == "cpu"))
        .flat_map(|(controllers, group)| quotas(&mounts(root, controllers), group))
        .min_by(f64::total_cmp)
}

/// Where the hierarchy of these controllers may be mounted.
fn mounts(root: &Path, controllers: &str) -> Vec<PathBuf> {
    let top = root.join("sys/fs/cgroup");
    let names = if controllers.is_empty() { ["", "unified"] } else { ["cpu", controllers] };
    names.iter().map(|name| top.join(name)).collect()
}

/// The quotas of `group` and of all groups above it.
fn quotas(mounts: &[PathBuf], group: &str) -> Vec<f64> {
    let group = Path::new(group.trim_start_matches('/'));
    mounts
        .iter()
        .flat_map(|mount| group.ancestors().map(|group| mount.join(group)))
        .filter_map(|directory| quota_v2(&directory).or_else(|| quota_v1(&directory)))
        .collect()
}

fn quota_v2(directory: &Path) -> Option<f64> {
    let text = fs::read_to_string(directory.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota, period)
}

fn quota_v1(directory: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
    ratio(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?)
}

/// `None` for `max` and -1, which stand for no limit.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let quota: f64 = quota.trim().parse().ok()?;
    let period: f64 = period.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota_with(files: &[(&str, &str)]) -> Option<f64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        cpu_quota(root.path())
    }

    #[test]
    fn the_tightest_group_of_version_2_counts() {
        let files = [
            ("proc/self/cgroup", "0::/jobs/mine\n"),
            ("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/jobs/cpu.max", "150000 100000\n"),
        ];
        assert_eq!(quota_with(&files), Some(1.5));
        assert_eq!(quota_with(&files[..2]), None, "`max` is no limit");
    }

    #[test]
    fn version_1_has_two_files() {
        let files = [
            ("proc/self/cgroup", "3:memory:/other\n2:cpu,cpuacct:/docker/abc\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(quota_with(&files), Some(2.0));
        let unlimited = [files[0], (files[1].0, "-1\n"), files[2]];
        assert_eq!(quota_with(&unlimited), None);
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        let files = [("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "50000 100000\n")];
        assert_eq!(quota_with(&files), Some(0.5));
        assert_eq!(quota_with(&[]), None);
        assert_eq!(quota_with(&[("proc/self/cgroup", "garbage\n")]), None);
    }
}
