//! How far the figures of a disturbed run agree with those of the quiet runs before and after it.

use std::collections::{BTreeMap, HashMap};

use syncscope_core::{Case, Nanoseconds, Row, Verdict};

/// A figure counts as the same within this share of the other one.
pub(crate) const TOLERANCE: f64 = 0.10;

/// A resolved figure that is not the quiet one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    pub(crate) case: Case,
    /// The disturbed figure over the quiet one.
    pub(crate) ratio: f64,
}

/// What became of the cases of a disturbed run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Agreement {
    /// Cases by verdict.
    pub(crate) verdicts: BTreeMap<&'static str, usize>,
    /// Resolved cases with a quiet figure.
    pub(crate) compared: usize,
    /// Those of them that one of the two quiet runs did not resolve: nothing shows that the machine kept its state.
    pub(crate) with_one_quiet_run: usize,
    /// Resolved cases whose quiet figures before and after differ: the machine changed its state, and none is the quiet one.
    pub(crate) changed: usize,
    /// Resolved cases that no quiet run resolved.
    pub(crate) unknown: usize,
    /// The compared cases that are off, the furthest first.
    pub(crate) off: Vec<Deviation>,
}

impl Agreement {
    /// Compares with the quiet runs right before and after. A machine has several states, such as the cores that a host gives
    /// to the CPUs of a guest. Where both quiet runs give one figure, the state was the same between them, and that is the
    /// figure to agree with. A figure of another quiet run is none, however well it fits.
    pub(crate) fn of(before: &[Row], disturbed: &[Row], after: &[Row]) -> Self {
        let figures = |rows: &[Row]| -> HashMap<Case, f64> {
            rows.iter().filter_map(|row| Some((row.case.clone(), resolved(row)?))).collect()
        };
        let (before, after) = (figures(before), figures(after));
        let mut agreement = Self::default();
        for row in disturbed {
            *agreement.verdicts.entry(row.verdict.name()).or_default() += 1;
            let Some(ns) = resolved(row) else { continue };
            let quiet = match (before.get(&row.case), after.get(&row.case)) {
                (Some(before), Some(after)) if !is_same(*before, *after) => {
                    agreement.changed += 1;
                    continue;
                }
                (Some(before), Some(after)) => (before * after).sqrt(),
                (Some(quiet), None) | (None, Some(quiet)) => {
                    agreement.with_one_quiet_run += 1;
                    *quiet
                }
                (None, None) => {
                    agreement.unknown += 1;
                    continue;
                }
            };
            agreement.compared += 1;
            if !is_same(ns, quiet) {
                agreement.off.push(Deviation { case: row.case.clone(), ratio: ns / quiet });
            }
        }
        agreement.off.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        agreement
    }

    /// The share of the compared cases that agree; `None` if there are none.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.compared > 0).then(|| 1.0 - self.off.len() as f64 / self.compared as f64)
    }

    /// Two lines, and one for each of the cases that are off.
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
            "    {} of them with one quiet figure; not compared: {} whose two quiet figures differ, {} without a quiet figure",
            self.with_one_quiet_run, self.changed, self.unknown
        );
        let off = self.off.iter().map(|off| format!("    {:6.2} times  {}", off.ratio, off.case));
        [head, quiet].into_iter().chain(off).collect::<Vec<_>>().join("\n")
    }
}

fn is_same(figure: f64, other: f64) -> bool {
    ((1.0 - TOLERANCE)..=(1.0 + TOLERANCE)).contains(&(figure / other))
}

/// The figure of a case that is resolved.
fn resolved(row: &Row) -> Option<f64> {
    row.ns.filter(|_| row.verdict == Verdict::Resolved).map(Nanoseconds::value)
}
