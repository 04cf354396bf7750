//! The CPU time that this process gets: what control groups grant, what the hypervisor took, what its threads used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use syncscope_host::clock::{children_cpu_time, process_cpu_time, ticks_per_second};

use crate::system::System;

/// A limit on CPU time.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// The granted time, in CPUs.
    pub cpus: f64,
    /// The file that sets the limit.
    pub file: PathBuf,
}

/// The smallest CPU quota that applies; `None` where there is none. `root` is `/` except in tests.
///
/// The limit of a group applies to the groups below it, so every group from the process's own to the top is read
/// (Linux `Documentation/admin-guide/cgroup-v2.rst`, `cpu.max`; `scheduler/sched-bwc.rst` for version 1).
pub fn cpu_quota(root: &Path) -> Option<Quota> {
    let quotas = groups(root).into_iter().filter_map(|directory| quota_v2(&directory).or_else(|| quota_v1(&directory)));
    quotas.min_by(|one, other| one.cpus.total_cmp(&other.cpus))
}

/// The possible folders of the groups that limit this process's CPU time: its own group and all groups above it.
fn groups(root: &Path) -> Vec<PathBuf> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let hierarchies = groups.lines().filter_map(|line| {
        // `hierarchy:controllers:path`; version 2 has an empty list of controllers.
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let of_cpu = hierarchies
        .filter(|(controllers, _)| controllers.is_empty() || controllers.split(',').any(|name| name == "cpu"));
    let directories = of_cpu.flat_map(|(controllers, group)| {
        let own = Path::new(group.trim_start_matches('/'));
        mounts(root, controllers)
            .into_iter()
            .flat_map(move |mount| own.ancestors().map(move |group| mount.join(group)).collect::<Vec<_>>())
    });
    directories.collect()
}

/// The folders where the hierarchy of these controllers may be mounted.
fn mounts(root: &Path, controllers: &str) -> Vec<PathBuf> {
    let top = root.join("sys/fs/cgroup");
    let names = if controllers.is_empty() { ["", "unified"] } else { ["cpu", controllers] };
    names.iter().map(|name| top.join(name)).collect()
}

fn quota_v2(directory: &Path) -> Option<Quota> {
    let file = directory.join("cpu.max");
    let text = fs::read_to_string(&file).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    Some(Quota { cpus: quota_in_cpus(quota, period)?, file })
}

fn quota_v1(directory: &Path) -> Option<Quota> {
    let file = directory.join("cpu.cfs_quota_us");
    let period = fs::read_to_string(directory.join("cpu.cfs_period_us")).ok()?;
    Some(Quota { cpus: quota_in_cpus(&fs::read_to_string(&file).ok()?, &period)?, file })
}

/// A quota in CPUs; `None` for `max` and -1, which mean no limit.
fn quota_in_cpus(quota: &str, period: &str) -> Option<f64> {
    let quota: f64 = quota.trim().parse().ok()?;
    let period: f64 = period.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// How long quotas have kept the groups of this process from the CPUs, by the file that reports it. A quota counts even if it is
/// gone before anybody reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Throttling(BTreeMap<PathBuf, Duration>);

impl Throttling {
    /// Reads the time up to now. `root` is `/` except in tests.
    pub fn read(root: &Path) -> Self {
        // `cpu.stat.local` includes the throttling by groups above, which are not visible, for example in a container (Linux
        // 6.6).
        let files =
            groups(root).into_iter().flat_map(|group| ["cpu.stat", "cpu.stat.local"].map(|name| group.join(name)));
        let time_of = |file: PathBuf| throttled(&fs::read_to_string(&file).ok()?).map(|time| (file, time));
        Self(files.filter_map(time_of).collect())
    }

    /// The CPU time that quotas took since `earlier`: the maximum over the groups, because a group is stopped together with the
    /// groups below it. `None` where no group counts it.
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        self.0.iter().filter_map(|(file, time)| Some(time.saturating_sub(*earlier.0.get(file)?))).max()
    }
}

/// The throttled time, summed over the CPUs: in microseconds in version 2, in nanoseconds in version 1.
fn throttled(stat: &str) -> Option<Duration> {
    let number = |line: &str, name: &str| line.strip_prefix(name)?.trim().parse().ok();
    stat.lines().find_map(|line| {
        let in_version_2 = number(line, "throttled_usec ").map(Duration::from_micros);
        in_version_2.or_else(|| number(line, "throttled_time ").map(Duration::from_nanos))
    })
}

/// The field of stolen time in a `cpu` line, counted after its name (Linux `Documentation/filesystems/proc.rst`): user, nice,
/// system, idle, iowait, irq, softirq, steal.
const STEAL: usize = 7;

/// The fields for the time of programs, and of the kernel for programs.
const WORK: [usize; 5] = [0, 1, 2, 5, 6];

/// The system's counters of a CPU's time since the start, in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct OfCpu {
    stolen: u64,
    work: u64,
}

/// The system's counters of each CPU, and the time that this process and its ended children had of the CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuCounters {
    cpus: BTreeMap<u32, OfCpu>,
    own: Duration,
}

impl CpuCounters {
    /// The counters of `cpus` now; `None` where the system does not count steal time of each of them.
    pub fn read(system: &System, cpus: &[u32]) -> Option<Self> {
        let text = system.read("proc/stat")?;
        let all: BTreeMap<u32, OfCpu> = text.lines().filter_map(of_cpu).collect();
        let wanted: BTreeMap<u32, OfCpu> = cpus.iter().filter_map(|cpu| Some((*cpu, *all.get(cpu)?))).collect();
        let has_all = !cpus.is_empty() && cpus.iter().all(|cpu| wanted.contains_key(cpu));
        has_all.then(|| Self { cpus: wanted, own: process_cpu_time() + children_cpu_time() })
    }

    /// The counters with the time that other processes of the same run had.
    #[must_use]
    pub fn with_other_processes(self, time: Duration) -> Self {
        Self { own: self.own + time, ..self }
    }

    /// Seconds stolen from each CPU since `earlier`.
    pub fn stolen_since(&self, earlier: &Self) -> BTreeMap<u32, f64> {
        self.since(earlier, |cpu| cpu.stolen, ticks_per_second())
    }

    /// The share of the CPUs' time in `elapsed` seconds since `earlier` that other programs had; `None` for less than a second,
    /// in which the kernel's ticks are too coarse.
    pub fn share_of_others(&self, earlier: &Self, elapsed: f64) -> Option<f64> {
        let work: f64 = self.since(earlier, |cpu| cpu.work, ticks_per_second()).values().sum();
        let own = self.own.saturating_sub(earlier.own).as_secs_f64();
        (elapsed >= 1.0).then(|| ((work - own) / (elapsed * self.cpus.len() as f64)).clamp(0.0, 1.0))
    }

    fn since(&self, earlier: &Self, of: impl Fn(&OfCpu) -> u64, ticks_per_second: f64) -> BTreeMap<u32, f64> {
        let seconds = |(number, cpu): (&u32, &OfCpu)| {
            let before = earlier.cpus.get(number).unwrap_or(cpu);
            // The kernel documents that counters may decrease.
            (*number, of(cpu).saturating_sub(of(before)) as f64 / ticks_per_second)
        };
        self.cpus.iter().map(seconds).collect()
    }
}

/// CPU and counters of a line such as `cpu3 10 20 ...`; `None` for the line `cpu`, which holds the sum.
fn of_cpu(line: &str) -> Option<(u32, OfCpu)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let number = words.next()?.parse().ok()?;
    let counters: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let work = WORK.iter().filter_map(|field| counters.get(*field)).sum();
    Some((number, OfCpu { stolen: *counters.get(STEAL)?, work }))
}

/// The beginning of a period.
#[derive(Debug, Clone)]
pub struct Occupancy {
    started: Instant,
    spent: Duration,
    threads: Option<OfThreads>,
}

/// How long each thread has run, and how long it has waited for a CPU.
type OfThreads = BTreeMap<u32, [Duration; 2]>;

/// The first numbers of `schedstat` of each thread of this process (Linux, Documentation/scheduler/sched-stats.rst); `None` where the
/// kernel does not count them.
fn of_threads() -> Option<OfThreads> {
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(|word| word.parse().map(Duration::from_nanos));
        let both = [numbers.next()?.ok()?, numbers.next()?.ok()?];
        Some((thread.file_name().to_str()?.parse().ok()?, both))
    };
    fs::read_dir("/proc/self/task").ok()?.flatten().map(of_thread).collect()
}

/// Whether a thread of this process has idle priority: it keeps a CPU awake, and measures nothing.
fn has_idle_priority(thread: u32) -> bool {
    /// The policy number of `SCHED_IDLE`, in field 41 of `stat`, the 39th behind the name.
    const IDLE: &str = "5";
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    text.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(38)) == Some(IDLE)
}

impl Occupancy {
    /// Begins a period now.
    pub fn begin() -> Self {
        Self { started: Instant::now(), spent: process_cpu_time(), threads: of_threads() }
    }

    /// The share of the time of this many CPUs that this process has spent since the beginning, without its threads of idle
    /// priority.
    pub fn share(&self, cpus: u32) -> f64 {
        let idle = self.of_those(has_idle_priority).map_or(Duration::ZERO, |[ran, _]| ran);
        share(process_cpu_time().saturating_sub(self.spent).saturating_sub(idle), self.started.elapsed(), cpus)
    }

    /// Whether the process's threads slept, rather than waited for a CPU, for most of the time that they did not run.
    pub fn was_mostly_asleep(&self, cpus: u32) -> Option<bool> {
        let [_, waited] = self.of_those(|thread| !has_idle_priority(thread))?;
        Some(is_mostly_asleep(self.share(cpus), share(waited, self.started.elapsed(), cpus)))
    }

    /// How long the selected threads have run and waited since the beginning.
    fn of_those(&self, selects: fn(u32) -> bool) -> Option<[Duration; 2]> {
        let (before, mut sum) = (self.threads.as_ref()?, [Duration::ZERO; 2]);
        for (thread, now) in of_threads()?.into_iter().filter(|(thread, _)| selects(*thread)) {
            let then = before.get(&thread).copied().unwrap_or_default();
            for (sum, (now, then)) in sum.iter_mut().zip(now.into_iter().zip(then)) {
                *sum += now.saturating_sub(then);
            }
        }
        Some(sum)
    }
}

/// Judges by the shares of the time in which threads ran, and in which they waited for a CPU.
fn is_mostly_asleep(ran: f64, waited: f64) -> bool {
    waited < (1.0 - ran) / 2.0
}

fn share(spent: Duration, elapsed: Duration, cpus: u32) -> f64 {
    spent.as_secs_f64() / (elapsed.as_secs_f64() * f64::from(cpus.max(1))).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tests::system;
    use syncscope_host::scheduling::{current_thread, lower_to_idle_priority};

    fn quota_with(files: &[(&str, &str)]) -> Option<f64> {
        let (_root, system) = system(files);
        cpu_quota(system.root()).map(|quota| quota.cpus)
    }

    /// The file is named for those who have to raise the quota, which may be set in any group above.
    #[test]
    fn a_quota_is_named_by_its_file() {
        let groups = ["jobs/mine/step/", "jobs/mine/", "jobs/", ""];
        for (own, mount, file, values) in [
            ("0::/jobs/mine/step", "", "cpu.max", ["150000 100000", "50000 100000"]),
            ("1:cpu,cpuacct:/jobs/mine/step", "cpu,cpuacct/", "cpu.cfs_quota_us", ["150000", "50000"]),
        ] {
            for smallest in groups {
                let in_group = |group: &str, name: &str| format!("sys/fs/cgroup/{mount}{group}{name}");
                let value = |group: &str| values[usize::from(group == smallest)].to_owned();
                let quotas = groups.map(|group| (in_group(group, file), value(group)));
                let periods = groups.map(|group| (in_group(group, "cpu.cfs_period_us"), "100000".to_owned()));
                let all = quotas.iter().chain(&periods).map(|(path, text)| (path.as_str(), text.as_str()));
                let (_root, system) = system(&all.chain([("proc/self/cgroup", own)]).collect::<Vec<_>>());
                let file = system.root().join(in_group(smallest, file));
                assert_eq!(cpu_quota(system.root()), Some(Quota { cpus: 0.5, file }));
            }
        }
    }

    /// A quota may come and go while a run measures; then no file shows it any more.
    #[test]
    fn what_quotas_took_is_counted_in_whatever_group() {
        let files = [
            ("0::/jobs/mine", "jobs/mine/cpu.stat", "throttled_usec"),
            ("0::/jobs/mine", "jobs/cpu.stat", "throttled_usec"),
            ("0::/jobs/mine", "cpu.stat", "throttled_usec"),
            ("0::/", "cpu.stat.local", "throttled_usec"),
            ("4:memory:/x\n1:cpu,cpuacct:/job", "cpu,cpuacct/job/cpu.stat", "throttled_time"),
            ("1:cpu:/job\n0::/", "cpu/cpu.stat.local", "throttled_time"),
        ];
        for (own, file, field) in files {
            let read = |microseconds: u64| {
                let count = if field == "throttled_time" { 1000 * microseconds } else { microseconds };
                let text = format!("usage_usec 9000000\nnr_throttled 7\n{field} {count}\nnr_bursts 0\n");
                let path = format!("sys/fs/cgroup/{file}");
                let (_root, system) = system(&[("proc/self/cgroup", own), (&path, &text)]);
                // Each reading has a folder of its own.
                let within =
                    |(path, time): (PathBuf, Duration)| Some((path.strip_prefix(system.root()).ok()?.into(), time));
                Throttling(Throttling::read(system.root()).0.into_iter().filter_map(within).collect())
            };
            let (before, after) = (read(5_000_000), read(6_500_000));
            assert_eq!(after.since(&before), Some(Duration::from_millis(1500)), "{file}");
            assert_eq!(before.since(&before), Some(Duration::ZERO), "{file}");
        }
        let (_root, system) = system(&[("proc/self/cgroup", "0::/"), ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n")]);
        let silent = Throttling::read(system.root());
        assert_eq!(silent.since(&silent), None, "a group without the controller counts nothing");
    }

    /// Threads of idle priority keep CPUs awake. They run in all the time that other processes leave, and wait for the rest.
    #[test]
    fn what_runs_when_idle_neither_uses_nor_lacks_a_cpu() {
        let ((ready, is_ready), (end, is_end)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        std::thread::spawn(move || {
            ready.send(lower_to_idle_priority(current_thread())).unwrap();
            while is_end.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
        });
        is_ready.recv().unwrap().unwrap();
        let (started, late) = (Occupancy::begin(), Instant::now() + Duration::from_secs(60));
        // On a busy machine the thread may not run for seconds.
        while started.of_those(has_idle_priority).unwrap().iter().sum::<Duration>() < Duration::from_millis(20) {
            assert!(Instant::now() < late, "the thread is not seen");
            std::thread::sleep(Duration::from_millis(50));
        }
        // Without nextest, other tests are threads of this process.
        if std::env::var_os("NEXTEST").is_some() {
            assert!(started.was_mostly_asleep(1) == Some(true) && started.share(1) < 0.5, "{}", started.share(1));
        }
        drop(end);
    }

    #[test]
    fn a_thread_that_sleeps_does_not_lack_a_cpu() {
        assert!(is_mostly_asleep(0.5, 0.0), "one of two threads waits for a wake-up that does not come");
        assert!(!is_mostly_asleep(0.2, 0.8), "both share the CPUs with eight others");
    }

    #[test]
    fn the_smallest_quota_of_version_2_counts() {
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

    fn counters(stat: &str, cpus: &[u32]) -> Option<CpuCounters> {
        let (_root, system) = system(&[("proc/stat", stat)]);
        CpuCounters::read(&system, cpus)
    }

    #[test]
    fn steal_of_the_allowed_cpus_is_the_difference_of_two_readings() {
        let before = "cpu  9 9 9 9 9 9 9 999 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\ncpu1 1 2 3 4 5 6 7 50 0 0\ncpu2 0 0 0 0 0 0 0 7 0 0\nintr 5\n";
        let after = before.replace(" 100 0 0", " 250 0 0").replace(" 7 0 0", " 99 0 0");
        let [before, after] = [before, &after].map(|text| counters(text, &[0, 1]).unwrap());
        let stolen = |end: &CpuCounters, start| end.since(start, |cpu| cpu.stolen, 100.0);
        assert_eq!(stolen(&after, &before), BTreeMap::from([(0, 1.5), (1, 0.0)]));
        assert_eq!(stolen(&before, &after), BTreeMap::from([(0, 0.0), (1, 0.0)]), "never negative");
    }

    #[test]
    fn others_have_what_the_process_has_not() {
        let cpu = |work| OfCpu { stolen: 0, work };
        let ticks = ticks_per_second() as u64;
        let start = CpuCounters { cpus: BTreeMap::from([(0, cpu(5)), (1, cpu(7))]), own: Duration::from_secs(1) };
        let cpus = BTreeMap::from([(0, cpu(5 + 8 * ticks)), (1, cpu(7 + 4 * ticks))]);
        let end = CpuCounters { cpus, own: Duration::from_secs(10) };
        assert_eq!(end.share_of_others(&start, 10.0), Some(0.15), "12 s of work, 9 of them our own, in 20");
        assert_eq!(end.share_of_others(&start, 0.5), None, "ticks of 10 ms would be most of it");
        assert_eq!(end.share_of_others(&start, 1.0), Some(1.0), "never more than there is");
        let (_, read) = of_cpu("cpu3 1 2 4 8 16 32 64 128 256 0").unwrap();
        assert_eq!((read.work, read.stolen), (1 + 2 + 4 + 32 + 64, 128));
    }

    #[test]
    fn a_system_that_does_not_count_is_unknown() {
        assert_eq!(counters("cpu0 1 2 3 4 5 6 7\n", &[0]), None, "before Linux 2.6.11");
        assert_eq!(counters("cpu0 1 2 3 4 5 6 7 8\n", &[0, 1]), None, "a CPU is missing");
        assert_eq!(counters("", &[0]), None);
        assert_eq!(counters("cpu0 1 2 3 4 5 6 7 8\n", &[]), None);
    }

    #[test]
    fn the_share_is_of_all_cpus() {
        let seconds = Duration::from_secs;
        assert!((share(seconds(1), seconds(2), 1) - 0.5).abs() < 1e-12);
        assert!((share(seconds(1), seconds(2), 4) - 0.125).abs() < 1e-12);
        assert!(share(seconds(0), seconds(0), 0).abs() < 1e-12);
    }

    #[test]
    fn a_process_that_works_gets_a_share() {
        let working = Occupancy::begin();
        while process_cpu_time() == working.spent {
            std::hint::spin_loop();
        }
        assert!(working.share(1) > 0.0 && working.share(4) < working.share(1));
    }
}
