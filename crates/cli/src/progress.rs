//! The progress of a run: a bar on a terminal, or a line every few seconds elsewhere.

use std::collections::HashMap;
use std::io::{IsTerminal, stderr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use syncscope_core::session::observer::{Done, Observer, Work};
use syncscope_core::{Case, Row, Run};
use syncscope_host::descriptors::{SilentOutput, silence_output};
use syncscope_report::{LiveLadder, plain, time};

use crate::catalogue::catalogue;
use crate::supervisor::board::{self, Step};
use crate::terminal;

/// The time between two lines where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// The time between two drawings of the costs.
const LADDER_EVERY: Duration = Duration::from_millis(500);
/// A cost that was written as a line is written again if it changes by this factor: the logarithm of 1.2.
const CHANGED: f64 = 0.18;

/// The most letters of a step next to the bar.
const MOST_LETTERS: usize = 40;
/// How often per second a terminal is drawn.
const DRAWN_PER_SECOND: u8 = 8;

/// Shows the current step, the costs that are known, and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    last_line: Option<Instant>,
    laboratories: Vec<LaboratoryProgress>,
    /// The costs of the first screen that are known so far.
    ladder: Option<LiveLadder>,
    /// The costs that were written as lines.
    written: HashMap<String, f64>,
    drawn: Option<Instant>,
    /// The time up to which work is counted. Fresh processes report their work only at their end.
    counted: Instant,
    /// Warnings that wait while nothing can be shown.
    held: Option<Vec<String>>,
}

/// The progress of one laboratory.
struct LaboratoryProgress {
    work: Work,
    done: Done,
    spent: Duration,
}

/// Where the bar is drawn.
fn target() -> ProgressDrawTarget {
    let is_drawn = stderr().is_terminal() && !terminal::is_silent();
    if is_drawn { ProgressDrawTarget::stderr_with_hz(DRAWN_PER_SECOND) } else { ProgressDrawTarget::hidden() }
}

impl Progress {
    /// Shows the first message at once.
    pub(crate) fn new(message: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target());
        if let Ok(style) = ProgressStyle::with_template("{spinner}{wide_msg}") {
            bar.set_style(style);
        }
        let mut progress = Self {
            bar,
            last_line: None,
            laboratories: Vec::new(),
            ladder: None,
            written: HashMap::new(),
            drawn: None,
            counted: Instant::now(),
            held: None,
        };
        progress.show(message);
        progress.bar.tick();
        progress
    }

    /// Shows the costs of the first screen from now on, as they become known.
    pub(crate) fn show_ladder(&mut self, run: &Run) {
        self.ladder = Some(LiveLadder::new(run.clone(), catalogue()));
    }

    /// Draws the costs again; without a terminal, writes a line for each cost that is new or has changed.
    fn draw_ladder(&mut self) {
        let is_silent = terminal::is_silent() || self.held.is_some();
        let Some(ladder) = self.ladder.as_ref().filter(|_| !is_silent) else { return };
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < LADDER_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let lines = ladder.lines();
        if self.bar.is_hidden() {
            for (name, ns) in lines {
                let known = self.written.get(&name);
                if known.is_none_or(|known| (ns / known).ln().abs() > CHANGED) {
                    terminal::line(&format!("  {name}: ~{}", time(ns)));
                    self.written.insert(name, ns);
                }
            }
        } else {
            let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
            let line = |(name, ns): &(String, f64)| format!("\n  {name:width$}  ~{}", time(*ns));
            self.bar.set_message(lines.iter().map(line).collect::<String>());
        }
    }

    /// Shows the current step.
    pub(crate) fn show(&mut self, message: &str) {
        if self.held.is_some() {
            return;
        }
        if self.drawn.is_none() {
            // A line that wraps could not be removed whole.
            self.bar.set_message(format!("  {}", plain(message).chars().take(MOST_LETTERS).collect::<String>()));
        }
        self.bar.tick();
        if self.bar.is_hidden()
            && !terminal::is_silent()
            && self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY)
        {
            self.last_line = Some(Instant::now());
            match self.state() {
                Some((percent, left)) => terminal::line(&format!("[{percent} %, {left}] {message}")),
                None => terminal::line(message),
            }
        }
    }

    /// Does `work` without showing anything, because foreign code writes what it likes. Afterwards tells the last words of the
    /// code.
    pub(crate) fn in_silence<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        // The bar would be mixed with its output.
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        let errors = board::for_errors();
        let silence = silence_output(errors.as_ref().map(AsFd::as_fd)).ok();
        self.held = silence.as_ref().map(|_| Vec::new());
        let done = work(self);
        if let Some(Err(before)) = silence.map(SilentOutput::end) {
            terminal::speak_to(before.into());
        }
        self.bar.set_draw_target(target());
        if let Some(words) = board::last_words() {
            terminal::note(&format!("the code wrote to stderr, at last: {words}"));
        }
        for text in self.held.take().into_iter().flatten() {
            terminal::warning(&text);
        }
        done
    }

    /// Hides the bar while `write` writes lines.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The estimated time left: for each laboratory the mean time of a block so far times the blocks left; before the first
    /// block, the planned time. Cases come in random order, so the mean is unbiased. Cases that become precise early shorten the
    /// time.
    fn time_left(&self) -> f64 {
        let left = |part: &LaboratoryProgress| {
            let LaboratoryProgress { work, done, .. } = part;
            if done.measured == 0 {
                return work.planned.as_secs_f64();
            }
            let each = part.spent.as_secs_f64() / done.measured as f64;
            let [most, fewest] = [(work.blocks, done.blocks), (work.fewest, done.fewest)]
                .map(|(all, done)| all.saturating_sub(done) as f64 * each);
            let time = work.time.map(|time| time.saturating_sub(part.spent));
            time.map_or(most, |time| most.min(fewest.max(time.as_secs_f64())))
        };
        self.laboratories.iter().map(left).sum()
    }

    /// The percentage of the time that is over, and how long the rest takes.
    fn state(&self) -> Option<(u64, String)> {
        self.state_with(self.counted.elapsed())
    }

    /// [`Progress::state`] if work that is not counted yet has been under way for so long.
    fn state_with(&self, under_way: Duration) -> Option<(u64, String)> {
        if self.laboratories.is_empty() {
            return None;
        }
        let under_way = under_way.as_secs_f64();
        let spent = under_way + self.laboratories.iter().map(|part| part.spent.as_secs_f64()).sum::<f64>();
        let left = (self.time_left() - under_way).max(0.0);
        let percent = (100.0 * spent / (spent + left)).min(99.0) as u64;
        let words = match left.round() as u64 {
            0 => "last measurements".to_owned(),
            seconds => format!("{} left", humantime::format_duration(Duration::from_secs(seconds))),
        };
        Some((percent, words))
    }

    fn show_state(&self) {
        if let Some((percent, left)) = self.state() {
            self.bar.set_prefix(left);
            self.bar.set_position(percent);
        }
    }
}

impl Observer for Progress {
    fn preparing(&mut self, done: usize, total: usize) {
        board::begin(&Step::Preparing);
        self.show(&format!("preparing {done}/{total}"));
    }

    fn planned(&mut self, work: &[Work]) {
        let unmeasured = |work: &Work| LaboratoryProgress { work: *work, done: Done::default(), spent: Duration::ZERO };
        self.laboratories = work.iter().map(unmeasured).collect();
        self.counted = Instant::now();
        self.bar.set_length(100);
        self.bar.set_position(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/dim} {percent} %  {prefix}{msg}") {
            self.bar.set_style(style.progress_chars("━╸─"));
        }
    }

    fn measuring(&mut self, case: &Case) {
        self.counted = Instant::now();
        let name = case.to_string();
        self.show(&name);
        board::begin(&Step::Measuring { id: case.id(), name });
    }

    fn measuring_apart(&mut self, case: &Case) {
        self.show_state();
        self.show(&case.to_string());
    }

    fn measured(&mut self, laboratory: usize, done: Done, spent: Duration) {
        if let Some(part) = self.laboratories.get_mut(laboratory) {
            part.done.measured += done.measured;
            part.done.blocks += done.blocks;
            part.done.fewest += done.fewest;
            part.spent += spent;
        }
        self.counted = Instant::now().min(self.counted + spent);
        self.show_state();
    }

    fn follows(&self, case: &Case) -> bool {
        self.ladder.as_ref().is_some_and(|ladder| ladder.follows(case))
    }

    fn found(&mut self, row: Row) {
        if let Some(ladder) = &mut self.ladder {
            ladder.take(row);
        }
        self.draw_ladder();
    }

    fn warning(&mut self, text: &str) {
        match &mut self.held {
            Some(held) => held.push(text.to_owned()),
            None => self.suspend(|| terminal::warning(&text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_taken_in_any_case_count_beyond_the_planned_time() {
        let second = Duration::from_secs(1);
        let mut progress = Progress::new("");
        let state = |progress: &Progress, under_way| progress.state_with(under_way).unwrap();
        let work = Work { blocks: 60, fewest: 30, time: Some(10 * second), planned: 40 * second };
        progress.planned(&[work, Work { planned: 70 * second, ..work }]);
        assert_eq!(state(&progress, Duration::ZERO), (0, "1m 50s left".to_owned()), "no block yet");
        let blocks = |measured| Done { measured, blocks: measured, fewest: measured };
        progress.measured(0, blocks(10), 10 * second);
        assert_eq!(state(&progress, Duration::ZERO).1, "1m 30s left");
        progress.measured(0, Done { fewest: 15, ..blocks(25) }, 25 * second);
        assert_eq!(state(&progress, Duration::ZERO).1, "1m 15s left", "the other one has no block yet");
        progress.measured(0, Done { measured: 1, blocks: 20, fewest: 1 }, second);
        assert_eq!(
            state(&progress, Duration::ZERO).1,
            "1m 14s left",
            "a case that ends late leaves no fewer of the fewest"
        );
        assert_eq!(state(&progress, 3 * second).1, "1m 11s left", "a fresh process is at work");
        let begun = Instant::now().checked_sub(3 * second).unwrap();
        progress.counted = begun;
        progress.measured(0, blocks(3), 3 * second);
        assert_eq!(state(&progress, Duration::ZERO).1, "1m 11s left", "it has said what it did");
        assert_eq!(progress.counted, begun + 3 * second);
    }
}
