//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is written where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows what is being done, how much is done and how long the rest will take.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    last_line: Option<Instant>,
    done: u64,
    total: u64,
}

impl Progress {
    /// Shows itself at once: the first thing a user sees.
    pub(crate) fn new(message: &str) -> Self {
        let target = if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let mut progress = Self { bar, started: Instant::now(), last_line: None, done: 0, total: 0 };
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
            if self.total > 0 {
                eprintln!("[{}/{}, {} left] {message}", self.done, self.total, self.time_left());
            } else {
                eprintln!("{message}");
            }
        }
    }

    /// From now on, counts to `total`.
    pub(crate) fn count_to(&mut self, total: u64) {
        self.total = total;
        self.done = 0;
        self.started = Instant::now();
        self.bar.set_length(total);
        self.bar.set_position(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len}  {prefix} left  {wide_msg}") {
            self.bar.set_style(style.progress_chars("━╸─"));
        }
        self.bar.set_prefix("?");
    }

    /// One more is done.
    pub(crate) fn advance(&mut self) {
        self.done += 1;
        self.bar.set_prefix(self.time_left());
        self.bar.set_position(self.done);
    }

    /// Writes a line above the bar.
    pub(crate) fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The time the rest takes if it goes on as it went so far: cases stand in a random order, so their mean is fair.
    fn time_left(&self) -> String {
        if self.done == 0 {
            return "?".to_owned();
        }
        let left =
            self.started.elapsed().as_secs_f64() / self.done as f64 * (self.total - self.done.min(self.total)) as f64;
        humantime::format_duration(Duration::from_secs(left.round() as u64)).to_string()
    }
}
