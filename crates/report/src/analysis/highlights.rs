//! The cards of the page: a few figures that most readers ask for first. Each is a rung of the cost ladder, so that cards
//! and ladder show the same rows.

use super::ladder::{LADDER, Rung};
use super::row_query::Selected;
use crate::RunData;

/// One card.
#[derive(Debug)]
pub(crate) struct Highlight {
    pub(crate) title: &'static str,
    /// Level and title of the rungs that can stand on it. The first one with a row in any run counts.
    rungs: &'static [(&'static str, &'static str)],
}

/// The cards, in the order in which the page shows them.
pub(crate) const HIGHLIGHTS: [Highlight; 12] = [
    highlight("Atomic add, alone", &[("One core", "Atomic add, alone")]),
    highlight("Atomic add, contended", &[("All threads", "Atomic add, contended")]),
    highlight("Barrier of all threads, best", &[("All threads", "Barrier, best")]),
    highlight("Lock, contended, best", &[("All threads", "Lock, contended, best")]),
    highlight(
        "Core to core",
        &[
            ("Two threads", "Hand-off, close"),
            ("Two threads", "Hand-off, same core"),
            ("Two threads", "Hand-off, same L2"),
            ("Two threads", "Hand-off, same L3"),
            ("Two threads", "Hand-off, same NUMA node"),
            ("Two threads", "Hand-off, same package"),
            ("Two threads", "Hand-off, across packages"),
        ],
    ),
    highlight("__syncthreads, one warp", &[("Block", "Barrier, one warp")]),
    highlight("__syncthreads, full block", &[("Block", "Barrier, 1,024 threads")]),
    highlight("GPU atomic add, one warp, latency", &[("Device", "Atomic add, one warp, latency")]),
    highlight("GPU atomic add, contended", &[("Device", "Atomic add, all threads")]),
    highlight("Grid barrier, best", &[("Device", "Grid barrier, best")]),
    highlight("One kernel more, in a stream", &[("Device", "One kernel more, in a stream")]),
    highlight("One kernel more, in a graph", &[("Device", "One kernel more, in a graph")]),
];

const fn highlight(title: &'static str, rungs: &'static [(&'static str, &'static str)]) -> Highlight {
    Highlight { title, rungs }
}

impl Highlight {
    /// The row of each run on this card.
    pub(crate) fn find(&self, runs: &[RunData]) -> Vec<Option<Selected>> {
        let of_rung = |rung: &Rung| runs.iter().map(|data| rung.find(data)).collect::<Vec<_>>();
        let found = self.rungs().map(of_rung).find(|rows| rows.iter().any(Option::is_some));
        found.unwrap_or_else(|| vec![None; runs.len()])
    }

    fn rungs(&self) -> impl Iterator<Item = &'static Rung> {
        let named =
            |(level, title): &(&str, &str)| LADDER.iter().find(|rung| rung.level == *level && rung.title == *title);
        self.rungs.iter().filter_map(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Case, Dtype, Form, Group, Layout, Row, Verdict};

    fn row(primitive: &str, dtype: Dtype, layout: Layout, threads: u32) -> Row {
        let case = Case { dtype: Some(dtype), layout: Some(layout), threads: Some(threads), ..Case::new(primitive) };
        Row::unmeasured(case, Verdict::Resolved)
    }

    fn find(title: &str, rows: &[Row], hardware_threads: u32) -> Option<usize> {
        let mut data = crate::testing::data(rows.to_vec());
        data.run.machine.cpu.hardware_threads = hardware_threads;
        let card = HIGHLIGHTS.iter().find(|highlight| highlight.title == title).unwrap();
        card.find(&[data])[0].as_ref().map(|selected| selected.row)
    }

    #[test]
    fn every_card_names_rungs_of_the_ladder() {
        for highlight in &HIGHLIGHTS {
            assert_eq!(highlight.rungs().count(), highlight.rungs.len(), "{}", highlight.title);
        }
    }

    #[test]
    fn the_default_form_is_selected() {
        let add = row("cpu.atomic.add", Dtype::I32, Layout::Shared, 1);
        let varying = Row { case: Case { form: Some(Form::Varying), ..add.case.clone() }, ..add.clone() };
        assert_eq!(find("Atomic add, alone", &[varying.clone(), add], 0), Some(1));
        assert_eq!(find("Atomic add, alone", &[varying], 0), None);
    }

    #[test]
    fn the_usual_case_of_the_size_is_selected() {
        let rows = [
            row("cpu.atomic.add", Dtype::F64, Layout::Shared, 16),
            row("cpu.atomic.add", Dtype::I32, Layout::Private { stride: 1 }, 16),
            row("cpu.atomic.add", Dtype::I32, Layout::Shared, 1),
            row("cpu.atomic.add", Dtype::I32, Layout::Shared, 8),
            row("cpu.atomic.add", Dtype::I32, Layout::Shared, 16),
        ];
        assert_eq!(find("Atomic add, alone", &rows, 0), Some(2));
        assert_eq!(find("Lock, contended, best", &rows, 0), None);
        let contended = |rows, hardware_threads| find("Atomic add, contended", rows, hardware_threads);
        assert_eq!(contended(&rows, 0), Some(4));
        assert_eq!(contended(&rows, 8), Some(3), "16 threads do not fit 8 hardware threads");
        assert_eq!(contended(&rows[4..], 1), None, "an oversubscribed row is no figure of the machine");
    }

    #[test]
    fn a_kernel_that_works_stands_for_one_kernel_more() {
        let launch = |group: &str| {
            let case = Case { group: Some(Group::of_word(group)), ..Case::new("gpu.launch.stream") };
            Row::unmeasured(case, Verdict::Resolved)
        };
        let card = "One kernel more, in a stream";
        assert_eq!(find(card, &[launch("20 us"), launch("empty"), launch("5 us")], 0), Some(2));
        // Without one of 5 microseconds, the shortest.
        assert_eq!(find(card, &[launch("empty"), launch("20 us"), launch("10 us")], 0), Some(2));
        assert_eq!(find(card, &[launch("empty")], 0), None, "the rate at which a host can launch is another figure");
    }

    #[test]
    fn a_run_of_openmp_alone_has_a_barrier() {
        let rows = [row("cpu.barrier.openmp", Dtype::I32, Layout::Shared, 8)];
        assert_eq!(find("Barrier of all threads, best", &rows, 8), Some(0));
    }
}
