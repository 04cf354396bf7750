//! Selects the one row of a run for a rung of the ladder, such as "what does the best grid barrier cost?".
//!
//! A rung names its primitives, by role or by id, and which of their cases fit. Of several fitting cases it takes the usual
//! one: an `i32` shared by all threads. The selected case therefore does not depend on the costs, except for the choices by
//! cost, which the contest decides.

use syncscope_core::{Case, Layout, Mode, Placement, Role, Space, Verdict};

use crate::RunData;
use crate::analysis::contest::{Basis, Open, Peers, Size, has_role, is_relaxed};
use crate::analysis::matrix;
use crate::analysis::usual::{MachineSize, WARP, is_one_block, short_name, unusualness};
use crate::naming::either;
use crate::reading::bounds;
use crate::reading::has_figure;

/// Which of the fitting rows a rung selects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// The usual case of this primitive and this size.
    Usual(&'static str, Size),
    /// The cheapest row of all primitives with this role, among the usual rows of this size.
    Cheapest(Role, Size),
    /// The row of this primitive with the median cost: one pair of CPUs represents its class.
    MedianCost(&'static str),
    /// The median row of pairs of the nearest cores: those that share a cache, as far as is known, or whose costs are the
    /// lowest.
    NearestCores(&'static str),
    /// The cheapest wake-up of a thread that was seen asleep. Without one, the row with the smallest median of single
    /// hand-offs that slept, see [`SLEEP_NS`].
    CheapestSleep,
}

/// A hand-off to a sleeping thread needs two system calls and a thread switch on the other CPU: more than a microsecond on
/// every known machine (2 to 6 µs in the stored runs). A shorter one found its thread awake.
const SLEEP_NS: f64 = 1000.0;

/// The detail that holds the median of single hand-offs.
pub(crate) const MEDIAN_DETAIL: &str = "p50_ns";

/// What a case of a rung must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fit {
    OneActor,
    Threads(u32),
    MoreThan(u32),
    /// Several threads, placed by name, that fit the CPUs.
    Team,
    /// Whether the case is of two CPUs; what they share may be unknown.
    Pair(bool),
    NoGroup,
    Group(&'static str),
    /// One block of this many threads whose latency is measured.
    OneBlock(u32),
    /// One warp that adds to one variable: independent additions, or additions that each wait for the one before.
    OneWarpAdds(Space, Mode),
    /// Independent additions of several blocks to one variable.
    AllAdd,
    /// Clusters of this many blocks.
    Cluster(u32),
    /// One block on each multiprocessor.
    Filled,
    Devices(u32),
    /// Processes on this many machines.
    Nodes(u32),
    SeveralNodes,
}

impl Fit {
    fn is_met(self, case: &Case, machine: MachineSize) -> bool {
        let is_latency = case.mode == Some(Mode::Latency);
        let is_pair = matches!(case.placement, Some(Placement::List(_)));
        let threads = case.threads.unwrap_or(1);
        match self {
            Self::OneActor => case.actors() == 1,
            Self::Threads(wanted) => case.threads == Some(wanted),
            Self::MoreThan(least) => threads > least,
            Self::Team => threads > 1 && machine.holds(threads) && !is_pair,
            Self::Pair(wanted) => is_pair == wanted && machine.holds(threads),
            Self::NoGroup => case.group.is_none(),
            Self::Group(group) => case.in_group(group),
            Self::OneBlock(threads) => is_one_block(case, threads) && case.mode != Some(Mode::Throughput),
            Self::OneWarpAdds(space, mode) => {
                is_one_block(case, WARP) && case.space == Some(space) && is_latency == (mode == Mode::Latency)
            }
            Self::AllAdd => {
                let shares =
                    case.layout.is_none_or(|layout| layout == Layout::Shared) && case.space != Some(Space::Shared);
                shares && !is_latency && case.blocks.is_some_and(|all| all > 1 && all >= machine.multiprocessors)
            }
            Self::Cluster(blocks) => case.group_number("cluster #") == Some(blocks),
            Self::Filled => machine.is_filled_by(case),
            Self::Devices(devices) => case.devices == Some(devices),
            Self::Nodes(nodes) => case.group_number(NODES) == Some(nodes),
            Self::SeveralNodes => case.group_number(NODES) > Some(1),
        }
    }
}

const NODES: &str = "nodes #";

/// One level of synchronization.
#[derive(Debug)]
pub struct Rung {
    /// The id by which questions, drawings and stored figures name the rung; titles are only text.
    pub id: &'static str,
    /// The part of the machine that synchronizes.
    pub level: &'static str,
    /// The operation.
    pub(crate) title: &'static str,
    /// Words that say the rung is the best of several designs; empty if there is one.
    pub(super) of: &'static str,
    pub(super) choice: Choice,
    pub(super) fits: &'static [Fit],
}

impl Rung {
    /// The title with the operation, and whether it is the best of several designs.
    pub fn full_title(&self) -> String {
        format!("{}{}", self.title, self.of)
    }
}

/// The row that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// The index of the row in the run.
    pub row: usize,
    /// What a title must add to a choice by cost: the names of the cheapest primitives, or that none has a figure.
    pub note: Option<String>,
    /// The names in the note; empty if there are none.
    pub names: Vec<String>,
    /// The cost, where it is not the row's own: the median of single operations.
    pub median_ns: Option<f64>,
}

impl Selected {
    fn usual(row: usize) -> Self {
        Self { row, note: None, names: Vec::new(), median_ns: None }
    }
}

impl Rung {
    /// The selected row of a run; `None` if no row fits. Only the default forms of primitives count and, of barriers, only
    /// those that order memory accesses. A case that does not exist on the machine answers nothing.
    pub fn find(&self, data: &RunData) -> Option<Selected> {
        match self.choice {
            Choice::Cheapest(role, size) => self.cheapest(data, role, size),
            Choice::Usual(_, size) => self.usual(data, size).map(Selected::usual),
            Choice::NearestCores(_) => self.nearest(data).map(Selected::usual),
            Choice::MedianCost(_) => self.median(data).or_else(|| self.usual(data, Size::Fewest)).map(Selected::usual),
            Choice::CheapestSleep => {
                self.cheapest(data, Role::Wake, Size::Fewest).or_else(|| self.cheapest_sleep(data))
            }
        }
    }

    /// Whether the rung selects from cases like this one of the run.
    pub(super) fn is_about(&self, data: &RunData, case: &Case) -> bool {
        let is_meant = match self.choice {
            Choice::Usual(id, _) | Choice::MedianCost(id) | Choice::NearestCores(id) => case.primitive == id,
            Choice::Cheapest(role, _) => has_role(data, case, role),
            Choice::CheapestSleep => has_role(data, case, Role::SleepHandoff),
        };
        is_meant
            && case.form.is_none()
            && !is_relaxed(data, case)
            && self.fits(case, MachineSize::of(&data.run.machine))
    }

    fn fits(&self, case: &Case, machine: MachineSize) -> bool {
        self.fits.iter().all(|fit| fit.is_met(case, machine))
    }

    fn fitting<'a>(&'a self, data: &'a RunData) -> impl Iterator<Item = usize> + 'a {
        data.rows_where(|row| !matches!(row.verdict, Verdict::Skipped(_)) && self.is_about(data, &row.case))
    }

    /// The most usual row and, among equals, the one of this size. Teams that fit the CPUs come before larger ones.
    fn usual(&self, data: &RunData, size: Size) -> Option<usize> {
        let machine = MachineSize::of(&data.run.machine);
        let key = |case: &'_ Case| (machine.is_oversubscribed_by(case), unusualness(case), size.rank(case));
        self.fitting(data).min_by_key(|index| (key(data.case(*index)), data.case(*index)))
    }

    fn median(&self, data: &RunData) -> Option<usize> {
        median(data, self.fitting(data).collect())
    }

    fn nearest(&self, data: &RunData) -> Option<usize> {
        let of_class =
            |group| median(data, self.fitting(data).filter(|index| data.case(*index).in_group(group)).collect());
        ["same_l2", "same_l3"].into_iter().find_map(of_class).or_else(|| {
            let matrix = matrix::matrix(&data.run, &data.rows)?;
            median(data, matrix.of_near_cores(&data.run))
        })
    }

    /// The row with the lowest cost among those that may be the cheapest. The note names each design that may be.
    fn cheapest(&self, data: &RunData, role: Role, size: Size) -> Option<Selected> {
        let machine = MachineSize::of(&data.run.machine);
        let peers = Peers::of(data, role, |case| self.fits(case, machine), size)?;
        let contest = peers.contest(Basis::Run);
        let Some((best, cost)) = contest.best() else {
            return Some(Selected { note: Some(UNRESOLVED.to_owned()), ..Selected::usual(contest.first_row()?) });
        };
        let names = contest.candidates();
        let (note, names) = match contest.outcome() {
            Some(Err(Open::NoNumber { names, .. })) if names.contains(&best.name) => {
                (UNRESOLVED.to_owned(), Vec::new())
            }
            Some(Err(Open::Pending { .. })) => (format!("{}, so far", either(&names)), names),
            _ => (either(&names), names),
        };
        Some(Selected { note: Some(note), names, ..Selected::usual(cost.index) })
    }

    /// The hand-off with the smallest median of single hand-offs, among those whose thread slept. The cost of a loop of
    /// hand-offs is another figure, because its threads may be awake.
    fn cheapest_sleep(&self, data: &RunData) -> Option<Selected> {
        let slept = self.fitting(data).filter_map(|row| {
            let case = data.case(row);
            let ns = data.detail(case, MEDIAN_DETAIL).filter(|ns| *ns >= SLEEP_NS)?;
            let name = short_name(&case.primitive).to_owned();
            Some((ns, Selected { row, note: Some(name.clone()), names: vec![name], median_ns: Some(ns) }))
        });
        slept.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, selected)| selected)
    }
}

/// The row with the median cost, among rows with bounds or, if none has any (as in imported figures), among all.
fn median(data: &RunData, mut rows: Vec<usize>) -> Option<usize> {
    let has_bounds = rows.iter().any(|index| bounds(&data.rows[*index]).is_some());
    rows.retain(|index| {
        let row = &data.rows[*index];
        row.ns.is_some() && if has_bounds { bounds(row).is_some() } else { has_figure(row) }
    });
    data.median(rows)
}

/// The note of a choice by cost if the cheapest row has no figure.
const UNRESOLVED: &str = "best without a figure";
