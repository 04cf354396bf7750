//! Measures one cost by two clocks: read inside the device, and inferred from the host's time.
//!
//! Source: Zhang, Wahib, Matsuoka, "A Study of Synchronization Methods in Modern GPUs" (the short paper), section 3.2
//! with formulas 1 and 2, and section 3.3 with table 1. A chain of one operation is executed with few and with many
//! repetitions. The inside clock is read around the chain, and the host times the same executions from outside. The
//! difference of the two times, divided by the difference of the repetitions, is the cost of one operation, and both
//! clocks must give the same cost.
//!
//! On a GPU the inside clock is the multiprocessor's, and the outside clock is the host's, around launch and wait. On a
//! CPU they are the time stamp counter and the system's raw clock.
//!
//! | file | contents |
//! |---|---|
//! | this one | what is repeated and measured, in which order and how often, the tables, and the command |
//! | `chains` | the chains of the GPU: their programs, repetitions and evidence |
//! | [`gpu`], `cpu` | who executes them |
//! | `rows` | from pairs to rows, with the formulas |
//! | [`findings`] | what the rows say: agreement, known costs, the instruction cache |
//! | `claims` | the statements of the paper, tested |
//! | `section` | what page and terminal show |

use crate::{Bench, Error, Experiment, Measured, Plan, Planned};
use clap::{Args, ValueEnum};
use std::time::{Duration, Instant};
use syncscope_core::engine::PairOrder;
use syncscope_core::run::machine::ChainCheck;
use syncscope_core::run::plain;
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::{Side, words};
use syncscope_cpu::CpuLaboratory;
use syncscope_gpu::{GpuError, GpuLaboratory};

mod chains;
mod claims;
mod cpu;
pub mod findings;
pub mod gpu;
mod rows;
mod section;

pub use self::chains::chain_program;
pub use self::gpu::programs_of_a_check;
pub use self::rows::{CrosscheckRow, CrosscheckSample};

const NAME: &str = "crosscheck";

/// `syncscope paper crosscheck`.
pub const EXPERIMENT: Experiment = Experiment {
    name: NAME,
    read: |directory, _run, warnings| Ok(Crosscheck::read(directory, warnings)?.map(|found| section::section(&found.rows))),
    // The CPU comes last, so its rows show that nothing was cut.
    is_whole: |directory| {
        let found = Crosscheck::read(directory, &mut Vec::new());
        found.is_ok_and(|found| found.is_some_and(|found| found.rows.iter().any(|row| row.executor == Executor::Cpu)))
    },
};

/// Its options.
#[derive(Debug, Args)]
pub struct Options {
    /// Chains of operations to time
    #[arg(long, value_enum, default_value_t = On::All)]
    on: On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// Those of GPU and CPU
    All,
    /// Those of the CPU, which need no GPU
    Cpu,
}

impl Planned for Options {
    fn plan(self) -> Result<Plan, String> {
        Ok(Plan {
            name: NAME,
            needs_gpu: self.on == On::All,
            without_gpu: Some("`--on cpu` compares the clocks of the CPU alone"),
            measure: Box::new(move |bench| measure(self.on, bench)),
        })
    }
}

fn measure(on: On, bench: &mut Bench<'_>) -> Result<Measured, Error> {
    let (mut series, mut warnings) = (Vec::new(), Vec::new());
    let seed = bench.seed;
    if let Some(gpu) = bench.gpu.take().filter(|_| on == On::All) {
        (series, warnings) = gpu::measure(gpu, seed, &mut |next| bench.has_time_for(next))?;
    }
    let of_cpu = bench.cpu.filter(|_| bench.has_time_for("CPU")).map(|cpu| cpu::measure_all(cpu, seed));
    let is_cut = of_cpu.is_none() && bench.cpu.is_some();
    series.extend(of_cpu.unwrap_or_default());
    let cut = is_cut.then(|| format!("{} chains were timed, and others not", series.len()));
    if series.is_empty() {
        let nothing = || "no chain of known cost is written for this CPU".into();
        return cut.map(|cut| Measured { cut: Some(cut), ..Measured::default() }).ok_or_else(nothing);
    }
    let crosscheck = Crosscheck::of(&series);
    crosscheck.write(bench.directory)?;
    Ok(Measured { warnings, cut, text: section::section(&crosscheck.rows).to_string() })
}

/// Checks the machine at the start of a run with a chain on the CPU; `None` if no chain is written for its
/// architecture.
pub fn check_cpu(cpu: &CpuLaboratory, seed: u64) -> Option<ChainCheck> {
    let check = |time| cpu::measure_check(cpu, seed.wrapping_add(time)).map(|series| chain_check(&series));
    Some(confirmed(check(0)?, (1..=4).filter_map(check)))
}

/// A failed check counts unless all others pass: other work may disturb the few milliseconds of one check, but wrong
/// clocks fail every time.
fn confirmed(first: ChainCheck, others: impl Iterator<Item = ChainCheck>) -> ChainCheck {
    if first.failure.is_none() {
        return first;
    }
    let mut last = None;
    for other in others {
        if other.failure.is_some() {
            return first;
        }
        last = Some(other);
    }
    last.unwrap_or(first)
}

/// Checks the machine at the start of a run with a chain on the GPU.
///
/// # Errors
/// When a kernel cannot be compiled, launched, or does not end.
pub fn check_gpu(gpu: &mut GpuLaboratory, seed: u64) -> Result<Option<ChainCheck>, GpuError> {
    Ok(gpu::measure_check(gpu, seed)?.as_ref().map(chain_check))
}

/// The paper's nine differences of repetitions (table 1). For the first, which equals the basic repetitions, the paper
/// has only the GPU's figure.
pub const REPEAT_DIFFERENCES: [u64; 9] = [512, 2056, 5120, 7680, 10_240, 20_480, 25_600, 40_960, 51_200];

/// The paper's basic number of repetitions (section 3.4).
pub const BASIC_REPEATS: u64 = 512;

words! {
    /// Who executes the chain.
    #[derive(Default)]
    pub enum Executor ("executor") {
        /// A kernel; the inside clock is the multiprocessor's.
        #[default]
        Gpu = "gpu",
        /// A thread; the inside clock is the processor's counter.
        Cpu = "cpu",
    }
}

words! {
    /// What is repeated.
    #[derive(Default)]
    pub enum Operation ("operation of the crosscheck") {
        /// A float addition that needs the sum before.
        #[default]
        FloatAddition = "float_addition",
        /// A barrier of a block (`__syncthreads`).
        BlockBarrier = "block_barrier",
        /// A barrier of a grid, as in cooperative groups.
        GridBarrier = "grid_barrier",
        /// An addition of two 64-bit registers that needs the sum before.
        IntegerAddition = "integer_addition",
        /// A multiplication of two 32-bit registers that needs the product before.
        IntegerMultiplication = "integer_multiplication",
    }
}

words! {
    /// The form of the repetitions in the code.
    #[derive(Default)]
    pub enum Form ("form of the chain") {
        /// A loop whose body stays in the instruction cache.
        #[default]
        Looped = "looped",
        /// One after the other without a loop, as in the paper.
        Straight = "straight",
        /// A loop whose body grows, to find the instruction cache.
        Body = "body",
    }
}

/// One execution, timed by both clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BothClocks {
    /// Time by the outside clock.
    pub outside_ns: f64,
    /// Cycles by the inside clock.
    pub inside_cycles: f64,
}

/// The shorter and the longer chain, one right after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrosscheckPair {
    /// Whether the longer chain came first; decided at random.
    pub many_first: bool,
    /// The shorter chain.
    pub few: BothClocks,
    /// The longer chain.
    pub many: BothClocks,
    /// Cycles in a nanosecond of the outside clock, measured next to this pair.
    pub cycles_per_ns: f64,
}

impl CrosscheckPair {
    /// Takes the shorter and the longer chain in this order; `take` gets `true` for the longer one.
    pub(crate) fn in_order<T, E>(many_first: bool, mut take: impl FnMut(bool) -> Result<T, E>) -> Result<(T, T), E> {
        let (first, second) = (take(many_first)?, take(!many_first)?);
        Ok(if many_first { (second, first) } else { (first, second) })
    }
}

/// All pairs of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CrosscheckSeries {
    /// What was measured, its check, its evidence and its known cost; the figures follow from the pairs.
    pub case: CrosscheckRow,
    /// The pairs in the order in which they were taken.
    pub pairs: Vec<CrosscheckPair>,
}

/// The results of the experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Crosscheck {
    /// `crosscheck.csv`: one row for each case.
    pub rows: Vec<CrosscheckRow>,
    /// `crosscheck_samples.csv`: one row for each pair.
    pub samples: Vec<CrosscheckSample>,
}

/// The check of the machine that measured this series, at the start of a run.
pub fn chain_check(series: &CrosscheckSeries) -> ChainCheck {
    let row = rows::row_of(series);
    let figures = (row.inferred_cycles, row.inside_cycles);
    ChainCheck::of((row.executor.as_str(), row.operation.as_str()), figures, row.known_cycles, row.check.as_deref())
}

tables!(Crosscheck: rows = NAME, samples = "crosscheck_samples");

impl Crosscheck {
    /// The tables of these series.
    pub fn of(series: &[CrosscheckSeries]) -> Self {
        let samples = series.iter().enumerate().flat_map(|(number, series)| rows::samples_of(number as u64, series));
        Self { rows: series.iter().map(rows::row_of).collect(), samples: samples.collect() }
    }
}

// In which order pairs are taken, and how many.

/// How many pairs the cases of a set get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The fewest pairs of a case, whatever they take. The paper averages 20.
    pub fewest_pairs: usize,
    /// The most pairs of a case.
    pub most_pairs: usize,
    /// The time after which no case gets more than the fewest pairs.
    pub budget: Duration,
}

impl Schedule {
    /// Pairs of one case before the next case's turn.
    const PAIRS_AT_ONCE: usize = 5;

    /// Pairs of a set of cases. The launch makes the cost of a short chain uncertain by a tenth of a microsecond, and
    /// more pairs reduce that. Chains that take milliseconds need no more than the fewest pairs.
    const MEASURED: Self = Self { fewest_pairs: 21, most_pairs: 201, budget: Duration::from_secs(2) };

    /// `pairs` pairs, for the check at the start of a run.
    const fn of_a_check(pairs: usize) -> Self {
        Self { fewest_pairs: pairs, most_pairs: pairs, budget: Duration::ZERO }
    }

    /// Takes the pairs of `cases` cases in turn, so that a disturbance of some milliseconds does not hit one case
    /// alone. In each turn the cases come in another random order, and [`PairOrder`] draws which chain of a pair is
    /// first. `take` gets the number of the case and whether the longer chain is first. The first pair of each case is
    /// left out: it brings kernels and code to where they are executed.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn take<E>(
        self,
        seed: u64,
        cases: usize,
        mut take: impl FnMut(usize, bool) -> Result<CrosscheckPair, E>,
    ) -> Result<Vec<Vec<CrosscheckPair>>, E> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order_of_pairs = PairOrder::new(seed, 0, 0);
        let mut pairs = vec![Vec::new(); cases];
        for case in 0..cases {
            take(case, false)?;
        }
        let started = Instant::now();
        let mut order: Vec<usize> = (0..cases).collect();
        loop {
            let most = if started.elapsed() < self.budget { self.most_pairs } else { self.fewest_pairs };
            order.retain(|case| pairs[*case].len() < most);
            if order.is_empty() {
                return Ok(pairs);
            }
            random.shuffle(&mut order);
            for case in &order {
                for _ in 0..Self::PAIRS_AT_ONCE.min(most - pairs[*case].len()) {
                    pairs[*case].push(take(*case, order_of_pairs.first_side() == Side::Test)?);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of a chain of 4 cycles each at 2 GHz, which a host times with 9 us of launch and some noise.
    pub(super) fn series(difference: u64) -> CrosscheckSeries {
        let case = CrosscheckRow {
            executor: Executor::Gpu,
            operation: Operation::FloatAddition,
            form: Form::Looped,
            body: 512,
            blocks: Some(1),
            threads: Some(32),
            repeats_few: BASIC_REPEATS,
            repeats_many: BASIC_REPEATS + difference,
            check: Some("ok".to_owned()),
            evidence: Some("FADD 520".to_owned()),
            known_cycles: Some(4.0),
            ..CrosscheckRow::default()
        };
        let side = |repeats: u64, noise_ns: f64| BothClocks {
            outside_ns: 9000.0 + 2.0 * repeats as f64 + noise_ns,
            inside_cycles: 12.0 + 4.0 * repeats as f64,
        };
        let pair = |number: u64| CrosscheckPair {
            many_first: number.is_multiple_of(3),
            few: side(case.repeats_few, (number % 5) as f64 - 2.0),
            many: side(case.repeats_many, (number % 7) as f64 - 3.0),
            cycles_per_ns: 2.0,
        };
        let pairs = (0..35).map(pair).collect();
        CrosscheckSeries { case, pairs }
    }

    pub(super) fn row() -> CrosscheckRow {
        rows::row_of(&series(51_200))
    }

    #[test]
    fn a_check_that_fails_counts_unless_all_others_pass() {
        let of = |failure: Option<&str>| ChainCheck { failure: failure.map(str::to_owned), ..ChainCheck::default() };
        let (wrong, right) = (of(Some("2.87 cycles")), of(None));
        let found = |first: &ChainCheck, others: &[&ChainCheck]| {
            confirmed(first.clone(), others.iter().map(|other| (*other).clone())).failure.is_some()
        };
        assert!(!found(&right, &[&wrong]), "the others are not asked");
        assert!(!found(&wrong, &[&right, &right]) && found(&wrong, &[&right, &wrong]) && found(&wrong, &[]));
    }

    #[test]
    fn both_clocks_give_the_cost_without_the_launch() {
        let row = row();
        assert_eq!((row.repeats_few, row.repeats_many, row.difference(), row.pairs), (512, 51_712, 51_200, 35));
        assert_eq!(row.inside_cycles, Some(4.0), "what is constant drops out");
        assert!((row.inside_whole_cycles.unwrap() - (4.0 + 12.0 / 51_712.0)).abs() < 1e-12, "as the paper divides");
        assert!((row.inferred_cycles.unwrap() - 4.0).abs() < 1e-3 && (row.inferred_ns.unwrap() - 2.0).abs() < 1e-3);
        let (low, high) = (row.inferred_cycles_low.unwrap(), row.inferred_cycles_high.unwrap());
        assert!(low <= 4.0 && 4.0 <= high && high - low < 1e-3, "{low} {high}");
        assert!(row.disagreement().unwrap().abs() < 1e-3);
        assert_eq!(row.clock_hz, Some(2e9));
        // Formula 2 by hand: deviations of 0 to 4 and of 0 to 6, equally often.
        let deviation = |sizes: f64| ((sizes * sizes - 1.0) / 12.0 * 35.0 / 34.0).sqrt();
        let expected = deviation(5.0).hypot(deviation(7.0)) / 51_200.0 * 2.0;
        assert!((row.inferred_deviation_cycles.unwrap() / expected - 1.0).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn a_series_becomes_a_check_of_the_machine() {
        assert_eq!(chain_check(&series(25_600)).warning(), None);
        // The host converts with a clock that is a tenth too fast.
        let mut fast = series(25_600);
        fast.pairs.iter_mut().for_each(|pair| pair.cycles_per_ns *= 1.1);
        let text = chain_check(&fast).warning().unwrap();
        assert!(text.contains("GPU") && text.contains("+10.0 %"), "{text}");
        let mut slow = series(25_600);
        slow.case.known_cycles = Some(3.0);
        assert!(chain_check(&slow).warning().unwrap().contains("3 are known"));
        let none = CrosscheckSeries { pairs: Vec::new(), ..series(512) };
        assert!(chain_check(&none).warning().unwrap().contains("no figure"));
    }

    #[test]
    fn without_pairs_everything_is_unknown() {
        let row = rows::row_of(&CrosscheckSeries { pairs: Vec::new(), ..series(512) });
        assert_eq!((row.pairs, row.inferred_cycles, row.inside_cycles, row.clock_hz), (0, None, None, None));
        assert_eq!(row.disagreement(), None);
        let few = rows::row_of(&CrosscheckSeries { pairs: series(512).pairs[..3].to_vec(), ..series(512) });
        assert!(few.inferred_cycles.is_some() && few.inferred_cycles_low.is_none(), "three pairs have no interval");
    }

    #[test]
    fn tables_are_read_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create_for_experiment(&folder.path().join("run")).unwrap();
        let CrosscheckRow { body, repeats_few, repeats_many, .. } = series(512).case;
        let cpu =
            CrosscheckRow { executor: Executor::Cpu, body, repeats_few, repeats_many, ..CrosscheckRow::default() };
        let unknown = CrosscheckSeries { case: cpu, pairs: Vec::new() };
        let crosscheck = Crosscheck::of(&[series(512), unknown, series(2056)]);
        assert_eq!(crosscheck.samples.iter().map(|sample| sample.row).max(), Some(2));
        crosscheck.write(&directory).unwrap();
        assert_eq!(Crosscheck::read(&directory, &mut Vec::new()).unwrap().as_ref(), Some(&crosscheck));
        std::fs::remove_file(directory.path().join("crosscheck_samples.csv")).unwrap();
        let without = Crosscheck::read(&directory, &mut Vec::new()).unwrap().unwrap();
        assert_eq!((without.rows, without.samples.len()), (crosscheck.rows, 0));
    }

    #[test]
    fn the_repetitions_are_those_of_the_paper() {
        assert_eq!(REPEAT_DIFFERENCES.len(), 9);
        assert!(REPEAT_DIFFERENCES.is_sorted() && REPEAT_DIFFERENCES[0] == BASIC_REPEATS);
        // Chains of the CPU and loops of barriers repeat in steps of eight and of four.
        assert!(REPEAT_DIFFERENCES.iter().all(|difference| difference.is_multiple_of(8)));
    }
}

#[cfg(test)]
mod schedule_tests {
    use super::BothClocks;
    use super::*;

    fn pair(many_first: bool) -> CrosscheckPair {
        let side = BothClocks { outside_ns: 1.0, inside_cycles: 1.0 };
        CrosscheckPair { many_first, few: side, many: side, cycles_per_ns: 1.0 }
    }

    fn schedule(budget: Duration) -> Schedule {
        Schedule { fewest_pairs: 20, most_pairs: 42, budget }
    }

    #[test]
    fn cases_take_turns_in_a_random_order() {
        let mut calls = Vec::new();
        let taken = schedule(Duration::MAX).take(7, 3, |case, many_first| {
            calls.push(case);
            Ok::<_, ()>(pair(many_first))
        });
        let taken = taken.unwrap();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [42; 3], "no more than the most");
        assert_eq!(calls[..3], [0, 1, 2], "a pair of each that does not count");
        let turns: Vec<Vec<usize>> = calls[3..].chunks(15).map(<[usize]>::to_vec).collect();
        let complete =
            turns.iter().take(8).all(|turn| (0..3).all(|case| turn.iter().filter(|at| **at == case).count() == 5));
        assert!(complete && turns.windows(2).any(|two| two[0] != two[1]), "{turns:?}");
        let first = taken.iter().flatten().filter(|pair| pair.many_first).count();
        assert!((30..97).contains(&first), "either chain is first about as often: {first} of 126");
    }

    #[test]
    fn the_budget_leaves_the_fewest_pairs() {
        let taken = schedule(Duration::ZERO).take(7, 2, |_, many_first| Ok::<_, ()>(pair(many_first))).unwrap();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [20; 2]);
        assert_eq!(schedule(Duration::ZERO).take(7, 0, |_, _| Err(())), Ok(Vec::new()));
    }

    #[test]
    fn an_error_ends_it() {
        let mut left = 9;
        let taken = schedule(Duration::MAX).take(7, 2, |_, many_first| {
            left -= 1;
            if left > 0 { Ok(pair(many_first)) } else { Err("lost") }
        });
        assert_eq!((taken, left), (Err("lost"), 0));
    }
}
