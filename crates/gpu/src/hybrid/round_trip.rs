//! A flag that a CPU thread and a GPU thread pass to each other.
//!
//! The device is timed: cycles of the multiprocessor, and its global timer in the same kernel. The host's clock is read every
//! few turns too, to see whether both clocks agree.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use syncscope_core::{Check, Detail, ExperimentError, Sample, Shot};

use super::cpu_threads::{Report, Turn, with_cpu_threads};
use super::{Setup, Work, common};
use crate::cuda::driver::HostBuffer;
use crate::cuda::error::Called;
use crate::launch::arguments::{BenchArguments, Finding, HybridFlagArguments, UNROLL};
use crate::launch::bench::Launch;
use crate::launch::host_clock;
use crate::launch::samples::with_warm_up;

/// Bytes between the words: two cache lines, as in `hybrid_flag.cu`.
const FAR_APART: usize = 256;

// The offsets of the words, in the order of `Word` in `hybrid_flag.cu`.
const GPU_TURN: usize = 0;
const CPU_TURN: usize = FAR_APART;
const QUESTION: usize = 2 * FAR_APART;
const ANSWER: usize = 3 * FAR_APART;
const LENGTHS: usize = 4 * FAR_APART;

/// Round trips that the kernel `check` times one by one: `TRIPS` in `hybrid_flag.cu`.
const TRIPS: usize = 1024;

/// The host's clock is read once in this many turns.
const TURNS_PER_READING: u64 = 32;

/// The behaviour of the CPU thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuThread {
    /// The thread answers.
    Answers,
    /// The thread runs without answering, to test that the kernel gives up.
    Silent,
}

/// A flag passed between CPU and GPU, ready to run; see the module documentation.
#[derive(Debug)]
pub(crate) struct RoundTrip {
    words: HostBuffer,
    cpu_thread: CpuThread,
    /// Turns that the kernels took.
    asked: u64,
    answers: Answers,
    ns_per_cycle: f64,
    details: Vec<Detail>,
}

/// Arguments of a launch with this many iterations; for the kernel `check`, whether it asks questions.
fn arguments(iterations: u64, asks: bool) -> BenchArguments {
    let (common, asks_questions) = (common(iterations), u32::from(asks));
    BenchArguments::HybridFlag(HybridFlagArguments { common, asks_questions })
}

/// What the CPU thread did in a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Answers {
    count: u64,
    /// Answers to anything but the next number.
    out_of_order: u64,
    /// Time from one answer to the next, by the host's clock.
    ns_each: Option<f64>,
}

impl RoundTrip {
    pub(crate) fn new(setup: &Setup<'_>, cpu_thread: CpuThread) -> Called<Self> {
        let words = setup.memory(LENGTHS + (TRIPS + 1) * size_of::<u32>())?;
        let ns_per_cycle = 1e9 / setup.ruler.frequency.value();
        Ok(Self { words, cpu_thread, asked: 0, answers: Answers::default(), ns_per_cycle, details: Vec::new() })
    }

    /// Runs the kernel `check`: with questions, or with a clock.
    fn try_out(&self, setup: &mut Setup<'_>, asks: bool) -> Result<(Finding, Answers), ExperimentError> {
        let (words, cpus, shape) = (&self.words, setup.cpus.clone(), setup.shape);
        let mailbox = Mailbox::of(words);
        let launch = Launch::of(setup.kernels.check, arguments(0, asks));
        let work = |turn: &Turn| mailbox.answer(turn, asks);
        with_cpu_threads(&cpus, work, |coordinator| {
            coordinator.begin()?;
            let finding = setup.bench.on_memory_of_host(words, |bench| bench.check(shape, &[launch]))?;
            let answers = coordinator.end()?.first().map(|report| report.result).unwrap_or_default();
            Ok((finding, answers))
        })
    }

    /// Checks the answers. Returns details of single round trips, or what is wrong.
    fn trial(&self, setup: &mut Setup<'_>) -> Result<Vec<Detail>, String> {
        let (Answers { count, out_of_order, .. }, asked) = (self.answers, self.asked);
        if (count, out_of_order) != (asked, 0) {
            return Err(format!("{count} answers to {asked} turns, {out_of_order} of them out of order"));
        }
        let (Finding { mismatches, expected, found, .. }, _) =
            self.try_out(setup, true).map_err(|error| error.to_string())?;
        if mismatches > 0 {
            let wrong = format!("{mismatches} of {TRIPS} questions had wrong answers");
            return Err(format!("{wrong}: expected {expected} and found {found}"));
        }
        match self.try_out(setup, false).map_err(|error| error.to_string())? {
            (finding, host) if finding.mismatches == 0 => Ok(self.details_of(host)),
            _ => Err("the CPU thread did not answer".to_owned()),
        }
    }

    fn details_of(&self, host: Answers) -> Vec<Detail> {
        let length = |trip| self.words.atomic_u32(LENGTHS + trip * size_of::<u32>()).load(Ordering::Acquire);
        let mut lengths: Vec<u32> = (0..TRIPS).map(length).collect();
        lengths.sort_unstable();
        let percentile = |name, percent: usize| {
            let cycles = lengths.get((TRIPS - 1) * percent / 100).copied()?;
            Some(Detail::of_case(name, f64::from(cycles) * self.ns_per_cycle))
        };
        // The same round trips by both clocks: time from one to the next.
        let by_device = f64::from(length(TRIPS)) / TRIPS as f64 * self.ns_per_cycle;
        let by_device = Some(Detail::of_case("device_clock_ns", by_device));
        let by_host = host.ns_each.map(|ns| Detail::of_case("host_clock_ns", ns));
        [percentile("p50_ns", 50), percentile("p99_ns", 99), by_device, by_host].into_iter().flatten().collect()
    }
}

impl Work for RoundTrip {
    fn samples(&mut self, setup: &mut Setup<'_>, shots: &[Shot]) -> Result<Vec<Sample>, ExperimentError> {
        let Self { words, cpu_thread, asked, answers, .. } = self;
        let mailbox = Mailbox::of(words);
        let work = |turn: &Turn| match cpu_thread {
            CpuThread::Answers => mailbox.answer(turn, false),
            CpuThread::Silent => silence(turn),
        };
        let note = |shot: Shot, reports: &[Report<Answers>]| {
            *asked += with_warm_up(shot.side, shot.iterations, UNROLL);
            for report in reports {
                answers.count += report.result.count;
                answers.out_of_order += report.result.out_of_order;
            }
        };
        let samples = setup.samples_during(work, words, shots, |iterations| arguments(iterations, false), note)?;
        self.ns_per_cycle = samples.last().map_or(self.ns_per_cycle, |sample| sample.ns_per_tick);
        Ok(samples)
    }

    fn check(&mut self, setup: &mut Setup<'_>) -> Check {
        match self.trial(setup) {
            Ok(details) => {
                self.details = details;
                Check::Ok
            }
            Err(reason) => Check::Failed(reason),
        }
    }

    fn details(&mut self, _: &Setup<'_>) -> Vec<Detail> {
        std::mem::take(&mut self.details)
    }

    fn remark(&self) -> Option<String> {
        Some(without_bar1(Path::new(GDRCOPY).exists()))
    }
}

/// The device of GDRCopy's driver, which maps memory of a GPU into a process.
const GDRCOPY: &str = "/dev/gdrdrv";

/// The remark about GDRCopy: a program with this driver crosses the link once less in each direction than this row does.
fn without_bar1(is_there: bool) -> String {
    let lacks = if is_there { "which is loaded here and not used" } else { "which is not loaded here" };
    format!(
        "both flags lie in the host's memory; in the GPU's, mapped through BAR1, they need GDRCopy's driver ({GDRCOPY}), {lacks}"
    )
}

/// The words in memory, as the CPU thread uses them.
#[derive(Debug, Clone, Copy)]
struct Mailbox<'a> {
    gpu_turn: &'a AtomicU32,
    cpu_turn: &'a AtomicU32,
    question: &'a AtomicU32,
    answer: &'a AtomicU32,
}

impl<'a> Mailbox<'a> {
    fn of(words: &'a HostBuffer) -> Self {
        let [gpu_turn, cpu_turn, question, answer] =
            [GPU_TURN, CPU_TURN, QUESTION, ANSWER].map(|byte| words.atomic_u32(byte));
        Self { gpu_turn, cpu_turn, question, answer }
    }

    /// Answers until the turn ends. It polls without a pause instruction, which would be part of every round trip.
    fn answer(self, turn: &Turn, asked: bool) -> Answers {
        let mut seen = self.cpu_turn.load(Ordering::Relaxed);
        let mut answers = Answers::default();
        let mut readings: Option<[(u64, u64); 2]> = None;
        let mut idle = 0_u32;
        loop {
            // Acquire: sees what the GPU wrote before its turn.
            let number = self.gpu_turn.load(Ordering::Acquire);
            if number == seen {
                idle = idle.wrapping_add(1);
                if idle.is_multiple_of(256) && turn.is_over() {
                    return Answers { ns_each: readings.and_then(ns_each), ..answers };
                }
                continue;
            }
            if asked {
                // Relaxed: the store to `cpu_turn` orders it.
                self.answer.store(!self.question.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            // Release: the GPU sees what was written before the answer.
            self.cpu_turn.store(number, Ordering::Release);
            answers.count += 1;
            answers.out_of_order += u64::from(number != seen.wrapping_add(1));
            seen = number;
            if answers.count.is_multiple_of(TURNS_PER_READING) {
                let reading = (answers.count, host_clock::now_ns());
                readings = Some([readings.map_or(reading, |[first, _]| first), reading]);
            }
        }
    }
}

/// Nanoseconds from one answer to the next, between two readings of the clock; `None` if there was only one reading.
fn ns_each([(first_count, first_ns), (last_count, last_ns)]: [(u64, u64); 2]) -> Option<f64> {
    (last_count > first_count).then(|| (last_ns - first_ns) as f64 / (last_count - first_count) as f64)
}

fn silence(turn: &Turn) -> Answers {
    while !turn.is_over() {
        std::thread::yield_now();
    }
    Answers::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use syncscope_host::scheduling;

    /// Does on a CPU thread what a kernel does. Returns whether all answers were right.
    fn ask(mailbox: Mailbox, count: u32) -> bool {
        let started = Instant::now();
        (1..=count).all(|turn| {
            mailbox.question.store(turn * 3, Ordering::Relaxed);
            mailbox.gpu_turn.store(turn, Ordering::Release);
            while mailbox.cpu_turn.load(Ordering::Acquire) != turn && started.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            mailbox.answer.load(Ordering::Relaxed) == !(turn * 3)
        })
    }

    fn mailbox(words: &[AtomicU32; 4]) -> Mailbox<'_> {
        let [gpu_turn, cpu_turn, question, answer] = words;
        Mailbox { gpu_turn, cpu_turn, question, answer }
    }

    #[test]
    fn what_a_row_lacks_is_said() {
        let texts = [true, false].map(without_bar1);
        assert!(texts[0].ends_with("loaded here and not used") && texts[1].ends_with("not loaded here"), "{texts:?}");
    }

    #[test]
    fn the_cpu_thread_answers_each_turn_once_and_in_order() {
        let words = [const { AtomicU32::new(0) }; 4];
        let mailbox = mailbox(&words);
        let work = |turn: &Turn| mailbox.answer(turn, true);
        let (answered, reports) = with_cpu_threads(&[scheduling::allowed_cpus()[0]], work, |coordinator| {
            coordinator.begin()?;
            Ok((ask(mailbox, 100), coordinator.end()?))
        })
        .unwrap();
        let Answers { count, out_of_order, ns_each } = reports[0].result;
        assert!(answered);
        assert_eq!((count, out_of_order), (100, 0));
        assert!(ns_each.is_some_and(|ns| ns > 0.0), "read at turns 32, 64 and 96");
    }

    #[test]
    fn a_missing_turn_is_detected() {
        let words = [const { AtomicU32::new(0) }; 4];
        let mailbox = mailbox(&words);
        mailbox.gpu_turn.store(2, Ordering::Release);
        let work = |turn: &Turn| mailbox.answer(turn, false);
        let reports = with_cpu_threads(&[scheduling::allowed_cpus()[0]], work, |coordinator| {
            coordinator.begin()?;
            let started = Instant::now();
            while mailbox.cpu_turn.load(Ordering::Acquire) == 0 && started.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            coordinator.end()
        });
        let Answers { count, out_of_order, ns_each } = reports.unwrap()[0].result;
        assert_eq!((count, out_of_order, ns_each), (1, 1, None));
    }

    #[test]
    fn the_host_counts_from_reading_to_reading() {
        assert_eq!(ns_each([(32, 1000), (96, 65_000)]), Some(1000.0));
        assert_eq!(ns_each([(32, 1000), (32, 1000)]), None);
    }

    #[test]
    fn the_kernel_has_the_same_constants() {
        let of = |name| crate::launch::headers::constant_of("hybrid_flag.cu", name);
        assert_eq!(of("TRIPS"), TRIPS.to_string());
        assert_eq!(of("FAR_APART"), format!("{FAR_APART} / sizeof(u32)"));
    }
}
