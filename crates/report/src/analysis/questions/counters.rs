//! Events of several threads: one counter for all, or one for each?

use syncscope_core::Space;

use super::prelude::*;

/// The bytes of a cache line if the machine does not record them.
const USUAL_LINE: u32 = 64;

/// Compares a shared counter with one per thread. One instrument measures both, so rows are compared within the run.
pub(super) fn count_events(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let sides = [(Domain::Cpu, "cpu.atomic.add"), (Domain::Gpu, "gpu.atomic.add")];
    sides.into_iter().filter_map(|(on, id)| on_side(inquiry, Counters { data: inquiry.data, on, id })).collect()
}

/// The additions of one side.
#[derive(Clone, Copy)]
struct Counters<'a> {
    data: &'a RunData,
    on: Domain,
    id: &'static str,
}

fn on_side(inquiry: Inquiry<'_>, counters: Counters<'_>) -> Option<Situation> {
    let Counters { data, on, .. } = counters;
    // A size counts only if both kinds of counters have rows.
    let own: Vec<&Case> = counters.rows().map(|(_, row)| &row.case).filter(|case| counters.is_own(case)).collect();
    let has_rival = |case: &Case| own.iter().any(|own| size(own) == size(case) && own.dtype == case.dtype);
    let is_one = |case: &Case| {
        case.primitive == counters.id && is_counter(case) && is_shared(case) && in_global(case) && has_rival(case)
    };
    let machine = MachineSize::of(&data.run.machine);
    let fits = |case: &Case| is_one(case) && machine.is_asked(case, inquiry.asked.threads);
    // One block has no contention between blocks, so the answers for it and for the whole grid can be opposite.
    let whole_grid = |case: &Case| fits(case) && machine.is_filled_by(case);
    let peers = Peers::of(data, Role::Update, whole_grid, Size::Most);
    let Some(peers) = peers.or_else(|| Peers::of(data, Role::Update, fits, Size::Most)) else {
        return missing_size(inquiry, (on, Role::Update, ""), is_one);
    };
    let like = peers.like;
    let contest = counters.contest(like);
    let is_one_block = on == Domain::Gpu && like.blocks == Some(1);
    let decision = decide(inquiry, &contest)?.taking(|choice| {
        if on == Domain::Cpu {
            choice.notes.extend(break_even(data, like, &contest, &choice.name));
            choice.notes.extend(with_work(data, like));
        }
        choice.warnings.extend(is_one_block.then(|| ONE_BLOCK.to_owned()));
    });
    let blocks = if is_one_block { " in one block" } else { "" };
    let dtype = like.dtype.map(|dtype| dtype.to_string()).unwrap_or_default();
    Some((on, format!("{}{blocks}, {dtype}", naming::size(like)), decision))
}

const ONE_BLOCK: &str =
    "for one block only; the run did not measure the whole grid, where the answer may be the opposite";
const SHARED: &str = "one shared counter";
const BY_BLOCK: &str = "a counter for each block, in shared memory";

impl<'a> Counters<'a> {
    fn rows(self) -> impl Iterator<Item = (usize, &'a Row)> {
        let rows = self.data.rows.iter().enumerate();
        rows.filter(move |(_, row)| row.case.primitive == self.id && takes_part(self.data, row, Role::Update))
    }

    /// The counters with the size and type of `like`, the shared one: one row of each kind.
    fn contest(self, like: &Case) -> Contest<'a> {
        let of_kind = |name: &str, is_meant: &dyn Fn(&Case) -> bool| {
            let rows = self.rows().filter(|(_, row)| {
                size(&row.case) == size(like) && row.case.dtype == like.dtype && is_meant(&row.case)
            });
            let stride = |case: &Case| case.layout.and_then(Layout::stride);
            let mut rows: Vec<(usize, &Row)> = rows.collect();
            rows.sort_by_cached_key(|(_, row)| (stride(&row.case), unusualness(&row.case), row.case.clone()));
            // The least distance that keeps counters apart, unless a larger one is certainly cheaper.
            let entrants = rows.into_iter().map(|(index, _)| Entrant::of(self.data, index, Basis::Run));
            let best = entrants.reduce(|best, other| {
                let is_cheaper = best.known.zip(other.known).is_some_and(|(best, other)| other.is_below(&best));
                let is_wider = stride(self.data.case(other.index)) > stride(self.data.case(best.index));
                if is_cheaper && is_wider { other } else { best }
            })?;
            Some(Entrant { name: name.to_owned(), ..best })
        };
        let by_block = of_kind(BY_BLOCK, &|case| {
            is_counter(case) && is_shared(case) && case.space == Some(Space::Shared) && case.order == like.order
        });
        // A CPU has no block memory.
        let is_missing = by_block.is_none() && self.on == Domain::Gpu;
        let is_pending = is_missing && self.data.has_more_planned(self.id);
        let same_order = |case: &Case| case.order == like.order && case.scope == like.scope;
        // Per-thread counters are summed when they are read.
        let own_name =
            if self.on == Domain::Cpu { "padded per-thread counters" } else { "per-thread counters in global memory" };
        let kinds = [
            of_kind(SHARED, &|case| case == like),
            of_kind(own_name, &|case| self.is_own(case) && same_order(case)),
            by_block,
        ];
        let pending = is_pending.then(|| BY_BLOCK.to_owned()).into_iter().collect();
        let mut contest = Contest::of(kinds.into_iter().flatten().collect(), pending);
        contest.left_out = usize::from(is_missing && !is_pending);
        contest
    }

    /// Whether a case is a per-thread counter: on the CPU, on its own cache line; on the GPU, next to the next thread's,
    /// because a warp accesses neighbours together.
    fn is_own(self, case: &Case) -> bool {
        let Some(stride) = case.layout.and_then(Layout::stride) else { return false };
        let bytes = case.dtype.map_or(1, Dtype::size_bytes) as u32 * stride;
        let caches = &self.data.run.machine.cpu.caches;
        let line = caches.iter().map(|cache| cache.line_bytes).max().unwrap_or(USUAL_LINE);
        let is_apart = if self.on == Domain::Cpu { bytes >= line } else { stride == 1 };
        is_counter(case) && in_global(case) && is_apart
    }
}

/// Whether a case has independent additions that nobody waits for.
fn is_counter(case: &Case) -> bool {
    case.mode != Some(Mode::Latency) && case.group.is_none()
}

fn is_shared(case: &Case) -> bool {
    case.layout.is_none_or(|layout| layout == Layout::Shared)
}

fn in_global(case: &Case) -> bool {
    case.space.is_none_or(|space| space == Space::Global)
}

/// The parameters that two kinds of counters must share to be compared.
fn size(case: &Case) -> (Option<u32>, Option<u32>, Option<&Placement>) {
    (case.threads, case.blocks, case.placement.as_ref())
}

/// The number of events per thread between two readings from which per-thread counters pay off. A reading fetches a cache
/// line from each thread, at about the cost of a hand-off. The ends of the intervals that make the number larger are used.
fn break_even(data: &RunData, like: &Case, contest: &Contest<'_>, winner: &str) -> Option<String> {
    let threads = like.threads?;
    let cost = |is_winner: bool| -> Option<Known<'_>> {
        let mut of = contest.known().filter(|(one, _)| (one.name == SHARED) != is_winner);
        of.find(|(one, _)| !is_winner || one.name == winner).map(|(_, cost)| cost)
    };
    let (shared, own) = (cost(false)?, cost(true)?);
    let reading = f64::from(threads) * handoff(data, like)?.shown_interval()?.high;
    let events = (reading / (shared.bounds.low - own.bounds.high)).ceil();
    let time = figure::time(reading);
    let text = format!(
        "reading the sum fetches {threads} cache lines (at most {time}, by the cost of a hand-off); per-thread \
         counters pay off if each thread counts at least {events} events between two readings"
    );
    (events.is_finite() && winner != SHARED).then_some(text)
}

/// The hand-off between threads that are placed as in `like`.
fn handoff<'a>(data: &'a RunData, like: &Case) -> Option<&'a Row> {
    data.rows.iter().find(|row| {
        takes_part(data, row, Role::SpinHandoff)
            && row.case.placement == like.placement
            && row.shown_interval().is_some()
    })
}

/// Says what a program pays that works between two events. The row's threads do nothing else, so each keeps the line for
/// several events.
fn with_work(data: &RunData, like: &Case) -> Option<String> {
    let others = like.threads.filter(|threads| *threads > 1)? - 1;
    let one = handoff(data, like)?.ns?.value();
    Some(format!(
        "with work between the events, an event on a shared counter costs about a hand-off ({}), and threads queue \
         if the work is shorter than {}; the row of the shared counter has no work, so a thread there keeps the cache \
         line for several events",
        figure::time(one),
        figure::time(f64::from(others) * one)
    ))
}
