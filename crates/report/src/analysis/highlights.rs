//! The few figures everyone wants to know first, found among the rows of a run.

use syncscope_core::{Case, Dtype, Layout, Mode, Placement, Row, Scope, Space};

/// Which of the sizes of a sweep a question is about.
#[derive(Debug, Clone, Copy)]
enum Size {
    /// Nobody else is there.
    One,
    /// As many as the sweep has and the machine has room for, and more than one.
    Most,
    /// This many threads in one block.
    Block(u32),
    /// Whatever size there is, the smallest first.
    Any,
}

/// A question of the first hour.
#[derive(Debug)]
pub(crate) struct Highlight {
    /// The question in a few words.
    pub(crate) title: &'static str,
    /// The primitives that answer it, the first that was measured counts.
    primitives: &'static [&'static str],
    size: Size,
}

/// The questions, in the order they are shown.
pub(crate) const HIGHLIGHTS: [Highlight; 12] = [
    Highlight { title: "Atomic add, alone", primitives: &["cpu.atomic.add"], size: Size::One },
    Highlight { title: "Atomic add, contended", primitives: &["cpu.atomic.add"], size: Size::Most },
    Highlight { title: "Barrier of all threads", primitives: BARRIERS, size: Size::Most },
    Highlight { title: "Lock, alone", primitives: LOCKS, size: Size::One },
    Highlight { title: "Lock, contended", primitives: LOCKS, size: Size::Most },
    Highlight { title: "Core to core", primitives: HANDOFFS, size: Size::Any },
    Highlight { title: "__syncthreads, one warp", primitives: &["gpu.block.syncthreads"], size: Size::Block(32) },
    Highlight { title: "__syncthreads, full block", primitives: &["gpu.block.syncthreads"], size: Size::Block(1024) },
    Highlight { title: "GPU atomic add, one warp", primitives: &["gpu.atomic.add"], size: Size::Block(32) },
    Highlight { title: "GPU atomic add, contended", primitives: &["gpu.atomic.add"], size: Size::Most },
    Highlight { title: "Grid barrier", primitives: GRIDS, size: Size::Any },
    Highlight { title: "Kernel launch", primitives: &["gpu.launch.stream"], size: Size::Any },
];

const BARRIERS: &[&str] = &["cpu.barrier.std", "cpu.barrier.sense", "cpu.barrier.dissemination", "cpu.barrier.tree"];
pub(crate) const LOCKS: &[&str] = &["cpu.lock.std_mutex", "cpu.lock.parking_lot_mutex", "cpu.lock.pthread_mutex"];
const HANDOFFS: &[&str] = &["cpu.handoff.cas_pingpong", "cpu.handoff.store_pingpong"];
pub(crate) const GRIDS: &[&str] = &["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free"];

impl Highlight {
    /// The row that answers the question on a machine of so many hardware threads (0: not known), by its index. Which one
    /// does not depend on what was measured.
    pub(crate) fn find(&self, rows: &[Row], hardware_threads: u32) -> Option<usize> {
        // "All threads" are those that have CPUs; more of them are another question.
        let is_crowded = |case: &Case| {
            let crowd = case.threads.unwrap_or(1) > hardware_threads && hardware_threads > 0;
            crowd && case.domain_and_family().0 == "cpu"
        };
        self.primitives.iter().find_map(|primitive| {
            let candidates = rows.iter().enumerate().filter(|(_, row)| row.case.primitive == **primitive);
            candidates
                .filter(|(_, row)| self.fits(&row.case))
                .min_by_key(|(_, row)| {
                    (is_crowded(&row.case), usualness(&row.case), self.distance(&row.case), &row.case)
                })
                .map(|(index, _)| index)
        })
    }

    fn fits(&self, case: &Case) -> bool {
        match self.size {
            Size::One => case.actors() == 1,
            Size::Most => case.actors() > 1,
            Size::Block(threads) => case.threads == Some(threads) && case.blocks.unwrap_or(1) == 1,
            Size::Any => true,
        }
    }

    fn distance(&self, case: &Case) -> u64 {
        if matches!(self.size, Size::Most) { u64::MAX - case.actors() } else { case.actors() }
    }
}

/// How far a case is from what people mean when they name no parameter: an `i32` shared by all.
pub(crate) fn usualness(case: &Case) -> [usize; 7] {
    fn rank<T: PartialEq>(value: Option<&T>, usual: &[T]) -> usize {
        value.map_or(0, |value| usual.iter().position(|known| known == value).unwrap_or(usual.len()))
    }
    [
        rank(case.layout.as_ref(), &[Layout::Shared]),
        rank(case.dtype.as_ref(), &[Dtype::I32, Dtype::U32, Dtype::U64]),
        rank(case.mode.as_ref(), &[Mode::Throughput]),
        rank(case.space.as_ref(), &[Space::Global]),
        rank(case.scope.as_ref(), &[Scope::Device]),
        rank(case.placement.as_ref(), &[Placement::Close, Placement::Spread, Placement::None]),
        // A launch is that of an empty kernel unless its length is named.
        rank(case.group.as_ref(), &["empty".to_owned()]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Verdict;

    fn row(primitive: &str, dtype: Dtype, layout: Layout, threads: u32) -> Row {
        let case = Case { dtype: Some(dtype), layout: Some(layout), threads: Some(threads), ..Case::new(primitive) };
        Row::unmeasured(case, Verdict::Resolved)
    }

    #[test]
    fn the_usual_case_of_the_asked_size_is_found() {
        let rows = [
            row("cpu.atomic.add", Dtype::F64, Layout::Shared, 16),
            row("cpu.atomic.add", Dtype::I32, Layout::Private { stride: 1 }, 16),
            row("cpu.atomic.add", Dtype::I32, Layout::Shared, 1),
            row("cpu.atomic.add", Dtype::I32, Layout::Shared, 8),
            row("cpu.atomic.add", Dtype::I32, Layout::Shared, 16),
        ];
        assert_eq!(HIGHLIGHTS[0].find(&rows, 0), Some(2));
        assert_eq!(HIGHLIGHTS[1].find(&rows, 0), Some(4));
        assert_eq!(HIGHLIGHTS[3].find(&rows, 0), None);
        assert_eq!(HIGHLIGHTS[1].find(&rows, 8), Some(3), "sixteen threads take turns on eight CPUs");
        assert_eq!(HIGHLIGHTS[1].find(&rows[4..], 1), Some(0), "better than nothing");
    }

    #[test]
    fn the_order_of_rows_and_the_length_of_kernels_do_not_matter() {
        let launch = |group: &str| {
            let case = Case { group: Some(group.to_owned()), ..Case::new("gpu.launch.stream") };
            Row::unmeasured(case, Verdict::Resolved)
        };
        assert_eq!(HIGHLIGHTS[11].find(&[launch("20 us"), launch("empty"), launch("5 us")], 0), Some(1));
        assert_eq!(HIGHLIGHTS[11].find(&[launch("5 us"), launch("20 us")], 0), Some(1));
        assert_eq!(HIGHLIGHTS[11].find(&[launch("20 us"), launch("5 us")], 0), Some(0));
    }

    #[test]
    fn the_first_measured_primitive_counts() {
        let rows = [
            row("cpu.lock.pthread_mutex", Dtype::I32, Layout::Shared, 1),
            row("cpu.lock.parking_lot_mutex", Dtype::I32, Layout::Shared, 1),
        ];
        assert_eq!(HIGHLIGHTS[3].find(&rows, 0), Some(1));
    }
}
