//! The chains: their programs, their repetitions, and the instructions that they must have.

use syncscope_gpu::compile::Program;
use syncscope_sass::{Clock, Cubin, Instruction};

use super::{BASIC_REPEATS, CrosscheckRow, Executor, Form, Operation, REPEAT_DIFFERENCES};

/// Additions in the body of a loop. On an H200 the branch costs 16 cycles while the body fits into the nearest
/// instruction cache, and some 78 from 32 KiB of code on. Bodies of 512, 1,024 and 2,048 additions gave 4.031, 4.016 and 4.032 cycles.
const ADDITIONS_OF_A_LOOP: u64 = 1024;

/// Barriers in the body of a loop. A barrier takes many times as long as an addition, so the branch counts for less.
const BARRIERS_OF_A_LOOP: u64 = 512;

/// Bodies with which to find the end of the instruction cache: densest around 128 KiB, where it ends on a V100 (the
/// paper's 8,192).
const BODIES: [u64; 17] =
    [512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 7680, 8192, 8704, 9216, 10_240, 12_288, 16_384, 24_576, 32_768];

/// The least number of operations by which the longer chain of a growing body exceeds the shorter one.
const MORE_OF_A_BODY: u64 = 32_768;

/// Sizes of a block whose barrier is repeated, from the paper's table 6.
const BLOCKS: [u32; 3] = [32, 256, 1024];

/// Threads of a block that adds: one warp. Each thread has a chain of its own.
const ADDING_THREADS: u32 = 32;

/// A chain: `body` operations in a loop of `iterations` iterations, then `tail` more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) operation: Operation,
    body: u64,
    tail: u64,
    pub(super) iterations: u32,
}

impl Chain {
    pub(super) fn repeats(self) -> u64 {
        self.body * u64::from(self.iterations) + self.tail
    }

    pub(super) fn program(self) -> Program {
        chain_program(self.operation, self.body, self.tail)
    }

    /// `repeats` operations one after the other, executed once. (A loop around them lets the compiler finish in
    /// seconds.)
    const fn straight(operation: Operation, repeats: u64) -> Self {
        Self { operation, body: repeats, tail: 0, iterations: 1 }
    }

    /// `repeats` operations in a loop with this body, and the remainder after it.
    const fn looped(operation: Operation, body: u64, repeats: u64) -> Self {
        Self { operation, body, tail: repeats % body, iterations: (repeats / body) as u32 }
    }

    /// The value that each thread finds at the end.
    pub(super) fn expected(self) -> u32 {
        match self.operation {
            Operation::FloatAddition => self.repeats() as u32,
            _ => 1,
        }
    }
}

/// The program of a chain: its kernel `chain` has `body` operations in a loop and `tail` after it.
pub fn chain_program(operation: Operation, body: u64, tail: u64) -> Program {
    let kind = if operation == Operation::BlockBarrier { "BLOCK_BARRIER" } else { "FLOAT_ADDITION" };
    Program {
        file: "crosscheck.cu",
        text: include_str!("crosscheck.cu"),
        definitions: vec![format!("KIND={kind}"), format!("BODY={body}"), format!("TAIL={tail}")],
    }
}

/// A shorter and a longer chain.
#[derive(Debug, Clone)]
pub(super) struct ChainCase {
    pub(super) case: CrosscheckRow,
    pub(super) few: Chain,
    pub(super) many: Chain,
    pub(super) threads: u32,
}

impl ChainCase {
    fn of(form: Form, few: Chain, many: Chain, threads: u32) -> Self {
        let case = CrosscheckRow {
            executor: Executor::Gpu,
            operation: many.operation,
            form,
            body: many.body,
            blocks: Some(1),
            threads: Some(threads),
            repeats_few: few.repeats(),
            repeats_many: many.repeats(),
            ..CrosscheckRow::default()
        };
        Self { case, few, many, threads }
    }

    fn looped(operation: Operation, threads: u32, difference: u64) -> Self {
        let body = if operation == Operation::FloatAddition { ADDITIONS_OF_A_LOOP } else { BARRIERS_OF_A_LOOP };
        let chain = |repeats| Chain::looped(operation, body, repeats);
        Self::of(Form::Looped, chain(BASIC_REPEATS), chain(BASIC_REPEATS + difference), threads)
    }

    fn straight(difference: u64) -> Self {
        let chain = |repeats| Chain::straight(Operation::FloatAddition, repeats);
        Self::of(Form::Straight, chain(BASIC_REPEATS), chain(BASIC_REPEATS + difference), ADDING_THREADS)
    }

    /// Both chains go through the body at least twice, because it may come from memory the first time.
    fn body(body: u64) -> Self {
        let more = (MORE_OF_A_BODY / body).max(2);
        let chain = |times| Chain::looped(Operation::FloatAddition, body, body * times);
        Self::of(Form::Body, chain(2), chain(2 + more), ADDING_THREADS)
    }

    pub(super) fn programs(&self) -> [Program; 2] {
        [self.few, self.many].map(Chain::program)
    }

    /// The operations between the two clock reads, and all instructions there: `FADD 520 of 524`. `None` if the machine
    /// code is not understood.
    pub(super) fn evidence(&self, cubin: &[u8]) -> Option<String> {
        let name = if self.many.operation == Operation::BlockBarrier { "BAR" } else { "FADD" };
        let cubin = Cubin::parse(cubin).ok()?;
        let region = between_readings(cubin.kernel("chain")?.instructions())?;
        let found = region.iter().filter(|instruction| instruction.opcode == name).count();
        Some(format!("{name} {found} of {}", region.len()))
    }

    /// The known cost of the operation in cycles, if there is one. A dependent float addition takes 4 cycles on Volta
    /// (Jia et al., *Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking*, 2018, table 4.1; the paper's
    /// section 3.3), on Turing (Jia et al., 2019), on Ampere (Abdelkhalik et al., *Demystifying the Nvidia Ampere
    /// Architecture through Microbenchmarking*, 2022) and on Hopper (measured by this project). Bodies beyond the
    /// instruction cache take longer.
    pub(super) fn known_cycles(&self, (major, _): (u32, u32)) -> Option<f64> {
        let is_known = self.case.operation == Operation::FloatAddition && self.case.form == Form::Looped;
        (is_known && (7..=9).contains(&major)).then_some(4.0)
    }
}

/// The instructions between the first and the second read of the whole clock; `None` unless there are exactly two
/// reads.
fn between_readings(instructions: &[Instruction]) -> Option<&[Instruction]> {
    let is_reading = |instruction: &Instruction| instruction.clock == Some(Clock::Cycles64);
    let mut parts = instructions.split(is_reading).skip(1);
    let region = parts.next()?;
    (parts.count() == 1).then_some(region)
}

/// The chain of the check at the start of a run.
pub(super) fn chain_of_a_check() -> ChainCase {
    ChainCase::looped(Operation::FloatAddition, ADDING_THREADS, 25_600)
}

/// All chains, in sets that are measured together, each with a name for people.
pub(super) fn chains(max_threads: u32) -> Vec<(&'static str, Vec<ChainCase>)> {
    let looped = |operation, threads| {
        REPEAT_DIFFERENCES.iter().map(|difference| ChainCase::looped(operation, threads, *difference)).collect()
    };
    let mut sets = vec![
        ("float addition in a loop", looped(Operation::FloatAddition, ADDING_THREADS)),
        ("float addition without a loop", REPEAT_DIFFERENCES.iter().map(|more| ChainCase::straight(*more)).collect()),
        ("instruction cache", BODIES.iter().map(|body| ChainCase::body(*body)).collect()),
    ];
    let there = BLOCKS.iter().filter(|threads| **threads <= max_threads);
    sets.extend(there.map(|threads| ("block barrier", looped(Operation::BlockBarrier, *threads))));
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_the_papers_repetitions() {
        let sets = chains(1024);
        assert_eq!(sets.len(), 6);
        for (name, cases) in sets.iter().filter(|(name, _)| *name != "instruction cache") {
            let differences: Vec<u64> = cases.iter().map(|case| case.many.repeats() - case.few.repeats()).collect();
            assert_eq!(differences, REPEAT_DIFFERENCES, "{name}");
            assert!(cases.iter().all(|case| case.few.repeats() == BASIC_REPEATS), "{name}");
        }
        for case in sets.iter().flat_map(|(_, cases)| cases) {
            assert_eq!((case.case.repeats_few, case.case.repeats_many), (case.few.repeats(), case.many.repeats()));
            assert!(case.many.repeats() < 1 << 24, "a float counts them exactly: {case:?}");
            assert!(case.case.form != Form::Body || (case.few.iterations >= 2 && case.few.tail == 0), "{case:?}");
        }
        assert_eq!(chains(512).len(), 5, "a device with smaller blocks");
    }

    #[test]
    fn the_loops_of_a_set_need_few_programs() {
        let (_, cases) = &chains(1024)[0];
        let programs: std::collections::HashSet<Program> = cases.iter().flat_map(ChainCase::programs).collect();
        assert_eq!(programs.len(), 3, "tails of 0, 512 and 520 after loops of 1024");
        let (_, cases) = &chains(1024)[3];
        let programs: std::collections::HashSet<Program> = cases.iter().flat_map(ChainCase::programs).collect();
        assert_eq!(programs.len(), 2, "2,568 = 5 * 512 + 8 has a tail");
    }

    #[test]
    fn only_additions_that_stay_in_the_cache_have_a_known_cost() {
        assert_eq!(chain_of_a_check().known_cycles((9, 0)), Some(4.0));
        assert_eq!(chain_of_a_check().known_cycles((12, 0)), None, "not published");
        assert_eq!(ChainCase::straight(512).known_cycles((9, 0)), None);
        assert_eq!(ChainCase::looped(Operation::BlockBarrier, 32, 512).known_cycles((9, 0)), None);
    }
}
