//! Many values to one: how partial results are joined, by a stored reductions experiment.

use syncscope_core::Domain;
use syncscope_core::published::reductions::{Class, Operation, ReductionRow, variant};
use syncscope_core::stats::Interval;

use super::contest::{Candidate, decide};
use super::{Advice, CostFigure, Decision, Inquiry, Need};
use crate::analysis::row_query::short_name;
use crate::figure::grouped;

/// The variant whose result must be cleared before.
const ATOMIC: &str = "device.atomic";

/// One problem: what is compared with each other, but for the number of elements.
type Problem = (Class, Operation, u32);

/// For each problem, the fastest variant. Sizes that follow each other and have the same answer are one situation. Rows of
/// one experiment are compared by their intervals.
pub(super) fn reduce(inquiry: Inquiry<'_>) -> Vec<Advice> {
    let Some(reductions) = &inquiry.data.published.reductions else { return Vec::new() };
    let mut problems: Vec<Problem> = reductions.times.iter().map(problem).collect();
    problems.sort_unstable();
    problems.dedup();
    // The five of the listing are a study of their own.
    problems.retain(|(class, _, _)| *class != Class::Listing && inquiry.wants(side(*class)));
    problems.into_iter().flat_map(|of| of_problem(inquiry, &reductions.times, of)).collect()
}

fn problem(row: &ReductionRow) -> Problem {
    (row.class, row.operation, row.devices.unwrap_or(1))
}

const fn side(class: Class) -> Domain {
    match class {
        Class::Cpu => Domain::Cpu,
        Class::Listing | Class::Device | Class::Devices => Domain::Gpu,
    }
}

fn of_problem(inquiry: Inquiry<'_>, rows: &[ReductionRow], of: Problem) -> Vec<Advice> {
    let mut sizes: Vec<u64> = rows.iter().filter(|row| problem(row) == of).map(|row| row.elements).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut found: Vec<(u64, u64, Decision)> = Vec::new();
    for elements in sizes {
        let candidates: Vec<Candidate> =
            rows.iter().filter(|row| problem(row) == of && row.elements == elements).map(candidate).collect();
        let Some(decision) = decide(inquiry, &candidates) else { continue };
        match found.last_mut() {
            // The figures of the largest size stand for the range.
            Some((_, to, last)) if same_answer(last, &decision) => (*to, *last) = (elements, decision),
            _ => found.push((elements, elements, decision)),
        }
    }
    let named = |(from, to, decision)| {
        let (class, operation, devices) = of;
        let devices = if devices > 1 { format!(", {devices} GPUs") } else { String::new() };
        let range = if from == to { grouped(to) } else { format!("{} to {}", grouped(from), grouped(to)) };
        let situation = format!("{} of {range} elements{devices}", operation.as_str());
        Advice { need: Need::Reduce, on: side(class), situation, decision: with_words(decision, from != to) }
    };
    found.into_iter().map(named).collect()
}

/// The variant's own words, where the catalogue of primitives has none.
fn with_words(decision: Decision, is_range: bool) -> Decision {
    let mut choice = match decision {
        Decision::Take(choice) => choice,
        Decision::Undecided(why) if is_range => return Decision::Undecided(format!("at the largest size {why}")),
        other => return other,
    };
    if let Some(known) = variant(&choice.id) {
        "one reduction".clone_into(&mut choice.operation);
        known.summary.clone_into(&mut choice.source);
    }
    // Its words stand for those of its versions in graphs.
    if let Some(plain) = variant(ATOMIC).filter(|plain| choice.id.starts_with(plain.id) && choice.id != plain.id) {
        choice.notes.push(format!("atomic: {}", plain.summary));
    }
    if is_range {
        choice.notes.push("the figures are those of the largest size".to_owned());
    }
    Decision::Take(choice)
}

fn same_answer(a: &Decision, b: &Decision) -> bool {
    match (a, b) {
        (Decision::Take(a), Decision::Take(b)) => a.id == b.id,
        (Decision::Undecided(_), Decision::Undecided(_)) => true,
        _ => false,
    }
}

fn candidate(row: &ReductionRow) -> Candidate {
    let interval = row.usable_ns().and(row.ns_low).zip(row.ns_high).map(|(low, high)| Interval { low, high });
    let cost = row.usable_ns().zip(interval).map(|(ns, interval)| CostFigure { ns, interval, is_rough: false });
    // What could not be run here is no candidate that might be cheaper.
    let absent = if row.pairs == 0 { f64::INFINITY } else { f64::NEG_INFINITY };
    Candidate {
        name: short_name(&row.variant).to_owned(),
        id: row.variant.clone(),
        case: format!("{} {} {}", row.variant, row.operation.as_str(), row.elements),
        row: None,
        cost,
        bounds: interval.unwrap_or(Interval { low: absent, high: f64::INFINITY }),
        is_pending: false,
    }
}
