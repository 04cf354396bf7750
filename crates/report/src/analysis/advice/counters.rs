//! Events of several threads: one counter for all, or one for each.

use syncscope_core::{Case, Domain, Dtype, Layout, Mode, Placement, Space};

use super::contest::{Candidate, decide, model_case, other_sizes, takes_part};
use super::{Advice, Decision, Inquiry, Need};
use crate::analysis::answers::field::Basis;
use crate::analysis::row_query::{HANDOFFS, unusualness};
use crate::{figure, naming};

/// Counters and what increments them, by side.
pub(in crate::analysis) const ADDITIONS: [(Domain, &str); 2] =
    [(Domain::Cpu, "cpu.atomic.add"), (Domain::Gpu, "gpu.atomic.add")];

/// Bytes of a cache line where the machine does not say.
const USUAL_LINE: u32 = 64;

/// A shared counter against one for each thread. One instrument measures both, so rows are compared within the run.
pub(super) fn count_events(inquiry: Inquiry<'_>) -> Vec<Advice> {
    let wanted = ADDITIONS.into_iter().filter(|(on, _)| inquiry.wants(*on));
    wanted.filter_map(|(on, id)| on_side(inquiry, on, id)).collect()
}

fn on_side(inquiry: Inquiry<'_>, on: Domain, id: &str) -> Option<Advice> {
    let own: Vec<&Case> = inquiry.data.rows.iter().filter(|row| takes_part(row, &[id])).map(|row| &row.case).collect();
    // A size counts where both kinds of counters have rows.
    let shared = |case: &Case| is_counter(case) && case.layout.is_none_or(|layout| layout == Layout::Shared);
    let has_rival = |case: &Case| {
        let same_size = |other: &&&Case| size(other) == size(case) && other.dtype == case.dtype;
        own.iter().filter(same_size).any(|other| is_own_counter(inquiry, on, other))
    };
    let like = match model_case(inquiry, &[id], |case| shared(case) && in_global(case) && has_rival(case))? {
        Ok(like) => like,
        Err(present) => {
            let decision = Decision::Missing(other_sizes(inquiry.question.threads, &present));
            return Some(Advice { need: Need::CountEvents, on, situation: String::new(), decision });
        }
    };
    let candidates = of_size(inquiry, on, id, like);
    let mut decision = decide(inquiry, &candidates)?;
    if let (Decision::Take(choice), Domain::Cpu) = (&mut decision, on) {
        choice.notes.extend(break_even(inquiry, like, &candidates, &choice.name));
    }
    let blocks = if on == Domain::Gpu && like.blocks == Some(1) { ", one block" } else { "" };
    let dtype = like.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
    let situation = format!("{}{blocks}, {dtype}", naming::size(like));
    Some(Advice { need: Need::CountEvents, on, situation, decision })
}

/// The counters at the size and of the type of `like`, which is the shared one: one row of each kind.
fn of_size(inquiry: Inquiry<'_>, on: Domain, id: &str, like: &Case) -> Vec<Candidate> {
    let of_kind = |name: &str, is_meant: &dyn Fn(&Case) -> bool| {
        let rows = inquiry.data.rows.iter().enumerate().filter(|(_, row)| {
            let case = &row.case;
            takes_part(row, &[id]) && size(case) == size(like) && case.dtype == like.dtype && is_meant(case)
        });
        // The least distance that keeps counters apart, then the usual parameters.
        let stride = |case: &Case| case.layout.and_then(Layout::stride);
        let first = rows.min_by_key(|(_, row)| (stride(&row.case), unusualness(&row.case), row.case.clone()))?;
        Candidate::of_row(inquiry, first.0, name.to_owned(), Basis::Run)
    };
    let same_order = |case: &Case| case.order == like.order && case.scope == like.scope;
    let by_block = |case: &Case| {
        let is_shared = case.layout.is_none_or(|layout| layout == Layout::Shared);
        is_counter(case) && is_shared && case.space == Some(Space::Shared) && case.order == like.order
    };
    // A CPU has no memory of a block.
    let pending = || {
        (on == Domain::Gpu && inquiry.data.has_more_planned(id)).then(|| Candidate::pending(BY_BLOCK.to_owned(), id))
    };
    let kinds = [
        of_kind(SHARED, &|case| case == like),
        of_kind(own_name(on), &|case| is_own_counter(inquiry, on, case) && same_order(case)),
        of_kind(BY_BLOCK, &by_block).or_else(pending),
    ];
    kinds.into_iter().flatten().collect()
}

const SHARED: &str = "one shared counter";
const BY_BLOCK: &str = "a counter for each block, in shared memory";

/// The counters that are summed when they are read.
const fn own_name(on: Domain) -> &'static str {
    match on {
        Domain::Cpu => "padded per-thread counters",
        Domain::Gpu | Domain::Hybrid | Domain::Mpi => "per-thread counters",
    }
}

/// Independent additions that nobody waits for.
fn is_counter(case: &Case) -> bool {
    let is_bound = !matches!(case.placement, Some(Placement::List(_)));
    case.mode != Some(Mode::Latency) && case.group.is_none() && case.form.is_none() && is_bound
}

fn in_global(case: &Case) -> bool {
    case.space.is_none_or(|space| space == Space::Global)
}

/// A counter of one thread: on the CPU on a cache line of its own; on the GPU beside the next thread's, because a warp
/// accesses neighbours together.
fn is_own_counter(inquiry: Inquiry<'_>, on: Domain, case: &Case) -> bool {
    let Some(stride) = case.layout.and_then(Layout::stride) else { return false };
    let bytes = case.dtype.map_or(1, Dtype::size_bytes) as u32 * stride;
    let caches = &inquiry.data.run.machine.cpu.caches;
    let line = caches.iter().map(|cache| cache.line_bytes).max().unwrap_or(USUAL_LINE);
    let is_apart = if on == Domain::Cpu { bytes >= line } else { stride == 1 };
    is_counter(case) && in_global(case) && is_apart
}

/// What must be equal for two kinds of counters to be compared.
fn size(case: &Case) -> (Option<u32>, Option<u32>, Option<&Placement>) {
    (case.threads, case.blocks, case.placement.as_ref())
}

/// From how many events of each thread between two readings counters of their own pay off: a reading fetches a cache line
/// from each thread, at about the cost of a hand-off. By the ends of the intervals that make it larger.
fn break_even(inquiry: Inquiry<'_>, like: &Case, candidates: &[Candidate], winner: &str) -> Option<String> {
    let named = |name: &str| candidates.iter().find(|one| one.name == name);
    let (shared, own) = (named(SHARED)?, named(own_name(Domain::Cpu))?);
    let threads = like.threads?;
    if winner != own.name {
        return None;
    }
    let handoff = inquiry
        .data
        .rows
        .iter()
        .find(|row| takes_part(row, HANDOFFS) && row.case.placement == like.placement && row.ns_within.is_some())?;
    let fetch = handoff.ns_within?.high;
    let events = (f64::from(threads) * fetch / (shared.bounds.low - own.bounds.high)).ceil();
    events.is_finite().then(|| {
        format!(
            "reading the sum fetches {threads} cache lines, at most {} by the cost of a hand-off: counters of their own pay \
             off from {events} events of each thread between two readings",
            figure::time(f64::from(threads) * fetch)
        )
    })
}
