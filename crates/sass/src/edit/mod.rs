//! Edits of machine code: wait barriers, stall counts and the order of instructions within a basic block.
//!
//! ```text
//! CubinFile -> KernelEdit (one kernel) -> CubinFile::with -> the bytes of a file of the same size
//! ```
//!
//! Each edit of a [`KernelEdit`] is checked against the code as compiled (`rules.rs`). An edit that visibly breaks a
//! dependency is refused with an [`EditError`] that names the dependency. Visible are the registers and predicates of
//! the instructions in the table of operands, the six barriers, stall counts, and the order of memory accesses. An
//! instruction with unknown operands depends on all others.
//!
//! [`correct_clock_reads`] makes the timed part of a kernel begin when its operands are ready and end when its results
//! are.

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

/// The highest barrier number; the lowest is 0.
const LAST_BARRIER: u8 = 5;

/// The longest stall count.
const LONGEST_STALL: u8 = 15;

/// The longest stall count of an instruction that does not yield: `nvdisasm` rejects longer ones.
const LONGEST_WITHOUT_YIELD: u8 = 11;

/// A kernel and the edits made so far. Offsets always refer to the code in its current state.
#[derive(Debug, Clone)]
pub struct KernelEdit {
    rules: Arc<Rules>,
    /// The code in its current state: each instruction's index in the compiled code, and its bits.
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

    /// The bits of all instructions in their current state.
    pub fn words(&self) -> impl Iterator<Item = u128> {
        self.code.iter().map(|(_, raw)| *raw)
    }

    /// The decoded instructions in their current state.
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

    /// The offset that the instruction now at `offset` had when the kernel was compiled.
    pub fn compiled_offset(&self, offset: u64) -> Option<u64> {
        self.code.get(index_of(offset)?).map(|(original, _)| (original * SIZE_BYTES) as u64)
    }

    /// The current offset of the instruction that was compiled at `compiled`.
    pub fn current_offset(&self, compiled: u64) -> Option<u64> {
        let original = index_of(compiled)?;
        let index = self.code.iter().position(|(found, _)| *found == original)?;
        Some((index * SIZE_BYTES) as u64)
    }

    /// Makes the instruction at `offset` wait for a barrier.
    ///
    /// # Errors
    /// If there is no such instruction or barrier, or nothing sets the barrier in time.
    pub fn set_wait(&mut self, offset: u64, barrier: u8) -> Result<(), EditError> {
        let index = self.index(offset)?;
        within("barrier", barrier, LAST_BARRIER)?;
        self.rules.can_wait(&self.code, index, barrier)?;
        self.change(index, |control| Control { wait_mask: control.wait_mask | 1 << barrier, ..control })
    }

    /// Makes the instruction at `offset` no longer wait for a barrier.
    ///
    /// # Errors
    /// If an instruction would use a result that is not ready.
    pub fn clear_wait(&mut self, offset: u64, barrier: u8) -> Result<(), EditError> {
        let index = self.index(offset)?;
        within("barrier", barrier, LAST_BARRIER)?;
        self.change(index, |control| Control { wait_mask: control.wait_mask & !(1 << barrier), ..control })
    }

    /// Sets the number of cycles until the instruction after the one at `offset` may issue.
    ///
    /// # Errors
    /// If a fixed latency would be cut short.
    pub fn set_stall(&mut self, offset: u64, cycles: u8) -> Result<(), EditError> {
        let index = self.index(offset)?;
        within("stall count", cycles, LONGEST_STALL)?;
        self.change(index, |control| Control {
            stall: cycles,
            yields: control.yields || cycles > LONGEST_WITHOUT_YIELD,
            ..control
        })
    }

    /// Moves the instruction at `from` to `to`; the instructions between move by one place. Where neighbours change, the
    /// reuse flag is cleared: it describes the instruction that follows.
    ///
    /// # Errors
    /// If a dependency would be broken, the places are in different basic blocks, or an instruction that has to keep
    /// its address would get another one.
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

    /// Bits that differ from the compiled code, by the instruction's offset as compiled. A moved instruction with the
    /// same bits is left out.
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

    /// Adopts edited code if no dependency is broken.
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
