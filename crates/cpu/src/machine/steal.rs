//! Time that the hypervisor took from virtual CPUs, as Linux accounts it in `/proc/stat`.

use std::collections::BTreeMap;

use syncscope_host::clock::ticks_per_second;

use crate::machine::system::System;

/// The field of a `cpu` line after its name (Linux `Documentation/filesystems/proc.rst`): user, nice, system, idle,
/// iowait, irq, softirq, steal.
const STEAL: usize = 7;

/// Time stolen from each CPU since the system started, in the kernel's ticks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StealCounters(BTreeMap<u32, u64>);

impl StealCounters {
    /// The counters of `cpus` now; `None` where the system does not count steal time of each of them.
    #[must_use]
    pub fn read(system: &System, cpus: &[u32]) -> Option<Self> {
        let text = system.read("proc/stat")?;
        let all: BTreeMap<u32, u64> = text.lines().filter_map(counter).collect();
        let wanted: Option<BTreeMap<u32, u64>> = cpus.iter().map(|cpu| Some((*cpu, *all.get(cpu)?))).collect();
        wanted.filter(|counters| !counters.is_empty()).map(Self)
    }

    /// Seconds stolen from each CPU since `earlier`.
    #[must_use]
    pub fn seconds_since(&self, earlier: &Self) -> BTreeMap<u32, f64> {
        self.since(earlier, ticks_per_second())
    }

    fn since(&self, earlier: &Self, ticks_per_second: f64) -> BTreeMap<u32, f64> {
        let seconds = |(cpu, ticks): (&u32, &u64)| {
            let before = earlier.0.get(cpu).copied().unwrap_or(*ticks);
            // The kernel documents that counters may decrease.
            (*cpu, ticks.saturating_sub(before) as f64 / ticks_per_second)
        };
        self.0.iter().map(seconds).collect()
    }
}

/// CPU and counter of a line such as `cpu3 10 20 ...`. The line `cpu`, the sum, is not one.
fn counter(line: &str) -> Option<(u32, u64)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    Some((cpu, words.nth(STEAL)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::system::tests::system;

    fn counters(stat: &str, cpus: &[u32]) -> Option<StealCounters> {
        let (_root, system) = system(&[("proc/stat", stat)]);
        StealCounters::read(&system, cpus)
    }

    #[test]
    fn steal_of_the_allowed_cpus_is_the_difference_of_two_readings() {
        let before = "cpu  9 9 9 9 9 9 9 999 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\ncpu1 1 2 3 4 5 6 7 50 0 0\ncpu2 0 0 0 0 0 0 0 7 0 0\nintr 5\n";
        let after = before.replace(" 100 0 0", " 250 0 0").replace(" 7 0 0", " 99 0 0");
        let [before, after] = [before, &after].map(|text| counters(text, &[0, 1]).unwrap());
        assert_eq!(after.since(&before, 100.0), BTreeMap::from([(0, 1.5), (1, 0.0)]));
        assert_eq!(before.since(&after, 100.0), BTreeMap::from([(0, 0.0), (1, 0.0)]), "never negative");
    }

    #[test]
    fn a_system_that_does_not_count_is_unknown() {
        assert_eq!(counters("cpu0 1 2 3 4 5 6 7\n", &[0]), None, "before Linux 2.6.11");
        assert_eq!(counters("cpu0 1 2 3 4 5 6 7 8\n", &[0, 1]), None, "a CPU is missing");
        assert_eq!(counters("", &[0]), None);
        assert_eq!(counters("cpu0 1 2 3 4 5 6 7 8\n", &[]), None);
    }
}
