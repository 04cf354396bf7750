//! Which primitive to take for a stated need, by the rows of one run: the part of a question that `advise` asks for.
//!
//! Nothing is advised that the rows do not make certain: the contest decides.

use std::time::Duration;

use serde::Serialize;
use syncscope_core::Detail;
use syncscope_core::detail::value_of;
use syncscope_core::words::words;

use super::families::by_class;
use super::prelude::*;
use super::{WITHOUT_INTERVALS, adviser, lacks_intervals};
use crate::analysis::contest::Win;
use crate::analysis::matrix::{PAIR_CLASSES, PairClass};

words! {
    /// What a program needs.
    pub enum Need ("need") {
        /// Count events of several threads.
        CountEvents = "count-events",
        /// Protect data that one thread at a time may use.
        Protect = "protect",
        /// Divide the work of several threads into phases.
        Phases = "phases",
        /// Hand over work from one thread to another.
        HandOver = "hand-over",
        /// Wait for another thread.
        Wait = "wait",
        /// Reduce many values to one.
        Reduce = "reduce",
        /// End a phase of all threads of a GPU.
        EndGpuPhase = "end-gpu-phase",
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Threads of the team on the CPU, of a block on the GPU; `None`: as many as the run has rows for, on the CPU at most
    /// one for each hardware thread.
    pub threads: Option<u32>,
    /// The side; `None`: every side that the run measured.
    pub on: Option<Domain>,
    /// How long a thread waits, for [`Need::Wait`]; `None`: for as long as one or the other way to wait is the better one.
    pub wait: Option<Duration>,
}

/// The answer to a need in one situation.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The need.
    pub need: Need,
    /// The side of the machine.
    pub on: Domain,
    /// Sizes and what else distinguishes it from other situations: `16 threads`.
    pub situation: String,
    /// The answer.
    pub decision: Decision,
}

/// What the rows say.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// One candidate is certainly the cheapest.
    Take(Box<Choice>),
    /// The rows do not decide.
    Undecided(String),
    /// The run lacks the rows.
    Missing(String),
}

impl Decision {
    /// The same with more said of the one to take, if there is one.
    pub(super) fn taking(mut self, say: impl FnOnce(&mut Choice)) -> Self {
        if let Self::Take(choice) = &mut self {
            say(choice);
        }
        self
    }
}

/// A figure with its interval, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostFigure {
    /// The cost.
    pub ns: f64,
    /// Lower end of the 95 % interval to quote, which holds for another run.
    pub ns_low: f64,
    /// Upper end.
    pub ns_high: f64,
    /// Whether its row is noisy.
    #[serde(rename = "noisy")]
    pub is_rough: bool,
}

impl CostFigure {
    /// What to quote of a cost: its interval for another run, where it has one.
    fn of(known: &Known<'_>) -> Self {
        let Interval { low, high } = known.quoted();
        Self { ns: known.ns, ns_low: low, ns_high: high, is_rough: known.row.verdict != Verdict::Resolved }
    }

    /// `1.20 µs`, `~1.20 µs` where its row is noisy.
    pub(crate) fn figure(self) -> String {
        let doubt = if self.is_rough { reading::ROUGHLY } else { "" };
        format!("{doubt}{}", figure::time(self.ns))
    }
}

/// The one to take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// In words: `std_mutex`, `padded counters`.
    pub name: String,
    /// Id of the primitive or of the variant of a reduction.
    pub id: String,
    /// What one operation is, that the cost is of.
    pub operation: String,
    /// Where it comes from; empty for an id that the catalogue does not have.
    pub source: String,
    /// The case, in one line.
    pub case: String,
    /// The index of its row.
    #[serde(skip)]
    pub(crate) row: usize,
    /// Its cost.
    pub cost: CostFigure,
    /// The second, which is certainly more expensive.
    pub next: RunnerUp,
    /// What makes it unfit for some programs.
    pub warnings: Vec<String>,
    /// What else the rows say.
    pub notes: Vec<String>,
}

/// The second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunnerUp {
    /// In words.
    pub name: String,
    /// Id of the primitive or variant.
    pub id: String,
    /// Its cost.
    pub cost: CostFigure,
    /// Its cost over that of the winner.
    pub ratio: f64,
    /// The interval of the ratio, of at least 95 %; `None`: no bound on that side.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
}

/// The side of an [`Advice`], its situation and its decision.
pub(super) type Situation = (Domain, String, Decision);

/// A run, and what it is asked.
#[derive(Clone, Copy)]
pub(super) struct Inquiry<'a> {
    pub(super) data: &'a RunData,
    pub(super) asked: Asked,
}

/// What to take of these. Where the run leaves some of them out, a note says so. `None` where there is no choice.
pub(super) fn decide(inquiry: Inquiry<'_>, contest: &Contest<'_>) -> Option<Decision> {
    let win = match contest.outcome()? {
        Ok(_) if lacks_intervals(inquiry.data) => return Some(Decision::Undecided(WITHOUT_INTERVALS.to_owned())),
        Err(open) => return Some(Decision::Undecided(open.to_string())),
        Ok(win) => win,
    };
    let (next, next_cost) = win.next()?;
    let ratio = win.ratio(&next_cost);
    let case = &win.cost.row.case;
    let primitive = inquiry.data.catalogue.get(&case.primitive);
    let left_out = (contest.left_out > 0).then(|| {
        let (measured, left_out) = (contest.measured(), contest.left_out);
        let verb = if left_out == 1 { "has" } else { "have" };
        format!("the cheapest of the {measured} measured; {left_out} more {verb} no row at this size")
    });
    let of_median = win.cost.is_of_another_actor().then(|| "both costs are those of the median thread".to_owned());
    let placed = placements::beyond_one_socket(&inquiry.data.run, case);
    let placed = placed.map(|on| format!("measured with threads {on}"));
    let notes = placed.into_iter().chain(elsewhere(inquiry.data, case)).chain(left_out).chain(of_median);
    Some(Decision::Take(Box::new(Choice {
        name: win.name.to_owned(),
        id: case.primitive.clone(),
        operation: primitive.map_or_else(String::new, |primitive| primitive.operation.to_owned()),
        source: primitive.map_or_else(String::new, |primitive| primitive.source.to_owned()),
        case: case.to_string(),
        row: win.cost.index,
        cost: CostFigure::of(&win.cost),
        next: RunnerUp {
            name: next.name.clone(),
            id: next_cost.row.case.primitive.clone(),
            cost: CostFigure::of(&next_cost),
            ratio: ratio.point,
            ratio_low: ratio.low,
            ratio_high: ratio.high,
        },
        warnings: Vec::new(),
        notes: notes.chain(reversed(inquiry.data, &win)).collect(),
    })))
}

/// What the same costs elsewhere in the machine: as many threads in other placements, and two threads by what their CPUs share.
fn elsewhere(data: &RunData, case: &Case) -> Vec<String> {
    let unplaced = |case: &Case| Case { placement: None, ..case.clone() };
    let is_other = |other: &Case| {
        let is_named = other.placement.as_ref().is_some_and(|own| placements::BY_RANK.contains(own));
        is_named && other.placement != case.placement && unplaced(other) == unplaced(case)
    };
    let known = |index: usize| Some(&data.rows[index]).filter(|row| reading::has_figure(row));
    let placed = |index: usize| {
        let row = known(index)?;
        Some(format!("{} {}", row.case.placement.as_ref()?, Reading::of(row).alone()))
    };
    let others = enumerated(data.rows_where(|row| is_other(&row.case)).filter_map(placed));
    let is_same = |index: &usize| data.case(*index).primitive == case.primitive;
    let of_pairs = by_class(data).into_iter().find(|rows| rows.iter().flatten().next().is_some_and(is_same));
    let in_words = |(index, PairClass { shared, .. }): (Option<usize>, PairClass)| {
        Some(format!("{} where they share {shared}", Reading::of(known(index?)?).alone()))
    };
    let classed: Vec<String> = of_pairs.into_iter().flatten().zip(PAIR_CLASSES).filter_map(in_words).collect();
    let others = others.map(|others| format!("as many threads placed otherwise: {others}"));
    let pairs = (classed.len() > 1).then(|| format!("two threads: {}", enumeration(&classed)));
    others.into_iter().chain(pairs).collect()
}

/// The states of the machine in which a rival costs less than the winner.
fn reversed(data: &RunData, win: &Win<'_, '_>) -> Vec<String> {
    let in_state =
        |known: &Known<'_>, name: &str, state: u32| value_of(&data.details, &known.row.case, name, Some(state));
    let of_state = |state: u32| {
        let own = in_state(&win.cost, Detail::STATE_NS, state)?;
        let share = in_state(&win.cost, Detail::STATE_SHARE, state)?;
        let rivals =
            win.rivals.iter().filter_map(|(rival, cost)| Some((rival, in_state(cost, Detail::STATE_NS, state)?)));
        let least = rivals.min_by(|(_, one), (_, other)| one.total_cmp(other)).filter(|(_, ns)| *ns < own);
        Some(least.map(|(Entrant { name, .. }, ns)| {
            let (percent, [ns, own]) = (100.0 * share, [ns, own].map(figure::time));
            format!(
                "in another state of the machine, for {percent:.0} % of the run, {name} cost less: {ns} against {own}"
            )
        }))
    };
    (1..).map_while(of_state).flatten().collect()
}

/// What to take of these peers, with cautions; where no row has the asked size, those that the run has.
pub(super) fn of_peers(
    inquiry: Inquiry<'_>,
    (on, role, peers, what): (Domain, Role, Option<Peers<'_>>, &str),
    caution: impl FnOnce(&mut Choice, &Case),
) -> Option<Situation> {
    let Some(peers) = peers else {
        return missing_size(inquiry, (on, role, what.trim_start_matches(", ")), |_| true);
    };
    let decision = decide(inquiry, &peers.contest(Basis::Run))?.taking(|choice| caution(choice, peers.like));
    Some((on, format!("{}{what}", naming::size(peers.like)), decision))
}

/// Where no row has the asked number of threads, those that the run has instead; `None` where it has no rows at all.
pub(super) fn missing_size(
    inquiry: Inquiry<'_>,
    (on, role, what): (Domain, Role, &str),
    fits: impl Fn(&Case) -> bool,
) -> Option<Situation> {
    let rows = inquiry.data.rows.iter().filter(|row| takes_part(inquiry.data, row, role) && fits(&row.case));
    let present: BTreeSet<u32> = rows.filter_map(|row| row.case.threads).collect();
    let numbers = joined(present.iter().map(|threads| Some(threads.to_string())), ", ")?;
    let missing = format!("no rows at {} threads; the run has {numbers}", inquiry.asked.threads?);
    Some((on, what.to_owned(), Decision::Missing(missing)))
}

/// The answers to a need, one for each side and situation that the run has rows for. With a size or a side for which it has
/// none, one answer says what is missing.
pub fn advise(data: &RunData, need: Need, asked: Asked) -> Vec<Advice> {
    let (answer, candidates) = adviser(need);
    let wanted = answer(Inquiry { data, asked }).into_iter().filter(|(on, ..)| asked.on.is_none_or(|side| side == *on));
    let of_need = |(on, situation, decision): Situation| Advice { need, on, situation, decision };
    let answers: Vec<Advice> = wanted.map(of_need).collect();
    if !answers.is_empty() {
        return answers;
    }
    let on = asked.on.unwrap_or(if need == Need::EndGpuPhase { Domain::Gpu } else { Domain::Cpu });
    let reason = match candidates[usize::from(on == Domain::Gpu)] {
        _ if on == Domain::Gpu && data.run.machine.gpus.is_empty() => "the run found no GPU on its machine".to_owned(),
        Err(reason) => reason.to_owned(),
        Ok(options) => {
            let side = side_name(on);
            format!("the run has no rows of two candidates on the {side}; `syncscope run {options}` measures them")
        }
    };
    vec![Advice { need, on, situation: String::new(), decision: Decision::Missing(reason) }]
}

/// `CPU`, `GPU`.
pub(crate) const fn side_name(side: Domain) -> &'static str {
    match side {
        Domain::Cpu => "CPU",
        Domain::Gpu => "GPU",
        Domain::Hybrid => "CPU and GPU",
        Domain::Mpi => "processes",
    }
}

#[cfg(test)]
mod tests;
