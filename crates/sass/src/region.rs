//! The timed region of a kernel: the code between the clock reads around its loop.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use crate::arch::Arch;
use crate::cubin::Kernel;
use crate::error::SassError;
use crate::instruction::{Clock, Instruction, position};
use crate::operands::with_registers;

/// The instructions between two clock reads.
#[derive(Debug, Clone)]
pub struct Region {
    arch: Arch,
    kernel: String,
    inline: Vec<Instruction>,
    /// The timed loop within `inline`, from its branch target to the branch back.
    body: Range<usize>,
    out_of_line: Vec<Vec<Instruction>>,
}

/// Finds the timed region: the instructions between the last 64-bit read of the cycle counter before a loop and the
/// first such read after it. (syncscope's kernels read the whole counter only there, and half of it elsewhere.)
///
/// Loops within the timed loop belong to it, and so do clock reads in its body.
///
/// # Errors
/// If there is no such loop, or if several loops have clock reads of their own.
pub fn timed_region(kernel: &Kernel) -> Result<Region, SassError> {
    let instructions = kernel.instructions();
    let bodies = timed_loops(instructions);
    let range = widest(kernel, &bodies)?;
    let timed = bodies.iter().filter(|body| range.start <= body.start && body.end <= range.end);
    let body = timed.clone().map(|body| body.start).min().unwrap_or(range.start)
        ..timed.map(|body| body.end).max().unwrap_or(range.end);
    Ok(Region {
        arch: kernel.arch(),
        kernel: kernel.name().to_owned(),
        body: body.start - range.start..body.end - range.start,
        out_of_line: out_of_line(instructions, &range),
        inline: instructions[range].to_vec(),
    })
}

/// The span between clock reads that contains all other spans with a loop.
fn widest(kernel: &Kernel, bodies: &[Range<usize>]) -> Result<Range<usize>, SassError> {
    let instructions = kernel.instructions();
    let reads = clock_reads(instructions);
    let spans: Vec<Range<usize>> = bodies.iter().filter_map(|body| enclosing(&reads, body)).collect();
    let Some(widest) = spans.iter().max_by_key(|span| span.len()) else {
        return Err(SassError::NoTimedLoop(kernel.name().to_owned(), reads.len()));
    };
    match spans.iter().find(|span| !contains(widest, span)) {
        None => Ok(widest.clone()),
        Some(other) => {
            let [first, second] = [widest.start.min(other.start), widest.start.max(other.start)];
            let [first, second] = [first, second].map(|index| instructions[index].offset);
            Err(SassError::SeveralTimedLoops(kernel.name().to_owned(), first, second))
        }
    }
}

impl Region {
    /// The instructions between the clock reads, in the order of their addresses, each once.
    pub fn instructions(&self) -> &[Instruction] {
        &self.inline
    }

    /// The offset behind the last instruction between the clock reads.
    pub fn end(&self) -> u64 {
        self.inline.last().map_or(0, |last| last.offset + 1)
    }

    /// The instructions that the timed loop repeats, without the loop-invariant ones that the compiler moved in front
    /// of it.
    pub fn body(&self) -> &[Instruction] {
        &self.inline[self.body.clone()]
    }

    /// Whether every iteration executes each instruction of [`Self::body`] once: the loop has one path and no inner
    /// loop. An out-of-line path for a divergent warp does not count as another path.
    pub fn is_straight(&self) -> bool {
        let is_branch = |found: &Instruction| match found.opcode {
            "BRA" => !found.mnemonic.starts_with("BRA.DIV"),
            "CALL" | "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" | "EXIT" | "RET" => true,
            _ => false,
        };
        // The last instruction is the branch back.
        self.body().split_last().is_some_and(|(_, body)| !body.iter().any(is_branch))
    }

    /// Blocks elsewhere in the kernel that the region branches to and that branch back, and functions that it calls:
    /// mostly slow paths that the compiler expects to be rare.
    pub fn out_of_line(&self) -> &[Vec<Instruction>] {
        &self.out_of_line
    }

    /// How many instructions in the body of the timed loop match `pattern`; see [`Instruction::matches`].
    pub fn count(&self, pattern: &str) -> usize {
        self.body().iter().filter(|instruction| instruction.matches(pattern)).count()
    }

    /// How many instructions, including those out of line, have an unknown operation.
    pub fn unknown(&self) -> usize {
        self.blocks().flatten().filter(|instruction| !instruction.is_known()).count()
    }

    /// The disassembly, one instruction a line, with the registers it writes and reads.
    pub fn listing(&self) -> String {
        let mut text = format!("kernel {}: {} instructions between the clock reads", self.kernel, self.inline.len());
        // Writing to a String cannot fail.
        let _ = match self.unknown() {
            0 => writeln!(text),
            unknown => writeln!(text, ", {unknown} unknown to the decoder"),
        };
        for (index, block) in self.blocks().enumerate() {
            if index > 0 {
                text.push_str("out of line:\n");
            }
            for instruction in block {
                let _ = writeln!(text, "{}", with_registers(instruction, self.arch));
            }
        }
        text
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Vec<Instruction>> {
        std::iter::once(&self.inline).chain(&self.out_of_line)
    }
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The positions at which the whole cycle counter is read.
fn clock_reads(instructions: &[Instruction]) -> Vec<usize> {
    let is_read = |index: &usize| instructions[*index].clock == Some(Clock::Cycles64);
    (0..instructions.len()).filter(is_read).collect()
}

/// The loops that may be the timed one. A harness loop that waits for the next step of the global timer is left out: it
/// is separate from the loops between clock reads that do not read this timer. Inside the timed loop, operations may
/// wait by the global timer too.
fn timed_loops(instructions: &[Instruction]) -> Vec<Range<usize>> {
    let all = loops(instructions);
    let reads = clock_reads(instructions);
    let reads_timer = |body: &Range<usize>| {
        instructions[body.clone()].iter().any(|instruction| instruction.clock == Some(Clock::GlobalTimer))
    };
    let is_other = |body: &&Range<usize>| enclosing(&reads, body).is_some() && !reads_timer(body);
    let others: Vec<Range<usize>> = all.iter().filter(is_other).cloned().collect();
    let meets = |body: &Range<usize>| others.iter().any(|other| other.start < body.end && body.start < other.end);
    all.into_iter().filter(|body| others.is_empty() || meets(body) || !reads_timer(body)).collect()
}

/// The bodies of all loops, from the branch target to the branch back, both included.
fn loops(instructions: &[Instruction]) -> Vec<Range<usize>> {
    let body = |(index, instruction): (usize, &Instruction)| {
        // A branch to itself is the padding after every kernel.
        let target = instruction.target.filter(|&target| instruction.opcode == "BRA" && target < instruction.offset)?;
        Some(position(instructions, target)?..index + 1)
    };
    instructions.iter().enumerate().filter_map(body).collect()
}

/// The span between the nearest clock reads on both sides of a loop.
fn enclosing(reads: &[usize], body: &Range<usize>) -> Option<Range<usize>> {
    let start = reads.iter().copied().rfind(|&read| read < body.start)?;
    let stop = reads.iter().copied().find(|&read| read >= body.end)?;
    Some(start + 1..stop)
}

/// The blocks that the region branches to and that lead back into it, and the functions it calls.
fn out_of_line(instructions: &[Instruction], region: &Range<usize>) -> Vec<Vec<Instruction>> {
    let entries: BTreeSet<(usize, bool)> = instructions[region.clone()]
        .iter()
        .filter(|instruction| matches!(instruction.opcode, "BRA" | "CALL"))
        .filter_map(|branch| Some((position(instructions, branch.target?)?, branch.opcode == "CALL")))
        .filter(|(entry, _)| !region.contains(entry) && *entry != region.end)
        .collect();
    let block = |(entry, called)| returning_block(instructions, region, entry, called);
    entries.into_iter().filter_map(block).collect()
}

/// The straight path from `entry` to the branch back into the region, or to a function's return.
fn returning_block(
    instructions: &[Instruction],
    region: &Range<usize>,
    entry: usize,
    called: bool,
) -> Option<Vec<Instruction>> {
    let last = entry + instructions[entry..].iter().position(ends_path)?;
    let returns = if called {
        instructions[last].opcode == "RET"
    } else {
        let back = position(instructions, instructions[last].target?)?;
        region.contains(&back) || back == region.end
    };
    returns.then(|| instructions[entry..=last].to_vec())
}

/// Whether execution never continues after this instruction.
fn ends_path(instruction: &Instruction) -> bool {
    let unconditional = instruction.predicate.is_none();
    unconditional && (instruction.mnemonic == "BRA" || matches!(instruction.opcode, "EXIT" | "RET" | "BRX" | "BRXU"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BACK, CALL, CLOCK, CLOCK_LOW, EXIT, FORWARD, NOP, RED, RET, TIMER, kernel};

    #[test]
    fn the_region_lies_between_the_reads_around_the_loop() {
        // Warm-up with a loop of its own, start, loop, stop.
        let kernel = kernel(&[RED, BACK(1), CLOCK, NOP, RED, RED, BACK(2), CLOCK, EXIT]);
        let region = timed_region(&kernel).unwrap();
        assert_eq!(region.instructions().len(), 4);
        assert_eq!(region.body().len(), 3);
        assert_eq!((region.count("REDG"), region.count("NOP")), (2, 0), "what is not repeated does not count");
        assert_eq!(region.unknown(), 0);
        assert!(region.is_straight());
    }

    #[test]
    fn inner_loops_and_reads_in_the_body_belong_to_the_region() {
        let kernel = kernel(&[CLOCK, NOP, BACK(1), CLOCK, RED, BACK(1), CLOCK_LOW, BACK(6), CLOCK, EXIT]);
        let region = timed_region(&kernel).unwrap();
        assert_eq!(region.instructions().len(), 7);
        assert!(!region.is_straight(), "inner loops repeat instructions");
    }

    #[test]
    fn waiting_for_the_global_timer_is_not_the_timed_loop() {
        let kernel = kernel(&[CLOCK, TIMER, BACK(1), CLOCK, RED, BACK(1), CLOCK, TIMER, BACK(1), CLOCK, EXIT]);
        let region = timed_region(&kernel).unwrap();
        assert_eq!(region.instructions()[0].offset, 4 * 16);
        assert_eq!(region.instructions().len(), 2);
    }

    #[test]
    fn an_operation_may_read_the_global_timer() {
        let of = |words: &[u128]| timed_region(&kernel(words)).unwrap().body().len();
        assert_eq!(of(&[CLOCK, TIMER, RED, BACK(2), CLOCK, EXIT]), 3, "the only loop");
        assert_eq!(of(&[CLOCK, RED, TIMER, BACK(1), RED, BACK(4), CLOCK, EXIT]), 5, "by an inner loop");
        let beside = [TIMER, BACK(1), CLOCK, RED, BACK(1), TIMER, BACK(3), CLOCK, TIMER, BACK(1), EXIT];
        assert_eq!(of(&beside), 4, "beside an inner loop without it");
    }

    #[test]
    fn slow_paths_that_come_back_are_listed_apart() {
        // The branch at 1 leads to 6, and 7 back to 2; the branch at 3 leads to the end.
        let kernel = kernel(&[CLOCK, FORWARD(4), RED, FORWARD(4), BACK(2), CLOCK, NOP, BACK(5), EXIT]);
        let region = timed_region(&kernel).unwrap();
        assert_eq!(region.instructions().len(), 4);
        assert_eq!(region.out_of_line().iter().map(Vec::len).collect::<Vec<_>>(), [2]);
        assert!(region.listing().contains("\nout of line:\n0x0060: NOP"), "{}", region.listing());
    }

    #[test]
    fn functions_that_are_called_are_listed_apart() {
        let kernel = kernel(&[CLOCK, CALL(3), BACK(1), CLOCK, EXIT, NOP, RET, NOP]);
        let region = timed_region(&kernel).unwrap();
        assert_eq!((region.count("CALL"), region.count("NOP")), (1, 0));
        assert_eq!(region.out_of_line()[0].iter().map(|found| found.opcode).collect::<Vec<_>>(), ["NOP", "RET"]);
    }

    #[test]
    fn without_one_timed_loop_there_is_no_region() {
        let error = |words: &[u128]| timed_region(&kernel(words)).unwrap_err().to_string();
        assert_eq!(
            error(&[CLOCK, RED, CLOCK, EXIT]),
            "kernel sample has no loop between two reads of a clock (2 reads found)"
        );
        assert!(error(&[CLOCK_LOW, RED, BACK(1), CLOCK_LOW, EXIT]).contains("(0 reads found)"));
        assert!(
            error(&[CLOCK, RED, BACK(1), CLOCK, RED, BACK(1), CLOCK])
                .contains("several loops, at 0x0010 and at 0x0040")
        );
        assert!(error(&[]).contains("no loop"));
    }
}
