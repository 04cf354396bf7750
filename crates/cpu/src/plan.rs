//! The axes of the sweeps, by preset and machine.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Dtype, Placement, Preset, Primitive};

use crate::machine::placement::where_spread_differs;
use crate::machine::topology::Topology;
use crate::studies::core_to_core::{self, ClassedPair};
use crate::studies::cpu_pairs;
use crate::studies::numa::Homes;

/// The values that primitives vary. Each takes the axes that mean something to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axes {
    /// Threads of a team, for each placement.
    pub(crate) threads: Vec<(Placement, Vec<u32>)>,
    /// Variants of atomic addition, which stands for its relatives where there is little time.
    pub(crate) addition: Grid,
    /// Variants of the other atomic operations.
    pub(crate) relatives: Grid,
    /// Variants of the fence between two updates.
    pub(crate) flush: Grid,
    /// Types of the counter that a lock protects.
    pub(crate) lock_dtypes: Vec<Dtype>,
    /// Whether two threads are measured on each class of pairs.
    pub(crate) vary_pairs: bool,
    /// A pair of CPUs for each class that the machine has.
    pub(crate) pairs: Vec<ClassedPair>,
    /// The pairs of the core-to-core matrix.
    pub(crate) matrix: Vec<ClassedPair>,
    /// Those of the matrix by plain stores.
    pub(crate) matrix_by_stores: Vec<ClassedPair>,
    /// The NUMA nodes that a line is placed on in turn.
    pub(crate) homes: Homes,
}

/// The variants of an operation on variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Grid {
    /// Types of a shared variable.
    pub(crate) dtypes: Vec<Dtype>,
    /// Types of private elements.
    pub(crate) private_dtypes: Vec<Dtype>,
    /// Distances of private elements, in elements.
    strides: Vec<u32>,
    /// More distances of private elements, in bytes.
    distances: Vec<u32>,
}

impl Grid {
    /// The distances of private elements of a type, in elements.
    pub(crate) fn strides_of(&self, dtype: Dtype) -> Vec<u32> {
        let in_elements = |bytes: &u32| (bytes / dtype.size_bytes() as u32).max(1);
        let mut strides: Vec<u32> =
            self.strides.iter().copied().chain(self.distances.iter().map(in_elements)).collect();
        strides.sort_unstable();
        strides.dedup();
        strides
    }

    /// Without private elements.
    pub(crate) fn shared(&self) -> Self {
        Self { dtypes: self.dtypes.clone(), ..Self::default() }
    }

    /// Without shared variables.
    fn private(self) -> Self {
        Self { dtypes: Vec::new(), ..self }
    }

    fn of(dtypes: &[Dtype], private_dtypes: &[Dtype], strides: &[u32]) -> Self {
        Self {
            dtypes: dtypes.to_vec(),
            private_dtypes: private_dtypes.to_vec(),
            strides: strides.to_vec(),
            distances: Vec::new(),
        }
    }
}

/// The variants of addition, of its relatives, and of the fence between two updates.
fn grids(preset: Preset, topology: &Topology) -> (Grid, Grid, Grid) {
    const ALL: [u32; 6] = [1, 2, 4, 8, 16, 64];
    let (narrow_and_wide, one) = ([Dtype::I32, Dtype::F64], [Dtype::I32]);
    match preset {
        Preset::Quick => {
            (Grid::of(&DTYPES, &narrow_and_wide, &[1, 8, 16]), Grid::of(&one, &[], &[]), Grid::of(&[], &one, &[1, 16]))
        }
        Preset::Standard => (
            Grid::of(&DTYPES, &DTYPES, &ALL),
            Grid::of(&DTYPES, &narrow_and_wide, &[1, 16]),
            Grid::of(&DTYPES, &narrow_and_wide, &[1, 8, 16]).private(),
        ),
        Preset::Paper => {
            // The papers' strides, and those that put eight, four and one element on a line of this machine.
            let distances = line_bytes(topology).map_or(Vec::new(), |line| vec![line / 8, line / 4, line]);
            let all = Grid { distances, ..Grid::of(&DTYPES, &DTYPES, &ALL) };
            (all.clone(), all.clone(), all.private())
        }
    }
}

/// The longest cache line of the machine, which is what false sharing is about; `None` where no cache tells.
fn line_bytes(topology: &Topology) -> Option<u32> {
    topology.caches.iter().filter_map(|cache| cache.line_bytes).max()
}

/// The types that processors treat differently: two widths, integer and floating point.
const DTYPES: [Dtype; 4] = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

/// Up to here every number of threads is measured; beyond, eight between one power of two and the next.
const DENSE: u32 = 16;

impl Axes {
    /// The axes of `preset` on a machine.
    #[must_use]
    pub fn of(preset: Preset, topology: &Topology) -> Self {
        let cpus = topology.allowed().count().max(1) as u32;
        let counts = match preset {
            Preset::Quick => powers_of_two(cpus),
            Preset::Standard => thinned(cpus),
            // The papers go some threads beyond the CPUs.
            Preset::Paper => thinned(cpus).into_iter().chain(cpus + 1..=cpus + 4).collect(),
        };
        let mut threads = vec![(Placement::Close, counts.clone())];
        if preset != Preset::Quick {
            threads.push((Placement::Spread, where_spread_differs(topology, &counts)));
        }
        let (addition, relatives, flush) = grids(preset, topology);
        let pairs = cpu_pairs::classes(topology);
        let matrix = core_to_core::pairs(topology, &pairs, most_pairs(preset));
        let lock_dtypes = if preset == Preset::Quick { vec![Dtype::U64] } else { DTYPES.to_vec() };
        Self {
            threads,
            addition,
            relatives,
            flush,
            lock_dtypes,
            vary_pairs: preset != Preset::Quick,
            homes: Homes::of(topology, &pairs),
            pairs,
            matrix_by_stores: if preset == Preset::Paper { matrix.clone() } else { Vec::new() },
            matrix,
        }
    }

    /// A sweep of `primitive` over placements and threads for each placement.
    pub(crate) fn sweep(&self, primitive: &Primitive) -> Vec<Sweep> {
        let one = |(placement, threads): &(Placement, Vec<u32>)| {
            Sweep::of(primitive.id).placements(std::slice::from_ref(placement)).threads(threads)
        };
        self.threads.iter().map(one).collect()
    }
}

/// How many pairs the core-to-core matrix has at most: a few seconds' worth in the quick preset (all pairs of 9 CPUs), half a
/// minute's beyond (all pairs of 32 CPUs).
const fn most_pairs(preset: Preset) -> usize {
    match preset {
        Preset::Quick => 36,
        Preset::Standard | Preset::Paper => 512,
    }
}

/// 1, 2, 4, ... and `most`.
fn powers_of_two(most: u32) -> Vec<u32> {
    let mut counts: Vec<u32> =
        std::iter::successors(Some(1_u32), |count| count.checked_mul(2)).take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

/// Every number up to [`DENSE`], then eight steps for each doubling, and `most`.
fn thinned(most: u32) -> Vec<u32> {
    let next = |count: &u32| Some(if *count < DENSE { count + 1 } else { count + (1 << count.ilog2()) / 8 });
    let mut counts: Vec<u32> = std::iter::successors(Some(1), next).take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::regular;

    fn cases(preset: Preset, topology: &Topology) -> usize {
        let axes = Axes::of(preset, topology);
        crate::primitives::entries().map(|entry| (entry.cases)(&entry.primitive, &axes).len()).sum()
    }

    #[test]
    fn numbers_of_threads() {
        assert_eq!(powers_of_two(1), [1]);
        assert_eq!(powers_of_two(8), [1, 2, 4, 8]);
        assert_eq!(powers_of_two(12), [1, 2, 4, 8, 12]);
        assert_eq!(thinned(3), [1, 2, 3]);
        assert_eq!(thinned(27)[15..], [16, 18, 20, 22, 24, 26, 27]);
        assert!(thinned(1024).len() < 70);
    }

    #[test]
    fn spread_is_measured_where_it_differs() {
        let flat = regular(1, 1, 1, 4, 1);
        let smt = regular(1, 1, 1, 4, 2);
        let spread = |topology| Axes::of(Preset::Standard, topology).threads[1].1.clone();
        assert!(spread(&flat).is_empty());
        assert_eq!(spread(&smt), [2, 3, 4, 5, 6], "one thread stands on the first core, seven fill all but one place");
    }

    #[test]
    fn strides_follow_the_line() {
        let strides = |line_bytes| {
            let mut topology = regular(1, 1, 1, 2, 1);
            topology.caches.iter_mut().for_each(|cache| cache.line_bytes = line_bytes);
            let grid = Axes::of(Preset::Paper, &topology).addition;
            (grid.strides_of(Dtype::I32), grid.strides_of(Dtype::F64))
        };
        let papers = vec![1, 2, 4, 8, 16, 64];
        assert_eq!(strides(None), (papers.clone(), papers.clone()));
        assert_eq!(strides(Some(64)), (papers.clone(), papers.clone()));
        assert_eq!(strides(Some(128)), (vec![1, 2, 4, 8, 16, 32, 64], papers));
        let shared = Grid::of(&DTYPES, &DTYPES, &[1]).shared();
        assert!(shared.private_dtypes.is_empty() && shared.dtypes == DTYPES);
    }

    #[test]
    fn plans_are_affordable() {
        let small = regular(1, 1, 1, 2, 1);
        let large = regular(2, 1, 1, 4, 2);
        assert!(cases(Preset::Quick, &small) < 90, "{}", cases(Preset::Quick, &small));
        assert!(cases(Preset::Quick, &large) <= 350, "{}", cases(Preset::Quick, &large));
        assert!(cases(Preset::Standard, &large) > cases(Preset::Quick, &large));
        assert_eq!(Axes::of(Preset::Paper, &small).threads[0].1, [1, 2, 3, 4, 5, 6]);
    }

    /// Machines of every kind: packages, NUMA nodes, caches, cores, hardware threads, and whether some CPUs are forbidden.
    fn machines() -> Vec<Topology> {
        vec![
            regular(1, 1, 1, 1, 1),
            regular(1, 1, 1, 1, 2),
            regular(2, 4, 2, 8, 2),
            regular(1, 1, 4, 4, 1),
            regular(2, 1, 1, 75, 2),
            regular(2, 4, 2, 8, 2).restricted(|cpu| cpu % 3 != 1),
            regular(8, 1, 1, 4, 4),
        ]
    }

    #[test]
    fn everything_planned_can_be_placed() {
        for topology in machines() {
            for preset in Preset::ALL {
                let axes = Axes::of(*preset, &topology);
                for entry in crate::primitives::entries() {
                    for case in (entry.cases)(&entry.primitive, &axes) {
                        let (Some(placement), Some(threads)) = (&case.placement, case.threads) else { continue };
                        let placed = crate::machine::placement::place(&topology, placement, threads).unwrap();
                        assert_eq!(placed.cpus.len(), threads as usize, "{case}");
                        if let Placement::List(cpus) = placement {
                            assert_eq!(cpus.len(), threads as usize, "{case}");
                            assert!(!placed.oversubscribed(), "{case}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn no_case_is_planned_twice() {
        for topology in machines() {
            for preset in Preset::ALL {
                let axes = Axes::of(*preset, &topology);
                let cases: Vec<_> =
                    crate::primitives::entries().flat_map(|entry| (entry.cases)(&entry.primitive, &axes)).collect();
                let ids: std::collections::HashSet<_> = cases.iter().map(syncscope_core::Case::id).collect();
                assert_eq!(ids.len(), cases.len());
            }
        }
    }

    #[test]
    fn every_class_is_measured_with_and_without_contention() {
        let axes = Axes::of(Preset::Standard, &regular(2, 4, 2, 2, 2));
        let add = crate::primitives::find("cpu.atomic.add").unwrap();
        let cases = (add.cases)(&add.primitive, &axes);
        for (class, pair) in &axes.pairs {
            let of_class = cases.iter().filter(|case| case.group.as_deref() == Some(class.as_str()));
            let (shared, private): (Vec<_>, Vec<_>) =
                of_class.partition(|case| case.layout == Some(syncscope_core::Layout::Shared));
            assert!(!shared.is_empty() && !private.is_empty(), "{class:?}");
            assert!(shared.iter().chain(&private).all(|case| case.placement == Some(Placement::List(pair.to_vec()))));
            let apart = |case: &&syncscope_core::Case| {
                case.layout.and_then(syncscope_core::Layout::stride).unwrap() as usize
                    * case.dtype.unwrap().size_bytes()
                    >= 128
            };
            assert!(private.iter().all(apart), "lines of their own");
        }
    }

    #[test]
    fn a_thousand_cpus_are_planned_at_once_and_within_bounds() {
        let machine = regular(2, 4, 4, 16, 2);
        assert_eq!(machine.threads.len(), 1024);
        let started = std::time::Instant::now();
        let counts = Preset::ALL.iter().map(|preset| cases(*preset, &machine)).collect::<Vec<_>>();
        // Generous: the work is a few tens of milliseconds, a plan that is cubic in the CPUs takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
        let matrix = Axes::of(Preset::Paper, &machine).matrix.len();
        assert_eq!((matrix, Axes::of(Preset::Quick, &machine).matrix.len()), (512, 36));
        assert!(counts[0] < 600 && counts[1] < 20_000 && counts[2] < 40_000, "{counts:?}");
    }
}
