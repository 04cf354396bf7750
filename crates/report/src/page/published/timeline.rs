//! The section of [`syncscope_core::published::timeline`].

use std::fmt::Write as _;

use syncscope_core::published::timeline;
use syncscope_core::published::timeline::clock::groups;
use syncscope_core::published::timeline::summary::{last_arrival, timed_cycles};
use syncscope_core::published::timeline::{Snippet, Span, Timeline, Version};

use super::super::html::escape;
use super::Drawing;
use super::parts::{self, Outcome};
use super::svg::{Axis, Chart};
use crate::RunData;

pub(super) const DRAWING: Drawing = Drawing {
    id: "timeline",
    title: "Timeline: start and stop of every warp",
    lead: "After \"Cycle-accurate CUDA with an assembler\": each snippet once with the clock reads as the compiler placed \
           them (naive), and once with machine code edited so that the clock reads wait for what they time (corrected).",
    draw,
};

/// Colours of the parts of a warp.
const BEFORE: usize = 7;
const WAITING: usize = 2;
const TIMED: usize = 0;

/// Height of the row of a warp, where there are few and where there are many.
const ROW: u32 = 22;
const THIN_ROW: u32 = 4;
const FEW: usize = 24;

fn draw(data: &RunData) -> Option<String> {
    let timeline = data.published.timeline.as_ref()?;
    let mut html = parts::card("What the clock reads time", "cycles of the multiprocessor", &figures(timeline));
    html.push_str(&claims(timeline));
    for &snippet in Snippet::ALL {
        let cards: Vec<String> = [Version::Naive, Version::Corrected]
            .into_iter()
            .filter_map(|version| warps(timeline, snippet, version))
            .collect();
        if !cards.is_empty() {
            html.push_str(&parts::grid(&cards));
            html.push_str(&edits(timeline, snippet));
        }
    }
    html.push_str(&clock(timeline));
    Some(html)
}

fn cycles(value: f64) -> String {
    format!("{value:.0}")
}

/// The table of all figures.
fn figures(timeline: &Timeline) -> String {
    let rows: Vec<Vec<String>> = timeline
        .figures
        .iter()
        .map(|figure| {
            vec![
                figure.snippet.description().to_owned(),
                figure.version.to_string(),
                if figure.round == 0 { "first in its launch".to_owned() } else { "code in the caches".to_owned() },
                cycles(figure.shortest_cycles),
                cycles(figure.median_cycles),
                cycles(figure.longest_cycles),
                cycles(figure.resolution_cycles),
                figure.warps.to_string(),
                figure.launches.to_string(),
            ]
        })
        .collect();
    let headings = [
        "Snippet",
        "Clock reads",
        "Round",
        "Fastest warp",
        "Median warp",
        "Slowest warp",
        "Resolution",
        "Warps",
        "Launches",
    ];
    parts::table(&headings, &rows)
}

/// What becomes of the statements of the source.
fn claims(timeline: &Timeline) -> String {
    let claims = timeline::claims::claims(timeline).into_iter().map(|claim| {
        let outcome = match claim.holds {
            Some(true) => Outcome::Holds,
            Some(false) => Outcome::Fails,
            None => Outcome::Open,
        };
        (outcome, claim.statement.to_owned(), claim.figures)
    });
    parts::claims(&claims.collect::<Vec<_>>())
}

/// The warps of one launch.
fn warps(timeline: &Timeline, snippet: Snippet, version: Version) -> Option<String> {
    let of_this = |span: &&Span| (span.snippet, span.version) == (snippet, version);
    let mut spans: Vec<Span> = timeline.spans.iter().filter(of_this).cloned().collect();
    let end = spans.iter().map(|span| span.stop_cycles).reduce(f64::max)?;
    if spans.len() > FEW {
        spans.sort_by(|a, b| a.begin_cycles().total_cmp(&b.begin_cycles()));
    }
    let chart = drawn(snippet, version, &spans, end);
    let content = if spans.len() > FEW { chart } else { chart + &warp_table(snippet, &spans) };
    Some(parts::card(snippet.description(), version.as_str(), &content))
}

fn name(span: &Span) -> String {
    format!("block {} warp {}", span.block, span.warp)
}

fn drawn(snippet: Snippet, version: Version, spans: &[Span], end: f64) -> String {
    let has_few = spans.len() <= FEW;
    // The first name of an axis is at its bottom, and the first warp at the top.
    let names: Vec<String> = spans.iter().rev().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = spans.len() as f64;
    let row_height = if has_few { ROW } else { THIN_ROW };
    let height = 70 + row_height * spans.len() as u32;
    let y =
        if has_few { Axis::names("", &names) } else { Axis::names(&format!("{} blocks by arrival", spans.len()), &[]) };
    let label = format!("Warps of the snippet {snippet}, {version}");
    let mut chart = Chart::new(&label, (520, height), Axis::linear("cycles since the first start", 0.0, end), y);
    // Where there is no name for each row, the axis has one place for all of them.
    let place = |row: f64| if has_few { rows - 1.0 - row } else { 0.5 - (row + 0.5) / rows };
    let half = if has_few { 0.35 } else { 0.5 / rows };
    let last = last_arrival(snippet, spans);
    for (row, span) in spans.iter().enumerate() {
        let y = place(row as f64);
        let mut bar = |what: &str, from: f64, to: f64, colour: usize| {
            let (place, at) = (name(span), span.multiprocessor);
            let tip = format!("{place}, multiprocessor {at}: {what}, {} to {}", cycles(from), cycles(to));
            if to > from {
                chart.bar((from, y - half), (to, y + half), colour, &tip);
            }
        };
        let (begin, stop) = (span.begin_cycles(), span.stop_cycles);
        bar("before the barrier", span.start_cycles, begin, BEFORE);
        let released = last.unwrap_or(begin).min(stop);
        bar("waiting", begin, released, WAITING);
        bar("timed", released, stop, TIMED);
    }
    if let Some(last) = last {
        chart.rule(last, "last arrival");
        chart.legend(BEFORE, "before the barrier");
        chart.legend(WAITING, "waiting for the last");
        chart.legend(TIMED, "timed: from the last arrival to the closing clock read");
    } else {
        chart.legend(TIMED, "from the opening to the closing clock read");
    }
    chart.finish()
}

/// Start, stop and difference of each warp.
fn warp_table(snippet: Snippet, spans: &[Span]) -> String {
    let timed = timed_cycles(snippet, spans);
    let has_arrival = spans.iter().any(|span| span.arrival_cycles.is_some());
    let row = |(span, timed): (&Span, &f64)| {
        let mut cells = vec![name(span), cycles(span.start_cycles)];
        if has_arrival {
            cells.push(span.arrival_cycles.map(cycles).unwrap_or_default());
        }
        cells.extend([cycles(span.stop_cycles), cycles(*timed)]);
        cells
    };
    let rows: Vec<Vec<String>> = spans.iter().zip(&timed).map(row).collect();
    let headings: &[&str] = if has_arrival {
        &["Warp", "Start", "Arrival", "Stop", "After the last arrival"]
    } else {
        &["Warp", "Start", "Stop", "Difference"]
    };
    parts::table(headings, &rows)
}

/// The machine code in both versions, and what was edited.
fn edits(timeline: &Timeline, snippet: Snippet) -> String {
    let made: Vec<Vec<String>> = timeline
        .edits
        .iter()
        .filter(|edit| edit.snippet == snippet)
        .map(|edit| vec![format!("{:#06x}", edit.offset), edit.change.clone()])
        .collect();
    let listing = |version| {
        let mut text = String::new();
        for line in timeline.code.iter().filter(|line| (line.snippet, line.version) == (snippet, version)) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} {}", if line.edited { '*' } else { ' ' }, line.instruction);
        }
        format!("<pre>{}</pre>", escape(&text))
    };
    let cards = [Version::Naive, Version::Corrected].map(|version| {
        parts::card("Machine code", version.as_str(), &format!("<div class=\"scroll\">{}</div>", listing(version)))
    });
    let summary = format!("Machine code of {snippet}, and its {} edits", made.len());
    format!(
        "<details><summary>{}</summary>{}{}</details>\n",
        escape(&summary),
        parts::grid(&cards),
        parts::table(&["Compiled at", "Edit"], &made)
    )
}

/// How the clock is common.
fn clock(timeline: &Timeline) -> String {
    if timeline.clocks.is_empty() {
        return String::new();
    }
    let ahead = timeline.clocks.iter().map(|clock| clock.ahead_cycles);
    let (low, high) =
        ahead.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), next| (low.min(next), high.max(next)));
    let disagreement = timeline.clocks.iter().map(|clock| clock.disagreement_cycles).fold(0.0, f64::max);
    let groups = groups(&timeline.clocks);
    let spread = groups.iter().map(|group| group.spread_cycles).fold(0.0, f64::max);
    let text = format!(
        "Warps of one multiprocessor share its cycle counter. The counters of the {} multiprocessors are up to {:.3} million \
         cycles apart. They form {} groups, in which they are at most {spread:.0} cycles apart. Each block relates its own to the global timer: before and after the snippet it notes the cycles at \
         which it sees steps of the timer, and the earliest counts. Even and odd steps disagree by {disagreement:.1} cycles at \
         most, which is the resolution between multiprocessors. Whether the timer reaches all of them at the same time cannot \
         be seen.",
        timeline.clocks.len(),
        (high - low) / 1e6,
        groups.len()
    );
    parts::card("The common clock", "", &parts::paragraph(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::collections::HashMap;
    use syncscope_core::Published;
    use syncscope_core::published::timeline::{ClockOffset, CodeLine, Edit, Figure};

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

    fn figure(version: Version, cycles: f64) -> Figure {
        Figure {
            snippet: Snippet::SharedMemory,
            version,
            round: 1,
            launches: 31,
            warps: 4,
            shortest_cycles: cycles - 1.0,
            median_cycles: cycles,
            longest_cycles: cycles + 1.0,
            resolution_cycles: 1.0,
            clock_hz: Some(1.98e9),
        }
    }

    fn page(timeline: Timeline) -> String {
        let published = Published { timeline: Some(timeline), ..Published::default() };
        let (run, rows, details) = (testing::run(), Vec::new(), HashMap::new());
        draw(&RunData {
            name: String::new(),
            run,
            rows,
            details,
            published,
            damage: crate::Damage::default(),
            catalogue: crate::testing::catalogue(),
        })
        .unwrap()
    }

    #[test]
    fn the_statement_of_the_source_is_decided_by_the_figures() {
        let with = |corrected| Timeline {
            figures: vec![figure(Version::Naive, 380.0), figure(Version::Corrected, corrected)],
            ..Timeline::default()
        };
        assert!(page(with(57.0)).contains("good\">holds"));
        assert!(page(with(57.0)).contains("379 to 381 cycles naive, 56 to 58 corrected (15 %)"));
        assert!(page(with(200.0)).contains("bad\">does not hold"));
        assert!(page(Timeline::default()).contains("not decided"));
    }

    #[test]
    fn every_warp_is_drawn_in_both_versions_and_named_where_there_are_few() {
        let spans = |snippet, count: u32| {
            [Version::Naive, Version::Corrected].into_iter().flat_map(move |version| {
                (0..count).map(move |block| span(snippet, version, block, [1.0, 20.0 + f64::from(block), 300.0]))
            })
        };
        let few = page(Timeline { spans: spans(Snippet::SharedMemory, 4).collect(), ..Timeline::default() });
        assert_eq!((few.matches("<svg").count(), few.matches("<rect").count()), (2, 8));
        assert!(few.contains("block 3 warp 0</th>") && !few.contains("last arrival"), "{few}");
        let many = page(Timeline { spans: spans(Snippet::GridBarrier, 132).collect(), ..Timeline::default() });
        // Before the barrier, waiting for the last (which does not wait itself), and timed.
        assert_eq!(many.matches("<rect").count(), 2 * (3 * 132 - 1));
        assert!(
            many.contains("last arrival")
                && many.contains("132 blocks by arrival")
                && !many.contains("<th scope=\"row\"")
        );
    }

    #[test]
    fn code_and_edits_are_text() {
        let snippet = Snippet::SharedMemory;
        let html = page(Timeline {
            spans: vec![span(snippet, Version::Naive, 0, [0.0, 0.0, 9.0])],
            edits: vec![Edit { snippet, offset: 32, change: "a < b".to_owned() }],
            code: vec![CodeLine {
                snippet,
                version: Version::Corrected,
                instruction: "LDS  R1 <- R2".to_owned(),
                edited: true,
            }],
            clocks: vec![
                ClockOffset { multiprocessor: 0, ahead_cycles: 0.0, disagreement_cycles: 1.0 },
                ClockOffset { multiprocessor: 2, ahead_cycles: -70.0, disagreement_cycles: 2.5 },
            ],
            ..Timeline::default()
        });
        assert!(html.contains("* LDS  R1 &lt;- R2") && html.contains("a &lt; b") && html.contains("0x0020"), "{html}");
        assert!(html.contains("up to 0.000 million") && html.contains("2.5 cycles at most"), "{html}");
    }
}
