//! The rows of the experiment: the time of one variant at one size, and sums within a warp.

use serde::{Deserialize, Serialize};

use super::variants::{Class, Operation, Variant};

/// The time of one variant at one size. Elements are of the type i32.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReductionRow {
    /// The group of variants that are compared with each other.
    pub class: Class,
    /// Id of the variant.
    pub variant: String,
    /// What is computed.
    pub operation: Operation,
    /// Elements of the vector.
    pub elements: u64,
    /// GPUs that take part; `None` on the CPU.
    pub devices: Option<u32>,
    /// Thread blocks of the first kernel, on each GPU.
    pub blocks: Option<u32>,
    /// Threads of a block, or of the team on the CPU.
    pub threads: Option<u32>,
    /// Time of one reduction in nanoseconds.
    pub ns: Option<f64>,
    /// Lower end of its 95 % interval.
    pub ns_low: Option<f64>,
    /// Upper end.
    pub ns_high: Option<f64>,
    /// Bytes of the vector over the time, in 10^9 bytes per second.
    pub gb_per_s: Option<f64>,
    /// Pairs of chains the time stands on.
    pub pairs: u64,
    /// Reductions of the shorter chain of a pair.
    pub chain: u64,
    /// Whether every result was the known answer; `None` if nothing was run.
    pub check: Option<bool>,
    /// Why there is no time, or what a reader must know of it.
    pub reason: Option<String>,
}

/// How the threads of a warp join their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarpMethod {
    /// Through shared memory, with tile groups that halve in each step (Zhang, Wahib and Matsuoka, figure 3).
    Tile,
    /// Through shared memory, with coalesced groups that halve in each step (the same, figure 4).
    Coalesced,
    /// Five shuffles.
    Shuffle,
    /// One reduce instruction, from compute capability 8.0 on.
    Reduce,
}

impl WarpMethod {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tile, Self::Coalesced, Self::Shuffle, Self::Reduce];

    /// For tables.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tile => "tile groups (figure 3)",
            Self::Coalesced => "coalesced groups (figure 4)",
            Self::Shuffle => "five shuffles",
            Self::Reduce => "one reduce instruction",
        }
    }
}

/// A sum over the threads of a warp, of values of the type i32.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarpRow {
    /// How.
    pub method: WarpMethod,
    /// Threads of the one block: 32 for the latency, as in the paper, 1,024 for the throughput.
    pub threads: u32,
    /// Cycles of one reduction by each warp.
    pub cycles: Option<f64>,
    /// Lower end of the 95 % interval.
    pub cycles_low: Option<f64>,
    /// Upper end.
    pub cycles_high: Option<f64>,
    /// The same as `cycles` in nanoseconds.
    pub ns: Option<f64>,
    /// Whether the sums were right.
    pub check: Option<bool>,
    /// Instructions of one reduction.
    pub evidence: Option<String>,
    /// Why there is no figure, or what a reader must know of it.
    pub reason: Option<String>,
}

/// Bytes of an element.
pub const ELEMENT_BYTES: u64 = 4;

impl ReductionRow {
    /// The row of a variant that was not measured.
    #[must_use]
    pub fn unmeasured(variant: &Variant, operation: Operation, elements: u64, reason: String) -> Self {
        Self {
            class: variant.class,
            variant: variant.id.to_owned(),
            operation,
            elements,
            devices: None,
            blocks: None,
            threads: None,
            ns: None,
            ns_low: None,
            ns_high: None,
            gb_per_s: None,
            pairs: 0,
            chain: 0,
            check: None,
            reason: Some(reason),
        }
    }

    /// Fills in time, interval and bandwidth from the times of one reduction in each pair, in the order they were taken. The interval is
    /// that of the ranks; with fewer than six pairs it is their range.
    #[must_use]
    pub fn with_times(mut self, times_ns: &[f64], chain: u64) -> Self {
        let observations: Vec<(u32, f64)> = times_ns.iter().map(|time| (1, *time)).collect();
        let Some(times) = crate::stats::Clustered::of(&observations).filter(crate::stats::Clustered::is_finite) else {
            return self;
        };
        let interval = times.interval_or_range(crate::stats::Level::P95);
        self.pairs = times_ns.len() as u64;
        self.chain = chain;
        self.ns = times.median();
        (self.ns_low, self.ns_high) = (Some(interval.low), Some(interval.high));
        let bytes = (self.elements * ELEMENT_BYTES) as f64;
        self.gb_per_s = self.ns.filter(|ns| *ns > 0.0).map(|ns| bytes / ns);
        self
    }

    /// What is solved: variants of one problem are compared with each other.
    #[must_use]
    pub fn problem(&self) -> (Class, Operation, u32, u64) {
        (self.class, self.operation, self.devices.unwrap_or(1), self.elements)
    }

    /// Half of the width of the interval.
    #[must_use]
    pub fn half_width_ns(&self) -> Option<f64> {
        Some((self.ns_high? - self.ns_low?) / 2.0)
    }

    /// The time, if every result was right and the time is certainly above zero.
    #[must_use]
    pub fn usable_ns(&self) -> Option<f64> {
        let is_resolved = self.check == Some(true) && self.ns_low.is_some_and(|low| low > 0.0);
        self.ns.filter(|ns| *ns > 0.0 && is_resolved)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::published::reductions::variants::{VARIANTS, variant};

    /// A measured row of a variant of the catalogue.
    pub(crate) fn row(id: &str, elements: u64, ns: f64) -> ReductionRow {
        let variant = variant(id).unwrap();
        let mut row = ReductionRow::unmeasured(variant, Operation::Max, elements, String::new());
        row.reason = None;
        row.check = Some(true);
        (row.blocks, row.threads) = (Some(264), Some(512));
        row.with_times(&[ns * 0.99, ns * 0.995, ns, ns, ns * 1.005, ns * 1.01], 8)
    }

    #[test]
    fn time_interval_and_bandwidth_follow_from_the_pairs() {
        let row = row("device.atomic", 1 << 20, 2000.0);
        assert_eq!((row.ns, row.ns_low, row.ns_high), (Some(2000.0), Some(1980.0), Some(2020.0)));
        assert_eq!((row.pairs, row.chain), (6, 8));
        let bandwidth = row.gb_per_s.unwrap();
        assert!((bandwidth - 2097.152).abs() < 1e-6, "{bandwidth}");
        assert_eq!(row.half_width_ns(), Some(20.0));
    }

    #[test]
    fn few_pairs_have_a_range_and_none_have_no_time() {
        let empty = ReductionRow { check: Some(true), ..row("device.atomic", 1024, 1.0) };
        let unmeasured = ReductionRow::unmeasured(&VARIANTS[0], Operation::Sum, 7, "why".to_owned());
        let few = unmeasured.clone().with_times(&[3.0, 1.0, 2.0], 1);
        assert_eq!((few.ns, few.ns_low, few.ns_high), (Some(2.0), Some(1.0), Some(3.0)));
        assert_eq!(unmeasured.clone().with_times(&[], 1), unmeasured);
        assert_eq!(unmeasured.clone().with_times(&[1.0, f64::NAN], 1).ns, None);
        assert_eq!((unmeasured.usable_ns(), empty.usable_ns()), (None, Some(1.0)));
    }

    #[test]
    fn a_time_of_a_wrong_result_does_not_count() {
        let wrong = ReductionRow { check: Some(false), ..row("device.atomic", 1024, 5.0) };
        assert_eq!((wrong.usable_ns(), wrong.ns), (None, Some(5.0)));
        let negative = ReductionRow { ns: Some(-1.0), ..row("device.atomic", 1024, 5.0) };
        let perhaps = ReductionRow { ns_low: Some(-1.0), ..row("device.atomic", 1024, 5.0) };
        assert_eq!((negative.usable_ns(), perhaps.usable_ns()), (None, None));
    }
}
