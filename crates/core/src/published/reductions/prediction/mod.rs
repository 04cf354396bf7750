//! Whether the costs of primitives predict which variant is the fastest, and by how much.
//!
//! For each size the reference is the fastest variant whose synchronization consists of operations of the catalogue.
//! For every other such variant of the class, the measured difference of the two times is compared with the difference
//! of their terms (see [`super::terms`]). What both have in common, reading the vector above all, drops out.
//!
//! | file | contents |
//! |---|---|
//! | `priced` | a variant with the costs of its terms, and the difference of two |
//! | `difference` | a predicted difference beside the measured one |
//! | `explanation` | the terms that differ, as text |
//! | `why_not` | what the terms leave out, where a prediction is off |
//! | `decision` | what the costs recommend |
//! | `needed` | the costs that predictions need and use |

mod decision;
mod difference;
mod explanation;
mod needed;
mod priced;
mod why_not;

pub use decision::{Decision, decisions};
pub use difference::{Agreement, Prediction, TOLERANCE, predictions};
pub use needed::{needed_cases, used_costs};
pub use priced::kernel_us;

/// Rows and costs of an invented device.
#[cfg(test)]
mod testing {
    use super::super::costs::tests::measured;
    use super::super::costs::{CostSource, Costs};
    use super::super::row::ReductionRow;
    use super::super::row::tests::row;
    use crate::model::case::{Case, Dtype, Layout, Mode, Scope, Space};
    use crate::model::group::Group;
    use crate::run::row::Row;

    pub(super) const SIZE: u64 = 1 << 20;

    pub(super) fn launch(how: &str, blocks: u32, ns: f64) -> Row {
        let group = Some(Group::KernelUs(5));
        measured(Case { blocks: Some(blocks), threads: Some(512), group, ..Case::new(how) }, ns)
    }

    fn on_grid(id: &str, ns: f64) -> Row {
        measured(Case { blocks: Some(264), threads: Some(512), ..Case::new(id) }, ns)
    }

    /// Costs as on an H200.
    pub(super) fn costs() -> Costs {
        let reduce = Case { blocks: Some(1), threads: Some(32), ..Case::new("gpu.reduce.max") };
        let reduce = Case { dtype: Some(Dtype::I32), mode: Some(Mode::Latency), ..reduce };
        let rows = vec![
            launch("gpu.launch.stream", 264, 2700.0),
            launch("gpu.launch.stream", 1, 2600.0),
            launch("gpu.launch.cooperative", 264, 3000.0),
            launch("gpu.launch.graph", 264, 700.0),
            launch("gpu.launch.graph", 1, 500.0),
            on_grid("gpu.grid.cooperative", 1300.0),
            measured(Case { blocks: Some(1), threads: Some(512), ..Case::new("gpu.block.syncthreads") }, 22.0),
            measured(reduce, 22.0),
            measured(maximum(1, 32, Mode::Latency), 100.0),
        ];
        Costs::of(rows, CostSource::Here)
    }

    pub(super) fn maximum(blocks: u32, threads: u32, mode: Mode) -> Case {
        Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Shared),
            blocks: Some(blocks),
            threads: Some(threads),
            scope: Some(Scope::Device),
            space: Some(Space::Global),
            mode: Some(mode),
            ..Case::new("gpu.atomic.max")
        }
    }

    /// Times made of a streaming term and the costs, some with a deviation.
    pub(super) fn rows() -> Vec<ReductionRow> {
        vec![
            row("device.atomic_graph_chain", SIZE, 4000.0 + 700.0),
            row("device.atomic", SIZE, 4000.0 + 2700.0),
            row("device.kernel_boundary", SIZE, 4000.0 + 5300.0 + 266.0),
            row("device.grid_cooperative", SIZE, 4000.0 + 4300.0 + 266.0 + 1500.0),
            row("device.cub", SIZE, 9000.0),
        ]
    }
}
