//! Where measuring and the system disagree.

use super::levels::{LEAST_CONTRAST, Matrix, Pair, Partition, SIBLINGS_FASTER, median, members};
use crate::machine::topology::Topology;

/// CPUs of different packages are said to be as near as those of one up to this quotient.
const AS_NEAR: f64 = 1.15;

/// Where measuring and the system disagree.
pub(super) fn contradictions(
    topology: &Topology,
    matrix: &Matrix,
    cores: &Partition,
    domains: &[Partition],
) -> Vec<String> {
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
