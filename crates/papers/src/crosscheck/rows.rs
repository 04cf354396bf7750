//! From the pairs of a case to its row, by formulas 1 and 2 of Zhang, Wahib, Matsuoka, section 3.2.

use serde::{Deserialize, Serialize};

use super::{BothClocks, CrosscheckPair, CrosscheckSeries, Executor, Form, Operation};
use syncscope_core::stats::{Level, Ranked, median, variance};

/// A line of `crosscheck.csv`. Costs are per operation. Each cost is the median over pairs with its 95 % interval
/// within the run; an interval needs six pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CrosscheckRow {
    /// Who executes the chain.
    pub executor: Executor,
    /// What is repeated.
    pub operation: Operation,
    /// The form of the repetitions in the code.
    pub form: Form,
    /// Operations that follow one another in the code.
    pub body: u64,
    /// Blocks of the grid.
    pub blocks: Option<u32>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Repetitions of the shorter chain.
    pub repeats_few: u64,
    /// Repetitions of the longer chain.
    pub repeats_many: u64,
    /// Pairs of a shorter and a longer chain.
    pub pairs: u64,
    /// The measured clock that converts the host's time to cycles: the median over the pairs.
    pub clock_hz: Option<f64>,
    /// The shorter chain by the outside clock: the median.
    pub few_outside_ns: Option<f64>,
    /// Standard deviation of the shorter chain by the outside clock.
    pub few_outside_deviation_ns: Option<f64>,
    /// The longer chain by the outside clock: the median.
    pub many_outside_ns: Option<f64>,
    /// Standard deviation of the longer chain by the outside clock.
    pub many_outside_deviation_ns: Option<f64>,
    /// Formula 1 with the outside clock.
    pub inferred_ns: Option<f64>,
    /// Formula 1 with the outside clock, in cycles of the measured clock.
    pub inferred_cycles: Option<f64>,
    /// Lower end of the interval of `inferred_cycles`.
    pub inferred_cycles_low: Option<f64>,
    /// Upper end of the interval.
    pub inferred_cycles_high: Option<f64>,
    /// Formula 2, in cycles.
    pub inferred_deviation_cycles: Option<f64>,
    /// The longer chain by the inside clock, divided by its repetitions: the paper's figure of the GPU.
    pub inside_whole_cycles: Option<f64>,
    /// Formula 1 with the inside clock.
    pub inside_cycles: Option<f64>,
    /// Lower end of the interval of `inside_cycles`.
    pub inside_cycles_low: Option<f64>,
    /// Upper end of the interval.
    pub inside_cycles_high: Option<f64>,
    /// Cycles that the operation is known to cost here.
    pub known_cycles: Option<f64>,
    /// What proves that the operations were executed: `ok`, or what was wrong.
    pub check: Option<String>,
    /// The instructions between the two clock reads.
    pub evidence: Option<String>,
}

impl CrosscheckRow {
    /// The number of repetitions by which the longer chain exceeds the shorter one.
    pub const fn difference(&self) -> u64 {
        self.repeats_many.saturating_sub(self.repeats_few)
    }

    /// The part by which the cost inferred from outside exceeds the inside cost; `None` if either is unknown.
    pub fn disagreement(&self) -> Option<f64> {
        let part = self.inferred_cycles? / self.inside_cycles? - 1.0;
        part.is_finite().then_some(part)
    }

    /// The least and the most by which the two costs differ, as parts of the inside cost, within the interval of the
    /// outside cost.
    pub fn apart(&self) -> Option<(f64, f64)> {
        let (outside, inside) = (self.inferred_cycles?, self.inside_cycles?);
        let low = self.inferred_cycles_low.unwrap_or(outside) / inside - 1.0;
        let high = self.inferred_cycles_high.unwrap_or(outside) / inside - 1.0;
        let (least, most) = (low.max(-high).max(0.0), high.max(-low));
        (least.is_finite() && most.is_finite()).then_some((least, most))
    }
}

/// A line of `crosscheck_samples.csv`: one pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrosscheckSample {
    /// The row of `crosscheck.csv`, counted from 0.
    pub row: u64,
    /// The pair, counted from 0, in the order of time.
    pub pair: u64,
    /// Whether the longer chain came first.
    pub many_first: bool,
    /// The shorter chain by the outside clock.
    pub few_outside_ns: f64,
    /// The shorter chain by the inside clock.
    pub few_inside_cycles: f64,
    /// The longer chain by the outside clock.
    pub many_outside_ns: f64,
    /// The longer chain by the inside clock.
    pub many_inside_cycles: f64,
    /// The clock measured next to this pair.
    pub clock_hz: f64,
}

/// The lines of a series' pairs.
pub(super) fn samples_of(row: u64, series: &CrosscheckSeries) -> impl Iterator<Item = CrosscheckSample> {
    series.pairs.iter().enumerate().map(move |(pair, found)| CrosscheckSample {
        row,
        pair: pair as u64,
        many_first: found.many_first,
        few_outside_ns: found.few.outside_ns,
        few_inside_cycles: found.few.inside_cycles,
        many_outside_ns: found.many.outside_ns,
        many_inside_cycles: found.many.inside_cycles,
        clock_hz: found.cycles_per_ns * 1e9,
    })
}

/// The row of a series.
pub(super) fn row_of(series: &CrosscheckSeries) -> CrosscheckRow {
    let CrosscheckSeries { case, pairs } = series;
    let (few, many) = (case.repeats_few, case.repeats_many);
    let each = |value: fn(&CrosscheckPair) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
    let outside = [each(|pair| pair.few.outside_ns), each(|pair| pair.many.outside_ns)];
    let deviations = [standard_deviation(&outside[0]), standard_deviation(&outside[1])];
    let formula_1 = |time: fn(&BothClocks) -> f64, scale: fn(&CrosscheckPair) -> f64| {
        let of = |pair: &CrosscheckPair| Some(cost(time(&pair.many), time(&pair.few), many, few)? * scale(pair));
        pairs.iter().filter_map(of).collect::<Vec<f64>>()
    };
    let inferred = Ranked::of(&formula_1(|side| side.outside_ns, |pair| pair.cycles_per_ns));
    let inside = Ranked::of(&formula_1(|side| side.inside_cycles, |_| 1.0));
    let [inferred_interval, inside_interval] = [&inferred, &inside].map(|costs| costs.interval(Level::P95));
    let cycles_per_ns = median(&each(|pair| pair.cycles_per_ns));
    let deviation = deviations[1]
        .zip(deviations[0])
        .and_then(|(many_ns, few_ns)| Some(cost_deviation(many_ns, few_ns, many, few)? * cycles_per_ns?));
    CrosscheckRow {
        pairs: pairs.len() as u64,
        clock_hz: cycles_per_ns.map(|cycles| cycles * 1e9),
        few_outside_ns: median(&outside[0]),
        few_outside_deviation_ns: deviations[0],
        many_outside_ns: median(&outside[1]),
        many_outside_deviation_ns: deviations[1],
        inferred_ns: median(&formula_1(|side| side.outside_ns, |_| 1.0)),
        inferred_cycles: inferred.median(),
        inferred_cycles_low: inferred_interval.map(|interval| interval.low),
        inferred_cycles_high: inferred_interval.map(|interval| interval.high),
        inferred_deviation_cycles: deviation,
        inside_whole_cycles: median(&each(|pair| pair.many.inside_cycles)).map(|cycles| cycles / many as f64),
        inside_cycles: inside.median(),
        inside_cycles_low: inside_interval.map(|interval| interval.low),
        inside_cycles_high: inside_interval.map(|interval| interval.high),
        ..case.clone()
    }
}

/// Formula 1: the cost of one operation, from the times of a chain with many repetitions and of one with few. `None` if the
/// repetitions do not differ.
fn cost(time_many: f64, time_few: f64, repeats_many: u64, repeats_few: u64) -> Option<f64> {
    Some((time_many - time_few) / difference(repeats_many, repeats_few)?)
}

/// Formula 2: the standard deviation of this cost, from the standard deviations of the two times, which it assumes to
/// vary independently. `None` if the repetitions do not differ.
fn cost_deviation(deviation_many: f64, deviation_few: f64, repeats_many: u64, repeats_few: u64) -> Option<f64> {
    Some(deviation_many.hypot(deviation_few) / difference(repeats_many, repeats_few)?)
}

fn difference(many: u64, few: u64) -> Option<f64> {
    many.checked_sub(few).filter(|difference| *difference > 0).map(|difference| difference as f64)
}

/// The standard deviation of a sample (with n - 1); `None` for fewer than two values.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| variance(values).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's V100 runs at 1,312 MHz (table 3). Table 1: 4.034 cycles at a difference of 5,120, which is 15.74 us.
    #[test]
    fn formula_1_gives_the_papers_cycles_from_times_of_its_clock() {
        const GHZ: f64 = 1.312;
        for (difference, cycles) in [(2056, 4.045), (5120, 4.034), (10_240, 7.259), (51_200, 7.005)] {
            let launch_ns = 9_000.0;
            let many_ns = launch_ns + (512.0 * 4.0 + difference as f64 * cycles) / GHZ;
            let few_ns = launch_ns + 512.0 * 4.0 / GHZ;
            let found = cost(many_ns, few_ns, 512 + difference, 512).unwrap() * GHZ;
            assert!((found - cycles).abs() < 1e-9, "{difference}: {found}");
        }
        let by_hand = cost(10.0, 4.0, 5, 3);
        assert_eq!(by_hand, Some(3.0));
    }

    #[test]
    fn formula_2_falls_with_the_difference_of_repetitions() {
        assert_eq!(cost_deviation(3.0, 4.0, 5632, 512), Some(5.0 / 5120.0));
        let [short, long] = [2056, 51_200].map(|more| cost_deviation(200.0, 200.0, 512 + more, 512).unwrap());
        assert!((short / long - 51_200.0 / 2056.0).abs() < 1e-9, "{short} {long}");
    }

    #[test]
    fn repetitions_that_do_not_differ_give_nothing() {
        assert_eq!((cost(2.0, 1.0, 512, 512), cost(2.0, 1.0, 511, 512)), (None, None));
        assert_eq!(cost_deviation(2.0, 1.0, 512, 512), None);
    }

    #[test]
    fn the_deviation_of_a_sample() {
        assert_eq!(standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some((32.0_f64 / 7.0).sqrt()));
        assert_eq!((standard_deviation(&[1.0]), standard_deviation(&[])), (None, None));
    }
}
