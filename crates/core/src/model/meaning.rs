//! What the figure of a case is a figure of: how its operations follow each other, and whose cost it is.

use crate::model::case::{Actor, Case, Layout, Mode};
use crate::model::primitive::Family;

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
            | Self::Flag => Mode::Latency,
        }
    }

    /// Whether threads neither meet nor contend, each working on what is its own.
    fn shares_nothing(self, layout: Option<Layout>) -> bool {
        match self {
            Self::Atomic => matches!(layout, Some(Layout::Private { .. })),
            Self::Fence | Self::Shuffle | Self::Vote | Self::Match | Self::Reduce | Self::Warp => true,
            _ => false,
        }
    }
}

impl Case {
    fn family(&self) -> Option<Family> {
        self.domain_and_family().1.parse().ok()
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
        let shares_nothing = self.family().is_some_and(|family| family.shares_nothing(self.layout));
        if shares_nothing || (self.threads == Some(1) && self.actors() == 1) { Actor::Median } else { Actor::Slowest }
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
        assert_eq!(of("cpu.fence.seq_cst", None), Actor::Median);
        assert_eq!(of("cpu.barrier.std", None), Actor::Slowest);
        assert_eq!(of("gpu.shuffle.down", None), Actor::Median);
        assert_eq!(of("gpu.unknown.thing", None), Actor::Slowest);
        let lock = |threads| Case { threads: Some(threads), ..Case::new("cpu.lock.ticket") }.actor();
        assert_eq!((lock(1), lock(2)), (Actor::Median, Actor::Slowest), "one thread is alone with its lock");
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
