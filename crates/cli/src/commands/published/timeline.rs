//! `syncscope timeline`: start and stop of every warp of some snippets.

use std::fmt::Write as _;

use syncscope_core::PublishedExperiment;
use syncscope_core::published::timeline::summary::{last_arrival, timed_cycles};
use syncscope_core::published::timeline::{Snippet, Span, Timeline, Version};
use syncscope_core::run::Status;

use super::experiment_run::{ExperimentRun, needed_gpu};
use crate::args::TimelineArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::terminal;

const EXPERIMENT: PublishedExperiment = PublishedExperiment::Timeline;

/// Columns of the drawing.
const WIDTH: usize = 60;

/// Warps of one snippet that are shown; of more, some are left out.
const SHOWN: usize = 16;

/// Measures and writes the directory.
pub(crate) fn timeline(arguments: &TimelineArguments) -> Result<Outcome, Failure> {
    let mut laboratories = Laboratories::open(arguments.experiment.devices().as_deref())?;
    needed_gpu(EXPERIMENT, &mut laboratories)?;
    let mut run = ExperimentRun::begin(EXPERIMENT, arguments.experiment.out.as_deref(), 0, &laboratories)?;
    let mut progress = Progress::new("timeline");
    let measured = needed_gpu(EXPERIMENT, &mut laboratories)?.timeline(&mut |text| progress.show(text));
    progress.finish();
    let measured = measured.map_err(|error| Failure::CouldNot(error.to_string()))?;
    measured.warnings.into_iter().for_each(|text| run.warn(text));
    measured.timeline.write(run.directory())?;
    let shown: &[Version] =
        if arguments.corrected { &[Version::Corrected] } else { &[Version::Naive, Version::Corrected] };
    for &snippet in Snippet::ALL {
        for &version in shown {
            if let Some(text) = drawing(&measured.timeline, snippet, version) {
                terminal::show(&text)?;
            }
        }
    }
    terminal::show(&figures(&measured.timeline))?;
    run.finish(Status::Done, &laboratories)
}

/// The warps of one snippet, one line each.
fn drawing(timeline: &Timeline, snippet: Snippet, version: Version) -> Option<String> {
    let of_this = |span: &&Span| (span.snippet, span.version) == (snippet, version);
    let mut spans: Vec<Span> = timeline.spans.iter().filter(of_this).cloned().collect();
    let end = spans.iter().map(|span| span.stop_cycles).reduce(f64::max).filter(|end| *end > 0.0)?;
    let (last, timed) = (last_arrival(snippet, &spans), timed_cycles(snippet, &spans));
    let mut rows: Vec<(Span, f64)> = spans.drain(..).zip(timed).collect();
    if rows.len() > SHOWN {
        rows.sort_by(|(a, _), (b, _)| a.begin_cycles().total_cmp(&b.begin_cycles()));
    }
    let mut text = format!("\n{} ({version}), {end:.0} cycles:\n", snippet.description());
    let step = rows.len().div_ceil(SHOWN);
    // The last one to arrive is always among them.
    for (span, timed) in rows.iter().rev().step_by(step).rev() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  block {:>3} warp {:>2}  |{}|  start {:>6.0}  stop {:>6.0}  timed {timed:>6.0}",
            span.block,
            span.warp,
            bar(span, last, end),
            span.start_cycles,
            span.stop_cycles
        );
    }
    Some(text.trim_end().to_owned())
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

fn figures(timeline: &Timeline) -> String {
    let mut text = "\ncycles of the timed part (fastest, median and slowest warp; median of the launches):".to_owned();
    for figure in &timeline.figures {
        let round = if figure.round == 0 { "first round" } else { "code cached" };
        let _ = write!(
            text,
            "\n  {:<18}{:<11}{round:<13}{:>8.0}{:>8.0}{:>8.0}   resolution {:.0}",
            figure.snippet.as_str(),
            figure.version.as_str(),
            figure.shortest_cycles,
            figure.median_cycles,
            figure.longest_cycles,
            figure.resolution_cycles
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(block: u32, times: [f64; 3]) -> Span {
        Span {
            snippet: Snippet::GridBarrier,
            version: Version::Naive,
            block,
            multiprocessor: 0,
            warp: 0,
            start_cycles: times[0],
            arrival_cycles: Some(times[1]),
            stop_cycles: times[2],
        }
    }

    #[test]
    fn a_bar_shows_waiting_and_what_is_timed() {
        let bar = bar(&span(0, [0.0, 20.0, 60.0]), Some(40.0), 60.0);
        let marks: Vec<usize> = ['.', '-', '#'].iter().map(|&mark| bar.matches(mark).count()).collect();
        assert_eq!((bar.chars().count(), marks), (WIDTH, vec![20, 20, 20]), "{bar}");
        let whole = self::bar(&span(0, [0.0, 0.0, 60.0]), None, 60.0);
        assert_eq!(whole.matches('#').count(), WIDTH, "{whole}");
    }

    #[test]
    fn of_many_warps_some_are_shown_and_the_last_to_arrive_is_among_them() {
        let spans = (0..132).map(|block| span(block, [0.0, f64::from(block), 200.0])).collect();
        let timeline = Timeline { spans, ..Timeline::default() };
        let text = drawing(&timeline, Snippet::GridBarrier, Version::Naive).unwrap();
        assert!((8..=SHOWN).contains(&text.matches("warp ").count().saturating_sub(0)), "{text}");
        assert!(text.contains("block 131") && text.ends_with("timed     69"), "{text}");
        assert_eq!(drawing(&timeline, Snippet::LateWarp, Version::Naive), None);
    }
}
