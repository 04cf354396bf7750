//! Where the measured costs contradict the reported topology.

use std::collections::BTreeSet;

use syncscope_core::stats::median;

use super::levels::{LEAST_CONTRAST, Matrix, Pair, Partition, SIBLINGS_FASTER, members};
use crate::topology::Topology;

/// Up to this quotient of costs, CPUs of different packages are as near as CPUs of one package.
const AS_NEAR: f64 = 1.15;

/// A sentence for each contradiction.
pub(super) fn contradictions(
    topology: &Topology,
    matrix: &Matrix,
    cores: &Partition,
    domains: &[Partition],
) -> Vec<String> {
    let reported = Reported::of(topology, matrix);
    let nearest = domains.first();
    let found = [
        reported.hidden_siblings(cores),
        reported.changing_siblings(cores),
        reported.false_siblings(cores),
        nearest.and_then(|caches| reported.hidden_caches(cores, caches)),
        reported.false_packages(),
    ];
    found.into_iter().flatten().collect()
}

/// What the system reports of the CPUs of a matrix, by their indices.
struct Reported<'a> {
    matrix: &'a Matrix,
    core: Vec<u32>,
    package: Vec<u32>,
    /// The last-level cache and its level.
    cache: Vec<Option<(u32, u32)>>,
    has_smt: bool,
}

impl<'a> Reported<'a> {
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

    /// CPUs that hand off like hardware threads of one core but are reported as separate cores.
    fn hidden_siblings(&self, cores: &Partition) -> Option<String> {
        let hidden = |group: &Vec<usize>| group.iter().any(|index| self.core[*index] != self.core[group[0]]);
        let groups = members(cores);
        let hidden: Vec<Vec<usize>> = groups.into_iter().filter(hidden).collect();
        let inside = |pair: &Pair| hidden.iter().any(|group| group.contains(&pair.a)) && cores[pair.a] == cores[pair.b];
        let theirs = range(&self.matrix.costs(inside))?;
        let others = range(&self.matrix.costs(|pair| cores[pair.a] != cores[pair.b]))?;
        let claim = if self.has_smt { "different cores" } else { "one thread per core" };
        Some(format!(
            "CPUs {} hand off in {theirs} ns, the others in {others} ns: they seem to be hardware threads of one core, \
             but the system reports {claim}",
            self.name(&hidden),
        ))
    }

    /// CPUs that handed off like hardware threads of one core, but do not form cores together. The pairs were measured at
    /// different times, and each pair was fast when it was measured.
    fn changing_siblings(&self, cores: &Partition) -> Option<String> {
        let is_changing =
            |pair: &Pair| pair.is_within_a_core() && cores[pair.a] != cores[pair.b] && !self.one_core(pair);
        let theirs = self.matrix.costs(is_changing);
        let others = self.matrix.costs(|pair| !pair.is_within_a_core());
        if median(&others)? < SIBLINGS_FASTER * median(&theirs)? {
            return None;
        }
        Some(format!(
            "CPUs {} handed off in {} ns, as hardware threads of one core do, the others in {} ns; they cannot all \
             share cores, so the host seems to move CPUs between cores, and the distances change",
            self.name(&self.pairs(is_changing)),
            range(&theirs)?,
            range(&others)?,
        ))
    }

    /// CPUs that are reported as hardware threads of one core but hand off like separate cores.
    fn false_siblings(&self, cores: &Partition) -> Option<String> {
        let others = self.matrix.costs(|pair| !self.one_core(pair) && cores[pair.a] != cores[pair.b]);
        let usual = median(&others)?;
        let is_slow =
            |pair: &Pair| self.one_core(pair) && !pair.is_within_a_core() && pair.ns * SIBLINGS_FASTER > usual;
        let (claimed, slow) = (self.matrix.costs(|pair| self.one_core(pair)), self.matrix.costs(is_slow));
        // Most pairs have to be slow; one slow pair may be a disturbed measurement.
        if slow.is_empty() || 2 * slow.len() <= claimed.len() {
            return None;
        }
        Some(format!(
            "CPUs {} hand off in {} ns and CPUs of different cores in {} ns: they seem to be different cores, but the \
             system reports them as hardware threads of one core",
            self.name(&self.pairs(is_slow)),
            range(&slow)?,
            range(&others)?,
        ))
    }

    /// Separate groups that are reported to share a cache.
    fn hidden_caches(&self, cores: &Partition, caches: &Partition) -> Option<String> {
        let matrix = self.matrix;
        let reported: BTreeSet<(u32, u32)> = self.cache.iter().flatten().copied().collect();
        reported.into_iter().find_map(|(number, level)| {
            let shares = |index: usize| self.cache[index] == Some((number, level));
            let both = |pair: &Pair| shares(pair.a) && shares(pair.b);
            let groups: Vec<Vec<usize>> = members(caches)
                .into_iter()
                .map(|group| group.into_iter().filter(|index| shares(*index)).collect::<Vec<_>>())
                .filter(|group| group.len() > 1)
                .collect();
            let within =
                matrix.costs(|pair| both(pair) && caches[pair.a] == caches[pair.b] && cores[pair.a] != cores[pair.b]);
            let between = matrix.costs(|pair| both(pair) && caches[pair.a] != caches[pair.b]);
            // In a sample, groups may be separate only because no pair between them was measured.
            if groups.len() < 2 || median(&between)? < LEAST_CONTRAST * median(&within)? {
                return None;
            }
            let names: Vec<String> = groups.iter().map(|group| matrix.list(group)).collect();
            Some(format!(
                "CPUs {} hand off in {} ns within these groups and in {} ns between them: they seem to have caches of \
                 their own, but the system reports one level {level} cache for all",
                enumerated(&names),
                range(&within)?,
                range(&between)?,
            ))
        })
    }

    /// Packages that are no farther apart than their own cores.
    fn false_packages(&self) -> Option<String> {
        const ENOUGH: usize = 3;
        let one = |pair: &Pair| self.package[pair.a] == self.package[pair.b];
        let within = self.matrix.costs(|pair| one(pair) && !self.one_core(pair) && !pair.is_within_a_core());
        let between = self.matrix.costs(|pair| !one(pair));
        let as_near = median(&between)? <= AS_NEAR * median(&within)?;
        if !as_near || within.len() < ENOUGH || between.len() < ENOUGH {
            return None;
        }
        Some(format!(
            "CPUs of different packages hand off in {} ns, those of one in {} ns: they seem to be in one package, but \
             the system reports several",
            range(&between)?,
            range(&within)?,
        ))
    }

    /// The pairs that `chosen` selects, as groups.
    fn pairs(&self, chosen: impl Fn(&Pair) -> bool) -> Vec<Vec<usize>> {
        self.matrix.pairs.iter().filter(|pair| chosen(pair)).map(|pair| vec![pair.a, pair.b]).collect()
    }

    /// `3 and 11`, `0-1, 2-3`.
    fn name(&self, groups: &[Vec<usize>]) -> String {
        let name = |group: &Vec<usize>| match group[..] {
            [a, b] => format!("{} and {}", self.matrix.cpus[a], self.matrix.cpus[b]),
            _ => self.matrix.list(group),
        };
        enumerated(&groups.iter().map(name).collect::<Vec<_>>())
    }
}

/// The first few of a list, and how many more there are.
fn enumerated(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more such groups"),
    }
}

/// The range of ascending values, `45 to 70`, without the lowest and the highest twentieth.
fn range(sorted: &[f64]) -> Option<String> {
    let trimmed = sorted.len() / 20;
    let (low, high) = (*sorted.get(trimmed)?, *sorted.get(sorted.len() - 1 - trimmed)?);
    let text = |ns: f64| if ns < 10.0 { format!("{ns:.1}") } else { format!("{ns:.0}") };
    Some(if text(low) == text(high) { text(low) } else { format!("{} to {}", text(low), text(high)) })
}
