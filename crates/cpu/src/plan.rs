//! Which cases a preset has on a machine.

use std::collections::{HashMap, HashSet};

use syncscope_core::machine::CpuMachine;
use syncscope_core::units::plural;
use syncscope_core::{Case, CaseId, Layout, Placement, Preset, Waits};

use crate::axes::{Axes, MORE_THAN_CPUS, MOST_PROCESSES};
use crate::primitives::{Entry, InQuick, entries, find};
use crate::thinning::within_time;
use syncscope_machine::placement::{are_alike, named};
use syncscope_machine::studies::Setting;
use syncscope_machine::topology::Topology;

/// Returns the cases of `preset` on a machine with this description, taken to be regular.
///
/// ```
/// use syncscope_core::{Preset, machine::CpuMachine};
///
/// let machine = CpuMachine { packages: 1, cores: 8, hardware_threads: 16, ..CpuMachine::default() };
/// let quick = syncscope_cpu::cases(Preset::Quick, &machine);
/// assert!(quick.iter().any(|case| case.primitive == "cpu.lock.ticket"));
/// assert!(quick.len() < syncscope_cpu::cases(Preset::Standard, &machine).len());
/// ```
pub fn cases(preset: Preset, machine: &CpuMachine) -> Vec<Case> {
    plan(preset, &Topology::described(machine))
}

/// The cases of `preset` on a machine that there is time for, in the order of the catalogue.
pub(crate) fn plan(preset: Preset, topology: &Topology) -> Vec<Case> {
    within_time(preset, topology, whole(preset, topology)).0
}

/// All cases of `preset` on a machine, however long they take.
pub(crate) fn whole(preset: Preset, topology: &Topology) -> Vec<Case> {
    let (axes, setting) = (Axes::of(preset, topology), Setting::of(preset, topology));
    entries().flat_map(|entry| in_preset(preset, entry.in_quick, cases_of(entry, &axes, &setting))).collect()
}

/// All cases of the largest preset on a machine that has room for all: two packages of eight cores with two hardware threads.
pub(crate) fn variants() -> Vec<Case> {
    let machine = CpuMachine { packages: 2, numa_nodes: 2, cores: 16, hardware_threads: 32, ..CpuMachine::default() };
    plan(Preset::Paper, &Topology::described(&machine))
}

/// Fits cases that were asked for into a plan: each gets the name of the placement under which a plan has the same CPUs, or the
/// reason why it cannot exist.
pub(crate) fn fitting(preset: Preset, topology: &Topology, cases: Vec<Case>) -> Vec<Result<Case, String>> {
    let (cpus, usual) = (topology.allowed().count() as u32, named(topology, &Placement::Cores));
    let mut names: HashMap<(Placement, u32), Placement> = HashMap::new();
    let mut name_of = |asked: Placement, threads: u32| {
        let of_same_cpus = || {
            let is_same = |known: &&Placement| are_alike(topology, known, &asked, threads);
            [&usual, &Placement::Close].into_iter().find(is_same).unwrap_or(&asked).clone()
        };
        names.entry((asked.clone(), threads)).or_insert_with(of_same_cpus).clone()
    };
    let mut fitting = |case: Case| {
        if let Some(reason) = limit(preset, &case, cpus) {
            return Err(reason);
        }
        let placement = case.placement.clone().map(|placement| match placement {
            Placement::Cores | Placement::Close | Placement::Spread => name_of(placement, case.threads.unwrap_or(1)),
            other => other,
        });
        Ok(Case { placement, ..case })
    };
    cases.into_iter().map(&mut fitting).collect()
}

/// Why a case cannot exist on `cpus` CPUs.
fn limit(preset: Preset, case: &Case, cpus: u32) -> Option<String> {
    let threads = case.threads.unwrap_or(1);
    if threads == 1 && case.layout.and_then(Layout::stride).is_some_and(|stride| stride > 1) {
        return Some("a single thread has no other elements to keep apart".to_owned());
    }
    let entry = find(&case.primitive)?;
    if case.domain_and_family().1 == "process" && threads > MOST_PROCESSES {
        return Some(format!("{threads} processes, but it has at most {MOST_PROCESSES}"));
    }
    let most = if preset == Preset::Paper { cpus + MORE_THAN_CPUS } else { cpus };
    let is_kept_waiting = entry.primitive.facts.waits == Waits::Spins && threads > most;
    let larger = if preset == Preset::Paper { "" } else { "; --preset paper measures up to 4 more" };
    is_kept_waiting.then(|| {
        let cpus = plural(cpus, "CPU");
        format!("{threads} threads on {cpus}: they spin, and the one they wait for may have no CPU{larger}")
    })
}

/// Keeps the cases of a primitive that the preset plans.
fn in_preset(preset: Preset, in_quick: InQuick, cases: Vec<Case>) -> Vec<Case> {
    match (preset, in_quick) {
        (Preset::Standard | Preset::Paper, _) | (Preset::Quick, InQuick::All) => cases,
        (Preset::Quick, InQuick::Nothing) => Vec::new(),
        (Preset::Quick, InQuick::MostThreads) => {
            let most = cases.iter().map(|case| case.threads).max().flatten();
            cases.into_iter().filter(|case| case.threads == most).collect()
        }
    }
}

/// The cases of a primitive's own sweep, then those of the studies that it takes part in, each case once.
fn cases_of(entry: &Entry, axes: &Axes, setting: &Setting) -> Vec<Case> {
    if !entry.has_cases_on(&axes.architecture) {
        return Vec::new();
    }
    let mut cases = (entry.cases)(&entry.primitive, axes);
    if entry.studies.is_empty() {
        return cases;
    }
    let mut known: HashSet<CaseId> = cases.iter().map(Case::id).collect();
    for part in entry.studies {
        let mut studied = part.study.cases(setting, &(part.templates)(&entry.primitive, setting.preset));
        studied.retain(|case| (case.placement.is_some() || part.reports_missing) && known.insert(case.id()));
        cases.extend(studied);
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{MemoryOrder, SpinBudget};

    use syncscope_machine::nearness::{PairClass, classes};
    use syncscope_machine::placement::place;
    use syncscope_machine::studies;
    use syncscope_machine::topology::regular;

    fn count(preset: Preset, topology: &Topology) -> usize {
        plan(preset, topology).len()
    }

    /// Whether the plan of this machine has a case that `is_one`.
    fn has(topology: &Topology, is_one: impl Fn(&Case) -> bool) -> bool {
        plan(Preset::Standard, topology).iter().any(is_one)
    }

    #[test]
    fn each_study_that_lacks_something_has_a_case_that_says_so() {
        let one_cpu = regular(1, 1, 1, 1, 1);
        let groups =
            studies::MISSING.iter().map(|(group, _)| *group).chain(PairClass::ALL.iter().map(|class| class.as_str()));
        for group in groups {
            assert!(has(&one_cpu, |case| case.in_group(group) && studies::unavailable(case).is_some()), "{group}");
        }
        assert!(has(&one_cpu, |case| case.in_group("one_cpu")));
        assert!(has(&regular(1, 1, 1, 4, 1), studies::core_to_core::is_of_matrix));
    }

    /// The machine with each architecture, and how many cases it may have there for a given number on x86-64: on AArch64 relaxed
    /// and ordered atomic operations differ.
    fn of_each(machine: &Topology) -> [(Topology, impl Fn(usize) -> usize); 2] {
        [("x86_64", 2), ("aarch64", 3)].map(|(name, halves)| {
            (Topology { architecture: name.to_owned(), ..machine.clone() }, move |most| most * halves / 2)
        })
    }

    #[test]
    fn a_described_machine_has_the_operations_of_its_architecture() {
        for (name, order, hint) in
            [("x86_64", MemoryOrder::SeqCst, "cpu.wait.pause"), ("aarch64", MemoryOrder::Release, "cpu.wait.isb")]
        {
            let machine = CpuMachine { architecture: name.to_owned(), cores: 2, ..CpuMachine::default() };
            let cases = cases(Preset::Quick, &machine);
            let of = |id: &str| cases.iter().filter(|case| case.primitive == id).collect::<Vec<_>>();
            let orders: HashSet<_> = of("cpu.atomic.write").into_iter().map(|case| case.order.unwrap()).collect();
            assert_eq!(orders, HashSet::from([MemoryOrder::Relaxed, order]));
            let hints = ["cpu.wait.pause", "cpu.wait.isb"].map(|id| (id, of(id).len()));
            assert_eq!(hints, hints.map(|(id, _)| (id, usize::from(id == hint))));
        }
    }

    #[test]
    fn plans_are_affordable() {
        for (small, most) in of_each(&regular(1, 1, 1, 2, 1)) {
            assert!(count(Preset::Quick, &small) < most(106), "{}", count(Preset::Quick, &small));
        }
        for (large, most) in of_each(&regular(2, 1, 1, 4, 2)) {
            assert!(count(Preset::Quick, &large) <= most(480), "{}", count(Preset::Quick, &large));
            assert!(count(Preset::Standard, &large) > count(Preset::Quick, &large));
        }
    }

    #[test]
    fn the_quick_plan_has_the_largest_teams_of_some_primitives() {
        let threads = |primitive: &str, preset| -> Vec<u32> {
            let cases = plan(preset, &regular(1, 1, 1, 4, 1));
            cases.iter().filter(|case| case.primitive == primitive).filter_map(|case| case.threads).collect()
        };
        assert_eq!(threads("cpu.lock.ticket", Preset::Quick), [1, 2, 4]);
        assert_eq!(threads("cpu.lock.clh", Preset::Quick), [4]);
        assert!(threads("cpu.lock.clh", Preset::Standard).contains(&1));
        assert!(threads("cpu.lock.spin_park", Preset::Quick).is_empty());
        assert!(threads("cpu.lock.cohort", Preset::Paper).is_empty(), "one group of CPUs");
    }

    /// Every preset shows what a machine has beyond cores that are alike.
    #[test]
    fn siblings_homes_and_spread_have_rows_in_every_preset() {
        for preset in Preset::ALL {
            let count = |topology: &Topology, of: &dyn Fn(&Case) -> bool| {
                plan(*preset, topology).iter().filter(|case| case.placement.is_some() && of(case)).count()
            };
            let siblings = |case: &Case| {
                case.in_group("sibling_idle") || case.in_group("sibling_busy") || case.in_group("same_core")
            };
            let homes = |case: &Case| case.in_group("line_on_node #");
            let spread = |case: &Case| case.placement == Some(Placement::Spread);
            let (flat, both) = (regular(1, 1, 1, 4, 1), regular(2, 1, 1, 2, 2));
            for (name, of) in
                [("siblings", &siblings as &dyn Fn(&Case) -> bool), ("homes", &homes), ("spread", &spread)]
            {
                assert!(count(&both, of) > 3, "{preset:?} {name}");
                assert_eq!(count(&flat, of), 0, "{preset:?} {name}");
            }
            assert!(count(&regular(1, 1, 1, 4, 2), &siblings) > 3 && count(&regular(2, 1, 1, 4, 1), &homes) > 3);
        }
    }

    #[test]
    fn the_quick_plan_has_few_chains_and_forms() {
        // On AArch64 each chain has two orderings.
        for ((machine, _), most) in of_each(&regular(1, 1, 1, 2, 1)).into_iter().zip([6, 10]) {
            let count = |preset| {
                let cases = plan(preset, &machine);
                cases.iter().filter(|case| case.mode.is_some() || case.form.is_some()).count()
            };
            assert!((4..=most).contains(&count(Preset::Quick)), "{}", count(Preset::Quick));
            assert!(count(Preset::Standard) > count(Preset::Quick));
        }
    }

    #[test]
    fn large_machines_have_a_plan_within_bounds() {
        for machine in [regular(2, 4, 4, 16, 2), regular(8, 1, 8, 8, 2), regular(2, 1, 8, 8, 2), regular(3, 1, 5, 5, 4)]
        {
            for (machine, most) in of_each(&machine) {
                let counts: Vec<usize> = Preset::ALL.iter().map(|preset| count(*preset, &machine)).collect();
                let bounds = [1_100, 7_000, 40_000].map(most);
                assert!(counts.iter().zip(bounds).all(|(count, bound)| *count < bound), "{counts:?}");
            }
        }
    }

    /// Machines of every kind: packages, NUMA nodes, caches, cores, hardware threads, and some with forbidden CPUs.
    fn machines() -> Vec<Topology> {
        vec![
            regular(1, 1, 1, 1, 1),
            regular(1, 1, 1, 1, 2),
            regular(2, 4, 2, 8, 2),
            regular(1, 1, 4, 4, 1),
            regular(2, 1, 1, 75, 2),
            regular(2, 4, 2, 8, 2).restricted(|cpu| cpu % 3 != 1),
            regular(8, 1, 1, 4, 4),
        ]
    }

    #[test]
    fn everything_planned_can_be_placed() {
        for topology in machines() {
            let mut known = HashMap::new();
            for preset in Preset::ALL {
                for case in plan(*preset, &topology) {
                    let (Some(placement), Some(threads)) = (&case.placement, case.threads) else { continue };
                    let key = (placement.clone(), threads);
                    let placed = known.entry(key).or_insert_with(|| place(&topology, placement, threads).unwrap());
                    assert_eq!(placed.cpus.len(), threads as usize, "{case}");
                    if let Placement::List(cpus) = placement {
                        assert_eq!(cpus.len(), threads as usize, "{case}");
                        let shares_a_cpu =
                            case.in_group("one_cpu") || SpinBudget::of(&case).is_some_and(|budget| budget.competes);
                        assert_eq!(placed.oversubscribed(), shares_a_cpu, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_case_is_planned_twice() {
        for topology in machines() {
            for preset in Preset::ALL {
                let cases = plan(*preset, &topology);
                let ids: HashSet<_> = cases.iter().map(Case::id).collect();
                assert_eq!(ids.len(), cases.len());
            }
        }
    }

    #[test]
    fn every_primitive_is_planned() {
        let topology = regular(1, 1, 2, 2, 2);
        for preset in Preset::ALL {
            let cases = plan(*preset, &topology);
            for entry in entries() {
                let is_planned = cases.iter().any(|case| case.primitive == entry.primitive.id);
                let is_of_preset = *preset != Preset::Quick || entry.in_quick != InQuick::Nothing;
                assert!(is_planned == is_of_preset || entry.unavailable().is_some(), "{}", entry.primitive.id);
            }
        }
    }

    #[test]
    fn every_class_is_measured_with_and_without_contention() {
        let machine = regular(2, 4, 2, 2, 2);
        let cases = plan(Preset::Standard, &machine);
        for (class, pair) in classes(&machine) {
            let is_of_class = |case: &&Case| case.primitive == "cpu.atomic.add" && case.group == Some(class.group());
            let (shared, private): (Vec<_>, Vec<_>) =
                cases.iter().filter(is_of_class).partition(|case| case.layout == Some(Layout::Shared));
            assert!(!shared.is_empty() && !private.is_empty(), "{class:?}");
            assert!(shared.iter().chain(&private).all(|case| case.placement == Some(Placement::List(pair.to_vec()))));
            let distance =
                |case: &Case| case.layout.and_then(Layout::stride).unwrap() as usize * case.dtype.unwrap().size_bytes();
            assert!(private.iter().all(|case| distance(case) >= 128), "lines of their own");
        }
    }

    #[test]
    fn the_matrix_has_its_pairs_once() {
        let machine = regular(2, 4, 4, 16, 2);
        for (preset, pairs) in [(Preset::Quick, [256, 0]), (Preset::Paper, [512, 512])] {
            let cases = plan(preset, &machine);
            let of_pairs = ["cpu.handoff.cas_pingpong", "cpu.handoff.store_pingpong"].map(|primitive| {
                let is_of_pair = |case: &&Case| {
                    let is_class = PairClass::ALL.iter().any(|class| case.group == Some(class.group()));
                    case.primitive == primitive && case.placement.is_some() && is_class
                };
                cases.iter().filter(is_of_pair).count()
            });
            assert_eq!(of_pairs, pairs, "{preset:?}");
        }
    }
}
