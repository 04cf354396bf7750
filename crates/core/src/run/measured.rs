//! Makes rows of measurements, and derives what follows from their figures.

use csv::StringRecord;

use crate::model::estimate::EqualWork;
use crate::run::row::{COLUMNS, Row};
use crate::units::rounded;
use crate::{Actor, Case, Catalogue, Check, Estimate, Facts, Interval, Level, Measurement, Nanoseconds, Verdict};

/// The ends with the digits that a file has.
fn as_written(Interval { low, high }: Interval) -> Interval {
    Interval { low: rounded(low), high: rounded(high) }
}

impl Row {
    /// The row of a case that was not measured.
    pub fn unmeasured(case: Case, verdict: Verdict) -> Self {
        Self { mode: case.mode, case, verdict, ..Self::default() }
    }

    /// This row with facts about its primitive: whose cost it has, and how the operations follow each other.
    pub fn described(self, facts: Option<&Facts>) -> Self {
        let Some(facts) = facts else { return self };
        Self { actor: Some(facts.actor_of(&self.case)), mode: Some(facts.mode_of(&self.case)), ..self }
    }

    /// The row of a case that was measured. Without the `facts` of its primitive, it has no interval for another run
    /// and no rate of all threads.
    pub fn measured(case: Case, facts: Option<&Facts>, measurement: &Measurement) -> Self {
        let estimate = measurement.estimate.as_ref();
        // A fastest or median thread can lose the race in one loop alone. Next to a resolved cost, a difference of
        // zero or below is no cost.
        let of_actor = |cost: fn(&Estimate) -> Nanoseconds| {
            estimate.map(cost).filter(|cost| measurement.verdict != Verdict::Resolved || cost.value() > 0.0)
        };
        let equal_work = estimate.and_then(|estimate| estimate.equal_work);
        let row = Self {
            ns: estimate.map(|estimate| estimate.ns),
            ns_within: estimate.and_then(|estimate| estimate.ns_within),
            ns_spread: estimate.and_then(|estimate| estimate.ns_spread),
            cycles: estimate.and_then(|estimate| estimate.cycles),
            cycles_within: estimate.and_then(|estimate| estimate.cycles_within),
            fastest_ns: of_actor(|estimate| estimate.fastest_ns),
            median_ns: of_actor(|estimate| estimate.median_ns),
            slowest_ns: of_actor(|estimate| estimate.slowest_ns),
            rate_ns: estimate.and_then(|estimate| estimate.rate_ns),
            equal_work_ns: equal_work.map(|cost| cost.ns),
            equal_work_within: equal_work.map(|cost| cost.within),
            equal_work_cycles: equal_work.and_then(|cost| cost.cycles),
            population: estimate.map(|estimate| estimate.population),
            beside_share: estimate.and_then(|estimate| Some(estimate.strata.as_ref()?.beside_share)),
            noise: measurement.noise,
            pairs: Some(measurement.pairs),
            excluded: Some(measurement.excluded),
            iterations: Some(measurement.iterations),
            unroll: Some(measurement.unroll),
            remark: measurement.remark.clone(),
            check: match measurement.check {
                Check::Ok => Some(true),
                Check::Failed(_) => Some(false),
                Check::NotApplicable => None,
            },
            evidence: measurement.evidence.summary().map(str::to_owned),
            clock: measurement.clock,
            ..Self::unmeasured(case, measurement.verdict.clone())
        };
        let row = row.described(facts).with_facts(facts);
        Self { actor: measurement.actor.or(row.actor), ..row }
    }

    /// This row with what follows from its figures and the facts about its primitive: the intervals for another run as one
    /// row alone gives them (see [`crate::run::another_run`]), unless the row joins runs, which measured them, and the rate
    /// of all actors. They follow from the numbers as they are written, so that a row that was read has the same.
    pub fn with_facts(self, facts: Option<&Facts>) -> Self {
        let Some(facts) = facts else { return self };
        // A published figure is the time of the slowest thread, in which all threads did as many operations.
        let time = self.rate_ns.or(self.ns.filter(|_| matches!(self.verdict, Verdict::Imported(_))));
        let rate = time.map(|time| facts.operations_at_once(&self.case) as f64 * 1e9 / rounded(time.value()));
        let is_rate = |rate: &f64| {
            (self.verdict.has_cost() || matches!(self.verdict, Verdict::Noisy(_))) && rate.is_finite() && *rate > 0.0
        };
        let row = Self { ops_per_s_total: rate.filter(is_rate), ..self };
        if row.runs.is_some() {
            return Self { allowance: row.allowance.filter(|_| row.runs == Some(1)), ..row };
        }
        let assumed = Level::P95.z * std::f64::consts::SQRT_2 * (facts.run_effect)(&row.case).ns;
        Self {
            ns_interval: row.ns_within.map(as_written),
            cycles_interval: row.cycles_within.map(as_written),
            allowance: (row.ns_within.is_some() && assumed > 0.0).then_some(assumed),
            ..row
        }
    }

    /// The interval of `ns` for another run, with what is assumed beyond what was measured: for comparisons of runs and of
    /// instruments.
    pub fn ns_with_allowance(&self) -> Option<Interval> {
        let (ns, interval) = (self.ns?.value(), self.ns_interval?);
        Some(interval.widened(ns, self.allowance.unwrap_or(0.0) * ns.abs()))
    }

    /// The same row for a comparison within its run, where other runs do not matter.
    pub fn within_run(&self) -> Self {
        let (ns_interval, cycles_interval) = (self.ns_within, self.cycles_within);
        Self { ns_interval, cycles_interval, allowance: None, run_to_run: None, ..self.clone() }
    }

    /// The same row with the cost of equal work in place of the mean over unequal actors, where the two differ.
    pub fn of_equal_work(&self) -> Option<Self> {
        let (ns, within, cycles) = (self.equal_work_ns?, self.equal_work_within?, self.equal_work_cycles);
        let equal_work = EqualWork { ns, within, cycles };
        equal_work.differs_from(self.ns?, self.ns_within).then(|| Self {
            ns: Some(ns),
            ns_within: Some(within),
            ns_interval: Some(as_written(within)),
            ns_spread: None,
            cycles,
            cycles_within: None,
            cycles_interval: None,
            actor: Some(Actor::Slowest),
            run_to_run: None,
            ..self.clone()
        })
    }

    /// [`Self::with_facts`] of what the catalogue knows of its primitive.
    pub fn with_facts_of(self, catalogue: &Catalogue) -> Self {
        let facts = catalogue.facts(&self.case.primitive);
        self.with_facts(facts)
    }

    /// The cells of this row, in the order of [`COLUMNS`].
    pub fn to_record(&self) -> StringRecord {
        COLUMNS.iter().map(|column| column.write(self)).collect()
    }

    /// Operations per second of one thread; only of a cost that may be written. It follows from the cost as it is written, so that a row
    /// that was read gives the same rate.
    pub fn ops_per_s_thread(&self) -> Option<f64> {
        let ns = rounded(self.ns?.value());
        self.has_figure().then(|| 1e9 / ns)
    }

    /// The text in the column `reason`: the verdict's reason and the remark.
    pub fn explanation(&self) -> String {
        let reason = Some(self.verdict.reason()).filter(|reason| !reason.is_empty());
        let parts = [reason, self.remark.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Takes the columns `verdict` and `reason` apart: a reason that is a bound or a width follows from the interval that is shown,
    /// and has no semicolon of its own. The reason of every other verdict keeps its remark.
    pub(crate) fn read_verdict(&mut self, verdict: &str, explanation: &str) -> Option<()> {
        let of_row = Verdict::from_columns(verdict, explanation)?;
        let (reason, remark) = match of_row {
            Verdict::Resolved => ("", explanation),
            Verdict::BelowResolution(_) | Verdict::Noisy(_) => {
                explanation.split_once("; ").unwrap_or((explanation, ""))
            }
            _ => (explanation, ""),
        };
        self.verdict = Verdict::from_columns(verdict, reason)?;
        self.remark = (!remark.is_empty()).then(|| remark.to_owned());
        Some(())
    }
}
