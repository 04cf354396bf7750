//! Kinds of cores, such as performance and efficiency cores: one thread on a core of each kind, and two threads on cores of one
//! kind or of two.

use std::collections::BTreeSet;

use syncscope_core::machine::{kind_name, kinds_group};
use syncscope_core::{Case, Group, Placement};
use syncscope_host::cpu_list;

use super::{Setting, Study, on_cpus};
use crate::nearness::{PairClass, SharedLevels};
use crate::placement::{boundaries, named};
use crate::topology::Topology;

/// The group of cases with a thread on a core of each of two kinds. On a machine with one kind, the group of the case that says
/// so.
pub(super) const BOTH: &str = "mixed_cores";

/// What an operation costs on cores of each kind, and between kinds.
pub struct CoreKinds;

impl Study for CoreKinds {
    /// Every template on cores of each kind, and every template of two threads on cores of two kinds. A machine of one kind has
    /// one case, in the quick preset none.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let kinds: Vec<u32> =
            setting.topology.allowed().map(|thread| thread.kind).collect::<BTreeSet<_>>().into_iter().collect();
        let [fast, .., slow] = kinds[..] else { return setting.lacking(templates, &Group::named(BOTH)) };
        let levels = SharedLevels::of(setting.topology);
        let all = setting.topology.kind_names.len();
        let group =
            |of: &[u32]| Group::of_word(&kinds_group(&of.iter().map(|kind| *kind as usize).collect::<Vec<_>>(), all));
        let like = pair(&levels, [fast, slow], None).map(|(class, _)| class);
        let one =
            |kind: &u32| Some((group(&[*kind]), vec![levels.threads.iter().find(|thread| thread.kind == *kind)?.os]));
        let two = |of: [u32; 2]| {
            let named = if of[0] == of[1] { group(&of[..1]) } else { group(&of) };
            Some((named, pair(&levels, of, like)?.1.to_vec()))
        };
        let alone: Vec<(Group, Vec<u32>)> = kinds.iter().filter_map(one).collect();
        let within = kinds.iter().map(|kind| [*kind; 2]);
        let between = kinds
            .iter()
            .enumerate()
            .flat_map(|(at, faster)| kinds[at + 1..].iter().map(move |slower| [*faster, *slower]));
        let pairs: Vec<(Group, Vec<u32>)> = within.chain(between).filter_map(two).collect();
        let of_template = |case: &Case| -> Vec<Case> {
            let places = if case.threads == Some(1) { &alone } else { &pairs };
            places.iter().map(|(group, cpus)| on_cpus(case, group.clone(), cpus)).collect()
        };
        templates.iter().flat_map(of_template).collect()
    }
}

/// Two cores of these kinds, about as near to each other as `like`: pairs of different kinds should differ in their kind alone.
fn pair(levels: &SharedLevels<'_>, kinds: [u32; 2], like: Option<PairClass>) -> Option<(PairClass, [u32; 2])> {
    let (threads, count) = (&levels.threads, levels.threads.len());
    let all = (0..count).flat_map(|a| (0..count).map(move |b| [a, b]));
    let fits = |pair: &[usize; 2]| pair[0] != pair[1] && pair.map(|index| threads[index].kind) == kinds;
    let classed = all.filter(fits).map(|[a, b]| (levels.class(a, b), [threads[a].os, threads[b].os]));
    let rank = |class: PairClass| PairClass::ALL.iter().position(|known| *known == class).unwrap_or_default();
    let distance = |class: PairClass| like.map_or(0, |like| rank(class).abs_diff(rank(like)));
    classed.filter(|(class, _)| *class != PairClass::SameCore).min_by_key(|(class, _)| distance(*class))
}

/// A note that small teams are on slow cores because these have the lowest numbers: such cases do not show what the machine can
/// do.
pub fn note(topology: &Topology, cases: &[Case]) -> Option<String> {
    let usual = named(topology, &Placement::Cores);
    let from = boundaries(topology, &usual).kinds.first().copied().flatten().filter(|from| *from > 1)?;
    cases.iter().find(|case| case.placement.as_ref() == Some(&usual) && case.threads < Some(from))?;
    let kind = kind_name(topology.allowed().next()?.kind as usize, topology.kind_names.len());
    let fast: Vec<u32> = topology.allowed().filter(|thread| thread.kind == 0).map(|thread| thread.os).collect();
    Some(format!(
        "the CPUs with the lowest numbers are {kind} cores: with {usual} placement, teams of fewer than {from} threads run on no \
         performance core; to measure those alone, add --cpus {}",
        cpu_list::format(&fast)
    ))
}

#[cfg(test)]
mod tests {
    use syncscope_core::Preset;

    use super::*;
    use crate::topology::Cache;
    use crate::topology::regular;
    use crate::topology::tests::{hybrid, of_kinds};

    const FAST: &str = "performance_cores";
    const SLOW: &str = "efficiency_cores";

    fn studied(topology: &Topology, preset: Preset) -> Vec<(String, String)> {
        let templates = [Case::new("cpu.atomic.add"), Case { threads: Some(1), ..Case::new("cpu.fence.seq_cst") }];
        let cases = CoreKinds.cases(&Setting::of(preset, topology), &templates);
        let facts = |case: &Case| {
            let placement = case.placement.as_ref().map(ToString::to_string).unwrap_or_default();
            assert_eq!(crate::studies::unavailable(case).is_some(), case.placement.is_none());
            (case.group.as_ref().unwrap().to_string(), placement)
        };
        cases.iter().map(facts).collect()
    }

    #[test]
    fn pairs_of_each_kind_differ_in_their_kind_alone() {
        let named = |expected: &[(&str, &str)]| -> Vec<(String, String)> {
            expected.iter().map(|(group, cpus)| ((*group).to_owned(), (*cpus).to_owned())).collect()
        };
        let mut machine = hybrid();
        let expected = named(&[(FAST, "0,1"), (SLOW, "8,9"), (BOTH, "0,8"), (FAST, "0"), (SLOW, "8")]);
        assert_eq!(studied(&machine, Preset::Quick), expected);
        // Four efficiency cores share a second-level cache, which performance cores do not: their pair is of two such caches.
        let mut near = machine.caches[0].clone();
        (near.level, near.cpus) = (2, vec![8, 9, 10, 11]);
        machine.caches.push(near);
        assert_eq!(studied(&machine, Preset::Quick)[1], (SLOW.to_owned(), "8,12".to_owned()));
        // A single efficiency core has no pair.
        let few = machine.restricted(|cpu| cpu <= 8);
        assert_eq!(
            studied(&few, Preset::Quick).iter().map(|(_, cpus)| cpus.as_str()).collect::<Vec<_>>(),
            ["0,1", "0,8", "0", "8"]
        );
    }

    #[test]
    fn slow_cores_that_come_first_are_named() {
        let cases =
            |threads| [Case { placement: Some(Placement::Close), threads: Some(threads), ..Case::new("cpu.lock.mcs") }];
        let slow_first = of_kinds(regular(1, 1, 1, 12, 1), |cpu| u32::from(cpu < 5));
        let text = note(&slow_first, &cases(1)).unwrap();
        assert!(text.contains("are efficiency cores") && text.contains("fewer than 6 threads"), "{text}");
        assert!(text.ends_with("--cpus 5-11"), "{text}");
        assert_eq!(note(&slow_first, &cases(6)), None, "the team has performance cores");
        let fast_first = of_kinds(regular(1, 1, 1, 12, 1), |cpu| u32::from(cpu > 5));
        for without in [fast_first, hybrid(), regular(1, 1, 1, 4, 1), slow_first.restricted(|cpu| cpu >= 5)] {
            assert_eq!(note(&without, &cases(1)), None);
        }
    }

    #[test]
    fn every_kind_and_every_two_kinds_are_compared() {
        let three = of_kinds(regular(1, 1, 1, 12, 1), |cpu| if cpu < 2 { 0 } else { 1 + u32::from(cpu > 9) });
        let of_two: Vec<String> =
            studied(&three, Preset::Quick).into_iter().map(|(group, cpus)| format!("{group} {cpus}")).collect();
        assert_eq!(
            of_two,
            [
                "performance_cores 0,1",
                "efficiency_cores 2,3",
                "low_power_cores 10,11",
                "performance_and_efficiency_cores 0,2",
                "performance_and_low_power_cores 0,10",
                "efficiency_and_low_power_cores 2,10",
                "performance_cores 0",
                "efficiency_cores 2",
                "low_power_cores 10",
            ]
        );
        // Efficiency cores share second-level caches, and low-power cores are outside the third-level cache: no pair of one
        // kind is as far apart as a fast and a slow core, and no pair is nearer than it has to be.
        let mut apart = of_kinds(regular(1, 1, 1, 16, 1), |cpu| if cpu < 6 { 0 } else { 1 + u32::from(cpu > 13) });
        let cache =
            |level, cpus: std::ops::Range<u32>| Cache { level, cpus: cpus.collect(), ..apart.caches[0].clone() };
        apart.caches = vec![cache(2, 6..10), cache(2, 10..14), cache(2, 14..16), cache(3, 0..14)];
        let pairs: Vec<String> = studied(&apart, Preset::Quick).into_iter().map(|(_, cpus)| cpus).take(6).collect();
        assert_eq!(pairs, ["0,1", "6,10", "14,15", "0,6", "0,14", "6,14"]);
        // The slow cores come first, as on ARM.
        let slow_first = of_kinds(regular(1, 1, 1, 20, 1), |cpu| u32::from(cpu / 5 % 2 == 0));
        assert_eq!(studied(&slow_first, Preset::Quick)[0], (FAST.to_owned(), "5,6".to_owned()));
    }

    #[test]
    fn a_machine_of_one_kind_has_one_case() {
        let machine = regular(1, 1, 1, 4, 2);
        assert_eq!(studied(&machine, Preset::Standard), [(BOTH.to_owned(), String::new())]);
        assert!(studied(&machine, Preset::Quick).is_empty());
        assert!(studied(&hybrid().restricted(|cpu| cpu < 8), Preset::Quick).is_empty());
    }
}
