//! What the figure of a case is a figure of: how its operations follow each other, and whose cost it is.

use crate::model::case::{Actor, Case, Dtype, Layout, Mode};
use crate::model::primitive::{Domain, Family};

impl Family {
    /// How the operations of a primitive follow each other where the case leaves no choice.
    const fn implied_mode(self) -> Mode {
        match self {
            // Nothing of the one operation is needed for the next.
            Self::Atomic | Self::Fence | Self::Shuffle | Self::Vote | Self::Match | Self::Reduce => Mode::Throughput,
            // The next begins when the one before is complete.
            Self::Barrier
            | Self::Lock
            | Self::Handoff
            | Self::Wake
            | Self::Process
            | Self::Block
            | Self::Warp
            | Self::Cluster
            | Self::Grid
            | Self::Multi
            | Self::Launch
            | Self::Flag
            | Self::Reduction => Mode::Latency,
        }
    }

    /// Whether threads neither meet nor contend, each working on what is its own.
    fn shares_nothing(self, case: &Case) -> bool {
        match self {
            Self::Atomic => case.bytes_apart().is_some() && !shares_lines(case),
            Self::Fence => !shares_lines(case),
            Self::Shuffle | Self::Vote | Self::Match | Self::Reduce | Self::Warp => true,
            _ => false,
        }
    }
}

/// Whether elements of different threads of the CPU lie in one cache line: false sharing. (The second-level cache of a GPU
/// executes atomic operations itself, so no line moves.)
fn shares_lines(case: &Case) -> bool {
    const LINE: usize = 64;
    case.domain_and_family().0 == Domain::Cpu.as_str() && case.bytes_apart().is_some_and(|bytes| bytes < LINE)
}

impl Case {
    fn family(&self) -> Option<Family> {
        self.domain_and_family().1.parse().ok()
    }

    /// The distance of the elements of two threads, in bytes; `None` where they do not have elements of their own.
    #[must_use]
    pub fn bytes_apart(&self) -> Option<usize> {
        let Some(Layout::Private { stride }) = self.layout else { return None };
        Some(stride as usize * self.dtype.map_or(8, Dtype::size_bytes))
    }

    /// Whether one thread alone takes part.
    #[must_use]
    pub fn has_one_thread(&self) -> bool {
        self.threads == Some(1) && self.actors() == 1
    }

    /// How the operations follow each other: as the case says, or as its primitive implies. `None` for a family that this
    /// version does not know.
    #[must_use]
    pub fn mode_of_operations(&self) -> Option<Mode> {
        self.mode.or_else(|| self.family().map(Family::implied_mode))
    }

    /// Whose cost the figure is: the slowest thread's where all meet or contend, the median thread's where nothing is
    /// shared. One thread shares nothing with anyone. Otherwise it is the same for all numbers of threads.
    #[must_use]
    pub fn actor(&self) -> Actor {
        let shares_nothing = self.family().is_some_and(|family| family.shares_nothing(self));
        if shares_nothing || self.has_one_thread() { Actor::Median } else { Actor::Slowest }
    }

    /// How many operations all threads do at once: a GPU's lock is taken by one thread of each warp, a launch is one, and
    /// of everything else each thread does its own.
    #[must_use]
    pub fn operations_at_once(&self) -> u64 {
        const WARP: u32 = 32;
        match self.family() {
            Some(Family::Launch | Family::Reduction) => 1,
            Some(Family::Lock) if self.domain_and_family().0 == Domain::Gpu.as_str() => {
                let warps = self.threads.map(|threads| threads.div_ceil(WARP));
                Self { threads: warps, ..self.clone() }.actors()
            }
            _ => self.actors(),
        }
    }

    /// The same case, as a file names it that gives the mode of every row: a mode that the primitive implies is no
    /// parameter of the case, and its identity `id` is without it.
    #[must_use]
    pub(crate) fn without_implied_mode(self, id: &str) -> Self {
        let implied = Self { mode: None, ..self.clone() };
        if implied.id().0 == id { implied } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_counts_where_threads_meet_or_contend() {
        let of = |id: &str, layout| Case { layout, ..Case::new(id) }.actor();
        let private = Some(Layout::Private { stride: 16 });
        assert_eq!(of("cpu.atomic.add", private), Actor::Median);
        assert_eq!(of("cpu.atomic.add", Some(Layout::Shared)), Actor::Slowest);
        let adjacent = Some(Layout::Private { stride: 1 });
        assert_eq!(of("cpu.atomic.add", adjacent), Actor::Slowest, "they share a line");
        assert_eq!(of("gpu.atomic.add", adjacent), Actor::Median, "no line moves");
        let wide = |stride, dtype| Case {
            layout: Some(Layout::Private { stride }),
            dtype: Some(dtype),
            ..Case::new("cpu.atomic.add")
        };
        assert_eq!((wide(8, Dtype::U64).actor(), wide(8, Dtype::I32).actor()), (Actor::Median, Actor::Slowest));
        assert_eq!(of("cpu.fence.seq_cst", None), Actor::Median);
        let flush =
            |layout| Case { dtype: Some(Dtype::I32), ..Case { layout, ..Case::new("cpu.fence.flush") } }.actor();
        assert_eq!((flush(private), flush(adjacent)), (Actor::Median, Actor::Slowest));
        assert_eq!(of("cpu.barrier.std", None), Actor::Slowest);
        assert_eq!(of("gpu.shuffle.down", None), Actor::Median);
        assert_eq!(of("gpu.unknown.thing", None), Actor::Slowest);
        let lock = |threads| Case { threads: Some(threads), ..Case::new("cpu.lock.ticket") }.actor();
        assert_eq!((lock(1), lock(2)), (Actor::Median, Actor::Slowest), "one thread is alone with its lock");
    }

    #[test]
    fn a_warp_takes_a_lock_once_and_a_launch_is_one_operation() {
        let of = |id: &str| {
            let grid = Case { threads: Some(33), blocks: Some(132), ..Case::new(id) };
            grid.operations_at_once()
        };
        assert_eq!((of("gpu.lock.spin_cas"), of("gpu.launch.graph")), (2 * 132, 1));
        assert_eq!(of("gpu.atomic.add"), 33 * 132);
        let threads = Case { threads: Some(4), ..Case::new("cpu.lock.mcs") };
        assert_eq!(threads.operations_at_once(), 4);
    }

    #[test]
    fn a_mode_that_is_implied_is_no_parameter() {
        let barrier = Case::new("cpu.barrier.std");
        assert_eq!(barrier.mode_of_operations(), Some(Mode::Latency));
        let read = Case { mode: barrier.mode_of_operations(), ..barrier.clone() };
        assert_ne!(read.id(), barrier.id());
        assert_eq!(read.without_implied_mode(&barrier.id().0), barrier);
        let chosen = Case { mode: Some(Mode::Latency), ..Case::new("gpu.atomic.add") };
        assert_eq!(chosen.clone().without_implied_mode(&chosen.id().0), chosen);
        assert_eq!(chosen.mode_of_operations(), Some(Mode::Latency));
    }
}
