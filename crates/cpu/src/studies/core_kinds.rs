//! Performance and efficiency cores: one thread on a core of each kind, and two threads on two cores of one kind and of both.

use syncscope_core::{Case, Group};

use super::{Setting, Study, on_cpus};
use crate::machine::nearness::{PairClass, SharedLevels};

/// The groups, each with the kinds of the cores of two threads, the faster first. One thread has the groups of one kind.
const FAST: &str = "performance_cores";
const SLOW: &str = "efficiency_cores";
pub(super) const BOTH: &str = "mixed_cores";

/// What an operation costs on cores of each kind, and between kinds.
pub(crate) struct CoreKinds;

impl Study for CoreKinds {
    /// Every template on cores of each kind, and those of two threads on one core of each. Of more than two kinds the fastest
    /// and the slowest count. A machine of one kind has one case, in the quick preset none.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        let slow = setting.topology.allowed().map(|thread| thread.kind).max().unwrap_or(0);
        let fast = setting.topology.allowed().map(|thread| thread.kind).min().unwrap_or(0);
        if slow == fast {
            return setting.lacking(templates, &Group::named(BOTH));
        }
        let levels = SharedLevels::of(setting.topology);
        let mixed = pair(&levels, [fast, slow], None);
        let like = mixed.map(|(class, _)| class);
        let pairs = [(FAST, pair(&levels, [fast; 2], like)), (SLOW, pair(&levels, [slow; 2], like)), (BOTH, mixed)];
        let on = |case: &Case, group: &'static str, cpus: &[u32]| on_cpus(case, Group::named(group), cpus);
        let of_template = |case: &Case| -> Vec<Case> {
            match mixed {
                Some((_, [faster, slower])) if case.threads == Some(1) => {
                    vec![on(case, FAST, &[faster]), on(case, SLOW, &[slower])]
                }
                _ => pairs.iter().filter_map(|(group, found)| Some(on(case, group, &found.as_ref()?.1))).collect(),
            }
        };
        templates.iter().flat_map(of_template).collect()
    }
}

/// Two cores of these kinds, where possible as near to each other as `like` says: pairs of each kind are to differ in their kind alone.
fn pair(levels: &SharedLevels<'_>, kinds: [u32; 2], like: Option<PairClass>) -> Option<(PairClass, [u32; 2])> {
    let (threads, count) = (&levels.threads, levels.threads.len());
    let all = (0..count).flat_map(|a| (0..count).map(move |b| [a, b]));
    let fits = |pair: &[usize; 2]| pair[0] != pair[1] && pair.map(|index| threads[index].kind) == kinds;
    let classed = all.filter(fits).map(|[a, b]| (levels.class(a, b), [threads[a].os, threads[b].os]));
    classed.filter(|(class, _)| *class != PairClass::SameCore).min_by_key(|(class, _)| Some(*class) != like)
}

#[cfg(test)]
mod tests {
    use syncscope_core::Preset;

    use super::*;
    use crate::machine::topology::Topology;
    use crate::machine::topology::tests::{hybrid, regular};

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
        // One efficiency core has no second one.
        let few = machine.restricted(|cpu| cpu <= 8);
        assert_eq!(
            studied(&few, Preset::Quick).iter().map(|(_, cpus)| cpus.as_str()).collect::<Vec<_>>(),
            ["0,1", "0,8", "0", "8"]
        );
    }

    #[test]
    fn a_machine_of_one_kind_has_one_case() {
        let machine = regular(1, 1, 1, 4, 2);
        assert_eq!(studied(&machine, Preset::Standard), [(BOTH.to_owned(), String::new())]);
        assert!(studied(&machine, Preset::Quick).is_empty());
        assert!(studied(&hybrid().restricted(|cpu| cpu < 8), Preset::Quick).is_empty());
    }
}
