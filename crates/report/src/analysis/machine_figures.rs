//! The costs that the drawing shows at each part of the machine.

use syncscope_core::Evidence;

use crate::RunData;
use crate::analysis::ladder::rung;
use crate::figure::{self, Cost};

/// A part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Cpu,
    /// Between CPU and GPU.
    HostLink,
    Gpu,
    /// Between GPUs.
    GpuLink,
}

/// One measured cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineFigure {
    pub(crate) part: Part,
    /// `76.6 ns`, `~3.07 µs`.
    pub(crate) figure: String,
    /// What takes so long.
    pub(crate) words: String,
    /// The index of its row.
    pub(crate) row: usize,
}

/// The rungs of the cost ladder that are drawn: the part, the id of the rung, and what the figure is.
const DRAWN: [(Part, &str, &str); 18] = [
    (Part::Cpu, "handoff.core", "hand-off between hardware threads of a core"),
    (Part::Cpu, "handoff.l2", "hand-off within an L2 cache"),
    (Part::Cpu, "handoff.l3", "hand-off within an L3 cache"),
    (Part::Cpu, "handoff.node", "hand-off within a NUMA node"),
    (Part::Cpu, "handoff.package", "hand-off between NUMA nodes of a package"),
    (Part::Cpu, "handoff.across", "hand-off across packages"),
    (Part::Cpu, "handoff.close", "hand-off of a close pair"),
    (Part::Cpu, "wake", "to wake a sleeping thread"),
    (Part::Cpu, "barrier.threads", "barrier of all threads"),
    (Part::HostLink, "host.flag", "flag there and back"),
    (Part::HostLink, "host.launch", "kernel launch and wait"),
    (Part::Gpu, "warp.converged", "barrier of a warp on one path"),
    (Part::Gpu, "block.1024", "barrier of a block of 1,024"),
    (Part::Gpu, "cluster.8", "barrier of a cluster of 8"),
    (Part::Gpu, "grid", "barrier of the grid"),
    (Part::GpuLink, "devices.2", "barrier of 2 GPUs"),
    (Part::GpuLink, "devices.4", "barrier of 4 GPUs"),
    (Part::GpuLink, "devices.8", "barrier of 8 GPUs"),
];

/// The hand-off that is drawn only where the run has no class of pairs.
const WITHOUT_CLASS: &str = "handoff.close";

/// The measured costs of the parts of a machine, in the order of [`DRAWN`]. Rows without a figure are left out.
pub(crate) fn machine_figures(data: &RunData) -> Vec<MachineFigure> {
    let mut has_class = false;
    let mut figures = Vec::new();
    for (part, id, words) in DRAWN {
        let Some(selected) = rung(data, id) else { continue };
        let cost = Cost::of(&data.rows[selected.row]);
        let figure = match selected.median_ns {
            Some(ns) => figure::time(ns),
            None if cost.interval.is_some() || cost.resolved => Cost::alone(&data.rows[selected.row]),
            None => continue,
        };
        if id == WITHOUT_CLASS && has_class {
            continue;
        }
        has_class |= id.starts_with("handoff.");
        // A barrier that the compiler makes a NOP costs a slot of the instruction, and no wait.
        let is_nop = data.rows[selected.row].evidence.as_deref().is_some_and(Evidence::is_nop);
        let note = selected.note.or_else(|| is_nop.then(|| "compiled to a NOP".to_owned()));
        let words = note.map_or_else(|| words.to_owned(), |note| format!("{words} ({note})"));
        figures.push(MachineFigure { part, figure, words, row: selected.row });
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::stats::Interval;
    use syncscope_core::{Case, Group, Nanoseconds, Placement, Row, Verdict};

    fn pair(group: Option<Group>, ns: f64) -> Row {
        let placement = if group.is_some() { Placement::List(vec![0, 1]) } else { Placement::Close };
        let case =
            Case { threads: Some(2), placement: Some(placement), group, ..Case::new("cpu.handoff.cas_pingpong") };
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_within: Some(Interval { low: ns * 0.9, high: ns * 1.1 }),
            ns_interval: Some(Interval { low: ns * 0.8, high: ns * 1.2 }),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    }

    fn drawn(rows: Vec<Row>) -> Vec<(String, String)> {
        machine_figures(&crate::testing::data(rows)).into_iter().map(|one| (one.figure, one.words)).collect()
    }

    #[test]
    fn a_class_of_pairs_replaces_the_close_pair() {
        let close = pair(None, 70.0);
        assert_eq!(drawn(vec![close.clone()]), [("70.0 ns".to_owned(), "hand-off of a close pair".to_owned())]);
        let with_class = drawn(vec![close, pair(Some(Group::named("same_l3")), 50.0)]);
        assert_eq!(with_class, [("50.0 ns".to_owned(), "hand-off within an L3 cache".to_owned())]);
    }

    #[test]
    fn a_barrier_without_an_instruction_says_so() {
        let group = Some(Group::named("converged"));
        let case = Case { threads: Some(32), blocks: Some(1), group, ..Case::new("gpu.warp.syncwarp") };
        let barrier = Row { ns: Some(Nanoseconds(0.505)), ..Row::unmeasured(case, Verdict::Resolved) };
        let with =
            |evidence: &str| drawn(vec![Row { evidence: Some(evidence.into()), ..barrier.clone() }])[0].1.clone();
        assert_eq!(with("NOP 32/64 for WARPSYNC"), "barrier of a warp on one path (compiled to a NOP)");
        assert_eq!(with("WARPSYNC 32/64"), "barrier of a warp on one path");
    }

    #[test]
    fn a_row_without_a_figure_is_no_cost_of_the_machine() {
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..pair(None, 70.0) };
        assert_eq!(drawn(vec![noisy.clone()])[0].0, "~70.0 ns");
        let wide = Row { ns_within: Some(Interval { low: 1.0, high: 700.0 }), ..noisy };
        assert_eq!(drawn(vec![wide]), []);
    }
}
