//! The topology that the core-to-core matrix shows, and where it contradicts the reported one.
//!
//! A virtual machine may hide hyperthreading and caches, or report some that do not exist. It cannot change how fast
//! CPUs hand off to each other. This module turns rows into groups and sentences, with pure functions.
//!
//! - This file: [`infer`]. Start here.
//! - `levels.rs`: the measured pairs, and the levels of groups that their costs show.
//! - `contradictions.rs`: the sentences about differences from the reported topology.

mod contradictions;
mod levels;

use syncscope_core::Row;
use syncscope_core::machine::{MeasuredGroup, MeasuredTopology};
use syncscope_core::stats::median;

use self::contradictions::contradictions;
use self::levels::{Matrix, Pair, Partition, members};
use crate::topology::Topology;

/// The topology that `rows` show on a machine that reports `topology`. `None` where no pair of CPUs was measured.
pub fn infer(topology: &Topology, rows: &[Row]) -> Option<MeasuredTopology> {
    let matrix = Matrix::of(topology, rows);
    if matrix.pairs.is_empty() {
        return None;
    }
    let cores = levels::cores(&matrix);
    let domains = levels::domains(&matrix, &cores);
    Some(MeasuredTopology {
        groups: groups(&matrix, &cores, &domains),
        contradictions: contradictions(topology, &matrix, &cores, &domains),
    })
}

/// The groups of all levels, the nearest first, and last a group of all CPUs.
fn groups(matrix: &Matrix, cores: &Partition, domains: &[Partition]) -> Vec<MeasuredGroup> {
    let all: Partition = vec![0; matrix.cpus.len()];
    let alone: Partition = (0..matrix.cpus.len()).collect();
    let words = std::iter::once("core").chain(std::iter::once("cache")).chain(std::iter::repeat("package"));
    let mut levels: Vec<(&str, &Partition)> = words.zip(std::iter::once(cores).chain(domains)).collect();
    levels.push(("machine", &all));
    let mut groups = Vec::new();
    let mut previous = &alone;
    for (shares, partition) in levels {
        for group in members(partition).iter().filter(|group| group.len() > 1) {
            let inside = |pair: &Pair| group.contains(&pair.a) && group.contains(&pair.b);
            let costs = matrix.costs(|pair| inside(pair) && previous[pair.a] != previous[pair.b]);
            if let Some(handoff_ns) = median(&costs) {
                groups.push(MeasuredGroup { shares: shares.to_owned(), cpus: matrix.list(group), handoff_ns });
            }
        }
        previous = partition;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::core_to_core;
    use crate::topology::regular;
    use syncscope_core::Group;
    use syncscope_core::{Case, Placement, Verdict, units::Nanoseconds};

    fn row(a: u32, b: u32, ns: f64) -> Row {
        let case = Case {
            threads: Some(2),
            placement: Some(Placement::List(vec![a, b])),
            group: Some(Group::named("same_l3")),
            ..Case::new(core_to_core::PRIMITIVE)
        };
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    }

    /// Every pair of CPUs at its `cost`, times a factor within 1 +/- `noise`.
    fn matrix_of(cpus: u32, noise: f64, seed: u64, cost: impl Fn(u32, u32) -> f64) -> Vec<Row> {
        let mut random = Random(seed);
        let pairs = (0..cpus).flat_map(|a| (a + 1..cpus).map(move |b| (a, b)));
        pairs.map(|(a, b)| row(a, b, cost(a, b) * (1.0 + noise * (2.0 * random.next() - 1.0)))).collect()
    }

    /// Numbers from 0 to 1 (xorshift: Marsaglia, 2003).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    fn inferred(topology: &Topology, rows: &[Row]) -> (Vec<(String, String)>, Vec<String>) {
        let measured = infer(topology, rows).unwrap();
        let groups = measured.groups.into_iter().map(|group| (group.shares, group.cpus)).collect();
        (groups, measured.contradictions)
    }

    fn list(groups: &[(&str, &str)]) -> Vec<(String, String)> {
        groups.iter().map(|(shares, cpus)| ((*shares).to_owned(), (*cpus).to_owned())).collect()
    }

    /// Seeds of the noise: a result must hold for all of them.
    const SEEDS: std::ops::Range<u64> = 1..200;

    #[test]
    fn a_guest_that_hides_two_pairs_of_siblings() {
        // As measured: 16 CPUs reported as cores, two pairs at 6 ns, the others at 45 to 70 ns without a gap.
        let hidden = |a, b| matches!((a, b), (3, 11) | (4, 12));
        let rows =
            matrix_of(16, 0.0, 1, |a, b| if hidden(a, b) { 6.0 } else { 45.0 + f64::from((a * 7 + b * 3) % 26) });
        let (groups, contradictions) = inferred(&regular(1, 1, 1, 16, 1), &rows);
        assert_eq!(groups, list(&[("core", "3,11"), ("core", "4,12"), ("machine", "0-15")]));
        assert_eq!(
            contradictions,
            ["CPUs 3 and 11; 4 and 12 hand off in 6.0 ns, the others in 46 to 69 ns: they seem to be hardware \
              threads of one core, but the system reports one thread per core"]
        );
    }

    #[test]
    fn a_host_that_moves_cpus_between_cores() {
        // As measured: 1 is fast with 3, 11 and 14, and 3 with 7, but 1 and 7 are not, nor 3 and 11.
        let fast = |a, b| matches!((a, b), (1, 3 | 11 | 14) | (3, 7));
        let rows = matrix_of(16, 0.0, 1, |a, b| if fast(a, b) { 7.7 } else { 58.0 + f64::from((a * 7 + b * 3) % 20) });
        let (groups, contradictions) = inferred(&regular(1, 1, 1, 16, 1), &rows);
        assert_eq!(groups, list(&[("machine", "0-15")]));
        assert_eq!(
            contradictions,
            ["CPUs 1 and 3; 1 and 11; 1 and 14; 3 and 7 handed off in 7.7 ns, as hardware threads of one core do, \
              the others in 59 to 77 ns; they cannot all share cores, so the host seems to move CPUs between cores, \
              and the distances change"]
        );
    }

    #[test]
    fn a_guest_that_hides_all_siblings_and_both_caches() {
        // Siblings are eight apart; cores 0 to 3 share one cache, 4 to 7 the other.
        let cost = |a: u32, b: u32| match (a % 8, b % 8) {
            (x, y) if x == y => 7.7,
            (x, y) if x / 4 == y / 4 => 17.0,
            _ => 110.0,
        };
        for seed in SEEDS {
            let (groups, contradictions) = inferred(&regular(1, 1, 1, 16, 1), &matrix_of(16, 0.2, seed, cost));
            assert_eq!(groups.iter().filter(|(shares, _)| shares == "core").count(), 8, "{seed}: {groups:?}");
            assert_eq!(
                groups[8..],
                list(&[("cache", "0-3,8-11"), ("cache", "4-7,12-15"), ("machine", "0-15")]),
                "{seed}"
            );
            assert_eq!(contradictions.len(), 2, "{seed}: {contradictions:?}");
            assert!(contradictions[0].contains("CPUs 0 and 8; 1 and 9;"), "{}", contradictions[0]);
            assert!(contradictions[1].contains("CPUs 0-3,8-11; 4-7,12-15 hand off"), "{}", contradictions[1]);
            assert!(contradictions[1].contains("one level 3 cache for all"), "{}", contradictions[1]);
        }
    }

    #[test]
    fn a_correct_report_has_no_contradiction() {
        // Two packages of two caches of two cores of two threads; siblings are eight apart.
        let cost = |a: u32, b: u32| match (a % 8, b % 8) {
            (x, y) if x == y => 6.0,
            (x, y) if x / 2 == y / 2 => 25.0,
            (x, y) if x / 4 == y / 4 => 100.0,
            _ => 300.0,
        };
        for seed in SEEDS {
            let (groups, contradictions) = inferred(&regular(2, 1, 2, 2, 2), &matrix_of(16, 0.2, seed, cost));
            assert_eq!(contradictions, Vec::<String>::new(), "{seed}");
            assert_eq!(
                groups[8..],
                list(&[
                    ("cache", "0-1,8-9"),
                    ("cache", "2-3,10-11"),
                    ("cache", "4-5,12-13"),
                    ("cache", "6-7,14-15"),
                    ("package", "0-3,8-11"),
                    ("package", "4-7,12-15"),
                    ("machine", "0-15"),
                ]),
                "{seed}"
            );
        }
    }

    #[test]
    fn two_hidden_caches_and_two_disturbed_pairs() {
        for seed in SEEDS {
            let mut rows = matrix_of(16, 0.15, seed, |a, b| if a / 8 == b / 8 { 25.0 } else { 60.0 });
            // One pair between the caches as fast as within them, one pair within a cache slower than any.
            for row in &mut rows {
                match &row.case.placement {
                    Some(Placement::List(cpus)) if *cpus == [2, 13] => row.ns = Some(Nanoseconds(24.0)),
                    Some(Placement::List(cpus)) if *cpus == [9, 10] => row.ns = Some(Nanoseconds(400.0)),
                    _ => {}
                }
            }
            let (groups, contradictions) = inferred(&regular(1, 1, 1, 16, 1), &rows);
            assert_eq!(groups, list(&[("cache", "0-7"), ("cache", "8-15"), ("machine", "0-15")]), "{seed}");
            assert_eq!(contradictions.len(), 1, "{seed}: {contradictions:?}");
            let correct = inferred(&regular(1, 1, 2, 8, 1), &rows);
            assert_eq!(correct, (groups, Vec::new()), "{seed}");
        }
    }

    #[test]
    fn a_uniform_machine_is_one_group() {
        for cpus in [3, 4, 5, 6, 8, 16, 32] {
            for seed in SEEDS {
                let (groups, contradictions) =
                    inferred(&regular(1, 1, 1, cpus, 1), &matrix_of(cpus, 0.2, seed, |_, _| 60.0));
                assert_eq!(groups, [("machine".to_owned(), format!("0-{}", cpus - 1))], "{cpus} CPUs, seed {seed}");
                assert_eq!(contradictions, Vec::<String>::new());
            }
        }
    }

    #[test]
    fn outliers_on_a_uniform_machine_are_no_groups() {
        for seed in SEEDS {
            let mut rows = matrix_of(8, 0.1, seed, |_, _| 60.0);
            rows[5].ns = Some(Nanoseconds(25.0));
            rows[17].ns = Some(Nanoseconds(250.0));
            let (groups, contradictions) = inferred(&regular(1, 1, 1, 8, 1), &rows);
            assert_eq!((groups, contradictions), (list(&[("machine", "0-7")]), Vec::new()), "{seed}");
        }
    }

    #[test]
    fn one_pair_has_a_cost_and_no_contradiction() {
        for ns in [6.0, 118.0] {
            let measured = infer(&regular(1, 1, 1, 2, 1), &[row(0, 1, ns)]).unwrap();
            assert_eq!(measured.contradictions, Vec::<String>::new());
            assert_eq!(
                measured.groups,
                [MeasuredGroup { shares: "machine".into(), cpus: "0-1".into(), handoff_ns: ns }]
            );
        }
        assert_eq!(infer(&regular(1, 1, 1, 2, 1), &[]), None);
    }

    #[test]
    fn siblings_that_are_only_reported() {
        // A guest that reports two threads per core, while every CPU is a core.
        let (groups, contradictions) = inferred(&regular(1, 1, 1, 4, 2), &matrix_of(8, 0.1, 3, |_, _| 50.0));
        assert_eq!(groups, list(&[("machine", "0-7")]));
        assert_eq!(contradictions.len(), 1);
        assert!(contradictions[0].starts_with("CPUs 0 and 4; 1 and 5; 2 and 6; 3 and 7 hand off in"));
        // One slow pair of four proves nothing.
        let mut rows = matrix_of(8, 0.1, 3, |a, b| if b == a + 4 { 6.0 } else { 50.0 });
        rows.iter_mut().filter(|row| row.case.placement == Some(Placement::List(vec![1, 5]))).for_each(|row| {
            row.ns = Some(Nanoseconds(55.0));
        });
        assert_eq!(inferred(&regular(1, 1, 1, 4, 2), &rows).1, Vec::<String>::new());
    }

    #[test]
    fn packages_that_are_only_reported() {
        let machine = regular(2, 1, 1, 4, 1);
        let (_, contradictions) = inferred(&machine, &matrix_of(8, 0.1, 3, |_, _| 50.0));
        assert_eq!(contradictions.len(), 1);
        assert!(contradictions[0].ends_with("in one package, but the system reports several"));
        let far = matrix_of(8, 0.1, 3, |a, b| if a / 4 == b / 4 { 50.0 } else { 120.0 });
        assert_eq!(inferred(&machine, &far).1, Vec::<String>::new());
    }

    #[test]
    fn a_sample_of_a_large_machine_has_no_contradiction() {
        let machine = regular(2, 4, 2, 8, 2);
        let of = |cpu: u32| machine.threads.iter().find(|thread| thread.os == cpu).unwrap();
        let cost = |a: u32, b: u32| match (of(a), of(b)) {
            (a, b) if a.core == b.core => 8.0,
            (a, b) if a.last_level_cache == b.last_level_cache => 25.0,
            (a, b) if a.numa_node == b.numa_node => 90.0,
            (a, b) if a.package == b.package => 130.0,
            _ => 250.0,
        };
        for seed in SEEDS.step_by(20) {
            let mut random = Random(seed);
            let sample = core_to_core::pairs(&machine, &crate::nearness::classes(&machine), 512);
            let mut noisy = |[a, b]: [u32; 2]| row(a, b, cost(a, b) * (0.9 + 0.2 * random.next()));
            let rows: Vec<Row> = sample.into_iter().map(|(_, pair)| noisy(pair)).collect();
            assert_eq!(inferred(&machine, &rows).1, Vec::<String>::new(), "{seed}");
        }
    }

    #[test]
    fn only_measured_rows_of_the_matrix_count() {
        let good = row(0, 1, 50.0);
        let elsewhere =
            Row { case: Case { group: Some(Group::of_word("line_on_node 1")), ..good.case.clone() }, ..good.clone() };
        let failed = Row { verdict: Verdict::Failed("x".into()), ..good.clone() };
        let wrong = Row { check: Some(false), ..good.clone() };
        let other = Row { case: Case { primitive: "cpu.handoff.park".into(), ..good.case.clone() }, ..good.clone() };
        let unknown = row(0, 77, 50.0);
        let machine = regular(1, 1, 1, 2, 1);
        for row in [elsewhere, failed, wrong, other, unknown] {
            assert_eq!(infer(&machine, &[row]), None);
        }
        assert!(infer(&machine, &[good]).is_some());
    }
}
