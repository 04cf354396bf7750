//! Start and stop of every warp of a snippet on a common clock, with clock reads as the compiler placed them and with clock
//! reads that wait for what they time ("Cycle-accurate CUDA with an assembler").
//!
//! | file | contents |
//! |---|---|
//! | this one | the tables and the command |
//! | `claims` | the tests of the source's statements |
//! | `clock` | the common clock: how far apart the counters of the multiprocessors are |
//! | `summary` | from the marks of warps to spans and figures |
//! | [`versions`] | the machine code as compiled, and with corrected clock reads; needs no GPU |
//! | [`gpu`] | launches of both versions |
//! | `section` | what page and terminal show |

mod claims;
mod clock;
pub mod gpu;
mod section;
mod summary;
pub mod versions;

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use syncscope_core::data_file;
use syncscope_core::run::plain;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::words;

use crate::{Bench, Error, Experiment, Measured, Plan, Planned};

const NAME: &str = "timeline";

/// `syncscope paper timeline`.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    read: |directory, _run, warnings| {
        Ok(Timeline::read(directory, warnings)?.map(|found| section::section(&found, Version::ALL)))
    },
    // The experiment takes seconds, and writes its tables at the end.
    is_whole: |_| true,
};

/// Its options.
#[derive(Debug, Args)]
pub struct Options {
    /// Show only the corrected version of each snippet (both are measured and written)
    #[arg(long)]
    corrected: bool,
    /// A file in CUDA C++ instead of the snippets: it defines `__device__ u32 region(u32 *memory, u32 round, Marks &marks)`,
    /// whose code between `BEGIN_REGION` and `END_REGION` is timed and whose result is stored; `memory` has 4096 bytes, zero at first
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Blocks of the kernel's grid
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kernel", value_parser = clap::value_parser!(u32).range(1..=1024))]
    blocks: u32,
    /// Threads of its blocks
    #[arg(long, value_name = "N", default_value_t = 128, requires = "kernel", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
}

/// A region that the user wrote.
#[derive(Debug, Clone)]
pub struct OwnRegion {
    /// The file, as the user named it.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// The grid.
    pub shape: gpu::Shape,
}

impl Planned for Options {
    fn plan(self) -> Result<Plan, String> {
        let Self { corrected, kernel, blocks, threads } = self;
        let shown = if corrected { &[Version::Corrected] } else { Version::ALL };
        let region = |file: PathBuf| {
            let text = data_file::read_text(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok::<_, String>(OwnRegion { file: file.display().to_string(), text, shape: gpu::Shape { blocks, threads } })
        };
        let own = kernel.map(region).transpose()?;
        Ok(Plan::on_gpu(NAME, move |bench| measure(shown, own.as_ref(), bench)))
    }
}

fn measure(shown: &[Version], own: Option<&OwnRegion>, bench: &mut Bench<'_>) -> Result<Measured, Error> {
    let gpu = bench.gpu.take().ok_or("no GPU was opened")?;
    let Some(measured) = gpu::measure(gpu, own, &mut |next| bench.has_time_for(next))? else {
        return Ok(Measured { cut: Some("nothing of it is kept".to_owned()), ..Measured::default() });
    };
    measured.timeline.write(bench.directory)?;
    let text = section::section(&measured.timeline, shown).to_string();
    Ok(Measured { warnings: measured.warnings, text, cut: None })
}

words! {
    /// Where the clock reads stand.
    pub enum Version ("version of a snippet") {
        /// As the compiler placed them.
        Naive = "naive",
        /// Clock reads that wait for what they time.
        Corrected = "corrected",
    }
}

words! {
    /// A snippet. The words are the names of its kernels.
    pub enum Snippet ("snippet") {
        /// A value is written to shared memory and read behind a block barrier: the snippet of the source.
        SharedMemory = "shared_memory",
        /// An atomic addition on global memory whose result is used.
        GlobalAtomic = "global_atomic",
        /// A block barrier with one late warp.
        LateWarp = "late_warp",
        /// A barrier of the grid with one late block.
        GridBarrier = "grid_barrier",
        /// One warp writes a value and arrives at an mbarrier, the others wait there and read it.
        ProducerConsumer = "producer_consumer",
        /// The user's region.
        Own = "own",
    }
}

impl Snippet {
    /// Whether all warps wait for the last one, so that its arrival begins what is timed.
    pub const fn waits_for_the_last(self) -> bool {
        matches!(self, Self::LateWarp | Self::GridBarrier | Self::ProducerConsumer)
    }

    /// What is between the clock reads.
    pub const fn description(self) -> &'static str {
        match self {
            Self::SharedMemory => "write to shared memory, block barrier, read",
            Self::GlobalAtomic => "atomic addition to global memory whose result is used",
            Self::LateWarp => "block barrier with one late warp, then a read of what that warp wrote",
            Self::GridBarrier => "grid barrier with one late block, then a read of what that block wrote",
            Self::ProducerConsumer => "one warp writes and arrives at an mbarrier; the others wait and read",
            Self::Own => "the region of the file",
        }
    }
}

/// The results of the experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// `timeline.csv`: the warps of one launch of each snippet and version, the one that is drawn.
    pub spans: Vec<Span>,
    /// `timeline_figures.csv`.
    pub figures: Vec<Figure>,
    /// `timeline_edits.csv`.
    pub edits: Vec<Edit>,
    /// `timeline_code.csv`.
    pub code: Vec<CodeLine>,
    /// `timeline_clocks.csv`.
    pub clocks: Vec<ClockOffset>,
}

/// One warp. Times are on the common clock; 0 is the first start of the launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The snippet.
    pub snippet: Snippet,
    /// Naive or corrected.
    pub version: Version,
    /// The block.
    pub block: u32,
    /// The multiprocessor that the block ran on.
    pub multiprocessor: u32,
    /// The warp in its block.
    pub warp: u32,
    /// The first clock read.
    pub start_cycles: f64,
    /// The clock read right before the barrier, where there is one.
    pub arrival_cycles: Option<f64>,
    /// The last clock read.
    pub stop_cycles: f64,
}

impl Span {
    /// The cycle at which the timed part begins for this warp alone.
    pub fn begin_cycles(&self) -> f64 {
        self.arrival_cycles.unwrap_or(self.start_cycles)
    }
}

/// The timed cycles in one version and one round of its launches. Each number is the median over the launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The snippet.
    pub snippet: Snippet,
    /// Naive or corrected.
    pub version: Version,
    /// The round within a launch, from 0. Only later rounds have the code in the caches.
    pub round: u32,
    /// Launches.
    pub launches: u32,
    /// Warps of a launch that are timed.
    pub warps: u32,
    /// The fastest warp: from its own start to its stop, or from the last arrival to its stop.
    pub shortest_cycles: f64,
    /// The warp in the middle.
    pub median_cycles: f64,
    /// The slowest warp.
    pub longest_cycles: f64,
    /// How exactly times of different multiprocessors compare; 1 where all warps are on one.
    pub resolution_cycles: f64,
    /// The clock of the multiprocessors.
    pub clock_hz: Option<f64>,
}

/// One edit of the machine code, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The snippet.
    pub snippet: Snippet,
    /// Offset of the edited instruction in the compiled kernel.
    pub offset: u64,
    /// What was changed, and why.
    pub change: String,
}

/// One instruction around what is timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeLine {
    /// The snippet.
    pub snippet: Snippet,
    /// Naive or corrected.
    pub version: Version,
    /// The instruction with its control field.
    pub instruction: String,
    /// Whether it differs from the compiled code, by its bits or its place.
    pub edited: bool,
}

/// The clock of one multiprocessor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The multiprocessor.
    pub multiprocessor: u32,
    /// How far its counter is ahead of the first counter in this table.
    pub ahead_cycles: f64,
    /// By how much two halves of the observations disagree about `ahead_cycles`.
    pub disagreement_cycles: f64,
}

tables! {
    Timeline: spans = NAME, figures = "timeline_figures", edits = "timeline_edits", code = "timeline_code",
    clocks = "timeline_clocks"
}

impl Timeline {
    /// The figure of a snippet and version once the code is in the caches.
    pub fn figure(&self, snippet: Snippet, version: Version) -> Option<&Figure> {
        let of_this = self.figures.iter().filter(|figure| (figure.snippet, figure.version) == (snippet, version));
        of_this.max_by_key(|figure| figure.round)
    }

    /// The corrected figure as a fraction of the naive one.
    pub fn corrected_to_naive(&self, snippet: Snippet) -> Option<f64> {
        let [naive, corrected] =
            [Version::Naive, Version::Corrected].map(|version| Some(self.figure(snippet, version)?.median_cycles));
        Some(corrected? / naive.filter(|cycles| *cycles > 0.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn span(version: Version, warp: u32, start: f64, stop: f64) -> Span {
        Span {
            snippet: Snippet::SharedMemory,
            version,
            block: 0,
            multiprocessor: 3,
            warp,
            start_cycles: start,
            arrival_cycles: None,
            stop_cycles: stop,
        }
    }

    fn figure(version: Version, round: u32, median_cycles: f64) -> Figure {
        Figure {
            snippet: Snippet::SharedMemory,
            version,
            round,
            launches: 20,
            warps: 4,
            shortest_cycles: median_cycles,
            median_cycles,
            longest_cycles: median_cycles,
            resolution_cycles: 1.0,
            clock_hz: None,
        }
    }

    #[test]
    fn tables_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
        assert_eq!(Timeline::read(&directory, &mut Vec::new()).unwrap(), None);
        let (snippet, version) = (Snippet::GridBarrier, Version::Corrected);
        let timeline = Timeline {
            spans: vec![Span { arrival_cycles: Some(7.5), ..span(Version::Naive, 1, 2.0, 380.0) }],
            figures: vec![figure(Version::Naive, 0, 380.0)],
            edits: vec![Edit { snippet, offset: 16, change: "a, \"b\"".to_owned() }],
            code: vec![CodeLine { snippet, version, instruction: "NOP".to_owned(), edited: true }],
            clocks: vec![ClockOffset { multiprocessor: 9, ahead_cycles: -3.0, disagreement_cycles: 1.5 }],
        };
        timeline.write(&directory).unwrap();
        assert_eq!(Timeline::read(&directory, &mut Vec::new()).unwrap(), Some(timeline));
    }

    #[test]
    fn versions_are_compared_by_their_last_round() {
        let figures = vec![
            figure(Version::Naive, 1, 380.0),
            figure(Version::Corrected, 0, 900.0),
            figure(Version::Corrected, 1, 57.0),
        ];
        let timeline = Timeline { figures, ..Timeline::default() };
        assert_eq!(timeline.corrected_to_naive(Snippet::SharedMemory), Some(0.15));
        assert_eq!(timeline.corrected_to_naive(Snippet::LateWarp), None);
        let none = Timeline { figures: vec![figure(Version::Naive, 0, 0.0)], ..timeline };
        assert_eq!(none.corrected_to_naive(Snippet::SharedMemory), None);
    }
}
