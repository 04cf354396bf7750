//! The rules for edits: dependencies within a basic block, found in the code as compiled.
//!
//! The compiler kept every dependency. An edit is therefore right if it keeps the compiler's means: the order, a wait
//! for a barrier between two instructions, or the cycles between them.

use std::collections::BTreeSet;

use crate::cubin::Kernel;
use crate::error::EditError;
use crate::flow::{Graph, Outstanding, Sets, outstanding_before};
use crate::instruction::{Control, Instruction};
use crate::operands::{Effects, Kind, Register};

/// The longest latency of an instruction with a fixed latency, in cycles; longer distances need not be kept. (The stall
/// counts of compiled code reach 15.)
const LONGEST_FIXED_LATENCY: u32 = 16;

/// Why one instruction must stay behind another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dependency {
    /// The second reads what the first writes.
    ReadAfterWrite(Register),
    /// The second overwrites what the first reads.
    WriteAfterRead(Register),
    /// Both write the same register.
    WriteAfterWrite(Register),
    /// Both access memory, wait, read a clock, or decide what follows.
    Order(&'static str),
}

impl Dependency {
    fn why(self) -> String {
        match self {
            Self::ReadAfterWrite(register) => format!("it reads {register}, which the first writes"),
            Self::WriteAfterRead(register) => format!("it overwrites {register}, which the first reads"),
            Self::WriteAfterWrite(register) => format!("both write {register}"),
            Self::Order(why) => why.to_owned(),
        }
    }

    /// Whether this release of a barrier protects the dependency.
    fn is_protected_by(self, sets: Sets) -> bool {
        match self {
            Self::ReadAfterWrite(_) | Self::WriteAfterWrite(_) => sets == Sets::Write,
            // Once the result is written, the operands have been read.
            Self::WriteAfterRead(_) => true,
            Self::Order(_) => false,
        }
    }
}

/// A kernel as compiled, and what follows from its code.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    kernel: Kernel,
    /// Offsets to which something outside the code refers.
    referred: Vec<u64>,
    effects: Vec<Option<Effects>>,
    graph: Graph,
    /// What is outstanding before each instruction.
    outstanding: Vec<Outstanding>,
}

impl Rules {
    pub(super) fn new(kernel: Kernel, referred: Vec<u64>) -> Self {
        let effects = kernel.instructions().iter().map(|found| Effects::of(found, kernel.arch())).collect();
        let graph = Graph::of(kernel.instructions());
        let outstanding = outstanding_before(kernel.instructions(), &graph);
        Self { kernel, referred, effects, graph, outstanding }
    }

    pub(super) const fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn compiled(&self) -> &[Instruction] {
        self.kernel.instructions()
    }

    /// Names an instruction in messages, with its offset in the compiled code.
    fn name(&self, index: usize) -> String {
        let instruction = &self.compiled()[index];
        format!("{} (compiled at {:#06x})", instruction.mnemonic, instruction.offset)
    }

    fn not_awaited(&self, first: usize, second: usize, dependency: Dependency, barrier: u8) -> EditError {
        let (first, second, why) = (self.name(first), self.name(second), dependency.why());
        EditError::Refused(format!(
            "{second} needs what {first} leaves ({why}), and nothing would wait for barrier {barrier} between them"
        ))
    }

    fn too_soon(&self, first: usize, second: String, why: String, (needed, left): (u32, u32)) -> EditError {
        let (first, compiled_at) = (self.name(first), self.compiled()[first].offset);
        EditError::TooSoon { first, second, why, compiled_at, needed, left }
    }

    /// Whether an instruction may move to another place.
    pub(super) fn can_move(&self, code: &Code, from: usize, to: usize) -> Result<(), EditError> {
        let offset = |index: usize| self.compiled()[index].offset;
        let block = self.graph.block(from);
        let mnemonic = |index: usize| self.compiled()[index].mnemonic.clone();
        if !block.contains(&to) {
            let (instruction, from, to) = (mnemonic(code[from].0), offset(from), offset(to));
            let why = "they are in different basic blocks";
            return Err(EditError::Refused(format!("{instruction} at {from:#06x} cannot move to {to:#06x}: {why}")));
        }
        for (index, _) in &code[from.min(to)..=from.max(to)] {
            let instruction = &self.compiled()[*index];
            let is_last = *index + 1 == block.end && !self.graph.successors(*index).eq(&[*index + 1]);
            let why = if instruction.target.is_some() {
                "its branch target is a distance"
            } else if self.referred.contains(&instruction.offset) {
                "the file refers to its address"
            } else if is_last {
                "it ends the basic block"
            } else {
                continue;
            };
            let (instruction, offset) = (mnemonic(*index), instruction.offset);
            return Err(EditError::Refused(format!(
                "{instruction} at {offset:#06x} cannot get another address: {why}"
            )));
        }
        Ok(())
    }

    /// Whether a wait for this barrier would wait for anything.
    pub(super) fn can_wait(&self, code: &Code, at: usize, barrier: u8) -> Result<(), EditError> {
        let block = self.graph.block(at);
        let mut before = self.outstanding[block.start].clone();
        for (index, raw) in &code[block.start..at] {
            before.pass(*index, Control::of(*raw));
        }
        let setters: Vec<usize> = before.of(barrier).map(|(index, _)| index).collect();
        if setters.is_empty() {
            let offset = self.compiled()[at].offset;
            return Err(EditError::Refused(format!(
                "a wait for barrier {barrier} at {offset:#06x} would wait for nothing: no instruction before it sets the barrier"
            )));
        }
        // The instruction right before may not have set its barrier yet.
        let previous = at.checked_sub(1).filter(|_| block.start < at).map(|previous| code[previous]);
        match previous {
            Some((index, raw)) if setters.contains(&index) && Control::of(raw).stall < 2 => {
                Err(EditError::Refused(format!(
                    "{} sets barrier {barrier} in its second cycle; raise its stall count to 2 before the next instruction \
                     waits",
                    self.name(index)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks the block around `at` after an edit.
    pub(super) fn check(&self, code: &Code, at: usize) -> Result<(), EditError> {
        let block = self.graph.block(at);
        let compiled: Vec<(usize, u128)> = block.clone().map(|index| (index, self.compiled()[index].raw)).collect();
        let before = Schedule::of(&compiled);
        let after = Schedule::of(&code[block.clone()]);
        self.check_pairs(&before, &after)?;
        self.check_entry(block.start, &before, &after)?;
        self.check_exit(&self.outstanding[block.start], &before, &after)
    }

    /// Checks the dependencies between two instructions of the block.
    fn check_pairs(&self, before: &Schedule, after: &Schedule) -> Result<(), EditError> {
        let places = before.order.iter().enumerate();
        let pairs: Vec<(usize, usize, Dependency)> = places
            .flat_map(|(place, &first)| before.order[place + 1..].iter().map(move |&second| (first, second)))
            .flat_map(|(first, second)| {
                self.dependencies(first, second).into_iter().map(move |dependency| (first, second, dependency))
            })
            .collect();
        // Order comes first, because the message says more than those about its consequences.
        if let Some(&(first, second, dependency)) =
            pairs.iter().find(|(first, second, _)| after.place(*first) > after.place(*second))
        {
            let (first, second, why) = (self.name(first), self.name(second), dependency.why());
            return Err(EditError::Refused(format!("{second} must stay behind {first}: {why}")));
        }
        pairs
            .iter()
            .try_for_each(|&(first, second, dependency)| self.check_pair(first, second, dependency, before, after))
    }

    fn check_pair(
        &self,
        first: usize,
        second: usize,
        dependency: Dependency,
        before: &Schedule,
        after: &Schedule,
    ) -> Result<(), EditError> {
        let barriers = barriers_of(self.compiled()[first].control, dependency);
        let awaited = |schedule: &Schedule| barriers.iter().any(|&barrier| schedule.waits(first, second, barrier));
        match barriers.first() {
            Some(&barrier) if awaited(before) => {
                if awaited(after) {
                    return Ok(());
                }
                return Err(self.not_awaited(first, second, dependency, barrier));
            }
            // Instructions with a fixed latency read their operands when they issue.
            None if matches!(dependency, Dependency::WriteAfterRead(_)) => return Ok(()),
            _ => {}
        }
        // A barrier needs some cycles until it blocks: compilers leave six before an access that follows the barrier.
        let is_barrier = |index: usize| self.effects[index].as_ref().is_none_or(|found| found.kind == Kind::Barrier);
        if matches!(dependency, Dependency::Order(_)) && !is_barrier(first) {
            return Ok(());
        }
        let needed = before.cycles(first, second).min(LONGEST_FIXED_LATENCY);
        let left = after.cycles(first, second);
        if left < needed {
            return Err(self.too_soon(first, self.name(second), dependency.why(), (needed, left)));
        }
        Ok(())
    }

    /// Checks dependencies on instructions before the block, which begins at `start`.
    fn check_entry(&self, start: usize, before: &Schedule, after: &Schedule) -> Result<(), EditError> {
        for (barrier, first, sets) in self.outstanding[start].all() {
            for &second in &before.order {
                let found = self.dependencies(first, second).into_iter().find(|found| found.is_protected_by(sets));
                let Some(dependency) = found else { continue };
                if before.waits_from_start(second, barrier) && !after.waits_from_start(second, barrier) {
                    return Err(self.not_awaited(first, second, dependency, barrier));
                }
            }
        }
        for (first, cycles) in self.shortly_before(start) {
            for &second in &before.order {
                let fixed = |dependency: &Dependency| {
                    !matches!(dependency, Dependency::Order(_) | Dependency::WriteAfterRead(_))
                        && barriers_of(self.compiled()[first].control, *dependency).is_empty()
                };
                let Some(dependency) = self.dependencies(first, second).into_iter().find(fixed) else { continue };
                let needed = (cycles + before.cycles_from_start(second)).min(LONGEST_FIXED_LATENCY);
                let left = cycles + after.cycles_from_start(second);
                if left < needed {
                    return Err(self.too_soon(first, self.name(second), dependency.why(), (needed, left)));
                }
            }
        }
        Ok(())
    }

    /// Checks what later blocks may rely on: nothing more is outstanding, and no result comes later.
    fn check_exit(&self, entry: &Outstanding, before: &Schedule, after: &Schedule) -> Result<(), EditError> {
        let (left_before, left_after) = (before.outstanding(entry), after.outstanding(entry));
        let was = |found: &(u8, usize, Sets)| left_before.all().any(|other| other == *found);
        if let Some((barrier, first, _)) = left_after.all().find(|found| !was(found)) {
            let first = self.name(first);
            return Err(EditError::Refused(format!(
                "barrier {barrier} of {first} would not be waited for before the end of its basic block"
            )));
        }
        for &first in &before.order {
            let writes = self.effects[first].as_ref().is_none_or(|effects| !effects.defs.is_empty());
            let needed = before.cycles_to_end(first).min(LONGEST_FIXED_LATENCY);
            let left = after.cycles_to_end(first);
            if writes && self.compiled()[first].control.write_barrier.is_none() && left < needed {
                let second = "the end of the basic block".to_owned();
                return Err(self.too_soon(first, second, "its result".to_owned(), (needed, left)));
            }
        }
        Ok(())
    }

    /// The instructions before a block whose fixed latency may reach into it, with the cycles to the start of the block
    /// on the shortest path.
    fn shortly_before(&self, start: usize) -> Vec<(usize, u32)> {
        let mut found: Vec<(usize, u32)> = Vec::new();
        let mut open: Vec<(usize, u32)> = self.graph.predecessors(start).map(|index| (index, 0)).collect();
        while let Some((index, behind)) = open.pop() {
            let cycles = behind + u32::from(self.compiled()[index].control.stall);
            if cycles >= LONGEST_FIXED_LATENCY || found.iter().any(|&(other, known)| other == index && known <= cycles)
            {
                continue;
            }
            found.push((index, cycles));
            open.extend(self.graph.predecessors(index).map(|index| (index, cycles)));
        }
        found
    }

    /// Why the second instruction must stay behind the first.
    fn dependencies(&self, first: usize, second: usize) -> Vec<Dependency> {
        let (Some(one), Some(other)) = (&self.effects[first], &self.effects[second]) else {
            return vec![Dependency::Order("the operands of one of them are unknown")];
        };
        let between = first.min(second) + 1..second.max(first);
        // A register that is overwritten in between is covered by two other dependencies.
        let is_overwritten = |register: Register| {
            let overwrites = |index: usize| {
                let effects = self.effects[index].as_ref();
                self.compiled()[index].predicate.is_none()
                    && effects.is_some_and(|found| found.defs.contains(&register))
            };
            self.graph.block(first).contains(&second) && between.clone().any(overwrites)
        };
        let common = |of: &BTreeSet<Register>, with: &BTreeSet<Register>| {
            of.intersection(with).copied().find(|register| !is_overwritten(*register))
        };
        let registers = [
            common(&one.defs, &other.uses).map(Dependency::ReadAfterWrite),
            common(&one.uses, &other.defs).map(Dependency::WriteAfterRead),
            common(&one.defs, &other.defs).map(Dependency::WriteAfterWrite),
        ];
        registers.into_iter().flatten().chain(in_order(one.kind, other.kind).map(Dependency::Order)).collect()
    }
}

/// Why two operations of these kinds keep their order.
const fn in_order(one: Kind, other: Kind) -> Option<&'static str> {
    match (one, other) {
        (Kind::Control, _) | (_, Kind::Control) => Some("one of them decides what is executed next"),
        (Kind::Clock, Kind::Clock) => Some("both read a clock"),
        (Kind::Memory | Kind::Barrier, Kind::Memory | Kind::Barrier) => Some("both access memory or wait for others"),
        _ => None,
    }
}

/// The barriers of an instruction that protect a dependency on it.
fn barriers_of(control: Control, dependency: Dependency) -> Vec<u8> {
    let of = |barrier: Option<u8>, sets: Sets| barrier.filter(|_| dependency.is_protected_by(sets));
    [of(control.read_barrier, Sets::Read), of(control.write_barrier, Sets::Write)].into_iter().flatten().collect()
}

/// The edited code: each instruction's index in the compiled code, and its bits.
pub(super) type Code = [(usize, u128)];

/// The instructions of a block in their current order, with their control fields.
pub(super) struct Schedule {
    /// The instructions' indices in the compiled code.
    pub(super) order: Vec<usize>,
    controls: Vec<Control>,
    /// Cycles from the start of the block to each instruction, and to its end.
    cycles: Vec<u32>,
    /// The place of each instruction, indexed from the lowest compiled index on.
    places: Vec<usize>,
    lowest: usize,
}

impl Schedule {
    pub(super) fn of(code: &Code) -> Self {
        let order: Vec<usize> = code.iter().map(|(index, _)| *index).collect();
        let controls: Vec<Control> = code.iter().map(|(_, raw)| Control::of(*raw)).collect();
        let mut cycles = vec![0];
        cycles.extend(controls.iter().scan(0, |sum, control| {
            *sum += u32::from(control.stall);
            Some(*sum)
        }));
        let lowest = order.iter().copied().min().unwrap_or(0);
        let mut places = vec![0; order.len()];
        for (place, index) in order.iter().enumerate() {
            if let Some(slot) = places.get_mut(index - lowest) {
                *slot = place;
            }
        }
        Self { order, controls, cycles, places, lowest }
    }

    pub(super) fn place(&self, index: usize) -> usize {
        self.places[index - self.lowest]
    }

    pub(super) fn cycles(&self, first: usize, second: usize) -> u32 {
        self.cycles[self.place(second)].saturating_sub(self.cycles[self.place(first)])
    }

    pub(super) fn cycles_from_start(&self, index: usize) -> u32 {
        self.cycles[self.place(index)]
    }

    pub(super) fn cycles_to_end(&self, index: usize) -> u32 {
        self.cycles[self.order.len()] - self.cycles[self.place(index)]
    }

    /// Whether an instruction after the first, up to and including the second, waits for a barrier.
    pub(super) fn waits(&self, first: usize, second: usize, barrier: u8) -> bool {
        let (first, second) = (self.place(first), self.place(second));
        first < second && self.controls[first + 1..=second].iter().any(|control| control.waits_for(barrier))
    }

    pub(super) fn waits_from_start(&self, index: usize, barrier: u8) -> bool {
        self.controls[..=self.place(index)].iter().any(|control| control.waits_for(barrier))
    }

    /// What is outstanding at the end of the block.
    pub(super) fn outstanding(&self, entry: &Outstanding) -> Outstanding {
        let mut outstanding = entry.clone();
        for (index, control) in self.order.iter().zip(&self.controls) {
            outstanding.pass(*index, *control);
        }
        outstanding
    }
}
