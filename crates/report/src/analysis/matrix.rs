//! The core-to-core matrix: the cost of a hand-off between two CPUs, ordered by the measured costs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use syncscope_core::machine::CpuMachine;
use syncscope_core::run::shown::ROUGH_UP_TO;
use syncscope_core::stats::{Interval, median};
use syncscope_core::{Placement, Row, Run, Verdict};

use super::placements::list_length;
use crate::figure::{self, extremes, percent};
use crate::naming::enumeration;
use crate::reading::{bounds, has_figure};
use syncscope_core::sets::sets;

/// The primitive whose rows fill the matrix.
pub(crate) const PRIMITIVE: &str = "cpu.handoff.cas_pingpong";

/// The hand-offs between the CPUs of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Matrix {
    /// The CPUs in the order of the matrix; CPUs with fast hand-offs are adjacent.
    pub(crate) cpus: Vec<u32>,
    /// Each measured pair: the indices of its CPUs in `cpus`, and the index of its row.
    pub(crate) pairs: Vec<(usize, usize, usize)>,
    /// The number of pairs of the CPUs that the run could use.
    pub(crate) possible: usize,
    /// The pairs, if they certainly cost the same except for noise; `None` if costs differ or that is uncertain.
    pub(crate) alike: Option<Alike>,
    /// The levels of the costs, the nearest first; empty if there is only one.
    pub(crate) levels: Vec<Level>,
    /// Why it is uncertain that all pairs cost the same, although their figures do not differ.
    #[serde(skip)]
    pub(crate) doubt: Option<String>,
}

/// A level: the groups of CPUs that hand-offs of one cost join, and that cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Level {
    /// The median cost of a pair that this level joins, in nanoseconds.
    pub(crate) ns: f64,
    /// The number of pairs on this level.
    pub(crate) pairs: usize,
    /// The groups of CPUs that this level and nearer ones join.
    pub(crate) groups: Vec<Vec<u32>>,
}

impl Level {
    /// Whether this is the level of hardware threads within a core.
    fn is_within_cores(&self, cpu: &CpuMachine) -> bool {
        let has_siblings = cpu.cores > 0 && cpu.hardware_threads == 2 * cpu.cores;
        has_siblings && self.groups.iter().all(|group| group.len() == 2)
    }
}

/// The pairs of a machine with only one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Alike {
    /// The smallest and the largest cost in nanoseconds.
    pub(crate) costs: (f64, f64),
    /// The number of pairs with a narrow enough interval.
    pub(crate) pairs: usize,
}

/// The matrix of a run; `None` if fewer than two pairs were measured.
pub(crate) fn matrix(run: &Run, rows: &[Row]) -> Option<Matrix> {
    // The first of several rows of a pair counts.
    let pairs = rows.iter().enumerate().rev().filter_map(|(index, row)| Some((pair(row)?, index)));
    let measured: BTreeMap<(u32, u32), usize> = pairs.collect();
    if measured.len() < 2 {
        return None;
    }
    let (cpus, levels) = ordered(rows, &measured);
    let indices: BTreeMap<u32, usize> = cpus.iter().enumerate().map(|(index, cpu)| (*cpu, index)).collect();
    let pairs = measured.iter().map(|((a, b), row)| (indices[a], indices[b], *row)).collect();
    // A sample of pairs may miss some CPUs. Without a list of allowed CPUs, only the sampled ones are known.
    let usable = list_length(&run.environment.allowed_cpus).unwrap_or(0).max(cpus.len());
    let possible = usable.saturating_mul(usable - 1) / 2;
    let (alike, doubt) = match alike(measured.values().map(|row| &rows[*row])) {
        Ok(alike) => (alike, None),
        Err(doubt) => (None, Some(doubt)),
    };
    Some(Matrix { cpus, pairs, possible, alike, levels, doubt })
}

/// The pairs that are certainly on one level: their intervals within the run all lie within [`LEVEL`]. Pairs with a wider
/// interval of their own do not count. `Ok(None)` if figures differ, or `Err` with the reason if the rows do not decide.
fn alike<'a>(rows: impl Iterator<Item = &'a Row>) -> Result<Option<Alike>, String> {
    let rows: Vec<&Row> = rows.collect();
    let known = rows.iter().filter_map(|row| Some((row.ns?.value(), bounds(row)?)));
    let known: Vec<(f64, Interval)> = known.filter(|(ns, own)| own.half_width() < ROUGH_UP_TO * ns).collect();
    let is_level = |low: f64, high: f64| high <= LEVEL * low;
    if extremes(known.iter().map(|(ns, _)| *ns)).is_some_and(|(low, high)| !is_level(low, high)) {
        return Ok(None);
    }
    let unknown = rows.len() - known.len();
    if unknown > 0 {
        let width = percent(ROUGH_UP_TO);
        return Err(format!(
            "for {unknown} of {} CPU pairs, the within-run interval is wider than ±{width}",
            rows.len()
        ));
    }
    let narrow: Vec<&(f64, Interval)> = known.iter().filter(|(_, own)| is_level(own.low, own.high)).collect();
    let bounds = extremes(narrow.iter().flat_map(|(_, own)| [own.low, own.high]));
    let costs = extremes(narrow.iter().map(|(ns, _)| *ns));
    let is_one_level = narrow.len() > 1 && bounds.is_some_and(|(low, high)| is_level(low, high));
    let alike = costs.filter(|_| is_one_level).map(|costs| Alike { costs, pairs: narrow.len() });
    alike.map(Some).ok_or_else(|| "the intervals of the pairs are too wide".to_owned())
}

/// A class of pairs of CPUs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairClass {
    /// The group of its cases.
    pub(crate) group: &'static str,
    /// The class's rung of the ladder.
    pub(crate) rung: &'static str,
    /// Where the two CPUs are.
    pub(crate) place: &'static str,
    /// The nearest resource that the two CPUs share.
    pub(crate) shared: &'static str,
}

const fn class(group: &'static str, rung: &'static str, place: &'static str, shared: &'static str) -> PairClass {
    PairClass { group, rung, place, shared }
}

/// All classes of pairs, the nearest first.
pub(crate) const PAIR_CLASSES: [PairClass; 6] = [
    class("same_core", "handoff.core", "between the hardware threads of a core", "one core"),
    class("same_l2", "handoff.l2", "within an L2 cache", "one L2"),
    class("same_l3", "handoff.l3", "within an L3 cache", "one L3"),
    class("same_node", "handoff.node", "within a NUMA node", "one node"),
    class("same_package", "handoff.package", "within a package", "one package"),
    class("across", "handoff.across", "across packages", "nothing"),
];

/// The two CPUs of a row of the matrix, the smaller number first; `None` for other rows.
fn pair(row: &Row) -> Option<(u32, u32)> {
    let Some(Placement::List(cpus)) = &row.case.placement else { return None };
    let &[a, b] = cpus.as_slice() else { return None };
    // Other groups hold the same pairs under other conditions, such as a line on another node.
    let counts = row.case.primitive == PRIMITIVE
        && row.case.form.is_none()
        && (row.case.group.is_none() || PAIR_CLASSES.iter().any(|class| row.case.group_word() == class.group))
        && a != b
        && !matches!(row.verdict, Verdict::Skipped(_));
    counts.then(|| (a.min(b), a.max(b)))
}

/// The rows with a figure for pairs whose shared resource is unknown.
pub(crate) fn without_class(rows: &[Row]) -> Vec<usize> {
    let is_one = |row: &&Row| row.case.group.is_none() && has_figure(row) && pair(row).is_some();
    rows.iter().enumerate().filter(|(_, row)| is_one(row)).map(|(index, _)| index).collect()
}

/// Costs within this factor of the smallest one are one level: smaller differences are noise.
const LEVEL: f64 = 1.25;

/// A level with this many times fewer pairs than the nearer level is noise of the nearer one.
const FEW: usize = 20;

/// Orders the CPUs and finds the levels of the costs by single-linkage clustering (Gower and Ross, Applied Statistics 18,
/// 1969). The pairs of a level join the groups of their CPUs. Joined groups become adjacent, the one with the smallest CPU
/// first. Pairs without a figure do not count.
fn ordered(rows: &[Row], measured: &BTreeMap<(u32, u32), usize>) -> (Vec<u32>, Vec<Level>) {
    let known = measured.iter().filter(|(_, row)| has_figure(&rows[**row]));
    let mut costs: Vec<_> = known.filter_map(|((a, b), row)| Some((rows[*row].ns?.value(), *a, *b))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cpus: BTreeSet<u32> = measured.keys().flat_map(|(a, b)| [*a, *b]).collect();
    let mut groups: Vec<Vec<u32>> = cpus.into_iter().map(|cpu| vec![cpu]).collect();
    let (mut rest, mut steps) = (costs.as_slice(), Vec::new());
    while let Some((least, _, _)) = rest.first() {
        let level = rest.partition_point(|(cost, _, _)| *cost <= LEVEL * least).max(1);
        let count = groups.len();
        groups = joined(groups, &rest[..level]);
        if groups.len() < count {
            steps.push(groups.clone());
        }
        rest = &rest[level..];
    }
    (groups.concat(), levels(&costs, steps))
}

/// The levels of these clustering steps: each level has the pairs whose CPUs it is the first to join. Steps of nearly the
/// same cost are one level.
fn levels(costs: &[(f64, u32, u32)], steps: Vec<Vec<Vec<u32>>>) -> Vec<Level> {
    let mut left = costs.to_vec();
    let mut found: Vec<(Vec<f64>, Level)> = Vec::new();
    for groups in steps {
        let group_of: BTreeMap<u32, usize> =
            groups.iter().enumerate().flat_map(|(at, group)| group.iter().map(move |cpu| (*cpu, at))).collect();
        let (inside, outside): (Vec<_>, Vec<_>) = left.iter().partition(|(_, a, b)| group_of[a] == group_of[b]);
        left = outside;
        let mut own: Vec<f64> = inside.iter().map(|(cost, ..)| *cost).collect();
        // A few pairs that cost more than others of their kind are not a level.
        let is_few = |nearer: &Level| FEW * own.len() < nearer.pairs;
        let nearer =
            found.pop_if(|(_, nearer)| is_few(nearer) || median(&own).is_some_and(|ns| ns <= LEVEL * nearer.ns));
        own.extend(nearer.into_iter().flat_map(|(costs, _)| costs));
        if let Some(ns) = median(&own) {
            let pairs = own.len();
            let groups = groups.into_iter().filter(|group| group.len() > 1).map(sorted).collect();
            found.push((own, Level { ns, pairs, groups }));
        }
    }
    if found.len() < 2 { Vec::new() } else { found.into_iter().map(|(_, level)| level).collect() }
}

fn sorted(mut cpus: Vec<u32>) -> Vec<u32> {
    cpus.sort_unstable();
    cpus
}

/// Joins groups by these pairs, in the order of their first CPUs.
fn joined(groups: Vec<Vec<u32>>, pairs: &[(f64, u32, u32)]) -> Vec<Vec<u32>> {
    let group_of: BTreeMap<u32, usize> =
        groups.iter().enumerate().flat_map(|(index, group)| group.iter().map(move |cpu| (*cpu, index))).collect();
    // For each group, the first of the groups that it is joined to.
    let mut firsts: Vec<usize> = (0..groups.len()).collect();
    for (_, a, b) in pairs {
        let (a, b) = (firsts[group_of[a]], firsts[group_of[b]]);
        firsts.iter_mut().filter(|first| **first == a.max(b)).for_each(|first| *first = a.min(b));
    }
    sets(firsts.into_iter().zip(groups)).into_values().map(|groups| groups.concat()).collect()
}

impl Matrix {
    /// The rows of pairs of the nearest cores: those on the first level above hardware threads of a core, or all pairs if
    /// the costs have no levels.
    pub(crate) fn of_near_cores(&self, run: &Run) -> Vec<usize> {
        let mut levels = self.levels.iter();
        let nearer = levels.clone().next().filter(|first| first.is_within_cores(&run.machine.cpu));
        let level = if nearer.is_some() { levels.nth(1) } else { levels.next() };
        let are_in =
            |level: &Level, pair: [u32; 2]| level.groups.iter().any(|group| pair.iter().all(|cpu| group.contains(cpu)));
        let is_near = |(a, b, _): &&(usize, usize, usize)| {
            let pair = [self.cpus[*a], self.cpus[*b]];
            level.is_none_or(|level| are_in(level, pair)) && !nearer.is_some_and(|level| are_in(level, pair))
        };
        self.pairs.iter().filter(is_near).map(|(_, _, row)| *row).collect()
    }

    /// Says what a hand-off costs on each level; `None` unless every pair has a cost and the costs have levels.
    pub(crate) fn levels_in_words(&self, run: &Run, rows: &[Row]) -> Option<String> {
        let counted: usize = self.levels.iter().map(|level| level.pairs).sum();
        let costs: Vec<f64> = self.pairs.iter().filter_map(|(_, _, row)| Some(rows[*row].ns?.value())).collect();
        let (least, most) = extremes(costs.iter().copied()).filter(|_| self.levels.len() > 1)?;
        if counted < self.possible {
            return None;
        }
        let place = |(at, level): (usize, &Level)| {
            let sizes = extremes(level.groups.iter().map(|group| group.len() as f64))?;
            let (fewest, largest) = (sizes.0 as usize, sizes.1 as usize);
            let size = if fewest == largest { largest.to_string() } else { format!("{fewest} to {largest}") };
            let count = level.groups.len();
            let where_ = match count {
                _ if at == 0 && level.is_within_cores(&run.machine.cpu) => {
                    "between the hardware threads of a core".to_owned()
                }
                1 if at > 0 => "across them".to_owned(),
                1 => format!("within a group of {size} CPUs"),
                _ => format!("within {count} groups of {size} CPUs{}", named(&level.groups)),
            };
            Some(format!("{} {where_}", figure::time(level.ns)))
        };
        let places: Vec<String> = self.levels.iter().enumerate().filter_map(place).collect();
        let median = figure::time(median(&costs)?);
        let pairs = figure::grouped(costs.len());
        let range = figure::between(least, most);
        Some(format!(
            "A hand-off takes {}; over {pairs} pairs, it takes {range}, with a median of {median}.",
            enumeration(&places)
        ))
    }
}

/// The CPUs of a few groups: ` (0-7,16-23; 8-15,24-31)`.
fn named(groups: &[Vec<u32>]) -> String {
    const MOST: usize = 4;
    let lists: Vec<String> = groups.iter().map(|group| list_of(group)).collect();
    if lists.len() > MOST { String::new() } else { format!(" ({})", lists.join("; ")) }
}

/// `0-7,16-23`.
fn list_of(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next);
    let run = |cpus: &[u32]| match cpus {
        [first, .., last] => format!("{first}-{last}"),
        _ => cpus.first().map_or_else(String::new, u32::to_string),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Group;
    use syncscope_core::{Case, Nanoseconds};

    fn matrix(rows: &[Row]) -> Option<Matrix> {
        super::matrix(&crate::testing::run(), rows)
    }

    fn row(a: u32, b: u32, ns: f64) -> Row {
        let placement = Some(Placement::List(vec![a, b]));
        let case = Case { threads: Some(2), placement, ..Case::new(PRIMITIVE) };
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    }

    /// Four CPUs: 0 and 2 share a core, 1 and 3 share another one.
    fn siblings() -> Vec<Row> {
        vec![row(0, 1, 50.0), row(0, 2, 6.0), row(0, 3, 52.0), row(2, 1, 51.0), row(1, 3, 6.1), row(2, 3, 50.0)]
    }

    #[test]
    fn cpus_with_fast_handoffs_are_adjacent() {
        let matrix = matrix(&siblings()).unwrap();
        assert_eq!(matrix.cpus, [0, 2, 1, 3]);
        assert_eq!((matrix.pairs.len(), matrix.possible), (6, 6));
        // CPUs 1 and 2, in either order in the list.
        assert!(matrix.pairs.contains(&(2, 1, 3)), "{:?}", matrix.pairs);
    }

    #[test]
    fn the_same_pair_under_other_conditions_is_no_cell() {
        let of_group = |group, row: Row| Row { case: Case { group: Some(group), ..row.case.clone() }, ..row };
        let rows = [
            of_group(Group::of_word("line_on_node 1"), row(0, 1, 500.0)),
            of_group(Group::named("same_l3"), row(0, 1, 50.0)),
            of_group(Group::of_word("line_on_node 1"), row(0, 2, 510.0)),
            of_group(Group::named("same_l3"), row(1, 2, 51.0)),
        ];
        let found: Vec<usize> = matrix(&rows).unwrap().pairs.iter().map(|(_, _, row)| *row).collect();
        assert_eq!(found, [1, 3]);
    }

    #[test]
    fn noise_within_a_level_does_not_reorder_cpus() {
        let noise = |a: u32, b: u32| f64::from((a * 7 + b * 13) % 11);
        let mut rows = Vec::new();
        for a in 0..8u32 {
            for b in a + 1..8 {
                // Even CPUs share one cache, odd ones another.
                let ns = if a % 2 == b % 2 { 40.0 + noise(a, b) * 0.8 } else { 70.0 + noise(a, b) };
                rows.push(row(a, b, ns));
            }
        }
        assert_eq!(matrix(&rows).unwrap().cpus, [0, 2, 4, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn sampled_pairs_are_counted_and_keep_their_cpus() {
        let rows = [row(0, 8, 40.0), row(1, 9, 45.0), Row { verdict: Verdict::Noisy(String::new()), ..row(4, 5, 1.0) }];
        let matrix = matrix(&rows).unwrap();
        assert_eq!(matrix.cpus, [0, 8, 1, 9, 4, 5]);
        assert_eq!((matrix.pairs.len(), matrix.possible), (3, 15));
    }

    #[test]
    fn pairs_are_counted_among_all_cpus_that_the_run_could_use() {
        // 36 of the 2,016 pairs of 64 CPUs were reported as 36 of 1,711, because 5 CPUs were in no pair of the sample.
        let mut run = crate::testing::run();
        run.environment.allowed_cpus = "0-7,16".into();
        let found = super::matrix(&run, &siblings()).unwrap();
        assert_eq!((found.cpus.len(), found.possible), (4, 36));
        for (list, length) in
            [("0-7,16", Some(9)), ("3", Some(1)), ("", None), ("7-3", None), ("all", None), ("0-99999999999", None)]
        {
            assert_eq!(list_length(list), length, "{list}");
        }
    }

    #[test]
    fn noise_is_no_structure() {
        let near = [row(0, 1, 72.3), row(0, 2, 75.0), row(1, 2, 77.7)];
        assert_eq!(matrix(&near).unwrap().alike, Some(Alike { costs: (72.3, 77.7), pairs: 3 }));
        let found = matrix(&siblings()).unwrap();
        assert_eq!((found.alike, found.doubt), (None, None), "the figures differ");
    }

    #[test]
    fn pairs_are_one_level_only_where_their_intervals_are() {
        let within = |row: Row, low, high| Row { ns_within: Some(Interval { low, high }), ..row };
        let near = || vec![row(0, 1, 101.0), row(0, 2, 104.0), row(1, 2, 107.0)];
        let of = |third: Row| {
            let found = matrix(&[near(), vec![third]].concat()).unwrap();
            (found.alike.map(|alike| (alike.costs, alike.pairs)), found.doubt)
        };
        let pair = || row(0, 3, 106.0);
        assert_eq!(of(within(pair(), 100.0, 112.0)), (Some(((101.0, 107.0), 4)), None));
        let below = Row { verdict: Verdict::BelowResolution("at most 96.5 ns".into()), ..within(pair(), -90.0, 96.5) };
        assert_eq!(of(below), (None, Some("for 1 of 4 CPU pairs, the within-run interval is wider than ±25 %".into())));
        let noisy = |low, high| Row { verdict: Verdict::Noisy("wide".into()), ..within(pair(), low, high) };
        assert_eq!(
            of(noisy(0.98, 213.0)),
            (None, Some("for 1 of 4 CPU pairs, the within-run interval is wider than ±25 %".into()))
        );
        // The table shows a wider interval, for another run.
        let other_run = Row {
            verdict: Verdict::Noisy("wide".into()),
            ns_interval: Some(Interval { low: 70.0, high: 130.0 }),
            ..within(pair(), 105.0, 107.0)
        };
        assert!(!has_figure(&other_run));
        assert_eq!(of(other_run), (Some(((101.0, 107.0), 4)), None));
        // A rough figure with an interval wider than a level does not count.
        assert_eq!(of(noisy(85.0, 130.0)), (Some(((101.0, 107.0), 3)), None));
        let apart = [row(0, 1, 100.0), row(0, 2, 110.0)].map(|row| {
            let ns = row.ns.map_or(0.0, Nanoseconds::value);
            within(row, 0.9 * ns, 1.1 * ns)
        });
        let found = matrix(&apart).unwrap();
        assert_eq!((found.alike, found.doubt.as_deref()), (None, Some("the intervals of the pairs are too wide")));
    }

    #[test]
    fn other_rows_are_ignored() {
        let alone = [row(0, 1, 50.0)];
        assert_eq!(matrix(&alone), None);
        let mut rows = siblings();
        rows.push(Row {
            case: Case { primitive: "cpu.handoff.futex".into(), ..row(4, 5, 1.0).case },
            ..row(4, 5, 1.0)
        });
        rows.push(row(7, 7, 1.0));
        rows.push(Row { verdict: Verdict::Skipped(String::new()), ..row(8, 9, 1.0) });
        assert_eq!(matrix(&rows).unwrap().cpus.len(), 4);
    }

    #[test]
    fn a_pair_with_two_rows_counts_once() {
        let mut classed = row(0, 2, 6.0);
        classed.case.group = Some(Group::named("same_core"));
        let rows: Vec<Row> = std::iter::once(classed).chain(siblings()).collect();
        let matrix = matrix(&rows).unwrap();
        assert_eq!(matrix.pairs.len(), 6);
        assert_eq!(matrix.pairs.iter().filter(|(_, _, row)| [0, 2].contains(row)).count(), 1);
    }

    /// Two groups of four CPUs, two hardware threads a core: 0 and 4 are one core.
    fn of_levels(noise: impl Fn(u32, u32) -> f64) -> Vec<Row> {
        let pairs = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
        let cost = |a: u32, b: u32| match (a % 4 == b % 4, a % 4 / 2 == b % 4 / 2) {
            (true, _) => 8.0,
            (_, true) => 18.0,
            _ => 84.0,
        };
        pairs.map(|(a, b)| row(a, b, cost(a, b) * noise(a, b))).collect()
    }

    #[test]
    fn each_level_has_its_cost_and_its_groups_whatever_the_noise() {
        // Within the second group, costs run from 16 to 23: two steps, one level.
        for rows in [of_levels(|_, _| 1.0), of_levels(|a, b| 0.9 + f64::from((a * 7 + b * 3) % 5) * 0.09)] {
            let matrix = matrix(&rows).unwrap();
            let found: Vec<(usize, Vec<Vec<u32>>)> =
                matrix.levels.iter().map(|level| (level.pairs, level.groups.clone())).collect();
            let cores = (0..4).map(|core| vec![core, core + 4]).collect();
            let all = vec![(0..8).collect()];
            assert_eq!(found, [(4, cores), (8, vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7]]), (16, all)]);
        }
        let rows = of_levels(|_, _| 1.0);
        let mut run = crate::testing::run();
        (run.machine.cpu.cores, run.machine.cpu.hardware_threads) = (4, 8);
        let matrix = super::matrix(&run, &rows).unwrap();
        let near = matrix.of_near_cores(&run);
        assert!(near.len() == 8 && near.iter().all(|row| rows[*row].ns == Some(Nanoseconds(18.0))), "{near:?}");
        let said = matrix.levels_in_words(&run, &rows).unwrap();
        let expected = "A hand-off takes 8.00 ns between the hardware threads of a core, 18.0 ns within 2 groups of 4 CPUs (0-1,4-5; \
                        2-3,6-7) and 84.0 ns across them; over 28 pairs, it takes 8.0 to 84 ns, with a median of 84.0 ns.";
        assert_eq!(said, expected);
    }

    #[test]
    fn costs_of_one_level_and_samples_of_pairs_have_no_levels() {
        let alike: Vec<Row> =
            of_levels(|_, _| 1.0).into_iter().map(|row| Row { ns: Some(Nanoseconds(20.0)), ..row }).collect();
        assert_eq!(matrix(&alike).unwrap().levels, []);
        let some: Vec<Row> = of_levels(|_, _| 1.0).into_iter().step_by(3).collect();
        let run = crate::testing::run();
        assert_eq!(super::matrix(&run, &some).unwrap().levels_in_words(&run, &some), None);
    }
}
