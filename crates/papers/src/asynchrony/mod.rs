//! Which components of a vector a GPU updates one after the other (H. Anzt, E. Chow, J. Dongarra, "On block-asynchronous execution
//! on GPUs", LAPACK Working Note 291, 2016: the kernels of figures 3 and 4, the histograms of figures 5 and 6).
//!
//! Each thread clears its component of a vector of ones if both neighbours are still one. If all updated at the same time, only the two
//! ends would stay one. Any other component that stays one was updated after a neighbour: the paper calls that a memory
//! inconsistency, and we count these.
//!
//! | file | contents |
//! |---|---|
//! | this one | the plan, the tables and the command |
//! | [`counted`] | where a component lies, and what the device counted, folded into rows |
//! | [`arrival`] | the order in which blocks arrive, and their multiprocessors |
//! | [`gpu`], `updates` | the experiment on a device: arrivals that are noted, updates that are counted |
//! | [`claims`] | what becomes of each claim of the paper |
//! | `section` | what page and terminal show |

pub mod arrival;
pub mod claims;
pub mod counted;
pub mod gpu;
mod section;
mod updates;

use clap::Args;
use syncscope_core::run::plain;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::words;

use self::arrival::{ArrivalRow, LaunchRow, NeighbourRow};
use self::counted::{ClassRow, PositionRow};
use crate::{Bench, Error, Experiment, Measured, Plan, Planned};

pub use self::counted::WARP_THREADS;

const NAME: &str = "asynchrony";

/// `syncscope paper asynchrony`.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    read: |directory, run, warnings| {
        let device = run.machine.gpus.first().map_or("", |gpu| gpu.name.as_str());
        Ok(Asynchrony::read(directory, warnings)?.map(|found| section::section(&found, device)))
    },
    is_whole: |directory| Asynchrony::read(directory, &mut Vec::new()).is_ok_and(|found| found.is_some_and(|found| found.is_whole())),
};

fn measure(plan: Options, bench: &mut Bench<'_>) -> Result<Measured, Error> {
    let gpu = bench.gpu.as_deref_mut().ok_or("no GPU was opened")?;
    let device = gpu.machine().first().map(|machine| machine.name.clone()).unwrap_or_default();
    let mut progress = |done, all| (bench.progress)(&format!("kernels and block sizes done: {done} of {all}"));
    let measured = gpu::measure(gpu, &plan, bench.limits, &mut progress)?;
    let cut = measured.cut(&plan);
    if measured.positions.is_empty() {
        return Ok(Measured { cut, ..Measured::default() });
    }
    measured.write(bench.directory)?;
    let nothing = "no inconsistency was found with any kernel and block size; most claims are undecided here";
    let warnings = measured.positions.iter().all(|row| row.inconsistencies == 0).then(|| nothing.to_owned());
    let text = section::section(&measured, &device).to_string();
    Ok(Measured { warnings: warnings.into_iter().collect(), cut, text })
}

/// Executions of each kernel in the paper.
pub const PAPER_EXECUTIONS: u64 = 1_000_000;

/// The block sizes of the paper, 8 to 256, and the larger ones that devices have allowed since.
pub const BLOCK_THREADS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];

/// The number of pairs of a kernel and a block size.
const PARTS: usize = BLOCK_THREADS.len() * Variant::ALL.len();

words! {
    /// A kernel.
    pub enum Variant ("kernel of this experiment") {
        /// Figure 3: directly in global memory. The right neighbour is read first.
        Global = "global",
        /// Figure 4: through shared memory, with barriers before and after the update.
        Shared = "shared",
        /// Our control of figure 3: the left neighbour is read first.
        GlobalLeftFirst = "global_left_first",
        /// Our control of figure 4: between the barriers no thread waits for global memory or takes a path of its own.
        SharedUniform = "shared_uniform",
    }
}

/// What is to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct Options {
    /// Executions of each kernel with each block size
    #[arg(long, value_name = "N", default_value_t = PAPER_EXECUTIONS, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub executions: u64,
    /// Components of the vector: a multiple of 1024
    #[arg(long, value_name = "N", default_value_t = Options::COMPONENTS, value_parser = components)]
    pub components: u32,
    /// Block orders to draw
    #[arg(long, value_name = "N", default_value_t = Options::DRAWS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub draws: u32,
}

impl Variant {
    /// Whether the kernel is not the paper's, but a control of this project that shows where a result of the paper
    /// comes from.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::GlobalLeftFirst | Self::SharedUniform)
    }
}

impl Options {
    /// The default number of components of the vector; the paper does not give its own. With blocks of 8 threads, these
    /// are more blocks than today's devices run at the same time, and with larger blocks fewer.
    pub const COMPONENTS: u32 = 65_536;

    /// The default number of draws of a block order. Orders are not equally frequent: on an H200 the rarest comes once
    /// in some hundred.
    pub const DRAWS: u32 = 1000;

    /// The number of components is a multiple of this: of every block size, and of a block of the counting kernel.
    pub const COMPONENTS_STEP: u32 = 1024;

    /// The most components: a vector of 32 MiB.
    pub const MOST_COMPONENTS: u32 = 1 << 22;

    /// The fewest executions of a kernel with each block size. Each control has a tenth of the paper's.
    pub const fn executions_of(&self, variant: Variant) -> u64 {
        if variant.is_control() { self.executions.div_ceil(10) } else { self.executions }
    }
}

impl Planned for Options {
    fn plan(self) -> Result<Plan, String> {
        Ok(Plan::on_gpu(NAME, move |bench| measure(self, bench)))
    }
}

/// Parses the number of components of a vector that every grid covers.
fn components(text: &str) -> Result<u32, String> {
    let (step, most) = (Options::COMPONENTS_STEP, Options::MOST_COMPONENTS);
    let is_covered = |components: &u32| components.is_multiple_of(step) && (step..=most).contains(components);
    text.parse().ok().filter(is_covered).ok_or_else(|| format!("a multiple of {step} is needed, at most {most}"))
}

/// The results of the experiment: its tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asynchrony {
    /// `asynchrony.csv`.
    pub positions: Vec<PositionRow>,
    /// `asynchrony_classes.csv`.
    pub classes: Vec<ClassRow>,
    /// `asynchrony_neighbours.csv`.
    pub neighbours: Vec<NeighbourRow>,
    /// `asynchrony_launches.csv`.
    pub launches: Vec<LaunchRow>,
    /// `asynchrony_arrivals.csv`.
    pub arrivals: Vec<ArrivalRow>,
}

impl Asynchrony {
    /// The executions of each kernel with each block size.
    fn parts(&self) -> impl Iterator<Item = (Variant, u64)> {
        self.positions.iter().filter(|row| row.position == 0).map(|row| (row.variant, row.executions))
    }

    /// Whether every kernel was executed with every block size.
    fn is_whole(&self) -> bool {
        self.parts().count() == PARTS
    }

    /// How much of a plan was carried out, if not all of it.
    fn cut(&self, plan: &Options) -> Option<String> {
        let enough = self.parts().filter(|(variant, executions)| *executions >= plan.executions_of(*variant)).count();
        let text = || format!("{enough} of {PARTS} kernels and block sizes have all executions, {} have some", self.parts().count() - enough);
        (enough < PARTS).then(text)
    }
}

tables! {
    Asynchrony: positions = NAME, classes = "asynchrony_classes", neighbours = "asynchrony_neighbours",
    launches = "asynchrony_launches", arrivals = "asynchrony_arrivals"
}

/// Counts of a device without surprises.
#[cfg(test)]
mod testing {
    use super::counted::{Batch, CLASSES, Counted, PositionClass, updated};
    use super::{PAPER_EXECUTIONS, Variant};

    /// Two batches of half a million executions on a vector of 1,024 components, with the inconsistencies in `found`
    /// (position and count), each in an execution of its own.
    pub(super) fn counted(variant: Variant, block_threads: u32, found: &[(u32, u64)]) -> Counted {
        let mut by_position = vec![0; 1024];
        let mut with = [0; CLASSES];
        for (position, count) in found {
            by_position[*position as usize] += count;
            with[PositionClass::of(*position, block_threads).index()] += count;
        }
        let halves = |part: fn(u64) -> u64| Batch { executions: 500_000, with: with.map(part) };
        Counted {
            variant,
            block_threads,
            components: 1024,
            resident_blocks: 4224,
            by_position,
            batches: vec![halves(|count| count / 2), halves(|count| count - count / 2)],
            seconds: 1.0,
        }
    }

    /// The counts of a device that, in every execution, updates these groups of components one after the other and the
    /// components of a group at the same time.
    pub(super) fn executed(block_threads: u32, groups: &[std::ops::Range<u32>]) -> Counted {
        let mut values = [true; 1024];
        for group in groups {
            let before = values;
            for position in group.clone().filter(|position| updated(1024).any(|updated| updated == *position)) {
                let at = position as usize;
                values[at] = !(before[at + 1] && before[at - 1]);
            }
        }
        let kept = updated(1024).filter(|position| values[*position as usize]);
        let found: Vec<(u32, u64)> = kept.map(|position| (position, PAPER_EXECUTIONS)).collect();
        let mut counted = counted(Variant::Global, block_threads, &found);
        // In every execution, and not more often than there are executions.
        for batch in &mut counted.batches {
            batch.with = batch.with.map(|count| count.min(batch.executions));
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
        assert_eq!(Asynchrony::read(&directory, &mut Vec::new()).unwrap(), None);
        let counted = testing::counted(Variant::GlobalLeftFirst, 1024, &[(31, 5), (40, 1)]);
        let row = |block, place| ArrivalRow { draw: 0, launch: 0, block, multiprocessor: 7, place, after_first_ns: 0 };
        let launches = [vec![row(0, 1), row(1, 0)]];
        let written = Asynchrony {
            positions: counted.positions(),
            classes: counted.classes(),
            neighbours: vec![arrival::neighbour_row(1024, &launches), arrival::neighbour_row(8, &[])],
            launches: arrival::launch_rows(&launches),
            arrivals: arrival::kept(&launches),
        };
        written.write(&directory).unwrap();
        assert_eq!(Asynchrony::read(&directory, &mut Vec::new()).unwrap(), Some(written));
        let text = std::fs::read_to_string(directory.path().join("asynchrony.csv")).unwrap();
        assert_eq!(text.lines().next(), Some("variant,block_threads,position,components,executions,inconsistencies"));
        assert_eq!(text.lines().nth(32), Some("global_left_first,1024,31,4,1000000,5"));
        // Positions are counted within blocks.
        for name in ["asynchrony", "asynchrony_classes", "asynchrony_neighbours"] {
            let path = directory.path().join(format!("{name}.csv"));
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replacen("1024,", "0,", 1)).unwrap();
            let mut warnings = Vec::new();
            Asynchrony::read(&directory, &mut warnings).unwrap();
            let text_of = warnings.concat();
            assert!(text_of.contains(&format!("{name}.csv")) && text_of.contains("must be above zero"), "{text_of}");
            std::fs::write(&path, text).unwrap();
        }
    }

    #[test]
    fn what_a_limit_ended_is_not_whole() {
        let sizes = BLOCK_THREADS.iter().flat_map(|size| Variant::ALL.iter().map(move |variant| (*variant, *size)));
        let positions = sizes.flat_map(|(variant, size)| testing::counted(variant, size, &[]).positions()).collect();
        let mut found = Asynchrony { positions, ..Asynchrony::default() };
        let plan = |executions| Options { executions, components: 1024, draws: 1 };
        assert_eq!((found.is_whole(), found.cut(&plan(1_000_000))), (true, None));
        // The controls have a tenth.
        let cut = found.cut(&plan(2_000_000)).unwrap();
        assert!(found.is_whole() && cut.starts_with("16 of 32 ") && cut.ends_with(", 16 have some"), "{cut}");
        found.positions.truncate(31 * 256);
        let cut = found.cut(&plan(1)).unwrap();
        assert!(!found.is_whole() && cut.starts_with("31 of 32 ") && cut.ends_with(", 0 have some"), "{cut}");
    }

    #[test]
    fn a_vector_that_no_grid_covers_is_refused() {
        let plan = Options { executions: 1, components: 65_536, draws: 1 };
        assert_eq!(components("65536"), Ok(65_536));
        for refused in [0, 1000, 1025, Options::MOST_COMPONENTS + 1024] {
            let fault = components(&refused.to_string()).unwrap_err();
            assert!(fault.contains("multiple of 1024"), "{fault}");
        }
        assert!(BLOCK_THREADS.iter().all(|size| Options::COMPONENTS_STEP.is_multiple_of(*size)));
        assert_eq!((plan.executions_of(Variant::GlobalLeftFirst), plan.executions_of(Variant::Shared)), (1, 1));
    }
}
