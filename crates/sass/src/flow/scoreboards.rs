//! The six barriers of the control field: which instructions have set one that is still outstanding.

use std::collections::BTreeSet;

use super::graph::Graph;
use crate::control::Control;
use crate::instruction::Instruction;

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

/// Instructions, by index, whose barrier has been set and not been waited for; one set for each barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outstanding([BTreeSet<(usize, Sets)>; BARRIERS]);

impl Outstanding {
    /// What an instruction changes: it waits first, and then sets.
    pub(crate) fn pass(&mut self, index: usize, control: Control) {
        self.wait(control);
        let sets = [(control.write_barrier, Sets::Write), (control.read_barrier, Sets::Read)];
        for (barrier, kind) in sets {
            if let Some(set) = barrier.and_then(|barrier| self.0.get_mut(usize::from(barrier))) {
                set.insert((index, kind));
            }
        }
    }

    /// Removes what an instruction waits for.
    pub(crate) fn wait(&mut self, control: Control) {
        for (barrier, set) in (0..).zip(&mut self.0) {
            if control.waits_for(barrier) {
                set.clear();
            }
        }
    }

    /// The instructions that have set this barrier.
    pub(crate) fn of(&self, barrier: u8) -> impl Iterator<Item = (usize, Sets)> {
        self.0.get(usize::from(barrier)).into_iter().flatten().copied()
    }

    /// Barrier, instruction and meaning of all that is outstanding.
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

/// What is outstanding before each instruction, on any path.
#[derive(Debug)]
pub(crate) struct Scoreboards {
    before: Vec<Outstanding>,
}

impl Scoreboards {
    /// Follows all paths until nothing new is found.
    pub(crate) fn of(instructions: &[Instruction], graph: &Graph) -> Self {
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
        Self { before }
    }

    /// What is outstanding before an instruction waits for anything.
    pub(crate) fn before(&self, index: usize) -> &Outstanding {
        &self.before[index]
    }
}
