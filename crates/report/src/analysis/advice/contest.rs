//! Candidates at one size, and which of them is certainly the cheapest.

use std::collections::BTreeSet;

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Row, Verdict};

use super::{Choice, CostFigure, Decision, Inquiry, RunnerUp};
use crate::analysis::answers::barriers::enumeration;
use crate::analysis::answers::field::{Basis, Coverage, Ratio};
use crate::analysis::row_query::{MachineSize, short_name, unusualness};
use crate::figure;

/// One that could be taken, with what is known of its cost.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// In words.
    pub(super) name: String,
    /// Of its primitive or variant.
    pub(super) id: String,
    /// In one line.
    pub(super) case: String,
    /// Its row; `None` where the run has yet to measure it.
    pub(super) row: Option<usize>,
    /// What to quote; `None` without a figure: it may be the cheapest, or not, and is not taken.
    pub(super) cost: Option<CostFigure>,
    /// Where the cost lies, for comparison with the others.
    pub(super) bounds: Interval,
    /// Whether the run has yet to measure it: it may be the cheapest.
    pub(super) is_pending: bool,
}

/// The bounds of a cost that nothing is known of.
const UNKNOWN: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

impl Candidate {
    /// The candidate of a row. A row without an interval, such as an imported one, has a cost that nobody knows the
    /// uncertainty of.
    pub(super) fn of_row(inquiry: Inquiry<'_>, index: usize, name: String, basis: Basis) -> Option<Self> {
        let row = inquiry.data.rows.get(index)?;
        let bounds = match basis {
            Basis::Run => row.ns_within.or(row.ns_interval),
            Basis::Machine => row.ns_interval.or(row.ns_within),
        };
        let cost = row.ns.zip(row.ns_interval.or(row.ns_within)).filter(|_| figure::has_figure(row));
        let cost = cost.map(|(ns, interval)| CostFigure {
            ns: ns.value(),
            interval,
            is_rough: row.verdict != Verdict::Resolved,
        });
        // A cost without a figure lies in its interval, too.
        let is_bounded = matches!(row.verdict, Verdict::Resolved | Verdict::Noisy(_) | Verdict::BelowResolution(_));
        Some(Self {
            name,
            id: row.case.primitive.clone(),
            case: row.case.to_string(),
            row: Some(index),
            cost,
            bounds: bounds.filter(|_| is_bounded).unwrap_or(UNKNOWN),
            is_pending: false,
        })
    }

    /// One without a row, of a primitive that the run has yet to measure.
    pub(super) fn pending(name: String, id: &str) -> Self {
        let id = id.to_owned();
        Self { name, case: id.clone(), id, row: None, cost: None, bounds: UNKNOWN, is_pending: true }
    }
}

/// The rows of these primitives that fit, in their default forms, as candidates named after their primitives, and the
/// primitives that the run has yet to measure. Cases that do not exist here and primitives that the compiler removes take
/// no part.
pub(super) fn candidates(
    inquiry: Inquiry<'_>,
    primitives: &[&str],
    fits: impl Fn(&Case) -> bool,
    basis: Basis,
) -> Vec<Candidate> {
    let rows = inquiry.data.rows.iter().enumerate();
    let fitting = rows.filter(|(_, row)| takes_part(row, primitives) && fits(&row.case));
    let measured = fitting.filter_map(|(index, row)| {
        let group = row.case.group.as_ref().map(|group| format!(" ({group})")).unwrap_or_default();
        Candidate::of_row(inquiry, index, format!("{}{group}", short_name(&row.case.primitive)), basis)
    });
    let has_row = |id: &str| inquiry.data.rows.iter().any(|row| row.case.primitive == id && fits(&row.case));
    let pending = primitives.iter().filter(|id| inquiry.data.has_more_planned(id) && !has_row(id));
    measured.chain(pending.map(|id| Candidate::pending(short_name(id).to_owned(), id))).collect()
}

/// Which of the rows of these primitives that fit is certainly the cheapest. Where the run leaves some of them out, a note
/// says so.
pub(super) fn decide_among(
    inquiry: Inquiry<'_>,
    primitives: &[&str],
    fits: impl Fn(&Case) -> bool,
    basis: Basis,
) -> Option<Decision> {
    let mut decision = decide(inquiry, &candidates(inquiry, primitives, &fits, basis))?;
    let coverage = Coverage::of(inquiry.data, primitives, &fits);
    if let Decision::Take(choice) = &mut decision
        && coverage.left_out > 0
    {
        let Coverage { measured, left_out, .. } = coverage;
        choice.notes.push(format!("the cheapest of the {measured} measured; {left_out} more have no row at this size"));
    }
    Some(decision)
}

pub(super) fn takes_part(row: &Row, primitives: &[&str]) -> bool {
    primitives.contains(&row.case.primitive.as_str())
        && row.case.form.is_none()
        && !matches!(row.verdict, Verdict::Skipped(_) | Verdict::Elided(_))
}

/// The case that candidates are to be like: of the asked number of threads, otherwise of the most that fit the CPUs; the
/// usual type and placement. `Err`: the numbers of threads that the run has instead.
pub(super) fn model_case<'a>(
    inquiry: Inquiry<'a>,
    primitives: &[&str],
    fits: impl Fn(&Case) -> bool,
) -> Option<Result<&'a Case, BTreeSet<u32>>> {
    let machine = MachineSize::of(&inquiry.data.run.machine);
    let rows = inquiry.data.rows.iter().filter(|row| takes_part(row, primitives) && fits(&row.case));
    let cases: Vec<&Case> = rows.map(|row| &row.case).collect();
    if cases.is_empty() {
        return None;
    }
    let is_cpu = |case: &Case| case.domain_and_family().0 == "cpu";
    let fits_cpus = |case: &&Case| {
        machine.hardware_threads == 0 || !is_cpu(case) || case.threads.unwrap_or(1) <= machine.hardware_threads
    };
    let asked = |case: &&Case| match inquiry.question.threads {
        Some(threads) => case.threads == Some(threads),
        None => fits_cpus(case),
    };
    let best = cases.iter().copied().filter(asked).min_by_key(|case| {
        let least_actors_last = u64::MAX - case.actors();
        (least_actors_last, unusualness(case), (*case).clone())
    });
    Some(best.ok_or_else(|| cases.iter().filter_map(|case| case.threads).collect()))
}

/// `no rows at 3 threads; the run has 2, 4 and 8`.
pub(super) fn other_sizes(asked: Option<u32>, present: &BTreeSet<u32>) -> String {
    let numbers: Vec<String> = present.iter().map(u32::to_string).collect();
    format!("no rows at {} threads; the run has {}", asked.unwrap_or_default(), numbers.join(", "))
}

/// Which candidate is certainly the cheapest. `None` where there is no choice.
pub(super) fn decide(inquiry: Inquiry<'_>, candidates: &[Candidate]) -> Option<Decision> {
    let known = || candidates.iter().filter_map(|candidate| Some((candidate, candidate.cost?)));
    let Some((best, cost)) = known().min_by(|(a, _), (b, _)| a.bounds.high.total_cmp(&b.bounds.high)) else {
        let count = candidates.len();
        return (count > 1)
            .then(|| Decision::Undecided(format!("none of the {count} candidates has a cost with an interval")));
    };
    let rivals: Vec<&Candidate> = candidates.iter().filter(|other| other.case != best.case).collect();
    if rivals.is_empty() {
        return None;
    }
    let open: Vec<&Candidate> = rivals.iter().copied().filter(|rival| rival.bounds.low <= best.bounds.high).collect();
    if !open.is_empty() {
        return Some(Decision::Undecided(why_open(best, &open, rivals.len())));
    }
    // All rivals have an interval above that of the best one; the next is the nearest of those with a figure.
    let (next, next_cost) =
        known().filter(|(one, _)| one.case != best.case).min_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns))?;
    let ratio = Ratio::of((next_cost.ns, next.bounds), (cost.ns, best.bounds));
    let known_primitive = inquiry.primitive(&best.id);
    Some(Decision::Take(Box::new(Choice {
        name: best.name.clone(),
        id: best.id.clone(),
        operation: known_primitive.map_or_else(String::new, |primitive| primitive.operation.to_owned()),
        source: known_primitive.map_or_else(String::new, |primitive| primitive.source.to_owned()),
        case: best.case.clone(),
        cost,
        next: RunnerUp {
            name: next.name.clone(),
            id: next.id.clone(),
            cost: next_cost,
            ratio: ratio.point,
            ratio_low: ratio.low,
            ratio_high: ratio.high,
        },
        warnings: Vec::new(),
        notes: Vec::new(),
    })))
}

/// So many names are written; of more, the others are counted.
const MOST_NAMES: usize = 3;

/// `a and b overlap`, `c is not resolved`, `d has no interval to compare`, and how many others certainly cost more.
fn why_open(best: &Candidate, open: &[&Candidate], rivals: usize) -> String {
    let named = |is_meant: fn(&&Candidate) -> bool| -> Vec<String> {
        open.iter().copied().filter(is_meant).map(|one| one.name.clone()).collect()
    };
    // The list of ten names says no more than their number.
    let few = |names: Vec<String>| match names.split_at_checked(MOST_NAMES) {
        Some((first, rest)) if rest.len() > 1 => [first, &[format!("{} more", rest.len())]].concat(),
        _ => names,
    };
    let pending = named(|one| one.is_pending);
    let unknown = named(|one| one.bounds.low.is_infinite() && !one.is_pending);
    let of_known = |overlaps: bool| -> Vec<String> {
        let known = open.iter().filter(|one| one.bounds.low.is_finite());
        known.filter(|one| (one.bounds.high >= best.bounds.low) == overlaps).map(|one| one.name.clone()).collect()
    };
    // What is certainly cheaper than the best one with a figure has none.
    let (overlapping, unresolved) = (of_known(true), of_known(false));
    let mut parts = Vec::new();
    if !overlapping.is_empty() {
        let all: Vec<String> = std::iter::once(best.name.clone()).chain(overlapping).collect();
        parts.push(format!("{} overlap", enumeration(&few(all))));
    }
    if !unresolved.is_empty() {
        let verb = if unresolved.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} not resolved", enumeration(&few(unresolved))));
    }
    if !pending.is_empty() {
        let verb = if pending.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} not measured yet", enumeration(&few(pending))));
    }
    if !unknown.is_empty() {
        let verb = if unknown.len() == 1 { "has" } else { "have" };
        parts.push(format!("{} {verb} no interval to compare", enumeration(&few(unknown.clone()))));
    }
    let others = rivals - open.len();
    if others > 0 {
        let best_cost = best.cost.map(CostFigure::figure).unwrap_or_default();
        let verb = if others == 1 { "costs" } else { "cost" };
        parts.push(format!("{others} more certainly {verb} more than {} ({best_cost})", best.name));
    }
    parts.join("; ")
}
