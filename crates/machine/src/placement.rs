//! Chooses one CPU for each thread, by a placement and a number of threads.
//!
//! The words are OpenMP's (`OMP_PROC_BIND` with `OMP_PLACES=threads`; OpenMP 5.2, 10.1.3): every allowed hardware thread is a
//! place, and places are in topology order. `cores` is `OMP_PLACES=cores` with `OMP_PROC_BIND=close`; of several kinds of cores
//! the fast ones come first.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

use syncscope_core::Placement;
use syncscope_core::machine::Boundaries;
use syncscope_host::cpu_list;

use crate::described::Description;
use crate::topology::{HardwareThread, Topology, distinct};

/// Why no thread can be placed.
const NO_CPU: &str = "none of the CPUs in the topology is in this process's affinity mask: check taskset and the cpuset of its control group";

static TOPOLOGY: OnceLock<Option<Topology>> = OnceLock::new();

/// The topology that the laboratory opened first places threads on, for primitives that depend on where their threads are;
/// without a laboratory, all that hwloc finds.
pub fn topology_of_teams() -> Option<&'static Topology> {
    TOPOLOGY.get_or_init(|| Description::of_environment().ok()?.topology().ok()).as_ref()
}

/// Sets the topology that teams are placed on.
pub fn place_teams_on(topology: &Topology) {
    // The machine and what the process may use of it are the same for a second laboratory.
    let _ = TOPOLOGY.set(Some(topology.clone()));
}

/// The placement of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The CPU that thread `i` is bound to; `None` leaves it to the operating system.
    pub cpus: Vec<Option<u32>>,
    /// The number of CPUs available to the team.
    pub available: u32,
}

impl Placed {
    /// Whether threads of the team have to share a CPU.
    pub fn oversubscribed(&self) -> bool {
        self.cpus.len() > self.available as usize
    }
}

/// Places `threads` threads.
///
/// # Errors
/// When no CPU, or not every CPU asked for, may be used.
pub fn place(topology: &Topology, placement: &Placement, threads: u32) -> Result<Placed, String> {
    let allowed: Vec<&HardwareThread> = topology.allowed().collect();
    if allowed.is_empty() {
        return Err(NO_CPU.to_owned());
    }
    let pinned = match placement {
        Placement::None => {
            return Ok(Placed { cpus: vec![None; threads as usize], available: allowed.len() as u32 });
        }
        Placement::List(list) => listed(topology, list, threads)?,
        Placement::Cores | Placement::Close | Placement::Spread => {
            let cpus: Vec<u32> = taken(&allowed, placement, threads).into_iter().map(|place| place.os).collect();
            fold(&cpus, threads)
        }
    };
    let available = distinct(pinned.iter().copied());
    Ok(Placed { available, cpus: pinned.into_iter().map(Some).collect() })
}

/// The places that threads take one after the other, as indices: more threads take those of fewer threads and then
/// others. `spread` is a sparse distribution: each thread takes the place with the fewest threads around it, from the core
/// outwards. No two threads share a core while another core is free, and packages, NUMA nodes and last-level caches fill evenly.
fn in_order(places: &[&HardwareThread], placement: &Placement) -> Vec<usize> {
    match placement {
        Placement::Cores => {
            let rank = siblings_before(places);
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_by_key(|index| (rank[*index], places[*index].kind));
            order
        }
        Placement::Spread => least_loaded_first(places),
        _ => (0..places.len()).collect(),
    }
}

/// The places of a team. The threads are numbered in topology order, as OpenMP numbers its subpartitions.
fn taken<'a>(places: &[&'a HardwareThread], placement: &Placement, threads: u32) -> Vec<&'a HardwareThread> {
    let mut chosen = in_order(places, placement);
    chosen.truncate(threads as usize);
    chosen.sort_unstable();
    chosen.into_iter().map(|index| places[index]).collect()
}

/// The places in the order in which threads take them, each the least loaded that is left: its core, then its package, NUMA
/// node and last-level cache; of equals the first.
///
/// Because parts nest, the order within a part does not depend on threads outside. The load that a place meets is therefore its
/// position in that order, found from the inner parts to the outer ones.
fn least_loaded_first(places: &[&HardwareThread]) -> Vec<usize> {
    let parts: [Vec<Option<u32>>; 3] = [
        places.iter().map(|place| Some(place.package)).collect(),
        places.iter().map(|place| place.numa_node).collect(),
        places.iter().map(|place| place.last_level_cache).collect(),
    ];
    let cores = siblings_before(places);
    let mut met: Vec<[u32; 4]> = cores.into_iter().map(|core| [core, 0, 0, 0]).collect();
    let mut order: Vec<usize> = (0..places.len()).collect();
    let mut inner_first = [0, 1, 2];
    inner_first.sort_by_key(|kind| std::cmp::Reverse(parts[*kind].iter().collect::<HashSet<_>>().len()));
    for kind in inner_first {
        order.sort_by_key(|index| (met[*index], *index));
        let mut taken: HashMap<Option<u32>, u32> = HashMap::new();
        for index in &order {
            met[*index][kind + 1] = counted(&mut taken, parts[kind][*index]);
        }
    }
    order.sort_by_key(|index| (met[*index], *index));
    order
}

/// The number of earlier places on the same core, for each place.
fn siblings_before(places: &[&HardwareThread]) -> Vec<u32> {
    let mut on_core = HashMap::new();
    places.iter().map(|place| counted(&mut on_core, Some(place.core))).collect()
}

/// How often `part` was counted before.
fn counted(counts: &mut HashMap<Option<u32>, u32>, part: Option<u32>) -> u32 {
    let count = counts.entry(part).or_default();
    std::mem::replace(count, *count + 1)
}

/// The smallest numbers of threads at which teams of a placement reach further parts of the machine.
pub fn boundaries(topology: &Topology, placement: &Placement) -> Boundaries {
    let places: Vec<&HardwareThread> = topology.allowed().collect();
    let order = in_order(&places, placement);
    let second = |part: &dyn Fn(&HardwareThread) -> Option<u32>| {
        let mut parts = HashSet::new();
        let is_second = |index: &usize| part(places[*index]).is_some_and(|part| parts.insert(part) && parts.len() == 2);
        order.iter().position(is_second).map(|before| before as u32 + 1)
    };
    let mut cores = HashSet::new();
    let siblings = order.iter().position(|index| !cores.insert(places[*index].core));
    let kind = |kind: u32| order.iter().position(|index| places[*index].kind == kind).map(|before| before as u32 + 1);
    Boundaries {
        siblings: siblings.map(|before| before as u32 + 1),
        kinds: (0..).zip(&topology.kind_names).map(|(number, _)| kind(number)).collect(),
        cache: second(&|place| place.last_level_cache.filter(|cache| topology.is_shared_level(*cache))),
        node: second(&|place| place.numa_node),
        package: second(&|place| Some(place.package)),
    }
}

/// Whether a team gets the same CPUs in two placements, taken by their [`named`] form. A placement that is impossible here
/// equals no other.
pub fn are_alike(topology: &Topology, one: &Placement, other: &Placement, threads: u32) -> bool {
    let (one, other) = (&named(topology, one), &named(topology, other));
    let cpus = |placement| {
        let mut cpus = place(topology, placement, threads).ok()?.cpus;
        cpus.sort_unstable();
        Some(cpus)
    };
    one == other || cpus(one).is_some_and(|own| cpus(other) == Some(own))
}

/// The placement under whose name a team is measured: `cores` is `close` where no core has several usable hardware threads.
pub fn named(topology: &Topology, placement: &Placement) -> Placement {
    let cores = distinct(topology.allowed().map(|thread| thread.core));
    let is_flat = cores as usize == topology.allowed().count();
    if is_flat && *placement == Placement::Cores { Placement::Close } else { placement.clone() }
}

/// The numbers of threads for which a placement chooses other CPUs than each of `others`.
///
/// One walk finds the places for all numbers. Placing each number separately would take minutes for a thousand CPUs.
pub fn where_it_differs(topology: &Topology, placement: &Placement, others: &[Placement], counts: &[u32]) -> Vec<u32> {
    let places: Vec<&HardwareThread> = topology.allowed().collect();
    let order = |placement: &Placement| in_order(&places, placement);
    let (own, others) = (order(placement), others.iter().map(order).collect::<Vec<_>>());
    let first = |order: &[usize], count: u32| -> BTreeSet<usize> {
        order[..(count as usize).min(places.len())].iter().copied().collect()
    };
    let differs = |count: &u32| others.iter().all(|other| first(&own, *count) != first(other, *count));
    counts.iter().copied().filter(differs).collect()
}

/// Places more threads than there are places: consecutive threads share a place. Each place gets the same number of threads,
/// the first ones one more (OpenMP 5.2, 10.1.3, "if T is greater than P").
fn fold(places: &[u32], threads: u32) -> Vec<u32> {
    let count = places.len().max(1);
    let (share, extra) = (threads as usize / count, threads as usize % count);
    places
        .iter()
        .enumerate()
        .flat_map(|(index, cpu)| std::iter::repeat_n(*cpu, share + usize::from(index < extra)))
        .collect()
}

fn listed(topology: &Topology, list: &[u32], threads: u32) -> Result<Vec<u32>, String> {
    let allowed = topology.allowed_cpus();
    if let Some(cpu) = list.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed = cpu_list::format(&allowed);
        return Err(format!("CPU {cpu} does not exist or this process may not use it; it may use {allowed}"));
    }
    if list.is_empty() {
        return Err(NO_CPU.to_owned());
    }
    Ok(list.iter().copied().cycle().take(threads as usize).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::regular;
    use crate::topology::tests::{hybrid, of_kinds, siblings_offline};

    fn cpus(topology: &Topology, placement: &Placement, threads: u32) -> Vec<u32> {
        place(topology, placement, threads).unwrap().cpus.into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn two_packages_with_smt() {
        // Cores 0-3 and 4-7; siblings are 8 apart.
        let machine = regular(2, 1, 1, 4, 2);
        assert_eq!(cpus(&machine, &Placement::Close, 5), [0, 8, 1, 9, 2]);
        assert_eq!(cpus(&machine, &Placement::Spread, 2), [0, 4]);
        assert_eq!(cpus(&machine, &Placement::Spread, 3), [0, 1, 4]);
        assert_eq!(cpus(&machine, &Placement::Spread, 8), [0, 1, 2, 3, 4, 5, 6, 7], "no siblings while cores are free");
        assert_eq!(cpus(&machine, &Placement::Spread, 10), [0, 8, 1, 2, 3, 4, 12, 5, 6, 7]);
        assert_eq!(cpus(&machine, &Placement::Spread, 16), cpus(&machine, &Placement::Close, 16));
    }

    #[test]
    fn four_numa_nodes_without_smt() {
        let machine = regular(1, 4, 1, 4, 1);
        assert_eq!(cpus(&machine, &Placement::Close, 6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(cpus(&machine, &Placement::Spread, 4), [0, 4, 8, 12]);
        assert_eq!(cpus(&machine, &Placement::Spread, 6), [0, 1, 4, 5, 8, 12]);
    }

    #[test]
    fn caches_smaller_than_a_numa_node() {
        let machine = regular(1, 2, 4, 2, 1);
        assert_eq!(cpus(&machine, &Placement::Spread, 2), [0, 8]);
        assert_eq!(cpus(&machine, &Placement::Spread, 8), [0, 2, 4, 6, 8, 10, 12, 14]);
    }

    #[test]
    fn a_restricted_set_of_cpus() {
        // Package 0 keeps one core with both threads, package 1 three threads on two cores.
        let machine = regular(2, 1, 1, 4, 2).restricted(|cpu| [1, 9, 4, 5, 13].contains(&cpu));
        assert_eq!(cpus(&machine, &Placement::Close, 3), [1, 9, 4]);
        assert_eq!(cpus(&machine, &Placement::Spread, 3), [1, 4, 5]);
        let error = place(&machine, &Placement::List(vec![1, 2]), 2).unwrap_err();
        assert_eq!(error, "CPU 2 does not exist or this process may not use it; it may use 1,4-5,9,13");
        let nothing = machine.restricted(|_| false);
        assert_eq!(place(&nothing, &Placement::Close, 1), Err(NO_CPU.to_owned()));
    }

    #[test]
    fn one_hardware_thread_takes_all() {
        let machine = regular(1, 1, 1, 1, 1);
        for placement in [Placement::Close, Placement::Spread, Placement::List(vec![0])] {
            let placed = place(&machine, &placement, 3).unwrap();
            assert_eq!(placed.cpus, [Some(0); 3]);
            assert!(placed.oversubscribed());
        }
        assert!(!place(&machine, &Placement::Close, 1).unwrap().oversubscribed());
    }

    #[test]
    fn too_many_threads_share_places_evenly() {
        let machine = regular(1, 1, 1, 3, 1);
        assert_eq!(cpus(&machine, &Placement::Close, 5), [0, 0, 1, 1, 2]);
        assert_eq!(cpus(&machine, &Placement::Spread, 7), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(cpus(&machine, &Placement::List(vec![2, 0]), 3), [2, 0, 2], "a list starts again");
    }

    #[test]
    fn none_binds_nothing() {
        let placed = place(&regular(1, 1, 1, 2, 1), &Placement::None, 3).unwrap();
        assert_eq!(placed, Placed { cpus: vec![None; 3], available: 2 });
        assert!(placed.oversubscribed());
    }

    #[test]
    fn spread_differs_where_placements_differ() {
        let machines = [
            regular(2, 1, 1, 4, 2),
            regular(2, 4, 2, 2, 2),
            regular(1, 1, 1, 5, 1),
            regular(2, 2, 1, 3, 2).restricted(|cpu| cpu % 5 != 1),
        ];
        for machine in machines {
            let counts: Vec<u32> = (1..=40).collect();
            let sets = |placement: Placement| {
                let set = |count: &u32| cpus(&machine, &placement, *count).into_iter().collect::<BTreeSet<_>>();
                counts.iter().map(set).collect::<Vec<_>>()
            };
            let [cores, close, spread] = [Placement::Cores, Placement::Close, Placement::Spread].map(sets);
            let differing = (0..counts.len()).filter(|at| spread[*at] != close[*at] && spread[*at] != cores[*at]);
            let expected: Vec<u32> = differing.map(|at| counts[at]).collect();
            let others = [Placement::Close, Placement::Cores];
            assert_eq!(where_it_differs(&machine, &Placement::Spread, &others, &counts), expected);
        }
    }

    /// `spread` by its definition: each thread takes the free place with the fewest threads around it.
    fn least_loaded_of_all(places: &[&HardwareThread]) -> Vec<usize> {
        let mut left: Vec<usize> = (0..places.len()).collect();
        let mut chosen: Vec<usize> = Vec::new();
        while !left.is_empty() {
            let load = |index: usize| {
                let on = |same: &dyn Fn(&HardwareThread, &HardwareThread) -> bool| {
                    chosen.iter().filter(|taken| same(places[**taken], places[index])).count()
                };
                [
                    on(&|one, other| one.core == other.core),
                    on(&|one, other| one.package == other.package),
                    on(&|one, other| one.numa_node == other.numa_node),
                    on(&|one, other| one.last_level_cache == other.last_level_cache),
                ]
            };
            let next = (0..left.len()).min_by_key(|at| load(left[*at])).unwrap();
            chosen.push(left.remove(next));
        }
        chosen
    }

    #[test]
    fn spread_takes_the_least_loaded_place_on_any_machine() {
        let mut machines = vec![hybrid(), siblings_offline()];
        for shape in 0..3_u32.pow(5) {
            let [packages, nodes, caches, cores, siblings] =
                std::array::from_fn(|axis| 1 + shape / 3_u32.pow(axis as u32) % 3);
            machines.push(regular(packages, nodes, caches, cores, siblings));
        }
        let changes: [fn(&mut HardwareThread); 4] = [
            |_| (),
            |thread| thread.last_level_cache = None,
            // One node for all, two of three packages in one node, and a package whose node and caches nobody knows.
            |thread| thread.numa_node = Some(thread.package.div_ceil(2)),
            |thread| {
                if thread.package == 1 {
                    (thread.numa_node, thread.last_level_cache) = (None, None);
                }
            },
        ];
        for (number, machine) in machines.iter().enumerate() {
            for (change, kept) in changes.iter().zip([7, 3, 5, 2]) {
                let mut machine = machine.clone().restricted(|cpu| (cpu * cpu + number as u32) % kept != 1);
                machine.threads.iter_mut().for_each(change);
                let places: Vec<&HardwareThread> = machine.allowed().collect();
                assert_eq!(least_loaded_first(&places), least_loaded_of_all(&places), "{places:?}");
            }
        }
    }

    #[test]
    fn boundaries_are_those_of_the_cpus_that_a_team_has() {
        let of = |machine: &Topology, placement| {
            let Boundaries { siblings, kinds, cache, node, package } = boundaries(machine, &placement);
            (siblings, kinds.into_iter().flatten().collect::<Vec<_>>(), cache, node, package)
        };
        let two = regular(2, 2, 1, 5, 2);
        assert_eq!(of(&two, Placement::Cores), (Some(21), vec![], Some(6), Some(6), Some(11)));
        assert_eq!(of(&two, Placement::Close), (Some(2), vec![], Some(11), Some(11), Some(21)));
        assert_eq!(of(&two, Placement::Spread), (Some(21), vec![], Some(2), Some(2), Some(2)));
        // Two nodes of one core each in front of larger ones, as on Fugaku.
        let mut uneven = regular(1, 3, 1, 12, 1);
        uneven.threads.retain(|thread| ![1..12, 13..24].iter().any(|gone| gone.contains(&thread.os)));
        assert_eq!(of(&uneven, Placement::Close).3, Some(2));
        let uneven_packages = regular(2, 1, 1, 8, 1).restricted(|cpu| cpu != 0 && cpu < 12);
        assert_eq!(of(&uneven_packages, Placement::Close).4, Some(8));
        let odd = siblings_offline();
        assert_eq!(of(&odd, Placement::Cores), (Some(9), vec![], None, None, None));
        assert_eq!(of(&hybrid(), Placement::Cores), (Some(25), vec![1, 9], None, None, None));
        assert_eq!(of(&hybrid(), Placement::Close), (Some(2), vec![1, 17], None, None, None));
        assert_eq!(of(&hybrid().restricted(|cpu| (8..24).contains(&cpu)), Placement::Close).1, [1], "one kind is left");
    }

    #[test]
    fn one_thread_on_each_core_is_close_without_siblings() {
        assert_eq!(named(&regular(1, 1, 1, 4, 1), &Placement::Cores), Placement::Close);
        assert_eq!(named(&regular(1, 1, 1, 4, 2).restricted(|cpu| cpu < 4), &Placement::Cores), Placement::Close);
        assert_eq!(named(&regular(1, 1, 1, 4, 2), &Placement::Cores), Placement::Cores);
        assert_eq!(named(&regular(1, 1, 1, 4, 1), &Placement::Spread), Placement::Spread);
        // Even where the first CPUs are slow ones, which `cores` takes last where it has teams of its own.
        let slow_first = of_kinds(regular(1, 1, 1, 20, 1), |cpu| u32::from(cpu / 5 % 2 == 0));
        for threads in 1..=20 {
            assert!(are_alike(&slow_first, &Placement::Cores, &Placement::Close, threads), "{threads}");
        }
        let two = regular(2, 1, 1, 4, 2);
        let alike = |one, other| (1..=16).filter(|threads| are_alike(&two, one, other, *threads)).collect::<Vec<_>>();
        assert_eq!(alike(&Placement::Cores, &Placement::Close), [1, 15, 16]);
        assert_eq!(alike(&Placement::Cores, &Placement::Spread), [1, 7, 8, 9, 15, 16]);
    }

    #[test]
    fn cores_fill_a_socket_before_the_next_and_siblings_come_last() {
        // 2 sockets of 10 cores with two hardware threads each: siblings are 20 apart.
        let machine = regular(2, 1, 1, 10, 2);
        assert_eq!(cpus(&machine, &Placement::Cores, 10), (0..10).collect::<Vec<_>>());
        assert_eq!(cpus(&machine, &Placement::Cores, 20), (0..20).collect::<Vec<_>>());
        assert_eq!(cpus(&machine, &Placement::Cores, 21)[..3], [0, 20, 1], "the first core has two threads");
        assert_eq!(cpus(&machine, &Placement::Cores, 40), cpus(&machine, &Placement::Close, 40));
        // Fast cores first, wherever the system puts them.
        let mut hybrid = hybrid();
        assert_eq!(cpus(&hybrid, &Placement::Cores, 8), (0..8).collect::<Vec<_>>());
        hybrid.threads.rotate_left(16);
        assert_eq!(cpus(&hybrid, &Placement::Cores, 8), (0..8).collect::<Vec<_>>());
        hybrid.threads.rotate_right(16);
        assert_eq!(cpus(&hybrid, &Placement::Cores, 24), (0..24).collect::<Vec<_>>());
        assert_eq!(cpus(&hybrid, &Placement::Close, 4), [0, 24, 1, 25]);
        let flat = regular(2, 2, 1, 24, 1);
        let counts: Vec<u32> = (1..=96).collect();
        assert!(where_it_differs(&flat, &Placement::Cores, &[Placement::Close], &counts).is_empty());
    }
}
