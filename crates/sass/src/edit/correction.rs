//! Corrects clock reads so that they time exactly the code between them.

use crate::edit::{KernelEdit, LONGEST_STALL};
use crate::error::EditError;
use crate::flow::{Graph, Sets, outstanding_before};
use crate::instruction::{Clock, Instruction};
use crate::operands::{Effects, Kind};

/// One change to a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// Offset of the changed instruction in the compiled code.
    pub offset: u64,
    /// The change, and the reason for it.
    pub change: String,
}

/// Edits a kernel so that the clock read before its timed part waits for everything issued earlier, arithmetic that can
/// move ahead of this read does, and the read after the timed part waits for every result. (The three changes of
/// "Cycle-accurate CUDA with an assembler".)
///
/// The last 64-bit read of the cycle counter ends the timed part, and the one before begins it. With more than two
/// reads, every read between the first and the last begins it, because paths of different warps have one each. Reads
/// next to a read of the global timer do not count.
///
/// # Errors
/// If a required edit is refused. Arithmetic that cannot move stays.
pub fn correct_clock_reads(edit: &mut KernelEdit) -> Result<Vec<Correction>, EditError> {
    let mut made = Vec::new();
    let reads = reads(&edit.instructions());
    let (openings, closing) = match reads.as_slice() {
        [opening, closing] => (vec![*opening], *closing),
        [_, openings @ .., closing] => (openings.to_vec(), *closing),
        _ => return Ok(made),
    };
    for opening in openings {
        let opening = move_arithmetic(edit, opening, closing, &mut made);
        wait_for_outstanding(edit, opening, &mut made)?;
    }
    wait_for_outstanding(edit, closing, &mut made)?;
    Ok(made)
}

/// The positions of the reads that time something.
fn reads(instructions: &[Instruction]) -> Vec<usize> {
    const NEAR: usize = 4;
    let is_timer = |instruction: &Instruction| instruction.clock == Some(Clock::GlobalTimer);
    let counts = |index: &usize| {
        let around = index.saturating_sub(NEAR)..(index + NEAR).min(instructions.len());
        instructions[*index].clock == Some(Clock::Cycles64) && !instructions[around].iter().any(is_timer)
    };
    (0..instructions.len()).filter(counts).collect()
}

const fn offset(index: usize) -> u64 {
    index as u64 * crate::instruction::SIZE_BYTES as u64
}

/// Moves arithmetic from behind the opening read to before it where possible. Returns the new position of the read.
fn move_arithmetic(edit: &mut KernelEdit, opening: usize, closing: usize, made: &mut Vec<Correction>) -> usize {
    let instructions = edit.instructions();
    let end = Graph::of(&instructions).block(opening).end.min(closing);
    let mut read = opening;
    for (at, instruction) in instructions.iter().enumerate().take(end).skip(opening + 1) {
        let is_arithmetic =
            Effects::of(instruction, edit.arch()).is_some_and(|effects| effects.kind == Kind::Arithmetic);
        // A refused move leaves the code as it is.
        if is_arithmetic && let Some(corrections) = move_before(edit, at, read) {
            made.extend(corrections);
            read += 1;
        }
    }
    read
}

/// Moves the instruction at `at` to `read`, and raises stall counts where the move would cut a latency short. `None` if
/// the raise is refused too.
fn move_before(edit: &mut KernelEdit, at: usize, read: usize) -> Option<Vec<Correction>> {
    let mut trial = edit.clone();
    let mut made = Vec::new();
    // One stall count for each latency that the move shortens.
    for _ in 0..4 {
        match trial.clone().move_instruction(offset(at), offset(read)) {
            Err(EditError::TooSoon { compiled_at, needed, left, .. }) => {
                let first = trial.current_offset(compiled_at)?;
                let Instruction { control, mnemonic, .. } =
                    trial.instructions().into_iter().find(|found| found.offset == first)?;
                let cycles = (u32::from(control.stall) + needed - left).min(LONGEST_STALL.into()) as u8;
                trial.set_stall(first, cycles).ok()?;
                let why = "so that operands are ready when later instructions need them";
                let change = format!("{mnemonic} now stalls for {cycles} cycles, {why}");
                made.push(Correction { offset: compiled_at, change });
            }
            _ => break,
        }
    }
    let instruction = trial.instructions().get(at)?.mnemonic.clone();
    let compiled = trial.compiled_offset(offset(at))?;
    trial.move_instruction(offset(at), offset(read)).ok()?;
    let change =
        format!("{instruction} was moved before the opening clock read, because its operands are ready by then");
    made.push(Correction { offset: compiled, change });
    *edit = trial;
    Some(made)
}

/// Makes a read wait for every result that is outstanding there.
fn wait_for_outstanding(edit: &mut KernelEdit, read: usize, made: &mut Vec<Correction>) -> Result<(), EditError> {
    let instructions = edit.instructions();
    let mut outstanding = outstanding_before(&instructions, &Graph::of(&instructions)).swap_remove(read);
    outstanding.wait(instructions[read].control);
    let compiled = |edit: &KernelEdit, index: usize| edit.compiled_offset(offset(index)).unwrap_or(offset(index));
    for (barrier, index, _) in outstanding.all().filter(|(_, _, sets)| *sets == Sets::Write) {
        let setter = &instructions[index];
        let (instruction, at) = (&setter.mnemonic, compiled(edit, index));
        if index + 1 == read && setter.control.stall < 2 {
            edit.set_stall(offset(index), 2)?;
            let why = "so that its barrier is set when the clock read waits for it";
            made.push(Correction { offset: at, change: format!("{instruction} now stalls for 2 cycles, {why}") });
        }
        edit.set_wait(offset(read), barrier)?;
        let change =
            format!("the clock read now waits on scoreboard barrier {barrier}, set by {instruction} at {at:#06x}");
        made.push(Correction { offset: compiled(edit, read), change });
    }
    Ok(())
}
