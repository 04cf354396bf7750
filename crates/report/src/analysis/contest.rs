//! Decides which of several rows is the cheapest, if their intervals allow it. Sentences, charts, advice, ladder and maps all ask
//! this module, so they name the same rows for the same reason.
//!
//! - [`reading::bounds`](crate::reading::bounds): where the cost of a row lies, and which verdicts have bounds.
//! - [`Peers`]: rows that can be compared, because they have one role and differ only in primitive and variant.
//! - [`Contest`]: peers grouped by design. Other designs are rivals; the outcome is a [`Win`] or an [`Open`] question.
//!
//! Two kinds of intervals decide. Rows measured in the same way, such as the locks at one number of threads, met the same state of the
//! machine, so they are compared within the run ([`Basis::Run`]): by the 99 % interval of their ratio
//! ([`rivals`](syncscope_core::run::rivals)), or, without several processes, by the intervals of both costs. Costs from different instruments
//! or sides, such as a kernel launch timed by the host and a barrier timed by the device, are compared by their shown intervals
//! ([`Basis::Machine`]), because the statement must hold in another run, too.
//!
//! [`cheapest_machines`] judges rows of several machines by their shown intervals. [`alike`] makes sure that only like is compared
//! with like; no cost is called lower than another without it.
//!
//! The winner's interval overlaps none of the others, of which there are at most about ten. For two rows that is a test at
//! 0.5 %, hence a test at 5 % among ten.

pub(crate) mod alike;
mod known;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use syncscope_core::{Case, Catalogue, Placement, Role, Row, Verdict};

use super::usual::{MachineSize, short_name, unusualness};
use crate::analysis::compare::ratio::{UncertainCost, p_at_most};
use crate::analysis::compare::{is_one_definition, measurement_blocks};
use crate::naming::enumeration;
use crate::{RunData, naming};
use syncscope_core::sets::{in_groups, sets};

pub(crate) use alike::Comparison;
pub use known::Ratio;
pub(crate) use known::{Basis, Known};

/// The name of what a program would use: the primitive, with its variant where the catalogue says that variants are designs.
pub(crate) fn design(catalogue: &Catalogue, case: &Case) -> String {
    let name = short_name(&case.primitive);
    match &case.group {
        Some(group) if has_designs(catalogue, case) => format!("{name} {}", naming::group(group)),
        _ => name.to_owned(),
    }
}

/// The short name of a design: the variant alone.
pub(crate) fn short_design(catalogue: &Catalogue, case: &Case) -> String {
    match &case.group {
        Some(group) if has_designs(catalogue, case) => match group.number_of("cluster #") {
            Some(blocks) => format!("clusters of {blocks}"),
            None => naming::group(group),
        },
        _ => short_name(&case.primitive).to_owned(),
    }
}

fn has_designs(catalogue: &Catalogue, case: &Case) -> bool {
    catalogue.facts(&case.primitive).is_some_and(|facts| facts.has_designs)
}

pub(crate) fn has_role(data: &RunData, case: &Case, role: Role) -> bool {
    data.catalogue.facts(&case.primitive).is_some_and(|facts| facts.role == role)
}

/// Whether a case is a barrier that gives up the order of memory accesses, and so cannot replace one that keeps it.
pub(crate) fn is_relaxed(data: &RunData, case: &Case) -> bool {
    let is_barrier = |role| matches!(role, Role::ClusterBarrier | Role::GridBarrier | Role::DeviceBarrier);
    let facts = data.catalogue.facts(&case.primitive);
    facts.is_some_and(|facts| is_barrier(facts.role) && facts.orders_memory && !facts.orders_memory_in(case))
}

/// Whether a case does not exist on the machine, or the compiler removes its primitive.
pub(crate) fn is_absent(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_))
}

/// Whether a row exists, has its default form and belongs to no group.
pub(crate) fn is_plain(row: &Row) -> bool {
    row.case.form.is_none() && row.case.group.is_none() && !is_absent(row)
}

/// Whether a row competes with others of its role: its case exists, has the default form and no work, orders memory, and did
/// not run on the CPUs of a study. Launching on several devices with one driver call does not make another barrier.
pub(crate) fn takes_part(data: &RunData, row: &Row, role: Role) -> bool {
    has_role(data, &row.case, role)
        && row.case.form.is_none()
        && !row.case.has_work()
        && !row.case.in_group("driver_launch")
        && !is_absent(row)
        && !is_relaxed(data, &row.case)
        && !matches!(row.case.placement, Some(Placement::List(_)))
}

/// The part of a case that primitives and designs must share to be compared. A group that is not a design is a parameter,
/// such as the CPUs of a pair.
fn shape(catalogue: &Catalogue, case: &Case) -> Case {
    let group = case.group.clone().filter(|_| !has_designs(catalogue, case));
    Case { primitive: String::new(), group, ..case.clone() }
}

/// Whether the largest team is the usual one, or the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Fewest,
    Most,
}

impl Size {
    /// The lowest rank wins.
    pub(crate) fn rank(self, case: &Case) -> u64 {
        if self == Self::Most { u64::MAX - case.actors() } else { case.actors() }
    }
}

/// Rows of one role whose cases differ only in primitive and variant.
#[derive(Debug)]
pub(crate) struct Peers<'a> {
    data: &'a RunData,
    role: Role,
    /// The case of the first peer.
    pub(crate) like: &'a Case,
    shapes: Shapes<'a>,
}

impl<'a> Peers<'a> {
    /// The usual rows that fit: from teams that fit the CPUs, of the smallest or largest size, with the most designs, and of
    /// the usual type and placement. Everything that compares primitives of a role uses these.
    pub(crate) fn of(data: &'a RunData, role: Role, fits: impl Fn(&Case) -> bool, size: Size) -> Option<Self> {
        let machine = MachineSize::of(&data.run.machine);
        let is_one = |row: &Row| takes_part(data, row, role) && fits(&row.case);
        let sets = data.sets(|row| is_one(row).then(|| shape(&data.catalogue, &row.case)));
        let usual = sets.into_iter().min_by_key(|(shape, rows)| {
            let case = data.case(rows[0]);
            let designs = rows.iter().map(|index| design(&data.catalogue, data.case(*index)));
            let designs = Reverse(designs.collect::<BTreeSet<_>>().len());
            (machine.is_oversubscribed_by(case), size.rank(case), designs, unusualness(shape), shape.clone())
        });
        usual.map(|(_, rows)| Self { data, role, like: data.case(rows[0]), shapes: Shapes::of(data, role) })
    }

    /// The peers with this many CPU threads or, without a number, with the most threads that fit the CPUs.
    pub(crate) fn of_team(data: &'a RunData, role: Role, threads: Option<u32>, least: u32) -> Option<Self> {
        let machine = MachineSize::of(&data.run.machine);
        let fits = |case: &Case| machine.is_asked(case, threads) && case.threads.unwrap_or(1) >= least;
        Self::of(data, role, fits, Size::Most)
    }

    /// The rows of the same role that may also differ from these in the number of threads.
    pub(crate) fn with_other_teams(&self) -> Vec<usize> {
        let key = |case: &Case| Case { threads: None, ..shape(&self.data.catalogue, case) };
        let own = key(self.like);
        self.data.rows_where(|row| takes_part(self.data, row, self.role) && key(&row.case) == own).collect()
    }

    pub(crate) fn contest(&self, basis: Basis) -> Contest<'a> {
        self.shapes.contest(self.like, basis)
    }

    /// The contest of the same rows at this many threads.
    pub(crate) fn at(&self, threads: u32) -> Contest<'a> {
        self.shapes.contest(&Case { threads: Some(threads), ..self.like.clone() }, Basis::Run)
    }
}

/// The rows of a role, grouped by shape. Each shape is a contest of its own and never looks at the rows of the others.
#[derive(Debug)]
struct Shapes<'a> {
    data: &'a RunData,
    role: Role,
    rows: BTreeMap<Case, Vec<usize>>,
    /// The primitives of the role, and whether the run has yet to measure some of their cases.
    primitives: Vec<(&'a str, bool)>,
}

impl<'a> Shapes<'a> {
    fn of(data: &'a RunData, role: Role) -> Self {
        let rows = data.sets(|row| has_role(data, &row.case, role).then(|| shape(&data.catalogue, &row.case)));
        let primitives = data.catalogue.with_role(role).map(|one| (one.id, data.has_more_planned(one.id))).collect();
        Self { data, role, rows, primitives }
    }

    /// The contest of the rows whose cases are like this one. Cases that do not exist and primitives that the compiler
    /// removes take no part.
    fn contest(&self, like: &Case, basis: Basis) -> Contest<'a> {
        let of_shape = self.rows.get(&shape(&self.data.catalogue, like)).map_or(&[][..], Vec::as_slice);
        let by_primitive = sets(of_shape.iter().map(|index| (self.data.case(*index).primitive.as_str(), *index)));
        let (mut entrants, mut pending, mut left_out) = (Vec::new(), Vec::new(), 0);
        for (primitive, is_open) in &self.primitives {
            let own = by_primitive.get(primitive).map_or(&[][..], Vec::as_slice);
            let existing = own.iter().filter(|index| takes_part(self.data, &self.data.rows[**index], self.role));
            entrants.extend(existing.map(|index| Entrant::of(self.data, *index, basis)));
            match own {
                [] if *is_open => pending.push(short_name(primitive).to_owned()),
                [] => left_out += 1,
                _ => {}
            }
        }
        Contest { left_out, ..Contest::of(entrants, pending) }
    }
}

/// Roles whose primitives replace each other in a program.
const CHOICES: [Role; 5] =
    [Role::ThreadLock, Role::ThreadBarrier, Role::GpuLock, Role::GridBarrier, Role::DeviceBarrier];

/// The cheapest rows among comparable ones, for each role and size.
pub(crate) fn cheapest_rows(data: &RunData) -> Vec<&Row> {
    let of_role = |role: Role| {
        let shapes = Shapes::of(data, role);
        let cheapest = |like: &Case| {
            let contest = shapes.contest(like, Basis::Run);
            contest.outcome().and_then(Result::ok).map(|win| &data.rows[win.cost.index])
        };
        shapes.rows.keys().filter_map(cheapest).collect::<Vec<_>>()
    };
    CHOICES.into_iter().flat_map(of_role).collect()
}

/// A row that takes part in a contest.
#[derive(Debug, Clone)]
pub(crate) struct Entrant<'a> {
    /// Its design, or another name that a sentence uses.
    pub(crate) name: String,
    pub(crate) index: usize,
    /// The cost of the row; `None` if it is unknown, so that the row may be the cheapest.
    pub(crate) known: Option<Known<'a>>,
}

impl<'a> Entrant<'a> {
    pub(crate) fn of(data: &'a RunData, index: usize, basis: Basis) -> Self {
        Self { name: design(&data.catalogue, data.case(index)), index, known: Known::of(data, index, basis) }
    }
}

/// Rows that are compared by the costs of the same kind of thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contest<'a> {
    entrants: Vec<Entrant<'a>>,
    /// What the run has yet to measure.
    pending: Vec<String>,
    /// The number of the role's primitives that the run did not plan to measure: its preset, its globs or its age leave them
    /// out.
    pub(crate) left_out: usize,
}

impl<'a> Contest<'a> {
    /// A contest of these rows, with what the run has yet to measure. If the costs are not of one kind of thread, an entrant
    /// without the deciding cost counts as unknown.
    pub(crate) fn of(mut entrants: Vec<Entrant<'a>>, pending: Vec<String>) -> Self {
        let known: Vec<Known<'a>> = entrants.iter().filter_map(|one| one.known).collect();
        if !alike::has_one_actor(&known) {
            for one in &mut entrants {
                one.known = one.known.and_then(alike::of_median);
            }
        }
        Self { entrants, pending, ..Self::default() }
    }

    /// The contest of the rows of this role whose cases are like this one. Cases that do not exist and primitives that the
    /// compiler removes take no part.
    pub(crate) fn like(data: &'a RunData, role: Role, like: &Case, basis: Basis) -> Self {
        Shapes::of(data, role).contest(like, basis)
    }

    /// Joins two contests.
    pub(crate) fn with(self, other: Self) -> Self {
        let left_out = self.left_out + other.left_out;
        let (entrants, pending) = ([self.entrants, other.entrants].concat(), [self.pending, other.pending].concat());
        Self { left_out, ..Self::of(entrants, pending) }
    }

    /// Renames the entrants.
    pub(crate) fn named(mut self, name: impl Fn(&str) -> String) -> Self {
        for one in &mut self.entrants {
            one.name = name(&one.name);
        }
        self
    }

    /// The contest restricted to the entrants that are meant.
    pub(crate) fn only(mut self, is_meant: impl Fn(&Entrant<'a>) -> bool) -> Self {
        self.entrants.retain(is_meant);
        self
    }

    pub(crate) fn known(&self) -> impl Iterator<Item = (&Entrant<'a>, Known<'a>)> {
        self.entrants.iter().filter_map(|one| Some((one, one.known?)))
    }

    /// The index of the first row, whether its cost is known or not.
    pub(crate) fn first_row(&self) -> Option<usize> {
        self.entrants.first().map(|one| one.index)
    }

    /// The indices of the rows with a known cost.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> {
        self.known().map(|(_, known)| known.index)
    }

    /// The row with the lowest cost among those that may be the cheapest.
    pub(crate) fn best(&self) -> Option<(&Entrant<'a>, Known<'a>)> {
        self.undercut_by_none().min_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns))
    }

    /// Rows with a known cost that no other row certainly undercuts.
    fn undercut_by_none(&self) -> impl Iterator<Item = (&Entrant<'a>, Known<'a>)> {
        self.known().filter(|(_, one)| !self.known().any(|(_, other)| other.is_below(one)))
    }

    /// The row with the lowest cost that may be written, among those that may be the cheapest.
    pub(crate) fn least(&self) -> Option<(&Entrant<'a>, Known<'a>)> {
        self.undercut_by_none().filter(|(_, one)| one.is_written()).min_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns))
    }

    /// Whether this cost is certainly below all entrants, with none of them unknown or yet to be measured.
    pub(crate) fn is_above(&self, one: &Known<'a>) -> bool {
        let is_below = |other: &Entrant<'a>| one.across(other.known?).map(|both| both.is_certain());
        self.pending.is_empty() && self.entrants.iter().all(|other| is_below(other) == Some(true))
    }

    pub(crate) fn entrants(&self) -> impl Iterator<Item = &Entrant<'a>> {
        self.entrants.iter()
    }

    /// What the run has yet to measure.
    pub(crate) fn pending(&self) -> &[String] {
        &self.pending
    }

    /// The best row and the rows of other designs that may be as cheap; empty if no cost is known.
    pub(crate) fn contenders(&self) -> Vec<&Entrant<'a>> {
        let Some((best, _)) = self.best() else { return Vec::new() };
        let unknown = self.entrants.iter().filter(|one| one.known.is_none());
        let others = self.undercut_by_none().map(|(one, _)| one).chain(unknown).filter(|one| one.name != best.name);
        std::iter::once(best).chain(others).collect()
    }

    /// The designs that may be the cheapest, the best first; empty if no cost is known.
    pub(crate) fn candidates(&self) -> Vec<String> {
        distinct(self.contenders())
    }

    /// The certain winner with its rivals of other designs, or why the contest is open. `None` without a rival.
    pub(crate) fn outcome(&self) -> Option<Result<Win<'_, 'a>, Open>> {
        let designs = distinct(&self.entrants);
        let of = designs.len() + self.pending.len();
        if of < 2 {
            return None;
        }
        let known: Vec<Known<'a>> = self.known().map(|(_, known)| known).collect();
        if known.windows(2).any(|pair| !alike::is_alike(&pair[0].row.case, &pair[1].row.case)) {
            return Some(Err(Open::Unlike(designs)));
        }
        if !self.pending.is_empty() {
            return Some(Err(Open::Pending { names: self.pending.clone(), of }));
        }
        let Some((best, cost)) = self.best() else { return Some(Err(Open::NoNumber { names: designs, of })) };
        let contenders = self.contenders();
        // Processes can order costs even without a number.
        let is_open = |known: Known<'_>| !known.is_written() && known.row.run_to_run.is_none();
        let unknown = distinct(contenders.iter().copied().filter(|one| one.known.is_none_or(is_open)));
        let names = distinct(contenders.iter().copied());
        Some(match names.len() {
            _ if !unknown.is_empty() => Err(Open::NoNumber { names: unknown, of }),
            1 => Ok(Win { name: &best.name, cost, rivals: self.rivals_of(best) }),
            several => {
                let others = of - several;
                let known = contenders.iter().filter_map(|one| one.known);
                let of_machine = known.clone().any(|one| one.basis == Basis::Machine);
                let by_ratio = known.filter(|one| one.index != cost.index).all(|one| one.is_ordered_by_ratio(&cost));
                Err(if by_ratio {
                    Open::Unordered { names, others }
                } else {
                    let basis = if of_machine { Basis::Machine } else { Basis::Run };
                    Open::Overlap { names, others, basis }
                })
            }
        })
    }

    /// Rows of other designs with a known cost, the cheapest first.
    fn rivals_of(&self, best: &Entrant<'_>) -> Vec<(&Entrant<'a>, Known<'a>)> {
        let mut rivals: Vec<_> = self.known().filter(|(other, _)| other.name != best.name).collect();
        rivals.sort_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns));
        rivals
    }

    /// Names the winner's title: `cheapest lock`, or `cheapest of the 2 measured locks` if others have no row.
    pub(crate) fn cheapest(&self, noun: &str) -> String {
        match self.left_out {
            0 => format!("cheapest {noun}"),
            _ => format!("cheapest of the {} measured {noun}s", self.measured()),
        }
    }

    /// The number of designs with a row.
    pub(crate) fn measured(&self) -> usize {
        distinct(&self.entrants).len()
    }
}

/// The designs of these entrants, each once.
fn distinct<'b, 'a: 'b>(entrants: impl IntoIterator<Item = &'b Entrant<'a>>) -> Vec<String> {
    let named = in_groups(entrants.into_iter().map(|one| (&one.name, one)));
    named.into_iter().map(|(name, _)| name.clone()).collect()
}

/// A row that is certainly the cheapest.
#[derive(Debug, Clone)]
pub(crate) struct Win<'c, 'a> {
    pub(crate) name: &'c str,
    pub(crate) cost: Known<'a>,
    /// Rows of other designs, the cheapest first.
    pub(crate) rivals: Vec<(&'c Entrant<'a>, Known<'a>)>,
}

impl<'c, 'a> Win<'c, 'a> {
    /// The cost of a rival over that of the winner.
    pub(crate) fn ratio(&self, rival: &Known<'_>) -> Ratio {
        rival.over(&self.cost)
    }

    /// The cheapest rival whose cost may be written, or else the cheapest one: its ratio to the winner is known
    /// nevertheless.
    pub(crate) fn next(&self) -> Option<(&'c Entrant<'a>, Known<'a>)> {
        self.rivals.iter().find(|(_, rival)| rival.is_written()).or(self.rivals.first()).copied()
    }

    /// The indices of all rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.cost.index).chain(self.rivals.iter().map(|(_, rival)| rival.index))
    }
}

/// Why nothing is certainly the cheapest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Open {
    /// These are not measured yet.
    Pending { names: Vec<String>, of: usize },
    /// These have no figure, and neither an interval nor processes order them, so each may be the cheapest.
    NoNumber { names: Vec<String>, of: usize },
    /// The intervals of these rows overlap; the others certainly cost more.
    Overlap { names: Vec<String>, others: usize, basis: Basis },
    /// The processes that measured these rows do not decide their order; the others certainly cost more.
    Unordered { names: Vec<String>, others: usize },
    /// These are not rivals, because they differ in form or width.
    Unlike(Vec<String>),
}

/// The most names that are written; further ones are counted.
const MOST_NAMES: usize = 3;

/// `a, b and c`, `a, b, c and 4 more`.
fn few(names: &[String]) -> String {
    match names.split_at_checked(MOST_NAMES) {
        Some((first, rest)) if rest.len() > 1 => enumeration(&[first, &[format!("{} more", rest.len())]].concat()),
        _ => enumeration(names),
    }
}

/// Others may have no figure and yet be more expensive.
fn without_figure(names: &[String], of: usize) -> String {
    match names {
        [name] => format!("the cheapest may be {name}, the only one of {of} candidates without a figure"),
        _ => {
            format!("the cheapest may be among the {} of {of} candidates without a figure: {}", names.len(), few(names))
        }
    }
}

impl fmt::Display for Open {
    /// `the cheapest may be among the 3 of 8 candidates without a figure: ttas, ticket and mcs`, `none of the 8 candidates has a
    /// figure`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted =
            |out: &mut fmt::Formatter<'_>, names: &[String], of: &usize, [one, several]: [&str; 2]| match names {
                [name] => write!(out, "{name}, one of the {of} candidates, {one}"),
                _ => write!(out, "{} of the {of} candidates {several}: {}", names.len(), few(names)),
            };
        match self {
            Self::NoNumber { names, of } if names.len() == *of => {
                write!(out, "none of the {of} candidates has a figure")
            }
            Self::Pending { names, of } => counted(out, names, of, ["is not measured yet", "are not measured yet"]),
            Self::NoNumber { names, of } => out.write_str(&without_figure(names, *of)),
            Self::Overlap { names, others, .. } | Self::Unordered { names, others } => {
                match self {
                    Self::Overlap { basis, .. } => {
                        write!(out, "the {}intervals of {} overlap", basis.words(), few(names))?;
                    }
                    _ => write!(out, "{} cannot be told apart", few(names))?,
                }
                match others {
                    0 => Ok(()),
                    1 => write!(out, "; the other one costs more"),
                    _ => write!(out, "; the other {others} cost more"),
                }
            }
            Self::Unlike(names) => {
                write!(out, "{} were measured with different threads or in a different form", few(names))
            }
        }
    }
}

/// A machine's row whose cost may be written as a number, with an interval.
pub struct OnMachine<'a> {
    /// The index of the machine.
    machine: usize,
    row: &'a Row,
    hardware: String,
    cost: UncertainCost,
}

impl<'a> OnMachine<'a> {
    /// Enters a row; `None` if it takes no part.
    pub fn of(machine: usize, data: &'a RunData, index: usize) -> Option<Self> {
        let row = Known::of(data, index, Basis::Machine).filter(Known::has_figure)?.row;
        let blocks = measurement_blocks(row, data.details.get(&row.case.id()));
        let hardware = naming::hardware(&data.run.machine, &row.case);
        Some(Self { machine, row, hardware, cost: UncertainCost::of(row, blocks)? })
    }

    /// Whether both cases have one size and, if they are of the same primitive, the same definition of the loop.
    fn is_comparable(&self, other: &Self) -> bool {
        naming::size(&self.row.case) == naming::size(&other.row.case) && is_one_definition(self.row, other.row)
    }
}

/// The machines with the cheapest hardware, if it is certainly below all others: each run on it below each run on other
/// hardware, in one-sided tests at 2.5 % divided by the number of such pairs. Where sizes or instructions differ, the costs
/// are not comparable.
pub fn cheapest_machines(entrants: &[OnMachine<'_>]) -> Vec<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::testing::{case, data, row, within};
    use syncscope_core::run::row::{Parts, RunToRun};
    use syncscope_core::stats::Variance;
    use syncscope_core::{Class, Group};

    fn lock(name: &str, ns: f64) -> Row {
        row(case(&format!("cpu.lock.{name}"), 4), ns, 0.1)
    }

    fn contest(run: &RunData) -> Contest<'_> {
        Peers::of(run, Role::ThreadLock, |_| true, Size::Most).unwrap().contest(Basis::Run)
    }

    fn outcome(rows: Vec<Row>) -> Option<Result<String, String>> {
        let run = data(rows);
        contest(&run).outcome().map(|outcome| match outcome {
            Ok(win) => Ok(format!("{} {}, {} rivals", win.name, win.cost, win.rivals.len())),
            Err(open) => Err(open.to_string()),
        })
    }

    #[test]
    fn what_the_machine_lacks_takes_no_part_and_what_is_not_measured_is_counted() {
        let lacking = Row { verdict: Verdict::Skipped("no such lock".into()), ..lock("ttas", 100.0) };
        let of_runtime = |group| {
            let row = lock("openmp_critical", 300.0);
            Row { case: Case { group: Some(Group::named(group)), ..row.case.clone() }, ..row }
        };
        let runtimes = [of_runtime("libgomp"), of_runtime("libomp")];
        let mut run = data([vec![lock("ticket", 100.0), lock("mcs", 200.0), lacking], runtimes.to_vec()].concat());
        let all = run.catalogue.with_role(Role::ThreadLock).count();
        let of = |run: &RunData| {
            let contest = contest(run);
            (contest.pending.clone(), contest.left_out, contest.cheapest("lock"))
        };
        assert_eq!(of(&run), (vec![], all - 4, "cheapest of the 4 measured locks".to_owned()));
        run.run.status = syncscope_core::run::Status::BudgetSpent;
        run.run.planned_by_primitive = [("cpu.lock.clh".to_owned(), 1)].into();
        assert_eq!((of(&run).0, of(&run).1), (vec!["clh".to_owned()], all - 5));
        assert_eq!(
            contest(&run).outcome().unwrap().unwrap_err().to_string(),
            "clh, one of the 5 candidates, is not measured yet"
        );
    }

    #[test]
    fn a_cost_without_a_figure_may_be_the_cheapest_and_is_named() {
        let noisy = |row: Row, low, high| Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) };
        let with = |other: Row| outcome(vec![lock("ticket", 100.0), lock("mcs", 200.0), other]);
        assert_eq!(with(lock("ttas", 300.0)), Some(Ok("ticket 100 ns, 2 rivals".into())));
        assert_eq!(
            with(noisy(lock("ttas", 300.0), 90.0, 900.0)),
            Some(Err("the cheapest may be ttas, the only one of 3 candidates without a figure".into()))
        );
        assert_eq!(with(noisy(lock("ttas", 300.0), 150.0, 900.0)), Some(Ok("ticket 100 ns, 2 rivals".into())));
        assert_eq!(with(noisy(lock("ttas", 60.0), 40.0, 80.0)), Some(Ok("ttas 40 to 80 ns, 2 rivals".into())));
        let rivals = "the intervals of ttas and ticket overlap; the other one costs more";
        assert_eq!(with(noisy(lock("ttas", 90.0), 60.0, 120.0)), Some(Err(rivals.into())), "a range is known");
        let open = Verdict::Interfered("too many".into());
        assert_eq!(
            with(Row { verdict: open, ..lock("ttas", 9.0) }),
            Some(Err("the cheapest may be ttas, the only one of 3 candidates without a figure".into()))
        );
        let small = Row { verdict: Verdict::BelowResolution("at most".into()), ..lock("ttas", 9.0) };
        assert_eq!(
            with(within(small, -50.0, 90.0)),
            Some(Err("the cheapest may be ttas, the only one of 3 candidates without a figure".into()))
        );
        let overlap = "the intervals of ticket and ttas overlap; the other one costs more";
        assert_eq!(with(within(lock("ttas", 110.0), 99.0, 120.0)), Some(Err(overlap.into())));
        assert_eq!(outcome(vec![lock("ticket", 100.0)]), None, "no rival");
    }

    /// The two cheapest rows overlap. Processes order them only if each process measured both.
    #[test]
    fn two_rows_are_unordered_by_processes_only_if_both_have_them() {
        let in_processes = |row: Row| {
            let of = |value| Variance { value, degrees: 9.0 };
            let ns = Parts { own: of(1e-2), shared: of(0.0) };
            let run_to_run = RunToRun { class: Class::Lines, ns, cycles: None };
            Row { run_to_run: Some(run_to_run), ..row }
        };
        let (ticket, ttas) = (in_processes(lock("ticket", 100.0)), lock("ttas", 101.0));
        let unordered = "ticket and ttas cannot be told apart";
        assert_eq!(outcome(vec![ticket.clone(), in_processes(ttas.clone())]), Some(Err(unordered.into())));
        assert_eq!(outcome(vec![ticket, ttas]), Some(Err("the intervals of ticket and ttas overlap".into())));
    }

    #[test]
    fn the_cheapest_row_of_a_size_is_marked_if_its_contest_is_decided() {
        let marked = |rows: Vec<Row>| {
            let run = data(rows);
            cheapest_rows(&run).into_iter().map(|row| row.case.primitive.clone()).collect::<Vec<_>>()
        };
        assert_eq!(marked(vec![lock("ticket", 200.0), lock("mcs", 100.0)]), ["cpu.lock.mcs"]);
        assert_eq!(marked(vec![lock("ticket", 100.0), lock("mcs", 100.0)]), [""; 0]);
    }

    #[test]
    fn a_plain_row_has_the_default_form_and_no_group() {
        let of = |form, group: Option<&str>| {
            let one = lock("mcs", 100.0);
            let case = Case { form, group: group.map(Group::of_word), ..one.case.clone() };
            is_plain(&Row { case, ..one })
        };
        let forms = [None, Some(syncscope_core::Form::Varying)];
        assert_eq!(forms.map(|form| [of(form, None), of(form, Some("one_cpu"))]), [[true, false], [false; 2]]);
        assert!(!is_plain(&Row { verdict: Verdict::Elided("gone".into()), ..lock("mcs", 100.0) }));
    }

    #[test]
    fn more_than_four_names_are_counted() {
        let of = |count: usize| {
            few(&["a", "b", "c", "d", "e"][..count].iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!([1, 3, 4, 5].map(of), ["a", "a, b and c", "a, b, c and d", "a, b, c and 2 more"]);
    }

    #[test]
    fn the_cheapest_hardware_is_below_all_other_in_each_of_its_runs() {
        let run = |model: &str, case: Case, ns: f64| {
            let mut data = data(vec![Row { pairs: Some(400), ..row(case, ns, 0.02) }]);
            data.run.machine.cpu.model = model.to_owned();
            data
        };
        let cheapest = |runs: &[RunData]| {
            let entrants: Vec<_> =
                (10..).zip(runs).filter_map(|(machine, run)| OnMachine::of(machine, run, 0)).collect();
            assert_eq!(entrants.len(), runs.len());
            cheapest_machines(&entrants)
        };
        let on = |model: &str, ns: f64| run(model, case("cpu.lock.mcs", 4), ns);
        assert_eq!(cheapest(&[on("A", 100.0), on("B", 200.0), on("A", 105.0), on("C", 150.0)]), [10, 12]);
        assert_eq!(cheapest(&[on("A", 100.0), on("B", 200.0), on("B", 101.0)]), [0; 0], "one rival is as cheap");
        assert_eq!(cheapest(&[on("A", 100.0), on("B", 150.0), on("A", 149.0)]), [0; 0], "one run is not below");
        assert_eq!(cheapest(&[on("A", 100.0), on("A", 200.0)]), [0; 0], "no other hardware");
        assert_eq!(cheapest(&[on("A", 100.0), run("B", case("cpu.lock.mcs", 8), 200.0)]), [0; 0], "another size");
        assert_eq!(cheapest(&[]), [0; 0]);
        // Each pair is tested at its share of 2.5 %.
        let is_tested_at = |own: usize, rivals: usize, percent: u32| {
            let dearer = on("B", 100.0 + 0.1 * f64::from(percent));
            let p = {
                let [one, rival] = [&on("A", 100.0), &dearer].map(|run| OnMachine::of(0, run, 0).unwrap().cost);
                p_at_most(&rival, 1.0, &one)
            };
            let runs = (0..own)
                .map(|_| on("A", 100.0))
                .chain((0..rivals).map(|_| on("B", dearer.rows[0].ns.unwrap().value())));
            cheapest(&runs.collect::<Vec<_>>()).is_empty() == (p > 0.025 / (own * rivals) as f64)
        };
        for (own, rivals) in [(1, 1), (1, 4), (3, 3)] {
            assert!((1..100).all(|percent| is_tested_at(own, rivals, percent)), "{own} {rivals}");
        }
    }

    #[test]
    fn variants_are_rivals_where_the_catalogue_calls_them_designs() {
        let of = |name: &str, group: &str, ns: f64| {
            let one = lock(name, ns);
            Row { case: Case { group: Some(Group::of_word(group)), ..one.case.clone() }, ..one }
        };
        let spin_park = vec![of("spin_park", "spin 10 us", 100.0), of("spin_park", "spin 50 us", 101.0)];
        let overlap = "the intervals of spin_park spin 10 µs and spin_park spin 50 µs overlap";
        assert_eq!(outcome(spin_park.clone()), Some(Err(overlap.into())));
        let mutex = vec![lock("std_mutex", 100.0), of("std_mutex", "one_cpu", 9.0), lock("mcs", 300.0)];
        assert_eq!(outcome(mutex), Some(Ok("std_mutex 100 ns, 1 rivals".into())), "other places are no designs");
    }
}
