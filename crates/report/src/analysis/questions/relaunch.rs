//! Synchronize within a kernel, or end it and launch the next one?

use super::barrier::{RESIDENT, of_grid};
use super::break_even::{Barriers, Way, length, margins, ways, words};
use super::prelude::*;
use super::rows::with_cost;
use crate::naming::{EMPTY_KERNEL, KERNEL_US, SWEEP_US};
use syncscope_core::sets::in_groups;

pub(super) const SENTENCES: Sentences =
    &[sentence(kernel_or_grid_barrier, &[]), sentence(programmatic, &[On::Size, On::Kernels])];

/// Each way to launch kernels that do this work, with its row among these, in the order of the catalogue. The charts show
/// the same rows.
fn launches(data: &RunData, rows: &[usize], work: &Group) -> Vec<(&'static str, usize)> {
    let of = |id: &'static str| {
        let case = |index: &usize| data.case(*index);
        let own = rows.iter().filter(|index| case(index).primitive == id && case(index).group.as_ref() == Some(work));
        most_usual(data, own.copied()).map(|index| (id, index))
    };
    data.catalogue.with_role(Role::Launch).filter_map(|primitive| of(primitive.id)).collect()
}

/// Launches of kernels that do something, and the barriers that would replace them.
struct Matched<'a> {
    rows: Vec<usize>,
    barriers: Barriers<'a>,
    /// The intervals of the launches. Launches and barriers between the same memory accesses are timed alike. Otherwise the host
    /// times launches and the device times barriers, so a launch and a barrier are compared by their intervals for another run.
    basis: Basis,
}

impl<'a> Matched<'a> {
    /// Matches kernels that access memory if the run has both sides for them, otherwise kernels that do not.
    fn of(data: &'a RunData, peers: &Peers<'a>) -> Self {
        Self::swept(data, peers.like).unwrap_or_else(|| Self::idle(data, peers))
    }

    /// Matches kernels that access no memory.
    fn idle(data: &'a RunData, peers: &Peers<'a>) -> Self {
        let rows = launch_rows(data, peers.like, Role::Launch, |case| case.in_group(KERNEL_US));
        Self { rows, barriers: Barriers::of(peers.contest(Basis::Run)), basis: Basis::Machine }
    }

    fn swept(data: &'a RunData, barrier: &Case) -> Option<Self> {
        let of = |role| launch_rows(data, barrier, role, |case| case.in_group(SWEEP_US));
        let (rows, within) = (of(Role::Launch), of(Role::BarrierInKernel));
        let contest = |index: &usize| {
            let entrant = Entrant { name: "grid_group::sync()".to_owned(), ..Entrant::of(data, *index, Basis::Run) };
            Contest::of(vec![entrant], Vec::new())
        };
        let by_length = within.iter().filter_map(|index| Some((length(data.case(*index))?, contest(index)))).collect();
        let usual = contest(&most_usual(data, within.iter().copied())?);
        (!rows.is_empty()).then_some(Self { rows, barriers: Barriers { usual, by_length }, basis: Basis::Run })
    }

    /// What the kernels do, the shortest first.
    fn works(&self, data: &'a RunData) -> BTreeSet<&'a Group> {
        self.rows.iter().filter_map(|index| data.case(*index).group.as_ref()).collect()
    }

    /// The contest of barriers and launches for this work; `None` if there is no launch.
    fn contest(&self, data: &'a RunData, work: &Group) -> Option<Contest<'a>> {
        let grid = self.barriers.at(work.number().unwrap_or(0)).clone();
        against(data, &launches(data, &self.rows, work), grid, self.basis)
    }

    /// The cheapest choice by the length of the kernels.
    fn by_length(&self, data: &'a RunData) -> Option<Along<'a>> {
        let stop = |work: &'a Group| Some((work.number()?, self.contest(data, work)?));
        let mut stops: Vec<_> = self.works(data).into_iter().filter_map(stop).collect();
        stops.sort_by_key(|(length, _)| *length);
        Along::of(stops)
    }
}

/// The contest of a grid's barriers and these launches: each way with its row.
fn against<'a>(data: &'a RunData, ways: &[(&str, usize)], grid: Contest<'a>, basis: Basis) -> Option<Contest<'a>> {
    ways.first()?;
    let launch =
        |(id, index): &(&str, usize)| Entrant { name: words(id).0.to_owned(), ..Entrant::of(data, *index, basis) };
    let is_measured = |id: &str| ways.iter().any(|(way, _)| *way == id);
    let ids = data.catalogue.with_role(Role::Launch).map(|one| one.id);
    let pending = ids.filter(|id| data.has_more_planned(id) && !is_measured(id)).map(|id| words(id).0.to_owned());
    let kernels = Contest::of(ways.iter().map(launch).collect(), pending.collect());
    Some(grid.named(|name| format!("a grid barrier ({name})")).with(kernels))
}

/// Names the cheapest of new kernels and grid barriers, by what the kernels do and how long they last.
fn kernel_or_grid_barrier(data: &RunData) -> Option<Outcome> {
    let peers = of_grid(data, None)?;
    let idle = Matched::idle(data, &peers).by_length(data).map(|found| (found, "access no memory"));
    let swept = Matched::swept(data, peers.like).and_then(|matched| matched.by_length(data));
    let swept = swept.map(|found| (found, "access the L2 cache"));
    let found: Vec<(Along<'_>, &str)> = idle.into_iter().chain(swept).collect();
    let is_barrier = |row: usize| has_role(data, data.case(row), Role::GridBarrier);
    // The answer, and the choices that cost more.
    let in_words = |(along, what): &(Along<'_>, &str), is: &str| {
        let cheapest = along.in_words("kernels lasting ", "µs");
        // Only the two usual ways are named as more expensive: the cheapest barrier, and kernels one after the other in a
        // stream.
        let has_barrier = along.any(|ways| ways.iter().any(|one| is_barrier(one.index)));
        let all = along.dearer();
        let barrier = all.iter().find(|(_, cost)| is_barrier(cost.index)).filter(|_| !has_barrier);
        let stream = all.iter().find(|(_, cost)| cost.row.case.primitive == "gpu.launch.stream");
        let usual: Vec<String> = barrier.into_iter().chain(stream).map(|(name, cost)| with_cost(name, cost)).collect();
        let be = if usual.len() == 1 { "is" } else { "are" };
        let at = if along.only_stop().is_some() { "" } else { " at every measured kernel length" };
        let dearer = enumerated(usual).map(|names| format!("{} {be} slower{at}", capitalized(&names)));
        let last = along.only_stop().map_or_else(String::new, |length| format!("last {length} µs and "));
        (format!("if kernels {last}{what}{is} {cheapest}"), dearer)
    };
    let size = naming::grid_size(peers.like);
    // The question is decided if none of the cheapest is a barrier, or all of them are.
    let decides = |ways: &[&Entrant<'_>]| {
        let barriers = ways.iter().filter(|one| is_barrier(one.index)).count();
        barriers == 0 || barriers == ways.len()
    };
    if !found.iter().any(|(along, _)| along.any(decides)) {
        let all =
            found.iter().map(|one| in_words(one, ":")).map(|(answer, dearer)| joined([Some(answer), dearer], ". "));
        return Some(Outcome::open(format!("how best to synchronize a grid of {size} ({})", joined(all, "; ")?)));
    }
    let rows = found.iter().flat_map(|(along, _)| along.rows());
    let way = format!(", the cheapest way to synchronize a grid of {size}");
    let is_one_length = found.iter().all(|(along, _)| along.only_stop().is_some());
    let all = found.iter().enumerate().flat_map(|(at, one)| {
        let way = if at == 0 { way.as_str() } else { ", the cheapest way to synchronize" };
        // A list of lengths begins with a length.
        let is = if one.0.only_stop().is_some() { "is" } else { "is:" };
        let (answer, dearer) = in_words(one, &format!("{way} {is}"));
        [Some(answer), dearer]
    });
    let mut sentences = all.flatten().map(|text| format!("{}.", capitalized(&text)));
    let cost = found.first()?.0.least().map_or_else(String::new, |cost| cost.to_string());
    let outcome = Outcome::holds(sentences.next()?, rows).headed(cost).followed_by(sentences);
    let measured = "No other kernel length was measured (--preset standard measures more).".to_owned();
    Some(outcome.followed_by(is_one_length.then_some(measured)))
}

/// Says how much of the gap between two kernels in a stream the best programmatic launch saves, for the grid that is
/// compared with barriers. The host times both.
fn programmatic(data: &RunData) -> Option<Outcome> {
    let works = |row: &Row| takes_part(data, row, Role::Launch) && row.case.in_group(KERNEL_US);
    let rows: Vec<usize> = match of_grid(data, None) {
        Some(peers) => Matched::of(data, &peers).rows,
        None => data.rows_where(works).collect(),
    };
    let of = |id: &'static str| {
        let own = rows.iter().copied().filter(|index| data.case(*index).primitive == id);
        Some((words(id).0, Known::written(data, most_usual(data, own)?, Basis::Run)?))
    };
    let ids = data.catalogue.with_role(Role::Launch).map(|one| one.id);
    let in_stream = ids.filter(|id| short_name(id).starts_with("programmatic") && !id.contains("graph"));
    let best = in_stream.filter_map(of).min_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns));
    let ((way, best), (_, stream)) = (best?, of("gpu.launch.stream")?);
    let both @ Comparison { less, more, ratio } = best.below(stream)?;
    let text = format!(
        "{} starts the next kernel after {less}; a launch into a plain stream takes {ratio} as long ({more}).",
        capitalized(way)
    );
    Some(Outcome::holds(text, both.rows()).headed(ratio))
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let peers = of_grid(data, None)?;
    let Matched { rows: launches, barriers, basis } = Matched::of(data, &peers);
    let rows: Vec<usize> = barriers.usual.rows().collect();
    if launches.is_empty() || rows.is_empty() {
        return None;
    }
    let known: BTreeSet<u32> = launches.iter().filter_map(|index| length(data.case(*index))).collect();
    let charts = if known.len() > 1 {
        let ways = ways(data, &launches, &barriers, basis);
        let chart = by_length(data, &barriers, &launches, &known)?.ruled(ways.iter().flat_map(Way::rules).collect());
        [Some(chart), margins(&ways, &barriers)]
    } else {
        [as_dots(data, &rows, &launches), None]
    };
    let blocks = data.case(launches[0]).blocks.unwrap_or(1);
    let last = known.first().filter(|_| known.len() == 1).map(|one| format!("last {one} µs and ")).unwrap_or_default();
    let is_swept = data.case(launches[0]).in_group(SWEEP_US);
    let traffic = if is_swept {
        "Each block reads what its neighbour wrote in the previous kernel and writes its own part of an array in L2."
    } else {
        "These kernels access no memory."
    };
    let shape = format!("The kernels {last}have {}. {traffic}", plural(blocks, "block"));
    let why = "The cost of a new kernel is the gap between two kernels or, if kernels are shorter than a host \
               launch, the time the host takes to launch one.";
    let all: Vec<usize> = rows.iter().chain(&launches).copied().collect();
    let otherwise = "The run does not show whether a new kernel is cheaper than a grid barrier, because one of the two has \
                     no figure.";
    let sentences = [Some(shape), Some(why.to_owned()), missing(data), unreliable(data, &all)];
    Picture::of(charts, otherwise, sentences)
}

/// The launches that fit, with the same grid as the barriers. A kernel without a number of blocks has one.
fn launch_rows(data: &RunData, barrier: &Case, role: Role, fits: impl Fn(&Case) -> bool) -> Vec<usize> {
    let grid = |case: &Case| (case.blocks.unwrap_or(1), case.threads);
    data.rows_where(|row| takes_part(data, row, role) && grid(&row.case) == grid(barrier) && fits(&row.case)).collect()
}

/// The label of a row or line in a chart.
fn label(data: &RunData, case: &Case) -> String {
    if has_role(data, case, Role::Launch) {
        format!("next kernel, {}", words(&case.primitive).1)
    } else {
        format!("grid barrier, {}", short_design(&data.catalogue, case))
    }
}

fn as_dots(data: &RunData, grid: &[usize], launches: &[usize]) -> Option<Spec> {
    let rows = data.by_cost(launches.iter().chain(grid).copied().collect());
    let series = rows.into_iter().map(|index| {
        let row = &data.rows[index];
        let colour = usize::from(!has_role(data, &row.case, Role::Launch));
        Series::plain(label(data, &row.case), colour, vec![Point::cost(row, index, 0.0)])
    });
    Spec::dots(Axis::log("time", Unit::Time), series.collect())
}

/// The costs over the length of the kernels. Grid barriers that do not depend on it are horizontal lines.
fn by_length(data: &RunData, barriers: &Barriers<'_>, launches: &[usize], lengths: &BTreeSet<u32>) -> Option<Spec> {
    let us = |case: &Case| length(case).map_or(0, u64::from);
    let within = barriers.by_length.values().flat_map(Contest::rows);
    let lines: Vec<usize> = launches.iter().copied().chain(within).collect();
    let mut series = plain(series(data, &lines, |case| label(data, case), us, Point::cost));
    let level = if barriers.by_length.is_empty() { Some(&barriers.usual) } else { None };
    for index in level.into_iter().flat_map(Contest::rows) {
        let row = &data.rows[index];
        let ends = [lengths.first(), lengths.last()].into_iter().flatten();
        let points = ends.map(|x| Point::cost(row, index, f64::from(*x))).collect();
        series.push(Series { label: label(data, &row.case), primitive: None, colour: None, points });
    }
    Spec::lines(Axis::log("duration of the kernels (µs)", Unit::Count), Axis::log("time", Unit::Time), series)
}

/// Says which ways this run could not measure, with the reason from its rows.
fn missing(data: &RunData) -> Option<String> {
    let launches = data.rows.iter().filter(|row| has_role(data, &row.case, Role::Launch));
    let skipped = launches.filter_map(|row| match &row.verdict {
        Verdict::Skipped(reason) => Some((reason.as_str(), words(&row.case.primitive).1)),
        _ => None,
    });
    let reasons = in_groups(skipped.collect::<BTreeSet<_>>()).into_iter();
    let in_words = |(reason, names): (&str, Vec<&str>)| {
        Some(format!("Not measured: next kernel {} ({reason}).", names.join(", ")))
    };
    joined(reasons.map(in_words), " ")
}

/// Answers for each kernel length whether to take a grid barrier or a new kernel of the same grid, compared as in the
/// sentence.
pub(super) fn end_gpu_phase(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let data = inquiry.data;
    if !data.rows.iter().any(|row| takes_part(data, row, Role::Launch)) {
        return Vec::new();
    }
    let Some(peers) = of_grid(data, inquiry.asked.threads) else {
        return Vec::from_iter(missing_size(inquiry, (Domain::Gpu, Role::GridBarrier, ""), |_| true));
    };
    // Kernels that do work come first; empty ones measure the host's rate.
    let working = Matched::of(data, &peers);
    let empty = launch_rows(data, peers.like, Role::Launch, |case| case.in_group(EMPTY_KERNEL));
    let of_working = working
        .works(data)
        .into_iter()
        .filter_map(|work| of_work(inquiry, work, peers.like, &working.contest(data, work)?));
    let nothing = Group::named(EMPTY_KERNEL);
    let ways = launches(data, &empty, &nothing);
    let of_empty = against(data, &ways, peers.contest(Basis::Run), Basis::Machine);
    let of_empty = of_empty.and_then(|contest| of_work(inquiry, &nothing, peers.like, &contest));
    of_working.chain(of_empty).collect()
}

/// The answer for kernels that do this work.
fn of_work(inquiry: Inquiry<'_>, work: &Group, barrier: &Case, contest: &Contest<'_>) -> Option<Situation> {
    let data = inquiry.data;
    let is_empty = work.word() == EMPTY_KERNEL;
    let what = match work.number() {
        _ if is_empty => "empty kernels".to_owned(),
        Some(length) if work.word() == SWEEP_US => format!("{length} µs kernels with memory traffic"),
        _ => format!("{} kernels without memory traffic", naming::group(work)),
    };
    let situation = format!("{what}, grid of {}", naming::size(barrier));
    let decision = decide(inquiry, contest)?.taking(|choice| {
        if !has_role(data, data.case(choice.row), Role::Launch) {
            choice.warnings.push(RESIDENT.to_owned());
        } else if data.catalogue.get(&choice.id).is_some_and(|primitive| primitive.name().contains("graph")) {
            choice.warnings.push("the kernels must be known in advance: a graph is built once and replayed".to_owned());
        }
        if is_empty {
            choice.notes.push("empty kernels: the host limits their rate, not the device".to_owned());
        }
    });
    Some((Domain::Gpu, situation, decision))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, on_blocks, row, said};
    use super::super::testing::{decision, series};
    use super::*;
    use syncscope_core::{MemoryOrder, Row, Verdict};

    #[test]
    fn kernels_of_several_lengths_are_lines_over_level_barriers() {
        let kernel = |way: &str, length, ns| {
            let case = Case {
                group: Some(Group::numbered(KERNEL_US, length)),
                ..on_blocks(&format!("gpu.launch.{way}"), 132, 32)
            };
            row(case, ns, 0.02)
        };
        let grid = row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01);
        let one = decision("decide-relaunch", &data(vec![kernel("graph", 5, 468.0), grid.clone()])).unwrap();
        assert!(matches!(one.charts[0], Spec::Dots { .. }));
        let lengths =
            vec![kernel("graph", 2, 900.0), kernel("graph", 5, 468.0), kernel("stream", 5, 1530.0), grid.clone()];
        let several = decision("decide-relaunch", &data(lengths)).unwrap();
        let level = series(&several.charts[0]).into_iter().find(|one| one.label == "grid barrier, counter").unwrap();
        assert_eq!(level.points.iter().filter_map(|point| point.x).collect::<Vec<_>>(), [2.0, 5.0]);
        assert_eq!(decision("decide-relaunch", &data(vec![grid])), None, "nothing to compare");
    }

    /// Kernels of 1 to 100 µs launched in five ways, next to a barrier of 806 ns.
    fn launches_by_length() -> Vec<Row> {
        let kernel = |way: &str, length, ns| {
            let case = Case {
                group: Some(Group::numbered(KERNEL_US, length)),
                ..on_blocks(&format!("gpu.launch.{way}"), 132, 32)
            };
            row(case, ns, 0.02)
        };
        let mut rows = vec![row(on_blocks("gpu.grid.counter", 132, 32), 806.0, 0.01)];
        for (length, graph, programmatic) in
            [(1, 700.0, 1900.0), (2, 690.0, 1200.0), (5, 690.0, 806.0), (100, 690.0, 500.0)]
        {
            rows.extend([kernel("graph", length, graph), kernel("programmatic", length, programmatic)]);
            rows.extend(["stream", "wait_value", "event_wait"].map(|way| kernel(way, length, 1500.0)));
        }
        // Another shape, with fewer lengths.
        let small = Case { group: Some(Group::of_word("5 us")), ..case("gpu.launch.graph", 32) };
        rows.push(row(small, 468.0, 0.02));
        let skipped = Verdict::Skipped("the device runtime is not linked".into());
        rows.push(Row::unmeasured(case("gpu.launch.device_graph", 32), skipped));
        rows
    }

    /// Without their sizes, a kernel of one block looked cheaper than a barrier of 132.
    #[test]
    fn kernels_of_another_grid_are_not_compared() {
        let mut rows = launches_by_length();
        for row in rows.iter_mut().filter(|row| row.case.primitive.starts_with("gpu.launch.")) {
            row.case.blocks = Some(1);
        }
        assert_eq!(said(kernel_or_grid_barrier, rows.clone()), None);
        assert_eq!(decision("decide-relaunch", &data(rows)), None);
    }

    #[test]
    fn a_kernel_more_has_its_break_even_point_with_the_barrier() {
        let run = data(launches_by_length());
        let found = decision("decide-relaunch", &run).unwrap();
        let Spec::Lines { series, rules, .. } = &found.charts[0] else { panic!("lines") };
        assert_eq!(series.len(), 5 + 1, "five ways and the barrier");
        assert!(series.iter().all(|one| one.points.len() == 4 || one.label.starts_with("grid barrier")));
        assert_eq!(
            rules.iter().map(|rule| rule.label.as_str()).collect::<Vec<_>>(),
            ["programmatic, early trigger: 5.0 µs"]
        );
        let Spec::Table { columns, lines, .. } = &found.charts[1] else { panic!("a table") };
        assert_eq!(columns, &["break-even", "at 1 µs", "at 100 µs"]);
        let cells = |line: usize| -> Vec<&str> {
            lines[line]
                .cells
                .iter()
                .flatten()
                .flat_map(|cell| [Some(cell.text.as_str()), cell.detail.as_deref()])
                .flatten()
                .collect()
        };
        assert_eq!(cells(1), ["none", "−106 ns", "−128 ns to −83.9 ns", "−116 ns", "−138 ns to −94.1 ns"]);
        assert_eq!(cells(2)[..2], ["5.0 µs", "2 to 100 µs"]);
        let note = found.note.unwrap();
        assert!(
            note.contains("Not measured: next kernel in a device graph (the device runtime is not linked)."),
            "{note}"
        );
        assert!(note.contains("The kernels have 132 blocks."), "{note}");
    }

    fn grid(name: &str, ns: f64, share: f64) -> Row {
        row(on_blocks(&format!("gpu.grid.{name}"), 132, 32), ns, share)
    }

    fn kernel(way: &str, ns: f64) -> Row {
        of_blocks(way, 132, ns)
    }

    fn of_blocks(way: &str, blocks: u32, ns: f64) -> Row {
        let case = Case { group: Some(Group::of_word("5 us")), ..on_blocks(&format!("gpu.launch.{way}"), blocks, 32) };
        row(case, ns, 0.02)
    }

    fn within_a_hundredth(row: &Row) -> Row {
        Row { ns_interval: row.ns_within, ..row.clone() }
    }

    /// The cheapest choice changes with the length, and the sentence says where.
    #[test]
    fn the_rule_names_the_cheapest_at_each_length() {
        let sentence = said(kernel_or_grid_barrier, launches_by_length()).unwrap().unwrap();
        assert_eq!(
            sentence,
            "If kernels access no memory, the cheapest way to synchronize a grid of 132×32 is: for \
             kernels lasting 1 to 5 µs, a graph (690 ns); for 100 µs, programmatic launch with an early trigger (500 ns). \
             A grid barrier (counter, 806 ns) and a launch into a plain stream (1.50 µs) are slower at every measured kernel length."
        );
    }

    #[test]
    fn the_intervals_for_another_run_decide_and_an_open_length_names_all_candidates() {
        let near = vec![kernel("graph", 700.0), grid("counter", 806.0, 0.2), kernel("stream", 1530.0)];
        let open = said(kernel_or_grid_barrier, near.clone()).unwrap().unwrap_err();
        assert!(
            open.contains(
                "if kernels last 5 µs and access no memory: a graph (700 ns) or a grid barrier (counter, 806 ns)"
            ),
            "{open}"
        );
        let certain = near.iter().map(within_a_hundredth).collect();
        let sentence = said(kernel_or_grid_barrier, certain).unwrap().unwrap();
        assert!(
            sentence.contains("a graph (700 ns). A grid barrier (counter, 806 ns) and a launch into a plain stream (1.53 µs) are slower"),
            "{sentence}"
        );
        assert!(
            sentence.ends_with("No other kernel length was measured (--preset standard measures more)."),
            "{sentence}"
        );
        let unknown = Row { verdict: Verdict::Interfered("too many".into()), ..grid("lock_free", 1.0, 0.1) };
        let open = said(kernel_or_grid_barrier, [near, vec![unknown]].concat()).unwrap().unwrap_err();
        assert!(open.contains("a grid barrier (lock_free, no figure)"), "{open}");
    }

    /// As on an H200: with sweeps of 50 µs, every launch and the barrier are overlapped.
    #[test]
    fn a_length_at_which_nothing_has_a_figure_is_unknown() {
        let swept = |way: &str, length, ns| {
            let group = Some(Group::numbered(SWEEP_US, length));
            row(Case { group, ..on_blocks(&format!("gpu.launch.{way}"), 132, 32) }, ns, 0.02)
        };
        let eased = |way| Row { verdict: Verdict::Overlapped("cheaper".into()), ..swept(way, 50, -4600.0) };
        let known = vec![swept("graph", 5, 2000.0), swept("grid_sync", 5, 3000.0), grid("counter", 806.0, 0.01)];
        let rows = [known, vec![eased("graph"), eased("grid_sync")]].concat();
        let sentence = said(kernel_or_grid_barrier, rows).unwrap().unwrap();
        assert!(sentence.contains("for kernels lasting 5 µs, a graph (2.00 µs); for 50 µs, unknown"), "{sentence}");
    }

    #[test]
    fn a_barrier_that_orders_no_memory_is_no_candidate() {
        let relaxed = grid("counter", 414.0, 0.01);
        let relaxed = Row { case: Case { order: Some(MemoryOrder::Relaxed), ..relaxed.case.clone() }, ..relaxed };
        let rows = vec![kernel("graph", 645.0), grid("counter", 806.0, 0.01), relaxed];
        let sentence = said(kernel_or_grid_barrier, rows).unwrap().unwrap();
        assert!(sentence.contains("a graph (645 ns)") && sentence.contains("(counter, 806 ns)"), "{sentence}");
    }

    #[test]
    fn a_programmatic_launch_shortens_the_gap() {
        let rows = vec![kernel("stream", 1530.0), kernel("programmatic", 247.0)];
        let sentence = "Programmatic launch with an early trigger starts the next kernel after 247 ns; a launch into a \
                        plain stream takes 6.2 times as long (1.53 µs).";
        assert_eq!(said(programmatic, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(programmatic, rows[..1].to_vec()), None);
        // The size is the one in the sentence about barriers, although one block is more usual.
        let small = ["stream", "programmatic"].map(|way| of_blocks(way, 1, if way == "stream" { 900.0 } else { 90.0 }));
        let sized = [rows.as_slice(), &small, &[grid("counter", 806.0, 0.01)]].concat();
        assert_eq!(said(programmatic, sized), Some(Ok(sentence.into())));
    }

    fn swept(row: Row, ns: f64) -> Row {
        let case = Case { group: Some(Group::numbered(SWEEP_US, 5)), ..row.case };
        super::super::testing::row(case, ns, 0.02)
    }

    /// As on an H200: an early trigger costs the least between kernels that access no memory, and the most between those that do.
    #[test]
    fn launches_between_kernels_that_access_memory_decide() {
        let [early, none] = ["programmatic", "programmatic_wait"];
        let idle =
            vec![kernel("stream", 1400.0), kernel(early, 530.0), kernel(none, 660.0), grid("counter", 800.0, 0.01)];
        let barrier = swept(kernel("grid_sync", 1.0), 1340.0);
        let busy = [("stream", 2270.0), (early, 1710.0), (none, 1180.0)].map(|(way, ns)| swept(kernel(way, 1.0), ns));
        let all = [idle.clone(), busy.to_vec(), vec![barrier.clone()]].concat();
        let sentence = said(kernel_or_grid_barrier, all.clone()).unwrap().unwrap();
        let [access_none, sweep] = ["early trigger (530 ns)", "without a trigger (1.18 µs)"];
        let [first, second] = [access_none, sweep].map(|text| sentence.find(text).expect(text));
        assert!(sentence[..second].contains("If kernels last 5 µs and access the L2 cache"), "{sentence}");
        assert!(sentence[..first].contains("If kernels last 5 µs and access no memory"), "{sentence}");
        let sooner = said(programmatic, all.clone()).unwrap().unwrap();
        assert!(
            sooner.starts_with("Programmatic launch without a trigger starts the next kernel after 1.18 µs; a launch into a plain stream takes 1.9 times as long"),
            "{sooner}"
        );
        let found = decision("decide-relaunch", &data(all)).unwrap();
        assert!(found.note.unwrap().contains("Each block reads what its neighbour wrote"));
        let labels: Vec<&str> = series(&found.charts[0]).iter().map(|one| one.label.as_str()).collect();
        assert!(
            labels.contains(&"grid barrier, grid_sync") && !labels.contains(&"grid barrier, counter"),
            "{labels:?}"
        );
        // Without a barrier between the same accesses, idle launches are compared with idle barriers.
        let sentence = said(kernel_or_grid_barrier, [idle.clone(), busy.to_vec()].concat());
        assert_eq!(sentence, said(kernel_or_grid_barrier, [idle, vec![barrier]].concat()));
        assert!(!sentence.unwrap().unwrap().contains("L2 cache"));
    }

    #[test]
    fn both_sides_are_needed() {
        assert_eq!(said(kernel_or_grid_barrier, vec![kernel("graph", 468.0)]), None);
        assert_eq!(said(kernel_or_grid_barrier, vec![grid("counter", 806.0, 0.01)]), None);
        // Empty kernels measure the host's rate of launching and answer nothing.
        let empty = Row {
            case: Case { group: Some(Group::named(EMPTY_KERNEL)), ..kernel("graph", 1.0).case },
            ..kernel("graph", 100.0)
        };
        assert_eq!(said(kernel_or_grid_barrier, vec![empty, grid("counter", 806.0, 0.01)]), None);
    }
}
