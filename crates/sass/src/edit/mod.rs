//! Edits of machine code: wait barriers, stall counts and the order of instructions within a basic block.
//!
//! ```text
//! CubinFile -> KernelEdit (one kernel) -> CubinFile::with -> the bytes of a file of the same size
//! ```
//!
//! Each edit of a [`KernelEdit`] is checked against the code as it was compiled (`rules.rs`). One that breaks a dependency that can
//! be seen is refused with an [`EditError`] that says which. What can be seen are registers and predicates of the instructions
//! in the table of operands, the six barriers, stall counts, and the order of accesses of memory. An instruction with
//! unknown operands depends on all others.
//!
//! [`correct_clock_reads`] makes the clock reads of a kernel begin when its operands are there and end when its results are.

mod correction;
mod file;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arch::Arch;
use crate::cubin::Kernel;
use crate::error::EditError;
use crate::instruction::{Control, Instruction, SIZE_BYTES};

pub use self::correction::{Correction, correct_clock_reads};
pub use self::file::CubinFile;
use self::rules::Rules;

/// Barriers are numbered from 0 to this.
const LAST_BARRIER: u8 = 5;

/// The longest stall count.
const LONGEST_STALL: u8 = 15;

/// The longest stall count of an instruction that does not yield: longer ones are no code for `nvdisasm`.
const LONGEST_WITHOUT_YIELD: u8 = 11;

/// A kernel, and the edits made so far. Offsets are always those of the code as it is at that moment.
#[derive(Debug, Clone)]
pub struct KernelEdit {
    rules: Arc<Rules>,
    /// The code as it is now: which instruction of the compiled code, and its bits.
    code: Vec<(usize, u128)>,
}

impl KernelEdit {
    pub(super) fn new(kernel: Kernel, referred: Vec<u64>) -> Self {
        let code = kernel.instructions().iter().map(|instruction| instruction.raw).enumerate().collect();
        Self { rules: Arc::new(Rules::new(kernel, referred)), code }
    }

    /// The name of the kernel.
    pub fn name(&self) -> &str {
        self.rules.kernel().name()
    }

    /// All instructions as they are now.
    pub fn words(&self) -> impl Iterator<Item = u128> {
        self.code.iter().map(|(_, raw)| *raw)
    }

    /// The decoded instructions as they are now.
    pub fn instructions(&self) -> Vec<Instruction> {
        let decode = |(index, (_, raw)): (usize, &(usize, u128))| {
            Instruction::decode((index * SIZE_BYTES) as u64, *raw, self.arch())
        };
        self.code.iter().enumerate().map(decode).collect()
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.rules.kernel().arch()
    }

    /// The offset that an instruction had when the kernel was compiled.
    pub fn compiled_offset(&self, offset: u64) -> Option<u64> {
        self.code.get(index_of(offset)?).map(|(original, _)| (original * SIZE_BYTES) as u64)
    }

    /// The offset that an instruction has now, by the one that it had when the kernel was compiled.
    pub fn current_offset(&self, compiled: u64) -> Option<u64> {
        let original = index_of(compiled)?;
        let index = self.code.iter().position(|(found, _)| *found == original)?;
        Some((index * SIZE_BYTES) as u64)
    }

    /// Lets the instruction at `offset` wait for a barrier.
    ///
    /// # Errors
    /// If there is no such instruction or barrier, or nothing sets the barrier in time.
    pub fn set_wait(&mut self, offset: u64, barrier: u8) -> Result<(), EditError> {
        let index = self.index(offset)?;
        within("barrier", barrier, LAST_BARRIER)?;
        self.rules.can_wait(&self.code, index, barrier)?;
        self.change(index, |control| Control { wait_mask: control.wait_mask | 1 << barrier, ..control })
    }

    /// Lets the instruction at `offset` no longer wait for a barrier.
    ///
    /// # Errors
    /// If an instruction would use what is not there yet.
    pub fn clear_wait(&mut self, offset: u64, barrier: u8) -> Result<(), EditError> {
        let index = self.index(offset)?;
        within("barrier", barrier, LAST_BARRIER)?;
        self.change(index, |control| Control { wait_mask: control.wait_mask & !(1 << barrier), ..control })
    }

    /// Sets the cycles after which the instruction behind the one at `offset` may be issued.
    ///
    /// # Errors
    /// If a fixed latency would no longer be kept.
    pub fn set_stall(&mut self, offset: u64, cycles: u8) -> Result<(), EditError> {
        let index = self.index(offset)?;
        within("stall count", cycles, LONGEST_STALL)?;
        self.change(index, |control| Control {
            stall: cycles,
            yields: control.yields || cycles > LONGEST_WITHOUT_YIELD,
            ..control
        })
    }

    /// Moves the instruction at `from` to `to`. Those between them move by one place. Where neighbours change, operands are no
    /// longer kept in the reuse cache: the flag says something about the instruction that follows.
    ///
    /// # Errors
    /// If a dependency would be broken, the places are in different basic blocks, or an instruction that would get another
    /// address must keep its own.
    pub fn move_instruction(&mut self, from: u64, to: u64) -> Result<(), EditError> {
        let (old, new) = (self.index(from)?, self.index(to)?);
        self.rules.can_move(&self.code, old, new)?;
        let mut code = self.code.clone();
        let moved = code.remove(old);
        code.insert(new, moved);
        for (_, raw) in &mut code[old.min(new).saturating_sub(1)..=old.max(new)] {
            *raw = *raw & !Control::MASK | Control { reuse: 0, ..Control::of(*raw) }.bits();
        }
        self.commit(code, old)
    }

    /// Bits that differ from the compiled code, by the offset of the instruction when it was compiled. Moved instructions
    /// whose bits are the same are not named.
    pub fn changed_bits(&self) -> BTreeMap<u64, u128> {
        let compiled = self.rules.kernel().instructions();
        let differences = self.code.iter().map(|(original, raw)| (*original, compiled[*original].raw ^ raw));
        let changed = differences.filter(|(_, difference)| *difference != 0);
        changed.map(|(original, difference)| ((original * SIZE_BYTES) as u64, difference)).collect()
    }

    fn index(&self, offset: u64) -> Result<usize, EditError> {
        let found = index_of(offset).filter(|index| *index < self.code.len());
        found.ok_or_else(|| EditError::Refused(format!("kernel {} has no instruction at {offset:#06x}", self.name())))
    }

    /// Changes the control field of one instruction.
    fn change(&mut self, index: usize, change: impl FnOnce(Control) -> Control) -> Result<(), EditError> {
        let mut code = self.code.clone();
        let (_, raw) = &mut code[index];
        *raw = *raw & !Control::MASK | change(Control::of(*raw)).bits();
        self.commit(code, index)
    }

    /// Takes over edited code if no dependency is broken.
    fn commit(&mut self, code: Vec<(usize, u128)>, at: usize) -> Result<(), EditError> {
        self.rules.check(&code, at)?;
        self.code = code;
        Ok(())
    }
}

fn index_of(offset: u64) -> Option<usize> {
    let offset = usize::try_from(offset).ok()?;
    offset.is_multiple_of(SIZE_BYTES).then_some(offset / SIZE_BYTES)
}

fn within(what: &str, value: u8, last: u8) -> Result<(), EditError> {
    if value <= last {
        return Ok(());
    }
    Err(EditError::Refused(format!("{what} {value} does not exist: {what}s are 0 to {last}")))
}
