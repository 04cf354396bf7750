//! Rows that cannot be: their figures contradict each other or the verdict.

use crate::run::counts::FASTEST_HZ;
use crate::run::machine::Machine;
use crate::{Cycles, Domain, Hertz, Interval, Nanoseconds, Row, Verdict};

impl Row {
    /// What is wrong with a row that was measured; `None` if nothing is. Beyond [`Self::contradiction`], a verdict must say
    /// why, and a resolved cost must have its interval.
    pub fn defect(&self) -> Option<String> {
        if let Some(contradiction) = self.contradiction() {
            return Some(contradiction);
        }
        if self.verdict != Verdict::Resolved {
            return self.verdict.reason().is_empty().then(|| format!("{} has no reason", self.verdict.name()));
        }
        let within = self.ns_within.or(self.cycles_within);
        within.is_none().then(|| "no cost was resolved".to_owned())
    }

    /// Which of its figures cannot be, by itself or given the others and the verdict; `None` if all can. Every figure must
    /// be a number, no interval may end before it begins, and a resolved cost must be there, above zero, inside its interval
    /// and checked.
    pub fn contradiction(&self) -> Option<String> {
        let intervals = [
            ("ns", self.ns_interval),
            ("ns_within", self.ns_within),
            ("ns_spread", self.ns_spread),
            ("cycles", self.cycles_interval),
            ("cycles_within", self.cycles_within),
            ("equal_work", self.equal_work_within),
        ];
        let intervals = intervals.iter().filter_map(|(name, interval)| interval.map(|interval| (*name, interval)));
        let ends = intervals.clone().flat_map(|(name, interval)| [(name, interval.low), (name, interval.high)]);
        let points = [
            ("ns", self.ns.map(Nanoseconds::value)),
            ("cycles", self.cycles.map(Cycles::value)),
            ("noise", self.noise),
            ("fastest_ns", self.fastest_ns.map(Nanoseconds::value)),
            ("median_ns", self.median_ns.map(Nanoseconds::value)),
            ("slowest_ns", self.slowest_ns.map(Nanoseconds::value)),
            ("equal_work_ns", self.equal_work_ns.map(Nanoseconds::value)),
        ];
        let points = points.into_iter().filter_map(|(name, number)| Some((name, number?)));
        if let Some((name, number)) = points.chain(ends).find(|(_, number)| !number.is_finite()) {
            return Some(format!("`{name}` is {number}"));
        }
        if let Some((name, Interval { low, high })) = intervals.clone().find(|(_, ends)| ends.low > ends.high) {
            return Some(format!("the interval of `{name}` begins at {low} and ends at {high}"));
        }
        let ranges = [
            ("noise", self.noise, 0.0, f64::MAX),
            ("beside_share", self.beside_share, 0.0, 1.0),
            ("clock_hz", self.clock.map(Hertz::value), 1.0, FASTEST_HZ),
        ];
        let is_impossible = |(_, number, least, most): &(_, Option<f64>, f64, f64)| {
            number.is_some_and(|number| !(*least..=*most).contains(&number))
        };
        if let Some((name, number, ..)) = ranges.into_iter().find(is_impossible) {
            return Some(format!("`{name}` is {}, which cannot be", number.unwrap_or_default()));
        }
        if self.verdict.has_cost() { self.contradiction_of_resolved() } else { None }
    }

    /// This row, in which a published GPU figure of less than a cycle is below what can be resolved: in a cycle, the device
    /// issues one instruction of a warp.
    #[must_use]
    pub fn at_least_a_cycle(mut self, machine: &Machine) -> Self {
        let hertz = machine.gpus.iter().filter_map(|gpu| gpu.nominal_clock_hz).reduce(f64::max);
        let cycles = self.ns.zip(hertz).map(|(ns, hertz)| ns.value() * hertz / 1e9);
        let is_published =
            matches!(self.verdict, Verdict::Imported(_)) && self.case.domain_and_family().0 == Domain::Gpu.as_str();
        if is_published && cycles.is_some_and(|cycles| cycles < 1.0) {
            self.verdict =
                Verdict::BelowResolution("the published figure is less than one clock cycle of the device".to_owned());
            self.ops_per_s_total = None;
        }
        self
    }

    fn contradiction_of_resolved(&self) -> Option<String> {
        let Some(cost) = self.ns.map(Nanoseconds::value) else {
            return Some("a resolved cost is missing".to_owned());
        };
        let [cycles, fastest, median] = [
            self.cycles.map(Cycles::value),
            self.fastest_ns.map(Nanoseconds::value),
            self.median_ns.map(Nanoseconds::value),
        ];
        let lowest = self.ns_within.or(self.ns_interval).map(|interval| interval.low);
        if [Some(cost), lowest, cycles, fastest, median].into_iter().flatten().any(|cost| cost <= 0.0) {
            return Some(format!("a figure of a resolved cost, {cost} ns, is not above zero"));
        }
        if [self.ns_within, self.ns_interval].into_iter().flatten().any(|interval| !interval.contains(cost)) {
            return Some(format!("{cost} ns is outside its interval"));
        }
        (self.check == Some(false)).then(|| "a cost was resolved although the check of the work failed".to_owned())
    }

    /// The row for a reader: a row that contradicts itself keeps only its case and the reason.
    pub fn without_contradiction(self) -> Self {
        match self.contradiction() {
            Some(text) => {
                let verdict = Verdict::Failed(format!("the row contradicts itself: {text}"));
                let Self { mode, actor, provisional, .. } = self;
                Self { mode, actor, provisional, ..Self::unmeasured(self.case, verdict) }
            }
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::row::tests::full;

    #[test]
    fn a_published_figure_below_a_cycle_of_the_device_is_no_cost() {
        use crate::Case;
        use crate::run::machine::GpuMachine;

        let gpu = GpuMachine { nominal_clock_hz: Some(2e9), ..GpuMachine::default() };
        let machine = Machine { gpus: vec![gpu], ..Machine::default() };
        let read = |id, ns, verdict| {
            let row = Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(Case::new(id), verdict) };
            row.at_least_a_cycle(&machine).verdict.name()
        };
        let published = || Verdict::Imported(String::new());
        assert_eq!(read("gpu.fence.block", 0.0167, published()), "BelowResolution");
        assert_eq!(read("gpu.fence.block", 0.51, published()), "Imported");
        assert_eq!(read("cpu.atomic.read", 0.0167, published()), "Imported", "a core does several at once");
        assert_eq!(read("gpu.fence.block", 0.0167, Verdict::Resolved), "Resolved", "ours have a limit of their own");
    }

    #[test]
    fn a_figure_without_explanation_is_a_defect() {
        assert_eq!(full().defect(), None);
        let noisy =
            |ns, reason: &str| Row { ns: Some(Nanoseconds(ns)), verdict: Verdict::Noisy(reason.into()), ..full() };
        assert_eq!(noisy(-1.0, "wide").defect(), None, "the verdict says what it is worth");
        assert_eq!(noisy(-1.0, "").defect().as_deref(), Some("Noisy has no reason"));
        assert_eq!(noisy(f64::NAN, "wide").defect().as_deref(), Some("`ns` is NaN"));
        for resolved in [
            Row { ns: Some(Nanoseconds(0.0)), ..full() },
            Row { ns: Some(Nanoseconds(-1.0)), ..full() },
            Row { ns: Some(Nanoseconds(3.0)), ..full() },
            Row { ns_within: Some(Interval { low: -0.1, high: 3.0 }), ..full() },
            Row { ns_within: None, ns_interval: Some(Interval { low: -0.1, high: 3.0 }), ..full() },
            Row { cycles: Some(Cycles(0.0)), ..full() },
            Row { fastest_ns: Some(Nanoseconds(f64::INFINITY)), ..full() },
            Row { ns: None, ..full() },
            Row { fastest_ns: Some(Nanoseconds(-0.5)), ..full() },
            Row { ns_interval: Some(Interval { low: 2.035, high: 2.031 }), ..full() },
            Row { ns_spread: Some(Interval { low: 3.0, high: 1.0 }), ..full() },
            Row { check: Some(false), ..full() },
            Row { noise: Some(-0.1), ..full() },
            Row { beside_share: Some(1.5), ..full() },
            Row { clock: Some(Hertz(-1.0)), ..full() },
            Row { clock: Some(Hertz(1e300)), ..full() },
        ] {
            assert!(resolved.contradiction().is_some(), "{resolved:?}");
            let read = resolved.clone().without_contradiction();
            assert_eq!((read.ns, read.ns_interval, read.verdict.name()), (None, None, "Failed"), "{read:?}");
            assert_eq!(read.case, resolved.case);
        }
        assert_eq!(full().without_contradiction(), full());
        // Figures of others may come without intervals, and costs of other verdicts may be negative.
        let imported = Row { ns_interval: None, ns_within: None, cycles_within: None, ..full() };
        assert_eq!((imported.contradiction(), imported.defect().is_some()), (None, true));
        assert_eq!(noisy(-1.0, "").contradiction(), None);
        let swapped = Row { ns_within: Some(Interval { low: 2.0, high: 1.0 }), ..noisy(1.5, "wide") };
        assert!(swapped.contradiction().unwrap().contains("begins at 2 and ends at 1"));
    }
}
