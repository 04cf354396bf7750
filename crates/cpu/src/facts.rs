//! By how much the costs of primitives differ between two runs on one machine, beyond what the interval within a run shows.
//!
//! Another run has other memory, other threads and, on a virtual machine, other neighbours and another clock outside of its
//! cores. The values are standard deviations relative to the cost, rounded up. They were seen in pairs of runs minutes apart
//! on guests with 2 and with 16 virtual CPUs: `docs/notes/2026-11-22-runs-differ.md`. On a machine of one's own they are
//! probably smaller. A run with `--repeat` measures its own and uses that instead.

use syncscope_core::{ActorRule, Case, Layout, RunEffect};

/// Threads that share nothing, each on a core of its own: the clock of the cores.
const OF_THE_CORE: RunEffect = RunEffect { ns: 0.03, cycles: 0.01 };

/// Cache lines that move between cores: the clock of the rest, and which cores the threads are on.
const BETWEEN_CORES: RunEffect = RunEffect { ns: 0.06, cycles: 0.05 };

/// Elements closer than this may share a line; processors fetch lines in pairs.
const PAIR_OF_LINES: usize = 128;

/// Threads contend for what lies in one cache line, of 64 bytes on most processors: false sharing.
pub(crate) const CONTENDED_IN_A_LINE: ActorRule = ActorRule::MedianUnlessWithin(64);

/// Of primitives at which threads meet or contend.
pub(crate) fn between_threads(case: &Case) -> RunEffect {
    if case.has_one_thread() { OF_THE_CORE } else { BETWEEN_CORES }
}

/// Of operations on variables, which threads share or not.
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
