//! Successors of instructions, and basic blocks.

use std::ops::Range;

use crate::bits::Bits as _;
use crate::instruction::Instruction;

/// The control flow of a kernel, by index of instruction.
#[derive(Debug)]
pub(crate) struct Graph {
    successors: Vec<Vec<usize>>,
    /// Whether a basic block begins here.
    begins: Vec<bool>,
}

/// How execution goes on after an instruction.
struct Exits {
    /// The next instruction may follow.
    next: bool,
    /// Another one may.
    target: Option<usize>,
    /// A block ends here.
    ends_block: bool,
}

impl Graph {
    /// The graph of the instructions of a kernel, with the functions that it calls. Returns are not followed: a call goes on
    /// after itself, with what the function leaves.
    pub(crate) fn of(instructions: &[Instruction]) -> Self {
        let mut begins = vec![false; instructions.len()];
        if let Some(first) = begins.first_mut() {
            *first = true;
        }
        let mut successors = Vec::with_capacity(instructions.len());
        for (index, instruction) in instructions.iter().enumerate() {
            let exits = exits(instructions, instruction);
            let target = instruction.target.and_then(|target| position(instructions, target));
            if let Some(target) = target {
                begins[target] = true;
            }
            if exits.ends_block && index + 1 < instructions.len() {
                begins[index + 1] = true;
            }
            let next = (exits.next && index + 1 < instructions.len()).then_some(index + 1);
            successors.push(next.into_iter().chain(exits.target).collect());
        }
        Self { successors, begins }
    }

    /// What may follow an instruction.
    pub(crate) fn successors(&self, index: usize) -> &[usize] {
        &self.successors[index]
    }

    /// What may come before an instruction.
    pub(crate) fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> {
        (0..self.successors.len()).filter(move |&other| self.successors[other].contains(&index))
    }

    /// The basic block of an instruction.
    pub(crate) fn block(&self, index: usize) -> Range<usize> {
        let start = (0..=index).rev().find(|&at| self.begins[at]).unwrap_or(0);
        let end = (index + 1..self.begins.len()).find(|&at| self.begins[at]).unwrap_or(self.begins.len());
        start..end
    }
}

fn position(instructions: &[Instruction], offset: u64) -> Option<usize> {
    instructions.binary_search_by_key(&offset, |instruction| instruction.offset).ok()
}

/// Whether an instruction is executed only by some threads, or not always.
fn is_conditional(instruction: &Instruction) -> bool {
    // A second predicate: number 7 without negation is always true.
    let second = instruction.raw.field(87, 4) != 7;
    instruction.predicate.is_some() || second
}

fn exits(instructions: &[Instruction], instruction: &Instruction) -> Exits {
    let target = instruction.target.and_then(|target| position(instructions, target));
    match instruction.opcode {
        // BRA.DIV and BRA.U have other conditions.
        "BRA" => {
            let next = is_conditional(instruction) || instruction.mnemonic != "BRA";
            Exits { next, target, ends_block: true }
        }
        "CALL" => Exits { next: true, target, ends_block: true },
        "EXIT" => Exits { next: is_conditional(instruction), target: None, ends_block: true },
        "RET" | "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" => {
            Exits { next: instruction.predicate.is_some(), target: None, ends_block: true }
        }
        "BSYNC" | "BREAK" => Exits { next: true, target: None, ends_block: true },
        "WARPSYNC" => Exits { next: true, target, ends_block: target.is_some() },
        // The target of BSSY is where the threads meet again; BSYNC leads there.
        _ => Exits { next: true, target: None, ends_block: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{BACK, CALL, CLOCK, EXIT, FORWARD, NOP, RED, RET, kernel};

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
}
