//! Synchronize within a kernel, or end it and launch the next one?

use std::cmp::Ordering;

use super::barrier::{RESIDENT, of_grid, that_orders};
use super::break_even::{Barriers, Way, by_length_in_words, length, margins, standing, ways, words};
use super::prelude::*;
use crate::naming::{EMPTY_KERNEL, KERNEL_US, SWEEP_US};
use crate::sets::in_groups;

pub(super) const SENTENCES: Sentences = &[kernel_or_grid_barrier, programmatic];

/// Each way to launch kernels of this work that has one of these rows, in the order of the catalogue. The charts show the
/// same rows.
fn launches(data: &RunData, rows: &[usize], work: &Group) -> Vec<(&'static str, usize)> {
    let of = |id: &'static str| {
        let case = |index: &usize| data.case(*index);
        let own = rows.iter().filter(|index| case(index).primitive == id && case(index).group.as_ref() == Some(work));
        most_usual(data, own.copied()).map(|index| (id, index))
    };
    data.catalogue.with_role(Role::Launch).filter_map(|primitive| of(primitive.id)).collect()
}

/// Launches of kernels that do something, and the barriers that would stand in their place.
struct Matched<'a> {
    rows: Vec<usize>,
    barriers: Barriers<'a>,
    /// Launches and barriers between the same accesses to memory are timed alike. Otherwise the host times launches and the
    /// device times barriers, and the intervals for another run are compared.
    basis: Basis,
}

impl<'a> Matched<'a> {
    /// Those of kernels that access memory where the run has both; else those of kernels that do not.
    fn of(data: &'a RunData, peers: &Peers<'a>) -> Self {
        Self::swept(data, peers.like).unwrap_or_else(|| Self::idle(data, peers))
    }

    /// Those of kernels that access no memory.
    fn idle(data: &'a RunData, peers: &Peers<'a>) -> Self {
        let rows = launch_rows(data, peers.like, Role::Launch, |case| case.in_group(KERNEL_US));
        Self { rows, barriers: Barriers::of(peers.contest(Basis::Machine)), basis: Basis::Machine }
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

    /// The work of most interest: long enough for the host to be ahead of the device.
    fn usual_work(&self, data: &'a RunData) -> Option<&'a Group> {
        let cases = self.rows.iter().map(|index| data.case(*index));
        cases.min_by_key(|case| (unusualness(case), length(case)))?.group.as_ref()
    }

    /// The barriers between kernels of this work.
    fn grid(&self, work: &Group) -> &Contest<'a> {
        self.barriers.at(work.number().unwrap_or(0))
    }

    /// What the launches of kernels of this work cost, the cheapest first, and the names of those without a figure.
    fn costs(&self, data: &'a RunData, work: &Group) -> (Vec<(&'static str, Known<'a>)>, Vec<String>) {
        let (mut kernels, mut unknown) = (Vec::new(), Vec::new());
        for (id, index) in launches(data, &self.rows, work) {
            match Known::with_figure(data, index, self.basis) {
                Some(kernel) => kernels.push((words(id).0, kernel)),
                None => unknown.push(words(id).0.to_owned()),
            }
        }
        kernels.sort_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns));
        (kernels, unknown)
    }
}

/// A new kernel against a barrier of the grid.
fn kernel_or_grid_barrier(data: &RunData) -> Option<Outcome> {
    let peers = of_grid(data, None)?;
    let like = peers.like;
    let matched = Matched::of(data, &peers);
    let work = matched.usual_work(data)?;
    let is_swept = work.word() == SWEEP_US;
    let grid = matched.grid(work);
    let (Entrant { name, .. }, time) = grid.best().filter(|(_, cost)| cost.has_figure())?;
    let (kernels, unknown) = matched.costs(data, work);
    let stands = |wanted: Option<Ordering>| {
        let of: Vec<_> = kernels.iter().filter(|(_, kernel)| standing(kernel, grid) == wanted).collect();
        let most = of.last().map_or_else(String::new, |(_, most)| format!("up to {most} in "));
        few(&of.iter().map(|(way, one)| format!("{one} {way}")).collect::<Vec<_>>(), &most)
    };
    let [cheap, expensive, open] = [Some(Ordering::Less), Some(Ordering::Greater), None].map(stands);
    let has_other_lengths = matched.rows.iter().any(|index| data.case(*index).group.as_ref() != Some(work));
    let after = match naming::group(work) {
        _ if is_swept => format!(" after {} µs of reading and writing the L2 cache", work.number().unwrap_or(0)),
        length if has_other_lengths => format!(" after {length} of work"),
        _ => String::new(),
    };
    if cheap.is_empty() && expensive.is_empty() {
        let (way, kernel) = kernels.first()?;
        let after = if is_swept { after } else { String::new() };
        let question = format!("whether the next kernel{after} ({kernel} {way})");
        return Some(Outcome::open(format!("{question} is cheaper than a grid barrier ({name}, {time})")));
    }
    let measured = if grid.left_out > 0 { "measured " } else { "" };
    let meet =
        like.blocks.map_or_else(|| "To make all blocks meet".to_owned(), |all| format!("To make {all} blocks meet"));
    let rest = |words: &str, ways: &str| if ways.is_empty() { String::new() } else { format!(" {words}: {ways}.") };
    let slower = rest(&format!("The next kernel takes longer{after}"), &expensive);
    let undecided = [rest("Undecided", &open), rest("Without a number", &few(&unknown, ""))].concat();
    let turn = if is_swept { without_traffic(data, &peers, &matched, work) } else { None };
    let turn = turn.map(|text| format!(" {text}")).unwrap_or_default();
    let text = if cheap.is_empty() {
        format!("{meet}, a grid barrier takes {time} ({name}).{slower}{undecided}{turn}")
    } else {
        let slower = rest("Slower", &expensive);
        let barrier = if is_swept {
            format!("{name} {time}")
        } else {
            format!("the cheapest {measured}grid barrier{} {time} ({name})", that_orders(data, like))
        };
        format!("{meet}, the next kernel takes {cheap}{after}; {barrier}.{slower}{undecided}{turn}")
    };
    Some(Outcome::holds(text, kernels.iter().map(|(_, one)| one.index).chain(grid.rows())))
}

/// Where the order turns: the cheapest launch of kernels of the same length that access no memory, if another one is the cheapest
/// of those that do, or stands otherwise to the barriers.
fn without_traffic(data: &RunData, peers: &Peers<'_>, swept: &Matched<'_>, work: &Group) -> Option<String> {
    let idle = Matched::idle(data, peers);
    let same_length = Group::numbered(KERNEL_US, work.number()?);
    let (kernels, _) = idle.costs(data, &same_length);
    let (way, kernel) = kernels.first()?;
    let grid = idle.grid(&same_length);
    let (swept_kernels, _) = swept.costs(data, work);
    let (swept_way, _) = swept_kernels.first()?;
    let of_way = swept_kernels.iter().find(|(other, _)| other == way);
    let stands = of_way.map(|(_, other)| standing(other, swept.grid(work)));
    if way == swept_way && stands == Some(standing(kernel, grid)) {
        return None;
    }
    let (Entrant { name, .. }, time) = grid.best().filter(|(_, cost)| cost.has_figure())?;
    Some(format!("Without memory traffic the order is another: {kernel} {way}, {time} for a grid barrier ({name})."))
}

/// What the best programmatic launch saves of the gap between two kernels in a stream, of the grid that is compared with barriers.
/// The host times both.
fn programmatic(data: &RunData) -> Option<Outcome> {
    let works = |row: &Row| takes_part(data, row, Role::Launch) && row.case.in_group(KERNEL_US);
    let rows: Vec<usize> = match of_grid(data, None) {
        Some(peers) => Matched::of(data, &peers).rows,
        None => data.rows_where(works).collect(),
    };
    let of = |id: &'static str| {
        let own = rows.iter().copied().filter(|index| data.case(*index).primitive == id);
        Some((words(id).0, Known::with_figure(data, most_usual(data, own)?, Basis::Run)?))
    };
    let ids = data.catalogue.with_role(Role::Launch).map(|one| one.id);
    let in_stream = ids.filter(|id| short_name(id).starts_with("programmatic") && !id.contains("graph"));
    let best = in_stream.filter_map(of).min_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns));
    let ((way, best), (_, stream)) = (best?, of("gpu.launch.stream")?);
    let both @ Comparison { less, more, ratio } = best.below(stream)?;
    let way = way.strip_prefix("by ").unwrap_or(way);
    let text = format!(
        "{} starts the next kernel {ratio} sooner: {less} after the one before, {more} in a stream.",
        capitalized(way)
    );
    Some(Outcome::holds(text, both.rows()))
}

/// `a or b`; of more ways the cheapest ones, and how many others there are, after what is said of these.
fn few(ways: &[String], of_others: &str) -> String {
    match ways {
        [one, other, rest @ ..] if rest.len() > 1 => format!("{one}, {other} or {of_others}{} other ways", rest.len()),
        _ => either(ways),
    }
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let peers = of_grid(data, None)?;
    let Matched { rows: launches, barriers, basis } = Matched::of(data, &peers);
    let rows: Vec<usize> = barriers.usual.rows().collect();
    if launches.is_empty() || rows.is_empty() {
        return None;
    }
    let known: BTreeSet<u32> = launches.iter().filter_map(|index| length(data.case(*index))).collect();
    let (charts, text) = if known.len() > 1 {
        let ways = ways(data, &launches, &barriers, basis);
        let chart = by_length(data, &barriers, &launches, &known)?.ruled(ways.iter().flat_map(Way::rules).collect());
        ([Some(chart), margins(&ways, &barriers)], by_length_in_words(&ways, &barriers))
    } else {
        ([as_dots(data, &rows, &launches), None], None)
    };
    let blocks = data.case(launches[0]).blocks.unwrap_or(1);
    let last = known.first().filter(|_| known.len() == 1).map(|one| format!("last {one} µs and ")).unwrap_or_default();
    let is_swept = data.case(launches[0]).in_group(SWEEP_US);
    let traffic = if is_swept {
        "Each block reads what its neighbour wrote in the kernel before and writes its own part of an array in the L2 cache."
    } else {
        "They access no memory."
    };
    let shape = format!("The kernels {last}have {}. {traffic}", plural(blocks, "block"));
    let why = "The cost of a new kernel is the gap between two kernels. Where kernels are shorter than a launch by the host, it \
               is the time in which the host launches one.";
    let all: Vec<usize> = rows.iter().chain(&launches).copied().collect();
    let otherwise = "Whether a new kernel is cheaper than a grid barrier is undecided: one of the two has no figure.";
    let sentences = [Some(shape), Some(why.to_owned()), missing(data), unreliable(data, &all)];
    Some(Picture::of(charts, otherwise, sentences)?.saying(text))
}

/// Launches that fit, of the grid of the barriers. A kernel without a number of blocks has one.
fn launch_rows(data: &RunData, barrier: &Case, role: Role, fits: impl Fn(&Case) -> bool) -> Vec<usize> {
    let grid = |case: &Case| (case.blocks.unwrap_or(1), case.threads);
    data.rows_where(|row| takes_part(data, row, role) && grid(&row.case) == grid(barrier) && fits(&row.case)).collect()
}

/// What a chart calls a row or line.
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

/// The costs over the length of the kernels. Barriers of the grid that do not depend on it are level lines.
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
    Spec::lines(Axis::log("length of the kernels (µs)", Unit::Count), Axis::log("time", Unit::Time), series)
}

/// The ways that this run could not measure, with the reason that its rows give.
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

/// For each kernel length, the barriers of a grid against a new kernel of that grid, compared as in the sentence.
pub(super) fn end_gpu_phase(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let data = inquiry.data;
    if !data.rows.iter().any(|row| takes_part(data, row, Role::Launch)) {
        return Vec::new();
    }
    let Some(peers) = of_grid(data, inquiry.asked.threads) else {
        return Vec::from_iter(missing_size(inquiry, (Domain::Gpu, Role::GridBarrier, ""), |_| true));
    };
    // Kernels that do work first: an empty one measures the host's rate.
    let working = Matched::of(data, &peers);
    let empty = launch_rows(data, peers.like, Role::Launch, |case| case.in_group(EMPTY_KERNEL));
    let works: BTreeSet<&Group> = working.rows.iter().filter_map(|index| data.case(*index).group.as_ref()).collect();
    let of = |rows: &[usize], work: &Group, grid: &Contest<'_>, basis| {
        of_work(inquiry, work, &launches(data, rows, work), peers.like, grid.clone(), basis)
    };
    let of_working = works
        .into_iter()
        .filter_map(|work| of(&working.rows, work, working.grid(work), working.basis))
        .collect::<Vec<_>>();
    let of_empty = of(&empty, &Group::named(EMPTY_KERNEL), &peers.contest(Basis::Machine), Basis::Machine);
    of_working.into_iter().chain(of_empty).collect()
}

fn of_work<'a>(
    inquiry: Inquiry<'a>,
    work: &Group,
    ways: &[(&str, usize)],
    barrier: &Case,
    grid: Contest<'a>,
    basis: Basis,
) -> Option<Situation> {
    ways.first()?;
    let data = inquiry.data;
    let is_empty = work.word() == EMPTY_KERNEL;
    let what = match work.number() {
        _ if is_empty => "empty kernels".to_owned(),
        Some(length) if work.word() == SWEEP_US => format!("kernels of {length} µs with memory traffic"),
        _ => format!("kernels of {}", naming::group(work)),
    };
    let situation = format!("{what}, grid of {}", naming::size(barrier));
    let name = |id: &str| format!("a new kernel, {}", words(id).0);
    let launch = |(id, index): &(&str, usize)| Entrant { name: name(id), ..Entrant::of(data, *index, basis) };
    let is_measured = |id: &str| ways.iter().any(|(way, _)| *way == id);
    let ids = data.catalogue.with_role(Role::Launch).map(|one| one.id);
    let pending = ids.filter(|id| data.has_more_planned(id) && !is_measured(id)).map(name).collect();
    let kernels = Contest::of(ways.iter().map(launch).collect(), pending);
    let contest = grid.named(|name| format!("a grid barrier ({name})")).with(kernels);
    let decision = decide(inquiry, &contest)?.taking(|choice| {
        if !has_role(data, data.case(choice.row), Role::Launch) {
            choice.warnings.push(RESIDENT.to_owned());
        } else if data.catalogue.get(&choice.id).is_some_and(|primitive| primitive.name().contains("graph")) {
            choice.warnings.push("the kernels must be known before: a graph is built once and replayed".to_owned());
        }
        if is_empty {
            choice.notes.push("kernels that do nothing: their rate is the host's, not the device's".to_owned());
        }
    });
    Some((Domain::Gpu, situation, decision))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, on_blocks, row, said, within};
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
        let level = series(&several.charts[0]).iter().find(|one| one.label == "grid barrier, counter").unwrap();
        assert_eq!(level.points.iter().filter_map(|point| point.x).collect::<Vec<_>>(), [2.0, 5.0]);
        assert_eq!(decision("decide-relaunch", &data(vec![grid])), None, "nothing to compare");
    }

    /// Kernels of 1 to 100 µs in five ways beside a barrier of 806 ns.
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
        assert_eq!(
            found.sentence.unwrap(),
            "A new kernel, or a grid barrier of 132 blocks (counter, 806 ns)? In a stream, in another stream behind a value or \
             in another stream behind an event it is slower at every length that is decided; in a graph it is cheaper at every \
             length that is decided; by programmatic launch with an early trigger it is cheaper for longer kernels than about 5.0 µs \
             (between 2 and 100 µs). Programmatic launch with an early trigger starts the next kernel 1.9 times sooner: 806 ns \
             after the one before, 1.50 µs in a stream."
        );
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

    /// As in the paper preset of an H200, whose intervals for 132 blocks overlap.
    #[test]
    fn kernels_of_the_barriers_grid_are_preferred() {
        let rows = vec![of_blocks("graph", 1, 515.0), kernel("graph", 700.0), grid("counter", 717.0, 0.01)];
        let question = said(kernel_or_grid_barrier, rows).unwrap().unwrap_err();
        assert!(question.starts_with("whether the next kernel (700 ns in a graph)"), "{question}");
        let rows = vec![of_blocks("graph", 1, 515.0), kernel("graph", 900.0), grid("counter", 717.0, 0.01)];
        let sentence = "To make 132 blocks meet, a grid barrier takes 717 ns (counter). The next kernel takes longer: 900 ns in a graph.";
        assert_eq!(said(kernel_or_grid_barrier, rows.clone()), Some(Ok(sentence.into())));
        let wide = Verdict::Noisy("wide".into());
        let unknown = Row { verdict: wide, ..within(kernel("programmatic", 600.0), 100.0, 9000.0) };
        let sentence = format!("{sentence} Without a number: by programmatic launch with an early trigger.");
        assert_eq!(said(kernel_or_grid_barrier, [rows, vec![unknown]].concat()), Some(Ok(sentence)));
    }

    #[test]
    fn a_graph_beats_the_grid_barrier_and_a_stream_does_not() {
        let rows = vec![
            kernel("stream", 1530.0),
            kernel("graph", 468.0),
            grid("counter", 806.0, 0.01),
            grid("cooperative", 1006.0, 0.01),
        ];
        assert_eq!(
            said(kernel_or_grid_barrier, rows),
            Some(Ok(
                "To make 132 blocks meet, the next kernel takes 468 ns in a graph; the cheapest measured grid barrier 806 ns \
                     (counter). Slower: 1.53 µs in a stream."
                    .into()
            ))
        );
    }

    #[test]
    fn any_barrier_is_any_design_that_orders_memory() {
        let with = |row: Row, group, order| Row { case: Case { group, order, ..row.case.clone() }, ..row };
        let near = with(grid("hierarchical", 750.0, 0.01), Some(Group::named("near_counters")), None);
        let relaxed = with(grid("counter", 414.0, 0.01), None, Some(MemoryOrder::Relaxed));
        let rows = vec![kernel("graph", 645.0), grid("counter", 806.0, 0.01), near.clone(), relaxed];
        assert_eq!(
            said(kernel_or_grid_barrier, rows),
            Some(Ok("To make 132 blocks meet, the next kernel takes 645 ns in a graph; the cheapest measured grid barrier that \
                     orders memory 750 ns (hierarchical near_counters)."
                .into()))
        );
        let between = vec![kernel("graph", 770.0), grid("counter", 806.0, 0.01), near];
        let sentence = "To make 132 blocks meet, a grid barrier takes 750 ns (hierarchical near_counters). The next kernel takes \
                        longer: 770 ns in a graph.";
        let certain = between.into_iter().map(|row| within_a_hundredth(&row)).collect();
        assert_eq!(said(kernel_or_grid_barrier, certain), Some(Ok(sentence.into())), "the best of all designs decides");
    }

    fn within_a_hundredth(row: &Row) -> Row {
        Row { ns_interval: row.ns_within, ..row.clone() }
    }

    #[test]
    fn a_grid_barrier_can_win() {
        let rows = vec![kernel("stream", 1530.0), kernel("graph", 1468.0), grid("counter", 806.0, 0.01)];
        let sentence = "To make 132 blocks meet, a grid barrier takes 806 ns (counter). The next kernel takes longer: 1.47 µs in \
                        a graph or 1.53 µs in a stream.";
        assert_eq!(said(kernel_or_grid_barrier, rows), Some(Ok(sentence.into())));
    }

    #[test]
    fn the_intervals_for_another_run_decide() {
        // Within the run, both are certain to a hundredth.
        let rows = vec![kernel("graph", 700.0), grid("counter", 806.0, 0.2)];
        let found = said(kernel_or_grid_barrier, rows).unwrap();
        assert!(found.unwrap_err().starts_with("whether the next kernel (700 ns in a graph)"));
    }

    #[test]
    fn a_barrier_without_a_figure_leaves_any_open() {
        let unknown = Row { verdict: Verdict::Interfered("too many".into()), ..grid("lock_free", 1.0, 0.1) };
        let rows = vec![kernel("graph", 468.0), grid("counter", 806.0, 0.01), unknown];
        assert!(said(kernel_or_grid_barrier, rows).unwrap().is_err());
    }

    #[test]
    fn a_programmatic_launch_shortens_the_gap() {
        let rows = vec![kernel("stream", 1530.0), kernel("programmatic", 247.0)];
        let sentence = "Programmatic launch with an early trigger starts the next kernel 6.2 times sooner: 247 ns after the one \
                        before, 1.53 µs in a stream.";
        assert_eq!(said(programmatic, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(programmatic, rows[..1].to_vec()), None);
        // Of one size with the sentence about barriers, although one block is more usual.
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
        assert_eq!(
            said(kernel_or_grid_barrier, all.clone()),
            Some(Ok("To make 132 blocks meet, the next kernel takes 1.18 µs by programmatic launch without a trigger after 5 µs \
                     of reading and writing the L2 cache; grid_group::sync() 1.34 µs. Slower: 1.71 µs by programmatic launch \
                     with an early trigger or 2.27 µs in a stream. Without memory traffic the order is another: 530 ns by \
                     programmatic launch with an early trigger, 800 ns for a grid barrier (counter)."
                .into()))
        );
        let sooner = said(programmatic, all.clone()).unwrap().unwrap();
        assert!(
            sooner.starts_with("Programmatic launch without a trigger starts the next kernel 1.9 times sooner"),
            "{sooner}"
        );
        let found = decision("decide-relaunch", &data(all)).unwrap();
        assert!(found.note.unwrap().contains("Each block reads what its neighbour wrote"));
        let labels: Vec<&str> = series(&found.charts[0]).iter().map(|one| one.label.as_str()).collect();
        assert!(
            labels.contains(&"grid barrier, grid_sync") && !labels.contains(&"grid barrier, counter"),
            "{labels:?}"
        );
        // Without a barrier between the same accesses, idle launches stand against idle barriers.
        let sentence = said(kernel_or_grid_barrier, [idle.clone(), busy.to_vec()].concat());
        assert_eq!(sentence, said(kernel_or_grid_barrier, [idle, vec![barrier]].concat()));
        assert!(sentence.unwrap().unwrap().contains("takes 530 ns"));
    }

    #[test]
    fn both_sides_are_needed() {
        assert_eq!(said(kernel_or_grid_barrier, vec![kernel("graph", 468.0)]), None);
        assert_eq!(said(kernel_or_grid_barrier, vec![grid("counter", 806.0, 0.01)]), None);
        // Empty kernels are the host's rate of launching, and no answer.
        let empty = Row {
            case: Case { group: Some(Group::named(EMPTY_KERNEL)), ..kernel("graph", 1.0).case },
            ..kernel("graph", 100.0)
        };
        assert_eq!(said(kernel_or_grid_barrier, vec![empty, grid("counter", 806.0, 0.01)]), None);
    }
}
