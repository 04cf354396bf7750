//! The progress of a run: a bar on a terminal, or a line every few seconds elsewhere.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use syncscope_core::Case;
use syncscope_core::session::observer::{Observer, Work};
use syncscope_report::{RunData, first_figures};

use crate::catalogue::catalogue;
use crate::supervisor::board::{self, Step};
use crate::terminal;

/// The time between two lines where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows the current step, the number of finished measurement blocks and the time left.
pub(crate) struct Progress {
    bar: ProgressBar,
    last_line: Option<Instant>,
    laboratories: Vec<LaboratoryProgress>,
    /// The run directory, until its first figures are shown.
    first_figures: Option<FirstFigures>,
}

/// The figures that people look for first, each shown as soon as it is known. The report has the final ones.
struct FirstFigures {
    directory: PathBuf,
    next_look: Instant,
    shown: Vec<String>,
}

/// How often the run directory is read for them, at most, how many times as long as a look takes there is none, because a large
/// directory takes long to read while nothing is measured, and how many are shown.
const LOOKS_EVERY: Duration = Duration::from_secs(3);
const LOOKS_APART: u32 = 100;
const MOST_FIRST_FIGURES: usize = 8;

/// The progress of one laboratory.
struct LaboratoryProgress {
    work: Work,
    done: u64,
    spent: Duration,
}

impl Progress {
    /// Shows the first message at once.
    pub(crate) fn new(message: &str) -> Self {
        let is_drawn = stderr().is_terminal() && !terminal::is_silent();
        let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let mut progress = Self { bar, last_line: None, laboratories: Vec::new(), first_figures: None };
        progress.show(message);
        progress.bar.tick();
        progress
    }

    /// Shows the current step.
    pub(crate) fn show(&mut self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.bar.tick();
        if self.bar.is_hidden()
            && !terminal::is_silent()
            && self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY)
        {
            self.last_line = Some(Instant::now());
            let (done, total) = self.count();
            if total > 0 {
                terminal::line(&format!("[{done}/{total}, {} left] {message}", self.time_left()));
            } else {
                terminal::line(message);
            }
        }
    }

    /// From here on, the figures of this run directory are shown as they become known.
    pub(crate) fn follow(&mut self, directory: &Path) {
        let directory = directory.to_owned();
        let figures = FirstFigures { directory, next_look: Instant::now() + LOOKS_EVERY, shown: Vec::new() };
        self.first_figures = Some(figures).filter(|_| !terminal::is_silent());
    }

    fn show_first_figures(&mut self) {
        let Some(figures) = self.first_figures.as_mut().filter(|known| known.next_look <= Instant::now()) else {
            return;
        };
        let lines = figures.new_ones();
        if figures.shown.len() >= MOST_FIRST_FIGURES {
            self.first_figures = None;
        }
        self.suspend(|| lines.iter().for_each(|text| terminal::line(text)));
    }

    /// The number of finished measurement blocks, and of all.
    fn count(&self) -> (u64, u64) {
        self.laboratories.iter().fold((0, 0), |(done, total), part| (done + part.done, total + part.work.blocks))
    }

    /// Hides the bar while `write` writes lines.
    pub(crate) fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The estimated time left: the mean time of a block so far, times the blocks left, for each laboratory. A laboratory
    /// without a block yet counts with the mean of all. Cases come in random order, so the mean is unbiased. Cases that are
    /// precise early make the time shorter.
    fn time_left(&self) -> String {
        let each = |spent: Duration, done: u64| (done > 0).then(|| spent.as_secs_f64() / done as f64);
        let Some(mean) = each(self.laboratories.iter().map(|part| part.spent).sum(), self.count().0) else {
            return "?".to_owned();
        };
        let left = |part: &LaboratoryProgress| {
            let blocks =
                part.work.blocks.saturating_sub(part.done) as f64 * each(part.spent, part.done).unwrap_or(mean);
            let time = part.work.time.map(|time| time.saturating_sub(part.spent));
            time.map_or(blocks, |time| blocks.min(time.as_secs_f64()))
        };
        let left = self.laboratories.iter().map(left).sum::<f64>();
        humantime::format_duration(Duration::from_secs(left.round() as u64)).to_string()
    }
}

impl FirstFigures {
    /// Those that were not known at the last look. A directory that cannot be read has none; the run itself will say so.
    fn new_ones(&mut self) -> Vec<String> {
        let begin = Instant::now();
        let known = RunData::load(&self.directory, catalogue()).map_or_else(|_| Vec::new(), |run| first_figures(&run));
        self.next_look = Instant::now() + LOOKS_EVERY.max(begin.elapsed() * LOOKS_APART);
        let new: Vec<(String, String)> = known.into_iter().filter(|(name, _)| !self.shown.contains(name)).collect();
        self.shown.extend(new.iter().map(|(name, _)| name.clone()));
        new.into_iter().map(|(name, figure)| format!("first look: {name}: {figure}")).collect()
    }
}

impl Observer for Progress {
    fn preparing(&mut self, done: usize, total: usize) {
        board::begin(&Step::Preparing);
        self.show(&format!("preparing {done}/{total}"));
    }

    fn planned(&mut self, work: &[Work]) {
        self.laboratories =
            work.iter().map(|work| LaboratoryProgress { work: *work, done: 0, spent: Duration::ZERO }).collect();
        self.bar.set_length(self.count().1);
        self.bar.set_position(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len}  {prefix} left  {wide_msg}") {
            self.bar.set_style(style.progress_chars("━╸─"));
        }
        self.bar.set_prefix("?");
    }

    fn measuring(&mut self, case: &Case) {
        let name = case.to_string();
        self.show(&name);
        board::begin(&Step::Measuring { id: case.id(), name });
    }

    fn measured(&mut self, laboratory: usize, blocks: u64, spent: Duration) {
        if let Some(part) = self.laboratories.get_mut(laboratory) {
            part.done += blocks;
            part.spent += spent;
        }
        self.bar.set_prefix(self.time_left());
        self.bar.set_position(self.count().0);
        self.show_first_figures();
    }

    fn warning(&mut self, text: &str) {
        self.suspend(|| terminal::warning(&text));
    }
}
