//! How far the figures of a disturbed run agree with those of the quiet runs before and after it.

use std::collections::{BTreeMap, HashMap};

use syncscope_core::{Case, Cycles, Row, Verdict};

/// Two figures count as the same within this share.
pub(crate) const TOLERANCE: f64 = 0.10;

/// Clocks of a core that differ by more are two states of the machine: a core that rested, for example because of a quota,
/// starts again below its highest clock.
const CLOCK_TOLERANCE: f64 = 0.02;

/// A cost in nanoseconds and, where the clock of the core is known, in its cycles.
#[derive(Debug, Clone, Copy)]
struct Figure {
    ns: f64,
    cycles: Option<f64>,
}

/// In which unit two figures are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sameness {
    Time,
    /// In cycles of a core whose clock had changed.
    Cycles,
}

impl Figure {
    /// The figure of a resolved case.
    fn resolved(row: &Row) -> Option<Self> {
        let ns = row.ns.filter(|_| row.verdict == Verdict::Resolved)?;
        Some(Self { ns: ns.value(), cycles: row.cycles.map(Cycles::value) })
    }

    /// The geometric mean of two figures.
    fn between(self, other: Self) -> Self {
        let mean = |a: f64, b: f64| (a * b).sqrt();
        let cycles = self.cycles.zip(other.cycles).map(|(own, others)| mean(own, others));
        Self { ns: mean(self.ns, other.ns), cycles }
    }

    fn same(self, other: Self) -> Option<Sameness> {
        if is_within(self.ns, other.ns, TOLERANCE) {
            return Some(Sameness::Time);
        }
        let (own, others) = self.cycles.zip(other.cycles)?;
        let same_clock = is_within(own / self.ns, others / other.ns, CLOCK_TOLERANCE);
        (!same_clock && is_within(own, others, TOLERANCE)).then_some(Sameness::Cycles)
    }
}

fn is_within(figure: f64, other: f64, tolerance: f64) -> bool {
    ((1.0 - tolerance)..=(1.0 + tolerance)).contains(&(figure / other))
}

/// A resolved figure that differs from the quiet one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    pub(crate) case: Case,
    /// The disturbed figure over the quiet one.
    pub(crate) ratio: f64,
}

/// What a quiet run says about a case.
#[derive(Debug, Clone, Copy)]
enum Quiet {
    Resolved(Figure),
    /// The range of the costs of its pairs in ns, without the lowest and the highest 5 %.
    Ranging(f64, f64),
    Unknown,
}

impl Quiet {
    fn of(row: &Row) -> Self {
        let range = row.ns_spread.map(|spread| Self::Ranging(spread.low, spread.high));
        Figure::resolved(row).map(Self::Resolved).or(range).unwrap_or(Self::Unknown)
    }

    /// Whether the machine showed other costs than this one without any disturbance.
    fn ranges_beyond(self, figure: Figure) -> bool {
        matches!(self, Self::Ranging(low, high) if [low, high].iter().any(|end| !is_within(*end, figure.ns, TOLERANCE)))
    }
}

/// The figure that a disturbed run has to agree with.
#[derive(Debug)]
enum QuietFigure {
    Known {
        quiet: Figure,
        by_one_run: bool,
    },
    /// The machine changed its state, and no figure is the quiet one.
    Changed,
    Unknown,
}

/// The quiet figure must not depend on the disturbed one: a rule that leaves out disagreement finds agreement.
fn quiet_figure(before: Quiet, after: Quiet) -> QuietFigure {
    match (before, after) {
        (Quiet::Resolved(before), Quiet::Resolved(after)) if before.same(after).is_none() => QuietFigure::Changed,
        (Quiet::Resolved(before), Quiet::Resolved(after)) => {
            QuietFigure::Known { quiet: before.between(after), by_one_run: false }
        }
        (Quiet::Resolved(quiet), other) | (other, Quiet::Resolved(quiet)) => {
            if other.ranges_beyond(quiet) {
                QuietFigure::Changed
            } else {
                QuietFigure::Known { quiet, by_one_run: true }
            }
        }
        _ => QuietFigure::Unknown,
    }
}

fn by_case(rows: &[Row]) -> HashMap<&Case, &Row> {
    rows.iter().map(|row| (&row.case, row)).collect()
}

/// The results for the cases of a disturbed run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Agreement {
    /// Cases by verdict.
    pub(crate) verdicts: BTreeMap<&'static str, usize>,
    /// Resolved cases with a quiet figure.
    pub(crate) compared: usize,
    /// Compared cases that one of the two quiet runs did not resolve: nothing shows that the machine kept its state.
    pub(crate) with_one_quiet_run: usize,
    /// Compared cases that agree only in the core's cycles: its clock had changed.
    pub(crate) by_cycles: usize,
    /// Resolved cases whose quiet figures before and after differ, or whose pairs in one quiet run range beyond the figure of the
    /// other: the machine changed its state, and neither is the quiet figure.
    pub(crate) changed: usize,
    /// Resolved cases that no quiet run resolved.
    pub(crate) unknown: usize,
    /// The compared cases that disagree, the furthest first.
    pub(crate) off: Vec<Deviation>,
}

impl Agreement {
    /// Compares with the quiet runs right before and after. A machine has several states, such as the cores that a host gives
    /// to the CPUs of a guest. If both quiet runs have one figure, the state was the same between them, and the disturbed
    /// figure has to agree with it. A figure of another quiet run does not count, however well it fits.
    pub(crate) fn of(before: &[Row], disturbed: &[Row], after: &[Row]) -> Self {
        let (before, after) = (by_case(before), by_case(after));
        let mut agreement = Self::default();
        for row in disturbed {
            *agreement.verdicts.entry(row.verdict.name()).or_default() += 1;
            let Some(figure) = Figure::resolved(row) else { continue };
            let of_case =
                |rows: &HashMap<&Case, &Row>| rows.get(&row.case).map_or(Quiet::Unknown, |row| Quiet::of(row));
            let deviation = |quiet: Figure| Deviation { case: row.case.clone(), ratio: figure.ns / quiet.ns };
            match quiet_figure(of_case(&before), of_case(&after)) {
                QuietFigure::Unknown => agreement.unknown += 1,
                QuietFigure::Changed => agreement.changed += 1,
                QuietFigure::Known { quiet, by_one_run } => {
                    agreement.compared += 1;
                    agreement.with_one_quiet_run += usize::from(by_one_run);
                    match figure.same(quiet) {
                        Some(Sameness::Time) => {}
                        Some(Sameness::Cycles) => agreement.by_cycles += 1,
                        None => agreement.off.push(deviation(quiet)),
                    }
                }
            }
        }
        agreement.off.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        agreement
    }

    /// The share of the compared cases that agree; `None` if there are none.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.compared > 0).then(|| 1.0 - self.off.len() as f64 / self.compared as f64)
    }

    /// Two lines, and a line for each case that disagrees.
    pub(crate) fn text(&self, name: &str) -> String {
        let verdicts: Vec<String> = self.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let share = self.share().map_or_else(|| "none".to_owned(), |share| format!("{:.1} %", share * 100.0));
        let head = format!(
            "{name}: {share} of {} resolved cases lie within {:.0} % of the quiet figure ({})",
            self.compared,
            TOLERANCE * 100.0,
            verdicts.join(", ")
        );
        let quiet = format!(
            "    {} of them by their cycles, at another clock; {} of them with one quiet figure; not compared: {} whose quiet runs \
             differ, {} without a quiet figure",
            self.by_cycles, self.with_one_quiet_run, self.changed, self.unknown
        );
        let off = self.off.iter().map(|off| format!("    {:6.2} times  {}", off.ratio, off.case));
        [head, quiet].into_iter().chain(off).collect::<Vec<_>>().join("\n")
    }
}
