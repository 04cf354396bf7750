//! Does a clock read wait for what is timed?

use super::graph::Graph;
use super::scoreboards::{Scoreboards, Sets};
use crate::cubin::Kernel;
use crate::instruction::{Clock, Instruction};
use crate::region::Region;

/// An instruction whose result may still be on its way when the clock is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unawaited {
    /// Offset of the instruction.
    pub offset: u64,
    /// Its mnemonic.
    pub mnemonic: String,
    /// The barrier that is released when its result is written.
    pub barrier: u8,
}

/// The instructions of a timed region whose result may be outstanding when the clock is read at its end.
///
/// Instructions that set no barrier for a result are not named: nothing can wait for the end of a store or of a reduction
/// without a result, and the results of arithmetic are there after a fixed time.
#[must_use]
pub fn unawaited_results(kernel: &Kernel, region: &Region) -> Vec<Unawaited> {
    let instructions = kernel.instructions();
    let graph = Graph::of(instructions);
    let scoreboards = Scoreboards::of(instructions, &graph);
    let is_closing = |found: &Instruction| found.offset >= region.end() && found.clock == Some(Clock::Cycles64);
    let Some(read) = instructions.iter().position(is_closing) else { return Vec::new() };
    let mut outstanding = scoreboards.before(read).clone();
    outstanding.wait(instructions[read].control);
    let is_timed = |offset: u64| {
        let timed = region.instructions().iter().chain(region.out_of_line().iter().flatten());
        timed.into_iter().any(|instruction| instruction.offset == offset)
    };
    outstanding
        .all()
        .filter(|(_, index, sets)| *sets == Sets::Write && is_timed(instructions[*index].offset))
        .map(|(barrier, index, _)| Unawaited {
            offset: instructions[index].offset,
            mnemonic: instructions[index].mnemonic.clone(),
            barrier,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::region::timed_region;
    use crate::samples::{BACK, CLOCK, EXIT, NOP, RED, kernel};

    fn with(raw: u128, change: impl FnOnce(Control) -> Control) -> u128 {
        raw & !Control::MASK | change(Control::of(raw)).bits()
    }

    fn sets(raw: u128, barrier: u8) -> u128 {
        with(raw, |control| Control { write_barrier: Some(barrier), ..control })
    }

    fn waits(raw: u128, barrier: u8) -> u128 {
        with(raw, |control| Control { wait_mask: 1 << barrier, ..control })
    }

    /// `@P0 BRA` back.
    const fn again(distance: i64) -> u128 {
        BACK(distance) & !(7 << 12)
    }

    fn unawaited(words: &[u128]) -> Vec<u64> {
        let kernel = kernel(words);
        let region = timed_region(&kernel).unwrap();
        unawaited_results(&kernel, &region).into_iter().map(|found| found.offset).collect()
    }

    #[test]
    fn a_result_that_nothing_waits_for_is_named() {
        let load = sets(RED, 2);
        assert_eq!(unawaited(&[CLOCK, load, again(1), CLOCK, EXIT]), [0x10]);
        assert_eq!(unawaited(&[CLOCK, load, again(1), waits(CLOCK, 2), EXIT]), [0; 0], "the read waits itself");
        assert_eq!(unawaited(&[CLOCK, load, waits(NOP, 2), again(2), CLOCK, EXIT]), [0; 0], "the loop waits");
        assert_eq!(unawaited(&[CLOCK, load, waits(NOP, 3), again(2), CLOCK, EXIT]), [0x10], "for something else");
        assert_eq!(unawaited(&[CLOCK, RED, again(1), CLOCK, EXIT]), [0; 0], "it has no result");
    }

    #[test]
    fn what_waits_only_for_the_result_of_the_iteration_before_leaves_the_last_one() {
        assert_eq!(unawaited(&[CLOCK, waits(NOP, 1), sets(RED, 1), again(2), CLOCK, EXIT]), [0x20]);
    }

    #[test]
    fn what_was_outstanding_before_the_region_does_not_count() {
        assert_eq!(unawaited(&[sets(RED, 1), CLOCK, RED, again(1), CLOCK, EXIT]), [0; 0]);
    }
}
