//! A row: everything a run says about one case, as a line of `measurements.csv` and back.

use csv::StringRecord;

use crate::model::estimate::EqualWork;
use crate::model::limits::{MOST_COUNT, count};
use crate::model::parameter::{set, text};
use crate::run::columns::{Column, count, number, number_text, row, word};
use crate::stats::Variance;
use crate::units::rounded;
use crate::{
    Actor, Case, Catalogue, Check, Class, Cycles, Estimate, Facts, Hertz, Interval, Level, Measurement, Mode,
    Nanoseconds, Population, Verdict,
};

/// How far the figure of a row is from those of other runs in the same state, by what processes differ by: variances of its
/// logarithm, as the figure of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunToRun {
    /// What it moves with.
    pub class: Class,
    /// Of the cost in nanoseconds.
    pub ns: Parts,
    /// Of that in cycles.
    pub cycles: Option<Parts>,
}

/// The parts of that variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// What the row has of its own.
    pub own: Variance,
    /// What all rows of its class share; zero where too few say so.
    pub shared: Variance,
}

row! {
    /// Everything a run says about one case, and the columns of `measurements.csv` that it stands in. A new result is a field here
    /// with its columns at the end, and the place that fills the field.
    ///
    /// An empty cell means: not applicable, or not available. What follows from other columns is written for other programs, and
    /// never read.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Row {
        /// The case.
        pub case: Case => [
            // It says whether the `mode` is a parameter of the case.
            Column::text(
                "case_id",
                "identity of the case: 64-bit FNV-1a hash of its parameters, the same on every machine",
                |row| row.case.id().0,
                |_, _, _| Some(()),
            )
            .left_to_script(),
            Column::derived("domain", "first part of the id: `cpu`, `gpu`, `hybrid` or `mpi`", |row| {
                row.case.domain_and_family().0.to_owned()
            })
            .left_to_script(),
            Column::derived("family", "second part of the id", |row| row.case.domain_and_family().1.to_owned())
                .left_to_script(),
            Column::parameter("primitive"),
            Column::parameter("dtype"),
            Column::parameter("layout"),
            Column::parameter("stride"),
            Column::parameter("threads"),
            Column::parameter("blocks"),
            Column::parameter("devices"),
            Column::parameter("placement"),
            Column::parameter("scope"),
            Column::parameter("space"),
            Column::parameter("order"),
        ];
        /// How the operations follow each other: as the case says, or as its primitive implies.
        pub mode: Option<Mode> => [Column::parameter("mode").written(|row| text(row.mode)), Column::parameter("group")];
        /// Cost of one operation, for the actors and the population that the row is about.
        pub ns: Option<Nanoseconds> => [
            number!(ns as Nanoseconds, "ns", "ns", "cost of one operation for the `actor` over the `population`"),
        ];
        /// 95 % interval of `ns` for another run on this machine: the one to quote.
        pub ns_interval: Option<Interval> => [
            number!(
                ns_interval.low,
                "ns_low",
                "ns",
                "lower end of the 95 % interval of `ns` for another run on this machine in the same state (run-to-run, a prediction)"
            )
            .measured_by_runs(),
            number!(ns_interval.high, "ns_high", "ns", "its upper end").measured_by_runs(),
        ];
        /// The same in cycles of the core or multiprocessor.
        pub cycles: Option<Cycles> => [
            number!(cycles as Cycles, "cycles", "cycles", "the same cost in cycles of the core or multiprocessor"),
        ];
        /// 95 % interval of `cycles` for another run.
        pub cycles_interval: Option<Interval> => [
            number!(
                cycles_interval.low,
                "cycles_low",
                "cycles",
                "lower end of the 95 % interval of `cycles` for another run"
            )
            .measured_by_runs(),
            number!(cycles_interval.high, "cycles_high", "cycles", "its upper end").measured_by_runs(),
            Column::derived("ops_per_s_thread", "operations per second of one thread: 1/`ns`; only if `Resolved`", |row| {
                number_text(row.ops_per_s_thread())
            })
            .in_unit("1/s")
            .left_to_script(),
        ];
        /// Operations per second of all actors together; follows from `rate_ns`.
        pub ops_per_s_total: Option<f64> => [
            Column::derived(
                "ops_per_s_total",
                "operations per second of all threads together: how many they do at once / `rate_ns`. A barrier is one operation of all \
                 that meet, a GPU lock has one of each warp, a launch is one; only if `Resolved`",
                |row| number_text(row.ops_per_s_total),
            )
            .in_unit("1/s"),
        ];
        /// Cost of one operation as the fastest actor sees it.
        pub fastest_ns: Option<Nanoseconds> => [
            number!(fastest_ns as Nanoseconds, "fastest_ns", "ns", "cost for the fastest thread"),
        ];
        /// Cost of one operation as the median actor sees it.
        pub median_ns: Option<Nanoseconds> => [
            number!(median_ns as Nanoseconds, "median_ns", "ns", "cost for the median thread"),
        ];
        /// Relative median absolute deviation of the observations.
        pub noise: Option<f64> => [
            number!(noise, "noise", "fraction", "relative median absolute deviation of the pairs").labelled("Noise"),
        ];
        /// Number of pairs the estimate stands on.
        pub pairs: Option<u64> => [count!(pairs, "", "pairs that count").labelled("Pairs")];
        /// Number of pairs excluded for causes seen outside the measured value.
        pub excluded: Option<u64> => [
            count!(excluded, "set_aside", "", "pairs excluded for causes seen outside the measured value"),
        ];
        /// Iterations of the loop in each sample.
        pub iterations: Option<u64> => [count!(iterations, "", "iterations of the loop in each sample")];
        /// Operations in one iteration of the baseline.
        pub unroll: Option<u32> => [count!(unroll, "operations", "operations in one iteration of the baseline")];
        /// What the figure is worth.
        pub verdict: Verdict => [
            Column::text(
                "verdict",
                "what the figure is worth ([verdicts](METHOD.md#verdicts))",
                |row| row.verdict.name().to_owned(),
                |row, cell, cells| row.read_verdict(cell, cells.cell("reason").unwrap_or_default()),
            ),
        ];
        /// What a reader of a resolved figure must know, such as "4 threads on 2 CPUs". Stands in the column `reason`, after
        /// the verdict's own reason.
        pub remark: Option<String> => [
            // Read with the verdict.
            Column::text("reason", "the reason of the verdict, or a remark on a resolved cost", Row::explanation, |_, _, _| {
                Some(())
            }),
        ];
        /// Whether the primitive did its work; `None` where that cannot be seen.
        pub check: Option<bool> => [
            Column::text(
                "check",
                "proof that the primitive did its work: `ok`, `failed` or empty",
                |row| row.check.map_or("", |is_ok| if is_ok { "ok" } else { "failed" }).to_owned(),
                |row, cell, _| {
                    row.check = Some(["failed", "ok"].iter().position(|word| *word == cell)? == 1);
                    Some(())
                },
            )
            .labelled("Check"),
        ];
        /// What a disassembler found.
        pub evidence: Option<String> => [
            word!(
                evidence,
                "summary of the instructions found in the timed region, then the other instructions of an operation"
            )
            .labelled("Instructions"),
        ];
        /// Clock of the core or multiprocessor: cycles over nanoseconds of a resolved cost, else that of the pairs that count.
        pub clock: Option<Hertz> => [
            number!(clock as Hertz, "clock_hz", "Hz", "clock of the core or multiprocessor: `cycles`/`ns` of a resolved cost, else that of the pairs that count"),
            Column::parameter("form"),
        ];
        /// Whose cost `ns` is; `None` where nobody said so.
        pub actor: Option<Actor> => [
            word!(
                actor,
                "whose cost `ns` is: the `slowest` thread's where all meet, the `median` thread's where nothing is shared, the `mean` of \
                 all threads in a common window"
            ),
        ];
        /// Cost of one operation as the slowest actor sees it.
        pub slowest_ns: Option<Nanoseconds> => [
            number!(slowest_ns as Nanoseconds, "slowest_ns", "ns", "cost for the slowest thread; in a window it depends on the window's length (`window_ns` in details.csv)"),
        ];
        /// The 5th and the 95th percentile of the pairs: what a program may meet.
        pub ns_spread: Option<Interval> => [
            number!(ns_spread.low, "ns_p05", "ns", "5th percentile of the pairs: over addresses, orders and times"),
            number!(ns_spread.high, "ns_p95", "ns", "95th percentile of the pairs"),
        ];
        /// 95 % interval of `ns` within this run: the one to compare rows of this run by.
        pub ns_within: Option<Interval> => [
            number!(
                ns_within.low,
                "within_low",
                "ns",
                "lower end of the 95 % interval of `ns` within this run: the one to compare rows of this run by"
            ),
            number!(ns_within.high, "within_high", "ns", "its upper end"),
        ];
        /// Which samples `ns` stands for.
        pub population: Option<Population> => [
            word!(
                population,
                "samples that `ns` stands for: `alone` (the threads had their cores for themselves), `all`"
            ),
        ];
        /// Share of the samples of actors with SMT interference, 0 to 1; `None` where it is not detected.
        pub beside_share: Option<f64> => [
            number!(
                beside_share,
                "beside_share",
                "fraction",
                "share of the samples with SMT interference (another hardware thread is active); empty where it is not detected"
            )
            .labelled("SMT interference"),
        ];
        /// Number of runs that the row joins; `None` for one.
        pub runs: Option<u64> => [count!(runs, "", "runs that the row joins, if more than one")];
        /// Whether the run ended before all measurement blocks of this case were taken. A resumed run measures such cases again.
        pub provisional: bool => [
            Column::text(
                "provisional",
                "`yes` if the run ended before all measurement blocks of the case were taken; a resumed run measures it again",
                |row| if row.provisional { "yes" } else { "" }.to_owned(),
                |row, cell, _| {
                    row.provisional = cell == "yes";
                    row.provisional.then_some(())
                },
            ),
        ];
        /// All actors together execute their number of operations in this time, see [`Estimate::rate_ns`].
        pub rate_ns: Option<Nanoseconds> => [
            number!(
                rate_ns as Nanoseconds,
                "rate_ns",
                "ns",
                "time in which all threads together execute their number of operations: the harmonic mean of their costs, or the \
                 cost of the slowest where that counts; empty where not all run at the same time"
            ),
        ];
        /// 95 % interval of `cycles` within this run.
        pub cycles_within: Option<Interval> => [
            number!(
                cycles_within.low,
                "cycles_within_low",
                "cycles",
                "lower end of the 95 % interval of `cycles` within this run"
            ),
            number!(cycles_within.high, "cycles_within_high", "cycles", "its upper end"),
            Column::parameter("elements"),
        ];
        /// What is assumed of another run, not measured, and not in `ns_interval`: half of a 95 % interval, relative to the cost.
        pub allowance: Option<f64> => [
            Column::derived(
                "allowance",
                "what is assumed of another run, not measured, and not in `ns_low` to `ns_high`: half of a 95 % interval, relative to \
                 `ns`; empty where the differences between processes or runs were measured",
                |row| number_text(row.allowance),
            )
            .in_unit("fraction"),
            Column::parameter("inside"),
            Column::parameter("outside"),
        ];
        /// Cost of one operation where every actor does as many as the others, until the last is done; `None` where a window serves
        /// them alike.
        pub equal_work_ns: Option<Nanoseconds> => [
            number!(
                equal_work_ns as Nanoseconds,
                "equal_work_ns",
                "ns",
                "cost of one operation where every thread does as many as the others, until the last is done; empty where a window \
                 serves the threads alike, and where `ns` is no mean"
            ),
        ];
        /// Its 95 % interval within this run.
        pub equal_work_within: Option<Interval> => [
            number!(equal_work_within.low, "equal_work_low", "ns", "lower end of its 95 % interval within this run"),
            number!(equal_work_within.high, "equal_work_high", "ns", "its upper end"),
        ];
        /// The same cost in cycles.
        pub equal_work_cycles: Option<Cycles> => [
            number!(equal_work_cycles as Cycles, "equal_work_cycles", "cycles", "the same cost in cycles of the multiprocessor"),
        ];
        /// How far the figure is from those of other runs, by what processes differ by. It stands in no column: it follows from all
        /// rows and their details together, see [`crate::run::another_run`].
        pub run_to_run: Option<RunToRun> => [];
    }
}

/// The ends with the digits that a file has.
fn as_written(Interval { low, high }: Interval) -> Interval {
    Interval { low: rounded(low), high: rounded(high) }
}

impl Row {
    /// The row of a case that was not measured.
    pub fn unmeasured(case: Case, verdict: Verdict) -> Self {
        Self { mode: case.mode, case, verdict, ..Self::default() }
    }

    /// The same with what is known of its primitive: whose cost it has, and how the operations follow each other.
    pub fn described(self, facts: Option<&Facts>) -> Self {
        let Some(facts) = facts else { return self };
        Self { actor: Some(facts.actor_of(&self.case)), mode: Some(facts.mode_of(&self.case)), ..self }
    }

    /// The row of a case that was measured. Without the `facts` of its primitive, it has no interval for another run
    /// and no rate of all threads.
    pub fn measured(case: Case, facts: Option<&Facts>, measurement: &Measurement) -> Self {
        let estimate = measurement.estimate.as_ref();
        // A fastest or median thread can lose the race in one of the loops alone. Beside a resolved cost such a difference,
        // zero or below, is no cost.
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

    /// With what follows from what was measured and is known of the primitive: the intervals for another run as one row alone
    /// gives them (see [`crate::run::another_run`]), unless it joins runs, which measured them, and the rate of all actors. They follow from the numbers as they are written, so that a row
    /// that was read has the same.
    pub fn with_facts(self, facts: Option<&Facts>) -> Self {
        let Some(facts) = facts else { return self };
        let rate = self.rate_ns.map(|time| facts.operations_at_once(&self.case) as f64 * 1e9 / rounded(time.value()));
        let is_rate = |rate: &f64| {
            matches!(self.verdict, Verdict::Resolved | Verdict::Noisy(_)) && rate.is_finite() && *rate > 0.0
        };
        let row = Self { ops_per_s_total: rate.filter(is_rate), ..self };
        if row.runs.is_some() {
            return row;
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

    /// The same row with the cost of equal work in place of the mean over unequal actors, where that is another one.
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

    /// Takes the columns `verdict` and `reason` apart.
    pub(crate) fn read_verdict(&mut self, verdict: &str, explanation: &str) -> Option<()> {
        self.verdict = Verdict::from_columns(verdict, explanation)?;
        // The reason of every other verdict holds its remark already.
        self.remark = (self.verdict == Verdict::Resolved && !explanation.is_empty()).then(|| explanation.to_owned());
        Some(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::case::{Dtype, Layout, Placement, Population};
    use crate::model::facts::{Role, RunEffect};
    use crate::run::columns::Header;

    fn read(record: &StringRecord) -> Result<Row, String> {
        Header::default().row(record)
    }

    /// Runs of this primitive differ by 2 %.
    fn facts() -> Facts {
        Facts { run_effect: |_| RunEffect::of_both(0.02), ..Facts::of(Role::Update) }
    }

    pub(in crate::run) fn full() -> Row {
        Row {
            ns: Some(Nanoseconds(2.0331)),
            ns_interval: Some(Interval { low: 2.031, high: 2.035 }),
            cycles: Some(Cycles(7.48)),
            cycles_interval: Some(Interval { low: 7.47, high: 7.49 }),
            cycles_within: Some(Interval { low: 7.475, high: 7.485 }),
            allowance: Some(0.01),
            ns_within: Some(Interval { low: 2.032, high: 2.034 }),
            ns_spread: Some(Interval { low: 1.99, high: 2.2 }),
            fastest_ns: Some(Nanoseconds(2.0)),
            median_ns: Some(Nanoseconds(2.0331)),
            slowest_ns: Some(Nanoseconds(2.1)),
            rate_ns: Some(Nanoseconds(2.5)),
            equal_work_ns: Some(Nanoseconds(2.9)),
            equal_work_within: Some(Interval { low: 2.8, high: 3.0 }),
            equal_work_cycles: Some(Cycles(10.7)),
            ops_per_s_total: Some(8e8),
            actor: Some(Actor::Slowest),
            mode: Some(Mode::Throughput),
            population: Some(Population::Alone),
            beside_share: Some(0.25),
            noise: Some(0.001),
            pairs: Some(40),
            excluded: Some(1),
            iterations: Some(1000),
            unroll: Some(16),
            check: Some(true),
            evidence: Some("lock add 16/32".into()),
            clock: Some(Hertz(3.68e9)),
            ..Row::unmeasured(
                Case {
                    dtype: Some(Dtype::I32),
                    layout: Some(Layout::Private { stride: 8 }),
                    threads: Some(2),
                    placement: Some(Placement::List(vec![0, 1])),
                    ..Case::new("cpu.atomic.add")
                },
                Verdict::Resolved,
            )
        }
    }

    #[test]
    fn a_cost_that_may_not_be_written_has_no_throughput() {
        let row = |high| {
            let ns_interval = Some(Interval { low: 1.9, high });
            Row { ns_interval, verdict: Verdict::Noisy("wide".into()), ..full() }.ops_per_s_thread()
        };
        assert!(row(2.2).is_some() && row(9.0).is_none());
    }

    #[test]
    fn a_row_survives_the_way_to_a_file_and_back() {
        let skipped = Row::unmeasured(Case::new("cpu.barrier.std"), Verdict::Skipped("one CPU".into()));
        let remarked = Row { remark: Some("4 threads on 2 CPUs".into()), ..full() };
        let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..full() };
        let provisional = [&full(), &remarked, &noisy].map(|row| Row { provisional: true, ..row.clone() });
        let imported = Row { actor: None, ..full() };
        let joined = Row { runs: Some(3), allowance: None, ..full() };
        for row in [full(), skipped, remarked, imported, joined].into_iter().chain(provisional) {
            let row = row.with_facts(Some(&facts()));
            let record = row.to_record();
            assert_eq!(record.len(), COLUMNS.len());
            assert_eq!(read(&record).unwrap().with_facts(Some(&facts())), row);
        }
    }

    #[test]
    fn what_is_assumed_of_another_run_stands_beside_the_interval() {
        let row = full().with_facts(Some(&facts()));
        assert_eq!((row.ns_interval, row.cycles_interval), (full().ns_within, full().cycles_within));
        assert!((row.allowance.unwrap() - 0.02 * 1.96 * 2_f64.sqrt()).abs() < 1e-9, "two runs are off");
        let both = row.ns_with_allowance().unwrap().half_width() / 2.0331;
        assert!((both - row.allowance.unwrap()).abs() < 1e-4, "{both}");
        let joined = Row { runs: Some(3), allowance: None, ..full() }.with_facts(Some(&facts()));
        assert_eq!(
            (joined.ns_interval, joined.allowance),
            (full().ns_interval, None),
            "what several runs measured stays"
        );
    }

    /// The rate of a thread follows from the cost: from the seven digits that a reader has, not from the ones before.
    #[test]
    fn a_row_that_was_read_is_written_as_it_was() {
        let row = Row { ns: Some(Nanoseconds(10.292_099_091)), ..full() }.with_facts(Some(&facts()));
        let record = row.to_record();
        assert_eq!(read(&record).unwrap().with_facts(Some(&facts())).to_record(), record);
    }

    #[test]
    fn the_columns_hold_what_the_contract_says() {
        let record = full().to_record();
        let cell = |name: &str| record.get(COLUMNS.iter().position(|column| column.name == name).unwrap()).unwrap();
        assert_eq!(cell("domain"), "cpu");
        assert_eq!(cell("family"), "atomic");
        assert_eq!(cell("stride"), "8");
        assert_eq!(cell("placement"), "0,1");
        assert_eq!(cell("check"), "ok");
        assert_eq!(cell("verdict"), "Resolved");
        assert_eq!(cell("clock_hz"), "3680000000");
        assert_eq!(cell("devices"), "");
        assert_eq!(cell("ops_per_s_total"), "800000000");
        assert_eq!((cell("mode"), cell("actor"), cell("population")), ("throughput", "slowest", "alone"));
    }

    #[test]
    fn bad_cells_are_named() {
        let spoil = |column: &str, text: &str| {
            let index = COLUMNS.iter().position(|known| known.name == column).unwrap();
            let cells: Vec<String> = full()
                .to_record()
                .iter()
                .enumerate()
                .map(|(at, cell)| if at == index { text } else { cell }.to_owned())
                .collect();
            read(&StringRecord::from(cells)).unwrap_err()
        };
        assert_eq!(spoil("ns", "NaN"), "column `ns` holds `NaN`");
        assert_eq!(spoil("verdict", "fine"), "column `verdict` holds `fine`");
        assert_eq!(spoil("stride", ""), "column `layout` holds `private`");
        assert_eq!(spoil("within_high", ""), "column `within_high` holds ``");
        assert_eq!(spoil("within_low", ""), "column `within_low` holds ``");
        assert_eq!(spoil("verdict", ""), "column `verdict` holds ``");
        let short = StringRecord::from(vec!["0123", "cpu"]);
        assert!(read(&short).is_err_and(|error| error.contains("2 cells")));
        assert_eq!(spoil("provisional", "no"), "column `provisional` holds `no`");
    }
}
