//! Selects the one row of a run that answers a question, such as "what does the best grid barrier cost?".
//!
//! A query names primitives and defines which of their cases fit. Where several cases fit, it takes the usual one: an
//! `i32` shared by all threads. So the selected case does not depend on the costs, except for the choices by cost.
//! Rows of one run are compared by their intervals within it.

use syncscope_core::Group;
use syncscope_core::machine::Machine;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Mode, Placement, Row, Scope, Space, Verdict};

use crate::RunData;
use crate::figure::interval_within_run;

/// Barriers of CPU threads, the most common one first.
pub(crate) const CPU_BARRIERS: &[&str] = &[
    "cpu.barrier.std",
    "cpu.barrier.sense",
    "cpu.barrier.dissemination",
    "cpu.barrier.tree",
    "cpu.barrier.openmp",
    "cpu.barrier.futex",
    "cpu.barrier.pthread",
    "cpu.barrier.crossbeam_wait_group",
];
/// Locks that one CPU thread at a time holds, the most common ones first.
pub(crate) const CPU_LOCKS: &[&str] = &[
    "cpu.lock.std_mutex",
    "cpu.lock.parking_lot_mutex",
    "cpu.lock.pthread_mutex",
    "cpu.lock.openmp_critical",
    "cpu.lock.pthread_spin",
    "cpu.lock.ttas",
    "cpu.lock.ticket",
    "cpu.lock.mcs",
    "cpu.lock.clh",
    "cpu.lock.cohort",
    "cpu.lock.parking_lot_fair",
];
/// Hand-offs between two spinning threads.
pub(crate) const HANDOFFS: &[&str] = &["cpu.handoff.cas_pingpong", "cpu.handoff.store_pingpong"];
/// Hand-offs to a thread that may sleep.
pub(crate) const SLEEPING_HANDOFFS: [&str; 3] = ["cpu.handoff.futex", "cpu.handoff.condvar", "cpu.handoff.park"];
/// Wake-ups of a thread that was seen asleep.
pub(crate) const SEEN_ASLEEP: [&str; 5] =
    ["cpu.wake.futex", "cpu.wake.condvar", "cpu.wake.park", "cpu.wake.parking_lot", "cpu.wake.eventfd"];
/// Both, the better figure first.
pub(crate) const WAKE_UPS: &[&str] = &[
    SEEN_ASLEEP[0],
    SEEN_ASLEEP[1],
    SEEN_ASLEEP[2],
    SEEN_ASLEEP[3],
    SEEN_ASLEEP[4],
    SLEEPING_HANDOFFS[0],
    SLEEPING_HANDOFFS[1],
    SLEEPING_HANDOFFS[2],
];
/// Barriers of all blocks of a grid.
pub(crate) const GRID_BARRIERS: &[&str] =
    &["gpu.grid.cooperative", "gpu.grid.counter", "gpu.grid.lock_free", "gpu.grid.hierarchical"];
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
    /// The cheapest row of all primitives, among those with the fewest actors.
    CheapestOfFewest,
    /// The cheapest row of all primitives, among those with the most actors.
    CheapestOfMost,
    /// The row with the median cost: one pair of CPUs represents its class.
    MedianCost,
    /// The cheapest wake-up of a thread that was seen asleep. Without one, the row with the smallest median of single
    /// hand-offs that slept, see [`SLEEP_NS`].
    CheapestSleep,
}

/// A hand-off to a thread that sleeps needs two system calls and a switch of threads on the other CPU: more than a
/// microsecond on every known machine (2 to 6 µs in the stored runs). A shorter one found its thread awake.
const SLEEP_NS: f64 = 1000.0;

/// The detail that holds the median of single hand-offs.
pub(crate) const MEDIAN_DETAIL: &str = "p50_ns";

/// A question that one row of a run answers.
#[derive(Debug)]
pub(crate) struct RowQuery {
    /// The primitives that can answer it, the preferred one first.
    pub(crate) primitives: &'static [&'static str],
    /// Whether a case can answer it.
    pub(crate) fits: fn(&Case, MachineSize) -> bool,
    pub(crate) choice: Choice,
}

/// The row that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selected {
    /// Its index among the rows of the run.
    pub(crate) row: usize,
    /// What a title must add where the choice was made by cost: the names of the cheapest primitives, or that there is
    /// none.
    pub(crate) note: Option<String>,
    /// The cost, where it is not the row's own: the median of single operations.
    pub(crate) median_ns: Option<f64>,
}

impl Selected {
    fn usual(row: usize) -> Self {
        Self { row, note: None, median_ns: None }
    }
}

/// A row with its index among the rows of its run.
type IndexedRow<'a> = (usize, &'a Row);

impl RowQuery {
    /// The selected row of a run; `None` where no row fits. Only the default forms of primitives count, and of barriers only
    /// those that order memory accesses. A case that does not exist on the machine answers nothing.
    pub(crate) fn select(&self, data: &RunData) -> Option<Selected> {
        let machine = MachineSize::of(&data.run.machine);
        let fitting: Vec<IndexedRow<'_>> = data
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| self.primitives.contains(&row.case.primitive.as_str()))
            .filter(|(_, row)| {
                row.case.form.is_none() && !is_relaxed_barrier(&row.case) && (self.fits)(&row.case, machine)
            })
            .filter(|(_, row)| !matches!(row.verdict, Verdict::Skipped(_)))
            .collect();
        let fewest = Case::actors;
        let most = |case: &Case| u64::MAX - case.actors();
        let usual = |size: fn(&Case) -> u64| self.usual(&fitting, machine, size);
        let provisional = |selected: Selected| self.as_far_as_measured(selected, data);
        let named = |row| Selected { note: Some("best not resolved".to_owned()), ..Selected::usual(row) };
        match self.choice {
            Choice::FewestActors => usual(fewest).map(Selected::usual),
            Choice::MostActors => usual(most).map(Selected::usual),
            Choice::CheapestOfFewest => {
                cheapest(&fitting, fewest).map(provisional).or_else(|| usual(fewest).map(named))
            }
            Choice::CheapestOfMost => cheapest(&fitting, most).map(provisional).or_else(|| usual(most).map(named)),
            Choice::MedianCost => self.median(&fitting).or_else(|| usual(fewest)).map(Selected::usual),
            Choice::CheapestSleep => {
                let (seen, others): (Vec<_>, Vec<_>) =
                    fitting.into_iter().partition(|(_, row)| SEEN_ASLEEP.contains(&row.case.primitive.as_str()));
                cheapest(&seen, fewest).or_else(|| cheapest_sleep(&others, data)).map(provisional)
            }
        }
    }

    /// Says of a choice by cost that the run has yet to measure some of the primitives.
    fn as_far_as_measured(&self, selected: Selected, data: &RunData) -> Selected {
        if !self.primitives.iter().any(|id| data.has_more_planned(id)) {
            return selected;
        }
        Selected { note: selected.note.map(|note| format!("{note}, so far")), ..selected }
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

    /// The row with the median cost among those of the first primitive that has any.
    fn median(&self, fitting: &[IndexedRow<'_>]) -> Option<usize> {
        self.primitives.iter().find_map(|primitive| {
            let own = fitting.iter().filter(|(_, row)| row.case.primitive == *primitive);
            let mut own: Vec<(usize, f64)> =
                own.filter_map(|(index, row)| Some((*index, bounds(row).and(row.ns)?.value()))).collect();
            own.sort_by(|(_, a), (_, b)| a.total_cmp(b));
            own.get(own.len().saturating_sub(1) / 2).map(|(index, _)| *index)
        })
    }
}

/// Whether a case is a barrier that orders no memory accesses: it is no replacement for one that does.
pub(crate) fn is_relaxed_barrier(case: &Case) -> bool {
    case.order == Some(MemoryOrder::Relaxed) && ["cluster", "grid", "multi"].contains(&case.domain_and_family().1)
}

/// Where the cost of a row lies by the rows of its run: the interval within the run. `None` without one, and where the
/// cost is no cost of its own.
pub(crate) fn bounds(row: &Row) -> Option<Interval> {
    let ns = row.ns?.value();
    match row.verdict {
        Verdict::Resolved => Some(interval_within_run(row).unwrap_or(Interval { low: ns, high: ns })),
        Verdict::Noisy(_) => interval_within_run(row),
        _ => None,
    }
}

/// The cheapest row among those of the smallest `size`, the one whose cost is certainly below the least bound: noisy rows
/// take part with their intervals, as a wide interval is no reason to call a more expensive row the best. The note names it, and
/// with it each primitive whose interval reaches below the same bound.
fn cheapest(fitting: &[IndexedRow<'_>], size: fn(&Case) -> u64) -> Option<Selected> {
    let known = || fitting.iter().filter_map(|(index, row)| Some((*index, *row, bounds(row)?)));
    let smallest = known().map(|(_, row, _)| size(&row.case)).min()?;
    let same_size = || known().filter(|(_, row, _)| size(&row.case) == smallest);
    let best = same_size().min_by(|(_, _, a), (_, _, b)| a.high.total_cmp(&b.high))?;
    let mut names = vec![design(&best.1.case)];
    for (_, row, _) in same_size().filter(|(_, _, bounds)| bounds.low <= best.2.high) {
        let name = design(&row.case);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(Selected { row: best.0, note: Some(either(&names)), median_ns: None })
}

/// `a, b or c`.
pub(crate) fn either(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// What a program would take: the primitive, and of a grid barrier the variant, which is another algorithm.
pub(crate) fn design(case: &Case) -> String {
    let name = short_name(&case.primitive);
    match &case.group {
        Some(group) if case.domain_and_family().1 == "grid" => format!("{name} {group}"),
        _ => name.to_owned(),
    }
}

/// The same where room is short: of a grid barrier the variant alone.
pub(crate) fn short_design(case: &Case) -> String {
    match &case.group {
        Some(Group::Cluster(size)) if case.domain_and_family().1 == "grid" => format!("clusters of {size}"),
        Some(group) if case.domain_and_family().1 == "grid" => group.to_string(),
        _ => short_name(&case.primitive).to_owned(),
    }
}

/// The last part of an id.
pub(crate) fn short_name(primitive: &str) -> &str {
    primitive.split('.').next_back().unwrap_or(primitive)
}

/// The hand-off with the smallest median of single ones, among those whose thread slept. The cost of a loop of hand-offs
/// is another figure: its threads may be awake.
fn cheapest_sleep(fitting: &[IndexedRow<'_>], data: &RunData) -> Option<Selected> {
    let median = |row: &Row| {
        let details = data.details.get(&row.case.id())?;
        details.iter().find(|detail| detail.name == MEDIAN_DETAIL && detail.actor.is_none()).map(|detail| detail.value)
    };
    let slept = fitting.iter().filter_map(|(index, row)| {
        let ns = median(row).filter(|ns| *ns >= SLEEP_NS)?;
        let note = Some(short_name(&row.case.primitive).to_owned());
        Some((ns, Selected { row: *index, note, median_ns: Some(ns) }))
    });
    slept.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, selected)| selected)
}

/// How far the parameters of a case are from the usual ones, in order of importance; 0 is usual.
pub(crate) fn unusualness(case: &Case) -> [usize; 7] {
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
        // Kernels that last longer than a launch: the host is ahead of the device.
        rank(case.group.as_ref(), &[Group::KernelUs(5)]),
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
