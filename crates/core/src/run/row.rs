//! One line of `measurements.csv`.

use csv::StringRecord;

use crate::engine::measurement::Measurement;
use crate::model::case::{Case, Layout};
use crate::model::check::Check;
use crate::model::estimate::Estimate;
use crate::model::units::{Cycles, Hertz, Nanoseconds, significant};
use crate::model::verdict::Verdict;
use crate::stats::Interval;

/// Everything a run says about one case. An empty cell means: not applicable, or not available.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The case.
    pub case: Case,
    /// Cost of one operation as the slowest actor sees it.
    pub ns: Option<Nanoseconds>,
    /// 95 % interval of `ns`.
    pub ns_interval: Option<Interval>,
    /// The same in cycles of the core or multiprocessor.
    pub cycles: Option<Cycles>,
    /// 95 % interval of `cycles`.
    pub cycles_interval: Option<Interval>,
    /// Cost of one operation as the fastest actor sees it.
    pub fastest_ns: Option<Nanoseconds>,
    /// Cost of one operation as the actor in the middle sees it.
    pub median_ns: Option<Nanoseconds>,
    /// Relative median absolute deviation of the observations.
    pub noise: Option<f64>,
    /// Number of pairs the estimate stands on.
    pub pairs: Option<u64>,
    /// Number of pairs excluded for causes seen outside the measured value.
    pub excluded: Option<u64>,
    /// Iterations of the loop in each sample.
    pub iterations: Option<u64>,
    /// Operations in one iteration of the baseline.
    pub unroll: Option<u32>,
    /// What the figure is worth.
    pub verdict: Verdict,
    /// What a reader of a resolved figure must know, such as "4 threads on 2 CPUs". Stands in the column `reason`, after
    /// the verdict's own reason.
    pub remark: Option<String>,
    /// Whether the primitive did its work; `None` where that cannot be seen.
    pub check: Option<bool>,
    /// What a disassembler found.
    pub evidence: Option<String>,
    /// Clock of the core or multiprocessor, as measured during the case.
    pub clock: Option<Hertz>,
    /// Whether the run ended before all measurement blocks of this case were taken. Stands at the end of the column
    /// `reason`; a resumed run measures such cases again.
    pub provisional: bool,
}

/// What the column `reason` says of a provisional row; then the texts of older versions.
const PROVISIONAL: [&str; 2] = [
    "provisional: the run ended before all measurement blocks of this case were taken",
    "provisional: the run ended before it visited this case as often as it meant to",
];

/// A line that is no row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The header does not hold this column.
    #[error("column `{0}` is missing")]
    MissingColumn(&'static str),
    /// A cell does not hold what its column holds.
    #[error("column `{column}` holds `{found}`")]
    Cell {
        /// The column.
        column: &'static str,
        /// The text found.
        found: String,
    },
}

impl Row {
    /// The columns of `measurements.csv`, in order.
    pub const COLUMNS: [&'static str; 36] = [
        "case_id",
        "domain",
        "family",
        "primitive",
        "dtype",
        "layout",
        "stride",
        "threads",
        "blocks",
        "devices",
        "placement",
        "scope",
        "space",
        "order",
        "mode",
        "group",
        "ns",
        "ns_low",
        "ns_high",
        "cycles",
        "cycles_low",
        "cycles_high",
        "ops_per_s_thread",
        "ops_per_s_total",
        "fastest_ns",
        "median_ns",
        "noise",
        "pairs",
        "set_aside",
        "iterations",
        "unroll",
        "verdict",
        "reason",
        "check",
        "evidence",
        "clock_hz",
    ];

    /// The row of a case that was not measured.
    #[must_use]
    pub fn unmeasured(case: Case, verdict: Verdict) -> Self {
        Self {
            case,
            ns: None,
            ns_interval: None,
            cycles: None,
            cycles_interval: None,
            fastest_ns: None,
            median_ns: None,
            noise: None,
            pairs: None,
            excluded: None,
            iterations: None,
            unroll: None,
            verdict,
            remark: None,
            check: None,
            evidence: None,
            clock: None,
            provisional: false,
        }
    }

    /// The row of a case that was measured.
    #[must_use]
    pub fn measured(case: Case, measurement: &Measurement) -> Self {
        let estimate = measurement.estimate.as_ref();
        // A fastest or median thread can lose the race in one of the loops alone. Beside a resolved cost such a difference,
        // zero or below, is no cost.
        let of_actor = |cost: fn(&Estimate) -> Nanoseconds| {
            estimate.map(cost).filter(|cost| measurement.verdict != Verdict::Resolved || cost.value() > 0.0)
        };
        Self {
            ns: estimate.map(|estimate| estimate.ns),
            ns_interval: estimate.and_then(|estimate| estimate.ns_interval),
            cycles: estimate.and_then(|estimate| estimate.cycles),
            cycles_interval: estimate.and_then(|estimate| estimate.cycles_interval),
            fastest_ns: of_actor(|estimate| estimate.fastest_ns),
            median_ns: of_actor(|estimate| estimate.median_ns),
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
        }
    }

    /// What is wrong with the figures, given the verdict; `None` if nothing is. Every figure is a number, one that is not
    /// above zero stands beside a verdict that says why, and a cost that was resolved is there, inside its interval.
    #[must_use]
    pub fn defect(&self) -> Option<String> {
        let intervals = [("ns", self.ns_interval), ("cycles", self.cycles_interval)];
        let ends = intervals.iter().filter_map(|(name, interval)| interval.map(|interval| (*name, interval)));
        let ends = ends.flat_map(|(name, interval)| [(name, interval.low), (name, interval.high)]);
        let points = [
            ("ns", self.ns.map(Nanoseconds::value)),
            ("cycles", self.cycles.map(Cycles::value)),
            ("noise", self.noise),
        ];
        let actors = [("fastest_ns", self.fastest_ns), ("median_ns", self.median_ns)]
            .map(|(name, cost)| (name, cost.map(Nanoseconds::value)));
        let points = points.into_iter().chain(actors).filter_map(|(name, number)| Some((name, number?)));
        if let Some((name, number)) = points.chain(ends).find(|(_, number)| !number.is_finite()) {
            return Some(format!("`{name}` is {number}"));
        }
        if self.verdict != Verdict::Resolved {
            return self.verdict.reason().is_empty().then(|| format!("{} has no reason", self.verdict.name()));
        }
        let Some((cost, interval)) = self.ns.zip(self.ns_interval) else {
            return Some("no cost was resolved".to_owned());
        };
        let [cycles, fastest, median] = [
            self.cycles.map(Cycles::value),
            self.fastest_ns.map(Nanoseconds::value),
            self.median_ns.map(Nanoseconds::value),
        ];
        let costs = [Some(cost.value()), Some(interval.low), cycles, fastest, median];
        if costs.into_iter().flatten().any(|cost| cost <= 0.0) {
            return Some(format!("a figure of the cost that was resolved, {} ns, is not above zero", cost.value()));
        }
        (!interval.contains(cost.value())).then(|| format!("{} ns is outside of its interval", cost.value()))
    }

    /// Operations per second of one thread; only of a resolved cost.
    #[must_use]
    pub fn ops_per_s_thread(&self) -> Option<f64> {
        let ns = self.ns?.value();
        (self.verdict == Verdict::Resolved && ns > 0.0).then(|| 1e9 / ns)
    }

    /// Operations per second of all threads together; only of a resolved cost.
    #[must_use]
    pub fn ops_per_s_total(&self) -> Option<f64> {
        self.ops_per_s_thread().map(|ops| ops * self.case.actors() as f64)
    }

    /// The text in the column `reason`: the verdict's reason, the remark, and whether the row is provisional.
    #[must_use]
    pub fn explanation(&self) -> String {
        let reason = Some(self.verdict.reason()).filter(|reason| !reason.is_empty());
        let parts = [reason, self.remark.as_deref(), self.provisional.then_some(PROVISIONAL[0])];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The cells of this row, in the order of [`Self::COLUMNS`].
    #[must_use]
    pub fn to_record(&self) -> StringRecord {
        let (domain, family) = self.case.domain_and_family();
        let ns = self.ns_interval;
        let cycles = self.cycles_interval;
        let mut record = StringRecord::new();
        record.push_field(&self.case.id().0);
        record.push_field(domain);
        record.push_field(family);
        for value in self.case.values() {
            record.push_field(&value);
        }
        for number in [
            self.ns.map(Nanoseconds::value),
            ns.map(|interval| interval.low),
            ns.map(|interval| interval.high),
            self.cycles.map(Cycles::value),
            cycles.map(|interval| interval.low),
            cycles.map(|interval| interval.high),
            self.ops_per_s_thread(),
            self.ops_per_s_total(),
            self.fastest_ns.map(Nanoseconds::value),
            self.median_ns.map(Nanoseconds::value),
            self.noise,
        ] {
            record.push_field(&number.map(significant).unwrap_or_default());
        }
        for count in [self.pairs, self.excluded, self.iterations, self.unroll.map(u64::from)] {
            record.push_field(&count.map(|count| count.to_string()).unwrap_or_default());
        }
        record.push_field(self.verdict.name());
        record.push_field(&self.explanation());
        record.push_field(match self.check {
            Some(true) => "ok",
            Some(false) => "failed",
            None => "",
        });
        record.push_field(self.evidence.as_deref().unwrap_or_default());
        record.push_field(&self.clock.map(|clock| significant(clock.value())).unwrap_or_default());
        record
    }

    /// Reads a row; the columns may stand in any order, and columns of later versions are passed over.
    ///
    /// # Errors
    /// When a column is missing or a cell does not hold what its column holds.
    pub fn from_record(header: &StringRecord, record: &StringRecord) -> Result<Self, RowError> {
        let cells = Cells { header, record };
        let layout = match (cells.text("layout")?, cells.parse("stride")?) {
            (None, _) => None,
            (Some("shared"), _) => Some(Layout::Shared),
            (Some("private"), Some(stride)) => Some(Layout::Private { stride }),
            (Some(found), _) => return Err(RowError::Cell { column: "layout", found: found.to_owned() }),
        };
        let case = Case {
            primitive: cells.text("primitive")?.unwrap_or_default().to_owned(),
            dtype: cells.parse("dtype")?,
            layout,
            threads: cells.parse("threads")?,
            blocks: cells.parse("blocks")?,
            devices: cells.parse("devices")?,
            placement: cells.parse("placement")?,
            scope: cells.parse("scope")?,
            space: cells.parse("space")?,
            order: cells.parse("order")?,
            mode: cells.parse("mode")?,
            group: cells.text("group")?.map(str::to_owned),
        };
        let verdict = cells.text("verdict")?.unwrap_or_default();
        let explanation = cells.text("reason")?.unwrap_or_default();
        let before = PROVISIONAL.iter().find_map(|text| explanation.strip_suffix(text));
        let reason = before.map_or(explanation, |reason| reason.strip_suffix("; ").unwrap_or(reason));
        Ok(Self {
            case,
            ns: cells.number("ns")?.map(Nanoseconds),
            ns_interval: cells.interval("ns_low", "ns_high")?,
            cycles: cells.number("cycles")?.map(Cycles),
            cycles_interval: cells.interval("cycles_low", "cycles_high")?,
            fastest_ns: cells.number("fastest_ns")?.map(Nanoseconds),
            median_ns: cells.number("median_ns")?.map(Nanoseconds),
            noise: cells.number("noise")?,
            pairs: cells.parse("pairs")?,
            excluded: cells.parse("set_aside")?,
            iterations: cells.parse("iterations")?,
            unroll: cells.parse("unroll")?,
            verdict: Verdict::from_columns(verdict, reason)
                .ok_or_else(|| RowError::Cell { column: "verdict", found: verdict.to_owned() })?,
            // The reason of every other verdict holds its remark already.
            remark: (verdict == Verdict::Resolved.name() && !reason.is_empty()).then(|| reason.to_owned()),
            check: match cells.text("check")? {
                None => None,
                Some("ok") => Some(true),
                Some("failed") => Some(false),
                Some(found) => return Err(RowError::Cell { column: "check", found: found.to_owned() }),
            },
            evidence: cells.text("evidence")?.map(str::to_owned),
            clock: cells.number("clock_hz")?.map(Hertz),
            provisional: before.is_some(),
        })
    }
}

/// A record whose cells are found by the names of their columns.
struct Cells<'a> {
    header: &'a StringRecord,
    record: &'a StringRecord,
}

impl Cells<'_> {
    fn text(&self, column: &'static str) -> Result<Option<&str>, RowError> {
        let index = self.header.iter().position(|name| name == column).ok_or(RowError::MissingColumn(column))?;
        Ok(self.record.get(index).filter(|cell| !cell.is_empty()))
    }

    fn parse<T: std::str::FromStr>(&self, column: &'static str) -> Result<Option<T>, RowError> {
        let parse = |cell: &str| cell.parse().map_err(|_| RowError::Cell { column, found: cell.to_owned() });
        self.text(column)?.map(parse).transpose()
    }

    /// A finite number: `NaN` and `inf` are no figures.
    fn number(&self, column: &'static str) -> Result<Option<f64>, RowError> {
        match self.parse::<f64>(column)? {
            Some(number) if !number.is_finite() => Err(RowError::Cell { column, found: number.to_string() }),
            number => Ok(number),
        }
    }

    fn interval(&self, low: &'static str, high: &'static str) -> Result<Option<Interval>, RowError> {
        Ok(self.number(low)?.zip(self.number(high)?).map(|(low, high)| Interval { low, high }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::{Dtype, Placement};

    fn full() -> Row {
        Row {
            ns: Some(Nanoseconds(2.0331)),
            ns_interval: Some(Interval { low: 2.031, high: 2.035 }),
            cycles: Some(Cycles(7.48)),
            cycles_interval: Some(Interval { low: 7.47, high: 7.49 }),
            fastest_ns: Some(Nanoseconds(2.0)),
            median_ns: Some(Nanoseconds(2.01)),
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

    fn header() -> StringRecord {
        StringRecord::from(Row::COLUMNS.to_vec())
    }

    #[test]
    fn a_row_survives_the_way_to_a_file_and_back() {
        let skipped = Row::unmeasured(Case::new("cpu.barrier.std"), Verdict::Skipped("one CPU".into()));
        let remarked = Row { remark: Some("4 threads on 2 CPUs".into()), ..full() };
        let provisional = [&full(), &remarked, &Row { verdict: Verdict::Noisy("wide".into()), ..full() }]
            .map(|row| Row { provisional: true, ..row.clone() });
        for row in [full(), skipped, remarked].into_iter().chain(provisional) {
            let record = row.to_record();
            assert_eq!(record.len(), Row::COLUMNS.len());
            assert_eq!(Row::from_record(&header(), &record), Ok(row));
        }
    }

    #[test]
    fn the_columns_hold_what_the_contract_says() {
        let record = full().to_record();
        let cell = |name: &str| record.get(Row::COLUMNS.iter().position(|column| *column == name).unwrap()).unwrap();
        assert_eq!(cell("domain"), "cpu");
        assert_eq!(cell("family"), "atomic");
        assert_eq!(cell("stride"), "8");
        assert_eq!(cell("placement"), "0,1");
        assert_eq!(cell("check"), "ok");
        assert_eq!(cell("verdict"), "Resolved");
        assert_eq!(cell("clock_hz"), "3680000000");
        assert_eq!(cell("devices"), "");
        let ops: f64 = cell("ops_per_s_total").parse().unwrap();
        assert!((ops - 2.0 * 1e9 / 2.0331).abs() / ops < 1e-6);
    }

    #[test]
    fn columns_may_stand_in_any_order_and_may_be_more() {
        let mut header: Vec<&str> = Row::COLUMNS.to_vec();
        header.reverse();
        header.push("later");
        let record = full().to_record();
        let mut cells: Vec<&str> = record.iter().collect();
        cells.reverse();
        cells.push("x");
        assert_eq!(Row::from_record(&StringRecord::from(header), &StringRecord::from(cells)), Ok(full()));
    }

    #[test]
    fn bad_cells_are_named() {
        let spoil = |column: &str, text: &str| {
            let index = Row::COLUMNS.iter().position(|name| *name == column).unwrap();
            let cells: Vec<String> = full()
                .to_record()
                .iter()
                .enumerate()
                .map(|(at, cell)| if at == index { text } else { cell }.to_owned())
                .collect();
            Row::from_record(&header(), &StringRecord::from(cells)).unwrap_err().to_string()
        };
        assert_eq!(spoil("ns", "NaN"), "column `ns` holds `NaN`");
        assert_eq!(spoil("verdict", "fine"), "column `verdict` holds `fine`");
        assert_eq!(spoil("stride", ""), "column `layout` holds `private`");
        let short = StringRecord::from(Row::COLUMNS[..20].to_vec());
        assert!(matches!(Row::from_record(&short, &full().to_record()), Err(RowError::MissingColumn(_))));
    }

    #[test]
    fn a_cost_that_was_not_resolved_has_no_throughput() {
        let row = Row { verdict: Verdict::Noisy("wide".into()), ..full() };
        assert_eq!(row.ops_per_s_thread(), None);
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
            Row { ns_interval: Some(Interval { low: -0.1, high: 3.0 }), ..full() },
            Row { cycles: Some(Cycles(0.0)), ..full() },
            Row { fastest_ns: Some(Nanoseconds(f64::INFINITY)), ..full() },
            Row { ns: None, ..full() },
            Row { fastest_ns: Some(Nanoseconds(-0.5)), ..full() },
        ] {
            assert!(resolved.defect().is_some(), "{resolved:?}");
        }
    }
}
