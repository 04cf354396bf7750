//! The paths through a kernel, and the barriers that are outstanding at each instruction.
//!
//! [`Graph`] has the successors of each instruction. [`outstanding_before`] follows the control field's six barriers
//! along these paths and finds the instructions that have set a barrier which nothing has waited for yet.
//! [`unawaited_results`] asks for them at the clock reads.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::bits::Bits as _;
use crate::cubin::Kernel;
use crate::instruction::{Clock, Control, Instruction, position};
use crate::region::Region;

/// The control flow of a kernel, by instruction index.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    successors: Vec<Vec<usize>>,
    /// The basic block of each instruction.
    blocks: Vec<Range<usize>>,
}

impl Graph {
    /// The graph of a kernel's instructions, including the functions it calls. Returns are not followed: a call
    /// continues after itself, with whatever the function leaves outstanding.
    pub(crate) fn of(instructions: &[Instruction]) -> Self {
        let mut begins = vec![false; instructions.len()];
        if let Some(first) = begins.first_mut() {
            *first = true;
        }
        let mut successors = Vec::with_capacity(instructions.len());
        for (index, instruction) in instructions.iter().enumerate() {
            let target = instruction.target.and_then(|target| position(instructions, target));
            let (may_go_on, may_branch, ends_block) = exits(instruction, target.is_some());
            if let Some(target) = target {
                begins[target] = true;
            }
            let next = Some(index + 1).filter(|next| *next < instructions.len());
            if let Some(next) = next.filter(|_| ends_block) {
                begins[next] = true;
            }
            successors.push(next.filter(|_| may_go_on).into_iter().chain(target.filter(|_| may_branch)).collect());
        }
        let starts: Vec<usize> = (0..begins.len()).filter(|&at| begins[at]).collect();
        let ends = starts.iter().skip(1).copied().chain([begins.len()]);
        let blocks = starts.iter().zip(ends).flat_map(|(&start, end)| std::iter::repeat_n(start..end, end - start));
        Self { successors, blocks: blocks.collect() }
    }

    /// The instructions that may follow an instruction.
    pub(crate) fn successors(&self, index: usize) -> &[usize] {
        &self.successors[index]
    }

    /// The instructions that may come before an instruction.
    pub(crate) fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> {
        (0..self.successors.len()).filter(move |&other| self.successors[other].contains(&index))
    }

    /// The basic block of an instruction.
    pub(crate) fn block(&self, index: usize) -> Range<usize> {
        self.blocks[index].clone()
    }
}

/// Whether an instruction is executed only by some threads, or not always.
fn is_conditional(instruction: &Instruction) -> bool {
    // A second predicate; number 7 without negation is always true.
    let second = instruction.raw.field(87, 4) != 7;
    instruction.predicate.is_some() || second
}

/// Whether the next instruction may follow this one, whether its target may, and whether a block ends here.
fn exits(instruction: &Instruction, has_target: bool) -> (bool, bool, bool) {
    match instruction.opcode {
        // BRA.DIV and BRA.U have other conditions than the two predicates.
        "BRA" => (is_conditional(instruction) || instruction.mnemonic != "BRA", true, true),
        "CALL" => (true, true, true),
        "EXIT" => (is_conditional(instruction), false, true),
        "RET" | "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" => (instruction.predicate.is_some(), false, true),
        "BSYNC" | "BREAK" => (true, false, true),
        "WARPSYNC" => (true, true, has_target),
        // The target of BSSY is where the threads meet again; BSYNC leads there.
        _ => (true, false, false),
    }
}

/// What the release of a barrier means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sets {
    /// The result is written.
    Write,
    /// The operands have been read.
    Read,
}

/// The number of barriers.
const BARRIERS: usize = 6;

/// Instructions, by index, that have set a barrier which nothing has waited for since; one set per barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outstanding([BTreeSet<(usize, Sets)>; BARRIERS]);

impl Outstanding {
    /// Passes an instruction: it waits first, then sets.
    pub(crate) fn pass(&mut self, index: usize, control: Control) {
        self.wait(control);
        let sets = [(control.write_barrier, Sets::Write), (control.read_barrier, Sets::Read)];
        for (barrier, kind) in sets {
            if let Some(set) = barrier.and_then(|barrier| self.0.get_mut(usize::from(barrier))) {
                set.insert((index, kind));
            }
        }
    }

    /// Clears the barriers that an instruction waits for.
    pub(crate) fn wait(&mut self, control: Control) {
        for (barrier, set) in (0..).zip(&mut self.0) {
            if control.waits_for(barrier) {
                set.clear();
            }
        }
    }

    /// The instructions that have set this barrier, and what its release means.
    pub(crate) fn of(&self, barrier: u8) -> impl Iterator<Item = (usize, Sets)> {
        self.0.get(usize::from(barrier)).into_iter().flatten().copied()
    }

    /// Everything that is outstanding: barrier, instruction and what the release means.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u8, usize, Sets)> {
        (0..).zip(&self.0).flat_map(|(barrier, set)| set.iter().map(move |&(index, kind)| (barrier, index, kind)))
    }

    fn join(&mut self, other: &Self) -> bool {
        let mut grown = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            let before = own.len();
            own.extend(other);
            grown |= own.len() > before;
        }
        grown
    }
}

/// What is outstanding before each instruction waits for anything, on any path. Paths are followed until nothing new is
/// found.
pub(crate) fn outstanding_before(instructions: &[Instruction], graph: &Graph) -> Vec<Outstanding> {
    let mut before = vec![Outstanding::default(); instructions.len()];
    let mut open: BTreeSet<usize> = (0..instructions.len()).collect();
    while let Some(index) = open.pop_first() {
        let mut after = before[index].clone();
        after.pass(index, instructions[index].control);
        for &next in graph.successors(index) {
            if before[next].join(&after) {
                open.insert(next);
            }
        }
    }
    before
}

/// The instructions of a timed region whose result may still be outstanding when the clock is read at its end.
///
/// Instructions that set no barrier for a result are left out: nothing can wait for the end of a store or of a
/// reduction without a result, and results of arithmetic are ready after a fixed time.
pub fn unawaited_results<'a>(kernel: &'a Kernel, region: &Region) -> Vec<&'a Instruction> {
    let instructions = kernel.instructions();
    let is_closing = |found: &Instruction| found.offset >= region.end() && found.clock == Some(Clock::Cycles64);
    let Some(read) = instructions.iter().position(is_closing) else { return Vec::new() };
    let mut outstanding = outstanding_before(instructions, &Graph::of(instructions)).swap_remove(read);
    outstanding.wait(instructions[read].control);
    let timed: BTreeSet<u64> = region.blocks().flatten().map(|instruction| instruction.offset).collect();
    let results =
        outstanding.all().filter(|(_, _, sets)| *sets == Sets::Write).map(|(_, index, _)| &instructions[index]);
    results.filter(|result| timed.contains(&result.offset)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::Control;
    use crate::region::timed_region;
    use crate::testing::{BACK, CALL, CLOCK, EXIT, FORWARD, NOP, RED, RET, kernel};

    #[test]
    fn blocks_begin_at_targets_and_after_branches() {
        let kernel = kernel(&[CLOCK, NOP, RED, BACK(2), CLOCK, FORWARD(1), RED, EXIT]);
        let graph = Graph::of(kernel.instructions());
        // An unconditional branch has one successor.
        assert_eq!(graph.successors(3), [1]);
        assert_eq!(graph.successors(5), [7]);
        assert_eq!(graph.successors(7), [0; 0]);
        assert_eq!((graph.block(0), graph.block(2), graph.block(4)), (0..1, 1..4, 4..6));
        assert_eq!(graph.predecessors(1).collect::<Vec<_>>(), [0, 3]);
    }

    #[test]
    fn calls_go_on_after_themselves() {
        let kernel = kernel(&[CALL(2), RED, EXIT, NOP, RET]);
        let graph = Graph::of(kernel.instructions());
        assert_eq!(graph.successors(0), [1, 3]);
        assert_eq!(graph.successors(4), [0; 0]);
    }

    fn with(raw: u128, change: impl FnOnce(Control) -> Control) -> u128 {
        raw & !Control::MASK | change(Control::of(raw)).bits()
    }

    fn sets(raw: u128, barrier: u8) -> u128 {
        with(raw, |control| Control { write_barrier: Some(barrier), ..control })
    }

    fn waits(raw: u128, barrier: u8) -> u128 {
        with(raw, |control| Control { wait_mask: 1 << barrier, ..control })
    }

    /// `@P0 BRA` back by `distance` instructions.
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
