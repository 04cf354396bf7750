//! The section about the timeline of warps, for the page and the terminal.

use syncscope_report::section::{Part, Section};
use syncscope_report::{Axis, Chart, Rectangle, grouped};

use super::claims::claims;
use super::clock::groups;
use super::summary::{last_arrival, timed_cycles};
use super::{CodeLine, Figure, Snippet, Span, Timeline, Version};

/// Colours of the parts of a warp.
const BEFORE: usize = 7;
const WAITING: usize = 2;
const TIMED: usize = 0;

/// Pixels of the row of a warp where there are many warps, and the most warps that count as few.
const THIN_ROW: u32 = 4;
const FEW: usize = 24;

/// Columns of the drawing in the terminal.
const WIDTH: usize = 60;

/// Warps of one snippet that the terminal shows; of more, some are left out.
const SHOWN: usize = 16;

/// The section; the terminal shows the warps of the versions in `shown`.
pub(super) fn section(timeline: &Timeline, shown: &[Version]) -> Section {
    let claims = claims(timeline);
    let mut parts = Vec::new();
    parts.extend(Part::about(&claims, "The claims of the post on this machine", "", |claims| vec![Part::Claims(claims.to_vec())]));
    let note = "cycles of the multiprocessor: the median warp, and from the fastest to the slowest";
    parts.push(Part::card("The time between the clock reads", note, figures(timeline)));
    parts.extend(Snippet::ALL.iter().filter_map(|snippet| warps(timeline, *snippet, shown)));
    parts.extend(clock(timeline));
    Section {
        name: super::NAME,
        title: "Timeline: start and stop of every warp",
        lead: "This experiment repeats the measurements of a blog post, \"Cycle-accurate CUDA with an assembler\". \
               Each snippet runs twice: once with the clock reads where the compiler put them (naive), and once with \
               machine code edited so that the clock reads wait for the code that they time (corrected).",
        answers: Vec::new(),
        parts,
        claims,
    }
}

fn cycles(value: f64) -> String {
    format!("{value:.0}")
}

/// The tables of all figures, both versions next to each other.
fn figures(timeline: &Timeline) -> Vec<Part> {
    let mut sorted: Vec<&Figure> = timeline.figures.iter().collect();
    sorted.sort_by_key(|figure| figure.snippet);
    let (first, later): (Vec<&Figure>, Vec<&Figure>) = sorted.into_iter().partition(|figure| figure.round == 0);
    let title = "The first time in each launch, with cold instruction caches";
    vec![table_of_round(&later), Part::Folded(title.to_owned(), vec![table_of_round(&first)])]
}

/// A line for each snippet.
fn table_of_round(figures: &[&Figure]) -> Part {
    let row = |line: &[&Figure]| {
        let of = |version: Version, text: fn(&Figure) -> String| {
            line.iter().find(|figure| figure.version == version).map_or_else(String::new, |figure| text(figure))
        };
        let median = |figure: &Figure| cycles(figure.median_cycles);
        let range =
            |figure: &Figure| format!("{} to {}", cycles(figure.shortest_cycles), cycles(figure.longest_cycles));
        vec![
            line[0].snippet.description().to_owned(),
            of(Version::Naive, median),
            of(Version::Corrected, median),
            of(Version::Naive, range),
            of(Version::Corrected, range),
            cycles(line[0].resolution_cycles),
            line[0].warps.to_string(),
            line[0].launches.to_string(),
        ]
    };
    let headings =
        ["Snippet", "Naive", "Corrected", "Naive, range", "Corrected, range", "Resolution", "Warps", "Launches"];
    Part::table(&headings, figures.chunk_by(|one, next| one.snippet == next.snippet).map(row).collect())
}

/// The warps of one launch of each version, on one axis; the terminal shows only the versions in `shown`.
fn warps(timeline: &Timeline, snippet: Snippet, shown: &[Version]) -> Option<Part> {
    let of_version = |version: &Version| {
        let of_this = |span: &&Span| (span.snippet, span.version) == (snippet, *version);
        let mut spans: Vec<Span> = timeline.spans.iter().filter(of_this).cloned().collect();
        if spans.len() > FEW {
            spans.sort_by(|a, b| a.begin_cycles().total_cmp(&b.begin_cycles()));
        }
        (!spans.is_empty()).then_some((*version, spans))
    };
    let versions: Vec<(Version, Vec<Span>)> = Version::ALL.iter().filter_map(of_version).collect();
    let all = versions.iter().flat_map(|(_, spans)| spans);
    let end = all.map(|span| span.stop_cycles).reduce(f64::max).filter(|end| *end > 0.0)?;
    let charts = versions.iter().map(|(version, spans)| chart(version.as_str(), snippet, spans, end)).collect();
    let mut parts = vec![Part::Charts(charts)];
    for (version, spans) in &versions {
        if spans.len() <= FEW {
            parts.push(Part::Folded(format!("Each warp, {version}"), vec![warp_table(snippet, spans)]));
        }
        if shown.contains(version) {
            parts.push(Part::Terminal(format!("{version}\n{}", drawing(snippet, spans, end))));
        }
    }
    parts.push(edits(timeline, snippet));
    Some(Part::card(snippet.description(), "", parts))
}

fn name(span: &Span) -> String {
    format!("block {} warp {}", span.block, span.warp)
}

/// A line for each warp, the first at the top; many warps have no names.
fn chart(title: &str, snippet: Snippet, spans: &[Span], end: f64) -> Chart {
    let has_few = spans.len() <= FEW;
    let (rows, half) = (spans.len() as f64, if has_few { 0.35 } else { 0.5 });
    let last = last_arrival(snippet, spans);
    let mut bars = Vec::new();
    for (row, span) in spans.iter().enumerate() {
        // Lines with names are counted from the top, numbers from the bottom.
        let middle = if has_few { row as f64 + 0.5 } else { rows - row as f64 - 0.5 };
        let (begin, stop) = (span.begin_cycles(), span.stop_cycles);
        let released = last.unwrap_or(begin).min(stop);
        for (what, from, to, colour) in [
            ("before the barrier", span.start_cycles, begin, BEFORE),
            ("waiting", begin, released, WAITING),
            ("timed", released, stop, TIMED),
        ] {
            let (place, at) = (name(span), span.multiprocessor);
            let tip = format!("{place}, multiprocessor {at}: {what}, {} to {}", cycles(from), cycles(to));
            if to > from {
                bars.push(Rectangle((from, to), (middle - half, middle + half), colour, tip));
            }
        }
    }
    let legend: &[(usize, &str)] = match last {
        Some(_) => &[
            (BEFORE, "before the barrier"),
            (WAITING, "waiting for the last arrival"),
            (TIMED, "timed: from the last arrival to the closing clock read"),
        ],
        None => &[(TIMED, "from the opening to the closing clock read")],
    };
    let axes = (Axis::count("cycles since the first start", 0.0, end), Axis::count("blocks by arrival", 0.0, rows));
    let chart = Chart::rectangles(title, axes, legend, bars);
    let chart = if has_few {
        chart.named(spans.iter().map(name).collect())
    } else {
        chart.high(90 + THIN_ROW * spans.len() as u32)
    };
    match last {
        Some(last) => chart.ruled(last, "last arrival"),
        None => chart,
    }
}

/// Start, stop and difference of each warp.
fn warp_table(snippet: Snippet, spans: &[Span]) -> Part {
    let timed = timed_cycles(snippet, spans);
    let has_arrival = spans.iter().any(|span| span.arrival_cycles.is_some());
    let row = |(span, timed): (&Span, &f64)| {
        let arrival = has_arrival.then(|| span.arrival_cycles.map(cycles).unwrap_or_default());
        let ends = [cycles(span.stop_cycles), cycles(*timed)];
        [name(span), cycles(span.start_cycles)].into_iter().chain(arrival).chain(ends).collect()
    };
    let headings: &[&str] = if has_arrival {
        &["Warp", "Start", "Arrival", "Stop", "After the last arrival"]
    } else {
        &["Warp", "Start", "Stop", "Difference"]
    };
    Part::table(headings, spans.iter().zip(&timed).map(row).collect())
}

/// The warps of one snippet for the terminal, one line each.
fn drawing(snippet: Snippet, spans: &[Span], end: f64) -> String {
    let (last, timed) = (last_arrival(snippet, spans), timed_cycles(snippet, spans));
    let step = spans.len().div_ceil(SHOWN).max(1);
    // The last warp to arrive is always among them.
    let shown = spans.iter().zip(timed).rev().step_by(step).collect::<Vec<_>>();
    let line = |(span, timed): &(&Span, f64)| {
        format!(
            "  block {:>3} warp {:>2}  |{}|  start {:>6.0}  stop {:>6.0}  timed {timed:>6.0}",
            span.block,
            span.warp,
            bar(span, last, end),
            span.start_cycles,
            span.stop_cycles
        )
    };
    shown.iter().rev().map(line).collect::<Vec<_>>().join("\n")
}

/// Dots before the barrier, dashes while waiting for the last warp, `#` for what is timed.
fn bar(span: &Span, last: Option<f64>, end: f64) -> String {
    let column = |cycles: f64| ((cycles / end * WIDTH as f64) as usize).min(WIDTH - 1);
    let (start, begin, stop) = (column(span.start_cycles), column(span.begin_cycles()), column(span.stop_cycles));
    let timed = column(last.unwrap_or_else(|| span.begin_cycles())).min(stop);
    let mark = |at: usize| match at {
        _ if at < start || at > stop => ' ',
        _ if at < begin => '.',
        _ if at < timed => '-',
        _ => '#',
    };
    (0..WIDTH).map(mark).collect()
}

/// The machine code in both versions, and what was edited.
fn edits(timeline: &Timeline, snippet: Snippet) -> Part {
    let made = timeline.edits.iter().filter(|edit| edit.snippet == snippet);
    let made: Vec<Vec<String>> = made.map(|edit| vec![format!("{:#06x}", edit.offset), edit.change.clone()]).collect();
    let listing = |version: &Version| {
        let own = timeline.code.iter().filter(|line| (line.snippet, line.version) == (snippet, *version));
        let text = |line: &CodeLine| format!("{} {}\n", if line.edited { '*' } else { ' ' }, line.instruction);
        Part::card("Machine code", version.as_str(), vec![Part::Code(own.map(text).collect())])
    };
    let summary = format!("Machine code of {snippet}, and its {} edits", made.len());
    let listings = Part::SideBySide(Version::ALL.iter().map(listing).collect());
    Part::Folded(summary, vec![listings, Part::table(&["Compiled at", "Edit"], made)])
}

/// How the counters were put on a common clock.
fn clock(timeline: &Timeline) -> Option<Part> {
    let ahead = || timeline.clocks.iter().map(|clock| clock.ahead_cycles);
    let (low, high) = (ahead().reduce(f64::min)?, ahead().reduce(f64::max)?);
    let disagreement = timeline.clocks.iter().map(|clock| clock.disagreement_cycles).fold(0.0, f64::max);
    let groups = groups(&timeline.clocks);
    let spread = groups.iter().map(|group| group.spread_cycles).fold(0.0, f64::max);
    let text = format!(
        "The warps of a multiprocessor share its cycle counter. The counters of the {} multiprocessors are up to \
         {} cycles apart. The counters form {} groups; within a group they are at most {spread:.0} cycles apart. Before and after \
         the snippet, each block records the cycle counts at which it sees many steps of the global timer; the step seen with \
         the least delay aligns its counter with the timer. Clocks aligned by the even steps alone and by the odd steps alone \
         differ by at most {disagreement:.1} cycles; times on different multiprocessors cannot be compared more precisely than that. This method cannot show whether \
         timer updates reach all multiprocessors at the same time.",
        timeline.clocks.len(),
        grouped((high - low).round() as u64),
        groups.len()
    );
    Some(Part::card("The common clock", "", vec![Part::Paragraph(text)]))
}

#[cfg(test)]
mod tests {
    use super::super::{ClockOffset, CodeLine, Edit};
    use super::*;

    fn span(snippet: Snippet, version: Version, block: u32, times: [f64; 3]) -> Span {
        Span {
            snippet,
            version,
            block,
            multiprocessor: block,
            warp: 0,
            start_cycles: times[0],
            arrival_cycles: snippet.waits_for_the_last().then_some(times[1]),
            stop_cycles: times[2],
        }
    }

    fn spans(snippet: Snippet, count: u32) -> Timeline {
        let of =
            |version| (0..count).map(move |block| span(snippet, version, block, [1.0, 20.0 + f64::from(block), 300.0]));
        Timeline { spans: Version::ALL.iter().copied().flat_map(of).collect(), ..Timeline::default() }
    }

    #[test]
    fn every_warp_is_drawn_in_both_versions_and_named_where_there_are_few() {
        let drawn = |timeline: &Timeline| format!("{:?}", section(timeline, Version::ALL).parts);
        let few = drawn(&spans(Snippet::SharedMemory, 4));
        assert_eq!(few.matches("Rectangle(").count(), 8, "{few}");
        assert!(few.contains("block 3 warp 0") && !few.contains("last arrival"), "{few}");
        let many = drawn(&spans(Snippet::GridBarrier, 132));
        // Before the barrier, waiting for the last block (which does not wait itself), and timed.
        assert_eq!(many.matches("Rectangle(").count(), 2 * (3 * 132 - 1));
        assert!(many.contains("last arrival") && many.contains("names: []") && !many.contains("Each warp"));
    }

    #[test]
    fn the_terminal_shows_the_versions_that_are_asked_for() {
        let timeline = spans(Snippet::GridBarrier, 132);
        let text = section(&timeline, &[Version::Corrected]).to_string();
        assert!((8..=SHOWN).contains(&text.matches("|  start").count()), "{text}");
        assert!(text.contains("block 131") && text.contains("\ncorrected\n"), "{text}");
        let both = section(&timeline, Version::ALL).to_string();
        assert_eq!(both.matches("block 131").count(), 2, "{both}");
    }

    #[test]
    fn a_bar_shows_waiting_and_what_is_timed() {
        let of = |times, last| bar(&span(Snippet::GridBarrier, Version::Naive, 0, times), last, 60.0);
        let waiting = of([0.0, 20.0, 60.0], Some(40.0));
        let marks: Vec<usize> = ['.', '-', '#'].iter().map(|&mark| waiting.matches(mark).count()).collect();
        assert_eq!((waiting.chars().count(), marks), (WIDTH, vec![20, 20, 20]), "{waiting}");
        assert_eq!(of([0.0, 0.0, 60.0], None).matches('#').count(), WIDTH);
    }

    #[test]
    fn code_and_edits_and_clocks_are_there() {
        let snippet = Snippet::SharedMemory;
        let clock = |multiprocessor, ahead_cycles, disagreement_cycles| ClockOffset {
            multiprocessor,
            ahead_cycles,
            disagreement_cycles,
        };
        let timeline = Timeline {
            spans: vec![span(snippet, Version::Naive, 0, [0.0, 0.0, 9.0])],
            edits: vec![Edit { snippet, offset: 32, change: "a < b".to_owned() }],
            code: vec![CodeLine {
                snippet,
                version: Version::Corrected,
                instruction: "LDS  R1 <- R2".to_owned(),
                edited: true,
            }],
            clocks: vec![clock(0, 0.0, 1.0), clock(2, -70.0, 2.5)],
            ..Timeline::default()
        };
        let section = section(&timeline, Version::ALL);
        let drawn = format!("{:?}", section.parts);
        assert!(drawn.contains("* LDS  R1 <- R2") && drawn.contains("a < b") && drawn.contains("0x0020"), "{drawn}");
        let text = section.to_string();
        assert!(text.contains("are up to 70 cycles apart") && text.contains("at most 2.5 cycles"), "{text}");
        assert!(text.contains("\nundecided: "), "no figures decide nothing: {text}");
    }
}
