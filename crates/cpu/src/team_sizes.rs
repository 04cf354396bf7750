//! How many threads the teams of a preset have.

use std::collections::HashMap;

use syncscope_core::Preset;

use crate::machine::topology::{HardwareThread, Topology};

/// Every number of threads up to this one is measured. Beyond it there are eight steps to each next power of two.
const DENSE: u32 = 16;

/// On machines with more CPUs than this, the standard preset plans by class.
const LARGE: u32 = 64;

/// The numbers of threads that `preset` measures.
pub(crate) fn team_sizes(preset: Preset, topology: &Topology) -> Vec<u32> {
    let cpus = topology.allowed().count().max(1) as u32;
    match preset {
        Preset::Quick => powers_of_two(cpus),
        Preset::Standard if cpus > LARGE => by_class(topology, cpus),
        Preset::Standard => thinned(cpus),
        // The papers measure some more threads than CPUs.
        Preset::Paper => thinned(cpus).into_iter().chain(cpus + 1..=cpus + 4).collect(),
    }
}

/// 1, 2, 4, ... and `most`.
pub(crate) fn powers_of_two(most: u32) -> Vec<u32> {
    let mut counts: Vec<u32> =
        std::iter::successors(Some(1_u32), |count| count.checked_mul(2)).take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

/// Every number up to [`DENSE`], then eight steps for each doubling, and `most`.
fn thinned(most: u32) -> Vec<u32> {
    let next = |count: &u32| Some(if *count < DENSE { count + 1 } else { count + (1 << count.ilog2()) / 8 });
    let mut counts: Vec<u32> = std::iter::successors(Some(1), next).take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

/// Every number up to 8, two steps for each doubling, and the teams that fill a part of the machine: a core, a last-level
/// cache, a NUMA node, one, two, four, ... packages. Between them a cost follows the curve of its class.
fn by_class(topology: &Topology, most: u32) -> Vec<u32> {
    let steps = powers_of_two(most).into_iter().flat_map(|power| [power, power + power / 2]);
    let parts: [fn(&HardwareThread) -> Option<u32>; 4] = [
        |thread| Some(thread.core),
        |thread| thread.last_level_cache,
        |thread| Some(thread.numa_node),
        |thread| Some(thread.package),
    ];
    let filled = parts.map(|part| largest(topology, part));
    let packages = powers_of_two(topology.packages().max(1)).into_iter().map(|packages| packages * filled[3]);
    let mut counts: Vec<u32> = (1..=8).chain(steps).chain(filled).chain(packages).collect();
    counts.retain(|count| (1..=most).contains(count));
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The CPUs of the largest part of a kind; 0 where there is none.
fn largest(topology: &Topology, part: fn(&HardwareThread) -> Option<u32>) -> u32 {
    let mut sizes: HashMap<u32, u32> = HashMap::new();
    topology.allowed().filter_map(part).for_each(|number| *sizes.entry(number).or_default() += 1);
    sizes.into_values().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;

    #[test]
    fn numbers_of_threads() {
        assert_eq!(powers_of_two(1), [1]);
        assert_eq!(powers_of_two(8), [1, 2, 4, 8]);
        assert_eq!(powers_of_two(12), [1, 2, 4, 8, 12]);
        assert_eq!(thinned(3), [1, 2, 3]);
        assert_eq!(thinned(27)[15..], [16, 18, 20, 22, 24, 26, 27]);
        assert!(thinned(1024).len() < 70);
    }

    #[test]
    fn large_machines_have_teams_that_fill_their_parts() {
        // Two packages with two nodes of three caches, each with five cores of two threads: 10, 30, 60, 120 CPUs.
        let odd = regular(2, 2, 3, 5, 2);
        let sizes = team_sizes(Preset::Standard, &odd);
        assert_eq!(sizes, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 30, 32, 48, 60, 64, 96, 120]);
        assert!(team_sizes(Preset::Paper, &odd).contains(&124));
        let part = odd.restricted(|cpu| cpu % 4 != 3);
        assert_eq!(team_sizes(Preset::Standard, &part).last(), Some(&90));
        let thousand = team_sizes(Preset::Standard, &regular(8, 1, 8, 8, 2));
        assert!([2, 16, 128, 256, 512, 1024].iter().all(|size| thousand.contains(size)), "{thousand:?}");
        assert!(thousand.len() < 24, "{thousand:?}");
    }

    #[test]
    fn small_machines_have_teams_of_every_size() {
        assert_eq!(team_sizes(Preset::Standard, &regular(1, 1, 1, 6, 2)), (1..=12).collect::<Vec<_>>());
        assert_eq!(team_sizes(Preset::Quick, &regular(1, 1, 1, 6, 2)), [1, 2, 4, 8, 12]);
    }
}
