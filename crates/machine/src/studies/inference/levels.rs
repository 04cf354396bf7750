//! The measured pairs of CPUs, and the levels of groups that their costs show: cores, caches, packages.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use syncscope_core::stats::median;
use syncscope_core::{Placement, Row, Verdict};
use syncscope_host::cpu_list;

use crate::studies::core_to_core::is_of_matrix;
use crate::topology::Topology;

/// The limit between the two costs of a hand-off: within a core and between cores. Between cores the line has to leave the
/// caches of a core, and no published hand-off by compare-and-swap is faster: the fastest at
/// github.com/nviennot/core-to-core-latency takes about 16 ns between cores, and 4 to 9 ns between siblings. Measured on
/// Sapphire Rapids: 45 to 70 ns and 6 ns.
const WITHIN_A_CORE_NS: f64 = 12.0;

/// Two CPUs, as indices of [`Matrix::cpus`], and the cost of a hand-off between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) ns: f64,
}

/// The measured pairs.
pub(super) struct Matrix {
    pub(super) cpus: Vec<u32>,
    pub(super) pairs: Vec<Pair>,
}

/// The group of each CPU, by its index.
pub(super) type Partition = Vec<usize>;

impl Matrix {
    /// The pairs that `rows` measured, of the CPUs of `topology`.
    pub(super) fn of(topology: &Topology, rows: &[Row]) -> Self {
        let measured: BTreeMap<[u32; 2], f64> = rows.iter().filter_map(cost_of_pair).collect();
        let known = |cpu: &u32| topology.threads.iter().any(|thread| thread.os == *cpu);
        let cpus: BTreeSet<u32> = measured.keys().flatten().copied().filter(known).collect();
        let cpus = Vec::from_iter(cpus);
        let index = |cpu: u32| cpus.binary_search(&cpu).ok();
        let pair = |([a, b], ns): (&[u32; 2], &f64)| Some(Pair { a: index(*a)?, b: index(*b)?, ns: *ns });
        Self { pairs: measured.iter().filter_map(pair).collect(), cpus }
    }

    /// The costs of the pairs that `chosen` selects, in ascending order.
    pub(super) fn costs(&self, chosen: impl Fn(&Pair) -> bool) -> Vec<f64> {
        let mut costs: Vec<f64> = self.pairs.iter().filter(|pair| chosen(pair)).map(|pair| pair.ns).collect();
        costs.sort_by(f64::total_cmp);
        costs
    }

    /// The CPUs of a group as text.
    pub(super) fn list(&self, group: &[usize]) -> String {
        cpu_list::format(&group.iter().map(|index| self.cpus[*index]).collect::<Vec<_>>())
    }
}

impl Pair {
    /// Whether it is so fast that the CPUs must be hardware threads of one core.
    pub(super) fn is_within_a_core(&self) -> bool {
        self.ns <= WITHIN_A_CORE_NS
    }
}

/// The two CPUs, the lower one first, and the cost of a row of the matrix.
fn cost_of_pair(row: &Row) -> Option<([u32; 2], f64)> {
    let measured = matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_)) && row.check != Some(false);
    let Some(Placement::List(cpus)) = &row.case.placement else { return None };
    let ns = row.ns.map(|ns| ns.0).filter(|ns| is_of_matrix(&row.case) && measured && *ns > 0.0)?;
    match cpus[..] {
        [a, b] if a != b => Some(([a.min(b), a.max(b)], ns)),
        _ => None,
    }
}

/// The indices of each group, in the order of their first members.
pub(super) fn members(partition: &Partition) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    partition.iter().enumerate().for_each(|(index, group)| groups.entry(*group).or_default().push(index));
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort_unstable();
    groups
}

/// Siblings are at least this many times faster than other pairs.
pub(super) const SIBLINGS_FASTER: f64 = 1.5;

/// Hand-offs between groups take at least this many times as long as hand-offs within a group.
pub(super) const LEAST_CONTRAST: f64 = 1.3;

/// [`LEAST_CONTRAST`] where noise could look like groups: with few pairs, or where no group has three CPUs.
const LEAST_CONTRAST_OF_FEW: f64 = 2.0;

/// The number of pairs that eight CPUs have.
const ENOUGH_PAIRS: usize = 28;

/// The most hardware threads per core of any real processor (POWER).
const MAX_SIBLINGS: usize = 8;

/// The smallest step in the sorted costs at which a level may end. Noise makes smaller steps.
const LEAST_STEP: f64 = 1.15;

/// How many of the widest steps are tried.
const MAX_STEPS: usize = 8;

/// One pair in this many may be on the wrong side of the step: a disturbed measurement.
const PAIRS_PER_MISFIT: usize = 14;

/// The cores: CPUs whose hand-offs are so fast that they must be one core. Every other CPU is a group of its own.
pub(super) fn cores(matrix: &Matrix) -> Partition {
    let alone: Partition = (0..matrix.cpus.len()).collect();
    let (fast, others) = (matrix.costs(Pair::is_within_a_core), matrix.costs(|pair| !pair.is_within_a_core()));
    let (Some(fast), Some(others)) = (median(&fast), median(&others)) else { return alone };
    if others < SIBLINGS_FASTER * fast {
        return alone;
    }
    let mut cores = alone.clone();
    for pair in matrix.pairs.iter().filter(|pair| pair.is_within_a_core()) {
        let (from, to) = (cores[pair.b], cores[pair.a]);
        cores.iter_mut().filter(|core| **core == from).for_each(|core| *core = to);
    }
    // A chain of fast pairs whose ends are slow is no core.
    let is_core = |core: usize| {
        let is_fast = |pair: &Pair| pair.is_within_a_core() || cores[pair.a] != core || cores[pair.b] != core;
        cores.iter().filter(|other| **other == core).count() <= MAX_SIBLINGS && matrix.pairs.iter().all(is_fast)
    };
    (0..cores.len()).map(|index| if is_core(cores[index]) { cores[index] } else { alone[index] }).collect()
}

/// The levels of groups beyond the core, the nearest first. Each joins groups of the level before.
pub(super) fn domains(matrix: &Matrix, cores: &Partition) -> Vec<Partition> {
    let mut candidates: Vec<(usize, Partition)> = steps(matrix, cores)
        .into_iter()
        .map(|threshold| {
            let partition = partition(matrix, threshold, cores);
            (misfits(matrix, &partition, threshold), partition)
        })
        .filter(|(misfits, partition)| is_level(matrix, partition, cores, *misfits))
        .collect();
    // The clearest candidate first; the others must be compatible with it.
    candidates.sort_by_key(|(misfits, _)| *misfits);
    candidates
        .into_iter()
        .fold(Vec::new(), |levels, (_, partition)| with_level(matrix, &levels, partition, cores).unwrap_or(levels))
}

/// Adds a level between `levels`. `None` where its groups cut across the groups of another level, or where the costs of
/// two levels would be too close.
fn with_level(
    matrix: &Matrix,
    levels: &[Partition],
    partition: Partition,
    cores: &Partition,
) -> Option<Vec<Partition>> {
    let finer = levels.iter().take_while(|level| joins(level, &partition)).count();
    let nested = levels[finer..].iter().all(|level| joins(&partition, level) && !joins(level, &partition));
    let is_new = finer == 0 || !joins(&partition, &levels[finer - 1]);
    let mut all = levels.to_vec();
    all.insert(finer, partition);
    (nested && is_new && costs_increase(matrix, &all, cores)).then_some(all)
}

/// Whether each level is clearly slower than the one before.
fn costs_increase(matrix: &Matrix, levels: &[Partition], cores: &Partition) -> bool {
    let machine: Partition = vec![0; matrix.cpus.len()];
    let nearer = std::iter::once(cores).chain(levels);
    let farther = levels.iter().chain(std::iter::once(&machine));
    let costs: Option<Vec<f64>> = nearer
        .zip(farther)
        .map(|(near, far)| median(&matrix.costs(|pair| near[pair.a] != near[pair.b] && far[pair.a] == far[pair.b])))
        .collect();
    costs.is_some_and(|costs| costs.windows(2).all(|step| step[1] >= LEAST_CONTRAST * step[0]))
}

/// The thresholds: costs in the middle of the widest steps between sorted costs of different cores.
fn steps(matrix: &Matrix, cores: &Partition) -> Vec<f64> {
    let costs = matrix.costs(|pair| cores[pair.a] != cores[pair.b]);
    let mut steps: Vec<(f64, f64)> =
        costs.windows(2).map(|pair| (pair[1] / pair[0], (pair[0] * pair[1]).sqrt())).collect();
    steps.retain(|(step, _)| *step >= LEAST_STEP);
    steps.sort_by(|one, other| other.0.total_cmp(&one.0));
    steps.into_iter().take(MAX_STEPS).map(|(_, middle)| middle).collect()
}

/// Groups with as few misfits as possible: pairs that are fast between groups, or slow within one (correlation
/// clustering: Bansal, Blum and Chawla, Machine Learning 56, 2004). Moves single cores and joins groups while the misfits
/// decrease. Unlike in a chain of pairs, one fast pair does not join two groups, and one slow pair does not divide one.
fn partition(matrix: &Matrix, threshold: f64, cores: &Partition) -> Partition {
    // A core moves as a whole; the first of its CPUs stands for it.
    let mut votes: Vec<Vec<(usize, i64)>> = vec![Vec::new(); matrix.cpus.len()];
    for pair in matrix.pairs.iter().filter(|pair| cores[pair.a] != cores[pair.b]) {
        let vote = if pair.ns < threshold { 1 } else { -1 };
        votes[cores[pair.a]].push((cores[pair.b], vote));
        votes[cores[pair.b]].push((cores[pair.a], vote));
    }
    let mut partition: Partition = (0..matrix.cpus.len()).collect();
    // Every iteration lowers the number of misfits, so the loop ends long before this limit.
    for _ in 0..=matrix.cpus.len() {
        let moved = move_cores(&votes, &mut partition);
        let joined = join_groups(&votes, &mut partition);
        if !moved && !joined {
            break;
        }
    }
    cores.iter().map(|core| partition[*core]).collect()
}

/// How many pairs are fast between groups or slow within one.
fn misfits(matrix: &Matrix, partition: &Partition, threshold: f64) -> usize {
    let fits = |pair: &&Pair| (pair.ns < threshold) == (partition[pair.a] == partition[pair.b]);
    matrix.pairs.len() - matrix.pairs.iter().filter(fits).count()
}

/// Whether groups are more than noise: at least two of them have several cores, most CPUs are in such groups, almost no
/// pair is a misfit, and the costs between groups are clearly higher than within a group.
fn is_level(matrix: &Matrix, partition: &Partition, cores: &Partition, misfits: usize) -> bool {
    let groups = members(partition);
    let several: Vec<&Vec<usize>> =
        groups.iter().filter(|group| group.iter().any(|index| cores[*index] != cores[group[0]])).collect();
    let covered: usize = several.iter().map(|group| group.len()).sum();
    let within = matrix.costs(|pair| partition[pair.a] == partition[pair.b] && cores[pair.a] != cores[pair.b]);
    let between = matrix.costs(|pair| partition[pair.a] != partition[pair.b]);
    let (Some(within), Some(between)) = (median(&within), median(&between)) else { return false };
    let is_certain = matrix.pairs.len() >= ENOUGH_PAIRS && several.iter().any(|group| group.len() > 2);
    let contrast = if is_certain { LEAST_CONTRAST } else { LEAST_CONTRAST_OF_FEW };
    several.len() > 1
        && 2 * covered > matrix.cpus.len()
        && misfits * PAIRS_PER_MISFIT <= matrix.pairs.len()
        && between >= contrast * within
}

/// Moves each core to the group that most of its pairs vote for. Returns whether any core moved.
fn move_cores(votes: &[Vec<(usize, i64)>], partition: &mut Partition) -> bool {
    let mut moved = false;
    for index in 0..partition.len() {
        let mut tally: BTreeMap<usize, i64> = BTreeMap::new();
        votes[index].iter().for_each(|(other, vote)| *tally.entry(partition[*other]).or_default() += vote);
        let stay = tally.get(&partition[index]).copied().unwrap_or_default();
        // The first of equal groups, so that the result depends on the votes alone.
        let best = tally.iter().max_by_key(|(group, sum)| (**sum, Reverse(**group)));
        if let Some((group, _)) = best.filter(|(_, sum)| **sum > stay.max(0)) {
            partition[index] = *group;
            moved = true;
        } else if stay < 0 {
            // No group wants it: it becomes a group of its own.
            let free = (0..partition.len()).find(|group| !partition.contains(group));
            partition[index] = free.unwrap_or(partition[index]);
            moved = true;
        }
    }
    moved
}

/// Joins the two groups with the most votes to join. Returns whether there were such groups.
fn join_groups(votes: &[Vec<(usize, i64)>], partition: &mut Partition) -> bool {
    let mut tally: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for (index, votes) in votes.iter().enumerate() {
        for (other, vote) in votes.iter().filter(|(other, _)| partition[index] < partition[*other]) {
            *tally.entry((partition[index], partition[*other])).or_default() += vote;
        }
    }
    let best = tally.into_iter().max_by_key(|(groups, sum)| (*sum, Reverse(*groups)));
    let Some(((to, from), _)) = best.filter(|(_, sum)| *sum > 0) else { return false };
    partition.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
    true
}

/// Whether every group of `finer` is in one group of `coarser`.
fn joins(finer: &Partition, coarser: &Partition) -> bool {
    members(finer).iter().all(|group| group.iter().all(|index| coarser[*index] == coarser[group[0]]))
}
