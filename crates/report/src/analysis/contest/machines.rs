//! The same question on several machines: on which of them is it certainly the cheapest? Both costs bring the uncertainty of
//! their own run, so tests decide, with the intervals for another run.

use syncscope_core::Row;

use super::{Basis, Known};
use crate::analysis::compare::ratio::{UncertainCost, p_at_most};
use crate::analysis::compare::{is_one_definition, measurement_blocks};
use crate::{RunData, naming};

/// What a machine has: a row whose cost may be written, with an interval.
pub(crate) struct OnMachine<'a> {
    /// The index of the machine.
    machine: usize,
    row: &'a Row,
    hardware: String,
    cost: UncertainCost,
}

impl<'a> OnMachine<'a> {
    /// `None` where the row takes no part.
    pub(crate) fn of(machine: usize, data: &'a RunData, index: usize) -> Option<Self> {
        let row = Known::with_figure(data, index, Basis::Machine)?.row;
        let blocks = measurement_blocks(row, data.details.get(&row.case.id()));
        let hardware = naming::hardware(&data.run.machine, &row.case);
        Some(Self { machine, row, hardware, cost: UncertainCost::of(row, blocks)? })
    }

    /// Whether both cases are of one size, and of one primitive only where their loops are defined alike.
    fn is_comparable(&self, other: &Self) -> bool {
        naming::size(&self.row.case) == naming::size(&other.row.case) && is_one_definition(self.row, other.row)
    }
}

/// The machines with the cheapest hardware, if it is certainly below all other: each run on its hardware below each run on other
/// hardware, in one-sided tests at 2.5 % over the number of such pairs. Where sizes or instructions differ, the costs are of
/// something else.
pub(crate) fn cheapest_machines(entrants: &[OnMachine<'_>]) -> Vec<usize> {
    let Some(best) = entrants.iter().min_by(|a, b| a.cost.ns.total_cmp(&b.cost.ns)) else { return vec![] };
    let (own, rivals): (Vec<&OnMachine<'_>>, Vec<&OnMachine<'_>>) =
        entrants.iter().partition(|one| one.hardware == best.hardware);
    let level = 0.025 / (own.len() * rivals.len()) as f64;
    let is_below = |one: &OnMachine<'_>, rival: &OnMachine<'_>| {
        rival.is_comparable(one) && p_at_most(&rival.cost, 1.0, &one.cost) <= level
    };
    let is_certain = !rivals.is_empty() && own.iter().all(|one| rivals.iter().all(|rival| is_below(one, rival)));
    if is_certain { own.iter().map(|one| one.machine).collect() } else { vec![] }
}
