//! Data that one thread at a time may use: which lock.

use syncscope_core::{Case, Domain, Placement, Verdict};

use super::contest::{decide_among, model_case, other_sizes};
use super::{Advice, Decision, Inquiry, Need, cautions};
use crate::analysis::answers::field::{Basis, like_but_primitive};
use crate::analysis::row_query::CPU_LOCKS;
use crate::{figure, naming};

/// Locks of GPU threads.
pub(in crate::analysis) const GPU_LOCKS: &[&str] = &["gpu.lock.spin_cas", "gpu.lock.spin_exchange", "gpu.lock.ticket"];

/// The locks of each side at one size. One instrument measures all of a side, so rows are compared within the run.
pub(super) fn protect(inquiry: Inquiry<'_>) -> Vec<Advice> {
    let sides = [(Domain::Cpu, CPU_LOCKS), (Domain::Gpu, GPU_LOCKS)];
    let wanted = sides.into_iter().filter(|(on, _)| inquiry.wants(*on));
    wanted.filter_map(|(on, locks)| on_side(inquiry, on, locks)).collect()
}

fn on_side(inquiry: Inquiry<'_>, on: Domain, locks: &[&str]) -> Option<Advice> {
    let bound = |case: &Case| !matches!(case.placement, Some(Placement::List(_)));
    let like = match model_case(inquiry, locks, bound)? {
        Ok(like) => like,
        Err(present) => {
            let decision = Decision::Missing(other_sizes(inquiry.question.threads, &present));
            return Some(Advice { need: Need::Protect, on, situation: String::new(), decision });
        }
    };
    let is_alike = |case: &Case| like_but_primitive(case, like);
    let mut decision = decide_among(inquiry, locks, is_alike, Basis::Run)?;
    if let Decision::Take(choice) = &mut decision
        && let Some(row) = inquiry.data.rows.iter().find(|row| row.case.to_string() == choice.case)
    {
        if on == Domain::Cpu {
            cautions::fairness(inquiry, row, choice);
            cautions::waiting(inquiry, row, choice);
        }
        choice.notes.extend(one_addition(inquiry, like, choice.cost.interval.low));
    }
    Some(Advice { need: Need::Protect, on, situation: naming::size(like), decision })
}

/// Data of one word need no lock, where the addition certainly costs less.
fn one_addition(inquiry: Inquiry<'_>, like: &Case, lock_low: f64) -> Option<String> {
    let add = inquiry.data.rows.iter().find(|row| {
        let case = &row.case;
        let is_plain = case.primitive == "cpu.atomic.add" && case.form.is_none() && case.group.is_none();
        let is_alike = case.threads == like.threads && case.placement == like.placement && case.dtype == like.dtype;
        is_plain && is_alike && case.layout == like.layout && case.mode != Some(syncscope_core::Mode::Latency)
    })?;
    let interval = add.ns_interval?;
    (add.verdict == Verdict::Resolved && interval.high < lock_low).then(|| {
        let ns = add.ns.map(|ns| figure::time(ns.value())).unwrap_or_default();
        format!("where one word is all it protects, an atomic add costs less ({ns})")
    })
}
