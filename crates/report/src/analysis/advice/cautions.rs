//! What to know before taking the winner: how fair it is, and whether its waiters need CPUs for themselves.

use syncscope_core::{Case, Row, Waits};

use super::{Choice, Inquiry};
use crate::analysis::row_query::MachineSize;
use crate::figure::{self, Cost};

/// The fairness index (Jain, Chiu, Hawe) of one lock below which it is called unfair: at 0.8 a fifth of the threads could
/// have got nothing while the others shared alike.
pub(super) const FAIR: f64 = 0.8;

/// The detail that holds the index.
const INDEX: &str = "jain_index";

/// Says how fair a contended lock is.
pub(super) fn fairness(inquiry: Inquiry<'_>, row: &Row, choice: &mut Choice) {
    if row.case.threads.unwrap_or(1) < 2 {
        return;
    }
    let details = inquiry.data.details.get(&row.case.id());
    let index = details.and_then(|all| all.iter().find(|detail| detail.name == INDEX && detail.actor.is_none()));
    match index.map(|detail| detail.value) {
        None => choice.notes.push("its fairness was not measured".to_owned()),
        Some(index) if index < FAIR => choice
            .warnings
            .push(format!("unfair: some threads got it much more often than others (Jain's index {index:.2} of 1)")),
        Some(index) => choice.notes.push(format!("fair in contests of a millisecond: Jain's index {index:.2} of 1")),
    }
}

/// Warns where threads that wait keep their CPU. A row with more threads than CPUs shows what becomes of it.
pub(super) fn waiting(inquiry: Inquiry<'_>, row: &Row, choice: &mut Choice) {
    let Some(primitive) = inquiry.primitive(&row.case.primitive) else { return };
    if primitive.facts.waits == Waits::AsConfigured {
        let policy =
            "OMP_WAIT_POLICY decides whether its waiters keep their CPU; the run measured the runtime's default";
        choice.notes.push(policy.to_owned());
    }
    if primitive.facts.waits == Waits::Spins {
        let seen = oversubscribed(inquiry, row).map(|seen| format!(": {seen}")).unwrap_or_default();
        choice.warnings.push(format!("needs the CPUs for itself, its waiters spin{seen}"));
    }
}

/// `20 threads on 16 CPUs cost 1.20 ms`, by the row with the fewest threads beyond the CPUs.
fn oversubscribed(inquiry: Inquiry<'_>, row: &Row) -> Option<String> {
    let cpus = MachineSize::of(&inquiry.data.run.machine).hardware_threads;
    let alike = |case: &Case| Case { threads: row.case.threads, ..case.clone() } == row.case;
    let rows = inquiry.data.rows.iter().filter(|other| alike(&other.case) && other.case.threads > Some(cpus));
    let known = rows.filter(|other| cpus > 0 && figure::has_figure(other));
    let first = known.min_by_key(|other| other.case.threads)?;
    Some(format!("{} threads on {cpus} CPUs cost {}", first.case.threads?, Cost::of(first).figure))
}
