//! The core-to-core matrix: two threads hand off to each other on many pairs of CPUs.

use std::collections::{BTreeMap, HashSet};

use syncscope_core::numbers::scattered;
use syncscope_core::{Case, Placement, Preset};

use super::chosen_cpus::class_of;
use super::{Setting, Study, on_cpus};
use crate::nearness::{ClassedPair, PairClass, SharedLevels};
use crate::topology::Topology;

/// The primitive that the matrix is made of.
pub const PRIMITIVE: &str = "cpu.handoff.cas_pingpong";

/// How fast each pair of CPUs hands off.
pub struct CoreToCore;

impl Study for CoreToCore {
    /// Every template on each pair of the matrix.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case> {
        if templates.is_empty() {
            return Vec::new();
        }
        let most = max_pairs(setting.preset, setting.topology.allowed().count());
        let pairs = pairs(setting.topology, &setting.classes, most);
        templates.iter().flat_map(|case| pairs.iter().map(|(class, pair)| on_cpus(case, class.group(), pair))).collect()
    }
}

/// A note for the reader of the cases if they measure only a sample of all pairs.
pub fn note(preset: Preset, topology: &Topology, cases: &[Case]) -> Option<String> {
    let of_pair = |case: &Case| match &case.placement {
        Some(Placement::List(pair)) if is_of_matrix(case) => Some(pair.clone()),
        _ => None,
    };
    let measured = cases.iter().filter_map(of_pair).collect::<HashSet<_>>().len();
    let cpus = topology.allowed().count();
    let all = all_pairs(cpus);
    let has_larger = max_pairs(Preset::Standard, cpus) > max_pairs(preset, cpus);
    let larger = if has_larger { "--preset standard or " } else { "" };
    (measured > 0 && measured < all).then(|| {
        format!(
            "the core-to-core matrix is a sample of {measured} of {all} pairs of CPUs, balanced over classes and \
             CPUs: groups of CPUs without a measured pair are not found; to measure more pairs, use {larger}fewer CPUs \
             (--cpus)"
        )
    })
}

/// Whether a case belongs to the matrix. The same pairs under other conditions (a line on another node) have another
/// group.
pub fn is_of_matrix(case: &Case) -> bool {
    case.primitive == PRIMITIVE && class_of(case).is_some()
}

/// The most pairs in the matrix. A quick run measures all pairs of up to 32 CPUs, whose fewest blocks take 11 s. On larger
/// machines it samples half as many, because the teams take the rest of its time. Other runs measure all pairs of up to 64
/// CPUs.
pub fn max_pairs(preset: Preset, cpus: usize) -> usize {
    match preset {
        Preset::Quick if cpus <= 32 => all_pairs(cpus),
        Preset::Quick => 256,
        Preset::Standard | Preset::Paper if cpus <= 64 => all_pairs(cpus),
        Preset::Standard | Preset::Paper => 512,
    }
}

const fn all_pairs(cpus: usize) -> usize {
    cpus * cpus.saturating_sub(1) / 2
}

/// At most `max` pairs of the CPUs this process may use. Of more pairs it returns a sample, the same on every call for the
/// same machine. The pairs in `classes`, which represent each class, are always included.
///
/// A sample is balanced over classes, so that the few pairs of one core are not lost among the many across packages,
/// and within a class over CPUs. Adjacent CPUs and CPUs half the machine apart come first: systems number the hardware
/// threads of one core in one of these two ways, so the sample contains siblings that a virtual machine hides.
pub(in crate::studies) fn pairs(topology: &Topology, classes: &[ClassedPair], max: usize) -> Vec<ClassedPair> {
    let levels = SharedLevels::of(topology);
    // The pair that represents its class is always measured.
    let mut by_class: BTreeMap<PairClass, Vec<[u32; 2]>> =
        classes.iter().map(|(class, first)| (*class, vec![*first])).collect();
    // Stop as soon as the sample is full: thousands of CPUs have millions of pairs.
    let mut open = if max > 1 { by_class.len() } else { 0 };
    for [a, b] in in_sampling_order(levels.threads.len()) {
        if open == 0 {
            break;
        }
        let pairs = by_class.entry(levels.class(a, b)).or_default();
        let pair = [a, b].map(|index| levels.threads[index].os);
        if pairs.len() < max && pairs.first() != Some(&pair) {
            pairs.push(pair);
            open -= usize::from(pairs.len() == max);
        }
    }
    let shares = shares(&by_class.values().map(Vec::len).collect::<Vec<_>>(), max);
    let taken = by_class.into_iter().zip(shares).flat_map(|((class, mut pairs), share)| {
        pairs.truncate(share);
        pairs.into_iter().map(move |pair| (class, pair))
    });
    taken.collect()
}

/// All pairs of `count` indices, the lower index first. Pairs of one distance, counted around the circle, follow each
/// other. Their indices are scattered, so that any first part of them is spread over all indices.
fn in_sampling_order(count: usize) -> impl Iterator<Item = [usize; 2]> {
    let half = count / 2;
    let others = half.saturating_sub(2);
    let middle = scattered(others).map(|index| index + 2);
    let distances = [1, half].into_iter().take(half.min(2)).chain(middle);
    distances.flat_map(move |distance| {
        // Without this limit, each pair across the circle would come twice.
        let starts = if 2 * distance == count { distance } else { count };
        scattered(starts).map(move |start| {
            let other = (start + distance) % count;
            [start.min(other), start.max(other)]
        })
    })
}

/// Divides `max` among classes with this many pairs each. What a small class does not need goes to the others.
fn shares(available: &[usize], max: usize) -> Vec<usize> {
    let mut shares = vec![0; available.len()];
    let mut order: Vec<usize> = (0..available.len()).collect();
    order.sort_by_key(|index| available[*index]);
    let mut left = max;
    for (rank, index) in order.into_iter().enumerate() {
        shares[index] = available[index].min(left / (available.len() - rank));
        left -= shares[index];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::nearness::classes;
    use crate::topology::regular;

    fn pairs(topology: &Topology, max: usize) -> Vec<ClassedPair> {
        super::pairs(topology, &classes(topology), max)
    }

    fn numbers(pairs: &[ClassedPair]) -> HashSet<[u32; 2]> {
        pairs.iter().map(|(_, pair)| *pair).collect()
    }

    #[test]
    fn every_pair_comes_once() {
        for count in 0..40 {
            let pairs: Vec<_> = in_sampling_order(count).collect();
            let distinct: HashSet<_> = pairs.iter().copied().collect();
            assert_eq!((pairs.len(), distinct.len()), (count * count.saturating_sub(1) / 2, pairs.len()), "{count}");
            assert!(pairs.iter().all(|[a, b]| a < b && *b < count), "{count}");
        }
    }

    #[test]
    fn sixteen_cpus_are_all_measured() {
        let found = pairs(&regular(1, 1, 2, 4, 2), 512);
        assert_eq!((found.len(), numbers(&found).len()), (120, 120));
        assert!(pairs(&regular(1, 1, 1, 1, 1), 512).is_empty());
        assert_eq!(pairs(&regular(1, 1, 1, 2, 1), 512), [(PairClass::SameL3, [0, 1])]);
    }

    #[test]
    fn a_small_sample_contains_hidden_siblings() {
        // Sixteen CPUs reported as cores: the threads of one core may have adjacent numbers, or numbers half apart.
        let found = numbers(&pairs(&regular(1, 1, 1, 16, 1), 36));
        assert_eq!(found.len(), 36);
        assert!((0..8).all(|cpu| found.contains(&[cpu, cpu + 8]) && found.contains(&[2 * cpu, 2 * cpu + 1])));
    }

    #[test]
    fn a_sample_is_balanced() {
        let machine = regular(2, 4, 2, 16, 2);
        let found = pairs(&machine, 512);
        assert_eq!((found.len(), numbers(&found).len()), (512, 512));
        assert_eq!(found, pairs(&machine, 512), "the same sample again");
        let mut of_class: BTreeMap<PairClass, usize> = BTreeMap::new();
        let mut of_cpu: BTreeMap<u32, usize> = BTreeMap::new();
        for (class, pair) in &found {
            *of_class.entry(*class).or_default() += 1;
            for cpu in pair {
                *of_cpu.entry(*cpu).or_default() += 1;
            }
        }
        assert_eq!(of_class.len(), 5);
        assert!(of_class.values().all(|count| (102..=103).contains(count)), "{of_class:?}");
        // Two pairs for each CPU on average; CPU 0 is also in the pairs that represent their classes.
        assert!(of_cpu.len() > 350 && of_cpu.values().all(|count| *count <= 8), "{} {of_cpu:?}", of_cpu.len());
    }

    #[test]
    fn a_small_class_leaves_its_share_to_others() {
        assert_eq!(shares(&[10, 1000, 1000], 110), [10, 50, 50]);
        assert_eq!(shares(&[1000, 2, 3], 36), [31, 2, 3]);
        assert_eq!(shares(&[5, 5], 100), [5, 5]);
        assert!(shares(&[], 100).is_empty());
    }

    #[test]
    fn a_sample_is_noted() {
        let two = Case { threads: Some(2), ..Case::new(PRIMITIVE) };
        let noted = |preset, cpus| {
            let machine = regular(1, 1, 1, cpus, 1);
            let cases = CoreToCore.cases(&Setting::of(preset, &machine), std::slice::from_ref(&two));
            note(preset, &machine, &cases)
        };
        assert!(noted(Preset::Quick, 64).unwrap().contains("256 of 2016 pairs"));
        assert!(noted(Preset::Quick, 33).unwrap().contains("256 of 528 pairs"));
        assert_eq!(noted(Preset::Quick, 32), None, "all pairs are measured");
        for preset in Preset::ALL {
            let names_standard = noted(*preset, 72).unwrap().contains("--preset standard");
            assert_eq!(names_standard, *preset == Preset::Quick, "{preset}: which has more pairs");
        }
        let few = regular(1, 1, 1, 16, 1);
        assert_eq!(note(Preset::Quick, &few, &[two]), None, "without the matrix there is nothing to say");
    }
}
