//! The results of a launch in device memory, read word by word, and the samples made of them.

use syncscope_core::{Disturbance, Ruler, Sample, Shot, Side, Ticks};

use crate::launch::arguments::{Finding, Rate, WARP_THREADS, Warp};

/// Bytes of a word, the unit in which results are read.
pub(crate) const WORD: usize = size_of::<u64>();

/// Words in front of the results of all launches: the findings of the kernels' checks.
pub(crate) const HEAD_WORDS: usize = 4;

const _: () = assert!(size_of::<Finding>() <= HEAD_WORDS * WORD);

pub(crate) const WORDS_OF_RATE: usize = size_of::<Rate>() / WORD;
pub(crate) const WORDS_OF_WARP: usize = size_of::<Warp>() / WORD;

/// The results of one launch of a timed kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) rate: Rate,
    /// All warps at the first offset, then all at the next one.
    pub(crate) warps: Vec<Warp>,
    /// How many memory offsets were used.
    pub(crate) offsets: usize,
}

impl Timing {
    /// Parses the words of a launch that used this many offsets.
    pub(crate) fn of(words: &[u64], offsets: usize) -> Self {
        let (rate, warps) = words.split_at(WORDS_OF_RATE);
        Self {
            rate: Rate { nanoseconds: rate[0], cycles: rate[1] },
            warps: warps.chunks_exact(WORDS_OF_WARP).map(warp_of).collect(),
            offsets,
        }
    }

    /// The warps at each offset.
    pub(crate) fn at_each_offset(&self) -> impl Iterator<Item = &[Warp]> {
        self.warps.chunks(self.warps.len().div_ceil(self.offsets.max(1)).max(1))
    }
}

/// The results of a warp; CUDA devices and their hosts are little-endian.
fn warp_of(words: &[u64]) -> Warp {
    Warp { slowest: words[0], fastest: words[1], chunks: words[2] as u32, late: (words[2] >> 32) as u32 }
}

/// The words of a finding, little-endian too.
pub(crate) fn finding_of(words: &[u64]) -> Finding {
    Finding { mismatches: words[0] as u32, thread: (words[0] >> 32) as u32, expected: words[1], found: words[2] }
}

/// A pair is excluded if the clock frequencies of its two samples differ by more than this fraction.
pub(crate) const CLOCK_CHANGE: f64 = 0.02;

/// A thread's time in a window is that of this many runs of the loop: `CHUNKS_OF_SAMPLE` in `harness.cuh`.
pub(crate) const CHUNKS_OF_SAMPLE: u64 = 16;

/// Operations of the warm-up: `WARM_UP` in `harness.cuh`, or one iteration if it has more.
pub(crate) const fn warm_up_operations(side: Side, unroll: u32) -> u64 {
    let (wanted, iteration) = (2 * unroll as u64, unroll as u64 * (1 + side.copies()));
    if wanted < iteration { iteration } else { wanted / iteration * iteration }
}

/// What the threads of one launch saw, in blocks of `threads`. `None` if there were none.
pub(crate) fn sample_of(timing: &Timing, threads: u32, ruler: &Ruler) -> Option<Sample> {
    let length = ns_per_cycle(timing.rate).unwrap_or(1e9 / ruler.frequency.value());
    timing.at_each_offset().map(|warps| sample_at(warps, threads, length)).reduce(joined)?
}

/// What the threads saw at one memory offset, with a cycle of this many nanoseconds. The threads of a warp run together, so its
/// slowest thread represents them all.
fn sample_at(warps: &[Warp], threads: u32, length: f64) -> Option<Sample> {
    let mut ends: Vec<Ticks> = by_threads(warps, threads).map(|warp| Ticks(warp.slowest)).collect();
    let fastest = Ticks(by_threads(warps, threads).map(|warp| warp.fastest).min()?);
    Some(Sample { fastest, cycles_per_tick: Some(1.0), ..Sample::of_actors(&mut ends, length)? })
}

/// The warps of blocks of `threads` threads, each repeated in proportion to its threads: if the last warp of a block is
/// partial, it counts for less in the median and in the mean rate. A warp without cycles is not part of what is timed: it has
/// nothing to do, or the time of another warp counts (`untimed` in `harness.cuh`).
pub(crate) fn by_threads(warps: &[Warp], threads: u32) -> impl Iterator<Item = &Warp> {
    let (per_block, rest) = (threads.div_ceil(WARP_THREADS).max(1) as usize, threads % WARP_THREADS);
    let (whole, part) = match rest {
        0 => (1, 1),
        _ if per_block == 1 => (1, 1),
        rest => {
            let common = 1 << rest.trailing_zeros();
            (WARP_THREADS / common, rest / common)
        }
    };
    warps.iter().enumerate().filter(|(_, warp)| warp.slowest > 0).flat_map(move |(index, warp)| {
        let is_last = index % per_block == per_block - 1;
        std::iter::repeat_n(warp, if is_last { part } else { whole } as usize)
    })
}

/// Two consecutive loops as one sample: the slowest, the fastest, the median and the time of the mean rate are each added up.
pub(crate) fn joined(one: Option<Sample>, other: Option<Sample>) -> Option<Sample> {
    let (one, other) = (one?, other?);
    let sum = |of: fn(&Sample) -> Ticks| Ticks(of(&one).0 + of(&other).0);
    let slowest = sum(|sample| sample.slowest);
    Some(Sample {
        fastest: sum(|sample| sample.fastest),
        median: sum(|sample| sample.median),
        slowest,
        mean_rate: one.mean_rate + other.mean_rate,
        ns_per_tick: (one.slowest_ns() + other.slowest_ns()) / slowest.0.max(1) as f64,
        ..one
    })
}

/// Operations of each thread in one launch without a window, including the harness's warm-up.
pub(crate) const fn with_warm_up(side: Side, iterations: u64, unroll: u32) -> u64 {
    operations(side, iterations, unroll) + warm_up_operations(side, unroll)
}

/// Operations of each thread in one run of the loop.
pub(crate) const fn operations(side: Side, iterations: u64, unroll: u32) -> u64 {
    iterations * unroll as u64 * (1 + side.copies())
}

/// The length of a cycle; `None` if the global timer did not advance, or gave a frequency that no device's clock has. (The
/// timer's two halves are read one after the other; when the lower one wraps in between, every 4.3 s, the reading is off by
/// that much.)
pub(crate) fn ns_per_cycle(rate: Rate) -> Option<f64> {
    const PLAUSIBLE_HERTZ: std::ops::Range<f64> = 5e7..1e10;
    let length = rate.nanoseconds as f64 / rate.cycles as f64;
    PLAUSIBLE_HERTZ.contains(&(1e9 / length)).then_some(length)
}

/// Marks the pairs in which the clock changed between the two samples.
pub(crate) fn mark_clock_changes(shots: &[Shot], samples: &mut [Sample]) {
    for (index, pair) in shots.windows(2).enumerate() {
        let [one, other] = [index, index + 1];
        let ratio = samples[one].ns_per_tick / samples[other].ns_per_tick;
        if pair[0].pair == pair[1].pair && pair[0].side != pair[1].side && (ratio - 1.0).abs() > CLOCK_CHANGE {
            samples[one].disturbance = Some(Disturbance::ClockChange);
            samples[other].disturbance = Some(Disturbance::ClockChange);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_are_written() {
        let words = [100, 198, 7, 5, 3, 9, 6, 4 << 32 | 2];
        let one = Warp { slowest: 7, fastest: 5, chunks: 3, late: 0 };
        let other = Warp { slowest: 9, fastest: 6, chunks: 2, late: 4 };
        let timing = Timing::of(&words, 1);
        assert_eq!(timing.rate, Rate { nanoseconds: 100, cycles: 198 });
        assert_eq!(timing.at_each_offset().collect::<Vec<_>>(), [&[one, other][..]]);
        let two_offsets = Timing::of(&words, 2);
        assert_eq!(two_offsets.at_each_offset().collect::<Vec<_>>(), [&[one][..], &[other][..]]);
        let finding = finding_of(&[(5 << 32) | 2, 10, 11]);
        assert_eq!(finding, Finding { mismatches: 2, thread: 5, expected: 10, found: 11 });
    }

    #[test]
    fn a_warp_without_cycles_is_no_actor() {
        let warp = |slowest| Warp { slowest, fastest: slowest, chunks: 0, late: 0 };
        let ruler =
            Ruler { name: "", frequency: syncscope_core::Hertz(1e9), resolution: Ticks(1), read_cost: Ticks(0) };
        let timing =
            Timing { rate: Rate { nanoseconds: 0, cycles: 0 }, warps: vec![warp(0), warp(90), warp(0)], offsets: 1 };
        let sample = sample_of(&timing, 32, &ruler).unwrap();
        assert_eq!([sample.median, sample.slowest], [Ticks(90); 2], "half of it is nobody's time");
        assert!((sample.mean_rate - 90.0).abs() < 1e-9, "{sample:?}");
    }

    fn sample(ns_per_tick: f64) -> Sample {
        Sample::of_actors(&mut [Ticks(10)], ns_per_tick).unwrap()
    }

    fn shot(side: Side, pair: u64) -> Shot {
        Shot { side, iterations: 1, pair }
    }

    #[test]
    fn pairs_with_two_clocks_are_marked_and_no_others() {
        let shots = [
            shot(Side::Baseline, 0),
            shot(Side::Test, 0),
            shot(Side::Test, 1),
            shot(Side::Baseline, 1),
            shot(Side::Baseline, 2),
            shot(Side::Test, 2),
        ];
        let mut samples = [0.5, 0.501, 0.51, 0.6, 0.6, 0.6].map(sample);
        mark_clock_changes(&shots, &mut samples);
        let marked: Vec<bool> = samples.iter().map(|sample| sample.disturbance.is_some()).collect();
        assert_eq!(marked, [false, false, true, true, false, false]);
    }

    #[test]
    fn the_test_has_twice_the_operations() {
        assert_eq!([Side::Baseline, Side::Test].map(|side| operations(side, 10, 32)), [320, 640]);
        let with_warm_up = [Side::Baseline, Side::Test, Side::Double].map(|side| with_warm_up(side, 10, 4));
        assert_eq!(with_warm_up, [40 + 8, 80 + 8, 120 + 12], "as many to warm up, or a whole iteration");
    }

    #[test]
    fn an_impossible_clock_is_not_used() {
        let length = |nanoseconds, cycles| ns_per_cycle(Rate { nanoseconds, cycles });
        assert_eq!(length(1000, 2000), Some(0.5));
        assert_eq!(length(0, 2000), None, "the timer did not step");
        assert_eq!(length(0, 0), None);
        assert_eq!(length((1 << 32) + 1000, 2000), None, "a torn reading");
        assert_eq!(length(1000_u64.wrapping_sub(1 << 32), 2000), None);
    }

    #[test]
    fn a_sample_is_the_sum_of_the_slowest_warps_at_each_offset() {
        let ruler =
            Ruler { name: "test", frequency: syncscope_core::Hertz(2e9), resolution: Ticks(1), read_cost: Ticks(1) };
        let of = |warps: [(u64, u64); 4], offsets| {
            let warps = warps.map(|(slowest, fastest)| Warp { slowest, fastest, ..Warp::default() }).to_vec();
            let timing = Timing { rate: Rate { nanoseconds: 0, cycles: 0 }, warps, offsets };
            let sample = sample_of(&timing, 64, &ruler).unwrap();
            (sample.fastest.0, sample.median.0, sample.slowest.0, sample.ns_per_tick)
        };
        let warps = [(10, 9), (50, 40), (30, 20), (21, 20)];
        assert_eq!(of(warps, 1), (9, 21_u64.midpoint(30), 50, 0.5));
        assert_eq!(of(warps, 2), (9 + 20, 30 + 21_u64.midpoint(30), 50 + 30, 0.5));
        let none = Timing { rate: Rate { nanoseconds: 0, cycles: 0 }, warps: Vec::new(), offsets: 1 };
        assert_eq!(sample_of(&none, 64, &ruler), None);
    }

    #[test]
    fn rates_are_averaged_over_threads() {
        let ruler =
            Ruler { name: "test", frequency: syncscope_core::Hertz(2e9), resolution: Ticks(1), read_cost: Ticks(1) };
        let of = |threads, warps: &[u64], offsets| {
            let warps =
                warps.iter().map(|slowest| Warp { slowest: *slowest, fastest: *slowest, ..Warp::default() }).collect();
            sample_of(&Timing { rate: Rate { nanoseconds: 0, cycles: 0 }, warps, offsets }, threads, &ruler).unwrap()
        };
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-12;
        assert!(close(of(64, &[10, 30], 1).mean_rate, 2.0 / (1.0 / 10.0 + 1.0 / 30.0)));
        // 32 threads take 10 and 16 threads take 30, in each of two blocks.
        let parts = of(48, &[10, 30, 10, 30], 1);
        assert!(close(parts.mean_rate, 96.0 / (64.0 / 10.0 + 32.0 / 30.0)));
        assert_eq!((parts.median, parts.slowest), (Ticks(10), Ticks(30)));
        assert!(close(of(33, &[10, 30], 1).mean_rate, 33.0 / (32.0 / 10.0 + 1.0 / 30.0)));
        assert!(close(of(7, &[10, 30], 1).mean_rate, 15.0), "blocks with a part of a warp each are alike");
        assert!(close(of(64, &[10, 30, 40, 40], 2).mean_rate, 15.0 + 40.0), "one offset after the other");
    }
}
