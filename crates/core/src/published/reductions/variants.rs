//! The variants: every way in which a reduction is synchronized here.

use serde::{Deserialize, Serialize};

/// The operation of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The largest element.
    Max,
    /// The sum of all elements, modulo 2^32.
    Sum,
}

impl Operation {
    /// Its word in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Sum => "sum",
        }
    }
}

/// A group of variants that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The five reductions of Burtchell and Burtscher, listing 1.
    Listing,
    /// A vector on one GPU.
    Device,
    /// A vector on several GPUs.
    Devices,
    /// A vector on the CPU.
    Cpu,
}

impl Class {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 4] = [Self::Listing, Self::Device, Self::Devices, Self::Cpu];

    /// Its word in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Device => "device",
            Self::Devices => "devices",
            Self::Cpu => "cpu",
        }
    }

    /// What it holds.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Listing => "Five maximum reductions (Burtchell and Burtscher, listing 1)",
            Self::Device => "One GPU: how partial results are joined",
            Self::Devices => "Several GPUs",
            Self::Cpu => "CPU",
        }
    }
}

/// One way to synchronize a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// `class.name`.
    pub id: &'static str,
    /// What it is compared with.
    pub class: Class,
    /// A short name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether it is measured for the sum as well; all are measured for the maximum.
    pub has_sum: bool,
}

impl Variant {
    /// Whether it computes this.
    #[must_use]
    pub const fn computes(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Max) || self.has_sum
    }
}

macro_rules! variants {
    ($($class:ident { $($id:literal, $name:literal, $summary:literal;)+ })+) => {
        /// All variants, those of one class together.
        pub const VARIANTS: &[Variant] = &[$($(Variant {
            id: $id,
            class: Class::$class,
            name: $name,
            summary: $summary,
            has_sum: matches!(Class::$class, Class::Device | Class::Devices),
        },)+)+];
    };
}

variants! {
    Listing {
        "listing.1", "reduction 1: atomicMax", "every thread: one global atomic maximum";
        "listing.2", "reduction 2: shuffles", "every warp: five shuffles, then one global atomic maximum";
        "listing.3", "reduction 3: block atomic", "every thread: an atomic maximum in shared memory; every block: two barriers and one global atomic maximum";
        "listing.4", "reduction 4: warp reduce", "every warp: one reduce instruction and an atomic maximum in shared memory; every block: two barriers and one global atomic maximum";
        "listing.5", "reduction 5: persistent", "as 3, each thread first reduces many elements";
    }
    Device {
        "device.atomic", "atomic", "a partial result for each block, then one atomic operation of each block; the result is set to its initial value before, outside of the time";
        "device.last_block", "last block", "partial results in memory, fences and a counter; the last block joins them";
        "device.cluster", "cluster", "blocks of a cluster join their results through distributed shared memory, then one atomic operation of each cluster";
        "device.grid_cooperative", "grid barrier", "partial results in memory, the barrier of cooperative groups; the first block joins them";
        "device.grid_counter", "grid barrier (counter)", "the same with a barrier of one counter";
        "device.grid_lock_free", "grid barrier (lock-free)", "the same with the lock-free barrier of Xiao and Feng";
        "device.kernel_boundary", "two kernels", "two launches in a stream; the second kernel joins the partial results";
        "device.atomic_queued", "atomic, queued first", "as atomic, all kernels of the chain in the stream before the first one starts, so that no launch waits for the host";
        "device.grid_queued", "grid barrier, queued first", "as the grid barrier, all kernels of the chain in the stream before the first one starts";
        "device.kernel_boundary_queued", "two kernels, queued first", "as two kernels, all kernels of the chain in the stream before the first one starts";
        "device.graph", "graph of two kernels", "the two kernels in a graph, replayed for each reduction";
        "device.graph_chain", "two kernels, all in one graph", "the two kernels of every reduction of the chain in one graph";
        "device.atomic_graph_chain", "atomic, all in one graph", "as atomic, the kernels of the chain in one graph";
        "device.grid_graph_chain", "grid barrier, all in one graph", "as the grid barrier, the kernels of the chain in one graph";
        "device.cub", "CUB", "the two kernels of cub::DeviceReduce, with its tuning and its grid, in a stream";
    }
    Devices {
        "devices.flags", "flags", "each GPU reduces its part; its last block writes the result with a flag to all GPUs and waits for theirs";
        "devices.host", "host", "each GPU reduces its part; the host waits for all and joins the results";
        "devices.events", "kernels and events", "each GPU reduces its part in a kernel; a kernel of the first GPU, which waits for the events of all, joins the results, and the next reduction waits for its end";
        "devices.graph_chain", "kernels, all in one graph", "the same with the kernels of every reduction of the chain in one graph over all GPUs";
    }
    Cpu {
        "cpu.sequential", "one thread", "one thread, nothing to synchronize";
        "cpu.atomic_per_element", "atomic per element", "every element: an atomic maximum on one variable";
        "cpu.atomic_per_thread", "atomic per thread", "every thread: one atomic maximum";
        "cpu.lock", "lock", "every thread: its result under std::sync::Mutex";
        "cpu.tree_std", "tree, std barrier", "results are joined in pairs, a barrier after each level: std::sync::Barrier";
        "cpu.tree_sense", "tree, sense barrier", "the same with the sense-reversing barrier";
        "cpu.tree_dissemination", "tree, dissemination barrier", "the same with the dissemination barrier";
        "cpu.tree_tree", "tree, tree barrier", "the same with the tree barrier";
        "cpu.tree_openmp", "tree, OpenMP barrier", "the same with the barrier of the OpenMP runtime";
        "cpu.openmp_atomic", "OpenMP reduction, atomic", "what GCC makes of reduction(max:) of one integer: an atomic compare-and-swap of every thread, and the barrier of the region";
        "cpu.openmp_critical", "OpenMP reduction, critical", "the same with a critical section, which other types and several variables need";
    }
}

/// The variant with this id.
#[must_use]
pub fn variant(id: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.id == id)
}

/// The variants of a class.
pub fn of_class(class: Class) -> impl Iterator<Item = &'static Variant> {
    VARIANTS.iter().filter(move |variant| variant.class == class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_begin_with_their_class() {
        let ids: HashSet<&str> = VARIANTS.iter().map(|variant| variant.id).collect();
        assert_eq!(ids.len(), VARIANTS.len());
        for variant in VARIANTS {
            assert!(variant.id.starts_with(&format!("{}.", variant.class.as_str())), "{}", variant.id);
        }
        for class in Class::ALL {
            assert!(of_class(class).count() >= 2, "{class:?}");
        }
    }

    #[test]
    fn the_listing_is_of_maxima_alone() {
        assert_eq!(of_class(Class::Listing).count(), 5);
        assert!(of_class(Class::Listing).all(|variant| !variant.computes(Operation::Sum)));
        assert!(of_class(Class::Device).all(|variant| variant.computes(Operation::Sum)));
    }
}
