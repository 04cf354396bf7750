//! The answer that every command gives to a program: what something costs, which choice is the cheapest, whether one costs
//! more than another.

use std::collections::HashMap;

use serde::Serialize;
use syncscope_core::{Actor, Case, CaseId, Placement, Row, Verdict};

use crate::analysis::compare::{Change, ComparedCase, IN_RUNS};
use crate::analysis::contest::{Basis, Known};
use crate::analysis::questions::advice::{Advice, Candidate, CostFigure, RunnerUp};
use crate::grid::Grid;
use crate::reading::{self, State};
use crate::{RunData, figure};

/// The unit of an answer's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The cost of one operation in nanoseconds.
    Ns,
    /// The cost of the subject over the cost it is compared with.
    Ratio,
}

/// How reliable the value of an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Validity {
    /// It is measured.
    Measured(State),
    /// It is a figure of another tool, or made of one.
    Imported(Imported),
}

/// The word of [`Validity::Imported`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Imported {
    /// `imported`.
    Imported,
}

impl Validity {
    /// The validity of what is made of these rows.
    fn of<'a>(state: State, rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let is_imported = rows.into_iter().any(|row| matches!(row.verdict, Verdict::Imported(_)));
        Self::where_imported(is_imported, state)
    }

    fn where_imported(is_imported: bool, state: State) -> Self {
        if is_imported && state != State::Missing { Self::Imported(Imported::Imported) } else { state.into() }
    }
}

impl From<State> for Validity {
    fn from(state: State) -> Self {
        Self::Measured(state)
    }
}

/// One figure with everything that limits its validity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Id of the primitive, or of an operation that a user wrote; `None` where the run does not have it.
    pub subject: Option<String>,
    /// What a ratio compares the subject with: an id, or the name of a run.
    pub against: Option<String>,
    /// `None` where no number may be quoted.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: Unit,
    /// Lower end of the 95 % interval, of a ratio the one of at least 95 %; `None`: no lower bound above zero, or no interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// How reliable the value is.
    pub validity: Validity,
    /// The command's own term: a verdict, a decision or a change.
    pub verdict: String,
    /// The conditions of the value: the case's parameters, whose cost it is, and what the interval covers.
    pub condition: String,
    /// The rows behind the value, the subject's first.
    pub case_ids: Vec<CaseId>,
}

impl Answer {
    /// Answers with the cost of a case.
    pub fn of_cost(row: &Row) -> Self {
        let state = State::of(row);
        let is_written = state.has_figure() || state == State::NonAdditive;
        let interval = row.shown_interval().filter(|_| is_written || state == State::Open);
        Self {
            subject: Some(row.case.primitive.clone()),
            against: None,
            value: row.ns.filter(|_| is_written).map(syncscope_core::Nanoseconds::value),
            unit: Unit::Ns,
            low: interval.map(|ends| ends.low).filter(|low| *low > 0.0),
            high: interval.map(|ends| ends.high).or_else(|| reading::bound(row).filter(|_| state == State::Bound)),
            validity: Validity::of(state, [row]),
            verdict: row.verdict.name().to_owned(),
            condition: condition(row),
            case_ids: vec![row.case.id()],
        }
    }

    /// Answers with how a case of B compares with the same case of A. For code measured in turn, `names` are the operations
    /// (A, B) and `ids` the cases of the run; for two runs, A is a run.
    pub fn of_change(case: &ComparedCase<'_>, [a, b]: [&str; 2], ids: [CaseId; 2]) -> Self {
        let state = match case.change {
            Change::Slower | Change::Faster | Change::Same => State::Resolved,
            Change::Undecided => State::Open,
            Change::NotComparable | Change::AnotherState => State::Missing,
        };
        let known = |value: Option<f64>| value.filter(|_| state != State::Missing);
        let parts = [case.b.case.parameters(), case.remark(IN_RUNS)];
        Self {
            subject: Some(b.to_owned()),
            against: Some(a.to_owned()),
            value: known(case.ratio),
            unit: Unit::Ratio,
            low: known(case.low),
            high: known(case.high),
            validity: Validity::of(state, [case.a, case.b]),
            verdict: case.change.as_str().to_owned(),
            condition: parts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; "),
            case_ids: ids.into_iter().rev().collect(),
        }
    }

    /// Answers a need with the cost of the choice and the ratio of the next one, or with the cost of each candidate if the
    /// decision is open.
    pub fn of_advice(advice: &Advice) -> Vec<Self> {
        let decision = &advice.decision;
        let asked = advice.asked();
        let Some(choice) = &decision.choice else {
            let open = |one: &Candidate| Self::of_candidate(one, &asked);
            let found: Vec<Self> = decision.candidates.iter().filter(|one| !one.id.is_empty()).map(open).collect();
            let none = || Self::missing(format!("{asked}: {}", decision.reason()));
            return if decision.measured && !found.is_empty() { found } else { vec![none()] };
        };
        let words = |case: &str| format!("{asked}: {}; {case}", choice.operation);
        let cost = Self {
            subject: Some(choice.id.clone()),
            condition: words(&choice.case),
            case_ids: vec![choice.case_id.clone()],
            ..Self::of_figure(choice.cost, "take")
        };
        let ratio = |other: &RunnerUp| Self {
            subject: Some(other.id.clone()),
            against: Some(choice.id.clone()),
            value: Some(other.ratio),
            unit: Unit::Ratio,
            low: other.ratio_low,
            high: other.ratio_high,
            validity: Validity::where_imported(choice.cost.is_imported || other.cost.is_imported, State::Resolved),
            condition: words(&format!("{} against {}", other.name, choice.name)),
            case_ids: vec![other.case_id.clone(), choice.case_id.clone()],
            ..Self::of_figure(other.cost, "more_expensive")
        };
        let others = choice.callable.iter().filter(|one| one.id != choice.next.id).chain([&choice.next]);
        std::iter::once(cost).chain(others.map(ratio)).collect()
    }

    /// Answers with a candidate that may be the cheapest.
    fn of_candidate(one: &Candidate, asked: &str) -> Self {
        let of_cost = one.cost.map_or_else(|| Self::missing(String::new()), |cost| Self::of_figure(cost, "undecided"));
        let without_figure = if one.cost.is_some() { State::Open } else { State::Missing };
        let validity = if one.has_figure { of_cost.validity } else { without_figure.into() };
        Self {
            subject: Some(one.id.clone()),
            value: of_cost.value.filter(|_| one.has_figure),
            validity,
            verdict: "undecided".to_owned(),
            condition: asked.to_owned(),
            case_ids: one.case_id.iter().cloned().collect(),
            ..of_cost
        }
    }

    fn of_figure(cost: CostFigure, verdict: &str) -> Self {
        let CostFigure { ns, ns_low, ns_high, is_rough, is_imported } = cost;
        let state = if is_rough { State::Rough } else { State::Resolved };
        let validity = Validity::where_imported(is_imported, state);
        let [low, high] = [ns_low, ns_high].map(|end| Some(end).filter(|end| *end > 0.0 && !is_imported));
        Self { value: Some(ns), low, high, validity, verdict: verdict.to_owned(), ..Self::missing(String::new()) }
    }

    /// An answer without a figure, and the reason.
    fn missing(condition: String) -> Self {
        Self {
            subject: None,
            against: None,
            value: None,
            unit: Unit::Ns,
            low: None,
            high: None,
            validity: State::Missing.into(),
            verdict: "missing".to_owned(),
            condition,
            case_ids: Vec::new(),
        }
    }
}

/// Compares each of these rows with the row of another primitive with the same parameters. As everywhere within a run, their
/// ratio within the run decides. Rows without such a partner get no answer.
pub fn against(data: &RunData, selects: impl Fn(&Case) -> bool, other: &str) -> Vec<Answer> {
    let key = |case: &Case| Case { primitive: String::new(), ..case.clone() };
    let is_pair = |case: &Case| !matches!(case.placement, Some(Placement::List(_)));
    let others: Vec<usize> = data.rows_where(|row| row.case.primitive == other && is_pair(&row.case)).collect();
    let of_row = |index: usize| {
        let case = data.case(index);
        let partner = others.iter().copied().find(|at| key(data.case(*at)) == key(case))?;
        let both = [partner, index].map(|at| Known::of(data, at, Basis::Run));
        let comparison = both[0].zip(both[1]).and_then(|(b, a)| b.against(a));
        let ratio = comparison.map(|both| both.ratio);
        let level = comparison.map_or("", |both| both.level());
        let interval = if level.is_empty() { String::new() } else { format!("; interval of {level}") };
        let (validity, verdict) = match ratio {
            None => (State::Missing, Change::NotComparable),
            Some(ratio) if ratio.low.is_some_and(|low| low > 1.0) => (State::Resolved, Change::Slower),
            Some(ratio) if ratio.high.is_some_and(|high| high < 1.0) => (State::Resolved, Change::Faster),
            Some(_) => (State::Open, Change::Undecided),
        };
        Some(Answer {
            against: Some(other.to_owned()),
            value: ratio.map(|ratio| ratio.point),
            unit: Unit::Ratio,
            low: ratio.and_then(|ratio| ratio.low),
            high: ratio.and_then(|ratio| ratio.high),
            validity: Validity::of(validity, [partner, index].map(|at| &data.rows[at])),
            verdict: verdict.as_str().to_owned(),
            condition: format!("{}; within this run{interval}", case.parameters()),
            case_ids: [index, partner].map(|at| data.case(at).id()).to_vec(),
            ..Answer::of_cost(&data.rows[index])
        })
    };
    let wanted = data.rows_where(|row| row.case.primitive != other && selects(&row.case));
    wanted.filter_map(of_row).collect()
}

/// A table with a line for each of these answers about rows of a run.
pub fn grid(data: &RunData, answers: &[Answer]) -> Grid {
    let cases: HashMap<CaseId, &Case> = data.rows.iter().map(|row| (row.case.id(), &row.case)).collect();
    let case = |one: &&Answer| cases.get(&one.case_ids[0]).map(ToString::to_string).unwrap_or_default();
    Grid::of(answers)
        .number("times", |one| one.value.map_or_else(|| "–".to_owned(), figure::ratio))
        .text("interval (at least 95 %)", |one| figure::ends(one.low, one.high))
        .text("as expensive as", |one| one.against.clone().unwrap_or_default())
        .text("", |one| one.verdict.replace('_', " "))
        .text("case", case)
        .grid()
}

/// `u64 shared 16 threads close; the slowest thread; another run in the same state of the machine`.
fn condition(row: &Row) -> String {
    let actor = row.actor.filter(|_| !row.case.has_one_thread());
    let actor = actor.map(|actor| match actor {
        Actor::Mean => "mean of all threads".to_owned(),
        other => format!("cost of the {} thread", other.as_str()),
    });
    let covers = match (row.ns_interval, row.ns_within) {
        (Some(_), _) => Some("interval for another run in the same state of the machine".to_owned()),
        (None, Some(_)) => Some("interval within this run".to_owned()),
        (None, None) => None,
    };
    let parts = [Some(row.case.parameters()).filter(|text| !text.is_empty()), actor, covers];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::advice::{Asked, Need, advise};
    use crate::testing;
    use syncscope_core::run::rivals;
    use syncscope_core::run::row::{Parts, RunToRun};
    use syncscope_core::stats::{Interval, Variance};
    use syncscope_core::{Class, Nanoseconds};

    fn row(primitive: &str, ns: f64, half: f64, verdict: Verdict) -> Row {
        let interval = Some(Interval { low: ns - half, high: ns + half });
        let case = Case { threads: Some(2), ..Case::new(primitive) };
        Row { ns: Some(Nanoseconds(ns)), ns_interval: interval, ns_within: interval, ..Row::unmeasured(case, verdict) }
    }

    #[test]
    fn a_value_stands_only_where_a_number_may_be_quoted() {
        let noisy = || Verdict::Noisy("wide".into());
        let of = |row: Row| {
            let Answer { value, low, high, validity, .. } = Answer::of_cost(&row);
            (value, low, high, validity)
        };
        let primitive = "cpu.lock.ticket";
        let resolved = of(row(primitive, 10.0, 0.1, Verdict::Resolved));
        assert_eq!(resolved, (Some(10.0), Some(9.9), Some(10.1), State::Resolved.into()));
        assert_eq!(of(row(primitive, 10.0, 2.0, noisy())).3, State::Rough.into());
        assert_eq!(of(row(primitive, 10.0, 4.0, noisy())), (None, Some(6.0), Some(14.0), State::Open.into()));
        assert_eq!(of(row(primitive, 10.0, 40.0, noisy())), (None, None, Some(50.0), State::Open.into()));
        let below = row(primitive, 0.1, 0.4, Verdict::BelowResolution("at most".into()));
        assert_eq!(of(below), (None, None, Some(0.5), State::Bound.into()));
        assert_eq!(of(row(primitive, 1.0, 0.1, Verdict::Failed("x".into()))).0, None);
    }

    /// A figure of another tool has no interval, and no answer that rests on it is resolved.
    #[test]
    fn what_is_imported_is_said_to_be() {
        let imported = |primitive: &str, ns: f64| Row {
            ns_interval: None,
            ns_within: None,
            ..row(primitive, ns, 0.0, Verdict::Imported("a paper".into()))
        };
        let rows = vec![imported("cpu.lock.ticket", 10.0), imported("cpu.lock.mcs", 90.0)];
        let data = testing::data(rows);
        let advice = advise(&data, Need::Protect, Asked::default());
        let answers = advice.iter().flat_map(Answer::of_advice).chain(data.rows.iter().map(Answer::of_cost));
        let answers: Vec<Answer> = answers.chain(against(&data, |_| true, "cpu.lock.ticket")).collect();
        assert!(answers.len() > 3);
        for answer in answers.iter().filter(|answer| answer.value.is_some()) {
            assert_eq!(serde_json::to_value(answer.validity).unwrap(), "imported", "{answer:?}");
            assert!(answer.unit == Unit::Ratio || (answer.low, answer.high) == (None, None), "{answer:?}");
        }
        assert_eq!(serde_json::to_value(Validity::from(State::Open)).unwrap(), "open");
    }

    /// The interval of a ratio has 99 % where each process measured both, and otherwise is made of two of 95 %.
    #[test]
    fn the_level_of_an_interval_is_the_one_that_is_said() {
        let in_processes = |primitive, ns| {
            let variance = |value| Variance { value, degrees: 9.0 };
            let parts = Parts { own: variance(1e-4), shared: variance(1e-2) };
            let run_to_run = Some(RunToRun { class: Class::Lines, ns: parts, cycles: None });
            Row { run_to_run, ..row(primitive, ns, 0.5, Verdict::Resolved) }
        };
        let rows = vec![
            in_processes("cpu.lock.ticket", 10.0),
            in_processes("cpu.lock.mcs", 30.0),
            row("cpu.lock.clh", 20.0, 0.5, Verdict::Resolved),
        ];
        let data = testing::data(rows);
        let found = against(&data, |_| true, "cpu.lock.ticket");
        let [of_ratio, of_costs] = [0, 1].map(|at| found[at].condition.as_str());
        assert!(of_ratio.ends_with("within this run; interval of 99 %"), "{of_ratio}");
        assert!(of_costs.ends_with("within this run; interval of at least 95 %"), "{of_costs}");
        let expected = rivals::ratio(&data.rows[1], &data.rows[0]).unwrap();
        assert_eq!((found[0].low, found[0].high), (Some(expected.low), Some(expected.high)));
        let text = grid(&data, &found).for_terminal(120);
        assert!(text.contains("interval (at least 95 %)") && !text.contains("  95 % interval"), "{text}");
    }

    #[test]
    fn one_primitive_stands_to_another_of_the_same_parameters() {
        let mut elsewhere = row("cpu.lock.mcs", 90.0, 1.0, Verdict::Resolved);
        elsewhere.case.threads = Some(4);
        let rows = vec![
            row("cpu.lock.ticket", 10.0, 0.5, Verdict::Resolved),
            row("cpu.lock.mcs", 30.0, 0.5, Verdict::Resolved),
            row("cpu.lock.clh", 10.2, 0.5, Verdict::Resolved),
            row("cpu.lock.ttas", 30.0, 0.5, Verdict::Skipped("no".into())),
            elsewhere,
        ];
        let found = against(&testing::data(rows), |_| true, "cpu.lock.ticket");
        let said: Vec<(&str, &str)> =
            found.iter().map(|one| (one.subject.as_deref().unwrap(), one.verdict.as_str())).collect();
        let expected = [("cpu.lock.mcs", "slower"), ("cpu.lock.clh", "undecided"), ("cpu.lock.ttas", "not_comparable")];
        assert_eq!(said, expected);
        assert!(found[0].value == Some(3.0) && found[0].low.unwrap() > 2.7 && found[0].case_ids.len() == 2);
        assert_eq!(found[2].value, None);
    }
}
