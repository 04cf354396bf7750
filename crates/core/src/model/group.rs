//! The group of a case: a variant of a primitive, or a class of a machine-level study. Its words stand in files.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// What the column `group` says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Two CPUs that are hardware threads of one core.
    SameCore,
    /// Two CPUs that share a second-level cache and nothing nearer.
    SameL2,
    /// Two CPUs that share a cache of the third level or beyond and nothing nearer.
    SameL3,
    /// Two CPUs of one NUMA node that share no cache.
    SameNode,
    /// Two CPUs of one package and two NUMA nodes.
    SamePackage,
    /// Two CPUs of two packages.
    Across,
    /// One thread on a core whose other hardware thread is idle.
    SiblingIdle,
    /// Two threads on the hardware threads of one core.
    SiblingBusy,
    /// The contended line is in memory of this NUMA node, by the system's number; without one, of any.
    LineOnNode(Option<u32>),
    /// All threads on one CPU.
    OneCpu,
    /// Waiters spin for so many microseconds before they sleep.
    SpinUs(u32),
    /// A channel with room for so many messages.
    Capacity(u32),
    /// GCC's OpenMP runtime.
    Libgomp,
    /// LLVM's OpenMP runtime.
    Libomp,
    /// All threads of the warp on one path.
    Converged,
    /// One half of the warp.
    Partial,
    /// Two halves of the warp on two paths.
    Divergent,
    /// The thread block in so many parts.
    Parts(u32),
    /// Tiles of so many threads.
    Tile(u32),
    /// A coalesced group of so many threads, which are neighbours.
    Coalesced(u32),
    /// A coalesced group of so many threads, each four lanes from the next.
    EveryFourth(u32),
    /// Clusters of so many thread blocks.
    Cluster(u32),
    /// Kernels that do nothing.
    EmptyKernel,
    /// Kernels that last so many microseconds.
    KernelUs(u32),
    /// One cooperative launch of the driver on several devices.
    DriverLaunch,
    /// A barrier whose polls are relaxed and end with a fence that only acquires. In stored runs alone: no plan has it.
    AcquireFence,
    /// The same with a pause before the first poll.
    PausedAcquire,
    /// A barrier with counters in both halves of the second-level cache, of which a block adds to a near one.
    NearCounters,
    /// A barrier with several counters, of which a block adds to one.
    Spread,
    /// A barrier with flags in both halves of the second-level cache, of which a block reads the near ones.
    NearFlags,
    /// A barrier at which every block arrives at every device.
    Direct,
    /// Threads that only arrive, and threads that wait for them.
    ProducerConsumer,
    /// Processes on so many machines.
    Nodes(u32),
    /// A CPU near the device.
    Near,
    /// A CPU far from the device.
    Far,
    /// CPU and GPU together.
    Both,
    /// The GPU without the CPU.
    GpuAlone,
    /// The CPU without the GPU.
    CpuAlone,
    /// A word that this version does not know; files of other versions and tools may hold one.
    Other(String),
}

/// The words without a number.
const WORDS: [(&str, Group); 29] = [
    ("same_core", Group::SameCore),
    ("same_l2", Group::SameL2),
    ("same_l3", Group::SameL3),
    ("same_node", Group::SameNode),
    ("same_package", Group::SamePackage),
    ("across", Group::Across),
    ("sibling_idle", Group::SiblingIdle),
    ("sibling_busy", Group::SiblingBusy),
    ("line_on_node", Group::LineOnNode(None)),
    ("one_cpu", Group::OneCpu),
    ("libgomp", Group::Libgomp),
    ("libomp", Group::Libomp),
    ("converged", Group::Converged),
    ("partial", Group::Partial),
    ("divergent", Group::Divergent),
    ("empty", Group::EmptyKernel),
    ("driver_launch", Group::DriverLaunch),
    ("acquire_fence", Group::AcquireFence),
    ("paused_acquire", Group::PausedAcquire),
    ("near_counters", Group::NearCounters),
    ("spread", Group::Spread),
    ("near_flags", Group::NearFlags),
    ("direct", Group::Direct),
    ("producer_consumer", Group::ProducerConsumer),
    ("near", Group::Near),
    ("far", Group::Far),
    ("both", Group::Both),
    ("gpu_alone", Group::GpuAlone),
    ("cpu_alone", Group::CpuAlone),
];

impl Group {
    /// Whether it is a class of two CPUs, by what they share.
    #[must_use]
    pub const fn is_pair_class(&self) -> bool {
        matches!(self, Self::SameCore | Self::SameL2 | Self::SameL3 | Self::SameNode | Self::SamePackage | Self::Across)
    }

    /// The group that a word stands for.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        let numbered = |number: &str| number.parse().ok().filter(|value: &u32| value.to_string() == number);
        let named = WORDS.iter().find(|(known, _)| *known == word).map(|(_, group)| group.clone());
        let group = named.or_else(|| match word.split_once(' ')? {
            ("line_on_node", number) => numbered(number).map(|node| Self::LineOnNode(Some(node))),
            ("parts", number) => numbered(number).map(Self::Parts),
            ("tile", number) => numbered(number).map(Self::Tile),
            ("coalesced", number) => numbered(number).map(Self::Coalesced),
            ("every_fourth", number) => numbered(number).map(Self::EveryFourth),
            ("cluster", number) => numbered(number).map(Self::Cluster),
            ("nodes", number) => numbered(number).map(Self::Nodes),
            ("capacity", number) => numbered(number).map(Self::Capacity),
            ("spin", time) => numbered(time.strip_suffix(" us")?).map(Self::SpinUs),
            (number, "us") => numbered(number).map(Self::KernelUs),
            _ => None,
        });
        group.unwrap_or_else(|| Self::Other(word.to_owned()))
    }

    /// How many threads or blocks form the group, or into how many parts it divides the block.
    #[must_use]
    pub const fn size(&self) -> Option<u32> {
        match self {
            Self::Parts(size)
            | Self::Tile(size)
            | Self::Coalesced(size)
            | Self::EveryFourth(size)
            | Self::Cluster(size) => Some(*size),
            _ => None,
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineOnNode(Some(node)) => f.pad(&format!("line_on_node {node}")),
            Self::Parts(count) => f.pad(&format!("parts {count}")),
            Self::Tile(size) => f.pad(&format!("tile {size}")),
            Self::Coalesced(size) => f.pad(&format!("coalesced {size}")),
            Self::EveryFourth(size) => f.pad(&format!("every_fourth {size}")),
            Self::Cluster(size) => f.pad(&format!("cluster {size}")),
            Self::Nodes(count) => f.pad(&format!("nodes {count}")),
            Self::Capacity(messages) => f.pad(&format!("capacity {messages}")),
            Self::SpinUs(length) => f.pad(&format!("spin {length} us")),
            Self::KernelUs(length) => f.pad(&format!("{length} us")),
            Self::Other(word) => f.pad(word),
            named => f.pad(WORDS.iter().find(|(_, group)| group == named).map_or("", |(word, _)| word)),
        }
    }
}

impl FromStr for Group {
    type Err = Infallible;

    /// Every word is a group: one that is unknown is [`Group::Other`].
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Ok(Self::of_word(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_survives_the_way_to_a_file_and_back() {
        let numbered = [
            ("line_on_node 0", Group::LineOnNode(Some(0))),
            ("parts 2", Group::Parts(2)),
            ("tile 16", Group::Tile(16)),
            ("coalesced 3", Group::Coalesced(3)),
            ("every_fourth 8", Group::EveryFourth(8)),
            ("cluster 8", Group::Cluster(8)),
            ("nodes 2", Group::Nodes(2)),
            ("5 us", Group::KernelUs(5)),
            ("spin 10 us", Group::SpinUs(10)),
            ("capacity 64", Group::Capacity(64)),
            ("other package", Group::Other("other package".to_owned())),
        ];
        for (word, group) in WORDS.iter().chain(&numbered) {
            assert_eq!((Group::of_word(word), group.to_string().as_str()), (group.clone(), *word));
        }
    }

    #[test]
    fn a_word_that_would_be_written_otherwise_is_kept_as_it_is() {
        for word in [
            "tile 04",
            "tile",
            "tile -1",
            "tile 4 ",
            " us",
            "+5 us",
            "Near",
            "cluster 99999999999",
            "spin 10",
            "spin 010 us",
        ] {
            assert_eq!(Group::of_word(word), Group::Other(word.to_owned()));
            assert_eq!(Group::of_word(word).to_string(), word);
        }
    }
}
