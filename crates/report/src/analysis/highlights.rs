//! The cards of the page: a few figures that most readers ask for first, selected from the rows of a run.

use syncscope_core::{Case, Row, Run};

use super::row_query::{
    CPU_BARRIERS, CPU_LOCKS, Choice, GRID_BARRIERS, HANDOFFS, MachineSize, RowQuery, any, is_one_block, one_actor,
};

/// One card.
#[derive(Debug)]
pub(crate) struct Highlight {
    pub(crate) title: &'static str,
    pub(crate) query: RowQuery,
}

/// The cards, in the order in which the page shows them.
pub(crate) const HIGHLIGHTS: [Highlight; 12] = {
    use Choice::{FewestActors, MostActors};
    const SYNCTHREADS: &[&str] = &["gpu.block.syncthreads"];
    [
        highlight("Atomic add, alone", &["cpu.atomic.add"], one_actor, FewestActors),
        highlight("Atomic add, contended", &["cpu.atomic.add"], several_actors, MostActors),
        highlight("Barrier of all threads", CPU_BARRIERS, several_actors, MostActors),
        highlight("Lock, alone", CPU_LOCKS, one_actor, FewestActors),
        highlight("Lock, contended", CPU_LOCKS, several_actors, MostActors),
        highlight("Core to core", HANDOFFS, any, FewestActors),
        highlight("__syncthreads, one warp", SYNCTHREADS, |case, _| is_one_block(case, 32), FewestActors),
        highlight("__syncthreads, full block", SYNCTHREADS, |case, _| is_one_block(case, 1024), FewestActors),
        highlight("GPU atomic add, one warp", &["gpu.atomic.add"], |case, _| is_one_block(case, 32), FewestActors),
        highlight("GPU atomic add, contended", &["gpu.atomic.add"], several_actors, MostActors),
        highlight("Grid barrier", GRID_BARRIERS, any, FewestActors),
        highlight("Kernel launch", &["gpu.launch.stream"], any, FewestActors),
    ]
};

const fn highlight(
    title: &'static str,
    primitives: &'static [&'static str],
    fits: fn(&Case, MachineSize) -> bool,
    choice: Choice,
) -> Highlight {
    Highlight { title, query: RowQuery { primitives, fits, choice } }
}

fn several_actors(case: &Case, _: MachineSize) -> bool {
    case.actors() > 1
}

impl Highlight {
    /// The index of the row on this card; a skipped row counts, so that the card shows it.
    pub(crate) fn find(&self, run: &Run, rows: &[Row]) -> Option<usize> {
        self.query.select(rows.iter().enumerate(), MachineSize::of(&run.machine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Dtype, Layout, Verdict};
    use syncscope_core::{Form, Group};

    fn row(primitive: &str, dtype: Dtype, layout: Layout, threads: u32) -> Row {
        let case = Case { dtype: Some(dtype), layout: Some(layout), threads: Some(threads), ..Case::new(primitive) };
        Row::unmeasured(case, Verdict::Resolved)
    }

    fn find(title: &str, rows: &[Row], hardware_threads: u32) -> Option<usize> {
        let mut run = crate::testing::run();
        run.machine.cpu.hardware_threads = hardware_threads;
        HIGHLIGHTS.iter().find(|highlight| highlight.title == title).unwrap().find(&run, rows)
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
        assert_eq!(find("Lock, alone", &rows, 0), None);
        let contended = |rows, hardware_threads| find("Atomic add, contended", rows, hardware_threads);
        assert_eq!(contended(&rows, 0), Some(4));
        assert_eq!(contended(&rows, 8), Some(3), "16 threads do not fit 8 hardware threads");
        assert_eq!(contended(&rows[4..], 1), Some(0), "an oversubscribed row is better than none");
    }

    #[test]
    fn the_empty_kernel_is_preferred_in_any_order_of_rows() {
        let launch = |group: &str| {
            let case = Case { group: Some(Group::of_word(group)), ..Case::new("gpu.launch.stream") };
            Row::unmeasured(case, Verdict::Resolved)
        };
        assert_eq!(find("Kernel launch", &[launch("20 us"), launch("empty"), launch("5 us")], 0), Some(1));
        // Without one, the shortest.
        assert_eq!(find("Kernel launch", &[launch("5 us"), launch("20 us")], 0), Some(0));
        assert_eq!(find("Kernel launch", &[launch("20 us"), launch("5 us")], 0), Some(1));
    }

    #[test]
    fn the_first_primitive_of_the_list_is_preferred() {
        let rows = [
            row("cpu.lock.pthread_mutex", Dtype::I32, Layout::Shared, 1),
            row("cpu.lock.parking_lot_mutex", Dtype::I32, Layout::Shared, 1),
        ];
        assert_eq!(find("Lock, alone", &rows, 0), Some(1));
    }

    #[test]
    fn a_run_of_openmp_alone_has_a_barrier() {
        let rows = [row("cpu.barrier.openmp", Dtype::I32, Layout::Shared, 8)];
        assert_eq!(find("Barrier of all threads", &rows, 8), Some(0));
    }
}
