//! The text about a run as a whole: its state, its origin, what it lacks, and the tails of its operations.

use serde::Serialize;
use syncscope_core::run::{IMPORTED, Status};
use syncscope_core::sets::in_groups;
use syncscope_core::{Case, Row};

use super::counted;
use crate::analysis::ladder::row_query::MEDIAN_DETAIL;
use crate::figure::{duration, grouped};
use crate::naming::{self, plural};
use crate::{RunData, run_data};

/// The colour class and the words for a run that is not complete.
pub(super) fn state(data: &RunData) -> Option<(&'static str, String)> {
    let (tone, words) = match data.run.status {
        Status::Done => return None,
        Status::Running => ("doubt", "not finished"),
        Status::Interrupted => ("doubt", "interrupted"),
        Status::BudgetSpent => ("doubt", "stopped by its budget"),
    };
    let provisional = match data.provisional() {
        0 => String::new(),
        count => format!(", {} provisional", grouped(count)),
    };
    let part = format!(": {} of {} cases{provisional}", grouped(data.rows.len()), grouped(data.run.planned));
    Some((tone, if data.run.experiment().is_some() { words.to_owned() } else { format!("{words}{part}") }))
}

/// Whether another tool measured the figures.
pub(super) fn is_imported(data: &RunData) -> bool {
    data.run.preset == IMPORTED
}

/// When and how the run was measured.
pub(super) fn origin(data: &RunData) -> Vec<String> {
    let started = data.run.started.replace('T', " ");
    let started = match started.strip_suffix('Z').and_then(|text| text.rsplit_once(':')) {
        Some((minute, _)) => format!("{minute} UTC"),
        None => started,
    };
    let (started, kind) = if is_imported(data) {
        (format!("imported {started}"), "figures from another tool".to_owned())
    } else {
        (started, format!("{} preset", data.run.preset))
    };
    let experiment = data.run.experiment();
    let count = experiment.is_none().then(|| counted(data.rows.len(), "case"));
    let kind = experiment.map_or(kind, str::to_owned);
    [Some(started), data.seconds().map(duration), Some(kind), count].into_iter().flatten().collect()
}

/// Why there are no figures of GPUs, where a reader expects them.
pub(super) fn no_gpu(runs: &[RunData]) -> Option<&'static str> {
    let families = run_data::families(runs);
    let has_other = families.iter().any(|(domain, _)| ["gpu", "mpi"].contains(domain));
    if families.is_empty() || has_other || runs.iter().all(is_imported) {
        return None;
    }
    Some(if runs.iter().any(|data| !data.run.machine.gpus.is_empty()) {
        "GPUs are present, but the rows include no GPU case."
    } else {
        "No NVIDIA GPU was found on this machine, so there are no GPU figures."
    })
}

/// The individual times of operations on one class of pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Tail {
    domain: String,
    family: String,
    label: String,
    /// The row of the pair with the median of the medians, which represents its class, and the number of pairs with medians.
    row: usize,
    pairs: usize,
}

/// The operations whose individual times the run has.
pub(super) fn tails(data: &RunData) -> Vec<Tail> {
    let median = |index: usize| data.detail(data.case(index), MEDIAN_DETAIL);
    let rows = data.rows.iter().enumerate().filter_map(|(index, row)| Some((index, row, median(index)?)));
    let named = rows.map(|(index, row, ns)| ((row.case.domain_and_family().0, tail_name(row)), (index, ns)));
    let of = |((_, label), mut rows): ((&str, String), Vec<(usize, f64)>)| {
        rows.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let row = rows[(rows.len() - 1) / 2].0;
        let (domain, family) = data.case(row).domain_and_family();
        Tail { domain: domain.to_owned(), family: family.to_owned(), label, row, pairs: rows.len() }
    };
    in_groups(named).into_iter().map(of).collect()
}

/// The name of an operation. A wake-up and a hand-off of the same name differ, and so do two memory orders.
fn tail_name(row: &Row) -> String {
    let Case { primitive, form, group, order, threads, .. } = &row.case;
    let name = primitive.splitn(3, '.').nth(2).unwrap_or_default();
    let form = form.map_or_else(String::new, |form| format!(", {}", naming::form(form)));
    let group = group.as_ref().map(naming::group);
    let family = row.case.domain_and_family().1;
    let (name, threads, order) = match family {
        "handoff" => (format!("{name}{form}"), None, None),
        "wake" => (format!("wake-up by {name}{form}"), None, *order),
        _ => (format!("{family} {}{form}", name.replace('_', " ")), *threads, *order),
    };
    let threads = threads.map(|threads| plural(threads, "thread"));
    let parts = [Some(name), group, threads, order.map(|order| order.to_string())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
