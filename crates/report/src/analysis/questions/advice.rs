//! Recommends a primitive for a stated need from the rows of one run: the part of a question that `syncscope advise` prints.
//!
//! The contest decides, so nothing is recommended that the rows leave uncertain.

use std::time::Duration;

use serde::Serialize;
use syncscope_core::detail::value_of;
use syncscope_core::run::IMPORTED;
use syncscope_core::words::words;
use syncscope_core::{CaseId, Detail};

use super::families::by_class;
use super::prelude::*;
use super::{WITHOUT_INTERVALS, adviser, lacks_intervals};
use crate::analysis::compare::Comparison;
use crate::analysis::contest::Win;
use crate::analysis::matrix::{PAIR_CLASSES, PairClass};
use crate::analysis::trust::cpus;
use crate::reading::{NO_NUMBER, Reading};

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

/// What a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Threads of the team on the CPU, of a block on the GPU; `None`: as many as the run has rows for, on the CPU at most
    /// one for each hardware thread.
    pub threads: Option<u32>,
    /// The side; `None`: every side that the run measured.
    pub on: Option<Domain>,
    /// How long a thread waits, for [`Need::Wait`]; `None`: any length, with the point at which the better way to wait
    /// changes.
    pub wait: Option<Duration>,
}

/// The answer to a need in one situation.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The need.
    pub need: Need,
    /// The side of the machine.
    pub on: Domain,
    /// Sizes and anything else that distinguishes the situation from others: `16 threads`.
    pub situation: String,
    /// The answer.
    pub decision: Decision,
}

impl Advice {
    /// The question that the advice answers: `protect (CPU, 16 threads)`.
    pub(crate) fn asked(&self) -> String {
        let size = if self.situation.is_empty() { String::new() } else { format!(", {}", self.situation) };
        format!("{} ({}{size})", self.need.as_str(), side_name(self.on))
    }
}

/// What the rows say about a need.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Whether one candidate is certainly the cheapest; if that is open, with the reason.
    pub outcome: Outcome,
    /// Whether the run has the rows.
    pub measured: bool,
    /// The command that measures missing rows, if there is one.
    pub remedy: Option<String>,
    /// The candidate to take, if one is certainly the cheapest.
    pub choice: Option<Box<Choice>>,
    /// The candidates that may be the cheapest if that is open, those with a figure first.
    pub candidates: Vec<Candidate>,
    /// The candidates that certainly cost more than one of these.
    pub excluded: Vec<Candidate>,
    /// The figures behind the decision, as lines of a drawing.
    pub drawing: Vec<String>,
}

impl Decision {
    /// A decision that the rows leave open.
    pub(crate) fn open(why: String) -> Self {
        let outcome = Outcome::open(why);
        let (candidates, excluded) = (Vec::new(), Vec::new());
        Self { outcome, measured: true, remedy: None, choice: None, candidates, excluded, drawing: Vec::new() }
    }

    /// A decision that lacks rows.
    pub(crate) fn missing(why: String) -> Self {
        Self { measured: false, ..Self::open(why) }
    }

    /// Why there is no choice, and what to do about it.
    pub fn reason(&self) -> String {
        let remedy = self.remedy.as_ref().map(|command| format!("; `{command}` measures them"));
        format!("{}{}", self.outcome.sentence, remedy.unwrap_or_default())
    }

    /// Lets `say` add to the choice, if there is one.
    pub(super) fn taking(mut self, say: impl FnOnce(&mut Choice)) -> Self {
        if let Some(choice) = &mut self.choice {
            say(choice);
        }
        self
    }
}

/// A design that may be the cheapest, or that certainly is not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// In words.
    pub name: String,
    /// Id of the primitive; empty where the run has yet to measure it.
    pub id: String,
    /// The case, if the run has it.
    pub case_id: Option<CaseId>,
    /// The known cost, as a figure or only as an interval.
    pub cost: Option<CostFigure>,
    /// Whether the cost is a figure.
    pub has_figure: bool,
    /// What stands in place of a cost: `no figure`, `not additive`, `failed`.
    #[serde(skip)]
    pub without_cost: String,
}

impl Candidate {
    fn of(data: &RunData, one: &Entrant<'_>) -> Self {
        let (case, cost) = (data.case(one.index), one.known.map(|known| CostFigure::of(&known)));
        let (id, case_id) = (case.primitive.clone(), Some(case.id()));
        Self {
            name: one.name.clone(),
            id,
            case_id,
            cost,
            has_figure: one.known.is_some_and(|known| known.has_figure()),
            // A cost that is not additive has no bounds: it decides nothing, and may be the lowest.
            without_cost: Reading::of(&data.rows[one.index]).figure,
        }
    }

    /// Each design once, those with a figure first, then in the order of their costs.
    fn of_all<'c, 'a: 'c>(data: &RunData, all: impl IntoIterator<Item = &'c Entrant<'a>>) -> Vec<Self> {
        let mut found: Vec<Self> = all.into_iter().map(|one| Self::of(data, one)).collect();
        let ns = |one: &Self| one.cost.map_or(f64::INFINITY, |cost| cost.ns);
        found.sort_by(|a, b| b.has_figure.cmp(&a.has_figure).then(ns(a).total_cmp(&ns(b))));
        let mut seen = BTreeSet::new();
        found.retain(|one| seen.insert(one.name.clone()));
        found
    }
}

/// A figure with its interval, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostFigure {
    /// The cost.
    pub ns: f64,
    /// Lower end of the 95 % interval to quote, which covers another run.
    pub ns_low: f64,
    /// Upper end.
    pub ns_high: f64,
    /// Whether the row is noisy.
    #[serde(rename = "noisy")]
    pub is_rough: bool,
    /// Whether it is a figure of another tool, without an interval.
    #[serde(rename = "imported", skip_serializing_if = "std::ops::Not::not")]
    pub is_imported: bool,
}

impl CostFigure {
    /// The figure to quote, with its interval for another run if it has one.
    fn of(known: &Known<'_>) -> Self {
        let Interval { low, high } = known.quoted();
        let verdict = &known.row.verdict;
        let is_imported = matches!(verdict, Verdict::Imported(_));
        Self { ns: known.ns, ns_low: low, ns_high: high, is_rough: !verdict.has_cost(), is_imported }
    }

    /// `1.20 µs`, `~1.20 µs` if the row is noisy.
    pub(crate) fn figure(self) -> String {
        if self.is_rough { figure::rough_time(self.ns) } else { figure::time(self.ns) }
    }
}

/// The design to take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// In words: `std_mutex`, `padded counters`.
    pub name: String,
    /// Id of the primitive or of the variant of a reduction.
    pub id: String,
    /// The operation that the cost is of.
    pub operation: String,
    /// The source of the primitive; empty for an id that the catalogue does not have.
    pub source: String,
    /// The case, in one line.
    pub case: String,
    /// The id of the case.
    pub case_id: CaseId,
    /// The index of its row.
    #[serde(skip)]
    pub(crate) row: usize,
    /// Its cost.
    pub cost: CostFigure,
    /// The runner-up, which is certainly more expensive.
    pub next: RunnerUp,
    /// The cheapest design that a program can call, if that is another one.
    pub callable: Option<RunnerUp>,
    /// Reasons why some programs cannot use it.
    pub warnings: Vec<String>,
    /// What else the rows say.
    pub notes: Vec<String>,
}

/// A design that costs more than the choice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunnerUp {
    /// In words.
    pub name: String,
    /// Id of the primitive or variant.
    pub id: String,
    /// Its case.
    pub case_id: CaseId,
    /// Its cost.
    pub cost: CostFigure,
    /// The cost over the winner's.
    pub ratio: f64,
    /// The interval of the ratio, of at least 95 %; `None`: no bound on that side.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
}

impl RunnerUp {
    fn of(win: &Win<'_, '_>, one: &Entrant<'_>, cost: &Known<'_>) -> Self {
        let Ratio { point: ratio, low: ratio_low, high: ratio_high } = win.ratio(cost);
        let (id, case_id) = (cost.row.case.primitive.clone(), cost.row.case.id());
        Self { name: one.name.clone(), id, case_id, cost: CostFigure::of(cost), ratio, ratio_low, ratio_high }
    }
}

/// The side of an [`Advice`], its situation and its decision.
pub(super) type Situation = (Domain, String, Decision);

/// A run, and what it is asked.
#[derive(Clone, Copy)]
pub(super) struct Inquiry<'a> {
    pub(super) data: &'a RunData,
    pub(super) asked: Asked,
}

/// Decides which entrant to take. If the run leaves some out, a note says so. `None` if there is no choice.
pub(super) fn decide(inquiry: Inquiry<'_>, contest: &Contest<'_>) -> Option<Decision> {
    let data = inquiry.data;
    let outcome = contest.outcome()?;
    let win = match outcome {
        Ok(win) => win,
        Err(open) => {
            let why = if lacks_intervals(data) { WITHOUT_INTERVALS.to_owned() } else { open.to_string() };
            return Some(undecided(data, contest, why));
        }
    };
    let (next, next_cost) = win.next()?;
    let case = &win.cost.row.case;
    let primitive = data.catalogue.get(&case.primitive);
    let left_out = (contest.left_out > 0).then(|| {
        let (measured, left_out) = (contest.measured(), contest.left_out);
        let verb = if left_out == 1 { "has" } else { "have" };
        format!("cheapest of the {measured} measured; {left_out} more {verb} no row at this size")
    });
    let of_median = win.cost.is_of_another_actor().then(|| "both costs are the median thread's".to_owned());
    let of_points = lacks_intervals(data).then(|| {
        "chosen because the next costs at least 2 times as much, although these figures have no \
                  intervals"
            .to_owned()
    });
    let placed = placements::beyond_one_socket(&data.run, case);
    let placed = placed.map(|on| format!("measured with threads {on}"));
    let notes = placed.into_iter().chain(elsewhere(data, case)).chain(left_out).chain(of_median).chain(of_points);
    let mut callable = win.rivals.iter().filter(|(_, cost)| is_callable(data, cost));
    let callable = callable.next().filter(|_| !is_callable(data, &win.cost));
    let choice = Choice {
        name: win.name.to_owned(),
        id: case.primitive.clone(),
        operation: primitive.map_or_else(String::new, |primitive| primitive.operation.to_owned()),
        source: primitive.map_or_else(String::new, |primitive| primitive.source.to_owned()),
        case: case.to_string(),
        case_id: case.id(),
        row: win.cost.index,
        cost: CostFigure::of(&win.cost),
        next: RunnerUp::of(&win, next, &next_cost),
        callable: callable.map(|(one, cost)| RunnerUp::of(&win, one, cost)),
        warnings: Vec::new(),
        notes: notes.chain(reversed(data, &win)).collect(),
    };
    let outcome = Outcome::holds(String::new(), win.rows());
    Some(Decision { outcome, choice: Some(Box::new(choice)), ..Decision::open(String::new()) })
}

/// An open decision, with what may be the cheapest.
fn undecided(data: &RunData, contest: &Contest<'_>, why: String) -> Decision {
    let contenders = contest.contenders();
    let may = |one: &&Entrant<'_>| contenders.iter().any(|other| other.name == one.name);
    let (candidates, excluded): (Vec<_>, Vec<_>) = contest.entrants().partition(may);
    let mut candidates = Candidate::of_all(data, candidates);
    let pending = contest.pending().iter().cloned();
    let without_cost = NO_NUMBER.to_owned();
    let unknown = |name| {
        let without_cost = without_cost.clone();
        Candidate { name, id: String::new(), case_id: None, cost: None, has_figure: false, without_cost }
    };
    candidates.extend(pending.map(unknown));
    Decision { candidates, excluded: Candidate::of_all(data, excluded), ..Decision::open(why) }
}

/// Whether a program can call the primitive; others are algorithms that it would have to bring along.
fn is_callable(data: &RunData, known: &Known<'_>) -> bool {
    data.catalogue.facts(&known.row.case.primitive).is_some_and(|facts| !facts.is_algorithm)
}

/// The cost elsewhere in the machine: as many threads in other placements, and two threads by what their CPUs share.
fn elsewhere(data: &RunData, case: &Case) -> Vec<String> {
    let unplaced = |case: &Case| Case { placement: None, ..case.clone() };
    let is_other = |other: &Case| {
        let is_named = other.placement.as_ref().is_some_and(|own| placements::BY_RANK.contains(own));
        is_named && other.placement != case.placement && unplaced(other) == unplaced(case)
    };
    let known = |index: usize| Some(&data.rows[index]).filter(|row| reading::is_written(row));
    let placed = |index: usize| {
        let row = known(index)?;
        Some(format!("{} {}", row.case.placement.as_ref()?, Reading::of(row).figure))
    };
    let others = enumerated(data.rows_where(|row| is_other(&row.case)).filter_map(placed));
    let is_same = |index: &usize| data.case(*index).primitive == case.primitive;
    let of_pairs = by_class(data).into_iter().find(|rows| rows.iter().flatten().next().is_some_and(is_same));
    let in_words = |(index, PairClass { shared, .. }): (Option<usize>, PairClass)| {
        Some(format!("{} where they share {shared}", Reading::of(known(index?)?).figure))
    };
    let classed: Vec<String> = of_pairs.into_iter().flatten().zip(PAIR_CLASSES).filter_map(in_words).collect();
    let others = others.map(|others| format!("the same number of threads, placed differently: {others}"));
    let pairs = (classed.len() > 1).then(|| format!("two threads: {}", enumeration(&classed)));
    others.into_iter().chain(pairs).collect()
}

/// The states of the machine in which a rival costs less than the winner.
fn reversed(data: &RunData, win: &Win<'_, '_>) -> Vec<String> {
    let in_state =
        |known: &Known<'_>, name: &str, state: u32| value_of(&data.details, &known.row.case, name, Some(state));
    // Levels that a case has for itself are not states that rivals share.
    let has_levels = |known: &Known<'_>| {
        let case = &known.row.case;
        data.catalogue.facts(&case.primitive).is_some_and(|facts| facts.has_levels(case))
    };
    if has_levels(&win.cost) {
        return Vec::new();
    }
    let of_state = |state: u32| {
        let own = in_state(&win.cost, Detail::STATE_NS, state)?;
        let share = in_state(&win.cost, Detail::STATE_SHARE, state)?;
        let rivals =
            win.rivals.iter().filter_map(|(rival, cost)| Some((rival, in_state(cost, Detail::STATE_NS, state)?)));
        let least = rivals.min_by(|(_, one), (_, other)| one.total_cmp(other)).filter(|(_, ns)| *ns < own);
        Some(least.map(|(Entrant { name, .. }, ns)| {
            let (percent, [ns, own]) = (100.0 * share, [ns, own].map(figure::time));
            format!(
                "for {percent:.0} % of the run the machine was in another state, where {name} cost less: {ns} \
                 against {own}"
            )
        }))
    };
    (1..).map_while(of_state).flatten().collect()
}

/// Decides which peer to take, with cautions; if no row has the requested size, says which sizes the run has.
pub(super) fn of_peers(
    inquiry: Inquiry<'_>,
    (on, role, peers, what): (Domain, Role, Option<Peers<'_>>, &str),
    caution: impl FnOnce(&mut Choice, &Case),
) -> Option<Situation> {
    let Some(peers) = peers else {
        return missing_size(inquiry, (on, role, what), |_| true);
    };
    let decision = decide(inquiry, &peers.contest(Basis::Run))?.taking(|choice| caution(choice, peers.like));
    let what = Some(what).filter(|what| !what.is_empty()).map(str::to_owned);
    Some((on, joined([Some(naming::size(peers.like)), what], ", ")?, decision))
}

/// Says which numbers of threads the run has instead of the requested one; `None` if it has no rows at all.
pub(super) fn missing_size(
    inquiry: Inquiry<'_>,
    (on, role, what): (Domain, Role, &str),
    fits: impl Fn(&Case) -> bool,
) -> Option<Situation> {
    let rows = inquiry.data.rows.iter().filter(|row| takes_part(inquiry.data, row, role) && fits(&row.case));
    // A single thread does not count as a size, whatever rows it has.
    let present: BTreeSet<u32> = rows.filter_map(|row| row.case.threads).filter(|threads| *threads > 1).collect();
    let numbers = joined(present.iter().map(|threads| Some(threads.to_string())), ", ")?;
    let missing = match inquiry.asked.threads? {
        1 => format!("one thread shares nothing with another; the run has {numbers}"),
        threads => format!("no rows at {threads} threads; the run has {numbers}"),
    };
    Some((on, what.to_owned(), Decision::missing(missing)))
}

/// Says which states the machine was in, and what the rows of each class have in common.
pub(crate) fn states(comparison: &Comparison<'_>) -> Vec<String> {
    let mut all = comparison.states.sentences();
    if comparison.states.differ() {
        all.extend(other_advice(comparison));
    }
    all
}

/// The needs for which B recommends another primitive than A.
fn other_advice(comparison: &Comparison<'_>) -> Vec<String> {
    let answers = |data| Need::ALL.iter().flat_map(move |need| advise(data, *need, Asked::default()));
    let in_b: Vec<Advice> = answers(comparison.b).collect();
    let reversed = |in_a: Advice| {
        let key = |one: &Advice| (one.need, one.on, one.situation.clone());
        let in_b = in_b.iter().find(|one| key(one) == key(&in_a))?;
        let (a, b) = (in_a.decision.choice.as_ref()?, in_b.decision.choice.as_ref()?);
        let (need, situation) = (in_a.need.as_str(), &in_a.situation);
        (a.name != b.name)
            .then(|| format!("the advice for {need} ({situation}) differs: {} in A, {} in B", a.name, b.name))
    };
    answers(comparison.a).filter_map(reversed).collect()
}

/// The answers to a need, one for each side and situation that the run has rows for. If the run has none for a requested
/// size or side, one answer says what is missing.
pub fn advise(data: &RunData, need: Need, asked: Asked) -> Vec<Advice> {
    let (answer, candidates) = adviser(need);
    let wanted = answer(Inquiry { data, asked }).into_iter().filter(|(on, ..)| asked.on.is_none_or(|side| side == *on));
    let of_need = |(on, situation, mut decision): Situation| {
        // The run has rows at other sizes.
        let threads = asked.threads.filter(|threads| can_have_team(need, on, *threads));
        if let (false, Some(threads), Ok(options)) =
            (decision.measured, threads, candidates[usize::from(on == Domain::Gpu)])
        {
            decision.remedy = Some(format!("syncscope run {options} --threads {threads}"));
        }
        Advice { need, on, situation, decision }
    };
    let answers: Vec<Advice> = wanted.map(of_need).collect();
    if !answers.is_empty() {
        return answers;
    }
    let on = asked.on.unwrap_or(if need == Need::EndGpuPhase { Domain::Gpu } else { Domain::Cpu });
    let (reason, remedy) = match candidates[usize::from(on == Domain::Gpu)] {
        _ if on == Domain::Gpu && data.run.machine.gpus.is_empty() && data.run.preset != IMPORTED => {
            ("the run found no GPU on its machine".to_owned(), None)
        }
        Err(reason) => (reason.to_owned(), None),
        Ok(_)
            if is_of_teams(need)
                && on == Domain::Cpu
                && cpus(data) == 1
                && asked.threads.is_none_or(|asked| asked == 1) =>
        {
            ("threads on a single CPU do not run at the same time".to_owned(), None)
        }
        Ok(options) => {
            let (side, threads) = (side_name(on), asked.threads.filter(|threads| can_have_team(need, on, *threads)));
            let at = threads.map(|threads| format!(" at {}", plural(threads, "thread"))).unwrap_or_default();
            let with = threads.map(|threads| format!(" --threads {threads}")).unwrap_or_default();
            let reason = format!("the run measured fewer than two candidates on the {side}{at}");
            (reason, Some(format!("syncscope run {options}{with}")))
        }
    };
    vec![Advice { need, on, situation: String::new(), decision: Decision { remedy, ..Decision::missing(reason) } }]
}

/// Whether a run can measure a need's candidates with this many threads: hand-offs, waits and reductions have fixed teams,
/// and blocks of a GPU consist of warps.
fn can_have_team(need: Need, on: Domain, threads: u32) -> bool {
    match need {
        Need::HandOver | Need::Wait | Need::Reduce => false,
        _ if on == Domain::Gpu => threads.is_multiple_of(32) && threads <= 1024,
        Need::Protect => true,
        _ => threads > 1,
    }
}

/// Whether a need's candidates take several threads that run at the same time.
const fn is_of_teams(need: Need) -> bool {
    matches!(need, Need::CountEvents | Need::Phases)
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
