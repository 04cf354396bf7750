//! The measured pairs, and the levels of groups that their costs show.

use std::collections::BTreeMap;

use syncscope_core::{Placement, Row, Verdict};

use crate::machine::topology::Topology;
use crate::studies::core_to_core::is_of_matrix;
use syncscope_host::cpu_list;

/// Siblings answer so many times faster than the others, at least.
pub(super) const SIBLINGS_FASTER: f64 = 1.5;

/// Between groups, hand-offs take so many times longer than within, at least.
pub(super) const LEAST_CONTRAST: f64 = 1.3;

/// Between cores no published hand-off by compare-and-swap is faster: the line has to leave a core's own caches. The least
/// of the processors collected at github.com/nviennot/core-to-core-latency is about 16 ns between cores, 4 to 9 ns between
/// hardware threads of one core; measured on Sapphire Rapids: 6 ns and 45 to 70 ns.
const WITHIN_A_CORE_NS: f64 = 12.0;

/// Most hardware threads of a core that is built (POWER).
const MOST_SIBLINGS: usize = 8;

/// The step in the sorted costs where a level may end. Noise makes smaller ones.
const LEAST_STEP: f64 = 1.15;

/// So many of the widest steps are looked at.
const MOST_STEPS: usize = 8;

/// The same where luck could make groups of noise: with few pairs, or where no group has three CPUs.
const LEAST_CONTRAST_OF_FEW: f64 = 2.0;

/// As many pairs as eight CPUs have.
const ENOUGH_PAIRS: usize = 28;

/// One pair in so many may be on the wrong side of the step: a disturbed measurement.
const PAIRS_PER_MISFIT: usize = 14;

/// Two CPUs, by their place in [`Matrix::cpus`], and how long a hand-off between them takes.
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

/// The group of each CPU, by its place.
pub(super) type Partition = Vec<usize>;

impl Matrix {
    pub(super) fn of(topology: &Topology, rows: &[Row]) -> Self {
        let measured: BTreeMap<[u32; 2], f64> = rows.iter().filter_map(cost_of_pair).collect();
        let known = |cpu: &u32| topology.threads.iter().any(|thread| thread.os == *cpu);
        let mut cpus: Vec<u32> = measured.keys().flatten().copied().filter(known).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let place = |cpu: u32| cpus.binary_search(&cpu).ok();
        let pair = |([a, b], ns): (&[u32; 2], &f64)| Some(Pair { a: place(*a)?, b: place(*b)?, ns: *ns });
        Self { pairs: measured.iter().filter_map(pair).collect(), cpus }
    }

    /// Costs of the pairs that `chosen` takes, in ascending order.
    pub(super) fn costs(&self, chosen: impl Fn(&Pair) -> bool) -> Vec<f64> {
        let mut costs: Vec<f64> = self.pairs.iter().filter(|pair| chosen(pair)).map(|pair| pair.ns).collect();
        costs.sort_by(f64::total_cmp);
        costs
    }

    /// Which CPUs answer each other as only hardware threads of one core can; every other CPU is a group of its own.
    pub(super) fn cores(&self) -> Partition {
        let alone: Partition = (0..self.cpus.len()).collect();
        let (fast, others) = (self.costs(Pair::is_within_a_core), self.costs(|pair| !pair.is_within_a_core()));
        let (Some(fast), Some(others)) = (median(&fast), median(&others)) else { return alone };
        if others < SIBLINGS_FASTER * fast {
            return alone;
        }
        let mut cores = alone.clone();
        for pair in self.pairs.iter().filter(|pair| pair.is_within_a_core()) {
            let (from, to) = (cores[pair.b], cores[pair.a]);
            cores.iter_mut().filter(|core| **core == from).for_each(|core| *core = to);
        }
        // A chain of fast pairs whose ends are far apart is no core.
        let is_core = |core: usize| {
            cores.iter().filter(|other| **other == core).count() <= MOST_SIBLINGS
                && self
                    .pairs
                    .iter()
                    .all(|pair| pair.is_within_a_core() || cores[pair.a] != core || cores[pair.b] != core)
        };
        (0..cores.len()).map(|place| if is_core(cores[place]) { cores[place] } else { alone[place] }).collect()
    }

    /// Levels of groups beyond the core, the nearest first: each joins the groups of the one before.
    pub(super) fn domains(&self, cores: &Partition) -> Vec<Partition> {
        let mut candidates: Vec<(usize, Partition)> = self
            .steps(cores)
            .into_iter()
            .map(|threshold| {
                let partition = self.partition(threshold, cores);
                (self.misfits(&partition, threshold), partition)
            })
            .filter(|(misfits, partition)| self.is_level(partition, cores, *misfits))
            .collect();
        // The clearest first; the others must fit in with them.
        candidates.sort_by_key(|(misfits, _)| *misfits);
        candidates
            .into_iter()
            .fold(Vec::new(), |levels, (_, partition)| self.with_level(&levels, partition, cores).unwrap_or(levels))
    }

    /// `levels` and one more between them; `None` where its groups cut across those of another level or the steps from level
    /// to level would be too small.
    fn with_level(&self, levels: &[Partition], partition: Partition, cores: &Partition) -> Option<Vec<Partition>> {
        let finer = levels.iter().take_while(|level| joins(level, &partition)).count();
        let nested = levels[finer..].iter().all(|level| joins(&partition, level) && !joins(level, &partition));
        let is_new = finer == 0 || !joins(&partition, &levels[finer - 1]);
        let mut all = levels.to_vec();
        all.insert(finer, partition);
        (nested && is_new && self.is_staircase(&all, cores)).then_some(all)
    }

    /// Whether each level is clearly slower than the one before.
    fn is_staircase(&self, levels: &[Partition], cores: &Partition) -> bool {
        let machine: Partition = vec![0; self.cpus.len()];
        let nearer = std::iter::once(cores).chain(levels);
        let farther = levels.iter().chain(std::iter::once(&machine));
        let costs: Option<Vec<f64>> = nearer
            .zip(farther)
            .map(|(near, far)| median(&self.costs(|pair| near[pair.a] != near[pair.b] && far[pair.a] == far[pair.b])))
            .collect();
        costs.is_some_and(|costs| costs.windows(2).all(|step| step[1] >= LEAST_CONTRAST * step[0]))
    }

    /// Costs in the middle of the widest steps of the sorted costs between cores.
    fn steps(&self, cores: &Partition) -> Vec<f64> {
        let costs = self.costs(|pair| cores[pair.a] != cores[pair.b]);
        let mut steps: Vec<(f64, f64)> =
            costs.windows(2).map(|pair| (pair[1] / pair[0], (pair[0] * pair[1]).sqrt())).collect();
        steps.retain(|(step, _)| *step >= LEAST_STEP);
        steps.sort_by(|one, other| other.0.total_cmp(&one.0));
        steps.into_iter().take(MOST_STEPS).map(|(_, middle)| middle).collect()
    }

    /// Groups such that as few pairs as possible are fast between groups or slow within one (correlation clustering: Bansal,
    /// Blum and Chawla, Machine Learning 56, 2004), by moving single cores and joining groups while that helps. One fast
    /// pair does not join two groups, nor does one slow pair part a group, as they would if groups were chains.
    fn partition(&self, threshold: f64, cores: &Partition) -> Partition {
        // A core moves as a whole, and speaks for the first of its CPUs.
        let mut votes: Vec<Vec<(usize, i64)>> = vec![Vec::new(); self.cpus.len()];
        for pair in self.pairs.iter().filter(|pair| cores[pair.a] != cores[pair.b]) {
            let vote = if pair.ns < threshold { 1 } else { -1 };
            votes[cores[pair.a]].push((cores[pair.b], vote));
            votes[cores[pair.b]].push((cores[pair.a], vote));
        }
        let mut partition: Partition = (0..self.cpus.len()).collect();
        // Each round only lowers the number of misfits, so it ends long before.
        for _ in 0..=self.cpus.len() {
            let moved = move_cores(&votes, &mut partition);
            let joined = join_groups(&votes, &mut partition);
            if !moved && !joined {
                break;
            }
        }
        cores.iter().map(|core| partition[*core]).collect()
    }

    /// How many pairs are fast between groups or slow within one.
    fn misfits(&self, partition: &Partition, threshold: f64) -> usize {
        let fits = |pair: &&Pair| (pair.ns < threshold) == (partition[pair.a] == partition[pair.b]);
        self.pairs.len() - self.pairs.iter().filter(fits).count()
    }

    /// Whether groups are more than luck makes of noise: two of them at least have several cores, most CPUs are in such
    /// groups, hardly a pair contradicts them, and they are clearly apart.
    fn is_level(&self, partition: &Partition, cores: &Partition, misfits: usize) -> bool {
        let groups = members(partition);
        let several: Vec<&Vec<usize>> =
            groups.iter().filter(|group| group.iter().any(|place| cores[*place] != cores[group[0]])).collect();
        let covered: usize = several.iter().map(|group| group.len()).sum();
        let within = self.costs(|pair| partition[pair.a] == partition[pair.b] && cores[pair.a] != cores[pair.b]);
        let between = self.costs(|pair| partition[pair.a] != partition[pair.b]);
        let (Some(within), Some(between)) = (median(&within), median(&between)) else { return false };
        let witnessed = self.pairs.len() >= ENOUGH_PAIRS && several.iter().any(|group| group.len() > 2);
        let contrast = if witnessed { LEAST_CONTRAST } else { LEAST_CONTRAST_OF_FEW };
        several.len() > 1
            && 2 * covered > self.cpus.len()
            && misfits * PAIRS_PER_MISFIT <= self.pairs.len()
            && between >= contrast * within
    }

    /// The CPUs in some places as text.
    pub(super) fn list(&self, places: &[usize]) -> String {
        cpu_list::format(&places.iter().map(|place| self.cpus[*place]).collect::<Vec<_>>())
    }
}

impl Pair {
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

/// Moves each core to the group that most of its pairs vote for. Whether one moved.
fn move_cores(votes: &[Vec<(usize, i64)>], partition: &mut Partition) -> bool {
    let mut moved = false;
    for place in 0..partition.len() {
        let mut tally: BTreeMap<usize, i64> = BTreeMap::new();
        votes[place].iter().for_each(|(other, vote)| *tally.entry(partition[*other]).or_default() += vote);
        let stay = tally.get(&partition[place]).copied().unwrap_or_default();
        // The first of the best, so that the result does not depend on anything but the votes.
        let best = tally.iter().max_by_key(|(group, sum)| (**sum, std::cmp::Reverse(**group)));
        if let Some((group, _)) = best.filter(|(_, sum)| **sum > stay.max(0)) {
            partition[place] = *group;
            moved = true;
        } else if stay < 0 {
            // Nobody wants it: it becomes a group of its own.
            let free = (0..partition.len()).find(|group| !partition.contains(group));
            partition[place] = free.unwrap_or(partition[place]);
            moved = true;
        }
    }
    moved
}

/// Joins the two groups between which the votes to join are the most. Whether there were any.
fn join_groups(votes: &[Vec<(usize, i64)>], partition: &mut Partition) -> bool {
    let mut tally: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for (place, votes) in votes.iter().enumerate() {
        for (other, vote) in votes.iter().filter(|(other, _)| partition[place] < partition[*other]) {
            *tally.entry((partition[place], partition[*other])).or_default() += vote;
        }
    }
    let best = tally.into_iter().max_by_key(|(groups, sum)| (*sum, std::cmp::Reverse(*groups)));
    let Some(((to, from), _)) = best.filter(|(_, sum)| *sum > 0) else { return false };
    partition.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
    true
}

/// The places of each group, in the order of their first members.
pub(super) fn members(partition: &Partition) -> Vec<Vec<usize>> {
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, group) in partition.iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| known == group) {
            Some((_, places)) => places.push(place),
            None => groups.push((*group, vec![place])),
        }
    }
    groups.into_iter().map(|(_, places)| places).collect()
}

/// Whether every group of `finer` is in one group of `coarser`.
fn joins(finer: &Partition, coarser: &Partition) -> bool {
    members(finer).iter().all(|group| group.iter().all(|place| coarser[*place] == coarser[group[0]]))
}

/// The value in the middle of ascending values; `None` of none.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(lower, upper))
}
