//! The core-to-core matrix: which pairs of CPUs are asked how fast they answer each other.

use std::collections::{BTreeMap, HashSet};

use syncscope_core::{Case, Placement};

use crate::machine::topology::Topology;
use crate::studies::cpu_pairs::{Neighbours, PairClass};

/// The primitive whose cases are the matrix.
pub const PRIMITIVE: &str = "cpu.handoff.cas_pingpong";

/// A pair of CPUs and what is the nearest thing they share, as the system says.
pub(crate) type ClassedPair = (PairClass, [u32; 2]);

/// At most `most` pairs of the CPUs this process may use, which has pairs of `classes`: all of them where that is enough, else a sample, always the same
/// one on the same machine.
///
/// A sample is balanced over classes, so that the few pairs of one core stand beside the many across packages, and within
/// a class over CPUs. Neighbours and CPUs half the machine apart come first: that is how systems number hardware threads
/// of one core, so that those a virtual machine hides are among the sample.
pub(crate) fn pairs(topology: &Topology, classes: &[ClassedPair], most: usize) -> Vec<ClassedPair> {
    let neighbours = Neighbours::of(topology);
    // The pair that stands for its class is measured anyway.
    let mut by_class: BTreeMap<PairClass, Vec<[u32; 2]>> =
        classes.iter().map(|(class, first)| (*class, vec![*first])).collect();
    for [a, b] in in_order_of_sampling(neighbours.len()) {
        let pairs = by_class.entry(neighbours.class(a, b)).or_default();
        let pair = [neighbours.cpu(a), neighbours.cpu(b)];
        if pairs.len() < most && pairs.first() != Some(&pair) {
            pairs.push(pair);
        }
    }
    let shares = shares(&by_class.values().map(Vec::len).collect::<Vec<_>>(), most);
    let taken = by_class.into_iter().zip(shares).flat_map(|((class, mut pairs), share)| {
        pairs.truncate(share);
        pairs.into_iter().map(move |pair| (class, pair))
    });
    taken.collect()
}

/// All pairs of `count` places, the lower place first. Those of one distance, counted around the circle, follow each other,
/// and their places jump, so that any number of them from the first on is spread over all.
fn in_order_of_sampling(count: usize) -> impl Iterator<Item = [usize; 2]> {
    let half = count / 2;
    let others = half.saturating_sub(2);
    let middle = scattered(others).map(|index| index + 2);
    let distances = [1, half].into_iter().take(half.min(2)).chain(middle);
    distances.flat_map(move |distance| {
        // Across the circle each pair would come twice.
        let places = if 2 * distance == count { distance } else { count };
        scattered(places).map(move |place| {
            let other = (place + distance) % count;
            [place.min(other), place.max(other)]
        })
    })
}

/// 0 to `count` - 1 in an order in which any number of them from the first on is spread evenly: multiples of the golden
/// section of `count` (Knuth, The Art of Computer Programming 3, 6.4, theorem S).
fn scattered(count: usize) -> impl Iterator<Item = usize> {
    let golden = (count as f64 * 0.618_034) as usize;
    let step = (golden.max(1)..=count).find(|step| coprime(*step, count)).unwrap_or(1);
    (0..count).map(move |index| index * step % count)
}

fn coprime(a: usize, b: usize) -> bool {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a <= 1
}

/// Divides `most` among classes that have so many pairs: what a small class leaves over goes to the others.
fn shares(available: &[usize], most: usize) -> Vec<usize> {
    let mut shares = vec![0; available.len()];
    let mut order: Vec<usize> = (0..available.len()).collect();
    order.sort_by_key(|index| available[*index]);
    let mut left = most;
    for (rank, index) in order.into_iter().enumerate() {
        shares[index] = available[index].min(left / (available.len() - rank));
        left -= shares[index];
    }
    shares
}

/// `two`, a case of two threads, on each of these pairs.
pub(crate) fn on_matrix<'a>(pairs: &'a [ClassedPair], two: &'a Case) -> impl Iterator<Item = Case> + 'a {
    pairs.iter().map(|(class, pair)| Case {
        placement: Some(Placement::List(pair.to_vec())),
        group: Some(class.as_str().to_owned()),
        ..two.clone()
    })
}

/// What a reader of the matrix among `cases` must know: that it is a sample.
pub(crate) fn note(topology: &Topology, cases: &[Case]) -> Option<String> {
    let of_pair = |case: &Case| match &case.placement {
        Some(Placement::List(pair)) if case.primitive == PRIMITIVE && PairClass::of_case(case).is_some() => {
            Some(pair.clone())
        }
        _ => None,
    };
    let measured = cases.iter().filter_map(of_pair).collect::<HashSet<_>>().len();
    let cpus = topology.allowed().count();
    let all = cpus * cpus.saturating_sub(1) / 2;
    (measured > 0 && measured < all).then(|| {
        format!(
            "the core-to-core matrix is a sample of {measured} of {all} pairs of CPUs, balanced over classes and CPUs: \
             groups of CPUs that no measured pair shows are not found; a larger preset or fewer CPUs (taskset) measure more"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;

    fn pairs(topology: &Topology, most: usize) -> Vec<ClassedPair> {
        super::pairs(topology, &crate::studies::cpu_pairs::classes(topology), most)
    }

    fn numbers(pairs: &[ClassedPair]) -> HashSet<[u32; 2]> {
        pairs.iter().map(|(_, pair)| *pair).collect()
    }

    #[test]
    fn every_pair_comes_once() {
        for count in 0..40 {
            let pairs: Vec<_> = in_order_of_sampling(count).collect();
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
    fn a_small_sample_shows_siblings_that_are_hidden() {
        // Sixteen CPUs that claim to be cores: their hardware threads may be numbered side by side or half apart.
        let found = numbers(&pairs(&regular(1, 1, 1, 16, 1), 36));
        assert_eq!(found.len(), 36);
        assert!((0..8).all(|cpu| found.contains(&[cpu, cpu + 8]) && found.contains(&[2 * cpu, 2 * cpu + 1])));
    }

    #[test]
    fn a_sample_is_balanced() {
        let machine = regular(2, 4, 2, 16, 2);
        let found = pairs(&machine, 512);
        assert_eq!((found.len(), numbers(&found).len()), (512, 512));
        assert_eq!(found, pairs(&machine, 512), "always the same");
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
        // Two pairs for each CPU on average; CPU 0 stands for every class besides.
        assert!(of_cpu.len() > 350 && of_cpu.values().all(|count| *count <= 8), "{} {of_cpu:?}", of_cpu.len());
    }

    #[test]
    fn small_classes_leave_their_share_to_others() {
        assert_eq!(shares(&[10, 1000, 1000], 110), [10, 50, 50]);
        assert_eq!(shares(&[1000, 2, 3], 36), [31, 2, 3]);
        assert_eq!(shares(&[5, 5], 100), [5, 5]);
        assert!(shares(&[], 100).is_empty());
    }

    #[test]
    fn a_sample_says_that_it_is_one() {
        let machine = regular(1, 1, 1, 16, 1);
        let two = Case { threads: Some(2), ..Case::new(PRIMITIVE) };
        let matrix = |most| on_matrix(&pairs(&machine, most), &two).collect::<Vec<_>>();
        assert!(note(&machine, &matrix(36)).unwrap().contains("36 of 120 pairs"));
        assert_eq!(note(&machine, &matrix(512)), None);
        assert_eq!(note(&machine, &[two]), None, "what was not asked for is not missed");
    }
}
