//! What quick and standard leave out on large machines, where the fewest blocks of every case would take longer than the preset
//! promises. One step after the other leaves out more, the least useful first, until the rest ends in time. What a step leaves out
//! is measured where its threads are asked for (`--threads 48`), where few primitives are (`--only 'cpu.lock.*'`), or by the paper
//! preset, which leaves out nothing.

use std::collections::HashMap;
use std::time::Duration;

use syncscope_core::session::preset::time_around;
use syncscope_core::sets::in_groups;
use syncscope_core::{Case, Dtype, MemoryOrder, Placement, Preset, Role};

use crate::axes::filling;
use crate::primitives::find;
use syncscope_machine::placement::named;
use syncscope_machine::topology::Topology;

/// Teams of up to this many threads are cheap to measure.
const SMALL_TEAM: u32 = 8;

/// Only large machines have larger teams.
const MIDDLE_TEAM: u32 = 16;

/// What a step leaves out.
struct Step {
    words: &'static str,
    leaves_out: fn(&Machine<'_>, &Case) -> bool,
}

const STEPS: [Step; 9] = [
    Step {
        words: "with more than 8 threads, all types but one",
        leaves_out: |machine, case| {
            let of_family = machine.common_types.get(&case.domain_and_family()).and_then(|types| types.first());
            case.threads > Some(SMALL_TEAM)
                && case.dtype.is_some()
                && of_family.is_some_and(|one| case.dtype != Some(*one))
        },
    },
    Step {
        words: "with more than 8 threads, teams that fill no cache, node or socket",
        leaves_out: |machine, case| {
            let threads = case.threads.unwrap_or(1);
            threads > SMALL_TEAM && !machine.filling.contains(&threads)
        },
    },
    Step {
        words: "with more than 16 threads, all primitives but locks, barriers and additions",
        leaves_out: |_, case| case.threads > Some(MIDDLE_TEAM) && !is_choice(case),
    },
    Step {
        words: "with more than 16 threads, atomic operations that acquire or release",
        leaves_out: |_, case| case.threads > Some(MIDDLE_TEAM) && acquires_or_releases(case),
    },
    Step {
        words: "with more than 16 threads, all placements but the usual one",
        leaves_out: |machine, case| case.threads > Some(MIDDLE_TEAM) && case.placement != machine.usual,
    },
    Step {
        words: "with more than 16 threads, teams that leave cores of their socket idle",
        leaves_out: |machine, case| {
            let threads = case.threads.unwrap_or(1);
            threads > MIDDLE_TEAM && threads < machine.cores_of_a_socket
        },
    },
    Step {
        words: "with more threads than cores, locks and additions",
        leaves_out: |machine, case| {
            let is_barrier = case.domain_and_family().1 == "barrier";
            case.threads > Some(machine.cores).max(Some(MIDDLE_TEAM)) && !is_barrier
        },
    },
    Step {
        words: "with more than 2 threads, atomic operations and fences that acquire or release",
        leaves_out: |_, case| case.threads > Some(2) && acquires_or_releases(case),
    },
    Step {
        words: "teams larger than a socket that leave cores idle",
        leaves_out: |machine, case| {
            let threads = case.threads.unwrap_or(1);
            threads > machine.cores_of_a_socket && threads < machine.cores
        },
    },
];

/// What the steps need to know about the machine and the plan.
struct Machine<'a> {
    filling: Vec<u32>,
    cores_of_a_socket: u32,
    cores: u32,
    usual: Option<Placement>,
    /// By domain and family.
    common_types: HashMap<(&'a str, &'a str), Vec<Dtype>>,
}

/// The types that all primitives of a family have. Some locks have only one type, in which the others must be comparable with
/// them.
fn common_types(cases: &[Case]) -> HashMap<(&str, &str), Vec<Dtype>> {
    let mut common: HashMap<_, Vec<Dtype>> = HashMap::new();
    let with_type = cases.iter().filter_map(|case| Some((case, case.dtype?)));
    for (_, all) in in_groups(with_type.map(|(case, dtype)| (case.primitive.as_str(), (case, dtype)))) {
        let types: Vec<Dtype> = all.iter().map(|(_, dtype)| *dtype).collect();
        let of_family = common.entry(all[0].0.domain_and_family()).or_insert_with(|| types.clone());
        of_family.retain(|one| types.contains(one));
    }
    common
}

/// The primitives that a user chooses among, and the operation that stands for the others.
fn is_choice(case: &Case) -> bool {
    let is_role = |role| matches!(role, Role::ThreadLock | Role::ThreadBarrier);
    case.primitive == "cpu.atomic.add" || find(&case.primitive).is_some_and(|entry| is_role(entry.primitive.facts.role))
}

/// Whether the case is an operation on variables or a fence that takes instructions of its own only where the processor does not
/// keep all of its order anyway.
fn acquires_or_releases(case: &Case) -> bool {
    use MemoryOrder::{AcqRel, Acquire, Release};
    let is_kept = || find(&case.primitive).is_some_and(|entry| entry.why_elided("x86_64").is_some());
    matches!(case.order, Some(Acquire | Release | AcqRel)) || is_kept()
}

/// How long the cases of the CPUs may take.
const fn limit(preset: Preset) -> Duration {
    match preset {
        Preset::Quick => Duration::from_secs(75),
        Preset::Standard => Duration::from_secs(600),
        Preset::Paper => Duration::MAX,
    }
}

/// Whether the cases end in time, with all that surrounds their passes.
fn end_in_time(preset: Preset, cases: &[Case]) -> bool {
    preset.planned_time(cases) + time_around(cases) <= limit(preset)
}

/// The cases that there is time for, and what was left out, in words.
pub(crate) fn within_time(preset: Preset, topology: &Topology, mut cases: Vec<Case>) -> (Vec<Case>, Vec<&'static str>) {
    if end_in_time(preset, &cases) {
        return (cases, Vec::new());
    }
    let all = cases.clone();
    let common_types = common_types(&all);
    let (filling, [cores_of_a_socket, cores]) = filling(topology);
    let machine =
        Machine { filling, cores_of_a_socket, cores, usual: Some(named(topology, &Placement::Cores)), common_types };
    let mut left_out = Vec::new();
    for step in &STEPS {
        if end_in_time(preset, &cases) {
            break;
        }
        let before = cases.len();
        cases.retain(|case| !(step.leaves_out)(&machine, case));
        left_out.extend((cases.len() < before).then_some(step.words));
    }
    (cases, left_out)
}

/// The note for readers of a run that leaves out all this; `example` is one of the cases left out.
pub(crate) fn note(left_out: &[&str], preset: Preset, example: &Case) -> String {
    let of_preset = if preset == Preset::Quick { String::new() } else { format!(" --preset {preset}") };
    let threads = example.threads.unwrap_or(1);
    format!(
        "on this many CPUs, {preset} leaves out the following, to save time: {}; to measure some of it, name primitives and \
         threads: `syncscope run{of_preset} --only {} --threads {threads}`",
        left_out.join("; "),
        example.primitive
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::whole;
    use syncscope_machine::topology::regular;

    fn plan_and_left_out(preset: Preset, topology: &Topology) -> (Vec<Case>, Vec<&'static str>) {
        within_time(preset, topology, whole(preset, topology))
    }

    /// Packages, nodes of each, caches, cores, hardware threads: from a laptop to 512 hardware threads.
    const MACHINES: [[u32; 5]; 14] = [
        [1, 1, 1, 2, 1],
        [1, 1, 1, 16, 1],
        [1, 1, 1, 8, 2],
        [1, 1, 1, 32, 1],
        [2, 1, 1, 16, 2],
        [1, 1, 1, 72, 1],
        [1, 4, 4, 8, 1],
        [2, 1, 1, 64, 2],
        [2, 4, 2, 8, 2],
        [4, 1, 1, 24, 2],
        [4, 1, 1, 128, 1],
        [1, 1, 1, 288, 1],
        [8, 1, 4, 8, 2],
        [2, 1, 16, 8, 2],
    ];

    fn machine([packages, nodes, caches, cores, siblings]: [u32; 5]) -> Topology {
        regular(packages, nodes, caches, cores, siblings)
    }

    /// The machine with each architecture: AArch64 has more forms of operations.
    fn machines(shape: [u32; 5]) -> impl Iterator<Item = Topology> {
        let of = move |name: &str| Topology { architecture: name.to_owned(), ..machine(shape) };
        ["x86_64", "aarch64"].into_iter().map(of)
    }

    #[test]
    fn quick_and_standard_end_in_time_on_any_machine() {
        for (shape, machine) in MACHINES.into_iter().flat_map(|shape| machines(shape).map(move |one| (shape, one))) {
            for (preset, most) in [(Preset::Quick, 75), (Preset::Standard, 600)] {
                let (cases, left_out) = plan_and_left_out(preset, &machine);
                let (time, name) = (preset.planned_time(&cases) + time_around(&cases), &machine.architecture);
                assert!(time <= Duration::from_secs(most), "{name} {shape:?}, {preset}: {time:?} without {left_out:?}");
            }
        }
        for shape in MACHINES {
            assert_eq!(plan_and_left_out(Preset::Paper, &machine(shape)).1, Vec::<&str>::new(), "{shape:?}");
        }
    }

    #[test]
    fn locks_and_barriers_keep_two_threads_and_all_cores() {
        for (shape, topology) in MACHINES.into_iter().flat_map(|shape| machines(shape).map(move |one| (shape, one))) {
            let [all, cores] = [topology.allowed().count() as u32, topology.allowed().count() as u32 / shape[4]];
            for preset in [Preset::Quick, Preset::Standard] {
                let (cases, _) = plan_and_left_out(preset, &topology);
                for (primitive, most) in
                    [("cpu.barrier.sense", all), ("cpu.lock.ticket", cores), ("cpu.atomic.add", cores)]
                {
                    let teams: BTreeSet<u32> = cases
                        .iter()
                        .filter(|case| case.primitive == primitive)
                        .filter_map(|case| case.threads)
                        .collect();
                    let expected = [2, cores, most];
                    assert!(
                        expected.iter().all(|team| teams.contains(team)),
                        "{} {shape:?}, {preset}: {primitive} {teams:?}",
                        topology.architecture
                    );
                }
            }
        }
    }

    /// A contest compares rows of one type: the only type of some locks must be kept for all.
    #[test]
    fn rivals_keep_a_type_in_common() {
        use syncscope_core::sets::sets;
        for (shape, topology) in MACHINES.into_iter().flat_map(|shape| machines(shape).map(move |one| (shape, one))) {
            for preset in [Preset::Quick, Preset::Standard] {
                let cases = plan_and_left_out(preset, &topology).0;
                let is_lock = |case: &&Case| find(&case.primitive).unwrap().primitive.facts.role == Role::ThreadLock;
                let locks = cases.iter().filter(is_lock).map(|case| ((case.threads, &case.placement), case));
                for (team, rivals) in sets(locks) {
                    let types = sets(rivals.iter().map(|case| (&case.primitive, case.dtype)));
                    let in_common =
                        types.values().next().unwrap().iter().any(|one| types.values().all(|all| all.contains(one)));
                    assert!(in_common, "{shape:?}, {preset}, {team:?}: {types:?}");
                }
            }
        }
    }

    /// The step looks at what is asked for, not at the whole preset.
    #[test]
    fn what_there_is_time_for_is_not_left_out() {
        let topology = machine([2, 1, 1, 64, 2]);
        let locks = |cases: Vec<Case>| -> Vec<Case> {
            cases.into_iter().filter(|case| case.primitive.starts_with("cpu.lock.ti")).collect()
        };
        let (all, _) = plan_and_left_out(Preset::Quick, &topology);
        let asked = locks(whole(Preset::Quick, &topology));
        let (kept, left_out) = within_time(Preset::Quick, &topology, asked.clone());
        assert!(locks(all).len() < asked.len(), "the preset has no time for all of it");
        assert_eq!((kept, left_out), (asked, vec![]));
    }

    /// The command measures a case that was left out, and asks for its preset.
    #[test]
    fn the_note_names_a_command() {
        let left_out = Case { threads: Some(48), ..Case::new("cpu.lock.ticket") };
        for (preset, command) in [
            (Preset::Quick, "`syncscope run --only cpu.lock.ticket --threads 48`"),
            (Preset::Standard, "`syncscope run --preset standard --only cpu.lock.ticket --threads 48`"),
        ] {
            let text = note(&["a", "b"], preset, &left_out);
            assert!(text.contains("a; b; ") && text.contains(command), "{text}");
        }
    }

    #[test]
    fn machines_with_time_for_all_leave_out_nothing() {
        for shape in &MACHINES[..3] {
            for preset in [Preset::Quick, Preset::Standard] {
                assert_eq!(plan_and_left_out(preset, &machine(*shape)).1, Vec::<&str>::new(), "{shape:?}, {preset}");
            }
        }
    }
}
