//! How costs are shown. The interval next to a cost decides how the cost is written and whether it is resolved.
//!
//! A case is measured until its interval within the run, less what its class has in common, is narrow. The row shows the
//! interval for another run, which contains the common part and the interval within the run. The verdict therefore follows,
//! as that interval does, when all rows of a run are known: [`Row::judged`].

use crate::units::significant_digits;
use crate::{Cycles, Interval, Nanoseconds, Row, Settings, Verdict};

/// The widest half interval, relative to the cost, of a rough figure.
pub const ROUGH_UP_TO: f64 = 0.25;

/// Why a cost that was cut short is rough: the processes of the run that did not measure it may have found another one.
const MISSES_BLOCKS: &str = "planned measurement blocks are missing, so the interval is too narrow";

/// The widest half interval, relative to the cost, that is written at all.
pub const RANGE_UP_TO: f64 = 0.5;

impl Row {
    /// The 95 % interval next to the cost: for another run where that is known, and never narrower than within this
    /// run.
    pub fn shown_interval(&self) -> Option<Interval> {
        self.ns_interval.into_iter().chain(self.ns_within).reduce(Interval::union)
    }

    /// Half the width of the shown interval, relative to the cost; `None` without one, as for imported figures.
    pub fn shown_width(&self) -> Option<f64> {
        relative(self.shown_interval()?, self.ns.map(Nanoseconds::value)?)
    }

    /// [`Self::shown_width`] in cycles, which may be narrow where nanoseconds, which change with the clock of the core, are
    /// not.
    pub fn shown_width_in_cycles(&self) -> Option<f64> {
        relative(self.cycles_interval.or(self.cycles_within)?, self.cycles.map(Cycles::value)?)
    }

    /// Whether the cost may be written as a number: it is resolved, or noisy with an interval narrow enough for a rough figure.
    pub fn has_figure(&self) -> bool {
        let is_certain = match self.verdict {
            Verdict::Resolved | Verdict::Imported(_) => true,
            Verdict::Noisy(_) => self.shown_width().is_some_and(|width| width < ROUGH_UP_TO),
            _ => false,
        };
        is_certain && self.ns.is_some_and(|ns| ns.value() > 0.0)
    }

    /// This row with the verdict that its interval gives it, and without the rate of a cost that may not be written. The
    /// joined rows of several runs may be better known than each of them.
    #[must_use]
    pub fn judged(mut self) -> Self {
        let (width, cycles) = (self.shown_width(), self.shown_width_in_cycles());
        let joins_runs = self.runs.is_some_and(|runs| runs > 1);
        let shown = self.shown_interval();
        self.verdict = match (self.verdict, width) {
            (Verdict::Resolved, Some(width)) if width > Settings::NOISY_ABOVE => {
                Verdict::Noisy(why_wide(width, cycles))
            }
            (Verdict::Resolved, Some(_)) if self.provisional => Verdict::Noisy(MISSES_BLOCKS.to_owned()),
            (Verdict::Noisy(_), Some(width)) if width <= Settings::NOISY_ABOVE && joins_runs => Verdict::Resolved,
            // The interval within the run, by which the case was stopped, is not the one next to the cost.
            (Verdict::Noisy(_), Some(width)) if width > Settings::NOISY_ABOVE => {
                Verdict::Noisy(why_wide(width, cycles))
            }
            (Verdict::BelowResolution(reason), _) => Verdict::BelowResolution(shown.map_or(reason, bounded)),
            (verdict, _) => verdict,
        };
        self.ops_per_s_total = self.ops_per_s_total.filter(|_| self.has_figure());
        self
    }
}

/// The reason with the bound that is shown.
fn bounded(shown: Interval) -> String {
    format!("at most {} ns", significant_digits(shown.high))
}

/// The reason of an interval with these half widths, in nanoseconds and in cycles.
fn why_wide(ns: f64, cycles: Option<f64>) -> String {
    let percent = |width: f64| if width < 0.001 { "below 0.1".to_owned() } else { format!("±{:.1}", 100.0 * width) };
    let cycles = cycles.map_or_else(String::new, |cycles| format!(" and {} % in cycles", percent(cycles)));
    format!("the 95 % interval is {} % in nanoseconds{cycles}", percent(ns))
}

fn relative(interval: Interval, cost: f64) -> Option<f64> {
    Some(interval.half_width() / cost.abs()).filter(|width| width.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn row(verdict: Verdict, half: f64) -> Row {
        Row {
            ns: Some(Nanoseconds(100.0)),
            ns_within: Some(Interval { low: 99.0, high: 101.0 }),
            ns_interval: Some(Interval { low: 100.0 - half, high: 100.0 + half }),
            cycles: Some(Cycles(200.0)),
            cycles_interval: Some(Interval { low: 199.0, high: 201.0 }),
            ops_per_s_total: Some(1e7),
            ..Row::unmeasured(Case::new("cpu.atomic.add"), verdict)
        }
    }

    #[test]
    fn the_interval_that_is_shown_decides_and_not_the_one_within_the_run() {
        let judged = |half| row(Verdict::Resolved, half).judged();
        assert_eq!(judged(5.0).verdict, Verdict::Resolved);
        let reason = "the 95 % interval is ±8.3 % in nanoseconds and ±0.5 % in cycles";
        assert_eq!(judged(8.3).verdict, Verdict::Noisy(reason.into()));
        assert_eq!([8.3, 24.0, 26.0].map(|half| judged(half).has_figure()), [true, true, false]);
        assert_eq!([24.0, 26.0].map(|half| judged(half).ops_per_s_total), [Some(1e7), None]);
        let cut = Row { provisional: true, ..row(Verdict::Resolved, 1.0) }.judged();
        assert!(matches!(&cut.verdict, Verdict::Noisy(why) if why.contains("are missing")) && cut.has_figure());
        let imported = Row { ns_within: None, ns_interval: None, ..row(Verdict::Resolved, 1.0) };
        assert_eq!(imported.judged().verdict, Verdict::Resolved, "without an interval nothing is judged");
    }

    /// The remark was known when the row was made, or was read with the reason. The reason is that of the interval which is
    /// shown, and only a narrow one leaves the reason of the measurement.
    #[test]
    fn a_reason_that_is_judged_anew_keeps_the_remark() {
        let remark = "two states: 30.0 ns for 94 % of the run, 106 ns for 6 %; 4 threads on 2 CPUs";
        let reasons = ["the 95 % interval is still ±40 % after 6 pairs", "at most 101 ns"];
        for (name, reason) in ["Noisy", "BelowResolution"].into_iter().zip(reasons) {
            for (runs, half) in [(None, 2.0), (None, 9.0), (Some(3), 9.0), (Some(3), 2.0)] {
                let mut read = Row { runs, ..row(Verdict::Resolved, half) };
                read.read_verdict(name, &format!("{reason}; {remark}")).unwrap();
                let judged = read.judged();
                let said = judged.explanation();
                assert!(said.ends_with(remark), "{name} in {runs:?} runs within {half} %: {said}");
                let is_kept = name == "Noisy" && runs.is_none() && half < 5.0;
                assert_eq!(said.contains(reason), is_kept, "the reason is that of the row which is shown: {said}");
            }
        }
    }

    #[test]
    fn a_reason_is_that_of_the_row_which_is_shown() {
        let joined = |verdict| Row { runs: Some(3), ..row(verdict, 9.0) }.judged().verdict;
        let reason = "the 95 % interval is ±9.0 % in nanoseconds and ±0.5 % in cycles";
        assert_eq!(
            joined(Verdict::Noisy("still ±40 % after 6 pairs; two states".into())),
            Verdict::Noisy(reason.into())
        );
        let remark = Some("served unequally; 4 threads on 2 CPUs".to_owned());
        let below = Row { remark, ..row(Verdict::BelowResolution("at most 101.000 ns".into()), 9.0) }.judged();
        assert_eq!(below.explanation(), "at most 109 ns; served unequally; 4 threads on 2 CPUs");
        let published = Verdict::BelowResolution("less than a cycle".into());
        let without = Row { ns_within: None, ns_interval: None, ..row(published.clone(), 9.0) };
        assert_eq!(without.judged().verdict, published, "without an interval nothing is said");
    }

    #[test]
    fn of_one_run_nothing_becomes_certain_and_of_several_what_their_interval_says() {
        let noisy = |runs, half| Row { runs, ..row(Verdict::Noisy("few blocks".into()), half) }.judged().verdict;
        assert_eq!([noisy(None, 1.0), noisy(Some(1), 1.0), noisy(Some(3), 9.0)].map(|one| one.name()), ["Noisy"; 3]);
        assert_eq!(noisy(Some(3), 4.0), Verdict::Resolved);
    }
}
