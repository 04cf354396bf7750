//! Work that one thread hands to another: how the other one waits.

use syncscope_core::{Case, Domain, Placement};

use super::contest::{Candidate, candidates, decide_among, model_case, other_sizes, takes_part};
use super::{Advice, Choice, Decision, Inquiry, Need};
use crate::analysis::answers::barriers::enumeration;
use crate::analysis::answers::field::Basis;
use crate::analysis::row_query::{HANDOFFS, MEDIAN_DETAIL};
use crate::figure;

/// Hand-offs to a thread that may sleep.
pub(in crate::analysis) const SLEEPING: &[&str] =
    &["cpu.handoff.channel", "cpu.handoff.condvar", "cpu.handoff.park", "cpu.handoff.futex"];

/// The cheapest hand-off to a thread that spins, and to one that may sleep. One instrument measures all, so rows are
/// compared within the run.
pub(super) fn hand_over(inquiry: Inquiry<'_>) -> Vec<Advice> {
    if !inquiry.wants(Domain::Cpu) {
        return Vec::new();
    }
    // Pairs of CPUs that a study lists are another question.
    let near = |case: &Case| !matches!(case.placement, Some(Placement::List(_)));
    let both = [HANDOFFS, SLEEPING].concat();
    let like = match model_case(inquiry, &both, near) {
        None => return Vec::new(),
        Some(Ok(like)) => like,
        Some(Err(present)) => {
            let missing = other_sizes(inquiry.question.threads, &present);
            return vec![advice("", Decision::Missing(missing))];
        }
    };
    let alike = |case: &Case| case.placement == like.placement && case.threads == like.threads;
    let sleeping = candidates(inquiry, SLEEPING, alike, Basis::Run);
    let mut answers = Vec::new();
    if let Some(mut decision) = decide_among(inquiry, HANDOFFS, alike, Basis::Run) {
        if let Decision::Take(choice) = &mut decision {
            choice.warnings.push("needs a CPU for the thread that waits: it spins".to_owned());
            choice.notes.extend(against_sleeping(choice, &sleeping));
        }
        answers.push(advice("2 threads, the other spins", decision));
    }
    if let Some(mut decision) = decide_among(inquiry, SLEEPING, alike, Basis::Run) {
        if let Decision::Take(choice) = &mut decision {
            choice.notes.extend(single_handoffs(inquiry, &choice.id, alike));
        }
        answers.push(advice("2 threads, the other may sleep", decision));
    }
    answers
}

fn advice(situation: &str, decision: Decision) -> Advice {
    Advice { need: Need::HandOver, on: Domain::Cpu, situation: situation.to_owned(), decision }
}

/// Which hand-offs to a thread that may sleep certainly cost more.
fn against_sleeping(choice: &Choice, sleeping: &[Candidate]) -> Option<String> {
    let high = choice.cost.interval.high;
    let costlier: Vec<String> = sleeping
        .iter()
        .filter(|other| other.bounds.low > high)
        .filter_map(|other| Some(format!("{} {}", other.name, other.cost?.figure())))
        .collect();
    let verb = if costlier.len() == 1 { "costs" } else { "cost" };
    (!costlier.is_empty()).then(|| format!("where the other may sleep, {} {verb} more", enumeration(&costlier)))
}

/// The median of single hand-offs says whether the thread was asleep: a loop of them keeps both awake.
fn single_handoffs(inquiry: Inquiry<'_>, id: &str, fits: impl Fn(&Case) -> bool) -> Option<String> {
    let row = inquiry.data.rows.iter().find(|row| takes_part(row, &[id]) && fits(&row.case))?;
    let details = inquiry.data.details.get(&row.case.id())?;
    let median = details.iter().find(|detail| detail.name == MEDIAN_DETAIL && detail.actor.is_none())?.value;
    Some(format!("a single hand-off, alone in time, takes {} (median)", figure::time(median)))
}
