//! Whether the processes of a run measure under the same conditions, and each process from beginning to end.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use syncscope_host::{cpu_list, program_identity};

use crate::cpu_time::cpu_quota;
use crate::surroundings::{preloaded, variables};
use crate::system::{System, settings};

/// Conditions that others may change while a process measures, each with its value: the kernel's settings, the time that
/// control groups grant, and unusual properties of the process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changeable(BTreeMap<String, String>);

impl Changeable {
    /// The changeable conditions of this process, which measures on these CPUs, and of the system.
    pub fn here(cpus: &[u32]) -> Self {
        Self::of(&System::default(), cpus)
    }

    fn of(system: &System, cpus: &[u32]) -> Self {
        let settings = settings(system);
        // The frequency range is left out: the kernel lowers it while a processor is hot. The clock is measured, and rows say
        // that it changed.
        let of_system = [
            ("CPU quota", cpu_quota(system.root()).map(|quota| format!("{} CPUs", quota.cpus))),
            ("governor", system.governor(cpus)),
            ("boost", system.boost().map(|is_on| if is_on { "on" } else { "off" }.to_owned())),
            ("transparent huge pages", settings.transparent_huge_pages),
            ("NUMA balancing", settings.numa_balancing.map(|level| level.to_string())),
            ("idle states", settings.idle_states),
            ("energy preference", settings.energy_preference),
        ];
        let of_system = of_system.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self(of_system.chain(settings.process).collect())
    }

    /// The conditions that have other values `now`, with both values; `None` if all are equal.
    pub fn change(&self, now: &Self) -> Option<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let value = |of: &Self, name: &str| of.0.get(name).map_or("not set", String::as_str).to_owned();
        let both = names.into_iter().map(|name| (name, value(self, name), value(now, name)));
        let changed = both.filter(|(_, then, now)| then != now);
        let texts: Vec<String> = changed.map(|(name, then, now)| format!("{name}: {now} instead of {then}")).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }
}

/// The conditions that the processes of a run must share: otherwise their figures do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The CPUs that the processes may use.
    cpus: Vec<u32>,
    variables: BTreeMap<String, String>,
    preloaded: Vec<String>,
    /// The device and inode of the running file.
    program: Option<[u64; 2]>,
    changeable: Changeable,
}

impl Conditions {
    /// The conditions of this process, which measures on these CPUs.
    pub fn here(cpus: Vec<u32>) -> Self {
        let changeable = Changeable::here(&cpus);
        Self { cpus, variables: variables(), preloaded: preloaded(), program: program_identity(), changeable }
    }

    /// The conditions that others have changed since; `None` if none has changed.
    pub fn change(&self) -> Option<String> {
        self.changeable.change(&Changeable::here(&self.cpus))
    }

    /// How the conditions `here` differ from the intended ones; `None` if they are equal.
    pub fn difference(&self, here: &Self) -> Option<String> {
        let of = |cpus: &[u32]| if cpus.is_empty() { "none".to_owned() } else { cpu_list::format(cpus) };
        if self.cpus != here.cpus {
            let (here, meant) = (of(&here.cpus), of(&self.cpus));
            return Some(format!(
                "it may use CPUs {here} instead of {meant}; check taskset, the cpuset and binding variables"
            ));
        }
        if self.program != here.program {
            return Some("it runs another program file".to_owned());
        }
        if self.preloaded != here.preloaded {
            return Some("other libraries were preloaded".to_owned());
        }
        if let Some(change) = self.changeable.change(&here.changeable) {
            return Some(format!("it has {change}"));
        }
        let names: BTreeSet<&String> = self.variables.keys().chain(here.variables.keys()).collect();
        let other = names.into_iter().find(|name| self.variables.get(*name) != here.variables.get(*name))?;
        Some(format!("it has another value of {other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_between_two_processes_is_named() {
        let meant = Conditions {
            cpus: vec![0, 1],
            variables: [("OMP_NUM_THREADS".to_owned(), "2".to_owned())].into(),
            preloaded: vec![],
            program: Some([1, 2]),
            changeable: Changeable::default(),
        };
        let with = |change: fn(&mut Conditions)| {
            let mut other = meant.clone();
            change(&mut other);
            meant.difference(&other)
        };
        assert_eq!(with(|_| ()), None);
        assert!(with(|other| other.cpus = vec![0]).unwrap().contains("CPUs 0 instead of 0-1"));
        assert!(with(|other| other.cpus = vec![]).unwrap().contains("none"));
        assert!(with(|other| other.program = Some([1, 3])).unwrap().contains("another program file"));
        assert!(with(|other| other.preloaded = vec!["a.so".into()]).unwrap().contains("preloaded"));
        assert!(with(|other| other.variables.clear()).unwrap().contains("OMP_NUM_THREADS"));
        let nice =
            |other: &mut Conditions| other.changeable = Changeable([("nice".to_owned(), "19".to_owned())].into());
        assert_eq!(with(nice).unwrap(), "it has nice: 19 instead of not set");
    }

    /// Each file that others may write, with another content.
    #[test]
    fn what_others_change_is_found_by_its_name() {
        let files = [
            ("proc/self/cgroup", "0::/"),
            ("sys/fs/cgroup/cpu.max", "max 100000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
            ("sys/devices/system/cpu/cpufreq/boost", "1"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
            ("proc/sys/kernel/numa_balancing", "0"),
            ("proc/self/timerslack_ns", "50000"),
            ("sys/devices/system/cpu/online", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "C6"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "800000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3800000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "performance"),
        ];
        let changeable = |files: &[(&str, &str)]| {
            let (_root, system) = crate::system::tests::system(files);
            Changeable::of(&system, &[0])
        };
        let begun = changeable(&files);
        assert_eq!(begun.change(&changeable(&files)), None);
        for (path, content, change) in [
            ("cpu.max", "30000 100000", "CPU quota: 0.3 CPUs instead of not set"),
            ("scaling_governor", "powersave", "governor: powersave instead of performance"),
            ("boost", "0", "boost: off instead of on"),
            ("enabled", "[always] madvise never", "transparent huge pages: always instead of madvise"),
            ("numa_balancing", "1", "NUMA balancing: 1 instead of 0"),
            ("timerslack_ns", "1", "timer slack in ns: 1 instead of not set"),
            ("disable", "1", "idle states: C6 (off) instead of C6"),
            ("preference", "power", "energy preference: power instead of performance"),
        ] {
            let changed = files.map(|(file, old)| (file, if file.ends_with(path) { content } else { old }));
            assert_eq!(begun.change(&changeable(&changed)).as_deref(), Some(change));
        }
        let hot = files.map(|(file, old)| (file, if file.ends_with("max_freq") { "1000000" } else { old }));
        assert_eq!(begun.change(&changeable(&hot)), None, "no reason to discard what a process has measured");
    }
}
