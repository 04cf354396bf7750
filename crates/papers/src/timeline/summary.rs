//! Turns the marks that warps left into spans and figures.

use super::clock::{Relation, Steps};
use super::{ClockOffset, Figure, Snippet, Span, Version};

/// The clock reads of one warp, by the counter of its multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The block.
    pub(super) block: u32,
    /// The warp in its block.
    pub(super) warp: u32,
    /// The first clock read.
    pub(super) start: u64,
    /// The clock read before the barrier; the same as `start` where there is none.
    pub(super) arrival: u64,
    /// The last clock read.
    pub(super) stop: u64,
}

/// One block of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The multiprocessor that the block ran on.
    pub(super) multiprocessor: u32,
    /// What the block saw of the global timer.
    pub(super) steps: Steps,
}

/// One launch of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaunchRecord {
    /// The blocks, by number.
    pub(super) blocks: Vec<Block>,
    /// The marks of each round.
    pub(super) rounds: Vec<Vec<Mark>>,
}

/// The marks of one round on the common clock.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    /// The warps.
    pub(super) spans: Vec<Span>,
    /// How exactly times of different multiprocessors compare.
    pub(super) resolution_cycles: f64,
    /// The clock of the multiprocessors.
    pub(super) clock_hz: Option<f64>,
}

/// Puts a block's counter on the common clock: its count `cycles` is `at` on the common clock.
#[derive(Debug, Clone, Copy)]
struct Shift {
    cycles: u64,
    at: f64,
}

impl LaunchRecord {
    /// Puts the marks of one round on the common clock. `None` without marks, or if blocks on different multiprocessors cannot be
    /// compared.
    pub(super) fn place(&self, snippet: Snippet, version: Version, round: usize) -> Option<Placed> {
        let marks = self.rounds.get(round)?;
        let relations: Vec<Option<Relation>> = self.blocks.iter().map(|block| Relation::of(&block.steps)).collect();
        let on_one = self.blocks.windows(2).all(|two| two[0].multiprocessor == two[1].multiprocessor);
        // All blocks on one multiprocessor have one counter.
        let first = Shift { cycles: marks.iter().map(|mark| mark.start).min()?, at: 0.0 };
        let shifts = if on_one { vec![first; self.blocks.len()] } else { shifts(marks, &relations)? };
        let time = |mark: &Mark, cycles: u64| {
            let shift = shifts.get(mark.block as usize)?;
            Some(shift.at + cycles.wrapping_sub(shift.cycles).cast_signed() as f64)
        };
        let span = |mark: &Mark| {
            Some(Span {
                snippet,
                version,
                block: mark.block,
                multiprocessor: self.blocks.get(mark.block as usize)?.multiprocessor,
                warp: mark.warp,
                start_cycles: time(mark, mark.start)?,
                arrival_cycles: snippet.waits_for_the_last().then(|| time(mark, mark.arrival)).flatten(),
                stop_cycles: time(mark, mark.stop)?,
            })
        };
        let spans: Option<Vec<Span>> = marks.iter().map(span).collect();
        let known: Vec<Relation> = relations.into_iter().flatten().collect();
        let resolution = known.iter().map(Relation::disagreement_cycles).fold(1.0, f64::max);
        let rate = upper_median(known.iter().map(|relation| relation.cycles_per_ns));
        Some(Placed {
            spans: from_zero(spans?),
            resolution_cycles: if on_one { 1.0 } else { resolution },
            clock_hz: rate.map(|rate| rate * 1e9),
        })
    }

    /// The counters of the multiprocessors, each once.
    pub(super) fn clocks(&self) -> Vec<ClockOffset> {
        let mut known: Vec<(u32, Relation)> =
            self.blocks.iter().filter_map(|block| Some((block.multiprocessor, Relation::of(&block.steps)?))).collect();
        known.sort_by_key(|(multiprocessor, _)| *multiprocessor);
        known.dedup_by_key(|(multiprocessor, _)| *multiprocessor);
        let Some((_, first)) = known.first().copied() else { return Vec::new() };
        let moment = first.origin.ns;
        // At the same moment, a counter that is ahead has counted more cycles.
        let at_zero = |relation: &Relation| -relation.ns_after(0, moment) * relation.cycles_per_ns;
        let ahead = |relation: &Relation| at_zero(relation) - at_zero(&first);
        let offset = |(multiprocessor, relation): &(u32, Relation)| ClockOffset {
            multiprocessor: *multiprocessor,
            ahead_cycles: ahead(relation).round(),
            disagreement_cycles: relation.disagreement_cycles(),
        };
        known.iter().map(offset).collect()
    }
}

/// One shift for each block, by what it saw of the global timer. Within a block, cycles stay cycles.
fn shifts(marks: &[Mark], relations: &[Option<Relation>]) -> Option<Vec<Shift>> {
    let moment = relations.first()?.as_ref()?.origin.ns;
    let rates: Option<Vec<f64>> = relations.iter().map(|relation| Some(relation.as_ref()?.cycles_per_ns)).collect();
    let rate = upper_median(rates?)?;
    let shift = |(block, relation): (usize, &Option<Relation>)| {
        let of_block = marks.iter().filter(|mark| mark.block as usize == block);
        let cycles = of_block.map(|mark| mark.start).min()?;
        Some(Shift { cycles, at: relation.as_ref()?.ns_after(cycles, moment) * rate })
    };
    relations.iter().enumerate().map(shift).collect()
}

/// Shifts the spans so that the first start is at 0.
fn from_zero(mut spans: Vec<Span>) -> Vec<Span> {
    let first = spans.iter().map(|span| span.start_cycles).fold(f64::INFINITY, f64::min);
    for span in &mut spans {
        span.start_cycles -= first;
        span.arrival_cycles = span.arrival_cycles.map(|cycles| cycles - first);
        span.stop_cycles -= first;
    }
    spans
}

/// The middle value; of an even number of values, the larger of the two in the middle, which is one that was measured.
fn upper_median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The last arrival, where all warps wait for it.
pub(super) fn last_arrival(snippet: Snippet, spans: &[Span]) -> Option<f64> {
    let last = spans.iter().map(Span::begin_cycles).reduce(f64::max);
    last.filter(|_| snippet.waits_for_the_last())
}

/// The timed cycles of each warp: from its own beginning to its stop, or, where all warps wait for the last one, from
/// the last arrival.
pub(super) fn timed_cycles(snippet: Snippet, spans: &[Span]) -> Vec<f64> {
    let last = last_arrival(snippet, spans);
    let begin = |span: &Span| last.unwrap_or_else(|| span.begin_cycles());
    spans.iter().map(|span| span.stop_cycles - begin(span)).collect()
}

/// The launch whose median warp is the median of all launches, and the figure of all launches; `None` if there are
/// none.
pub(super) fn summarize(
    snippet: Snippet,
    version: Version,
    round: u32,
    launches: &[Placed],
) -> Option<(usize, Figure)> {
    let of_launch = |(at, launch): (usize, &Placed)| {
        let mut cycles = timed_cycles(snippet, &launch.spans);
        cycles.sort_by(f64::total_cmp);
        Some((at, [*cycles.first()?, *cycles.get(cycles.len() / 2)?, *cycles.last()?]))
    };
    let mut timed = launches.iter().enumerate().map(of_launch).collect::<Option<Vec<_>>>()?;
    timed.sort_by(|(_, a), (_, b)| a[1].total_cmp(&b[1]));
    let (shown, _) = *timed.get(timed.len() / 2)?;
    let [shortest, middle, longest] =
        [0, 1, 2].map(|which| upper_median(timed.iter().map(|(_, cycles)| cycles[which])));
    let figure = Figure {
        snippet,
        version,
        round,
        launches: launches.len() as u32,
        warps: launches.first()?.spans.len() as u32,
        shortest_cycles: shortest?,
        median_cycles: middle?,
        longest_cycles: longest?,
        resolution_cycles: upper_median(launches.iter().map(|launch| launch.resolution_cycles))?,
        clock_hz: upper_median(launches.iter().filter_map(|launch| launch.clock_hz)),
    };
    Some((shown, figure))
}

#[cfg(test)]
mod tests {
    use super::super::clock::Step;
    use super::*;

    fn steps(ahead: u64) -> Steps {
        let seen =
            |first: u64| (0..16).map(|at| first + 32 * at).map(|ns| Step { ns, cycles: 2 * ns + ahead }).collect();
        Steps { before: seen(0), after: seen(10_000) }
    }

    fn mark(block: u32, warp: u32, [start, arrival, stop]: [u64; 3]) -> Mark {
        Mark { block, warp, start, arrival, stop }
    }

    fn launch(multiprocessors: [u32; 2]) -> LaunchRecord {
        let ahead = [1_000, 5_000];
        let block = |at: usize| Block { multiprocessor: multiprocessors[at], steps: steps(ahead[at]) };
        let marks = vec![mark(0, 0, [11_000, 11_010, 11_300]), mark(1, 0, [15_020, 15_200, 15_310])];
        LaunchRecord { blocks: vec![block(0), block(1)], rounds: vec![marks] }
    }

    #[test]
    fn blocks_on_different_multiprocessors_come_on_one_clock() {
        let placed = launch([7, 9]).place(Snippet::GridBarrier, Version::Naive, 0).unwrap();
        let times: Vec<[f64; 3]> = placed
            .spans
            .iter()
            .map(|span| [span.start_cycles, span.arrival_cycles.unwrap(), span.stop_cycles].map(f64::round))
            .collect();
        assert_eq!(times, [[0.0, 10.0, 300.0], [20.0, 200.0, 310.0]]);
        assert!(placed.clock_hz.is_some_and(|hertz| (hertz / 2e9 - 1.0).abs() < 1e-6), "{placed:?}");
        assert_eq!(
            timed_cycles(Snippet::GridBarrier, &placed.spans).iter().map(|c| c.round()).collect::<Vec<_>>(),
            [100.0, 110.0]
        );
    }

    #[test]
    fn blocks_on_one_multiprocessor_have_one_counter() {
        let mut record = launch([7, 7]);
        record.rounds[0][1].start = 11_020;
        record.blocks[1].steps = Steps::default();
        let placed = record.place(Snippet::GlobalAtomic, Version::Naive, 0).unwrap();
        assert_eq!((placed.spans[1].start_cycles, placed.resolution_cycles), (20.0, 1.0));
        assert_eq!(placed.spans[1].arrival_cycles, None, "there is no barrier");
    }

    #[test]
    fn blocks_that_cannot_be_compared_are_not() {
        let mut record = launch([7, 9]);
        record.blocks[1].steps = Steps::default();
        assert_eq!(record.place(Snippet::GridBarrier, Version::Naive, 0), None);
        assert_eq!(record.place(Snippet::GridBarrier, Version::Naive, 5), None, "no such round");
    }

    #[test]
    fn counters_are_compared_at_the_same_moment() {
        let clocks = launch([9, 7]).clocks();
        let found: Vec<(u32, f64)> = clocks.iter().map(|clock| (clock.multiprocessor, clock.ahead_cycles)).collect();
        assert_eq!(found, [(7, 0.0), (9, -4_000.0)]);
    }

    #[test]
    fn the_launch_in_the_middle_is_shown() {
        let placed = |cycles: [u64; 2]| {
            let marks = vec![mark(0, 0, [0, 0, cycles[0]]), mark(0, 1, [2, 2, 2 + cycles[1]])];
            let block = Block { multiprocessor: 1, steps: steps(0) };
            let record = LaunchRecord { blocks: vec![block], rounds: vec![marks] };
            record.place(Snippet::SharedMemory, Version::Corrected, 0).unwrap()
        };
        let launches = [placed([90, 95]), placed([56, 58]), placed([57, 59])];
        let (shown, figure) = summarize(Snippet::SharedMemory, Version::Corrected, 1, &launches).unwrap();
        assert_eq!(shown, 2);
        assert_eq!((figure.shortest_cycles, figure.median_cycles, figure.longest_cycles), (57.0, 59.0, 59.0));
        assert_eq!((figure.launches, figure.warps, figure.round), (3, 2, 1));
        assert_eq!(summarize(Snippet::SharedMemory, Version::Corrected, 1, &[]), None);
    }
}
