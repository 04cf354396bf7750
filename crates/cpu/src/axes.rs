//! The axes of the sweeps, by preset and machine.

use std::collections::{BTreeSet, HashMap, HashSet};

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Mode, Placement, Preset, Primitive};

use crate::primitives::Access;
use syncscope_machine::nearness::CpuGroups;
use syncscope_machine::placement::where_it_differs;
use syncscope_machine::topology::{HardwareThread, Topology};

/// The values that primitives vary. Each primitive uses the axes that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axes {
    /// Architecture of the machine, such as `x86_64`.
    pub(crate) architecture: String,
    /// The default placement of teams: one thread on each core. Where cores have one hardware thread, it is named `close`, which
    /// is the same.
    pub(crate) usual: Placement,
    /// Threads of a team, for each placement.
    pub(crate) threads: Vec<(Placement, Vec<u32>)>,
    /// Variants of atomic addition. In the quick preset, addition stands for the other atomic operations.
    pub(crate) addition: AtomicAxes,
    /// Variants of the other atomic operations.
    pub(crate) other_atomics: AtomicAxes,
    /// Variants of the fence between two updates.
    pub(crate) flush: AtomicAxes,
    /// Types of the counter that a lock protects.
    pub(crate) lock_dtypes: Vec<Dtype>,
    /// Types of the variable in chains of operations that depend on each other.
    pub(crate) chain_dtypes: Vec<Dtype>,
    /// Whether the CPUs form groups that have a memory or a cache in common.
    pub(crate) has_cpu_groups: bool,
    /// CPUs that this process may use.
    pub(crate) cpus: u32,
    /// Cores that this process may use.
    pub(crate) cores: u32,
    /// Lengths of the vectors that are reduced, in elements. Beyond 2^24, only memory counts.
    pub(crate) vectors: Vec<u64>,
    /// Numbers of processes.
    pub(crate) processes: Vec<u32>,
    /// How long a thread waits before its reaction is timed, in microseconds.
    pub(crate) waits_us: Vec<u32>,
    /// How long threads sleep before they are woken, in microseconds: the longer a CPU idles, the slower it wakes, in steps.
    pub(crate) sleeps_us: Vec<u32>,
    /// Numbers of threads that execute chains of dependent operations.
    chain_threads: Vec<u32>,
}

/// The variants of an operation on variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AtomicAxes {
    /// Types of a shared variable.
    pub(crate) dtypes: Vec<Dtype>,
    /// Types of private elements.
    pub(crate) private_dtypes: Vec<Dtype>,
    /// Distances of private elements, in elements.
    strides: Vec<u32>,
    /// More distances of private elements, in bytes.
    distances: Vec<u32>,
}

impl AtomicAxes {
    /// The distances of private elements of a type, in elements.
    pub(crate) fn strides_of(&self, dtype: Dtype) -> Vec<u32> {
        let in_elements = |bytes: &u32| (bytes / dtype.size_bytes() as u32).max(1);
        distinct(self.strides.iter().copied().chain(self.distances.iter().map(in_elements)))
    }

    /// Without private elements.
    pub(crate) fn shared(&self) -> Self {
        Self { dtypes: self.dtypes.clone(), ..Self::default() }
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

/// The variants of addition, of the other atomic operations, and of the fence between two updates.
fn atomic_axes(preset: Preset, topology: &Topology) -> (AtomicAxes, AtomicAxes, AtomicAxes) {
    const ALL: [u32; 6] = [1, 2, 4, 8, 16, 64];
    let (narrow_and_wide, one) = ([Dtype::I32, Dtype::F64], [Dtype::I32]);
    match preset {
        Preset::Quick => (
            AtomicAxes::of(&DTYPES, &narrow_and_wide, &[1, 8, 16]),
            AtomicAxes::of(&one, &[], &[]),
            AtomicAxes::of(&[], &one, &[1, 16]),
        ),
        Preset::Standard => (
            AtomicAxes::of(&DTYPES, &DTYPES, &ALL),
            AtomicAxes::of(&DTYPES, &narrow_and_wide, &[1, 16]),
            AtomicAxes::of(&[], &narrow_and_wide, &[1, 8, 16]),
        ),
        Preset::Paper => {
            // The papers' strides, and those that put eight, four and one element on a line of this machine.
            let distances = line_bytes(topology).map_or(Vec::new(), |line| vec![line / 8, line / 4, line]);
            let all = AtomicAxes { distances, ..AtomicAxes::of(&DTYPES, &DTYPES, &ALL) };
            (all.clone(), all.clone(), AtomicAxes { dtypes: Vec::new(), ..all })
        }
    }
}

/// The longest cache line of the machine, on which false sharing depends; `None` where no cache reports one.
fn line_bytes(topology: &Topology) -> Option<u32> {
    topology.caches.iter().filter_map(|cache| cache.line_bytes).max()
}

/// The types that processors treat differently: two widths, integer and floating point.
const DTYPES: [Dtype; 4] = [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64];

/// The most processes of a case: each takes some milliseconds to start, and kernel memory of its own.
pub(crate) const MOST_PROCESSES: u32 = 16;

/// How many threads beyond the CPUs the paper preset measures, as the papers do.
pub(crate) const MORE_THAN_CPUS: u32 = 4;

/// How long threads sleep: less than a CPU takes to idle deeply, about as long as virtual CPUs look for work before they halt,
/// and long.
pub(crate) const SLEEPS_US: [u32; 3] = [20, 200, 2000];

impl Axes {
    /// The axes of `preset` on a machine.
    pub(crate) fn of(preset: Preset, topology: &Topology) -> Self {
        let cpus = topology.allowed().count().max(1) as u32;
        let (usual, threads) = teams(preset, topology);
        let (addition, other_atomics, flush) = atomic_axes(preset, topology);
        let has_cpu_groups = CpuGroups::of(topology).is_some();
        let lock_dtypes = if preset == Preset::Quick { vec![Dtype::U64] } else { DTYPES.to_vec() };
        let (chain_dtypes, chain_threads) = match preset {
            Preset::Quick => (vec![Dtype::I32], vec![1]),
            Preset::Standard | Preset::Paper => (vec![Dtype::I32, Dtype::U64], powers_of_two(cpus)),
        };
        let powers: &[u32] = match preset {
            Preset::Quick => &[],
            Preset::Standard => &[10, 18],
            Preset::Paper => &[10, 12, 14, 16, 18, 20, 22, 24],
        };
        let processes = powers_of_two(cpus.clamp(2, MOST_PROCESSES)).into_iter().filter(|count| *count > 1).collect();
        Self {
            architecture: topology.architecture.clone(),
            usual,
            threads,
            addition,
            other_atomics,
            flush,
            lock_dtypes,
            chain_dtypes,
            has_cpu_groups,
            cpus,
            cores: cores(topology),
            vectors: powers.iter().map(|power| 1 << power).collect(),
            processes,
            waits_us: if preset == Preset::Quick { vec![5] } else { vec![1, 5, 20, 50, 200] },
            sleeps_us: if preset == Preset::Quick { SLEEPS_US[..2].to_vec() } else { SLEEPS_US.to_vec() },
            chain_threads,
        }
    }

    /// The orderings that compile to different instructions on the machine.
    pub(crate) fn orders(&self, access: Access) -> &'static [MemoryOrder] {
        access.orders(&self.architecture)
    }

    /// The cases of a chain on one shared variable: each operation depends on the one before.
    pub(crate) fn chains(&self, primitive: &Primitive, dtypes: &[Dtype], orders: &[MemoryOrder]) -> Vec<Case> {
        let sweep = self.in_usual_places(primitive, &self.chain_threads).dtypes(dtypes).layouts(&[Layout::Shared]);
        sweep.orders(orders).modes(&[Mode::Latency]).cases()
    }

    /// A sweep of `primitive` in the usual placement, over these numbers of threads.
    pub(crate) fn in_usual_places(&self, primitive: &Primitive, threads: &[u32]) -> Sweep {
        Sweep::of(primitive.id).placements(std::slice::from_ref(&self.usual)).threads(threads)
    }

    /// A sweep of `primitive` over placements and threads for each placement.
    pub(crate) fn sweep(&self, primitive: &Primitive) -> Vec<Sweep> {
        let one = |(placement, threads): &(Placement, Vec<u32>)| {
            Sweep::of(primitive.id).placements(std::slice::from_ref(placement)).threads(threads)
        };
        self.threads.iter().map(one).collect()
    }

    /// The cases of an operation on variables: every type and layout of `variants`, for all placements and numbers of
    /// threads.
    pub(crate) fn cases_on_variables(
        &self,
        primitive: &Primitive,
        variants: &AtomicAxes,
        orders: &[MemoryOrder],
    ) -> Vec<Case> {
        let sweeps = self.sweep(primitive);
        let mut cases = Vec::new();
        for sweep in &sweeps {
            cases.extend(sweep.clone().dtypes(&variants.dtypes).layouts(&[Layout::Shared]).orders(orders).cases());
        }
        for (sweep, (placement, _)) in sweeps.iter().zip(&self.threads) {
            // The paper that lets the system place its threads has OpenMP's operations, which are relaxed.
            let orders = if *placement == Placement::None { &orders[..1] } else { orders };
            for dtype in &variants.private_dtypes {
                let strides = variants.strides_of(*dtype).into_iter().map(|stride| Layout::Private { stride });
                let layouts: Vec<Layout> = strides.collect();
                cases.extend(sweep.clone().dtypes(&[*dtype]).layouts(&layouts).orders(orders).cases());
            }
        }
        // A single thread has no other elements to be apart from.
        cases.retain(|case| {
            case.threads != Some(1) || case.layout.and_then(Layout::stride).is_none_or(|stride| stride == 1)
        });
        cases
    }
}

/// Every number of threads up to this one is measured. Beyond it there are eight steps for each doubling.
const DENSE: u32 = 16;

/// On machines with more CPUs than this, the standard preset plans by class.
const LARGE: u32 = 64;

/// The usual placement, and the numbers of threads of each placement. Each set of CPUs has one name.
fn teams(preset: Preset, topology: &Topology) -> (Placement, Vec<(Placement, Vec<u32>)>) {
    use Placement::{Close, Cores, Spread};
    let cpus = topology.allowed().count().max(1) as u32;
    let has_siblings = cores(topology) < cpus;
    let (usual, others) = if has_siblings { (Cores, vec![Close, Cores]) } else { (Close, vec![Close]) };
    let counts = team_sizes(preset, topology);
    let mut threads = vec![(usual.clone(), counts.clone())];
    if has_siblings {
        // Both hardware threads of one core, and those of a cache, a node and a socket: what siblings cost where all else is equal.
        threads.push((Close, where_it_differs(topology, &Close, &[Cores], &siblings(preset, topology))));
    }
    let sparse = if preset == Preset::Standard && cpus > LARGE { powers_of_two(cpus) } else { counts };
    let mut spread = where_it_differs(topology, &Spread, &others, &sparse);
    if preset == Preset::Quick {
        // As many threads over all sockets as one socket has cores; on machines with one socket, over all nodes or caches.
        let cores = cores(topology);
        let part = PARTS[1..].iter().rev().map(|part| largest(topology, part, |thread| thread.core));
        let most = part.into_iter().find(|own| *own < cores).unwrap_or(cores);
        spread.retain(|count| *count <= most);
        spread.drain(..spread.len().saturating_sub(1));
    }
    threads.push((Spread, spread));
    if preset == Preset::Paper {
        // The paper on CUDA and OpenMP has runs whose threads the system places.
        let unbound = sorted(powers_of_two(cpus).into_iter().chain([cores(topology)]), cpus);
        threads.push((Placement::None, unbound.into_iter().filter(|count| *count > 1).collect()));
    }
    (usual, threads)
}

/// The numbers of threads in the usual placement that `preset` measures. They include one for each core, and for each core of
/// a NUMA node and of a socket.
pub(crate) fn team_sizes(preset: Preset, topology: &Topology) -> Vec<u32> {
    let cpus = topology.allowed().count().max(1) as u32;
    let cores = cores(topology);
    let filled = PARTS.map(|part| largest(topology, part, |thread| thread.core));
    let counts = match preset {
        // Teams between all cores and all hardware threads would say little more.
        Preset::Quick => powers_of_two(cores).into_iter().chain([cpus]).chain(filled[2..].iter().copied()).collect(),
        Preset::Standard if cpus > LARGE => by_class(topology, cpus),
        Preset::Standard => thinned(cpus),
        Preset::Paper => thinned(cpus).into_iter().chain(cpus + 1..=cpus + MORE_THAN_CPUS).collect(),
    };
    sorted(
        counts.into_iter().chain(filled).chain([cores]),
        if preset == Preset::Paper { cpus + MORE_THAN_CPUS } else { cpus },
    )
}

/// The numbers of threads that fill the hardware threads of a core and a socket, beyond the quick preset also of a cache and a
/// node, and powers of two.
fn siblings(preset: Preset, topology: &Topology) -> Vec<u32> {
    let cpus = topology.allowed().count().max(1) as u32;
    let [core, cache, node, socket] = PARTS.map(|part| largest(topology, part, |thread| thread.os));
    let more = match preset {
        Preset::Quick => Vec::new(),
        Preset::Standard => vec![4, 8, cache, node],
        Preset::Paper => powers_of_two(cpus).into_iter().chain([cache, node]).collect(),
    };
    sorted(more.into_iter().chain([core, socket]), cpus)
}

fn sorted(counts: impl Iterator<Item = u32>, most: u32) -> Vec<u32> {
    distinct(counts.filter(|count| (1..=most).contains(count)))
}

/// Sorts numbers and removes duplicates.
fn distinct(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    Vec::from_iter(numbers.collect::<BTreeSet<_>>())
}

/// The cores that this process may use.
fn cores(topology: &Topology) -> u32 {
    largest(topology, |_| Some(0), |thread| thread.core).max(1)
}

/// 1, 2, 4, ... and `most`.
pub(crate) fn powers_of_two(most: u32) -> Vec<u32> {
    steps(most, |count| count.saturating_mul(2))
}

/// 1, what follows it, ... and `most`.
fn steps(most: u32, next: impl Fn(u32) -> u32) -> Vec<u32> {
    let counts = std::iter::successors(Some(1), |count| Some(next(*count)));
    counts.take_while(|count| *count < most).chain([most]).collect()
}

/// Every number up to [`DENSE`], then eight steps for each doubling, and `most`.
fn thinned(most: u32) -> Vec<u32> {
    steps(most, |count| if count < DENSE { count + 1 } else { count + (1 << count.ilog2()) / 8 })
}

/// Every number up to 8, two steps for each doubling, and the teams that fill a part of the machine: a core, a last-level
/// cache, a NUMA node, one, two, four, ... packages. Between them a cost follows the curve of its class.
fn by_class(topology: &Topology, most: u32) -> Vec<u32> {
    let steps = powers_of_two(most).into_iter().flat_map(|power| [power, power + power / 2]);
    let filled = PARTS.map(|part| largest(topology, part, |thread| thread.os));
    let packages = powers_of_two(topology.packages().max(1)).into_iter().map(|packages| packages * filled[3]);
    sorted((1..=8).chain(steps).chain(filled).chain(packages), most)
}

/// The parts of a machine, the smallest first: core, last-level cache, NUMA node, package.
const PARTS: [fn(&HardwareThread) -> Option<u32>; 4] = [
    |thread| Some(thread.core),
    |thread| thread.last_level_cache,
    |thread| thread.numa_node,
    |thread| Some(thread.package),
];

/// The numbers of threads that fill a core, a cache, a node, one, two, four ... sockets or the machine, with one thread on each core
/// and on each hardware thread; and the cores of a socket and of the machine.
pub(crate) fn filling(topology: &Topology) -> (Vec<u32>, [u32; 2]) {
    let parts = |unit| PARTS.map(|part| largest(topology, part, unit));
    let (cores_of, threads_of) = (parts(|thread| thread.core), parts(|thread| thread.os));
    let all = [cores(topology), topology.allowed().count() as u32];
    let sockets = powers_of_two(topology.packages().max(1)).into_iter();
    let of_sockets = sockets.flat_map(|sockets| [sockets * cores_of[3], sockets * threads_of[3]]);
    (sorted(cores_of.into_iter().chain(threads_of).chain(of_sockets).chain(all), u32::MAX), [cores_of[3], all[0]])
}

/// The CPUs or cores of the largest part of a kind; 0 where there is none.
fn largest(
    topology: &Topology,
    part: impl Fn(&HardwareThread) -> Option<u32>,
    unit: fn(&HardwareThread) -> u32,
) -> u32 {
    let mut members: HashMap<u32, HashSet<u32>> = HashMap::new();
    for thread in topology.allowed() {
        part(thread).map(|number| members.entry(number).or_default().insert(unit(thread)));
    }
    members.into_values().map(|members| members.len() as u32).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_machine::topology::regular;

    #[test]
    fn each_set_of_cpus_is_measured_in_one_placement() {
        let of = |preset, topology: &Topology| Axes::of(preset, topology).threads;
        for flat in [regular(1, 1, 1, 4, 1), regular(1, 1, 1, 4, 2).restricted(|cpu| cpu < 4)] {
            assert_eq!(of(Preset::Quick, &flat), [(Placement::Close, vec![1, 2, 4]), (Placement::Spread, vec![])]);
        }
        // Two sockets of ten cores with two hardware threads.
        let system1 = regular(2, 1, 1, 10, 2);
        let expected = [
            (Placement::Cores, vec![1, 2, 4, 8, 10, 16, 20, 40]),
            (Placement::Close, vec![2, 20]),
            (Placement::Spread, vec![10]),
        ];
        assert_eq!(of(Preset::Quick, &system1), expected, "as many threads in both sockets as one has cores");
        let paper = of(Preset::Paper, &system1);
        assert!([10, 20, 40, 44].iter().all(|count| paper[0].1.contains(count)), "{paper:?}");
        assert!(paper[1].1.contains(&20) && !paper[1].1.contains(&40) && paper[3].1.contains(&20), "{paper:?}");
        // Two sockets of two sub-NUMA clusters of eight cores.
        let clusters = of(Preset::Quick, &regular(2, 2, 1, 8, 2));
        assert_eq!(clusters[0], (Placement::Cores, vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!((&clusters[1].1, &clusters[2].1), (&vec![2, 32], &vec![16]));
        let nodes = of(Preset::Quick, &regular(1, 4, 1, 24, 1));
        assert_eq!(nodes, [(Placement::Close, vec![1, 2, 4, 8, 16, 24, 32, 64, 96]), (Placement::Spread, vec![24])]);
    }

    #[test]
    fn strides_follow_the_line() {
        let strides = |line_bytes| {
            let mut topology = regular(1, 1, 1, 2, 1);
            topology.caches.iter_mut().for_each(|cache| cache.line_bytes = line_bytes);
            let axes = Axes::of(Preset::Paper, &topology).addition;
            (axes.strides_of(Dtype::I32), axes.strides_of(Dtype::F64))
        };
        let papers = vec![1, 2, 4, 8, 16, 64];
        assert_eq!(strides(None), (papers.clone(), papers.clone()));
        assert_eq!(strides(Some(64)), (papers.clone(), papers.clone()));
        assert_eq!(strides(Some(128)), (vec![1, 2, 4, 8, 16, 32, 64], papers));
        let shared = AtomicAxes::of(&DTYPES, &DTYPES, &[1]).shared();
        assert!(shared.private_dtypes.is_empty() && shared.dtypes == DTYPES);
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
    fn large_machines_have_teams_that_fill_their_parts() {
        // Two packages with two nodes of three caches, each with five cores of two threads: 10, 30, 60, 120 CPUs.
        let odd = regular(2, 2, 3, 5, 2);
        let sizes = team_sizes(Preset::Standard, &odd);
        assert_eq!(sizes, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 24, 30, 32, 48, 60, 64, 96, 120]);
        assert!(team_sizes(Preset::Paper, &odd).contains(&124));
        let part = odd.restricted(|cpu| cpu % 4 != 3);
        assert_eq!(team_sizes(Preset::Standard, &part).last(), Some(&90));
        let thousand = team_sizes(Preset::Standard, &regular(8, 1, 8, 8, 2));
        assert!([2, 16, 128, 256, 512, 1024].iter().all(|size| thousand.contains(size)), "{thousand:?}");
        assert!(thousand.len() < 24, "{thousand:?}");
    }

    #[test]
    fn small_machines_have_teams_of_every_size() {
        assert_eq!(team_sizes(Preset::Standard, &regular(1, 1, 1, 6, 2)), (1..=12).collect::<Vec<_>>());
        assert_eq!(team_sizes(Preset::Quick, &regular(1, 1, 1, 6, 2)), [1, 2, 4, 6, 12]);
    }
}
