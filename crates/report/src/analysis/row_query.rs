//! Selects the one row of a run that answers a question, such as "what does the best grid barrier cost?".
//!
//! A query names primitives and defines which of their cases fit. Where several cases fit, it takes the usual one: an
//! `i32` shared by all threads. So the selected case does not depend on the costs, except for the choices by cost.

use syncscope_core::Group;
use syncscope_core::machine::Machine;
use syncscope_core::{Case, Dtype, Layout, Mode, Nanoseconds, Placement, Row, Scope, Space, Verdict};

/// Barriers of CPU threads, the most common one first.
pub(crate) const CPU_BARRIERS: &[&str] =
    &["cpu.barrier.std", "cpu.barrier.sense", "cpu.barrier.dissemination", "cpu.barrier.tree", "cpu.barrier.openmp"];
/// Mutexes of CPU threads.
pub(crate) const CPU_LOCKS: &[&str] = &["cpu.lock.std_mutex", "cpu.lock.parking_lot_mutex", "cpu.lock.pthread_mutex"];
/// Hand-offs between two spinning threads.
pub(crate) const HANDOFFS: &[&str] = &["cpu.handoff.cas_pingpong", "cpu.handoff.store_pingpong"];
/// Hand-offs to a thread that sleeps.
pub(crate) const WAKE_UPS: &[&str] = &["cpu.handoff.futex", "cpu.handoff.condvar", "cpu.handoff.park"];
/// Barriers of all blocks of a grid.
pub(crate) const GRID_BARRIERS: &[&str] = &["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free"];
/// Barriers of the grids of several devices.
pub(crate) const DEVICE_BARRIERS: &[&str] = &["gpu.multi.flags", "gpu.multi.counter", "gpu.multi.host_barrier"];

/// The sizes of a machine that decide which cases fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineSize {
    /// Hardware threads of the CPUs; 0 where the number is unknown.
    pub(crate) hardware_threads: u32,
    /// Multiprocessors of the first device; 0 without a device.
    pub(crate) multiprocessors: u32,
}

impl MachineSize {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self {
            hardware_threads: machine.cpu.hardware_threads,
            multiprocessors: machine.gpus.first().map_or(0, |gpu| gpu.multiprocessors),
        }
    }

    /// Whether the case has more CPU threads than the machine has hardware threads.
    fn is_oversubscribed_by(self, case: &Case) -> bool {
        let oversubscribed = self.hardware_threads > 0 && case.threads.unwrap_or(1) > self.hardware_threads;
        oversubscribed && case.domain_and_family().0 == "cpu"
    }
}

/// Which of the rows that fit is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The usual case with the fewest actors, of the first primitive that has a row.
    FewestActors,
    /// The usual case with the most actors, of the first primitive that has a row.
    MostActors,
    /// The fastest resolved row of all primitives, among those with the fewest actors.
    FastestOfFewest,
    /// The fastest resolved row of all primitives, among those with the most actors.
    FastestOfMost,
    /// The resolved row with the median cost: one pair of CPUs represents its class.
    MedianCost,
}

/// A question that one row of a run answers.
#[derive(Debug)]
pub(crate) struct RowQuery {
    /// The primitives that can answer it, the preferred one first.
    pub(crate) primitives: &'static [&'static str],
    /// Whether a case can answer it.
    pub(crate) fits: fn(&Case, MachineSize) -> bool,
    pub(crate) choice: Choice,
}

/// A row with its index among the rows of its run.
type IndexedRow<'a> = (usize, &'a Row);

impl RowQuery {
    /// The index of the selected row; `None` where no row fits. Only the default forms of primitives count.
    pub(crate) fn select<'a>(&self, rows: impl Iterator<Item = IndexedRow<'a>>, machine: MachineSize) -> Option<usize> {
        let fitting: Vec<IndexedRow<'a>> = rows
            .filter(|(_, row)| self.primitives.contains(&row.case.primitive.as_str()))
            .filter(|(_, row)| row.case.form.is_none() && (self.fits)(&row.case, machine))
            .collect();
        let fewest = Case::actors;
        let most = |case: &Case| u64::MAX - case.actors();
        let usual = |size: fn(&Case) -> u64| self.usual(&fitting, machine, size);
        match self.choice {
            Choice::FewestActors => usual(fewest),
            Choice::MostActors => usual(most),
            Choice::FastestOfFewest => fastest(&fitting, fewest).or_else(|| usual(fewest)),
            Choice::FastestOfMost => fastest(&fitting, most).or_else(|| usual(most)),
            Choice::MedianCost => self.median(&fitting).or_else(|| usual(fewest)),
        }
    }

    /// The most usual row, then the one of the smallest `size`, of the first primitive that has a row. Teams that fit the
    /// CPUs come before larger ones.
    fn usual(&self, fitting: &[IndexedRow<'_>], machine: MachineSize, size: fn(&Case) -> u64) -> Option<usize> {
        self.primitives.iter().find_map(|primitive| {
            let own = fitting.iter().filter(|(_, row)| row.case.primitive == *primitive);
            let key = |case: &Case| (machine.is_oversubscribed_by(case), unusualness(case), size(case));
            own.min_by_key(|(_, row)| (key(&row.case), &row.case)).map(|(index, _)| *index)
        })
    }

    /// The row with the median cost among the resolved ones of the first primitive that has any.
    fn median(&self, fitting: &[IndexedRow<'_>]) -> Option<usize> {
        self.primitives.iter().find_map(|primitive| {
            let mut own: Vec<_> = resolved(fitting).filter(|(_, row, _)| row.case.primitive == *primitive).collect();
            own.sort_by(|(_, _, a), (_, _, b)| a.total_cmp(b));
            own.get(own.len().saturating_sub(1) / 2).map(|(index, ..)| *index)
        })
    }
}

/// The fastest resolved row among those of the smallest `size`.
fn fastest(fitting: &[IndexedRow<'_>], size: fn(&Case) -> u64) -> Option<usize> {
    let smallest = resolved(fitting).map(|(_, row, _)| size(&row.case)).min()?;
    let same_size = resolved(fitting).filter(|(_, row, _)| size(&row.case) == smallest);
    same_size.min_by(|(_, _, a), (_, _, b)| a.total_cmp(b)).map(|(index, ..)| index)
}

/// The resolved rows with their costs.
fn resolved<'a>(fitting: &'a [IndexedRow<'a>]) -> impl Iterator<Item = (usize, &'a Row, f64)> {
    let cost = |row: &Row| row.ns.filter(|_| row.verdict == Verdict::Resolved).map(Nanoseconds::value);
    fitting.iter().filter_map(move |(index, row)| Some((*index, *row, cost(row)?)))
}

/// How far the parameters of a case are from the usual ones, in order of importance; 0 is usual.
fn unusualness(case: &Case) -> [usize; 7] {
    fn rank<T: PartialEq>(value: Option<&T>, usual: &[T]) -> usize {
        value.map_or(0, |value| usual.iter().position(|known| known == value).unwrap_or(usual.len()))
    }
    [
        rank(case.layout.as_ref(), &[Layout::Shared]),
        rank(case.dtype.as_ref(), &[Dtype::I32, Dtype::U32, Dtype::U64]),
        rank(case.mode.as_ref(), &[Mode::Throughput]),
        rank(case.space.as_ref(), &[Space::Global]),
        rank(case.scope.as_ref(), &[Scope::Device]),
        rank(case.placement.as_ref(), &[Placement::Close, Placement::Spread, Placement::None]),
        // The usual launch is that of an empty kernel.
        rank(case.group.as_ref(), &[Group::EmptyKernel]),
    ]
}

/// Fits cases with one actor.
pub(crate) fn one_actor(case: &Case, _: MachineSize) -> bool {
    case.actors() == 1
}

/// Fits every case.
pub(crate) fn any(_: &Case, _: MachineSize) -> bool {
    true
}

/// Whether the case runs one block of so many threads.
pub(crate) fn is_one_block(case: &Case, threads: u32) -> bool {
    case.threads == Some(threads) && case.blocks.unwrap_or(1) == 1
}
