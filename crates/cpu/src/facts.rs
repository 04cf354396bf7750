//! How much costs are assumed to differ between two runs on one machine in one state, beyond what all rows of a class share.
//!
//! A run whose own processes show this difference does not need these values. They are standard deviations relative to the cost,
//! rounded up from pairs of runs minutes apart on guests with 2 and with 16 virtual CPUs: 0.1 % for one thread, 1 % for
//! hand-offs, 2 % for locks and barriers, up to 4 % within a family (`docs/notes/runs-differ.md`).

use syncscope_core::{ActorRule, Case, Layout, RunEffect};

/// Threads that share nothing, each on a core of its own.
const OF_THE_CORE: RunEffect = RunEffect { ns: 0.01, cycles: 0.005 };

/// Cache lines that move between cores.
const BETWEEN_CORES: RunEffect = RunEffect::of_both(0.03);

/// Elements closer than this may share a line; processors fetch lines in pairs.
const PAIR_OF_LINES: usize = 128;

/// Threads contend for what lies in one cache line, of 64 bytes on most processors: false sharing.
pub(crate) const CONTENDED_IN_A_LINE: ActorRule = ActorRule::MedianUnlessWithin(64);

/// The run effect of primitives at which threads meet or contend.
pub fn between_threads(case: &Case) -> RunEffect {
    if case.has_one_thread() { OF_THE_CORE } else { BETWEEN_CORES }
}

/// The run effect of operations on variables, which threads share or not.
pub(crate) fn on_variables(case: &Case) -> RunEffect {
    let is_near = case.bytes_apart().is_some_and(|bytes| bytes < PAIR_OF_LINES);
    if case.layout == Some(Layout::Shared) || is_near { between_threads(case) } else { OF_THE_CORE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Dtype;

    #[test]
    fn lines_that_move_between_cores_differ_more_from_run_to_run() {
        let add = |layout, threads| {
            let case = Case::new("cpu.atomic.add");
            on_variables(&Case { dtype: Some(Dtype::I32), layout: Some(layout), threads: Some(threads), ..case })
        };
        assert_eq!(add(Layout::Shared, 1), OF_THE_CORE, "one thread");
        assert_eq!(add(Layout::Shared, 2), BETWEEN_CORES);
        assert_eq!(add(Layout::Private { stride: 8 }, 2), BETWEEN_CORES, "false sharing");
        assert_eq!(add(Layout::Private { stride: 32 }, 16), OF_THE_CORE);
        let fence = Case { threads: Some(16), ..Case::new("cpu.fence.seq_cst") };
        assert_eq!((on_variables(&fence), between_threads(&fence)), (OF_THE_CORE, BETWEEN_CORES));
    }
}
