//! The instructions of one basic block in the order of an edit.

use crate::control::Control;
use crate::flow::Outstanding;

/// The code as it is edited: the number of each compiled instruction, and its bits.
pub(super) type Code = [(usize, u128)];

/// The instructions of a block in their order, with their control fields.
pub(super) struct Schedule {
    /// The numbers of the instructions in the compiled code.
    pub(super) order: Vec<usize>,
    controls: Vec<Control>,
    /// Cycles from the start of the block to each instruction, and to its end.
    cycles: Vec<u32>,
    /// The place of each instruction, from the lowest number on.
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

    /// Whether something behind the first and not behind the second waits for a barrier.
    pub(super) fn waits(&self, first: usize, second: usize, barrier: u8) -> bool {
        let (first, second) = (self.place(first), self.place(second));
        first < second && self.controls[first + 1..=second].iter().any(|control| control.waits_for(barrier))
    }

    pub(super) fn waits_from_start(&self, index: usize, barrier: u8) -> bool {
        self.controls[..=self.place(index)].iter().any(|control| control.waits_for(barrier))
    }

    /// What is outstanding at the end.
    pub(super) fn outstanding(&self, entry: &Outstanding) -> Outstanding {
        let mut outstanding = entry.clone();
        for (index, control) in self.order.iter().zip(&self.controls) {
            outstanding.pass(*index, *control);
        }
        outstanding
    }
}
