//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use syncscope_core::Case;
use syncscope_core::session::observer::{Observer, Work};

use crate::terminal;

/// How often a line is written where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows what is being done, how much is done and how long the rest will take.
pub(crate) struct Progress {
    bar: ProgressBar,
    last_line: Option<Instant>,
    parts: Vec<Part>,
}

/// How far one laboratory is.
struct Part {
    work: Work,
    done: u64,
    spent: Duration,
}

impl Progress {
    /// Shows itself at once: the first thing a user sees.
    pub(crate) fn new(message: &str) -> Self {
        let target = if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let mut progress = Self { bar, last_line: None, parts: Vec::new() };
        progress.say(message);
        progress.bar.tick();
        progress
    }

    /// Says what is being done.
    pub(crate) fn say(&mut self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.bar.tick();
        if self.bar.is_hidden() && self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            let (done, total) = self.count();
            if total > 0 {
                eprintln!("[{done}/{total}, {} left] {message}", self.time_left());
            } else {
                eprintln!("{message}");
            }
        }
    }

    /// How many blocks are done, and how many there are.
    fn count(&self) -> (u64, u64) {
        self.parts.iter().fold((0, 0), |(done, total), part| (done + part.done, total + part.work.blocks))
    }

    /// Writes a line above the bar.
    pub(crate) fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The time left if each laboratory goes on as it went so far, or as the others did. Cases stand in a random order, so
    /// their mean is fair. Cases that are precise early make it shorter.
    fn time_left(&self) -> String {
        let each = |spent: Duration, done: u64| (done > 0).then(|| spent.as_secs_f64() / done as f64);
        let Some(usual) = each(self.parts.iter().map(|part| part.spent).sum(), self.count().0) else {
            return "?".to_owned();
        };
        let left = |part: &Part| {
            let blocks =
                part.work.blocks.saturating_sub(part.done) as f64 * each(part.spent, part.done).unwrap_or(usual);
            let time = part.work.time.and_then(|time| time.checked_sub(part.spent));
            time.map_or(blocks, |time| blocks.min(time.as_secs_f64()))
        };
        let left = self.parts.iter().map(left).sum::<f64>();
        humantime::format_duration(Duration::from_secs(left.round() as u64)).to_string()
    }
}

impl Observer for Progress {
    fn preparing(&mut self, done: usize, total: usize) {
        self.say(&format!("preparing {done}/{total}"));
    }

    fn planned(&mut self, work: &[Work]) {
        self.parts = work.iter().map(|work| Part { work: *work, done: 0, spent: Duration::ZERO }).collect();
        self.bar.set_length(self.count().1);
        self.bar.set_position(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len}  {prefix} left  {wide_msg}") {
            self.bar.set_style(style.progress_chars("━╸─"));
        }
        self.bar.set_prefix("?");
    }

    fn measuring(&mut self, case: &Case) {
        self.say(&case.to_string());
    }

    fn measured(&mut self, laboratory: usize, blocks: u64, spent: Duration) {
        if let Some(part) = self.parts.get_mut(laboratory) {
            part.done += blocks;
            part.spent += spent;
        }
        self.bar.set_prefix(self.time_left());
        self.bar.set_position(self.count().0);
    }

    fn warning(&mut self, text: &str) {
        self.suspend(|| terminal::warning(&text));
    }
}
