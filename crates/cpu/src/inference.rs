//! What the core-to-core matrix says about the topology, and where that contradicts what the system says.
//!
//! A virtual machine may hide hyperthreading and caches, or make them up; how fast CPUs answer each other it can not. Pure
//! functions: rows in, groups and words out. METHOD.md tells the rules.

use std::collections::BTreeMap;

use syncscope_core::machine::{MeasuredGroup, MeasuredTopology};
use syncscope_core::{Placement, Row, Verdict};

use crate::cpu_list;
use crate::matrix;
use crate::pairs::PairClass;
use crate::topology::Topology;

/// Between cores no published hand-off by compare-and-swap is faster: the line has to leave a core's own caches. The least
/// of the processors collected at github.com/nviennot/core-to-core-latency is about 16 ns between cores, 4 to 9 ns between
/// hardware threads of one core; measured on Sapphire Rapids: 6 ns and 45 to 70 ns.
const WITHIN_A_CORE_NS: f64 = 12.0;

/// Siblings answer so many times faster than the others, at least.
const SIBLINGS_FASTER: f64 = 1.5;

/// Most hardware threads of a core that is built (POWER).
const MOST_SIBLINGS: usize = 8;

/// The step in the sorted costs where a level may end. Noise makes smaller ones.
const LEAST_STEP: f64 = 1.15;

/// So many of the widest steps are looked at.
const MOST_STEPS: usize = 8;

/// Between groups, hand-offs take so many times longer than within, at least.
const LEAST_CONTRAST: f64 = 1.3;

/// The same where luck could make groups of noise: with few pairs, or where no group has three CPUs.
const LEAST_CONTRAST_OF_FEW: f64 = 2.0;

/// As many pairs as eight CPUs have.
const ENOUGH_PAIRS: usize = 28;

/// One pair in so many may be on the wrong side of the step: a disturbed measurement.
const PAIRS_PER_MISFIT: usize = 14;

/// CPUs of different packages are said to be as near as those of one up to this quotient.
const AS_NEAR: f64 = 1.15;

/// What `rows` say about a machine that describes itself as `topology`. `None` where no pair of CPUs was measured.
#[must_use]
pub fn infer(topology: &Topology, rows: &[Row]) -> Option<MeasuredTopology> {
    let matrix = Matrix::of(topology, rows);
    if matrix.pairs.is_empty() {
        return None;
    }
    let cores = matrix.cores();
    let domains = matrix.domains(&cores);
    Some(MeasuredTopology {
        groups: groups(&matrix, &cores, &domains),
        contradictions: contradictions(topology, &matrix, &cores, &domains),
    })
}

/// Two CPUs, by their place in [`Matrix::cpus`], and how long a hand-off between them takes.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: usize,
    b: usize,
    ns: f64,
}

/// The measured pairs.
struct Matrix {
    cpus: Vec<u32>,
    pairs: Vec<Pair>,
}

/// The group of each CPU, by its place.
type Partition = Vec<usize>;

impl Matrix {
    fn of(topology: &Topology, rows: &[Row]) -> Self {
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
    fn costs(&self, chosen: impl Fn(&Pair) -> bool) -> Vec<f64> {
        let mut costs: Vec<f64> = self.pairs.iter().filter(|pair| chosen(pair)).map(|pair| pair.ns).collect();
        costs.sort_by(f64::total_cmp);
        costs
    }

    /// Which CPUs answer each other as only hardware threads of one core can; every other CPU is a group of its own.
    fn cores(&self) -> Partition {
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
    fn domains(&self, cores: &Partition) -> Vec<Partition> {
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
    fn list(&self, places: &[usize]) -> String {
        cpu_list::format(&places.iter().map(|place| self.cpus[*place]).collect::<Vec<_>>())
    }
}

impl Pair {
    fn is_within_a_core(&self) -> bool {
        self.ns <= WITHIN_A_CORE_NS
    }
}

/// The two CPUs, the lower one first, and the cost of a row of the matrix.
fn cost_of_pair(row: &Row) -> Option<([u32; 2], f64)> {
    // Other groups are the same pairs under other conditions: a line on another node.
    let of_matrix = row.case.primitive == matrix::PRIMITIVE && PairClass::of_case(&row.case).is_some();
    let measured = matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_)) && row.check != Some(false);
    let Some(Placement::List(cpus)) = &row.case.placement else { return None };
    let ns = row.ns.map(|ns| ns.0).filter(|ns| of_matrix && measured && *ns > 0.0)?;
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
fn members(partition: &Partition) -> Vec<Vec<usize>> {
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
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// The groups of all levels, the nearest first, and last what all CPUs share.
fn groups(matrix: &Matrix, cores: &Partition, domains: &[Partition]) -> Vec<MeasuredGroup> {
    let all: Partition = vec![0; matrix.cpus.len()];
    let alone: Partition = (0..matrix.cpus.len()).collect();
    let words = std::iter::once("core").chain(std::iter::once("cache")).chain(std::iter::repeat("package"));
    let mut levels: Vec<(&str, &Partition)> = words.zip(std::iter::once(cores).chain(domains)).collect();
    levels.push(("machine", &all));
    let mut groups = Vec::new();
    let mut nearer = &alone;
    for (shares, partition) in levels {
        for places in members(partition).iter().filter(|places| places.len() > 1) {
            let inside = |pair: &Pair| places.contains(&pair.a) && places.contains(&pair.b);
            let costs = matrix.costs(|pair| inside(pair) && nearer[pair.a] != nearer[pair.b]);
            if let Some(handoff_ns) = median(&costs) {
                groups.push(MeasuredGroup { shares: shares.to_owned(), cpus: matrix.list(places), handoff_ns });
            }
        }
        nearer = partition;
    }
    groups
}

/// Where measuring and the system disagree.
fn contradictions(topology: &Topology, matrix: &Matrix, cores: &Partition, domains: &[Partition]) -> Vec<String> {
    let system = System::of(topology, matrix);
    let nearest = domains.first();
    let found = [
        system.hidden_siblings(cores),
        system.passing_siblings(cores),
        system.siblings_in_name(cores),
        nearest.and_then(|caches| system.hidden_caches(cores, caches)),
        system.packages_in_name(),
    ];
    found.into_iter().flatten().collect()
}

/// What the system says of the CPUs of a matrix, by their places.
struct System<'a> {
    matrix: &'a Matrix,
    core: Vec<u32>,
    package: Vec<u32>,
    /// The last-level cache and its level.
    cache: Vec<Option<(u32, u32)>>,
    has_smt: bool,
}

impl<'a> System<'a> {
    fn of(topology: &Topology, matrix: &'a Matrix) -> Self {
        let threads: Vec<_> =
            matrix.cpus.iter().filter_map(|cpu| topology.threads.iter().find(|thread| thread.os == *cpu)).collect();
        let level = |number: u32| topology.caches.get(number as usize).map(|cache| (number, cache.level));
        Self {
            matrix,
            core: threads.iter().map(|thread| thread.core).collect(),
            package: threads.iter().map(|thread| thread.package).collect(),
            cache: threads.iter().map(|thread| thread.last_level_cache.and_then(level)).collect(),
            has_smt: topology.has_smt(),
        }
    }

    fn one_core(&self, pair: &Pair) -> bool {
        self.core[pair.a] == self.core[pair.b]
    }

    /// CPUs that answer like hardware threads of one core and are said to be cores.
    fn hidden_siblings(&self, cores: &Partition) -> Option<String> {
        let hidden = |places: &&Vec<usize>| places.iter().any(|place| self.core[*place] != self.core[places[0]]);
        let groups = members(cores);
        let hidden: Vec<&Vec<usize>> = groups.iter().filter(|places| places.len() > 1).filter(hidden).collect();
        let inside =
            |pair: &Pair| hidden.iter().any(|places| places.contains(&pair.a)) && cores[pair.a] == cores[pair.b];
        let theirs = range(&self.matrix.costs(inside))?;
        let others = range(&self.matrix.costs(|pair| cores[pair.a] != cores[pair.b]))?;
        let claim = if self.has_smt { "different cores" } else { "one thread per core" };
        Some(format!(
            "CPUs {} answer each other in {theirs} ns, the others in {others} ns: they seem to be hardware threads of one \
             core, but the system reports {claim}",
            self.name(&hidden),
        ))
    }

    /// CPUs that answered like hardware threads of one core, but make no cores together: one after the other were they
    /// measured, and each was fast at its time.
    fn passing_siblings(&self, cores: &Partition) -> Option<String> {
        let is_passing =
            |pair: &Pair| pair.is_within_a_core() && cores[pair.a] != cores[pair.b] && !self.one_core(pair);
        let theirs = self.matrix.costs(is_passing);
        let others = self.matrix.costs(|pair| !pair.is_within_a_core());
        if median(&others)? < SIBLINGS_FASTER * median(&theirs)? {
            return None;
        }
        let pairs: Vec<Vec<usize>> =
            self.matrix.pairs.iter().filter(|pair| is_passing(pair)).map(|pair| vec![pair.a, pair.b]).collect();
        Some(format!(
            "CPUs {} answered each other in {} ns, as hardware threads of one core do, the others in {} ns; they cannot all \
             share cores, so the host seems to move CPUs between cores, and which are near each other changes",
            self.name(&pairs.iter().collect::<Vec<_>>()),
            range(&theirs)?,
            range(&others)?,
        ))
    }

    /// CPUs that are said to be hardware threads of one core and answer like cores.
    fn siblings_in_name(&self, cores: &Partition) -> Option<String> {
        let others = self.matrix.costs(|pair| !self.one_core(pair) && cores[pair.a] != cores[pair.b]);
        let usual = median(&others)?;
        let claimed: Vec<&Pair> = self.matrix.pairs.iter().filter(|pair| self.one_core(pair)).collect();
        let is_slow = |pair: &&&Pair| !pair.is_within_a_core() && pair.ns * SIBLINGS_FASTER > usual;
        let slow: Vec<&Pair> = claimed.iter().filter(is_slow).copied().collect();
        // Most of them, or it may be a disturbed measurement.
        if slow.is_empty() || 2 * slow.len() <= claimed.len() {
            return None;
        }
        let mut costs: Vec<f64> = slow.iter().map(|pair| pair.ns).collect();
        costs.sort_by(f64::total_cmp);
        let pairs: Vec<Vec<usize>> = slow.iter().map(|pair| vec![pair.a, pair.b]).collect();
        Some(format!(
            "CPUs {} answer each other in {} ns and CPUs of different cores in {} ns: they seem to be different cores, but \
             the system reports them as hardware threads of one core",
            self.name(&pairs.iter().collect::<Vec<_>>()),
            range(&costs)?,
            range(&others)?,
        ))
    }

    /// Groups apart from each other that are said to share a cache.
    fn hidden_caches(&self, cores: &Partition, caches: &Partition) -> Option<String> {
        let matrix = self.matrix;
        let mut said: Vec<(u32, u32)> = self.cache.iter().flatten().copied().collect();
        said.sort_unstable();
        said.dedup();
        said.into_iter().find_map(|(number, level)| {
            let shares = |place: usize| self.cache[place] == Some((number, level));
            let both = |pair: &Pair| shares(pair.a) && shares(pair.b);
            let groups: Vec<Vec<usize>> = members(caches)
                .into_iter()
                .map(|places| places.into_iter().filter(|place| shares(*place)).collect::<Vec<_>>())
                .filter(|places| places.len() > 1)
                .collect();
            let within = matrix.costs(|pair| both(pair) && caches[pair.a] == caches[pair.b] && cores[pair.a] != cores[pair.b]);
            let between = matrix.costs(|pair| both(pair) && caches[pair.a] != caches[pair.b]);
            // Groups of a sample may be apart only because nobody asked.
            if groups.len() < 2 || median(&between)? < LEAST_CONTRAST * median(&within)? {
                return None;
            }
            let names: Vec<String> = groups.iter().map(|places| matrix.list(places)).collect();
            Some(format!(
                "CPUs {} answer each other in {} ns within these groups and in {} ns between them: they seem to have caches \
                 of their own, but the system reports one level {level} cache for all",
                enumerated(&names),
                range(&within)?,
                range(&between)?,
            ))
        })
    }

    /// Packages that are no farther apart than their own cores.
    fn packages_in_name(&self) -> Option<String> {
        const ENOUGH: usize = 3;
        let one = |pair: &Pair| self.package[pair.a] == self.package[pair.b];
        let within = self.matrix.costs(|pair| one(pair) && !self.one_core(pair) && !pair.is_within_a_core());
        let between = self.matrix.costs(|pair| !one(pair));
        let as_near = median(&between)? <= AS_NEAR * median(&within)?;
        if !as_near || within.len() < ENOUGH || between.len() < ENOUGH {
            return None;
        }
        Some(format!(
            "CPUs of different packages answer each other in {} ns, those of one in {} ns: they seem to be in one package, \
             but the system reports several",
            range(&between)?,
            range(&within)?,
        ))
    }

    /// `3 and 11`, `0-1, 2-3`.
    fn name(&self, groups: &[&Vec<usize>]) -> String {
        let two = |places: &Vec<usize>| match places[..] {
            [a, b] => format!("{} and {}", self.matrix.cpus[a], self.matrix.cpus[b]),
            _ => self.matrix.list(places),
        };
        enumerated(&groups.iter().map(|places| two(places)).collect::<Vec<_>>())
    }
}

/// The first few of a list, and how many there are besides.
fn enumerated(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more such groups"),
    }
}

/// What most of ascending values are, `45 to 70`: the slowest and fastest twentieth do not count.
fn range(sorted: &[f64]) -> Option<String> {
    let trimmed = sorted.len() / 20;
    let (low, high) = (*sorted.get(trimmed)?, *sorted.get(sorted.len() - 1 - trimmed)?);
    let text = |ns: f64| if ns < 10.0 { format!("{ns:.1}") } else { format!("{ns:.0}") };
    Some(if text(low) == text(high) { text(low) } else { format!("{} to {}", text(low), text(high)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::regular;
    use syncscope_core::{Case, units::Nanoseconds};

    fn row(a: u32, b: u32, ns: f64) -> Row {
        let case = Case {
            threads: Some(2),
            placement: Some(Placement::List(vec![a, b])),
            group: Some("same_l3".to_owned()),
            ..Case::new(matrix::PRIMITIVE)
        };
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    }

    /// Every pair of CPUs, as `cost` has it, times up to 1 +/- `noise`.
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

    fn told(topology: &Topology, rows: &[Row]) -> (Vec<(String, String)>, Vec<String>) {
        let measured = infer(topology, rows).unwrap();
        let groups = measured.groups.into_iter().map(|group| (group.shares, group.cpus)).collect();
        (groups, measured.contradictions)
    }

    fn list(groups: &[(&str, &str)]) -> Vec<(String, String)> {
        groups.iter().map(|(shares, cpus)| ((*shares).to_owned(), (*cpus).to_owned())).collect()
    }

    /// Seeds of the noise: what holds for one must hold for all.
    const SEEDS: std::ops::Range<u64> = 1..200;

    #[test]
    fn a_guest_that_hides_two_pairs_of_siblings() {
        // As measured: 16 CPUs that claim to be cores, two pairs at 6 ns, the others at 45 to 70 ns without a gap.
        let hidden = |a, b| matches!((a, b), (3, 11) | (4, 12));
        let rows =
            matrix_of(16, 0.0, 1, |a, b| if hidden(a, b) { 6.0 } else { 45.0 + f64::from((a * 7 + b * 3) % 26) });
        let (groups, contradictions) = told(&regular(1, 1, 1, 16, 1), &rows);
        assert_eq!(groups, list(&[("core", "3,11"), ("core", "4,12"), ("machine", "0-15")]));
        assert_eq!(
            contradictions,
            [
                "CPUs 3 and 11; 4 and 12 answer each other in 6.0 ns, the others in 46 to 69 ns: they seem to be hardware \
              threads of one core, but the system reports one thread per core"
            ]
        );
    }

    #[test]
    fn a_host_that_moves_cpus_between_cores() {
        // As measured: 1 is fast with 3, 11 and 14, and 3 with 7, but 1 and 7 are not, nor 3 and 11.
        let fast = |a, b| matches!((a, b), (1, 3 | 11 | 14) | (3, 7));
        let rows = matrix_of(16, 0.0, 1, |a, b| if fast(a, b) { 7.7 } else { 58.0 + f64::from((a * 7 + b * 3) % 20) });
        let (groups, contradictions) = told(&regular(1, 1, 1, 16, 1), &rows);
        assert_eq!(groups, list(&[("machine", "0-15")]));
        assert_eq!(
            contradictions,
            [
                "CPUs 1 and 3; 1 and 11; 1 and 14; 3 and 7 answered each other in 7.7 ns, as hardware threads of one core \
              do, the others in 59 to 77 ns; they cannot all share cores, so the host seems to move CPUs between cores, \
              and which are near each other changes"
            ]
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
            let (groups, contradictions) = told(&regular(1, 1, 1, 16, 1), &matrix_of(16, 0.2, seed, cost));
            assert_eq!(groups.iter().filter(|(shares, _)| shares == "core").count(), 8, "{seed}: {groups:?}");
            assert_eq!(
                groups[8..],
                list(&[("cache", "0-3,8-11"), ("cache", "4-7,12-15"), ("machine", "0-15")]),
                "{seed}"
            );
            assert_eq!(contradictions.len(), 2, "{seed}: {contradictions:?}");
            assert!(contradictions[0].contains("CPUs 0 and 8; 1 and 9;"), "{}", contradictions[0]);
            assert!(contradictions[1].contains("CPUs 0-3,8-11; 4-7,12-15 answer"), "{}", contradictions[1]);
            assert!(contradictions[1].contains("one level 3 cache for all"), "{}", contradictions[1]);
        }
    }

    #[test]
    fn an_honest_machine_contradicts_nothing() {
        // Two packages of two caches of two cores of two threads; siblings are eight apart.
        let cost = |a: u32, b: u32| match (a % 8, b % 8) {
            (x, y) if x == y => 6.0,
            (x, y) if x / 2 == y / 2 => 25.0,
            (x, y) if x / 4 == y / 4 => 100.0,
            _ => 300.0,
        };
        for seed in SEEDS {
            let (groups, contradictions) = told(&regular(2, 1, 2, 2, 2), &matrix_of(16, 0.2, seed, cost));
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
            // One pair across as fast as within, one within slower than any.
            for row in &mut rows {
                match &row.case.placement {
                    Some(Placement::List(cpus)) if *cpus == [2, 13] => row.ns = Some(Nanoseconds(24.0)),
                    Some(Placement::List(cpus)) if *cpus == [9, 10] => row.ns = Some(Nanoseconds(400.0)),
                    _ => {}
                }
            }
            let (groups, contradictions) = told(&regular(1, 1, 1, 16, 1), &rows);
            assert_eq!(groups, list(&[("cache", "0-7"), ("cache", "8-15"), ("machine", "0-15")]), "{seed}");
            assert_eq!(contradictions.len(), 1, "{seed}: {contradictions:?}");
            let honest = told(&regular(1, 1, 2, 8, 1), &rows);
            assert_eq!(honest, (groups, Vec::new()), "{seed}");
        }
    }

    #[test]
    fn a_uniform_machine_is_one_group() {
        for cpus in [3, 4, 5, 6, 8, 16, 32] {
            for seed in SEEDS {
                let (groups, contradictions) =
                    told(&regular(1, 1, 1, cpus, 1), &matrix_of(cpus, 0.2, seed, |_, _| 60.0));
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
            let (groups, contradictions) = told(&regular(1, 1, 1, 8, 1), &rows);
            assert_eq!((groups, contradictions), (list(&[("machine", "0-7")]), Vec::new()), "{seed}");
        }
    }

    #[test]
    fn one_pair_says_how_fast_it_is_and_no_more() {
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
    fn siblings_in_name_only() {
        // A guest that claims two threads per core, on CPUs that are cores all of them.
        let (groups, contradictions) = told(&regular(1, 1, 1, 4, 2), &matrix_of(8, 0.1, 3, |_, _| 50.0));
        assert_eq!(groups, list(&[("machine", "0-7")]));
        assert_eq!(contradictions.len(), 1);
        assert!(contradictions[0].starts_with("CPUs 0 and 4; 1 and 5; 2 and 6; 3 and 7 answer each other in"));
        // One disturbed pair of four proves nothing.
        let mut rows = matrix_of(8, 0.1, 3, |a, b| if b == a + 4 { 6.0 } else { 50.0 });
        rows.iter_mut().filter(|row| row.case.placement == Some(Placement::List(vec![1, 5]))).for_each(|row| {
            row.ns = Some(Nanoseconds(55.0));
        });
        assert_eq!(told(&regular(1, 1, 1, 4, 2), &rows).1, Vec::<String>::new());
    }

    #[test]
    fn packages_in_name_only() {
        let machine = regular(2, 1, 1, 4, 1);
        let (_, contradictions) = told(&machine, &matrix_of(8, 0.1, 3, |_, _| 50.0));
        assert_eq!(contradictions.len(), 1);
        assert!(contradictions[0].ends_with("in one package, but the system reports several"));
        let far = matrix_of(8, 0.1, 3, |a, b| if a / 4 == b / 4 { 50.0 } else { 120.0 });
        assert_eq!(told(&machine, &far).1, Vec::<String>::new());
    }

    #[test]
    fn a_sample_of_a_large_honest_machine_contradicts_nothing() {
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
            let sample = matrix::pairs(&machine, &crate::pairs::classes(&machine), 512);
            let mut noisy = |[a, b]: [u32; 2]| row(a, b, cost(a, b) * (0.9 + 0.2 * random.next()));
            let rows: Vec<Row> = sample.into_iter().map(|(_, pair)| noisy(pair)).collect();
            assert_eq!(told(&machine, &rows).1, Vec::<String>::new(), "{seed}");
        }
    }

    #[test]
    fn only_measured_rows_of_the_matrix_count() {
        let good = row(0, 1, 50.0);
        let elsewhere =
            Row { case: Case { group: Some("line_on_node 1".into()), ..good.case.clone() }, ..good.clone() };
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
